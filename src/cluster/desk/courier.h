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
#include "cluster/link/outbox.h"

#define COURIER_WINDOW_MOST 32u /* messages in flight to one agent */

typedef struct CourierOptions {
    size_t message_bytes; /* of blocks; a message is sent when it has so many */
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

/* A commit has put so many bytes for an agent into the outbox; RESULT_MEMORY: tell it again. */
Result courier_grown(Courier *courier, uint16_t to, size_t bytes, MonoTime now);
/* There may be rows for an agent that an earlier process has left. RESULT_MEMORY. */
Result courier_look(Courier *courier, uint16_t to, MonoTime now);
/* The window is divided anew: so many agents there are. */
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
    uint64_t bytes; /* of blocks, sent */
} CourierStats;
void courier_stats(const Courier *courier, CourierStats *stats);

#endif
