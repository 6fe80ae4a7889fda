/* A DRUM at work, to be killed, and the check of what it left; driven by tests/crash/fail_drum.py.
 *
 *   crash_drum work PLACE OPERATIONS lmdb|runs    0: done; 3: a call failed, as ordered by io_shim
 *   crash_drum check PLACE OPERATIONS lmdb|runs   recovers, merges; 0 when every promise was kept
 *
 * Operation i is on key i mod 61 with value i. PLACE/n.acknowledged holds how many operations were
 * promised to survive. What must hold afterwards, for n of them:
 *   - each key's value is that of an operation on it, none older than the last one promised;
 *   - with LMDB, where callbacks write into the same transaction: each promised operation was
 *     dispatched exactly once, each other at most once. */
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "store/drum/drum.h"
#include "store/repository/drum_lmdb.h"
#include "store/repository/drum_runs.h"

#define KEYS 61u

typedef struct Work {
    char place[256];
    bool uses_runs;
    uint64_t operations;
    MDB_env *env;
    MDB_dbi seen; /* operation number -> how often dispatched */
    DrumRepository *repository;
    Drum *drum;
    DrumRecovery recovery;
} Work;

static Result note_event(void *context, const DrumEvent *event)
{
    Work *work = context;
    uint64_t number = 0, times = 0;
    if (work->uses_runs) {
        return RESULT_OK;
    }
    if (event->auxiliary.length != sizeof number) {
        return RESULT_INTERNAL;
    }
    memcpy(&number, event->auxiliary.bytes, sizeof number);
    MDB_txn *txn = drum_lmdb_transaction(work->repository);
    MDB_val key = {sizeof number, &number}, value;
    if (mdb_get(txn, work->seen, &key, &value) == 0) {
        memcpy(&times, value.mv_data, sizeof times);
    }
    times++;
    value = (MDB_val){sizeof times, &times};
    return mdb_put(txn, work->seen, &key, &value, 0) == 0 ? RESULT_OK : RESULT_IO;
}

static Result open_lmdb(Work *work)
{
    char path[512];
    MDB_txn *txn = NULL;
    (void)snprintf(path, sizeof path, "%s/table", work->place);
    DrumLmdbOptions options = {.path = path, .map_bytes = (size_t)16 << 20, .commit_bytes = 1};
    Result rc = drum_lmdb_open(&work->repository, &options);
    if (rc != RESULT_OK) {
        return rc;
    }
    work->env = drum_lmdb_environment(work->repository);
    int code = mdb_txn_begin(work->env, NULL, 0, &txn);
    if (code == 0) {
        code = mdb_dbi_open(txn, "seen", MDB_CREATE | MDB_INTEGERKEY, &work->seen);
        if (code == 0) {
            code = mdb_txn_commit(txn);
        } else {
            mdb_txn_abort(txn);
        }
    }
    return code == 0 ? RESULT_OK : RESULT_IO;
}

static Result open_work(Work *work)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/runs", work->place);
    DrumRunsOptions runs = {.directory = path};
    Result rc = work->uses_runs ? drum_runs_open(&work->repository, &runs) : open_lmdb(work);
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

static void close_work(Work *work)
{
    if (work->uses_runs) {
        drum_runs_close(work->repository);
    } else {
        drum_lmdb_close(work->repository);
    }
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
    if (work->repository != NULL) {
        close_work(work);
    }
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
    Result rc = work->uses_runs ? drum_runs_get(work->repository, key.number, &value, &length)
                                : drum_lmdb_get(work->repository, &key, &value, &length);
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

static unsigned check_dispatched(Work *work, uint64_t promised)
{
    unsigned wrong = 0;
    MDB_txn *txn = NULL;
    if (mdb_txn_begin(work->env, NULL, MDB_RDONLY, &txn) != 0) {
        return 1;
    }
    for (uint64_t i = 0; i < work->operations; i++) {
        MDB_val key = {sizeof i, &i}, value;
        uint64_t times = 0;
        if (mdb_get(txn, work->seen, &key, &value) == 0) {
            memcpy(&times, value.mv_data, sizeof times);
        }
        if (times > 1 || (i < promised && times != 1)) {
            (void)fprintf(stderr, "operation %llu: dispatched %llu times, %llu promised\n",
                          (unsigned long long)i, (unsigned long long)times,
                          (unsigned long long)promised);
            wrong++;
        }
    }
    mdb_txn_abort(txn);
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
    wrong += work->uses_runs ? 0 : check_dispatched(work, promised);
    wrong += work->recovery.damaged_bytes != 0;
    rc = drum_dispose(work->drum);
    close_work(work);
    return wrong == 0 && rc == RESULT_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    Work work = {.uses_runs = argc > 4 && strcmp(argv[4], "runs") == 0};
    if (argc != 5) {
        (void)fprintf(stderr, "usage: crash_drum work|check PLACE OPERATIONS lmdb|runs\n");
        return 2;
    }
    (void)snprintf(work.place, sizeof work.place, "%s", argv[2]);
    (void)mkdir(work.place, 0755);
    work.operations = strtoull(argv[3], NULL, 10);
    return strcmp(argv[1], "work") == 0 ? work_main(&work) : check_main(&work);
}
