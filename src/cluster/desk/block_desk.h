/* The block desk: a node's blocks, going out and coming in.
 *
 *   courier --envelope, request--> another node's block desk --> inbox --> ingest commits
 *      ^------------------ NODE_COMMITTED, or NODE_REFUSED ----------------- block_desk_settled
 *
 * What: what the courier sends is packed into envelopes; what comes is opened, checked, and handed
 * on with a ticket, by which its sender is answered once it is committed. What is refused is
 * answered at once, counted by reason, and told.
 * Owns: the courier, tickets. Time is a parameter; belongs to one thread. */
#ifndef CLUSTER_DESK_BLOCK_DESK_H
#define CLUSTER_DESK_BLOCK_DESK_H

#include "base/memory/map.h"
#include "cluster/link/inbox.h"
#include "cluster/desk/courier.h"
#include "cluster/desk/greet_desk.h"
#include "cluster/message/node_link.h"

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
/* So many agents there are: they share a window, and the more, the longer blocks are collected. */
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
