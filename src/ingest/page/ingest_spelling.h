/* Spelling: of URLs with the same dedup key (rules/dedup.h) PageDB knows the first one only.
 *
 * What: replaces the links of pages, and seeds, by the spellings that stand for them.
 * Owns: what is returned lives as long as the batch.
 * Threads: ingest, inside the batch's transaction. */
#ifndef INGEST_PAGE_INGEST_SPELLING_H
#define INGEST_PAGE_INGEST_SPELLING_H

#include "cluster/wire/link_block.h"
#include "ingest/batch/ingest_batch.h"

/* The links of a page as PageDB shall see them; the page itself is left as it is, since a batch may
 * be tried again. */
Result ingest_spell_links(Batch *batch, const ParsedPage *page, LinkInfo **links);
/* The same of seeds. */
Result ingest_spell_seeds(Batch *batch, const LinkInfo *seeds, size_t n, LinkInfo **links);
/* The same of URLs that another agent found, in place. */
Result ingest_spell_records(Batch *batch, LinkRecord *records, size_t n);
/* A URL that may not be fetched stands for no others. */
Result ingest_release_key(Batch *batch, const FetchResult *fetch);

#endif
