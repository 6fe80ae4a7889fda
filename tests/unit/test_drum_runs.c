#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "store/drum/drum_runs.h"
#include "folder_fixture.h"
#include "unit.h"

#define BLOCK_ENTRIES 4096u

static bool folder_syncs_fail;

/* Takes the place of the C library's. */
int fsync(int fd)
{
    struct stat status;
    if (folder_syncs_fail && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        errno = EIO;
        return -1;
    }
    return 0;
}

static int open_place(char place[64])
{
    folder_make(place);
    int fd = open(place, O_RDONLY | O_DIRECTORY);
    CU_ASSERT_FATAL(fd >= 0);
    return fd;
}

/* The i-th key of a run of a kind: dense, random, far apart, at both ends. */
static uint64_t key_of(unsigned kind, uint64_t i)
{
    switch (kind) {
    case 0:
        return i;
    case 1:
        return i * UINT64_C(0x10000000000) + (hash_mix(i + 1) & 0xFFFFFFFF);
    case 2:
        return i * 3 + (i > 5000 ? UINT64_C(0xF000000000000000) : 0);
    default:
        return i == 0 ? 0 : UINT64_MAX - 20000 + i;
    }
}

static DrumBytes value_of(unsigned kind, uint64_t i, uint8_t room[64])
{
    memset(room, (int)(i & 0xFF), 64);
    return (DrumBytes){room, kind == 1 ? (size_t)(i % 40) : kind == 2 ? 0 : 6};
}

/* One merge by hand that puts n keys of a kind. */
static void write_run(const char *place, unsigned kind, uint64_t n, DrumRepository **r)
{
    DrumRunsOptions options = {.directory = place};
    uint8_t room[64];
    CU_ASSERT_EQUAL_FATAL(drum_runs_open(r, &options), RESULT_OK);
    CU_ASSERT_EQUAL((*r)->begin(*r), RESULT_OK);
    for (uint64_t i = 0; i < n; i++) {
        DrumKey key = drum_key_number(key_of(kind, i));
        CU_ASSERT_EQUAL((*r)->put(*r, &key, value_of(kind, i, room), true), RESULT_OK);
    }
    CU_ASSERT_EQUAL((*r)->commit(*r, (DrumProgress){1, 0}), RESULT_OK);
}

static bool value_is(DrumBytes found, unsigned kind, uint64_t i)
{
    uint8_t room[64];
    DrumBytes expected = value_of(kind, i, room);
    return found.length == expected.length &&
           (found.length == 0 || memcmp(found.bytes, expected.bytes, found.length) == 0);
}

static void a_run_gives_back_what_was_written_in_order_and_by_key(void)
{
    const uint64_t sizes[5] = {1, 2, BLOCK_ENTRIES, BLOCK_ENTRIES + 1, 19000};
    for (unsigned kind = 0; kind < 4; kind++) {
        for (int s = 0; s < 5; s++) {
            char place[64];
            uint64_t n = sizes[s], wrong = 0;
            DrumRepository *r = NULL;
            DrumBytes value;
            (void)close(open_place(place));
            write_run(place, kind, n, &r);
            CU_ASSERT_EQUAL(drum_runs_count(r), n);
            CU_ASSERT_EQUAL(drum_runs_verify(r), RESULT_OK);
            for (uint64_t step = 1; step < 9000; step = step * 3 + 1) {
                wrong += r->begin(r) != RESULT_OK;
                for (uint64_t i = step / 2; i < n; i += step) {
                    DrumKey key = drum_key_number(key_of(kind, i));
                    wrong += r->find(r, &key, &value) != RESULT_OK || !value_is(value, kind, i);
                    if (i + 1 < n && key_of(kind, i + 1) > key.number + 1) {
                        key = drum_key_number(key.number + 1); /* between two entries */
                        wrong += r->find(r, &key, &value) != RESULT_NOT_FOUND;
                    }
                }
            }
            DrumKey last = drum_key_number(UINT64_MAX);
            if (key_of(kind, n - 1) < UINT64_MAX) {
                wrong += r->find(r, &last, &value) != RESULT_NOT_FOUND;
                wrong += r->find(r, &last, &value) != RESULT_NOT_FOUND;
            }
            CU_ASSERT_EQUAL(wrong, 0);
            drum_runs_close(r);
            folder_remove(place);
        }
    }
}

static Result read_all_of(const char *place)
{
    DrumRunsOptions options = {.directory = place};
    DrumRepository *r = NULL;
    Result rc = drum_runs_open(&r, &options);
    if (rc == RESULT_OK) {
        rc = drum_runs_verify(r);
        drum_runs_close(r);
    }
    return rc;
}

