/* Parsing HTML: links and digests of a document, and the links of a style sheet.
 *
 * What: each link goes to parsing_links_take as it is met, so that memory does not grow with their
 * number. A page of which less is kept than there is is read to its end (tool/long_page.h). What a
 * nofollow in the document forbids is taken back; with scope.embeds, what the page needs to be
 * shown is followed all the same.
 * Threads: the parser's. */
#ifndef PAGE_PARSING_HTML_H
#define PAGE_PARSING_HTML_H

#include "page/parser.h"
#include "parse/http/http_header.h"

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

#endif
