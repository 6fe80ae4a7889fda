/* How the codes of PageDB and of the schedule become a BFScheduler's.
 *
 * What: each function sets the Error of the scheduler and returns the code.
 * Threads: any; Error has a lock of its own. */
#ifndef STORE_BEST_FIRST_BF_ERROR_H
#define STORE_BEST_FIRST_BF_ERROR_H

#include "base/core/result.h"
#include "store/best_first/bf_scheduler.h"

BFSchedulerError bf_fail(BFScheduler *sch, BFSchedulerError code, const char *what);
/* code: of page_db.h. */
BFSchedulerError bf_fail_page_db(BFScheduler *sch, int code, const char *what);
BFSchedulerError bf_fail_result(BFScheduler *sch, Result result, const char *what);

#endif
