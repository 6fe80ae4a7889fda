/* The inside of an HtmlParser.
 *
 * What: html.c reads pages, html_resolve.c makes links of
 * references.
 * Threads: an HtmlParser belongs to one. */
#ifndef PARSE_HTML_HTML_PARSER_H
#define PARSE_HTML_HTML_PARSER_H

#include "base/memory/arena.h"
#include "base/memory/buffer.h"
#include "parse/charset/charset.h"
#include "parse/charset/charset_stream.h"
#include "parse/html/html_libxml2.h"
#include "parse/html/html_resolve.h"
#include "parse/html/html_tree.h"
#include "parse/html/skim.h"
#include "parse/html/skim_stream.h"
#include "parse/text/digest.h"
#include "parse/url/url.h"

struct HtmlParser {
    HtmlOptions options;
    Arena arena;
    HtmlTree tree;
    Digest digest;
    HtmlLibxml2 *libxml2; /* NULL unless use_libxml2 */
    HtmlTree
        *digest_tree; /* of the skimmer's run for the digest, once another one reads the links */
    Buffer decoded;   /* the text when the body is not clean UTF-8 */

    /* What references are resolved against. */
    Url document;               /* its own URL */
    Url base_url;               /* what <base> says */
    Url link;                   /* scratch */
    const Url *base;            /* one of the two, or NULL: nothing relative resolves */
    const char *query_encoding; /* NULL: UTF-8 */

    /* Links that are taken while the page is read. */
    HtmlLinkTaker taker;
    bool has_taken;    /* in this reading of the page */
    bool without_base; /* and no base element was met before */
    bool has_late_base;
    Buffer late_base; /* the base that was met too late in the reading before */
    Buffer base_text; /* tree.base and tree.title, when the arena was emptied */
    char title[HTML_TITLE_BYTES + 1];

    /* A page that comes in pieces. */
    SkimStream pieces;
    Skim skim;
    CharsetStream charset;
    const char *encoding;
    CharsetSource source; /* of the encoding */
    bool is_xml;
    bool again;    /* the rest of this reading is of no use */
    Result status; /* the first failure */
};

/* Forgets the page before. Errors as html_parse. */
Result html_parser_begin(HtmlParser *parser, const HtmlInput *input);
/* The page was read: links that are left, digests, and the rest. */
Result html_parser_end(HtmlParser *parser, Page *page);
/* The host that goes into the text digest. */
HtmlSlice html_parser_digest_host(const HtmlParser *parser);

#endif
