/* Ledger: divides the limits of the whole crawl (pages, bytes) among agents so that their sum is
 * exact.
 *
 *   limit = pool + what the agents were granted        pool: what nobody has yet
 *
 * What: the ledger is one value that all agents read and replace by compare-and-set; no agent keeps
 * it. An agent draws a part of the pool before it uses the part, and the next one when less than
 * half a part is left; the smaller the pool, the smaller the part. When the pool is empty and
 * another agent wants allowance, an agent that has more than it can use gives the rest back; so
 * does one that has too little to begin anything. So what is left at the end is less than any agent
 * can use, and nobody has begun what it had no allowance for.
 *
 * A rate is divided otherwise. An agent that can use it has a fair share, the
 * limit divided by the number of agents, and more while others do not use theirs. What an agent
 * does not use it gives back when another one wants it, and all of it when it is idle. The share of
 * an agent whose row is missing is the fair one, and nobody takes it: it may be at work.
 *
 * Owns: its rows.
 * Threads: none of its own; an object belongs to its caller.
 * Invariants:
 *  1. No agent uses more than its row says it was granted.
 *  2. The rows never add up to more than the limit, unless the limit was lowered.
 *  3. While a row is missing (the ledger was lost, and its agent has not written the row again)
 *     nothing is drawn.
 * Source: MANY-MACHINES 8, where an agent grants; here the value itself does, so that the death of
 * an agent does not stop the others. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

typedef enum LedgerUnit {
    LEDGER_PAGES,
    LEDGER_BYTES,
    LEDGER_RATE, /* bytes a second: not used up, so a share is held, not spent */
    LEDGER_UNITS
} LedgerUnit;

typedef struct LedgerRow {
    bool known;                     /* its agent has written it */
    bool wants[LEDGER_UNITS];       /* it has used what it was granted, and has work */
    uint64_t granted[LEDGER_UNITS]; /* in all, since the beginning of the crawl; a rate: now */
} LedgerRow;

typedef struct Ledger {
    LedgerRow *rows; /* by number of the agent; owned */
    uint32_t n;
} Ledger;

void ledger_destroy(Ledger *ledger);
/* Makes it n rows long; new ones are not known. RESULT_MEMORY: as before. */
Result ledger_resize(Ledger *ledger, uint32_t n);

/* Appends its bytes. */
Result ledger_write(const Ledger *ledger, Buffer *out);
/* Replaces it. RESULT_DAMAGED: it is as before. RESULT_MEMORY. */
Result ledger_read(Ledger *ledger, const void *bytes, size_t length);

/* The part of a limit that nobody has. */
uint64_t ledger_pool(const Ledger *ledger, LedgerUnit unit, uint64_t limit);
/* Whether no row is missing (invariant 3). */
bool ledger_is_complete(const Ledger *ledger);
/* Whether an agent wants more. */
bool ledger_is_wanted(const Ledger *ledger, LedgerUnit unit);

bool ledger_rows_equal(const LedgerRow *a, const LedgerRow *b);

/* The account of one agent. */
typedef struct LedgerAccount {
    uint64_t granted;
    uint64_t used;   /* and what is in flight: never more than granted; a rate: lately */
    uint64_t needed; /* it could use so much at once: transfers that are free; a rate: when less
                      * than this is left, more could be used */
    uint64_t least;  /* with less it begins nothing; 0: with anything */
    bool busy;       /* what it has begun may use what is left */
    bool idle;       /* it has no work at all */
} LedgerAccount;

/* Settles one agent's row with what it has and needs: draws, gives back, and says whether it wants
 * more than there is: a row that has changed is to be stored. account->granted is what it may use
 * once that is done; until then the lesser of both. limit 0: there is none. LEDGER_RATE: takes what
 * is free, gives what it does not use, and what is beyond its fair share when an agent that has
 * less wants some. */
void ledger_settle(Ledger *ledger, uint32_t agent, LedgerUnit unit, uint64_t limit,
                   LedgerAccount *account);
/* Whether it has little left, as far as the agent alone can tell. */
bool ledger_is_low(const LedgerAccount *account);
/* The same, and by the ledger that was seen last it would draw something. Not of a rate. */
bool ledger_is_due(const Ledger *ledger, LedgerUnit unit, uint64_t limit,
                   const LedgerAccount *account);
