#include "command/export/page_answer.h"

#include <stdlib.h>
#include <string.h>

#include "page/tool/text_language.h"
#include "command/text/text_page.h"
#include "parse/http/decode.h"
#include "parse/url/url.h"
#include "store/archive/warc_load.h"

#define FILES      16u /* open at a time */
#define BODY_BYTES ((size_t)4 << 20)
#define KEEP_BYTES ((size_t)1 << 20)
#define MAX_RATIO  1000u

typedef struct OpenFile {
    WarcReader *reader; /* NULL: the place is free */
    uint32_t file;
    uint64_t used; /* when it was used last */
} OpenFile;

struct PageAnswers {
    const char *directory;
    PagePlaces *places;
    OpenFile files[FILES];
    uint64_t n_reads;
    uint64_t n_damaged;
    WarcRecord record;
    HttpHeader header;
    Decoder *decoder;
    TextPages *pages;
    TextPage page;
    WarcAnswer original; /* of a revisit */
    Buffer body;
    Url document;
    Url target;
    char content_type[TEXT_MIME_BYTES];
};

Result page_answers_new(PageAnswers **out, const char *directory, PagePlaces *places)
{
    PageAnswers *answers = calloc(1, sizeof *answers);
    if (answers == NULL) {
        return RESULT_MEMORY;
    }
    answers->directory = directory;
    answers->places = places;
    buffer_init(&answers->body, BODY_BYTES);
    warc_answer_init(&answers->original);
    url_init(&answers->document);
    url_init(&answers->target);
    TextPagesOptions options = {.language = text_language_load()};
    Result rc = decoder_new(&answers->decoder);
    rc = rc == RESULT_OK ? text_pages_new(&answers->pages, &options) : rc;
    if (rc != RESULT_OK) {
        page_answers_delete(answers);
        return rc;
    }
    *out = answers;
    return RESULT_OK;
}

void page_answers_delete(PageAnswers *answers)
{
    if (answers == NULL) {
        return;
    }
    for (size_t i = 0; i < FILES; i++) {
        warc_reader_close(answers->files[i].reader);
    }
    decoder_delete(answers->decoder);
    text_pages_delete(answers->pages);
    warc_answer_destroy(&answers->original);
    buffer_destroy(&answers->body);
    url_destroy(&answers->document);
    url_destroy(&answers->target);
    free(answers);
}

uint64_t page_answers_damaged(const PageAnswers *answers)
{
    return answers->n_damaged;
}

/* ---- the record ------------------------------------------------------------------------------ */

/* The reader of a file. A file that has grown since it was opened is opened anew. NULL: it cannot
 * be. */
static WarcReader *reader_of(PageAnswers *answers, const PagePlace *place)
{
    OpenFile *oldest = &answers->files[0];
    for (size_t i = 0; i < FILES; i++) {
        OpenFile *file = &answers->files[i];
        if (file->reader != NULL && file->file == place->file) {
            oldest = file;
            break;
        }
        oldest = file->used < oldest->used ? file : oldest;
    }
    bool fits = oldest->reader != NULL && oldest->file == place->file &&
                place->offset < warc_reader_size(oldest->reader);
    oldest->used = ++answers->n_reads;
    if (!fits) {
        warc_reader_close(oldest->reader);
        *oldest = (OpenFile){.file = place->file, .used = oldest->used};
        (void)warc_reader_open_in(&oldest->reader, answers->directory,
                                  page_places_name(answers->places, place->file));
    }
    return oldest->reader;
}

/* Reads the record, if it is an answer of this URL. RESULT_NOT_FOUND: it is not. */
static Result page_answer_read_record(PageAnswers *answers, const char *url, size_t length,
                                      const PagePlace *place)
{
    WarcRecord *record = &answers->record;
    WarcReader *reader = reader_of(answers, place);
    if (reader == NULL) {
        return RESULT_NOT_FOUND;
    }
    warc_reader_seek(reader, place->offset);
    Result rc = warc_reader_next(reader, record);
    if (rc != RESULT_OK) {
        return rc == RESULT_MEMORY ? rc : RESULT_NOT_FOUND;
    }
    bool fits = record->is_http && record->uri.length == length &&
                memcmp(record->uri.bytes, url, length) == 0 &&
                http_header_parse(&answers->header, record->block.bytes,
                                  record->http.header_length) == RESULT_OK;
    return fits ? RESULT_OK : RESULT_NOT_FOUND;
}

/* ---- its header ------------------------------------------------------------------------------ */

static void page_answer_take_type(PageAnswers *answers, TextCapture *capture)
{
    HttpField field;
    if (http_header_find(&answers->header, "Content-Type", &field) && field.value_length > 0) {
        size_t n =
            field.value_length < TEXT_MIME_BYTES - 1 ? field.value_length : TEXT_MIME_BYTES - 1;
        memcpy(answers->content_type, field.value, n);
        answers->content_type[n] = '\0';
        capture->content_type = answers->content_type;
        capture->type = http_header_content_type(answers->content_type, n);
    }
    capture->is_plain = http_header_is_type(&capture->type, "text/plain");
}

