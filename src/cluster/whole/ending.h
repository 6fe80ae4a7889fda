/* The end of a crawl on many agents: when is nothing left anywhere?
 *
 * One agent, the lowest of those that take part, asks all of them in rounds. An agent is idle when
 * nothing is scheduled, in flight, or uncommitted, its outbox is empty and its inbox, too; it
 * counts what ever changed that (`changes`). A URL that is on its way is in its sender's outbox
 * until the receiver has committed it, so it is always with somebody who is not idle.
 *
 * The crawl is over when two rounds, the second begun after the first was complete, found every
 * agent idle, the same process, and with the same count: then all of them were idle in between, at
 * one and the same moment, and nothing can begin by itself again. (Mattern's four counters compare
 * what was sent with what was received; here a block may be received twice, and its sender keeps it
 * until then, so the counts of changes say the same.)
 *
 * An agent that may not fetch any more since a limit of the whole crawl is used up is spent: it
 * counts as idle, and the crawl ends for that reason, but not while another one has allowance to
 * give back.
 *
 * Pure; an object belongs to its caller. Source: Mattern 1987; MANY-MACHINES 8. */
#ifndef CLUSTER_WHOLE_ENDING_H
#define CLUSTER_WHOLE_ENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct EndReport {
    bool idle;
    bool spent; /* it has work, and no allowance for it (ledger.h) */
    bool holds; /* it has allowance that it has not used */
    uint64_t changes;
    uint64_t session;
} EndReport;

typedef enum EndVerdict {
    END_NOT_YET,
    END_FINISHED, /* nothing is left */
    END_LIMIT     /* a limit of the crawl is used up */
} EndVerdict;

typedef struct EndSeat {
    uint16_t agent;
    bool has_reported; /* in this round */
    EndReport report;  /* of this round, or of the one before */
    EndReport before;
} EndSeat;

typedef struct Ending {
    EndSeat *seats; /* of those who take part, ascending; owned */
    size_t n;
    uint64_t round; /* the one that is open, or was last */
    bool open;      /* reports are missing */
    bool was_quiet; /* the round before was complete, and all were idle or spent */
    size_t missing;
} Ending;

void ending_init(Ending *ending);
void ending_destroy(Ending *ending);
/* A round with these agents, ascending. What a round before it found counts if it was complete and
 * had the same agents. RESULT_MEMORY: none was begun. */
Result ending_begin(Ending *ending, const uint16_t *agents, size_t n);
/* An agent's answer to a round; others than to the open one are dropped. */
EndVerdict ending_report(Ending *ending, uint16_t agent, uint64_t round, const EndReport *report);
/* The first agent that has not reported, from place *from on; false: none. */
bool ending_missing(const Ending *ending, size_t *from, uint16_t *agent);

#endif
