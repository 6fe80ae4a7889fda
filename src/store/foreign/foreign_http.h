/* Foreign HTTP: an HTTP answer in a record of another program, taken apart.
 *
 * What: header and body. A body that is chunked, as wget and Heritrix store it, is put together; a
 * header that says so beside a body that is not chunked (others remove the chunks and keep the
 * header) has the body as it is. Broken chunks at the end cut the body.
 * Owns: nothing.
 * Threads: pure.
 * Errors: RESULT_INVALID: no HTTP answer; RESULT_MEMORY, RESULT_LIMIT of body.
 * Source: RFC 9112, 7.1. */
#ifndef STORE_FOREIGN_FOREIGN_HTTP_H
#define STORE_FOREIGN_FOREIGN_HTTP_H

#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "store/warc/warc_format.h"

typedef struct ForeignAnswer {
    unsigned status;
    bool is_10;       /* HTTP/1.0 */
    WarcBytes header; /* with its empty line; borrowed from the block */
    WarcBytes stored; /* the body as it is stored; borrowed from the block */
    WarcBytes body;   /* without chunks; borrowed from the block or from the buffer */
    bool is_cut;      /* its chunks do not end */
} ForeignAnswer;

/* chunks gets the body of a chunked answer. */
Result foreign_http_read(WarcBytes block, Buffer *chunks, ForeignAnswer *answer);

#endif
