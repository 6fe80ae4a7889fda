/* Disk read: the distributor's read transactions, and the end of them.
 *
 * What: every read of the distributor goes through a read transaction of its own. An error that no
 * waiting mends (a damaged file, a failing disk) ends all reading: the sink `failed` is told once,
 * and Distributor.failed stays set.
 * Threads: distributor. */
#ifndef FRONTIER_HOST_DISK_READ_H
#define FRONTIER_HOST_DISK_READ_H

#include "frontier/host/distributor_state.h"

/* Begins a read transaction. NULL when that fails; the log says why. */
MDB_txn *disk_read_begin(Distributor *distributor);
/* Notes the result of a read. Returns rc. */
Result disk_read_note(Distributor *distributor, Result rc);

#endif
