/* HTTP header blocks as they are put into WARC records, and read out of them.
 *
 * What: a record holds the header as it was received, byte for byte. It is changed only where it
 * would contradict the body beside it, because libcurl has undone something, or where no reader
 * could parse it:
 *
 * - Transfer-Encoding: libcurl has removed the chunks. The field is renamed
 *   X-Archive-Orig-Transfer-Encoding; the body is the entity, and the payload digest is its digest.
 * - Content-Length that differs from the body of a whole message becomes
 *   X-Archive-Orig-Content-Length. (A chunked message has no length that counts; a 304 names the
 *   length of what it does not send.) A truncated message keeps the field, which says how much is
 *   missing; so does a revisit, which has no body.
 * - Content-Encoding: gzip before bytes that are not gzip (a lying server) becomes
 *   X-Archive-Orig-Content-Encoding. A truthful one stays; the body is stored encoded.
 * - The protocol of the first line: HTTP/2 and HTTP/3 have no textual form, and libcurl writes
 *   "HTTP/2 200 ". It becomes "HTTP/1.1 200 "; what was spoken is in WARC-Protocol.
 * - A header without a single field gets "X-Archive-Orig-Fields: none": readers that look for the
 *   empty line behind the fields (warcio for npm) would take the body for fields.
 * - Line ends that are not CRLF become CRLF, and a missing empty line is added. 1xx answers before
 *   the header, and trailers behind it, are left out.
 *
 * Threads: pure functions.
 * Invariants: values and the order of fields never change.
 * Source: WARC 1.1 (ISO 28500:2017), the IIPC's proposal for HTTP/2, RFC 9112. */
#pragma once

#include "base/memory/buffer.h"
#include "store/warc/warc_format.h"

/* What a header block says; borrowed from the block. */
typedef struct WarcHttp {
    unsigned status;        /* 100..999; 0 in a request */
    WarcBytes content_type; /* the field's value without parameters; length 0 when there is none */
    size_t header_length;   /* up to and including the empty line */
} WarcHttp;

/* Appends a response's header, made fit for its body, to out. RESULT_INVALID: no HTTP status line
 * (HTTP/0.9, ICY); RESULT_LIMIT, RESULT_MEMORY: of out. */
Result warc_http_response(WarcBytes header, WarcBytes body, WarcTruncation truncated, Buffer *out);

/* Whether a request's header has a condition that a 304 can answer: If-None-Match,
 * If-Modified-Since. */
bool warc_http_is_conditional(WarcBytes header);

/* Appends a request's header to out. RESULT_INVALID: no request line. */
Result warc_http_request(WarcBytes header, Buffer *out);

/* Reads a stored block strictly. RESULT_INVALID: no end of the header, bad first line. */
Result warc_http_parse_response(WarcBytes block, WarcHttp *http);
Result warc_http_parse_request(WarcBytes block, WarcHttp *http);
