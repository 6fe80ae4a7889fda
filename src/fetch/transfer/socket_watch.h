/* Which of libcurl's sockets epoll waits for.
 *
 *   libcurl --(socket callback)--> socket_watch_want --(only when something changes)--> epoll_ctl
 *   epoll_wait --> socket_watch_wants? --> curl_multi_socket_action
 *
 * libcurl takes a socket out when its transfer ends and puts it in again when the connection is
 * used once more: two system calls for each page. Here a socket that is only read from stays in
 * epoll meanwhile; should it tell of something nobody waits for (the server closes it), it is taken
 * out then.
 *
 * Invariant: what epoll knows of a socket is what `registered` says. The kernel forgets a socket
 * that is closed, whoever closes it; so each new one is told of (socket_watch_opened).
 * Threads: one, that of the fetcher. Source: epoll(7). */
#ifndef FETCH_TRANSFER_SOCKET_WATCH_H
#define FETCH_TRANSFER_SOCKET_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct SocketState {
    uint8_t wanted;     /* EPOLLIN, EPOLLOUT: what libcurl waits for */
    uint8_t registered; /* what epoll waits for; 0 = it does not know the socket */
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
/* From now on events (EPOLLIN, EPOLLOUT; 0 = nothing) are waited for. */
void socket_watch_want(SocketWatch *watch, int fd, uint32_t events);
/* Whether anybody waits for an event that epoll has told of; if not, it tells no more. */
bool socket_watch_wants(SocketWatch *watch, int fd);

#endif
