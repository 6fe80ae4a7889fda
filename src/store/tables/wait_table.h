/* Wait table: which hosts wait for a retry, for what, and until when.
 *
 * What: an entry for each host that has failed, has something scheduled and is to be tried again,
 * in order of time. So the number of such hosts and the first of them are known without looking at
 * the other hosts. An entry follows from the host's record (host_table.h); whoever writes the
 * record keeps the entry in step.
 * Owns: the handle; the table belongs to the environment.
 * Threads: writers in the write transaction, readers in any read transaction.
 * Errors: RESULT_FULL, RESULT_IO and the like. */
#ifndef STORE_TABLES_WAIT_TABLE_H
#define STORE_TABLES_WAIT_TABLE_H

#include <lmdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
#include "store/tables/host_table.h"

typedef struct WaitTable WaitTable;

typedef struct WaitEntry {
    int64_t until_ms; /* wall time, ms since 1970 */
    uint32_t host;
    uint8_t class;    /* FetchClass of the last failure */
    uint8_t failures; /* in a row */
} WaitEntry;

/* In a write transaction a table that is missing is created. RESULT_NOT_FOUND: a read transaction,
 * and there is none. */
Result wait_table_open(WaitTable **table, MDB_txn *txn);
void wait_table_close(WaitTable *table); /* NULL is allowed */

/* The entry that follows from the record of a host. False when the host does not wait. */
bool wait_table_entry(uint32_t host, const HostRecord *record, WaitEntry *entry);
/* Replaces the entry of a host, which stands at from_ms (0: it has none), by the entry that follows
 * from its record. */
Result wait_table_follow(WaitTable *table, MDB_txn *txn, uint32_t host, int64_t from_ms,
                         const HostRecord *record);
/* How many hosts wait. O(1). */
Result wait_table_count(WaitTable *table, MDB_txn *txn, uint64_t *n);
/* Reads up to max entries in order of time, behind *after (NULL: from the first). *n = how many. */
Result wait_table_read(WaitTable *table, MDB_txn *txn, const WaitEntry *after, WaitEntry *entries,
                       size_t max, size_t *n);

#endif
