/* HTML, its types: links, their kinds, and what a page says of itself.
 *
 * What: the types that its parts share; html.h has the functions.
 * Owns: what each comment says.
 * Threads: as html.h says. */
#pragma once

#include "base/core/result.h"
#include "parse/text/numbers.h"
#include "parse/text/sketch.h"
#include "parse/robots/robots_meta.h"

/* clang-format off */
#define LINK_KIND_LIST(KIND) \
    KIND(LINK_A, "a", LINK_LEADS) \
    KIND(LINK_AREA, "area", LINK_LEADS) \
    KIND(LINK_FRAME, "frame", LINK_LEADS) \
    KIND(LINK_IFRAME, "iframe", LINK_LEADS) \
    KIND(LINK_META, "meta", LINK_LEADS) /* meta refresh */ \
    KIND(LINK_LINK, "link", LINK_LEADS) /* <link href>, any rel */ \
    KIND(LINK_IMG, "img", LINK_EMBEDS) /* src, srcset */ \
    KIND(LINK_SCRIPT, "script", LINK_EMBEDS) \
    KIND(LINK_FORM, "form", LINK_LEADS) \
    KIND(LINK_MEDIA, "media", LINK_EMBEDS) /* video, audio, source, track, poster */ \
    KIND(LINK_EMBED, "embed", LINK_EMBEDS) \
    KIND(LINK_OBJECT, "object", LINK_EMBEDS) \
    KIND(LINK_INPUT, "input", LINK_EMBEDS) \
    KIND(LINK_BODY, "body", LINK_EMBEDS) /* background attributes */ \
    KIND(LINK_HEADER, "header", LINK_LEADS) /* Link: and Refresh: */ \
    KIND(LINK_REDIRECT, "redirect", LINK_LEADS) /* Location: */ \
    KIND(LINK_SITEMAP, "sitemap", LINK_LEADS) \
    KIND(LINK_STYLE, "style", LINK_EMBEDS) /* url(), @import: style sheets, elements and attributes */ \
    /* LINK_LINK or LINK_HEADER that leads to a feed, when feeds are followed */ \
    KIND(LINK_FEED, "feed", LINK_LEADS) \
    /* of any kind, in what a browser made of the page and not in the page itself */ \
    KIND(LINK_RENDERED, "rendered", LINK_LEADS)
/* clang-format on */

#define LINK_KIND_CONSTANT(constant, name, what) constant,
typedef enum LinkKind { LINK_KIND_LIST(LINK_KIND_CONSTANT) LINK_KINDS /* how many */ } LinkKind;
#undef LINK_KIND_CONSTANT

/* Whether a kind is a part of its page or leads elsewhere; of LINK_LINK its flags say. */
enum { LINK_LEADS, LINK_EMBEDS };

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
    int64_t ends_s;           /* unavailable_after, unix time; 0: it is not said */
    /* Unless HtmlOptions.no_digests, which leaves all three at 0: */
    uint64_t text_digest[2];   /* parse/text/digest.h; 0,0 when there is neither text nor tag */
    uint64_t simhash;          /* of the text's shingles; 0 when too short */
    uint64_t text_bytes;       /* visible text, for "looks empty without JavaScript" */
    TextSketch sketch;         /* with HtmlOptions.sketch */
    const NumberList *numbers; /* of the text; NULL unless HtmlOptions.numbers */
} Page;

typedef struct HtmlOptions {
    size_t max_links;         /* per page; default 10 000 */
    size_t max_link_bytes;    /* longer URLs are dropped; default 2 048 */
    bool forms;               /* report form actions too */
    const char *robots_agent; /* product token for agent-specific meta robots; borrowed */
    size_t memory_bytes;      /* arena limit per page; default 64 Mi */
    bool use_libxml2;         /* links by libxml2's parser instead of the skimmer */
    bool no_digests;          /* nobody reads text_digest, simhash and text_bytes */
    bool sketch;              /* somebody reads the sketch, and the digests */
    bool numbers;             /* somebody reads the numbers, and the digests */
    bool styles;              /* report what style elements and attributes refer to */
    size_t longest_token;     /* of a page in pieces, that is told whole; 0: 256 Ki; for tests */
    size_t
        link_text; /* bytes of an anchor's text, and of text on either side; 0: links have none */
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
