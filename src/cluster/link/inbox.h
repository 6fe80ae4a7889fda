/* The inbox: blocks of other agents that wait until they are committed here.
 *
 *   transport --inbox_push--> [waiting] --inbox_take--> ingest's chore --inbox_settle--> answered
 *
 * What: an item is one envelope, opened and checked (cluster/wire/link_block.h), and the subject by
 * which its sender is answered. Items are answered behind the commit that holds what they say,
 * never before. One that comes again while the first waits takes its place: the last request is
 * answered. Beyond INBOX_MOST items what comes is dropped; its sender sends it again.
 *
 * Owns: the items, from inbox_push to inbox_settle. Bytes are counted at a gate from outside; while
 * it is closed the chore takes nothing, so senders get no answers and send no more.
 *
 * Threads: any thread may push and ask; one thread, ingest's, takes and settles. */
#pragma once

#include "base/thread/byte_gate.h"
#include "cluster/wire/link_block.h"

#define INBOX_MOST 100000u

typedef struct InboxItem {
    struct InboxItem *next;
    char *reply_to;    /* who is answered; owned, until `settled` takes it */
    Envelope envelope; /* who sent it */
    char *blocks;      /* owned */
    size_t length;
    uint64_t taken;   /* messages of its sender, with this one (kept.h) */
    BlockFault fault; /* found while it was taken in: nothing of it was */
    ByteShare share;
} InboxItem;

/* Takes reply_to and blocks (malloc'd), which may be NULL without memory; also when it is NULL for
 * lack of memory itself. */
InboxItem *inbox_item_new(char *reply_to, const Envelope *envelope, char *blocks, size_t length);
void inbox_item_delete(InboxItem *item); /* NULL is allowed */

typedef struct InboxSinks {
    void *context;
    void (*arrived)(void *context); /* something waits: the chore is due */
    /* Committed, or refused (item->fault); may take item->reply_to, and leaves NULL then. */
    void (*settled)(void *context, InboxItem *item);
} InboxSinks;

typedef struct Inbox {
    Mutex mutex;        /* RANK_TABLE; guards the next five */
    InboxItem *first;   /* in their order: those that were taken, and those that wait */
    InboxItem *last;    /* undefined while there is none */
    InboxItem *waiting; /* the first that was not taken; NULL: all were */
    size_t n;           /* all of them */
    size_t bytes;       /* theirs */
    size_t n_taken;     /* ingest's thread alone: in this transaction */
    ByteGate *gate;     /* borrowed; NULL: none */
    InboxSinks sinks;
} Inbox;

void inbox_init(Inbox *inbox, ByteGate *gate, const InboxSinks *sinks);
/* Frees what was not taken in; its senders have it still. */
void inbox_destroy(Inbox *inbox);
/* Takes the item. */
void inbox_push(Inbox *inbox, InboxItem *item);
/* The next one; it stays the inbox's until inbox_settle. NULL: none waits, or the gate is closed
 * and something was taken already. */
InboxItem *inbox_take(Inbox *inbox);
/* What was taken is committed, and answered; or it waits again, in its order. */
void inbox_settle(Inbox *inbox, bool committed);
bool inbox_is_empty(Inbox *inbox);
/* Items that wait or are being taken in; *bytes (may be NULL): theirs. */
size_t inbox_count(Inbox *inbox, size_t *bytes);
