/* Long page: an HTML page of which less is kept than there is. Links are taken from all of it.
 *
 * What: reads the page once more from its first byte, in pieces: from its file (body_spool.h), or,
 * when only decoding made it long, from memory. Each piece is decoded, hashed, and told to the HTML
 * parser. So memory does not grow with the page, up to parse.max_bytes. Of several content codings
 * in a row only the kept part is read.
 * Owns: a buffer, and the hash.
 * Threads: the parser's. */
#pragma once

#include "base/core/hash.h"
#include "fetch/transfer/fetch_result.h"
#include "parse/html/html.h"
#include "parse/http/decode.h"

typedef struct LongPage LongPage;

/* How a page is read. */
typedef struct LongPageInput {
    const FetchAnswer *answer;
    const char *encoding; /* Content-Encoding, or NULL */
    size_t encoding_length;
    DecodeBounds bounds;
    Decoder *decoder;
    HtmlParser *html;
    const HtmlInput *page; /* body: what is kept, decoded */
} LongPageInput;

typedef struct LongPageResult {
    DecodeStatus decoded; /* DECODE_LIMIT: there is more than bounds.max_bytes */
    uint64_t bytes_read;  /* decoded; 0: it cannot be read in pieces, nothing was done */
    Hash128 hash;         /* of these bytes */
} LongPageResult;

/* NULL without memory. */
LongPage *long_page_new(void);
void long_page_delete(LongPage *reader);
/* Errors as html_parse. */
Result long_page_read(LongPage *reader, const LongPageInput *input, Page *page,
                      LongPageResult *result);
