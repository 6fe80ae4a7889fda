/* Gzip members, made at once from the bytes of one record.
 *
 * What: levels 1 to 12 are libdeflate's. WARC_DEFLATE_AUTO goes by the bytes: those that are
 *   compressed already (a body that came with a Content-Encoding, a picture) are stored as they
 * are, since deflating them takes eight times as long as all else for a twentieth of their length.
 * Other records are deflated by ISA-L, where ragno was built with it, which takes three fifths of
 * the time of libdeflate's level 1 for 3 % more bytes (bench_warc.c has the figures); elsewhere by
 *   libdeflate at level 1. Short ones, such as requests, get a code that is made beforehand: 1 us
 *   instead of 5, and 535 bytes instead of 482.
 * Owns: the encoders.
 * Threads: each belongs to one thread.
 * Errors: RESULT_MEMORY; RESULT_INVALID: no such level.
 * Source: RFC 1951, RFC 1952. */
#ifndef STORE_WARC_WARC_DEFLATE_H
#define STORE_WARC_WARC_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/result.h"

#define WARC_DEFLATE_AUTO   0
#define WARC_DEFLATE_LEVELS 12

typedef struct WarcDeflate WarcDeflate;

/* level: WARC_DEFLATE_AUTO, or 1 to WARC_DEFLATE_LEVELS. */
Result warc_deflate_new(WarcDeflate **deflate, int level);
void warc_deflate_delete(WarcDeflate *deflate);
/* The room that a member of so many bytes needs at most. */
size_t warc_deflate_bound(WarcDeflate *deflate, size_t length);
/* Makes the member at out, which has room for warc_deflate_bound; returns its length, 0 when it
 * could not be made. */
size_t warc_deflate_member(WarcDeflate *deflate, const char *bytes, size_t length, char *out,
                           size_t room);

/* Whether these bytes look compressed: those in their middle are nearly as often one as another.
 * False of less than 2 KiB, which are not worth the question. */
bool warc_deflate_is_dense(const char *bytes, size_t length);

#endif
