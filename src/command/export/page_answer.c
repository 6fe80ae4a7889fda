#include "command/export/page_answer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command/text/text_page.h"
#include "logs/log_text.h"
#include "page/tool/text_language.h"
#include "parse/http/decode.h"
#include "parse/url/url.h"
#include "store/archive/warc_load.h"
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
    char **names = realloc(places->names, (places->n_names + 1) * sizeof *names);
    if (names == NULL) {
        return false;
    }
    places->names = names;
    names[places->n_names] = strndup(name.bytes, name.length);
    if (names[places->n_names] == NULL) {
        return false;
    }
    *number = (uint32_t)places->n_names++;
    return true;
}

/* "20260131120000" as seconds since 1970; 0: it is no time. */
static uint32_t date_of(WarcBytes timestamp)
{
    char text[18] = "00000000000000000";
    WallTime time;
    memcpy(text, timestamp.bytes, timestamp.length < 14 ? timestamp.length : 14);
    if (!log_text_compact_time((LogText){text, 17}, &time) || time.us <= 0) {
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

#define FILES         16u /* open at a time */
#define BODY_BYTES    ((size_t)4 << 20)
#define KEEP_BYTES    ((size_t)1 << 20)
#define MAX_RATIO     1000u
#define CODINGS_BYTES 1024u

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

/* ---- the record ---- */

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

/* ---- its header ---- */

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

/* ---- its body ---- */

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

/* payload: as it was sent; its first bytes decide where the type does not, unless they are coded.
 */
static bool page_answer_has_text(const TextCapture *capture, WarcBytes payload)
{
    return capture->is_plain || http_header_is_page(&capture->type, payload.bytes, payload.length);
}

/* The body as it was before it was coded. */
static Result page_answer_decode(PageAnswers *answers, WarcBytes payload)
{
    HttpField coding = {.value = NULL, .value_length = 0};
    Buffer codings;
    buffer_init(&codings, CODINGS_BYTES);
    (void)http_header_codings(&answers->header, &codings, &coding);
    buffer_trim(&answers->body, KEEP_BYTES);
    buffer_reset(&answers->body);
    DecodeStatus status = decode_content(answers->decoder, coding.value, coding.value_length,
                                         payload.bytes, payload.length, &answers->body, MAX_RATIO);
    buffer_destroy(&codings);
    return status == DECODE_MEMORY ? RESULT_MEMORY : RESULT_OK;
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
    return rc == RESULT_OK && page_answer_has_text(&capture, payload)
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
    if (capture.is_plain ||
        !(http_header_is_open(&capture.type) || http_header_is_html(&capture.type))) {
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
