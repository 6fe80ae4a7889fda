#include "crawl/control/control_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/memory/file.h"

#define BACKLOG     32
#define EVENTS      16
#define READ_BYTES  65536u
#define LISTENER    UINT64_MAX /* in epoll's data, where others have their place */
#define SOCKET_MODE 0600

typedef struct Client {
    int fd; /* -1: the place is free */
    ControlClient id;
    ControlPeer peer;
    Buffer in;
    Buffer out;
    size_t sent;    /* of out */
    bool busy;      /* its request is not answered yet */
    bool taking;    /* sink.take is being called */
    bool ended;     /* it sends no more */
    bool leaving;   /* closed as soon as out is sent */
    uint32_t wants; /* what epoll waits for */
    MonoTime last;  /* when it was last heard */
} Client;

struct ControlServer {
    ControlSink sink;
    ControlAddress address;
    int listener;
    bool bound; /* the socket's file is ours */
    int epoll;
    Client clients[CONTROL_CLIENTS];
    ControlClient last_id;
};

/* ---- one client ---- */

static void control_server_forget(ControlServer *server, Client *client)
{
    bool busy = client->busy;
    ControlClient id = client->id;
    (void)close(client->fd);
    buffer_destroy(&client->in);
    buffer_destroy(&client->out);
    *client = (Client){.fd = -1};
    if (busy) {
        server->sink.gone(server->sink.context, id);
    }
}

/* Sends what can be sent at once; false: the client has left. */
static bool send_out(ControlServer *server, Client *client)
{
    while (client->sent < client->out.length) {
        ssize_t n = send(client->fd, client->out.data + client->sent,
                         client->out.length - client->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            break;
        }
        if (n <= 0) {
            control_server_forget(server, client);
            return false;
        }
        client->sent += (size_t)n;
    }
    if (client->sent == client->out.length) {
        buffer_reset(&client->out);
        client->sent = 0;
        if (client->leaving) {
            control_server_forget(server, client);
            return false;
        }
    }
    return true;
}

/* Tells epoll what matters now: room to write, or a request. */
static void control_server_watch(ControlServer *server, Client *client)
{
    bool reads = !client->busy && !client->ended && !client->leaving;
    uint32_t wants = (client->out.length > client->sent ? (uint32_t)EPOLLOUT : 0u) |
                     (reads ? (uint32_t)EPOLLIN : 0u);
    if (wants != client->wants) {
        struct epoll_event event = {.events = wants,
                                    .data = {.u64 = (uint64_t)(client - server->clients)}};
        (void)epoll_ctl(server->epoll, EPOLL_CTL_MOD, client->fd, &event);
        client->wants = wants;
    }
}

static Client *control_server_find(ControlServer *server, ControlClient id)
{
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        if (server->clients[i].fd >= 0 && server->clients[i].id == id) {
            return &server->clients[i];
        }
    }
    return NULL;
}

/* False: it has not read what it was sent before. */
static bool control_server_append_line(Client *client, const char *before, const char *line)
{
    size_t start = client->out.length;
    if (buffer_append_string(&client->out, before) != RESULT_OK ||
        buffer_append_string(&client->out, line) != RESULT_OK) {
        return false;
    }
    for (size_t i = start; i < client->out.length; i++) {
        char c = client->out.data[i];
        client->out.data[i] = c == '\n' || c == '\r' ? ' ' : c;
    }
    return buffer_append_char(&client->out, '\n') == RESULT_OK;
}

static bool append_end(Client *client, ControlEnd end, const char *sentence)
{
    if (end == CONTROL_OK) {
        return control_server_append_line(client, sentence == NULL ? "ok" : "ok ",
                                          sentence == NULL ? "" : sentence);
    }
    return control_server_append_line(client, end == CONTROL_ERROR ? "error " : "usage ", sentence);
}

/* The last words to a client that is left. */
static void dismiss(Client *client, const char *sentence)
{
    (void)append_end(client, CONTROL_USAGE, sentence);
    client->leaving = true;
}

/* ---- requests ---- */

