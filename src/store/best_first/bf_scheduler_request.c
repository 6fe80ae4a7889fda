/* Requests: taking URLs from the front and out of the schedule, and giving them back. */
#include "store/best_first/bf_scheduler.h"

#include <stdlib.h>
#include <string.h>

#include "store/best_first/bf_entry.h"
#include "store/best_first/bf_error.h"
#include "store/best_first/bf_turn.h"
#include "store/format/page_record.h"
#include "store/page_tables/page_reader.h"

#define REQUEST_AT_ONCE 128u

/* A page on its way into a request. */
typedef struct Taken {
    BFOrder order;
    uint32_t host;
    int found; /* LMDB's code for its pack of records */
    MDB_val pack;
} Taken;

/* Adds the URL of a page: page_db_get without what nobody asked for. A page that is not there is
 * left out. */
static Result add_url(BFScheduler *sch, PageReader *reader, const Taken *taken,
                      PageRequest *request)
{
    uint64_t index = bf_order_index(taken->order);
    MDB_val value;
    PageRecord record;
    MDB_val origin;
    int rc = taken->found;
    rc = rc == MDB_SUCCESS ? page_reader_unpack(&taken->pack, index, &value) : rc;
    if (rc == MDB_NOTFOUND) {
        return RESULT_OK;
    }
    if (rc != MDB_SUCCESS || !page_record_read(value.mv_data, value.mv_size, index, 0, &record) ||
        page_reader_origin(sch->page_db->store, reader, record.host, &origin) != MDB_SUCCESS) {
        return RESULT_DAMAGED;
    }
    char *url = malloc(page_url_length(origin.mv_size, &record) + 1);
    if (url == NULL) {
        return RESULT_MEMORY;
    }
    page_url_join(origin.mv_data, origin.mv_size, &record, url);
    if (page_request_take_url(request, url) != 0) {
        free(url);
        return RESULT_MEMORY;
    }
    return RESULT_OK;
}

/* The pages of a request, to be taken out of the schedule. */
typedef struct HandedPage {
    uint64_t index;
    BFOrder order; /* where it stood when it was removed */
    uint32_t host;
    bool is_removed; /* else it had left the schedule before */
} HandedPage;

typedef struct Handed {
    HandedPage *pages;
    size_t n;
    size_t capacity;
} Handed;

static Result note_handed(Handed *handed, uint64_t page)
{
    if (handed->n == handed->capacity) {
        size_t capacity = handed->capacity == 0 ? 256 : 2 * handed->capacity;
        HandedPage *pages = reallocarray(handed->pages, capacity, sizeof *pages);
        if (pages == NULL) {
            return RESULT_MEMORY;
        }
        handed->pages = pages;
        handed->capacity = capacity;
    }
    handed->pages[handed->n++] = (HandedPage){.index = page};
    return RESULT_OK;
}

/* Takes up to REQUEST_AT_ONCE pages, then finds their records, then reads them: what each step
 * needs is on its way from memory during the one before. *n = pages taken. */
static Result take_some_locked(BFScheduler *sch, PageReader *reader, double now_s, size_t most,
                               PageRequest *request, Handed *handed, size_t *n)
{
    BFFront *front = sch->state->front;
    Taken taken[REQUEST_AT_ONCE];
    size_t n_taken = 0;
    Result rc = RESULT_OK;
    while (n_taken < most && n_taken < REQUEST_AT_ONCE && rc == RESULT_OK) {
        Taken *t = &taken[n_taken];
        rc = bf_front_take(front, reader->txn, now_s, &t->host, &t->order);
        if (rc == RESULT_OK) {
            page_reader_begin(reader, bf_order_index(t->order));
            n_taken++;
        }
    }
    rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    for (size_t i = 0; i < n_taken; i++) {
        taken[i].found = page_reader_pack(sch->page_db->store, reader,
                                          bf_order_index(taken[i].order), &taken[i].pack);
    }
    size_t i = 0;
    while (rc == RESULT_OK && i < n_taken) {
        rc = add_url(sch, reader, &taken[i], request);
        if (rc == RESULT_OK) {
            rc = note_handed(handed, bf_order_index(taken[i++].order));
        }
    }
    for (; i < n_taken; i++) { /* what was not handed out after all */
        (void)bf_front_end_lease(front, bf_order_index(taken[i].order));
        (void)bf_front_offer(front, taken[i].host, taken[i].order);
    }
    *n = n_taken;
    return rc;
}

/* Takes URLs until the request is full or nothing is to be had. The mutex is held. */
static Result take_urls_locked(BFScheduler *sch, PageReader *reader, size_t n_pages,
                               PageRequest *request, Handed *handed)
{
    double now_s = bf_now(sch->state);
    bf_front_allow(sch->state->front, BF_SCHEDULER_EFFORT);
    Result rc = RESULT_OK;
    size_t n = 1;
    while (rc == RESULT_OK && n > 0 && request->n_urls < n_pages) {
        rc = take_some_locked(sch, reader, now_s, n_pages - request->n_urls, request, handed, &n);
    }
    return rc;
}

