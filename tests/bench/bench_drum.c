/* The URL-seen test at scale: check_updates with 60-byte auxiliaries, 30 % of them new, values
 * assigned, under a memory limit of 256 MiB (page cache included, where the memory controller can
 * be used).
 *
 *   SCALE=0.05       that share of 200 M operations, with buckets smaller by the same factor
 *   NAIVE=0          without the comparison with one look-up and insert per key
 *   DIRECTORY=DIR    for the files, about 6 GB at full scale; default build
 *
 * Figures: drum.seen.keys_per_cpu_s is all CPU time of the process, key generation included;
 * late_over_early_cost compares CPU per key of the merges that end at 90-100 % with those that end
 * at 5-15 %; naive.ratio is wall time per key of the plain way over DRUM's, both at the end. */
#include <errno.h>
#include <ftw.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "store/drum/drum.h"
#include "store/drum/drum_runs.h"

#define OPERATIONS  200e6
#define LIMIT_BYTES ((size_t)256 << 20)
#define AUXILIARY   60u
#define MAX_MERGES  4096u
#define NAIVE_NS    INT64_C(20000000000)
#define SORT_PARTS  64u

typedef struct Stream {
    uint64_t random;
    uint64_t distinct; /* keys made so far: hash_mix of 0..distinct-1 */
    char auxiliary[AUXILIARY];
} Stream;

typedef struct Point {
    uint64_t keys;
    int64_t cpu_ns;
    int64_t wall_ns;
} Point;

typedef struct Bench {
    uint64_t next_index;
    uint64_t unique;
    uint64_t duplicate;
    uint64_t bytes;
    Point points[MAX_MERGES];
    size_t n_points;
} Bench;

static void fail(const char *what, Result rc)
{
    (void)fprintf(stderr, "bench_drum: %s: %s\n", what, result_name(rc));
    exit(1);
}

/* --- operations ------------------------------------------------------------------------------ */

static uint64_t next_random(Stream *stream)
{
    stream->random += UINT64_C(0x9E3779B97F4A7C15);
    return hash_mix(stream->random);
}

/* The key of the next operation: 30 % new, the rest any earlier one. */
static uint64_t next_key(Stream *stream)
{
    uint64_t random = next_random(stream);
    uint64_t number;
    if (stream->distinct == 0 || (random & 0xFFFF) < 19661) {
        number = stream->distinct++;
    } else {
        number = next_random(stream) % stream->distinct;
    }
    memcpy(stream->auxiliary + 30, &number, sizeof number);
    return hash_mix(number + 1);
}

static Result count_unique(void *context, const DrumEvent *event)
{
    Bench *bench = context;
    bench->unique++;
    bench->bytes += (uint8_t)((const char *)event->auxiliary.bytes)[event->auxiliary.length - 1];
    return RESULT_OK;
}

static Result count_duplicate(void *context, const DrumEvent *event)
{
    Bench *bench = context;
    uint64_t index;
    memcpy(&index, event->value.bytes, sizeof index);
    bench->duplicate++;
    bench->bytes += index ^ (uint8_t)((const char *)event->auxiliary.bytes)[0];
    return RESULT_OK;
}

static Result assign_index(void *context, const DrumKey *key, DrumBytes given, void *value)
{
    Bench *bench = context;
    (void)key;
    (void)given;
    memcpy(value, &bench->next_index, sizeof bench->next_index);
    bench->next_index++;
    return RESULT_OK;
}

/* --- the limit ------------------------------------------------------------------------------- */

static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    bool good = fputs(text, file) >= 0;
    return fclose(file) == 0 && good;
}

