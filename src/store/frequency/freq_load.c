#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/frequency/freq_load.h"
#include "store/frequency/freq_entries.h"
#include "store/pages/page_db_read.h"

#define SEED_PREFIX    "_seed_"
#define UNSEEN_CHANGES 0.5

/* Gives a page its frequency. A page that is scheduled keeps its turn: the share of the way to its
 * next visit that it has left. A new one enters at clock. */
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
    int code = freq_page_db_code(freq_clock_read(sch, txn, &clock));
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
            code = freq_page_db_code(load_page(sch, txn, clock, index, freq));
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
    int code = page_db_error_full;
    bool is_first = true;
    while (code == page_db_error_full &&
           (is_first || page_db_grow(sch->page_db) == page_db_error_ok)) {
        is_first = false;
        MDB_txn *txn = NULL;
        code = page_db_txn_begin(sch->page_db, false, &txn);
        if (code != page_db_error_ok) {
            break;
        }
        code = load_all(load, txn);
        if (code == page_db_error_ok) {
            code = page_db_txn_commit(sch->page_db, txn);
        } else {
            page_db_txn_abort(sch->page_db, txn);
        }
    }
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
    if (sch == NULL || freqs == NULL) {
        return sch == NULL ? freq_scheduler_error_invalid
                           : freq_fail(sch, freq_scheduler_error_invalid,
                                       "freq_scheduler_load_mmap: freqs is NULL");
    }
    if (freqs->element_size != sizeof(PageFreq)) {
        return freq_fail(sch, freq_scheduler_error_internal,
                         "freq_scheduler_load_mmap: not an array of PageFreq");
    }
    FreqSchedulerError code = freq_scheduler_error_full;
    bool is_first = true;
    while (code == freq_scheduler_error_full &&
           (is_first || page_db_grow(sch->page_db) == page_db_error_ok)) {
        is_first = false;
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
    }
    return code;
}

/* ---- The cursor ---- */

FreqSchedulerError freq_scheduler_cursor_open(FreqScheduler *sch, MDB_cursor **cursor)
{
    MDB_txn *txn = NULL;
    if (sch == NULL || cursor == NULL) {
        return sch == NULL ? freq_scheduler_error_invalid
                           : freq_fail(sch, freq_scheduler_error_invalid,
                                       "freq_scheduler_cursor_open: cursor is NULL");
    }
    *cursor = NULL;
    int code = page_db_txn_begin(sch->page_db, false, &txn);
    if (code == page_db_error_ok) {
        code = freq_page_db_code(mdb_cursor_open(txn, sch->schedule, cursor));
        if (code != page_db_error_ok) {
            page_db_txn_abort(sch->page_db, txn);
        }
    }
    return freq_fail_page_db(sch, code, "freq_scheduler_cursor_open: no transaction can be begun");
}

FreqSchedulerError freq_scheduler_cursor_write(FreqScheduler *sch, MDB_cursor *cursor,
                                               uint64_t hash, float freq)
{
    if (sch == NULL || cursor == NULL) {
        return sch == NULL ? freq_scheduler_error_invalid
                           : freq_fail(sch, freq_scheduler_error_invalid,
                                       "freq_scheduler_cursor_write: cursor is NULL");
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
        code = freq_page_db_code(freq_clock_read(sch, txn, &clock));
    }
    if (code == page_db_error_ok) {
        code = freq_page_db_code(load_page(sch, txn, clock, index, (double)freq));
    }
    return freq_fail_page_db(sch, code,
                             "freq_scheduler_cursor_write: the schedule cannot be written");
}

FreqSchedulerError freq_scheduler_cursor_commit(FreqScheduler *sch, MDB_cursor *cursor)
{
    if (sch == NULL || cursor == NULL) {
        return sch == NULL ? freq_scheduler_error_invalid
                           : freq_fail(sch, freq_scheduler_error_invalid,
                                       "freq_scheduler_cursor_commit: cursor is NULL");
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
