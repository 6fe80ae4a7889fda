/* The key of a URL, and its entry in the table hash2idx.
 *
 * What: a key is domain hash, URL hash and fingerprint of a URL. The table hash2idx maps the domain
 * hash to sorted entries of sixteen bytes, which hold the rest of the key, the depth and the index
 * of the page. So the pages of a domain are neighbours.
 * Threads: pure functions, but for page_key_find, which uses the caller's transaction.
 * Invariants: entries are written big-endian, so that their bytewise order is the order of (URL
 * hash, fingerprint). The depth comes behind these, so an entry whose depth changes must be taken
 * out and put in again.
 * Errors: LMDB codes. */
#pragma once

#include <endian.h>
#include <lmdb.h>
#include <string.h>

#include "store/page_tables/page_store.h"
#include "store/records/page_ref.h"

#define PAGE_PRINT_BITS  40
#define PAGE_INDEX_BITS  48
#define PAGE_MAX_DEPTH8  255u /* entries of hash2idx keep depths up to this */
#define PAGE_ENTRY_BYTES 16

typedef struct PageEntry {
    uint32_t url_hash;
    uint64_t print;
    uint8_t depth; /* PAGE_MAX_DEPTH8: that or more */
    uint64_t index;
} PageEntry;

/* (URL hash 32, high 32 of print) and (low 8 of print, depth 8, index 48), both big-endian. */
static inline void page_entry_write(const PageEntry *entry, uint8_t out[PAGE_ENTRY_BYTES])
{
    uint64_t index = entry->index & ((UINT64_C(1) << PAGE_INDEX_BITS) - 1);
    uint64_t high = htobe64((uint64_t)entry->url_hash << 32 | entry->print >> 8);
    uint64_t low = htobe64(entry->print << 56 | (uint64_t)entry->depth << PAGE_INDEX_BITS | index);
    memcpy(out, &high, sizeof high);
    memcpy(out + sizeof high, &low, sizeof low);
}

static inline void page_entry_read(const uint8_t in[PAGE_ENTRY_BYTES], PageEntry *entry)
{
    uint64_t high = 0, low = 0;
    memcpy(&high, in, sizeof high);
    memcpy(&low, in + sizeof high, sizeof low);
    high = be64toh(high);
    low = be64toh(low);
    entry->url_hash = (uint32_t)(high >> 32);
    entry->print = (high & UINT32_MAX) << 8 | low >> 56;
    entry->depth = (uint8_t)(low >> PAGE_INDEX_BITS);
    entry->index = low & ((UINT64_C(1) << PAGE_INDEX_BITS) - 1);
}

static inline uint32_t page_key_domain(const PageKey *key)
{
    return (uint32_t)(key->hash >> 32);
}

/* The hash that the documented library names a page by: XXH32 of the host, XXH32 of the URL. */
uint64_t page_key_hash(const char *url, size_t length);
/* The key of a URL. */
PageKey page_key_of(const PageDBStore *store, const char *url, size_t length);

/* The page that links are read from: what makes the keys of links within a host cheap. */
typedef struct PageOrigin {
    const char *url;
    size_t prefix_length; /* "http://host:port", 0 when it has none */
    size_t host_start;
    size_t host_end;
    uint32_t domain_hash;
} PageOrigin;
void page_origin_of(const char *url, size_t length, PageOrigin *origin);
/* The key of a URL that stands on a page (from, or NULL). Any thread. */
PageLinkKey page_key_of_link(const PageDBStore *store, const char *url, size_t length,
                             const PageOrigin *from);

/* Finds the index of a page in hash2idx: by hash and fingerprint, or, when print is NULL, the one
 * that was known first of all with that hash. Moves the cursor. MDB_NOTFOUND. */
int page_key_find(MDB_cursor *cursor, uint64_t hash, const uint64_t *print, uint64_t *index);
/* The same by the URL's key, with a cursor of its own. */
int page_key_look_up(const PageDBStore *store, MDB_txn *txn, const PageKey *key, uint64_t *index);

/* The table hash2idx read in order: many keys, each page of the table read once.
 *
 * What: keys are looked up in ascending order. A run of entries is searched in memory as long as
 * keys fall into it; only then is the tree asked again.
 * Owns: nothing; the cursor is the caller's.
 * Threads: the one whose transaction the cursor belongs to.
 * Invariants: writing to hash2idx may move entries and so ends a run: call page_sweep_restart after
 * it.
 * Errors: LMDB codes. */

typedef struct PageSweep {
    MDB_cursor *cursor; /* of hash2idx */
    uint32_t domain;
    const uint8_t *entries; /* of that domain, as they lie in the database, ascending */
    size_t n;
    bool ended; /* the domain has none behind them */
} PageSweep;

static inline void page_sweep_restart(PageSweep *sweep)
{
    *sweep = (PageSweep){.cursor = sweep->cursor};
}

/* *found tells whether there is an entry with this key. */
int page_sweep_find(PageSweep *sweep, const PageKey *key, PageEntry *entry, bool *found);
