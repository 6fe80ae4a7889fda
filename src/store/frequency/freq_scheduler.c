#include "store/frequency/freq_scheduler.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "store/frequency/freq_entries.h"
#include "store/page_tables/page_store.h"
#include "store/pages/page_db_read.h"
#include "store/pages/page_stream.h"

/* ---- Life ---- */

FreqSchedulerError freq_scheduler_new(FreqScheduler **sch, PageDB *db, const char *path)
{
    if (sch == NULL) {
        return freq_scheduler_error_invalid;
    }
    FreqScheduler *s = *sch = calloc(1, sizeof *s);
    if (s == NULL) {
        return freq_scheduler_error_memory;
    }
    s->page_db = db;
    s->txn_manager = db == NULL ? NULL : db->txn_manager;
    s->persist = 1; /* until it is whole: a failed open deletes nothing */
    s->margin = -1.0f;
    s->lease_s = FREQ_SCHEDULER_DEFAULT_LEASE_S;
    s->error = error_new();
    s->path = path == NULL ? NULL : strdup(path);
    if (path == NULL && asprintf(&s->path, "%s_freqs", db == NULL ? "" : db->path) < 0) {
        s->path = NULL;
    }
    if (s->error == NULL || s->path == NULL) {
        freq_scheduler_delete(s);
        *sch = NULL;
        return freq_scheduler_error_memory;
    }
    if (s->txn_manager == NULL) {
        return freq_fail(s, freq_scheduler_error_invalid,
                         "freq_scheduler_new: db is NULL, or was not opened");
    }
    if (atomic_exchange(&db->store->has_frequency, true)) {
        return freq_fail(s, freq_scheduler_error_locked,
                         "freq_scheduler_new: another FreqScheduler works on this PageDB");
    }
    s->is_claimed = true;
    MDB_txn *txn = NULL;
    int code = page_db_txn_begin(db, false, &txn);
    if (code == page_db_error_ok) {
        code = freq_page_db_code(freq_entries_open(s, txn, true));
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
    if (sch->is_claimed) {
        atomic_store(&sch->page_db->store->has_frequency, false);
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
    if (sch == NULL || page == NULL) {
        return sch == NULL ? freq_scheduler_error_invalid
                           : freq_fail(sch, freq_scheduler_error_invalid,
                                       "freq_scheduler_add: page is NULL");
    }
    return freq_fail_page_db(sch, (int)page_db_add(sch->page_db, page, NULL),
                             "freq_scheduler_add: the page cannot be added");
}

/* ---- Requests ---- */

/* One request while it is filled. */
typedef struct Taking {
    const FreqScheduler *sch;
    MDB_txn *txn;
    PageRequest *request;
    Buffer url;
    double now_s;
    bool is_passing;  /* there are such */
    FreqEntry passed; /* the last one that was passed over; it stays where it is */
    bool is_end;      /* there is no further page, or the next one must wait */
} Taking;

/* The next entry: the first one behind those that were passed over. */
static int next_entry(Taking *t, FreqEntry *entry)
{
    *entry = (FreqEntry){.time = 0.0};
    if (t->is_passing) {
        *entry = t->passed;
        entry->index++;
    }
    int rc = freq_entry_seek(t->sch, t->txn, entry);
    t->is_end = rc == MDB_NOTFOUND;
    return t->is_end ? page_db_error_ok : freq_page_db_code(rc);
}

/* With a margin: whether the page is out, or must wait, which ends the request. */
static bool freq_scheduler_is_held(Taking *t, const FreqEntry *entry, const PageRef *page)
{
    const FreqScheduler *sch = t->sch;
    if (sch->margin < 0.0f) {
        return false;
    }
    if (entry->out_crawls == page->n_crawls && t->now_s < entry->out_until_s) {
        return true;
    }
    double wait_s = 1.0 / ((double)entry->freq * (1.0 + (double)sch->margin));
    t->is_end = t->now_s - page->last_crawl < wait_s;
    return t->is_end;
}

/* Hands the page out and moves it to its next turn. */
static int freq_scheduler_hand_out(Taking *t, FreqEntry *entry, const PageRef *page)
{
    const FreqScheduler *sch = t->sch;
    if (page_request_add_url(t->request, buffer_string(&t->url)) != 0) {
        return page_db_error_memory;
    }
    int rc = freq_entry_delete(sch, t->txn, entry);
    if (rc == MDB_SUCCESS) {
        double next = entry->time + 1.0 / (double)entry->freq;
        /* also where the step is too small for the clock: nobody keeps the first place */
        entry->time = next > entry->time ? next : nextafter(entry->time, HUGE_VAL);
        entry->out_until_s = sch->margin >= 0.0f ? t->now_s + sch->lease_s : 0.0;
        entry->out_crawls = page->n_crawls;
        rc = freq_entry_put(sch, t->txn, entry);
    }
    return freq_page_db_code(rc);
}

/* The next page's turn. */
static int take_next(Taking *t)
{
    const FreqScheduler *sch = t->sch;
    FreqEntry entry;
    PageRef page;
    int code = next_entry(t, &entry);
    if (code != page_db_error_ok || t->is_end) {
        return code;
    }
    code = page_db_get(sch->page_db, t->txn, entry.index, &page, &t->url);
    if (code != page_db_error_ok && code != page_db_error_no_page) {
        return code;
    }
    bool is_known = code == page_db_error_ok;
    if (is_known && freq_scheduler_is_held(t, &entry, &page)) {
        t->is_passing = true;
        t->passed = entry;
        return page_db_error_ok;
    }
    bool is_wanted = is_known && (sch->max_n_crawls == 0 || page.n_crawls < sch->max_n_crawls);
    if (is_wanted) {
        return freq_scheduler_hand_out(t, &entry, &page);
    }
    return freq_page_db_code(freq_entry_delete(sch, t->txn, &entry));
}

static int freq_scheduler_take_all(Taking *t, size_t max_requests)
{
    int code = page_db_error_ok;
    t->is_end = false;
    t->is_passing = false;
    t->now_s =
        t->sch->now_s != NULL ? t->sch->now_s(t->sch->now_context) : (double)wall_now().us / 1e6;
    while (code == page_db_error_ok && !t->is_end && t->request->n_urls < max_requests) {
        code = take_next(t);
    }
    return code;
}

/* One transaction. */
static int try_request(Taking *t, size_t max_requests)
{
    PageDB *db = t->sch->page_db;
    page_request_delete(t->request);
    t->request = page_request_new(max_requests < 1024 ? max_requests : 1024);
    if (t->request == NULL) {
        return page_db_error_memory;
    }
    int code = page_db_txn_begin(db, false, &t->txn);
    if (code != page_db_error_ok) {
        return code;
    }
    code = freq_scheduler_take_all(t, max_requests);
    if (code == page_db_error_ok) {
        code = page_db_txn_commit(db, t->txn);
    } else {
        page_db_txn_abort(db, t->txn);
    }
    return code;
}

FreqSchedulerError freq_scheduler_request(FreqScheduler *sch, size_t max_requests,
                                          PageRequest **request)
{
    if (sch == NULL || request == NULL) {
        return sch == NULL ? freq_scheduler_error_invalid
                           : freq_fail(sch, freq_scheduler_error_invalid,
                                       "freq_scheduler_request: request is NULL");
    }
    Taking t = {.sch = sch};
    buffer_init(&t.url, BUFFER_NO_LIMIT);
    int code = try_request(&t, max_requests);
    while (code == page_db_error_full && page_db_grow(sch->page_db) == page_db_error_ok) {
        code = try_request(&t, max_requests);
    }
    if (code != page_db_error_ok) {
        page_request_delete(t.request);
        t.request = NULL;
    }
    *request = t.request;
    buffer_destroy(&t.url);
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
static int freq_scheduler_walk_one(FreqScheduler *sch,
                                   int (*visit)(void *context, const FreqEntry *entry,
                                                const PageRef *page),
                                   void *context)
{
    MDB_txn *txn = NULL;
    MDB_cursor *cursor = NULL;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
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
    return freq_fail_page_db(sch, freq_scheduler_walk_one(sch, walk_visit, &w),
                             "freq_scheduler_walk: the schedule cannot be read");
}

static int dump_visit(void *context, const FreqEntry *entry, const PageRef *page)
{
    return fprintf(context, "%.2e %016llx %.2e\n", entry->time, (unsigned long long)page->hash,
                   (double)entry->freq) < 0;
}

FreqSchedulerError freq_scheduler_dump(FreqScheduler *sch, FILE *output)
{
    if (sch == NULL || output == NULL) {
        return sch == NULL ? freq_scheduler_error_invalid
                           : freq_fail(sch, freq_scheduler_error_invalid,
                                       "freq_scheduler_dump: output is NULL");
    }
    int code = freq_scheduler_walk_one(sch, dump_visit, output);
    if (code == page_db_error_ok && ferror(output)) {
        code = page_db_error_invalid_path;
    }
    return freq_fail_page_db(sch, code,
                             "freq_scheduler_dump: the schedule cannot be read or written");
}

#define FIRST_PAGES 1024u

static FreqSchedulerError freq_algo_fail(char **error_message, FreqSchedulerError code,
                                         const char *what)
{
    if (error_message != NULL) {
        *error_message = strdup(what);
    }
    return code;
}

/* Appends the frequencies of all pages; *n = how many. */
static FreqSchedulerError freq_algo_collect(HashInfoStream *stream, MMapArray *freqs, size_t *n)
{
    uint64_t hash = 0;
    PageInfo *info = NULL;
    StreamState state = hashinfo_stream_next(stream, &hash, &info);
    for (; state == stream_state_next; state = hashinfo_stream_next(stream, &hash, &info)) {
        PageFreq freq = {.hash = hash, .freq = info->n_crawls >= 2 ? page_info_rate(info) : -1.0f};
        page_info_delete(info);
        info = NULL;
        if (!(freq.freq > 0.0f)) {
            continue;
        }
        if (*n == freqs->n_elements && mmap_array_resize(freqs, *n * 2) != mmap_array_error_ok) {
            return freq_scheduler_error_memory;
        }
        if (mmap_array_set(freqs, *n, &freq) != mmap_array_error_ok) {
            return freq_scheduler_error_internal;
        }
        *n += 1;
    }
    return state == stream_state_error ? freq_scheduler_error_internal : freq_scheduler_error_ok;
}

FreqSchedulerError freq_algo_simple(PageDB *db, MMapArray **freqs, const char *path,
                                    char **error_message)
{
    if (error_message != NULL) {
        *error_message = NULL;
    }
    MMapArray *array = *freqs = NULL;
    HashInfoStream *stream = NULL;
    if (mmap_array_new(&array, path, FIRST_PAGES, sizeof(PageFreq)) != mmap_array_error_ok) {
        return freq_algo_fail(error_message, freq_scheduler_error_memory,
                              "freq_algo_simple: the array cannot be made");
    }
    if (hashinfo_stream_new(&stream, db) != page_db_error_ok) {
        (void)mmap_array_delete(array);
        return freq_algo_fail(error_message, freq_scheduler_error_internal,
                              "freq_algo_simple: the database cannot be read");
    }
    size_t n = 0;
    FreqSchedulerError code = freq_algo_collect(stream, array, &n);
    hashinfo_stream_delete(stream);
    if (code == freq_scheduler_error_ok &&
        mmap_array_resize(array, n == 0 ? 1 : n) != mmap_array_error_ok) {
        code = freq_scheduler_error_memory;
    }
    if (code != freq_scheduler_error_ok) {
        (void)mmap_array_delete(array);
        return freq_algo_fail(error_message, code,
                              "freq_algo_simple: the rates cannot be collected");
    }
    *freqs = array;
    return code;
}
