#include "crawl/control/control_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/memory/file.h"
#include "base/core/ascii.h"

/* ---- Words ---- */

/* What neither a terminal nor a log should get to see. */
static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

static Result check_bytes(const char *line, size_t length, Buffer *error)
{
    for (size_t i = 0; i < length; i++) {
        if (is_control(line[i])) {
            (void)buffer_printf(error,
                                "byte %zu is a control character (0x%02x); a request is text",
                                i + 1, (unsigned)(unsigned char)line[i]);
            return RESULT_INVALID;
        }
    }
    return RESULT_OK;
}

/* Copies the word at *at to *out, which moves behind its NUL. */
static Result control_words_take_word(const char *line, size_t length, size_t *at, char **out,
                                      Buffer *error)
{
    size_t i = *at;
    char *to = *out;
    bool quoted = line[i] == '"';
    size_t opened = i;
    i += quoted;
    while (i < length && (quoted ? line[i] != '"' : !ascii_is_blank(line[i]))) {
        if (quoted && line[i] == '\\' && i + 1 < length) {
            i++;
            if (line[i] != '"' && line[i] != '\\') {
                (void)buffer_printf(error,
                                    "byte %zu: after a backslash in quotes only \" or \\ is "
                                    "expected",
                                    i + 1);
                return RESULT_INVALID;
            }
        }
        *to++ = line[i++];
    }
    if (quoted && i == length) {
        (void)buffer_printf(error, "the quote at byte %zu is not closed", opened + 1);
        return RESULT_INVALID;
    }
    i += quoted;
    if (quoted && i < length && !ascii_is_blank(line[i])) {
        (void)buffer_printf(error, "byte %zu: a blank is expected after a closed quote", i + 1);
        return RESULT_INVALID;
    }
    *to++ = '\0';
    *at = i;
    *out = to;
    return RESULT_OK;
}

Result control_words_parse(ControlWords *words, const char *line, size_t length, Buffer *error)
{
    *words = (ControlWords){.n = 0};
    Result rc = check_bytes(line, length, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    /* A word and its NUL need no more than the word and the blank behind it. */
    words->bytes = malloc(length + 1);
    words->words = calloc(length / 2 + 1, sizeof *words->words);
    rc = words->bytes == NULL || words->words == NULL ? RESULT_MEMORY : RESULT_OK;
    char *next = words->bytes;
    size_t i = 0;
    while (rc == RESULT_OK) {
        while (i < length && ascii_is_blank(line[i])) {
            i++;
        }
        if (i == length) {
            return RESULT_OK;
        }
        words->words[words->n++] = next;
        rc = control_words_take_word(line, length, &i, &next, error);
    }
    control_words_destroy(words);
    return rc;
}

void control_words_destroy(ControlWords *words)
{
    free(words->words);
    free(words->bytes);
    *words = (ControlWords){.n = 0};
}

static Result control_words_append_word(const char *word, Buffer *line)
{
    if (*word != '\0' && *word != '"' && strpbrk(word, " \t") == NULL) {
        return buffer_append_string(line, word);
    }
    size_t before = line->length;
    (void)buffer_append_char(line, '"');
    for (; *word != '\0'; word++) {
        (void)buffer_append(line, "\\", *word == '"' || *word == '\\');
        (void)buffer_append_char(line, *word);
    }
    (void)buffer_append_char(line, '"');
    return buffer_end(line, before);
}

Result control_words_join(char *const *words, size_t n, Buffer *line, Buffer *error)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        for (const char *c = words[i]; *c != '\0'; c++) {
            if (is_control(*c)) {
                (void)buffer_printf(error, "word %zu has a control character", i + 1);
                return RESULT_INVALID;
            }
        }
        rc = i == 0 ? RESULT_OK : buffer_append_char(line, ' ');
        if (rc == RESULT_OK) {
            rc = control_words_append_word(words[i], line);
        }
    }
    return rc;
}

/* ---- Control address ---- */

Result control_address_open(ControlAddress *address, const char *directory)
{
    *address = (ControlAddress){.name = {.sun_family = AF_UNIX}, .directory = -1};
    char *path = address->name.sun_path;
    size_t room = sizeof address->name.sun_path;
    int n = snprintf(path, room, "%s/" CONTROL_NAME, directory);
    if (n >= 0 && (size_t)n < room) {
        return RESULT_OK;
    }
    address->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (address->directory < 0) {
        return result_of_errno(errno);
    }
    (void)snprintf(path, room, "/proc/self/fd/%d/" CONTROL_NAME, address->directory);
    return RESULT_OK;
}

void control_address_close(ControlAddress *address)
{
    if (address->directory >= 0) {
        (void)close(address->directory);
        address->directory = -1;
    }
}

/* ---- Control link ---- */

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
        (void)buffer_printf(error, "no crawl is running in %s (%s %s/" CONTROL_NAME ")", directory,
                            code == ENOENT ? "there is no" : "nobody listens at", directory);
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
        file_close_fd(fd);
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
            /* The last line of an answer: "ok", "error SENTENCE", "usage SENTENCE". */
            const char *blank = strchr(line, ' ');
            const char *sentence = blank == NULL ? "" : blank + 1;
            if (strncmp(line, "ok", 2) == 0) {
                return note == NULL ? RESULT_OK : buffer_append_string(note, sentence);
            }
            (void)buffer_append_string(error, sentence);
            return strncmp(line, "usage", 5) == 0 ? RESULT_INVALID : RESULT_LIMIT;
        }
        if (rc == RESULT_OK && take != NULL && !take(context, line + 1)) {
            rc = RESULT_CLOSED;
        }
    }
    return rc;
}

static bool control_link_append_line(void *context, const char *line)
{
    Buffer *lines = context;
    return buffer_printf(lines, "%s\n", line) == RESULT_OK;
}

Result control_link_call(ControlLink **link, const char *directory, char *const *words, size_t n,
                         Buffer *lines, int64_t timeout_ms, Buffer *note, Buffer *error)
{
    Result rc = *link == NULL ? control_link_open(link, directory, error) : RESULT_OK;
    if (rc != RESULT_OK) {
        return rc;
    }
    rc =
        control_link_ask(*link, words, n, control_link_append_line, lines, timeout_ms, note, error);
    if (rc != RESULT_OK && rc != RESULT_LIMIT && rc != RESULT_INVALID) {
        control_link_close(*link); /* an answer may still come: of no use any more */
        *link = NULL;
    }
    return rc;
}

static bool control_link_note_line(void *context, const char *line)
{
    (void)line;
    *(bool *)context = true;
    return true;
}

bool control_link_is_in_flight(const char *directory, const char *url)
{
    char *const words[] = {(char *)(uintptr_t) "flights", (char *)(uintptr_t)url};
    ControlLink *link = NULL;
    Buffer error = {.limit = 4096};
    bool found = false;
    if (control_link_open(&link, directory, &error) == RESULT_OK && link != NULL) {
        (void)control_link_ask(link, words, 2, control_link_note_line, &found, CONTROL_FLIGHT_MS,
                               NULL, &error);
    }
    control_link_close(link);
    buffer_destroy(&error);
    return found;
}
