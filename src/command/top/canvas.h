/* Canvas: rows of characters, each with a style, that a terminal shows or a test compares.
 *
 * What: text is put at a place and cut at the edge.
 * Owns: its cells.
 * Threads: one; pure. */
#ifndef COMMAND_TOP_CANVAS_H
#define COMMAND_TOP_CANVAS_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory/buffer.h"

typedef enum CanvasStyle {
    STYLE_PLAIN,
    STYLE_DIM,
    STYLE_STRONG,
    STYLE_TITLE,  /* inverse, of the whole row */
    STYLE_CHOSEN, /* the row that is selected */
    STYLE_GOOD,
    STYLE_WARN,
    STYLE_BAD,
    STYLE_GRAPH,
    CANVAS_STYLES
} CanvasStyle;

typedef struct CanvasCell {
    uint32_t character; /* Unicode */
    uint8_t style;
} CanvasCell;

typedef struct Canvas {
    int rows;
    int columns;
    CanvasCell *cells;
} Canvas;

/* Blank. RESULT_MEMORY: it has no cells, and drawing does nothing. */
Result canvas_init(Canvas *canvas, int rows, int columns);
void canvas_destroy(Canvas *canvas);
const CanvasCell *canvas_cell(const Canvas *canvas, int row, int column);

/* Draws text (UTF-8 without control characters: those become '?'), cut at width columns and at the
 * canvas. Returns the column behind it. */
int canvas_text(Canvas *canvas, int row, int column, int width, CanvasStyle style,
                const char *text);
/* The same, its end at column + width. */
void canvas_right(Canvas *canvas, int row, int column, int width, CanvasStyle style,
                  const char *text);
void canvas_character(Canvas *canvas, int row, int column, CanvasStyle style, uint32_t character);
/* Gives a whole row the style. */
void canvas_style(Canvas *canvas, int row, CanvasStyle style);
/* The characters of a row as UTF-8, without blanks at its end. */
Result canvas_row(const Canvas *canvas, int row, Buffer *out);

#endif
