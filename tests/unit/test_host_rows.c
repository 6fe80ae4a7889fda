#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "store/tables/host_rows.h"
#include "store/tables/robots_rows.h"

#include "store_fixture.h"
#include "unit.h"

/* ---- host rows ---- */

static void records_come_back_after_reopening(void)
{
    StoreFixture f;
    store_fixture_open(&f);
    HostRecord in = {.state = HOST_DROPPED,
                     .failures = 3,
                     .robots_version = 9,
                     .robots_status = -4,
                     .by_status = {1, 2, 3, 4, 5, 6},
                     .bytes = UINT64_C(1) << 40,
                     .not_before_ms = -1};
    HostRecord out;
    MDB_txn *txn = store_fixture_begin(&f, false);
    CU_ASSERT_EQUAL(host_rows_get(f.store.hosts, txn, 7, &out), RESULT_OK);
    HostRecord zero = {.state = HOST_ACTIVE};
    CU_ASSERT_EQUAL(memcmp(&out, &zero, sizeof out), 0); /* an unknown host */
    CU_ASSERT_EQUAL(host_rows_put(f.store.hosts, txn, 7, &in), RESULT_OK);
    store_fixture_commit(&f, txn);
    store_fixture_close(&f, false);
    store_fixture_reopen(&f);
    txn = store_fixture_begin(&f, true);
    CU_ASSERT_EQUAL(host_rows_get(f.store.hosts, txn, 7, &out), RESULT_OK);
    CU_ASSERT_EQUAL(memcmp(&out, &in, sizeof out), 0);
    page_db_txn_abort(f.store.db, txn);
    store_fixture_close(&f, true);
}

static void robots_txt_may_be_empty_or_missing(void)
{
    StoreFixture f;
    store_fixture_open(&f);
    Buffer body;
    buffer_init(&body, BUFFER_NO_LIMIT);
    MDB_txn *txn = store_fixture_begin(&f, false);
    CU_ASSERT_EQUAL(host_rows_get_robots(f.store.hosts, txn, 1, &body), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(store_fixture_put_robots(f.store.hosts, txn, 1, NULL, 0), RESULT_OK);
    CU_ASSERT_EQUAL(host_rows_get_robots(f.store.hosts, txn, 1, &body), RESULT_OK);
    CU_ASSERT_EQUAL(body.length, 0);
    CU_ASSERT_EQUAL(store_fixture_put_robots(f.store.hosts, txn, 1, "a\0b", 3), RESULT_OK);
    CU_ASSERT_EQUAL(host_rows_get_robots(f.store.hosts, txn, 1, &body), RESULT_OK);
    CU_ASSERT_TRUE(body.length == 3 && memcmp(body.data, "a\0b", 3) == 0);
    buffer_destroy(&body);
    page_db_txn_abort(f.store.db, txn);
    store_fixture_close(&f, true);
}

static bool version_is(const StoreFixture *f, MDB_txn *txn, uint32_t version, const char *text)
{
    Buffer body;
    buffer_init(&body, BUFFER_NO_LIMIT);
    Result rc = host_rows_get_robots_version(f->store.hosts, txn, 1, version, &body);
    bool is_text = rc == RESULT_OK && strcmp(buffer_string(&body), text == NULL ? "" : text) == 0;
    buffer_destroy(&body);
    return text == NULL ? rc == RESULT_NOT_FOUND : is_text;
}

static size_t n_texts(MDB_txn *txn)
{
    MDB_dbi dbi = 0;
    MDB_stat stat;
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(txn, "robots_texts", 0, &dbi), MDB_SUCCESS);
    CU_ASSERT_EQUAL_FATAL(mdb_stat(txn, dbi, &stat), MDB_SUCCESS);
    return stat.ms_entries;
}

/* A long text that compresses well; another one for each number. */
static size_t long_text(char text[20000], unsigned number)
{
    size_t n = (size_t)snprintf(text, 64, "User-agent: *\n# %u\n", number);
    for (unsigned i = 0; n < 16000; i++) {
        n += (size_t)snprintf(text + n, 64, "Disallow: /private/folder/%u\n", i);
    }
    return n;
}

