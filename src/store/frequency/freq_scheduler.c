#include "store/frequency/freq_error.h"
#include "store/frequency/freq_tables.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"

/* ---- Entries ---- */

/* ---- Life ---- */

static char *default_path(const PageDB *db)
{
    size_t bytes = strlen(db->path) + sizeof "_freqs";
    char *path = malloc(bytes);
    if (path != NULL) {
        (void)snprintf(path, bytes, "%s_freqs", db->path);
    }
    return path;
}

FreqSchedulerError freq_scheduler_new(FreqScheduler **sch, PageDB *db, const char *path)
{
    FreqScheduler *s = *sch = calloc(1, sizeof *s);
    if (s == NULL) {
        return freq_scheduler_error_memory;
    }
    s->page_db = db;
    s->txn_manager = db->txn_manager;
    s->persist = 1; /* until it is whole: a failed open deletes nothing */
    s->margin = -1.0f;
    s->error = error_new();
    s->path = path == NULL ? default_path(db) : strdup(path);
    if (s->error == NULL || s->path == NULL) {
        freq_scheduler_delete(s);
        *sch = NULL;
        return freq_scheduler_error_memory;
    }
    MDB_txn *txn = NULL;
    int code = page_db_txn_begin(db, false, &txn);
    if (code == page_db_error_ok) {
        code = freq_page_db_code(freq_tables_open(s, txn, true));
        if (code == page_db_error_ok) {
            code = page_db_txn_commit(db, txn);
        } else {
            page_db_txn_abort(db, txn);
        }
    }
    if (code != page_db_error_ok) {
        return freq_fail_page_db(s, code, "freq_scheduler_new: the schedule cannot be opened");
    }
    s->persist = FREQ_SCHEDULER_DEFAULT_PERSIST;
    return freq_scheduler_error_ok;
}

void freq_scheduler_delete(FreqScheduler *sch)
{
    if (sch == NULL) {
        return;
    }
    if (!sch->persist) {
        (void)freq_scheduler_clear(sch);
    }
    error_delete(sch->error);
    free(sch->path);
    free(sch);
}

FreqSchedulerError freq_scheduler_clear(FreqScheduler *sch)
{
    MDB_txn *txn = NULL;
    int code = page_db_txn_begin(sch->page_db, false, &txn);
    if (code == page_db_error_ok) {
        int rc = mdb_drop(txn, sch->schedule, 0);
        rc = rc == MDB_SUCCESS ? mdb_drop(txn, sch->pages, 0) : rc;
        code = freq_page_db_code(rc);
        if (code == page_db_error_ok) {
            code = page_db_txn_commit(sch->page_db, txn);
        } else {
            page_db_txn_abort(sch->page_db, txn);
        }
    }
    return freq_fail_page_db(sch, code, "freq_scheduler_clear: the schedule cannot be written");
}

FreqSchedulerError freq_scheduler_add(FreqScheduler *sch, const CrawledPage *page)
{
    return freq_fail_page_db(sch, (int)page_db_add(sch->page_db, page, NULL),
                             "freq_scheduler_add: the page cannot be added");
}

/* ---- Requests ---- */

static double now_of(const FreqScheduler *sch)
{
    return sch->now_s != NULL ? sch->now_s(sch->now_context) : (double)wall_now().us / 1e6;
}

/* The first page's turn: *is_end when there is none, or it must wait. */
static int take_first(const FreqScheduler *sch, MDB_txn *txn, MDB_cursor *cursor, Buffer *url,
                      PageRequest *request, bool *is_end)
{
    MDB_val key;
    MDB_val value;
    FreqEntry entry;
    int rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    if (rc == MDB_NOTFOUND) {
        *is_end = true;
        return page_db_error_ok;
    }
    if (rc != MDB_SUCCESS || !freq_entry_read(&key, &value, &entry)) {
        return freq_page_db_code(rc != MDB_SUCCESS ? rc : MDB_CORRUPTED);
    }
    PageRef page;
    int code = page_db_get(sch->page_db, txn, entry.index, &page, url);
    if (code != page_db_error_ok && code != page_db_error_no_page) {
        return code;
    }
    bool is_known = code == page_db_error_ok;
    if (is_known && sch->margin >= 0.0f) {
        double wait_s = 1.0 / ((double)entry.freq * (1.0 + (double)sch->margin));
        if (now_of(sch) - page.last_crawl < wait_s) {
            *is_end = true;
            return page_db_error_ok;
        }
    }
    bool is_wanted = is_known && (sch->max_n_crawls == 0 || page.n_crawls < sch->max_n_crawls);
    if (!is_wanted) {
        return freq_page_db_code(freq_entry_delete(sch, txn, &entry));
    }
    if (page_request_add_url(request, buffer_string(url)) != 0) {
        return page_db_error_memory;
    }
    rc = mdb_cursor_del(cursor, 0);
    if (rc == MDB_SUCCESS) {
        double next = entry.time + 1.0 / (double)entry.freq;
        /* also where the step is too small for the clock: nobody keeps the first place */
        entry.time = next > entry.time ? next : nextafter(entry.time, HUGE_VAL);
        rc = freq_entry_put(sch, txn, &entry); /* what freq_pages says is overwritten */
    }
    return freq_page_db_code(rc);
}

