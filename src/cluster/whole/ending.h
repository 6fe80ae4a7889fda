/* Ending: finds the end of a crawl on many agents, that is, when nothing is left anywhere.
 *
 * What: the lowest of the agents that take part asks all of them in rounds. An agent is idle when
 * nothing is scheduled, in flight or uncommitted, and its outbox and inbox are empty. It counts
 * every event that changed that (`changes`). A URL on its way is in its sender's outbox until the
 * receiver has committed it, so an agent that is not idle always has it.
 *
 * The crawl is over when two rounds, the second begun after the first was complete, found every
 * agent idle, in the same process, and with the same count. Then all agents were idle at one and
 * the same moment between the rounds, and nothing can begin by itself again. (Mattern's four
 * counters compare messages sent with messages received. Here a block may be received twice, and
 * its sender keeps it until the answer, so the counts of changes serve the same purpose.)
 *
 * A round ends with the first answer of one that has work, and the next one asks that one alone
 * first; while nobody has any, twice as many are asked as have answered. So while the crawl goes on
 * a round costs a question, however many agents there are.
 *
 * An agent is spent when it may not fetch any more because a limit of the whole crawl is used up.
 * It counts as idle, and the crawl then ends because of the limit, but not while another agent has
 * allowance to give back.
 *
 * An agent at its tail is idle, too: what it has left are hosts that have failed, and they waited
 * for longer than the crawl is to wait for them. If there is one, the crawl ends as END_TAIL.
 *
 * An agent that no process has ever been (absent) has used nothing, and what is for it is in the
 * others' outboxes. The crawl may end by a limit without it; otherwise it is waited for, since it
 * may bring seeds.
 *
 * Owns: its list of seats.
 * Threads: none of its own; an object belongs to its caller.
 * Source: Mattern 1987; MANY-MACHINES 8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct EndReport {
    bool idle;
    bool spent;  /* it has work, and no allowance for it (ledger.h) */
    bool tail;   /* idle, but for hosts that have failed and wait (limits.tail) */
    bool holds;  /* there is allowance that is not used: here, or, as far as it knows, to draw */
    bool absent; /* said for an agent that has never been started */
    uint64_t changes;
    uint64_t session;
} EndReport;

typedef enum EndVerdict {
    END_NOT_YET,
    END_FINISHED, /* nothing is left */
    END_LIMIT,    /* a limit of the crawl is used up */
    END_TAIL      /* nothing is left but hosts that have failed */
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
    size_t first; /* the seat that had work last: it is asked first */
    size_t asked; /* seats from there on that are to be asked by now */
} Ending;

void ending_destroy(Ending *ending);
/* A round with these agents, ascending. What a round before it found counts if it was complete and
 * had the same agents. RESULT_MEMORY: none was begun. */
Result ending_begin(Ending *ending, const uint16_t *agents, size_t n);
/* An agent's answer to a round; others than to the open one are dropped. */
EndVerdict ending_report(Ending *ending, uint16_t agent, uint64_t round, const EndReport *report);
/* The first agent that is asked and has not reported, from place *from on; false: none. */
bool ending_missing(const Ending *ending, size_t *from, uint16_t *agent);
