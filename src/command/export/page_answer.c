#include "command/export/page_answer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory/array.h"

#include "command/text/text_page.h"
#include "command/text/text_source.h"
#include "logs/log_text.h"
#include "page/tool/text_language.h"
#include "parse/http/decode.h"
#include "parse/url/url.h"
#include "store/archive/warc_reader.h"
#include "store/cdxj/cdxj.h"
#include "store/pages/page_db_read.h"

/* ---- Page places ---- */

#define AT_ONCE      4096u /* lines that are looked up in one read transaction */
#define STATUS_AGAIN 304u

struct PagePlaces {
    PageDB *db;
    MDB_txn *txn;
    uint64_t n_pages;
    uint64_t n_lines;
    FILE *file; /* of the mapping */
    PagePlace *all;
    size_t bytes;
    char **names;
    size_t n_names;
    Result result;
};

/* The number of a file's name. The lines of an index name one file: it is nearly always the last.
 */
static bool page_places_number_of(PagePlaces *places, WarcBytes name, uint32_t *number)
{
    for (size_t i = places->n_names; i > 0; i--) {
        const char *known = places->names[i - 1];
        if (strncmp(known, name.bytes, name.length) == 0 && known[name.length] == '\0') {
            *number = (uint32_t)(i - 1);
            return true;
        }
    }
    char *copy = strndup(name.bytes, name.length);
    *number = (uint32_t)places->n_names;
    if (copy == NULL ||
        array_add(&places->names, &places->n_names, sizeof copy, &copy) != RESULT_OK) {
        free(copy);
        return false;
    }
    return true;
}

/* "20260131120000" as seconds since 1970; 0: it is no time. */
static uint32_t date_of(WarcBytes timestamp)
{
    char text[18] = "00000000000000000";
    WallTime time;
    memcpy(text, timestamp.bytes, timestamp.length < 14 ? timestamp.length : 14);
    if (!wall_parse_compact(text, 17, &time) || time.us <= 0) {
        return 0;
    }
    int64_t seconds = time.us / 1000000;
    return seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
}

/* Ends the read transaction now and then, so that the crawl can use freed pages again. */
static bool renew(PagePlaces *places)
{
    if (places->txn != NULL && places->n_lines++ % AT_ONCE != 0) {
        return true;
    }
    if (places->txn != NULL) {
        page_db_txn_abort(places->db, places->txn);
        places->txn = NULL;
    }
    if (page_db_txn_begin(places->db, true, &places->txn) != page_db_error_ok) {
        places->txn = NULL;
        places->result = RESULT_IO;
    }
    return places->result == RESULT_OK;
}

static bool page_places_take_line(void *context, const CdxjEntry *entry)
{
    PagePlaces *places = context;
    uint64_t page = 0;
    PagePlace place = {.offset = entry->offset, .date = date_of(entry->timestamp)};
    if (!renew(places)) {
        return false;
    }
    int code = page_db_find(places->db, places->txn, entry->url.bytes, entry->url.length, &page);
    if (code != page_db_error_ok || page >= places->n_pages || place.date == 0 ||
        entry->status == STATUS_AGAIN) {
        return true; /* such as robots.txt */
    }
    if (!page_places_number_of(places, entry->filename, &place.file)) {
        places->result = RESULT_MEMORY;
        return false;
    }
    PagePlace *known = &places->all[page];
    if (place.date > known->date ||
        (place.date == known->date && place.file == known->file && place.offset > known->offset)) {
        *known = place;
    }
    return true;
}

static Result page_places_make_room(PagePlaces *places)
{
    places->bytes = (size_t)(places->n_pages + 1) * sizeof *places->all;
    places->file = tmpfile();
    int code = places->file == NULL
                   ? errno
                   : posix_fallocate(fileno(places->file), 0, (off_t)places->bytes);
    if (code != 0) {
        return result_of_errno(code);
    }
    void *map =
        mmap(NULL, places->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(places->file), 0);
    if (map == MAP_FAILED) {
        return result_of_errno(errno);
    }
    places->all = map;
    return RESULT_OK;
}

Result page_places_new(PagePlaces **out, PageDB *db, const char *directory)
{
    PagePlaces *places = calloc(1, sizeof *places);
    if (places == NULL) {
        return RESULT_MEMORY;
    }
    places->db = db;
    Result rc = renew(places) ? RESULT_OK : places->result;
    if (rc == RESULT_OK) {
        places->n_pages = page_db_n_pages(db, places->txn);
        rc = page_places_make_room(places);
    }
    if (rc == RESULT_OK) {
        rc = cdxj_walk(directory, page_places_take_line, places);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
        rc = rc == RESULT_OK ? places->result : rc;
    }
    if (places->txn != NULL) {
        page_db_txn_abort(db, places->txn);
    }
    if (rc != RESULT_OK) {
        page_places_delete(places);
        return rc;
    }
    *out = places;
    return RESULT_OK;
}

void page_places_delete(PagePlaces *places)
{
    if (places == NULL) {
        return;
    }
    if (places->all != NULL) {
        (void)munmap(places->all, places->bytes);
    }
    if (places->file != NULL) {
        (void)fclose(places->file);
    }
    for (size_t i = 0; i < places->n_names; i++) {
        free(places->names[i]);
    }
    free(places->names);
    free(places);
}