static void a_flipped_bit_or_a_cut_is_always_found(void)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        char place[64];
        DrumRepository *r = NULL;
        struct stat status;
        int directory = open_place(place);
        write_run(place, kind, 9000, &r);
        drum_runs_close(r);
        int fd = openat(directory, "0000000000000000.run", O_RDWR);
        CU_ASSERT_FATAL(fd >= 0 && fstat(fd, &status) == 0);
        CU_ASSERT_EQUAL(read_all_of(place), RESULT_OK);
        for (uint64_t i = 0; i < 150; i++) {
            uint64_t at = hash_mix(i + 1) % (uint64_t)status.st_size;
            char byte = 0, flipped;
            CU_ASSERT_EQUAL(pread(fd, &byte, 1, (off_t)at), 1);
            flipped = (char)(byte ^ (1 << (i % 8)));
            CU_ASSERT_EQUAL(pwrite(fd, &flipped, 1, (off_t)at), 1);
            CU_ASSERT_EQUAL(read_all_of(place), RESULT_DAMAGED);
            CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, (off_t)at), 1);
        }
        CU_ASSERT_EQUAL(read_all_of(place), RESULT_OK);
        CU_ASSERT_EQUAL(ftruncate(fd, status.st_size - 1), 0);
        CU_ASSERT_EQUAL(read_all_of(place), RESULT_DAMAGED);
        (void)close(fd);
        (void)close(directory);
        folder_remove(place);
    }
}

/* --- the repository -------------------------------------------------------------------------- */

/* One merge by hand: keys from, from + step, ... below 3000, each with value. */
static Result put_some(DrumRepository *r, uint64_t generation, uint64_t from, uint64_t step,
                       uint64_t value)
{
    Result rc = r->begin(r);
    for (uint64_t i = from; rc == RESULT_OK && i < 3000; i += step) {
        DrumKey key = drum_key_number(i << 40);
        DrumBytes found;
        rc = r->find(r, &key, &found);
        if (rc == RESULT_OK || rc == RESULT_NOT_FOUND) {
            rc = r->put(r, &key, (DrumBytes){&value, sizeof value}, rc == RESULT_NOT_FOUND);
        }
    }
    return rc == RESULT_OK ? r->commit(r, (DrumProgress){generation + 1, 0}) : rc;
}

static unsigned count_files(const char *place)
{
    unsigned n = 0;
    DIR *directory = opendir(place);
    CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
    for (const struct dirent *e = readdir(directory); e != NULL; e = readdir(directory)) {
        n += strstr(e->d_name, ".run") != NULL;
    }
    (void)closedir(directory);
    return n;
}

