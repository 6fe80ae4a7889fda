#include "cluster/mass/mass_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libdeflate.h>

#define MAGIC       0x4d434752u /* "RGCM" */
#define FLUSH_BYTES ((size_t)16 << 10)

/* ---- bytes ---- */

#define MOST_RECORDS (INT64_MAX / MASS_RECORD_BYTES)
#define ANY_NUMBER   UINT64_MAX

static const WireField head_fields[] = {
    WIRE_FIELD(MassHead, magic, 4, ANY_NUMBER),     WIRE_FIELD(MassHead, round, 8, ANY_NUMBER),
    WIRE_FIELD(MassHead, time_s, 8, ANY_NUMBER),    WIRE_FIELD(MassHead, pages, 8, ANY_NUMBER),
    WIRE_FIELD(MassHead, sum, 8, ANY_NUMBER),       WIRE_FIELD(MassHead, jump, 8, ANY_NUMBER),
    WIRE_FIELD(MassHead, inflow, 8, ANY_NUMBER),    WIRE_FIELD(MassHead, outflow, 8, ANY_NUMBER),
    WIRE_FIELD(MassHead, records, 8, MOST_RECORDS), WIRE_FIELD(MassHead, crc, 4, ANY_NUMBER)};
static const WireField mass_fields[] = {WIRE_FIELD(MassRecord, hash, 8, ANY_NUMBER),
                                        WIRE_FIELD(MassRecord, print, 5, ANY_NUMBER),
                                        WIRE_FIELD(MassRecord, mass, 4, ANY_NUMBER)};
static const WireRecord mass_head = WIRE_RECORD(MassHead, head_fields);
static const WireRecord mass_record = WIRE_RECORD(MassRecord, mass_fields);

void mass_head_put(WireWriter *writer, const MassHead *head)
{
    MassHead whole = *head;
    whole.magic = MAGIC;
    wire_put(writer, &mass_head, &whole);
}

/* A sum that is none becomes 0. */
static double mass_file_sane(double number)
{
    return number > 0.0 && number < 1e30 ? number : 0.0;
}

bool mass_head_get(WireReader *reader, MassHead *head)
{
    *head = (MassHead){.round = 0};
    wire_get(reader, &mass_head, head);
    head->sum = mass_file_sane(head->sum);
    head->jump = mass_file_sane(head->jump);
    head->inflow = mass_file_sane(head->inflow);
    head->outflow = mass_file_sane(head->outflow);
    return !reader->bad && head->magic == MAGIC;
}

void mass_record_read(const char bytes[MASS_RECORD_BYTES], MassRecord *record)
{
    WireReader reader = wire_reader(bytes, MASS_RECORD_BYTES);
    wire_get(&reader, &mass_record, record);
}

Result mass_file_path(Buffer *path, const char *directory, bool incoming, uint16_t agent)
{
    buffer_reset(path);
    return buffer_printf(path, "%s/" MASS_DIRECTORY "/%s-%u", directory, incoming ? "from" : "to",
                         (unsigned)agent);
}

/* ---- writing ---- */

Result mass_writer_init(MassWriter *writer, const char *directory, bool incoming, uint16_t agent)
{
    *writer = (MassWriter){.records = 0};
    buffer_init(&writer->path, BUFFER_NO_LIMIT);
    buffer_init(&writer->part, BUFFER_NO_LIMIT);
    buffer_init(&writer->bytes, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&writer->part, "%s/" MASS_DIRECTORY, directory);
    if (rc == RESULT_OK && mkdir(buffer_string(&writer->part), 0777) != 0 && errno != EEXIST) {
        rc = result_of_errno(errno);
    }
    if (rc == RESULT_OK) {
        rc = mass_file_path(&writer->path, directory, incoming, agent);
    }
    buffer_reset(&writer->part);
    return rc == RESULT_OK ? buffer_printf(&writer->part, "%s.part", buffer_string(&writer->path))
                           : rc;
}

void mass_writer_destroy(MassWriter *writer)
{
    if (writer->begun) {
        (void)unlink(buffer_string(&writer->part));
    }
    buffer_destroy(&writer->path);
    buffer_destroy(&writer->part);
    buffer_destroy(&writer->bytes);
}

static Result mass_file_write_all(int fd, const char *bytes, size_t length, off_t at)
{
    while (length > 0) {
        ssize_t n = pwrite(fd, bytes, length, at);
        if (n < 0 && errno != EINTR) {
            return result_of_errno(errno);
        }
        size_t done = n > 0 ? (size_t)n : 0;
        bytes += done;
        length -= done;
        at += (off_t)done;
    }
    return RESULT_OK;
}

/* The file is open for one write only: there may be as many writers as agents. */
static Result mass_file_write_at(MassWriter *writer, const Buffer *bytes, uint64_t at)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (writer->begun ? 0 : O_TRUNC);
    int fd = open(buffer_string(&writer->part), flags, 0666);
    if (fd < 0) {
        return result_of_errno(errno);
    }
    writer->begun = true;
    Result rc = mass_file_write_all(fd, bytes->data, bytes->length, (off_t)at);
    (void)close(fd);
    return rc;
}

