#include "store/archive/capture_index.h"

#include "store_fixture.h"
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
    StoreFixture f;
    PayloadIndex index;
} PayloadTable;

static MDB_txn *begin(PayloadTable *table, bool read_only)
{
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(table->f.store.db, read_only, &txn), 0);
    return txn;
}

static PayloadTable payloads_open(void)
{
    PayloadTable table = {.index = 0};
    store_fixture_open(&table.f);
    MDB_txn *txn = begin(&table, true);
    CU_ASSERT_EQUAL(payload_index_open(&table.index, txn, false), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(table.index, 0);
    page_db_txn_abort(table.f.store.db, txn);
    txn = begin(&table, false);
    CU_ASSERT_EQUAL_FATAL(payload_index_open(&table.index, txn, true), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_commit(table.f.store.db, txn), 0);
    return table;
}

static void payloads_close(PayloadTable *table)
{
    store_fixture_close(&table->f, true);
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
    WarcOriginal original;
    warc_original_init(&original);
    MDB_txn *txn = begin(&table, false);
    CU_ASSERT_EQUAL(payload_index_get(table.index, table.f.store.db, txn, &digest, &original),
                    RESULT_NOT_FOUND);
    PayloadRow row = {.date = SAMPLE_DATE,
                      .id = {{9, 8, 7}},
                      .page = PAGE_DB_NO_INDEX,
                      .uri = sample_text("http://example.org/1")};
    CU_ASSERT_EQUAL(payload_index_put(table.index, txn, &digest, &row), RESULT_OK);
    row.uri = sample_text("http://example.org/2");
    CU_ASSERT_EQUAL(payload_index_put(table.index, txn, &digest, &row), RESULT_EXISTS);
    CU_ASSERT_EQUAL(payload_index_get(table.index, table.f.store.db, txn, &digest, &original),
                    RESULT_OK);
    CU_ASSERT_EQUAL(original.date.us, SAMPLE_DATE.us);
    CU_ASSERT_EQUAL(memcmp(&original.id, &row.id, sizeof row.id), 0);
    CU_ASSERT_STRING_EQUAL(original.uri.data, "http://example.org/1");
    CU_ASSERT_EQUAL(count_entries(txn), 1);
    page_db_txn_abort(table.f.store.db, txn);
    txn = begin(&table, true);
    CU_ASSERT_EQUAL(payload_index_get(table.index, table.f.store.db, txn, &digest, &original),
                    RESULT_NOT_FOUND);
    page_db_txn_abort(table.f.store.db, txn);
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
    MDB_txn *txn = begin(&table, false);
    group.type = WARC_REVISIT;
    group.whole = true;
    CU_ASSERT_EQUAL(
        payload_index_put_group(table.index, txn, &group, PAGE_DB_NO_INDEX, sample_text("u:")),
        RESULT_OK);
    group.type = WARC_RESPONSE;
    group.whole = false;
    CU_ASSERT_EQUAL(
        payload_index_put_group(table.index, txn, &group, PAGE_DB_NO_INDEX, sample_text("u:")),
        RESULT_OK);
    CU_ASSERT_EQUAL(count_entries(txn), 0);
    group.whole = true;
    CU_ASSERT_EQUAL(
        payload_index_put_group(table.index, txn, &group, PAGE_DB_NO_INDEX, sample_text("u:")),
        RESULT_OK);
    CU_ASSERT_EQUAL(
        payload_index_put_group(table.index, txn, &group, PAGE_DB_NO_INDEX, sample_text("u:")),
        RESULT_OK);
    CU_ASSERT_EQUAL(count_entries(txn), 1);
    page_db_txn_abort(table.f.store.db, txn);
    warc_group_destroy(&group);
    payloads_close(&table);
}

/* The text of a URL that the database has anyway is not stored once more. */
static void the_url_of_a_page_is_that_of_its_index(void)
{
    static const char url[] = "http://example.org/a/rather/long/path/to/one";
    PayloadTable table = payloads_open();
    WarcDigest known = digest_of(3);
    WarcDigest gone = digest_of(4);
    PayloadRow row = {.date = SAMPLE_DATE, .id = {{5}}, .uri = sample_text(url)};
    LinkInfo link = {.url = (char *)(uintptr_t)url, .score = 0.5f};
    WarcOriginal original;
    MDB_val value;
    MDB_val key = {sizeof known.bytes, known.bytes};
    warc_original_init(&original);
    MDB_txn *txn = begin(&table, false);
    CU_ASSERT_EQUAL_FATAL(
        page_db_discover(table.f.store.db, txn, &link, NULL, 1, PAGE_DB_NO_INDEX, 0, NULL),
        page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_find(table.f.store.db, txn, url, strlen(url), &row.page),
                    page_db_error_ok);
    CU_ASSERT_EQUAL(payload_index_put(table.index, txn, &known, &row), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(mdb_get(txn, table.index, &key, &value), 0);
    CU_ASSERT_TRUE(value.mv_size < sizeof(int64_t) + sizeof(WarcId) + 4);
    CU_ASSERT_EQUAL(payload_index_get(table.index, table.f.store.db, txn, &known, &original),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&original.uri), url);
    CU_ASSERT_EQUAL(original.date.us, SAMPLE_DATE.us);
    row.page = 1000000; /* there is no such page: its payload counts as new */
    CU_ASSERT_EQUAL(payload_index_put(table.index, txn, &gone, &row), RESULT_OK);
    CU_ASSERT_EQUAL(payload_index_get(table.index, table.f.store.db, txn, &gone, &original),
                    RESULT_NOT_FOUND);
    value.mv_size = 10;
    CU_ASSERT_EQUAL(payload_row_read(&value, &row), RESULT_DAMAGED);
    page_db_txn_abort(table.f.store.db, txn);
    warc_original_destroy(&original);
    payloads_close(&table);
}

static void a_recorder_finds_what_was_committed(void)
{
    PayloadTable table = payloads_open();
    PayloadReader reader = {.index = table.index, .db = table.f.store.db};
    WarcRecorderOptions options = {.find = payload_index_find, .find_context = &reader};
    WarcRecorder *recorder = NULL;
    WarcGroup group;
    warc_group_init(&group);
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&recorder, &options), RESULT_OK);
    WarcFetch fetch =
        sample_fetch("http://example.org/1", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "same");
    CU_ASSERT_EQUAL(warc_record_fetch(recorder, &fetch, &group), RESULT_OK);
    CU_ASSERT_EQUAL(group.type, WARC_RESPONSE);
    MDB_txn *txn = begin(&table, false);
    CU_ASSERT_EQUAL(payload_index_put_group(table.index, txn, &group, PAGE_DB_NO_INDEX, fetch.url),
                    RESULT_OK);
    CU_ASSERT_EQUAL(page_db_txn_commit(table.f.store.db, txn), 0);
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
          {"the URL of a page is that of its index", the_url_of_a_page_is_that_of_its_index},
          {"a recorder finds what was committed", a_recorder_finds_what_was_committed})
