/* Desk: answers what operators ask by the control socket.
 *
 *   control server --desk_take--> the word's module --> helm, monitor, parts
 *                                       '--> lines of the answer, now or later
 *
 * What: a table of words, each with a usage and a function. An unknown word is answered with the
 * nearest one. What changes the crawl is logged with who asked (user and process).
 * Owns: the control server.
 * Threads: main.
 * Errors: whatever is asked gets a sentence; what cannot be done changes nothing. */
#pragma once

#include <stdio.h>

#include "crawl/desk/desk_reply.h"

/* The words that a desk understands, with what they do: for the help of programs that ask it, and
 * for completion, which takes the first word of each line that is indented by two blanks. */
void desk_print_words(FILE *out);

/* Opens DIR/control. A crawl without a socket goes on: the log says why there is none.
 * RESULT_MEMORY.
 */
Result desk_open(Desk **desk, Helm *helm, const char *directory);
/* Ends the answers that are not complete. NULL is allowed. */
void desk_close(Desk *desk);

/* Readable when there is something to do; -1: there is no socket. */
int desk_fd(const Desk *desk);
/* Answers what has been asked, and does what is due. */
void desk_serve(Desk *desk, MonoTime now);
/* When desk_serve wants to be called again, if nobody asks before. */
MonoTime desk_next(const Desk *desk);
