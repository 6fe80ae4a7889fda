/* The listening socket of one HTTP thread.
 *
 * Every host has its own 127.x.y.z, millions of them with one socket: so the socket is bound to
 * the wildcard address, and a connection whose local address is outside 127.0.0.0/8 is closed
 * unread. (Linux has no wildcard for 127/8 alone.) With several threads each has its own socket on
 * the same port (SO_REUSEPORT), and the kernel spreads the connections. */
#ifndef TESTS_WEB_LISTENER_H
#define TESTS_WEB_LISTENER_H

#include "connection.h"

typedef struct Listener {
    EventWatch watch;
    HttpThread *thread;
    const Tls *tls; /* NULL: plain HTTP */
} Listener;

/* Binds port (0: any) and accepts within the thread's loop; tls is borrowed. RESULT_IO after a
 * message. */
Result listener_open(Listener *listener, HttpThread *thread, unsigned port, const Tls *tls);
void listener_close(Listener *listener);
unsigned listener_port(const Listener *listener);

#endif
