/* Revisits: every page again and again, each as often as its frequency says.
 *
 * What: stride scheduling on a virtual clock. A page stands at a virtual time; a request hands out
 * the page with the least time and moves it on by 1 / frequency. So visits are in the ratio of
 * frequencies exactly, whatever rate requests come at. With frequencies that sum to the rate of
 * requests, virtual seconds are seconds. Only pages that were loaded take part; those that were
 * crawled already are loaded, see the load functions.
 *
 * margin: when it is not negative, a page is not handed out before 1 / (frequency * (1 + margin))
 * seconds have passed since its last crawl. And a page that was handed out is not handed out again
 * before it was crawled (added with a new crawl), or lease_s seconds have passed, which its entry
 * says. A request passes over such pages, FREQ_SCHEDULER_PASSED_MAX of them: what is due does not
 * wait behind what is not. Without a margin pages are handed out by
 * frequency alone, whether they are crawled or not. max_n_crawls: pages that were crawled so often
 * leave the schedule; 0: never.
 *
 * On disk there are two tables in the PageDB's environment: "freq_schedule" (virtual time, page
 * index -> frequency) and "freq_pages" (page index -> virtual time). So a page is scheduled once,
 * however often it is loaded. New pages enter at the virtual time of now, so that they do not have
 * to catch up. A page that was handed out is already in its next place, so a crash loses nothing.
 * `path` of freq_scheduler_new is remembered and not used.
 *
 * Owns: its Error; PageDB is borrowed.
 * Threads: any; writing calls take turns. Between cursor_open and cursor_commit or cursor_abort the
 * calling thread holds the write transaction.
 * Errors: the returned code; `error` has the words of the last failure. What failed changed
 * nothing.
 * Source: seed 003, "FreqScheduler". */
#ifndef STORE_FREQUENCY_FREQ_SCHEDULER_H
#define STORE_FREQUENCY_FREQ_SCHEDULER_H

#include "store/frequency/freq_scheduler_types.h"

/* path may be NULL. On failure *sch is NULL or holds the error, and is to be deleted.
 * freq_scheduler_error_locked: another FreqScheduler works on the PageDB. A NULL argument is
 * freq_scheduler_error_invalid, here and in all calls below. */
FreqSchedulerError freq_scheduler_new(FreqScheduler **sch, PageDB *db, const char *path);
/* NULL is allowed. */
void freq_scheduler_delete(FreqScheduler *sch);

/* Adds a crawled page to the PageDB. */
FreqSchedulerError freq_scheduler_add(FreqScheduler *sch, const CrawledPage *page);
/* Up to max_requests URLs. The caller deletes *request. */
FreqSchedulerError freq_scheduler_request(FreqScheduler *sch, size_t max_requests,
                                          PageRequest **request);

/* Pages in the schedule. */
FreqSchedulerError freq_scheduler_count(FreqScheduler *sch, uint64_t *n_pages);
/* Removes all pages. */
FreqSchedulerError freq_scheduler_clear(FreqScheduler *sch);
/* Calls visit for every page in order of turn until it returns other than 0. */
FreqSchedulerError freq_scheduler_walk(FreqScheduler *sch,
                                       int (*visit)(void *context, double time, double freq,
                                                    const char *url),
                                       void *context);
/* One line a page in order of turn: "%.2e %016x %.2e": virtual time, hash, frequency. */
FreqSchedulerError freq_scheduler_dump(FreqScheduler *sch, FILE *output);

/* The PageFreq of every page crawled at least twice at different times: page_info_rate. path: of
 * the array's file, NULL for memory. On failure *freqs is NULL, and *error_message, if given, is a
 * malloc'd string or NULL. */
FreqSchedulerError freq_algo_simple(PageDB *db, MMapArray **freqs, const char *path,
                                    char **error_message);

/* Frequency scheduler, loading: pages and their rates from a PageDB, a table or rules.
 *
 * What: fills the tables of a scheduler, at once or by a cursor. freq_scheduler.h includes it. */

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
