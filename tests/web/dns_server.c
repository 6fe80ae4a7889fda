#include "dns_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dns_message.h"

#define PORT_TRIES    20        /* to find a number that is free for UDP and TCP */
#define TCP_MOST      64        /* connections at a time */
#define RECEIVE_BYTES (4 << 20) /* thousands of queries at once: none of them is to be lost */

typedef struct DnsPeer DnsPeer;

/* A TCP connection. */
struct DnsPeer {
    EventWatch watch;
    DnsServer *server;
    DnsPeer *next;
    size_t in_length;
    unsigned char in[2 + DNS_MESSAGE_BYTES];
};

/* An answer that is given later. */
typedef struct DnsLate {
    EventTimer timer;
    struct DnsLate *next;
    DnsServer *server;
    struct sockaddr_in to;
    size_t length;
    unsigned char bytes[DNS_MESSAGE_BYTES];
} DnsLate;

struct DnsServer {
    EventWatch udp;
    EventWatch tcp;
    EventLoop *loop;
    const Names *names;
    DnsPeer *peers;
    size_t n_peers;
    DnsLate *late;
    uint64_t n_queries;
};

static void remove_late(DnsLate *late)
{
    DnsLate **at = &late->server->late;
    while (*at != late) {
        at = &(*at)->next;
    }
    *at = late->next;
    free(late);
}

static void on_late(EventTimer *timer)
{
    DnsLate *late = (DnsLate *)(void *)timer;
    (void)sendto(late->server->udp.fd, late->bytes, late->length, 0,
                 (const struct sockaddr *)&late->to, sizeof late->to);
    remove_late(late);
}

static void answer_later(DnsServer *server, const DnsAnswer *answer, const struct sockaddr_in *to)
{
    DnsLate *late = calloc(1, sizeof *late);
    if (late == NULL) {
        return; /* as if lost on the way */
    }
    late->timer.expired = on_late;
    late->server = server;
    late->to = *to;
    late->length = answer->length;
    memcpy(late->bytes, answer->bytes, answer->length);
    late->next = server->late;
    server->late = late;
    event_loop_set(server->loop, &late->timer, mono_add_ms(mono_now(), answer->delay_ms));
}

static void on_udp(EventWatch *watch, uint32_t events)
{
    DnsServer *server = (DnsServer *)(void *)((char *)watch - offsetof(DnsServer, udp));
    (void)events;
    for (;;) {
        unsigned char query[DNS_MESSAGE_BYTES];
        DnsAnswer answer;
        struct sockaddr_in from;
        socklen_t from_bytes = sizeof from;
        ssize_t n =
            recvfrom(watch->fd, query, sizeof query, 0, (struct sockaddr *)&from, &from_bytes);
        if (n < 0) {
            return;
        }
        server->n_queries++;
        dns_message_answer(server->names, query, (size_t)n, false, mono_now(), &answer);
        if (answer.length > 0 && answer.delay_ms > 0) {
            answer_later(server, &answer, &from);
        } else if (answer.length > 0) {
            (void)sendto(watch->fd, answer.bytes, answer.length, 0, (struct sockaddr *)&from,
                         from_bytes);
        }
    }
}

static void close_peer(DnsPeer *peer)
{
    DnsServer *server = peer->server;
    DnsPeer **at = &server->peers;
    while (*at != peer) {
        at = &(*at)->next;
    }
    *at = peer->next;
    server->n_peers--;
    close(peer->watch.fd);
    free(peer);
}

/* Answers the complete queries of a peer's buffer. False: close it. */
static bool answer_peer(DnsPeer *peer)
{
    while (peer->in_length >= 2) {
        size_t length = (size_t)peer->in[0] << 8 | peer->in[1];
        if (length > DNS_MESSAGE_BYTES) {
            return false;
        }
        if (peer->in_length < 2 + length) {
            return true;
        }
        DnsAnswer answer;
        peer->server->n_queries++;
        dns_message_answer(peer->server->names, peer->in + 2, length, true, mono_now(), &answer);
        unsigned char out[2 + DNS_MESSAGE_BYTES];
        out[0] = (unsigned char)(answer.length >> 8);
        out[1] = (unsigned char)answer.length;
        memcpy(out + 2, answer.bytes, answer.length);
        size_t total = answer.length + 2;
        if (answer.length > 0 && send(peer->watch.fd, out, total, MSG_NOSIGNAL) != (ssize_t)total) {
            return false; /* a peer that does not read is none of ours */
        }
        peer->in_length -= 2 + length;
        memmove(peer->in, peer->in + 2 + length, peer->in_length);
    }
    return true;
}

