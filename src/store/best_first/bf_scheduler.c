#include "store/best_first/bf_scheduler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "store/best_first/bf_state.h"
#include "store/page_tables/page_reader.h"
#include "store/pages/page_error.h"

#define BF_SCHEDULE_NAME "bf_schedule"
#define BF_LEVEL_RATIO   1.41421356f
#define BF_DOMAIN_TEMP_N 100000u
#define BF_DOMAIN_TEMP_S 10.0f

/* Changes of the schedule that one transaction makes; an index is the value of a BFOrder. */
typedef struct BFChanges {
    ScheduleChange *items;
    size_t n;
} BFChanges;

static Result bf_changes_add(BFChanges *changes, uint32_t host, BFOrder order, unsigned from,
                             unsigned to)
{
    ScheduleChange change = schedule_move(host, from, to, bf_order_value(order));
    return array_add(&changes->items, &changes->n, sizeof change, &change);
}

/* ---- Life ---- */

static BFSchedulerError bf_open_schedule(BFScheduler *sch)
{
    const ScheduleOptions options = {
        .levels = SCHEDULE_MAX_LEVELS, .score_top = 1.0f, .score_ratio = BF_LEVEL_RATIO};
    MDB_txn *txn = NULL;
    BFSchedulerError code = bf_begin(sch, &txn);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    /* In a write transaction: the first opening makes the two tables. */
    Result rc = schedule_open_named(&sch->state->schedule, txn, BF_SCHEDULE_NAME, &options);
    if (rc == RESULT_OK) {
        code = bf_commit(sch, txn);
        bf_end(sch->state);
        return code;
    }
    bf_abort(sch, txn);
    return bf_fail_result(sch, rc, "bf_scheduler_new: the schedule cannot be opened");
}

static BFSchedulerState *bf_state_new(void)
{
    BFSchedulerState *state = calloc(1, sizeof *state);
    if (state != NULL) {
        mutex_init(&state->commits, RANK_COMMITS);
        mutex_init(&state->mutex, RANK_SCHEDULER);
        condition_init(&state->wake);
        state->time = &timekeeper_system;
    }
    return state;
}

BFSchedulerError bf_scheduler_new(BFScheduler **sch, PageDB *db, const char *path)
{
    if (sch == NULL) {
        return bf_scheduler_error_invalid;
    }
    /* From here on *sch holds the error of whatever fails, as the seed API wants it; the caller
     * deletes it. */
    BFScheduler *s = *sch = calloc(1, sizeof *s);
    if (s == NULL) {
        return bf_scheduler_error_memory;
    }
    s->page_db = db;
    s->txn_manager = db == NULL ? NULL : db->txn_manager;
    s->persist = BF_SCHEDULER_DEFAULT_PERSIST;
    s->max_soft_domain_crawl_rate = -1.0f;
    s->max_hard_domain_crawl_rate = -1.0f;
    s->error = error_new();
    s->scorer = calloc(1, sizeof *s->scorer);
    s->path = path == NULL ? NULL : strdup(path);
    if (path == NULL && asprintf(&s->path, "%s_bfs", db == NULL ? "" : db->path) < 0) {
        s->path = NULL;
    }
    s->state = bf_state_new();
    if (s->error == NULL || s->scorer == NULL || s->path == NULL || s->state == NULL) {
        bf_scheduler_delete(s);
        *sch = NULL;
        return bf_scheduler_error_memory;
    }
    if (db == NULL || s->txn_manager == NULL) {
        return bf_fail(s, bf_scheduler_error_invalid,
                       "bf_scheduler_new: db is NULL, or was not opened");
    }
    /* One for each PageDB: two fronts would hand out the same page, and neither would hear of the
     * other's commits. */
    if (atomic_exchange(&db->store->has_best_first, true)) {
        return bf_fail(s, bf_scheduler_error_locked,
                       "bf_scheduler_new: another BFScheduler works on this PageDB");
    }
    /* Only now may bf_scheduler_delete give the claim back: it may be another object's. */
    s->state->is_claimed = true;
    BFSchedulerError code = bf_open_schedule(s);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    s->state->front = bf_front_new(s->state->schedule);
    if (s->state->front == NULL) {
        return bf_fail(s, bf_scheduler_error_memory, "bf_scheduler_new: out of memory");
    }
    return bf_scheduler_error_ok;
}

