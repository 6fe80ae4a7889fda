#include "store/best_first/bf_scheduler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/best_first/bf_turn.h"
#include "store/format/page_record.h"
#include "store/lmdb/lmdb_result.h"
#include "store/page_tables/page_reader.h"
#include "store/page_tables/page_store.h"
#include "store/pages/page_db.h"
#include "store/pages/page_db_read.h"

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

/* ---- Best-first ---- */

#define SCHEDULE_NAME "bf_schedule"
#define LEVEL_RATIO   1.41421356f
#define DOMAIN_TEMP_N 100000u
#define DOMAIN_TEMP_S 10.0f

/* ---- Life ---- */

/* What tells one path from another: its last component. "": the default. */
static const char *path_name(const char *path)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    return path == NULL ? "" : slash == NULL ? path : slash + 1;
}

/* Notes whose schedule it is. RESULT_EXISTS: it is another one's, and not empty. */
static Result claim_schedule(BFScheduler *sch, MDB_txn *txn, const char *name)
{
    MDB_dbi info = sch->page_db->store->tables.info;
    char key_text[] = SCHEDULE_NAME "_path";
    MDB_val key = {sizeof key_text, key_text};
    MDB_val value;
    uint64_t entries = 0;
    uint64_t hosts = 0;
    int rc = mdb_get(txn, info, &key, &value);
    if (rc == MDB_SUCCESS && value.mv_size == strlen(name) &&
        memcmp(value.mv_data, name, value.mv_size) == 0) {
        return RESULT_OK;
    }
    if (rc == MDB_SUCCESS) {
        Result result = schedule_counts(sch->state->schedule, txn, &entries, &hosts);
        if (result != RESULT_OK || entries > 0) {
            return result != RESULT_OK ? result : RESULT_EXISTS;
        }
    }
    if (rc == MDB_SUCCESS || rc == MDB_NOTFOUND) {
        value = (MDB_val){strlen(name), (char *)(uintptr_t)name};
        rc = mdb_put(txn, info, &key, &value, 0);
    }
    return lmdb_result(rc, "note the path of the schedule");
}

static BFSchedulerError open_schedule(BFScheduler *sch, const char *name)
{
    const ScheduleOptions options = {
        .levels = SCHEDULE_MAX_LEVELS, .score_top = 1.0f, .score_ratio = LEVEL_RATIO};
    MDB_txn *txn = NULL;
    BFSchedulerError code = bf_begin(sch, BF_WRITER, &txn);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    Result rc = schedule_open_named(&sch->state->schedule, txn, SCHEDULE_NAME, &options);
    rc = rc == RESULT_OK ? claim_schedule(sch, txn, name) : rc;
    if (rc != RESULT_OK) {
        bf_abort(sch, BF_WRITER, txn);
        return rc == RESULT_EXISTS
                   ? bf_fail(sch, bf_scheduler_error_invalid,
                             "bf_scheduler_new: this PageDB has a schedule that was made under "
                             "another path; give that path, or another PageDB")
                   : bf_fail_result(sch, rc, "bf_scheduler_new: the schedule cannot be opened");
    }
    uint64_t turn = 0;
    code = bf_commit(sch, BF_WRITER, txn, &turn);
    bf_turn_begin(sch->state, turn);
    bf_turn_end(sch->state);
    return code;
}

static char *bf_scheduler_default_path(const char *db_path)
{
    size_t bytes = strlen(db_path) + sizeof "_bfs";
    char *path = malloc(bytes);
    if (path != NULL) {
        (void)snprintf(path, bytes, "%s_bfs", db_path);
    }
    return path;
}

