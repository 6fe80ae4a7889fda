/* Linked feeds: how many of the feeds that pages link are followed.
 *
 * What: with scope.sitemaps a parsing thread keeps the first feed of each page (LINK_FEED). Where
 * each page has a feed of its own, of its comments for example, those are as many as the pages, and
 * say little that the feed of the site does not. So the pages of a host bring
 * limits.feeds_per_host feeds into the crawl, those that are found first, on whichever host the
 * feeds are; links to further ones are dropped. A feed at a host that is out of scope never comes
 * here: it was refused as any link is.
 * Owns: nothing. Threads: ingest, inside the batch's transaction. */
#ifndef INGEST_REVISIT_LINKED_FEEDS_H
#define INGEST_REVISIT_LINKED_FEEDS_H

#include "ingest/batch/ingest_batch.h"

/* Drops the links of a page to feeds that are too many. RESULT_FULL, RESULT_IO, RESULT_DAMAGED. */
Result linked_feeds_drop(Batch *batch, ParsedPage *page);

#endif
