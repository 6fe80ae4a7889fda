/* Courier: a node's blocks, going out and coming in.
 *
 *   courier_grown --> rows of an agent --(message_bytes of them, or age_ms and rest_ms)--> request
 *                           ^                                                     |
 *                           |  nobody there, refused, no answer: again later      |
 *                           '-----------------------------------------------------+
 *                                               courier_take: committed: acks <'
 *
 *   envelope --courier_arrived--> opened, checked --CourierSinks.block--> inbox --> ingest
 *       ^----- BLOCK_GOOD, or a BlockFault ----- courier_settled <---------- commits
 *
 * What: for each agent one message is in flight, of consecutive rows: all that wait by then, up to
 * the window, so a message grows with what there is to send. Ingest's acks chore deletes the rows
 * that were answered. The window bounds what a receiver holds of one sender, and the rest waits
 * here, on disk. What comes is handed on with the subject by which its sender is answered once it
 * is committed; what is refused is answered at once, counted by reason, and told.
 *
 * Owns: its records of what is in flight. Time is a parameter; belongs to one thread.
 * Invariants:
 *  1. A row is in at most one message in flight.
 *  2. Rows that have been answered are not read again.
 * Source: MANY-MACHINES 3 and 4. */
#pragma once

#include "cluster/desk/greet_desk.h"
#include "cluster/link/inbox.h"
#include "cluster/link/outbox.h"
#include "cluster/message/node_note.h"

#define COURIER_MESSAGE_MOST ((size_t)256 << 10) /* of blocks: a commit takes one in */

typedef struct CourierOptions {
    size_t message_bytes; /* of blocks: so many do not wait for more */
    int64_t age_ms;       /* or when its first row waits so long */
    int64_t rest_ms;      /* between two to one agent that are not full */
    size_t window_bytes;  /* in flight to one agent, but message_bytes in any case */
    int64_t answer_ms;    /* without an answer for so long a message is sent again */
    int64_t again_ms;     /* after nobody was there, or a refusal */
} CourierOptions;

typedef struct CourierSinks {
    void *context;
    /* Rows of the outbox, as outbox_read. */
    Result (*read)(void *context, uint16_t to, uint64_t from, size_t most, Buffer *blocks,
                   OutboxRange *range);
    /* They were committed by their owner. */
    void (*answered)(void *context, uint16_t to, const OutboxRange *range);
    void (*block)(void *context, InboxItem *item); /* takes it; courier_settled follows */
} CourierSinks;

typedef struct CourierStats {
    size_t agents_away; /* that have something waiting and are not there */
    uint64_t sent;      /* messages */
    uint64_t repeated;
    uint64_t refused; /* blocks of others, and ours by others */
} CourierStats;

typedef struct Courier {
    NodeLink *link;   /* borrowed */
    GreetDesk *greet; /* borrowed: who may send, and whose answers count */
    CourierSinks sinks;
    CourierOptions given;
    CourierOptions options; /* as the number of agents has it */
    EnvelopePacker *packer;
    struct Customer **customers; /* by agent; owned, as they are */
    uint32_t n;
    Heap due;
    uint64_t last_token;
    Buffer blocks;
    uint64_t refused[BLOCK_FAULTS]; /* blocks of others, by reason */
    uint64_t refused_ours;          /* by others */
    CourierStats stats;
} Courier;

/* options: window_bytes is that of all senders to one agent together. RESULT_MEMORY: it is to be
 * destroyed all the same. */
Result courier_init(Courier *courier, NodeLink *link, GreetDesk *greet,
                    const CourierOptions *options, const CourierSinks *sinks);
void courier_destroy(Courier *courier);
/* The number of agents: they share a window, and the more they are, the longer blocks are
 * collected. Of new ones rows may be there that an earlier process has left. RESULT_MEMORY. */
Result courier_set_agents(Courier *courier, uint32_t agents, MonoTime now);

/* A commit has put bytes for an agent into the outbox. */
void courier_grown(Courier *courier, uint16_t to, size_t bytes, MonoTime now);
/* Nothing is in flight any more: the connection was lost. */
void courier_lost(Courier *courier, MonoTime now);
/* An agent is there (again): what waits for it goes. */
void courier_present(Courier *courier, uint16_t to, MonoTime now);
/* What came of a message. One that is refused is tried again: the operator may mend it. */
void courier_take(Courier *courier, NodeMessage *in, MonoTime now);

/* A message to "in.N". */
void courier_arrived(Courier *courier, const TransportEvent *event, MonoTime now);
/* What has become of a message that was handed on: whoever waits for it is answered. */
void courier_settled(Courier *courier, const BlockSettled *settled, const char *reply_to);

/* Sends what is due. */
void courier_work(Courier *courier, MonoTime now);
/* When courier_work wants to be called next. */
MonoTime courier_next(const Courier *courier);
