/* Limit desk: a node's share of the crawl's limits (cluster/whole/ledger.h).
 *
 *   little left, or others want some --> look at the key "ledger" --> settle our row --> put it
 *                                              ^------- another one was faster --------'   |
 *                                                                          stored: granted <'
 *
 * What: reads the ledger when an account is low, and replaces it by compare-and-set. Of a rate, an
 * agent that has none free to take says once that it wants some, and hears when there is.
 * An agent that no process has ever been has used nothing: its row is not waited for. While another
 * one is missing nothing can be drawn; the desk says which.
 * Owns: a copy of the ledger. Time is a parameter.
 * Threads: one at a time. */
#pragma once

#include "cluster/desk/key.h"
#include "cluster/whole/ledger.h"

#define LEDGER_KEY "ledger"

typedef struct LimitDesk {
    Key key;
    uint64_t limits[LEDGER_UNITS];  /* 0: none */
    uint64_t granted[LEDGER_UNITS]; /* stored: may be used */
    uint64_t proposed[LEDGER_UNITS];
    uint32_t awaited; /* agents whose rows are missing */
    Ledger ledger;
    MonoTime settled;    /* nothing is drawn before: others put back what a server has forgotten */
    bool gives;          /* less is used from now on; the ledger hears of it soon */
    bool waits_for_rate; /* the ledger has heard that we want more */
    bool spent;          /* of some limit all is used, and there is no more */
    bool holds;          /* of some limit there may be some left: here, or for others to draw */
    uint64_t pool[LEDGER_UNITS];     /* what nobody had at the last look */
    MonoTime pool_end[LEDGER_UNITS]; /* nobody has drawn it by then: nobody can use it */
} LimitDesk;

/* used: by earlier processes of this agent; what they were granted beyond is in the ledger, or the
 * pool's again. */
void limit_desk_init(LimitDesk *desk, NodeLink *link, const uint64_t limits[LEDGER_UNITS],
                     const uint64_t used[LEDGER_UNITS]);
void limit_desk_destroy(LimitDesk *desk);
void limit_desk_up(LimitDesk *desk, MonoTime settled, MonoTime now);
/* Looks soon when an account is low. */
void limit_desk_work(LimitDesk *desk, const LedgerAccount accounts[LEDGER_UNITS], MonoTime now);
/* What came of a look or a put; true: desk->granted has changed. */
bool limit_desk_take(LimitDesk *desk, const TransportEvent *event,
                     const LedgerAccount accounts[LEDGER_UNITS], MonoTime now);
