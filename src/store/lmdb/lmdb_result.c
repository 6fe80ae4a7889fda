#include "store/lmdb/lmdb_result.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/core/varint.h"
#include "base/memory/file.h"
#include "base/thread/log.h"

Result lmdb_code(int rc)
{
    switch (rc) {
    case MDB_SUCCESS:
        return RESULT_OK;
    case MDB_NOTFOUND:
        return RESULT_NOT_FOUND;
    case MDB_KEYEXIST:
        return RESULT_EXISTS;
    case MDB_MAP_FULL:
        return RESULT_FULL;
    case MDB_INCOMPATIBLE:
    case MDB_VERSION_MISMATCH:
        return RESULT_VERSION;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_CURSOR_FULL: /* a tree that leads back to itself */
    case MDB_BAD_VALSIZE: /* a key of nonsense */
        return RESULT_DAMAGED;
    case MDB_PANIC:
    case MDB_BAD_TXN: /* a call before this one failed in the same transaction */
        return RESULT_IO;
    default:
        return rc > 0 ? result_of_errno(rc) : RESULT_INTERNAL;
    }
}

Result lmdb_result(int rc, const char *what)
{
    if (rc != MDB_SUCCESS && rc != MDB_NOTFOUND && rc != MDB_KEYEXIST) {
        LOG_ERROR("store", "database call failed", "call=%s error=\"%s\"", what, mdb_strerror(rc));
    }
    return lmdb_code(rc);
}

/* ---- Environments, tables and rows ---- */

int lmdb_env_enter(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode)
{
    bool unlocked = (flags & (MDB_NOLOCK | MDB_NOSUBDIR)) != 0;
    int folder = unlocked ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)flock(folder, LOCK_SH);
    }
    int rc = mdb_env_open(env, path, flags, mode);
    file_close_fd(folder);
    return rc;
}

int lmdb_env_open(MDB_env **env, const char *path, unsigned flags, unsigned max_tables,
                  size_t map_bytes, unsigned max_readers)
{
    *env = NULL;
    int rc = mdb_env_create(env);
    if (rc == 0) {
        rc = mdb_env_set_maxdbs(*env, max_tables);
    }
    if (rc == 0 && map_bytes > 0) {
        rc = mdb_env_set_mapsize(*env, map_bytes);
    }
    if (rc == 0 && max_readers > 0) {
        rc = mdb_env_set_maxreaders(*env, max_readers);
    }
    return rc == 0 ? lmdb_env_enter(*env, path, flags, LMDB_FILE_MODE) : rc;
}

int lmdb_env_copy(MDB_env *env, const char *folder, unsigned flags)
{
    Path path;
    int rc = mdb_env_copy2(env, folder, flags);
    int fd = rc == 0 ? open(file_path(&path, "%s/data.mdb", folder), O_RDONLY | O_CLOEXEC) : -1;
    if (rc == 0 && (fd < 0 || fsync(fd) != 0 || file_sync_folder(folder) != RESULT_OK)) {
        rc = EIO;
    }
    file_close_fd(fd);
    return rc;
}

Result lmdb_table_open(MDB_dbi *table, MDB_txn *txn, const char *name, unsigned flags)
{
    int rc = mdb_dbi_open(txn, name, flags, table);
    return rc == EACCES ? RESULT_NOT_FOUND : lmdb_result(rc, name);
}

Result lmdb_tables_open(MDB_txn *txn, const LmdbTable *tables, size_t n, unsigned flags)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        rc = lmdb_table_open(tables[i].handle, txn, tables[i].name, tables[i].flags | flags);
    }
    return rc;
}

Result lmdb_get(MDB_txn *txn, MDB_dbi table, MDB_val key, MDB_val *value, const char *what)
{
    return lmdb_result(mdb_get(txn, table, &key, value), what);
}