static void bf_empty_schedule(BFScheduler *sch)
{
    MDB_txn *txn = NULL;
    /* persist = 0 promises an empty schedule to the next opening; what fails here leaves a full
     * one, which harms nobody. */
    if (bf_begin(sch, &txn) != bf_scheduler_error_ok) {
        return;
    }
    if (schedule_clear(sch->state->schedule, txn) != RESULT_OK) {
        bf_abort(sch, txn);
        return;
    }
    (void)bf_commit(sch, txn);
    bf_end(sch->state);
}

void bf_scheduler_delete(BFScheduler *sch)
{
    if (sch == NULL) {
        return;
    }
    if (sch->state != NULL) {
        /* The thread first: it uses all that goes below. */
        (void)bf_scheduler_update_stop(sch);
        if (!sch->persist && sch->state->schedule != NULL) {
            bf_empty_schedule(sch);
        }
        if (sch->state->is_claimed) {
            atomic_store(&sch->page_db->store->has_best_first, false);
        }
        bf_front_delete(sch->state->front);
        schedule_close(sch->state->schedule);
        condition_destroy(&sch->state->wake);
        mutex_destroy(&sch->state->mutex);
        mutex_destroy(&sch->state->commits);
        free(sch->state);
    }
    error_delete(sch->error);
    free(sch->scorer);
    free(sch->path);
    free(sch);
}

/* ---- Settings ---- */

void bf_scheduler_set_leases(BFScheduler *sch, int value)
{
    if (sch != NULL) {
        sch->leases = value;
    }
}

void bf_scheduler_set_persist(BFScheduler *sch, int value)
{
    if (sch != NULL) {
        sch->persist = value;
    }
}

BFSchedulerError bf_scheduler_set_max_domain_crawl_rate(BFScheduler *sch, float max_soft_crawl_rate,
                                                        float max_hard_crawl_rate)
{
    if (sch == NULL) {
        return bf_scheduler_error_invalid;
    }
    mutex_lock(&sch->state->mutex);
    Result rc = bf_front_set_rates(sch->state->front, (double)max_soft_crawl_rate,
                                   (double)max_hard_crawl_rate);
    if (rc == RESULT_OK) {
        sch->max_soft_domain_crawl_rate = max_soft_crawl_rate;
        sch->max_hard_domain_crawl_rate = max_hard_crawl_rate;
    }
    mutex_unlock(&sch->state->mutex);
    if (rc != RESULT_OK) {
        return bf_fail_result(sch, rc, "bf_scheduler_set_max_domain_crawl_rate: not a number");
    }
    /* The front keeps the rates by itself; PageDB's temperature of domains is what the documented
     * library shows beside it. */
    int tracked = page_db_error_ok;
    if (max_hard_crawl_rate > 0.0f || max_soft_crawl_rate > 0.0f) {
        tracked = (int)page_db_set_domain_temp(sch->page_db, BF_DOMAIN_TEMP_N, BF_DOMAIN_TEMP_S);
    }
    return bf_fail_page_db(sch, tracked, "bf_scheduler_set_max_domain_crawl_rate: out of memory");
}

void bf_scheduler_set_max_crawl_depth(BFScheduler *sch, uint64_t value)
{
    if (sch != NULL) {
        mutex_lock(&sch->state->mutex);
        sch->max_crawl_depth = value;
        mutex_unlock(&sch->state->mutex);
    }
}

void bf_scheduler_set_update_interval(BFScheduler *sch, time_t value)
{
    if (sch != NULL) {
        mutex_lock(&sch->state->mutex);
        sch->state->interval_s = value;
        /* The thread may be asleep by the old interval. */
        condition_broadcast(&sch->state->wake);
        mutex_unlock(&sch->state->mutex);
    }
}

void bf_scheduler_set_time(BFScheduler *sch, const Timekeeper *time)
{
    sch->state->time = time != NULL ? time : &timekeeper_system;
}

