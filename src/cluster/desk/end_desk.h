/* The end desk: a node's part in finding the end of the crawl (cluster/whole/ending.h).
 *
 * What: every node answers rounds. The lowest agent asks while it is idle itself, and writes what
 * it has found to the key "end"; the others see it there. Whoever has work again, since somebody
 * has added seeds, takes the verdict back.
 * Owns: the rounds. Time is a parameter; belongs to one thread. */
#ifndef CLUSTER_DESK_END_DESK_H
#define CLUSTER_DESK_END_DESK_H

#include "cluster/message/node_link.h"
#include "cluster/whole/ending.h"

#define END_KEY "end"

typedef struct EndDesk {
    NodeLink *link; /* borrowed */
    Ending ending;
    uint16_t *agents; /* who takes part, ascending; owned */
    size_t n;
    MonoTime next_round;
    MonoTime round_end; /* without all answers by then it is given up */
    MonoTime next_ask;  /* of those who have not reported in it */
    uint64_t look;      /* number of the look at the key in flight; 0: none */
    uint64_t last;
    MonoTime next_look;
    EndVerdict verdict; /* that stands in the key, as far as is known */
    EndVerdict found;   /* here; to be written */
    uint64_t revision;
    Buffer bytes;
} EndDesk;

void end_desk_init(EndDesk *desk, NodeLink *link);
void end_desk_destroy(EndDesk *desk);
/* A table was committed: who takes part. RESULT_MEMORY: as before. */
Result end_desk_set(EndDesk *desk, const ClusterTable *table);
void end_desk_up(EndDesk *desk, MonoTime now);
void end_desk_changed(EndDesk *desk, MonoTime now);

/* A round of another node: answers with our report. */
void end_desk_asked(EndDesk *desk, WireReader *question, const char *reply_to,
                    const EndReport *report);
/* Begins a round when it is time: report is ours. */
void end_desk_work(EndDesk *desk, const EndReport *report, MonoTime now);
/* What came of a question, a look or a put. The verdict that ends this node, or END_NOT_YET. */
EndVerdict end_desk_take(EndDesk *desk, const TransportEvent *event, const EndReport *report,
                         MonoTime now);

#endif
