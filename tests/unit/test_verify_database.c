/* `ragno verify` on the database: what is damaged is found, and what can be rebuilt is. */
#include "store/schedule/schedule_read.h"
#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "folder_fixture.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/tables/host_rows.h"
#include "store/pages/page_db.h"
#include "store/schedule/schedule.h"
#include "command/verify/verify.h"

#define HOST     0u
#define LEVEL    3u
#define PAGES    50u
#define GIVEN_UP 7u /* the index of a page that robots.txt forbids */

/* A crawl of one host without WARC: page 0 is crawled, the others are scheduled. */
typedef struct Crawl {
    char directory[64];
    char database[80];
    PageDB *db;
    MDB_txn *txn;
    Schedule *schedule;
    HostRows *hosts;
    VerifyCounts counts;
    char *report;
} Crawl;

static void begin(Crawl *crawl)
{
    PageDBOptions options = {.no_sync = true, .map_bytes = (size_t)64 << 20};
    CU_ASSERT_EQUAL_FATAL(page_db_open(&crawl->db, crawl->database, &options), 0);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(crawl->db, false, &crawl->txn), 0);
    CU_ASSERT_EQUAL_FATAL(
        schedule_open(&crawl->schedule, crawl->txn, NULL, page_db_journal(crawl->db)), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(host_rows_open(&crawl->hosts, crawl->txn, page_db_journal(crawl->db)),
                          RESULT_OK);
}

static void end(Crawl *crawl)
{
    CU_ASSERT_EQUAL(page_db_txn_commit(crawl->db, crawl->txn), 0);
    schedule_close(crawl->schedule);
    host_rows_close(crawl->hosts);
    CU_ASSERT_EQUAL(page_db_delete(crawl->db), 0);
    crawl->db = NULL;
}

static int on_discovered(void *context, const PageRef *page, PageState *state)
{
    Crawl *crawl = context;
    state->level = LEVEL;
    return schedule_put(crawl->schedule, crawl->txn, page->host, LEVEL, page->index) != RESULT_OK;
}

static void write_crawl(Crawl *crawl)
{
    PageSink sink = {.context = crawl, .discovered = on_discovered};
    CrawledPage *page = crawled_page_new("http://example.org/");
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    for (unsigned i = 1; i < PAGES; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://example.org/%u", i);
        CU_ASSERT_EQUAL(crawled_page_add_link(page, url, 0.5F), 0);
    }
    PageWrite write = {.page = page, .status = 200};
    CU_ASSERT_EQUAL(page_db_write(crawl->db, crawl->txn, &write, 1, &sink), 0);
    crawled_page_delete(page);
    CU_ASSERT_EQUAL(schedule_remove(crawl->schedule, crawl->txn, HOST, LEVEL, GIVEN_UP), RESULT_OK);
    CU_ASSERT_EQUAL(page_db_set_state(crawl->db, crawl->txn, GIVEN_UP, -9998, SCHEDULE_NO_LEVEL, 0),
                    0);
    HostRecord record = {.urls = PAGES, .pages = 1, .robots_denied = 1};
    CU_ASSERT_EQUAL(host_rows_put(crawl->hosts, crawl->txn, HOST, &record), RESULT_OK);
}

static Crawl *crawl_new(void)
{
    Crawl *crawl = calloc(1, sizeof *crawl);
    CU_ASSERT_PTR_NOT_NULL_FATAL(crawl);
    folder_make(crawl->directory);
    (void)snprintf(crawl->database, sizeof crawl->database, "%s/crawl.mdb", crawl->directory);
    begin(crawl);
    write_crawl(crawl);
    end(crawl);
    return crawl;
}

static void crawl_delete(Crawl *crawl)
{
    folder_remove(crawl->directory);
    free(crawl->report);
    free(crawl);
}