static int take_all(const FreqScheduler *sch, MDB_txn *txn, size_t max_requests,
                    PageRequest *request)
{
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    MDB_cursor *cursor = NULL;
    int code = freq_page_db_code(mdb_cursor_open(txn, sch->schedule, &cursor));
    bool is_end = false;
    while (code == page_db_error_ok && !is_end && request->n_urls < max_requests) {
        code = take_first(sch, txn, cursor, &url, request, &is_end);
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    buffer_destroy(&url);
    return code;
}

FreqSchedulerError freq_scheduler_request(FreqScheduler *sch, size_t max_requests,
                                          PageRequest **request)
{
    int code = page_db_error_full;
    bool is_first = true;
    *request = NULL;
    while (code == page_db_error_full &&
           (is_first || page_db_grow(sch->page_db) == page_db_error_ok)) {
        is_first = false;
        page_request_delete(*request);
        *request = page_request_new(max_requests < 1024 ? max_requests : 1024);
        MDB_txn *txn = NULL;
        code = *request == NULL ? (int)page_db_error_memory
                                : page_db_txn_begin(sch->page_db, false, &txn);
        if (code != page_db_error_ok) {
            break;
        }
        code = take_all(sch, txn, max_requests, *request);
        if (code == page_db_error_ok) {
            code = page_db_txn_commit(sch->page_db, txn);
        } else {
            page_db_txn_abort(sch->page_db, txn);
        }
    }
    if (code != page_db_error_ok) {
        page_request_delete(*request);
        *request = NULL;
    }
    return freq_fail_page_db(sch, code, "freq_scheduler_request: the schedule cannot be written");
}

/* ---- Looking ---- */

FreqSchedulerError freq_scheduler_count(FreqScheduler *sch, uint64_t *n_pages)
{
    MDB_txn *txn = NULL;
    *n_pages = 0;
    int code = page_db_txn_begin(sch->page_db, true, &txn);
    if (code == page_db_error_ok) {
        MDB_stat stat;
        code = freq_page_db_code(mdb_stat(txn, sch->schedule, &stat));
        *n_pages = code == page_db_error_ok ? stat.ms_entries : 0;
        page_db_txn_abort(sch->page_db, txn);
    }
    return freq_fail_page_db(sch, code, "freq_scheduler_count: the schedule cannot be read");
}

/* Calls visit with every entry and its page, in a snapshot. */
static int walk(FreqScheduler *sch,
                int (*visit)(void *context, const FreqEntry *entry, const PageRef *page),
                void *context)
{
    MDB_txn *txn = NULL;
    MDB_cursor *cursor = NULL;
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    int code = page_db_txn_begin(sch->page_db, true, &txn);
    if (code == page_db_error_ok) {
        code = freq_page_db_code(mdb_cursor_open(txn, sch->schedule, &cursor));
    }
    MDB_val key;
    MDB_val value;
    bool is_end = false;
    while (code == page_db_error_ok && !is_end &&
           mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        FreqEntry entry;
        PageRef page;
        if (!freq_entry_read(&key, &value, &entry) ||
            page_db_get(sch->page_db, txn, entry.index, &page, &url) != page_db_error_ok) {
            code = page_db_error_internal;
        } else {
            page.url = buffer_string(&url);
            is_end = visit(context, &entry, &page) != 0;
        }
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    if (txn != NULL) {
        page_db_txn_abort(sch->page_db, txn);
    }
    buffer_destroy(&url);
    return code;
}

typedef struct Walk {
    int (*visit)(void *context, double time, double freq, const char *url);
    void *context;
} Walk;

static int walk_visit(void *context, const FreqEntry *entry, const PageRef *page)
{
    const Walk *w = context;
    return w->visit(w->context, entry->time, (double)entry->freq, page->url);
}

FreqSchedulerError freq_scheduler_walk(FreqScheduler *sch,
                                       int (*visit)(void *context, double time, double freq,
                                                    const char *url),
                                       void *context)
{
    Walk w = {visit, context};
    return freq_fail_page_db(sch, walk(sch, walk_visit, &w),
                             "freq_scheduler_walk: the schedule cannot be read");
}

static int dump_visit(void *context, const FreqEntry *entry, const PageRef *page)
{
    return fprintf(context, "%.2e %016llx %.2e\n", entry->time, (unsigned long long)page->hash,
                   (double)entry->freq) < 0;
}

FreqSchedulerError freq_scheduler_dump(FreqScheduler *sch, FILE *output)
{
    int code = walk(sch, dump_visit, output);
    if (code == page_db_error_ok && ferror(output)) {
        code = page_db_error_invalid_path;
    }
    return freq_fail_page_db(sch, code,
                             "freq_scheduler_dump: the schedule cannot be read or written");
}
