#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread/mutex.h"
#include "alloc_fixture.h"
#include "drum_memory.h"
#include "store/drum/drum_runs.h"
#include "store/drum/drum_merge.h"
#include "folder_fixture.h"
#include "unit.h"

/* --- places ---------------------------------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 16];
    FILE *in = fopen(from, "r");
    FILE *out = fopen(to, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    for (size_t n = fread(bytes, 1, sizeof bytes, in); n > 0;
         n = fread(bytes, 1, sizeof bytes, in)) {
        CU_ASSERT_EQUAL(fwrite(bytes, 1, n, out), n);
    }
    (void)fclose(in);
    (void)fclose(out);
}

static void copy_folder(const char *from, const char *to, const char *name)
{
    char a[512], b[512];
    (void)snprintf(b, sizeof b, "%s/%s", to, name);
    (void)mkdir(b, 0755);
    (void)snprintf(a, sizeof a, "%s/%s", from, name);
    DIR *directory = opendir(a);
    CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
    for (const struct dirent *e = readdir(directory); e != NULL; e = readdir(directory)) {
        if (e->d_name[0] != '.') {
            (void)snprintf(a, sizeof a, "%s/%s/%.64s", from, name, e->d_name);
            (void)snprintf(b, sizeof b, "%s/%s/%.64s", to, name, e->d_name);
            copy_file(a, b);
        }
    }
    (void)closedir(directory);
}

/* The path of the only bucket file; false when there is none. */
static bool find_bucket_file(const char *place, char *path, size_t size)
{
    char directory_path[128];
    bool found = false;
    (void)snprintf(directory_path, sizeof directory_path, "%s/buckets", place);
    DIR *directory = opendir(directory_path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
    for (const struct dirent *e = readdir(directory); e != NULL; e = readdir(directory)) {
        uint64_t generation;
        if (drum_file_parse_name(e->d_name, &generation)) {
            (void)snprintf(path, size, "%s/%.32s", directory_path, e->d_name);
            found = true;
        }
    }
    (void)closedir(directory);
    return found;
}

/* --- a DRUM in a place ----------------------------------------------------------------------- */

typedef struct Setup {
    char place[64];
    DrumOptions options;
    char buckets_path[128];
    DrumRepository *repository;
    Drum *drum;
    DrumRecovery recovery;
    MemoryRepository *memory; /* instead of sorted runs */
} Setup;

static Result setup_open(Setup *setup)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/runs", setup->place);
    (void)snprintf(setup->buckets_path, sizeof setup->buckets_path, "%s/buckets", setup->place);
    DrumRunsOptions runs = {.directory = path};
    Result rc = RESULT_OK;
    if (setup->memory != NULL) {
        setup->repository = &setup->memory->interface;
    } else {
        rc = drum_runs_open(&setup->repository, &runs);
    }
    CU_ASSERT_EQUAL_FATAL(rc, RESULT_OK);
    setup->options.directory = setup->buckets_path;
    setup->options.repository = setup->repository;
    return drum_open(&setup->drum, &setup->options, &setup->recovery);
}

static void close_repository(Setup *setup)
{
    if (setup->memory == NULL) {
        drum_runs_close(setup->repository);
    }
}

static void setup_close(Setup *setup)
{
    CU_ASSERT_EQUAL(drum_dispose(setup->drum), RESULT_OK);
    close_repository(setup);
    setup->drum = NULL;
}

/* What the repository has for a key, as drum_runs_get gives it. */
static Result setup_get(Setup *setup, const DrumKey *key, void **value, size_t *length)
{
    if (setup->memory == NULL) {
        return drum_runs_get(setup->repository, key->number, value, length);
    }
    const MemoryEntry *entry = memory_entry(&setup->memory->committed, key);
    if (entry == NULL) {
        return RESULT_NOT_FOUND;
    }
    *length = entry->value.length;
    *value = malloc(sizeof entry->value.bytes);
    memcpy(*value, entry->value.bytes, sizeof entry->value.bytes);
    return RESULT_OK;
}

/* True when the repository holds exactly the model's keys and values. */
static bool repository_is(Setup *setup, const Model *model)
{
    uint64_t expected = 0;
    bool same = true;
    for (unsigned k = 0; k < MODEL_KEYS; k++) {
        char room[96];
        void *value = NULL;
        size_t length = 0;
        DrumKey key = model_key(model, k, room);
        Result rc = setup_get(setup, &key, &value, &length);
        expected += model->values[k].exists;
        same = same && (rc == RESULT_OK) == model->values[k].exists &&
               (rc != RESULT_OK || model_same(&model->values[k], (DrumBytes){value, length}));
        free(value);
    }
    if (setup->memory != NULL) {
        return same && setup->memory->committed.n == expected;
    }
    return same && drum_runs_count(setup->repository) == expected &&
           drum_runs_verify(setup->repository) == RESULT_OK;
}

typedef struct Geometry {
    DrumKeys keys;
    unsigned buckets;
    size_t array_bytes;
    size_t bucket_bytes;
    bool keep_existing;
    bool assigns;
    bool manual;
} Geometry;

static const Geometry geometries[] = {
    {DRUM_KEYS_NUMBERS, 1, 64, 500, false, false, false},
    {DRUM_KEYS_NUMBERS, 2, 4 * 96, 64, false, false, false},
    {DRUM_KEYS_NUMBERS, 8, 512, 4000, true, true, false},
    {DRUM_KEYS_NUMBERS, 16, 1024, 8000, false, false, false},
    {DRUM_KEYS_NUMBERS, 64, 300, 3000, true, true, false},
    {DRUM_KEYS_NUMBERS, 4, 65536, 1 << 20, true, false, true},
    {DRUM_KEYS_BYTES, 1, 256, 2000, false, false, false},
    {DRUM_KEYS_BYTES, 16, 700, 5000, false, true, false},
    {DRUM_KEYS_BYTES, 32, 4096, 20000, true, false, false},
};

