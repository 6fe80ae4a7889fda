/* Sieve chore: merges the links that wait in the sieve (frontier/sieve/sieve.h).
 *
 * What: a merge looks up millions of links in one sweep, a piece in each transaction; new URLs are
 * scheduled as those of a batch are (ingest/page/ingest_new_url.h).
 * Owns: nothing; borrows the sieve, which must outlive the ingest thread.
 * Threads: ingest. */
#ifndef INGEST_CHORE_SIEVE_CHORE_H
#define INGEST_CHORE_SIEVE_CHORE_H

#include "ingest/batch/ingest_chore.h"
#include "ingest/batch/ingest_batch.h"

IngestChore sieve_chore(IngestSieve *sieve);

#endif
