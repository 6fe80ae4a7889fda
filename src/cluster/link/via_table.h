/* Via table: for pages that another agent found, that agent and its page with the link.
 *
 * What: LMDB table "vias". Key: page index (64 bits, in the byte order of the machine). Value:
 * agent (16 bits), redirects (8), index of the parent at that agent (48), little-endian. An entry
 * counts for a page that has no parent here (PageRef.linked_from is PAGE_DB_NO_INDEX); a better
 * path that was found here takes precedence.
 * Owns: nothing; the handle is the environment's.
 * Threads: the one with the write transaction writes; readers bring a transaction of their own.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_DAMAGED. */
#pragma once

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
