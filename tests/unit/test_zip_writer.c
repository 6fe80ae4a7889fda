#include "store/zip/zip_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "unit.h"

static const WallTime noon = {INT64_C(1769860800000000)}; /* 2026-01-31T12:00:00Z */

static char path[] = "/tmp/ragno-zip-XXXXXX";

static void make_path(void)
{
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    (void)close(fd);
}

static size_t read_file(unsigned char *bytes, size_t room)
{
    FILE *file = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size_t n = fread(bytes, 1, room, file);
    (void)fclose(file);
    return n;
}

static uint64_t number(const unsigned char *at, unsigned bytes)
{
    uint64_t n = 0;
    for (unsigned i = bytes; i-- > 0;) {
        n = n << 8 | at[i];
    }
    return n;
}

static const ZipEntry *add(ZipWriter *zip, const char *name, const char *text)
{
    const ZipEntry *entry = NULL;
    CU_ASSERT_EQUAL_FATAL(zip_writer_begin(zip, name, ZIP_STORED), RESULT_OK);
    CU_ASSERT_EQUAL(zip_writer_write(zip, text, strlen(text)), RESULT_OK);
    CU_ASSERT_EQUAL(zip_writer_end(zip, &entry), RESULT_OK);
    return entry;
}

static void an_entry_has_its_size_and_digests(void)
{
    ZipWriter *zip = NULL;
    make_path();
    CU_ASSERT_EQUAL_FATAL(zip_writer_open(&zip, path, noon), RESULT_OK);
    const ZipEntry *entry = add(zip, "a/b", "abc");
    CU_ASSERT_EQUAL(entry->size, 3);
    CU_ASSERT_EQUAL(entry->offset, 0);
    CU_ASSERT_EQUAL(entry->crc32, 0x352441c2u);
    CU_ASSERT_STRING_EQUAL(entry->sha256,
                           "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CU_ASSERT_PTR_NULL(zip_writer_entry(zip, 1));
    CU_ASSERT_EQUAL(zip_writer_close(zip), RESULT_OK);
    (void)unlink(path);
}

/* The sizes are where APPNOTE.TXT has them: in the zip64 fields of both headers. */
static void the_headers_are_mended_when_an_entry_ends(void)
{
    unsigned char bytes[1024];
    ZipWriter *zip = NULL;
    make_path();
    CU_ASSERT_EQUAL_FATAL(zip_writer_open(&zip, path, noon), RESULT_OK);
    (void)add(zip, "first", "abc");
    const ZipEntry *second = add(zip, "second", "");
    uint64_t offset = second->offset;
    CU_ASSERT_EQUAL(zip_writer_close(zip), RESULT_OK);
    size_t n = read_file(bytes, sizeof bytes);
    CU_ASSERT_EQUAL_FATAL(memcmp(bytes, "PK\3\4", 4), 0);
    CU_ASSERT_EQUAL(number(bytes + 10, 2), 12 << 11);
    CU_ASSERT_EQUAL(number(bytes + 12, 2), (2026 - 1980) << 9 | 1 << 5 | 31);
    CU_ASSERT_EQUAL(number(bytes + 14, 4), 0x352441c2u);
    CU_ASSERT_EQUAL(number(bytes + 30 + 5, 2), 1);
    CU_ASSERT_EQUAL(number(bytes + 30 + 5 + 4, 8), 3);
    CU_ASSERT_EQUAL(memcmp(bytes + 30 + 5 + 20, "abc", 3), 0);
    CU_ASSERT_EQUAL(offset, 30 + 5 + 20 + 3);
    const unsigned char *end = bytes + n - 22;
    CU_ASSERT_EQUAL_FATAL(memcmp(end, "PK\5\6", 4), 0);
    CU_ASSERT_EQUAL(number(end + 10, 2), 2);
    const unsigned char *directory = bytes + number(end + 16, 4);
    CU_ASSERT_EQUAL_FATAL(memcmp(directory, "PK\1\2", 4), 0);
    CU_ASSERT_EQUAL(number(directory + 46 + 5 + 4, 8), 3);
    const unsigned char *next = directory + 46 + 5 + 28;
    CU_ASSERT_EQUAL_FATAL(memcmp(next, "PK\1\2", 4), 0);
    CU_ASSERT_EQUAL(number(next + 46 + 6 + 20, 8), offset);
    (void)unlink(path);
}

/* Text of 4 MB in pieces: deflated, both sizes told, and libz reads what was written. */
static void a_deflated_entry_is_smaller_and_whole(void)
{
    static char piece[4096];
    static unsigned char bytes[1 << 20];
    static unsigned char plain[1024 * sizeof piece + 1];
    const ZipEntry *entry = NULL;
    ZipWriter *zip = NULL;
    for (size_t i = 0; i < sizeof piece; i++) {
        piece[i] = (char)('a' + i * i % 23);
    }
    make_path();
    CU_ASSERT_EQUAL_FATAL(zip_writer_open(&zip, path, noon), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(zip_writer_begin(zip, "t", ZIP_DEFLATED), RESULT_OK);
    for (int i = 0; i < 1024; i++) {
        CU_ASSERT_EQUAL(zip_writer_write(zip, piece, sizeof piece), RESULT_OK);
    }
    CU_ASSERT_EQUAL(zip_writer_end(zip, &entry), RESULT_OK);
    CU_ASSERT_EQUAL(entry->size, sizeof plain - 1);
    CU_ASSERT_TRUE(entry->packed < entry->size / 10);
    uint32_t crc = entry->crc32;
    uint64_t packed = entry->packed;
    (void)add(zip, "stored", "abc");
    CU_ASSERT_EQUAL(zip_writer_close(zip), RESULT_OK);
    (void)read_file(bytes, sizeof bytes);
    CU_ASSERT_EQUAL(number(bytes + 8, 2), 8);
    CU_ASSERT_EQUAL(number(bytes + 30 + 1 + 4, 8), sizeof plain - 1);
    CU_ASSERT_EQUAL(number(bytes + 30 + 1 + 12, 8), packed);
    z_stream z = {.next_in = bytes + 30 + 1 + 20,
                  .avail_in = (uInt)packed,
                  .next_out = plain,
                  .avail_out = sizeof plain};
    CU_ASSERT_EQUAL_FATAL(inflateInit2(&z, -MAX_WBITS), Z_OK);
    CU_ASSERT_EQUAL(inflate(&z, Z_FINISH), Z_STREAM_END);
    CU_ASSERT_EQUAL(z.avail_in, 0);
    CU_ASSERT_EQUAL(z.total_out, sizeof plain - 1);
    CU_ASSERT_EQUAL(crc32(0, plain, sizeof plain - 1), crc);
    (void)inflateEnd(&z);
    CU_ASSERT_EQUAL(memcmp(bytes + 30 + 1 + 20 + packed, "PK\3\4", 4), 0);
    (void)unlink(path);
}

static void a_pipe_and_a_missing_folder_are_refused(void)
{
    ZipWriter *zip = NULL;
    char pipe_path[64];
    int fds[2];
    CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
    (void)snprintf(pipe_path, sizeof pipe_path, "/proc/self/fd/%d", fds[1]);
    CU_ASSERT_EQUAL(zip_writer_open(&zip, pipe_path, noon), RESULT_INVALID);
    CU_ASSERT_EQUAL(zip_writer_open(&zip, "/nowhere/x.zip", noon), RESULT_NOT_FOUND);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void a_full_disk_is_said(void)
{
    ZipWriter *zip = NULL;
    CU_ASSERT_EQUAL_FATAL(zip_writer_open(&zip, "/dev/full", noon), RESULT_OK);
    CU_ASSERT_EQUAL(zip_writer_begin(zip, "x", ZIP_STORED), RESULT_FULL);
    zip_writer_abandon(zip);
}

UNIT_MAIN("zip_writer", {"an entry has its size and digests", an_entry_has_its_size_and_digests},
          {"the headers are mended when an entry ends", the_headers_are_mended_when_an_entry_ends},
          {"a deflated entry is smaller and whole", a_deflated_entry_is_smaller_and_whole},
          {"a pipe and a missing folder are refused", a_pipe_and_a_missing_folder_are_refused},
          {"a full disk is said", a_full_disk_is_said})
