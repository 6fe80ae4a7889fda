/* What one answer consists of: pieces of bytes to be written, and how they are written.
 *
 * Every thread has one Reply and fills it anew for each request; pieces point into static blocks
 * (text) or into the reply's own scratch, so that an answer allocates nothing. When it cannot be
 * written at once, the server copies what is left (connection.c).
 *
 * Life: reply_begin, then any of the appending calls, then reply_finish (adds the header) or, for
 * answers that are not proper HTTP, nothing: then the pieces are all there is. */
#ifndef TESTS_WEB_REPLY_H
#define TESTS_WEB_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define REPLY_PIECES        1000
#define REPLY_SCRATCH_BYTES ((size_t)2 << 20)

typedef enum ReplyEnd {
    REPLY_KEEP, /* the connection stays open, if the client wants it */
    REPLY_CLOSE,
    REPLY_RESET /* RST instead of FIN */
} ReplyEnd;

typedef struct Reply {
    struct iovec pieces[REPLY_PIECES + 1]; /* [0] is the header */
    size_t n_pieces;                       /* at least 1 */
    size_t length;                         /* bytes of pieces [1..] */
    char *scratch;                         /* owned: REPLY_SCRATCH_BYTES */
    size_t scratch_used;
    char header[1024];

    int status;        /* for the log; 0 when the answer has none */
    unsigned flags;    /* RequestFlag, for the log */
    bool endless;      /* after the pieces, the last piece is repeated until the client goes */
    unsigned delay_ms; /* before the first byte */
    size_t drip_bytes; /* 0: as fast as it goes; else so many bytes ... */
    unsigned drip_ms;  /* ... every so often */
    ReplyEnd end;
} Reply;

/* RESULT_MEMORY as false. */
bool reply_init(Reply *reply);
void reply_destroy(Reply *reply);

/* Empties it. */
void reply_begin(Reply *reply);
/* Appends bytes that live as long as the program. */
void reply_append_static(Reply *reply, const void *bytes, size_t length);
/* Appends a copy. Scratch and pieces are sized for the largest page; more is a bug (assert). */
void reply_append(Reply *reply, const void *bytes, size_t length);
void reply_append_string(Reply *reply, const char *string);
void reply_printf(Reply *reply, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts an HTTP/1.1 header with the right Content-Length in front. type may be NULL; extra are
 * further header lines, each with CRLF, or "". */
void reply_finish(Reply *reply, int status, const char *type, const char *extra);
/* A short page that says the status. */
void reply_finish_status(Reply *reply, int status, const char *extra);
/* Turns the answer into the one for HEAD: header only. */
void reply_drop_body(Reply *reply);
/* "Not Found" */
const char *reply_phrase(int status);

#endif