/* The only one of a test; empty. */
static MemoryRepository *prepare_memory(DrumKeys keys)
{
    static MemoryRepository memory;
    memset(&memory, 0, sizeof memory);
    memory_init(&memory, keys);
    return &memory;
}

static void prepare(Setup *setup, Model *model, const Geometry *g, uint64_t seed)
{
    memset(setup, 0, sizeof *setup);
    memset(model, 0, sizeof *model);
    folder_make(setup->place);
    model->keys = g->keys;
    model->buckets = g->buckets;
    model->keep_existing = g->keep_existing;
    model->assigns = g->assigns;
    model->random = seed;
    if (g->keys == DRUM_KEYS_BYTES) {
        setup->memory = prepare_memory(g->keys);
    }
    setup->options = (DrumOptions){.dispatcher = model_dispatcher(model),
                                   .keys = g->keys,
                                   .buckets = g->buckets,
                                   .array_bytes = g->array_bytes,
                                   .bucket_bytes = g->bucket_bytes,
                                   .keep_existing = g->keep_existing,
                                   .manual_merge = g->manual,
                                   .assign = g->assigns ? model_assign : NULL,
                                   .assign_bytes = 8};
}

/* FULL=1 makes it millions. */
static void random_operations_behave_as_if_done_one_by_one(void)
{
    unsigned operations = getenv("FULL") != NULL ? 250000 : 12000;
    for (size_t g = 0; g < sizeof geometries / sizeof *geometries; g++) {
        Setup setup;
        Model model;
        prepare(&setup, &model, &geometries[g], 1000 + g);
        CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
        size_t wrong = 0;
        for (unsigned i = 0; i < operations; i++) {
            wrong += model_step(&model, setup.drum) != RESULT_OK;
            uint64_t what = model_random(&model, 3000);
            if (what == 0) {
                setup_close(&setup);
                CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
                CU_ASSERT_EQUAL(setup.recovery.torn_bytes, 0);
            } else if (what < 3) {
                wrong += drum_synchronize(setup.drum) != RESULT_OK;
                CU_ASSERT_EQUAL(model_waiting(&model), 0);
                CU_ASSERT_TRUE(repository_is(&setup, &model));
            } else if (what < 6) {
                wrong += drum_persist(setup.drum) != RESULT_OK;
            } else if (what < 9) {
                wrong += drum_seal(setup.drum) != RESULT_OK;
            }
        }
        CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_EQUAL(model.wrong, 0);
        CU_ASSERT_EQUAL(model.called, model.operations);
        CU_ASSERT_EQUAL(model_waiting(&model), 0);
        CU_ASSERT_TRUE(repository_is(&setup, &model));
        setup_close(&setup);
        folder_remove(setup.place);
    }
}

/* --- the seed's example ---------------------------------------------------------------------- */

typedef struct Seen {
    unsigned unique;
    unsigned duplicate;
    char order[8];
    char last_unique[64];
} Seen;

static Result seen_unique(void *context, const DrumEvent *event)
{
    Seen *seen = context;
    seen->order[seen->unique + seen->duplicate] = 'u';
    seen->unique++;
    (void)snprintf(seen->last_unique, sizeof seen->last_unique, "%.*s",
                   (int)event->auxiliary.length, (const char *)event->auxiliary.bytes);
    return RESULT_OK;
}

static Result seen_duplicate(void *context, const DrumEvent *event)
{
    Seen *seen = context;
    (void)event;
    seen->order[seen->unique + seen->duplicate] = 'd';
    seen->duplicate++;
    return RESULT_OK;
}

static void the_url_seen_example_finds_three_urls_and_one_duplicate(void)
{
    static const char *const urls[4] = {"http://www.codeproject.com",
                                        "http://www.oracle.com/technology/berkeley-db/index.html",
                                        "http://www.boost.org", "http://www.codeproject.com"};
    Seen seen = {.unique = 0};
    Setup setup = {.options = {.dispatcher = {.context = &seen,
                                              .unique_key_update = seen_unique,
                                              .duplicate_key_update = seen_duplicate},
                               .buckets = 1,
                               .array_bytes = 4 * 64,
                               .bucket_bytes = 4 * 64}};
    folder_make(setup.place);
    CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
    for (int i = 0; i < 4; i++) {
        size_t length = strlen(urls[i]);
        DrumKey key = drum_key_number(hash_64(urls[i], length, 0));
        CU_ASSERT_EQUAL(drum_check_update_with(setup.drum, key, (DrumBytes){"", 0},
                                               (DrumBytes){urls[i], length}),
                        RESULT_OK);
    }
    CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(seen.order, "uuud");
    CU_ASSERT_STRING_EQUAL(seen.last_unique, urls[2]);
    setup_close(&setup);
    folder_remove(setup.place);
}

/* --- crashes --------------------------------------------------------------------------------- */

