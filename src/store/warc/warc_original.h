/* What a revisit record refers to: the first record that held a payload.
 *
 * What: its URI, its date and its id.
 * Owns: the URI.
 * Threads: one at a time. */
#ifndef STORE_WARC_WARC_ORIGINAL_H
#define STORE_WARC_WARC_ORIGINAL_H

#include "base/core/clock.h"
#include "base/memory/buffer.h"
#include "store/warc/warc_format.h"

typedef struct WarcOriginal {
    Buffer uri;
    WallTime date; /* of that record, exactly: it is written as WARC-Refers-To-Date */
    WarcId id;
} WarcOriginal;

void warc_original_init(WarcOriginal *original);
void warc_original_destroy(WarcOriginal *original);

#endif
