/* The pace of a host of the database: the options of its site, its hours, its address and limit. */
#include <string.h>

#include "forecast/host_pace.h"
#include "page_db_fixture.h"

#define SITES                                                                                      \
    "[politeness]\nhost_delay = 2s\nip_delay = 1s\n[limits]\npages_per_host = 50\n"                \
    "[site \"slow.example\"]\npoliteness.host_delay = 9s\npoliteness.hours = 06:00-18:00\n"

static void a_host_is_asked_as_its_site_says(void)
{
    Buffer error = {.limit = 4096};
    char folder[FOLDER_BYTES];
    Config config;
    CU_ASSERT_EQUAL_FATAL(config_init(&config), RESULT_OK);
    folder_make(folder);
    folder_put(folder, "config.ini", SITES, sizeof SITES - 1);
    CU_ASSERT_EQUAL(config_load_of(&config, folder, &error), RESULT_OK);
    PageDB *db = page_db_fixture_open("host-pace");
    static const char *const urls[] = {"http://fast.example/", "http://slow.example:81/"};
    for (size_t i = 0; i < 2; i++) {
        CrawledPage *page = page_db_fixture_page(urls[i], 1, 0, i);
        CU_ASSERT_EQUAL(page_db_add(db, page, NULL), page_db_error_ok);
        crawled_page_delete(page);
    }
    HostPaces paces;
    host_paces_init(&paces, &config, db, 1000);
    HostRecord record = {.address = 77};
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, true, &txn), page_db_error_ok);
    HostPace fast;
    HostPace slow;
    HostPace again;
    CU_ASSERT_EQUAL(host_pace_find(&paces, txn, 0, &record, &fast), RESULT_OK);
    CU_ASSERT_EQUAL(host_pace_find(&paces, txn, 1, &record, &slow), RESULT_OK);
    CU_ASSERT_EQUAL(host_pace_find(&paces, txn, 1, &record, &again), RESULT_OK);
    CU_ASSERT_TRUE(fast.address == 77 && fast.most == 50 && fast.hours == NULL);
    CU_ASSERT_DOUBLE_EQUAL(fast.host_s, 3, 1e-9); /* the delay, and a typical fetch */
    CU_ASSERT_DOUBLE_EQUAL(fast.address_s, 2, 1e-9);
    CU_ASSERT_PTR_NOT_NULL(slow.hours);
    CU_ASSERT_PTR_EQUAL(slow.hours, again.hours);  /* read once */
    CU_ASSERT_DOUBLE_EQUAL(slow.host_s, 20, 1e-9); /* open for half of the day */
    record.fetches = 2;
    record.fetch_ms = 400;
    CU_ASSERT_EQUAL(host_pace_find(&paces, txn, 0, &record, &fast), RESULT_OK);
    CU_ASSERT_DOUBLE_EQUAL(fast.host_s, 2.2, 1e-9);
    CU_ASSERT_EQUAL(host_pace_find(&paces, txn, 9, &record, &fast), RESULT_DAMAGED); /* no name */
    page_db_txn_abort(db, txn);
    host_paces_destroy(&paces);
    page_db_delete(db);
    config_destroy(&config);
    folder_remove(folder);
    buffer_destroy(&error);
}

UNIT_MAIN("host_pace", {"a host is asked as its site says", a_host_is_asked_as_its_site_says})
