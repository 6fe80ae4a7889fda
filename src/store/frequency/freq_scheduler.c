#include "store/frequency/freq_scheduler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/frequency/freq_entries.h"
#include "store/page_tables/page_store.h"
#include "store/pages/page_error.h"

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
    if (db == NULL || s->txn_manager == NULL) {
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
        code = page_db_code(freq_entries_open(s, txn, true));
        code = page_db_txn_end_code(db, txn, code);
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
        if (rc == MDB_SUCCESS) {
            rc = mdb_drop(txn, sch->pages, 0);
        }
        code = page_db_code(rc);
        code = page_db_txn_end_code(sch->page_db, txn, code);
    }
    return freq_fail_page_db(sch, code, "freq_scheduler_clear: the schedule cannot be written");
}

FreqSchedulerError freq_scheduler_add(FreqScheduler *sch, const CrawledPage *page)
{
    FreqSchedulerError checked = freq_check(sch, page != NULL, "freq_scheduler_add: page is NULL");
    if (checked != freq_scheduler_error_ok) {
        return checked;
    }
    return freq_fail_page_db(sch, (int)page_db_add(sch->page_db, page, NULL),
                             "freq_scheduler_add: the page cannot be added");
}

/* ---- Requests ---- */

/* One request while it is filled. Pages that must wait keep their places, so each request passes
 * over them anew: FREQ_SCHEDULER_PASSED_MAX bounds what that costs, and ends the request. */
typedef struct Taking {
    const FreqScheduler *sch;
    MDB_txn *txn;
    PageRequest *request;
    Buffer url;
    double now_s;
    size_t n_passed;  /* that must wait, and stay where they are */
    FreqEntry passed; /* the last one of them */
    bool is_end;      /* there is no further page, or enough were passed over */
} Taking;

/* The next entry: the first one behind those that were passed over. */
static int next_entry(Taking *t, FreqEntry *entry)
{
    *entry = (FreqEntry){.time = 0.0};
    if (t->n_passed > 0) {
        *entry = t->passed;
        entry->index++;
    }
    int rc = freq_entry_seek(t->sch, t->txn, entry);
    t->is_end = rc == MDB_NOTFOUND;
    return t->is_end ? page_db_error_ok : page_db_code(rc);
}

/* With a margin: whether the page is out, or must wait. */
static bool freq_scheduler_is_held(const Taking *t, const FreqEntry *entry, const PageRef *page)
{
    const FreqScheduler *sch = t->sch;
    if (sch->margin < 0.0f) {
        return false;
    }
    if (entry->out_crawls == page->n_crawls && t->now_s < entry->out_until_s) {
        return true;
    }
    double wait_s = 1.0 / ((double)entry->freq * (1.0 + (double)sch->margin));
    return t->now_s - page->last_crawl < wait_s;
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
    return page_db_code(rc);
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
        t->n_passed++;
        t->passed = entry;
        t->is_end = t->n_passed == FREQ_SCHEDULER_PASSED_MAX;
        return page_db_error_ok;
    }
    bool is_wanted = is_known && (sch->max_n_crawls == 0 || page.n_crawls < sch->max_n_crawls);
    if (is_wanted) {
        return freq_scheduler_hand_out(t, &entry, &page);
    }
    return page_db_code(freq_entry_delete(sch, t->txn, &entry));
}

static int freq_scheduler_take_all(Taking *t, size_t max_requests)
{
    int code = page_db_error_ok;
    t->is_end = false;
    t->n_passed = 0;
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
    code = page_db_txn_end_code(db, t->txn, code);
    return code;
}

FreqSchedulerError freq_scheduler_request(FreqScheduler *sch, size_t max_requests,
                                          PageRequest **request)
{
    FreqSchedulerError checked =
        freq_check(sch, request != NULL, "freq_scheduler_request: request is NULL");
    if (checked != freq_scheduler_error_ok || request == NULL) {
        return checked;
    }
    Taking t = {.sch = sch};
    buffer_init(&t.url, BUFFER_NO_LIMIT);
    int code = page_db_error_ok;
    do {
        code = try_request(&t, max_requests);
    } while (code == page_db_error_full && page_db_grow(sch->page_db) == page_db_error_ok);
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
        MDB_stat stat = {.ms_entries = 0};
        code = page_db_code(mdb_stat(txn, sch->schedule, &stat));
        *n_pages = stat.ms_entries;
        page_db_txn_abort(sch->page_db, txn);
    }
    return freq_fail_page_db(sch, code, "freq_scheduler_count: the schedule cannot be read");
}

