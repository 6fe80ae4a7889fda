/* What a page says of itself for programs: JSON-LD, microdata, Open Graph, alternates by language.
 *
 * What: four lists, each a JSON array; references and values are as they stand in the page, with
 * character references decoded.
 *
 *   json_ld      the text of each <script type="application/ld+json">, a string, well formed or not
 *   microdata    [{"type": ["https://schema.org/Book"], "id": "...", "properties":
 *                {"name": ["..."], "author": [...]}}], as the standard makes JSON of it; type and
 *                id only where the item has them, and references not made absolute
 *   opengraph    [{"property": "og:title", "content": "..."}], of each meta element whose property
 *                has a colon, or whose name begins with "og:" or "twitter:"
 *   hreflang     [{"hreflang": "de", "href": "/de/"}], of <link rel=alternate hreflang>
 *
 * An element takes part when it belongs to the document: not in a template, not in a drawing.
 * visible_stack.h tells where elements begin and end, visible.h the text; hidden text counts.
 *
 * Owns: the lists, of `most` bytes each at most, and scratch memory bounded by the same. What has
 * no room is left out, entry by entry, and is_cut is set; the time that finding the properties of
 * items takes is bounded, too.
 * Threads: belongs to one thread.
 * Errors: without memory lists are not complete, and failed is set.
 * Source: html.spec.whatwg.org 5 (microdata), 5.4.1 (its JSON); ogp.me; json-ld.org. */
#pragma once

#include "base/memory/buffer.h"
#include "parse/text/skim_token.h"

typedef enum VisibleDataKind {
    VISIBLE_JSON_LD,
    VISIBLE_MICRODATA,
    VISIBLE_OPENGRAPH,
    VISIBLE_HREFLANG,
    VISIBLE_DATA_KINDS
} VisibleDataKind;

/* An element that has to do with microdata: an item, a property, or one that may be referred to. */
typedef struct VisibleDatum {
    HtmlTagId id;
    uint32_t parent; /* the number of the innermost around it; 0: none */
    bool is_item;
    bool is_open;
    bool takes_text;        /* a property whose value is its text */
    HtmlSlice names;        /* itemprop; empty: it is no property */
    HtmlSlice name;         /* id */
    HtmlSlice refers;       /* itemref */
    const char *attributes; /* HtmlTag.attributes */
    size_t from;            /* of its text */
    size_t to;
} VisibleDatum;

typedef struct VisibleData {
    size_t most;
    const char *end; /* of the markup */
    bool is_cut;
    bool failed;
    Buffer lists[VISIBLE_DATA_KINDS];
    VisibleDatum *all; /* in order of coming; a number is the index and 1 */
    size_t n;
    uint32_t innermost; /* the number of the one that is open; 0: none */
    uint32_t raw;       /* the text of this one comes next, and is no markup */
    size_t n_taking;    /* open ones that take text */
    Buffer text;
    Buffer scratch;
    uint64_t steps;
} VisibleData;

void visible_data_init(VisibleData *data, size_t most);
void visible_data_destroy(VisibleData *data);
/* Forgets the page before. end: of the markup. */
void visible_data_begin(VisibleData *data, const char *end);

/* An element of the document begins. The number that visible_data_close is to be called with;
 * 0: none. */
uint32_t visible_data_open(VisibleData *data, const HtmlTag *tag);
void visible_data_close(VisibleData *data, uint32_t number);
/* One begins that holds no elements. */
void visible_data_void(VisibleData *data, const HtmlTag *tag);
void visible_data_text(VisibleData *data, const char *from, const char *to, bool decode);
/* The text of an element that holds no markup, behind visible_data_void for it. */
void visible_data_raw(VisibleData *data, const HtmlTag *tag, HtmlTextMode mode, const char *from,
                      const char *to);
/* The page has ended: the lists are complete. */
void visible_data_end(VisibleData *data);

/* The name of a column of tables: "json_ld". */
const char *visible_data_name(VisibleDataKind kind);
