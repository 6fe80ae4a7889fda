/* A page's way: from a fetch to the tables, downhill.
 *
 * What: each station has one verb and hands the page on to the next.
 *
 *   fetch      fetch_step_begin    a visit state's URL becomes a request         fetching thread
 *              fetch_step_end      its answer becomes a FetchResult
 *   parse      parsing_push        digests, links, records: a ParsedPage         parsing thread
 *   collect    ingest_push         parsed pages become a Batch                   ingest thread
 *   ---------- this file: one Batch, one transaction ---------------------------------------------
 *   take       archive             its WARC records are appended
 *              note                its host counts it (ingest_host.h)
 *              discover            of a robots.txt: the sitemaps that it names; its way ends here
 *              settle              of a scheduled URL, one of these:
 *                                    tried again later: the URL stays scheduled
 *                                    a check of its host: the page stays as it is
 *                give up             no answer, or a refusal: the URL leaves the schedule
 *                confirm             nothing new (304, or an error of a page that is stored)
 *                store               links, spelled and without duplicates, for the next station
 *   write down page_db_write       pages, links and new URLs of all results in one sweep; what is
 *                                  found in passing goes through page_way.h and ingest_new_url.h
 *              rendered            of what a browser made of a page (render/desk/render_way.h)
 *   revisit    revisits_note       when the page is due again
 *   close      ingest_host_close   hosts that failed for good or are full
 *   ---------- the batch is finished (batch_finish) and committed (ingest_writer.h) --------------
 *   tell       batch_notice        the distributor hears what has changed
 *
 * Threads: ingest, inside the batch's transaction.
 * Invariants: a URL leaves the schedule in the transaction that holds its result, and nowhere else.
 * A batch may be tried again after an aborted transaction: what was appended to files is no more in
 * the page (archive_append), or marked there (ParsedPage.ticket).
 * Errors: RESULT_FULL, RESULT_MEMORY: the transaction is to be aborted, the batch may be tried
 * again. Any other: it may not. */
#pragma once

#include "ingest/batch/ingest_batch.h"

/* Spelling: of all URLs with the same dedup key (rules/dedup.h), PageDB knows only the first one.
 *
 * What: replaces the links of pages, and seeds, by the spellings that stand for them. For example,
 * when http://a/?x=1&y=2 was seen first, a link to http://a/?y=2&x=1 becomes a link to it.
 * Owns: results live as long as the batch.
 * Threads: ingest, inside the batch's transaction. */

/* The links of a page in the spellings that stand for them. The page itself is not changed, because
 * a batch may be tried again. */
Result ingest_spell_links(Batch *batch, const ParsedPage *page, LinkInfo **links);
/* The same of URLs that another agent found, in place. */
Result ingest_spell_records(Batch *batch, LinkRecord *records, size_t n);

/* Ingest sink: what PageDB tells while it writes goes into schedule, host records and totals.
 *
 * What: PageDB calls back for each page that it has written and for each URL that it sees for the
 * first time (store/pages/page_db.h). A written page leaves the schedule, and its links go to the
 * sieve when they wait; a new URL is judged by ingest_new_url.h.
 * Threads: ingest, inside the batch's transaction.
 * Errors: an error inside a callback is left in Batch.result. */

/* Finds the page, on any host, that has nearly the same text (*near, or left alone), and enters the
 * sketch of this page in place of its earlier one. That of a duplicate is not entered. */
Result page_way_find_near(Batch *batch, const ParsedPage *page, bool duplicate, uint64_t *near);

/* Borrows the batch. */
PageSink ingest_sink(Batch *batch);

/* Takes all pages of the batch through the stations above, up to batch_finish, which the caller
 * calls. */
Result page_way_apply(Batch *batch);
/* Adds seeds; tags: their source tags, NULL = none has one. *added counts the new ones. */
Result page_way_seed(Batch *batch, const LinkInfo *seeds, const char *const *tags, size_t n,
                     uint64_t *added);
