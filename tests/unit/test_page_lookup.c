/* Looking pages up by hash in memory: the table beside hash2idx and the places of a snapshot agree
 * with the tables on disk through sweeps, growth, equal hashes, recrawls and concurrent writers. */
#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "folder_fixture.h"
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pages/page_db.h"
#include "store/page_tables/page_parts.h"
#include "store/page_tables/page_store.h"
#include "store/page_tables/page_lookup.h"

#define LINKS 100u

static PageDB *open_fresh(void)
{
    char path[FOLDER_BYTES];
    folder_name(path, "lookup");
    PageDB *db = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, &(PageDBOptions){.no_sync = true}),
                          page_db_error_ok);
    page_db_set_persist(db, 0);
    return db;
}

/* Page 0 of every hundred links to the others: so index and number are the same. */
static void url_of(size_t number, char url[64])
{
    (void)snprintf(url, 64, "http://h%zu.example/%zu/%s", number % 7, number,
                   number % 11 == 0 ? "a-rather-longer-path" : "");
}

static void add_hundreds(PageDB *db, size_t first, size_t last)
{
    char url[64];
    for (size_t at = first; at < last; at += LINKS) {
        url_of(at, url);
        CrawledPage *page = crawled_page_new(url);
        page->time = 1000;
        for (size_t i = 1; i < LINKS; i++) {
            url_of(at + i, url);
            CU_ASSERT_EQUAL(crawled_page_add_link(page, url, 0.5F), 0);
        }
        CU_ASSERT_EQUAL(page_db_add(db, page, NULL), page_db_error_ok);
        crawled_page_delete(page);
    }
}

static uint64_t masked_hash(PageDB *db, size_t number)
{
    char url[64];
    url_of(number, url);
    return page_db_hash(url) & db->store->hash_mask;
}

/* How many pages are not found as they should be; first_of: which page counts for a hash. */
static size_t count_wrong(PageDB *db, size_t n, const size_t *first_of)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        char url[64];
        size_t expected = first_of == NULL ? i : first_of[i];
        url_of(expected, url);
        uint64_t index = 0;
        PageInfo *info = NULL;
        uint64_t hash = masked_hash(db, i);
        PageDBError rc = page_db_get_info(db, hash, &info);
        wrong += rc != page_db_error_ok || info == NULL || strcmp(info->url, url) != 0 ||
                 info->n_crawls != (expected % LINKS == 0);
        wrong += page_db_get_idx(db, hash, &index) != page_db_error_ok || index != expected;
        page_info_delete(info);
    }
    return wrong;
}

static void the_table_is_made_when_it_pays_and_grows(void)
{
    PageDB *db = open_fresh();
    add_hundreds(db, 0, 400);
    CU_ASSERT_EQUAL(count_wrong(db, 400, NULL), 0);
    CU_ASSERT_PTR_NULL(atomic_load(&db->store->lookup.table));
    CU_ASSERT_EQUAL(count_wrong(db, 400, NULL), 0);
    const PageLookupTable *small = atomic_load(&db->store->lookup.table);
    CU_ASSERT_PTR_NOT_NULL(small);
    size_t known = 0;
    for (size_t i = 0; i < 400; i++) {
        uint64_t index = 0;
        if (page_lookup_get(&db->store->lookup, masked_hash(db, i), &index)) {
            CU_ASSERT_EQUAL(index, i);
            known++;
        }
    }
    CU_ASSERT_TRUE(known > 350); /* the others' buckets were full */
    add_hundreds(db, 400, 20000);
    CU_ASSERT_EQUAL(count_wrong(db, 20000, NULL), 0);
    CU_ASSERT_PTR_NOT_EQUAL(atomic_load(&db->store->lookup.table), small);
    CU_ASSERT_EQUAL(count_wrong(db, 20000, NULL), 0);
    PageInfo *info = NULL;
    uint64_t index = 1;
    CU_ASSERT_EQUAL(page_db_get_info(db, 4711, &info), page_db_error_ok);
    CU_ASSERT_PTR_NULL(info);
    CU_ASSERT_EQUAL(page_db_get_idx(db, 4711, &index), page_db_error_no_page);
    CU_ASSERT_EQUAL(index, 0);
    (void)page_db_delete(db);
}

static void of_equal_hashes_the_first_page_counts(void)
{
    enum { N = 6000 };
    static size_t first_of[N];
    PageDB *db = open_fresh();
    db->store->hash_mask = UINT64_C(0xffffffff000000ff);
    add_hundreds(db, 0, N);
    for (size_t i = 0; i < N; i++) {
        first_of[i] = i;
        for (size_t j = 0; j < i; j++) {
            if (masked_hash(db, j) == masked_hash(db, i)) {
                first_of[i] = first_of[j];
                break;
            }
        }
    }
    for (int round = 0; round < 3; round++) {
        CU_ASSERT_EQUAL(count_wrong(db, N, first_of), 0);
    }
    CU_ASSERT_PTR_NOT_NULL(atomic_load(&db->store->lookup.table));
    (void)page_db_delete(db);
}