static void what_was_persisted_survives_a_kill_and_the_rest_is_gone_whole(void)
{
    const Geometry g = {DRUM_KEYS_NUMBERS, 8, 400, 6000, false, false, true};
    for (uint64_t seed = 0; seed < 12; seed++) {
        Setup setup;
        Model model;
        prepare(&setup, &model, &g, seed);
        CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
        uint64_t n = 200 + model_random(&model, 3000);
        for (uint64_t i = 0; i < n; i++) {
            CU_ASSERT_EQUAL(model_step(&model, setup.drum), RESULT_OK);
            if (model_random(&model, 900) == 0) {
                CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
            }
        }
        CU_ASSERT_EQUAL(drum_persist(setup.drum), RESULT_OK);
        Setup after = setup;
        folder_make(after.place);
        copy_folder(setup.place, after.place, "runs");
        copy_folder(setup.place, after.place, "buckets");
        /* What comes after the snapshot must leave no trace in it. */
        uint64_t called = model.called, waiting = model_waiting(&model);
        setup.options.dispatcher = (DrumDispatcher){.context = NULL};
        CU_ASSERT_EQUAL_FATAL(setup_open(&after), RESULT_OK);
        CU_ASSERT_EQUAL(after.recovery.elements, waiting);
        CU_ASSERT_EQUAL(after.recovery.torn_bytes, 0);
        CU_ASSERT_EQUAL(drum_synchronize(after.drum), RESULT_OK);
        CU_ASSERT_EQUAL(model.called, called + waiting);
        CU_ASSERT_EQUAL(model.wrong, 0);
        CU_ASSERT_TRUE(repository_is(&after, &model));
        setup_close(&after);
        folder_remove(after.place);
        setup_close(&setup);
        folder_remove(setup.place);
    }
}

/* Counts calls in the repository's own transaction, and takes a snapshot at one of them. */
typedef struct Witness {
    Setup *setup;
    MemoryRepository memory;
    MemoryState left; /* of the snapshot */
    uint64_t calls;
    uint64_t snapshot_at;
    uint64_t fail_at;
    char snapshot[64];
} Witness;

static Result witness_call(void *context, const DrumEvent *event)
{
    Witness *witness = context;
    (void)event;
    witness->calls++;
    if (witness->calls == witness->fail_at) {
        return RESULT_LIMIT;
    }
    if (witness->calls == witness->snapshot_at) {
        copy_folder(witness->setup->place, witness->snapshot, "buckets");
        witness->left = witness->memory.committed;
    }
    witness->memory.sweep.calls++;
    return RESULT_OK;
}

static void witness_open(Witness *witness, Setup *setup, const char *place)
{
    (void)snprintf(setup->place, sizeof setup->place, "%s", place);
    memory_init(&witness->memory, setup->options.keys);
    setup->memory = &witness->memory;
    setup->options.dispatcher = (DrumDispatcher){.context = witness,
                                                 .unique_key_check = witness_call,
                                                 .duplicate_key_check = witness_call,
                                                 .unique_key_update = witness_call,
                                                 .duplicate_key_update = witness_call,
                                                 .update = witness_call};
    witness->setup = setup;
    CU_ASSERT_EQUAL_FATAL(setup_open(setup), RESULT_OK);
}

static uint64_t witness_count(const Witness *witness)
{
    return witness->memory.committed.calls;
}

static void killed_in_a_merge_every_operation_still_counts_exactly_once(void)
{
    static Witness witness, second;
    const Geometry g = {DRUM_KEYS_NUMBERS, 8, 400, 1 << 20, false, false, true};
    for (uint64_t seed = 0; seed < 16; seed++) {
        Setup setup, after;
        Model model;
        memset(&witness, 0, sizeof witness);
        memset(&second, 0, sizeof second);
        prepare(&setup, &model, &g, 77 + seed);
        folder_make(witness.snapshot);
        char place[64];
        memcpy(place, setup.place, sizeof place);
        witness_open(&witness, &setup, place);
        for (int i = 0; i < 1500; i++) {
            CU_ASSERT_EQUAL(model_step(&model, setup.drum), RESULT_OK);
            if (i == 700) {
                CU_ASSERT_EQUAL(drum_seal(setup.drum), RESULT_OK);
            }
        }
        witness.snapshot_at = 1 + model_random(&model, 1500);
        CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
        CU_ASSERT_EQUAL(witness_count(&witness), 1500);
        CU_ASSERT_TRUE(repository_is(&setup, &model));
        after = setup;
        setup_close(&setup);
        second.memory.committed = witness.left;
        witness_open(&second, &after, witness.snapshot);
        CU_ASSERT_EQUAL(after.recovery.elements + witness_count(&second), 1500);
        CU_ASSERT_EQUAL(drum_synchronize(after.drum), RESULT_OK);
        CU_ASSERT_EQUAL(witness_count(&second), 1500);
        CU_ASSERT_TRUE(repository_is(&after, &model));
        setup_close(&after);
        folder_remove(witness.snapshot);
        folder_remove(place);
        model_forget_queues(&model);
    }
}

static void a_callback_that_fails_undoes_its_transaction_and_nothing_else(void)
{
    static Witness witness;
    const Geometry g = {DRUM_KEYS_NUMBERS, 8, 400, 1 << 20, false, false, true};
    for (uint64_t seed = 0; seed < 6; seed++) {
        Setup setup;
        Model model;
        memset(&witness, 0, sizeof witness);
        prepare(&setup, &model, &g, 5 + seed);
        char place[64];
        memcpy(place, setup.place, sizeof place);
        witness_open(&witness, &setup, place);
        for (int i = 0; i < 800; i++) {
            CU_ASSERT_EQUAL(model_step(&model, setup.drum), RESULT_OK);
        }
        witness.fail_at = 1 + model_random(&model, 800);
        CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_LIMIT);
        CU_ASSERT_EQUAL(witness_count(&witness), 0);
        CU_ASSERT_EQUAL(drum_sealed_count(setup.drum), 1);
        CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
        CU_ASSERT_EQUAL(witness_count(&witness), 800);
        CU_ASSERT_EQUAL(drum_sealed_count(setup.drum), 0);
        CU_ASSERT_TRUE(repository_is(&setup, &model));
        setup_close(&setup);
        folder_remove(place);
        model_forget_queues(&model);
    }
}