/* Puts this process under the limit; cgroup receives the group's path, to be removed at the end. */
static void limit_memory(char *cgroup, size_t size)
{
    static const char *const roots[2] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"};
    static const char *const limits[2] = {"memory.limit_in_bytes", "memory.max"};
    char path[256], text[32];
    for (int i = 0; i < 2; i++) {
        (void)snprintf(cgroup, size, "%s/ragno-bench-%d", roots[i], (int)getpid());
        if (mkdir(cgroup, 0755) != 0) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s", cgroup, limits[i]);
        (void)snprintf(text, sizeof text, "%zu", LIMIT_BYTES);
        bool good = write_text(path, text);
        (void)snprintf(path, sizeof path, "%s/cgroup.procs", cgroup);
        (void)snprintf(text, sizeof text, "%d", (int)getpid());
        if (good && write_text(path, text)) {
            (void)fprintf(stderr, "memory limit: 256 MiB, cgroup (page cache included)\n");
            return;
        }
        (void)rmdir(cgroup);
    }
    cgroup[0] = 0;
    struct rlimit limit = {LIMIT_BYTES, LIMIT_BYTES};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) {
        (void)fprintf(stderr, "memory limit: none could be set\n");
        return;
    }
    (void)fprintf(stderr, "memory limit: 256 MiB, RLIMIT_DATA (page cache free)\n");
}

static void unlimit_memory(const char *cgroup)
{
    char path[256], text[32];
    if (cgroup[0] == 0) {
        return;
    }
    /* A process leaves a group by entering the parent. */
    (void)snprintf(path, sizeof path, "%s/../cgroup.procs", cgroup);
    (void)snprintf(text, sizeof text, "%d", (int)getpid());
    (void)write_text(path, text);
    (void)rmdir(cgroup);
}

static uint64_t tree_bytes;

static int add_size(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)path;
    (void)ftw;
    tree_bytes += type == FTW_F ? (uint64_t)status->st_blocks * 512 : 0;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

static uint64_t disk_bytes(const char *path)
{
    tree_bytes = 0;
    (void)nftw(path, add_size, 16, FTW_PHYS);
    return tree_bytes;
}

/* --- DRUM ------------------------------------------------------------------------------------ */

static Drum *open_drum(Bench *bench, const char *directory, DrumRepository *repository,
                       double scale)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/buckets", directory);
    DrumOptions options = {.directory = path,
                           .repository = repository,
                           .dispatcher = {.context = bench,
                                          .unique_key_update = count_unique,
                                          .duplicate_key_update = count_duplicate},
                           .buckets = 64,
                           .array_bytes = (size_t)256 << 10,
                           .bucket_bytes = (size_t)(scale * (3 << 20)),
                           .auxiliary_bytes = (size_t)(scale * (64 << 20)),
                           .keep_existing = true,
                           .assign = assign_index,
                           .assign_context = bench,
                           .assign_bytes = 8};
    Drum *drum = NULL;
    Result rc = drum_open(&drum, &options, NULL);
    if (rc != RESULT_OK) {
        fail("drum_open", rc);
    }
    return drum;
}

static void note_point(Bench *bench, uint64_t keys)
{
    if (bench->n_points < MAX_MERGES) {
        bench->points[bench->n_points++] = (Point){keys, cpu_process_ns(), mono_now().ns};
    }
}

static void run_drum(Bench *bench, Stream *stream, Drum *drum, uint64_t operations)
{
    uint64_t merges = 0;
    note_point(bench, 0);
    for (uint64_t i = 0; i < operations; i++) {
        uint64_t key = next_key(stream);
        Result rc = drum_check_update_with(drum, drum_key_number(key), (DrumBytes){NULL, 0},
                                           (DrumBytes){stream->auxiliary, AUXILIARY});
        if (rc != RESULT_OK) {
            fail("drum_check_update", rc);
        }
        if ((i & 0xFFF) == 0) {
            DrumStats stats;
            drum_stats(drum, &stats);
            if (stats.merges != merges) {
                merges = stats.merges;
                note_point(bench, i + 1);
                (void)fprintf(stderr, "%6.1f M keys, %5.1f M distinct, %6.1f s CPU, %6.1f s\n",
                              (double)i / 1e6, (double)stream->distinct / 1e6,
                              (double)cpu_process_ns() / 1e9,
                              (double)(mono_now().ns - bench->points[0].wall_ns) / 1e9);
            }
        }
    }
    Result rc = drum_synchronize(drum);
    if (rc != RESULT_OK) {
        fail("drum_synchronize", rc);
    }
    note_point(bench, operations);
}

