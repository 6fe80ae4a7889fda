#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG    4096
#define SEND_BYTES (512 * 1024) /* so that a page fits at once */

/* The local address of a connection, host order; 0 when there is none. */
static uint32_t local_address(int fd)
{
    struct sockaddr_in at = {0};
    socklen_t n = sizeof at;
    return getsockname(fd, (struct sockaddr *)&at, &n) == 0 ? ntohl(at.sin_addr.s_addr) : 0;
}

static void on_ready(EventWatch *watch, uint32_t events)
{
    Listener *listener = (Listener *)(void *)watch;
    (void)events;
    for (;;) {
        int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EAGAIN) {
                return;
            }
            if (errno == ECONNABORTED || errno == EINTR) {
                continue;
            }
            perror("web: accept");
            return;
        }
        uint32_t address = local_address(fd);
        if (address >> 24 == 127) {
            connection_open(listener->thread, fd, address, listener->tls);
        } else {
            close(fd); /* not loopback */
        }
    }
}

Result listener_open(Listener *listener, HttpThread *thread, unsigned port, const Tls *tls)
{
    int one = 1;
    int send_bytes = SEND_BYTES;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_ANY)};
    listener->watch = (EventWatch){fd, on_ready};
    listener->thread = thread;
    listener->tls = tls;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (thread->site->options->threads > 1) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    }
    /* Both are inherited by the connections. */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, BACKLOG) != 0 ||
        event_loop_watch(thread->loop, &listener->watch) != RESULT_OK) {
        fprintf(stderr, "web: HTTP on port %u: %s\n", port, strerror(errno));
        listener_close(listener);
        return RESULT_IO;
    }
    return RESULT_OK;
}

void listener_close(Listener *listener)
{
    if (listener->watch.fd >= 0) {
        close(listener->watch.fd);
        listener->watch.fd = -1;
    }
}

unsigned listener_port(const Listener *listener)
{
    struct sockaddr_in at = {0};
    socklen_t n = sizeof at;
    (void)getsockname(listener->watch.fd, (struct sockaddr *)&at, &n);
    return ntohs(at.sin_port);
}
