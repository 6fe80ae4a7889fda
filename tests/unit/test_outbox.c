#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_open.h"
#include "cluster/link/outbox.h"
#include "cluster/link/stub.h"
#include "dice.h"
#include "page_db_fixture.h"
#include "unit.h"

typedef struct Bench {
    PageDB *db;
    Outbox outbox;
    OutboxDraft draft;
    MDB_txn *txn;
} Bench;

static void begin(Bench *bench)
{
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(bench->db, false, &bench->txn), page_db_error_ok);
    CU_ASSERT_EQUAL(outbox_draft_begin(&bench->draft, bench->txn, 5), RESULT_OK);
}

static void commit(Bench *bench)
{
    CU_ASSERT_EQUAL(outbox_draft_finish(&bench->draft), RESULT_OK);
    CU_ASSERT_EQUAL(page_db_txn_commit(bench->db, bench->txn), page_db_error_ok);
    outbox_draft_end(&bench->draft);
}

static void open_bench(Bench *bench)
{
    MDB_dbi crawl = 0;
    bench->db = page_db_fixture_open("outbox");
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(bench->db, false, &bench->txn), page_db_error_ok);
    CU_ASSERT_EQUAL(mdb_dbi_open(bench->txn, "crawl", MDB_CREATE, &crawl), 0);
    CU_ASSERT_EQUAL(outbox_open(&bench->outbox, bench->txn, crawl), RESULT_OK);
    CU_ASSERT_EQUAL(page_db_txn_commit(bench->db, bench->txn), page_db_error_ok);
    outbox_draft_init(&bench->draft, &bench->outbox);
}

static void close_bench(Bench *bench)
{
    outbox_draft_destroy(&bench->draft);
    CU_ASSERT_EQUAL(page_db_delete(bench->db), page_db_error_ok);
}

static void add(Bench *bench, uint16_t to, unsigned number)
{
    char url[100];
    int length = snprintf(url, sizeof url, "http://h%u.example/%u", (unsigned)to, number);
    LinkRecord record = {.url = url,
                         .length = (size_t)length,
                         .hop = 'L',
                         .depth = number,
                         .estimate = -1,
                         .parent = number};
    CU_ASSERT_EQUAL(outbox_draft_add(&bench->draft, to, &record), RESULT_OK);
}

static OutboxState state_of(Bench *bench)
{
    OutboxState state;
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(bench->db, true, &txn), page_db_error_ok);
    CU_ASSERT_EQUAL(outbox_read_state(&bench->outbox, txn, &state), RESULT_OK);
    page_db_txn_abort(bench->db, txn);
    return state;
}

/* Reads what is there for an agent from a sequence on; the number of records. */
static size_t read_all(Bench *bench, uint16_t to, uint64_t from, size_t most, OutboxRange *range)
{
    MDB_txn *txn = NULL;
    Buffer blocks;
    size_t n = 0;
    uint64_t depth = 0;
    buffer_init(&blocks, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(bench->db, true, &txn), page_db_error_ok);
    Result rc = outbox_read(&bench->outbox, txn, to, from, most, &blocks, range);
    WireReader in = wire_reader(blocks.data, blocks.length);
    while (rc == RESULT_OK && wire_left(&in) > 0) {
        BlockHeader header;
        const void *body = NULL;
        LinkBlockReader reader;
        LinkRecord record;
        CU_ASSERT_EQUAL_FATAL(block_read(&in, &header, &body), BLOCK_GOOD);
        CU_ASSERT_EQUAL(header.epoch, 5);
        link_block_reader_init(&reader, &header, body);
        while (link_block_next(&reader, &record) == RESULT_OK) {
            CU_ASSERT_TRUE(n == 0 || record.depth == depth + 1); /* the order of finding */
            depth = record.depth;
            n++;
        }
        link_block_reader_destroy(&reader);
    }
    page_db_txn_abort(bench->db, txn);
    buffer_destroy(&blocks);
    return n;
}

