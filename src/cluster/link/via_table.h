/* Where pages came from that another agent found: which agent, and which of its pages has the link.
 *
 * Table "vias": page index (a 64-bit number of the machine) -> agent 16, redirects 8, index of the
 * parent there 48, little-endian. It counts for pages that have no parent here (PageRef.linked_from
 * is PAGE_DB_NO_INDEX); a better path that was found here goes before it.
 *
 * Threads: the one with the write transaction writes; readers bring a transaction of their own.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_DAMAGED. */
#ifndef CLUSTER_LINK_VIA_TABLE_H
#define CLUSTER_LINK_VIA_TABLE_H

#include <lmdb.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct Via {
    uint16_t agent;
    uint8_t redirects; /* that lead to the page in a row, through the agents before */
    uint64_t parent;   /* index in that agent's database; LINK_NO_PARENT: it is a seed there */
} Via;

/* As outbox_open. */
Result via_table_open(MDB_dbi *table, MDB_txn *txn);
/* Adds or replaces; indices that grow are appended. */
Result via_table_put(MDB_dbi table, MDB_txn *txn, uint64_t index, const Via *via);
/* RESULT_NOT_FOUND. */
Result via_table_get(MDB_dbi table, MDB_txn *txn, uint64_t index, Via *via);

#endif
