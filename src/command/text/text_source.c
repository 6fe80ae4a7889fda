#include "command/text/text_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/hash.h"
#include "parse/http/decode.h"

/* ---- Text rendered ---- */

/* "20260131120000" as a number; 0: it is none. */
static uintptr_t text_rendered_number(WarcBytes timestamp)
{
    uint64_t number = 0;
    return warc_bytes_number(timestamp, UINT64_MAX, &number) ? (uintptr_t)number : 0;
}

static bool text_rendered_take_line(void *context, const CdxjEntry *entry)
{
    TextRendered *rendered = context;
    WarcBytes url = cdxj_plain_url(entry->url);
    MapKey key = map_key_of(url.bytes, url.length);
    uintptr_t number = text_rendered_number(entry->timestamp);
    if (number > (uintptr_t)map_get(&rendered->newest, key)) {
        rendered->failed = map_put(&rendered->newest, key, (void *)number) != RESULT_OK;
    }
    return !rendered->failed;
}

Result text_rendered_find(TextRendered *rendered, const char *directory)
{
    *rendered = (TextRendered){.failed = false};
    Result rc = cdxj_walk_rendered(directory, text_rendered_take_line, rendered);
    return rendered->failed ? RESULT_MEMORY : rc;
}

void text_rendered_free(TextRendered *rendered)
{
    map_destroy(&rendered->newest);
}

/* Whether a conversion stands for an answer of this date. */
static bool text_rendered_has(const TextRendered *rendered, WarcBytes url, WallTime date)
{
    char timestamp[CLOCK_TEXT_BYTES];
    uintptr_t newest = (uintptr_t)map_get(&rendered->newest, map_key_of(url.bytes, url.length));
    return newest >= text_rendered_number(warc_bytes(wall_format_seconds(date, timestamp), 14)) &&
           newest > 0;
}

/* ---- Text source ---- */

#define RENDERED_HEADER "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
#define MAX_RATIO       1000u
#define KEEP_BYTES      ((size_t)4 << 20)

struct TextSource {
    const TextWanted *wanted;
    FilterScratch *scratch; /* of wanted->where */
    Url url;                /* likewise */
    WarcReader *reader;
    const WarcFile *file;
    uint64_t to;
    uint64_t position;
    WarcRecord record;
    HttpHeader header;
    Decoder *decoder;
    Buffer body;
    WarcAnswer original; /* of a revisit */
    char content_type[TEXT_MIME_BYTES];
    TextCounts counts;
};

Result text_source_new(TextSource **source, const TextWanted *wanted)
{
    TextSource *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return RESULT_MEMORY;
    }
    s->wanted = wanted;
    buffer_init(&s->body, wanted->max_body_bytes);
    warc_answer_init(&s->original);
    Result rc = decoder_new(&s->decoder);
    if (rc == RESULT_OK) {
        rc = filter_scratch_new(&s->scratch);
    }
    if (rc != RESULT_OK) {
        text_source_delete(s);
        return rc;
    }
    *source = s;
    return RESULT_OK;
}

void text_source_delete(TextSource *source)
{
    if (source == NULL) {
        return;
    }
    warc_reader_close(source->reader);
    decoder_delete(source->decoder);
    filter_scratch_delete(source->scratch);
    url_destroy(&source->url);
    buffer_destroy(&source->body);
    warc_answer_destroy(&source->original);
    free(source);
}

const TextCounts *text_source_counts(const TextSource *source)
{
    return &source->counts;
}

uint64_t text_source_position(const TextSource *source)
{
    return source->position;
}

Result text_source_open(TextSource *source, const TextJobs *jobs, const TextJob *job)
{
    const WarcFile *file = &jobs->files.files[job->file];
    source->to = job->to;
    source->position = job->from;
    if (source->reader != NULL && source->file == file && !file->open) {
        warc_reader_seek(source->reader, job->from);
        return RESULT_OK;
    }
    warc_reader_close(source->reader);
    source->reader = NULL;
    source->file = file;
    Result rc = warc_reader_open_in(&source->reader, source->wanted->directory, source->file->name);
    if (rc == RESULT_OK) {
        warc_reader_seek(source->reader, job->from);
    } else if (rc != RESULT_MEMORY) {
        source->counts.unreadable++;
        (void)fprintf(stderr, "ragno export: %s/%s: cannot be read: %s\n",
                      source->wanted->directory, source->file->name, result_name(rc));
        rc = RESULT_IO;
    }
    return rc;
}

