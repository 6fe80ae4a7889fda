/* A library to preload: records what a crawl's writing thread gives to LMDB and to files, so that
 * the same can be given to them by a program that does nothing else (tests/bench/bench_writer.c).
 *
 *   LD_PRELOAD=./rows_shim.so ROWS_RECORD=FILE ragno ...
 *
 * Recorded are the write transactions of all threads, with each put, delete and look-up in them,
 * and the writes and syncs of the thread that is called "ingest". Of what is put with MDB_RESERVE
 * only the length is known. */
#include <dlfcn.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <threads.h>
#include <unistd.h>

#include "rows_log.h"

#define WRITER   "ingest"
#define DATABASE "crawl.mdb"

/* LMDB has one write transaction at a time, and the writer's files are written inside or between
 * its own: the lock is for those between. */
static struct {
    mtx_t mutex;
    FILE *log;
    MDB_txn *txn; /* the write transaction under way */
    bool has_env;
} shim;

static _Thread_local unsigned inside; /* calls of LMDB: what it writes is its own */

#define REAL(name)                                                                                 \
    static __typeof__(&(name)) real;                                                               \
    if (real == NULL) {                                                                            \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                                 \
    }

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("ROWS_RECORD");
    bool has_lock = mtx_init(&shim.mutex, mtx_plain) == thrd_success;
    shim.log = path == NULL || !has_lock ? NULL : fopen(path, "we");
}

__attribute__((destructor)) static void finish(void)
{
    if (shim.log != NULL) {
        (void)fclose(shim.log);
    }
}

static bool is_writer(void)
{
    char name[16] = "";
    return pthread_getname_np(pthread_self(), name, sizeof name) == 0 && strcmp(name, WRITER) == 0;
}

static void note(RowsEntry entry, const void *key, const void *value)
{
    if (shim.log == NULL) {
        return;
    }
    (void)mtx_lock(&shim.mutex);
    (void)fwrite(&entry, sizeof entry, 1, shim.log);
    if (key != NULL) {
        (void)fwrite(key, 1, entry.n_key, shim.log);
    }
    if (value != NULL) {
        (void)fwrite(value, 1, entry.n_value, shim.log);
    }
    (void)mtx_unlock(&shim.mutex);
}

static void note_row(RowsOp op, MDB_dbi table, unsigned flags, const MDB_val *key,
                     const MDB_val *value)
{
    note((RowsEntry){.op = (uint8_t)op,
                     .has_value = value != NULL,
                     .table = (uint16_t)table,
                     .flags = flags,
                     .n_key = (uint32_t)key->mv_size,
                     .n_value = value == NULL ? 0 : (uint32_t)value->mv_size},
         key->mv_data, value == NULL || (flags & MDB_RESERVE) != 0 ? NULL : value->mv_data);
}

/* ---- transactions and tables ---- */

/* Whether it is the crawl's, and no copy of its file; what it is like is told once. */
static bool is_crawl(MDB_env *env)
{
    const char *path = NULL;
    MDB_envinfo info;
    unsigned flags = 0;
    if (mdb_env_get_path(env, &path) != 0 || path == NULL || strstr(path, DATABASE) == NULL ||
        mdb_env_info(env, &info) != 0 || mdb_env_get_flags(env, &flags) != 0 ||
        (flags & MDB_NOSUBDIR) != 0) {
        return false;
    }
    uint64_t value[2] = {flags, info.me_mapsize};
    if (!shim.has_env) {
        note((RowsEntry){.op = ROWS_ENV, .n_value = sizeof value}, NULL, value);
        shim.has_env = true;
    }
    return true;
}

int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn)
{
    REAL(mdb_txn_begin);
    int rc = real(env, parent, flags, txn);
    if (rc == 0 && (flags & MDB_RDONLY) == 0 && is_crawl(env)) {
        note((RowsEntry){.op = ROWS_BEGIN, .flags = is_writer()}, NULL, NULL);
        shim.txn = *txn;
    }
    return rc;
}

int mdb_txn_commit(MDB_txn *txn)
{
    REAL(mdb_txn_commit);
    bool ours = txn == shim.txn;
    if (ours) {
        shim.txn = NULL;
        note((RowsEntry){.op = ROWS_COMMIT}, NULL, NULL); /* before the next one can begin */
    }
    inside++;
    int rc = real(txn);
    inside--;
    return rc;
}

void mdb_txn_abort(MDB_txn *txn)
{
    REAL(mdb_txn_abort);
    if (txn == shim.txn && txn != NULL) {
        shim.txn = NULL;
        note((RowsEntry){.op = ROWS_ABORT}, NULL, NULL);
    }
    real(txn);
}

