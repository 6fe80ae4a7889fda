#include "store/archive/capture_index.h"

#include "unit.h"
#include "warc_samples.h"

/* ---- capture index ---- */

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

/* ---- payload index ---- */

typedef struct PayloadTable {
    SampleDirectory directory;
    MDB_env *env;
    PayloadIndex index;
} PayloadTable;

static MDB_txn *begin(PayloadTable *table, unsigned flags)
{
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(mdb_txn_begin(table->env, NULL, flags, &txn), 0);
    return txn;
}

static PayloadTable payloads_open(void)
{
    PayloadTable table = {.directory = sample_directory()};
    CU_ASSERT_EQUAL_FATAL(mdb_env_create(&table.env), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_set_maxdbs(table.env, 4), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_set_mapsize(table.env, 16 << 20), 0);
    CU_ASSERT_EQUAL_FATAL(mdb_env_open(table.env, table.directory.path, MDB_NOSYNC, 0644), 0);
    MDB_txn *txn = begin(&table, MDB_RDONLY);
    CU_ASSERT_EQUAL(payload_index_open(&table.index, txn, false), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(table.index, 0);
    mdb_txn_abort(txn);
    txn = begin(&table, 0);
    CU_ASSERT_EQUAL_FATAL(payload_index_open(&table.index, txn, true), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(mdb_txn_commit(txn), 0);
    return table;
}

static void payloads_close(PayloadTable *table)
{
    mdb_env_close(table->env);
    sample_remove(&table->directory);
}

static size_t count_entries(MDB_txn *txn)
{
    MDB_dbi table = 0;
    MDB_stat stat = {.ms_entries = SIZE_MAX};
    CU_ASSERT_EQUAL(mdb_dbi_open(txn, "payloads", 0, &table), 0);
    CU_ASSERT_EQUAL(mdb_stat(txn, table, &stat), 0);
    return stat.ms_entries;
}

static WarcDigest digest_of(unsigned i)
{
    WarcDigest digest = {{0}};
    memcpy(digest.bytes + 7, &i, sizeof i);
    return digest;
}

static void the_first_record_of_a_payload_stays(void)
{
    PayloadTable table = payloads_open();
    WarcDigest digest = digest_of(1);
    WarcId id = {{9, 8, 7}};
    WarcId other = {{1}};
    WarcOriginal original;
    warc_original_init(&original);
    MDB_txn *txn = begin(&table, 0);
    CU_ASSERT_EQUAL(payload_index_get(table.index, txn, &digest, &original), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(payload_index_put(table.index, txn, &digest, SAMPLE_DATE, &id,
                                      sample_text("http://example.org/1")),
                    RESULT_OK);
    CU_ASSERT_EQUAL(payload_index_put(table.index, txn, &digest, (WallTime){5}, &other,
                                      sample_text("http://example.org/2")),
                    RESULT_EXISTS);
    CU_ASSERT_EQUAL(payload_index_get(table.index, txn, &digest, &original), RESULT_OK);
    CU_ASSERT_EQUAL(original.date.us, SAMPLE_DATE.us);
    CU_ASSERT_EQUAL(memcmp(&original.id, &id, sizeof id), 0);
    CU_ASSERT_STRING_EQUAL(original.uri.data, "http://example.org/1");
    CU_ASSERT_EQUAL(count_entries(txn), 1);
    mdb_txn_abort(txn);
    txn = begin(&table, MDB_RDONLY);
    CU_ASSERT_EQUAL(payload_index_get(table.index, txn, &digest, &original), RESULT_NOT_FOUND);
    mdb_txn_abort(txn);
    warc_original_destroy(&original);
    payloads_close(&table);
}

static void only_whole_responses_are_remembered(void)
{
    PayloadTable table = payloads_open();
    WarcGroup group;
    warc_group_init(&group);
    group.payload = digest_of(2);
    group.has_payload = true;
    MDB_txn *txn = begin(&table, 0);
    group.type = WARC_REVISIT;
    group.whole = true;
    CU_ASSERT_EQUAL(payload_index_put_group(table.index, txn, &group, sample_text("u:")),
                    RESULT_OK);
    group.type = WARC_RESPONSE;
    group.whole = false;
    CU_ASSERT_EQUAL(payload_index_put_group(table.index, txn, &group, sample_text("u:")),
                    RESULT_OK);
    CU_ASSERT_EQUAL(count_entries(txn), 0);
    group.whole = true;
    CU_ASSERT_EQUAL(payload_index_put_group(table.index, txn, &group, sample_text("u:")),
                    RESULT_OK);
    CU_ASSERT_EQUAL(payload_index_put_group(table.index, txn, &group, sample_text("u:")),
                    RESULT_OK);
    CU_ASSERT_EQUAL(count_entries(txn), 1);
    mdb_txn_abort(txn);
    warc_group_destroy(&group);
    payloads_close(&table);
}

static MDB_txn *reader_begin(void *context)
{
    return begin(context, MDB_RDONLY);
}

static void reader_end(void *context, MDB_txn *txn)
{
    (void)context;
    mdb_txn_abort(txn);
}

static void a_recorder_finds_what_was_committed(void)
{
    PayloadTable table = payloads_open();
    PayloadReader reader = {
        .index = table.index, .begin = reader_begin, .end = reader_end, .context = &table};
    WarcRecorderOptions options = {.find = payload_index_find, .find_context = &reader};
    WarcRecorder *recorder = NULL;
    WarcGroup group;
    warc_group_init(&group);
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&recorder, &options), RESULT_OK);
    WarcFetch fetch =
        sample_fetch("http://example.org/1", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "same");
    CU_ASSERT_EQUAL(warc_record_fetch(recorder, &fetch, &group), RESULT_OK);
    CU_ASSERT_EQUAL(group.type, WARC_RESPONSE);
    MDB_txn *txn = begin(&table, 0);
    CU_ASSERT_EQUAL(payload_index_put_group(table.index, txn, &group, fetch.url), RESULT_OK);
    CU_ASSERT_EQUAL(mdb_txn_commit(txn), 0);
    fetch.url = sample_text("http://example.org/2");
    CU_ASSERT_EQUAL(warc_record_fetch(recorder, &fetch, &group), RESULT_OK);
    CU_ASSERT_EQUAL(group.type, WARC_REVISIT);
    fetch.body = sample_text("other");
    CU_ASSERT_EQUAL(warc_record_fetch(recorder, &fetch, &group), RESULT_OK);
    CU_ASSERT_EQUAL(group.type, WARC_RESPONSE);
    warc_recorder_delete(recorder);
    warc_group_destroy(&group);
    payloads_close(&table);
}

UNIT_MAIN("capture_index",
          {"what cannot be confirmed leaves the payload",
           what_cannot_be_confirmed_leaves_the_payload},
          {"pages are apart and can be forgotten", pages_are_apart_and_can_be_forgotten},
          {"a damaged value is told", a_damaged_value_is_told},
          {"the first record of a payload stays", the_first_record_of_a_payload_stays},
          {"only whole responses are remembered", only_whole_responses_are_remembered},
          {"a recorder finds what was committed", a_recorder_finds_what_was_committed})
