#include "store/best_first/bf_error.h"

BFSchedulerError bf_fail(BFScheduler *sch, BFSchedulerError code, const char *what)
{
    error_clean(sch->error);
    error_set(sch->error, (int)code, what);
    return code;
}

static BFSchedulerError bf_error_code_of(int code)
{
    switch (code) {
    case page_db_error_ok:
        return bf_scheduler_error_ok;
    case page_db_error_memory:
        return bf_scheduler_error_memory;
    case page_db_error_full:
        return bf_scheduler_error_full;
    case page_db_error_invalid_path:
        return bf_scheduler_error_invalid_path;
    case page_db_error_no_page:
        return bf_scheduler_error_no_page;
    case page_db_error_locked:
        return bf_scheduler_error_locked;
    default:
        return bf_scheduler_error_internal;
    }
}

BFSchedulerError bf_fail_page_db(BFScheduler *sch, int code, const char *what)
{
    if (code == page_db_error_ok) {
        return bf_scheduler_error_ok;
    }
    (void)bf_fail(sch, bf_error_code_of(code), what);
    const char *words = error_message(sch->page_db->error);
    if (words != NULL) {
        error_add(sch->error, words);
    }
    return bf_error_code_of(code);
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
