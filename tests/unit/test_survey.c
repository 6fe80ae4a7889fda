#include "store/schedule/schedule_read.h"
#include "store/pages/page_db_read.h"
#include "store_fixture.h"
#include "survey/survey.h"
#include "unit.h"

#define NOW_US INT64_C(1769860800000000)

/* Hosts h0..h(n-1), each with so many URLs queued as its number modulo 7. */
static void add_hosts(StoreFixture *f, unsigned n)
{
    MDB_txn *txn = store_fixture_begin(f, false);
    for (unsigned i = 0; i < n; i++) {
        char url[64];
        uint32_t host = 0;
        int length = snprintf(url, sizeof url, "http://h%u.test", i);
        CU_ASSERT_EQUAL_FATAL(page_db_host_add(f->store.db, txn, url, (size_t)length, &host), 0);
        CU_ASSERT_EQUAL_FATAL(host, i);
        for (unsigned k = 0; k < i % 7; k++) {
            CU_ASSERT_EQUAL_FATAL(schedule_put(f->store.schedule, txn, host, k % 3, 1000 * i + k),
                                  RESULT_OK);
        }
    }
    store_fixture_commit(f, txn);
}

static void put(StoreFixture *f, uint32_t host, const HostRecord *record)
{
    MDB_txn *txn = store_fixture_begin(f, false);
    CU_ASSERT_EQUAL_FATAL(host_rows_put(f->store.hosts, txn, host, record), RESULT_OK);
    store_fixture_commit(f, txn);
}

static SurveyResult take(Survey *survey, SurveyOrder order, const char *filter, size_t max,
                         int64_t later_ms)
{
    SurveyOptions options = {
        .order = order, .filter = filter, .max = max, .now = {NOW_US + later_ms * 1000}};
    SurveyResult result;
    CU_ASSERT_EQUAL_FATAL(survey_take(survey, &options, &result), RESULT_OK);
    return result;
}

static void the_longest_queues_come_first(void)
{
    StoreFixture f;
    Survey *survey = NULL;
    store_fixture_open(&f);
    add_hosts(&f, 5000);
    CU_ASSERT_EQUAL_FATAL(survey_new(&survey, f.store.db, f.store.hosts, f.store.schedule), 0);
    SurveyResult result = take(survey, SURVEY_QUEUE, NULL, 800, 0);
    CU_ASSERT_EQUAL(result.counts.hosts, 5000);
    CU_ASSERT_EQUAL(result.counts.queued, 5000 - 715);
    CU_ASSERT_EQUAL_FATAL(result.n, 800);
    CU_ASSERT_STRING_EQUAL(result.rows[0].origin, "http://h6.test");
    CU_ASSERT_STRING_EQUAL(result.rows[1].origin, "http://h13.test");
    CU_ASSERT_EQUAL(result.rows[713].queued, 6); /* 714 have so many */
    CU_ASSERT_EQUAL(result.rows[714].queued, 5);
    survey_result_destroy(&result);
    /* Only some of them. */
    result = take(survey, SURVEY_QUEUE, "H499", 100, 0);
    CU_ASSERT_EQUAL(result.counts.hosts, 5000);
    CU_ASSERT_EQUAL(result.counts.matching, 11); /* h499, h4990 ... h4999 */
    CU_ASSERT_EQUAL(result.n, 11);
    survey_result_destroy(&result);
    result = take(survey, SURVEY_QUEUE, "nobody", 100, 0);
    CU_ASSERT_EQUAL(result.n, 0);
    survey_result_destroy(&result);
    survey_delete(survey);
    store_fixture_close(&f, true);
}

static void each_order_has_its_first(void)
{
    static const char *const first[SURVEY_ORDERS] = {
        [SURVEY_QUEUE] = "http://h6.test",  [SURVEY_SPEED] = "http://h1.test",
        [SURVEY_ERRORS] = "http://h2.test", [SURVEY_WAITING] = "http://h3.test",
        [SURVEY_PAGES] = "http://h4.test",  [SURVEY_BYTES] = "http://h5.test",
        [SURVEY_SLOWEST] = "http://h8.test"};
    const int64_t now_ms = NOW_US / 1000;
    const HostRecord records[] = {
        {.fetches = 100, .first_fetch_ms = now_ms - 50000, .last_fetch_ms = now_ms - 10},
        {.fetches = 9, .by_status = {5, 0, 0, 0, 0, 2}, .last_fetch_ms = 5},
        {.fetches = 9, .failures = 3, .not_before_ms = now_ms + 5000},
        {.pages = 50},
        {.bytes = 12345},
        {.fetches = 2},
        {.not_before_ms = now_ms + 99999}, /* h7 has nothing queued */
        {.fetches = 2, .fetch_ms = 9000},
    };
    StoreFixture f;
    Survey *survey = NULL;
    store_fixture_open(&f);
    add_hosts(&f, 20);
    for (uint32_t i = 0; i < sizeof records / sizeof *records; i++) {
        put(&f, i + 1, &records[i]);
    }
    CU_ASSERT_EQUAL_FATAL(survey_new(&survey, f.store.db, f.store.hosts, f.store.schedule), 0);
    for (unsigned order = 0; order < SURVEY_ORDERS; order++) {
        SurveyResult result = take(survey, (SurveyOrder)order, NULL, 5, 0);
        CU_ASSERT_EQUAL(result.n, 5);
        CU_ASSERT_STRING_EQUAL(result.rows[0].origin, first[order]);
        CU_ASSERT_EQUAL(result.counts.waiting, 1);
        CU_ASSERT_EQUAL(result.counts.lately, 1);
        CU_ASSERT_EQUAL((unsigned)survey_order_of(survey_order_name((SurveyOrder)order)), order);
        survey_result_destroy(&result);
    }
    CU_ASSERT_EQUAL(survey_order_of("best"), SURVEY_ORDERS);
    survey_delete(survey);
    store_fixture_close(&f, true);
}

