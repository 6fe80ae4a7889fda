/* The stack of open elements, and what each makes of the text in it.
 *
 * What: pushing an element begins its box in the lines (parse/visible/visible_lines.h), popping it
 * ends the box and brings back what held for text before. Where headings, links and blocks lie goes
 * to the marks (parse/visible/visible_lines.h), what is for programs to the data
 * (parse/visible/visible_data.h). Which elements are pushed and popped, and when, is
 * parse/visible/visible_tree.h's business.
 * Owns: nothing; lines and marks are borrowed.
 * Threads: belongs to one thread.
 * Invariants:
 *  1. nodes[0..depth) are open elements, <html>, <head> and <body> left out; each says what holds
 * for text in it (state, white), so that popping an element restores what held around it.
 *  2. n_open[id] is how many HTML elements of that id are there.
 *  3. Text is seen if and only if visible_stack_state is 0. */
#pragma once

#include "parse/html/html_tree.h"
#include "parse/visible/visible_data.h"
#include "parse/visible/visible_lines.h"

/* Visible box: what each element of HTML is in the layout of a page, and which end tags it implies.
 *
 * What: the user agent's style sheet of the HTML standard as a table.
 * Threads: any; constant.
 * Source: html.spec.whatwg.org 15.3 (rendering), 13.2.6 (tree construction). */

enum {                             /* flags of an element */
       VISIBLE_CLOSES_P = 1,       /* a paragraph before it ends */
       VISIBLE_IN_SCOPE = 2,       /* its end tag closes what is open in it */
       VISIBLE_FORMATTING = 4,     /* its end tag closes it alone, not the blocks in it */
       VISIBLE_HEADING = 8,        /* h1 to h6 */
       VISIBLE_KEEPS_WHITE = 32,   /* white-space: pre */
       VISIBLE_CLOSED_DETAILS = 64 /* only its summary is seen, unless it is open */
};

typedef struct VisibleTraits {
    uint8_t box;   /* VisibleBox */
    uint8_t flags; /* VISIBLE_CLOSES_P ... */
} VisibleTraits;

extern const VisibleTraits visible_traits[HTML_TAGS];

#define VISIBLE_DEPTH 512 /* Chromium's bound; tags of what is deeper are passed over */

enum {                                /* why text is not seen; 0: it is */
       VISIBLE_NOT_RENDERED = 1,      /* display: none, or an element without a box */
       VISIBLE_INVISIBLE = 2,         /* visibility: hidden */
       VISIBLE_OUTSIDE_TEXT = 4,      /* in a drawing, a formula or a select element, but in none of
                                         the elements that hold its text */
       VISIBLE_IN_CLOSED_DETAILS = 8, /* not in the summary */
};

typedef struct VisibleNode {
    uint64_t key;     /* html_name_key */
    uint8_t id;       /* HtmlTagId */
    uint8_t space;    /* HtmlSpace */
    uint8_t box;      /* VisibleBox; VISIBLE_BOX_NONE: it makes no line end or begin */
    uint8_t state;    /* of what is in it: VISIBLE_NOT_RENDERED ... */
    uint8_t white;    /* VisibleWhite of the text in it */
    uint8_t letters;  /* VisibleCase of it */
    bool html_within; /* foreign, but HTML is HTML in it */
    bool is_closed;   /* a details element without open, whose summary has not come yet */
    bool is_flex;     /* what is in it is blocks */
    bool has_row;     /* of a table: a row was begun */
    bool has_cell;    /* of a row: a cell was begun */
    bool is_link;     /* it has an href */
    uint32_t element; /* visible_styles_open */
    uint32_t datum;   /* visible_data_open; 0: none */
    uint32_t mark;    /* of a heading: its number among the marks, or VISIBLE_NO_MARK */
    uint32_t area;    /* the innermost area (visible_lines.h): its own, or one around it */
} VisibleNode;

typedef struct VisibleStack {
    VisibleLines *lines;   /* borrowed */
    VisibleMarks *marks;   /* borrowed */
    VisibleStyles *styles; /* borrowed */
    VisibleData *data;     /* borrowed; NULL: it is not wanted */
    uint32_t head;         /* the datum of <head> */
    uint8_t white;         /* VisibleWhite of the body */
    uint8_t letters;       /* VisibleCase of it */
    bool in_body;
    size_t depth;
    size_t n_too_deep; /* elements that found no room and are not closed */
    uint32_t n_open[HTML_TAGS];
    VisibleNode nodes[VISIBLE_DEPTH];
} VisibleStack;

/* Begins a page; lines, marks, styles and data have been begun. */
void visible_stack_begin(VisibleStack *stack, VisibleLines *lines, VisibleMarks *marks,
                         VisibleStyles *styles, VisibleData *data);
/* <html>, <head> or <body> begins. */
void visible_stack_root(VisibleStack *stack, const HtmlTag *tag);

/* An element of HTML begins: pushes it. */
void visible_stack_push(VisibleStack *stack, const HtmlTag *tag);
/* A row that no tag begins, around a cell. */
void visible_stack_push_row(VisibleStack *stack);
/* An element of SVG or MathML. */
void visible_stack_push_foreign(VisibleStack *stack, const HtmlTag *tag, HtmlSpace space);
/* Ends the elements above depth, the innermost first. */
void visible_stack_pop_to(VisibleStack *stack, size_t depth);
/* Ends the element at index alone; those in it stay open, as they are. */
void visible_stack_remove(VisibleStack *stack, size_t index);
/* An element without an end (<img>, <hr>) is where the text has come to. */
void visible_stack_void(VisibleStack *stack, const HtmlTag *tag);
/* <br>; tag is NULL for </br>. */
void visible_stack_feed(VisibleStack *stack, const HtmlTag *tag);

/* What holds for text now: VISIBLE_NOT_RENDERED ... */
static inline unsigned visible_stack_state(const VisibleStack *stack)
{
    return stack->depth == 0 ? 0 : stack->nodes[stack->depth - 1].state;
}

/* The properties of text here. */
static inline VisibleWhite visible_stack_white(const VisibleStack *stack)
{
    return (VisibleWhite)(stack->depth == 0 ? stack->white : stack->nodes[stack->depth - 1].white);
}

static inline VisibleCase visible_stack_letters(const VisibleStack *stack)
{
    return (VisibleCase)(stack->depth == 0 ? stack->letters
                                           : stack->nodes[stack->depth - 1].letters);
}

static inline const VisibleNode *visible_stack_top(const VisibleStack *stack)
{
    return stack->depth == 0 ? NULL : &stack->nodes[stack->depth - 1];
}
