/* Requests: taking URLs from the front, and giving them back. */
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

/* Takes up to REQUEST_AT_ONCE pages, then finds their records, then reads them: what each step
 * needs is on its way from memory during the one before. *n = pages taken. */
static Result take_some_locked(BFScheduler *sch, PageReader *reader, double now_s, size_t most,
                               PageRequest *request, size_t *n)
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
        i += rc == RESULT_OK;
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
                               PageRequest *request)
{
    double now_s = bf_now(sch->state);
    bf_front_allow(sch->state->front, BF_SCHEDULER_EFFORT);
    Result rc = RESULT_OK;
    size_t n = 1;
    while (rc == RESULT_OK && n > 0 && request->n_urls < n_pages) {
        rc = take_some_locked(sch, reader, now_s, n_pages - request->n_urls, request, &n);
    }
    return rc;
}

BFSchedulerError bf_scheduler_request(BFScheduler *sch, size_t n_pages, PageRequest **request)
{
    PageRequest *r = *request = page_request_new(n_pages < 1024 ? n_pages : 1024);
    if (r == NULL) {
        return bf_fail(sch, bf_scheduler_error_memory, "bf_scheduler_request: out of memory");
    }
    Result rc = RESULT_IO;
    mutex_lock(&sch->state->mutex);
    /* The snapshot is made with the mutex held: it has every commit that the front knows of. */
    PageReader *reader = NULL;
    if (page_reader_acquire(sch->page_db->store, &reader) == MDB_SUCCESS) {
        rc = take_urls_locked(sch, reader, n_pages, r);
        page_reader_release(sch->page_db->store, reader);
    }
    mutex_unlock(&sch->state->mutex);
    if (rc != RESULT_OK && r->n_urls == 0) {
        page_request_delete(r);
        *request = NULL;
        return bf_fail_result(sch, rc, "bf_scheduler_request: the schedule cannot be read");
    }
    return bf_scheduler_error_ok;
}

BFSchedulerError bf_scheduler_release(BFScheduler *sch, const char *url)
{
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
