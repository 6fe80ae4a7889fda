/* What a fetched robots.txt (or the failure to get one) means for its host.
 *
 * RFC 9309 2.3.1: 2xx is parsed; 3xx is followed up to five times; 4xx allows everything; 5xx, 429
 * and unreachable forbid everything until it answers. Rules that are in force stay in force while
 * they cannot be refreshed.
 *
 * Where a redirect leads:
 *  - to the same host (another path, scheme or port): followed like a first request, from the
 * host's address, with the host's and the address's delay;
 *  - to another host: an errand. The asker goes home (NEWS_EMPTY); the distributor hands it over
 * with the visit state of the target's scheme+authority, which is resolved, queued in the workbench
 * entry of its own address, and acquired when that host's and that address's delay are over. Then
 * the fetching thread asks for the target before anything else. The request counts for the
 * politeness of the host that was asked; what it means, rules or failure, is the asker's, which
 * goes back to the distributor by itself. So no address and no host is asked sooner than for a page
 * of its own, and the target's addresses obey fetch.allow_addresses like any others. The redirects
 * of one attempt are counted over all hosts. */
#ifndef FETCH_TRANSFER_ROBOTS_ANSWER_H
#define FETCH_TRANSFER_ROBOTS_ANSWER_H

#include "fetch/transfer/fetch_result.h"
#include "frontier/visit/visit_state.h"

#define ROBOTS_REDIRECTS_MAX 5u

typedef enum RobotsNext {
    ROBOTS_DONE,     /* rules are installed */
    ROBOTS_FOLLOW,   /* VisitRobots.target is next; VisitRobots.elsewhere: by an errand */
    ROBOTS_TRY_AGAIN /* judge the failure: answer.class was set accordingly */
} RobotsNext;

RobotsNext robots_answer(VisitState *visit_state, FetchResult *result, const char *agent,
                         int64_t expiry_ms);

#endif
