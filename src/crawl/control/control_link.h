/* Control link: a connection to a running crawl, as its clients have it.
 *
 * What: asks one question after the other and hands on the lines of the answers
 * (control_server.h says what they look like). For `ragno ctl` and whoever else steers a crawl.
 * Owns: the socket.
 * Threads: one.
 * Errors: error gets one sentence. */
#ifndef CRAWL_CONTROL_CONTROL_LINK_H
#define CRAWL_CONTROL_CONTROL_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

typedef struct ControlLink ControlLink;

/* RESULT_NOT_FOUND: no crawl runs in the directory. RESULT_IO and the like. */
Result control_link_open(ControlLink **link, const char *directory, Buffer *error);
void control_link_close(ControlLink *link); /* NULL is allowed */

/* Takes a line of data, without the blank before it and its line end; false: enough, the link is of
 * no use any more. */
typedef bool (*ControlLine)(void *context, const char *line);

/* Asks, and waits for each line of the answer at most timeout_ms (negative: for ever). take may be
 * NULL. RESULT_LIMIT: the crawl cannot do it, RESULT_INVALID: it does not understand; in both cases
 * error is its sentence. RESULT_OK: note (may be NULL) has what stood behind "ok", if anything.
 * RESULT_CLOSED: the crawl has ended, or take had enough; RESULT_TIMEOUT, RESULT_IO. */
Result control_link_ask(ControlLink *link, char *const *words, size_t n, ControlLine take,
                        void *context, int64_t timeout_ms, Buffer *note, Buffer *error);

#endif