static void equal_files_of_many_hosts_are_kept_once_and_compressed(void)
{
    static char text[20000];
    StoreFixture f;
    Buffer body;
    MDB_stat stat;
    store_fixture_open(&f);
    HostRows *hosts = f.store.hosts;
    buffer_init(&body, BUFFER_NO_LIMIT);
    MDB_txn *txn = store_fixture_begin(&f, false);
    for (uint32_t host = 0; host < 1000; host++) {
        size_t n = long_text(text, host % 10);
        CU_ASSERT_EQUAL(store_fixture_put_robots(hosts, txn, host, text, n), RESULT_OK);
    }
    CU_ASSERT_EQUAL(n_texts(txn), 10);
    MDB_dbi dbi = 0;
    CU_ASSERT_EQUAL(mdb_dbi_open(txn, "robots_texts", 0, &dbi), MDB_SUCCESS);
    CU_ASSERT_EQUAL(mdb_stat(txn, dbi, &stat), MDB_SUCCESS);
    CU_ASSERT_TRUE(stat.ms_leaf_pages + stat.ms_overflow_pages <= 20); /* of 4 KB, for 160 KB */
    for (uint32_t host = 0; host < 1000; host++) {
        size_t n = long_text(text, host % 10);
        buffer_reset(&body);
        CU_ASSERT_EQUAL(host_rows_get_robots(hosts, txn, host, &body), RESULT_OK);
        CU_ASSERT_TRUE(body.length == n && memcmp(body.data, text, n) == 0);
    }
    /* The old text stays for as long as a version has it, and no longer. */
    for (uint32_t host = 0; host < 1000; host++) {
        if (host == 7) {
            CU_ASSERT_EQUAL(host_rows_keep_robots(hosts, txn, host, 1), RESULT_OK);
            CU_ASSERT_EQUAL(host_rows_keep_robots(hosts, txn, host, 1), RESULT_OK); /* again */
        }
        CU_ASSERT_EQUAL(store_fixture_put_robots(hosts, txn, host, "short", 5), RESULT_OK);
    }
    CU_ASSERT_EQUAL(n_texts(txn), 1);
    HostRecord record = {.robots_version = 2};
    CU_ASSERT_EQUAL(host_rows_put(hosts, txn, 7, &record), RESULT_OK);
    buffer_reset(&body);
    CU_ASSERT_EQUAL(host_rows_get_robots_version(hosts, txn, 7, 1, &body), RESULT_OK);
    CU_ASSERT_EQUAL(body.length, long_text(text, 7));
    CU_ASSERT_EQUAL(host_rows_keep_robots(hosts, txn, 7, 1 + ROBOTS_ROWS_KEPT), RESULT_OK);
    CU_ASSERT_EQUAL(n_texts(txn), 0);
    buffer_destroy(&body);
    page_db_txn_abort(f.store.db, txn);
    store_fixture_close(&f, true);
}

static void texts_of_earlier_versions_of_ragno_are_read_and_replaced(void)
{
    static char text[] = "User-agent: *\nDisallow: /written/as/it/was\n";
    StoreFixture f;
    Buffer body;
    MDB_dbi dbi = 0;
    uint32_t host = 3;
    store_fixture_open(&f);
    buffer_init(&body, BUFFER_NO_LIMIT);
    MDB_txn *txn = store_fixture_begin(&f, false);
    MDB_val key = {sizeof host, &host};
    MDB_val value = {sizeof text - 1, text};
    CU_ASSERT_EQUAL(mdb_dbi_open(txn, "robots", 0, &dbi), MDB_SUCCESS);
    CU_ASSERT_EQUAL(mdb_put(txn, dbi, &key, &value, 0), MDB_SUCCESS);
    CU_ASSERT_EQUAL(host_rows_get_robots(f.store.hosts, txn, host, &body), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&body), text);
    CU_ASSERT_EQUAL(host_rows_keep_robots(f.store.hosts, txn, host, 1), RESULT_OK);
    CU_ASSERT_EQUAL(store_fixture_put_robots(f.store.hosts, txn, host, text, sizeof text - 1),
                    RESULT_OK);
    CU_ASSERT_EQUAL(n_texts(txn), 1);
    buffer_reset(&body);
    CU_ASSERT_EQUAL(host_rows_get_robots(f.store.hosts, txn, host, &body), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&body), text);
    buffer_destroy(&body);
    page_db_txn_abort(f.store.db, txn);
    store_fixture_close(&f, true);
}

