#include "crawl/control/control_link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "crawl/control/control_address.h"
#include "crawl/control/control_words.h"

#define READ_BYTES 65536u
#define LINE_LIMIT ((size_t)64 << 20) /* of an answer's line */

struct ControlLink {
    int fd;
    Buffer in;
    size_t taken; /* of in */
};

/* A crawl that does not run has no socket, or one that nobody listens at. */
static Result control_link_explain(int code, const char *directory, Buffer *error)
{
    if (code == ENOENT || code == ECONNREFUSED) {
        (void)buffer_printf(error, "no crawl is running in %s (there is no %s/" CONTROL_NAME ")",
                            directory, directory);
        return RESULT_NOT_FOUND;
    }
    (void)buffer_printf(error, "%s/" CONTROL_NAME ": %s%s", directory, strerror(code),
                        code == EACCES ? "; only the user who crawls, and root, may" : "");
    return result_of_errno(code);
}

Result control_link_open(ControlLink **out, const char *directory, Buffer *error)
{
    ControlAddress address;
    if (control_address_open(&address, directory) != RESULT_OK) {
        return control_link_explain(errno, directory, error);
    }
    ControlLink *link = calloc(1, sizeof *link);
    int fd = link == NULL ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address.name, sizeof address.name) != 0) {
        int code = errno;
        control_address_close(&address);
        if (fd >= 0) {
            (void)close(fd);
        }
        free(link);
        return control_link_explain(code, directory, error);
    }
    control_address_close(&address);
    link->fd = fd;
    buffer_init(&link->in, LINE_LIMIT);
    *out = link;
    return RESULT_OK;
}

void control_link_close(ControlLink *link)
{
    if (link != NULL) {
        (void)close(link->fd);
        buffer_destroy(&link->in);
        free(link);
    }
}

static Result send_all(ControlLink *link, const Buffer *text, Buffer *error)
{
    size_t sent = 0;
    while (sent < text->length) {
        ssize_t n = send(link->fd, text->data + sent, text->length - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            (void)buffer_append_string(error, "the crawl has ended");
            return RESULT_CLOSED;
        }
        sent += (size_t)n;
    }
    return RESULT_OK;
}

/* Reads more of the answer. */
static Result control_link_receive(ControlLink *link, int64_t timeout_ms, Buffer *error)
{
    struct pollfd fd = {.fd = link->fd, .events = POLLIN};
    MonoTime until = timeout_ms < 0 ? MONO_NEVER : mono_add_ms(mono_now(), timeout_ms);
    int ready = 0;
    while (ready == 0) {
        int64_t left = timeout_ms < 0 ? -1 : mono_ms_between(mono_now(), until);
        if (timeout_ms >= 0 && left < 0) {
            (void)buffer_append_string(error, "the crawl does not answer");
            return RESULT_TIMEOUT;
        }
        ready = poll(&fd, 1, (int)(left > 60000 ? 60000 : left));
        ready = ready < 0 && errno == EINTR ? 0 : ready;
    }
    if (link->taken > 0) {
        link->in.length -= link->taken;
        memmove(link->in.data, link->in.data + link->taken, link->in.length);
        link->taken = 0;
    }
    Result rc = buffer_reserve(&link->in, READ_BYTES);
    if (rc != RESULT_OK) {
        (void)buffer_append_string(error, "the answer is too long");
        return rc;
    }
    ssize_t n = recv(link->fd, link->in.data + link->in.length, READ_BYTES, 0);
    if (n < 0 && errno == EINTR) {
        return RESULT_OK;
    }
    if (n <= 0) {
        (void)buffer_append_string(error, "the crawl has ended");
        return RESULT_CLOSED;
    }
    link->in.length += (size_t)n;
    return RESULT_OK;
}

/* The next line, without its end; borrowed until the next call. */
static Result control_link_next_line(ControlLink *link, int64_t timeout_ms, char **line,
                                     Buffer *error)
{
    Result rc = RESULT_OK;
    while (rc == RESULT_OK) {
        char *start = link->in.data + link->taken;
        size_t length = link->in.length - link->taken;
        char *end = length == 0 ? NULL : memchr(start, '\n', length);
        if (end != NULL) {
            *end = '\0';
            *line = start;
            link->taken += (size_t)(end - start) + 1;
            return RESULT_OK;
        }
        rc = control_link_receive(link, timeout_ms, error);
    }
    return rc;
}

/* The last line of an answer: "ok", "error SENTENCE", "usage SENTENCE". */
static Result control_link_read_end(const char *line, Buffer *note, Buffer *error)
{
    const char *blank = strchr(line, ' ');
    const char *sentence = blank == NULL ? "" : blank + 1;
    if (strncmp(line, "ok", 2) == 0) {
        return note == NULL ? RESULT_OK : buffer_append_string(note, sentence);
    }
    (void)buffer_append_string(error, sentence);
    return strncmp(line, "usage", 5) == 0 ? RESULT_INVALID : RESULT_LIMIT;
}

Result control_link_ask(ControlLink *link, char *const *words, size_t n, ControlLine take,
                        void *context, int64_t timeout_ms, Buffer *note, Buffer *error)
{
    Buffer text;
    buffer_init(&text, CONTROL_LINE_BYTES + 1);
    Result rc = control_words_join(words, n, &text, error);
    if (rc == RESULT_OK) {
        rc = buffer_append_char(&text, '\n');
    }
    if (rc == RESULT_LIMIT) {
        (void)buffer_append_string(error, "too many words for one request");
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        rc = send_all(link, &text, error);
    }
    buffer_destroy(&text);
    char *line = NULL;
    while (rc == RESULT_OK) {
        rc = control_link_next_line(link, timeout_ms, &line, error);
        if (rc == RESULT_OK && *line != ' ') {
            return control_link_read_end(line, note, error);
        }
        if (rc == RESULT_OK && take != NULL && !take(context, line + 1)) {
            rc = RESULT_CLOSED;
        }
    }
    return rc;
}
