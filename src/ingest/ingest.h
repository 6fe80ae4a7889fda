/* Ingest: the one thread that writes. Parsed pages in, one durable transaction per batch.
 *
 *   parsing threads --ingest_push--> [queue] --> ingest thread --> PageDB, schedule, hosts,
 * counters
 *                                                     |--> crawl.log (after the commit)
 *                                                     '--> CommitNotice --> distributor
 *
 * What: the thread collects pages into batches, has each committed (ingest_writer.h), and does
 * chores in between (ingest/batch/ingest_chore.h). A batch ends when it is full, when its oldest
 * result is store.batch_time old, or soon after its first result while the fetchers have nothing to
 * do (ingest_writer.h). What happens to a page is in ingest/page/page_way.h.
 *
 * Owns: the pages from ingest_push on. Stores, log, counters, revisits and sieve are borrowed.
 * Threads: each function says which. One Ingest at a time writes to a database.
 * Errors: see ingest_writer.h. */
#pragma once

#include "ingest/ingest_writer.h"

typedef struct Ingest Ingest;

/* Restores the totals of earlier runs. */
Result ingest_new(Ingest **ingest, const IngestOptions *options, const IngestStore *store,
                  const IngestSinks *sinks, CrawlLog *log, Stats *stats);
/* Before ingest_start. The context must outlive the thread. */
void ingest_add_chore(Ingest *ingest, const IngestChore *chore);
/* Turns schedule.mode = continuous on, and adds its chore. Borrows revisits. Before ingest_start.
 */
void ingest_set_revisits(Ingest *ingest, Revisits *revisits);
/* Lets links go through the sieve, and adds its chore. Borrows sieve. Before ingest_start. */
void ingest_set_sieve(Ingest *ingest, IngestSieve *sieve);
/* Divides URLs among the agents of a cluster. Borrows it; its chores are added besides. Before
 * ingest_start. */
void ingest_set_cluster(Ingest *ingest, IngestCluster *cluster);
Result ingest_start(Ingest *ingest);
/* Makes the thread look whether a chore is due. Any thread. */
void ingest_wake(Ingest *ingest);
/* Takes a page; waits while the queue is full. */
void ingest_push(Ingest *ingest, ParsedPage *page);
/* The address of a host that has none yet, for what is counted by address. Waits as ingest_push.
 * Any thread. */
void ingest_place(Ingest *ingest, uint32_t host, const IpAddress *address);
size_t ingest_waiting(Ingest *ingest);
/* The configuration has changed; it holds from the next batch on. Any thread. */
void ingest_change(Ingest *ingest, const Config *config);
/* Adds seeds in one transaction, before ingest_start. tags: their source tags, or NULL. Seeds that
 * are known stay as they are; *added is the number of new ones. */
Result ingest_seeds(Ingest *ingest, const LinkInfo *seeds, const char *const *tags, size_t n,
                    uint64_t *added);
/* From now on, a batch that cannot be committed at once (because the disk is full) is dropped, and
 * so are all later batches. Their URLs stay scheduled. Any thread. */
void ingest_abandon(Ingest *ingest);
/* Commits what is queued, then ends the thread. */
void ingest_stop(Ingest *ingest);
void ingest_delete(Ingest *ingest);

/* The totals as of the last commit; after ingest_stop, or from the ingest thread. */
const CrawlTotals *ingest_totals(const Ingest *ingest);
/* Adds this run's time and CPU to the saved totals; after ingest_stop. */
Result ingest_save_times(Ingest *ingest, uint64_t elapsed_ms, uint64_t cpu_ms);

/* Sieve chore: merges the links that wait in the sieve (frontier/sieve/sieve.h).
 *
 * What: a merge looks up millions of links in one sweep, a piece in each transaction; new URLs are
 * scheduled as those of a batch are (ingest/page/ingest_new_url.h).
 * Owns: nothing; borrows the sieve, which must outlive the ingest thread.
 * Threads: ingest. */

IngestChore sieve_chore(IngestSieve *sieve);
