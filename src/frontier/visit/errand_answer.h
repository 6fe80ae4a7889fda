/* Errand answer: what a host of another agent's has answered, for a robots.txt that redirects
 * there.
 *
 *   owner: fetching thread --> distributor --> cluster --(NATS)--> cluster --> distributor
 *          --> fetching thread of the asker, which reads it like an answer of its own
 *
 * What: as much of a FetchResult as robots.txt is read from. Of an answer that did not come, its
 * class says why.
 * Owns: header and body.
 * Threads: the one that holds it; it is handed over. */
#ifndef FRONTIER_VISIT_ERRAND_ANSWER_H
#define FRONTIER_VISIT_ERRAND_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory/buffer.h"
#include "frontier/visit/politeness.h"

#define ERRAND_HEADER_MOST ((size_t)128 << 10) /* with a longer one it counts as unreachable */
#define ERRAND_BODY_MOST   ((size_t)512 << 10) /* a robots.txt is cut sooner */

typedef enum ErrandOutcome {
    ERRAND_ANSWERED,
    ERRAND_OURS, /* the other host is this agent's */
    ERRAND_AWAY  /* its owner does not answer */
} ErrandOutcome;

typedef struct ErrandAnswer {
    int status; /* of HTTP; 0: there was none */
    FetchClass class;
    bool is_cut;    /* the body is longer than what is here */
    uint16_t agent; /* that has it */
    Buffer header;
    Buffer body; /* as received: a content coding is kept */
} ErrandAnswer;

/* Empty; NULL when memory is exhausted. */
ErrandAnswer *errand_answer_new(FetchClass class);
void errand_answer_delete(ErrandAnswer *answer); /* NULL is allowed */
/* NULL: of none. */
size_t errand_answer_bytes(const ErrandAnswer *answer);

#endif
