#include "store/lmdb/txn_manager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MAX_MAP_BYTES ((size_t)1 << 46)

void inv_semaphore_init(InvSemaphore *semaphore)
{
    mutex_init(&semaphore->mutex, RANK_TABLE);
    condition_init(&semaphore->changed);
    semaphore->value = 0;
    semaphore->blocked = false;
}

void inv_semaphore_destroy(InvSemaphore *semaphore)
{
    condition_destroy(&semaphore->changed);
    mutex_destroy(&semaphore->mutex);
}

void inv_semaphore_inc(InvSemaphore *semaphore)
{
    mutex_lock(&semaphore->mutex);
    while (semaphore->blocked) {
        condition_wait(&semaphore->changed, &semaphore->mutex);
    }
    semaphore->value++;
    mutex_unlock(&semaphore->mutex);
}

void inv_semaphore_dec(InvSemaphore *semaphore)
{
    mutex_lock(&semaphore->mutex);
    semaphore->value--;
    if (semaphore->value == 0 && semaphore->blocked) {
        condition_broadcast(&semaphore->changed);
    }
    mutex_unlock(&semaphore->mutex);
}

size_t inv_semaphore_count(InvSemaphore *semaphore)
{
    mutex_lock(&semaphore->mutex);
    size_t value = semaphore->value;
    mutex_unlock(&semaphore->mutex);
    return value;
}

static void open_door(InvSemaphore *semaphore)
{
    semaphore->blocked = false;
    condition_broadcast(&semaphore->changed);
}

bool inv_semaphore_block_until(InvSemaphore *semaphore, MonoTime deadline)
{
    mutex_lock(&semaphore->mutex);
    bool in_time = true;
    while (semaphore->blocked && in_time) {
        in_time = condition_wait_until(&semaphore->changed, &semaphore->mutex, deadline);
    }
    bool closed = !semaphore->blocked;
    if (closed) {
        semaphore->blocked = true;
        in_time = true;
        while (semaphore->value > 0 && in_time) {
            in_time = condition_wait_until(&semaphore->changed, &semaphore->mutex, deadline);
        }
        if (semaphore->value > 0) {
            open_door(semaphore);
            closed = false;
        }
    }
    mutex_unlock(&semaphore->mutex);
    return closed;
}

void inv_semaphore_block(InvSemaphore *semaphore)
{
    (void)inv_semaphore_block_until(semaphore, MONO_NEVER);
}

void inv_semaphore_release(InvSemaphore *semaphore)
{
    mutex_lock(&semaphore->mutex);
    open_door(semaphore);
    mutex_unlock(&semaphore->mutex);
}

TxnManagerError txn_manager_new(TxnManager **tm, MDB_env *env)
{
    *tm = NULL;
    TxnManager *manager = calloc(1, sizeof *manager);
    Error *error = error_new();
    if (manager == NULL || error == NULL) {
        error_delete(error);
        free(manager);
        return txn_manager_error_memory;
    }
    manager->env = env;
    manager->error = error;
    inv_semaphore_init(&manager->txn_counter_read);
    inv_semaphore_init(&manager->txn_counter_write);
    atomic_init(&manager->writer, NULL);
    atomic_init(&manager->idle, NULL);
    *tm = manager;
    return txn_manager_error_ok;
}

TxnManagerError txn_manager_delete(TxnManager *tm)
{
    if (tm != NULL) {
        mdb_txn_abort(atomic_load(&tm->idle));
        inv_semaphore_destroy(&tm->txn_counter_read);
        inv_semaphore_destroy(&tm->txn_counter_write);
        error_delete(tm->error);
        free(tm);
    }
    return txn_manager_error_ok;
}

/* Which growth is asked of resize(). */
typedef enum Growth {
    GROWTH_WHEN_SHORT, /* double if few pages are free */
    GROWTH_TO,         /* to `bytes`, or double */
    GROWTH_ADOPT       /* what another process has made it */
} Growth;

/* LMDB unmaps the old map before it asks for the new one and is lost when that fails. So room for
 * the whole new map is looked for first, beside the old one: room for what is added may lie
 * elsewhere, and not make one piece with the old map's. */
