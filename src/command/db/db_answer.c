/* ragno db DIR get URL --headers|--body|--raw: the stored answer, from the WARC files. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command/db/db_commands.h"
#include "parse/http/decode.h"
#include "parse/http/http_header.h"
#include "store/archive/warc_load.h"

#define DECODED_MAX_BYTES ((size_t)1 << 30) /* more is a bomb */

static int db_answer_complain(Result rc, const char *url)
{
    if (rc == RESULT_NOT_FOUND) {
        (void)fprintf(stderr, "ragno db: no answer of %s is stored\n", url);
        return EXIT_NEGATIVE;
    }
    if (rc == RESULT_DAMAGED) {
        (void)fprintf(stderr, "ragno db: the record of %s is damaged; ragno verify says more\n",
                      url);
        return EXIT_DIRECTORY;
    }
    (void)fprintf(stderr, "ragno db: the answer of %s cannot be read: %s\n", url, result_name(rc));
    return rc == RESULT_MEMORY ? 1 : EXIT_IO;
}

/* Undoes the content coding; what can be decoded of a damaged body is better than nothing. */
static Result db_answer_decode(const WarcAnswer *answer, Buffer *out)
{
    HttpHeader header;
    HttpField field = {.value = NULL, .value_length = 0};
    Decoder *decoder = NULL;
    Result rc = decoder_new(&decoder);
    if (rc != RESULT_OK) {
        return rc;
    }
    Buffer coding;
    buffer_init(&coding, answer->header.length + 1);
    if (answer->header.length > 0 &&
        http_header_parse(&header, answer->header.data, answer->header.length) == RESULT_OK) {
        (void)http_header_find_list(&header, "Content-Encoding", &coding, &field);
    }
    DecodeStatus status = decode_content(decoder, field.value, field.value_length,
                                         buffer_string(&answer->body), answer->body.length, out, 0);
    decoder_delete(decoder);
    buffer_destroy(&coding);
    if (status == DECODE_MEMORY) {
        return RESULT_MEMORY;
    }
    if (status != DECODE_OK) {
        (void)fprintf(stderr, "ragno db: the body cannot be decoded to its end: %s\n",
                      decode_status_name(status));
    }
    return RESULT_OK;
}

/* A terminal obeys escape sequences, and these bytes are a stranger's: control characters but tabs
 * and line ends are shown as "\\x1b". Those of the upper half stand in UTF-8 behind 0xC2. */
static void show_bytes(const Buffer *bytes)
{
    const unsigned char *p = (const unsigned char *)buffer_string(bytes);
    for (size_t i = 0; i < bytes->length; i++) {
        bool is_high = p[i] == 0xC2 && i + 1 < bytes->length && p[i + 1] >= 0x80 && p[i + 1] < 0xA0;
        bool ends_line = p[i] == '\r' && i + 1 < bytes->length && p[i + 1] == '\n';
        bool is_low = (p[i] < ' ' && p[i] != '\n' && p[i] != '\t' && !ends_line) || p[i] == 0x7F;
        if (is_low || is_high) {
            i += is_high ? 1 : 0;
            (void)printf("\\x%02x", p[i]);
        } else {
            (void)putchar(p[i]);
        }
    }
}

/* As it is, unless a terminal is to show it. */
static void print_bytes(const Buffer *bytes)
{
    if (isatty(STDOUT_FILENO) == 1) {
        show_bytes(bytes);
    } else {
        (void)fwrite(buffer_string(bytes), 1, bytes->length, stdout); /* db_finish asks ferror */
    }
}

static int db_answer_print_answer(DbView *view, const WarcAnswer *answer, const DbParts *parts)
{
    if (answer->truncated && (parts->body || parts->raw)) {
        (void)fprintf(stderr, "ragno db: the answer was cut when it was fetched\n");
    }
    short_read_pause(&view->read); /* the answer comes from the archive, and may be long */
    if (parts->headers) {
        print_bytes(&answer->header);
    }
    if (parts->raw) {
        print_bytes(&answer->body);
    } else if (parts->body) {
        Buffer body;
        buffer_init(&body, DECODED_MAX_BYTES);
        Result rc = db_answer_decode(answer, &body);
        print_bytes(&body);
        buffer_destroy(&body);
        if (rc != RESULT_OK) {
            (void)fprintf(stderr, "ragno db: %s\n", result_name(rc));
            return 1;
        }
    }
    return db_finish(view, page_db_error_ok);
}

int db_answer(DbView *view, const char *url, const DbParts *parts)
{
    WarcAnswer answer;
    warc_answer_init(&answer);
    Result rc = warc_load(view->warc, url, strlen(url), &answer);
    if (rc == RESULT_NOT_FOUND && db_stands_for(view, url)) {
        rc = warc_load(view->warc, view->url.data, view->url.length, &answer);
    }
    int status = rc == RESULT_OK ? db_answer_print_answer(view, &answer, parts)
                                 : db_answer_complain(rc, url);
    warc_answer_destroy(&answer);
    return status;
}