/* CPU or wall nanoseconds per key over the merges that end between two shares of the operations. */
static double cost_between(const Bench *bench, uint64_t operations, double from, double to,
                           bool wall)
{
    double ns = 0, keys = 0;
    for (size_t i = 1; i < bench->n_points; i++) {
        const Point *a = &bench->points[i - 1], *b = &bench->points[i];
        double share = (double)b->keys / (double)operations;
        if (share >= from && share <= to) {
            ns += (double)(wall ? b->wall_ns - a->wall_ns : b->cpu_ns - a->cpu_ns);
            keys += (double)(b->keys - a->keys);
        }
    }
    return keys > 0 ? ns / keys : 0;
}

/* --- the plain way --------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Fills the table with the keys 0..distinct-1 in order, part of the key space by part. */
static int fill_table(MDB_env *env, MDB_dbi dbi, uint64_t distinct)
{
    uint64_t *keys = malloc((distinct / SORT_PARTS * 5 / 4 + 4096) * sizeof *keys);
    int code = keys != NULL ? 0 : ENOMEM;
    for (unsigned part = 0; code == 0 && part < SORT_PARTS; part++) {
        size_t n = 0;
        for (uint64_t i = 0; i < distinct; i++) {
            uint64_t key = hash_mix(i + 1);
            if (key / (UINT64_MAX / SORT_PARTS + 1) == part) {
                keys[n++] = key;
            }
        }
        qsort(keys, n, sizeof *keys, compare_keys);
        MDB_txn *txn = NULL;
        MDB_cursor *cursor = NULL;
        code = mdb_txn_begin(env, NULL, 0, &txn);
        if (code == 0) {
            code = mdb_cursor_open(txn, dbi, &cursor);
        }
        for (size_t i = 0; code == 0 && i < n; i++) {
            MDB_val key = {sizeof keys[i], &keys[i]};
            code = mdb_cursor_put(cursor, &key, &key, MDB_APPEND);
        }
        if (cursor != NULL) {
            mdb_cursor_close(cursor);
        }
        if (code == 0) {
            code = mdb_txn_commit(txn);
        } else if (txn != NULL) {
            mdb_txn_abort(txn);
        }
    }
    free(keys);
    return code;
}

/* One look-up and, for new keys, one insert at a time; a commit every 20 000. Nanoseconds per key.
 */
static double time_plain(MDB_env *env, MDB_dbi dbi, Stream *stream)
{
    MonoTime start = mono_now();
    uint64_t done = 0;
    int code = 0;
    while (code == 0 && mono_now().ns - start.ns < NAIVE_NS) {
        MDB_txn *txn = NULL;
        code = mdb_txn_begin(env, NULL, 0, &txn);
        for (int i = 0; code == 0 && i < 20000; i++) {
            uint64_t number = next_key(stream);
            MDB_val key = {sizeof number, &number}, value;
            code = mdb_get(txn, dbi, &key, &value);
            if (code == MDB_NOTFOUND) {
                value = key;
                code = mdb_put(txn, dbi, &key, &value, 0);
            }
            done++;
            if ((i & 63) == 0 && mono_now().ns - start.ns > NAIVE_NS) {
                break;
            }
        }
        if (code == 0) {
            code = mdb_txn_commit(txn);
        } else if (txn != NULL) {
            mdb_txn_abort(txn);
        }
    }
    if (code != 0) {
        fail(mdb_strerror(code), RESULT_IO);
    }
    return (double)(mono_now().ns - start.ns) / (double)done;
}

