/* The end desk: a node's part in finding the end of the crawl (cluster/whole/ending.h).
 *
 *
 *   quiet --> rounds --> found --> put into the key "end" --stands for END_GRACE_MS--> every
 * process |                                        it names ends
 *                                       '--one of them has work: a veto is put in its place
 *
 * What: every node answers rounds. The lowest agent asks while it is idle itself, and writes what
 * it has found to the key "end", with the session of each process that took part; they see it
 * there. Whoever has written it: a process that it names and that has work puts a veto in its
 * place, and the agents go on; it may be that somebody has just added seeds, or that a stranger has
 * written it. One that is heard of too late goes on alone, and says so. For a process that was
 * started since it means nothing: the agents begin again.
 *
 * An agent whose process is named there, and which no other process has taken over since, has
 * ended. After END_ALONE_MS it is not waited for in rounds, so that one that was started alone, or
 * started again just then, ends by itself, too, when it has nothing to do.
 *
 * Owns: the rounds, and who is named. Time is a parameter; belongs to one thread. */
#pragma once

#include "cluster/desk/members.h"

#define END_KEY      "end"
#define END_ALONE_MS 30000 /* for the others to be started */
#define END_GRACE_MS 1000  /* for a veto */

typedef struct EndNamed {
    uint16_t agent;
    uint64_t session;
} EndNamed;

typedef struct EndDesk {
    NodeLink *link; /* borrowed */
    Key key;
    Ending ending;
    Arbiters owners; /* who takes part */
    MonoTime alone_from;
    MonoTime next_round;
    MonoTime round_start;
    MonoTime round_end; /* without all answers by then it is given up */
    MonoTime next_ask;  /* of those who have not reported in it */
    EndVerdict verdict; /* that stands in the key, as far as is known */
    bool vetoed;        /* those named there have ended only if they have stopped */
    uint64_t standing;  /* revision of the verdict that ends this process, unless it is vetoed */
    MonoTime stands;    /* until then */
    EndNamed *named;    /* whom it is for; owned */
    size_t n_named;
    EndVerdict found; /* here; to be written */
    MonoTime found_end;
} EndDesk;

void end_desk_init(EndDesk *desk, NodeLink *link);
void end_desk_destroy(EndDesk *desk);
/* The table has changed: who takes part. RESULT_MEMORY: as before. */
Result end_desk_set(EndDesk *desk);
void end_desk_up(EndDesk *desk, MonoTime now);

/* A round of another node: answers with our report. */
void end_desk_asked(EndDesk *desk, NodeMessage *in, const EndReport *report);
/* Begins a round when it is time: report is ours. */
void end_desk_work(EndDesk *desk, const EndReport *report, MonoTime now);
/* What came of a question, a look or a put. The verdict that ends this node, or END_NOT_YET. */
EndVerdict end_desk_take(EndDesk *desk, NodeMessage *in, const EndReport *report, MonoTime now);
