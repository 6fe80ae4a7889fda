/* Courier: takes blocks from the outbox to their owners.
 *
 *   courier_grown --> rows of an agent --(message_bytes of them, or age_ms)--> request
 *                           ^                                                     |
 *                           |  nobody there, refused, no answer: again later      |  courier_answer
 *                           '-----------------------------------------------------+
 *                                                                                 '--> committed:
 * acks
 *
 * What: for each agent a few messages are in flight, each of consecutive rows. Ingest's acks chore
 * deletes the rows that were answered. A window bounds what a receiver holds of one sender, and the
 * rest waits here, on disk.
 *
 * Owns: its records of what is in flight. Time is a parameter.
 * Threads: none of its own; one at a time.
 * Invariants:
 *  1. A row is in at most one message in flight.
 *  2. Rows that have been answered are not read again.
 * Source: MANY-MACHINES 3 and 4. */
#ifndef CLUSTER_DESK_COURIER_H
#define CLUSTER_DESK_COURIER_H

#include "base/core/clock.h"
#include "base/memory/map.h"
#include "cluster/desk/greet_desk.h"
#include "cluster/link/inbox.h"
#include "cluster/link/outbox.h"
#include "cluster/message/node_link.h"

#define COURIER_WINDOW_MOST 32u /* messages in flight to one agent */

typedef struct CourierOptions {
    size_t message_bytes; /* of blocks; a message is sent when it has these */
    int64_t age_ms;       /* or when its first row waits so long */
    size_t window_bytes;  /* in flight to one agent, but two messages in any case */
    int64_t answer_ms;    /* without an answer for so long a message is sent again */
    int64_t again_ms;     /* after nobody was there, or a refusal */
} CourierOptions;

typedef struct CourierSinks {
    void *context;
    /* Rows of the outbox, as outbox_read. */
    Result (*read)(void *context, uint16_t to, uint64_t from, size_t most, Buffer *blocks,
                   OutboxRange *range);
    /* Sends blocks; the answer comes with the token. RESULT_CLOSED: not now. */
    Result (*send)(void *context, uint16_t to, const OutboxRange *range, const Buffer *blocks,
                   uint64_t token);
    /* They were committed by their owner. */
    void (*answered)(void *context, uint16_t to, const OutboxRange *range);
} CourierSinks;

typedef struct Courier Courier;

Result courier_new(Courier **courier, const CourierOptions *options, const CourierSinks *sinks);
void courier_delete(Courier *courier); /* NULL is allowed */

/* A commit has put bytes for an agent into the outbox; RESULT_MEMORY: tell it again. */
Result courier_grown(Courier *courier, uint16_t to, size_t bytes, MonoTime now);
/* There may be rows for an agent that an earlier process has left. RESULT_MEMORY. */
Result courier_look(Courier *courier, uint16_t to, MonoTime now);
/* The window is divided anew among this number of agents. */
void courier_set_options(Courier *courier, const CourierOptions *options);
/* Nothing is in flight any more: the connection was lost. */
void courier_lost(Courier *courier, MonoTime now);
/* An agent is there (again): what waits for it goes. */
void courier_present(Courier *courier, uint16_t to, MonoTime now);

typedef enum CourierAnswer {
    COURIER_COMMITTED,
    COURIER_REFUSED, /* tried again, since the operator may mend it */
    COURIER_NOBODY
} CourierAnswer;
/* What came of a message; false: it is not in flight (any more). heard: of one that is committed,
 * OutboxRange.heard. */
bool courier_answer(Courier *courier, uint64_t token, CourierAnswer answer, MonoTime now,
                    uint64_t heard);

/* Sends what is due. */
void courier_work(Courier *courier, MonoTime now);
/* When courier_work wants to be called next. */
MonoTime courier_next(const Courier *courier);

typedef struct CourierStats {
    size_t agents_away; /* that have something waiting and are not there */
    size_t in_flight;   /* messages */
    uint64_t sent;
    uint64_t repeated;
} CourierStats;
void courier_stats(const Courier *courier, CourierStats *stats);

/* The block desk: a node's blocks, going out and coming in.
 *
 *   courier --envelope, request--> another node's block desk --> inbox --> ingest commits
 *      ^------------------ NODE_COMMITTED, or NODE_REFUSED ----------------- block_desk_settled
 *
 * What: what the courier sends is packed into envelopes; what comes is opened, checked, and handed
 * on with a ticket, by which its sender is answered once it is committed. What is refused is
 * answered at once, counted by reason, and told.
 * Owns: the courier, tickets. Time is a parameter; belongs to one thread. */

typedef struct BlockDeskSinks {
    void *context;
    Result (*read)(void *context, uint16_t to, uint64_t from, size_t most, Buffer *blocks,
                   OutboxRange *range); /* as outbox_read */
    void (*answered)(void *context, uint16_t to, const OutboxRange *range);
    void (*block)(void *context, InboxItem *item); /* takes it; block_desk_settled follows */
} BlockDeskSinks;

/* What has become of a message that was handed on. */
typedef struct BlockSettled {
    uint64_t ticket;
    uint16_t from;
    BlockFault fault;
    uint64_t taken; /* InboxItem.taken */
} BlockSettled;

typedef struct BlockDesk {
    NodeLink *link;   /* borrowed */
    GreetDesk *greet; /* borrowed: who may send, and whose answers count */
    BlockDeskSinks sinks;
    CourierOptions options;
    size_t window_bytes; /* of all senders to one agent together */
    Courier *courier;
    EnvelopePacker *packer;
    Map tickets; /* to the subject of the answer, owned */
    uint64_t last_ticket;
    Buffer blocks;
    Buffer message;
    uint64_t refused[BLOCK_FAULTS]; /* blocks of others, by reason */
    uint64_t refused_ours;          /* by others */
} BlockDesk;

/* options: window_bytes is that of all senders to one agent together. RESULT_MEMORY: it is to be
 * destroyed all the same. */
Result block_desk_init(BlockDesk *desk, NodeLink *link, GreetDesk *greet,
                       const CourierOptions *options, const BlockDeskSinks *sinks);
void block_desk_destroy(BlockDesk *desk);
/* The number of agents: they share a window, and the more they are, the longer blocks are
 * collected. */
void block_desk_set_agents(BlockDesk *desk, uint32_t agents);

/* A message to "in.N"; an answer; an undelivered request. */
void block_desk_arrived(BlockDesk *desk, const TransportEvent *event, MonoTime now);
void block_desk_answered(BlockDesk *desk, const TransportEvent *event, MonoTime now);
void block_desk_nobody(BlockDesk *desk, uint64_t number, MonoTime now);
/* What was handed on came again, with another ticket: this one is not answered. */
void block_desk_forget(BlockDesk *desk, uint64_t ticket);
/* What was handed on is committed, or refused. */
void block_desk_settled(BlockDesk *desk, const BlockSettled *settled);

#endif
