/* Near duplicates: what the sketches find, beside the sets that they stand for. */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/hash.h"
#include "store/tables/near_rows.h"
#include "folder_fixture.h"
#include "unit.h"

#define PAGES        2000u
#define SHINGLES_MAX 1500u

typedef struct Store {
    char directory[64];
    MDB_env *env;
    NearRows rows;
} Store;

static void open_store(Store *store)
{
    folder_make(store->directory);
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&store->env), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_set_maxdbs(store->env, 2), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_set_mapsize(store->env, (size_t)64 << 20), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(store->env, store->directory, MDB_NOSYNC, 0600), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(store->env, NULL, 0, &store->rows.txn), 0);
    CU_ASSERT_EQUAL_FATAL(near_rows_open(store->rows.txn, &store->rows), RESULT_OK);
}

static void close_store(Store *store)
{
    mdb_txn_abort(store->rows.txn);
    mdb_env_close(store->env);
    folder_remove(store->directory);
}

static size_t entries(const Store *store, MDB_dbi dbi)
{
    MDB_stat stat;
    CU_ASSERT_EQUAL(mdb_stat(store->rows.txn, dbi, &stat), 0);
    return stat.ms_entries;
}

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    return hash_mix(*state);
}

/* A text as the set of its shingles: sorted, each once. */
typedef struct Text {
    uint64_t shingles[SHINGLES_MAX];
    size_t n;
} Text;

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void write_text(Text *text, size_t n, uint64_t *random)
{
    text->n = n;
    for (size_t i = 0; i < n; i++) {
        text->shingles[i] = next_random(random);
    }
    qsort(text->shingles, n, sizeof *text->shingles, compare);
}

/* Another one in which of a thousand shingles so many are others. */
static void edit_text(Text *text, const Text *from, unsigned per_mille, uint64_t *random)
{
    *text = *from;
    for (size_t i = 0; i < text->n; i++) {
        if (next_random(random) % 1000 < per_mille) {
            text->shingles[i] = next_random(random);
        }
    }
    qsort(text->shingles, text->n, sizeof *text->shingles, compare);
}

static double jaccard(const Text *a, const Text *b)
{
    size_t both = 0;
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        both += a->shingles[i] == b->shingles[k];
        bool first = a->shingles[i] <= b->shingles[k];
        bool second = b->shingles[k] <= a->shingles[i];
        i += first;
        k += second;
    }
    return (double)both / (double)(a->n + b->n - both);
}

static TextSketch sketch_of(const Text *text)
{
    SketchBins bins = {.most = {0}};
    for (size_t i = 0; i < text->n; i++) {
        sketch_add(&bins, text->shingles[i]);
        sketch_add(&bins, text->shingles[i / 2]); /* what comes twice counts once */
    }
    return sketch_of_bins(&bins, text->n);
}

static void the_sketch_tells_what_two_texts_share(void)
{
    uint64_t random = 3;
    double worst = 0;
    Text *texts = calloc(2, sizeof *texts);
    CU_ASSERT_PTR_NOT_NULL_FATAL(texts);
    for (unsigned step = 0; step < 400; step++) {
        write_text(&texts[0], 64 + next_random(&random) % (SHINGLES_MAX - 64), &random);
        edit_text(&texts[1], &texts[0], step * 5 / 2, &random);
        TextSketch a = sketch_of(&texts[0]);
        TextSketch b = sketch_of(&texts[1]);
        CU_ASSERT_TRUE(a.exists && b.exists);
        double error = sketch_similarity(&a, &b) - jaccard(&texts[0], &texts[1]);
        error = error < 0 ? -error : error;
        worst = error > worst ? error : worst;
        CU_ASSERT_TRUE(sketch_similarity(&a, &a) == 1);
    }
    printf("# largest error of 400 estimates: %.3f\n", worst);
    CU_ASSERT_TRUE(worst < 0.1);
    texts[0].n = SKETCH_MIN_WORDS - 1;
    TextSketch few = sketch_of(&texts[0]);
    CU_ASSERT_FALSE(few.exists);
    CU_ASSERT_TRUE(sketch_similarity(&few, &few) == 0);
    free(texts);
}

/* Half of the pages are an earlier one with more or less of it changed. Right is a page that is
 * told to be near to one with which it shares nine tenths; all are those for which there is one. */
