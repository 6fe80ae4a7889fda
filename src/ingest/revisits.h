/* Revisits: schedule.mode = continuous. Every crawled page comes back when it is due.
 *
 *   revisit table --(due: the chore)--> schedule, level 0 --> distributor ... as any URL
 *        ^                                                           |
 *        '---- next due time <--- transaction of the result <--------'
 *
 * What is due is put into the schedule, at the level above all scores, and marked with that level
 * in PageDB; everything downstream (politeness, robots.txt, retries, budgets) is as for new URLs.
 * Its due time stays in the table until the result's transaction computes the next. So invariants:
 *  1. A page that is to be visited again has one due time, always.
 *  2. It is in the schedule at most once: entries are keyed by host, level and page, and the chore
 *     uses the level that PageDB has for it.
 *  3. Of a host, no more than host_share due pages are in the schedule; the others wait in its
 *     line, in order of due time, and come as a group when those are done. So a host with more
 *     pages due than it can be asked for visits all of them, as often as that allows, in turn.
 *  4. Due pages go before new ones, but not without end: a host that has new URLs gets as many
 *     fetches of those between two groups (HostRecord.owed), so neither starves the other.
 *
 * After a start the chore begins with the earliest due time again: what is in the schedule or in a
 * line already stays as it is.
 *
 * A host that fails rests for a period instead of being given up, twice as long each time, and is
 * given up for good after policy.tries of them. Pages crawled before this mode was chosen are
 * entered by the chore, a piece at a time.
 *
 * The policy may be replaced at any time: it decides at the next visit of each page, what is due
 * stays due. All other calls in the ingest thread, inside the batch's transaction. Time is the
 * clock's of the options, so that a test can let days pass. */
#ifndef INGEST_REVISITS_H
#define INGEST_REVISITS_H

#include "ingest/ingest.h"
#include "rules/revisit_policy.h"

#define REVISIT_LEVEL      0u
#define REVISIT_HOST_SHARE 16u /* at most 255, as HostRecord.owed */

typedef struct RevisitClock {
    void *context;
    WallTime (*wall)(void *context);
    MonoTime (*mono)(void *context);
} RevisitClock;

typedef struct RevisitsOptions {
    RevisitPolicy policy; /* the first; its rules are taken, also by a revisits_new that fails */
    int64_t pause_ms;     /* least time between two transactions of the chore */
    unsigned host_share;  /* 0: REVISIT_HOST_SHARE */
    RevisitClock clock;   /* functions NULL: the real ones */
} RevisitsOptions;

/* store->revisits must be open. The store outlives it. RESULT_MEMORY. */
Result revisits_new(Revisits **revisits, const RevisitsOptions *options, const IngestStore *store);
/* NULL is allowed. */
void revisits_delete(Revisits *revisits);
/* Takes the rules of the policy. Any thread. RESULT_MEMORY: nothing has changed. */
Result revisits_set_policy(Revisits *revisits, const RevisitPolicy *policy);
IngestChore revisits_chore(Revisits *revisits);

/* The result of a page was written: computes and enters its next visit. */
Result revisits_note(Revisits *revisits, struct Batch *batch, const ParsedPage *page);
/* A host failed for good: true when it rests instead; its record is changed. */
bool revisits_rest(Revisits *revisits, HostRecord *record);
/* The last of a batch, chores' included: lets the lines of its hosts move up. */
Result revisits_end(Revisits *revisits, struct Batch *batch);
/* After a commit, and once at the start: the figures for the status log. */
void revisits_publish(const Revisits *revisits, MDB_txn *txn, const RevisitTotals *totals,
                      Stats *stats);

#endif
