#include "command/top/top_about.h"

#include <string.h>

#include "store/schedule/schedule_read.h"
#include "store/pages/page_db_read.h"
#include "frontier/visit/host_situation.h"
#include "report/tell/report_words.h"

#define QUEUED_SHOWN 20u

static void put_fact(Buffer *text, const char *name, uint64_t n)
{
    char words[WORDS_BYTES];
    (void)buffer_printf(text, "%-18s %s\n", name, words_count(n, words));
}

static void top_about_put_record(Buffer *text, const HostRecord *record, WallTime now)
{
    char words[WORDS_BYTES];
    HostSituation situation = host_situation_of(record, now.us / 1000);
    (void)buffer_append_string(text, "state              ");
    (void)host_situation_tell(&situation, now.us / 1000, text);
    (void)buffer_append_char(text, '\n');
    put_fact(text, "requests", record->fetches);
    put_fact(text, "pages", record->pages);
    put_fact(text, "duplicates", record->duplicates);
    (void)buffer_printf(text, "received           %s\n", words_bytes((double)record->bytes, words));
    (void)buffer_printf(
        text, "a request takes    %s\n",
        words_ms(record->fetches == 0 ? 0 : (double)record->fetch_ms / record->fetches, words));
    (void)buffer_printf(text, "answers            2xx %u, 3xx %u, 4xx %u, 5xx %u, none %u\n",
                        record->by_status[2], record->by_status[3], record->by_status[4],
                        record->by_status[5], record->by_status[0]);
    (void)buffer_printf(text, "robots.txt         status %d, version %u, %u URLs forbidden\n",
                        record->robots_status, record->robots_version, record->robots_denied);
    if (record->crawl_delay_ms > 0) {
        (void)buffer_printf(text, "Crawl-delay        %s\n",
                            words_ms(record->crawl_delay_ms, words));
    }
    if (record->last_fetch_ms > 0) {
        (void)buffer_printf(text, "last request       %s UTC\n",
                            words_time((WallTime){record->last_fetch_ms * 1000}, words));
    }
}

/* What comes next of a host. */
static void put_queue(const CrawlView *view, MDB_txn *txn, uint32_t host, Buffer *text)
{
    ScheduleItem items[QUEUED_SHOWN];
    Buffer url;
    size_t n = 0;
    uint64_t all = 0;
    if (view->schedule == NULL ||
        schedule_host_count(view->schedule, txn, host, &all) != RESULT_OK ||
        schedule_head(view->schedule, txn, host, NULL, items, QUEUED_SHOWN, &n) != RESULT_OK) {
        return;
    }
    put_fact(text, "queued", all);
    (void)buffer_append_string(text, n > 0 ? "\nnext\n" : "");
    buffer_init(&url, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < n; i++) {
        PageRef page;
        if (page_db_get(view->db, txn, items[i].index, &page, &url) == page_db_error_ok) {
            (void)buffer_printf(text, "  %2u  %s\n", items[i].level, buffer_string(&url));
        }
    }
    buffer_destroy(&url);
}

Result top_about_host(const CrawlView *view, const char *origin, WallTime now, Buffer *text)
{
    MDB_txn *txn = NULL;
    uint32_t host = 0;
    HostRecord record;
    if (page_db_txn_begin(view->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    if (view->hosts == NULL ||
        page_db_host_find(view->db, txn, origin, strlen(origin), &host) != page_db_error_ok ||
        host_table_get(view->hosts, txn, host, &record) != RESULT_OK) {
        (void)buffer_append_string(text, "nothing is known of it\n");
    } else {
        top_about_put_record(text, &record, now);
        put_queue(view, txn, host, text);
    }
    page_db_txn_abort(view->db, txn);
    return RESULT_OK;
}