static Result mass_file_flush(MassWriter *writer)
{
    uint64_t length = writer->bytes.length;
    uint64_t end = MASS_HEAD_BYTES + writer->records * MASS_RECORD_BYTES;
    Result rc = mass_file_write_at(writer, &writer->bytes, end - length);
    writer->crc = libdeflate_crc32(writer->crc, writer->bytes.data, writer->bytes.length);
    buffer_reset(&writer->bytes);
    return rc;
}

Result mass_writer_add_bytes(MassWriter *writer, const void *bytes, size_t length)
{
    Result rc = buffer_append(&writer->bytes, bytes, length);
    if (rc == RESULT_OK) {
        writer->records += length / MASS_RECORD_BYTES;
    }
    return rc == RESULT_OK && writer->bytes.length >= FLUSH_BYTES ? mass_file_flush(writer) : rc;
}

Result mass_writer_add(MassWriter *writer, const MassRecord *record)
{
    size_t before = writer->bytes.length;
    WireWriter wire = wire_writer(&writer->bytes);
    wire_put(&wire, &mass_record, record);
    if (wire.rc != RESULT_OK) {
        writer->bytes.length = before;
        return wire.rc;
    }
    writer->records++;
    return writer->bytes.length >= FLUSH_BYTES ? mass_file_flush(writer) : RESULT_OK;
}

Result mass_writer_finish(MassWriter *writer, const MassHead *head)
{
    MassHead whole = *head;
    Result rc = mass_file_flush(writer);
    whole.records = writer->records;
    whole.crc = writer->crc;
    if (rc == RESULT_OK) {
        WireWriter wire = wire_writer(&writer->bytes);
        mass_head_put(&wire, &whole);
        rc = wire.rc == RESULT_OK ? mass_file_write_at(writer, &writer->bytes, 0) : wire.rc;
    }
    if (rc == RESULT_OK &&
        rename(buffer_string(&writer->part), buffer_string(&writer->path)) != 0) {
        rc = result_of_errno(errno);
    }
    writer->begun = rc != RESULT_OK;
    return rc;
}

Result mass_writer_finish_copy(MassWriter *writer, const MassHead *head)
{
    Result rc = mass_file_flush(writer);
    if (rc == RESULT_OK && (writer->records != head->records || writer->crc != head->crc)) {
        rc = RESULT_DAMAGED;
    }
    return rc == RESULT_OK ? mass_writer_finish(writer, head) : rc;
}

/* ---- reading ---- */

static Result mass_file_read_head(int fd, MassHead *head)
{
    char bytes[MASS_HEAD_BYTES];
    if (pread(fd, bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return RESULT_DAMAGED;
    }
    WireReader reader = wire_reader(bytes, sizeof bytes);
    return mass_head_get(&reader, head) ? RESULT_OK : RESULT_DAMAGED;
}

Result mass_file_head(const char *path, MassHead *head)
{
    Buffer none;
    buffer_init(&none, BUFFER_NO_LIMIT);
    Result rc = mass_file_chunk(path, 0, 0, head, &none);
    buffer_destroy(&none);
    return rc;
}

Result mass_file_chunk(const char *path, uint64_t offset, size_t most, MassHead *head,
                       Buffer *bytes)
{
    buffer_reset(bytes);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return result_of_errno(errno);
    }
    Result rc = mass_file_read_head(fd, head);
    uint64_t end = rc == RESULT_OK ? head->records * MASS_RECORD_BYTES : 0;
    if (rc == RESULT_OK && offset < end && offset % MASS_RECORD_BYTES == 0) {
        uint64_t left = end - offset;
        size_t n = left < most ? (size_t)left : most - most % MASS_RECORD_BYTES;
        rc = buffer_reserve(bytes, n + 1);
        if (rc == RESULT_OK) {
            ssize_t got = pread(fd, bytes->data, n, (off_t)(MASS_HEAD_BYTES + offset));
            bytes->length = got > 0 ? (size_t)got : 0;
            rc = bytes->length == n ? RESULT_OK : RESULT_DAMAGED;
        }
    }
    (void)close(fd);
    return rc;
}

static Result map_whole(MassFile *file, int fd)
{
    struct stat about;
    if (fstat(fd, &about) != 0) {
        return result_of_errno(errno);
    }
    file->length = (size_t)about.st_size;
    if (file->length != MASS_HEAD_BYTES + file->head.records * MASS_RECORD_BYTES) {
        return RESULT_DAMAGED;
    }
    file->map = mmap(NULL, file->length, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file->map == MAP_FAILED) {
        file->map = NULL;
        return result_of_errno(errno);
    }
    file->records = (const char *)file->map + MASS_HEAD_BYTES;
    uint32_t crc = libdeflate_crc32(0, file->records, file->length - MASS_HEAD_BYTES);
    return crc == file->head.crc ? RESULT_OK : RESULT_DAMAGED;
}

Result mass_file_open(MassFile *file, const char *path)
{
    *file = (MassFile){.map = NULL};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return result_of_errno(errno);
    }
    Result rc = mass_file_read_head(fd, &file->head);
    rc = rc == RESULT_OK ? map_whole(file, fd) : rc;
    (void)close(fd);
    if (rc != RESULT_OK) {
        mass_file_close(file);
    }
    return rc;
}

void mass_file_close(MassFile *file)
{
    if (file->map != NULL) {
        (void)munmap(file->map, file->length);
        file->map = NULL;
    }
}
