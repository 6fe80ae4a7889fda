/* Desk reply: the lines of an answer.
 *
 * What: formatted lines of data, and the last line.
 * Threads: main. */
#ifndef CRAWL_DESK_DESK_REPLY_H
#define CRAWL_DESK_DESK_REPLY_H

#include "crawl/desk/desk_state.h"

void desk_say(Desk *desk, ControlClient client, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The last line: done; it cannot be done; it is not understood. */
void desk_ok(Desk *desk, const DeskRequest *request);
/* The same, with a note behind it. */
void desk_done(Desk *desk, const DeskRequest *request, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void desk_refuse(Desk *desk, const DeskRequest *request, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void desk_misunderstand(Desk *desk, const DeskRequest *request, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
