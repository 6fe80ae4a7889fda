#include "page/tool/long_page.h"

#include <stdlib.h>
#include <string.h>

#define READ_BYTES ((size_t)64 << 10)
#define LEFT_BYTES ((size_t)64) /* what a decoder may leave unread when it asks for more */

struct LongPage {
    HashStream *hash;
    const FetchAnswer *answer;
    HtmlParser *html;
    uint64_t at; /* bytes of the body that were handed out */
    uint64_t bytes_read;
    char buffer[LEFT_BYTES + READ_BYTES];
};

LongPage *long_page_new(void)
{
    LongPage *reader = malloc(sizeof *reader);
    if (reader == NULL) {
        return NULL;
    }
    reader->hash = hash_stream_new();
    if (reader->hash == NULL) {
        free(reader);
        return NULL;
    }
    return reader;
}

void long_page_delete(LongPage *reader)
{
    if (reader != NULL) {
        hash_stream_delete(reader->hash);
        free(reader);
    }
}

/* ---- the body as received ---- */

static bool read_more(void *context, const char **next, size_t *left)
{
    LongPage *reader = context;
    if (!reader->answer->spool.is_open) {
        const Buffer *body = &reader->answer->body;
        if (reader->at > 0 || *left > 0 || body->length == 0) {
            return false;
        }
        *next = body->data;
        *left = body->length;
        reader->at = body->length;
        return true;
    }
    size_t n = 0;
    if (*left > LEFT_BYTES) {
        return false; /* no decoder does that */
    }
    if (*left > 0) {
        memmove(reader->buffer, *next, *left);
    }
    *next = reader->buffer;
    if (body_spool_read(&reader->answer->spool, reader->at, reader->buffer + *left, READ_BYTES,
                        &n) != RESULT_OK) {
        return false;
    }
    reader->at += n;
    *left += n;
    return n > 0;
}

static void rewind_body(void *context)
{
    ((LongPage *)context)->at = 0;
}

/* ---- its text ---- */

static bool take_piece(void *context, const char *bytes, size_t length)
{
    LongPage *reader = context;
    hash_stream_add(reader->hash, bytes, length);
    reader->bytes_read += length;
    html_pieces_feed(reader->html, bytes, length);
    return true;
}

static uint64_t raw_length(const FetchAnswer *answer)
{
    return answer->spool.is_open ? answer->spool.length : answer->body.length;
}

Result long_page_read(LongPage *reader, const LongPageInput *input, Page *page,
                      LongPageResult *result)
{
    DecodeSource source = {.read = read_more,
                           .rewind = rewind_body,
                           .context = reader,
                           .length = raw_length(input->answer)};
    reader->answer = input->answer;
    reader->html = input->html;
    *result = (LongPageResult){.decoded = DECODE_OK};
    Result rc = html_pieces_begin(input->html, input->page);
    if (rc != RESULT_OK) {
        memset(page, 0, sizeof *page);
        return rc;
    }
    do {
        reader->at = 0;
        reader->bytes_read = 0;
        hash_stream_reset(reader->hash);
        result->decoded =
            decode_content_stream(input->decoder, input->encoding, input->encoding_length, &source,
                                  input->bounds, take_piece, reader);
    } while (html_pieces_again(input->html));
    result->bytes_read = reader->bytes_read;
    result->hash = hash_stream_result(reader->hash);
    return html_pieces_end(input->html, page);
}
