/* Ingest totals: the crawl's counters in its database, as of the last commit.
 *
 * What: records of the table "crawl", one of CrawlTotals and one of RevisitTotals. Both structs
 * are only appended to, so that a database of an older version opens with the newer counters at 0.
 * Threads: readers any; ingest_write_totals inside the batch's transaction. */
#ifndef INGEST_BATCH_INGEST_TOTALS_H
#define INGEST_BATCH_INGEST_TOTALS_H

#include <lmdb.h>

#include "base/core/result.h"
#include "page/stats.h"

/* Reads the saved totals; zeroes when there are none. */
Result ingest_read_totals(MDB_txn *txn, MDB_dbi crawl, CrawlTotals *totals);
Result ingest_read_revisit_totals(MDB_txn *txn, MDB_dbi crawl, RevisitTotals *totals);

/* The same of ClusterTotals, under a name of their own. */
Result ingest_read_cluster_totals(MDB_txn *txn, MDB_dbi crawl, ClusterTotals *totals);
Result ingest_write_cluster_totals(MDB_txn *txn, MDB_dbi crawl, const ClusterTotals *totals);

/* The serial number of the last batch that has lines in crawl.log; 0: none has. */
Result ingest_read_log_serial(MDB_txn *txn, MDB_dbi crawl, uint64_t *serial);
Result ingest_write_log_serial(MDB_txn *txn, MDB_dbi crawl, uint64_t serial);

/* The same of WallTotals. */
Result ingest_read_wall_totals(MDB_txn *txn, MDB_dbi crawl, WallTotals *totals);
Result ingest_write_wall_totals(MDB_txn *txn, MDB_dbi crawl, const WallTotals *totals);

/* visits may be NULL: they stay as they are. */
Result ingest_write_totals(MDB_txn *txn, MDB_dbi crawl, const CrawlTotals *totals,
                           const RevisitTotals *visits);

#endif
