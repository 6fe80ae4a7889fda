#include "command/top/canvas.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

Result canvas_init(Canvas *canvas, int rows, int columns)
{
    *canvas = (Canvas){.rows = rows > 0 ? rows : 0, .columns = columns > 0 ? columns : 0};
    size_t n = (size_t)canvas->rows * (size_t)canvas->columns;
    canvas->cells = malloc((n + 1) * sizeof *canvas->cells);
    if (canvas->cells == NULL) {
        canvas->rows = 0;
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        canvas->cells[i] = (CanvasCell){.character = ' ', .style = STYLE_PLAIN};
    }
    return RESULT_OK;
}

void canvas_destroy(Canvas *canvas)
{
    free(canvas->cells);
    *canvas = (Canvas){.cells = NULL};
}

static CanvasCell *cell_at(const Canvas *canvas, int row, int column)
{
    bool inside = row >= 0 && row < canvas->rows && column >= 0 && column < canvas->columns;
    return inside ? &canvas->cells[(size_t)row * (size_t)canvas->columns + (size_t)column] : NULL;
}

const CanvasCell *canvas_cell(const Canvas *canvas, int row, int column)
{
    return cell_at(canvas, row, column);
}

void canvas_character(Canvas *canvas, int row, int column, CanvasStyle style, uint32_t character)
{
    CanvasCell *cell = cell_at(canvas, row, column);
    if (cell != NULL) {
        *cell = (CanvasCell){.character = character, .style = (uint8_t)style};
    }
}

/* The next character of UTF-8; what is none becomes '?', and so does what a terminal could take for
 * a command. */
static uint32_t next_character(const char **text)
{
    const unsigned char *p = (const unsigned char *)*text;
    uint32_t character = '?';
    unsigned n = 1;
    if (*p < 0x80) {
        character = *p < ' ' || *p == 0x7F ? '?' : *p;
    } else {
        unsigned length = *p >= 0xF0 ? 4 : *p >= 0xE0 ? 3 : *p >= 0xC2 ? 2 : 1;
        uint32_t value = length == 1 ? 0 : *p & (0x7Fu >> length);
        while (n < length && (p[n] & 0xC0) == 0x80) {
            value = value << 6 | (p[n] & 0x3Fu);
            n++;
        }
        character = length > 1 && n == length && value >= 0xA0 ? value : '?';
    }
    *text += n;
    return character;
}

static int width_of(const char *text)
{
    int n = 0;
    while (*text != '\0') {
        (void)next_character(&text);
        n++;
    }
    return n;
}

int canvas_text(Canvas *canvas, int row, int column, int width, CanvasStyle style, const char *text)
{
    for (int i = 0; i < width && *text != '\0'; i++) {
        canvas_character(canvas, row, column++, style, next_character(&text));
    }
    return column;
}

void canvas_right(Canvas *canvas, int row, int column, int width, CanvasStyle style,
                  const char *text)
{
    int n = width_of(text);
    int blank = n < width ? width - n : 0;
    (void)canvas_text(canvas, row, column + blank, width - blank, style, text);
}

void canvas_style(Canvas *canvas, int row, CanvasStyle style)
{
    for (int column = 0; column < canvas->columns; column++) {
        CanvasCell *cell = cell_at(canvas, row, column);
        if (cell != NULL) {
            cell->style = (uint8_t)style;
        }
    }
}

static uint32_t character_at(const Canvas *canvas, int row, int column)
{
    const CanvasCell *cell = cell_at(canvas, row, column);
    return cell == NULL ? ' ' : cell->character;
}

Result canvas_row(const Canvas *canvas, int row, Buffer *out)
{
    int last = canvas->columns;
    Result rc = RESULT_OK;
    buffer_reset(out);
    while (last > 0 && character_at(canvas, row, last - 1) == ' ') {
        last--;
    }
    for (int column = 0; column < last && rc == RESULT_OK; column++) {
        rc = buffer_append_code_point(out, character_at(canvas, row, column));
    }
    return rc;
}