static void rows_are_there_until_they_are_deleted(void)
{
    Bench bench;
    OutboxRange range;
    uint64_t n = 0;
    open_bench(&bench);
    for (unsigned batch = 0; batch < 10; batch++) {
        begin(&bench);
        for (unsigned i = 0; i < 100; i++) {
            add(&bench, (uint16_t)(i % 3), batch * 100 + i / 3);
        }
        commit(&bench);
    }
    CU_ASSERT_EQUAL(state_of(&bench).blocks, 30);
    CU_ASSERT_EQUAL(read_all(&bench, 3, 0, 1 << 20, &range), 0);
    begin(&bench);
    CU_ASSERT_EQUAL(outbox_draft_delete(&bench.draft, 0, 0, UINT64_C(1) << 47, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, 10);
    CU_ASSERT_EQUAL(outbox_draft_delete(&bench.draft, 2, 0, 0, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, 0);
    commit(&bench);
    CU_ASSERT_EQUAL(state_of(&bench).blocks, 20);
    uint16_t agent = 0;
    MDB_txn *txn = NULL;
    (void)page_db_txn_begin(bench.db, true, &txn);
    CU_ASSERT_EQUAL(outbox_next_agent(&bench.outbox, txn, &agent, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(agent, 1);
    agent = 3;
    CU_ASSERT_EQUAL(outbox_next_agent(&bench.outbox, txn, &agent, NULL), RESULT_NOT_FOUND);
    page_db_txn_abort(bench.db, txn);
    begin(&bench);
    for (uint16_t to = 0; to < 3; to++) {
        (void)outbox_draft_delete(&bench.draft, to, 0, UINT64_C(1) << 47, NULL);
    }
    commit(&bench);
    OutboxState state = state_of(&bench);
    CU_ASSERT_TRUE(state.blocks == 0 && state.bytes == 0 && state.next > 30);
    close_bench(&bench);
}

static void reading_goes_on_where_it_stopped(void)
{
    Bench bench;
    OutboxRange range;
    open_bench(&bench);
    for (unsigned batch = 0; batch < 50; batch++) {
        begin(&bench);
        for (unsigned i = 0; i < 20; i++) {
            add(&bench, 7, batch * 20 + i);
        }
        add(&bench, 6, batch);
        add(&bench, 8, batch);
        commit(&bench);
    }
    size_t n = 0;
    size_t messages = 0;
    uint64_t from = 0;
    size_t got = 0;
    while ((got = read_all(&bench, 7, from, 2000, &range)) > 0) {
        CU_ASSERT_TRUE(range.first >= from && range.last >= range.first);
        n += got;
        from = range.last + 1;
        messages++;
    }
    CU_ASSERT_EQUAL(n, 1000);
    CU_ASSERT_TRUE(messages > 5 && messages < 50);
    CU_ASSERT_EQUAL(read_all(&bench, 7, 0, 1, &range), 20); /* one row in any case */
    close_bench(&bench);
}

static void a_large_batch_makes_several_rows(void)
{
    Bench bench;
    OutboxRange range;
    uint16_t to = 0;
    size_t bytes = 0;
    size_t place = 0;
    open_bench(&bench);
    begin(&bench);
    for (unsigned i = 0; i < 40000; i++) {
        add(&bench, 1, i);
    }
    CU_ASSERT_EQUAL(outbox_draft_finish(&bench.draft), RESULT_OK);
    CU_ASSERT_TRUE(outbox_draft_grown(&bench.draft, &place, &to, &bytes));
    CU_ASSERT_TRUE(to == 1 && bytes > 3 * OUTBOX_BLOCK_BYTES);
    CU_ASSERT_FALSE(outbox_draft_grown(&bench.draft, &place, &to, &bytes));
    CU_ASSERT_EQUAL(page_db_txn_commit(bench.db, bench.txn), page_db_error_ok);
    outbox_draft_end(&bench.draft);
    CU_ASSERT_TRUE(state_of(&bench).blocks > 3);
    CU_ASSERT_EQUAL(read_all(&bench, 1, 0, 1 << 20, &range), 40000);
    place = 0;
    CU_ASSERT_FALSE(outbox_draft_grown(&bench.draft, &place, &to, &bytes));
    close_bench(&bench);
}

static void an_aborted_transaction_leaves_nothing(void)
{
    Bench bench;
    OutboxRange range;
    open_bench(&bench);
    begin(&bench);
    add(&bench, 1, 0);
    CU_ASSERT_EQUAL(outbox_draft_finish(&bench.draft), RESULT_OK);
    page_db_txn_abort(bench.db, bench.txn);
    outbox_draft_end(&bench.draft);
    CU_ASSERT_EQUAL(state_of(&bench).blocks, 0);
    begin(&bench);
    commit(&bench);
    CU_ASSERT_EQUAL(read_all(&bench, 1, 0, 1 << 20, &range), 0);
    begin(&bench);
    add(&bench, 1, 0);
    commit(&bench);
    CU_ASSERT_EQUAL(read_all(&bench, 1, 0, 1 << 20, &range), 1);
    close_bench(&bench);
}

static void vias_are_kept_by_index(void)
{
    PageDB *db = page_db_fixture_open("vias");
    MDB_txn *txn = NULL;
    MDB_dbi table = 0;
    Via via;
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &txn), page_db_error_ok);
    CU_ASSERT_EQUAL(via_table_open(&table, txn), RESULT_OK);
    const uint64_t indices[] = {5, 9, 3, 9};
    for (uint64_t i = 0; i < 4; i++) {
        via = (Via){.agent = (uint16_t)(700 + i), .redirects = (uint8_t)i, .parent = i << 40};
        via.parent = i == 2 ? LINK_NO_PARENT : via.parent;
        CU_ASSERT_EQUAL(via_table_put(table, txn, indices[i], &via), RESULT_OK);
    }
    CU_ASSERT_EQUAL(via_table_get(table, txn, 9, &via), RESULT_OK);
    CU_ASSERT_TRUE(via.agent == 703 && via.redirects == 3 && via.parent == UINT64_C(3) << 40);
    CU_ASSERT_EQUAL(via_table_get(table, txn, 3, &via), RESULT_OK);
    CU_ASSERT_TRUE(via.agent == 702 && via.parent == LINK_NO_PARENT);
    CU_ASSERT_EQUAL(via_table_get(table, txn, 4, &via), RESULT_NOT_FOUND);
    page_db_txn_abort(db, txn);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

UNIT_MAIN("outbox",
          {"rows are there until they are deleted", rows_are_there_until_they_are_deleted},
          {"reading goes on where it stopped", reading_goes_on_where_it_stopped},
          {"a large batch makes several rows", a_large_batch_makes_several_rows},
          {"an aborted transaction leaves nothing", an_aborted_transaction_leaves_nothing},
          {"vias are kept by index", vias_are_kept_by_index})