void text_source_seek(TextSource *source, uint64_t offset)
{
    warc_reader_seek(source->reader, offset);
    source->position = offset;
}

void text_source_follow(TextSource *source)
{
    if (source->record.offset >= source->to) {
        warc_reader_seek(source->reader, source->record.offset);
        source->to = UINT64_MAX;
    }
}

/* ---- damage ---- */

/* Passes over what cannot be read. RESULT_NOT_FOUND: nothing follows. */
static Result pass_over(TextSource *s, const char *problem)
{
    uint64_t passed = 0;
    Result rc = warc_reader_resync(s->reader, &passed);
    if (rc == RESULT_NOT_FOUND && s->file->open) {
        return rc; /* it is being written, or its end was never committed */
    }
    s->counts.damaged++;
    if (!s->wanted->quiet) {
        (void)fprintf(stderr, "ragno export: %s/%s: %s; %" PRIu64 " bytes passed over%s\n",
                      s->wanted->directory, s->file->name, problem, passed,
                      rc == RESULT_NOT_FOUND ? ", to its end" : "");
    }
    return rc;
}

/* The next record that can be read, whatever it is. RESULT_NOT_FOUND: the piece ends. */
static Result next_record(TextSource *s)
{
    for (;;) {
        Result rc = warc_reader_next(s->reader, &s->record);
        if (rc == RESULT_DAMAGED) {
            rc = pass_over(s, warc_reader_problem(s->reader));
        } else if (rc == RESULT_LIMIT) {
            rc = pass_over(s, "a record is larger than 1 Gi");
        } else {
            s->position = s->record.offset;
            rc = rc == RESULT_OK && s->record.offset >= s->to ? RESULT_NOT_FOUND : rc;
            s->counts.records += rc == RESULT_OK ? 1 : 0;
            return rc;
        }
        if (rc != RESULT_OK) {
            return rc;
        }
    }
}

/* ---- what is wanted ---- */

/* Whether its time and the choice want it. */
static bool text_source_is_meant(const TextSource *s)
{
    return s->record.date.us >= s->wanted->since.us && s->record.date.us < s->wanted->until.us &&
           text_choice_admits(s->wanted->choice, s->record.uri);
}

/* Whether the filter does. */
static bool text_source_passes(TextSource *s, const TextCapture *capture)
{
    if (s->wanted->where == NULL) {
        return true;
    }
    if (url_parse(&s->url, NULL, capture->url.bytes, capture->url.length) != RESULT_OK) {
        return false;
    }
    char digest[WARC_DIGEST_TEXT];
    FilterInput input = {.url = &s->url,
                         .status = (int)capture->status,
                         .content_type = capture->content_type,
                         .has_body = true,
                         .body = capture->body,
                         .body_length = capture->length};
    if (capture->has_digest) {
        input.digest = warc_digest_format(&capture->digest, digest);
    }
    return filter_matches(s->wanted->where, &input, s->scratch);
}

static bool is_first_capture_of_its_url(const TextSource *s)
{
    const WarcRecord *record = &s->record;
    WarcBytes uri;
    return record->type == WARC_RESPONSE ||
           (s->wanted->elsewhere && !warc_record_field(record, "warc-refers-to", &uri)) ||
           (warc_record_field(record, "warc-refers-to-target-uri", &uri) &&
            (uri.length != record->uri.length ||
             memcmp(uri.bytes, record->uri.bytes, uri.length) != 0));
}

