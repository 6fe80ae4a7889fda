/* Revisits: schedule.mode = continuous. Every crawled page is visited again when it is due.
 *
 *   revisit table --(due: the chore)--> schedule, level 0 --> distributor ... as any URL
 *        ^                                                           |
 *        '---- next due time <--- transaction of the result <--------'
 *
 * What: the chore puts the pages that are due into the schedule (revisits.h). From there on
 * such a page is a URL like any other: politeness, robots.txt, retries and budgets are the same.
 * Its due time stays in the revisit table until the transaction of its result computes the next
 * one. A host that fails rests for a period instead of being given up, twice as long each time, and
 * is given up after policy.tries of them. Pages that were crawled before this mode was chosen are
 * entered by the chore, a piece at a time. After a start the chore begins with the earliest due
 * time again; what is in the schedule or in a line already stays as it is.
 *
 * Owns: the policy, which may be replaced at any time: it decides at the next visit of each page,
 * pages that are due stay due. The tables are borrowed.
 * Threads: revisits_set_policy any; everything else ingest, inside the batch's transaction. Time
 * comes from the clock of the options, so that a test can let days pass.
 *
 * Invariants:
 *  1. A page that is to be visited again has exactly one due time, always.
 *  2. Of a host, at most host_share due pages are in the schedule; the others wait in its line. So
 *     a host with more pages due than it can be asked for visits all of them in turn, as often as
 *     its delay allows. */
#pragma once

#include "ingest/batch/ingest_batch.h"
#include "ingest/batch/ingest_chore.h"
#include "rules/revisit_policy.h"

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
/* Replaces the policy; takes its rules. Any thread. RESULT_MEMORY: nothing has changed. */
Result revisits_set_policy(Revisits *revisits, const RevisitPolicy *policy);
IngestChore revisits_chore(Revisits *revisits);

/* Compares the numbers of a page's text with those of its visits before, and enters them. Its
 * content hash is another one when a number that seldom changes has changed. */
Result revisits_learn_numbers(Revisits *revisits, const Batch *batch, ParsedPage *page);
/* Computes the next visit of a page whose result was written, and enters it into the revisit table.
 */
Result revisits_note(Revisits *revisits, Batch *batch, const ParsedPage *page);
/* Pages that a sitemap or feed says have changed are due at once. its links are
 * written. */
Result revisits_take_signals(Revisits *revisits, Batch *batch, const ParsedPage *page);
/* For a host that failed for good: true when it rests instead of being dropped. Changes its record.
 */
bool revisits_rest(Revisits *revisits, HostRecord *record);
/* Lets the lines of the batch's hosts move up. Call last in a batch, after its chores. */
Result revisits_end(Revisits *revisits, Batch *batch);
/* Publishes the figures for the status log. Call after a commit, and once at the start. */
void revisits_publish(const Revisits *revisits, MDB_txn *txn, const RevisitTotals *totals,
                      Stats *stats);
