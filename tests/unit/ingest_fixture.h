/* The tables of a crawl (store_fixture.h) and what a batch of ingest is applied with; the test is
 * the ingest thread. Header only; every test program has its own. */
#ifndef TESTS_UNIT_INGEST_FIXTURE_H
#define TESTS_UNIT_INGEST_FIXTURE_H

#include "store/pages/page_db_read.h"
#include "ingest/batch/ingest_batch.h"
#include "ingest/page/page_way.h"
#include "store_fixture.h"

typedef struct IngestFixture {
    StoreFixture tables;
    IngestOptions options; /* the test's */
    CrawlLog *log;
    CrawlTotals totals; /* as of the last commit */
} IngestFixture;

static inline void ingest_fixture_open(IngestFixture *fixture)
{
    store_fixture_open(&fixture->tables);
    CU_ASSERT_EQUAL_FATAL(
        crawl_log_open(&fixture->log, fixture->tables.path, NULL, false, SKIPPED_OFF), RESULT_OK);
}

static inline void ingest_fixture_close(IngestFixture *fixture)
{
    crawl_log_close(fixture->log);
    store_fixture_close(&fixture->tables, true);
}

/* The page of a known URL. */
static inline PageRef ingest_fixture_page(IngestFixture *fixture, const char *url)
{
    PageRef page = {.index = PAGE_DB_NO_INDEX};
    PageDB *db = fixture->tables.store.db;
    uint64_t index = 0;
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    MDB_txn *txn = store_fixture_begin(&fixture->tables, true);
    CU_ASSERT_EQUAL_FATAL(page_db_find(db, txn, url, strlen(url), &index), 0);
    CU_ASSERT_EQUAL(page_db_get(db, txn, index, &page, &text), 0);
    page_db_txn_abort(db, txn);
    buffer_destroy(&text);
    return page;
}

/* Commits one seed. */
static inline void ingest_fixture_seed(IngestFixture *fixture, const char *url)
{
    Batch batch;
    uint64_t added = 0;
    char copy[128];
    (void)snprintf(copy, sizeof copy, "%s", url);
    LinkInfo link = {.url = copy, .score = 1};
    MDB_txn *txn = store_fixture_begin(&fixture->tables, false);
    CU_ASSERT_EQUAL_FATAL(batch_init(&batch, &fixture->options, &fixture->tables.store,
                                     fixture->log, &fixture->totals, txn, NULL, 0),
                          RESULT_OK);
    CU_ASSERT_EQUAL(page_way_seed(&batch, &link, NULL, 1, &added), RESULT_OK);
    CU_ASSERT_EQUAL(batch_finish(&batch), RESULT_OK);
    store_fixture_commit(&fixture->tables, txn);
    fixture->totals = batch.totals;
    batch_destroy(&batch);
}

#endif
