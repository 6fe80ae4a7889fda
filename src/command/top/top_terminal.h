/* Top terminal: the terminal of `ragno top`.
 *
 * What: shows a canvas and returns keys. This is the only file that uses ncurses.
 * Owns: the terminal while it is open.
 * Threads: main. */
#ifndef COMMAND_TOP_TOP_TERMINAL_H
#define COMMAND_TOP_TOP_TERMINAL_H

#include <stdbool.h>

#include "command/top/canvas.h"

/* Takes over the terminal. RESULT_INVALID: standard output or input is none, or it cannot do what
 * is needed; error has a sentence. */
Result top_terminal_open(Buffer *error);
/* Gives it back as it was. */
void top_terminal_close(void);

void top_terminal_size(int *rows, int *columns);
/* Whether it shows characters beyond ASCII. */
bool top_terminal_has_unicode(void);
void top_terminal_show(const Canvas *canvas);
/* The next key (top_input.h), or 0 when there is none. */
unsigned top_terminal_key(void);

#endif
