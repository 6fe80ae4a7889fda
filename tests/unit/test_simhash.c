#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "parse/text/digest.h"
#include "unit.h"

/* Tables that are arrays, scanned whole: the naive model of a store. */
typedef struct Rows {
    struct {
        uint64_t key;
        uint64_t page;
    } rows[SIMHASH_TABLES][512];
    size_t n[SIMHASH_TABLES];
    size_t visited;
    Result fail;
} Rows;

static Result put(void *state, unsigned table, uint64_t key, uint64_t page)
{
    Rows *rows = state;
    if (rows->fail != RESULT_OK) {
        return rows->fail;
    }
    rows->rows[table][rows->n[table]].key = key;
    rows->rows[table][rows->n[table]++].page = page;
    return RESULT_OK;
}

static Result scan(void *state, unsigned table, uint64_t first, uint64_t last, SimhashVisit visit,
                   void *context)
{
    Rows *rows = state;
    if (rows->fail != RESULT_OK) {
        return rows->fail;
    }
    for (size_t i = 0; i < rows->n[table]; i++) {
        uint64_t key = rows->rows[table][i].key;
        if (key >= first && key <= last) {
            rows->visited++;
            if (!visit(context, key, rows->rows[table][i].page)) {
                break;
            }
        }
    }
    return RESULT_OK;
}

static void the_counter_is_the_majority_of_each_bit(void)
{
    uint64_t seed = 1;
    for (unsigned n = 1; n < 400; n += 13) {
        SimhashCounter counter;
        memset(&counter, 0, sizeof counter);
        unsigned votes[64] = {0};
        for (unsigned i = 0; i < n; i++) {
            seed = hash_mix(seed + i + 1);
            simhash_add(&counter, seed);
            for (unsigned b = 0; b < 64; b++) {
                votes[b] += (unsigned)(seed >> b & 1);
            }
        }
        uint64_t want = 0;
        for (unsigned b = 0; b < 64; b++) {
            want |= (uint64_t)(votes[b] > n / 2 ? 1 : 0) << b;
        }
        CU_ASSERT_EQUAL(simhash_of_counter(&counter), want);
    }
    SimhashCounter empty;
    memset(&empty, 0, sizeof empty);
    CU_ASSERT_EQUAL(simhash_of_counter(&empty), 0);
}

static void keys_turn_back_into_hashes(void)
{
    uint64_t hash = UINT64_C(0x0123456789ABCDEF);
    CU_ASSERT_EQUAL(simhash_table_key(hash, 1), UINT64_C(0x456789ABCDEF0123));
    for (unsigned t = 0; t < SIMHASH_TABLES; t++) {
        CU_ASSERT_EQUAL(simhash_of_table_key(simhash_table_key(hash, t), t), hash);
    }
}

static void every_hash_within_distance_3_is_found_and_none_beyond(void)
{
    Rows *rows = calloc(1, sizeof *rows);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rows);
    SimhashTables tables = {.state = rows, .put = put, .scan = scan};
    for (uint64_t i = 1; i <= 500; i++) {
        CU_ASSERT_EQUAL(simhash_insert(&tables, hash_mix(i), i), RESULT_OK);
    }
    SimhashMatch match;
    uint64_t seed = 99;
    for (uint64_t i = 1; i <= 500; i++) {
        uint64_t hash = hash_mix(i);
        unsigned flips = (unsigned)(i % 6);
        uint64_t near = hash;
        while (simhash_distance(near, hash) < flips) {
            seed = hash_mix(seed + 1);
            near ^= UINT64_C(1) << (seed & 63);
        }
        Result rc = simhash_find(&tables, near, &match);
        if (flips <= SIMHASH_DISTANCE) {
            CU_ASSERT_EQUAL(rc, RESULT_OK);
            CU_ASSERT_EQUAL(match.page, i);
            CU_ASSERT_EQUAL(match.hash, hash);
            CU_ASSERT_EQUAL(match.distance, flips);
        } else {
            CU_ASSERT_EQUAL(rc, RESULT_NOT_FOUND);
        }
    }
    /* Ranges are narrow: far from 500 keys a table for each of the 500 searches. */
    CU_ASSERT(rows->visited < 4000);
    free(rows);
}

static void the_nearest_then_the_oldest_page_is_the_original(void)
{
    Rows *rows = calloc(1, sizeof *rows);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rows);
    SimhashTables tables = {.state = rows, .put = put, .scan = scan};
    uint64_t hash = hash_mix(7);
    (void)simhash_insert(&tables, hash ^ 3, 5);
    (void)simhash_insert(&tables, hash ^ 1, 9);
    (void)simhash_insert(&tables, hash ^ 2, 8);
    SimhashMatch match;
    CU_ASSERT_EQUAL(simhash_find(&tables, hash, &match), RESULT_OK);
    CU_ASSERT_EQUAL(match.page, 8);
    (void)simhash_insert(&tables, hash, 20);
    CU_ASSERT_EQUAL(simhash_find(&tables, hash, &match), RESULT_OK);
    CU_ASSERT_EQUAL(match.page, 20);
    CU_ASSERT_EQUAL(simhash_find(&tables, 0, &match), RESULT_NOT_FOUND);
    size_t before = rows->n[0];
    CU_ASSERT_EQUAL(simhash_insert(&tables, 0, 21), RESULT_OK);
    CU_ASSERT_EQUAL(rows->n[0], before);
    rows->fail = RESULT_IO;
    CU_ASSERT_EQUAL(simhash_find(&tables, hash, &match), RESULT_IO);
    CU_ASSERT_EQUAL(simhash_insert(&tables, hash, 1), RESULT_IO);
    free(rows);
}

/* A range in which no entry is near: 60 000 keys share the block on top. */
typedef struct Crowd {
    size_t visits;
} Crowd;

static Result show_crowd(void *state, unsigned table, uint64_t first, uint64_t last,
                         SimhashVisit visit, void *context)
{
    Crowd *crowd = state;
    (void)table;
    bool go_on = true;
    for (uint64_t i = 1; i <= 60000 && go_on; i++) {
        uint64_t key = (first & ~(UINT64_MAX >> 16)) | i << 32 | UINT32_MAX;
        if (key >= first && key <= last) {
            crowd->visits++;
            go_on = visit(context, key, i);
        }
    }
    return RESULT_OK;
}

static void a_crowd_of_near_identical_pages_costs_no_more_than_the_bound(void)
{
    Crowd crowd = {.visits = 0};
    SimhashTables tables = {.state = &crowd, .scan = show_crowd};
    SimhashMatch match;
    CU_ASSERT_EQUAL(simhash_find(&tables, UINT64_C(0x0123000000000000), &match), RESULT_NOT_FOUND);
    CU_ASSERT_TRUE(crowd.visits > SIMHASH_VISITS);
    CU_ASSERT_TRUE(crowd.visits <= SIMHASH_TABLES * SIMHASH_VISITS + 1);
}

UNIT_MAIN("simhash",
          {"the counter is the majority of each bit", the_counter_is_the_majority_of_each_bit},
          {"keys turn back into hashes", keys_turn_back_into_hashes},
          {"every hash within distance 3 is found and none beyond",
           every_hash_within_distance_3_is_found_and_none_beyond},
          {"the nearest, then the oldest page is the original",
           the_nearest_then_the_oldest_page_is_the_original},
          {"a crowd of near-identical pages costs no more than the bound",
           a_crowd_of_near_identical_pages_costs_no_more_than_the_bound})
