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

/* Receives a line of data, without the leading blank and without its newline. False ends the
 * reading; the link can then only be closed. */
typedef bool (*ControlLine)(void *context, const char *line);

/* Sends a request, and waits at most timeout_ms for each line of the answer (negative: for ever).
 * take may be NULL. RESULT_OK: note (may be NULL) has the text behind "ok", if there is any.
 * RESULT_LIMIT: the crawl cannot do what was asked. RESULT_INVALID: the crawl does not understand
 * the request. In both cases error has the sentence that the crawl answered. RESULT_CLOSED: the
 * crawl has ended, or take returned false. RESULT_TIMEOUT, RESULT_IO. */
Result control_link_ask(ControlLink *link, char *const *words, size_t n, ControlLine take,
                        void *context, int64_t timeout_ms, Buffer *note, Buffer *error);

#endif