/* An answer, unless its text is that of a conversion. */
static bool text_source_takes_answer(TextSource *s)
{
    const WarcRecord *record = &s->record;
    const TextWanted *wanted = s->wanted;
    return record->http.status >= wanted->status_first &&
           record->http.status <= wanted->status_last && record->http.status != 304 &&
           is_first_capture_of_its_url(s) &&
           (wanted->rendered == NULL ||
            !text_rendered_has(wanted->rendered, record->uri, record->date)) &&
           http_header_parse(&s->header, record->block.bytes, record->http.header_length) ==
               RESULT_OK;
}

/* A conversion is asked about as if it were an answer. */
static bool text_source_takes_rendered(TextSource *s)
{
    static const char header[] = RENDERED_HEADER;
    return s->wanted->status_first <= 200 && s->wanted->status_last >= 200 &&
           http_header_parse(&s->header, header, sizeof header - 1) == RESULT_OK;
}

static bool text_source_is_wanted(TextSource *s)
{
    const WarcRecord *record = &s->record;
    const TextWanted *wanted = s->wanted;
    bool is_rendered = record->type == WARC_CONVERSION && wanted->rendered != NULL;
    if (!is_rendered &&
        ((record->type != WARC_RESPONSE && record->type != WARC_REVISIT) || !record->is_http)) {
        return false;
    }
    if (record->date.us > s->counts.newest.us) {
        s->counts.newest = record->date;
    }
    return text_source_is_meant(s) &&
           (is_rendered ? text_source_takes_rendered(s) : text_source_takes_answer(s));
}

void text_capture_take_type(TextCapture *capture, const HttpHeader *header,
                            char text[TEXT_MIME_BYTES])
{
    HttpField field;
    capture->content_type = NULL;
    capture->type = (HttpContentType){.type = NULL};
    if (http_header_find(header, "Content-Type", &field) && field.value_length > 0) {
        (void)snprintf(text, TEXT_MIME_BYTES, "%.*s", (int)field.value_length, field.value);
        capture->content_type = text;
        capture->type = http_header_content_type(text, strlen(text));
    }
    capture->is_plain = http_header_is_type(&capture->type, "text/plain");
    capture->is_pdf = http_header_is_type(&capture->type, "application/pdf");
}

/* Whether the type is one of ours; *unknown: it does not say, and the body decides. */
static bool text_source_has_text(const TextSource *s, const TextCapture *capture, bool *unknown)
{
    *unknown = http_header_is_open(&capture->type);
    return *unknown || (capture->is_plain && !s->wanted->html_only) ||
           (capture->is_pdf && s->wanted->pdf) || http_header_is_html(&capture->type);
}

/* ---- the body ---- */

static bool is_broken(DecodeStatus status)
{
    return status == DECODE_TRUNCATED || status == DECODE_BROKEN || status == DECODE_RATIO;
}

/* Undoes the content coding. RESULT_NOT_FOUND: the payload is not there. */
static Result take_body(TextSource *s, TextCapture *capture)
{
    const WarcRecord *record = &s->record;
    WarcBytes payload = record->payload;
    WarcBytes truncated;
    capture->is_cut = warc_record_field(record, "warc-truncated", &truncated);
    if (record->type == WARC_REVISIT) {
        buffer_trim(&s->original.body, KEEP_BYTES);
        buffer_reset(&s->original.body);
        Result rc = warc_load_original(s->wanted->directory, record, &s->original);
        if (rc == RESULT_NOT_FOUND && s->wanted->elsewhere) {
            rc = RESULT_OK;
            s->original.truncated = true;
        }
        if (rc != RESULT_OK) {
            s->counts.missing += rc != RESULT_MEMORY ? 1 : 0;
            return rc == RESULT_MEMORY ? rc : RESULT_NOT_FOUND;
        }
        payload = warc_bytes(buffer_string(&s->original.body), s->original.body.length);
        capture->is_cut |= s->original.truncated;
    }
    buffer_trim(&s->body, KEEP_BYTES);
    buffer_reset(&s->body);
    DecodeStatus status =
        decode_answer(s->decoder, &s->header, payload.bytes, payload.length, &s->body, MAX_RATIO);
    if (status == DECODE_MEMORY) {
        return RESULT_MEMORY;
    }
    s->counts.undecoded += is_broken(status) && !capture->is_cut ? 1 : 0;
    capture->is_cut |= status != DECODE_OK;
    capture->body = buffer_string(&s->body);
    capture->length = s->body.length;
    return RESULT_OK;
}