static void control_server_take_request(ControlServer *server, Client *client, const char *line,
                                        size_t length)
{
    ControlWords words;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    ControlClient id = client->id;
    if (length > 0 && line[length - 1] == '\r') {
        length--;
    }
    Result rc = control_words_parse(&words, line, length, &error);
    if (rc != RESULT_OK) {
        (void)append_end(client, CONTROL_USAGE,
                         rc == RESULT_MEMORY ? "out of memory" : buffer_string(&error));
    } else if (words.n > 0) {
        client->busy = true;
        client->taking = true;
        server->sink.take(server->sink.context, id, &client->peer, &words);
        if (client->fd >= 0 && client->id == id) {
            client->taking = false;
        }
    }
    control_words_destroy(&words);
    buffer_destroy(&error);
}

/* Answers the requests that have arrived, one after the other, until one takes longer. The client
 * may have left when this returns. */
static void take_requests(ControlServer *server, Client *client)
{
    ControlClient id = client->id;
    size_t taken = 0;
    while (client->fd >= 0 && client->id == id && !client->busy && !client->leaving) {
        const char *line = client->in.data + taken;
        size_t left = client->in.length - taken;
        const char *end = left == 0 ? NULL : memchr(line, '\n', left);
        if (end == NULL) {
            break;
        }
        taken += (size_t)(end - line) + 1;
        control_server_take_request(server, client, line, (size_t)(end - line));
    }
    if (client->fd < 0 || client->id != id) {
        return;
    }
    if (taken > 0) {
        client->in.length -= taken;
        memmove(client->in.data, client->in.data + taken, client->in.length);
    }
    if (!client->busy && client->in.length > CONTROL_LINE_BYTES) {
        dismiss(client, "a request is a line of at most 1048576 bytes");
    } else if (!client->busy && client->ended && client->in.length > 0) {
        dismiss(client, "the request has no line end");
    } else if (!client->busy && client->ended) {
        client->leaving = true;
    }
    if (send_out(server, client)) {
        control_server_watch(server, client);
    }
}

static void read_requests(ControlServer *server, Client *client)
{
    Result rc = buffer_reserve(&client->in, READ_BYTES);
    ssize_t n = rc == RESULT_OK ? recv(client->fd, client->in.data + client->in.length, READ_BYTES,
                                       MSG_DONTWAIT)
                                : -1;
    int code = errno;
    if (rc == RESULT_OK && n < 0 && (code == EAGAIN || code == EINTR)) {
        return;
    }
    if (n < 0) {
        control_server_forget(server, client);
        return;
    }
    client->in.length += (size_t)n;
    client->ended = n == 0;
    client->last = mono_now();
    take_requests(server, client);
}

/* ---- clients that come ---- */

/* A free place, if need be that of whoever has been silent longest and waits for nothing. */
static Client *control_server_find_place(ControlServer *server)
{
    Client *oldest = NULL;
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        Client *client = &server->clients[i];
        if (client->fd < 0) {
            return client;
        }
        if (!client->busy && (oldest == NULL || mono_before(client->last, oldest->last))) {
            oldest = client;
        }
    }
    if (oldest != NULL) {
        control_server_forget(server, oldest);
    }
    return oldest;
}

static void control_server_refuse(int fd)
{
    static const char words[] = "error too many are connected, and all of them wait for answers\n";
    (void)!send(fd, words, sizeof words - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)close(fd);
}

static void welcome(ControlServer *server, int fd)
{
    struct ucred cred = {.pid = 0};
    socklen_t size = sizeof cred;
    Client *client = control_server_find_place(server);
    if (client == NULL) {
        control_server_refuse(fd);
        return;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) != 0) {
        cred = (struct ucred){.pid = 0, .uid = (uid_t)-1};
    }
    *client = (Client){.fd = fd,
                       .id = ++server->last_id,
                       .peer = {.uid = cred.uid, .pid = cred.pid},
                       .wants = EPOLLIN,
                       .last = mono_now()};
    buffer_init(&client->in, CONTROL_LINE_BYTES + 2 * READ_BYTES);
    buffer_init(&client->out, CONTROL_UNREAD);
    struct epoll_event event = {.events = client->wants,
                                .data = {.u64 = (uint64_t)(client - server->clients)}};
    if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        control_server_forget(server, client);
    }
}

/* ---- the outside ---- */

