/* Transfers in lanes, from a server of this process: which connections are used again, and how
 * transfers end. The test is the fetching thread. */
#include "fetch/connect/lanes.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"
#include "until.h"

enum { CONNECTIONS = 16, REQUEST_BYTES = 2048 };

/* ---- a server that keeps its connections open ---- */

typedef struct Peer {
    int fd;
    size_t length;
    char bytes[REQUEST_BYTES]; /* of a request that has not come whole */
} Peer;

typedef struct Server {
    int listener;
    int stop[2]; /* a pipe: its end stops the thread */
    uint16_t port;
    Peer peers[CONNECTIONS];
    size_t n;
    pthread_t thread;
} Server;

/* Reads what came; answers a whole request. False: the peer has gone. */
static bool server_serve(Peer *peer)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    ssize_t n = read(peer->fd, peer->bytes + peer->length, sizeof peer->bytes - peer->length);
    if (n <= 0) {
        return false;
    }
    peer->length += (size_t)n;
    if (memmem(peer->bytes, peer->length, "\r\n\r\n", 4) == NULL) {
        return true;
    }
    peer->length = 0;
    return send(peer->fd, answer, sizeof answer - 1, MSG_NOSIGNAL) == (ssize_t)sizeof answer - 1;
}

static void *server_main(void *context)
{
    Server *server = context;
    while (true) {
        struct pollfd polled[CONNECTIONS + 2] = {{server->stop[0], POLLIN, 0},
                                                 {server->listener, POLLIN, 0}};
        size_t n = server->n;
        for (size_t i = 0; i < n; i++) {
            polled[i + 2] = (struct pollfd){server->peers[i].fd, POLLIN, 0};
        }
        (void)poll(polled, n + 2, -1);
        if (polled[0].revents != 0) {
            break;
        }
        for (size_t i = n; i > 0; i--) {
            if (polled[i + 1].revents != 0 && !server_serve(&server->peers[i - 1])) {
                (void)close(server->peers[i - 1].fd);
                server->peers[i - 1] = server->peers[--server->n];
            }
        }
        if (polled[1].revents != 0 && server->n < CONNECTIONS) {
            server->peers[server->n++] = (Peer){.fd = accept(server->listener, NULL, NULL)};
        }
    }
    for (size_t i = 0; i < server->n; i++) {
        (void)close(server->peers[i].fd);
    }
    return NULL;
}

static void server_start(Server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t length = sizeof address;
    *server = (Server){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    CU_ASSERT_EQUAL_FATAL(
        bind(server->listener, (const struct sockaddr *)(const void *)&address, length), 0);
    CU_ASSERT_EQUAL_FATAL(listen(server->listener, CONNECTIONS), 0);
    CU_ASSERT_EQUAL(getsockname(server->listener, (struct sockaddr *)(void *)&address, &length), 0);
    server->port = ntohs(address.sin_port);
    CU_ASSERT_EQUAL_FATAL(pipe(server->stop), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&server->thread, NULL, server_main, server), 0);
}

static void server_end(Server *server)
{
    (void)close(server->stop[1]);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->stop[0]);
    (void)close(server->listener);
}

/* ---- a fetching thread ---- */

typedef struct World {
    Server server;
    SocketWatch sockets;
    Lanes lanes;
    int epoll;
} World;

static curl_socket_t on_open(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    World *w = context;
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= 0) {
        socket_watch_opened(&w->sockets, fd);
    }
    return fd;
}

static int on_close(void *context, curl_socket_t fd)
{
    World *w = context;
    socket_watch_closed(&w->sockets, fd);
    return close(fd);
}

static void set_up(World *w, size_t kept)
{
    server_start(&w->server);
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    socket_watch_init(&w->sockets, w->epoll);
    CU_ASSERT_EQUAL_FATAL(lanes_init(&w->lanes, &w->sockets, kept), RESULT_OK);
}

static void tear_down(World *w)
{
    lanes_destroy(&w->lanes);
    socket_watch_destroy(&w->sockets);
    (void)close(w->epoll);
    server_end(&w->server);
}

/* What comes until a transfer has ended, or for a while. */
static CURL *turn(World *w, CURLcode *code)
{
    struct epoll_event event;
    lanes_run_timers(&w->lanes, mono_now());
    int n = epoll_wait(w->epoll, &event, 1, 1);
    if (n == 1) {
        lanes_event(&w->lanes, event.data.fd, event.events);
    }
    return lanes_ended(&w->lanes, code);
}

static size_t on_body(char *bytes, size_t size, size_t n, void *context)
{
    (void)bytes;
    (void)context;
    return size * n;
}

/* Fetches what a host has at an address of this machine; how many connections that took. */
static long fetch(World *w, uint64_t host, unsigned address, uint16_t port, CURLcode *code)
{
    char url[64];
    long connections = -1;
    CURL *ended = NULL;
    CURL *easy = curl_easy_init();
    CU_ASSERT_PTR_NOT_NULL_FATAL(easy);
    (void)snprintf(url, sizeof url, "http://127.0.0.%u:%u/", address, port);
    (void)curl_easy_setopt(easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, w);
    (void)curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    (void)curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, w);
    Lane *lane = lanes_of(&w->lanes, host);
    CU_ASSERT_EQUAL(lanes_begin(lane, easy), RESULT_OK);
    CU_ASSERT_TRUE(UNTIL((ended = turn(w, code)) != NULL));
    CU_ASSERT_PTR_EQUAL(ended, easy);
    lanes_take_out(lane, easy);
    CU_ASSERT_PTR_NULL(lanes_ended(&w->lanes, code));
    (void)curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connections);
    curl_easy_cleanup(easy);
    return connections;
}

