/* Parsing links: which links of a page are followed.
 *
 * What: a link is kept when its kind, its flags, the scope, the traps and filter.schedule allow it,
 * when the page has not had it before, and when the page does not have parse.max_links of them.
 * Refused ones are counted, and told for skipped.log.
 * Owns: what is kept belongs to the parser until parsing_links_copy gives it to the page.
 * Threads: the parser's. */
#pragma once

#include "page/parser_types.h"

/* Parsing HTML: links and digests of a document, and the links of a style sheet.
 *
 * What: each link goes to parsing_links_take as it is met, so that memory does not grow with their
 * number. A page of which less is kept than there is is read to its end (tool/long_page.h). What a
 * nofollow in the document forbids is taken back; with scope.embeds, what the page needs to be
 * shown is followed all the same.
 * Threads: the parser's. */

/* Reads parser->body, and the rest of a long page, into parser->found and page. */
void parsing_html_document(Parser *parser, ParsedPage *page, const HttpHeader *header,
                           const char *content_type);
/* The same of a style sheet: its links are what the pages that use it need to be shown. */
void parsing_html_sheet(Parser *parser, ParsedPage *page, const char *content_type);

/* All lines of Content-Encoding as one field; its value is NULL when there is none. Borrowed until
 * the next call. */
HttpField parsing_html_coding(Parser *parser, const HttpHeader *header);
/* Notes in the answer what became of its coding: that is part of how the fetch ended. */
void parsing_html_note_decoding(FetchResult *fetch, DecodeStatus status);

/* Keeps a copy of a link of the document when it is to be followed; else counts and logs it. */
void parsing_links_take(Parser *parser, const ParsedPage *page, const PageLink *link);
/* What a page had before its document was read. */
typedef struct LinkMark {
    size_t n_kept;
    size_t n_external;
    size_t external_bytes;
} LinkMark;
LinkMark parsing_links_mark(const Parser *parser);
/* Forgets what came behind the mark: the document is read again, or says nofollow. */
void parsing_links_rewind(Parser *parser, const LinkMark *mark);
/* Adds a link that is not in a document, such as a Location header. Copies url. */
void parsing_links_add(Parser *parser, const ParsedPage *page, const Url *url, LinkKind kind,
                       float score);
/* Whether what pages embed is fetched, for them or for a browser that renders them. */
bool parsing_links_wants_embeds(const Config *config);
/* Counts and logs a refused URL. */
void parsing_links_refuse(Parser *parser, const ParsedPage *page, const char *url, size_t length,
                          Refusal why);
/* Adds the links of the header fields Location, Refresh and Link. */
void parsing_links_of_header(Parser *parser, const ParsedPage *page, const HttpHeader *header);
/* Moves what was kept into the page. RESULT_MEMORY: it is lost. */
Result parsing_links_copy(Parser *parser, ParsedPage *page);
/* Makes ready for the next page. */
void parsing_links_forget(Parser *parser);
