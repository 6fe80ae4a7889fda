/* What is in a page: its links, its robots instructions, its digests, its encoding.
 *
 * What: the encoding is sniffed (charset.h), and a body that is not clean UTF-8 is decoded. A front
 * end reads the text once and tells the tree rules (html_tree.h) about tags; these say what is an
 * element of the document and what it links to. Then the references are resolved against the base.
 *
 * There are two front ends behind this header, and a browser's DOM is the truth for both. The
 * skimmer (html_parser.h) is the default by measurement (tests/integration/compare_browser.py, make
 * bench BENCH=html). On 8 039 pages of installed documentation both find the same 720 242 links,
 * and on 1 800 of them the same as Chromium. On pages damaged at random the skimmer's recall
 * is 99.99 % and more and its precision 99.95 %, libxml2's 97 % and 95 %: raw text elements,
 * comments that end by
 * "--!>", quotes in odd places, tags that the text ends within. And it costs a fifth to an eighth.
 * libxml2's SAX parser (use_libxml2) is the reference, which shares no code with ours: the tests
 * compare with it, and parse.html_parser = libxml2 crawls with it. XHTML that is served
 * as XML is read by libxml2's XML parser in either case (html_xml.h). Digests always come from the
 * skimmer, so that a change of front end makes no page look changed.
 *
 * A script is not run, and what is in noscript counts. What is beyond a limit is counted, and is
 * never an error.
 *
 * Owns: everything in a Page lives in the parser until the next parse.
 * Threads: an HtmlParser belongs to one thread and is reused page after page.
 * Errors: RESULT_MEMORY. */
#pragma once

#include "parse/html/html_types.h"

/* The word that `ragno check links` prints ("a", "img", ...). */
const char *link_kind_name(LinkKind kind);

/* A zero in options stands for the default. RESULT_MEMORY. */
Result html_parser_new(HtmlParser **parser, const HtmlOptions *options);
void html_parser_delete(HtmlParser *parser);

/* Changes HtmlOptions.link_text, from the next page on. */
void html_parser_set_link_text(HtmlParser *parser, size_t link_text);

/* Reads one page. RESULT_MEMORY: the arena limit was reached, page holds what was found until then.
 * RESULT_INVALID: the URL of the document cannot be parsed. Nothing in the body is an error. */
Result html_parse(HtmlParser *parser, const HtmlInput *input, Page *page);

/* Reads a style sheet: page gets its encoding and links. The encoding is that of its BOM, of
 * content_type, of its @charset, or UTF-8. A taker gets the links instead, as from a page; it is
 * never told to restart. Errors as html_parse. */
Result html_parse_sheet(HtmlParser *parser, const HtmlInput *input, Page *page);

/* A page that comes in pieces, in memory that does not grow with it: whatever the pieces, links and
 * digests are those of html_parse for the whole, but for tokens of more than 256 KiB
 * (skim_stream.h). input->body is the beginning of the page, from which the encoding is sniffed:
 * all of it, or at least 1 024 bytes; input lives until the end. A taker is needed. The skimmer
 * reads such a page, XHTML included, whatever HtmlOptions.use_libxml2 says.
 *
 *    do {
 *        html_pieces_feed(parser, bytes, length);  from the first byte of the page to its last
 *    } while (html_pieces_again(parser));
 *    html_pieces_end(parser, page);
 *
 * Errors as html_parse. */
Result html_pieces_begin(HtmlParser *parser, const HtmlInput *input);
/* Bytes of the page, cut anywhere. */
void html_pieces_feed(HtmlParser *parser, const char *bytes, size_t length);
/* All of the page was fed. True: once more, please; at most twice for a page. */
bool html_pieces_again(HtmlParser *parser);
Result html_pieces_end(HtmlParser *parser, Page *page);

/* The flags of a <link>, or of an item of the Link header, with these rels and this type ("" when
 * it has none). LINK_TO_FEED: an alternate of the page (or "feed", which some write instead) whose
 * type is that of RSS or Atom, as the HTML standard has it for finding feeds. */
unsigned html_link_flags(const char *rel, size_t rel_length, const char *type, size_t type_length);
