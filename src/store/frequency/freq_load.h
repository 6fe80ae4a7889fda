/* Frequency scheduler, loading: pages and their rates from a PageDB, a table or rules.
 *
 * What: fills the tables of a scheduler, at once or by a cursor. freq_scheduler.h includes it.
 * Owns: a cursor is the caller's until it is committed or aborted.
 * Threads: one at a time for one scheduler.
 * Errors: those of FreqSchedulerError. */
#ifndef STORE_FREQUENCY_FREQ_LOAD_H
#define STORE_FREQUENCY_FREQ_LOAD_H

#include "store/frequency/freq_scheduler_types.h"

/* Loads every page that was crawled (but start pages named "_seed_..."): with frequency
 * freq_default, or, if freq_scale is above 0 and the page's change rate (page_info_rate) is known,
 * freq_scale times that. */
FreqSchedulerError freq_scheduler_load_simple(FreqScheduler *sch, float freq_default,
                                              float freq_scale);

/* Loads an array of PageFreq. Frequencies not above 0 and unknown pages are skipped. */
FreqSchedulerError freq_scheduler_load_mmap(FreqScheduler *sch, MMapArray *freqs);

/* Loads every page that was crawled, by rules, with the change rate of freq_change_rate; pages that
 * no rule decides have freq_default (not above 0: they are not loaded). *n_loaded may be NULL. */
FreqSchedulerError freq_scheduler_load_rules(FreqScheduler *sch, const FreqRules *rules,
                                             float freq_default, uint64_t *n_loaded);

/* Loads pages one by one, in one transaction. Unknown pages, and frequencies that are not above 0,
 * are skipped. After an error, call freq_scheduler_cursor_abort. */
FreqSchedulerError freq_scheduler_cursor_open(FreqScheduler *sch, MDB_cursor **cursor);

FreqSchedulerError freq_scheduler_cursor_write(FreqScheduler *sch, MDB_cursor *cursor,
                                               uint64_t hash, float freq);

FreqSchedulerError freq_scheduler_cursor_commit(FreqScheduler *sch, MDB_cursor *cursor);

void freq_scheduler_cursor_abort(FreqScheduler *sch, MDB_cursor *cursor);

#endif