static void take_redirect(PageAnswers *answers, const char *url, size_t length, PageAnswer *answer)
{
    HttpField field;
    unsigned status = answers->record.http.status;
    if (status >= 300 && status < 400 && http_header_find(&answers->header, "Location", &field) &&
        url_parse(&answers->document, NULL, url, length) == RESULT_OK &&
        url_parse(&answers->target, &answers->document, field.value, field.value_length) ==
            RESULT_OK) {
        answer->redirect = answers->target.href;
    }
}

/* ---- its body -------------------------------------------------------------------------------- */

/* The body as it was received: that of a revisit is in the record that it refers to. */
static Result payload_of(PageAnswers *answers, WarcBytes *payload)
{
    const WarcRecord *record = &answers->record;
    *payload = record->payload;
    if (record->type != WARC_REVISIT) {
        return RESULT_OK;
    }
    buffer_trim(&answers->original.body, KEEP_BYTES);
    buffer_reset(&answers->original.body);
    Result rc = warc_load_original(answers->directory, record, &answers->original);
    if (rc == RESULT_OK) {
        *payload =
            warc_bytes(buffer_string(&answers->original.body), answers->original.body.length);
    }
    return rc;
}

static bool page_answer_has_text(const TextCapture *capture)
{
    return capture->is_plain || http_header_is_type(&capture->type, "text/html") ||
           http_header_is_type(&capture->type, "application/xhtml+xml");
}

/* The body as it was before it was coded. */
static Result page_answer_decode(PageAnswers *answers, WarcBytes payload)
{
    HttpField coding = {.value = NULL, .value_length = 0};
    (void)http_header_find(&answers->header, "Content-Encoding", &coding);
    buffer_trim(&answers->body, KEEP_BYTES);
    buffer_reset(&answers->body);
    return decode_content(answers->decoder, coding.value, coding.value_length, payload.bytes,
                          payload.length, &answers->body, MAX_RATIO) == DECODE_MEMORY
               ? RESULT_MEMORY
               : RESULT_OK;
}

static Result page_answer_take_text(PageAnswers *answers, WarcBytes payload, TextCapture *capture,
                                    PageAnswer *answer)
{
    HttpField language = {.value = "", .value_length = 0};
    (void)http_header_find(&answers->header, "Content-Language", &language);
    Result decoded = page_answer_decode(answers, payload);
    if (decoded != RESULT_OK) {
        return decoded;
    }
    capture->body = buffer_string(&answers->body);
    capture->length = answers->body.length;
    capture->link_header = warc_bytes("", 0);
    capture->content_language = warc_bytes(language.value, language.value_length);
    Result rc = text_pages_read(answers->pages, capture, &answers->page);
    if (rc == RESULT_OK) {
        const TextPage *page = &answers->page;
        answer->title = page->visible.title;
        answer->language = page->language != NULL ? page->language : page->declared;
    }
    return rc;
}

Result page_answers_read(PageAnswers *answers, const char *url, size_t length,
                         const PagePlace *place, PageAnswer *answer)
{
    WarcBytes payload;
    TextCapture capture = {.url = warc_bytes(url, length)};
    *answer = (PageAnswer){.is_read = false};
    Result rc = page_answer_read_record(answers, url, length, place);
    if (rc == RESULT_NOT_FOUND) {
        answers->n_damaged++;
        return RESULT_OK;
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    page_answer_take_type(answers, &capture);
    take_redirect(answers, url, length, answer);
    rc = payload_of(answers, &payload);
    if (rc == RESULT_MEMORY) {
        return rc;
    }
    answer->is_read = rc == RESULT_OK;
    answers->n_damaged += rc != RESULT_OK;
    answer->mime = capture.type.type;
    answer->mime_length = capture.type.type_length;
    answer->bytes = payload.length;
    return rc == RESULT_OK && page_answer_has_text(&capture)
               ? page_answer_take_text(answers, payload, &capture, answer)
               : RESULT_OK;
}

Result page_answers_body(PageAnswers *answers, const char *url, size_t length,
                         const PagePlace *place, PageBody *body)
{
    WarcBytes payload;
    TextCapture capture = {.url = warc_bytes(url, length)};
    *body = (PageBody){.is_html = false};
    Result rc = page_answer_read_record(answers, url, length, place);
    if (rc != RESULT_OK) {
        answers->n_damaged += rc == RESULT_NOT_FOUND;
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    page_answer_take_type(answers, &capture);
    if (!page_answer_has_text(&capture) || capture.is_plain) {
        return RESULT_OK;
    }
    rc = payload_of(answers, &payload);
    if (rc == RESULT_OK) {
        rc = page_answer_decode(answers, payload);
    } else if (rc != RESULT_MEMORY) {
        answers->n_damaged++;
        return RESULT_OK;
    }
    *body = (PageBody){.bytes = buffer_string(&answers->body),
                       .length = answers->body.length,
                       .content_type = capture.content_type,
                       .is_html = rc == RESULT_OK};
    return rc;
}
