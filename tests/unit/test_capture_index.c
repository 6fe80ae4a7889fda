#include "store/archive/capture_index.h"
#include "unit.h"
#include "warc_samples.h"

typedef struct Table {
    SampleDirectory directory;
    MDB_env *env;
    CaptureIndex index;
    MDB_txn *txn;
} Table;

static Table table_open(void)
{
    Table table = {.directory = sample_directory()};
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&table.env), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_set_maxdbs(table.env, 4), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(table.env, table.directory.path, MDB_NOSYNC, 0644), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(table.env, NULL, 0, &table.txn), 0);
    CU_ASSERT_EQUAL(capture_index_open(&table.index, table.txn, false), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL_FATAL(capture_index_open(&table.index, table.txn, true), RESULT_OK);
    return table;
}

static void table_close(Table *table)
{
    mdb_txn_abort(table->txn);
    mdb_env_close(table->env);
    sample_remove(&table->directory);
}

static WarcGroup group_of(WarcType type, int64_t seconds, uint8_t payload)
{
    return (WarcGroup){.type = type,
                       .date = {SAMPLE_DATE.us + seconds * 1000000},
                       .whole = true,
                       .has_payload = true,
                       .payload = {{payload}}};
}

/* payload 0: none. */
static void expect(Table *table, uint64_t page, int64_t newest, uint8_t payload)
{
    Capture capture = {.newest = {0}};
    CU_ASSERT_EQUAL(capture_index_get(table->index, table->txn, page, &capture), RESULT_OK);
    CU_ASSERT_EQUAL(capture.newest.us, SAMPLE_DATE.us + newest * 1000000);
    CU_ASSERT_EQUAL(capture.has_payload, payload != 0);
    CU_ASSERT_EQUAL(capture.payload.bytes[0], payload);
}

static void put(Table *table, uint64_t page, int status, const WarcGroup *group)
{
    CU_ASSERT_EQUAL(capture_index_put_group(table->index, table->txn, page, status, group),
                    RESULT_OK);
}

static void what_cannot_be_confirmed_leaves_the_payload(void)
{
    Table table = table_open();
    Capture capture;
    CU_ASSERT_EQUAL(capture_index_get(table.index, table.txn, 7, &capture), RESULT_NOT_FOUND);
    WarcGroup group = group_of(WARC_RESPONSE, 0, 1);
    put(&table, 7, 404, &group);
    expect(&table, 7, 0, 0);
    group = group_of(WARC_RESPONSE, 10, 2);
    put(&table, 7, 200, &group);
    expect(&table, 7, 10, 2);
    group = group_of(WARC_REVISIT, 20, 2);
    put(&table, 7, 304, &group);
    expect(&table, 7, 20, 2);
    group = group_of(WARC_RESPONSE, 30, 3);
    put(&table, 7, 500, &group);
    expect(&table, 7, 30, 2);
    group.whole = false;
    group.date.us += 10000000;
    put(&table, 7, 200, &group);
    expect(&table, 7, 40, 2);
    group = group_of(WARC_REVISIT, 50, 4);
    put(&table, 7, 200, &group);
    expect(&table, 7, 50, 4);
    table_close(&table);
}

static void pages_are_apart_and_can_be_forgotten(void)
{
    Table table = table_open();
    Capture capture;
    for (uint8_t i = 1; i < 100; i++) {
        WarcGroup group = group_of(WARC_RESPONSE, i, i);
        put(&table, (uint64_t)i << 20, 200, &group);
    }
    expect(&table, UINT64_C(42) << 20, 42, 42);
    CU_ASSERT_EQUAL(capture_index_remove(table.index, table.txn, UINT64_C(42) << 20), RESULT_OK);
    CU_ASSERT_EQUAL(capture_index_remove(table.index, table.txn, UINT64_C(42) << 20), RESULT_OK);
    CU_ASSERT_EQUAL(capture_index_get(table.index, table.txn, UINT64_C(42) << 20, &capture),
                    RESULT_NOT_FOUND);
    expect(&table, UINT64_C(43) << 20, 43, 43);
    CU_ASSERT_EQUAL(capture_index_lost(table.index, table.txn, UINT64_C(43) << 20), RESULT_OK);
    CU_ASSERT_EQUAL(capture_index_lost(table.index, table.txn, UINT64_C(42) << 20), RESULT_OK);
    expect(&table, UINT64_C(43) << 20, 43, 0);
    table_close(&table);
}

static void a_damaged_value_is_told(void)
{
    Table table = table_open();
    MDB_dbi dbi = 0;
    uint64_t page = 3;
    char text[] = "short";
    Capture capture;
    WarcGroup group = group_of(WARC_RESPONSE, 0, 1);
    MDB_val key = {.mv_size = sizeof page, .mv_data = &page};
    MDB_val value = {.mv_size = sizeof text, .mv_data = text};
    CU_ASSERT_EQUAL(mdb_dbi_open(table.txn, "captures", MDB_INTEGERKEY, &dbi), 0);
    CU_ASSERT_EQUAL(mdb_put(table.txn, dbi, &key, &value, 0), 0);
    CU_ASSERT_EQUAL(capture_index_get(table.index, table.txn, page, &capture), RESULT_DAMAGED);
    CU_ASSERT_EQUAL(capture_index_put_group(table.index, table.txn, page, 404, &group),
                    RESULT_DAMAGED);
    put(&table, page, 200, &group);
    expect(&table, page, 0, 1);
    table_close(&table);
}

UNIT_MAIN("capture_index",
          {"what cannot be confirmed leaves the payload",
           what_cannot_be_confirmed_leaves_the_payload},
          {"pages are apart and can be forgotten", pages_are_apart_and_can_be_forgotten},
          {"a damaged value is told", a_damaged_value_is_told})
