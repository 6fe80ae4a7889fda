/* Parser: what one parsing thread reads pages with.
 *
 * What: takes an answer apart: content coding, filters, digests, WARC records, links
 * (parsing_links.h), sitemaps (parser.h), pages longer than what is kept (long_page.h).
 * Its tools are used again for page after page, so that the common case allocates nothing.
 * Owns: its tools. Options and counters are borrowed.
 * Threads: one. */
#pragma once

#include "page/parser_types.h"

/* Makes the tools. The caller has set all_options, stats, describe and skipped, and zeroed the
 * rest. archive may be NULL. RESULT_MEMORY; the parser is to be destroyed all the same. */
Result parser_init(Parser *parser, Archive *archive);
void parser_destroy(Parser *parser);
/* Reads a result, which becomes the page's. NULL without memory: the result stays the caller's. */
ParsedPage *parser_read(Parser *parser, FetchResult *result);