static bool txn_manager_address_space_has(size_t bytes)
{
    if (bytes > MAX_MAP_BYTES) {
        return false;
    }
    void *probe = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return probe != MAP_FAILED && munmap(probe, bytes) == 0;
}

static int set_mapsize(MDB_env *env, Growth growth, size_t bytes)
{
    if (growth == GROWTH_ADOPT) {
        return mdb_env_set_mapsize(env, 0);
    }
    MDB_envinfo info;
    int rc = mdb_env_info(env, &info);
    if (rc != 0) {
        return rc;
    }
    size_t wanted = bytes;
    if (wanted == 0 && __builtin_mul_overflow(info.me_mapsize, (size_t)2, &wanted)) {
        return ENOMEM;
    }
    if (wanted <= info.me_mapsize) {
        return 0;
    }
    if (!txn_manager_address_space_has(wanted)) {
        return ENOMEM;
    }
    return mdb_env_set_mapsize(env, wanted);
}

/* Writers are kept out. Keeps out readers too, then grows. */
static int txn_manager_resize(TxnManager *tm, Growth growth, size_t bytes, MonoTime deadline)
{
    for (;;) {
        MonoTime turn = mono_add_ms(mono_now(), TXN_MANAGER_TURN_MS);
        if (inv_semaphore_block_until(&tm->txn_counter_read, turn)) {
            break;
        }
        if (!mono_before(mono_now(), deadline)) {
            return ETIMEDOUT;
        }
    }
    if (tm->drop_idle != NULL) {
        tm->drop_idle(tm->hook_context);
    }
    int rc = set_mapsize(tm->env, growth, bytes);
    inv_semaphore_release(&tm->txn_counter_read);
    return rc;
}

static int needs_room(MDB_env *env, bool *needed)
{
    MDB_envinfo info;
    MDB_stat stat;
    int rc = mdb_env_info(env, &info);
    if (rc == 0) {
        rc = mdb_env_stat(env, &stat);
    }
    if (rc == 0) {
        *needed = info.me_mapsize / stat.ms_psize < info.me_last_pgno + MDB_MINIMUM_FREE_PAGES;
    }
    return rc;
}

static int txn_manager_grow(TxnManager *tm, Growth growth, size_t bytes)
{
    MonoTime deadline = mono_add_ms(mono_now(), TXN_MANAGER_PATIENCE_MS);
    if (!inv_semaphore_block_until(&tm->txn_counter_write, deadline)) {
        return ETIMEDOUT;
    }
    bool needed = true;
    int rc = growth == GROWTH_WHEN_SHORT ? needs_room(tm->env, &needed) : 0;
    if (rc == 0 && needed) {
        rc = txn_manager_resize(tm, growth, bytes, deadline);
    }
    inv_semaphore_release(&tm->txn_counter_write);
    return rc;
}

/* What can be done when no transaction could be begun; 0: try again. */
static int remedy(TxnManager *tm, int rc)
{
    int dead = 0;
    switch (rc) {
    case MDB_MAP_RESIZED:
        return txn_manager_grow(tm, GROWTH_ADOPT, 0);
    case MDB_READERS_FULL: /* processes that died have left their slots behind */
        return mdb_reader_check(tm->env, &dead) == 0 && dead > 0 ? 0 : rc;
    default:
        return rc;
    }
}

/* The address of an object of the thread's own tells it apart from the others. */
static uint64_t this_thread(void)
{
    static _Thread_local char own;
    return (uint64_t)(uintptr_t)&own;
}

/* Begins by the transaction that is idle, if there is one. */
static int txn_manager_begin_one(TxnManager *tm, unsigned flags, MDB_txn **txn)
{
    MDB_txn *idle = (flags & MDB_RDONLY) == 0 ? NULL : atomic_exchange(&tm->idle, NULL);
    if (idle != NULL && mdb_txn_renew(idle) == 0) {
        *txn = idle;
        return 0;
    }
    mdb_txn_abort(idle); /* the map was grown by another process, perhaps: a new one finds out */
    return mdb_txn_begin(tm->env, NULL, flags, txn);
}

