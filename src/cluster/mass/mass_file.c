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

static void mass_file_put_double(WireWriter *writer, double number)
{
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    wire_put_64(writer, bits);
}

/* A sum: anything else becomes 0. */
static double mass_file_get_double(WireReader *reader)
{
    uint64_t bits = wire_get_64(reader);
    double number = 0.0;
    memcpy(&number, &bits, sizeof number);
    return number > 0.0 && number < 1e30 ? number : 0.0;
}

void mass_head_put(WireWriter *writer, const MassHead *head)
{
    wire_put_32(writer, MAGIC);
    wire_put_64(writer, head->round);
    wire_put_64(writer, head->time_s);
    wire_put_64(writer, head->pages);
    mass_file_put_double(writer, head->sum);
    mass_file_put_double(writer, head->jump);
    mass_file_put_double(writer, head->inflow);
    mass_file_put_double(writer, head->outflow);
    wire_put_64(writer, head->records);
    wire_put_32(writer, head->crc);
}

bool mass_head_get(WireReader *reader, MassHead *head)
{
    uint32_t magic = wire_get_32(reader);
    *head = (MassHead){.round = wire_get_64(reader)};
    head->time_s = wire_get_64(reader);
    head->pages = wire_get_64(reader);
    head->sum = mass_file_get_double(reader);
    head->jump = mass_file_get_double(reader);
    head->inflow = mass_file_get_double(reader);
    head->outflow = mass_file_get_double(reader);
    head->records = wire_get_64(reader);
    head->crc = wire_get_32(reader);
    return !reader->bad && magic == MAGIC && head->records <= INT64_MAX / MASS_RECORD_BYTES;
}

void mass_record_read(const char bytes[MASS_RECORD_BYTES], MassRecord *record)
{
    WireReader reader = wire_reader(bytes, MASS_RECORD_BYTES);
    record->hash = wire_get_64(&reader);
    record->print = wire_get_32(&reader);
    record->print |= (uint64_t)wire_get_8(&reader) << 32;
    uint32_t mass = wire_get_32(&reader);
    memcpy(&record->mass, &mass, sizeof record->mass);
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
    uint32_t mass = 0;
    size_t before = writer->bytes.length;
    memcpy(&mass, &record->mass, sizeof mass);
    WireWriter wire = wire_writer(&writer->bytes);
    wire_put_64(&wire, record->hash);
    wire_put_32(&wire, (uint32_t)record->print);
    wire_put_8(&wire, (uint8_t)(record->print >> 32));
    wire_put_32(&wire, mass);
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
