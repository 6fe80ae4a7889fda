/* The crawl's counters in its database, as of the last commit. */
#ifndef INGEST_INGEST_TOTALS_H
#define INGEST_INGEST_TOTALS_H

#include "ingest/revisits.h"
#include "page/stats.h"

/* Reads the saved totals; zeroes when there are none. */
Result ingest_read_totals(MDB_txn *txn, MDB_dbi crawl, CrawlTotals *totals);
Result ingest_read_revisit_totals(MDB_txn *txn, MDB_dbi crawl, RevisitTotals *totals);

/* visits may be NULL: they stay as they are. */
Result ingest_write_totals(MDB_txn *txn, MDB_dbi crawl, const CrawlTotals *totals,
                           const RevisitTotals *visits);

#endif
