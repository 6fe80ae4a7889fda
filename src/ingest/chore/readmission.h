/* Readmission: the rules of the operator have changed, and what they were asked about is judged
 * again.
 *
 * What: a chore of the ingest thread in three steps, each in short pieces:
 *
 *   hosts with work   one that is denied now is closed, with all its URLs kept
 *   closed hosts      one that is denied no more gets its URLs back
 *   held URLs         one that is admitted now is scheduled again
 *
 * Nothing of this is needed for a denial to hold: fetching threads judge each URL before they fetch
 * it. It is needed for counts and lists to tell the truth, and for what is allowed again to return.
 * The rules of the last run are remembered by a fingerprint, so that a start with other rules
 * judges anew, too.
 *
 * Owns: its place in the three lists. Rules and stores are borrowed.
 * Threads: main asks for it; the rest is the ingest thread's.
 * Errors: a piece that is not committed is done again. */
#pragma once

#include "ingest/batch/ingest_chore.h"
#include "ingest/batch/ingest_batch.h"

typedef struct Readmission Readmission;

/* filter: of a Filter, filter.fetch. RESULT_MEMORY, RESULT_IO. */
Result readmission_new(Readmission **readmission, const IngestStore *store, Shared *filter);
void readmission_delete(Readmission *readmission);
/* The rules are those of this fingerprint now (0: there are none). The ingest thread must be woken
 * behind it (ingest_wake). At the start nothing happens when these are the rules of the last run.
 * Main thread. */
void readmission_ask(Readmission *readmission, uint64_t fingerprint);
IngestChore readmission_chore(Readmission *readmission);
