#include "store/best_first/bf_state.h"

#include <math.h>
#include <stdlib.h>

#include "store/schedule/schedule_read.h"

/* ---- Errors ---- */

BFSchedulerError bf_fail(BFScheduler *sch, BFSchedulerError code, const char *what)
{
    error_clean(sch->error);
    error_set(sch->error, (int)code, what);
    return code;
}

static BFSchedulerError bf_code_of(int code)
{
    static const BFSchedulerError codes[] = {[page_db_error_memory] = bf_scheduler_error_memory,
                                             [page_db_error_full] = bf_scheduler_error_full,
                                             [page_db_error_invalid_path] =
                                                 bf_scheduler_error_invalid_path,
                                             [page_db_error_no_page] = bf_scheduler_error_no_page,
                                             [page_db_error_locked] = bf_scheduler_error_locked};
    bool is_known = code >= 0 && (size_t)code < sizeof codes / sizeof *codes;
    return is_known && codes[code] != 0 ? codes[code] : bf_scheduler_error_internal;
}

BFSchedulerError bf_fail_page_db(BFScheduler *sch, int code, const char *what)
{
    if (code == page_db_error_ok) {
        return bf_scheduler_error_ok;
    }
    (void)bf_fail(sch, bf_code_of(code), what);
    const char *words = error_message(sch->page_db->error);
    if (words != NULL) {
        error_add(sch->error, words);
    }
    return bf_code_of(code);
}

BFSchedulerError bf_fail_result(BFScheduler *sch, Result result, const char *what)
{
    if (result == RESULT_OK) {
        return bf_scheduler_error_ok;
    }
    BFSchedulerError code = bf_scheduler_error_internal;
    if (result == RESULT_MEMORY) {
        code = bf_scheduler_error_memory;
    } else if (result == RESULT_FULL) {
        code = bf_scheduler_error_full;
    }
    return bf_fail(sch, code, what);
}

/* ---- How a page stands in the schedule ---- */

#define BF_FINE_STEPS ((1u << (BF_VALUE_BITS - BF_INDEX_BITS)) - 1)

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
        fine = far < 1.0 ? (uint64_t)(far * BF_FINE_STEPS) : BF_FINE_STEPS;
    }
    return bf_order(level, fine << BF_INDEX_BITS | index);
}

bool bf_relevel(const BFScheduler *sch, PagePackEditor *infos, uint64_t index, BFOrder from,
                uint8_t level_byte)
{
    MDB_val value;
    PageRecord record;
    if (!page_pack_editor_read(infos, index, 0, &value, &record) ||
        record.level == PAGE_DB_NO_LEVEL ||
        bf_entry(sch->state, record.level, record.score, index) != from) {
        return false;
    }
    record.level = level_byte;
    page_pack_editor_set_head(infos, index, &value, &record);
    return true;
}

/* ---- Write transactions ---- */

BFSchedulerError bf_begin(BFScheduler *sch, MDB_txn **txn)
{
    int rc = page_db_txn_begin(sch->page_db, false, txn);
    if (rc != page_db_error_ok) {
        return bf_fail_page_db(sch, rc, "bf_scheduler: no transaction can be begun");
    }
    mutex_lock(&sch->state->commits);
    return bf_scheduler_error_ok;
}

BFSchedulerError bf_commit(BFScheduler *sch, MDB_txn *txn)
{
    int rc = page_db_txn_commit(sch->page_db, txn);
    mutex_lock(&sch->state->mutex);
    return bf_fail_page_db(sch, rc, "bf_scheduler: the transaction cannot be committed");
}

void bf_end(BFSchedulerState *state)
{
    condition_broadcast(&state->wake);
    mutex_unlock(&state->mutex);
    mutex_unlock(&state->commits);
}

void bf_abort(BFScheduler *sch, MDB_txn *txn)
{
    page_db_txn_abort(sch->page_db, txn);
    mutex_unlock(&sch->state->commits);
}
