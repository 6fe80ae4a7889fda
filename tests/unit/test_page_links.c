/* Link lists: any 64-bit index comes back, in any order of writing, and garbage is refused. */
#include "store/pages/page_db_open.h"
#include "folder_fixture.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "store/pages/page_db.h"
#include "store/page_tables/page_store.h"
#include "store/format/page_links.h"

enum { MOST = 300, PAGES = 2000 };

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Distances of every length of varint, repetitions and wrap-around. */
static size_t random_list(uint64_t seed, uint64_t *to)
{
    size_t n = hash_mix(seed) % MOST;
    for (size_t i = 0; i < n; i++) {
        uint64_t r = hash_mix(seed * MOST + i);
        to[i] = i > 0 && r % 10 == 0 ? to[i - 1] : hash_mix(r) >> (r % 64);
    }
    return n;
}

static void every_list_comes_back(void)
{
    uint64_t to[MOST], sorted[MOST], back[MOST + PAGE_LINKS_SLACK];
    uint64_t *exact = NULL;
    uint8_t bytes[(MOST + 3) * MAX_VARINT_SIZE];
    for (uint64_t seed = 1; seed < 3000; seed++) {
        size_t n = random_list(seed, to);
        size_t n_diff = n == 0 ? 0 : hash_mix(seed + 99) % (n + 1);
        uint64_t index = seed % 3 == 0 ? UINT64_MAX - seed : hash_mix(seed) >> (seed % 64);
        memcpy(sorted, to, sizeof to);
        qsort(sorted, n_diff, sizeof *sorted, compare);
        qsort(sorted + n_diff, n - n_diff, sizeof *sorted, compare);
        size_t length = page_links_encode(index, to, n_diff, n, false, bytes);
        /* On the heap and exact, so that reading behind the list is found out. */
        uint8_t *copy = malloc(length);
        memcpy(copy, bytes, length);
        exact = malloc(page_links_bound(length) * sizeof *exact);
        size_t got = 0, got_diff = 0;
        CU_ASSERT(page_links_decode(index, copy, length, false, exact, &got_diff, &got));
        CU_ASSERT_EQUAL(got, n);
        CU_ASSERT_EQUAL(got_diff, n_diff);
        CU_ASSERT_EQUAL(memcmp(exact, sorted, n * sizeof *sorted), 0);
        CU_ASSERT(page_links_decode(index, copy, length, true, exact, &got_diff, &got));
        CU_ASSERT_EQUAL(got, n_diff);
        CU_ASSERT_EQUAL(memcmp(exact, sorted, n_diff * sizeof *sorted), 0);
        if (n_diff == n && n > 0) {
            CU_ASSERT(!page_links_decode(index, copy, length - 1, false, exact, &got_diff, &got));
        }
        free(exact);
        free(copy);
    }
    memset(bytes, 0xff, sizeof bytes);
    size_t got = 0, got_diff = 0;
    CU_ASSERT(!page_links_decode(0, bytes, 30, false, back, &got_diff, &got));
    bytes[0] = 0;
    CU_ASSERT(!page_links_decode(0, bytes, 30, false, back, &got_diff, &got));
    CU_ASSERT(!page_links_decode(0, bytes, 0, false, back, &got_diff, &got));
}

static uint8_t kind_at(uint64_t seed, size_t i)
{
    uint64_t x = hash_mix(seed + i / (1 + seed % 7));
    return seed % 4 == 0 ? 0 : x % 3 == 0 ? (uint8_t)(x >> 8) : (uint8_t)(x >> 8 & 1);
}