static void on_peer(EventWatch *watch, uint32_t events)
{
    DnsPeer *peer = (DnsPeer *)(void *)watch;
    bool alive = (events & (EPOLLERR | EPOLLHUP)) == 0;
    while (alive) {
        ssize_t n =
            recv(watch->fd, peer->in + peer->in_length, sizeof peer->in - peer->in_length, 0);
        if (n < 0 && errno == EAGAIN) {
            return;
        }
        if (n <= 0) {
            break;
        }
        peer->in_length += (size_t)n;
        alive = answer_peer(peer);
    }
    close_peer(peer);
}

static void on_tcp(EventWatch *watch, uint32_t events)
{
    DnsServer *server = (DnsServer *)(void *)((char *)watch - offsetof(DnsServer, tcp));
    (void)events;
    for (;;) {
        int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        DnsPeer *peer = server->n_peers < TCP_MOST ? calloc(1, sizeof *peer) : NULL;
        if (peer == NULL) {
            close(fd);
            continue;
        }
        peer->watch = (EventWatch){fd, on_peer};
        peer->server = server;
        peer->next = server->peers;
        server->peers = peer;
        server->n_peers++;
        if (event_loop_watch(server->loop, &peer->watch) != RESULT_OK) {
            close_peer(peer);
        }
    }
}

static int bind_socket(int type, unsigned port)
{
    int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    int bytes = RECEIVE_BYTES;
    if (type == SOCK_STREAM) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    } else {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
                    (type == SOCK_STREAM && listen(fd, TCP_MOST) != 0))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static unsigned port_of(int fd)
{
    struct sockaddr_in at = {0};
    socklen_t n = sizeof at;
    (void)getsockname(fd, (struct sockaddr *)&at, &n);
    return ntohs(at.sin_port);
}

static bool bind_both(DnsServer *server, unsigned port)
{
    for (int i = 0; i < PORT_TRIES; i++) {
        server->udp.fd = bind_socket(SOCK_DGRAM, port);
        if (server->udp.fd < 0) {
            return false;
        }
        server->tcp.fd = bind_socket(SOCK_STREAM, port_of(server->udp.fd));
        if (server->tcp.fd >= 0) {
            return true;
        }
        close(server->udp.fd);
        server->udp.fd = -1;
        if (port != 0) {
            break;
        }
    }
    return false;
}

Result dns_server_new(DnsServer **out, EventLoop *loop, const Names *names, unsigned port)
{
    DnsServer *server = calloc(1, sizeof *server);
    *out = NULL;
    if (server == NULL) {
        return RESULT_MEMORY;
    }
    server->loop = loop;
    server->names = names;
    server->udp = (EventWatch){-1, on_udp};
    server->tcp = (EventWatch){-1, on_tcp};
    if (!bind_both(server, port) || event_loop_watch(loop, &server->udp) != RESULT_OK ||
        event_loop_watch(loop, &server->tcp) != RESULT_OK) {
        fprintf(stderr, "web: DNS on 127.0.0.1:%u: %s\n", port, strerror(errno));
        dns_server_delete(server);
        return RESULT_IO;
    }
    *out = server;
    return RESULT_OK;
}

void dns_server_delete(DnsServer *server)
{
    if (server == NULL) {
        return;
    }
    for (DnsPeer *peer = server->peers, *next = NULL; peer != NULL; peer = next) {
        next = peer->next;
        close(peer->watch.fd);
        free(peer);
    }
    for (DnsLate *late = server->late, *next = NULL; late != NULL; late = next) {
        next = late->next;
        event_loop_clear(server->loop, &late->timer);
        free(late);
    }
    if (server->udp.fd >= 0) {
        close(server->udp.fd);
    }
    if (server->tcp.fd >= 0) {
        close(server->tcp.fd);
    }
    free(server);
}

unsigned dns_server_port(const DnsServer *server)
{
    return port_of(server->udp.fd);
}

uint64_t dns_server_queries(const DnsServer *server)
{
    return server->n_queries;
}