static double run_naive(Stream *stream, const char *directory)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/plain.mdb", directory);
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    MDB_dbi dbi = 0;
    int code = mdb_env_create(&env);
    if (code == 0) {
        code = mdb_env_set_mapsize(env, (size_t)64 << 30);
    }
    if (code == 0) {
        code = mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NORDAHEAD, 0644);
    }
    if (code == 0) {
        code = mdb_txn_begin(env, NULL, 0, &txn);
    }
    if (code == 0) {
        code = mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &dbi);
    }
    if (code == 0) {
        code = mdb_txn_commit(txn);
    }
    if (code == 0) {
        code = fill_table(env, dbi, stream->distinct);
    }
    if (code != 0) {
        fail(mdb_strerror(code), RESULT_IO);
    }
    (void)fprintf(stderr, "plain table filled\n");
    double ns = time_plain(env, dbi, stream);
    mdb_env_close(env);
    return ns;
}

static void print_figures(const Bench *bench, const Stream *stream, const char *directory,
                          uint64_t operations, double cpu_s)
{
    double late = cost_between(bench, operations, 0.9, 1, false);
    double early = cost_between(bench, operations, 0.05, 0.15, false);
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf("drum.seen.keys_per_cpu_s = %.0f 1/s\n", (double)operations / cpu_s);
    (void)printf("drum.seen.late_over_early_cost = %.3f 1\n", early > 0 ? late / early : 0);
    (void)printf("drum.bytes_per_key = %.2f B\n",
                 (double)disk_bytes(directory) / (double)stream->distinct);
    (void)printf("drum.rss_mb = %.1f MB\n", (double)usage.ru_maxrss / 1024);
    (void)fflush(stdout);
}

/* The whole of it in an empty directory. */
static void run_bench(Bench *bench, Stream *stream, const char *directory, double scale)
{
    uint64_t operations = (uint64_t)(OPERATIONS * scale);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/keys", directory);
    DrumRepository *repository = NULL;
    DrumRunsOptions runs = {.directory = path};
    Result rc = drum_runs_open(&repository, &runs);
    if (rc != RESULT_OK) {
        fail("repository", rc);
    }
    Drum *drum = open_drum(bench, directory, repository, scale);
    int64_t cpu = cpu_process_ns();
    run_drum(bench, stream, drum, operations);
    double cpu_s = (double)(cpu_process_ns() - cpu) / 1e9;
    rc = drum_dispose(drum);
    drum_runs_close(repository);
    if (rc != RESULT_OK || bench->unique != stream->distinct ||
        bench->unique + bench->duplicate != operations) {
        fail("the answers are wrong", RESULT_INTERNAL);
    }
    print_figures(bench, stream, directory, operations, cpu_s);
}

int main(void)
{
    const char *scale_text = getenv("SCALE");
    const char *place = getenv("DIRECTORY");
    const char *naive = getenv("NAIVE");
    double scale = scale_text != NULL ? strtod(scale_text, NULL) : 1;
    char directory[256], cgroup[128];
    Bench *bench = calloc(1, sizeof *bench);
    Stream stream = {.random = 1, .distinct = 0};
    (void)snprintf(directory, sizeof directory, "%s/bench-drum-%d", place != NULL ? place : "build",
                   (int)getpid());
    if (!(scale > 0)) {
        fail("SCALE", RESULT_INVALID);
    }
    if (bench == NULL || mkdir(directory, 0755) != 0) {
        fail(directory, result_of_errno(errno));
    }
    memset(stream.auxiliary, 'u', sizeof stream.auxiliary);
    limit_memory(cgroup, sizeof cgroup);
    run_bench(bench, &stream, directory, scale);
    if (naive == NULL || strcmp(naive, "0") != 0) {
        double wall = cost_between(bench, (uint64_t)(OPERATIONS * scale), 0.9, 1, true);
        double plain = run_naive(&stream, directory);
        (void)printf("drum.seen.late_wall_ns_per_key = %.1f ns\n", wall);
        (void)printf("drum.naive.late_wall_ns_per_key = %.1f ns\n", plain);
        (void)printf("drum.naive.ratio = %.1f 1\n", wall > 0 ? plain / wall : 0);
    }
    unlimit_memory(cgroup);
    (void)nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(bench);
    return 0;
}