/* A file that was already merged comes back, as after a power cut that lost the removal. */
static void a_bucket_file_that_comes_back_is_dropped(void)
{
    const Geometry g = {DRUM_KEYS_NUMBERS, 4, 400, 1 << 20, false, false, true};
    Setup setup;
    Model model;
    prepare(&setup, &model, &g, 3);
    CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
    for (int i = 0; i < 300; i++) {
        CU_ASSERT_EQUAL(model_step(&model, setup.drum), RESULT_OK);
    }
    CU_ASSERT_EQUAL(drum_persist(setup.drum), RESULT_OK);
    char path[256], copy[256];
    CU_ASSERT_TRUE_FATAL(find_bucket_file(setup.place, path, sizeof path));
    (void)snprintf(copy, sizeof copy, "%s/copy", setup.place);
    copy_file(path, copy);
    CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
    setup_close(&setup);
    CU_ASSERT_EQUAL(rename(copy, path), 0);
    CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
    CU_ASSERT_EQUAL(setup.recovery.dropped_files, 1);
    CU_ASSERT_EQUAL(setup.recovery.elements, 0);
    uint64_t called = model.called;
    CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
    CU_ASSERT_EQUAL(model.called, called);
    CU_ASSERT_FALSE(find_bucket_file(setup.place, path, sizeof path));
    setup_close(&setup);
    folder_remove(setup.place);
}

/* Half of a generation is committed, then its file is lost: the next one must not inherit its
 * place. */
static void the_number_of_a_lost_half_merged_file_is_not_used_again(void)
{
    static Witness witness;
    const Geometry g = {DRUM_KEYS_NUMBERS, 8, 400, 1 << 20, false, false, true};
    Setup setup;
    Model model;
    DrumMerge *merge = NULL;
    char place[64], path[256];
    prepare(&setup, &model, &g, 21);
    memcpy(place, setup.place, sizeof place);
    witness_open(&witness, &setup, place);
    for (int i = 0; i < 600; i++) {
        CU_ASSERT_EQUAL(model_step(&model, setup.drum), RESULT_OK);
    }
    CU_ASSERT_EQUAL(drum_seal(setup.drum), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(drum_merge_begin(setup.drum, &merge), RESULT_OK);
    CU_ASSERT_EQUAL(memory_begin(setup.repository), RESULT_OK);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(drum_merge_step(merge), RESULT_OK);
    }
    CU_ASSERT_EQUAL(memory_commit(setup.repository, drum_merge_progress(merge)), RESULT_OK);
    drum_merge_settle(merge, true);
    CU_ASSERT_EQUAL(drum_merge_end(setup.drum, merge), RESULT_OK);
    uint64_t before = witness_count(&witness);
    CU_ASSERT(before > 0 && before < 600);
    setup_close(&setup);
    CU_ASSERT_TRUE_FATAL(find_bucket_file(place, path, sizeof path));
    CU_ASSERT_EQUAL(remove(path), 0);
    CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
    for (int i = 0; i < 500; i++) {
        CU_ASSERT_EQUAL(model_step(&model, setup.drum), RESULT_OK);
    }
    setup_close(&setup);
    CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
    CU_ASSERT_EQUAL(setup.recovery.elements, 500);
    CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
    CU_ASSERT_EQUAL(witness_count(&witness), before + 500);
    setup_close(&setup);
    folder_remove(place);
    model_forget_queues(&model);
}

/* --- full disks ------------------------------------------------------------------------------ */

static Result count_event(void *context, const DrumEvent *event)
{
    (void)event;
    ++*(uint64_t *)context;
    return RESULT_OK;
}

/* The limit on a file's size stands for a full disk: writes come back short, then fail. */
static void a_full_disk_refuses_operations_and_loses_none_that_it_took(void)
{
    uint64_t unique = 0, refused = 0;
    Setup setup = {.options = {.dispatcher = {.context = &unique, .unique_key_update = count_event},
                               .buckets = 8,
                               .array_bytes = 300,
                               .manual_merge = true}};
    struct rlimit old, small;
    folder_make(setup.place);
    CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    for (uint64_t i = 0; i < 3000; i++) {
        if (i % 100 == 0) {
            small.rlim_cur = 40 * i + 77;
            CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &small), 0);
        }
        char auxiliary[40] = "http://example.org/";
        DrumKey key = drum_key_number(hash_mix(i + 1));
        DrumBytes with = {auxiliary, sizeof auxiliary};
        Result rc = drum_check_update_with(setup.drum, key, (DrumBytes){"v", 1}, with);
        if (rc != RESULT_OK) {
            CU_ASSERT_EQUAL(rc, RESULT_FULL);
            CU_ASSERT_EQUAL(drum_persist(setup.drum), RESULT_FULL);
            refused++;
            small.rlim_cur = old.rlim_cur;
            CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &small), 0);
            CU_ASSERT_EQUAL(drum_check_update_with(setup.drum, key, (DrumBytes){"v", 1}, with),
                            RESULT_OK);
        }
    }
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, handler);
    CU_ASSERT(refused > 5);
    setup_close(&setup);
    CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
    CU_ASSERT_EQUAL(setup.recovery.elements, 3000);
    CU_ASSERT_EQUAL(setup.recovery.torn_bytes, 0);
    CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
    CU_ASSERT_EQUAL(unique, 3000);
    setup_close(&setup);
    folder_remove(setup.place);
}

