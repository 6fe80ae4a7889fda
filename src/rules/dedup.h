/* Dedup: which URLs are one page although they are spelled differently. scope.dedup_key.
 *
 * What: with steps chosen, URLs with equal keys (parse/url/url_key.h) are one page. The spelling
 * that was seen first stands for all of them, and is the one that is fetched; later spellings
 * become links to it before PageDB sees them. Two exceptions keep pages from being lost:
 *   1. A first spelling that redirects to another spelling of its own key gives its place to that
 *      one: /a?utm_source=x to /a.
 *   2. A first spelling that robots.txt or filter.fetch forbids gives up its place; the next
 *      spelling that is seen takes it.
 *
 * The table "keys" maps the 128-bit hash of a key to the spelling that stands for it. The steps are
 * recorded when the first page enters. A crawl cannot be resumed with other steps, because pages
 * would be merged by a rule that no longer holds.
 *
 * Threads: parsing threads compute the hashes; ingest looks them up in the transaction that adds
 * the links, so that the table never disagrees with PageDB. */
#pragma once

#include <lmdb.h>

#include "base/memory/arena.h"
#include "base/core/hash.h"
#include "parse/url/url_key.h"
#include "store/pages/page_db.h"

typedef struct DedupSteps {
    bool on;
    UrlKeyOptions key;
} DedupSteps;

/* Reads "session_ids, tracking" (escapes, session_ids, tracking, index_pages, sorted_query; empty =
 * off). RESULT_INVALID: error names the word. */
Result dedup_parse_steps(const char *text, DedupSteps *steps, Buffer *error);

/* What a thread needs to compute keys. */
typedef struct DedupScratch {
    Url url;
    Buffer key;
} DedupScratch;

void dedup_scratch_init(DedupScratch *scratch);
void dedup_scratch_destroy(DedupScratch *scratch);
/* The hash of the key of an absolute URL. RESULT_INVALID: it is none; RESULT_MEMORY. */
Result dedup_key(const DedupSteps *steps, DedupScratch *scratch, const char *url, size_t length,
                 Hash128 *key);

/* Compares the steps with those that the crawl began with, or records them when it has no pages
 * yet. RESULT_INVALID: they differ, and error says how. */
Result dedup_check(const DedupSteps *steps, MDB_txn *txn, MDB_dbi crawl, bool has_pages,
                   Buffer *error);

/* The spelling that stands for a URL: itself, when it is the first, or a copy in the arena. from is
 * the page that redirects to it, or NULL. An error of LMDB as Result, RESULT_MEMORY. */
Result dedup_first(MDB_txn *txn, MDB_dbi keys, const Hash128 *key, const char *url,
                   const char *from, Arena *arena, const char **first);
/* For commands that look into a crawl: replaces the content of first by the spelling that stands
 * for a URL, by the steps that are recorded. RESULT_NOT_FOUND: none does, or the crawl has no
 * steps. */
Result dedup_stands_for(MDB_txn *txn, const char *url, Buffer *first);
/* Gives up the place of a first spelling (exception 2). */
Result dedup_release(MDB_txn *txn, MDB_dbi keys, const Hash128 *key, const char *url);
