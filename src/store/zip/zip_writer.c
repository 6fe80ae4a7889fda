#include "store/zip/zip_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/memory/buffer.h"

#define LOCAL_SIGNATURE     UINT32_C(0x04034b50)
#define CENTRAL_SIGNATURE   UINT32_C(0x02014b50)
#define END64_SIGNATURE     UINT32_C(0x06064b50)
#define LOCATOR64_SIGNATURE UINT32_C(0x07064b50)
#define END_SIGNATURE       UINT32_C(0x06054b50)

#define VERSION_ZIP64  45
#define MADE_BY_UNIX   (3 << 8 | VERSION_ZIP64)
#define FLAG_UTF8      0x0800
#define METHOD_STORED  0
#define EXTRA_ZIP64    1
#define IN_EXTRA       UINT32_MAX /* a size that is in the zip64 field */
#define CRC_PLACE      14         /* in a local header */
#define MODE_FILE_0644 (UINT32_C(0100644) << 16)

struct ZipWriter {
    int fd;
    uint16_t time; /* of MS-DOS */
    uint16_t date;
    uint64_t offset; /* of the file: where the next byte goes */
    EVP_MD_CTX *digest;
    ZipEntry *entries;
    size_t n; /* that have ended; one more while an entry is open */
    Buffer scratch;
};

/* ---- bytes ---- */

static Result zip_writer_put(Buffer *out, uint64_t number, unsigned bytes)
{
    unsigned char text[8];
    for (unsigned i = 0; i < bytes; i++) {
        text[i] = (unsigned char)(number >> (8 * i));
    }
    return buffer_append(out, text, bytes);
}

typedef struct Field {
    uint64_t number;
    unsigned bytes;
} Field;

static Result put_fields(Buffer *out, const Field *fields, size_t n)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        rc = zip_writer_put(out, fields[i].number, fields[i].bytes);
    }
    return rc;
}

#define FIELDS(fields) (fields), (sizeof(fields) / sizeof *(fields))

static Result zip_writer_write_all(ZipWriter *writer, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(writer->fd, bytes, length);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return result_of_errno(errno == 0 ? EIO : errno);
        }
        bytes += n;
        length -= (size_t)n;
        writer->offset += (uint64_t)n;
    }
    return RESULT_OK;
}

static Result write_scratch(ZipWriter *writer)
{
    return zip_writer_write_all(writer, writer->scratch.data, writer->scratch.length);
}

/* ---- opening ---- */

/* The civil day of a number of days since 1970. */
static void civil_of_days(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    int64_t z = days + 719468;
    int64_t era = z / 146097;
    unsigned of_era = (unsigned)(z - era * 146097);
    unsigned years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * years + years / 4 - years / 100);
    unsigned from_march = (5 * of_year + 2) / 153;
    *day = of_year - (153 * from_march + 2) / 5 + 1;
    *month = from_march < 10 ? from_march + 3 : from_march - 9;
    *year = era * 400 + years + (*month <= 2 ? 1 : 0);
}

static void set_time(ZipWriter *writer, WallTime now)
{
    int64_t seconds = now.us / 1000000;
    int64_t year = 0;
    unsigned month = 0;
    unsigned day = 0;
    unsigned of_day = (unsigned)(seconds % 86400);
    civil_of_days(seconds / 86400, &year, &month, &day);
    unsigned years = year < 1980 ? 0 : year > 2107 ? 127 : (unsigned)(year - 1980);
    writer->date = (uint16_t)(years << 9 | month << 5 | day);
    writer->time = (uint16_t)(of_day / 3600 << 11 | of_day / 60 % 60 << 5 | of_day % 60 / 2);
}