/* Calls visit with every entry and its page, in a snapshot. */
static int freq_scheduler_walk_one(FreqScheduler *sch,
                                   int (*visit)(void *context, double time, double freq,
                                                const char *url),
                                   void *context)
{
    MDB_txn *txn = NULL;
    LmdbRows rows;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    int code = page_db_txn_begin(sch->page_db, true, &txn);
    if (code != page_db_error_ok) {
        return code;
    }
    bool is_end = false;
    lmdb_rows_begin(&rows, txn, sch->schedule, (MDB_val){0});
    while (code == page_db_error_ok && !is_end && lmdb_rows_next(&rows)) {
        FreqEntry entry;
        PageRef page;
        if (!freq_entry_read(&rows.key, &rows.value, &entry) ||
            page_db_get(sch->page_db, txn, entry.index, &page, &url) != page_db_error_ok) {
            code = page_db_error_internal;
        } else {
            is_end = visit(context, entry.time, (double)entry.freq, buffer_string(&url)) != 0;
        }
    }
    int rc = lmdb_rows_close(&rows, 0);
    page_db_txn_abort(sch->page_db, txn);
    buffer_destroy(&url);
    return code == page_db_error_ok ? page_db_code(rc) : code;
}

FreqSchedulerError freq_scheduler_walk(FreqScheduler *sch,
                                       int (*visit)(void *context, double time, double freq,
                                                    const char *url),
                                       void *context)
{
    return freq_fail_page_db(sch, freq_scheduler_walk_one(sch, visit, context),
                             "freq_scheduler_walk: the schedule cannot be read");
}

static int dump_visit(void *context, double time, double freq, const char *url)
{
    return fprintf(context, "%.2e %016llx %.2e\n", time, (unsigned long long)page_db_hash(url),
                   freq) < 0;
}

