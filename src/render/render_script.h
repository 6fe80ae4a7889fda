/* Render script: what the browser runs for ragno in a page.
 *
 * What: three scripts. The first runs in each document before its own scripts: it sets the clock,
 * the random numbers and the doors that lead nowhere (sockets, service workers, ...). A page may
 * undo it, to its own harm only. The second reads the document once it has settled, in a world of
 * its own, whose prototypes no page can reach; properties that a document or a form may shadow with
 * the names of its elements are read through those prototypes.
 * Threads: any; pure. */
#pragma once

#include <stdint.h>

#include "base/memory/buffer.h"

/* By an event of this name the second script asks the first, in each frame, what it has refused;
 * the answer is an attribute of this name, which is gone when the document is read. */
#define RENDER_QUESTION "data-ragno-refused"

/* Appends the first script. offset_ms: what the page's clock is ahead of the browser's. */
Result render_script_start(Buffer *out, int64_t offset_ms);
/* Appends the second, an expression. Its value is a text: a line "CLOCK CUT REFUSED": the clock of
 * the browser in milliseconds, whether something was left out for its length (1), and the doors
 * that were tried, with commas between them ("-": none); and then the document as HTML: shadow
 * roots in place of what they hide, without scripts, with absolute URLs.
 */
Result render_script_read(Buffer *out, size_t most_characters);

/* Appends the third, an expression: scrolls a page that listens for it, and what scrolls in it, to
 * their ends. Its value is the sum of their heights in pixels and 1; 0: the
 * page does not listen. */
Result render_script_scroll(Buffer *out);
