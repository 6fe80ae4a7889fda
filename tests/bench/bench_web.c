/* web.requests_per_cpu_s: what the synthetic web serves with one core, so that it is never what is
 * measured elsewhere. One client thread keeps 64 connections busy with one request each, on pages
 * of 17 kB of different hosts; the figure is requests by CPU seconds of the server. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/core/clock.h"
#include "web_process.h"

#define N_CONNECTIONS 64
#define N_HOSTS       1000
#define SECONDS       4.0

typedef struct Client {
    int epoll;
    unsigned port;
    unsigned n_requests;
    unsigned n_answers;
    size_t n_bytes;
    char buffer[1 << 18];
} Client;

typedef struct Peer {
    int fd;
    size_t left; /* bytes of the answer still to come; 0: its header is next */
} Peer;

static int ask(Client *client, Peer *peer)
{
    char request[128];
    int n = snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: h%05u.web.test\r\n\r\n",
                     client->n_requests++ % N_HOSTS);
    return send(peer->fd, request, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -1;
}

/* Takes what has come; asks again when the answer is whole. -1: the server is to blame. */
static int take(Client *client, Peer *peer)
{
    ssize_t n = recv(peer->fd, client->buffer, sizeof client->buffer - 1, 0);
    if (n <= 0) {
        return -1;
    }
    client->n_bytes += (size_t)n;
    if (peer->left == 0) {
        client->buffer[n] = '\0';
        const char *length = strstr(client->buffer, "Content-Length: ");
        const char *body = strstr(client->buffer, "\r\n\r\n");
        if (length == NULL || body == NULL || strncmp(client->buffer, "HTTP/1.1 200", 12) != 0) {
            return -1;
        }
        peer->left = (size_t)(body + 4 - client->buffer) + strtoul(length + 16, NULL, 10);
    }
    peer->left -= (size_t)n;
    if (peer->left > 0) {
        return 0;
    }
    client->n_answers++;
    return ask(client, peer);
}

static int connect_peer(Client *client, Peer *peer)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)client->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
    peer->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(peer->fd, (struct sockaddr *)&to, sizeof to) != 0 ||
        epoll_ctl(client->epoll, EPOLL_CTL_ADD, peer->fd, &event) != 0) {
        perror("bench: connect");
        return -1;
    }
    return ask(client, peer);
}

static int load(Client *client, double seconds)
{
    static Peer peers[N_CONNECTIONS];
    for (size_t i = 0; i < N_CONNECTIONS; i++) {
        if (connect_peer(client, &peers[i]) != 0) {
            return -1;
        }
    }
    MonoTime end = mono_add_ms(mono_now(), (int64_t)(seconds * 1000));
    while (mono_before(mono_now(), end)) {
        struct epoll_event events[N_CONNECTIONS];
        int n = epoll_wait(client->epoll, events, N_CONNECTIONS, 1000);
        for (int i = 0; i < n; i++) {
            if (take(client, events[i].data.ptr) != 0) {
                fprintf(stderr, "bench: a bad answer\n");
                return -1;
            }
        }
    }
    for (size_t i = 0; i < N_CONNECTIONS; i++) {
        close(peers[i].fd);
    }
    return 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    const char *scale = getenv("SCALE");
    double seconds = SECONDS * (scale != NULL ? strtod(scale, NULL) : 1);
    const char *const options[] = {"--pages", "100000", "--hosts", "1000", NULL};
    WebProcess web;
    static Client client;
    int failed = web_process_start(&web, argv[0], options) != 0;
    if (!failed) {
        client.epoll = epoll_create1(0);
        client.port = web.http;
        failed = load(&client, seconds < 0.2 ? 0.2 : seconds) != 0;
    }
    struct rusage usage = {0};
    web_process_stop(&web, &usage);
    double cpu = web_process_cpu_s(&usage);
    if (failed || client.n_answers == 0 || cpu <= 0) {
        return 1;
    }
    printf("web.requests_per_cpu_s = %.0f 1/s\n", client.n_answers / cpu);
    printf("web.kb_per_request = %.1f kB\n", (double)client.n_bytes / client.n_answers / 1000);
    return 0;
}
