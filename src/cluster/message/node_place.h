/* Node place: what a directory keeps of its cluster.
 *
 * What: two values of the table `crawl`: which agent the directory is (NodeIdentity, key
 * "cluster_identity"), and the newest cluster table that it has seen (key "cluster_table"). A
 * directory without them has never been in a cluster.
 * Threads: the one with the transaction.
 * Errors: RESULT_DAMAGED; RESULT_FULL and RESULT_IO of LMDB; RESULT_MEMORY. */
#ifndef CLUSTER_MESSAGE_NODE_PLACE_H
#define CLUSTER_MESSAGE_NODE_PLACE_H

#include <lmdb.h>

#include "cluster/message/membership.h"
#include "store/pages/page_db.h"

/* *table is initialised, and stays so when there is none. identity->known is false of a directory
 * that has at most written down what it is about to be. */
Result node_place_read(MDB_txn *txn, MDB_dbi crawl, NodeIdentity *identity, ClusterTable *table);
/* The same of a database, for one who looks at it; *table is initialised. RESULT_NOT_FOUND: it is
 * of no agent. */
Result node_place_of(PageDB *db, uint16_t *self, ClusterTable *table);
Result node_place_write_identity(MDB_txn *txn, MDB_dbi crawl, const NodeIdentity *identity);
Result node_place_write_table(MDB_txn *txn, MDB_dbi crawl, const ClusterTable *table);

#endif
