/* Names and paths of WARC files.
 *
 * What: a name is made from a pattern with placeholders; the journal and the index of a file lie
 * beside it under names of their own.
 * Owns: nothing; paths replace what is in the caller's buffer.
 * Threads: pure functions.
 * Errors: RESULT_INVALID: the pattern cannot be used. */
#ifndef STORE_WARC_WARC_NAME_H
#define STORE_WARC_WARC_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "store/warc/warc_compress.h"

#define WARC_OPEN_SUFFIX ".open"
#define WARC_NAME_BYTES  256

typedef struct WarcName {
    char text[WARC_NAME_BYTES]; /* "x.warc.gz", "x.warc.zst", never with .open */
} WarcName;

/* The name's suffix is that of the compression, whatever the pattern ends in. RESULT_INVALID:
 * unknown placeholder, no {serial}, a slash, not .warc, .warc.gz or .warc.zst, too long. */
Result warc_name_make(const char *pattern, WallTime date, uint32_t serial, const char *host,
                      WarcCompression compression, WarcName *name);

/* Appends "DIRECTORY/NAME" (with .open when open), or the path of its index or journal. */
Result warc_path(Buffer *path, const char *directory, const char *name, bool open);
Result warc_index_path(Buffer *path, const char *directory, const char *name, bool open);
/* Whether text ends with suffix and has something before it. */
bool warc_name_ends_with(const char *text, const char *suffix);

#endif
