/* The inside of an HtmlParser.
 *
 * What: html.c reads pages, html_parser.c makes links of
 * references.
 * Threads: an HtmlParser belongs to one. */
#pragma once

#include "parse/charset/charset.h"
#include "parse/charset/charset_stream.h"
#include "parse/html/html_tree_types.h"
#include "parse/html/skim_stream.h"
#include "parse/text/digest.h"
#include "parse/url/url.h"

/* The reference front end: libxml2's HTML parser by its SAX interface, no tree.
 *
 * What: it gets UTF-8 (HTML_PARSE_IGNORE_ENC) in which every "&" is written "&amp;": libxml2 2.9
 * knows 253 of the 2 231 named references, so all of them are left to entities.h. The tags it
 * reports go to the same tree rules as the skimmer's. The contents of title, textarea and other raw
 * text elements, which it takes for markup, are passed over.
 * Owns: libxml2's context, for the length of the call.
 * Threads: one. */

typedef struct HtmlLibxml2 HtmlLibxml2;

Result html_libxml2_new(HtmlLibxml2 **front);
void html_libxml2_delete(HtmlLibxml2 *front);

/* Reads a whole text. RESULT_MEMORY; RESULT_LIMIT: longer than libxml2 can count. */
Result html_libxml2_read(HtmlLibxml2 *front, const char *text, size_t length, HtmlTree *tree);

/* The front end that crawls use: links and digests of a page in one pass.
 *
 * What: UTF-8 without NUL goes in (charset.h sees to that), of any content: nothing here fails. The
 * tokens of the text come out (skim_token.h) and are told to the tree rules (html_tree.h), which
 * answer how the text after a start tag is to be read. In the same pass everything comes out that
 * the text digest is made of (digest.h). It takes time linear in the length of the text.
 * Owns: no memory.
 * Threads: one. */

/* What the tokens are told to: the context of skim_reader. */
typedef struct Skim {
    HtmlTree *tree;
    Digest *digest; /* may be NULL */
} Skim;

/* For a text that comes in pieces (skim_stream.h). */
const SkimReader *skim_reader(void);

/* Reads a whole text. digest may be NULL. */
void skim(const char *text, size_t length, HtmlTree *tree, Digest *digest);

/* From references to links: resolved against the base, and collected or handed on.
 *
 * What: without a taker all references of a page are resolved at its end, and links are collected
 * up to the limits of HtmlOptions. With a taker (HtmlLinkTaker) they are resolved in batches while
 * the page is read. A base element counts for the links before it as well: when it comes behind the
 * first batch, the page is read again with that base.
 * Owns: nothing; its state is in HtmlParser.
 * Threads: the parser's. */

/* Before a page. */
void html_resolve_begin(HtmlParser *parser, const HtmlLinkTaker *taker);
/* The encoding of the page, in which queries are written. */
void html_resolve_encoding(HtmlParser *parser, const char *encoding);
/* Whether links were taken before the base was met. */
bool html_resolve_has_late_base(HtmlParser *parser);
/* After html_tree_begin: the base of the reading before, if it came late. */
void html_resolve_late_base(HtmlParser *parser);
/* Another reading of the same page begins: what was taken is void. */
void html_resolve_restart(HtmlParser *parser);
/* The page was read: the links that are left. RESULT_MEMORY. */
Result html_resolve_rest(HtmlParser *parser, Page *page);

struct HtmlParser {
    HtmlOptions options;
    Arena arena;
    HtmlTree tree;
    Digest digest;
    SketchBins bins;      /* with HtmlOptions.sketch */
    NumberList numbers;   /* with HtmlOptions.numbers */
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
