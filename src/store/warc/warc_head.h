/* The header of a WARC record, from what the record says about itself.
 *
 * What: the fields of ISO 28500 in a fixed order, and the extensions that the IIPC recommends.
 * Owns: nothing; a head borrows everything.
 * Threads: pure functions.
 * Source: ISO 28500:2017, section 5. */
#pragma once

#include "base/memory/file.h"
#include "store/warc/warc_compress.h"
#include "store/warc/warc_format.h"

/* Names and paths of WARC files.
 *
 * What: a name is made from a pattern with placeholders; the journal and the index of a file lie
 * beside it under names of their own.
 * Owns: nothing; paths replace what is in the caller's buffer.
 * Threads: pure functions.
 * Errors: RESULT_INVALID: the pattern cannot be used. */

#define WARC_OPEN_SUFFIX ".open"
#define WARC_NAME_BYTES  256

typedef struct WarcName {
    char text[WARC_NAME_BYTES]; /* "x.warc.gz", "x.warc.zst", never with .open */
} WarcName;

/* The name's suffix is that of the compression, whatever the pattern ends in. RESULT_INVALID:
 * unknown placeholder, no {serial}, a slash, not .warc, .warc.gz or .warc.zst, too long. */
Result warc_name_make(const char *pattern, WallTime date, uint32_t serial, const char *host,
                      WarcCompression compression, WarcName *name);

/* Sets the path to "DIRECTORY/NAME" (with .open when open), or to that of its index or journal, and
 * returns its text. */
const char *warc_path(Path *path, const char *directory, const char *name, bool open);
const char *warc_index_path(Path *path, const char *directory, const char *name, bool open);

/* What a revisit record refers to: the first record that held a payload.
 *
 * What: its URI, its date and its id.
 * Owns: the URI.
 * Threads: one at a time. */

typedef struct WarcOriginal {
    Buffer uri;
    WallTime date; /* of that record, exactly: it is written as WARC-Refers-To-Date */
    WarcId id;
} WarcOriginal;

void warc_original_init(WarcOriginal *original);
void warc_original_destroy(WarcOriginal *original);

/* What a record says about itself; NULL and length 0 leave a field out. */
typedef struct WarcHead {
    WarcType type;
    WallTime date;
    WarcBytes uri;
    const char *ip;
    const char *content_type;
    const char *protocol;
    const char *tls;
    const char *cipher;
    const char *usage;
    const char *filename;
    const char *profile;
    const char *truncated;
    const WarcId *id;
    const WarcId *concurrent_to;
    const WarcOriginal *refers_to;
    const WarcId *converts; /* of a conversion: the record that it was made of */
    const WarcDigest *payload;
    const WarcDigest *block; /* NULL: computed */
    WarcBytes block_head;    /* the block is these two, one after the other */
    WarcBytes block_tail;
} WarcHead;

/* Appends the header, the empty line behind it included; buffer_end says whether all of it is
 * there. block: the digest of the block. */
void warc_head_put(Buffer *out, const WarcHead *head, const WarcDigest *block);
