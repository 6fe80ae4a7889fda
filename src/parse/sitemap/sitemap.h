/* Sitemaps and feeds: the addresses that a site itself offers, with its hints about them.
 *
 * What: understood are urlset and sitemapindex in any namespace and with any prefix, RSS 0.9 to
 * 2.0, Atom, and plain lists of URLs. Each may be gzipped, in UTF-8, in UTF-16, or in an encoding
 * that the XML declaration names. The parsing thread calls sitemap_parse for a response that
 * robots.txt or an index announced. The sink gets each entry while the file is read, so memory does
 * not grow with the file: 64 KiB of decoded bytes and one entry at a time.
 *
 * Files may be hostile or careless. Entities other than XML's five are refused: an address that
 * uses one is rejected, and nothing is ever expanded or loaded. A bare '&' is one. A file that
 * breaks off or is not well-formed keeps the entries before the break, and an address that was cut
 * in two is never reported.
 *
 * Owns: a SitemapParser owns its decoder and fields, and is reused.
 * Threads: a SitemapParser belongs to one thread.
 * Errors: RESULT_MEMORY, RESULT_LIMIT; what is wrong with entries is counted in the report.
 * Source: sitemaps.org, RSS 2.0, RFC 4287. */
#pragma once

#include "parse/sitemap/sitemap_types.h"

/* A parser belongs to one thread and is used for one sitemap after another. RESULT_MEMORY. */
Result sitemap_parser_new(SitemapParser **parser, const SitemapOptions *options);
void sitemap_parser_delete(SitemapParser *parser);

/* Reads one sitemap. RESULT_INVALID: the file is not a sitemap (report->kind is SITEMAP_UNKNOWN),
 * or its URL cannot be parsed. RESULT_LIMIT: max_bytes, max_entries or max_ratio was reached; the
 * sink got what came before. RESULT_MEMORY. */
Result sitemap_parse(SitemapParser *parser, const SitemapInput *input, SitemapSink sink,
                     void *context, SitemapReport *report);
