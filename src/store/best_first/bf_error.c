#include "store/best_first/bf_error.h"

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
