#include "store/best_first/bf_scheduler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/best_first/bf_scheduler_internal.h"
#include "store/page_tables/page_reader.h"
#include "store/format/page_record.h"

#define SCHEDULE_NAME   "bf_schedule"
#define LEVEL_RATIO     1.41421356f
#define FINE_BITS       (BF_VALUE_BITS - BF_INDEX_BITS)
#define FINE_STEPS      ((1u << FINE_BITS) - 1)
#define DOMAIN_TEMP_N   100000u
#define DOMAIN_TEMP_S   10.0f
#define RELOAD_AT_ONCE  4096u
#define REQUEST_AT_ONCE 128u

BFSchedulerError bf_fail(BFScheduler *sch, BFSchedulerError code, const char *what)
{
    error_clean(sch->error);
    error_set(sch->error, (int)code, what);
    return code;
}

BFSchedulerError bf_fail_page_db(BFScheduler *sch, int code, const char *what)
{
    switch (code) {
    case page_db_error_ok:
        return bf_scheduler_error_ok;
    case page_db_error_memory:
        return bf_fail(sch, bf_scheduler_error_memory, what);
    case page_db_error_full:
        return bf_fail(sch, bf_scheduler_error_full, what);
    case page_db_error_invalid_path:
        return bf_fail(sch, bf_scheduler_error_invalid_path, what);
    case page_db_error_no_page:
        return bf_fail(sch, bf_scheduler_error_no_page, what);
    default:
        return bf_fail(sch, bf_scheduler_error_internal, what);
    }
}

BFSchedulerError bf_fail_result(BFScheduler *sch, Result result, const char *what)
{
    if (result == RESULT_OK) {
        return bf_scheduler_error_ok;
    }
    return bf_fail(sch,
                   result == RESULT_MEMORY ? bf_scheduler_error_memory
                   : result == RESULT_FULL ? bf_scheduler_error_full
                                           : bf_scheduler_error_internal,
                   what);
}

/* ---- Entries ---- */

uint8_t bf_link_level(const BFSchedulerState *state, float score)
{
    return (uint8_t)(BF_EXACT_LEVEL | schedule_level(state->schedule, score));
}

uint8_t bf_scored_level(const BFScheduler *sch, float score)
{
    float scale = sch->scorer->scale == NULL ? 1.0f : sch->scorer->scale(sch->scorer->state);
    return (uint8_t)schedule_level(sch->state->schedule, score * scale);
}

BFOrder bf_entry(const BFSchedulerState *state, uint8_t level_byte, float score, uint64_t index)
{
    unsigned level = level_byte & (BF_EXACT_LEVEL - 1);
    uint64_t fine = 0;
    if ((level_byte & BF_EXACT_LEVEL) != 0) {
        float least = 0.0f;
        float below = 0.0f;
        schedule_level_range(state->schedule, level, &least, &below);
        /* how far from the best of the level, 0..1; above the first level's beginning: its share */
        double far = isinf(below) ? (double)least / (double)score
                                  : (double)(below - score) / (double)(below - least);
        far = far >= 0.0 ? far : 0.0;
        fine = far < 1.0 ? (uint64_t)(far * FINE_STEPS) : FINE_STEPS;
    }
    return bf_order(level, fine << BF_INDEX_BITS | index);
}

MonoTime bf_time(const BFSchedulerState *state)
{
    return timekeeper_now(state->time);
}

double bf_now(const BFSchedulerState *state)
{
    return (double)bf_time(state).ns / 1e9;
}

/* ---- Transactions and turns ---- */

/* Another writer has waited for the update thread. */
static void note_wait(BFSchedulerState *state, MonoTime start)
{
    int64_t waited_ns = bf_time(state).ns - start.ns;
    int_least64_t longest = atomic_load(&state->longest_wait_ns);
    while (waited_ns > longest &&
           !atomic_compare_exchange_weak(&state->longest_wait_ns, &longest, waited_ns)) {
    }
}

/* An update waits until all that have asked by now are served: not longer, so that it gets on while
 * others write all the time. */
static void yield_to_writers(BFSchedulerState *state)
{
    uint64_t asked = atomic_load(&state->asked);
    if (atomic_load(&state->served) >= asked) {
        return;
    }
    atomic_store(&state->yielding, true);
    mutex_lock(&state->mutex);
    while (atomic_load(&state->served) < asked && !atomic_load(&state->stopping)) {
        condition_wait(&state->was_served, &state->mutex);
    }
    mutex_unlock(&state->mutex);
    atomic_store(&state->yielding, false);
}

