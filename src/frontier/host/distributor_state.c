#include "frontier/host/distributor_state.h"

#include "base/thread/log.h"

MDB_txn *disk_read_begin(Distributor *distributor)
{
    MDB_txn *txn = NULL;
    int rc = page_db_txn_begin(distributor->db, true, &txn);
    if (rc != 0) {
        LOG_ERROR("distributor", "read transaction failed", "rc=%d", rc);
        return NULL;
    }
    return txn;
}

Result disk_read_note(Distributor *distributor, Result rc)
{
    bool stays = rc == RESULT_DAMAGED || rc == RESULT_IO || rc == RESULT_INTERNAL;
    if (stays && !distributor->failed) {
        distributor->failed = true;
        LOG_ERROR("distributor", "the database cannot be read",
                  "error=\"%s\" next=\"ragno verify\"", result_name(rc));
        if (distributor->sinks.failed != NULL) {
            distributor->sinks.failed(distributor->sinks.context, rc);
        }
    }
    return rc;
}
