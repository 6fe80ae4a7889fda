/* A crawl's tables in a directory of their own, without syncs: for tests of what reads
 * and writes them. Header only; every test program has its own. */
#ifndef TESTS_UNIT_STORE_FIXTURE_H
#define TESTS_UNIT_STORE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pages/page_db_read.h"
#include "store/lmdb/lmdb_result.h"
#include "store/pages/page_db_open.h"
#include "ingest/batch/ingest_batch.h"
#include "folder_fixture.h"
#include "parse/robots/robots.h"
#include "unit.h"

typedef struct StoreFixture {
    IngestStore store;
    char path[64];
} StoreFixture;

static inline void store_fixture_reopen(StoreFixture *fixture)
{
    PageDBOptions options = {.no_sync = true, .map_bytes = (size_t)1 << 30};
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_open(&fixture->store.db, fixture->path, &options), 0);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(fixture->store.db, false, &txn), 0);
    CU_ASSERT_EQUAL_FATAL(
        schedule_open(&fixture->store.schedule, txn, NULL, page_db_journal(fixture->store.db)),
        RESULT_OK);
    IngestStore *store = &fixture->store;
    const LmdbTable rows[] = {{&store->held, HELD_TABLE, MDB_INTEGERKEY},
                              {&store->seeds, SEED_TABLE, MDB_INTEGERKEY},
                              {&store->waits, WAIT_TABLE, 0},
                              {&store->groups, GROUP_TABLE, MDB_INTEGERKEY},
                              {&store->feeds, FEED_TABLE, MDB_INTEGERKEY},
                              {&store->keys, "keys", 0},
                              {&store->crawl, "crawl", 0}};
    CU_ASSERT_EQUAL_FATAL(lmdb_tables_open(txn, rows, sizeof rows / sizeof *rows, MDB_CREATE),
                          RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(
        host_rows_open(&fixture->store.hosts, txn, page_db_journal(fixture->store.db)), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(
        body_rows_open(&fixture->store.bodies, txn, page_db_journal(fixture->store.db)), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_commit(fixture->store.db, txn), 0);
}

static inline void store_fixture_open(StoreFixture *fixture)
{
    folder_make(fixture->path);
    store_fixture_reopen(fixture);
}

static inline void store_fixture_close(StoreFixture *fixture, bool remove)
{
    schedule_close(fixture->store.schedule);
    body_rows_close(fixture->store.bodies);
    host_rows_close(fixture->store.hosts);
    page_db_set_persist(fixture->store.db, !remove);
    (void)page_db_delete(fixture->store.db);
    if (remove) {
        folder_remove(fixture->path);
    }
}

static inline MDB_txn *store_fixture_begin(StoreFixture *fixture, bool read_only)
{
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(fixture->store.db, read_only, &txn), 0);
    return txn;
}

static inline void store_fixture_commit(StoreFixture *fixture, MDB_txn *txn)
{
    CU_ASSERT_EQUAL_FATAL(page_db_txn_commit(fixture->store.db, txn), 0);
}

static inline Result store_fixture_put_robots(HostRows *hosts, MDB_txn *txn, uint32_t host,
                                              const char *text, size_t length)
{
    return host_rows_put_robots(hosts, txn, host, text, length, robots_content_hash(text, length));
}

typedef struct StoreFixtureLevel {
    StoreFixture *fixture;
    MDB_txn *txn;
    uint8_t level;
} StoreFixtureLevel;

static inline int store_fixture_schedule(void *context, const PageRef *page, PageState *state)
{
    const StoreFixtureLevel *l = context;
    state->level = l->level;
    return (int)schedule_put(l->fixture->store.schedule, l->txn, page->host, l->level, page->index);
}

/* Makes one URL known, which a page links to (PAGE_DB_NO_INDEX: none does), and schedules it. */
static inline void store_fixture_add_link(StoreFixture *fixture, MDB_txn *txn, const char *url,
                                          uint8_t level, uint64_t parent)
{
    StoreFixtureLevel context = {.fixture = fixture, .txn = txn, .level = level};
    PageSink sink = {.context = &context, .discovered = store_fixture_schedule};
    char copy[256];
    (void)snprintf(copy, sizeof copy, "%s", url);
    LinkInfo link = {.url = copy, .score = 1};
    CU_ASSERT_EQUAL_FATAL(
        page_db_discover(fixture->store.db, txn, &link, NULL, 1, parent, 0, &sink), 0);
}

static inline void store_fixture_add(StoreFixture *fixture, MDB_txn *txn, const char *url,
                                     uint8_t level)
{
    store_fixture_add_link(fixture, txn, url, level, PAGE_DB_NO_INDEX);
}

#endif
