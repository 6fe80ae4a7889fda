/* The database's side of a simulated crawl: results become batches, batches commits. Between
 * crawl.c and crawl_commit.c; nobody else includes it. */
#ifndef TESTS_SIM_CRAWL_COMMIT_H
#define TESTS_SIM_CRAWL_COMMIT_H

#include "crawl.h"

#define CRAWL_PAGES_MAX 200000u

WallTime crawl_wall(const Crawl *crawl);
/* As wire_hungry of the agent. */
bool crawl_is_hungry(const Crawl *crawl);
/* Takes a result into the batch. */
void crawl_add_result(Crawl *crawl, FetchResult *result);
/* News of a host from the distributor, as a result without a page. */
void crawl_host_news(Crawl *crawl, const VisitState *visit_state, FetchClass why, int64_t wait_ms,
                     bool drop);
/* Commits the batch and tells the distributor; false when it cannot. */
bool crawl_commit(Crawl *crawl);
/* When a chore of an agent is due next, of those that are not due yet. One that is goes with the
 * batch, which begins with it if there is none. */
MonoTime crawl_look_at_chores(Crawl *crawl);
/* When the next one is due. */
MonoTime crawl_merge_due(Crawl *crawl);
/* Commits a piece of a merge, if one is due; false when it cannot. */
bool crawl_merge(Crawl *crawl);
/* Closes the database. */
void crawl_store_drop(Crawl *crawl, bool remove);

#endif
