/* What the files of PageDB share. Nobody else includes it, but tests. */
#ifndef STORE_PAGES_PAGE_DB_INTERNAL_H
#define STORE_PAGES_PAGE_DB_INTERNAL_H

#include "base/thread/mutex.h"
#include "store/lmdb/map_residence.h"
#include "store/pages/page_db.h"
#include "store/pages/page_lookup.h"

typedef struct PageTables {
    MDB_dbi info;
    MDB_dbi hash2idx;
    MDB_dbi idx2info;
    MDB_dbi idx2crawl;
    MDB_dbi links;
    MDB_dbi origins;
    MDB_dbi origin2host;
} PageTables;

typedef struct PageBatch PageBatch; /* page_batch.h */
typedef struct PageHosts PageHosts; /* page_hosts.h */

struct PageDBStore {
    MDB_env *env;
    PageTables tables;
    bool read_only;
    uint64_t seed;      /* of the fingerprints */
    uint64_t hash_mask; /* bits of page_db_hash that count; all. Tests force equal hashes with it */
    Mutex mutex;        /* guards PageDB.domain_temp; RANK_STORE */
    Mutex streams_mutex; /* guards streams and, against parking, each of them; RANK_STORE */
    struct PageSnapshot *streams;
    Mutex readers_mutex;        /* guards readers; RANK_TABLE */
    struct PageReader *readers; /* idle ones: page_reader.h */
    PageLookup lookup;          /* hash -> index, in memory; its own mutex */
    MapResidence residence;     /* how much of the map counts as resident */
    atomic_uint look_ups;       /* since then */
    /* Belong to the write transaction: */
    PageBatch *batch;
    PageHosts *hosts;
};

/* Keeps the map within the budget. The caller has a transaction. */
void page_store_check_residence(PageDBStore *store);
/* The same after every other look-up in a tree (store/lmdb/map_residence.h says why). */
static inline void page_store_looked_up(PageDBStore *store, unsigned n)
{
    unsigned before = atomic_fetch_add_explicit(&store->look_ups, n, memory_order_relaxed);
    if (before / 2 != (before + n) / 2 &&
        atomic_load_explicit(&store->residence.budget, memory_order_relaxed) > 0) {
        page_store_check_residence(store);
    }
}

/* A URL as hash2idx knows it. */
typedef struct PageKey {
    uint64_t hash;  /* domain 32, URL 32 */
    uint64_t print; /* fingerprint, PAGE_PRINT_BITS */
} PageKey;

#define PAGE_DB_N_PAGES_KEY "n_pages"

#define PAGE_PRINT_BITS  40
#define PAGE_INDEX_BITS  48
#define PAGE_MAX_DEPTH8  255u /* entries of hash2idx keep depths up to this */
#define PAGE_ENTRY_BYTES 16

/* An entry of hash2idx: big-endian, so that bytewise order is (URL hash, fingerprint). */
typedef struct PageEntry {
    uint32_t url_hash;
    uint64_t print;
    uint8_t depth; /* PAGE_MAX_DEPTH8: that or more */
    uint64_t index;
} PageEntry;

void page_entry_write(const PageEntry *entry, uint8_t out[PAGE_ENTRY_BYTES]);
void page_entry_read(const uint8_t in[PAGE_ENTRY_BYTES], PageEntry *entry);

/* The key of a URL. */
PageKey page_db_key(const PageDB *db, const char *url, size_t length);

/* Tells the domain temperatures of pages that were added. For schedulers, which write pages in
 * transactions of their own. */
void page_db_heat(PageDB *db, const CrawledPage *const *pages, size_t n);

/* Sets the error of db and returns code. what: "page_db_add: ...". */
int page_db_fail(PageDB *db, int code, const char *what);
/* The same for an LMDB return code or errno; 0 is success and leaves the error alone. */
int page_db_fail_mdb(PageDB *db, int rc, const char *what);

/* The hash of the page of an index; 0 for PAGE_DB_NO_INDEX. An LMDB code or ENOMEM. */
int page_db_hash_of_index(PageDB *db, MDB_txn *txn, uint64_t index, uint64_t *hash);
/* The number of pages. An LMDB code. */
int page_db_count_pages(PageDBStore *store, MDB_txn *txn, uint64_t *n_pages);

/* One line of a dump; what fprintf returns. */
int page_db_print_info(FILE *output, char separator, uint64_t hash, uint64_t index,
                       const PageInfo *pi);
/* A PageInfo on the heap, of a page whose hash and index are known; reader may be NULL. An LMDB
 * code or ENOMEM. */
struct PageReader;
int page_db_make_info(PageDB *db, MDB_txn *txn, struct PageReader *reader, uint64_t hash,
                      uint64_t index, PageInfo **pi);
/* The hash of the page that a page is linked from; 0 when it is none. */
int page_db_linked_from(PageDB *db, MDB_txn *txn, const char *url, uint64_t *hash);

#endif
