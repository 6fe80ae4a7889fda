#include "store/zip/zip_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <openssl/evp.h>

#include "base/core/bounds.h"
#include "base/memory/array.h"
#include "base/memory/file.h"

#define LOCAL_SIGNATURE     UINT32_C(0x04034b50)
#define CENTRAL_SIGNATURE   UINT32_C(0x02014b50)
#define END64_SIGNATURE     UINT32_C(0x06064b50)
#define LOCATOR64_SIGNATURE UINT32_C(0x07064b50)
#define END_SIGNATURE       UINT32_C(0x06054b50)

#define VERSION_ZIP64  45
#define MADE_BY_UNIX   (3 << 8 | VERSION_ZIP64)
#define FLAG_UTF8      0x0800
#define EXTRA_ZIP64    1
#define IN_EXTRA       UINT32_MAX /* a size that is in the zip64 field */
#define CRC_PLACE      14         /* in a local header */
#define MODE_FILE_0644 (UINT32_C(0100644) << 16)

struct ZipWriter {
    int fd;
    uint16_t time; /* of MS-DOS */
    uint16_t date;
    uint64_t offset; /* of the file: where the next byte goes */
    uint64_t data;   /* where the bytes of the open entry begin */
    EVP_MD_CTX *digest;
    z_stream deflate; /* between its entry's begin and end */
    bool deflates;
    ZipEntry *entries;
    size_t n; /* that have ended; one more while an entry is open */
    Buffer scratch;
};

/* ---- bytes ---- */

/* Appends numbers, little-endian; widths has a digit for each: its bytes. */
static void zip_put(Buffer *out, const char *widths, const uint64_t *numbers)
{
    for (size_t i = 0; widths[i] != '\0'; i++) {
        for (int k = 0; k < widths[i] - '0'; k++) {
            buffer_append_char(out, (char)(numbers[i] >> (8 * k) & 0xff));
        }
    }
}

static Result zip_writer_write_all(ZipWriter *writer, const char *bytes, size_t length)
{
    writer->offset += length;
    return file_write(writer->fd, bytes, length);
}

/* ---- opening ---- */

Result zip_writer_open(ZipWriter **out, const char *path, WallTime now)
{
    ZipWriter *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return RESULT_MEMORY;
    }
    buffer_init(&writer->scratch, BUFFER_NO_LIMIT);
    time_t seconds = (time_t)(now.us / 1000000);
    struct tm t = {0};
    (void)gmtime_r(&seconds, &t);
    int years = (int)bounds_int64(t.tm_year - 80, 0, 127);
    writer->date = (uint16_t)(years << 9 | (t.tm_mon + 1) << 5 | t.tm_mday);
    writer->time = (uint16_t)(t.tm_hour << 11 | t.tm_min << 5 | t.tm_sec / 2);
    writer->digest = EVP_MD_CTX_new();
    writer->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    Result rc = writer->fd < 0 ? result_of_errno(errno) : RESULT_OK;
    if (writer->digest == NULL) {
        rc = RESULT_MEMORY;
    }
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
    Buffer *out = &writer->scratch;
    size_t length = strlen(entry->name);
    const uint64_t fields[] = {LOCAL_SIGNATURE,
                               VERSION_ZIP64,
                               FLAG_UTF8,
                               entry->method,
                               writer->time,
                               writer->date,
                               entry->crc32,
                               IN_EXTRA,
                               IN_EXTRA,
                               length,
                               20};
    const uint64_t extra[] = {EXTRA_ZIP64, 16, entry->size, entry->packed};
    buffer_reset(out);
    zip_put(out, "42222244422", fields);
    buffer_append(out, entry->name, length);
    zip_put(out, "2288", extra);
    return buffer_end(out, 0);
}

