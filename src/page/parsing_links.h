/* Parsing links: which links of a page are followed.
 *
 * What: a link is kept when its kind, its flags, the scope, the traps and filter.schedule allow it,
 * when the page has not had it before, and when the page does not have parse.max_links of them.
 * Refused ones are counted, and told for skipped.log. Owns: what is kept belongs to the parser
 * until parsing_links_copy gives it to the page. Threads: the parser's. */
#ifndef PAGE_PARSING_LINKS_H
#define PAGE_PARSING_LINKS_H

#include "page/parser.h"
#include "parse/http/http_header.h"

/* Keeps a copy of a link of the document when it is to be followed; else counts and logs it. */
void parsing_links_take(Parser *parser, const ParsedPage *page, const PageLink *link);
/* Forgets what was kept beyond the first n_kept: the document is read again, or says nofollow. */
void parsing_links_rewind(Parser *parser, size_t n_kept);
/* Adds a link that is not in a document, such as a Location header. Copies url. */
void parsing_links_add(Parser *parser, const ParsedPage *page, const Url *url, LinkKind kind,
                       float score);
/* Counts and logs a refused URL. */
void parsing_links_refuse(Parser *parser, const ParsedPage *page, const char *url, size_t length,
                          Refusal why);
/* Adds the links of the header fields Location, Refresh and Link. */
void parsing_links_of_header(Parser *parser, const ParsedPage *page, const HttpHeader *header);
/* Moves what was kept into the page. RESULT_MEMORY: it is lost. */
Result parsing_links_copy(Parser *parser, ParsedPage *page);
/* Makes ready for the next page. */
void parsing_links_forget(Parser *parser);

#endif