/* The writer has its transaction no more, or got none. */
static void end_writer(BFSchedulerState *state, BFWriter writer)
{
    if (writer == BF_UPDATE) {
        atomic_store(&state->updating, false);
        return;
    }
    atomic_fetch_add(&state->served, 1);
    if (atomic_load(&state->yielding)) {
        mutex_lock(&state->mutex);
        condition_broadcast(&state->was_served);
        mutex_unlock(&state->mutex);
    }
}

BFSchedulerError bf_begin(BFScheduler *sch, BFWriter writer, MDB_txn **txn)
{
    BFSchedulerState *state = sch->state;
    MonoTime start = bf_time(state);
    bool is_held_up = writer == BF_WRITER && atomic_load(&state->updating);
    if (writer == BF_UPDATE) {
        yield_to_writers(state);
        atomic_store(&state->updating, true);
    } else {
        atomic_fetch_add(&state->asked, 1);
    }
    int rc = page_db_txn_begin(sch->page_db, false, txn);
    if (rc != page_db_error_ok) {
        end_writer(state, writer);
    }
    if (is_held_up) {
        note_wait(state, start);
    }
    return bf_fail_page_db(sch, rc, "bf_scheduler: no transaction can be begun");
}

BFSchedulerError bf_commit(BFScheduler *sch, BFWriter writer, MDB_txn *txn, uint64_t *turn)
{
    *turn = atomic_fetch_add(&sch->state->turns, 1) + 1;
    int rc = page_db_txn_commit(sch->page_db, txn);
    end_writer(sch->state, writer);
    return bf_fail_page_db(sch, rc, "bf_scheduler: the transaction cannot be committed");
}

void bf_abort(BFScheduler *sch, BFWriter writer, MDB_txn *txn)
{
    page_db_txn_abort(sch->page_db, txn);
    end_writer(sch->state, writer);
}

bool bf_is_awaited(const BFSchedulerState *state)
{
    uint64_t served = atomic_load(&state->served);
    return atomic_load(&state->asked) > served;
}

void bf_turn_begin(BFSchedulerState *state, uint64_t turn)
{
    mutex_lock(&state->mutex);
    while (state->turn_done + 1 != turn) {
        condition_wait(&state->turn, &state->mutex);
    }
}

void bf_turn_end(BFSchedulerState *state)
{
    state->turn_done++;
    condition_broadcast(&state->turn);
    mutex_unlock(&state->mutex);
}

/* ---- Life ---- */

static BFSchedulerError open_schedule(BFScheduler *sch)
{
    const ScheduleOptions options = {
        .levels = SCHEDULE_MAX_LEVELS, .score_top = 1.0f, .score_ratio = LEVEL_RATIO};
    MDB_txn *txn = NULL;
    BFSchedulerError code = bf_begin(sch, BF_WRITER, &txn);
    if (code != bf_scheduler_error_ok) {
        return code;
    }
    Result rc = schedule_open_named(&sch->state->schedule, txn, SCHEDULE_NAME, &options);
    if (rc != RESULT_OK) {
        bf_abort(sch, BF_WRITER, txn);
        return bf_fail_result(sch, rc, "bf_scheduler_new: the schedule cannot be opened");
    }
    uint64_t turn = 0;
    code = bf_commit(sch, BF_WRITER, txn, &turn);
    bf_turn_begin(sch->state, turn);
    bf_turn_end(sch->state);
    return code;
}

static char *default_path(const PageDB *db)
{
    size_t bytes = strlen(db->path) + sizeof "_bfs";
    char *path = malloc(bytes);
    if (path != NULL) {
        (void)snprintf(path, bytes, "%s_bfs", db->path);
    }
    return path;
}