BFSchedulerError bf_scheduler_new(BFScheduler **sch, PageDB *db, const char *path)
{
    if (sch == NULL) {
        return bf_scheduler_error_invalid;
    }
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
    s->path = path == NULL ? bf_scheduler_default_path(db == NULL ? "" : db->path) : strdup(path);
    s->state = calloc(1, sizeof *s->state);
    if (s->state != NULL) {
        mutex_init(&s->state->mutex, RANK_SCHEDULER);
        s->state->time = &timekeeper_system;
        condition_init(&s->state->turn);
        bf_moves_init(s->state);
        condition_init(&s->state->was_served);
        condition_init(&s->state->wake);
    }
    if (s->error == NULL || s->scorer == NULL || s->path == NULL || s->state == NULL) {
        bf_scheduler_delete(s);
        *sch = NULL;
        return bf_scheduler_error_memory;
    }
    if (s->txn_manager == NULL) {
        return bf_fail(s, bf_scheduler_error_invalid,
                       "bf_scheduler_new: db is NULL, or was not opened");
    }
    if (atomic_exchange(&db->store->has_best_first, true)) {
        return bf_fail(s, bf_scheduler_error_locked,
                       "bf_scheduler_new: another BFScheduler works on this PageDB");
    }
    s->state->is_claimed = true;
    BFSchedulerError code = open_schedule(s, path_name(path));
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    s->state->front = bf_front_new(s->state->schedule);
    return s->state->front != NULL
               ? bf_scheduler_error_ok
               : bf_fail(s, bf_scheduler_error_memory, "bf_scheduler_new: out of memory");
}

static void empty_schedule(BFScheduler *sch)
{
    MDB_txn *txn = NULL;
    if (bf_begin(sch, BF_WRITER, &txn) != bf_scheduler_error_ok) {
        return;
    }
    if (schedule_clear(sch->state->schedule, txn) == RESULT_OK) {
        uint64_t turn = 0; /* the last one: nobody waits for it */
        (void)bf_commit(sch, BF_WRITER, txn, &turn);
    } else {
        bf_abort(sch, BF_WRITER, txn);
    }
}

void bf_scheduler_delete(BFScheduler *sch)
{
    if (sch == NULL) {
        return;
    }
    if (sch->state != NULL) {
        (void)bf_scheduler_update_stop(sch);
        if (!sch->persist && sch->state->schedule != NULL) {
            empty_schedule(sch);
        }
        if (sch->state->is_claimed) {
            atomic_store(&sch->page_db->store->has_best_first, false);
        }
        bf_front_delete(sch->state->front);
        schedule_close(sch->state->schedule);
        condition_destroy(&sch->state->wake);
        condition_destroy(&sch->state->was_served);
        condition_destroy(&sch->state->moved);
        condition_destroy(&sch->state->turn);
        mutex_destroy(&sch->state->mutex);
        free(sch->state->moves);
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
    int tracked = page_db_error_ok;
    if (max_hard_crawl_rate > 0.0f || max_soft_crawl_rate > 0.0f) {
        tracked = (int)page_db_set_domain_temp(sch->page_db, DOMAIN_TEMP_N, DOMAIN_TEMP_S);
    }
    return bf_fail_page_db(sch, tracked, "bf_scheduler_set_max_domain_crawl_rate: out of memory");
}

void bf_scheduler_set_max_crawl_depth(BFScheduler *sch, uint64_t value)
{
    if (sch == NULL) {
        return;
    }
    mutex_lock(&sch->state->mutex);
    sch->max_crawl_depth = value;
    mutex_unlock(&sch->state->mutex);
}

void bf_scheduler_set_update_interval(BFScheduler *sch, time_t value)
{
    if (sch == NULL) {
        return;
    }
    mutex_lock(&sch->state->mutex);
    sch->state->interval_s = value;
    condition_broadcast(&sch->state->wake);
    mutex_unlock(&sch->state->mutex);
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
    counts->longest_wait_ms = (double)atomic_load(&sch->state->longest_wait_ns) / 1e6;
    mutex_unlock(&sch->state->mutex);
    MDB_txn *txn = NULL;
    int rc = page_db_txn_begin(sch->page_db, true, &txn);
    if (rc != page_db_error_ok) {
        return bf_fail_page_db(sch, rc, "bf_scheduler_counts: the schedule cannot be read");
    }
    Result result = schedule_counts(sch->state->schedule, txn, &counts->scheduled, &counts->hosts);
    page_db_txn_abort(sch->page_db, txn);
    return bf_fail_result(sch, result, "bf_scheduler_counts: the schedule cannot be read");
}

/* Requests: taking URLs from the front and out of the schedule, and giving them back. */

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
    rc = rc == MDB_SUCCESS
             ? page_reader_unpack(sch->page_db->store, reader, &taken->pack, index, &value)
             : rc;
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