static void kinds_stay_with_their_links(void)
{
    uint64_t to[MOST], sorted[MOST], back[(MOST + 3) * MAX_VARINT_SIZE + PAGE_LINKS_SLACK];
    uint8_t bytes[(MOST + 3) * MAX_VARINT_SIZE], kinds[MOST];
    for (uint64_t seed = 1; seed < 3000; seed++) {
        size_t n = random_list(seed, to);
        size_t n_diff = n == 0 ? 0 : hash_mix(seed + 99) % (n + 1);
        uint64_t index = hash_mix(seed) >> (16 + seed % 40);
        bool any = false;
        for (size_t i = 0; i < n; i++) {
            to[i] = to[i] >> 16 << PAGE_LINKS_KIND_BITS | kind_at(seed, i);
            any = any || kind_at(seed, i) != 0;
        }
        memcpy(sorted, to, sizeof to);
        qsort(sorted, n_diff, sizeof *sorted, compare);
        qsort(sorted + n_diff, n - n_diff, sizeof *sorted, compare);
        size_t length = page_links_encode(index, to, n_diff, n, true, bytes);
        uint8_t *copy = malloc(length);
        memcpy(copy, bytes, length);
        size_t got = 0, got_diff = 0;
        CU_ASSERT_EQUAL(page_links_has_kinds(copy, length), any);
        CU_ASSERT(page_links_decode(index, copy, length, false, back, &got_diff, &got));
        CU_ASSERT_EQUAL_FATAL(got, n);
        CU_ASSERT_EQUAL(got_diff, n_diff);
        CU_ASSERT(page_links_decode_kinds(copy, length, kinds, n));
        for (size_t i = 0; i < n; i++) {
            CU_ASSERT_EQUAL(back[i] << PAGE_LINKS_KIND_BITS | kinds[i], sorted[i]);
            CU_ASSERT_EQUAL(back[i], to[i]);
        }
        if (any) {
            CU_ASSERT(!page_links_decode_kinds(copy, 1, kinds, n));
            CU_ASSERT(!page_links_decode_kinds(copy, length, kinds, 0));
        }
        free(copy);
    }
}

static uint64_t page_at(uint64_t i, int order)
{
    return order == 0 ? i * 3 : order == 1 ? (PAGES - 1 - i) * 3 : hash_mix(i) % PAGES * 3;
}

static void lists_are_found_however_they_were_written(void)
{
    uint64_t to[MOST];
    uint8_t bytes[(MOST + 3) * MAX_VARINT_SIZE];
    char path[FOLDER_BYTES];
    folder_name(path, "pagelinks");
    for (int order = 0; order < 3; order++) {
        PageDB *db = NULL;
        MDB_txn *txn = NULL;
        static uint64_t seed_of[PAGES * 3];
        memset(seed_of, 0, sizeof seed_of);
        CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, &(PageDBOptions){.no_sync = true}), 0);
        page_db_set_persist(db, 0);
        MDB_dbi dbi = db->store->tables.links;
        for (uint64_t i = 0; i < PAGES;) {
            PageLinksWriter writer;
            CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &txn), 0);
            page_links_writer_begin(&writer, txn, dbi);
            for (uint64_t end = i + 1 + hash_mix(i) % 50; i < end && i < PAGES; i++) {
                uint64_t page = page_at(i, order), seed = i * 10 + (uint64_t)order + 1;
                size_t n = random_list(seed, to) % (seed % 5 == 0 ? MOST : 20);
                size_t length = page_links_encode(page, to, n / 2, n, false, bytes);
                seed_of[page] = seed;
                page_links_writer_put(&writer, page, bytes, length);
            }
            CU_ASSERT_EQUAL(page_links_writer_end(&writer, 0), 0);
            CU_ASSERT_EQUAL_FATAL(page_db_txn_commit(db, txn), 0);
        }
        CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, true, &txn), 0);
        for (uint64_t page = 0; page < PAGES * 3; page++) {
            const uint8_t *list = NULL;
            size_t length = 0;
            int rc = page_links_find(txn, dbi, page, &list, &length);
            CU_ASSERT_EQUAL(rc, seed_of[page] == 0 ? MDB_NOTFOUND : 0);
            if (rc == 0) {
                size_t n = random_list(seed_of[page], to) % (seed_of[page] % 5 == 0 ? MOST : 20);
                CU_ASSERT_EQUAL(page_links_encode(page, to, n / 2, n, false, bytes), length);
                CU_ASSERT_EQUAL(memcmp(list, bytes, length), 0);
            }
        }
        page_db_txn_abort(db, txn);
        CU_ASSERT_EQUAL(page_db_delete(db), 0);
    }
}

UNIT_MAIN("page_links", {"every list comes back", every_list_comes_back},
          {"kinds stay with their links", kinds_stay_with_their_links},
          {"lists are found however they were written", lists_are_found_however_they_were_written})
