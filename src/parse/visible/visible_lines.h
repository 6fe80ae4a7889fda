/* Text as it is laid out in lines: white space collapsed, blocks apart, nothing at the ends of
 * lines.
 *
 * What: takes the text of a document piece by piece, and between the pieces what CSS makes of the
 * elements around them: required line breaks, line feeds, tabs. Writes what a browser's innerText
 * has.
 * Owns: the text that is written. Its room is made beforehand for a whole document: a document
 * never makes more text than ENTITY_ROOM(its length) (a tag of three bytes makes two line feeds at
 * most).
 * Threads: belongs to one thread. Invariants:
 *  1. Nothing collapsible is written before it is known what follows: a space that ends a line is
 *     never there, and line breaks at the end of the document are never written.
 * Errors: RESULT_MEMORY, at visible_lines_begin only.
 * Source: CSS Text 3 (4.1, 4.3); the HTML standard, innerText (3.2.7); Chromium where the standards
 * leave it open, by tests/interop/browser_text.py. */
#ifndef PARSE_VISIBLE_VISIBLE_LINES_H
#define PARSE_VISIBLE_VISIBLE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/result.h"

/* The property white-space. */
typedef enum VisibleWhite {
    VISIBLE_WHITE_NORMAL,  /* runs of white space are one space */
    VISIBLE_WHITE_PRE,     /* all is kept */
    VISIBLE_WHITE_PRE_LINE /* the same as normal, but line feeds are kept */
} VisibleWhite;

/* What stands between the text that was written and the next. */
typedef enum VisibleSpace {
    VISIBLE_SPACE_NONE,  /* nothing */
    VISIBLE_SPACE_BLANK, /* a space */
    VISIBLE_SPACE_START  /* nothing, and white space does not count: a line begins */
} VisibleSpace;

typedef struct VisibleLines {
    char *out; /* owned */
    size_t length;
    size_t capacity;
    const char *readable; /* the end of the document: so far may be read */
    unsigned breaks;      /* required line breaks before the next text */
    VisibleSpace space;
} VisibleLines;

void visible_lines_init(VisibleLines *lines);
void visible_lines_destroy(VisibleLines *lines);
/* Gives memory back beyond keep_bytes; the text is gone. */
void visible_lines_trim(VisibleLines *lines, size_t keep_bytes);

/* Begins a document of that length, which ends at readable. RESULT_MEMORY. */
Result visible_lines_begin(VisibleLines *lines, const char *readable, size_t length);

/* Text between p and end, which lie in the document; decode: with its character references. */
void visible_lines_text(VisibleLines *lines, const char *p, const char *end, VisibleWhite white,
                        bool decode);
/* The edge of a block: a line ends, and the next text comes as many line feeds later as the largest
 * of these says. */
void visible_lines_break(VisibleLines *lines, unsigned breaks);
/* A line feed of its own (<br>, the next row of a table), or a tab (the next cell of a row). */
void visible_lines_feed(VisibleLines *lines, char feed);
/* Something that is no text stands in the line, such as an image: a space before it stays. */
void visible_lines_object(VisibleLines *lines);
/* A box with lines of its own begins in the line (<button>): a space before it stays, one at its
 * start does not. */
void visible_lines_enter(VisibleLines *lines);
/* The box ends. */
void visible_lines_leave(VisibleLines *lines);

#endif