/* ---- the rest of a capture ---- */

bool text_redirect_of(const HttpHeader *header, unsigned status, WarcBytes from, Url *document,
                      Url *target)
{
    HttpField field;
    return status >= 300 && status <= 399 && http_header_find(header, "Location", &field) &&
           url_parse(document, NULL, from.bytes, from.length) == RESULT_OK &&
           url_parse(target, document, field.value, field.value_length) == RESULT_OK;
}

WarcBytes text_canonical_of(const HttpHeader *header)
{
    HttpField field;
    size_t at = 0;
    while (http_header_next_named(header, "Link", &at, &field)) {
        size_t position = 0;
        HttpLink link;
        while (http_header_next_link(field.value, field.value_length, &position, &link)) {
            if (!link.has_anchor && link.rel_length == 9 &&
                strncasecmp(link.rel, "canonical", 9) == 0) {
                return warc_bytes(link.uri, link.uri_length);
            }
        }
    }
    return warc_bytes("", 0);
}

static void take_facts(TextSource *s, TextCapture *capture)
{
    const WarcRecord *record = &s->record;
    HttpField field = {.value = "", .value_length = 0}; /* what is missing is empty */
    WarcBytes digest;
    capture->url = record->uri;
    capture->date = record->date;
    capture->id = record->id;
    capture->status = record->type == WARC_CONVERSION ? 200 : record->http.status;
    capture->link_header = text_canonical_of(&s->header);
    (void)http_header_find(&s->header, "Content-Language", &field);
    capture->content_language = warc_bytes(field.value, field.value_length);
    capture->has_digest = warc_record_field(record, "warc-payload-digest", &digest) &&
                          warc_digest_parse(digest, &capture->digest);
}

Result text_source_next(TextSource *source, TextCapture *capture)
{
    TextSource *s = source;
    for (;;) {
        bool unknown = false;
        Result rc = next_record(s);
        if (rc != RESULT_OK) {
            return rc;
        }
        if (!text_source_is_wanted(s)) {
            continue;
        }
        text_capture_take_type(capture, &s->header, s->content_type);
        if (!text_source_has_text(s, capture, &unknown)) {
            continue;
        }
        rc = take_body(s, capture);
        if (rc == RESULT_MEMORY) {
            return rc;
        }
        if (rc == RESULT_OK &&
            (!unknown || http_header_is_page(&capture->type, capture->body, capture->length))) {
            take_facts(s, capture);
            s->counts.captures++;
            s->counts.html_bytes += capture->length;
            if (text_source_passes(s, capture)) {
                return RESULT_OK;
            }
        }
    }
}

Result text_source_next_record(TextSource *source, const WarcRecord **record)
{
    *record = &source->record;
    return next_record(source);
}

Result text_source_take(TextSource *source, TextCapture *capture)
{
    const WarcRecord *record = &source->record;
    *capture = (TextCapture){.content_type = NULL};
    if (!record->is_http || (record->type != WARC_RESPONSE && record->type != WARC_REVISIT) ||
        http_header_parse(&source->header, record->block.bytes, record->http.header_length) !=
            RESULT_OK) {
        return RESULT_NOT_FOUND;
    }
    text_capture_take_type(capture, &source->header, source->content_type);
    Result rc = take_body(source, capture);
    if (rc == RESULT_OK) {
        take_facts(source, capture);
    }
    return rc;
}

Result text_source_judge(TextSource *source, bool *wanted)
{
    TextCapture capture;
    *wanted = text_source_is_meant(source);
    if (!*wanted || source->wanted->where == NULL) {
        return RESULT_OK;
    }
    Result rc = text_source_take(source, &capture);
    *wanted = rc == RESULT_OK && text_source_passes(source, &capture);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

WarcBytes text_source_member(const TextSource *source)
{
    return warc_reader_member(source->reader, &source->record);
}