Result lmdb_get_struct(MDB_txn *txn, MDB_dbi table, MDB_val key, void *row, size_t bytes,
                       const char *what)
{
    MDB_val value;
    Result rc = lmdb_get(txn, table, key, &value, what);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (value.mv_size != bytes) {
        return RESULT_VERSION;
    }
    memcpy(row, value.mv_data, bytes);
    return RESULT_OK;
}

size_t lmdb_pack(const void *row, size_t bytes, uint8_t *packed)
{
    uint8_t *at = packed;
    uint64_t zeros = 0;
    for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
        uint32_t word = 0;
        memcpy(&word, (const uint8_t *)row + i, sizeof word);
        if (word == 0) {
            zeros++;
            continue;
        }
        if (zeros > 0) {
            *at++ = 0;
            at = varint_encode_uint64(zeros, at);
            zeros = 0;
        }
        at = varint_encode_uint64(word, at);
    }
    return (size_t)(at - packed);
}

bool lmdb_unpack(const MDB_val *packed, void *row, size_t bytes)
{
    const uint8_t *at = packed->mv_data;
    const uint8_t *end = at + packed->mv_size;
    uint8_t *to = row;
    size_t left = bytes / sizeof(uint32_t);
    memset(row, 0, bytes);
    while (at < end) {
        bool is_zeros = *at == 0;
        uint64_t n = 0;
        at = varint_read(at + is_zeros, end, &n);
        uint64_t words = is_zeros ? n : 1;
        if (at == NULL || n == 0 || words > left || (!is_zeros && n > UINT32_MAX)) {
            return false;
        }
        uint32_t word = is_zeros ? 0 : (uint32_t)n;
        memcpy(to, &word, sizeof word);
        to += words * sizeof word;
        left -= words;
    }
    return true;
}

Result lmdb_put(MDB_txn *txn, MDB_dbi table, MDB_val key, MDB_val value, const char *what)
{
    return lmdb_result(mdb_put(txn, table, &key, &value, 0), what);
}

Result lmdb_remove(MDB_txn *txn, MDB_dbi table, MDB_val key, const char *what)
{
    int rc = mdb_del(txn, table, &key, NULL);
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, what);
}

Result lmdb_count(MDB_txn *txn, MDB_dbi table, uint64_t *n, const char *what)
{
    MDB_stat stat = {.ms_entries = 0};
    int rc = mdb_stat(txn, table, &stat);
    *n = stat.ms_entries;
    return lmdb_result(rc, what);
}

void lmdb_rows_open(LmdbRows *rows, MDB_txn *txn, MDB_dbi table)
{
    *rows = (LmdbRows){.cursor = NULL};
    rows->code = mdb_cursor_open(txn, table, &rows->cursor);
}

void lmdb_rows_delete(LmdbRows *rows, unsigned flags)
{
    rows->code = rows->code == 0 ? mdb_cursor_del(rows->cursor, flags) : rows->code;
}

size_t lmdb_rows_count(LmdbRows *rows)
{
    size_t n = 0;
    return rows->code == 0 && lmdb_rows_note(rows, mdb_cursor_count(rows->cursor, &n)) ? n : 0;
}

void lmdb_rows_begin(LmdbRows *rows, MDB_txn *txn, MDB_dbi table, MDB_val from)
{
    lmdb_rows_open(rows, txn, table);
    rows->key = from;
    rows->is_there = lmdb_rows_get(rows, from.mv_size == 0 ? MDB_FIRST : MDB_SET_RANGE);
    rows->is_first = true;
}

bool lmdb_rows_next(LmdbRows *rows)
{
    if (!rows->is_first) {
        rows->is_there = rows->is_there && lmdb_rows_get(rows, MDB_NEXT);
    }
    rows->is_first = false;
    return rows->is_there;
}

int lmdb_rows_close(LmdbRows *rows, int rc)
{
    mdb_cursor_close(rows->cursor);
    return rc != 0 ? rc : rows->code;
}

Result lmdb_rows_end(LmdbRows *rows, Result rc, const char *what)
{
    int code = lmdb_rows_close(rows, 0);
    return rc != RESULT_OK ? rc : lmdb_result(code, what);
}
