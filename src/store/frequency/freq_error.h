/* How the codes of LMDB and PageDB become a FreqScheduler's.
 *
 * What: each function sets the Error of the scheduler and returns the code.
 * Threads: any; Error has a lock of its own. */
#ifndef STORE_FREQUENCY_FREQ_ERROR_H
#define STORE_FREQUENCY_FREQ_ERROR_H

#include "store/frequency/freq_scheduler_types.h"

/* Sets the error and returns the code. */
FreqSchedulerError freq_fail(FreqScheduler *sch, FreqSchedulerError code, const char *what);
/* The same for a code of page_db.h; ok is success and leaves the error alone. */
FreqSchedulerError freq_fail_page_db(FreqScheduler *sch, int code, const char *what);
/* The code of page_db.h for one of LMDB's. */
int freq_page_db_code(int rc);

#endif