BFSchedulerError bf_scheduler_counts(BFScheduler *sch, BFSchedulerCounts *counts)
{
    mutex_lock(&sch->state->mutex);
    *counts = sch->state->counts;
    counts->requested = bf_front_leases(sch->state->front);
    counts->loaded_hosts = bf_front_hosts(sch->state->front);
    mutex_unlock(&sch->state->mutex);
    /* Two looks, not one moment: a commit in between is in `scheduled` and not in `requested`. */
    MDB_txn *txn = NULL;
    int rc = page_db_txn_begin(sch->page_db, true, &txn);
    if (rc != page_db_error_ok) {
        return bf_fail_page_db(sch, rc, "bf_scheduler_counts: the schedule cannot be read");
    }
    Result result = schedule_counts(sch->state->schedule, txn, &counts->scheduled, &counts->hosts);
    page_db_txn_abort(sch->page_db, txn);
    return bf_fail_result(sch, result, "bf_scheduler_counts: the schedule cannot be read");
}

/* ---- Adding crawled pages ---- */

/* Three locks, always in this order: bf_begin opens the transaction (LMDB has one writer) and takes
 * `commits`, bf_commit takes `mutex` once the commit is on the disk, bf_end lets both go. In
 * between the front is told. So it hears of commits in their order, and a request for leases, which
 * needs `mutex` alone, waits for no commit. Its snapshot may have a commit of which the front hears
 * afterwards. That does no harm: an entry that is in the window, or leased, is offered once more
 * and stays as it is, and one that is not there is withdrawn. */

typedef struct BFBatch {
    BFScheduler *sch;
    const CrawledPage *const *pages;
    size_t n_pages;
    uint64_t max_depth;
    size_t n_crawled;     /* pages that the sink was told of */
    uint64_t parent_hash; /* of the last of them; 0: not computed */
    BFChanges changes;    /* one that leads from nowhere to nowhere: a page that was crawled without
                             being scheduled */
} BFBatch;