Result zip_writer_begin(ZipWriter *writer, const char *name, ZipMethod method)
{
    ZipEntry entry = {.name = strdup(name), .offset = writer->offset, .method = method};
    if (entry.name == NULL ||
        array_add(&writer->entries, &writer->n, sizeof entry, &entry) != RESULT_OK) {
        free(entry.name);
        return RESULT_MEMORY;
    }
    Result rc =
        EVP_DigestInit_ex(writer->digest, EVP_sha256(), NULL) == 1 ? RESULT_OK : RESULT_INTERNAL;
    if (rc == RESULT_OK && method == ZIP_DEFLATED) {
        writer->deflate = (z_stream){.next_in = NULL};
        writer->deflates = deflateInit2(&writer->deflate, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                        -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK;
        rc = writer->deflates ? RESULT_OK : RESULT_MEMORY;
    }
    if (rc == RESULT_OK) {
        rc = local_header(writer, &entry);
    }
    if (rc == RESULT_OK) {
        rc = zip_writer_write_all(writer, writer->scratch.data, writer->scratch.length);
    }
    writer->data = writer->offset;
    return rc;
}

/* Hands bytes to zlib, and what comes out to the file; flush: Z_FINISH at the end. */
static Result zip_writer_deflate(ZipWriter *writer, const void *bytes, size_t length, int flush)
{
    z_stream *z = &writer->deflate;
    const unsigned char *at = bytes;
    unsigned char out[16384];
    do {
        uInt n = length < UINT32_MAX ? (uInt)length : UINT32_MAX;
        z->next_in = (z_const Bytef *)(uintptr_t)at;
        z->avail_in = n;
        at += n;
        length -= n;
        do {
            z->next_out = out;
            z->avail_out = sizeof out;
            (void)deflate(z, length == 0 ? flush : Z_NO_FLUSH);
            Result rc = zip_writer_write_all(writer, (const char *)out, sizeof out - z->avail_out);
            if (rc != RESULT_OK) {
                return rc;
            }
        } while (z->avail_out == 0);
    } while (length > 0);
    return RESULT_OK;
}

Result zip_writer_write(ZipWriter *writer, const void *bytes, size_t length)
{
    ZipEntry *entry = &writer->entries[writer->n - 1];
    entry->crc32 = libdeflate_crc32(entry->crc32, bytes, length);
    entry->size += length;
    if (EVP_DigestUpdate(writer->digest, bytes, length) != 1) {
        return RESULT_INTERNAL;
    }
    return entry->method == ZIP_DEFLATED ? zip_writer_deflate(writer, bytes, length, Z_NO_FLUSH)
                                         : zip_writer_write_all(writer, bytes, length);
}

/* Writes the header again, now that everything in it is known. */
static Result mend_header(ZipWriter *writer, const ZipEntry *entry)
{
    Result rc = local_header(writer, entry);
    if (rc != RESULT_OK) {
        return rc;
    }
    const Buffer *header = &writer->scratch;
    return file_write_at(writer->fd, header->data + CRC_PLACE, header->length - CRC_PLACE,
                         entry->offset + CRC_PLACE);
}

Result zip_writer_end(ZipWriter *writer, const ZipEntry **out)
{
    static const char digits[] = "0123456789abcdef";
    ZipEntry *entry = &writer->entries[writer->n - 1];
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (writer->deflates) {
        Result rc = zip_writer_deflate(writer, NULL, 0, Z_FINISH);
        (void)deflateEnd(&writer->deflate);
        writer->deflates = false;
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    if (EVP_DigestFinal_ex(writer->digest, digest, &length) != 1 ||
        2 * length >= sizeof entry->sha256) {
        return RESULT_INTERNAL;
    }
    for (unsigned i = 0; i < length; i++) {
        entry->sha256[2 * i] = digits[digest[i] >> 4];
        entry->sha256[2 * i + 1] = digits[digest[i] & 15];
    }
    entry->packed = writer->offset - writer->data;
    *out = entry;
    return mend_header(writer, entry);
}

Result zip_writer_put(ZipWriter *writer, const char *name, const Buffer *text,
                      const ZipEntry **entry)
{
    Result rc = zip_writer_begin(writer, name, ZIP_STORED);
    if (rc == RESULT_OK) {
        rc = zip_writer_write(writer, text->data, text->length);
    }
    return rc == RESULT_OK ? zip_writer_end(writer, entry) : rc;
}

const ZipEntry *zip_writer_entry(const ZipWriter *writer, size_t i)
{
    return i < writer->n ? &writer->entries[i] : NULL;
}

/* ---- closing ---- */

/* With a zip64 field even where none is needed: a viewer (wabac 2.2x) takes an entry without extra
 * fields here for one without extra fields at its place. */
static void central_header(ZipWriter *writer, const ZipEntry *entry)
{
    Buffer *out = &writer->scratch;
    size_t length = strlen(entry->name);
    const uint64_t fields[] = {CENTRAL_SIGNATURE, MADE_BY_UNIX,  VERSION_ZIP64,
                               FLAG_UTF8,         entry->method, writer->time,
                               writer->date,      entry->crc32,  IN_EXTRA,
                               IN_EXTRA,          length,        28,
                               0 /* comment */,   0 /* disk */,  0 /* internal attributes */,
                               MODE_FILE_0644,    IN_EXTRA};
    const uint64_t extra[] = {EXTRA_ZIP64, 24, entry->size, entry->packed, entry->offset};
    zip_put(out, "42222224442222244", fields);
    buffer_append(out, entry->name, length);
    zip_put(out, "22888", extra);
}

static Result write_directory(ZipWriter *writer)
{
    Buffer *out = &writer->scratch;
    uint64_t start = writer->offset;
    buffer_reset(out);
    for (size_t i = 0; i < writer->n; i++) {
        central_header(writer, &writer->entries[i]);
    }
    uint64_t size = out->length;
    uint64_t n = writer->n < UINT16_MAX ? writer->n : UINT16_MAX;
    const uint64_t end64[] = {END64_SIGNATURE,
                              44 /* of the rest */,
                              MADE_BY_UNIX,
                              VERSION_ZIP64,
                              0,
                              0,
                              writer->n,
                              writer->n,
                              size,
                              start};
    const uint64_t locator[] = {LOCATOR64_SIGNATURE, 0, start + size, 1};
    const uint64_t end[] = {END_SIGNATURE,
                            0,
                            0,
                            n,
                            n,
                            size < IN_EXTRA ? size : IN_EXTRA,
                            start < IN_EXTRA ? start : IN_EXTRA,
                            0};
    zip_put(out, "4822448888", end64);
    zip_put(out, "4484", locator);
    zip_put(out, "42222442", end);
    Result rc = buffer_end(out, 0);
    return rc == RESULT_OK
               ? zip_writer_write_all(writer, writer->scratch.data, writer->scratch.length)
               : rc;
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
    file_close_fd(writer->fd);
    if (writer->deflates) {
        (void)deflateEnd(&writer->deflate);
    }
    for (size_t i = 0; i < writer->n; i++) {
        free(writer->entries[i].name);
    }
    free(writer->entries);
    EVP_MD_CTX_free(writer->digest);
    buffer_destroy(&writer->scratch);
    free(writer);
}

/* ---- where the entries are ---- */

#define END_BYTES       22u
#define END_COMMENT     65535u /* behind it, at most */
#define END64_BYTES     56u
#define LOCATOR64_BYTES 20u
#define CENTRAL_BYTES   46u
#define LOCAL_BYTES     30u

/* A little-endian number of up to 8 bytes. */
static uint64_t zip_number(const char *at, size_t width)
{
    uint64_t number = 0;
    for (size_t i = width; i-- > 0;) {
        number = number << 8 | (uint8_t)at[i];
    }
    return number;
}

static bool zip_has(const char *bytes, uint64_t length, uint64_t at, uint64_t need,
                    const char *sign)
{
    return at <= length && length - at >= need && memcmp(bytes + at, sign, 4) == 0;
}

/* Where the list of entries is, and how many it has. */
static bool zip_find_list(const char *bytes, uint64_t length, uint64_t *at, uint64_t *entries)
{
    uint64_t lowest = length > END_BYTES + END_COMMENT ? length - END_BYTES - END_COMMENT : 0;
    for (uint64_t end = length >= END_BYTES ? length - END_BYTES + 1 : 0; end-- > lowest;) {
        if (!zip_has(bytes, length, end, END_BYTES, "PK\5\6")) {
            continue;
        }
        *entries = zip_number(bytes + end + 10, 2);
        *at = zip_number(bytes + end + 16, 4);
        if (end < LOCATOR64_BYTES ||
            !zip_has(bytes, length, end - LOCATOR64_BYTES, LOCATOR64_BYTES, "PK\6\7")) {
            return true;
        }
        uint64_t end64 = zip_number(bytes + end - LOCATOR64_BYTES + 8, 8);
        if (!zip_has(bytes, length, end64, END64_BYTES, "PK\6\6")) {
            return false;
        }
        *entries = zip_number(bytes + end64 + 32, 8);
        *at = zip_number(bytes + end64 + 48, 8);
        return true;
    }
    return false;
}

/* Replaces the numbers that are too large for 4 bytes by those of the zip64 field. */
static void zip_take_extra(const char *at, const char *end, uint64_t *numbers[3])
{
    while (end - at >= 4) {
        size_t n = (size_t)zip_number(at + 2, 2);
        const char *value = at + 4;
        if (n > (size_t)(end - value)) {
            return;
        }
        for (size_t i = 0; zip_number(at, 2) == EXTRA_ZIP64 && i < 3; i++) {
            if (*numbers[i] == IN_EXTRA && n >= 8) {
                *numbers[i] = zip_number(value, 8);
                value += 8;
                n -= 8;
            }
        }
        at = value + n;
    }
}

Result zip_members_walk(const char *bytes, uint64_t length,
                        Result (*found)(void *context, const ZipMember *member), void *context)
{
    uint64_t at = 0;
    uint64_t entries = 0;
    Result rc = zip_find_list(bytes, length, &at, &entries) ? RESULT_OK : RESULT_INVALID;
    for (uint64_t i = 0; rc == RESULT_OK && i < entries; i++) {
        if (!zip_has(bytes, length, at, CENTRAL_BYTES, "PK\1\2")) {
            return RESULT_INVALID;
        }
        const char *head = bytes + at;
        size_t name = (size_t)zip_number(head + 28, 2);
        size_t extra = (size_t)zip_number(head + 30, 2);
        uint64_t whole = zip_number(head + 24, 4);
        uint64_t local = zip_number(head + 42, 4);
        ZipMember member = {.name = head + CENTRAL_BYTES,
                            .name_length = name,
                            .is_stored = zip_number(head + 10, 2) == 0 && (head[8] & 1) == 0,
                            .size = zip_number(head + 20, 4)};
        at += CENTRAL_BYTES + name + extra + zip_number(head + 32, 2);
        if (at > length) {
            return RESULT_INVALID;
        }
        zip_take_extra(member.name + name, member.name + name + extra,
                       (uint64_t *[]){&whole, &member.size, &local});
        if (!zip_has(bytes, length, local, LOCAL_BYTES, "PK\3\4")) {
            return RESULT_INVALID;
        }
        member.offset = local + LOCAL_BYTES + zip_number(bytes + local + 26, 2) +
                        zip_number(bytes + local + 28, 2);
        if (member.offset > length || member.size > length - member.offset) {
            return RESULT_INVALID;
        }
        rc = found(context, &member);
    }
    return rc;
}
