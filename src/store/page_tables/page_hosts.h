/* Host names, stored once: an origin ("http://example.org:81") and its number.
 *
 * What: numbers are dense from 0 and have 32 bits. Table origins: number -> string. Table
 * origin2host: 64-bit hash of the string -> the numbers of the strings with that hash, since keys
 * of LMDB are too short for every string that a user of the library may call a host. Origins are
 * never removed.
 * Owns: the cache of the write transaction. An aborted transaction gives its numbers again. Whether
 * a transaction was committed may be known only when the next one has begun, so each begins with an
 * empty cache unless the one before has said that it was.
 * Threads: page_hosts_add and the cache belong to the thread with the write transaction; the rest
 * to any.
 * Errors: LMDB codes and ENOMEM. */
#pragma once

#include <lmdb.h>

#include "store/page_tables/page_store.h"

/* NULL without memory. */
PageHosts *page_hosts_new(void);
void page_hosts_delete(PageHosts *hosts);
/* A write transaction begins, or has ended well: id is mdb_txn_id's. The first belongs to the
 * transaction, the second may be late. */
void page_hosts_begin(PageHosts *hosts, size_t id);
void page_hosts_committed(PageHosts *hosts, size_t id);

/* Finds an origin. An LMDB code; MDB_NOTFOUND. */
int page_hosts_find(PageDBStore *store, MDB_txn *txn, const char *origin, size_t length,
                    uint32_t *host);
/* Finds or adds it; uses the cache, so for the write transaction only. */
int page_hosts_add(PageDBStore *store, MDB_txn *txn, const char *origin, size_t length,
                   uint32_t *host);
/* The string of an id, valid until the transaction writes or ends. MDB_NOTFOUND. */
int page_hosts_origin(PageDBStore *store, MDB_txn *txn, uint32_t host, MDB_val *origin);
int page_hosts_count(PageDBStore *store, MDB_txn *txn, uint32_t *count);
