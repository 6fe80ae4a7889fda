#include "cluster/mass/mass_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libdeflate.h>

#include "base/memory/file.h"

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

/* Of a file, or of one that is not whole yet: with ".part". */
static const char *mass_file_path(Path *path, const char *directory, bool incoming, uint16_t agent,
                                  const char *end)
{
    return file_path(path, "%s/" MASS_DIRECTORY "/%s-%u%s", directory, incoming ? "from" : "to",
                     (unsigned)agent, end);
}

static const char *mass_writer_path(const MassWriter *writer, const char *end, Path *path)
{
    return mass_file_path(path, writer->directory, writer->incoming, writer->agent, end);
}

/* ---- writing ---- */

void mass_writer_init(MassWriter *writer, const char *directory, bool incoming, uint16_t agent)
{
    Path folder;
    *writer = (MassWriter){.directory = directory, .incoming = incoming, .agent = agent};
    buffer_init(&writer->bytes, BUFFER_NO_LIMIT);
    (void)mkdir(file_path(&folder, "%s/" MASS_DIRECTORY, directory), 0777); /* or it is there */
}

void mass_writer_destroy(MassWriter *writer)
{
    Path path;
    if (writer->begun) {
        (void)unlink(mass_writer_path(writer, ".part", &path));
    }
    buffer_destroy(&writer->bytes);
}

/* The file is open for one write only: there may be as many writers as agents. */
static Result mass_writer_flush(MassWriter *writer)
{
    Path path;
    Buffer *bytes = &writer->bytes;
    FILE *file = fopen(mass_writer_path(writer, ".part", &path), writer->begun ? "abe" : "wbe");
    if (file == NULL) {
        return result_of_errno(errno);
    }
    writer->begun = true;
    bool written = fwrite(bytes->data, 1, bytes->length, file) == bytes->length;
    written = fclose(file) == 0 && written;
    buffer_reset(bytes);
    return written ? RESULT_OK : result_of_errno(errno);
}

/* Records stand behind byte `before`. */
static Result mass_writer_count(MassWriter *writer, size_t before, Result rc)
{
    size_t length = writer->bytes.length - before;
    if (rc != RESULT_OK) {
        writer->bytes.length = before;
        return rc;
    }
    writer->records += length / MASS_RECORD_BYTES;
    writer->crc = libdeflate_crc32(writer->crc, writer->bytes.data + before, length);
    return writer->bytes.length >= FLUSH_BYTES ? mass_writer_flush(writer) : RESULT_OK;
}

Result mass_writer_add(MassWriter *writer, const MassRecord *record)
{
    size_t before = writer->bytes.length;
    WireWriter wire = wire_writer(&writer->bytes);
    wire_put(&wire, &mass_record, record);
    return mass_writer_count(writer, before, wire.rc);
}

Result mass_writer_copy(MassWriter *writer, const void *records, size_t length)
{
    size_t before = writer->bytes.length;
    return mass_writer_count(writer, before, buffer_append(&writer->bytes, records, length));
}

Result mass_writer_finish(MassWriter *writer, const MassHead *head)
{
    Path part, path;
    WireWriter wire = wire_writer(&writer->bytes);
    mass_head_put(&wire, head);
    Result rc = wire.rc == RESULT_OK ? mass_writer_flush(writer) : wire.rc;
    if (rc == RESULT_OK && rename(mass_writer_path(writer, ".part", &part),
                                  mass_writer_path(writer, "", &path)) != 0) {
        rc = result_of_errno(errno);
    }
    writer->begun = rc != RESULT_OK;
    return rc;
}

/* ---- reading ---- */

Result mass_file_open(MassFile *file, const char *directory, bool incoming, uint16_t agent)
{
    Path path;
    *file = (MassFile){.length = 0};
    Result rc = file_map(AT_FDCWD, mass_file_path(&path, directory, incoming, agent, ""),
                         &file->records, &file->length);
    if (rc != RESULT_OK) {
        return rc;
    }
    uint64_t bytes = file->length < MASS_HEAD_BYTES ? 0 : file->length - MASS_HEAD_BYTES;
    WireReader reader = wire_reader(file->records + bytes, file->length - bytes);
    if (!mass_head_get(&reader, &file->head) || !wire_reader_ended(&reader) ||
        bytes != file->head.records * MASS_RECORD_BYTES) {
        mass_file_close(file);
        return RESULT_DAMAGED;
    }
    return RESULT_OK;
}

bool mass_file_is_whole(const MassFile *file)
{
    return libdeflate_crc32(0, file->records, file->length - MASS_HEAD_BYTES) == file->head.crc;
}

void mass_file_close(MassFile *file)
{
    file_unmap(file->records, file->length);
    *file = (MassFile){.length = 0};
}
