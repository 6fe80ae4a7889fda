/* The tables of a FreqScheduler: when each page is due, and how often it is visited.
 *
 * What: freq_schedule has an entry for each page in order of its virtual time; freq_pages finds the
 * entry of a page. The value of an entry is its frequency, and behind it, of a page that is out,
 * until when and from which crawl on.
 * Owns: nothing; the handles are the scheduler's.
 * Threads: the one whose transaction it is.
 * Invariants: both tables always agree.
 * Errors: LMDB codes. */
#pragma once

#include <lmdb.h>

#include "store/frequency/freq_scheduler_types.h"

/* How the codes of LMDB and PageDB become a FreqScheduler's.
 *
 * What: each function sets the Error of the scheduler and returns the code.
 * Threads: any; Error has a lock of its own. */

/* Sets the error and returns the code. */
FreqSchedulerError freq_fail(FreqScheduler *sch, FreqSchedulerError code, const char *what);
/* The same for a code of page_db.h; ok is success and leaves the error alone. */
FreqSchedulerError freq_fail_page_db(FreqScheduler *sch, int code, const char *what);
/* freq_scheduler_error_invalid: sch is NULL, or an argument is (is_given is false), as what says.
 */
FreqSchedulerError freq_check(FreqScheduler *sch, bool is_given, const char *what);

/* Virtual times are not negative, so that the order of their bits is theirs. */
typedef struct FreqEntry {
    double time;
    uint64_t index;
    float freq;
    double out_until_s;  /* wall time: it was handed out, and until then nobody else gets it, */
    uint64_t out_crawls; /* unless it was crawled more often than this. 0: it is not out */
} FreqEntry;

/* Opens the two tables; without create MDB_NOTFOUND when there are none. Usable by other
 * transactions once txn is committed. */
int freq_entries_open(FreqScheduler *sch, MDB_txn *txn, bool create);

/* Reads an entry of freq_schedule. False when key and value are not an entry. */
bool freq_entry_read(const MDB_val *key, const MDB_val *value, FreqEntry *entry);
/* put writes a new entry into both tables, find finds that of a page. */
int freq_entry_put(const FreqScheduler *sch, MDB_txn *txn, FreqEntry *entry);
int freq_entry_find(const FreqScheduler *sch, MDB_txn *txn, uint64_t index, FreqEntry *entry);
int freq_entry_delete(const FreqScheduler *sch, MDB_txn *txn, const FreqEntry *entry);
/* The first entry in order of (time, index) that is not before *entry; MDB_NOTFOUND. */
int freq_entry_seek(const FreqScheduler *sch, MDB_txn *txn, FreqEntry *entry);
/* The present virtual time: that of the first entry; 0 when there is none. */
int freq_clock_read(const FreqScheduler *sch, MDB_txn *txn, double *time);
