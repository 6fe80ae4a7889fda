/* Reading on behind damage: where the next record begins. */
#include <string.h>

#include "store/archive/warc_reader.h"
#include "unit.h"
#include "warc_samples.h"

#define RECORDS 5u

/* A file of small resource records; starts[i] is where the i-th begins, starts[RECORDS] its end. */
static Buffer make_file(WarcCompression compression, size_t starts[RECORDS + 1])
{
    Buffer file;
    WarcRecorder *recorder = NULL;
    WarcRecorderOptions options = {.compression = compression};
    WarcGroup group;
    buffer_init(&file, BUFFER_NO_LIMIT);
    warc_group_init(&group);
    if (warc_recorder_new(&recorder, &options) != RESULT_OK) {
        abort();
    }
    for (unsigned i = 0; i < RECORDS; i++) {
        char uri[32];
        (void)snprintf(uri, sizeof uri, "dns:host%u.test", i);
        WarcResource resource = {.uri = warc_bytes(uri, strlen(uri)),
                                 .started = SAMPLE_DATE,
                                 .content_type = "text/dns",
                                 .block = warc_bytes("an answer", 9)};
        starts[i] = file.length;
        CU_ASSERT_EQUAL(warc_record_resource(recorder, &resource, &group), RESULT_OK);
        (void)buffer_append(&file, group.members.data, group.members.length);
    }
    starts[RECORDS] = file.length;
    warc_group_destroy(&group);
    warc_recorder_delete(recorder);
    return file;
}

/* The numbers of the records that can be read, as a bit set; passed: the bytes between them. */
static unsigned read_all(const SampleDirectory *directory, const Buffer *file, uint64_t *passed)
{
    char path[256];
    WarcReader *reader = NULL;
    WarcRecord record;
    unsigned found = 0;
    *passed = 0;
    (void)snprintf(path, sizeof path, "%s/x.warc", directory->path);
    FILE *out = fopen(path, "we");
    if (out == NULL || fwrite(buffer_string(file), 1, file->length, out) != file->length ||
        fclose(out) != 0 || warc_reader_open(&reader, path) != RESULT_OK) {
        abort();
    }
    Result rc = RESULT_OK;
    while (rc == RESULT_OK) {
        rc = warc_reader_next(reader, &record);
        if (rc == RESULT_OK) {
            found |= 1u << (unsigned)(record.uri.bytes[8] - '0');
        } else if (rc == RESULT_DAMAGED) {
            uint64_t more = 0;
            rc = warc_reader_resync(reader, &more);
            *passed += more;
        }
    }
    CU_ASSERT_EQUAL(rc, RESULT_NOT_FOUND);
    warc_reader_close(reader);
    return found;
}

static void check(WarcCompression compression)
{
    SampleDirectory directory = sample_directory();
    size_t starts[RECORDS + 1];
    uint64_t passed = 0;
    Buffer file = make_file(compression, starts);
    CU_ASSERT_EQUAL(read_all(&directory, &file, &passed), 31);
    CU_ASSERT_EQUAL(passed, 0);
    /* A byte of each record in turn: it is lost, the others are not. */
    for (unsigned i = 0; i < RECORDS; i++) {
        size_t middle = (starts[i] + starts[i + 1]) / 2;
        file.data[middle] = (char)~(unsigned char)file.data[middle];
        CU_ASSERT_EQUAL(read_all(&directory, &file, &passed), 31u & ~(1u << i));
        CU_ASSERT_EQUAL(passed, starts[i + 1] - starts[i]);
        file.data[middle] = (char)~(unsigned char)file.data[middle];
    }
    /* Something between two records, with what looks like the beginning of one in it. */
    Buffer mixed;
    buffer_init(&mixed, BUFFER_NO_LIMIT);
    static const char junk[] = "\x1f\x8b\x08 no record \x28\xb5\x2f\xfd\x1f\x8b";
    (void)buffer_append(&mixed, file.data, starts[2]);
    (void)buffer_append(&mixed, junk, sizeof junk);
    (void)buffer_append(&mixed, file.data + starts[2], starts[RECORDS] - starts[2]);
    CU_ASSERT_EQUAL(read_all(&directory, &mixed, &passed), 31);
    CU_ASSERT_EQUAL(passed, sizeof junk);
    /* Cut anywhere: what is whole before the cut is there. */
    for (size_t length = 0; length < starts[RECORDS]; length += 7) {
        buffer_reset(&mixed);
        (void)buffer_append(&mixed, file.data, length);
        unsigned whole = 0;
        while (starts[whole + 1] <= length) {
            whole++;
        }
        CU_ASSERT_EQUAL(read_all(&directory, &mixed, &passed), (1u << whole) - 1u);
        CU_ASSERT_EQUAL(passed, length - starts[whole]);
    }
    buffer_destroy(&mixed);
    buffer_destroy(&file);
    sample_remove(&directory);
}

static void behind_damage_the_next_record_is_found(void)
{
    check(WARC_GZIP);
}

static void in_zstandard_files_too(void)
{
    check(WARC_ZSTD);
}

UNIT_MAIN("warc_resync",
          {"behind damage the next record is found", behind_damage_the_next_record_is_found},
          {"in Zstandard files, too", in_zstandard_files_too})
