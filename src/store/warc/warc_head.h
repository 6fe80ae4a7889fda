/* The header of a WARC record, from what the record says about itself.
 *
 * What: the fields of ISO 28500 in a fixed order, and the extensions that the IIPC recommends.
 * Owns: nothing; a head borrows everything.
 * Threads: pure functions.
 * Source: ISO 28500:2017, section 5. */
#ifndef STORE_WARC_WARC_HEAD_H
#define STORE_WARC_WARC_HEAD_H

#include "base/core/clock.h"
#include "base/memory/buffer.h"
#include "store/warc/warc_format.h"

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
    const char *filename;
    const char *profile;
    const char *truncated;
    const WarcId *id;
    const WarcId *concurrent_to;
    const WarcOriginal *refers_to;
    const WarcDigest *payload;
    const WarcDigest *block; /* NULL: computed */
    WarcBytes block_head;    /* the block is these two, one after the other */
    WarcBytes block_tail;
} WarcHead;

/* At least as many bytes as the header will have. */
size_t warc_head_bound(const WarcHead *head);
/* Appends the header, the empty line behind it included, to room that was reserved. block: the
 * digest of the block. */
void warc_head_put(Buffer *out, const WarcHead *head, const WarcDigest *block);

#endif