int mdb_dbi_open(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *dbi)
{
    REAL(mdb_dbi_open);
    unsigned has = 0;
    int rc = real(txn, name, flags, dbi);
    if (rc == 0 && is_crawl(mdb_txn_env(txn)) && mdb_dbi_flags(txn, *dbi, &has) == 0) {
        note((RowsEntry){.op = ROWS_TABLE,
                         .table = (uint16_t)*dbi,
                         .flags = has,
                         .n_key = name == NULL ? 0 : (uint32_t)strlen(name)},
             name, NULL);
    }
    return rc;
}

int mdb_drop(MDB_txn *txn, MDB_dbi dbi, int del)
{
    REAL(mdb_drop);
    if (txn == shim.txn) {
        note((RowsEntry){.op = ROWS_DROP, .table = (uint16_t)dbi}, NULL, NULL);
    }
    return real(txn, dbi, del);
}

/* ---- rows ---- */

int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags)
{
    REAL(mdb_put);
    inside++;
    int rc = real(txn, dbi, key, value, flags);
    inside--;
    if (txn == shim.txn) {
        note_row(rc == 0 ? ROWS_PUT : ROWS_SEEK, dbi, rc == 0 ? flags : MDB_SET, key,
                 rc == 0 ? value : NULL);
    }
    return rc;
}

int mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value)
{
    REAL(mdb_del);
    inside++;
    int rc = real(txn, dbi, key, value);
    inside--;
    if (txn == shim.txn) {
        note_row(rc == 0 ? ROWS_DELETE : ROWS_SEEK, dbi, MDB_SET, key, rc == 0 ? value : NULL);
    }
    return rc;
}

int mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value)
{
    REAL(mdb_get);
    if (txn == shim.txn) {
        note_row(ROWS_SEEK, dbi, MDB_SET, key, NULL);
    }
    return real(txn, dbi, key, value);
}

static int cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op)
{
    REAL(mdb_cursor_get);
    return real(cursor, key, value, op);
}

int mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op)
{
    bool both = op == MDB_GET_BOTH || op == MDB_GET_BOTH_RANGE;
    bool seeks = both || op == MDB_SET || op == MDB_SET_KEY || op == MDB_SET_RANGE;
    if (seeks && mdb_cursor_txn(cursor) == shim.txn) {
        note_row(ROWS_SEEK, mdb_cursor_dbi(cursor), op, key, both ? value : NULL);
    }
    return cursor_get(cursor, key, value, op);
}

/* What stands at the cursor goes. */
static void note_current(MDB_cursor *cursor, bool all)
{
    MDB_val key;
    MDB_val value;
    if (cursor_get(cursor, &key, &value, MDB_GET_CURRENT) == 0) {
        note_row(ROWS_DELETE, mdb_cursor_dbi(cursor), 0, &key, all ? NULL : &value);
    }
}

int mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags)
{
    REAL(mdb_cursor_put);
    bool ours = mdb_cursor_txn(cursor) == shim.txn;
    if (ours && (flags & MDB_CURRENT) != 0) {
        note_current(cursor, false);
    }
    inside++;
    int rc = real(cursor, key, value, flags);
    inside--;
    if (ours) {
        note_row(rc == 0 ? ROWS_PUT : ROWS_SEEK, mdb_cursor_dbi(cursor), rc == 0 ? flags : MDB_SET,
                 key, rc == 0 ? value : NULL);
    }
    return rc;
}

int mdb_cursor_del(MDB_cursor *cursor, unsigned flags)
{
    REAL(mdb_cursor_del);
    if (mdb_cursor_txn(cursor) == shim.txn) {
        note_current(cursor, (flags & MDB_NODUPDATA) != 0);
    }
    inside++;
    int rc = real(cursor, flags);
    inside--;
    return rc;
}

/* ---- files ---- */

static void note_file(RowsOp op, int fd, ssize_t n)
{
    if (inside == 0 && n >= 0 && is_writer()) {
        note((RowsEntry){.op = (uint8_t)op, .table = (uint16_t)fd, .n_value = (uint32_t)n}, NULL,
             NULL);
    }
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    REAL(write);
    ssize_t done = real(fd, bytes, n);
    note_file(ROWS_WRITE, fd, done);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    REAL(pwrite);
    ssize_t done = real(fd, bytes, n, at);
    note_file(ROWS_WRITE, fd, done);
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    return pwrite(fd, bytes, n, at);
}

ssize_t pwritev(int fd, const struct iovec *pieces, int n, off_t at)
{
    REAL(pwritev);
    ssize_t done = real(fd, pieces, n, at);
    note_file(ROWS_WRITE, fd, done);
    return done;
}

ssize_t pwritev64(int fd, const struct iovec *pieces, int n, off64_t at)
{
    return pwritev(fd, pieces, n, at);
}

int fdatasync(int fd)
{
    REAL(fdatasync);
    int rc = real(fd);
    note_file(ROWS_SYNC, fd, rc);
    return rc;
}

int fsync(int fd)
{
    REAL(fsync);
    int rc = real(fd);
    note_file(ROWS_SYNC, fd, rc);
    return rc;
}
