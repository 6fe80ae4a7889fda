/* LMDB result: LMDB's return codes as Results, and what is done with environments, tables and rows.
 *
 * What: a code is translated where it occurs, and logged there once, with what was being done.
 * Threads: any. */
#pragma once

#include <lmdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

/* rc is what an mdb_ function returned. */
Result lmdb_code(int rc);
/* The same with a line in the log, but for MDB_NOTFOUND and MDB_KEYEXIST. */
Result lmdb_result(int rc, const char *what);

#define LMDB_FILE_MODE 0664

/* mdb_env_open, while nobody puts another file in the place of the database (page_file_replace). */
int lmdb_env_enter(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode);
/* Opens the environment at path, with flags of mdb_env_open; map_bytes 0: as large as its file
 * says; max_readers 0: LMDB's own number. An LMDB code; *env is to be closed unless it is NULL. */
int lmdb_env_open(MDB_env **env, const char *path, unsigned flags, unsigned max_tables,
                  size_t map_bytes, unsigned max_readers);
/* mdb_env_copy2 into a folder, and the copy is synced, which LMDB leaves to its callers. An LMDB
 * code. */
int lmdb_env_copy(MDB_env *env, const char *folder, unsigned flags);
/* Opens a table. RESULT_NOT_FOUND: the transaction only reads, and there is no such table. */
Result lmdb_table_open(MDB_dbi *table, MDB_txn *txn, const char *name, unsigned flags);

typedef struct LmdbTable {
    MDB_dbi *handle;
    const char *name;
    unsigned flags;
} LmdbTable;

/* Opens tables, flags with those of each, until one cannot be. */
Result lmdb_tables_open(MDB_txn *txn, const LmdbTable *tables, size_t n, unsigned flags);

/* ---- Rows: a key and a value, by what is to be done with them ---- */

/* Bytes for LMDB, which only reads what it takes as a pointer to non-const. */
static inline MDB_val lmdb_bytes(const void *bytes, size_t n)
{
    return (MDB_val){.mv_size = n, .mv_data = (void *)(uintptr_t)bytes};
}

/* RESULT_NOT_FOUND. *value is LMDB's until the next change. */
Result lmdb_get(MDB_txn *txn, MDB_dbi table, MDB_val key, MDB_val *value, const char *what);
/* The same of a row that is a struct. RESULT_VERSION: it has another size. After an error *row is
 * as it was. */
Result lmdb_get_struct(MDB_txn *txn, MDB_dbi table, MDB_val key, void *row, size_t bytes,
                       const char *what);
/* A struct whose numbers are mostly small, or 0, as the value of a row: its words of 32 bits as
 * varints (base/core/varint.h); words that are 0 as a zero byte and how many follow one another.
 * Those at the end are left out, so that a struct may grow there. bytes: a multiple of 4; packed
 * takes LMDB_PACKED_BYTES of them. Returns how many it has. */
#define LMDB_PACKED_BYTES(bytes) ((bytes) / sizeof(uint32_t) * 5)
size_t lmdb_pack(const void *row, size_t bytes, uint8_t *packed);
/* false: it is none, or has more words. Then *row is not to be used. */
bool lmdb_unpack(const MDB_val *packed, void *row, size_t bytes);

/* Enters or replaces. */
Result lmdb_put(MDB_txn *txn, MDB_dbi table, MDB_val key, MDB_val value, const char *what);
/* RESULT_OK when it is not there, too. */
Result lmdb_remove(MDB_txn *txn, MDB_dbi table, MDB_val key, const char *what);
/* O(1). */
Result lmdb_count(MDB_txn *txn, MDB_dbi table, uint64_t *n, const char *what);

/* Rows by a cursor, in steps: the first that fails is noted, and those behind it do nothing and
 * find nothing. So what is done in many steps is asked once whether all went well, at its end.
 * Rows in order: lmdb_rows_begin, lmdb_rows_next until it is false, lmdb_rows_end. */
typedef struct LmdbRows {
    MDB_cursor *cursor;
    MDB_val key; /* of the present row; before lmdb_rows_get: what it looks for */
    MDB_val value;
    int code;      /* of LMDB, of the first step that failed */
    bool is_first; /* of lmdb_rows_next: the row that lmdb_rows_begin has found */
    bool is_there; /* there was one at the last look of these two */
} LmdbRows;

void lmdb_rows_open(LmdbRows *rows, MDB_txn *txn, MDB_dbi table);
/* from: the key of the first row, or what precedes it; of no bytes: the first of all. It is not
 * needed any more behind the call. */
void lmdb_rows_begin(LmdbRows *rows, MDB_txn *txn, MDB_dbi table, MDB_val from);
/* false: there are no further ones, or a step has failed. */
bool lmdb_rows_next(LmdbRows *rows);
/* What a step of the caller's has come to, as LMDB's code. true: success; false: it failed, or what
 * it looked for is not there, or is there already, which is no failure. */
static inline bool lmdb_rows_note(LmdbRows *rows, int code)
{
    if (rows->code == 0 && code != MDB_NOTFOUND && code != MDB_KEYEXIST) {
        rows->code = code;
    }
    return rows->code == 0 && code == 0;
}
/* Moves to the row that op leads to. false: there is none, or a step has failed. */
static inline bool lmdb_rows_get(LmdbRows *rows, MDB_cursor_op op)
{
    return rows->code == 0 &&
           lmdb_rows_note(rows, mdb_cursor_get(rows->cursor, &rows->key, &rows->value, op));
}
/* Writes key and value. false: it was there already (MDB_NODUPDATA), or a step has failed. */
static inline bool lmdb_rows_put(LmdbRows *rows, unsigned flags)
{
    return rows->code == 0 &&
           lmdb_rows_note(rows, mdb_cursor_put(rows->cursor, &rows->key, &rows->value, flags));
}
/* Deletes the present row. */
void lmdb_rows_delete(LmdbRows *rows, unsigned flags);
/* How many values the present key has (MDB_DUPSORT); 0 after a failure. */
size_t lmdb_rows_count(LmdbRows *rows);
/* rc, or what LMDB has failed with; first as LMDB's codes. */
int lmdb_rows_close(LmdbRows *rows, int rc);
Result lmdb_rows_end(LmdbRows *rows, Result rc, const char *what);
