/* Socket watch: which of libcurl's sockets epoll waits for.
 *
 *   libcurl --(socket callback)--> socket_watch_want --(only when something changes)--> epoll_ctl
 *   epoll_wait --> socket_watch_wants? --> curl_multi_socket_action
 *
 * What: libcurl takes a socket out of epoll when its transfer ends, and puts it in again when the
 * connection is used once more: two system calls per page. The socket watch leaves a socket that is
 * only read from in epoll meanwhile. When such a socket becomes readable although nobody waits for
 * it, because the server closes it, the socket is taken out then.
 *
 * Threads: one, the fetcher's.
 * Invariant: what epoll knows of a socket is what `registered` says. The kernel forgets a socket
 * that is closed, and the next socket with its number may be another thread's. So every new socket
 * is announced (socket_watch_opened), and every one that is closed (socket_watch_closed).
 * Source: epoll(7). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct SocketState {
    uint8_t wanted;     /* EPOLLIN, EPOLLOUT: what libcurl waits for */
    uint8_t registered; /* what epoll waits for; 0 = it does not know the socket */
    uint8_t owner;      /* of a socket that is open, as the caller counts them; 0 = not known */
} SocketState;

typedef struct SocketWatch {
    int epoll;           /* borrowed */
    SocketState *states; /* by descriptor; grows to the highest one */
    size_t n;
} SocketWatch;

void socket_watch_init(SocketWatch *watch, int epoll);
void socket_watch_destroy(SocketWatch *watch);
/* A socket was made with this descriptor. */
void socket_watch_opened(SocketWatch *watch, int fd);
/* The socket with this descriptor is about to be closed. An event that epoll has already reported
 * for it is not wanted any more. */
void socket_watch_closed(SocketWatch *watch, int fd);
/* From now on events (EPOLLIN, EPOLLOUT; 0 = nothing) are waited for. */
void socket_watch_want(SocketWatch *watch, int fd, uint32_t events);
/* Whom events of the socket are for; without memory it is not known. */
void socket_watch_set_owner(SocketWatch *watch, int fd, uint8_t owner);
uint8_t socket_watch_owner(const SocketWatch *watch, int fd);
/* Whether libcurl waits for an event that epoll has reported. If not, the socket is taken out of
 * epoll. */
bool socket_watch_wants(SocketWatch *watch, int fd);
