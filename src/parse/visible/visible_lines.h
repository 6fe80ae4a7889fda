/* Text as it is laid out in lines: white space collapsed, blocks apart, nothing at the ends of
 * lines.
 *
 * What: takes the text of a document piece by piece, and between the pieces what CSS makes of the
 * elements around them: required line breaks, line feeds, tabs. Writes what a browser's innerText
 * has.
 * Owns: the text that is written. Its room is made beforehand for a whole document: a document
 * never makes more text than ENTITY_ROOM(its length) (a tag of three bytes makes two line feeds at
 * most).
 * Threads: belongs to one thread.
 * Invariants:
 *  1. Nothing collapsible is written before it is known what follows: a space that ends a line is
 *     never there, and line breaks at the end of the document are never written.
 * Errors: RESULT_MEMORY, at visible_lines_begin only.
 * Source: CSS Text 3 (4.1, 4.3); the HTML standard, innerText (3.2.7); Chromium where the standards
 * leave it open, by tests/interop/browser_text.py. */
#pragma once

#include "parse/visible/visible_style.h"

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
/* The text written since then gets that case. A letter whose other case is longer stays. */
void visible_lines_set_case(VisibleLines *lines, size_t since, VisibleCase letters);
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

/* Where things lie in the text of a page: headings, blocks, the areas they stand in, and edges of
 * elements.
 *
 * What: positions, in bytes of the text as it is written. A mark begins before the line breaks that
 * are owed; visible_marks_trim makes it begin at its text.
 * Owns: arrays, which each page fills anew (array.h). Each has a bound; what is beyond it has no
 * mark.
 * Threads: belongs to one thread.
 * Errors: none: without memory there are fewer marks, and failed is set. */

#define VISIBLE_HEADINGS_MAX 4096u
#define VISIBLE_EDGES_MAX    1048576u
#define VISIBLE_BLOCKS_MAX   262144u
#define VISIBLE_AREAS_MAX    262144u
#define VISIBLE_NO_MARK      UINT32_MAX

/* A stretch of the text. */
typedef struct VisibleMark {
    uint32_t start;
    uint32_t end;
    uint32_t value; /* of a heading: its level */
} VisibleMark;

/* What the page itself says about a part of it. */
typedef enum VisibleRole {
    VISIBLE_ROLE_NONE,
    VISIBLE_ROLE_MAIN,    /* <main>, role="main" */
    VISIBLE_ROLE_ARTICLE, /* <article> */
    VISIBLE_ROLE_ASIDE    /* <nav>, <header>, <footer>, <aside>, and the roles of these */
} VisibleRole;

/* An element with a box of its own: the tree of these is what main text is looked for in. */
typedef struct VisibleArea {
    uint32_t parent; /* its number; VISIBLE_NO_MARK: none */
    uint32_t first_block;
    uint32_t end_block; /* behind its last one */
    uint8_t id;         /* HtmlTagId */
    uint8_t role;       /* VisibleRole */
    bool is_header;     /* <header> or <footer>, which may be those of an article */
} VisibleArea;

/* Text without a line break of the layout within: a paragraph, a heading, a cell. */
typedef struct VisibleBlock {
    uint32_t start;
    uint32_t end;
    uint32_t link_bytes; /* of it, in links */
    uint32_t area;       /* the innermost; VISIBLE_NO_MARK: none */
} VisibleBlock;

/* Where an element begins or ends. */
typedef struct VisibleEdge {
    const char *attributes; /* HtmlTag.attributes; NULL: none, or it ends */
    uint32_t at;
    uint8_t id; /* HtmlTagId */
    bool is_end;
    bool is_block;
} VisibleEdge;

typedef struct VisibleMarks {
    bool wants_blocks;
    bool wants_edges;
    bool failed; /* memory ran out: some are missing */
    VisibleMark *headings;
    size_t n_headings;
    VisibleEdge *edges;
    size_t n_edges;
    VisibleBlock *blocks;
    size_t n_blocks;
    VisibleArea *areas;
    size_t n_areas;
    uint32_t block_start; /* where the next block begins */
    uint32_t link_start;  /* the link that is open began here; VISIBLE_NO_MARK: none is open */
    uint32_t link_bytes;  /* in links since block_start, but for the open one */
} VisibleMarks;

void visible_marks_init(VisibleMarks *marks);
void visible_marks_destroy(VisibleMarks *marks);
/* Forgets the page before. */
void visible_marks_begin(VisibleMarks *marks);

/* at: the length of the text now. Each returns the number of the new mark or VISIBLE_NO_MARK. */
uint32_t visible_marks_heading(VisibleMarks *marks, size_t at, unsigned level);
void visible_marks_heading_end(VisibleMarks *marks, uint32_t heading, size_t at);
void visible_marks_link(VisibleMarks *marks, size_t at);
void visible_marks_link_end(VisibleMarks *marks, size_t at);
void visible_marks_edge(VisibleMarks *marks, const VisibleEdge *edge);
uint32_t visible_marks_area(VisibleMarks *marks, uint32_t parent, HtmlTagId id, VisibleRole role);
void visible_marks_area_end(VisibleMarks *marks, uint32_t area);
/* A block ends here, if text was written since the last; area: the innermost around it. */
void visible_marks_block(VisibleMarks *marks, size_t at, uint32_t area);

/* The text of a mark without white space at its ends: *start and *end of it. */
void visible_marks_trim(const char *text, uint32_t *start, uint32_t *end);
