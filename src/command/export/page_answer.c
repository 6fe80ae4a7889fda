#include "command/export/page_answer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory/array.h"
#include "command/text/text_page.h"
#include "page/tool/text_language.h"
#include "parse/http/decode.h"

#define AT_ONCE      4096u /* lines that are looked up in one read transaction */
#define STATUS_AGAIN 304u
#define BODY_BYTES   ((size_t)4 << 20)
#define KEEP_BYTES   ((size_t)1 << 20)
#define MAX_RATIO    1000u

/* The capture is of the page's last visit: another is not, whenever it came. */
#define OF_VISIT ((uint64_t)1 << 63)

typedef struct PagePlace {
    uint64_t offset; /* and OF_VISIT */
    uint32_t file;   /* number of its name */
    uint32_t date;   /* seconds since 1970; 0 = the page is not stored */
} PagePlace;

_Static_assert(sizeof(PagePlace) == PAGE_PLACE_BYTES, "the header says so");

struct PageAnswers {
    const char *directory;
    PagePlace *places; /* [n_pages + 1], mapped */
    uint64_t n_pages;
    char **names;
    size_t n_names;
    uint64_t n_damaged;
    uint64_t n_data_cut;
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

/* ---- where they are ---- */

/* A walk over the lines of the indices. */
typedef struct PlaceWalk {
    PageAnswers *answers;
    PageDB *db;
    MDB_txn *txn;
    uint64_t n_lines;
    Buffer url; /* scratch */
    Result result;
} PlaceWalk;

/* The number of a file's name. The lines of an index name one file: it is nearly always the last.
 */
static bool place_walk_number_of(PageAnswers *answers, WarcBytes name, uint32_t *number)
{
    for (size_t i = answers->n_names; i > 0; i--) {
        const char *known = answers->names[i - 1];
        if (strncmp(known, name.bytes, name.length) == 0 && known[name.length] == '\0') {
            *number = (uint32_t)(i - 1);
            return true;
        }
    }
    char *copy = strndup(name.bytes, name.length);
    *number = (uint32_t)answers->n_names;
    if (copy == NULL ||
        array_add(&answers->names, &answers->n_names, sizeof copy, &copy) != RESULT_OK) {
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
static Result place_walk_renew(PlaceWalk *walk)
{
    if (walk->n_lines++ % AT_ONCE != 0) {
        return RESULT_OK;
    }
    page_db_txn_abort(walk->db, walk->txn);
    walk->txn = NULL;
    return page_db_txn_begin(walk->db, true, &walk->txn) == page_db_error_ok ? RESULT_OK
                                                                             : RESULT_IO;
}

static bool place_walk_take_line(void *context, const CdxjEntry *entry)
{
    PlaceWalk *walk = context;
    PageAnswers *answers = walk->answers;
    uint64_t page = 0;
    PagePlace place = {.offset = entry->offset, .date = date_of(entry->timestamp)};
    walk->result = place_walk_renew(walk);
    if (walk->result != RESULT_OK) {
        return false;
    }
    int code = page_db_find(walk->db, walk->txn, entry->url.bytes, entry->url.length, &page);
    if (code != page_db_error_ok || page >= answers->n_pages || place.date == 0 ||
        entry->status == STATUS_AGAIN) {
        return true; /* such as robots.txt */
    }
    if (!place_walk_number_of(answers, entry->filename, &place.file)) {
        walk->result = RESULT_MEMORY;
        return false;
    }
    PagePlace *known = &answers->places[page];
    PageRef row;
    if (page_db_get(walk->db, walk->txn, page, &row, &walk->url) == page_db_error_ok) {
        WallTime visit = {llround(row.last_crawl * 1e6)};
        place.offset |= cdxj_is_of_visit(entry, row.status, visit) ? OF_VISIT : 0;
    }
    bool is_later =
        place.date > known->date ||
        (place.date == known->date && place.file == known->file && place.offset > known->offset);
    bool is_of_visit = (place.offset & OF_VISIT) != 0;
    bool is_like_known = ((place.offset ^ known->offset) & OF_VISIT) == 0;
    if (is_like_known ? is_later : is_of_visit) {
        *known = place;
    }
    return true;
}

static Result page_answers_find_places(PageAnswers *answers, PageDB *db)
{
    PlaceWalk walk = {.answers = answers, .db = db};
    buffer_init(&walk.url, BUFFER_NO_LIMIT);
    void *map = NULL;
    Result rc = place_walk_renew(&walk);
    if (rc == RESULT_OK) {
        answers->n_pages = page_db_n_pages(db, walk.txn);
        rc = file_map_scratch(&map, (size_t)(answers->n_pages + 1) * sizeof *answers->places);
        answers->places = map;
    }
    if (rc == RESULT_OK) {
        rc = cdxj_walk(answers->directory, place_walk_take_line, &walk);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    page_db_txn_abort(db, walk.txn);
    buffer_destroy(&walk.url);
    return rc == RESULT_OK ? walk.result : rc;
}

Result page_answers_new(PageAnswers **out, PageDB *db, const char *directory, uint64_t data_bytes)
{
    PageAnswers *answers = calloc(1, sizeof *answers);
    if (answers == NULL) {
        return RESULT_MEMORY;
    }
    answers->directory = directory;
    buffer_init(&answers->body, BODY_BYTES);
    warc_answer_init(&answers->stored);
    TextPagesOptions options = {.language = text_language_load(), .data_bytes = data_bytes};
    Result rc = decoder_new(&answers->decoder);
    if (rc == RESULT_OK) {
        rc = text_pages_new(&answers->pages, &options);
    }
    if (rc == RESULT_OK) {
        rc = page_answers_find_places(answers, db);
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
    if (answers->places != NULL) {
        (void)munmap(answers->places, (size_t)(answers->n_pages + 1) * sizeof *answers->places);
    }
    for (size_t i = 0; i < answers->n_names; i++) {
        free(answers->names[i]);
    }
    free(answers->names);
    decoder_delete(answers->decoder);
    text_pages_delete(answers->pages);
    warc_answer_destroy(&answers->stored);
    buffer_destroy(&answers->body);
    url_destroy(&answers->document);
    url_destroy(&answers->target);
    free(answers);
}

void page_answers_tell(const PageAnswers *answers)
{
    if (answers->n_damaged > 0) {
        (void)fprintf(stderr,
                      "ragno export: the stored answers of %" PRIu64
                      " pages could not be read; ragno verify says why\n",
                      answers->n_damaged);
    }
    if (answers->n_data_cut > 0) {
        (void)fprintf(stderr,
                      "ragno export: %" PRIu64
                      " pages with more structured data than --structured-max\n",
                      answers->n_data_cut);
    }
}

/* ---- what they say ---- */

/* Loads what is stored there and parses its header, which is there even if the body is not.
 * RESULT_NOT_FOUND: there is no whole answer of this URL. */
static Result page_answer_load(PageAnswers *answers, const char *url, size_t length,
                               const PageAnswer *answer)
{
    CdxjCapture capture = {.offset = answer->offset};
    WarcAnswer *stored = &answers->stored;
    (void)snprintf(capture.filename, sizeof capture.filename, "%s", answer->file);
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
    capture->link_header = text_canonical_of(&answers->header);
    capture->content_language = warc_bytes(language.value, language.value_length);
    rc = text_pages_read(answers->pages, capture, &answers->page);
    if (rc == RESULT_OK) {
        answer->title = page->visible.title;
        answer->language = page->language != NULL ? page->language : page->declared;
        answer->canonical = page->canonical;
        answer->data = page->visible.data;
        answers->n_data_cut += page->visible.data_cut ? 1 : 0;
    }
    return rc;
}

Result page_answers_read(PageAnswers *answers, uint64_t page, const char *url, size_t length,
                         PageAnswer *answer)
{
    TextCapture capture = {.url = warc_bytes(url, length)};
    const Buffer *body = &answers->stored.body;
    *answer = (PageAnswer){.is_read = false};
    if (page >= answers->n_pages || answers->places[page].date == 0) {
        return RESULT_OK;
    }
    answer->file = answers->names[answers->places[page].file];
    answer->offset = answers->places[page].offset & ~OF_VISIT;
    Result rc = page_answer_load(answers, url, length, answer);
    if (rc == RESULT_MEMORY || answers->stored.header.length == 0) {
        return rc == RESULT_MEMORY ? rc : RESULT_OK;
    }
    text_capture_take_type(&capture, &answers->header, answers->content_type);
    if (text_redirect_of(&answers->header, answers->stored.status, capture.url, &answers->document,
                         &answers->target)) {
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
