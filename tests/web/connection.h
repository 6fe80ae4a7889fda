/* An HTTP/1.1 connection, plain or over TLS: reads requests, one after the other, and sends what
 * Site answers.
 *
 *   READING --request complete--> ANSWERING --last byte sent--> READING (keep-alive)
 *                                    |  waits for the socket, or for a timer (late, dripping)
 *                                    +--> closed
 *
 * Invariants: (1) at most one answer is under way; what the client pipelines waits in `in`.
 * (2) While ANSWERING, `request` points into `in`, which does not move. (3) Every request gets one
 * line in the log, when its answer ended or the client was seen to be gone. A connection belongs to
 * its server's thread. */
#ifndef TESTS_WEB_CONNECTION_H
#define TESTS_WEB_CONNECTION_H

#include "event_loop.h"
#include "reply.h"
#include "request.h"
#include "request_log.h"
#include "site.h"
#include "tls.h"

typedef struct Connection Connection;

/* What the connections of a thread share. */
typedef struct HttpThread {
    EventLoop *loop;
    Site *site;
    RequestLog log;
    Reply reply;
    Connection *first;      /* all open ones */
    uint64_t n_connections; /* ever accepted */
    uint64_t n_open;        /* now */
    uint64_t n_handshakes;  /* of TLS, that ended in a request */
    uint64_t n_resumed;     /* of these, with a ticket */
    uint64_t n_requests;
    uint64_t n_aborted;
    uint64_t n_bytes;
} HttpThread;

Result http_thread_init(HttpThread *thread, EventLoop *loop, Site *site, int log_fd);
/* Closes all connections and flushes the log. */
void http_thread_destroy(HttpThread *thread);

/* Takes over fd, a non-blocking socket just accepted; address is its local one, host order. With
 * tls the client must speak TLS; NULL: plain HTTP. */
void connection_open(HttpThread *thread, int fd, uint32_t address, const Tls *tls);

#endif