static void earlier_contents_of_robots_txt_are_kept_by_version(void)
{
    StoreFixture f;
    store_fixture_open(&f);
    char text[32];
    MDB_txn *txn = store_fixture_begin(&f, false);
    CU_ASSERT_EQUAL(host_rows_keep_robots(f.store.hosts, txn, 1, 1), RESULT_OK); /* nothing yet */
    CU_ASSERT_TRUE(version_is(&f, txn, 1, NULL));
    for (uint32_t v = 1; v <= ROBOTS_ROWS_KEPT + 10; v++) {
        HostRecord record = {.robots_version = v};
        int n = snprintf(text, sizeof text, "Disallow: /%u", v);
        if (v > 1) {
            CU_ASSERT_EQUAL(host_rows_keep_robots(f.store.hosts, txn, 1, v - 1), RESULT_OK);
        }
        CU_ASSERT_EQUAL(store_fixture_put_robots(f.store.hosts, txn, 1, text, (size_t)n),
                        RESULT_OK);
        CU_ASSERT_EQUAL(host_rows_put(f.store.hosts, txn, 1, &record), RESULT_OK);
        CU_ASSERT_TRUE(version_is(&f, txn, v, text));
        CU_ASSERT_TRUE(v == 1 || v == 9 || !version_is(&f, txn, v - 1, NULL));
    }
    CU_ASSERT_TRUE(version_is(&f, txn, 42, "Disallow: /42"));
    CU_ASSERT_TRUE(version_is(&f, txn, 41, "Disallow: /41"));
    CU_ASSERT_TRUE(version_is(&f, txn, 10, "Disallow: /10"));
    CU_ASSERT_TRUE(version_is(&f, txn, 9, NULL)); /* one more than are kept */
    CU_ASSERT_TRUE(version_is(&f, txn, 43, NULL));
    store_fixture_commit(&f, txn);
    store_fixture_close(&f, true);
}

typedef struct Walk {
    uint32_t seen[10];
    size_t n;
    size_t stop_at;
} Walk;

static Result visit(void *context, uint32_t host, const HostRecord *record)
{
    Walk *walk = context;
    CU_ASSERT_EQUAL(record->pages, host * 2);
    walk->seen[walk->n++] = host;
    return walk->n == walk->stop_at ? RESULT_LIMIT : RESULT_OK;
}

static void a_walk_sees_all_hosts_in_order_and_can_be_stopped(void)
{
    static const uint32_t hosts[] = {300, 1, 70000, 2, 256};
    static const uint32_t sorted[] = {1, 2, 256, 300, 70000};
    StoreFixture f;
    store_fixture_open(&f);
    MDB_txn *txn = store_fixture_begin(&f, false);
    for (size_t i = 0; i < 5; i++) {
        HostRecord record = {.pages = hosts[i] * 2};
        CU_ASSERT_EQUAL(host_rows_put(f.store.hosts, txn, hosts[i], &record), RESULT_OK);
    }
    Walk walk = {.n = 0};
    CU_ASSERT_EQUAL(host_rows_walk(f.store.hosts, txn, visit, &walk), RESULT_OK);
    CU_ASSERT_EQUAL(walk.n, 5);
    CU_ASSERT_EQUAL(memcmp(walk.seen, sorted, sizeof sorted), 0);
    Walk stopped = {.stop_at = 2};
    CU_ASSERT_EQUAL(host_rows_walk(f.store.hosts, txn, visit, &stopped), RESULT_LIMIT);
    CU_ASSERT_EQUAL(stopped.n, 2);
    page_db_txn_abort(f.store.db, txn);
    store_fixture_close(&f, true);
}

static void a_record_of_another_format_is_refused(void)
{
    StoreFixture f;
    MDB_dbi records = 0;
    HostRecord out;
    uint32_t host = 5;
    char text[] = "short";
    store_fixture_open(&f);
    MDB_txn *txn = store_fixture_begin(&f, false);
    CU_ASSERT_EQUAL(mdb_dbi_open(txn, "hosts", MDB_INTEGERKEY, &records), 0);
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = {.mv_size = sizeof text, .mv_data = text};
    CU_ASSERT_EQUAL(mdb_put(txn, records, &key, &value, 0), 0);
    CU_ASSERT_EQUAL(host_rows_get(f.store.hosts, txn, host, &out), RESULT_VERSION);
    Walk walk = {.n = 0};
    CU_ASSERT_EQUAL(host_rows_walk(f.store.hosts, txn, visit, &walk), RESULT_VERSION);
    page_db_txn_abort(f.store.db, txn);
    store_fixture_close(&f, true);
}

static bool text_is(StoreFixture *f, MDB_txn *txn, uint32_t host, const char *text, size_t length)
{
    Buffer body;
    buffer_init(&body, BUFFER_NO_LIMIT);
    bool is_same = host_rows_get_robots(f->store.hosts, txn, host, &body) == RESULT_OK &&
                   body.length == length && memcmp(body.data, text, length) == 0;
    buffer_destroy(&body);
    return is_same;
}

