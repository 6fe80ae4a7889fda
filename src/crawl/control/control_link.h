/* Control link: a connection to a running crawl, as its clients have it.
 *
 * What: asks one question after the other and hands on the lines of the answers
 * (control_server.h says what they look like). For `ragno ctl` and whoever else steers a crawl.
 * Owns: the socket.
 * Threads: one.
 * Errors: error gets one sentence. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/memory/buffer.h"

/* Words: a request to a running crawl as one line of text.
 *
 * What: words with blanks or tabs between them. A word in double quotes may contain blanks; inside
 * the quotes \" stands for a quote and \\ for a backslash. A quote inside a word that does not
 * begin with one is an ordinary character. Example, three words:
 *
 *   set filter.fetch "not HostEndsWith(\".example\")"
 *
 * Owns: ControlWords owns its copy of the words.
 * Threads: pure functions.
 * Errors: error gets one sentence that says which byte is wrong and why. */

#define CONTROL_LINE_BYTES ((size_t)1 << 20) /* of a request at most, without its line end */

typedef struct ControlWords {
    char **words; /* NULL when there is none */
    size_t n;
    char *bytes; /* what they point into */
} ControlWords;

/* Takes a line apart, without its line end. An empty line has no words. RESULT_INVALID,
 * RESULT_MEMORY: there is nothing to destroy. */
Result control_words_parse(ControlWords *words, const char *line, size_t length, Buffer *error);
void control_words_destroy(ControlWords *words);
/* Appends the line, without a line end, that control_words_parse reads as these words.
 * RESULT_INVALID: a word has a character that no line can hold. RESULT_LIMIT, RESULT_MEMORY. */
Result control_words_join(char *const *words, size_t n, Buffer *line, Buffer *error);

/* Control address: where the socket of a crawl is.
 *
 * What: DIR/control. A socket's address has room for some hundred bytes only, and DIR may be
 * longer: then the socket is named through a descriptor of DIR (/proc/self/fd/N/control).
 * Owns: an open address owns that descriptor until it is closed.
 * Threads: any. */

#define CONTROL_NAME "control" /* in the crawl's directory */

typedef struct ControlAddress {
    struct sockaddr_un name;
    int directory; /* descriptor, or -1 */
} ControlAddress;

/* RESULT_NOT_FOUND and the like: the directory cannot be opened; there is nothing to close. */
Result control_address_open(ControlAddress *address, const char *directory);
void control_address_close(ControlAddress *address);

typedef struct ControlLink ControlLink;

/* RESULT_NOT_FOUND: no crawl runs in the directory. RESULT_IO and the like. */
Result control_link_open(ControlLink **link, const char *directory, Buffer *error);
void control_link_close(ControlLink *link); /* NULL is allowed */

/* Receives a line of data, without the leading blank and without its newline. False ends the
 * reading; the link can then only be closed. */
typedef bool (*ControlLine)(void *context, const char *line);

/* Sends a request, and waits at most timeout_ms for each line of the answer (negative: for ever).
 * take may be NULL. RESULT_OK: note (may be NULL) has the text behind "ok", if there is any.
 * RESULT_LIMIT: the crawl cannot do what was asked. RESULT_INVALID: the crawl does not understand
 * the request. In both cases error has the sentence that the crawl answered. RESULT_CLOSED: the
 * crawl has ended, or take returned false. RESULT_TIMEOUT, RESULT_IO. */
Result control_link_ask(ControlLink *link, char *const *words, size_t n, ControlLine take,
                        void *context, int64_t timeout_ms, Buffer *note, Buffer *error);
/* The same of a link that is opened when there is none, and closed, to be opened anew, when it is
 * of no use any more. The lines of data are appended to lines. */
Result control_link_call(ControlLink **link, const char *directory, char *const *words, size_t n,
                         Buffer *lines, int64_t timeout_ms, Buffer *note, Buffer *error);
/* Whether the crawl that runs in the directory is fetching a URL right now; false also when nobody
 * answers within CONTROL_FLIGHT_MS. */
bool control_link_is_in_flight(const char *directory, const char *url);

#define CONTROL_FLIGHT_MS 5000
