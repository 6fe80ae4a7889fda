/* What a page over a connection of its own costs at least: a client that does nothing else. It asks
 * the synthetic web for pages of 17 kB, one after the other, and reads them to the end. CPU of the
 * client, by page; the kernel's work for both ends of a loopback connection is part of it.
 *
 *   tls.floor.plain_ms     connect, ask, read, close
 *   tls.floor.resumed_ms   over TLS 1.3 (AES 128), with the session of the visit before
 *   tls.floor.first_ms     over TLS 1.3, without one
 *
 * crawl.H.new and crawl.H.first are to be compared with the latter two. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "web_process.h"

#define PAGES  4000.0
#define LEAST  200.0
#define ROUNDS 3

typedef enum Kind { PLAIN, RESUMED, FIRST, KINDS } Kind;

typedef struct Client {
    struct sockaddr_in at;
    SSL_CTX *context;
    SSL_SESSION *session; /* of the visit before */
    char bytes[1 << 16];
} Client;

static const char request[] = "GET / HTTP/1.1\r\nHost: h00000.web.test\r\n\r\n";

static int on_ticket(SSL *ssl, SSL_SESSION *session)
{
    Client *client = SSL_get_app_data(ssl);
    SSL_SESSION_free(client->session);
    client->session = session;
    return 1; /* it is the client's */
}

static size_t read_plain(Client *client, int fd)
{
    size_t total = 0;
    ssize_t n = send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
    while (n > 0 && (n = recv(fd, client->bytes, sizeof client->bytes, 0)) > 0) {
        total += (size_t)n;
    }
    return total;
}

static size_t read_tls(Client *client, int fd, Kind kind)
{
    size_t total = 0;
    size_t n = 0;
    SSL *ssl = SSL_new(client->context);
    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        return 0;
    }
    SSL_set_app_data(ssl, client);
    if (kind == RESUMED && client->session != NULL) {
        (void)SSL_set_session(ssl, client->session);
    }
    if (SSL_connect(ssl) == 1 && SSL_write_ex(ssl, request, sizeof request - 1, &n) == 1) {
        while (SSL_read_ex(ssl, client->bytes, sizeof client->bytes, &n) == 1) {
            total += n;
        }
        (void)SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    return total;
}

/* One page, in bytes; 0: it failed. */
static size_t visit(Client *client, Kind kind)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t n = 0;
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&client->at, sizeof client->at) == 0) {
        n = kind == PLAIN ? read_plain(client, fd) : read_tls(client, fd, kind);
    }
    if (fd >= 0) {
        close(fd);
    }
    return n;
}

/* Milliseconds by page; negative when a page failed. */
static double measure(Client *client, Kind kind, unsigned pages)
{
    struct rusage before, after;
    size_t failed = visit(client, kind) == 0;
    (void)getrusage(RUSAGE_SELF, &before);
    for (unsigned i = 0; i < pages; i++) {
        failed += visit(client, kind) == 0;
    }
    (void)getrusage(RUSAGE_SELF, &after);
    double cpu_s = web_process_cpu_s(&after) - web_process_cpu_s(&before);
    return failed > 0 ? -1 : cpu_s * 1000 / pages;
}

static int open_client(Client *client)
{
    client->context = SSL_CTX_new(TLS_client_method());
    if (client->context == NULL) {
        return -1;
    }
    (void)SSL_CTX_set_session_cache_mode(client->context,
                                         SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(client->context, on_ticket);
    return SSL_CTX_set_ciphersuites(client->context, "TLS_AES_128_GCM_SHA256") == 1 ? 0 : -1;
}

static int print_floors(Client *client, const WebProcess *web, unsigned pages)
{
    static const char *const names[KINDS] = {"plain", "resumed", "first"};
    int rc = 0;
    for (Kind kind = PLAIN; kind < KINDS && rc == 0; kind++) {
        double best = 1e9;
        client->at = (struct sockaddr_in){
            .sin_family = AF_INET,
            .sin_port = htons((uint16_t)(kind == PLAIN ? web->http : web->https)),
            .sin_addr = {.s_addr = htonl(0x7f100001)} /* of the first host */
        };
        for (int round = 0; round < ROUNDS && rc == 0; round++) {
            double ms = measure(client, kind, pages);
            best = ms < best ? ms : best;
            rc = ms < 0 ? -1 : 0;
        }
        if (rc == 0) {
            printf("tls.floor.%s_ms = %.4f ms\n", names[kind], best);
        } else {
            fprintf(stderr, "bench: tls: %s: a page failed\n", names[kind]);
        }
    }
    return rc;
}

int main(int argc, char **argv)
{
    (void)argc;
    const char *scale = getenv("SCALE");
    double pages = PAGES * (scale != NULL ? strtod(scale, NULL) : 1);
    static const char *const options[] = {"--tls",  "--close", "--hosts",     "1", "--pages", "10",
                                          "--skew", "0",       "--addresses", "1", NULL};
    static Client client;
    WebProcess web;
    int rc = web_process_start(&web, argv[0], options);
    if (rc == 0) {
        rc = open_client(&client) == 0
                 ? print_floors(&client, &web, (unsigned)(pages < LEAST ? LEAST : pages))
                 : -1;
    }
    web_process_stop(&web, NULL);
    SSL_SESSION_free(client.session);
    SSL_CTX_free(client.context);
    return rc == 0 ? 0 : 1;
}