/* Short ones and long ones, in turn, so that each pushes others out of what is known. */
static void texts_of_one_hash_stay_apart(void)
{
    static char texts[6][9000];
    static const size_t lengths[6] = {100, 9000, 100, 9000, 9000, 8999};
    StoreFixture f;
    store_fixture_open(&f);
    MDB_txn *txn = store_fixture_begin(&f, false);
    for (uint32_t i = 0; i < 6; i++) {
        memset(texts[i], 'a' + (int)i, sizeof texts[i]);
    }
    memset(texts[4], 'b', sizeof texts[4] - 1); /* the second but for its end */
    for (uint32_t host = 0; host < 60; host++) {
        CU_ASSERT_EQUAL(host_rows_put_robots(f.store.hosts, txn, host, texts[host % 6],
                                             lengths[host % 6], host % 12 < 6 ? 4 : 8),
                        RESULT_OK);
    }
    CU_ASSERT_EQUAL(n_texts(txn), 2);
    for (uint32_t host = 0; host < 60; host++) {
        CU_ASSERT_TRUE(text_is(&f, txn, host, texts[host % 6], lengths[host % 6]));
    }
    store_fixture_commit(&f, txn);
    store_fixture_close(&f, true);
}

static bool licence_is(const StoreFixture *f, MDB_txn *txn, UsagePlace place, const char *text)
{
    Buffer body = {.limit = BUFFER_NO_LIMIT};
    Result rc = host_rows_get_usage_file(f->store.hosts, txn, 1, place, &body);
    bool is_text = text == NULL ? rc == RESULT_NOT_FOUND
                                : rc == RESULT_OK && strcmp(buffer_string(&body), text) == 0;
    buffer_destroy(&body);
    return is_text;
}

static void licences_of_a_host_stay_apart(void)
{
    static const UsagePlace first = USAGE_IN_LICENCE;
    static const UsagePlace last = USAGE_PLACES - 1;
    StoreFixture f;
    store_fixture_open(&f);
    HostRows *hosts = f.store.hosts;
    MDB_txn *txn = store_fixture_begin(&f, false);
    CU_ASSERT_TRUE(licence_is(&f, txn, first, NULL));
    CU_ASSERT_EQUAL(host_rows_put_usage_file(hosts, txn, 1, last, "last", 4), RESULT_OK);
    CU_ASSERT_EQUAL(host_rows_put_usage_file(hosts, txn, 1, USAGE_IN_TDM, "tdm", 3), RESULT_OK);
    CU_ASSERT_TRUE(licence_is(&f, txn, first, ""));
    CU_ASSERT_EQUAL(host_rows_put_usage_file(hosts, txn, 1, first, "first", 5), RESULT_OK);
    CU_ASSERT_EQUAL(host_rows_put_usage_file(hosts, txn, 1, first + 1, "n\0o", 3), RESULT_OK);
    CU_ASSERT_TRUE(licence_is(&f, txn, first, "first"));
    CU_ASSERT_TRUE(licence_is(&f, txn, first + 1, "")); /* no licence: it has a zero byte */
    CU_ASSERT_TRUE(licence_is(&f, txn, last, "last"));
    CU_ASSERT_TRUE(licence_is(&f, txn, USAGE_IN_TDM, "tdm"));
    CU_ASSERT_EQUAL(host_rows_put_usage_file(hosts, txn, 1, last, NULL, 0), RESULT_OK);
    CU_ASSERT_TRUE(licence_is(&f, txn, first, "first"));
    CU_ASSERT_TRUE(licence_is(&f, txn, last, ""));
    CU_ASSERT_EQUAL(host_rows_put_usage_file(hosts, txn, 1, first, NULL, 0), RESULT_OK);
    CU_ASSERT_TRUE(licence_is(&f, txn, first, NULL));
    page_db_txn_abort(f.store.db, txn);
    store_fixture_close(&f, true);
}

/* ---- group rows ---- */

static uint64_t of_address(const char *text)
{
    IpAddress address;
    CU_ASSERT_EQUAL_FATAL(ip_address_parse(text, strlen(text), &address), RESULT_OK);
    return group_key_of_address(&address);
}