/* ---- out of the schedule ---- */

/* Finds a page as it stands in the schedule now. */
static Result bf_scheduler_request_find_entry(BFScheduler *sch, MDB_txn *txn, Buffer *url,
                                              PageRef *page, HandedPage *handed)
{
    if (page_db_get(sch->page_db, txn, handed->index, page, url) != page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    handed->is_removed = page->level != PAGE_DB_NO_LEVEL;
    handed->host = page->host;
    handed->order =
        handed->is_removed ? bf_entry(sch->state, page->level, page->score, handed->index) : 0;
    return RESULT_OK;
}

/* What is crawled meanwhile has left the schedule already; what was moved is where it is now. */
static Result remove_pages(BFScheduler *sch, MDB_txn *txn, Handed *handed, Buffer *url)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < handed->n; i++) {
        PageRef page;
        HandedPage *handed_page = &handed->pages[i];
        rc = bf_scheduler_request_find_entry(sch, txn, url, &page, handed_page);
        if (rc == RESULT_OK && handed_page->is_removed) {
            rc = schedule_remove(sch->state->schedule, txn, page.host,
                                 bf_order_level(handed_page->order),
                                 bf_order_value(handed_page->order));
        }
        if (rc == RESULT_OK && handed_page->is_removed) {
            int code = page_db_set_state(sch->page_db, txn, handed_page->index, page.status,
                                         PAGE_DB_NO_LEVEL, page.tries);
            rc = code == page_db_error_ok     ? RESULT_OK
                 : code == page_db_error_full ? RESULT_FULL
                                              : RESULT_IO;
        }
    }
    return rc;
}

/* Takes the pages of a request out of the schedule, durably, and ends their leases. */
static BFSchedulerError bf_scheduler_request_take_out(BFScheduler *sch, Handed *handed)
{
    Buffer url;
    MDB_txn *txn = NULL;
    Result rc = RESULT_FULL;
    BFSchedulerError code = bf_scheduler_error_ok;
    buffer_init(&url, BUFFER_NO_LIMIT);
    for (bool is_first = true; rc == RESULT_FULL; is_first = false) {
        if (!is_first && page_db_grow(sch->page_db) != page_db_error_ok) {
            break;
        }
        code = bf_begin(sch, BF_WRITER, &txn);
        if (code != bf_scheduler_error_ok) {
            break;
        }
        rc = remove_pages(sch, txn, handed, &url);
        if (rc != RESULT_OK) {
            bf_abort(sch, BF_WRITER, txn);
        }
    }
    buffer_destroy(&url);
    if (code != bf_scheduler_error_ok || rc != RESULT_OK) {
        return code != bf_scheduler_error_ok
                   ? code
                   : bf_fail_result(sch, rc, "bf_scheduler_request: the schedule is not written");
    }
    uint64_t turn = 0;
    code = bf_commit(sch, BF_WRITER, txn, &turn);
    bf_turn_begin(sch->state, turn);
    for (size_t i = 0; code == bf_scheduler_error_ok && i < handed->n; i++) {
        const HandedPage *page = &handed->pages[i];
        (void)bf_front_end_lease(sch->state->front, page->index);
        if (page->is_removed) {
            bf_front_withdraw(sch->state->front, page->host, page->order);
        }
    }
    bf_turn_end(sch->state);
    return code;
}

/* The request has failed after all: its pages are to be had again. */
static void bf_scheduler_request_give_back(BFScheduler *sch, const Handed *handed)
{
    mutex_lock(&sch->state->mutex);
    if (handed->n > 0) {
        bf_front_clear(sch->state->front); /* the schedule is as before: it is read anew */
    }
    mutex_unlock(&sch->state->mutex);
}

BFSchedulerError bf_scheduler_request(BFScheduler *sch, size_t n_pages, PageRequest **request)
{
    if (sch == NULL || request == NULL) {
        return sch == NULL ? bf_scheduler_error_invalid
                           : bf_fail(sch, bf_scheduler_error_invalid,
                                     "bf_scheduler_request: request is NULL");
    }
    PageRequest *r = *request = page_request_new(n_pages < 1024 ? n_pages : 1024);
    if (r == NULL) {
        return bf_fail(sch, bf_scheduler_error_memory, "bf_scheduler_request: out of memory");
    }
    Handed handed = {.pages = NULL};
    Result rc = RESULT_IO;
    mutex_lock(&sch->state->mutex);
    /* The snapshot is made with the mutex held: it has every commit that the front knows of. */
    PageReader *reader = NULL;
    if (page_reader_acquire(sch->page_db->store, &reader) == MDB_SUCCESS) {
        rc = take_urls_locked(sch, reader, n_pages, r, &handed);
        page_reader_release(sch->page_db->store, reader);
    }
    mutex_unlock(&sch->state->mutex);
    BFSchedulerError code = bf_scheduler_error_ok;
    if (rc != RESULT_OK && r->n_urls == 0) {
        code = bf_fail_result(sch, rc, "bf_scheduler_request: the schedule cannot be read");
    } else if (!sch->leases && handed.n > 0) {
        code = bf_scheduler_request_take_out(sch, &handed);
    }
    if (code != bf_scheduler_error_ok) {
        bf_scheduler_request_give_back(sch, &handed);
        page_request_delete(r);
        *request = NULL;
    }
    free(handed.pages);
    return code;
}

