#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/best_first/bf_entry.h"
#include "store/best_first/bf_error.h"
#include "store/best_first/bf_moves.h"
#include "store/best_first/bf_turn.h"
#include "store/pages/page_heat.h"

/* What one page of a batch does to the schedule, and later to the front. */
typedef struct Change {
    BFOrder order;
    uint64_t index;
    uint32_t host;
    bool is_put;       /* else removed: it was crawled */
    bool is_scheduled; /* a removal of something that is in the schedule */
} Change;

typedef struct Batch {
    BFScheduler *sch;
    const CrawledPage *const *pages;
    size_t n_pages;
    uint64_t max_depth;
    size_t n_crawled;     /* pages that the sink was told of */
    uint64_t parent;      /* index of the last of them */
    uint64_t parent_hash; /* 0: not computed */
    Change *changes;
    size_t n_changes;
    size_t capacity;
    BFPiece piece; /* of the moves that wait, made in the same transaction */
} Batch;

static int bf_scheduler_add_push(Batch *batch, const Change *change)
{
    if (batch->n_changes == batch->capacity) {
        size_t capacity = batch->capacity == 0 ? 256 : batch->capacity * 2;
        Change *changes = realloc(batch->changes, capacity * sizeof *changes);
        if (changes == NULL) {
            return page_db_error_memory;
        }
        batch->changes = changes;
        batch->capacity = capacity;
    }
    batch->changes[batch->n_changes] = *change;
    batch->n_changes++;
    return page_db_error_ok;
}

/* The score by the documented function, for scorers that have no estimate. */
static bool score_by_add(Batch *batch, const PageRef *page, const CrawledPage *parent, float *score)
{
    const Scorer *scorer = batch->sch->scorer;
    if (batch->parent_hash == 0 && parent != NULL) {
        batch->parent_hash = page_db_hash(parent->url);
    }
    PageInfo info = {.url = strndup(page->url, page->url_length),
                     .linked_from = batch->parent_hash,
                     .depth = page->depth,
                     .score = page->score};
    bool is_scored = info.url != NULL && scorer->add(scorer->state, &info, score) == 0;
    free(info.url);
    return is_scored;
}

/* The level byte of a page that was discovered just now. */
static uint8_t first_level(Batch *batch, const PageRef *page)
{
    const Scorer *scorer = batch->sch->scorer;
    const CrawledPage *parent = batch->n_crawled == 0 ? NULL : batch->pages[batch->n_crawled - 1];
    float score = 0.0f;
    bool is_scored = false;
    if (scorer->estimate != NULL) {
        ScorerLink link = {.parent = page->linked_from,
                           .n_links = parent == NULL ? 0 : crawled_page_n_links(parent),
                           .page_score = parent == NULL ? 0.0f : parent->score,
                           .score = page->score};
        is_scored = scorer->estimate(scorer->state, &link, &score) == 0;
    } else if (scorer->add != NULL) {
        is_scored = score_by_add(batch, page, parent, &score);
    }
    return is_scored ? bf_scored_level(batch->sch, score)
                     : bf_link_level(batch->sch->state, page->score);
}

static int on_discovered(void *context, const PageRef *page, PageState *state)
{
    Batch *batch = context;
    if (batch->max_depth != 0 && page->depth > batch->max_depth) {
        return page_db_error_ok;
    }
    if (page->index > bf_order_index(UINT64_MAX)) {
        return page_db_error_internal;
    }
    state->level = first_level(batch, page);
    Change change = {.order = bf_entry(batch->sch->state, state->level, page->score, page->index),
                     .index = page->index,
                     .host = page->host,
                     .is_put = true};
    return bf_scheduler_add_push(batch, &change);
}

static int bf_scheduler_add_on_crawled(void *context, const PageRef *before, const PageRef *after,
                                       uint8_t *level)
{
    Batch *batch = context;
    batch->n_crawled++;
    batch->parent = after->index;
    batch->parent_hash = 0;
    *level = PAGE_DB_NO_LEVEL;
    bool is_scheduled = before->level != PAGE_DB_NO_LEVEL;
    Change change = {.index = after->index, .host = after->host, .is_scheduled = is_scheduled};
    if (is_scheduled) {
        change.order = bf_entry(batch->sch->state, before->level, before->score, before->index);
    }
    return bf_scheduler_add_push(batch, &change);
}

static Result write_changes(const Batch *batch, MDB_txn *txn)
{
    ScheduleChange *changes = malloc((batch->n_changes + 1) * sizeof *changes);
    if (changes == NULL) {
        return RESULT_MEMORY;
    }
    size_t n = 0;
    for (size_t i = 0; i < batch->n_changes; i++) {
        const Change *c = &batch->changes[i];
        if (c->is_put || c->is_scheduled) {
            uint8_t level = (uint8_t)bf_order_level(c->order);
            changes[n++] = (ScheduleChange){.index = bf_order_value(c->order),
                                            .host = c->host,
                                            .from = c->is_put ? SCHEDULE_NO_LEVEL : level,
                                            .to = c->is_put ? level : SCHEDULE_NO_LEVEL};
        }
    }
    Result rc = bf_write_changes(batch->sch, txn, changes, n);
    free(changes);
    return rc;
}

