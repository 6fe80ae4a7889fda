/* Spelling: of all URLs with the same dedup key (rules/dedup.h), PageDB knows only the first one.
 *
 * What: replaces the links of pages, and seeds, by the spellings that stand for them. For example,
 * when http://a/?x=1&y=2 was seen first, a link to http://a/?y=2&x=1 becomes a link to it.
 * Owns: results live as long as the batch.
 * Threads: ingest, inside the batch's transaction. */
#ifndef INGEST_PAGE_INGEST_SPELLING_H
#define INGEST_PAGE_INGEST_SPELLING_H

#include "cluster/wire/link_block.h"
#include "ingest/batch/ingest_batch.h"

/* The links of a page in the spellings that stand for them. The page itself is not changed, because
 * a batch may be tried again. */
Result ingest_spell_links(Batch *batch, const ParsedPage *page, LinkInfo **links);
/* The same of seeds. */
Result ingest_spell_seeds(Batch *batch, const LinkInfo *seeds, size_t n, LinkInfo **links);
/* The same of URLs that another agent found, in place. */
Result ingest_spell_records(Batch *batch, LinkRecord *records, size_t n);
/* When a URL may not be fetched: lets the next spelling of its key take its place. */
Result ingest_release_key(Batch *batch, const FetchResult *fetch);

#endif
