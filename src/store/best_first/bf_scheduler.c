#include "store/best_first/bf_scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/best_first/bf_error.h"
#include "store/best_first/bf_moves.h"
#include "store/best_first/bf_turn.h"

#define SCHEDULE_NAME "bf_schedule"
#define LEVEL_RATIO   1.41421356f
#define DOMAIN_TEMP_N 100000u
#define DOMAIN_TEMP_S 10.0f

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
