/* A growing byte buffer with a stated limit: nothing that the network sizes may grow without one.
 *
 * What: bytes are data[0..length). When a buffer has ever held anything, data[length] is NUL, so
 * that it can be handed to functions that want a C string.
 * Owns: its bytes.
 * Threads: a buffer belongs to one thread.
 * Errors: RESULT_LIMIT, RESULT_MEMORY; the buffer is then as before. The first error is kept until
 * the buffer is reset, so that what is made of many pieces looks once, at its end (buffer_end).
 * Source: the idea is that of curl's dynbuf. */
#ifndef BASE_MEMORY_BUFFER_H
#define BASE_MEMORY_BUFFER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct Buffer {
    char *data;      /* owned; NULL until the first byte */
    size_t length;   /* bytes in use */
    size_t capacity; /* bytes allocated, including the NUL */
    size_t limit;    /* length never exceeds it */
    Result failed;   /* the first error since buffer_init, buffer_reset or buffer_end */
} Buffer;

#define BUFFER_NO_LIMIT ((size_t)1 << 62)

/* Makes an empty buffer; allocates nothing. A local one is empty from its declaration on:
 * Buffer text = {.limit = BUFFER_NO_LIMIT}. */
void buffer_init(Buffer *buffer, size_t limit) RAGNO_SYMBOL(buffer_init);
/* Frees the bytes; the buffer is empty afterwards and may be used again. */
void buffer_destroy(Buffer *buffer) RAGNO_SYMBOL(buffer_destroy);
/* Forgets the bytes, keeps the memory. */
void buffer_reset(Buffer *buffer) RAGNO_SYMBOL(buffer_reset);
/* Frees the memory if more than keep_bytes are held: for buffers that are reused for years. */
void buffer_trim(Buffer *buffer, size_t keep_bytes) RAGNO_SYMBOL(buffer_trim);
/* Gives back the memory beyond the contents: for buffers that are kept and no longer grow. */
void buffer_fit(Buffer *buffer) RAGNO_SYMBOL(buffer_fit);

/* Makes room for extra more bytes. RESULT_LIMIT, RESULT_MEMORY: the buffer is as before. */
Result buffer_reserve(Buffer *buffer, size_t extra) RAGNO_SYMBOL(buffer_reserve);
/* Appends; all or nothing, errors as buffer_reserve. bytes may be NULL when length is 0. */
Result buffer_append(Buffer *buffer, const void *bytes, size_t length) RAGNO_SYMBOL(buffer_append);
Result buffer_append_string(Buffer *buffer, const char *string) RAGNO_SYMBOL(buffer_append_string);
Result buffer_append_char(Buffer *buffer, char c) RAGNO_SYMBOL(buffer_append_char);
/* Appends a number in decimal digits: what "%lld" says, for a tenth of its cost. */
Result buffer_append_number(Buffer *buffer, int64_t number) RAGNO_SYMBOL(buffer_append_number);
/* Appends a code point (below 2^21) as UTF-8. */
Result buffer_append_code_point(Buffer *buffer, uint32_t c) RAGNO_SYMBOL(buffer_append_code_point);
Result buffer_printf(Buffer *buffer, const char *format, ...) RAGNO_SYMBOL(buffer_printf)
    __attribute__((format(printf, 2, 3)));
Result buffer_vprintf(Buffer *buffer, const char *format, va_list arguments)
    RAGNO_SYMBOL(buffer_vprintf) __attribute__((format(printf, 2, 0)));

/* Ends what began at length before. RESULT_OK: all of it is there. Otherwise the buffer is as it
 * was then, and the error that a piece has met is returned and forgotten. */
Result buffer_end(Buffer *buffer, size_t before) RAGNO_SYMBOL(buffer_end);

/* The contents as a C string; "" when nothing was ever written. Borrowed until the next append. */
const char *buffer_string(const Buffer *buffer) RAGNO_SYMBOL(buffer_string);
/* Hands the bytes (malloc'd, NUL-terminated) to the caller and empties the buffer; NULL if none. */
char *buffer_detach(Buffer *buffer) RAGNO_SYMBOL(buffer_detach);

#endif