static void addresses_of_one_machine_are_one_group(void)
{
    CU_ASSERT_EQUAL(of_address("192.0.2.1"), of_address("::ffff:192.0.2.1"));
    CU_ASSERT_NOT_EQUAL(of_address("192.0.2.1"), of_address("192.0.2.2"));
    CU_ASSERT_EQUAL(of_address("2001:db8::1"), of_address("2001:db8::ffff:2"));
    CU_ASSERT_NOT_EQUAL(of_address("2001:db8::1"), of_address("2001:db8:0:1::1"));
    CU_ASSERT_NOT_EQUAL(group_key_of_domain("example.org", 11),
                        group_key_of_domain("example.net", 11));
    CU_ASSERT_NOT_EQUAL(group_key_of_domain("", 0), 0);
}

static void groups_are_kept(void)
{
    StoreFixture fixture;
    GroupRecord in = {.pages = 5, .queued = UINT64_C(1) << 40, .hosts = 7};
    GroupRecord out = {.hosts = 1};
    store_fixture_open(&fixture);
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_EQUAL(group_rows_get(fixture.store.groups, txn, 99, &out), RESULT_OK);
    CU_ASSERT_EQUAL(out.hosts, 0); /* an unknown one */
    CU_ASSERT_EQUAL(group_rows_put(fixture.store.groups, txn, 99, &in), RESULT_OK);
    store_fixture_commit(&fixture, txn);
    store_fixture_close(&fixture, false);
    store_fixture_reopen(&fixture);
    txn = store_fixture_begin(&fixture, true);
    CU_ASSERT_EQUAL(group_rows_get(fixture.store.groups, txn, 99, &out), RESULT_OK);
    CU_ASSERT_EQUAL(memcmp(&in, &out, sizeof in), 0);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

/* ---- feed rows ---- */

static bool admit(StoreFixture *fixture, MDB_txn *txn, uint32_t host, uint64_t feed, size_t most)
{
    bool admitted = false;
    CU_ASSERT_EQUAL_FATAL(feed_rows_admit(fixture->store.feeds, txn, host, feed, most, &admitted),
                          RESULT_OK);
    return admitted;
}

static void a_host_has_its_first_feeds_and_no_more(void)
{
    StoreFixture fixture;
    store_fixture_open(&fixture);
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_TRUE(admit(&fixture, txn, 7, 100, 2));
    CU_ASSERT_TRUE(admit(&fixture, txn, 7, 101, 2));
    CU_ASSERT_FALSE(admit(&fixture, txn, 7, 102, 2));
    CU_ASSERT_TRUE(admit(&fixture, txn, 7, 100, 2));
    CU_ASSERT_TRUE(admit(&fixture, txn, 8, 102, 2));
    store_fixture_commit(&fixture, txn);
    txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_TRUE(admit(&fixture, txn, 7, 101, 0));
    CU_ASSERT_FALSE(admit(&fixture, txn, 9, 101, 0));
    CU_ASSERT_FALSE(admit(&fixture, txn, 7, 102, 2));
    CU_ASSERT_TRUE(admit(&fixture, txn, 7, 102, 3));
    page_db_txn_abort(fixture.store.db, txn);
    txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_FALSE(admit(&fixture, txn, 7, 102, 2));
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

static void a_host_never_has_more_than_a_list_holds(void)
{
    StoreFixture fixture;
    store_fixture_open(&fixture);
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    size_t n = 0;
    for (uint64_t feed = 0; feed < FEED_ROWS_MOST + 10; feed++) {
        n += admit(&fixture, txn, 1, feed, SIZE_MAX);
    }
    CU_ASSERT_EQUAL(n, FEED_ROWS_MOST);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

UNIT_MAIN("host_rows", {"records come back after reopening", records_come_back_after_reopening},
          {"robots.txt may be empty or missing", robots_txt_may_be_empty_or_missing},
          {"earlier contents of robots.txt are kept by version",
           earlier_contents_of_robots_txt_are_kept_by_version},
          {"equal files of many hosts are kept once and compressed",
           equal_files_of_many_hosts_are_kept_once_and_compressed},
          {"texts of one hash stay apart", texts_of_one_hash_stay_apart},
          {"texts of earlier versions of ragno are read and replaced",
           texts_of_earlier_versions_of_ragno_are_read_and_replaced},
          {"licences of a host stay apart", licences_of_a_host_stay_apart},
          {"a walk sees all hosts in order and can be stopped",
           a_walk_sees_all_hosts_in_order_and_can_be_stopped},
          {"a record of another format is refused", a_record_of_another_format_is_refused},
          {"addresses of one machine are one group", addresses_of_one_machine_are_one_group},
          {"groups are kept", groups_are_kept},
          {"a host has its first feeds and no more", a_host_has_its_first_feeds_and_no_more},
          {"a host never has more than a list holds", a_host_never_has_more_than_a_list_holds})
