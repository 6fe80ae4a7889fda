/* Web socket: the socket that the status page listens at.
 *
 * What: TCP on a loopback address, or a Unix socket that its user and group may connect to; a
 * Unix socket that nobody listens at any more is replaced.
 * Owns: nothing; the descriptor is the caller's.
 * Threads: main.
 * Errors: error gets one sentence. */
#ifndef CRAWL_WEB_WEB_SOCKET_H
#define CRAWL_WEB_WEB_SOCKET_H

#include "rules/listen_address.h"

/* The name is what a browser or proxy is given: "http://127.0.0.1:8088/", "unix:/run/page.sock". */
Result web_socket_open(const ListenAddress *address, int *fd, Buffer *name, Buffer *error);
/* Removes the file of a Unix socket. */
void web_socket_remove(const ListenAddress *address);

#endif
