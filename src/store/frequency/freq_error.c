#include "store/frequency/freq_error.h"

#include <errno.h>
#include <lmdb.h>

FreqSchedulerError freq_fail(FreqScheduler *sch, FreqSchedulerError code, const char *what)
{
    error_clean(sch->error);
    error_set(sch->error, (int)code, what);
    return code;
}

static FreqSchedulerError freq_error_code_of(int code)
{
    switch (code) {
    case page_db_error_ok:
        return freq_scheduler_error_ok;
    case page_db_error_memory:
        return freq_scheduler_error_memory;
    case page_db_error_invalid_path:
        return freq_scheduler_error_invalid_path;
    case page_db_error_full:
        return freq_scheduler_error_full;
    case page_db_error_locked:
        return freq_scheduler_error_locked;
    default:
        return freq_scheduler_error_internal;
    }
}

FreqSchedulerError freq_fail_page_db(FreqScheduler *sch, int code, const char *what)
{
    if (code == page_db_error_ok) {
        return freq_scheduler_error_ok;
    }
    (void)freq_fail(sch, freq_error_code_of(code), what);
    const char *words = error_message(sch->page_db->error);
    if (words != NULL) {
        error_add(sch->error, words);
    }
    return freq_error_code_of(code);
}

/* The code of page_db.h for one of LMDB's. */
int freq_page_db_code(int rc)
{
    switch (rc) {
    case MDB_SUCCESS:
        return page_db_error_ok;
    case MDB_MAP_FULL:
    case ENOSPC:
        return page_db_error_full;
    case ENOMEM:
        return page_db_error_memory;
    default:
        return page_db_error_internal;
    }
}
