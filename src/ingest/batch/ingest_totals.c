#include "ingest/batch/ingest_totals.h"

#include <string.h>

#include "store/lmdb/lmdb_result.h"

#define TOTALS_KEY   "totals"
#define REVISITS_KEY "revisits"
#define LOG_KEY      "log_serial"
#define WALLS_KEY    "walls"
#define CLUSTER_KEY  "cluster_totals"

/* Keeps a struct of counters under a name. */
static Result put_totals(MDB_txn *txn, MDB_dbi crawl, const char *name, const void *totals,
                         size_t size)
{
    union {
        const void *from;
        void *to;
    } unconst_name = {.from = name}, unconst = {.from = totals}; /* LMDB only reads */
    MDB_val key = {.mv_size = strlen(name), .mv_data = unconst_name.to};
    MDB_val value = {.mv_size = size, .mv_data = unconst.to};
    return lmdb_result(mdb_put(txn, crawl, &key, &value, 0), "put totals");
}

/* An older, shorter record leaves the newer counters at zero. */
static Result get_totals(MDB_txn *txn, MDB_dbi crawl, const char *name, void *totals, size_t size)
{
    union {
        const char *from;
        void *to;
    } unconst = {.from = name};
    MDB_val key = {.mv_size = strlen(name), .mv_data = unconst.to};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    memset(totals, 0, size);
    int rc = mdb_get(txn, crawl, &key, &value);
    if (rc == MDB_SUCCESS) {
        memcpy(totals, value.mv_data, value.mv_size < size ? value.mv_size : size);
    }
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "get totals");
}

Result ingest_read_totals(MDB_txn *txn, MDB_dbi crawl, CrawlTotals *totals)
{
    return get_totals(txn, crawl, TOTALS_KEY, totals, sizeof *totals);
}

Result ingest_read_revisit_totals(MDB_txn *txn, MDB_dbi crawl, RevisitTotals *totals)
{
    return get_totals(txn, crawl, REVISITS_KEY, totals, sizeof *totals);
}

Result ingest_read_wall_totals(MDB_txn *txn, MDB_dbi crawl, WallTotals *totals)
{
    return get_totals(txn, crawl, WALLS_KEY, totals, sizeof *totals);
}

Result ingest_write_wall_totals(MDB_txn *txn, MDB_dbi crawl, const WallTotals *totals)
{
    return put_totals(txn, crawl, WALLS_KEY, totals, sizeof *totals);
}

Result ingest_read_cluster_totals(MDB_txn *txn, MDB_dbi crawl, ClusterTotals *totals)
{
    return get_totals(txn, crawl, CLUSTER_KEY, totals, sizeof *totals);
}

Result ingest_read_log_serial(MDB_txn *txn, MDB_dbi crawl, uint64_t *serial)
{
    return get_totals(txn, crawl, LOG_KEY, serial, sizeof *serial);
}

Result ingest_write_log_serial(MDB_txn *txn, MDB_dbi crawl, uint64_t serial)
{
    return put_totals(txn, crawl, LOG_KEY, &serial, sizeof serial);
}

Result ingest_write_cluster_totals(MDB_txn *txn, MDB_dbi crawl, const ClusterTotals *totals)
{
    return put_totals(txn, crawl, CLUSTER_KEY, totals, sizeof *totals);
}

Result ingest_write_totals(MDB_txn *txn, MDB_dbi crawl, const CrawlTotals *totals,
                           const RevisitTotals *visits)
{
    Result rc = put_totals(txn, crawl, TOTALS_KEY, totals, sizeof *totals);
    return rc == RESULT_OK && visits != NULL
               ? put_totals(txn, crawl, REVISITS_KEY, visits, sizeof *visits)
               : rc;
}