BFSchedulerError bf_scheduler_new(BFScheduler **sch, PageDB *db, const char *path)
{
    BFScheduler *s = *sch = calloc(1, sizeof *s);
    if (s == NULL) {
        return bf_scheduler_error_memory;
    }
    s->page_db = db;
    s->txn_manager = db->txn_manager;
    s->persist = BF_SCHEDULER_DEFAULT_PERSIST;
    s->max_soft_domain_crawl_rate = -1.0f;
    s->max_hard_domain_crawl_rate = -1.0f;
    s->error = error_new();
    s->scorer = calloc(1, sizeof *s->scorer);
    s->path = path == NULL ? default_path(db) : strdup(path);
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
    BFSchedulerError code = open_schedule(s);
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

/* ---- Requests ---- */

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

/* ---- Reload ---- */

/* Schedules the uncrawled ones among pages [first, end) that are not scheduled yet. */
static Result reload_pages(BFScheduler *sch, MDB_txn *txn, uint64_t first, uint64_t end,
                           Buffer *url)
{
    BFSchedulerState *state = sch->state;
    for (uint64_t index = first; index < end; index++) {
        PageRef page;
        int rc = page_db_get(sch->page_db, txn, index, &page, url);
        if (rc != page_db_error_ok) {
            return RESULT_INTERNAL;
        }
        bool is_wanted =
            page.n_crawls == 0 && (sch->max_crawl_depth == 0 || page.depth <= sch->max_crawl_depth);
        uint8_t level = page.level;
        if (!is_wanted) {
            level = PAGE_DB_NO_LEVEL;
        } else if (level == PAGE_DB_NO_LEVEL) {
            float old = 0.0f;
            float score = 0.0f;
            bool is_scored = sch->scorer->get != NULL &&
                             sch->scorer->get(sch->scorer->state, index, &old, &score) == 0 &&
                             score > 0.0f;
            level = is_scored ? bf_scored_level(sch, score) : bf_link_level(state, page.score);
        }
        Result result = RESULT_OK;
        if (page.level != PAGE_DB_NO_LEVEL && level != page.level) {
            BFOrder old = bf_entry(state, page.level, page.score, index);
            result = schedule_remove(state->schedule, txn, page.host, bf_order_level(old),
                                     bf_order_value(old));
        }
        if (result == RESULT_OK && level != PAGE_DB_NO_LEVEL) {
            BFOrder order = bf_entry(state, level, page.score, index);
            result = schedule_put(state->schedule, txn, page.host, bf_order_level(order),
                                  bf_order_value(order));
        }
        if (result == RESULT_OK && level != page.level &&
            page_db_set_state(sch->page_db, txn, index, page.status, level, page.tries) !=
                page_db_error_ok) {
            result = RESULT_INTERNAL;
        }
        if (result != RESULT_OK) {
            return result;
        }
    }
    return RESULT_OK;
}

BFSchedulerError bf_scheduler_reload(BFScheduler *sch)
{
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    BFSchedulerError code = bf_scheduler_error_ok;
    bool is_done = false;
    for (uint64_t first = 0; code == bf_scheduler_error_ok && !is_done;) {
        MDB_txn *txn = NULL;
        code = bf_begin(sch, BF_WRITER, &txn);
        if (code != bf_scheduler_error_ok) {
            break;
        }
        uint64_t n_pages = page_db_n_pages(sch->page_db, txn);
        uint64_t end = n_pages - first < RELOAD_AT_ONCE ? n_pages : first + RELOAD_AT_ONCE;
        Result rc = reload_pages(sch, txn, first, end, &url);
        if (rc != RESULT_OK) {
            bf_abort(sch, BF_WRITER, txn);
            if (rc == RESULT_FULL && page_db_grow(sch->page_db) == page_db_error_ok) {
                continue;
            }
            code = bf_fail_result(sch, rc, "bf_scheduler_reload: the schedule cannot be written");
            break;
        }
        uint64_t turn = 0;
        code = bf_commit(sch, BF_WRITER, txn, &turn);
        bf_turn_begin(sch->state, turn);
        is_done = end == n_pages;
        if (is_done) {
            bf_front_clear(sch->state->front);
        }
        bf_turn_end(sch->state);
        first = end;
    }
    buffer_destroy(&url);
    return code;
}

/* ---- Settings ---- */

void bf_scheduler_set_persist(BFScheduler *sch, int value)
{
    sch->persist = value;
}

BFSchedulerError bf_scheduler_set_max_domain_crawl_rate(BFScheduler *sch, float max_soft_crawl_rate,
                                                        float max_hard_crawl_rate)
{
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
    mutex_lock(&sch->state->mutex);
    sch->max_crawl_depth = value;
    mutex_unlock(&sch->state->mutex);
}

void bf_scheduler_set_update_interval(BFScheduler *sch, time_t value)
{
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
