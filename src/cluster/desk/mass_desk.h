/* The mass desk: fetches from each other agent what its pages give ours (cluster/mass).
 *
 *   MassDesk --NODE_ASK_MASS: round that we have, offset--> the other's desk --> its file to-N
 *      ^------------- its head, offset, some records ---------------------------------'
 *      '--> from-M, when it is whole
 *
 * What: agents are asked in turn, one question at a time and MASS_ASK_MS between two agents, so it
 * costs about a message a second, whatever the number of agents. An answer has MASS_CHUNK_BYTES of
 * records at most. A question without an answer is asked again MASS_AGAIN times while a file comes;
 * then the next agent has its turn, and the copy is begun anew when that one's comes again. An
 * agent that is away leaves what it said last. A file that has more records than twice the pages
 * that are known here is refused.
 *
 * Owns: the copy that is being made. Time is a parameter; belongs to one thread.
 */
#pragma once

#include "cluster/mass/mass_file.h"
#include "cluster/message/node_link.h"

#define MASS_ASK_MS      1000
#define MASS_AGAIN       3u
#define MASS_CHUNK_BYTES ((size_t)4096 * MASS_RECORD_BYTES)

typedef struct MassDeskOptions {
    const char *directory; /* of the crawl; borrowed. NULL: no scores are exchanged */
    void *context;
    uint64_t (*pages)(void *context); /* that are known here */
} MassDeskOptions;

typedef struct MassDesk {
    NodeLink *link; /* borrowed */
    MassDeskOptions options;
    uint32_t n;        /* agents; 0: no scores are exchanged */
    uint16_t peer;     /* whose turn it is */
    uint64_t have;     /* round of its file that is here; 0: none */
    uint64_t comes;    /* round of the copy that is being made; 0: none */
    MassWriter writer; /* of the copy */
    uint64_t asked;    /* number of the question in flight; 0: none */
    uint64_t last;
    unsigned missed; /* answers of this turn */
    MonoTime next;
    uint64_t taken;   /* files */
    uint64_t refused; /* files and messages */
} MassDesk;

void mass_desk_init(MassDesk *desk, NodeLink *link, const MassDeskOptions *options);
void mass_desk_destroy(MassDesk *desk);
/* A table was committed, with this number of agents. */
void mass_desk_set_agents(MassDesk *desk, uint32_t agents);

/* A question of another node. */
void mass_desk_asked(MassDesk *desk, NodeMessage *in);
/* What came of ours. */
void mass_desk_take(MassDesk *desk, NodeMessage *in, MonoTime now);
void mass_desk_work(MassDesk *desk, MonoTime now);
MonoTime mass_desk_next(const MassDesk *desk);
