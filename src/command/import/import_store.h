/* Import store: a crawl that is open for pages which nobody fetches.
 *
 * What: database, archive, rules, parsing threads and the writer of batches, as a crawl has them,
 * without its network. What is handed in as a capture becomes a page: parsed, judged by filters and
 * scope, archived and committed with its links, like an answer of this moment but for its date.
 *
 *   import_store_open --> (import_store_add* --> import_store_commit)* --> import_store_close
 *
 * For which uses a page is denied follows from its answer, and from the last robots.txt (and
 * tdmrep.json) of its origin that stood before it, as far as IMPORT_RULES_BYTES of these go; a
 * licence that it names has not been read. So a page that is denied for what this crawl's identity
 * stands for is not stored.
 *
 * A URL that is not known becomes a seed. A capture that is not newer than what the database knows
 * of its page is not taken, so that an import that was ended can be repeated. crawl.log gets no
 * line: it is what politeness is proven by, and nothing was requested.
 * Owns: all of it.
 * Threads: main; parse-N between add and commit.
 * Errors: RESULT_FULL, RESULT_IO: nothing can be committed any more; RESULT_MEMORY. */
#pragma once

#include "crawl/crawl_store.h"
#include "page/parsing.h"
#include "render/desk/render_way.h"

/* Import fetch: a capture of another program's archive as the fetch that it was.
 *
 * What: the result that a fetching thread would have handed over; of which page and host it is, is
 * found later. A robots.txt is one.
 * Owns: nothing; the result is the caller's.
 * Threads: any. */

/* An answer that was captured; everything is borrowed for the call. */
typedef struct ImportCapture {
    const char *url; /* as Url.href, without fragment */
    WallTime date;
    unsigned status;
    bool is_10; /* HTTP/1.0 */
    bool is_cut;
    WarcBytes ip; /* textual; may be empty */
    WarcBytes header;
    WarcBytes body;
} ImportCapture;

typedef struct ImportStore ImportStore;

#define IMPORT_RULES_BYTES ((size_t)64 << 20)

typedef struct ImportTotals {
    uint64_t pages;   /* that were committed, robots.txt included */
    uint64_t links;   /* of these */
    uint64_t known;   /* captures that are not newer than what is known */
    uint64_t refused; /* captures whose URL has no place in the database */
    uint64_t unruled; /* robots.txt for which there was no room */
} ImportTotals;

/* Exit status 0, or a line was said, of the command, and nothing is open. Writes DIR/config.ini. */
int import_store_open(ImportStore **store, const char *command, const char *directory,
                      Config *config);
/* Finishes the archive. The exit status of what failed meanwhile, or 0. */
int import_store_close(ImportStore *store);

/* Adds a capture to the batch. RESULT_LIMIT: the batch is full, or has the URL already: commit
 * first. RESULT_MEMORY. */
Result import_store_add(ImportStore *store, const ImportCapture *capture);
/* Commits the batch. */
Result import_store_commit(ImportStore *store);
/* Loads the body of the payload of that digest, when it is in the archive. RESULT_NOT_FOUND. */
Result import_store_payload(ImportStore *store, const WarcDigest *digest, Buffer *body);
const ImportTotals *import_store_totals(const ImportStore *store);

/* For results that others push to the parsing threads: commits what is parsed by the deadline; *n
 * pages. Errors as import_store_commit. */
Result import_store_take(ImportStore *store, MonoTime deadline, size_t *n);
Parsing *import_store_parsing(ImportStore *store);
/* NULL: render.mode is off. */
RenderWay *import_store_way(ImportStore *store);
const CrawlStore *import_store_opened(const ImportStore *store);
