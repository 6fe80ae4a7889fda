/* Visible box: what each element of HTML is in the layout of a page, and which end tags it implies.
 *
 * What: the user agent's style sheet of the HTML standard as a table.
 * Threads: any; constant.
 * Source: html.spec.whatwg.org 15.3 (rendering), 13.2.6 (tree construction). */
#ifndef PARSE_VISIBLE_VISIBLE_BOX_H
#define PARSE_VISIBLE_VISIBLE_BOX_H

#include <stdint.h>

#include "parse/text/html_tags.h"

/* The property display, as far as text goes. */
typedef enum VisibleBox {
    VISIBLE_BOX_INLINE,       /* also whatever is unknown */
    VISIBLE_BOX_BLOCK,        /* on lines of its own */
    VISIBLE_BOX_PARAGRAPH,    /* the same, with an empty line before and after */
    VISIBLE_BOX_INLINE_BLOCK, /* in the line, with lines of its own within */
    VISIBLE_BOX_OBJECT,       /* in the line, without text */
    VISIBLE_BOX_TABLE,
    VISIBLE_BOX_ROWS, /* thead, tbody, tfoot */
    VISIBLE_BOX_ROW,
    VISIBLE_BOX_CELL,
    VISIBLE_BOX_NONE /* not there, nor what is in it */
} VisibleBox;

enum {                             /* flags of an element */
       VISIBLE_CLOSES_P = 1,       /* a paragraph before it ends */
       VISIBLE_IN_SCOPE = 2,       /* its end tag closes what is open in it */
       VISIBLE_FORMATTING = 4,     /* its end tag closes it alone, not the blocks in it */
       VISIBLE_HEADING = 8,        /* h1 to h6 */
       VISIBLE_IMPLIED_END = 16,   /* ends with the element around it: p, li, dd, td ... */
       VISIBLE_KEEPS_WHITE = 32,   /* white-space: pre */
       VISIBLE_CLOSED_DETAILS = 64 /* only its summary is seen, unless it is open */
};

typedef struct VisibleTraits {
    uint8_t box;   /* VisibleBox */
    uint8_t flags; /* VISIBLE_CLOSES_P ... */
} VisibleTraits;

extern const VisibleTraits visible_traits[HTML_TAGS];

#endif
