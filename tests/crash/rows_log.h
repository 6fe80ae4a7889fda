/* What rows_shim writes and bench_writer reads: the work of a crawl's writing thread, in its order.
 *
 * Each entry is a RowsEntry and the bytes of its key and its value. */
#pragma once

#include <stdint.h>

typedef enum RowsOp {
    ROWS_ENV,    /* value: flags of the environment and bytes of its map, two uint64_t */
    ROWS_TABLE,  /* number and flags of a table; key: its name */
    ROWS_BEGIN,  /* a transaction; flags: 1, of the writing thread */
    ROWS_COMMIT, /* it is done */
    ROWS_ABORT,  /* nothing since ROWS_BEGIN counts */
    ROWS_PUT,    /* key and value (its bytes do not follow with MDB_RESERVE); flags: of mdb_put */
    ROWS_DELETE, /* key, and value in a table of duplicates; without: all of the key */
    ROWS_DROP,   /* the table is emptied */
    ROWS_SEEK,   /* a look-up; flags: MDB_cursor_op */
    ROWS_WRITE,  /* of a file that is not the database's: table is its number, n_value its bytes */
    ROWS_SYNC,   /* likewise */
} RowsOp;

typedef struct RowsEntry {
    uint8_t op;
    uint8_t has_value; /* of ROWS_DELETE and ROWS_SEEK */
    uint16_t table;
    uint32_t flags;
    uint32_t n_key;
    uint32_t n_value; /* of ROWS_WRITE no bytes follow */
} RowsEntry;
