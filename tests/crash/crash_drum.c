/* A DRUM at work, to be killed, and the check of what it left; driven by tests/crash/fail_drum.py.
 *
 *   crash_drum work PLACE OPERATIONS    0: done; 3: a call failed, as ordered by io_shim
 *   crash_drum check PLACE OPERATIONS   recovers, merges; 0 when every promise was kept
 *
 * Operation i is on key i mod 61 with value i. PLACE/n.acknowledged holds how many operations were
 * promised to survive. What must hold afterwards, for n of them: each key's value is that of an
 * operation on it, none older than the last one promised. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "store/drum/drum.h"
#include "store/drum/drum_runs.h"

#define KEYS 61u

typedef struct Work {
    char place[256];
    uint64_t operations;
    DrumRepository *repository;
    Drum *drum;
    DrumRecovery recovery;
} Work;

static Result note_event(void *context, const DrumEvent *event)
{
    (void)context;
    return event->auxiliary.length == sizeof(uint64_t) ? RESULT_OK : RESULT_INTERNAL;
}

static Result open_work(Work *work)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/runs", work->place);
    DrumRunsOptions runs = {.directory = path};
    Result rc = drum_runs_open(&work->repository, &runs);
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)snprintf(path, sizeof path, "%s/buckets", work->place);
    DrumOptions options = {.directory = path,
                           .repository = work->repository,
                           .dispatcher = {.context = work,
                                          .unique_key_check = note_event,
                                          .duplicate_key_check = note_event,
                                          .unique_key_update = note_event,
                                          .duplicate_key_update = note_event,
                                          .update = note_event},
                           .buckets = 4,
                           .array_bytes = 200,
                           .bucket_bytes = 4096,
                           .manual_merge = true};
    return drum_open(&work->drum, &options, &work->recovery);
}

static DrumKey key_of(uint64_t number)
{
    return drum_key_number(hash_mix(number % KEYS + 1));
}

static Result do_operation(Drum *drum, uint64_t i)
{
    DrumBytes value = {&i, sizeof i}, auxiliary = {&i, sizeof i};
    switch (i % 3) {
    case 0:
        return drum_check_with(drum, key_of(i), auxiliary);
    case 1:
        return drum_update_with(drum, key_of(i), value, auxiliary);
    default:
        return drum_check_update_with(drum, key_of(i), value, auxiliary);
    }
}

static int work_main(Work *work)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/n.acknowledged", work->place);
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    Result rc = fd >= 0 ? open_work(work) : RESULT_IO;
    for (uint64_t i = 0; rc == RESULT_OK && i < work->operations; i++) {
        rc = do_operation(work->drum, i);
        bool synchronizes = hash_mix(i + 7) % 60 == 0;
        if (rc == RESULT_OK && (synchronizes || hash_mix(i + 9) % 25 == 0)) {
            uint64_t promised = i + 1;
            rc = synchronizes ? drum_synchronize(work->drum) : drum_persist(work->drum);
            if (rc == RESULT_OK && pwrite(fd, &promised, sizeof promised, 0) != sizeof promised) {
                rc = RESULT_IO;
            }
        }
    }
    Result disposed = drum_dispose(work->drum);
    drum_runs_close(work->repository);
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc == RESULT_OK && disposed == RESULT_OK ? 0 : 3;
}

/* --- checking -------------------------------------------------------------------------------- */

static uint64_t promised_operations(const Work *work)
{
    char path[512];
    uint64_t promised = 0;
    (void)snprintf(path, sizeof path, "%s/n.acknowledged", work->place);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || pread(fd, &promised, sizeof promised, 0) != sizeof promised) {
        promised = 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return promised;
}

/* The value of a key as an operation's number + 1; 0 when there is none, UINT64_MAX when
 * unreadable. */
static uint64_t stored_operation(Work *work, uint64_t key_number)
{
    void *value = NULL;
    size_t length = 0;
    uint64_t number = 0;
    DrumKey key = key_of(key_number);
    Result rc = drum_runs_get(work->repository, key.number, &value, &length);
    if (rc == RESULT_OK && length == sizeof number) {
        memcpy(&number, value, sizeof number);
        number++;
    } else if (rc != RESULT_NOT_FOUND) {
        number = UINT64_MAX;
    }
    free(value);
    return number;
}

static unsigned check_values(Work *work, uint64_t promised)
{
    unsigned wrong = 0;
    for (uint64_t k = 0; k < KEYS; k++) {
        uint64_t stored = stored_operation(work, k), least = 0;
        for (uint64_t i = k; i < promised; i += KEYS) {
            least = i % 3 != 0 ? i + 1 : least;
        }
        bool good = stored == 0 ? least == 0
                                : stored >= least && stored <= work->operations &&
                                      (stored - 1) % KEYS == k && (stored - 1) % 3 != 0;
        if (!good) {
            (void)fprintf(stderr, "key %llu: has %llu, promised %llu\n", (unsigned long long)k,
                          (unsigned long long)stored, (unsigned long long)least);
        }
        wrong += !good;
    }
    return wrong;
}

static int check_main(Work *work)
{
    uint64_t promised = promised_operations(work);
    Result rc = open_work(work);
    if (rc == RESULT_OK) {
        rc = drum_synchronize(work->drum);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "recovery: %s\n", result_name(rc));
        return 1;
    }
    unsigned wrong = check_values(work, promised);
    wrong += work->recovery.damaged_bytes != 0;
    rc = drum_dispose(work->drum);
    drum_runs_close(work->repository);
    return wrong == 0 && rc == RESULT_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    Work work = {.operations = 0};
    if (argc != 4) {
        (void)fprintf(stderr, "usage: crash_drum work|check PLACE OPERATIONS\n");
        return 2;
    }
    (void)snprintf(work.place, sizeof work.place, "%s", argv[2]);
    (void)mkdir(work.place, 0755);
    work.operations = strtoull(argv[3], NULL, 10);
    return strcmp(argv[1], "work") == 0 ? work_main(&work) : check_main(&work);
}
