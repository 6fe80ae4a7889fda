/* Wait table: which hosts wait for what, until when.
 *
 * What: an entry for each host that failed, has something scheduled and is to be tried again, in
 * order of time. So the next
 * one, and how many there are, are known without a look at the other hosts. What an entry says
 * follows from the host's record (host_table.h); whoever writes that keeps the entry in step.
 *
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

/* What the record of a host says; false: the host does not wait. */
bool wait_table_entry(uint32_t host, const HostRecord *record, WaitEntry *entry);
/* The host's entry, at from_ms until now (0: it has none), becomes that of the record. */
Result wait_table_follow(WaitTable *table, MDB_txn *txn, uint32_t host, int64_t from_ms,
                         const HostRecord *record);
/* How many hosts wait. O(1). */
Result wait_table_count(WaitTable *table, MDB_txn *txn, uint64_t *n);
/* Reads up to max entries in order of time, behind *after (NULL: from the first). *n = how many. */
Result wait_table_read(WaitTable *table, MDB_txn *txn, const WaitEntry *after, WaitEntry *entries,
                       size_t max, size_t *n);

#endif