int txn_manager_begin_mdb(TxnManager *tm, unsigned flags, MDB_txn **txn)
{
    bool read_only = (flags & MDB_RDONLY) != 0;
    InvSemaphore *counter = read_only ? &tm->txn_counter_read : &tm->txn_counter_write;
    *txn = NULL;
    if (!read_only && atomic_load(&tm->writer) != NULL &&
        atomic_load(&tm->writer_thread) == this_thread()) {
        return EDEADLK;
    }
    for (;;) {
        inv_semaphore_inc(counter);
        int rc = txn_manager_begin_one(tm, flags, txn);
        if (rc == 0) {
            if (!read_only) {
                atomic_store(&tm->writer_thread, this_thread());
                atomic_store(&tm->writer, *txn);
            }
            return 0;
        }
        *txn = NULL;
        inv_semaphore_dec(counter);
        rc = remedy(tm, rc);
        if (rc != 0) {
            return rc;
        }
    }
}

/* The counter a transaction was counted by; forgets it as the writer. */
static InvSemaphore *txn_manager_forget(TxnManager *tm, MDB_txn *txn)
{
    if (atomic_load(&tm->writer) == txn) {
        atomic_store(&tm->writer, NULL);
        return &tm->txn_counter_write;
    }
    return &tm->txn_counter_read;
}

static void txn_manager_settle(TxnManager *tm, const InvSemaphore *counter, bool committed)
{
    if (counter == &tm->txn_counter_write && tm->settle != NULL) {
        tm->settle(tm->hook_context, committed);
    }
}

int txn_manager_commit_mdb(TxnManager *tm, MDB_txn *txn)
{
    InvSemaphore *counter = txn_manager_forget(tm, txn);
    int rc = mdb_txn_commit(txn);
    txn_manager_settle(tm, counter, rc == 0);
    inv_semaphore_dec(counter);
    return rc;
}

void txn_manager_abort_mdb(TxnManager *tm, MDB_txn *txn)
{
    InvSemaphore *counter = txn_manager_forget(tm, txn);
    if (counter == &tm->txn_counter_read) {
        mdb_txn_reset(txn);
        txn = atomic_exchange(&tm->idle, txn);
    }
    mdb_txn_abort(txn);
    txn_manager_settle(tm, counter, false);
    inv_semaphore_dec(counter);
}

static TxnManagerError txn_manager_report(TxnManager *tm, int rc, const char *what)
{
    if (rc == 0) {
        return txn_manager_error_ok;
    }
    TxnManagerError code = txn_manager_error_mdb;
    char text[256];
    if (rc == EDEADLK) {
        code = txn_manager_error_thread;
        (void)snprintf(text, sizeof text, "%s: this thread has a write transaction open", what);
    } else if (rc == ETIMEDOUT) {
        code = txn_manager_error_thread;
        (void)snprintf(text, sizeof text, "%s: a transaction was held too long", what);
    } else {
        code = rc == ENOMEM ? txn_manager_error_memory : code;
        (void)snprintf(text, sizeof text, "%s: %s", what, mdb_strerror(rc));
    }
    error_set(tm->error, (int)code, text);
    return code;
}

TxnManagerError txn_manager_begin(TxnManager *tm, int flags, MDB_txn **txn)
{
    error_clean(tm->error);
    return txn_manager_report(tm, txn_manager_begin_mdb(tm, (unsigned)flags, txn),
                              "txn_manager_begin");
}

TxnManagerError txn_manager_commit(TxnManager *tm, MDB_txn *txn)
{
    error_clean(tm->error);
    return txn_manager_report(tm, txn_manager_commit_mdb(tm, txn), "txn_manager_commit");
}

TxnManagerError txn_manager_abort(TxnManager *tm, MDB_txn *txn)
{
    error_clean(tm->error);
    txn_manager_abort_mdb(tm, txn);
    return txn_manager_error_ok;
}

TxnManagerError txn_manager_expand(TxnManager *tm)
{
    error_clean(tm->error);
    return txn_manager_report(tm, txn_manager_grow(tm, GROWTH_WHEN_SHORT, 0), "txn_manager_expand");
}

TxnManagerError txn_manager_expand_to(TxnManager *tm, size_t bytes)
{
    error_clean(tm->error);
    return txn_manager_report(tm, txn_manager_grow(tm, GROWTH_TO, bytes), "txn_manager_expand");
}
