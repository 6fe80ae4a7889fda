/* Where things lie in the text of a page: headings, links, blocks and the areas they stand in.
 *
 * What: positions, in bytes of the text as it is written. A mark begins before the line breaks that
 * are owed; visible_marks_trim makes it begin at its text.
 * Owns: arrays that are kept from page to page. Each has a bound; what is beyond it has no mark.
 * Threads: belongs to one thread.
 * Errors: none: without memory there are fewer marks, and failed is set. */
#ifndef PARSE_VISIBLE_VISIBLE_MARKS_H
#define PARSE_VISIBLE_VISIBLE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parse/text/html_tags.h"

#define VISIBLE_HEADINGS_MAX 4096u
#define VISIBLE_LINKS_MAX    262144u
#define VISIBLE_BLOCKS_MAX   262144u
#define VISIBLE_AREAS_MAX    262144u
#define VISIBLE_NO_MARK      UINT32_MAX

/* A stretch of the text. */
typedef struct VisibleMark {
    uint32_t start;
    uint32_t end;
    uint32_t value; /* of a heading: its level; of a link: where in the markup its href lies */
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

typedef struct VisibleMarks {
    const char *markup; /* borrowed */
    bool wants_links;
    bool wants_blocks;
    bool failed; /* memory ran out: some are missing */
    VisibleMark *headings;
    size_t n_headings;
    size_t headings_capacity;
    VisibleMark *links;
    size_t n_links;
    size_t links_capacity;
    VisibleBlock *blocks;
    size_t n_blocks;
    size_t blocks_capacity;
    VisibleArea *areas;
    size_t n_areas;
    size_t areas_capacity;
    uint32_t block_start; /* where the next block begins */
    uint32_t link_start;  /* the link that is open began here; VISIBLE_NO_MARK: none is open */
    uint32_t link_bytes;  /* in links since block_start, but for the open one */
} VisibleMarks;

void visible_marks_init(VisibleMarks *marks);
void visible_marks_destroy(VisibleMarks *marks);
/* Forgets the page before; the next one's markup begins there. */
void visible_marks_begin(VisibleMarks *marks, const char *markup);

/* at: the length of the text now. Each returns the number of the new mark or VISIBLE_NO_MARK. */
uint32_t visible_marks_heading(VisibleMarks *marks, size_t at, unsigned level);
void visible_marks_heading_end(VisibleMarks *marks, uint32_t heading, size_t at);
/* href lies in the markup. */
uint32_t visible_marks_link(VisibleMarks *marks, size_t at, const char *href);
void visible_marks_link_end(VisibleMarks *marks, uint32_t link, size_t at);
uint32_t visible_marks_area(VisibleMarks *marks, uint32_t parent, HtmlTagId id, VisibleRole role);
void visible_marks_area_end(VisibleMarks *marks, uint32_t area);
/* A block ends here, if text was written since the last; area: the innermost around it. */
void visible_marks_block(VisibleMarks *marks, size_t at, uint32_t area);

/* The text of a mark without white space at its ends: *start and *end of it. */
void visible_marks_trim(const char *text, uint32_t *start, uint32_t *end);

#endif
