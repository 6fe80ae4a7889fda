/* `ragno top DIR`: a live screen of a crawl.
 *
 * What: the feed asks the crawl, the model keeps what is known, the view draws it, and keys change
 * what is shown.
 * Threads: main. */
#pragma once

#include "command/top/top_model.h"
#include "command/top/top_terminal.h"

/* Top view: draws what `ragno top` knows.
 *
 * What: a head with rates and graphs, then hosts or a text, then a line of keys, of a prompt, or of
 * a message. A canvas of 80x24 or more shows all of it; a smaller one shows what it has room for.
 */

/* now: for waits. model->first and model->text_first move so that the chosen row is to be seen. */
void top_view_draw(TopModel *model, WallTime now, Canvas *canvas);

/* argv[0] is "top". Returns the exit status. */
int top_main(int argc, char **argv);