static void speed_is_the_difference_to_the_survey_before(void)
{
    StoreFixture f;
    Survey *survey = NULL;
    const int64_t now_ms = NOW_US / 1000;
    HostRecord record = {.fetches = 100, .first_fetch_ms = now_ms - 50000, .last_fetch_ms = now_ms};
    store_fixture_open(&f);
    add_hosts(&f, 3);
    put(&f, 1, &record);
    CU_ASSERT_EQUAL_FATAL(survey_new(&survey, f.store.db, f.store.hosts, f.store.schedule), 0);
    SurveyResult result = take(survey, SURVEY_SPEED, NULL, 1, 0);
    CU_ASSERT_DOUBLE_EQUAL(result.rows[0].speed, 2.0, 1e-6); /* over its life */
    survey_result_destroy(&result);
    record.fetches = 110;
    record.last_fetch_ms = now_ms + 2000;
    put(&f, 1, &record);
    result = take(survey, SURVEY_SPEED, NULL, 1, 2000);
    CU_ASSERT_DOUBLE_EQUAL(result.rows[0].speed, 5.0, 1e-6);
    survey_result_destroy(&result);
    result = take(survey, SURVEY_SPEED, NULL, 1, 2000 + SURVEY_LATELY_MS + 1);
    CU_ASSERT_EQUAL(result.rows[0].speed, 0); /* long ago */
    survey_result_destroy(&result);
    survey_delete(survey);
    store_fixture_close(&f, true);
}

static void hosts_are_read_in_pieces(void)
{
    StoreFixture f;
    store_fixture_open(&f);
    add_hosts(&f, 100);
    for (uint32_t i = 0; i < 100; i += 3) {
        HostRecord record = {.pages = i};
        put(&f, i, &record);
    }
    MDB_txn *txn = store_fixture_begin(&f, true);
    uint64_t from = 0;
    size_t n = 7;
    size_t all = 0;
    while (n == 7) {
        uint32_t hosts[7];
        HostRecord records[7];
        CU_ASSERT_EQUAL(host_rows_read(f.store.hosts, txn, &from, hosts, records, 7, &n),
                        RESULT_OK);
        for (size_t i = 0; i < n; i++) {
            CU_ASSERT_TRUE(hosts[i] == 3 * all && records[i].pages == hosts[i]);
            all++;
        }
    }
    CU_ASSERT_EQUAL(all, 34);
    from = 0;
    n = 5;
    all = 0;
    uint64_t sum = 0;
    while (n == 5) {
        uint32_t hosts[5];
        uint64_t entries[5];
        CU_ASSERT_EQUAL(schedule_host_counts(f.store.schedule, txn, &from, hosts, entries, 5, &n),
                        RESULT_OK);
        for (size_t i = 0; i < n; i++) {
            uint64_t one = 0;
            CU_ASSERT_EQUAL(schedule_host_count(f.store.schedule, txn, hosts[i], &one), RESULT_OK);
            CU_ASSERT_TRUE(entries[i] == one && one == hosts[i] % 7);
            sum += entries[i];
            all++;
        }
    }
    CU_ASSERT_EQUAL(all, 85);
    CU_ASSERT_EQUAL(sum, 14 * 21 + 1);
    page_db_txn_abort(f.store.db, txn);
    store_fixture_close(&f, true);
}

UNIT_MAIN("survey", {"the longest queues come first", the_longest_queues_come_first},
          {"each order has its first", each_order_has_its_first},
          {"speed is the difference to the survey before",
           speed_is_the_difference_to_the_survey_before},
          {"hosts are read in pieces", hosts_are_read_in_pieces})