/* --- torn and damaged files ------------------------------------------------------------------ */

/* Fills a place with n operations of one bucket, persisting after the first half of them. */
static void fill(Setup *setup, Model *model, const Geometry *g, uint64_t seed, unsigned n,
                 uint64_t *durable)
{
    char path[256];
    struct stat status;
    prepare(setup, model, g, seed);
    CU_ASSERT_EQUAL_FATAL(setup_open(setup), RESULT_OK);
    for (unsigned i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(model_step(model, setup->drum), RESULT_OK);
        if (i == n / 2) {
            CU_ASSERT_EQUAL(drum_persist(setup->drum), RESULT_OK);
            CU_ASSERT_TRUE_FATAL(find_bucket_file(setup->place, path, sizeof path));
            CU_ASSERT_EQUAL(stat(path, &status), 0);
            *durable = (uint64_t)status.st_size;
        }
    }
    setup_close(setup);
}

static void a_torn_tail_is_cut_off_and_what_is_left_is_a_prefix(void)
{
    const Geometry g = {DRUM_KEYS_NUMBERS, 1, 700, 1 << 20, false, false, true};
    for (uint64_t seed = 0; seed < 30; seed++) {
        Setup setup;
        Model model, prefix;
        uint64_t durable = 0;
        char path[256];
        struct stat status;
        fill(&setup, &model, &g, seed, 400, &durable);
        CU_ASSERT_TRUE_FATAL(find_bucket_file(setup.place, path, sizeof path));
        CU_ASSERT_EQUAL(stat(path, &status), 0);
        uint64_t size = (uint64_t)status.st_size;
        uint64_t cut = durable + model_random(&model, size - durable);
        if (seed % 2 == 0) {
            CU_ASSERT_EQUAL(truncate(path, (off_t)cut), 0);
        } else {
            /* The file has its size, but the bytes never reached the disk. */
            CU_ASSERT_EQUAL(truncate(path, (off_t)cut), 0);
            CU_ASSERT_EQUAL(truncate(path, (off_t)size), 0);
        }
        DrumRecovery verified;
        Result verify = drum_verify(setup.buckets_path, &verified);
        CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
        CU_ASSERT_EQUAL(verify, setup.recovery.torn_bytes > 0 ? RESULT_DAMAGED : RESULT_OK);
        CU_ASSERT_EQUAL(verified.elements, setup.recovery.elements);
        CU_ASSERT_EQUAL(verified.torn_bytes, setup.recovery.torn_bytes);
        uint64_t kept = setup.recovery.elements;
        CU_ASSERT(kept >= 201 && kept < 400);
        CU_ASSERT_EQUAL(setup.recovery.damaged_bytes, 0);
        if (seed % 2 == 1) {
            CU_ASSERT(setup.recovery.torn_bytes >= size - cut);
        }
        CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
        CU_ASSERT_EQUAL(model.called, kept);
        CU_ASSERT_EQUAL(model.wrong, 0);
        /* The same operations again, only so many, are what the repository now holds. */
        Setup again;
        prepare(&again, &prefix, &g, seed);
        CU_ASSERT_EQUAL_FATAL(setup_open(&again), RESULT_OK);
        for (uint64_t i = 0; i < kept; i++) {
            CU_ASSERT_EQUAL(model_step(&prefix, again.drum), RESULT_OK);
        }
        CU_ASSERT_TRUE(repository_is(&setup, &prefix));
        setup_close(&again);
        setup_close(&setup);
        folder_remove(again.place);
        folder_remove(setup.place);
        model_forget_queues(&model);
        model_forget_queues(&prefix);
    }
}

/* Opening reads blocks that no later header promises. That it has no memory for one is not the
 * block's fault. */
static void without_memory_no_block_is_taken_for_a_torn_tail(void)
{
#ifdef ALLOC_CAN_FAIL
    const Geometry g = {DRUM_KEYS_NUMBERS, 1, 700, 1 << 20, false, false, true};
    Setup setup;
    Model model;
    uint64_t durable = 0;
    fill(&setup, &model, &g, 7, 400, &durable);
    model_forget_queues(&model);
    CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
    setup_close(&setup);
    DrumRunsOptions runs = {.directory = setup.place};
    CU_ASSERT_EQUAL_FATAL(drum_runs_open(&setup.repository, &runs), RESULT_OK);
    setup.options.repository = setup.repository;
    Result rc = RESULT_MEMORY;
    for (long n = 1; rc != RESULT_OK && n < 1000; n++) {
        alloc_fail_at = n;
        rc = drum_open(&setup.drum, &setup.options, &setup.recovery);
        alloc_fail_at = 0;
        CU_ASSERT_EQUAL(setup.recovery.torn_bytes, 0);
    }
    CU_ASSERT_EQUAL(setup.recovery.elements, 400);
    setup_close(&setup);
    folder_remove(setup.place);
#endif
}

static void flip_byte(const char *path, uint64_t at)
{
    int fd = open(path, O_RDWR);
    char c = 0;
    CU_ASSERT(fd >= 0);
    CU_ASSERT_EQUAL(pread(fd, &c, 1, (off_t)at), 1);
    c = (char)(c ^ 0x40);
    CU_ASSERT_EQUAL(pwrite(fd, &c, 1, (off_t)at), 1);
    (void)close(fd);
}

static Result see_element(void *context, uint64_t generation, const DrumKey *key,
                          DrumBytes auxiliary)
{
    (void)context;
    (void)generation;
    (void)key;
    (void)auxiliary;
    return RESULT_OK;
}