/* The number of problems. */
static uint64_t verify(Crawl *crawl, bool repair)
{
    size_t length = 0;
    free(crawl->report);
    crawl->report = NULL;
    FILE *out = open_memstream(&crawl->report, &length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    VerifyOptions options = {.directory = crawl->directory, .repair = repair, .out = out};
    CU_ASSERT_EQUAL(verify_directory(&options, &crawl->counts), RESULT_OK);
    (void)fclose(out);
    return crawl->counts.problems;
}

static bool says(const Crawl *crawl, const char *words)
{
    return strstr(crawl->report, words) != NULL;
}

static void a_sound_database_has_no_problems(void)
{
    Crawl *crawl = crawl_new();
    CU_ASSERT_EQUAL(verify(crawl, false), 0);
    CU_ASSERT_EQUAL(verify(crawl, true), 0);
    CU_ASSERT_EQUAL(crawl->counts.repaired, 0);
    crawl_delete(crawl);
}

/* After the damage: found, left alone, repaired, sound. */
static void check_repair(Crawl *crawl, uint64_t problems, const char *problem, const char *repair)
{
    CU_ASSERT_EQUAL(verify(crawl, false), problems);
    CU_ASSERT(says(crawl, problem));
    CU_ASSERT_EQUAL(crawl->counts.repaired, 0);
    CU_ASSERT_EQUAL(verify(crawl, true), problems);
    CU_ASSERT_EQUAL(crawl->counts.repaired, 1);
    CU_ASSERT(says(crawl, repair));
    CU_ASSERT_EQUAL(verify(crawl, false), 0);
}

static void a_lost_entry_is_scheduled_again(void)
{
    Crawl *crawl = crawl_new();
    uint64_t n = 0;
    begin(crawl);
    CU_ASSERT_EQUAL(schedule_remove(crawl->schedule, crawl->txn, HOST, LEVEL, 9), RESULT_OK);
    end(crawl);
    check_repair(crawl, 1, "not scheduled, but has level 3: http://example.org/9",
                 "schedule written anew from PageDB: 48 URLs");
    begin(crawl);
    CU_ASSERT_EQUAL(schedule_host_count(crawl->schedule, crawl->txn, HOST, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, PAGES - 2);
    end(crawl);
    crawl_delete(crawl);
}

static void entries_of_no_page_go(void)
{
    Crawl *crawl = crawl_new();
    begin(crawl);
    CU_ASSERT_EQUAL(schedule_put(crawl->schedule, crawl->txn, HOST, 1, PAGES), RESULT_OK);
    CU_ASSERT_EQUAL(schedule_put(crawl->schedule, crawl->txn, HOST, 1, GIVEN_UP), RESULT_OK);
    CU_ASSERT_EQUAL(schedule_put(crawl->schedule, crawl->txn, HOST + 1, LEVEL, 5), RESULT_OK);
    end(crawl);
    check_repair(crawl, 4, "scheduled of no page", "schedule written anew");
    CU_ASSERT_EQUAL(verify(crawl, false), 0);
    crawl_delete(crawl);
}

/* The pages of a host that is given up keep their level, and their entries are parked. (A crawl of
 * an earlier version has none.) */
static void the_entries_of_a_host_that_is_given_up_are_parked(void)
{
    Crawl *crawl = crawl_new();
    uint64_t n = 0;
    HostRecord record = {.state = HOST_DROPPED, .urls = PAGES, .pages = 1, .robots_denied = 1};
    begin(crawl);
    CU_ASSERT_EQUAL(host_rows_put(crawl->hosts, crawl->txn, HOST, &record), RESULT_OK);
    end(crawl);
    check_repair(crawl, 1, "host 0 is given up, and its URLs are not parked",
                 "schedule written anew");
    begin(crawl);
    CU_ASSERT_EQUAL(schedule_parked_counts(crawl->schedule, crawl->txn, &n, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, 1);
    record.state = HOST_ACTIVE;
    CU_ASSERT_EQUAL(host_rows_put(crawl->hosts, crawl->txn, HOST, &record), RESULT_OK);
    end(crawl);
    check_repair(crawl, 1, "host 0 is parked, and its record does not say so",
                 "schedule written anew");
    begin(crawl);
    record.state = HOST_DROPPED;
    CU_ASSERT_EQUAL(host_rows_put(crawl->hosts, crawl->txn, HOST, &record), RESULT_OK);
    CU_ASSERT_EQUAL(schedule_clear_host(crawl->schedule, crawl->txn, HOST, &n), RESULT_OK);
    end(crawl);
    CU_ASSERT_EQUAL(verify(crawl, false), 0);
    crawl_delete(crawl);
}

static void host_counters_are_counted_anew(void)
{
    Crawl *crawl = crawl_new();
    HostRecord record = {.urls = 3, .pages = 0, .robots_denied = 4, .fetches = 11};
    begin(crawl);
    CU_ASSERT_EQUAL(host_rows_put(crawl->hosts, crawl->txn, HOST, &record), RESULT_OK);
    end(crawl);
    check_repair(crawl, 1, "host 0 counts 3 URLs, 0 pages", "counters of 1 hosts");
    begin(crawl);
    CU_ASSERT_EQUAL(host_rows_get(crawl->hosts, crawl->txn, HOST, &record), RESULT_OK);
    CU_ASSERT_EQUAL(record.urls, PAGES);
    CU_ASSERT_EQUAL(record.pages, 1);
    CU_ASSERT_EQUAL(record.robots_denied, 1);
    CU_ASSERT_EQUAL(record.fetches, 11); /* what only the crawl knew stays */
    end(crawl);
    crawl_delete(crawl);
}

/* The tables of PageDB, by hand. */
static void drop_from(Crawl *crawl, const char *table, void *key, size_t key_length,
                      const void *value, size_t value_length)
{
    MDB_dbi dbi = 0;
    MDB_val k = {key_length, key};
    MDB_val v = {value_length, (void *)(uintptr_t)value};
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(crawl->txn, table, 0, &dbi), 0);
    CU_ASSERT_EQUAL(value == NULL ? mdb_del(crawl->txn, dbi, &k, NULL)
                                  : mdb_put(crawl->txn, dbi, &k, &v, 0),
                    0);
}

static void what_page_db_lost_is_found(void)
{
    Crawl *crawl = crawl_new();
    uint32_t host = HOST;
    begin(crawl);
    drop_from(crawl, "origins", &host, sizeof host, "http://example.com", 18);
    end(crawl);
    CU_ASSERT(verify(crawl, false) >= PAGES);
    CU_ASSERT(says(crawl, "host 0 is not found by its name"));
    CU_ASSERT(says(crawl, "page 1 is not found by its URL"));
    crawl_delete(crawl);
}

/* Two pages lose their entries; the database counts fewer then, and a crawl does not open it. */
static void pages_that_no_url_leads_to_are_found(void)
{
    Crawl *crawl = crawl_new();
    MDB_dbi hash2idx = 0;
    begin(crawl);
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(crawl->txn, "hash2idx", 0, &hash2idx), 0);
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    CU_ASSERT_EQUAL_FATAL(mdb_cursor_open(crawl->txn, hash2idx, &cursor), 0);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(mdb_cursor_get(cursor, &key, &value, MDB_LAST), 0);
        CU_ASSERT_EQUAL(mdb_cursor_del(cursor, 0), 0);
    }
    mdb_cursor_close(cursor);
    end(crawl);
    PageDBOptions options = {.map_bytes = (size_t)64 << 20};
    CU_ASSERT_EQUAL(page_db_open(&crawl->db, crawl->database, &options), page_db_error_damaged);
    CU_ASSERT_EQUAL(page_db_delete(crawl->db), 0);
    CU_ASSERT_EQUAL(verify(crawl, true), 3);
    CU_ASSERT(says(crawl, "48 URLs lead to 50 pages"));
    CU_ASSERT(says(crawl, "is not found by its URL"));
    CU_ASSERT_EQUAL(crawl->counts.repaired, 0);
    crawl_delete(crawl);
}

static void keys_of_no_page_are_found(void)
{
    Crawl *crawl = crawl_new();
    uint32_t domain = 17;
    begin(crawl);
    drop_from(crawl, "hash2idx", &domain, sizeof domain, "sixteen bytes...", 16);
    end(crawl);
    CU_ASSERT_EQUAL(verify(crawl, true), 1);
    CU_ASSERT(says(crawl, "51 URLs lead to 50 pages"));
    crawl_delete(crawl);
}

UNIT_MAIN("verify_database", {"a sound database has no problems", a_sound_database_has_no_problems},
          {"a lost entry is scheduled again", a_lost_entry_is_scheduled_again},
          {"entries of no page go", entries_of_no_page_go},
          {"the entries of a host that is given up are parked",
           the_entries_of_a_host_that_is_given_up_are_parked},
          {"host counters are counted anew", host_counters_are_counted_anew},
          {"what PageDB lost is found", what_page_db_lost_is_found},
          {"pages that no URL leads to are found", pages_that_no_url_leads_to_are_found},
          {"keys of no page are found", keys_of_no_page_are_found})