/* How many connections that took, of a fetch that went well. */
static long fetch_well(World *w, uint64_t host)
{
    CURLcode code = CURLE_FAILED_INIT;
    long connections = fetch(w, host, 1, w->server.port, &code);
    CU_ASSERT_EQUAL(code, CURLE_OK);
    return connections;
}

static void a_host_always_has_the_same_lane(void)
{
    static const struct {
        size_t kept;
        unsigned lanes;
    } rows[] = {{0, 1}, {1, 1}, {63, 1}, {64, 2}, {1000, 16}, {1000000, LANES_MOST}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        World w;
        unsigned used = 0;
        bool is_used[LANES_MOST] = {false};
        set_up(&w, rows[i].kept);
        CU_ASSERT_EQUAL(w.lanes.n, rows[i].lanes);
        for (uint64_t host = 0; host < 2000; host++) {
            const Lane *lane = lanes_of(&w.lanes, host);
            CU_ASSERT_TRUE_FATAL(lane->number < rows[i].lanes);
            CU_ASSERT_PTR_EQUAL(lane, lanes_of(&w.lanes, host));
            used += !is_used[lane->number];
            is_used[lane->number] = true;
        }
        CU_ASSERT_EQUAL(used, rows[i].lanes);
        CU_ASSERT_EQUAL(lanes_time(&w.lanes).ns, MONO_NEVER.ns);
        tear_down(&w);
    }
}

static void a_connection_that_is_kept_is_used_again(void)
{
    World w;
    set_up(&w, 64);
    CU_ASSERT_EQUAL(fetch_well(&w, 1), 1);
    CU_ASSERT_EQUAL(fetch_well(&w, 1), 0);
    CU_ASSERT_EQUAL(fetch_well(&w, 1), 0);
    lanes_close_all(&w.lanes);
    CU_ASSERT_EQUAL(fetch_well(&w, 1), 1);
    CU_ASSERT_EQUAL(fetch_well(&w, 1), 0);
    tear_down(&w);
}

/* libcurl takes 0 for "as many as it likes". */
static void where_none_is_kept_each_fetch_has_its_own(void)
{
    World w;
    set_up(&w, 0);
    CU_ASSERT_EQUAL(fetch_well(&w, 1), 1);
    CU_ASSERT_EQUAL(fetch_well(&w, 1), 1);
    lanes_keep(&w.lanes, 5);
    CU_ASSERT_EQUAL(fetch_well(&w, 1), 1);
    CU_ASSERT_EQUAL(fetch_well(&w, 1), 0);
    lanes_keep(&w.lanes, 0);
    (void)fetch_well(&w, 1); /* what is open stays until it has been used again */
    CU_ASSERT_EQUAL(fetch_well(&w, 1), 1);
    tear_down(&w);
}

/* How many connections it takes to fetch from the first n addresses, one after the other. */
static long fetch_from(World *w, unsigned n)
{
    long connections = 0;
    for (unsigned i = 1; i <= n; i++) {
        CURLcode code = CURLE_OK;
        connections += fetch(w, 1, i, w->server.port, &code);
        CU_ASSERT_EQUAL(code, CURLE_OK);
    }
    return connections;
}

/* Which one goes when there is one too many libcurl decides. */
static void check_kept(World *w, unsigned n)
{
    CU_ASSERT_EQUAL(fetch_from(w, n), n);
    CU_ASSERT_EQUAL(fetch_from(w, n), 0);
    (void)fetch_from(w, n + 1);
    CU_ASSERT_TRUE(fetch_from(w, n + 1) > 0);
    tear_down(w);
}

static void no_more_are_kept_than_may_be(void)
{
    World w;
    set_up(&w, 1);
    check_kept(&w, 1);
    set_up(&w, 2);
    check_kept(&w, 2);
    set_up(&w, 1);
    lanes_keep(&w.lanes, 2);
    check_kept(&w, 2);
}

static void a_transfer_that_fails_says_how(void)
{
    World w;
    CURLcode code = CURLE_OK;
    set_up(&w, 64);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int closed = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* bound, and nobody listens */
    CU_ASSERT_EQUAL_FATAL(bind(closed, (const struct sockaddr *)(const void *)&address, length), 0);
    CU_ASSERT_EQUAL(getsockname(closed, (struct sockaddr *)(void *)&address, &length), 0);
    (void)fetch(&w, 2, 1, ntohs(address.sin_port), &code);
    CU_ASSERT_EQUAL(code, CURLE_COULDNT_CONNECT);
    (void)close(closed);
    lanes_touch(lanes_of(&w.lanes, 1)); /* nothing has ended */
    lanes_touch(lanes_of(&w.lanes, 1));
    CU_ASSERT_PTR_NULL(lanes_ended(&w.lanes, &code));
    CU_ASSERT_EQUAL(fetch_well(&w, 2), 1);
    tear_down(&w);
}

UNIT_MAIN("lanes", {"a host always has the same lane", a_host_always_has_the_same_lane},
          {"a connection that is kept is used again", a_connection_that_is_kept_is_used_again},
          {"where none is kept each fetch has its own", where_none_is_kept_each_fetch_has_its_own},
          {"no more are kept than may be", no_more_are_kept_than_may_be},
          {"a transfer that fails says how", a_transfer_that_fails_says_how})
