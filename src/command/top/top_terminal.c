#define _XOPEN_SOURCE_EXTENDED 1 /* ncurses: wide characters */
#include "command/top/top_terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/top/top_input.h"

#define ESCAPE_MS 25 /* how long an escape waits for the rest of a sequence */

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
        (void)init_pair(STYLE_GOOD, COLOR_GREEN, -1);
        (void)init_pair(STYLE_WARN, COLOR_YELLOW, -1);
        (void)init_pair(STYLE_BAD, COLOR_RED, -1);
        (void)init_pair(STYLE_GRAPH, COLOR_CYAN, -1);
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

static attr_t attributes_of(CanvasStyle style)
{
    switch (style) {
    case STYLE_DIM:
        return A_DIM;
    case STYLE_STRONG:
    case STYLE_BAD:
        return A_BOLD;
    case STYLE_TITLE:
        return A_REVERSE;
    case STYLE_CHOSEN:
        return A_REVERSE | A_BOLD;
    case STYLE_PLAIN:
    case STYLE_GOOD:
    case STYLE_WARN:
    case STYLE_GRAPH:
    case CANVAS_STYLES:
        break;
    }
    return A_NORMAL;
}

static short pair_of(CanvasStyle style)
{
    bool coloured =
        style == STYLE_GOOD || style == STYLE_WARN || style == STYLE_BAD || style == STYLE_GRAPH;
    return has_colour && coloured ? (short)style : 0;
}

void top_terminal_show(const Canvas *canvas)
{
    int rows = 0;
    int columns = 0;
    top_terminal_size(&rows, &columns);
    (void)erase();
    for (int row = 0; row < canvas->rows && row < rows; row++) {
        for (int column = 0; column < canvas->columns && column < columns; column++) {
            const CanvasCell *cell = canvas_cell(canvas, row, column);
            CanvasStyle style = (CanvasStyle)cell->style;
            if (cell->character == ' ' && style == STYLE_PLAIN) {
                continue;
            }
            cchar_t wide;
            bool known = cell->character < 0x80 || has_unicode;
            wchar_t text[2] = {known ? (wchar_t)cell->character : L'?', L'\0'};
            if (setcchar(&wide, text, attributes_of(style), pair_of(style), NULL) == OK) {
                (void)mvadd_wch(row, column, &wide); /* ERR in the last cell: it is drawn */
            }
        }
    }
    (void)refresh();
}

unsigned top_terminal_key(void)
{
    int key = getch();
    switch (key) {
    case ERR:
        return 0;
    case KEY_RESIZE:
        return 1; /* the caller draws anew anyway */
    case KEY_UP:
        return KEY_IS_UP;
    case KEY_DOWN:
        return KEY_IS_DOWN;
    case KEY_LEFT:
        return KEY_IS_LEFT;
    case KEY_RIGHT:
        return KEY_IS_RIGHT;
    case KEY_PPAGE:
        return KEY_IS_PAGE_UP;
    case KEY_NPAGE:
        return KEY_IS_PAGE_DOWN;
    case KEY_HOME:
        return KEY_IS_HOME;
    case KEY_END:
        return KEY_IS_END;
    case KEY_ENTER:
        return KEY_IS_ENTER;
    case KEY_BACKSPACE:
        return KEY_IS_BACKSPACE;
    default:
        return key > 0 && key < 0x80 ? (unsigned)key : 1; /* 1: a key that means nothing */
    }
}
