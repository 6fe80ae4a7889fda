/* PageDB: everything that is known about pages, and how they link to each other.
 *
 * What: crawled pages and batches of them go in; infos, links and streams (page_stream.h) come out.
 * A page has three names: its URL; its hash (page_db_hash: 32 bits of the domain, 32 of the URL),
 * by which the documented library refers to it; and its index, dense from 0 in order of discovery,
 * by which links, scores and schedules refer to it.
 *
 * On disk a PageDB is one LMDB environment, in a directory of its own, or shared with other tables
 * that commit together with it (schedule.h). Its tables are:
 *
 *   info        "version", "n_pages", "seed"
 *   hash2idx    domain hash -> sorted entries of URL hash, fingerprint, depth, index (page_key.h)
 *   idx2info    index / 16 -> what is known of sixteen pages (page_packs.h, page_record.h)
 *   links       first index -> the lists of links of some pages (page_links.h)
 *   origins     host id -> "scheme://host:port"; origin2host leads back (page_hosts.h)
 *
 * A page enters with the first link that shows it: with the score of that link, and one level
 * deeper than the linking page. A later link from a page of lesser depth moves linked_from and
 * depth to the better path; equal depth, or a better score, changes nothing. A crawl of the page
 * sets its score. A page that was never seen as a link has depth 0. An improved depth is not passed
 * on to the pages behind it until a page on the way is crawled again.
 *
 * Owns: everything that page_db_open made. Arguments are borrowed for the call; results that the
 * caller must free say so.
 * Threads: any thread may call anything but page_db_delete; writers take turns. A transaction
 * belongs to one thread at a time. A process opens a database once (a rule of LMDB, see
 * page_db_open.h; a second time is page_db_error_locked); several processes may share it.
 * Invariants:
 * 1. idx2info has exactly the pages 0..n_pages-1, and each has one entry in hash2idx.
 * 2. Two URLs are one page if and only if domain hash, URL hash and fingerprint agree: 104 bits, 40
 *    of them under a random seed of the database. Of n URLs on one host the expected number of
 *    wrong merges is n^2 / 2^73: 10^-8 for ten million.
 * 3. A page that is linked from another is deeper than that one, so every path along linked_from
 *    ends.
 * 4. Every commit is durable unless the database was opened with no_sync or by page_db_new
 * (page_db_set_sync).
 * 5. After a sync or a write has failed (page_db_error_io) nothing is committed any more: the
 * system may have dropped the pages that it could not write, and would call the next sync a
 * success. A commit writes only pages that the one before does not use, so that one is whole, and
 * is what the next opening finds.
 * Errors: the returned code; db->error has the words of the last call that failed. After any
 * failure the database is as before the call.
 * Source: seeds 000 and 003; DESIGN section 4. */
#ifndef STORE_PAGES_PAGE_DB_H
#define STORE_PAGES_PAGE_DB_H

#include "store/pages/page_db_open.h"
#include "store/pages/page_db_read.h"
#include "store/pages/page_stream.h"

/* ---- The documented library ---- */

/* XXH32 of the host in the upper half, XXH32 of the whole URL in the lower; seed 0. The host is
 * what stands between "//" or "@" and ":", "/", "?", "#" or the end; it is 0 for URLs that do not
 * begin with http:// or https://. So the pages of a domain are neighbours. */
uint64_t page_db_hash(const char *url);
uint32_t page_db_hash_get_domain(uint64_t hash);
uint32_t page_db_hash_get_url(uint64_t hash);

/* What holds for all calls below: a NULL where an object, a text or a place for a result is needed
 * is page_db_error_invalid, and so is a database that was not opened; the database's error has
 * words for it, unless the database itself is NULL. Functions that return no code then do nothing,
 * or return 0. */

/* Adds one crawled page: creates or updates the page, creates the pages behind its links that are
 * not known, replaces its list of links; one transaction. page_info_list may be NULL;
 * otherwise it receives the page and the newly discovered pages, newest first, the page last; the
 * caller deletes it. A page has changed when its content hash differs in length or bytes from the
 * previous crawl's; the first crawl is no change. */
PageDBError page_db_add(PageDB *db, const CrawledPage *page, PageInfoList **page_info_list);
/* The same for many pages in one transaction, with the same result as adding them one by one. The
 * list has the last page's infos first. */
PageDBError page_db_add_batch(PageDB *db, const CrawledPage *const *pages, size_t n_pages,
                              PageInfoList **page_info_list);

/* The scores of all pages by index, floats, in the file scores.bin of the directory; the caller
 * deletes the array. */
