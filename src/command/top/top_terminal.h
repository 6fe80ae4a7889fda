/* Top terminal: the terminal of `ragno top`.
 *
 * What: shows a canvas and returns keys. This is the only file that uses ncurses.
 * Owns: the terminal while it is open.
 * Threads: main. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

/* Canvas: rows of characters, each with a style, that a terminal shows or a test compares.
 *
 * What: text is put at a place and cut at the edge.
 * Owns: its cells.
 * Threads: one; pure. */

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

/* Takes over the terminal. RESULT_INVALID: standard output or input is none, or it cannot do what
 * is needed; error has a sentence. */
Result top_terminal_open(Buffer *error);
/* Gives it back as it was. */
void top_terminal_close(void);

void top_terminal_size(int *rows, int *columns);
/* Whether it shows characters beyond ASCII. */
bool top_terminal_has_unicode(void);
void top_terminal_show(const Canvas *canvas);
/* The next key (top_model.h), or 0 when there is none. */
unsigned top_terminal_key(void);
