/* Robots answer: what a fetched robots.txt, or the failure to get one, means for its host.
 *
 * What: 2xx is parsed; 3xx is followed up to ROBOTS_REDIRECTS_MAX times; 4xx allows everything;
 * 5xx, 429 and no answer forbid everything until there is one. Rules that are in force stay in
 * force while they cannot be refreshed. Where a redirect leads:
 *  - to the same host (another path, scheme or port): the target is fetched like a first request,
 *    from the host's address, with the host's and the address's delay;
 *  - to another host: an errand. The asker goes home (NEWS_EMPTY), and the distributor hands it
 *    over with the visit state of the target's scheme and authority (frontier/host/visit_errand.h).
 *    That one is resolved, queued at its own address, and acquired when its host's and address's
 *    delay are over; then the target is fetched before anything else. The request counts for the
 *    politeness of the host that was asked. What the answer means, rules or failure, is the
 *    asker's. A host of another agent of a cluster is asked by that agent: its answer comes with
 *    the asker and is read when that is acquired next, as if it had been fetched here.
 *
 * Threads: the one that holds the visit state.
 * Invariants:
 *  1. No address and no host is asked sooner than for a page of its own, and the target's address
 *     obeys fetch.allow_addresses.
 *  2. The redirects of one attempt are counted over all hosts.
 *  3. User information in a redirect is not kept, and no redirect leads to a port that is not
 *     connected to (parse/host/port_set.h): robots.txt is unreachable then, and the host given up.
 *
 * A content coding is undone, although none was asked for: servers send files as they store them.
 * Of what comes out the first ROBOTS_MAX_BYTES are read. A file that cannot be decoded to its end,
 * or whose coding is unknown and which is no text, counts as unreachable.
 * Source: RFC 9309 2.3.1. */
#pragma once

#include "fetch/transfer/fetch_result.h"
#include "parse/host/port_set.h"
#include "parse/http/decode.h"

#define ROBOTS_REDIRECTS_MAX 5u

typedef enum RobotsNext {
    ROBOTS_DONE,     /* rules are installed */
    ROBOTS_FOLLOW,   /* VisitRobots.target is next; VisitRobots.elsewhere: by an errand */
    ROBOTS_TRY_AGAIN /* judge the failure: answer.class was set accordingly */
} RobotsNext;

/* How robots.txt is read. */
typedef struct RobotsReading {
    const char *agent; /* product token; borrowed, as all pointers here */
    int64_t expiry_ms;
    const PortSet *ports; /* which a redirect may lead to; NULL: all that are not bad */
    Decoder *decoder;     /* the thread's; NULL: a file with a content coding is unreachable */
    bool asks_tdm;        /* tdmrep.json is asked for behind robots.txt */
    RslUser licence_user; /* for whom licences are read */
    unsigned max_ratio;   /* decoded over received bytes, as for pages; 0: no such bound */
} RobotsReading;

#define ROBOTS_USAGE_TRIES 3u

/* Reads the answer. The host's tdmrep.json (asks_tdm) and the licence file that its robots.txt
 * names are the next targets, as long as these rules hold, and their redirects are followed like
 * those of robots.txt. When they are not there, or cannot be had in ROBOTS_USAGE_TRIES, nothing is
 * reserved by tdmrep.json, and nothing permitted by the licence. When the file came with a content
 * coding, FetchAnswer.decoded receives the decoded file. */
RobotsNext robots_answer(VisitState *visit_state, FetchResult *result,
                         const RobotsReading *reading);

/* robots_answer, and what a failure means: rules in force stay so for a while, or nothing may be
 * fetched until there is an answer. */
RobotsNext robots_answer_settle(VisitState *visit_state, FetchResult *result,
                                const RobotsReading *reading);

/* For an asker that stands for another agent's host: keeps what is to be told (errands.answer). */
void robots_answer_keep(VisitState *asker, const FetchResult *result);
/* A result of what another agent has told (errands.answer), which it takes; NULL: there is nothing,
 * or no memory for it. */
FetchResult *robots_answer_told(VisitState *visit_state, MonoTime now, WallTime wall);

/* The URL to ask for robots.txt: the host's, or where its last answer pointed. The caller frees it;
 * NULL without memory. */
char *robots_answer_url(const VisitState *visit_state);

/* Where the path of one of the host's URLs begins; a URL with user information is longer than its
 * origin says. */
const char *robots_answer_path(const VisitState *visit_state, const char *url);
/* For what the host's robots.txt says that a URL may be used. */
Usage robots_answer_usage(const VisitState *visit_state, const char *url, size_t length);
/* A robots.txt that redirects to another scheme or port of the same name is fetched by the visit
 * state that wants it: notes whose delays hold. Without memory the log says nothing of it. */
void robots_answer_note_origin(const VisitState *visit_state, FetchResult *result);
/* Says in the log, once for each robots.txt, that its rules are too expensive to decide by. */
void robots_answer_tell_costly(VisitState *visit_state, const RobotsVerdict *verdict);
