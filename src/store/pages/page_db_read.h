/* Page database, reading: pages, links, counts, and transactions.
 *
 * What: looks up pages by URL, hash or index, each call in a transaction of its own.
 * Owns: what it returns is the caller's, where the function says so.
 * Threads: any; readers wait for nobody.
 * Errors: those of PageDBError. */
#ifndef STORE_PAGES_PAGE_DB_READ_H
#define STORE_PAGES_PAGE_DB_READ_H

#include "store/pages/page_db_types.h"

/* The page with that hash (of several, the one known first); *pi is NULL when there is none, which
 * is success. The caller deletes it. Who asks often is answered from memory (page_lookup.h,
 * page_reader.h). On the workload of bench_pagedb a million random look-ups, the filling of that
 * memory included, go at 1.1 to 1.6 million per CPU second, later ones at 1.4 to 2.0; the bare
 * look-ups in LMDB's trees at 0.55 to 0.8, one read of random memory at 5.5 to 6.3. */
PageDBError page_db_get_info(PageDB *db, uint64_t hash, PageInfo **pi);
/* Its index; page_db_error_no_page, and *idx = 0, when there is none. */
PageDBError page_db_get_idx(PageDB *db, uint64_t hash, uint64_t *idx);
/* The index of a URL; page_db_error_no_page. */
int page_db_find(PageDB *db, MDB_txn *txn, const char *url, size_t length, uint64_t *index);
/* Which page linked to it first by its best path (PAGE_DB_NO_INDEX: none) and how; its URL replaces
 * what is in url, unless that is NULL. For those who follow a path: costs less than page_db_get.
 * page_db_error_no_page. */
int page_db_get_way(PageDB *db, MDB_txn *txn, uint64_t index, uint64_t *linked_from, uint8_t *hop,
                    Buffer *url);
/* The same by hash and fingerprint (hashidx_stream_next_key). */
int page_db_find_key(PageDB *db, MDB_txn *txn, uint64_t hash, uint64_t print, uint64_t *index);
/* Everything of a page; its URL replaces what is in the buffer. page_db_error_no_page. */
int page_db_get(PageDB *db, MDB_txn *txn, uint64_t index, PageRef *page, Buffer *url);
/* A failure, or a move between levels. page_db_error_no_page. */
int page_db_set_state(PageDB *db, MDB_txn *txn, uint64_t index, int32_t status, uint8_t level,
                      uint8_t tries);
/* Replaces PageRef.flags. page_db_error_no_page. */
int page_db_set_flags(PageDB *db, MDB_txn *txn, uint64_t index, uint8_t flags);
/* The links of a page, sorted; *to is the caller's array (free it), cross-host links first: the
 * first *n_diff. No links is not an error. */
int page_db_get_links(PageDB *db, MDB_txn *txn, uint64_t index, uint64_t **to, size_t *n,
                      size_t *n_diff);
/* What was given as link_kinds, in the order of page_db_get_links, whose n this is; *kinds is the
 * caller's array. NULL: all are 0. */
int page_db_get_link_kinds(PageDB *db, MDB_txn *txn, uint64_t index, size_t n, uint8_t **kinds);
/* Host ids: dense from 0 in order of discovery, one per origin ("http://example.org:81", as it
 * stands in the URL without userinfo); URLs that are not http(s) share the origin "". find:
 * page_db_error_no_page. add creates it. origin replaces what is in the buffer. */
int page_db_host_find(PageDB *db, MDB_txn *txn, const char *origin, size_t length, uint32_t *host);
int page_db_host_add(PageDB *db, MDB_txn *txn, const char *origin, size_t length, uint32_t *host);
int page_db_host_origin(PageDB *db, MDB_txn *txn, uint32_t host, Buffer *out);
uint32_t page_db_n_hosts(PageDB *db, MDB_txn *txn);
uint64_t page_db_n_pages(PageDB *db, MDB_txn *txn);

/* The journal of the tables that live in the environment; of a database that is not open: NULL. */
Journal *page_db_journal(PageDB *db);

/* Transactions of the environment, counted by the TxnManager. begin: page_db_error_read_only,
 * _locked, _memory. commit: page_db_error_full and everything is as before; page_db_error_io and
 * nothing can be committed any more; the transaction is gone in any case. abort takes NULL, too.
 * Use these and not mdb_txn_* for transactions that are given to page_db_*. */
int page_db_txn_begin(PageDB *db, bool read_only, MDB_txn **txn);
int page_db_txn_commit(PageDB *db, MDB_txn *txn);
void page_db_txn_abort(PageDB *db, MDB_txn *txn);
/* Commits when rc is RESULT_OK, else aborts. rc, or RESULT_FULL. */
Result page_db_txn_end(PageDB *db, MDB_txn *txn, Result rc);
/* The same for a code of page_db.h, which is then its own or that of the commit. */
int page_db_txn_end_code(PageDB *db, MDB_txn *txn, int code);

/* Any thread, any time. Returns how often pages were given up so far. */
uint64_t page_db_check_residence(PageDB *db);

#endif