/* ---- back into it ---- */

/* Schedules a page that a request took out. page_db_error_no_page: none did. */
static int bf_scheduler_request_put_back(BFScheduler *sch, MDB_txn *txn, const char *url,
                                         uint32_t *host, BFOrder *order)
{
    uint64_t index = 0;
    PageRef page = {0};
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    int rc = page_db_find(sch->page_db, txn, url, strlen(url), &index);
    if (rc == page_db_error_ok) {
        rc = page_db_get(sch->page_db, txn, index, &page, &text);
    }
    if (rc == page_db_error_ok && (page.n_crawls > 0 || page.level != PAGE_DB_NO_LEVEL)) {
        rc = page_db_error_no_page;
    }
    if (rc == page_db_error_ok) {
        Result result = bf_reload_pages(sch, txn, index, index + 1, &text);
        rc = result == RESULT_OK     ? page_db_error_ok
             : result == RESULT_FULL ? page_db_error_full
                                     : page_db_error_internal;
    }
    if (rc == page_db_error_ok) {
        rc = page_db_get(sch->page_db, txn, index, &page, &text);
    }
    if (rc == page_db_error_ok && page.level == PAGE_DB_NO_LEVEL) {
        rc = page_db_error_no_page; /* too deep by now */
    }
    *host = page.host;
    *order = rc == page_db_error_ok ? bf_entry(sch->state, page.level, page.score, index) : 0;
    buffer_destroy(&text);
    return rc;
}

static BFSchedulerError release_removed(BFScheduler *sch, const char *url)
{
    MDB_txn *txn = NULL;
    uint32_t host = 0;
    BFOrder order = 0;
    BFSchedulerError code = bf_begin(sch, BF_WRITER, &txn);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    int rc = bf_scheduler_request_put_back(sch, txn, url, &host, &order);
    if (rc != page_db_error_ok) {
        bf_abort(sch, BF_WRITER, txn);
        return bf_fail_page_db(sch, rc, "bf_scheduler_release: the page is not out");
    }
    uint64_t turn = 0;
    code = bf_commit(sch, BF_WRITER, txn, &turn);
    bf_turn_begin(sch->state, turn);
    if (code == bf_scheduler_error_ok &&
        bf_front_offer(sch->state->front, host, order) != RESULT_OK) {
        bf_front_clear(sch->state->front);
    }
    bf_turn_end(sch->state);
    return code;
}

BFSchedulerError bf_scheduler_release(BFScheduler *sch, const char *url)
{
    if (sch == NULL || url == NULL) {
        return sch == NULL
                   ? bf_scheduler_error_invalid
                   : bf_fail(sch, bf_scheduler_error_invalid, "bf_scheduler_release: url is NULL");
    }
    if (!sch->leases) {
        return release_removed(sch, url);
    }
    BFSchedulerState *state = sch->state;
    mutex_lock(&state->mutex);
    MDB_txn *txn = NULL;
    int rc = page_db_txn_begin(sch->page_db, true, &txn);
    if (rc == page_db_error_ok) {
        uint64_t index = 0;
        PageRef page = {0};
        Buffer text;
        buffer_init(&text, BUFFER_NO_LIMIT);
        rc = page_db_find(sch->page_db, txn, url, strlen(url), &index);
        if (rc == page_db_error_ok) {
            rc = page_db_get(sch->page_db, txn, index, &page, &text);
        }
        if (rc == page_db_error_ok && !bf_front_end_lease(state->front, index)) {
            rc = page_db_error_no_page;
        }
        if (rc == page_db_error_ok && page.level != PAGE_DB_NO_LEVEL &&
            bf_front_offer(state->front, page.host,
                           bf_entry(state, page.level, page.score, index)) != RESULT_OK) {
            rc = page_db_error_memory;
        }
        buffer_destroy(&text);
        page_db_txn_abort(sch->page_db, txn);
    }
    mutex_unlock(&state->mutex);
    return bf_fail_page_db(sch, rc, "bf_scheduler_release: the page is not out");
}