FreqSchedulerError freq_scheduler_dump(FreqScheduler *sch, FILE *output)
{
    FreqSchedulerError checked =
        freq_check(sch, output != NULL, "freq_scheduler_dump: output is NULL");
    if (checked != freq_scheduler_error_ok) {
        return checked;
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

/* ---- Loading ---- */

#define SEED_PREFIX    "_seed_"
#define UNSEEN_CHANGES 0.5

/* Gives a page its frequency. A page that is scheduled keeps its turn: the share of the way to its
 * next visit that it has left. A new one enters at clock. So a load may be repeated at any time,
 * and a page whose frequency has not changed stays where it is, but for the rounding of a float. */
static int load_page(const FreqScheduler *sch, MDB_txn *txn, double clock, uint64_t index,
                     double freq)
{
    FreqEntry entry = {.index = index};
    int rc = freq_entry_find(sch, txn, index, &entry);
    double left = 0.0;
    if (rc == MDB_SUCCESS) {
        left = (entry.time - clock) * (double)entry.freq;
        rc = freq_entry_delete(sch, txn, &entry);
    } else if (rc == MDB_NOTFOUND) {
        rc = MDB_SUCCESS;
    }
    if (rc == MDB_SUCCESS) {
        left = left > 0.0 ? left : 0.0;
        entry.time = clock + left / freq;
        entry.freq = (float)freq;
        rc = freq_entry_put(sch, txn, &entry);
    }
    return rc;
}

static bool is_frequency(double freq)
{
    return isfinite((float)freq) && (float)freq > 0.0f;
}

/* One load: which frequency a crawled page gets; not above 0: none. */
typedef struct Load {
    FreqScheduler *sch;
    double (*freq_of)(struct Load *load, const PageRef *page);
    float freq_default;
    float freq_scale;
    const FreqRules *rules;
    uint64_t n_loaded;
} Load;

/* Whether a page is one that may be visited again. */
static bool is_candidate(const FreqScheduler *sch, const PageRef *page)
{
    size_t prefix = sizeof SEED_PREFIX - 1;
    return page->n_crawls > 0 && (sch->max_n_crawls == 0 || page->n_crawls < sch->max_n_crawls) &&
           !(page->url_length >= prefix && memcmp(page->url, SEED_PREFIX, prefix) == 0);
}

static double simple_freq(Load *load, const PageRef *page)
{
    PageInfo info = {.first_crawl = page->first_crawl,
                     .last_crawl = page->last_crawl,
                     .n_changes = page->n_changes,
                     .n_crawls = page->n_crawls};
    float rate = load->freq_scale > 0.0f ? page_info_rate(&info) : -1.0f;
    return rate > 0.0f ? (double)(load->freq_scale * rate) : (double)load->freq_default;
}

static double ruled_freq(Load *load, const PageRef *page)
{
    double freq = 0.0;
    double rate =
        freq_change_rate(page->n_crawls, page->n_changes, page->first_crawl, page->last_crawl);
    if (rate == 0.0) { /* was watched and never changed: at most about that */
        rate = UNSEEN_CHANGES / (page->last_crawl - page->first_crawl);
    }
    Result rc = freq_rules_find(load->rules, page->url, page->url_length, rate, &freq);
    return rc == RESULT_OK ? freq : (double)load->freq_default;
}

static int load_all(Load *load, MDB_txn *txn)
{
    FreqScheduler *sch = load->sch;
    double clock = 0.0;
    int code = page_db_code(freq_clock_read(sch, txn, &clock));
    uint64_t n_pages = page_db_n_pages(sch->page_db, txn);
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    load->n_loaded = 0;
    for (uint64_t index = 0; code == page_db_error_ok && index < n_pages; index++) {
        PageRef page;
        code = page_db_get(sch->page_db, txn, index, &page, &url);
        if (code != page_db_error_ok || !is_candidate(sch, &page)) {
            continue;
        }
        double freq = load->freq_of(load, &page);
        if (is_frequency(freq)) {
            code = page_db_code(load_page(sch, txn, clock, index, freq));
            load->n_loaded++;
        }
    }
    buffer_destroy(&url);
    return code;
}

/* In one transaction, so that nobody sees half a schedule. */
static FreqSchedulerError run_load(Load *load, uint64_t *n_loaded)
{
    FreqScheduler *sch = load->sch;
    int code = page_db_error_ok;
    do {
        MDB_txn *txn = NULL;
        code = page_db_txn_begin(sch->page_db, false, &txn);
        if (code == page_db_error_ok) {
            code = page_db_txn_end_code(sch->page_db, txn, load_all(load, txn));
        }
    } while (code == page_db_error_full && page_db_grow(sch->page_db) == page_db_error_ok);
    if (n_loaded != NULL) {
        *n_loaded = code == page_db_error_ok ? load->n_loaded : 0;
    }
    return freq_fail_page_db(sch, code, "freq_scheduler_load: the schedule cannot be written");
}

FreqSchedulerError freq_scheduler_load_simple(FreqScheduler *sch, float freq_default,
                                              float freq_scale)
{
    if (sch == NULL) {
        return freq_scheduler_error_invalid;
    }
    Load load = {
        .sch = sch, .freq_of = simple_freq, .freq_default = freq_default, .freq_scale = freq_scale};
    return run_load(&load, NULL);
}

FreqSchedulerError freq_scheduler_load_rules(FreqScheduler *sch, const FreqRules *rules,
                                             float freq_default, uint64_t *n_loaded)
{
    Load load = {.sch = sch, .freq_of = ruled_freq, .rules = rules, .freq_default = freq_default};
    return run_load(&load, n_loaded);
}

FreqSchedulerError freq_scheduler_load_mmap(FreqScheduler *sch, MMapArray *freqs)
{
    MDB_cursor *cursor = NULL;
    FreqSchedulerError checked =
        freq_check(sch, freqs != NULL, "freq_scheduler_load_mmap: freqs is NULL");
    if (checked != freq_scheduler_error_ok || freqs == NULL) {
        return checked;
    }
    if (freqs->element_size != sizeof(PageFreq)) {
        return freq_fail(sch, freq_scheduler_error_internal,
                         "freq_scheduler_load_mmap: not an array of PageFreq");
    }
    FreqSchedulerError code = freq_scheduler_error_ok;
    do {
        code = freq_scheduler_cursor_open(sch, &cursor);
        if (code != freq_scheduler_error_ok) {
            return code;
        }
        const PageFreq *pages = (const PageFreq *)(const void *)freqs->mem;
        for (size_t i = 0; code == freq_scheduler_error_ok && i < freqs->n_elements; i++) {
            code = freq_scheduler_cursor_write(sch, cursor, pages[i].hash, pages[i].freq);
        }
        if (code == freq_scheduler_error_ok) {
            code = freq_scheduler_cursor_commit(sch, cursor);
        } else {
            freq_scheduler_cursor_abort(sch, cursor);
        }
    } while (code == freq_scheduler_error_full && page_db_grow(sch->page_db) == page_db_error_ok);
    return code;
}

/* ---- The cursor ---- */

FreqSchedulerError freq_scheduler_cursor_open(FreqScheduler *sch, MDB_cursor **cursor)
{
    MDB_txn *txn = NULL;
    FreqSchedulerError checked =
        freq_check(sch, cursor != NULL, "freq_scheduler_cursor_open: cursor is NULL");
    if (checked != freq_scheduler_error_ok) {
        return checked;
    }
    *cursor = NULL;
    int code = page_db_txn_begin(sch->page_db, false, &txn);
    if (code == page_db_error_ok) {
        code = page_db_code(mdb_cursor_open(txn, sch->schedule, cursor));
        if (code != page_db_error_ok) {
            page_db_txn_abort(sch->page_db, txn);
        }
    }
    return freq_fail_page_db(sch, code, "freq_scheduler_cursor_open: no transaction can be begun");
}

FreqSchedulerError freq_scheduler_cursor_write(FreqScheduler *sch, MDB_cursor *cursor,
                                               uint64_t hash, float freq)
{
    FreqSchedulerError checked =
        freq_check(sch, cursor != NULL, "freq_scheduler_cursor_write: cursor is NULL");
    if (checked != freq_scheduler_error_ok) {
        return checked;
    }
    if (!is_frequency((double)freq)) {
        return freq_scheduler_error_ok;
    }
    uint64_t index = 0;
    PageDBError found = page_db_get_idx(sch->page_db, hash, &index);
    if (found == page_db_error_no_page) {
        return freq_scheduler_error_ok;
    }
    int code = (int)found;
    MDB_txn *txn = mdb_cursor_txn(cursor);
    double clock = 0.0;
    if (code == page_db_error_ok) {
        code = page_db_code(freq_clock_read(sch, txn, &clock));
    }
    if (code == page_db_error_ok) {
        code = page_db_code(load_page(sch, txn, clock, index, (double)freq));
    }
    return freq_fail_page_db(sch, code,
                             "freq_scheduler_cursor_write: the schedule cannot be written");
}

FreqSchedulerError freq_scheduler_cursor_commit(FreqScheduler *sch, MDB_cursor *cursor)
{
    FreqSchedulerError checked =
        freq_check(sch, cursor != NULL, "freq_scheduler_cursor_commit: cursor is NULL");
    if (checked != freq_scheduler_error_ok) {
        return checked;
    }
    MDB_txn *txn = mdb_cursor_txn(cursor);
    mdb_cursor_close(cursor);
    return freq_fail_page_db(sch, page_db_txn_commit(sch->page_db, txn),
                             "freq_scheduler_cursor_commit: the transaction cannot be committed");
}

void freq_scheduler_cursor_abort(FreqScheduler *sch, MDB_cursor *cursor)
{
    if (sch == NULL || cursor == NULL) {
        return;
    }
    MDB_txn *txn = mdb_cursor_txn(cursor);
    mdb_cursor_close(cursor);
    page_db_txn_abort(sch->page_db, txn);
}
