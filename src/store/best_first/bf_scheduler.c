#include "store/best_first/bf_scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/best_first/bf_error.h"
#include "store/best_first/bf_moves.h"
#include "store/best_first/bf_turn.h"
#include "store/lmdb/lmdb_result.h"
#include "store/page_tables/page_store.h"

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
