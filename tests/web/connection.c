#include "connection.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define IN_BYTES        16384
#define ENDLESS_PER_RUN 64 /* rounds of an endless body before others get their turn */

struct Connection {
    EventWatch watch;
    EventTimer timer;
    HttpThread *thread;
    TlsStream *tls; /* owned; NULL: plain */
    Connection *next;
    Connection *previous;
    uint32_t address;
    bool readable;    /* the socket may hold more bytes */
    bool answering;   /* an answer is under way */
    bool half_closed; /* the client will send no more */
    bool has_asked;   /* a request was read */

    /* the request being answered */
    Request request;
    MonoTime start;
    MonoTime last_send; /* just before: the client cannot have seen the end earlier */
    int status;
    unsigned flags;
    uint64_t sent;

    /* what is left of the answer */
    char *rest; /* owned */
    size_t rest_length;
    size_t rest_sent;
    size_t endless; /* so many bytes at the end of rest are repeated; 0: none */
    size_t drip_bytes;
    unsigned drip_ms;
    ReplyEnd end;

    size_t in_length;
    char in[IN_BYTES];
};

Result http_thread_init(HttpThread *thread, EventLoop *loop, Site *site, int log_fd)
{
    memset(thread, 0, sizeof *thread);
    thread->loop = loop;
    thread->site = site;
    bool log_ok = request_log_init(&thread->log, log_fd);
    bool reply_ok = reply_init(&thread->reply);
    return log_ok && reply_ok ? RESULT_OK : RESULT_MEMORY;
}

static void log_request(Connection *c, bool aborted)
{
    HttpThread *thread = c->thread;
    RequestRecord record = {c->start,
                            aborted ? mono_now() : c->last_send,
                            c->address,
                            c->request.host,
                            c->request.host_length,
                            c->status,
                            c->sent,
                            c->flags | (aborted ? REQUEST_ABORTED : 0U),
                            c->request.target,
                            c->request.target_length};
    request_log_add(&thread->log, &record);
    thread->n_requests++;
    thread->n_aborted += aborted;
    thread->n_bytes += c->sent;
}

/* All but taking it off the list. */
static void release(Connection *c)
{
    if (c->answering) {
        log_request(c, true);
    }
    event_loop_clear(c->thread->loop, &c->timer);
    tls_stream_delete(c->tls);
    close(c->watch.fd);
    free(c->rest);
    free(c);
}

static void connection_close(Connection *c)
{
    HttpThread *thread = c->thread;
    if (c->next != NULL) {
        c->next->previous = c->previous;
    }
    *(c->previous != NULL ? &c->previous->next : &thread->first) = c->next;
    thread->n_open--;
    release(c);
}

void http_thread_destroy(HttpThread *thread)
{
    for (Connection *c = thread->first, *next = NULL; c != NULL; c = next) {
        next = c->next;
        release(c);
    }
    thread->first = NULL;
    request_log_destroy(&thread->log);
    reply_destroy(&thread->reply);
}