PageDBError page_db_get_scores(PageDB *db, MMapArray **scores);
/* The same, which ends with an error soon after *stop (NULL: none) has become true. */
PageDBError page_db_get_scores_until(PageDB *db, MMapArray **scores, const atomic_bool *stop);
/* Crawls of the domain within the window of page_db_set_domain_temp (a count: divide it by the
 * window for crawls per second); 0 without a window. */
float page_db_get_domain_crawl_rate(PageDB *db, uint32_t domain_hash);

void page_db_set_persist(PageDB *db, int value);
/* Starts to track how often the n_domains hottest domains are crawled within window seconds, by the
 * time of the pages that are added. Replaces what was tracked before. page_db_error_invalid: no
 * domains, or a window that is not above 0. */
PageDBError page_db_set_domain_temp(PageDB *db, size_t n_domains, float window);

/* One line per page in order of hash: "%016x hash, index, url, first_crawl, last_crawl, n_changes,
 * n_crawls, depth, score", separated by blanks. */
PageDBError page_db_info_dump(PageDB *db, FILE *output);
/* One line "from to" (indices) per link. */
PageDBError page_db_links_dump(PageDB *db, FILE *output);

/* ---- For the crawler ---- */

/* The environment, for further tables in the same transactions. There is room for 32 in all. */
MDB_env *page_db_env(PageDB *db);

/* From now on pages of the map are given up when the process comes near budget resident bytes
 * (store/lmdb/map_residence.h): asked by every other look-up, and by page_db_check_residence. 0 =
 * no budget. */
void page_db_set_residence(PageDB *db, size_t budget);
/* And when more than this many bytes of the map, and of what else is mapped since then, are
 * resident: looked at after every 64 look-ups and each commit, and by page_db_check_residence. 0 =
 * no bound. */
void page_db_set_map_memory(PageDB *db, size_t most);
/* For those who look into other tables of the environment: after n look-ups, in the transaction. */
void page_db_looked_up(PageDB *db, unsigned n);
/* Lets go of every snapshot that nobody looks at right now: those of idle readers. They begin anew,
 * at the present, with their next use. Before anything that may take long. */
void page_db_rest(PageDB *db);
/* After page_db_error_full from a map that was opened small: doubles it. No transaction of this
 * thread may be open. page_db_error_full when there is no larger map. */
int page_db_grow(PageDB *db);

/* Writes a batch: one sweep over all its hashes in order. The result is that of writing page after
 * page. sink may be NULL. After any error the transaction must be aborted (page_db_error_full:
 * page_db_grow, then again). At most PAGE_DB_WRITE_MAX pages and links in all. Sets tries to 0. */
int page_db_write(PageDB *db, MDB_txn *txn, const PageWrite *pages, size_t n, const PageSink *sink);
/* Writes the list of links of a page anew that was crawled before, and, with a content hash, its
 * score and what its content is; what else is known of its crawls stays. URLs that are new are told
 * to the sink. After any error the transaction must be aborted, but for page_db_error_no_page: it
 * was never crawled. */
int page_db_relink(PageDB *db, MDB_txn *txn, const PageWrite *page, const PageSink *sink);
/* Makes URLs known without a crawl: seeds (from_index PAGE_DB_NO_INDEX), sitemaps, redirects. depth
 * is their own; known URLs keep or improve their path as with links. hops may be NULL = 'L'. */
int page_db_discover(PageDB *db, MDB_txn *txn, const LinkInfo *urls, const uint8_t *hops, size_t n,
                     uint64_t from_index, uint64_t depth, const PageSink *sink);
/* The same for URLs that nobody here links to, each with a depth of its own. */
int page_db_discover_each(PageDB *db, MDB_txn *txn, const PageDiscovery *found, size_t n,
                          const PageSink *sink);
/* A crawl that found the page as it was (304), or nothing that could replace it: counted, and its
 * time noted; content hash, changes and links stay. page_db_error_no_page: it was never crawled. */
int page_db_confirm(PageDB *db, MDB_txn *txn, uint64_t index, double time);

/* One header for the documented library: the streams are part of it. */

/* How often the hottest domains are crawled: PageDB's domain temperatures.
 *
 * What: page_db_set_domain_temp and page_db_get_domain_crawl_rate of page_db.h, and how they learn
 * of pages that are added.
 * Threads: any; PageDBStore.mutex guards the temperatures. */

/* Tells the domain temperatures of pages that were added. Schedulers, which write pages in
 * transactions of their own, call it after their commit. */
void page_db_heat(PageDB *db, const CrawledPage *const *pages, size_t n);

#endif