Result zip_writer_open(ZipWriter **out, const char *path, WallTime now)
{
    ZipWriter *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return RESULT_MEMORY;
    }
    buffer_init(&writer->scratch, BUFFER_NO_LIMIT);
    set_time(writer, now);
    writer->digest = EVP_MD_CTX_new();
    writer->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    Result rc = writer->digest == NULL ? RESULT_MEMORY
                : writer->fd < 0       ? result_of_errno(errno)
                                       : RESULT_OK;
    if (rc == RESULT_OK && lseek(writer->fd, 0, SEEK_CUR) < 0) {
        rc = RESULT_INVALID;
    }
    if (rc != RESULT_OK) {
        zip_writer_abandon(writer);
        return rc;
    }
    *out = writer;
    return RESULT_OK;
}

/* ---- entries ---- */

static Result local_header(ZipWriter *writer, const ZipEntry *entry)
{
    size_t length = strlen(entry->name);
    const Field fields[] = {{LOCAL_SIGNATURE, 4},
                            {VERSION_ZIP64, 2},
                            {FLAG_UTF8, 2},
                            {METHOD_STORED, 2},
                            {writer->time, 2},
                            {writer->date, 2},
                            {entry->crc32, 4},
                            {IN_EXTRA, 4},
                            {IN_EXTRA, 4},
                            {length, 2},
                            {20, 2}};
    const Field extra[] = {{EXTRA_ZIP64, 2}, {16, 2}, {entry->size, 8}, {entry->size, 8}};
    buffer_reset(&writer->scratch);
    Result rc = put_fields(&writer->scratch, FIELDS(fields));
    rc = rc == RESULT_OK ? buffer_append(&writer->scratch, entry->name, length) : rc;
    return rc == RESULT_OK ? put_fields(&writer->scratch, FIELDS(extra)) : rc;
}

Result zip_writer_begin(ZipWriter *writer, const char *name)
{
    ZipEntry *more = reallocarray(writer->entries, writer->n + 1, sizeof *more);
    if (more == NULL) {
        return RESULT_MEMORY;
    }
    writer->entries = more;
    ZipEntry *entry = &writer->entries[writer->n];
    *entry = (ZipEntry){.name = strdup(name), .offset = writer->offset};
    if (entry->name == NULL) {
        return RESULT_MEMORY;
    }
    writer->n++;
    Result rc =
        EVP_DigestInit_ex(writer->digest, EVP_sha256(), NULL) == 1 ? RESULT_OK : RESULT_INTERNAL;
    rc = rc == RESULT_OK ? local_header(writer, entry) : rc;
    return rc == RESULT_OK ? write_scratch(writer) : rc;
}

Result zip_writer_write(ZipWriter *writer, const void *bytes, size_t length)
{
    ZipEntry *entry = &writer->entries[writer->n - 1];
    entry->crc32 = libdeflate_crc32(entry->crc32, bytes, length);
    entry->size += length;
    return EVP_DigestUpdate(writer->digest, bytes, length) == 1
               ? zip_writer_write_all(writer, bytes, length)
               : RESULT_INTERNAL;
}