/* The answer is sent: log it, forget the request. False: close the connection. */
static bool finish_answer(Connection *c)
{
    log_request(c, false);
    c->answering = false;
    free(c->rest);
    c->rest = NULL;
    if (c->end == REPLY_RESET) {
        struct linger linger = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(c->watch.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    }
    if (c->end != REPLY_KEEP || !c->request.keep_alive) {
        return false;
    }
    c->in_length -= c->request.bytes;
    memmove(c->in, c->in + c->request.bytes, c->in_length);
    return true;
}

/* Sends at most `most` bytes of rest. False when the client is gone. */
static bool send_some(Connection *c, size_t most)
{
    size_t left = c->rest_length - c->rest_sent;
    c->last_send = mono_now();
    size_t length = left < most ? left : most;
    const char *bytes = c->rest + c->rest_sent;
    ssize_t n = c->tls != NULL ? tls_stream_send(c->tls, bytes, length)
                               : send(c->watch.fd, bytes, length, MSG_NOSIGNAL);
    if (n < 0) {
        return errno == EAGAIN;
    }
    c->rest_sent += (size_t)n;
    c->sent += (size_t)n;
    if (c->rest_sent == c->rest_length) {
        c->rest_sent -= c->endless; /* an endless body starts its last piece again */
    }
    return true;
}

/* Goes on with rest after a pause or a full socket. False: close the connection. */
static bool continue_answer(Connection *c)
{
    if (c->drip_bytes > 0) {
        if (!send_some(c, c->drip_bytes)) {
            return false;
        }
        if (c->rest_sent < c->rest_length) {
            event_loop_set(c->thread->loop, &c->timer, mono_add_ms(mono_now(), c->drip_ms));
            return true;
        }
        return finish_answer(c);
    }
    for (int round = 0; round < ENDLESS_PER_RUN; round++) {
        size_t before = c->rest_sent;
        if (!send_some(c, SIZE_MAX)) {
            return false;
        }
        if (c->rest_sent == c->rest_length) {
            return finish_answer(c);
        }
        if (c->rest_sent == before && c->endless == 0) {
            return true; /* the socket is full: an event will come */
        }
    }
    event_loop_set(c->thread->loop, &c->timer, mono_add_ms(mono_now(), 1));
    return true;
}

/* Copies what is left of the reply after the first `sent` bytes. */
static bool keep_rest(Connection *c, const Reply *reply, size_t sent)
{
    size_t total = reply->pieces[0].iov_len + reply->length;
    c->rest = malloc(total - sent + 1);
    if (c->rest == NULL) {
        return false;
    }
    c->rest_length = 0;
    c->rest_sent = 0;
    for (size_t i = 0; i < reply->n_pieces; i++) {
        size_t n = reply->pieces[i].iov_len;
        size_t skip = sent < n ? sent : n;
        memcpy(c->rest + c->rest_length, (char *)reply->pieces[i].iov_base + skip, n - skip);
        c->rest_length += n - skip;
        sent -= skip;
    }
    c->drip_bytes = reply->drip_bytes;
    c->drip_ms = reply->drip_ms;
    c->endless = reply->endless ? reply->pieces[reply->n_pieces - 1].iov_len : 0;
    return true;
}

/* Sends the thread's reply, or what fits. False: close the connection. */
static bool send_reply(Connection *c, Reply *reply)
{
    size_t total = reply->pieces[0].iov_len + reply->length;
    bool plain = reply->delay_ms == 0 && reply->drip_bytes == 0 && !reply->endless;
    size_t sent = 0;
    if (plain && total > 0 && c->tls == NULL) {
        struct msghdr message = {.msg_iov = reply->pieces, .msg_iovlen = reply->n_pieces};
        c->last_send = mono_now();
        ssize_t n = sendmsg(c->watch.fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) {
            return false;
        }
        sent = n > 0 ? (size_t)n : 0;
        c->sent = sent;
    }
    if (plain && sent == total) {
        return finish_answer(c);
    }
    if (!keep_rest(c, reply, sent)) {
        return false;
    }
    if (reply->delay_ms > 0) {
        event_loop_set(c->thread->loop, &c->timer, mono_add_ms(c->start, reply->delay_ms));
        return true;
    }
    return (plain && c->tls == NULL) || continue_answer(c);
}

static void note_handshake(Connection *c)
{
    if (c->tls != NULL && !c->has_asked) {
        c->thread->n_handshakes++;
        c->thread->n_resumed += tls_stream_resumed(c->tls);
    }
    c->has_asked = true;
}

static bool answer_request(Connection *c, RequestState state)
{
    Reply *reply = &c->thread->reply;
    reply_begin(reply);
    c->start = c->last_send = mono_now();
    c->answering = true;
    c->sent = 0;
    c->flags = 0;
    note_handshake(c);
    if (c->thread->site->options->close) {
        reply->end = REPLY_CLOSE;
    }
    if (state == REQUEST_COMPLETE) {
        c->flags = site_reply(c->thread->site, &c->request, reply);
        if (c->request.head) {
            reply_drop_body(reply);
        }
    } else {
        reply->end = REPLY_CLOSE;
        reply_finish_status(reply, state == REQUEST_OTHER_METHOD ? 405 : 400, "");
    }
    c->status = reply->status;
    c->end = reply->end;
    return send_reply(c, reply);
}

/* Reads what there is. False when the client is gone. */
static bool read_some(Connection *c)
{
    char *room = c->in + c->in_length;
    size_t length = IN_BYTES - c->in_length;
    ssize_t n =
        c->tls != NULL ? tls_stream_recv(c->tls, room, length) : recv(c->watch.fd, room, length, 0);
    if (n <= 0) {
        c->readable = false;
        return n < 0 && errno == EAGAIN;
    }
    c->in_length += (size_t)n;
    /* A short read has emptied the socket; with TLS, there may be another record. */
    c->readable = c->tls != NULL || c->in_length == IN_BYTES;
    return true;
}

/* Everything that can be done now. False: close the connection. */
static bool run(Connection *c)
{
    while (!c->answering) {
        RequestState state = request_parse(c->in, c->in_length, &c->request);
        if (state == REQUEST_INCOMPLETE && c->in_length == IN_BYTES) {
            state = REQUEST_BAD;
        }
        if (state != REQUEST_INCOMPLETE) {
            if (!answer_request(c, state)) {
                return false;
            }
        } else if (!c->readable) {
            return !c->half_closed;
        } else if (!read_some(c)) {
            return false;
        }
    }
    return true;
}

static void on_ready(EventWatch *watch, uint32_t events)
{
    Connection *c = (Connection *)(void *)((char *)watch - offsetof(Connection, watch));
    bool alive = true;
    if ((events & EPOLLIN) != 0 || c->tls != NULL) { /* a handshake goes on with either */
        c->readable = true;
    }
    c->half_closed = c->half_closed || (events & EPOLLRDHUP) != 0;
    if (c->answering) {
        if ((events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0) {
            alive = false; /* nobody is listening any more */
        } else if ((events & EPOLLOUT) != 0 && c->timer.next == NULL) {
            alive = continue_answer(c);
        }
    }
    if (!alive || !run(c)) {
        connection_close(c);
    }
}

static void on_timer(EventTimer *timer)
{
    Connection *c = (Connection *)(void *)((char *)timer - offsetof(Connection, timer));
    if (!continue_answer(c) || !run(c)) {
        connection_close(c);
    }
}

void connection_open(HttpThread *thread, int fd, uint32_t address, const Tls *tls)
{
    Connection *c = malloc(sizeof *c);
    TlsStream *stream = tls == NULL ? NULL : tls_stream_new(tls, fd);
    if (c == NULL || (tls != NULL && stream == NULL)) {
        tls_stream_delete(stream);
        free(c);
        close(fd);
        return;
    }
    memset(c, 0, offsetof(Connection, in));
    c->watch = (EventWatch){fd, on_ready};
    c->timer.expired = on_timer;
    c->thread = thread;
    c->tls = stream;
    c->address = address;
    c->next = thread->first;
    if (c->next != NULL) {
        c->next->previous = c;
    }
    thread->first = c;
    thread->n_connections++;
    thread->n_open++;
    if (event_loop_watch(thread->loop, &c->watch) != RESULT_OK) {
        connection_close(c);
    }
}