/* The score by the documented function, for scorers that have no estimate. */
static bool bf_score_by_add(BFBatch *batch, const PageRef *page, const CrawledPage *parent,
                            float *score)
{
    const Scorer *scorer = batch->sch->scorer;
    /* Once for each crawled page, not for each of its links. */
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

static int bf_on_discovered(void *context, const PageRef *page, PageState *state)
{
    BFBatch *batch = context;
    /* Known, but not scheduled: bf_scheduler_reload looks at the depth of its time again. */
    if (batch->max_depth != 0 && page->depth > batch->max_depth) {
        return page_db_error_ok;
    }
    /* An order keeps the index in what the level leaves of 64 bits. */
    if (page->index > bf_order_index(UINT64_MAX)) {
        return page_db_error_internal;
    }
    /* The level byte of a page that was discovered just now. */
    const Scorer *scorer = batch->sch->scorer;
    /* page_db_write tells of a page, then of what it discovered: so the last crawled one is the
     * parent. */
    const CrawledPage *parent = batch->n_crawled == 0 ? NULL : batch->pages[batch->n_crawled - 1];
    float score = 0.0f;
    bool is_scored = false;
    /* estimate knows the link and costs little. add is the documented way, which gets a
     * PageInfo. */
    if (scorer->estimate != NULL) {
        ScorerLink link = {.parent = page->linked_from,
                           .n_links = parent == NULL ? 0 : crawled_page_n_links(parent),
                           .page_score = parent == NULL ? 0.0f : parent->score,
                           .score = page->score};
        is_scored = scorer->estimate(scorer->state, &link, &score) == 0;
    } else if (scorer->add != NULL) {
        is_scored = bf_score_by_add(batch, page, parent, &score);
    }
    /* A scorer that has no opinion leaves it to the link, as if there were no scorer. */
    state->level = is_scored ? bf_scored_level(batch->sch, score)
                             : bf_link_level(batch->sch->state, page->score);
    BFOrder order = bf_entry(batch->sch->state, state->level, page->score, page->index);
    Result rc = bf_changes_add(&batch->changes, page->host, order, SCHEDULE_NO_LEVEL,
                               bf_order_level(order));
    return rc == RESULT_OK ? page_db_error_ok : page_db_error_memory;
}

static int bf_on_crawled(void *context, const PageRef *before, const PageRef *after, uint8_t *level)
{
    BFBatch *batch = context;
    BFOrder order = after->index;
    unsigned from = SCHEDULE_NO_LEVEL;
    batch->n_crawled++;
    batch->parent_hash = 0;
    *level = PAGE_DB_NO_LEVEL;
    /* Without a level it was never scheduled, or requested without leases: nothing is to be taken
     * out, but the front is to hear of the visit. */
    if (before->level != PAGE_DB_NO_LEVEL) {
        order = bf_entry(batch->sch->state, before->level, before->score, before->index);
        from = bf_order_level(order);
    }
    Result rc = bf_changes_add(&batch->changes, after->host, order, from, SCHEDULE_NO_LEVEL);
    return rc == RESULT_OK ? page_db_error_ok : page_db_error_memory;
}

/* The front learns of the commit. What cannot be told for want of memory is told by the schedule
 * later: the front starts anew. */
static void bf_tell_front_locked(BFSchedulerState *state, const BFChanges *changes)
{
    double now_s = (double)bf_time(state).ns / 1e9;
    for (size_t i = 0; i < changes->n; i++) {
        const ScheduleChange *c = &changes->items[i];
        if (c->to != SCHEDULE_NO_LEVEL) {
            if (bf_front_offer(state->front, c->host, bf_order(c->to, c->index)) != RESULT_OK) {
                bf_front_clear(state->front);
                return;
            }
            continue;
        }
        bool was_leased = bf_front_end_lease(state->front, bf_order_index(c->index));
        if (c->from != SCHEDULE_NO_LEVEL) {
            bf_front_withdraw(state->front, c->host, bf_order(c->from, c->index));
        }
        /* A page that we handed out was counted then: its host's rate must not count it twice. */
        if (!was_leased) {
            bf_front_visit(state->front, c->host, now_s);
        }
    }
}

/* One attempt. bf_scheduler_error_full: nothing was written. */
static BFSchedulerError bf_try_add(BFBatch *batch, const PageWrite *writes)
{
    BFScheduler *sch = batch->sch;
    BFSchedulerState *state = sch->state;
    const PageSink sink = {
        .context = batch, .discovered = bf_on_discovered, .crawled = bf_on_crawled};
    /* A second try is told everything again by the sink. */
    batch->changes.n = 0;
    batch->n_crawled = 0;
    MDB_txn *txn = NULL;
    BFSchedulerError code = bf_begin(sch, &txn);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    int rc = page_db_write(sch->page_db, txn, writes, batch->n_pages, &sink);
    if (rc != page_db_error_ok) {
        bf_abort(sch, txn);
        return bf_fail_page_db(sch, rc, "bf_scheduler_add: the pages cannot be written");
    }
    Result result =
        schedule_change_all(sch->state->schedule, txn, batch->changes.items, batch->changes.n);
    if (result != RESULT_OK) {
        bf_abort(sch, txn);
        return bf_fail_result(sch, result, "bf_scheduler_add: the schedule is not written");
    }
    code = bf_commit(sch, txn);
    if (code == bf_scheduler_error_ok) {
        bf_tell_front_locked(state, &batch->changes);
        state->n_added += batch->n_pages;
    }
    bf_end(state);
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
    BFBatch batch = {
        .sch = sch, .pages = pages, .n_pages = n_pages, .max_depth = sch->max_crawl_depth};
    mutex_unlock(&sch->state->mutex);
    BFSchedulerError code = bf_try_add(&batch, writes);
    /* Growing needs that no transaction is open, so it cannot be done within a try. */
    while (code == bf_scheduler_error_full && page_db_grow(sch->page_db) == page_db_error_ok) {
        code = bf_try_add(&batch, writes);
    }
    if (code == bf_scheduler_error_ok) {
        page_db_heat(sch->page_db, pages, n_pages);
    }
    free(batch.changes.items);
    free(writes);
    return code;
}

BFSchedulerError bf_scheduler_add(BFScheduler *sch, const CrawledPage *page)
{
    return bf_scheduler_add_batch(sch, &page, 1);
}

/* ---- Requests ---- */

#define BF_REQUEST_AT_ONCE 128u

/* A page on its way into a request. */
typedef struct BFTaken {
    BFOrder order;
    uint32_t host;
    int found; /* LMDB's code for its pack of records */
    MDB_val pack;
} BFTaken;

/* Adds the URL of a page: page_db_get without what nobody asked for. A page that is not there is
 * left out. */
static Result bf_request_add_url(BFScheduler *sch, PageReader *reader, const BFTaken *taken,
                                 PageRequest *request)
{
    uint64_t index = bf_order_index(taken->order);
    MDB_val value;
    PageRecord record;
    MDB_val origin;
    int rc = taken->found;
    if (rc == MDB_SUCCESS) {
        rc = page_reader_unpack(sch->page_db->store, reader, &taken->pack, index, &value);
    }
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

/* Takes up to BF_REQUEST_AT_ONCE pages, then finds their records, then reads them: what each step
 * needs is on its way from memory during the one before. *n = pages taken. */
static Result bf_request_take_some(BFScheduler *sch, PageReader *reader, double now_s, size_t most,
                                   PageRequest *request, BFChanges *handed, size_t *n)
{
    BFFront *front = sch->state->front;
    BFTaken taken[BF_REQUEST_AT_ONCE];
    size_t n_taken = 0;
    Result rc = RESULT_OK;
    while (n_taken < most && n_taken < BF_REQUEST_AT_ONCE && rc == RESULT_OK) {
        BFTaken *t = &taken[n_taken];
        rc = bf_front_take(front, reader->txn, now_s, &t->host, &t->order);
        if (rc == RESULT_OK) {
            /* Only a prefetch. Of a page that is not there the last pass leaves out the URL. */
            page_reader_begin(reader, bf_order_index(t->order));
            n_taken++;
        }
    }
    /* Nothing more is to be had now: what was taken before it is handed out all the same. */
    if (rc == RESULT_NOT_FOUND) {
        rc = RESULT_OK;
    }
    for (size_t i = 0; i < n_taken; i++) {
        taken[i].found = page_reader_pack(sch->page_db->store, reader,
                                          bf_order_index(taken[i].order), &taken[i].pack);
    }
    for (size_t i = 0; i < n_taken && rc == RESULT_OK; i++) {
        const BFTaken *t = &taken[i];
        rc = bf_request_add_url(sch, reader, t, request);
        if (rc == RESULT_OK) {
            rc = bf_changes_add(handed, t->host, t->order, bf_order_level(t->order),
                                SCHEDULE_NO_LEVEL);
        }
    }
    *n = n_taken;
    return rc;
}

/* Takes URLs until the request is full or nothing is to be had. The snapshot is made with the mutex
 * held: it has every commit that the front knows of. After an error nothing has been taken. */
static Result bf_request_take(BFScheduler *sch, size_t n_pages, PageRequest *request,
                              BFChanges *handed)
{
    BFFront *front = sch->state->front;
    PageReader *reader = NULL;
    Result rc = RESULT_IO;
    mutex_lock(&sch->state->mutex);
    double now_s = (double)bf_time(sch->state).ns / 1e9;
    if (page_reader_acquire(sch->page_db->store, &reader) == MDB_SUCCESS) {
        size_t n = 1;
        rc = RESULT_OK;
        bf_front_allow(front, BF_SCHEDULER_EFFORT);
        while (rc == RESULT_OK && n > 0 && request->n_urls < n_pages) {
            rc = bf_request_take_some(sch, reader, now_s, n_pages - request->n_urls, request,
                                      handed, &n);
        }
        page_reader_release(sch->page_db->store, reader);
    }
    /* Without leases the page leaves the schedule with this request: the front need not remember
     * it. */
    for (size_t i = 0; !sch->leases && i < handed->n; i++) {
        (void)bf_front_end_lease(front, bf_order_index(handed->items[i].index));
    }
    if (rc != RESULT_OK) {
        bf_front_clear(front); /* the schedule is as before: it is read anew */
    }
    mutex_unlock(&sch->state->mutex);
    return rc;
}

/* Removes the pages of a request from the schedule, and notes so in their records. */
static Result bf_request_remove(BFScheduler *sch, MDB_txn *txn, BFChanges *handed)
{
    PagePackEditor infos;
    page_pack_editor_begin(&infos, txn, sch->page_db->store->tables.idx2info,
                           sch->page_db->store->journal);
    for (size_t i = 0; i < handed->n; i++) {
        const ScheduleChange *c = &handed->items[i];
        /* A record that cannot be changed is found by the editor's end: errors stick there. */
        (void)bf_relevel(sch, &infos, bf_order_index(c->index), bf_order(c->from, c->index),
                         PAGE_DB_NO_LEVEL);
    }
    int rc = page_pack_editor_end(&infos, 0);
    if (rc != 0) {
        return rc == ENOMEM ? RESULT_MEMORY : lmdb_result(rc, "take pages out of the schedule");
    }
    return schedule_change_all(sch->state->schedule, txn, handed->items, handed->n);
}

/* The documented way: what is handed out has left the schedule durably. It is taken inside the
 * transaction that removes it, so that nobody else can come by it. */
static BFSchedulerError bf_request_take_out(BFScheduler *sch, size_t n_pages, PageRequest *request,
                                            BFChanges *handed)
{
    MDB_txn *txn = NULL;
    BFSchedulerError code = bf_begin(sch, &txn);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    Result rc = bf_request_take(sch, n_pages, request, handed);
    if (rc == RESULT_OK && handed->n > 0) {
        rc = bf_request_remove(sch, txn, handed);
    }
    /* Nothing to be had is no reason to commit: requests of an empty schedule would write each
     * time. */
    if (rc != RESULT_OK || handed->n == 0) {
        mutex_lock(&sch->state->mutex);
        if (rc != RESULT_OK) {
            bf_front_clear(sch->state->front);
        }
        mutex_unlock(&sch->state->mutex);
        bf_abort(sch, txn);
        return bf_fail_result(sch, rc, "bf_scheduler_request: the schedule is not written");
    }
    /* URLs leave this function only behind the commit. When it fails the pages are still scheduled,
     * and the front must find them again. */
    code = bf_commit(sch, txn);
    if (code != bf_scheduler_error_ok) {
        bf_front_clear(sch->state->front);
    }
    bf_end(sch->state);
    return code;
}

BFSchedulerError bf_scheduler_request(BFScheduler *sch, size_t n_pages, PageRequest **request)
{
    if (sch == NULL) {
        return bf_scheduler_error_invalid;
    }
    if (request == NULL) {
        return bf_fail(sch, bf_scheduler_error_invalid, "bf_scheduler_request: request is NULL");
    }
    BFChanges handed = {.items = NULL};
    BFSchedulerError code = bf_scheduler_error_full;
    *request = NULL;
    for (bool is_first = true; code == bf_scheduler_error_full; is_first = false) {
        if (!is_first && page_db_grow(sch->page_db) != page_db_error_ok) {
            break;
        }
        handed.n = 0;
        page_request_delete(*request);
        /* A bound on the first guess only: who asks for a million need not have room for them at
         * once. */
        *request = page_request_new(n_pages < 1024 ? n_pages : 1024);
        if (*request == NULL) {
            code = bf_fail(sch, bf_scheduler_error_memory, "bf_scheduler_request: out of memory");
        } else if (sch->leases) {
            code = bf_fail_result(sch, bf_request_take(sch, n_pages, *request, &handed),
                                  "bf_scheduler_request: the schedule cannot be read");
        } else {
            code = bf_request_take_out(sch, n_pages, *request, &handed);
        }
    }
    if (code != bf_scheduler_error_ok) {
        page_request_delete(*request);
        *request = NULL;
    }
    free(handed.items);
    return code;
}

/* ---- Back into the schedule ---- */

/* The level byte that a page should have: none when it was crawled, or is too deep. */
static uint8_t bf_wanted_level(const BFScheduler *sch, const PageRef *page)
{
    const Scorer *scorer = sch->scorer;
    float old = 0.0f;
    float score = 0.0f;
    if (page->n_crawls > 0 || (sch->max_crawl_depth != 0 && page->depth > sch->max_crawl_depth)) {
        return PAGE_DB_NO_LEVEL;
    }
    /* It is scheduled, or leased: its level stays, so that entries keep their place. */
    if (page->level != PAGE_DB_NO_LEVEL) {
        return page->level;
    }
    /* A score of 0 is a page that the scorer has not computed yet. */
    bool is_scored = scorer->get != NULL &&
                     scorer->get(scorer->state, page->index, &old, &score) == 0 && score > 0.0f;
    return is_scored ? bf_scored_level(sch, score) : bf_link_level(sch->state, page->score);
}

/* Makes the schedule agree with a page; page->level is then the one that it has. */
static Result bf_reload_page(BFScheduler *sch, MDB_txn *txn, PageRef *page)
{
    BFSchedulerState *state = sch->state;
    uint8_t before = page->level;
    uint8_t level = bf_wanted_level(sch, page);
    ScheduleChange changes[2];
    size_t n = 0;
    page->level = level;
    /* Its entry is found by the level that its record had: taken out first, put in anew below. */
    if (before != PAGE_DB_NO_LEVEL && level != before) {
        BFOrder order = bf_entry(state, before, page->score, page->index);
        changes[n++] = schedule_move(page->host, bf_order_level(order), SCHEDULE_NO_LEVEL,
                                     bf_order_value(order));
    }
    /* Also when nothing changed: an entry that is there is put again, and stays; one that was lost
     * comes back. */
    if (level != PAGE_DB_NO_LEVEL) {
        BFOrder order = bf_entry(state, level, page->score, page->index);
        changes[n++] = schedule_move(page->host, SCHEDULE_NO_LEVEL, bf_order_level(order),
                                     bf_order_value(order));
    }
    Result rc = schedule_change(state->schedule, txn, changes, n);
    if (rc != RESULT_OK || level == before) {
        return rc;
    }
    return page_db_result(
        page_db_set_state(sch->page_db, txn, page->index, page->status, level, page->tries));
}

#define BF_RELOAD_AT_ONCE 4096u

/* Reloads pages from *first on in one transaction; *first moves on. *is_end: it was the last. */
static BFSchedulerError bf_reload_some(BFScheduler *sch, uint64_t *first, bool *is_end)
{
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    MDB_txn *txn = NULL;
    BFSchedulerError code = bf_begin(sch, &txn);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    uint64_t n_pages = page_db_n_pages(sch->page_db, txn);
    uint64_t end = n_pages - *first < BF_RELOAD_AT_ONCE ? n_pages : *first + BF_RELOAD_AT_ONCE;
    Result rc = RESULT_OK;
    for (uint64_t index = *first; rc == RESULT_OK && index < end; index++) {
        PageRef page;
        bool is_read = page_db_get(sch->page_db, txn, index, &page, &url) == page_db_error_ok;
        rc = is_read ? bf_reload_page(sch, txn, &page) : RESULT_INTERNAL;
    }
    buffer_destroy(&url);
    if (rc != RESULT_OK) {
        bf_abort(sch, txn);
        return bf_fail_result(sch, rc, "bf_scheduler_reload: the schedule cannot be written");
    }
    code = bf_commit(sch, txn);
    /* Told by forgetting: the front reads the schedule anew, instead of 4096 changes one by one. */
    bf_front_clear(sch->state->front);
    bf_end(sch->state);
    if (code == bf_scheduler_error_ok) {
        *first = end;
        *is_end = end == n_pages;
    }
    return code;
}

BFSchedulerError bf_scheduler_reload(BFScheduler *sch)
{
    uint64_t first = 0;
    bool is_end = false;
    BFSchedulerError code = sch == NULL ? bf_scheduler_error_invalid : bf_scheduler_error_ok;
    /* Piece by piece, so that adds and requests get their turns, and a full map costs one piece. */
    while (code == bf_scheduler_error_ok && !is_end) {
        code = bf_reload_some(sch, &first, &is_end);
        if (code == bf_scheduler_error_full && page_db_grow(sch->page_db) == page_db_error_ok) {
            code = bf_scheduler_error_ok;
        }
    }
    return code;
}