static void damage_in_the_durable_part_is_never_silent(void)
{
    const Geometry g = {DRUM_KEYS_NUMBERS, 4, 700, 1 << 20, false, false, true};
    for (uint64_t seed = 0; seed < 60; seed++) {
        Setup setup;
        Model model;
        uint64_t durable = 0, calls = 0;
        char path[256];
        fill(&setup, &model, &g, seed, 400, &durable);
        model_forget_queues(&model);
        CU_ASSERT_TRUE_FATAL(find_bucket_file(setup.place, path, sizeof path));
        uint64_t at = model_random(&model, durable - 12);
        flip_byte(path, at < 8 ? at : at + 4); /* not in the version: that is another test */
        DrumRecovery verified;
        bool in_padding = drum_verify(setup.buckets_path, &verified) == RESULT_OK;
        CU_ASSERT_EQUAL(verified.torn_bytes, 0);
        CU_ASSERT_EQUAL(verified.damaged_bytes == 0, in_padding);
        setup.options.dispatcher = (DrumDispatcher){.context = &calls,
                                                    .unique_key_check = count_event,
                                                    .duplicate_key_check = count_event,
                                                    .unique_key_update = count_event,
                                                    .duplicate_key_update = count_event,
                                                    .update = count_event};
        Result rc = setup_open(&setup);
        if (rc == RESULT_OK) {
            rc = drum_synchronize(setup.drum);
            CU_ASSERT_EQUAL(drum_dispose(setup.drum), RESULT_OK);
        }
        close_repository(&setup);
        CU_ASSERT_EQUAL(rc, in_padding ? RESULT_OK : RESULT_DAMAGED);
        if (!in_padding) {
            setup.options.skip_damaged = true;
            CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
            CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
            DrumStats stats;
            drum_stats(setup.drum, &stats);
            CU_ASSERT(stats.damaged_elements + setup.recovery.damaged_elements > 0);
            CU_ASSERT(stats.merged < 400 || stats.damaged_elements > 0);
            setup_close(&setup);
        }
        folder_remove(setup.place);
    }
}

/* An owner's commit promises the blocks that no later block could promise, the last ones too. */
static void damage_in_what_the_owner_committed_is_never_taken_for_a_torn_tail(void)
{
    const Geometry g = {DRUM_KEYS_NUMBERS, 4, 200, 1 << 20, false, false, true};
    for (uint64_t seed = 0; seed < 60; seed++) {
        Setup setup;
        Model model;
        DrumStats stats;
        uint64_t calls = 0;
        char path[256];
        prepare(&setup, &model, &g, seed);
        CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
        for (unsigned i = 0; i < 100; i++) {
            CU_ASSERT_EQUAL(model_step(&model, setup.drum), RESULT_OK);
        }
        CU_ASSERT_EQUAL(drum_persist(setup.drum), RESULT_OK);
        DrumPosition committed = drum_position(setup.drum);
        setup_close(&setup);
        model_forget_queues(&model);
        CU_ASSERT_TRUE_FATAL(find_bucket_file(setup.place, path, sizeof path));
        uint64_t at = model_random(&model, committed.bytes - 12);
        flip_byte(path, at < 8 ? at : at + 4);
        if (seed % 2 == 1) { /* a tail that was not committed follows */
            CU_ASSERT_EQUAL(truncate(path, (off_t)committed.bytes + 500), 0);
        }
        setup.options.dispatcher = (DrumDispatcher){.context = &calls,
                                                    .unique_key_check = count_event,
                                                    .duplicate_key_check = count_event,
                                                    .unique_key_update = count_event,
                                                    .duplicate_key_update = count_event,
                                                    .update = count_event};
        setup.options.committed = &committed;
        setup.options.whole_blocks = true;
        setup.options.skip_damaged = true;
        DrumRecovery walked;
        CU_ASSERT_EQUAL(drum_walk(setup.buckets_path, (DrumProgress){0, 0}, committed, see_element,
                                  NULL, &walked),
                        RESULT_OK);
        CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
        CU_ASSERT_EQUAL(setup.recovery.torn_bytes, seed % 2 == 1 ? 500 : 0);
        CU_ASSERT_EQUAL(setup.recovery.torn_elements, 0);
        CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
        drum_stats(setup.drum, &stats);
        uint64_t told = setup.recovery.damaged_elements + stats.damaged_elements;
        CU_ASSERT_EQUAL(calls == 100, told == 0);
        CU_ASSERT_EQUAL(walked.damaged_elements > 0, told > 0);
        CU_ASSERT_EQUAL(walked.damaged_bytes > 0, told > 0);
        setup_close(&setup);
        folder_remove(setup.place);
    }
}

static void an_unknown_version_and_a_second_process_are_refused(void)
{
    const Geometry g = {DRUM_KEYS_NUMBERS, 4, 700, 1 << 20, false, false, true};
    Setup setup;
    Model model;
    uint64_t durable = 0;
    char path[256];
    fill(&setup, &model, &g, 1, 50, &durable);
    model_forget_queues(&model);
    CU_ASSERT_TRUE_FATAL(find_bucket_file(setup.place, path, sizeof path));
    flip_byte(path, 8);
    CU_ASSERT_EQUAL(setup_open(&setup), RESULT_VERSION);
    CU_ASSERT_PTR_NULL(setup.drum);
    close_repository(&setup);
    flip_byte(path, 8);
    CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
    Drum *second = NULL;
    CU_ASSERT_EQUAL(drum_open(&second, &setup.options, NULL), RESULT_LOCKED);
    CU_ASSERT_PTR_NULL(second);
    setup.options.buckets = 3;
    CU_ASSERT_EQUAL(drum_open(&second, &setup.options, NULL), RESULT_INVALID);
    setup.options.dispatcher = (DrumDispatcher){.context = NULL};
    CU_ASSERT_EQUAL(drum_check(setup.drum, drum_key_bytes("a", 1)), RESULT_INVALID);
    setup_close(&setup);
    folder_remove(setup.place);
}

