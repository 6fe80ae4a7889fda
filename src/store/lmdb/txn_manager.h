/* Counts the transactions of an LMDB environment, so that its map can be grown safely.
 *
 * What: LMDB allows mdb_env_set_mapsize only while the process has no transaction on the
 * environment. So every transaction is begun and ended through the manager, which counts readers
 * and writers in two inverse semaphores. txn_manager_expand keeps new transactions out, waits for
 * the old ones to end, and grows.
 *
 * A thread that holds a transaction, or a lock that a holder waits for, may begin another one while
 * an expansion waits. That must not deadlock: an expansion closes the door only for
 * TXN_MANAGER_TURN_MS. If readers have not left by then it opens the door, lets everybody through,
 * and tries anew. After TXN_MANAGER_PATIENCE_MS it gives up with txn_manager_error_thread, which
 * happens only when a reader is held all that time, most likely by the calling thread itself.
 *
 * A read transaction that is aborted is reset and kept, one of them, and the next begin renews it:
 * to begin one clears kilobytes (2.7 a host in a crawl). It is not counted and holds no snapshot,
 * only a slot in the table of readers.
 *
 * Owns: its Error and the idle transaction; the environment is borrowed.
 * Threads: any thread may call anything; a transaction belongs to one thread at a time. The caller
 * of txn_manager_expand holds no write transaction.
 * Errors: a failed begin or commit leaves nothing counted. A transaction whose commit failed is
 * gone and must not be aborted.
 * Source: seeds 000 and 003, "TxnManager". */
#ifndef STORE_LMDB_TXN_MANAGER_H
#define STORE_LMDB_TXN_MANAGER_H

#include <lmdb.h>
#include <stdatomic.h>

#include "base/core/error.h"
#include "base/thread/mutex.h"

/* The map grows when fewer free pages than this are left. */
#define MDB_MINIMUM_FREE_PAGES 10000

#define TXN_MANAGER_TURN_MS     20
#define TXN_MANAGER_PATIENCE_MS 30000

typedef enum TxnManagerError {
    txn_manager_error_ok = 0,   /* no error */
    txn_manager_error_internal, /* unexpected error */
    txn_manager_error_memory,   /* error allocating memory, or no address space for a larger map */
    txn_manager_error_thread,   /* readers did not end while the map had to grow */
    txn_manager_error_mdb       /* error inside LMDB; the message has its words */
} TxnManagerError;

/* A semaphore that blocks while its count is above zero. */
typedef struct InvSemaphore {
    Mutex mutex;       /* guards the rest; RANK_TABLE */
    Condition changed; /* the count fell to zero, or the door was opened */
    size_t value;      /* transactions that are counted */
    bool blocked;      /* the door is closed */
} InvSemaphore;

void inv_semaphore_init(InvSemaphore *semaphore);
void inv_semaphore_destroy(InvSemaphore *semaphore);
/* Waits while the door is closed, then counts one. */
void inv_semaphore_inc(InvSemaphore *semaphore);
/* Counts one less. */
void inv_semaphore_dec(InvSemaphore *semaphore);
size_t inv_semaphore_count(InvSemaphore *semaphore);
/* Closes the door (waiting for whoever else has closed it) and waits until the count is zero. */
void inv_semaphore_block(InvSemaphore *semaphore);
/* The same until deadline; on false the door is as before. */
bool inv_semaphore_block_until(InvSemaphore *semaphore, MonoTime deadline);
/* Opens the door. */
void inv_semaphore_release(InvSemaphore *semaphore);

typedef struct TxnManager {
    MDB_env *env;                   /* borrowed */
    InvSemaphore txn_counter_read;  /* read transactions */
    InvSemaphore txn_counter_write; /* write transactions, counted from before they wait for LMDB */
    Error *error;                   /* owned; words for the last call that failed */
    _Atomic(MDB_txn *) writer;      /* the write transaction that is open, or NULL */
    _Atomic(uint64_t) writer_thread; /* that has begun it */
    _Atomic(MDB_txn *) idle;         /* a read transaction that was reset, or NULL */
    /* Hooks for modules that keep something beside the transactions; set before the manager is
     * shared, or NULL. drop_idle is called just before the map moves, while no transaction may
     * begin: it ends idle ones, which are not counted. */
    void (*drop_idle)(void *context);
    /* Called behind every write transaction. */
    void (*settle)(void *context, bool committed);
    void *hook_context;
} TxnManager;

/* env stays the caller's and outlives the manager. On failure *tm is NULL. */
TxnManagerError txn_manager_new(TxnManager **tm, MDB_env *env);
/* NULL is accepted. There must be no transactions left. */
TxnManagerError txn_manager_delete(TxnManager *tm);

/* mdb_txn_begin, counted. A thread that has a write transaction open gets no second one
 * (txn_manager_error_thread, EDEADLK): it would wait for itself. flags: MDB_RDONLY or 0. Waits
 * while the map is being resized. Adopts the new size when another process has grown the map.
 * Clears the slots of dead processes when the table of readers is full. */
TxnManagerError txn_manager_begin(TxnManager *tm, int flags, MDB_txn **txn);
/* mdb_txn_commit and mdb_txn_abort, uncounted. */
TxnManagerError txn_manager_commit(TxnManager *tm, MDB_txn *txn);
TxnManagerError txn_manager_abort(TxnManager *tm, MDB_txn *txn);

/* Doubles the map when fewer than MDB_MINIMUM_FREE_PAGES pages are free in it. Waits for writers
 * always, for readers only when the map must grow. */
TxnManagerError txn_manager_expand(TxnManager *tm);
/* Grows the map to at least bytes, whatever is free; 0 doubles it. */
TxnManagerError txn_manager_expand_to(TxnManager *tm, size_t bytes);

/* The three calls with LMDB's own return codes, for callers that tell MDB_MAP_FULL and ENOSPC
 * apart; they leave `error` alone. */
int txn_manager_begin_mdb(TxnManager *tm, unsigned flags, MDB_txn **txn);
int txn_manager_commit_mdb(TxnManager *tm, MDB_txn *txn);
void txn_manager_abort_mdb(TxnManager *tm, MDB_txn *txn);

#endif
