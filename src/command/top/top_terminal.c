#include "command/top/top_terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/ascii.h"
#include "command/top/top_model.h"

/* ---- Canvas ---- */

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
        unsigned length = *p < 0xC2 ? 1 : (unsigned)ascii_utf8_length(*p);
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
    int n = 0;
    for (const char *at = text; *at != '\0'; n++) {
        (void)next_character(&at);
    }
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

/* ---- Top terminal ---- */

#define ESCAPE_MS 25 /* how long an escape waits for the rest of a sequence */

static const struct {
    attr_t attributes;
    short colour; /* 0: the terminal's own */
} styles[CANVAS_STYLES] = {
    [STYLE_DIM] = {A_DIM, 0},
    [STYLE_STRONG] = {A_BOLD, 0},
    [STYLE_TITLE] = {A_REVERSE, 0},
    [STYLE_CHOSEN] = {A_REVERSE | A_BOLD, 0},
    [STYLE_GOOD] = {A_NORMAL, COLOR_GREEN},
    [STYLE_WARN] = {A_NORMAL, COLOR_YELLOW},
    [STYLE_BAD] = {A_BOLD, COLOR_RED},
    [STYLE_GRAPH] = {A_NORMAL, COLOR_CYAN},
};

/* What the library calls keys, and what they mean; 1: a key that means nothing. */
static const struct {
    int key;
    unsigned meaning;
} keys[] = {
    {ERR, 0},
    {KEY_RESIZE, 1}, /* the caller draws anew anyway */
    {KEY_UP, KEY_IS_UP},
    {KEY_DOWN, KEY_IS_DOWN},
    {KEY_LEFT, KEY_IS_LEFT},
    {KEY_RIGHT, KEY_IS_RIGHT},
    {KEY_PPAGE, KEY_IS_PAGE_UP},
    {KEY_NPAGE, KEY_IS_PAGE_DOWN},
    {KEY_HOME, KEY_IS_HOME},
    {KEY_END, KEY_IS_END},
    {KEY_ENTER, KEY_IS_ENTER},
    {KEY_BACKSPACE, KEY_IS_BACKSPACE},
};

static bool has_unicode;
static bool has_colour;
static SCREEN *screen;

Result top_terminal_open(Buffer *error)
{
    if (isatty(STDOUT_FILENO) == 0 || isatty(STDIN_FILENO) == 0) {
        (void)buffer_append_string(
            error, "it needs a terminal; for programs there is ragno status --json");
        return RESULT_INVALID;
    }
    (void)setlocale(LC_CTYPE, "");
    has_unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    screen = newterm(NULL, stdout, stdin);
    if (screen == NULL) {
        const char *name = getenv("TERM");
        (void)buffer_printf(error, "the terminal '%s' (TERM) is not known",
                            name == NULL ? "" : name);
        return RESULT_INVALID;
    }
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)set_escdelay(ESCAPE_MS);
    (void)curs_set(0);
    has_colour = getenv("NO_COLOR") == NULL && has_colors() && start_color() == OK &&
                 use_default_colors() == OK;
    if (has_colour) {
        for (int i = 0; i < CANVAS_STYLES; i++) {
            (void)(styles[i].colour > 0 && init_pair((short)i, styles[i].colour, -1) == OK);
        }
    }
    return RESULT_OK;
}

void top_terminal_close(void)
{
    if (screen != NULL) {
        (void)endwin();
        delscreen(screen);
        screen = NULL;
    }
}

void top_terminal_size(int *rows, int *columns)
{
    getmaxyx(stdscr, *rows, *columns);
}

bool top_terminal_has_unicode(void)
{
    return has_unicode;
}

void top_terminal_show(const Canvas *canvas)
{
    int rows = 0;
    int columns = 0;
    top_terminal_size(&rows, &columns);
    (void)erase();
    for (int row = 0; row < canvas->rows && row < rows; row++) {
        for (int column = 0; column < canvas->columns && column < columns; column++) {
            const CanvasCell *cell = cell_at(canvas, row, column);
            if (cell == NULL || (cell->character == ' ' && cell->style == STYLE_PLAIN)) {
                continue;
            }
            short pair = has_colour && styles[cell->style].colour > 0 ? (short)cell->style : 0;
            cchar_t wide;
            bool known = cell->character < 0x80 || has_unicode;
            wchar_t text[2] = {known ? (wchar_t)cell->character : L'?', L'\0'};
            if (setcchar(&wide, text, styles[cell->style].attributes, pair, NULL) == OK) {
                (void)mvadd_wch(row, column, &wide); /* ERR in the last cell: it is drawn */
            }
        }
    }
    (void)refresh();
}

unsigned top_terminal_key(void)
{
    int key = getch();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i].key == key) {
            return keys[i].meaning;
        }
    }
    return key > 0 && key < 0x80 ? (unsigned)key : 1;
}