/* --- collecting beside a merge --------------------------------------------------------------- */

typedef struct Beside {
    Setup setup;
    Model model;
    Mutex mutex;
    atomic_bool stop;
    uint64_t failures;
    atomic_uint_fast64_t calls;
} Beside;

static Result beside_call(void *context, const DrumEvent *event)
{
    Beside *beside = context;
    (void)event;
    atomic_fetch_add(&beside->calls, 1);
    return RESULT_OK;
}

static void *merge_beside(void *argument)
{
    Beside *beside = argument;
    bool more = true;
    while (more) {
        DrumMerge *merge = NULL;
        bool stop = atomic_load(&beside->stop);
        mutex_lock(&beside->mutex);
        (void)drum_seal(beside->setup.drum);
        Result rc = drum_merge_begin(beside->setup.drum, &merge);
        mutex_unlock(&beside->mutex);
        if (rc == RESULT_OK) {
            beside->failures += drum_merge_run(merge) != RESULT_OK;
            mutex_lock(&beside->mutex);
            beside->failures += drum_merge_end(beside->setup.drum, merge) != RESULT_OK;
            mutex_unlock(&beside->mutex);
        }
        more = !stop || rc == RESULT_OK;
    }
    return NULL;
}

static void collecting_goes_on_while_another_thread_merges(void)
{
    const Geometry g = {DRUM_KEYS_NUMBERS, 8, 512, 2000, false, false, true};
    Beside beside = {.failures = 0};
    pthread_t thread;
    prepare(&beside.setup, &beside.model, &g, 9);
    beside.setup.options.dispatcher = (DrumDispatcher){.context = &beside,
                                                       .unique_key_check = beside_call,
                                                       .duplicate_key_check = beside_call,
                                                       .unique_key_update = beside_call,
                                                       .duplicate_key_update = beside_call,
                                                       .update = beside_call};
    CU_ASSERT_EQUAL_FATAL(setup_open(&beside.setup), RESULT_OK);
    mutex_init(&beside.mutex, RANK_SCHEDULER);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, merge_beside, &beside), 0);
    for (int i = 0; i < 20000; i++) {
        mutex_lock(&beside.mutex);
        CU_ASSERT_EQUAL(model_step(&beside.model, beside.setup.drum), RESULT_OK);
        if (i % 1000 == 0) {
            CU_ASSERT_EQUAL(drum_persist(beside.setup.drum), RESULT_OK);
        }
        mutex_unlock(&beside.mutex);
    }
    atomic_store(&beside.stop, true);
    (void)pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(beside.failures, 0);
    CU_ASSERT_EQUAL(atomic_load(&beside.calls), 20000);
    CU_ASSERT_TRUE(repository_is(&beside.setup, &beside.model));
    setup_close(&beside.setup);
    mutex_destroy(&beside.mutex);
    folder_remove(beside.setup.place);
    model_forget_queues(&beside.model);
}

/* Each new key below 200 adds its two successors while it is dispatched. */
typedef struct Chain {
    Drum *drum;
    unsigned unique;
} Chain;