int control_server_fd(const ControlServer *server)
{
    return server->epoll;
}

static void serve_client(ControlServer *server, Client *client, uint32_t events)
{
    if ((events & EPOLLOUT) != 0 && !send_out(server, client)) {
        return;
    }
    if ((events & EPOLLIN) != 0 && (client->wants & EPOLLIN) != 0) {
        read_requests(server, client);
    } else if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
        control_server_forget(server, client);
    } else {
        control_server_watch(server, client);
    }
}

void control_server_serve(ControlServer *server)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(server->epoll, events, EVENTS, 0);
    bool comes = false;
    for (int i = 0; i < n; i++) {
        if (events[i].data.u64 == LISTENER) {
            comes = true; /* last, so that no place changes hands before its events were read */
        } else if (server->clients[events[i].data.u64].fd >= 0) {
            serve_client(server, &server->clients[events[i].data.u64], events[i].events);
        }
    }
    if (comes) {
        int fd = -1;
        while ((fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
            welcome(server, fd);
        }
    }
}

void control_server_say(ControlServer *server, ControlClient id, const char *line)
{
    Client *client = control_server_find(server, id);
    if (client == NULL) {
        return;
    }
    if (!control_server_append_line(client, " ", line)) {
        control_server_forget(server, client); /* it does not read */
    } else if (send_out(server, client)) {
        control_server_watch(server, client);
    }
}

void control_server_end(ControlServer *server, ControlClient id, ControlEnd end,
                        const char *sentence)
{
    Client *client = control_server_find(server, id);
    if (client == NULL || !client->busy) {
        return;
    }
    if (!append_end(client, end, sentence)) {
        control_server_forget(server, client);
        return;
    }
    client->busy = false;
    if (!client->taking) {
        take_requests(server, client); /* those that have been read meanwhile */
    }
}

/* Whether a path is free, or that of a socket, which a crash has left there. */
static Result make_way(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0) {
        return errno == ENOENT ? RESULT_OK : result_of_errno(errno);
    }
    if (!S_ISSOCK(st.st_mode)) {
        errno = EEXIST;
        return RESULT_EXISTS;
    }
    return unlink(path) == 0 ? RESULT_OK : result_of_errno(errno);
}

static Result listen_at(ControlServer *server, const char *directory)
{
    Result rc = control_address_open(&server->address, directory);
    if (rc == RESULT_OK) {
        rc = make_way(server->address.name.sun_path);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    const struct sockaddr *name = (const struct sockaddr *)&server->address.name;
    server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The mode that the socket has is the mode that its file gets: there is no moment in which
     * others could connect. */
    if (server->listener < 0 || fchmod(server->listener, SOCKET_MODE) != 0 ||
        bind(server->listener, name, sizeof server->address.name) != 0) {
        return result_of_errno(errno);
    }
    server->bound = true;
    if (listen(server->listener, BACKLOG) != 0) {
        return result_of_errno(errno);
    }
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = LISTENER}};
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    return server->epoll < 0 ||
                   epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->listener, &event) != 0
               ? result_of_errno(errno)
               : RESULT_OK;
}

Result control_server_open(ControlServer **out, const char *directory, const ControlSink *sink,
                           Buffer *error)
{
    ControlServer *server = calloc(1, sizeof *server);
    if (server == NULL) {
        return RESULT_MEMORY;
    }
    server->sink = *sink;
    server->address.directory = -1;
    server->listener = -1;
    server->epoll = -1;
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        server->clients[i].fd = -1;
    }
    Result rc = listen_at(server, directory);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s/" CONTROL_NAME ": %s", directory, strerror(errno));
        control_server_close(server);
        return rc;
    }
    *out = server;
    return RESULT_OK;
}

void control_server_close(ControlServer *server)
{
    if (server == NULL) {
        return;
    }
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        Client *client = &server->clients[i];
        if (client->fd >= 0) {
            client->busy = false;
            if (send_out(server, client)) {
                control_server_forget(server, client);
            }
        }
    }
    if (server->bound) {
        (void)unlink(server->address.name.sun_path);
    }
    file_close_fd(server->listener);
    file_close_fd(server->epoll);
    control_address_close(&server->address);
    free(server);
}
