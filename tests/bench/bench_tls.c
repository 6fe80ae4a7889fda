/* What a page over TLS costs at least, over a connection of its own or over one that is kept: a
 * client that does nothing else. It asks the synthetic web for pages of 17 kB, one after the other,
 * and reads them to the end. CPU of the client, by page; the kernel's work for both ends of a
 * loopback connection is part of it.
 *
 *   tls.floor.plain_ms     connect, ask, read, close
 *   tls.floor.resumed_ms   over TLS 1.3 (AES 128), with the session of the visit before
 *   tls.floor.first_ms     over TLS 1.3, without one
 *
 * The other two are of one connection that lives on: ask, read, once the connection is there.
 *
 *   tls.floor.kept_plain_ms
 *   tls.floor.kept_ms      over TLS 1.3
 *
 * crawl.H.new, crawl.H.first and crawl.H.kept are compared with them. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "web_process.h"

#define PAGES  4000.0
#define LEAST  200.0
#define ROUNDS 3
#define SIZE   "23000" /* mean of all pages, so that the one asked for has 17 000 bytes */

typedef enum Kind { PLAIN, RESUMED, FIRST, KEPT_PLAIN, KEPT, KINDS } Kind;

typedef struct Client {
    struct sockaddr_in at;
    SSL_CTX *context;
    SSL_SESSION *session; /* of the visit before */
    char bytes[1 << 16];
} Client;

typedef struct Stream {
    int fd;
    SSL *ssl; /* NULL: plain */
} Stream;

static const char request[] = "GET / HTTP/1.1\r\nHost: h00000.web.test\r\n\r\n";

static int on_ticket(SSL *ssl, SSL_SESSION *session)
{
    Client *client = SSL_get_app_data(ssl);
    SSL_SESSION_free(client->session);
    client->session = session;
    return 1; /* it is the client's */
}

/* As recv does. */
static ssize_t get(const Stream *stream, char *bytes, size_t length)
{
    size_t n = 0;
    if (stream->ssl == NULL) {
        return recv(stream->fd, bytes, length, 0);
    }
    return SSL_read_ex(stream->ssl, bytes, length, &n) == 1 ? (ssize_t)n : 0;
}

static bool ask(const Stream *stream)
{
    size_t n = 0;
    if (stream->ssl == NULL) {
        return send(stream->fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0;
    }
    return SSL_write_ex(stream->ssl, request, sizeof request - 1, &n) == 1;
}

static bool shake_hands(Client *client, Stream *stream, Kind kind)
{
    stream->ssl = SSL_new(client->context);
    if (stream->ssl == NULL || SSL_set_fd(stream->ssl, stream->fd) != 1) {
        return false;
    }
    SSL_set_app_data(stream->ssl, client);
    if (kind == RESUMED && client->session != NULL) {
        (void)SSL_set_session(stream->ssl, client->session);
    }
    return SSL_connect(stream->ssl) == 1;
}

static bool open_stream(Client *client, Stream *stream, Kind kind)
{
    stream->ssl = NULL;
    stream->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return stream->fd >= 0 &&
           connect(stream->fd, (const struct sockaddr *)&client->at, sizeof client->at) == 0 &&
           (kind == PLAIN || kind == KEPT_PLAIN || shake_hands(client, stream, kind));
}

static void close_stream(Stream *stream)
{
    if (stream->ssl != NULL && SSL_is_init_finished(stream->ssl)) {
        (void)SSL_shutdown(stream->ssl);
    }
    SSL_free(stream->ssl);
    if (stream->fd >= 0) {
        close(stream->fd);
    }
}

/* How long the answer is that begins here; 0: not known yet. */
static size_t answer_length(const char *bytes)
{
    static const char field[] = "\r\nContent-Length: ";
    const char *end = strstr(bytes, "\r\n\r\n");
    const char *length = strstr(bytes, field);
    return end == NULL || length == NULL
               ? 0
               : (size_t)(end + 4 - bytes) + strtoul(length + sizeof field - 1, NULL, 10);
}

/* Reads one answer, in bytes, and no more; 0: it failed. */
static size_t read_answer(Client *client, const Stream *stream)
{
    size_t total = 0;
    size_t whole = 0;
    while (whole == 0 || total < whole) {
        ssize_t n = get(stream, client->bytes + total, sizeof client->bytes - 1 - total);
        if (n <= 0) {
            return 0;
        }
        total += (size_t)n;
        client->bytes[total] = '\0';
        whole = whole != 0 ? whole : answer_length(client->bytes);
    }
    return total;
}

/* One page over a connection of its own, in bytes; 0: it failed. */
static size_t visit(Client *client, Kind kind)
{
    Stream stream;
    size_t total = 0;
    ssize_t n = 0;
    if (open_stream(client, &stream, kind) && ask(&stream)) {
        while ((n = get(&stream, client->bytes, sizeof client->bytes)) > 0) {
            total += (size_t)n;
        }
    }
    close_stream(&stream);
    return total;
}

/* Milliseconds by page; negative when a page failed. */
static double measure(Client *client, Kind kind, unsigned pages)
{
    struct rusage before, after;
    bool kept = kind == KEPT || kind == KEPT_PLAIN;
    Stream stream = {.fd = -1};
    bool failed = kept ? !open_stream(client, &stream, kind) : visit(client, kind) == 0;
    (void)getrusage(RUSAGE_SELF, &before);
    for (unsigned i = 0; i < pages && !failed; i++) {
        failed =
            kept ? !ask(&stream) || read_answer(client, &stream) == 0 : visit(client, kind) == 0;
    }
    (void)getrusage(RUSAGE_SELF, &after);
    close_stream(&stream);
    double cpu_s = web_process_cpu_s(&after) - web_process_cpu_s(&before);
    return failed ? -1 : cpu_s * 1000 / pages;
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

/* The floors of some kinds. */
static int print_floors(Client *client, const WebProcess *web, unsigned pages, Kind from, Kind to)
{
    static const char *const names[KINDS] = {"plain", "resumed", "first", "kept_plain", "kept"};
    int rc = 0;
    for (Kind kind = from; kind <= to && rc == 0; kind++) {
        bool plain = kind == PLAIN || kind == KEPT_PLAIN;
        double best = 1e9;
        client->at = (struct sockaddr_in){
            .sin_family = AF_INET,
            .sin_port = htons((uint16_t)(plain ? web->http : web->https)),
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

/* With a web of its own, which closes connections or keeps them. */
static int run(Client *client, const char *program, Kind from, Kind to, bool close)
{
    const char *scale = getenv("SCALE");
    double pages = PAGES * (scale != NULL ? strtod(scale, NULL) : 1);
    const char *const options[] = {"--tls", "--hosts",      "1",  "--pages",
                                   "10",    "--skew",       "0",  "--addresses",
                                   "1",     "--page-bytes", SIZE, close ? "--close" : NULL,
                                   NULL};
    WebProcess web;
    int rc = web_process_start(&web, program, options);
    if (rc == 0) {
        rc = print_floors(client, &web, (unsigned)(pages < LEAST ? LEAST : pages), from, to);
    }
    web_process_stop(&web, NULL);
    return rc;
}

int main(int argc, char **argv)
{
    (void)argc;
    static Client client;
    int rc = open_client(&client);
    if (rc == 0) {
        rc = run(&client, argv[0], PLAIN, FIRST, true);
    }
    if (rc == 0) {
        rc = run(&client, argv[0], KEPT_PLAIN, KEPT, false);
    }
    SSL_SESSION_free(client.session);
    SSL_CTX_free(client.context);
    return rc == 0 ? 0 : 1;
}
