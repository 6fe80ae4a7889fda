/* Wakes a thread that waits in epoll, because something is in its queue or a flag has changed.
 *
 *   any thread: queue_push, then wake_ring   -->   the thread: epoll_wait, wake_clear, queue_pop
 *
 * What: a wake that is rung again before it was cleared costs no system call.
 * Owns: its descriptor.
 * Threads: ring any; clear the one that waits.
 * Invariants: what was done before wake_ring is seen after wake_clear, or epoll_wait returns once
 * more.
 * Source: eventfd(2). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/core/result.h"

typedef struct Wake {
    int fd; /* an eventfd, data.fd of its epoll_event; -1: none */
    atomic_bool rung;
} Wake;

#define WAKE_POLLED (-2) /* instead of an epoll: the waiting thread looks at fd by poll(2) */

/* Makes a wake and adds it to epoll. After a failure (RESULT_IO, RESULT_LIMIT, RESULT_MEMORY) there
 * is nothing to destroy. */
Result wake_init(Wake *wake, int epoll);
/* No thread may ring the wake any more. */
void wake_destroy(Wake *wake);
/* Any thread. */
void wake_ring(Wake *wake);
/* Called by the waiting thread before it looks at its queue or flag. */
void wake_clear(Wake *wake);
