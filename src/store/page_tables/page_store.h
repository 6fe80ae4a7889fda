/* The inside of a PageDB: its environment, its tables, and what is kept in memory beside them.
 *
 * What: everything that the parts of PageDB share. PageDB itself (page_db.h) is the documented
 * object around it. The parts in this room and in store/page_batch know the store alone and answer
 * with LMDB codes, which PageDB turns into its own.
 * Owns: the environment, the idle readers, the look-up table, the batch and the cache of hosts. The
 * transaction manager is PageDB's.
 * Threads: any. `batch` and `hosts` belong to the thread with the write transaction; each list has
 * a mutex of its own; tables and options never change after the store was opened. */
#pragma once

#include <lmdb.h>
#include <stdatomic.h>

#include "store/format/page_packs.h"
#include "store/lmdb/map_residence.h"
#include "store/lmdb/txn_manager.h"
#include "store/page_tables/page_lookup_types.h"

/* The LMDB tables of PageDB, and the numbers that describe them.
 *
 * What: the handles of the six tables (page_db.h lists keys and values), and the table "info". It
 * holds named 64-bit numbers: the format version, the seed of the fingerprints, and how many pages
 * there are.
 * Owns: nothing. The handles stay valid for the life of the environment once the transaction that
 * opened them was committed.
 * Threads: the one whose transaction it is.
 * Errors: LMDB codes. */

#define PAGE_TABLES_INFO    "info"
#define PAGE_TABLES_VERSION "version"
#define PAGE_TABLES_SEED    "seed"
#define PAGE_TABLES_N_PAGES "n_pages"

typedef struct PageTables {
    MDB_dbi info;
    MDB_dbi hash2idx;
    MDB_dbi idx2info;
    MDB_dbi links;
    MDB_dbi origins;
    MDB_dbi origin2host;
} PageTables;

/* Opens all tables; create makes those that are missing, which needs a write transaction. */
int page_tables_open(MDB_txn *txn, PageTables *tables, bool create);
/* A number of the info table. MDB_NOTFOUND; MDB_INVALID when the value is not eight bytes. */
int page_tables_read_number(MDB_txn *txn, MDB_dbi info, const char *name, uint64_t *number);
int page_tables_write_number(MDB_txn *txn, MDB_dbi info, const char *name, uint64_t number);

typedef struct PageBatch PageBatch;   /* page_batch.h */
typedef struct PageClaim PageClaim;   /* page_db_open.h */
typedef struct PageHosts PageHosts;   /* page_hosts.h */
typedef struct PageReader PageReader; /* page_reader.h */

typedef struct PageDBStore {
    MDB_env *env;
    TxnManager *txn_manager; /* borrowed; all transactions go through it */
    PageTables tables;
    Journal *journal; /* of changed rows; owned */
    bool read_only;
    uint64_t seed;      /* of the fingerprints */
    uint64_t hash_mask; /* bits of a page hash that count; all. Tests force equal hashes with it */
    bool lazy_sync;     /* page_db_set_sync(db, 0): commits of a second are synced together */
    _Atomic int64_t synced_ns;  /* when they were last; monotonic */
    atomic_bool has_best_first; /* a BFScheduler works on it */
    atomic_bool has_frequency;  /* a FreqScheduler does */
    PageClaim *claim;           /* this process has the database open */
    Mutex mutex;                /* guards PageDB.domain_temp; RANK_STORE */
    atomic_bool failed;  /* a commit could not be written or synced: nothing is written any more */
    Mutex readers_mutex; /* guards readers; RANK_TABLE */
    PageReader *readers; /* the idle ones */
    PageLookup lookup;   /* hash -> index, in memory; its own mutex */
    MapResidence residence; /* how much of the map counts as resident */
    atomic_uint look_ups;   /* since the map's residence was looked at */
    /* Belong to the write transaction: */
    PagePackEditor sweep; /* of the journal */
    PageBatch *batch;
    PageHosts *hosts;
} PageDBStore;

/* The number of pages, and its new value. LMDB codes. */
int page_store_count_pages(PageDBStore *store, MDB_txn *txn, uint64_t *n_pages);
int page_store_set_n_pages(PageDBStore *store, MDB_txn *txn, uint64_t n_pages);

/* Opens the journal, and tells it how records of pages are written. */
int page_store_open_journal(PageDBStore *store, MDB_txn *txn);

/* Keeps the map within the budget. The caller has a transaction. */
void page_store_check_residence(PageDBStore *store);
/* The same after look-ups in a tree, when it is due. */
static inline void page_store_looked_up(PageDBStore *store, unsigned n)
{
    if (map_residence_is_bound(&store->residence)) {
        unsigned every = map_residence_look_ups(&store->residence);
        unsigned before = atomic_fetch_add_explicit(&store->look_ups, n, memory_order_relaxed);
        if (before / every != (before + n) / every) {
            page_store_check_residence(store);
        }
    }
}
