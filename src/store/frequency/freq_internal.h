/* What the files of FreqScheduler share: its errors and the entries of its tables. */
#ifndef STORE_FREQUENCY_FREQ_INTERNAL_H
#define STORE_FREQUENCY_FREQ_INTERNAL_H

#include <stdbool.h>

#include "store/frequency/freq_scheduler.h"

/* Virtual times are not negative, so that the order of their bits is theirs. */
typedef struct FreqEntry {
    double time;
    uint64_t index;
    float freq;
} FreqEntry;

/* Sets the error and returns the code. */
FreqSchedulerError freq_fail(FreqScheduler *sch, FreqSchedulerError code, const char *what);
/* The same for a code of page_db.h; ok is success and leaves the error alone. */
FreqSchedulerError freq_fail_page_db(FreqScheduler *sch, int code, const char *what);
/* The code of page_db.h for one of LMDB's. */
int freq_page_db_code(int rc);

/* Opens the two tables; without create MDB_NOTFOUND when there are none. Usable by other
 * transactions once txn is committed. */
int freq_tables_open(FreqScheduler *sch, MDB_txn *txn, bool create);

/* Codes of LMDB. put writes a new entry into both tables, find finds that of a page. */
int freq_entry_put(const FreqScheduler *sch, MDB_txn *txn, FreqEntry *entry);
int freq_entry_find(const FreqScheduler *sch, MDB_txn *txn, uint64_t index, FreqEntry *entry);
int freq_entry_delete(const FreqScheduler *sch, MDB_txn *txn, const FreqEntry *entry);
/* The first entry in order of (time, index) that is not before *entry; MDB_NOTFOUND. */
int freq_entry_seek(const FreqScheduler *sch, MDB_txn *txn, FreqEntry *entry);
/* The virtual time of now: that of the first entry; 0 when there is none. */
int freq_clock_read(const FreqScheduler *sch, MDB_txn *txn, double *time);

#endif