static Result chain_unique(void *context, const DrumEvent *event)
{
    Chain *chain = context;
    uint64_t number;
    memcpy(&number, event->auxiliary.bytes, sizeof number);
    chain->unique++;
    for (uint64_t next = number + 1; number < 200 && next <= number + 2; next++) {
        Result rc = drum_check_update_with(chain->drum, drum_key_number(hash_mix(next)),
                                           (DrumBytes){NULL, 0}, (DrumBytes){&next, sizeof next});
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

static void callbacks_may_add_to_the_same_drum(void)
{
    Chain chain = {.unique = 0};
    Setup setup = {.options = {.dispatcher = {.context = &chain, .unique_key_update = chain_unique},
                               .buckets = 4,
                               .array_bytes = 128,
                               .bucket_bytes = 40}};
    folder_make(setup.place);
    CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
    chain.drum = setup.drum;
    uint64_t zero = 0;
    CU_ASSERT_EQUAL(drum_check_update_with(setup.drum, drum_key_number(hash_mix(0)),
                                           (DrumBytes){NULL, 0}, (DrumBytes){&zero, sizeof zero}),
                    RESULT_OK);
    CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
    CU_ASSERT_EQUAL(chain.unique, 202);
    setup_close(&setup);
    folder_remove(setup.place);
}

/* --- large elements, sorting ----------------------------------------------------------------- */

typedef struct Large {
    size_t value_length;
    size_t auxiliary_length;
    uint64_t auxiliary_hash;
} Large;

static Result large_seen(void *context, const DrumEvent *event)
{
    Large *large = context;
    large->value_length = event->value.length;
    large->auxiliary_length = event->auxiliary.length;
    large->auxiliary_hash = hash_64(event->auxiliary.bytes, event->auxiliary.length, 0);
    return RESULT_OK;
}

static void elements_larger_than_an_array_come_through_and_the_limits_hold(void)
{
    Large large = {.value_length = 0};
    Setup setup = {.options = {.dispatcher = {.context = &large, .unique_key_update = large_seen},
                               .buckets = 4,
                               .array_bytes = 64,
                               .bucket_bytes = 1 << 20}};
    size_t size = 300000;
    uint8_t *bytes = malloc(size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)hash_mix(i);
    }
    folder_make(setup.place);
    CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
    CU_ASSERT_EQUAL(drum_check_update_with(setup.drum, drum_key_number(7), (DrumBytes){bytes, size},
                                           (DrumBytes){bytes, size / 2}),
                    RESULT_OK);
    CU_ASSERT_EQUAL(
        drum_update(setup.drum, drum_key_number(7), (DrumBytes){bytes, DRUM_MAX_VALUE + 1}),
        RESULT_LIMIT);
    CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
    CU_ASSERT_EQUAL(large.value_length, size);
    CU_ASSERT_EQUAL(large.auxiliary_length, size / 2);
    CU_ASSERT_EQUAL(large.auxiliary_hash, hash_64(bytes, size / 2, 0));
    setup_close(&setup);
    folder_remove(setup.place);
    free(bytes);
}

static void keys_that_a_repository_cannot_hold_are_refused(void)
{
    uint64_t calls = 0;
    Setup setup = {.options = {.dispatcher = {.context = &calls, .unique_key_check = count_event},
                               .keys = DRUM_KEYS_BYTES},
                   .memory = prepare_memory(DRUM_KEYS_BYTES)};
    char key[600];
    memset(key, 'k', sizeof key);
    folder_make(setup.place);
    CU_ASSERT_EQUAL_FATAL(setup_open(&setup), RESULT_OK);
    size_t limit = setup.repository->key_limit;
    CU_ASSERT_EQUAL(limit, 511);
    CU_ASSERT_EQUAL(drum_check(setup.drum, drum_key_bytes(key, 0)), RESULT_INVALID);
    CU_ASSERT_EQUAL(drum_check(setup.drum, drum_key_bytes(key, limit + 1)), RESULT_LIMIT);
    CU_ASSERT_EQUAL(drum_check(setup.drum, drum_key_bytes(key, limit)), RESULT_OK);
    CU_ASSERT_EQUAL(drum_check(setup.drum, drum_key_bytes("\0", 1)), RESULT_OK);
    CU_ASSERT_EQUAL(drum_synchronize(setup.drum), RESULT_OK);
    CU_ASSERT_EQUAL(calls, 2);
    setup_close(&setup);
    folder_remove(setup.place);
}

static void sorting_is_stable_whatever_the_keys_look_like(void)
{
    enum { MOST = 40000 };
    DrumPair *pairs = malloc(2 * MOST * sizeof *pairs);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pairs);
    for (uint64_t round = 0; round < 60; round++) {
        size_t n = (size_t)(hash_mix(round + 1) % (round % 3 == 0 ? 100 : MOST));
        for (size_t i = 0; i < n; i++) {
            uint64_t random = hash_mix(round * MOST + i + 1);
            uint64_t keys[6] = {random,      random >> 44,        random << 50,
                                random % 50, random | 0xFFFF0000, (random & 7) << 61 | (i & 3)};
            pairs[i] = (DrumPair){.key = keys[round % 6], .index = (uint32_t)i};
        }
        drum_sort(pairs, pairs + MOST, n, NULL, NULL);
        size_t wrong = 0;
        for (size_t i = 1; i < n; i++) {
            wrong += pairs[i].key < pairs[i - 1].key ||
                     (pairs[i].key == pairs[i - 1].key && pairs[i].index <= pairs[i - 1].index);
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
    free(pairs);
}

UNIT_MAIN("drum",
          {"random operations behave as if done one by one",
           random_operations_behave_as_if_done_one_by_one},
          {"the URL-seen example finds three URLs and one duplicate",
           the_url_seen_example_finds_three_urls_and_one_duplicate},
          {"what was persisted survives a kill and the rest is gone whole",
           what_was_persisted_survives_a_kill_and_the_rest_is_gone_whole},
          {"killed in a merge, every operation still counts exactly once",
           killed_in_a_merge_every_operation_still_counts_exactly_once},
          {"a callback that fails undoes its transaction and nothing else",
           a_callback_that_fails_undoes_its_transaction_and_nothing_else},
          {"a bucket file that comes back is dropped", a_bucket_file_that_comes_back_is_dropped},
          {"the number of a lost half-merged file is not used again",
           the_number_of_a_lost_half_merged_file_is_not_used_again},
          {"a full disk refuses operations and loses none that it took",
           a_full_disk_refuses_operations_and_loses_none_that_it_took},
          {"a torn tail is cut off and what is left is a prefix",
           a_torn_tail_is_cut_off_and_what_is_left_is_a_prefix},
          {"without memory no block is taken for a torn tail",
           without_memory_no_block_is_taken_for_a_torn_tail},
          {"damage in the durable part is never silent",
           damage_in_the_durable_part_is_never_silent},
          {"damage in what the owner committed is never taken for a torn tail",
           damage_in_what_the_owner_committed_is_never_taken_for_a_torn_tail},
          {"an unknown version and a second process are refused",
           an_unknown_version_and_a_second_process_are_refused},
          {"collecting goes on while another thread merges",
           collecting_goes_on_while_another_thread_merges},
          {"callbacks may add to the same drum", callbacks_may_add_to_the_same_drum},
          {"elements larger than an array come through and the limits hold",
           elements_larger_than_an_array_come_through_and_the_limits_hold},
          {"keys that a repository cannot hold are refused",
           keys_that_a_repository_cannot_hold_are_refused},
          {"sorting is stable whatever the keys look like",
           sorting_is_stable_whatever_the_keys_look_like})
