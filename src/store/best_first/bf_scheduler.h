/* Best-first: the uncrawled page with the highest score is crawled next.
 *
 *   bf_scheduler_add ----> PageDB + schedule (one transaction) ----> front (RAM) ----> _request
 *                                     ^                                 ^
 *                update thread: scorer, then moves between levels ------+
 *
 * What: the score of a page is that of the link by which it was found, or the scorer's, once one
 * was set up in sch->scorer (page_rank_scorer_setup, hits_scorer_setup, ...; before the first add).
 *
 * Where it is kept: the schedule is two tables ("bf_schedule", "bf_schedule_hosts") in the PageDB's
 * own environment, so that a page and its entries are committed together. PageInfo is as
 * documented, and the record of each page knows the level at which it is scheduled. `path` of
 * bf_scheduler_new is where the documented library kept an environment of its own; here it is only
 * remembered.
 *
 * Order: scores are mapped to 64 levels, each worth the factor 1.41 (schedule.h). Scores of links
 * do not change, and are kept exactly enough (1/4096 of a level) to order the pages of a level as
 * well. Scores of a scorer do change: pages of one level go in order of discovery, and an update
 * moves a page only when its level changes. Between hosts the order is the same, but a request
 * spends no more than BF_SCHEDULER_EFFORT reads of the schedule on perfecting it (bf_front.h).
 *
 * What becomes of a page that was requested is said by `leases`. Without, the documented way and
 * the default, the request takes the page out of the schedule for good, in a transaction of its
 * own: nothing hands it out again, also after a restart, until it is reloaded. So a
 * page whose fetch fails, or is lost in a crash, is not crawled unless somebody says so. With
 * leases a request writes nothing: the page is not handed out again by this object, and leaves the
 * schedule when it is added as crawled; a crash loses nothing, and what was out is handed out once
 * more after a restart. In both ways bf_scheduler_reload schedules all that were never crawled.
 *
 * A PageDB has one BFScheduler at a time, and one schedule, whatever the path: a second object is
 * refused.
 *
 * Rates: max_soft_domain_crawl_rate and max_hard_domain_crawl_rate are URLs per second and host,
 * counted when they are handed out. Pages of hosts below the soft rate go first, then, in
 * BF_SCHEDULER_CRAWL_RATE_STEPS steps, those of hosts up to the hard rate (bf_front.h). "Domain" is
 * the origin of a page: scheme, host and port.
 *
 * Updates: the thread computes scores, compares them with the schedule in short read transactions,
 * and moves pages whose level is another one, up to 100 in a transaction. Behind each it pauses
 * nine times as long as the transaction took with its commit, so an add waits for one such
 * transaction at most, and for that in a tenth of the time. A move may be lost, as at a crash or a
 * stop. The next update finds it again, since what is moved is only where scores and schedule
 * differ; the page itself stays.
 *
 * Owns: its state and its thread; PageDB is borrowed.
 * Threads: add, request, reload and the settings: any thread, at once. update_start,
 * update_stop and update: one thread, and update only while the thread does not run. Writing
 * transactions take turns; what they changed reaches the front in the order of their commits. stop
 * ends a running computation; moves that it has found are forgotten.
 * Errors: a NULL argument is bf_scheduler_error_invalid; a setting of NULL does nothing. Otherwise
 * the returned code; `error` has the words of the last failure. What failed changed
 * nothing.
 * Source: seeds 000 and 003, "BFScheduler"; DESIGN section 3. */
#ifndef STORE_BEST_FIRST_BF_SCHEDULER_H
#define STORE_BEST_FIRST_BF_SCHEDULER_H

#include "store/best_first/bf_update.h"

/* path may be NULL. On failure *sch is NULL or holds the error, and is to be deleted.
 * bf_scheduler_error_locked: another BFScheduler works on the PageDB. bf_scheduler_error_invalid:
 * db is NULL. */
BFSchedulerError bf_scheduler_new(BFScheduler **sch, PageDB *db, const char *path);
/* Stops the update thread if it runs. NULL is allowed. */
void bf_scheduler_delete(BFScheduler *sch);

/* Adds a crawled page to PageDB, removes it from the schedule, schedules what it discovered. */
BFSchedulerError bf_scheduler_add(BFScheduler *sch, const CrawledPage *page);
/* The same for many pages in one transaction. */
BFSchedulerError bf_scheduler_add_batch(BFScheduler *sch, const CrawledPage *const *pages,
                                        size_t n_pages);
/* Up to n_pages URLs, best first; fewer (or none) when there are no more, or hosts are at their
 * hard rate. The caller deletes *request. */
BFSchedulerError bf_scheduler_request(BFScheduler *sch, size_t n_pages, PageRequest **request);
/* Schedules every page anew that was never crawled, also what was requested. */
BFSchedulerError bf_scheduler_reload(BFScheduler *sch);

void bf_scheduler_set_persist(BFScheduler *sch, int value);
/* Whether requests lease. Call it before the first request. */
void bf_scheduler_set_leases(BFScheduler *sch, int value);
BFSchedulerError bf_scheduler_set_max_domain_crawl_rate(BFScheduler *sch, float max_soft_crawl_rate,
                                                        float max_hard_crawl_rate);
/* Pages that are more links than this from a start page are not scheduled; 0: all are. For pages
 * that are discovered from now on. */
void bf_scheduler_set_max_crawl_depth(BFScheduler *sch, uint64_t value);
/* Updates also when value seconds have passed since the last one; 0: only by the number of pages.
 */
void bf_scheduler_set_update_interval(BFScheduler *sch, time_t value);
/* Rates, measurements and the update thread go by this time instead of the system's (NULL), for
 * simulations and tests. Call it before the first request and before the thread starts. Borrowed:
 * it outlives the scheduler. */
void bf_scheduler_set_time(BFScheduler *sch, const Timekeeper *time);

BFSchedulerError bf_scheduler_counts(BFScheduler *sch, BFSchedulerCounts *counts);

#endif
