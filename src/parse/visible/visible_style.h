/* A style attribute, as far as it says whether and how text is seen.
 *
 * What: display, visibility, white-space, float and position. Style sheets are not read: what only
 * they hide is text (see visible.h). Pure, no locks.
 * Source: CSS Syntax 3 (a list of declarations), CSS Display 3. */
#ifndef PARSE_VISIBLE_VISIBLE_STYLE_H
#define PARSE_VISIBLE_VISIBLE_STYLE_H

#include <stdbool.h>
#include <stddef.h>

#include "parse/visible/visible_box.h"
#include "parse/visible/visible_lines.h"

typedef enum VisibleSeen { VISIBLE_SEEN_INHERIT, VISIBLE_SEEN_YES, VISIBLE_SEEN_NO } VisibleSeen;

typedef struct VisibleStyle {
    bool has_box; /* display, float or position say something */
    bool has_white;
    bool is_flex; /* what is in the box is blocks */
    VisibleBox box;
    VisibleWhite white;
    VisibleSeen seen; /* visibility */
} VisibleStyle;

/* Reads the value of a style attribute, whose character references may still be there (what we look
 * for holds none). */
VisibleStyle visible_style_read(const char *value, size_t length);

#endif