static void precision_and_recall(void)
{
    static const unsigned edits[] = {0, 2, 5, 10, 20, 30, 40, 100, 150, 200, 300, 500};
    enum { EDITS = sizeof edits / sizeof *edits };
    Store store;
    Text *texts = calloc(PAGES, sizeof *texts);
    size_t *source = calloc(PAGES, sizeof *source);
    uint64_t random = 7;
    unsigned told = 0, right = 0, all = 0, found = 0;
    CU_ASSERT_FATAL(texts != NULL && source != NULL);
    open_store(&store);
    for (size_t i = 0; i < PAGES; i++) {
        if (i % 2 == 0) {
            write_text(&texts[i], 100 + next_random(&random) % (SHINGLES_MAX - 100), &random);
        } else {
            source[i] = (size_t)(next_random(&random) % (i / 2 + 1)) * 2 % i;
            edit_text(&texts[i], &texts[source[i]], edits[next_random(&random) % EDITS], &random);
        }
        TextSketch sketch = sketch_of(&texts[i]);
        NearMatch match = {.page = 0};
        Result rc = near_rows_find(&store.rows, &sketch, i, &match);
        bool is_near = i % 2 == 1 && jaccard(&texts[i], &texts[source[i]]) >= 0.9;
        told += rc == RESULT_OK;
        right += rc == RESULT_OK && jaccard(&texts[i], &texts[match.page]) >= 0.9;
        all += is_near;
        found += is_near && rc == RESULT_OK;
        CU_ASSERT_EQUAL(near_rows_enter(&store.rows, i, &sketch, match.is_twin), RESULT_OK);
    }
    printf("# near.precision %.3f (of %u) near.recall %.3f (of %u)\n", right / (double)told, told,
           found / (double)all, all);
    CU_ASSERT_TRUE(right >= 0.95 * told);
    CU_ASSERT_TRUE(found >= 0.95 * all);
    close_store(&store);
    free(texts);
    free(source);
}

/* Pages change their text over and over: only what they are now is found, and nothing is left. */
static void a_page_that_changed_is_found_as_it_is_now_only(void)
{
    enum { N = 60, TEXTS = 8 };
    Store store;
    Text *text = calloc(1, sizeof *text);
    TextSketch texts[TEXTS];
    unsigned now[N] = {0}; /* 0: no text */
    uint64_t random = 11;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    open_store(&store);
    for (size_t i = 0; i < TEXTS; i++) {
        write_text(text, 200, &random);
        texts[i] = sketch_of(text);
    }
    for (size_t step = 0; step < 2000; step++) {
        size_t page = (size_t)(next_random(&random) % N);
        unsigned number = (unsigned)(next_random(&random) % (TEXTS + 1));
        TextSketch old;
        CU_ASSERT_EQUAL(near_rows_get(&store.rows, page, &old), RESULT_OK);
        CU_ASSERT_EQUAL(old.exists, now[page] != 0);
        if (old.exists) {
            CU_ASSERT_EQUAL(near_rows_remove(&store.rows, page, &old), RESULT_OK);
        }
        now[page] = number;
        if (number != 0) {
            const TextSketch *sketch = &texts[number - 1];
            CU_ASSERT_EQUAL(near_rows_enter(&store.rows, page, sketch, false), RESULT_OK);
            CU_ASSERT_EQUAL(near_rows_enter(&store.rows, page, sketch, false), RESULT_OK);
        }
        for (unsigned t = 1; t <= TEXTS; t++) {
            size_t first = 0;
            while (first < N && now[first] != t) {
                first++;
            }
            NearMatch match;
            Result rc = near_rows_find(&store.rows, &texts[t - 1], N, &match);
            CU_ASSERT_EQUAL(rc, first < N ? RESULT_OK : RESULT_NOT_FOUND);
            CU_ASSERT_TRUE(rc != RESULT_OK || (match.page == first && match.is_twin));
            rc = near_rows_find(&store.rows, &texts[t - 1], first, &match);
            CU_ASSERT_TRUE(rc != RESULT_OK || match.page > first); /* it is not its own twin */
        }
    }
    for (size_t page = 0; page < N; page++) {
        if (now[page] != 0) {
            CU_ASSERT_EQUAL(near_rows_remove(&store.rows, page, &texts[now[page] - 1]), RESULT_OK);
        }
    }
    CU_ASSERT_EQUAL(entries(&store, store.rows.bands), 0);
    CU_ASSERT_EQUAL(entries(&store, store.rows.sketches), 0);
    close_store(&store);
    free(text);
}

UNIT_MAIN("near_rows",
          {"the sketch tells what two texts share", the_sketch_tells_what_two_texts_share},
          {"precision and recall", precision_and_recall},
          {"a page that changed is found as it is now only",
           a_page_that_changed_is_found_as_it_is_now_only})
