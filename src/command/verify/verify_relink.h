/* Lists of links that are lost, made again from the stored answers, for `ragno verify --repair`.
 *
 *   captures (warc_load.h) --FetchResult--> parsing (parsing.h) --ParsedPage--> page_way_relink
 *
 * What: the answer goes the way of one that was just fetched: the same decoding, encoding, filters,
 * scope, rules and spellings, as the configuration in the crawl's directory says. Only the sieve's
 * Bloom filter is not asked, which can only leave links out. New URLs are scheduled, as by a crawl.
 * An answer counts only when its status and the digest of its decoded body are those that PageDB
 * has of the page's last crawl, so what is made is what was lost. (Settings that were changed since
 * judge anew.)
 * Owns: the parser and the transaction; the lock of the directory is the caller's.
 * Threads: one.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_DAMAGED, RESULT_MEMORY; the transaction must then be
 * aborted. */
#ifndef COMMAND_VERIFY_VERIFY_RELINK_H
#define COMMAND_VERIFY_VERIFY_RELINK_H

#include "command/verify/verify_run.h"

typedef struct VerifyRelink VerifyRelink;

/* RESULT_INVALID, RESULT_NOT_FOUND: the configuration cannot be used; *why says so, and pages can
 * only be scheduled again. */
Result verify_relink_open(VerifyRelink **relink, Verify *verify, const char **why);
void verify_relink_close(VerifyRelink *relink);

/* One durable transaction for a number of pages; after an error of any of these, abort. */
Result verify_relink_begin(VerifyRelink *relink);
/* RESULT_OK: the list is written when *why is NULL; else nothing is changed, and *why says for what
 * reason nothing can be: no answer is stored, it is damaged, it is another one. */
Result verify_relink_page(VerifyRelink *relink, uint64_t index, const char **why);
/* Instead: the page is fetched again, when *why is NULL; else its host may not be visited. */
Result verify_relink_schedule(VerifyRelink *relink, uint64_t index, const char **why);
Result verify_relink_commit(VerifyRelink *relink);
void verify_relink_abort(VerifyRelink *relink);

#endif
