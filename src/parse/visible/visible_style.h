/* Styles: what style sheets, style elements and style attributes say of whether and how text is
 * seen.
 *
 * What: while a page is read, visible_styles_open tells which element begins, and
 * visible_styles_of what the page's sheets (visible_sheet.h) and its style attribute say of it. The
 * cascade is the standard's: important, then attribute before unlayered before layered rules,
 * specificity, order.
 *
 * There is no tree of what was closed, so selectors are matched where an element begins, from the
 * right to the left: its ancestors and the siblings before them are known. A sheet holds for what
 * stands behind it; character references in class and id are not undone.
 *
 * Owns: sheets, which are kept from page to page by a hash of their text, VISIBLE_SHEETS_BYTES of
 * text at most; the elements of the page. Strings of the page are borrowed until the next one.
 * Threads: belongs to one thread.
 * Invariants:
 *  1. elements[] are the open elements and, behind each, its children that were closed, without
 *     theirs: the siblings before an element stand right before it, up to its parent.
 *  2. Matching takes at most VISIBLE_STYLE_STEPS for each byte of the page, and then sheets hold no
 *     more (is_over): the time that a page takes stays linear in its length.
 * Errors: without memory a sheet or an element is missing, and failed is set.
 * Source: CSS Syntax 3, Selectors 4, Cascade 5, Media Queries 4. */
#pragma once

#include "parse/visible/visible_sheet.h"

#define VISIBLE_SHEETS_BYTES ((size_t)16 << 20)
#define VISIBLE_SHEETS_MAX   256u /* of a page, those that they import among them */
#define VISIBLE_STYLE_STEPS  256u

/* What is said of one element. */
typedef struct VisibleStyle {
    uint64_t weight[VISIBLE_PROPERTIES]; /* of whoever says it; 0: nobody does */
    uint8_t value[VISIBLE_PROPERTIES];
} VisibleStyle;

static inline bool visible_style_has(const VisibleStyle *style, VisibleProperty property)
{
    return style->weight[property] != 0;
}

/* An element as selectors see it. */
typedef struct VisibleElement {
    uint64_t tag;   /* html_name_key */
    uint64_t names; /* a bit of each class and of the id, by its hash */
    HtmlSlice id;
    HtmlSlice classes;
    const char *attributes; /* behind its name; NULL: it has none */
    uint32_t parent;
} VisibleElement;

/* Where a sheet comes from: the text of the one that reference names, which is relative to base
 * (empty: absolute), and its URL. False: it is not there. Both are borrowed as long as the context
 * lives. */
typedef bool (*VisibleSheetLoad)(void *context, HtmlSlice base, HtmlSlice reference,
                                 HtmlSlice *text, HtmlSlice *url);

typedef struct VisibleStyles {
    Map kept; /* of VisibleSheet, by hash of text */
    size_t kept_bytes;
    VisibleSheetLoad load; /* NULL: there are only style elements */
    void *context;
    const char *end;                          /* of the page */
    VisibleSheet *sheets[VISIBLE_SHEETS_MAX]; /* of the page, in order */
    size_t n_sheets;
    VisibleElement *elements; /* 0 is <html>, 1 <body> */
    size_t n;
    size_t capacity;
    uint64_t steps; /* that are left */
    bool is_over;
    bool failed;
} VisibleStyles;

void visible_styles_init(VisibleStyles *styles);
void visible_styles_destroy(VisibleStyles *styles);
/* Forgets the page before; the next one ends there and has this many bytes. */
void visible_styles_begin(VisibleStyles *styles, const char *end, size_t length);
/* A style element's text, and what its imports are relative to; or the URL of a sheet that the page
 * links. media is the attribute's value (empty: all). */
void visible_styles_add(VisibleStyles *styles, HtmlSlice text, HtmlSlice base, HtmlSlice media);
void visible_styles_link(VisibleStyles *styles, HtmlSlice url, HtmlSlice media);

/* An element begins within that one; returns its number. */
uint32_t visible_styles_open(VisibleStyles *styles, uint32_t parent, const HtmlTag *tag);
/* An element ends: those in it are forgotten. */
void visible_styles_close(VisibleStyles *styles, uint32_t element);
/* <html> (0) or <body> (1) has begun. */
void visible_styles_root(VisibleStyles *styles, uint32_t element, const HtmlTag *tag);
/* What sheets and style attribute (tag; NULL: none) say of the element that began last, or is one
 * of the first two. */
void visible_styles_of(VisibleStyles *styles, uint32_t element, const HtmlTag *tag,
                       VisibleStyle *style);
