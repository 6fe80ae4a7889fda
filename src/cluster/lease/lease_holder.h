/* Lease holder: the holder's side of leases (lease.h): what this agent wants and holds, and the
 * messages to the arbiters, one in flight to each.
 *
 *   lease_holder_want --> WANTED --granted--> HELD --lease_holder_release--> LEAVING --> forgotten
 *                           |                  |
 *                           |                  |-- two thirds of its term: extended by itself
 *                           |                  '-- its end: LEASE_NOTICE_ENDED, once
 *                           '-- answered WAIT: until an offer, or LEASE_REFRESH_MS
 *
 * What: many addresses share a message. A message without an answer for LEASE_ANSWER_MS is given
 * up, and its lines are sent again under a greater number.
 *
 * Owns: its claims. Time is a parameter.
 * Threads: none of its own; one at a time.
 * Invariants:
 *  1. The end of a lease is counted from before its want was sent.
 *  2. A grant that answers no message in flight is ignored; nothing is in flight any more once the
 *     arbiters have changed, or an arbiter has asked what is held.
 *  3. An address that was released is not used before it is granted again. */
#pragma once

#include "cluster/lease/lease.h"
#include "cluster/table/cluster_table.h"
#include "frontier/visit/visit_state.h"

#define LEASE_ANSWER_MS   2000
#define LEASE_REFRESH_MS  60000
#define LEASE_ITEMS_MOST  512u /* in one message */
#define LEASE_NUMBER_BITS 40u  /* half a year */

typedef struct LeaseNoticeSink {
    void *context;
    void (*take)(void *context, const LeaseNotice *notice);
} LeaseNoticeSink;

typedef struct LeaseHolder LeaseHolder;

/* RESULT_MEMORY. */
Result lease_holder_new(LeaseHolder **holder, const LeaseRules *rules, const LeaseNoticeSink *sink);
void lease_holder_delete(LeaseHolder *holder); /* NULL is allowed */

void lease_holder_set_pace(LeaseHolder *holder, int64_t pace_ms);
/* Nothing is asked for while it is silent; what is held stays held. */
void lease_holder_set_silent(LeaseHolder *holder, bool silent);
/* Who arbitrates, taken over (moved from). What is held stays held until its end. */
void lease_holder_set(LeaseHolder *holder, Arbiters *arbiters, MonoTime now);
/* An agent runs as another session now: as an arbiter it knows nothing of what was asked. */
void lease_holder_restarted(LeaseHolder *holder, uint16_t agent, MonoTime now);

/* The workbench wants an address; ticket: a number of this want, told with its news. Without memory
 * the news is LEASE_NOTICE_ENDED. */
void lease_holder_want(LeaseHolder *holder, const IpAddress *address, uint64_t ticket,
                       MonoTime now);
/* It has no use for it any more: others may have it after rest_end. */
void lease_holder_release(LeaseHolder *holder, const IpAddress *address, MonoTime rest_end,
                          MonoTime now);
/* Everything is given back: this agent stops. */
void lease_holder_give_back(LeaseHolder *holder, MonoTime now);
/* Time has passed that the clock did not count: all leases have ended. */
void lease_holder_lose_all(LeaseHolder *holder, MonoTime now);

bool lease_holder_holds(const LeaseHolder *holder);

/* A message to an arbiter that is due. */
typedef struct LeaseMessage {
    uint16_t to;
    uint64_t number;        /* of the message, for all arbiters together: by the clock (lease.h) */
    const LeaseItem *items; /* borrowed until the next call */
    size_t n;
} LeaseMessage;
/* The next one; false: none is due. */
bool lease_holder_message(LeaseHolder *holder, MonoTime now, LeaseMessage *message);
/* The answers to a message, in its order; others than those in flight are dropped. */
void lease_holder_answer(LeaseHolder *holder, uint16_t from, uint64_t number,
                         const LeaseAnswer *answers, size_t n, MonoTime now);
/* It could not be delivered. Of the number LEASE_NUMBER_BITS are enough. */
void lease_holder_nobody(LeaseHolder *holder, uint16_t to, uint64_t number, MonoTime now);
/* A hint of its arbiter. */
void lease_holder_hint(LeaseHolder *holder, uint16_t from, LeaseHintKind kind,
                       const IpAddress *address, MonoTime now);

/* The arbiter `agent` runs as this session, and asks what is held of its addresses: at most `most`.
 * No grant that was asked for before is believed from now on: it may be of a former session, or of
 * a table before the last ones. SIZE_MAX: there are more, or the session is not the newest. */
size_t lease_holder_held(LeaseHolder *holder, uint16_t agent, uint64_t session, LeaseHeld *held,
                         size_t most, MonoTime now);

/* When lease_holder_message, or time itself, wants attention: call lease_holder_work then. */
MonoTime lease_holder_next(const LeaseHolder *holder);
void lease_holder_work(LeaseHolder *holder, MonoTime now);

typedef struct LeaseHolderStats {
    size_t wanted;
    size_t away;        /* of them, whose arbiter did not answer the last time */
    uint16_t waits_for; /* one of these; CLUSTER_NOBODY */
    size_t held;
    size_t bytes;
    uint64_t messages;
} LeaseHolderStats;
void lease_holder_stats(const LeaseHolder *holder, LeaseHolderStats *stats);
