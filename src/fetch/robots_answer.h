/* What a fetched robots.txt (or the failure to get one) means for its host.
 *
 * RFC 9309 2.3.1: 2xx is parsed; 3xx is followed up to five times; 4xx allows everything; 5xx, 429
 * and unreachable forbid everything until it answers. Rules that are in force stay in force while
 * they cannot be refreshed. */
#ifndef FETCH_ROBOTS_ANSWER_H
#define FETCH_ROBOTS_ANSWER_H

#include "fetch/fetch_result.h"
#include "frontier/visit_state.h"

#define ROBOTS_REDIRECTS_MAX 5u

typedef enum RobotsNext {
    ROBOTS_DONE,     /* rules are installed */
    ROBOTS_FOLLOW,   /* visit_state->robots_target is to be fetched next */
    ROBOTS_TRY_AGAIN /* judge the failure: result->class was set accordingly */
} RobotsNext;

RobotsNext robots_answer(VisitState *visit_state, FetchResult *result, const char *agent,
                         int64_t expiry_ms);

#endif