static void every_commit_is_seen(void)
{
    PageDB *db = open_fresh();
    add_hundreds(db, 0, 5000);
    CU_ASSERT_EQUAL(count_wrong(db, 5000, NULL), 0);
    char url[64];
    for (unsigned i = 1; i < 300; i++) {
        size_t number = i * 13 % 50 * LINKS;
        url_of(number, url);
        PageInfo *before = NULL;
        PageInfo *after = NULL;
        CU_ASSERT_EQUAL(page_db_get_info(db, masked_hash(db, number), &before), page_db_error_ok);
        CrawledPage *page = crawled_page_new(url);
        page->time = 1000 + i;
        CU_ASSERT_EQUAL(crawled_page_set_hash64(page, i), 0);
        CU_ASSERT_EQUAL(page_db_add(db, page, NULL), page_db_error_ok);
        crawled_page_delete(page);
        CU_ASSERT_EQUAL(page_db_get_info(db, masked_hash(db, number), &after), page_db_error_ok);
        CU_ASSERT_EQUAL(after->n_crawls, before->n_crawls + 1);
        CU_ASSERT_EQUAL(after->last_crawl, 1000.0 + i);
        page_info_delete(before);
        page_info_delete(after);
    }
    (void)page_db_delete(db);
}

/* A reader that began before a commit may find in the table what a later reader has entered. */
static void a_page_younger_than_the_snapshot_is_not_there(void)
{
    PageDB *db = open_fresh();
    add_hundreds(db, 0, 5000);
    CU_ASSERT_EQUAL(count_wrong(db, 5000, NULL), 0);
    PageReader *before = NULL;
    CU_ASSERT_EQUAL_FATAL(page_reader_acquire(db->store, &before), 0);
    add_hundreds(db, 5000, 5000 + 2 * LINKS); /* some in the last pack, some in new ones */
    CU_ASSERT_EQUAL(count_wrong(db, 5000 + 2 * LINKS, NULL), 0);
    size_t known = 0;
    for (size_t i = 5000; i < 5000 + 2 * LINKS; i++) {
        uint64_t index = 0;
        PageInfo *info = NULL;
        known += page_lookup_get(&db->store->lookup, masked_hash(db, i), &index);
        CU_ASSERT_EQUAL(page_parts_find_info(db->store, before, masked_hash(db, i), &info), 0);
        CU_ASSERT_PTR_NULL(info);
    }
    CU_ASSERT(known > LINKS);
    page_reader_release(db->store, before);
    (void)page_db_delete(db);
}

typedef struct Shared {
    PageDB *db;
    atomic_size_t n; /* pages that are committed */
    atomic_size_t wrong;
} Shared;

static void *read_pages(void *context)
{
    Shared *shared = context;
    size_t n = 0;
    for (uint64_t i = 0; n < 12000; i++) {
        n = atomic_load(&shared->n);
        size_t number = (size_t)(i * 7919 % n);
        char url[64];
        url_of(number, url);
        PageInfo *info = NULL;
        PageDBError rc = page_db_get_info(shared->db, masked_hash(shared->db, number), &info);
        if (rc != page_db_error_ok || info == NULL || strcmp(info->url, url) != 0) {
            atomic_fetch_add(&shared->wrong, 1);
        }
        page_info_delete(info);
    }
    return NULL;
}

static void readers_and_a_writer_share_it(void)
{
    Shared shared = {.db = open_fresh()};
    add_hundreds(shared.db, 0, 1000);
    atomic_store(&shared.n, 1000);
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, read_pages, &shared), 0);
    }
    for (size_t n = 1000; n < 12000; n += LINKS) {
        add_hundreds(shared.db, n, n + LINKS);
        atomic_store(&shared.n, n + LINKS);
    }
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    CU_ASSERT_EQUAL(atomic_load(&shared.wrong), 0);
    CU_ASSERT_EQUAL(count_wrong(shared.db, 12000, NULL), 0);
    (void)page_db_delete(shared.db);
}

UNIT_MAIN("page_lookup",
          {"the table is made when it pays, and grows", the_table_is_made_when_it_pays_and_grows},
          {"of equal hashes the first page counts", of_equal_hashes_the_first_page_counts},
          {"every commit is seen", every_commit_is_seen},
          {"a page younger than the snapshot is not there",
           a_page_younger_than_the_snapshot_is_not_there},
          {"readers and a writer share it", readers_and_a_writer_share_it})
