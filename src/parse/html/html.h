/* What is in a page: its links, its robots instructions, its digests, its encoding.
 *
 * What: the encoding is sniffed (charset.h), and a body that is not clean UTF-8 is decoded. A front
 * end reads the text once and tells the tree rules (html_tree.h) about tags; these say what is an
 * element of the document and what it links to. Then the references are resolved against the base.
 *
 * There are two front ends behind this header, and a browser's DOM is the truth for both. The
 * skimmer (skim.h) is the default by measurement (tests/integration/compare_browser.py, make bench
 * BENCH=html). On 8 039 pages of installed documentation both find the same 720 242 links, and on 1
 * 800 of them the same as Chromium. On pages damaged at random the skimmer's recall is 99.99 % and
 * more and its precision 99.95 %, libxml2's 97 % and 95 %: raw text elements, comments that end by
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
#ifndef PARSE_HTML_HTML_H
#define PARSE_HTML_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
#include "parse/robots/robots_meta.h"

typedef enum LinkKind {
    LINK_A,
    LINK_AREA,
    LINK_FRAME,
    LINK_IFRAME,
    LINK_META, /* meta refresh */
    LINK_LINK, /* <link href>, any rel */
    LINK_IMG,  /* src, srcset */
    LINK_SCRIPT,
    LINK_FORM,
    LINK_MEDIA, /* video, audio, source, track, poster */
    LINK_EMBED,
    LINK_OBJECT,
    LINK_INPUT,
    LINK_BODY,     /* background attributes */
    LINK_HEADER,   /* Link: and Refresh: */
    LINK_REDIRECT, /* Location: */
    LINK_SITEMAP,
    LINK_STYLE, /* url(), @import: style sheets, elements and attributes */
    LINK_FEED,  /* LINK_LINK or LINK_HEADER that leads to a feed, when feeds are followed */
    LINK_KINDS  /* how many */
} LinkKind;

/* The word that `ragno check links` prints ("a", "img", ...). */
const char *link_kind_name(LinkKind kind);

enum { /* flags of a link */
       LINK_NOFOLLOW = 1,
       LINK_UGC = 2,
       LINK_SPONSORED = 4,
       LINK_CANONICAL = 8, /* <link rel=canonical> */
       LINK_PAGE = 16, /* of LINK_LINK: leads to a page (canonical, next, alternate, contents ...)
                          and not to a style, an icon or a feed */
       LINK_REQUISITE = 32, /* of LINK_LINK: a browser loads it to show the page */
       LINK_TO_FEED = 64,   /* of LINK_LINK: leads to a feed: html_link_flags() */
};

/* What is written on a link and around it (HtmlOptions.link_text); not NUL-terminated. */
typedef struct PageLinkText {
    const char *anchor;
    const char *around; /* with the anchor in its midst */
    uint32_t anchor_length;
    uint32_t around_length;
    const char *title; /* of the page, as far as it is read; NUL-terminated, or NULL */
} PageLinkText;

typedef struct PageLink {
    const char *url; /* absolute, resolved, no fragment, NUL-terminated */
    uint32_t length;
    uint8_t kind;             /* LinkKind */
    uint8_t flags;            /* LINK_NOFOLLOW ... */
    const PageLinkText *text; /* NULL without HtmlOptions.link_text */
} PageLink;

/* Kind and rel in one byte, as PageDB keeps them: a kind below 32, and the first three flags. */
static inline uint8_t link_kind_byte(const PageLink *link)
{
    unsigned rel = link->flags & (unsigned)(LINK_NOFOLLOW | LINK_UGC | LINK_SPONSORED);
    return (uint8_t)(link->kind | rel << 5);
}
static inline LinkKind link_kind_of_byte(uint8_t byte)
{
    return (LinkKind)(byte & 31);
}
static inline unsigned link_flags_of_byte(uint8_t byte)
{
    return (unsigned)byte >> 5;
}

typedef struct Page {
    const PageLink *links; /* document order, duplicates kept */
    size_t n_links;
    uint64_t n_links_dropped; /* beyond the limits on links and on their length */
    const char *encoding;     /* WHATWG name, static */
    const char *title;        /* decoded, at most 512 bytes, or NULL */
    const char *language;     /* lang of <html>, as language_tag.h has it, or NULL */
    unsigned robots;          /* PAGE_NOINDEX ... */
    /* Unless HtmlOptions.no_digests, which leaves all three at 0: */
    uint64_t text_digest[2]; /* parse/text/digest.h; 0,0 when there is neither text nor tag */
    uint64_t simhash;        /* of the text's shingles; 0 when too short */
    uint64_t text_bytes;     /* visible text, for "looks empty without JavaScript" */
} Page;

typedef struct HtmlOptions {
    size_t max_links;         /* per page; default 10 000 */
    size_t max_link_bytes;    /* longer URLs are dropped; default 2 048 */
    bool forms;               /* report form actions too */
    const char *robots_agent; /* product token for agent-specific meta robots; borrowed */
    size_t memory_bytes;      /* arena limit per page; default 64 Mi */
    bool use_libxml2;         /* links by libxml2's parser instead of the skimmer */
    bool no_digests;          /* nobody reads text_digest, simhash and text_bytes */
    bool styles;              /* report what style elements and attributes refer to */
    size_t longest_token;     /* of a page in pieces, that is told whole; 0: 256 Ki; for tests */
    size_t
        link_text; /* bytes of an anchor's text, and of text on either side; 0: links have none */
    bool digest_any_host; /* leave the host out of the text digest: mirrors are duplicates */
} HtmlOptions;

typedef struct HtmlParser HtmlParser;

/* Takes the links of a page one by one, in document order, each time they occur and whatever their
 * number and length: HtmlOptions.max_links and max_link_bytes do not count then, and memory does
 * not grow with the number of links. */
typedef struct HtmlLinkTaker {
    /* A link, which lives until this returns; robots: the instructions (PAGE_NOFOLLOW ...) that
     * were met so far. NULL: links are collected in the Page. */
    void (*take)(void *context, const PageLink *link, unsigned robots);
    /* What was taken is void: something late in the page (a base element, an encoding) holds for
     * all of it, and it is read again. */
    void (*restart)(void *context);
    void *context;
} HtmlLinkTaker;

typedef struct HtmlInput {
    const char *body; /* after content decoding */
    size_t length;
    const char *content_type; /* header value or NULL */
    const char *url;          /* of the document: the first base */
    size_t url_length;
    HtmlLinkTaker taker;
} HtmlInput;

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

#endif