bool page_places_get(PagePlaces *places, uint64_t page, PagePlace *place)
{
    if (page >= places->n_pages || places->all[page].date == 0) {
        return false;
    }
    *place = places->all[page];
    return true;
}

const char *page_places_name(const PagePlaces *places, uint32_t file)
{
    return places->names[file];
}

/* ---- Page answer ---- */

#define BODY_BYTES ((size_t)4 << 20)
#define KEEP_BYTES ((size_t)1 << 20)
#define MAX_RATIO  1000u

struct PageAnswers {
    const char *directory;
    PagePlaces *places;
    uint64_t n_damaged;
    WarcAnswer stored;
    HttpHeader header;
    Decoder *decoder;
    TextPages *pages;
    TextPage page;
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
    warc_answer_init(&answers->stored);
    url_init(&answers->document);
    url_init(&answers->target);
    TextPagesOptions options = {.language = text_language_load()};
    Result rc = decoder_new(&answers->decoder);
    if (rc == RESULT_OK) {
        rc = text_pages_new(&answers->pages, &options);
    }
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
    decoder_delete(answers->decoder);
    text_pages_delete(answers->pages);
    warc_answer_destroy(&answers->stored);
    buffer_destroy(&answers->body);
    url_destroy(&answers->document);
    url_destroy(&answers->target);
    free(answers);
}

uint64_t page_answers_damaged(const PageAnswers *answers)
{
    return answers->n_damaged;
}

/* Loads what is stored at the place and parses its header, which is there even if the body is not.
 * RESULT_NOT_FOUND: there is no whole answer of this URL. */
static Result page_answer_load(PageAnswers *answers, const char *url, size_t length,
                               const PagePlace *place)
{
    CdxjCapture capture = {.offset = place->offset};
    WarcAnswer *stored = &answers->stored;
    (void)snprintf(capture.filename, sizeof capture.filename, "%s",
                   page_places_name(answers->places, place->file));
    buffer_trim(&stored->body, KEEP_BYTES);
    Result rc = warc_load_capture(answers->directory, &capture, url, length, stored);
    bool has_header = http_header_parse(&answers->header, buffer_string(&stored->header),
                                        stored->header.length) == RESULT_OK;
    if (rc != RESULT_MEMORY && (rc != RESULT_OK || !has_header)) {
        rc = RESULT_NOT_FOUND;
        answers->n_damaged++;
    }
    return rc;
}

/* ---- its header ---- */

/* ---- its body ---- */

static Result page_answer_take_text(PageAnswers *answers, TextCapture *capture, PageAnswer *answer)
{
    HttpField language = {.value = "", .value_length = 0};
    const TextPage *page = &answers->page;
    (void)http_header_find(&answers->header, "Content-Language", &language);
    /* The body as it was before it was coded. */
    const Buffer *stored = &answers->stored.body;
    buffer_trim(&answers->body, KEEP_BYTES);
    buffer_reset(&answers->body);
    DecodeStatus status = decode_answer(answers->decoder, &answers->header, buffer_string(stored),
                                        stored->length, &answers->body, MAX_RATIO);
    Result rc = status == DECODE_MEMORY ? RESULT_MEMORY : RESULT_OK;
    if (rc != RESULT_OK) {
        return rc;
    }
    capture->body = buffer_string(&answers->body);
    capture->length = answers->body.length;
    capture->link_header = warc_bytes("", 0);
    capture->content_language = warc_bytes(language.value, language.value_length);
    rc = text_pages_read(answers->pages, capture, &answers->page);
    if (rc == RESULT_OK) {
        answer->title = page->visible.title;
        answer->language = page->language != NULL ? page->language : page->declared;
    }
    return rc;
}

Result page_answers_read(PageAnswers *answers, const char *url, size_t length,
                         const PagePlace *place, PageAnswer *answer)
{
    TextCapture capture = {.url = warc_bytes(url, length)};
    const Buffer *body = &answers->stored.body;
    *answer = (PageAnswer){.is_read = false};
    Result rc = page_answer_load(answers, url, length, place);
    if (rc == RESULT_MEMORY || answers->stored.header.length == 0) {
        return rc == RESULT_MEMORY ? rc : RESULT_OK;
    }
    text_capture_take_type(&capture, &answers->header, answers->content_type);
    HttpField field;
    unsigned status = answers->stored.status;
    if (status >= 300 && status < 400 && http_header_find(&answers->header, "Location", &field) &&
        url_parse(&answers->document, NULL, url, length) == RESULT_OK &&
        url_parse(&answers->target, &answers->document, field.value, field.value_length) ==
            RESULT_OK) {
        answer->redirect = answers->target.href;
    }
    answer->is_read = rc == RESULT_OK;
    answer->mime = capture.type.type;
    answer->mime_length = capture.type.type_length;
    answer->bytes = body->length;
    answer->allowed = usage_terms_allowed(answers->stored.usage);
    /* Its first bytes decide where the type does not, unless they are coded. */
    bool has_text =
        capture.is_plain || http_header_is_page(&capture.type, buffer_string(body), body->length);
    return rc == RESULT_OK && has_text ? page_answer_take_text(answers, &capture, answer)
                                       : RESULT_OK;
}