static void runs_are_merged_and_the_youngest_value_stays(void)
{
    char place[64];
    (void)close(open_place(place));
    DrumRunsOptions options = {.directory = place};
    DrumRepository *r = NULL;
    uint64_t expected[3000] = {0};
    CU_ASSERT_EQUAL_FATAL(drum_runs_open(&r, &options), RESULT_OK);
    for (uint64_t g = 0; g < 60; g++) {
        uint64_t from = hash_mix(g + 1) % 50, step = 1 + hash_mix(g + 100) % 40;
        CU_ASSERT_EQUAL(put_some(r, g, from, step, g + 1), RESULT_OK);
        for (uint64_t i = from; i < 3000; i += step) {
            expected[i] = g + 1;
        }
        CU_ASSERT(count_files(place) <= DRUM_RUNS_MOST);
        if (g % 7 == 3) {
            /* Remains of a crash: a run that no manifest names. */
            char path[128];
            (void)snprintf(path, sizeof path, "%s/00000000000fffff.run", place);
            drum_runs_close(r);
            FILE *file = fopen(path, "w");
            CU_ASSERT_PTR_NOT_NULL_FATAL(file);
            (void)fclose(file);
            CU_ASSERT_EQUAL_FATAL(drum_runs_open(&r, &options), RESULT_OK);
            CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
        }
    }
    uint64_t wrong = 0, count = 0;
    for (uint64_t i = 0; i < 3000; i++) {
        void *value = NULL;
        size_t length = 0;
        uint64_t found = 0;
        if (drum_runs_get(r, i << 40, &value, &length) == RESULT_OK && length == sizeof found) {
            memcpy(&found, value, sizeof found);
        }
        free(value);
        wrong += found != expected[i];
        count += expected[i] != 0;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(drum_runs_count(r), count);
    CU_ASSERT_EQUAL(drum_runs_verify(r), RESULT_OK);
    DrumProgress progress;
    CU_ASSERT_EQUAL(r->progress(r, &progress), RESULT_OK);
    CU_ASSERT_EQUAL(progress.generation, 60);
    DrumRepository *second;
    CU_ASSERT_EQUAL(drum_runs_open(&second, &options), RESULT_LOCKED);
    drum_runs_close(r);
    folder_remove(place);
}

static void what_is_aborted_or_not_committed_leaves_nothing(void)
{
    char place[64];
    (void)close(open_place(place));
    DrumRunsOptions options = {.directory = place};
    DrumRepository *r = NULL;
    CU_ASSERT_EQUAL_FATAL(drum_runs_open(&r, &options), RESULT_OK);
    CU_ASSERT_EQUAL(put_some(r, 0, 0, 2, 1), RESULT_OK);
    DrumKey key = drum_key_number(1);
    CU_ASSERT_EQUAL(r->begin(r), RESULT_OK);
    CU_ASSERT_EQUAL(r->put(r, &key, (DrumBytes){"x", 1}, true), RESULT_OK);
    r->abort(r);
    CU_ASSERT_EQUAL(drum_runs_count(r), 1500);
    CU_ASSERT_EQUAL(count_files(place), 1);
    CU_ASSERT_EQUAL(r->begin(r), RESULT_OK);
    CU_ASSERT_EQUAL(r->put(r, &key, (DrumBytes){"x", 1}, true), RESULT_OK);
    drum_runs_close(r);
    CU_ASSERT_EQUAL_FATAL(drum_runs_open(&r, &options), RESULT_OK);
    CU_ASSERT_EQUAL(drum_runs_count(r), 1500);
    CU_ASSERT_EQUAL(count_files(place), 1);
    drum_runs_close(r);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/manifest", place);
    CU_ASSERT_EQUAL(truncate(path, 20), 0);
    CU_ASSERT_EQUAL(drum_runs_open(&r, &options), RESULT_DAMAGED);
    CU_ASSERT_PTR_NULL(r);
    folder_remove(place);
}

/* The manifest was renamed, but its folder not synced: a power cut may bring the one before back.
 */
static void a_commit_that_may_be_lost_keeps_the_runs_before_it(void)
{
    char place[64], path[128], before[4096];
    (void)close(open_place(place));
    (void)snprintf(path, sizeof path, "%s/manifest", place);
    DrumRunsOptions options = {.directory = place};
    DrumRepository *r = NULL;
    CU_ASSERT_EQUAL_FATAL(drum_runs_open(&r, &options), RESULT_OK);
    for (uint64_t g = 0; g < DRUM_RUNS_MOST; g++) {
        CU_ASSERT_EQUAL(put_some(r, g, g, DRUM_RUNS_MOST + 1, g), RESULT_OK);
    }
    uint64_t count = drum_runs_count(r);
    CU_ASSERT_EQUAL(count_files(place), DRUM_RUNS_MOST);
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size_t length = fread(before, 1, sizeof before, file);
    (void)fclose(file);
    folder_syncs_fail = true;
    CU_ASSERT_NOT_EQUAL(put_some(r, DRUM_RUNS_MOST, DRUM_RUNS_MOST, DRUM_RUNS_MOST + 1, 1),
                        RESULT_OK);
    folder_syncs_fail = false;
    CU_ASSERT(drum_runs_count(r) > count); /* in force as long as the process lives */
    CU_ASSERT_EQUAL(drum_runs_verify(r), RESULT_OK);
    drum_runs_close(r);
    file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(before, 1, length, file), length);
    (void)fclose(file);
    CU_ASSERT_EQUAL_FATAL(drum_runs_open(&r, &options), RESULT_OK);
    CU_ASSERT_EQUAL(drum_runs_count(r), count);
    CU_ASSERT_EQUAL(drum_runs_verify(r), RESULT_OK);
    drum_runs_close(r);
    folder_remove(place);
}

UNIT_MAIN("drum_runs",
          {"a run gives back what was written, in order and by key",
           a_run_gives_back_what_was_written_in_order_and_by_key},
          {"a flipped bit or a cut is always found", a_flipped_bit_or_a_cut_is_always_found},
          {"runs are merged and the youngest value stays",
           runs_are_merged_and_the_youngest_value_stays},
          {"what is aborted or not committed leaves nothing",
           what_is_aborted_or_not_committed_leaves_nothing},
          {"a commit that may be lost keeps the runs before it",
           a_commit_that_may_be_lost_keeps_the_runs_before_it})
