#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/tables/near_rows.h"
#include "folder_fixture.h"
#include "unit.h"

#define PAGES 4000u

typedef struct Store {
    char directory[64];
    MDB_env *env;
    NearRows table;
} Store;

static void open_store(Store *store)
{
    folder_make(store->directory);
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&store->env), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_set_maxdbs(store->env, 2), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_set_mapsize(store->env, (size_t)64 << 20), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(store->env, store->directory, MDB_NOSYNC, 0600), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(store->env, NULL, 0, &store->table.txn), 0);
    CU_ASSERT_EQUAL_FATAL(near_rows_open(store->table.txn, &store->table.dbi), RESULT_OK);
}

static void close_store(Store *store)
{
    mdb_txn_abort(store->table.txn);
    mdb_env_close(store->env);
    folder_remove(store->directory);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t x = *state;
    return (x ^ x >> 29) * UINT64_C(0xBF58476D1CE4E5B9) ^ x >> 32;
}

/* The nearest within the distance, the lowest page among equals. */
static Result naive(const uint64_t *hashes, size_t n, uint64_t hash, SimhashMatch *match)
{
    Result rc = RESULT_NOT_FOUND;
    for (size_t i = 0; i < n; i++) {
        unsigned d = simhash_distance(hashes[i], hash);
        if (d <= SIMHASH_DISTANCE && (rc != RESULT_OK || d < match->distance)) {
            *match = (SimhashMatch){.page = i, .hash = hashes[i], .distance = d};
            rc = RESULT_OK;
        }
    }
    return rc;
}

/* Few different top bits, so that runs are long and span pages of the database. */
static void finds_what_a_look_at_all_pages_finds(void)
{
    Store store;
    uint64_t *hashes = calloc(PAGES, sizeof *hashes);
    uint64_t random = 7;
    CU_ASSERT_PTR_NOT_NULL_FATAL(hashes);
    open_store(&store);
    SimhashTables tables = near_rows_interface(&store.table);
    for (size_t i = 0; i < PAGES; i++) {
        uint64_t hash = next_random(&random) & UINT64_C(0x0003FFFF0003FFFF);
        if (i > 0 && i % 3 == 0) { /* a neighbour of an earlier one */
            hash = hashes[next_random(&random) % i];
            for (unsigned flips = (unsigned)(i % 5); flips > 0; flips--) {
                hash ^= UINT64_C(1) << next_random(&random) % 64;
            }
        }
        hashes[i] = hash;
        SimhashMatch found = {.page = 0};
        SimhashMatch expected = {.page = 0};
        Result rc = simhash_find(&tables, hash, &found);
        CU_ASSERT_EQUAL(rc, hash == 0 ? RESULT_NOT_FOUND : naive(hashes, i, hash, &expected));
        CU_ASSERT_EQUAL(found.page, expected.page);
        CU_ASSERT_EQUAL(found.distance, expected.distance);
        CU_ASSERT_EQUAL(simhash_insert(&tables, hash, i), RESULT_OK);
    }
    close_store(&store);
    free(hashes);
}

static void a_page_entered_twice_is_there_once(void)
{
    Store store;
    open_store(&store);
    SimhashTables tables = near_rows_interface(&store.table);
    CU_ASSERT_EQUAL(simhash_insert(&tables, UINT64_C(0xABCDEF), 5), RESULT_OK);
    CU_ASSERT_EQUAL(simhash_insert(&tables, UINT64_C(0xABCDEF), 5), RESULT_OK);
    MDB_stat stat;
    CU_ASSERT_EQUAL(mdb_stat(store.table.txn, store.table.dbi, &stat), 0);
    CU_ASSERT_EQUAL(stat.ms_entries, 4);
    close_store(&store);
}

/* Pages change their text over and over: only what they are now is found, and nothing is left. */
static void a_page_that_changed_is_found_as_it_is_now_only(void)
{
    Store store;
    uint64_t hashes[300] = {0};
    uint64_t random = 11;
    open_store(&store);
    SimhashTables tables = near_rows_interface(&store.table);
    for (size_t step = 0; step < 6000; step++) {
        size_t page = (size_t)(next_random(&random) % 300);
        uint64_t old = 1;
        uint64_t hash =
            next_random(&random) % 5 == 0 ? 0 : next_random(&random) & UINT64_C(0x0003000F0003000F);
        CU_ASSERT_EQUAL(near_rows_get(&store.table, page, &old), RESULT_OK);
        CU_ASSERT_EQUAL(old, hashes[page]);
        CU_ASSERT_EQUAL(near_rows_change(&store.table, page, old, hash), RESULT_OK);
        hashes[page] = hash;
        if (hash != 0) {
            uint64_t wanted = hash ^ UINT64_C(1) << next_random(&random) % 64;
            SimhashMatch found = {.page = 0};
            SimhashMatch expected = {.page = 0, .distance = UINT32_MAX};
            for (size_t i = 0; i < 300; i++) {
                unsigned d = simhash_distance(hashes[i], wanted);
                if (hashes[i] != 0 && d < expected.distance) {
                    expected = (SimhashMatch){.page = i, .hash = hashes[i], .distance = d};
                }
            }
            CU_ASSERT_EQUAL(simhash_find(&tables, wanted, &found), RESULT_OK);
            CU_ASSERT_EQUAL(found.page, expected.page);
        }
    }
    for (size_t page = 0; page < 300; page++) {
        CU_ASSERT_EQUAL(near_rows_change(&store.table, page, hashes[page], 0), RESULT_OK);
    }
    MDB_stat stat;
    CU_ASSERT_EQUAL(mdb_stat(store.table.txn, store.table.dbi, &stat), 0);
    CU_ASSERT_EQUAL(stat.ms_entries, 0);
    close_store(&store);
}

UNIT_MAIN("near_rows",
          {"finds what a look at all pages finds", finds_what_a_look_at_all_pages_finds},
          {"a page that changed is found as it is now only",
           a_page_that_changed_is_found_as_it_is_now_only},
          {"a page entered twice is there once", a_page_entered_twice_is_there_once})