/* The front learns of the commit. What cannot be told for want of memory is told by the schedule
 * later: the front starts anew. */
static void tell_front_locked(Batch *batch)
{
    BFSchedulerState *state = batch->sch->state;
    double now_s = bf_now(state);
    Result rc = RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < batch->n_changes; i++) {
        const Change *c = &batch->changes[i];
        if (c->is_put) {
            rc = bf_front_offer(state->front, c->host, c->order);
            continue;
        }
        bool was_leased = bf_front_end_lease(state->front, c->index);
        if (c->is_scheduled) {
            bf_front_withdraw(state->front, c->host, c->order);
        }
        if (!was_leased) {
            bf_front_visit(state->front, c->host, now_s);
        }
    }
    if (rc != RESULT_OK) {
        bf_front_clear(state->front);
    }
}

/* What the batch changes, then a piece of the moves that wait: in proportion, so that the commit of
 * a page is not that of thousands. */
static Result write_batch(Batch *batch, MDB_txn *txn)
{
    Result rc = write_changes(batch, txn);
    size_t most = BF_SCHEDULER_UPDATE_BATCH_SIZE + batch->n_changes;
    most = most < BF_SCHEDULER_RIDE_MOST ? most : BF_SCHEDULER_RIDE_MOST;
    return rc == RESULT_OK ? bf_piece_make(batch->sch, BF_WRITER, txn, most,
                                           BF_SCHEDULER_RIDE_CPU_MS, &batch->piece)
                           : rc;
}

/* One attempt. page_db_error_full: nothing was written. */
static BFSchedulerError try_add(Batch *batch, const PageWrite *writes)
{
    BFScheduler *sch = batch->sch;
    batch->n_changes = 0;
    batch->n_crawled = 0;
    MDB_txn *txn = NULL;
    BFSchedulerError code = bf_begin(sch, BF_WRITER, &txn);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    const PageSink sink = {
        .context = batch, .discovered = on_discovered, .crawled = bf_scheduler_add_on_crawled};
    int rc = page_db_write(sch->page_db, txn, writes, batch->n_pages, &sink);
    Result result = rc == page_db_error_ok ? write_batch(batch, txn) : RESULT_OK;
    if (rc != page_db_error_ok || result != RESULT_OK) {
        bf_piece_give_back(sch->state, &batch->piece);
        bf_abort(sch, BF_WRITER, txn);
        return rc != page_db_error_ok
                   ? bf_fail_page_db(sch, rc, "bf_scheduler_add: the pages cannot be written")
                   : bf_fail_result(sch, result, "bf_scheduler_add: the schedule is not written");
    }
    uint64_t turn = 0;
    MonoTime start = bf_time(sch->state);
    code = bf_commit(sch, BF_WRITER, txn, &turn);
    batch->piece.commit_ns = bf_time(sch->state).ns - start.ns;
    batch->piece.n_others = batch->n_changes;
    bf_turn_begin(sch->state, turn);
    double ride_ms = (double)batch->piece.cpu_ns / 1e6;
    BFSchedulerCounts *counts = &sch->state->counts;
    counts->rides += batch->piece.n_taken > 0;
    counts->longest_ride_cpu_ms = fmax(counts->longest_ride_cpu_ms, ride_ms);
    bf_piece_end_locked(sch->state, &batch->piece, code == bf_scheduler_error_ok);
    if (code == bf_scheduler_error_ok) {
        tell_front_locked(batch);
        sch->state->n_added += batch->n_pages;
        condition_signal(&sch->state->wake);
    }
    bf_turn_end(sch->state);
    return code;
}

BFSchedulerError bf_scheduler_add_batch(BFScheduler *sch, const CrawledPage *const *pages,
                                        size_t n_pages)
{
    if (sch == NULL) {
        return bf_scheduler_error_invalid;
    }
    for (size_t i = 0; i < n_pages; i++) {
        if (pages == NULL || pages[i] == NULL || pages[i]->url == NULL) {
            return bf_fail(sch, bf_scheduler_error_invalid, "bf_scheduler_add: a page is NULL");
        }
    }
    if (n_pages == 0) {
        return bf_scheduler_error_ok;
    }
    PageWrite *writes = calloc(n_pages, sizeof *writes);
    if (writes == NULL) {
        return bf_fail(sch, bf_scheduler_error_memory, "bf_scheduler_add: out of memory");
    }
    for (size_t i = 0; i < n_pages; i++) {
        writes[i].page = pages[i];
    }
    mutex_lock(&sch->state->mutex);
    Batch batch = {
        .sch = sch, .pages = pages, .n_pages = n_pages, .max_depth = sch->max_crawl_depth};
    mutex_unlock(&sch->state->mutex);
    BFSchedulerError code = try_add(&batch, writes);
    while (code == bf_scheduler_error_full && page_db_grow(sch->page_db) == page_db_error_ok) {
        code = try_add(&batch, writes);
    }
    if (code == bf_scheduler_error_ok) {
        page_db_heat(sch->page_db, pages, n_pages);
    }
    free(batch.changes);
    free(writes);
    return code;
}

BFSchedulerError bf_scheduler_add(BFScheduler *sch, const CrawledPage *page)
{
    return bf_scheduler_add_batch(sch, &page, 1);
}