/* Writes the header again, now that everything in it is known. */
static Result mend_header(ZipWriter *writer, const ZipEntry *entry)
{
    Result rc = local_header(writer, entry);
    if (rc != RESULT_OK) {
        return rc;
    }
    const Buffer *header = &writer->scratch;
    size_t done = CRC_PLACE;
    while (done < header->length) {
        ssize_t n = pwrite(writer->fd, header->data + done, header->length - done,
                           (off_t)(entry->offset + done));
        if (n <= 0 && errno != EINTR) {
            return result_of_errno(errno);
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return RESULT_OK;
}

Result zip_writer_end(ZipWriter *writer, const ZipEntry **out)
{
    static const char digits[] = "0123456789abcdef";
    ZipEntry *entry = &writer->entries[writer->n - 1];
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (EVP_DigestFinal_ex(writer->digest, digest, &length) != 1 ||
        2 * length >= sizeof entry->sha256) {
        return RESULT_INTERNAL;
    }
    for (unsigned i = 0; i < length; i++) {
        entry->sha256[2 * i] = digits[digest[i] >> 4];
        entry->sha256[2 * i + 1] = digits[digest[i] & 15];
    }
    *out = entry;
    return mend_header(writer, entry);
}

const ZipEntry *zip_writer_entry(const ZipWriter *writer, size_t i)
{
    return i < writer->n ? &writer->entries[i] : NULL;
}

/* ---- closing ---- */

/* With a zip64 field even where none is needed: a viewer (wabac 2.2x) takes an entry without extra
 * fields here for one without extra fields at its place. */
static Result central_header(ZipWriter *writer, const ZipEntry *entry)
{
    size_t length = strlen(entry->name);
    const Field fields[] = {{CENTRAL_SIGNATURE, 4},
                            {MADE_BY_UNIX, 2},
                            {VERSION_ZIP64, 2},
                            {FLAG_UTF8, 2},
                            {METHOD_STORED, 2},
                            {writer->time, 2},
                            {writer->date, 2},
                            {entry->crc32, 4},
                            {IN_EXTRA, 4},
                            {IN_EXTRA, 4},
                            {length, 2},
                            {28, 2},
                            {0, 2}, /* comment */
                            {0, 2}, /* disk */
                            {0, 2}, /* internal attributes */
                            {MODE_FILE_0644, 4},
                            {IN_EXTRA, 4}};
    const Field extra[] = {
        {EXTRA_ZIP64, 2}, {24, 2}, {entry->size, 8}, {entry->size, 8}, {entry->offset, 8}};
    Result rc = put_fields(&writer->scratch, FIELDS(fields));
    rc = rc == RESULT_OK ? buffer_append(&writer->scratch, entry->name, length) : rc;
    return rc == RESULT_OK ? put_fields(&writer->scratch, FIELDS(extra)) : rc;
}

static Result write_directory(ZipWriter *writer)
{
    Buffer *out = &writer->scratch;
    uint64_t start = writer->offset;
    Result rc = RESULT_OK;
    buffer_reset(out);
    for (size_t i = 0; i < writer->n && rc == RESULT_OK; i++) {
        rc = central_header(writer, &writer->entries[i]);
    }
    uint64_t size = out->length;
    const Field ends[] = {{END64_SIGNATURE, 4},
                          {44, 8}, /* of the rest of this record */
                          {MADE_BY_UNIX, 2},
                          {VERSION_ZIP64, 2},
                          {0, 4},
                          {0, 4},
                          {writer->n, 8},
                          {writer->n, 8},
                          {size, 8},
                          {start, 8},
                          {LOCATOR64_SIGNATURE, 4},
                          {0, 4},
                          {start + size, 8},
                          {1, 4},
                          {END_SIGNATURE, 4},
                          {0, 2},
                          {0, 2},
                          {writer->n < UINT16_MAX ? writer->n : UINT16_MAX, 2},
                          {writer->n < UINT16_MAX ? writer->n : UINT16_MAX, 2},
                          {size < IN_EXTRA ? size : IN_EXTRA, 4},
                          {start < IN_EXTRA ? start : IN_EXTRA, 4},
                          {0, 2}};
    rc = rc == RESULT_OK ? put_fields(out, FIELDS(ends)) : rc;
    return rc == RESULT_OK ? write_scratch(writer) : rc;
}

Result zip_writer_close(ZipWriter *writer)
{
    Result rc = write_directory(writer);
    if (rc == RESULT_OK && fsync(writer->fd) != 0 && errno != EINVAL) {
        rc = result_of_errno(errno);
    }
    if (close(writer->fd) != 0 && rc == RESULT_OK) {
        rc = result_of_errno(errno);
    }
    writer->fd = -1;
    zip_writer_abandon(writer);
    return rc;
}

void zip_writer_abandon(ZipWriter *writer)
{
    if (writer == NULL) {
        return;
    }
    if (writer->fd >= 0) {
        (void)close(writer->fd);
    }
    for (size_t i = 0; i < writer->n; i++) {
        free(writer->entries[i].name);
    }
    free(writer->entries);
    EVP_MD_CTX_free(writer->digest);
    buffer_destroy(&writer->scratch);
    free(writer);
}
