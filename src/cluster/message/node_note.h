/* Node note: what the other parts of the crawl have for the node of a member.
 *
 *   ingest, frontier, main --note--> mail of the cluster thread --node_hear--> node
 *
 * What: one kind of message for all of them, so that a part needs to know one function and no desk.
 * Owns: as its members say; whoever gets a note takes what it owns (node_note_release).
 * Threads: any; pure. */
#pragma once

#include "cluster/table/cluster_table.h"
#include "cluster/whole/edicts.h"
#include "cluster/wire/link_block.h"
#include "frontier/visit/visit_state.h"

/* What has become of a message of blocks that was handed on. */
typedef struct BlockSettled {
    uint16_t from;
    BlockFault fault;
    uint64_t taken; /* InboxItem.taken */
} BlockSettled;

typedef enum NodeNoteKind {
    NODE_WANT,    /* of the frontier (lease_holder.h): address, ticket */
    NODE_RELEASE, /* address, time */
    NODE_ASK,     /* of the frontier (errand_desk.h): ticket is the host that asks; text, a URL */
    NODE_FETCHED, /* ticket, answer; it may be NULL */
    NODE_GROWN,   /* of ingest: rows were committed for an agent; agent, bytes */
    NODE_SETTLED, /* a block of another one is committed, or refused: settled; text: reply_to */
    NODE_RETOLD,  /* what an agent has lost is to be sent again, and that is committed: agent */
    NODE_MOVED, /* the slots that are MOVING from here to an agent have been sent, all of them: said
                   again until a table has it; agent */
    NODE_TABLE, /* one of NodeSinks.new_table, or what was made of it, is committed: table */
    NODE_ORDER, /* of an operator (edict_desk.h): ticket, edicts: a list of one */
    NODE_APPLIED /* ticket: number of an edict; text about it */
} NodeNoteKind;

typedef struct NodeNote {
    NodeNoteKind kind;
    uint16_t agent;
    IpAddress address;
    uint64_t ticket;
    MonoTime time;
    size_t bytes;
    BlockSettled settled;
    char *text; /* owned, as the next three */
    ErrandAnswer *answer;
    ClusterTable *table;
    Edicts *edicts;
} NodeNote;

void node_note_release(NodeNote *note);
