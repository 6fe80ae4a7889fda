#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/chore/revival.h"
#include "ingest_fixture.h"
#include "store/schedule/schedule.h"
#include "store/tables/host_rows.h"
#include "unit.h"

typedef struct World {
    IngestFixture ingest;
    Revival *revival;
    IngestChore chore;
} World;

/* Hosts h0.example, h1.example ...: two URLs each. */
static World *set_up(uint32_t hosts)
{
    World *w = calloc(1, sizeof *w);
    w->ingest.options = (IngestOptions){.config.schedule_levels = SCHEDULE_DEFAULT_LEVELS,
                                        .config.scope_depth = 20};
    ingest_fixture_open(&w->ingest);
    for (uint32_t i = 0; i < 2 * hosts; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "%s://h%u.example/%u", i % 4 < 2 ? "http" : "https", i / 2,
                       i % 2);
        ingest_fixture_seed(&w->ingest, url);
    }
    CU_ASSERT_EQUAL_FATAL(revival_new(&w->revival), RESULT_OK);
    w->chore = revival_chore(w->revival);
    return w;
}

static void tear_down(World *w)
{
    revival_delete(w->revival);
    ingest_fixture_close(&w->ingest);
    free(w);
}

static void set_aside(World *w, uint32_t host, HostState state, uint8_t why, int64_t at_ms)
{
    uint64_t urls = 0;
    HostRecord record;
    IngestStore *store = &w->ingest.tables.store;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL(host_rows_get(store->hosts, txn, host, &record), RESULT_OK);
    CU_ASSERT_EQUAL(
        host_parking_set_aside(store->schedule, txn, host, &record, state, why, at_ms, &urls),
        RESULT_OK);
    CU_ASSERT_EQUAL(urls, 2);
    CU_ASSERT_EQUAL(host_rows_put(store->hosts, txn, host, &record), RESULT_OK);
    store_fixture_commit(&w->ingest.tables, txn);
}

/* One piece; a failure of the commit takes it back. */
static void run_piece(World *w, bool fails)
{
    Batch batch;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL_FATAL(batch_init(&batch, &w->ingest.options, &w->ingest.tables.store,
                                     w->ingest.log, &w->ingest.totals, txn, NULL, 0),
                          RESULT_OK);
    MonoTime until = mono_add_ms(mono_now(), 3600000);
    CU_ASSERT_EQUAL(w->chore.run(w->chore.context, &batch, until), RESULT_OK);
    CU_ASSERT_EQUAL(batch_finish(&batch), RESULT_OK);
    if (fails) {
        page_db_txn_abort(w->ingest.tables.store.db, txn);
    } else {
        store_fixture_commit(&w->ingest.tables, txn);
    }
    batch_destroy(&batch);
    w->chore.ended(w->chore.context, fails ? RESULT_FULL : RESULT_OK);
}

static void run_all(World *w)
{
    for (int i = 0; i < 100 && w->chore.due(w->chore.context).ns != MONO_NEVER.ns; i++) {
        CU_ASSERT_TRUE(ingest_chore_holds(&w->chore));
        run_piece(w, false);
    }
    CU_ASSERT_FALSE(ingest_chore_holds(&w->chore));
}

static uint64_t parked(World *w)
{
    uint64_t entries = 0;
    uint64_t hosts = 0;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    (void)schedule_parked_counts(w->ingest.tables.store.schedule, txn, &entries, &hosts);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    CU_ASSERT_EQUAL(entries, 2 * hosts);
    return hosts;
}

static void order(World *w, RevivalOrder order)
{
    CU_ASSERT_EQUAL(revival_order(w->revival, &order), RESULT_OK);
}

static void all_come_back_in_pieces(void)
{
    World *w = set_up(600);
    for (uint32_t i = 0; i < 600; i++) {
        set_aside(w, i, HOST_DROPPED, 2, 5000);
    }
    CU_ASSERT_FALSE(ingest_chore_holds(&w->chore));
    order(w, (RevivalOrder){.since_ms = 0});
    run_piece(w, true); /* nothing has happened */
    CU_ASSERT_EQUAL(parked(w), 600);
    CU_ASSERT_TRUE(ingest_chore_holds(&w->chore));
    run_all(w);
    CU_ASSERT_EQUAL(parked(w), 0);
    tear_down(w);
}

static void only_those_that_are_meant_come_back(void)
{
    World *w = set_up(6);
    for (uint32_t i = 0; i < 6; i++) {
        set_aside(w, i, HOST_DROPPED, (uint8_t)(i % 2 == 0 ? 2 : 7), 1000 * (i + 1));
    }
    order(w, (RevivalOrder){.since_ms = 3000, .classes = 1u << 2});
    run_all(w);
    CU_ASSERT_EQUAL(parked(w), 4); /* without 2 and 4 */
    order(w, (RevivalOrder){.recheck_by_ms = 10});
    run_all(w);
    CU_ASSERT_EQUAL(parked(w), 4); /* nobody is to be asked again */
    order(w, (RevivalOrder){.since_ms = 5500});
    order(w, (RevivalOrder){.since_ms = 6000}); /* behind it, and nothing is left for it */
    run_all(w);
    CU_ASSERT_EQUAL(parked(w), 3);
    tear_down(w);
}

UNIT_MAIN("revival", {"all come back in pieces", all_come_back_in_pieces},
          {"only those that are meant come back", only_those_that_are_meant_come_back})
