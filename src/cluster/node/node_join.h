/* Node join: how a directory becomes an agent of the cluster.
 *
 *   connected --> table --> which agent: ours, or a free one --> may we (membership.h)
 *      --> settings agree --> our start is recorded --> the agent's life is claimed
 *      --> others hear us --> settings still agree, and are held --> joined
 *
 * Who runs, stays: while a process answers as the agent, or the server still has its connection,
 * nobody else becomes that agent, whatever the tokens say (a copy of a directory has them, too).
 *
 * What: a sequence of looks and puts, each repeated until it is answered. A refusal has a sentence
 * that says what to do. The settings (delays, user agent, scope, public suffix list) must be those
 * of the crawl; they may change only while no other agent runs. What version of messages they name
 * (node_link.h) is spoken, if it can be. Who would change them has asked all others before it puts
 * its own in the place of the revision it saw, also where there are none, since a server may have
 * forgotten them and members put them back (members.h); who joins puts the same text again once it
 * can be asked. So of two that begin at the same time one sees the other.
 * A directory that is no agent yet writes down which one it is about to be, and by which token,
 * before it puts its record, and that its record is there before it claims. So whoever has the
 * record of a life has the agent, also when an answer was lost or the process died in between.
 * Owns: what it has read so far. Time is a parameter.
 * Threads: one at a time. */
#pragma once

#include "cluster/message/membership.h"
#include "cluster/message/node_link.h"

typedef enum JoinStep {
    JOIN_WAIT, /* for the connection */
    JOIN_TABLE,
    JOIN_RECORD,
    JOIN_ALIVE, /* does the process of the record still run? */
    JOIN_SETTINGS,
    JOIN_EDICTS, /* settings differ: by what operators have set while the crawl ran? */
    JOIN_OTHERS, /* if not: does anybody run? */
    JOIN_PUT_SETTINGS,
    JOIN_SAVE,  /* the directory writes down what it is about to be, and then what it is: the
                   caller does it */
    JOIN_PUT,   /* our record */
    JOIN_CLAIM, /* put: the agent's life */
    JOIN_HOLD,  /* put: the settings that were found, unchanged */
    JOIN_DONE,
    JOIN_REFUSED /* join->why */
} JoinStep;

typedef struct NodeJoin {
    NodeLink *link; /* borrowed */
    JoinStep step;
    NodeIdentity identity; /* becomes ours */
    MemberRecord record;   /* likewise */
    ClusterTable table;
    const char *settings;     /* borrowed */
    char *theirs;             /* settings of the crawl; owned; NULL: none are there */
    unsigned missed;          /* times that somebody ran, and none were there */
    const ClusterTable *ours; /* borrowed; what the directory knows; epoch 0: nothing */
    uint64_t table_revision;
    uint64_t record_revision; /* of what was judged, and then of ours */
    uint64_t settings_revision;
    uint16_t wanted; /* number that a directory that is no agent yet wants, or CLUSTER_NOBODY */
    uint32_t from;   /* agents below it are others' */
    bool alone;      /* all that have run as this agent have ended for certain */
    char name[MEMBER_TEXT_BYTES]; /* of the one before, while it may run */
    bool recorded;                /* our record is there: what is left is the claim */
    bool heard;     /* it is claimed, and who asks us is not told that we are nobody */
    uint64_t token; /* of the call in flight */
    uint64_t last;
    MonoTime next;  /* it is repeated then */
    uint32_t asked; /* agents, in JOIN_OTHERS */
    uint32_t silent;
    bool may_follow; /* but for the version of messages, which we speak, they are ours */
    uint64_t luck;
    int64_t stale_ms; /* a look may be answered out of date by so much: the caller sets it */
    MonoTime doubted; /* the first refusal; it holds when it is the same so much later */
    char why[512];
} NodeJoin;

/* identity->self of a directory that is no agent yet: the number it wants, or CLUSTER_NOBODY. ours:
 * the table it has committed. record: machine, name, version are set. luck: random. */
void node_join_init(NodeJoin *join, NodeLink *link, const NodeIdentity *identity,
                    const ClusterTable *ours, const MemberRecord *record, const char *settings,
                    uint64_t luck);
void node_join_destroy(NodeJoin *join);
/* Connected, or again. */
void node_join_up(NodeJoin *join, MonoTime now);
/* Goes on; repeats what was not answered. */
void node_join_work(NodeJoin *join, MonoTime now);
MonoTime node_join_next(const NodeJoin *join);
void node_join_take(NodeJoin *join, const TransportEvent *event, MonoTime now);
/* In JOIN_SAVE: join->identity is on disk. */
void node_join_saved(NodeJoin *join, MonoTime now);
/* A sentence for the operator, who waits: what it is waiting for. */
const char *node_join_waits_for(const NodeJoin *join);
