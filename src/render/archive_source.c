#include "render/archive_source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "parse/http/decode.h"
#include "parse/url/url.h"
#include "store/archive/warc_reader.h"

#define SOURCE_MAX_RATIO 200u
#define SOURCE_DICE      8u /* characters of a value that looks like a clock or dice */

typedef struct SourceEntry {
    struct SourceEntry *next; /* newest use first */
    char *url;
    unsigned status;
    Buffer header;
    Buffer body;
    WallTime date;
    WarcId id;
    int64_t visit_us; /* for which it was loaded */
    bool was_put;
} SourceEntry;

struct ArchiveSource {
    char *directory;
    Decoder *decoder;
    Url url;
    SourceEntry *entries;
    size_t bytes;
    size_t memory_bytes;
    uint64_t n_near;
    uint64_t n_damaged;
};

Result archive_source_new(ArchiveSource **source, const char *directory, size_t memory_bytes)
{
    ArchiveSource *s = calloc(1, sizeof *s);
    *source = NULL;
    if (s == NULL) {
        return RESULT_MEMORY;
    }
    url_init(&s->url);
    s->memory_bytes = memory_bytes;
    s->directory = strdup(directory);
    if (s->directory == NULL || decoder_new(&s->decoder) != RESULT_OK) {
        archive_source_delete(s);
        return RESULT_MEMORY;
    }
    *source = s;
    return RESULT_OK;
}

static void source_entry_delete(SourceEntry *entry)
{
    if (entry != NULL) {
        free(entry->url);
        buffer_destroy(&entry->header);
        buffer_destroy(&entry->body);
        free(entry);
    }
}

void archive_source_delete(ArchiveSource *source)
{
    if (source == NULL) {
        return;
    }
    while (source->entries != NULL) {
        SourceEntry *entry = source->entries;
        source->entries = entry->next;
        source_entry_delete(entry);
    }
    decoder_delete(source->decoder);
    url_destroy(&source->url);
    free(source->directory);
    free(source);
}

uint64_t archive_source_near(const ArchiveSource *source)
{
    return source->n_near;
}

uint64_t archive_source_damaged(const ArchiveSource *source)
{
    return source->n_damaged;
}

/* ---- values that look like a clock or like dice ---- */

static bool source_is_dice(const char *value, size_t length)
{
    bool has_digit = false;
    if (length < SOURCE_DICE) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        if (!isalnum(c) && c != '.' && c != '-' && c != '_') {
            return false;
        }
        has_digit = has_digit || isdigit(c);
    }
    return has_digit;
}

bool archive_source_is_near(const char *a, const char *b)
{
    const char *query = strchr(a, '?');
    size_t path = query == NULL ? 0 : (size_t)(query - a) + 1;
    if (path == 0 || strncmp(a, b, path) != 0) {
        return false;
    }
    a += path;
    b += path;
    for (;;) {
        size_t length_a = strcspn(a, "&");
        size_t length_b = strcspn(b, "&");
        if (length_a != length_b || memcmp(a, b, length_a) != 0) {
            size_t name_a = strcspn(a, "=&");
            size_t name_b = strcspn(b, "=&");
            size_t value_a = name_a < length_a ? name_a + 1 : 0; /* a query without names is one */
            size_t value_b = name_b < length_b ? name_b + 1 : 0; /* value */
            if (value_a != value_b || memcmp(a, b, value_a) != 0 ||
                !source_is_dice(a + value_a, length_a - value_a) ||
                !source_is_dice(b + value_b, length_b - value_b)) {
                return false;
            }
        }
        a += length_a;
        b += length_b;
        if (*a == '\0' || *b == '\0') {
            return *a == *b;
        }
        a++;
        b++;
    }
}

/* ---- what is kept ---- */

static size_t source_entry_bytes(const SourceEntry *entry)
{
    return sizeof *entry + strlen(entry->url) + entry->header.capacity + entry->body.capacity;
}

/* A page may have been visited again since its answer was kept. */
static bool source_is(const SourceEntry *entry, const char *url, ArchiveVisit visit)
{
    return strcmp(entry->url, url) == 0 && (entry->was_put || entry->visit_us == visit.time.us);
}

/* Moves an entry to the front. */
static SourceEntry *source_find(ArchiveSource *source, const char *url, ArchiveVisit visit)
{
    SourceEntry **link = &source->entries;
    while (*link != NULL && !source_is(*link, url, visit)) {
        link = &(*link)->next;
    }
    SourceEntry *entry = *link;
    if (entry != NULL) {
        *link = entry->next;
        entry->next = source->entries;
        source->entries = entry;
    }
    return entry;
}

/* Keeps an entry, in place of those that were used longest ago. */
static void source_keep(ArchiveSource *source, SourceEntry *entry)
{
    entry->next = source->entries;
    source->entries = entry;
    source->bytes += source_entry_bytes(entry);
    while (source->bytes > source->memory_bytes) {
        SourceEntry **last = NULL;
        for (SourceEntry **link = &entry->next; *link != NULL; link = &(*link)->next) {
            last = (*link)->was_put ? last : link;
        }
        if (last == NULL) {
            return; /* what is asked for now is kept in any case */
        }
        SourceEntry *gone = *last;
        *last = gone->next;
        source->bytes -= source_entry_bytes(gone);
        source_entry_delete(gone);
    }
}

static SourceEntry *source_entry_new(const char *url)
{
    SourceEntry *entry = calloc(1, sizeof *entry);
    if (entry == NULL) {
        return NULL;
    }
    buffer_init(&entry->header, (size_t)1 << 20);
    buffer_init(&entry->body, ARCHIVE_SOURCE_ANSWER_BYTES);
    entry->url = strdup(url);
    if (entry->url == NULL) {
        source_entry_delete(entry);
        return NULL;
    }
    return entry;
}

Result archive_source_put(ArchiveSource *source, const char *url, const RenderAnswer *answer)
{
    SourceEntry *entry = source_entry_new(url);
    if (entry == NULL) {
        return RESULT_MEMORY;
    }
    entry->status = answer->status;
    entry->was_put = true;
    Result rc = buffer_append(&entry->header, answer->header, answer->header_length);
    if (rc == RESULT_OK) {
        rc = buffer_append(&entry->body, answer->body, answer->length);
    }
    if (rc != RESULT_OK) {
        source_entry_delete(entry);
        return rc;
    }
    source_keep(source, entry);
    return RESULT_OK;
}

/* ---- the archive ---- */

static Result source_decode(ArchiveSource *source, const WarcAnswer *answer, SourceEntry *entry)
{
    HttpHeader header;
    HttpField field = {.value = NULL, .value_length = 0};
    Result rc =
        buffer_append(&entry->header, buffer_string(&answer->header), answer->header.length);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (http_header_parse(&header, buffer_string(&entry->header), entry->header.length) ==
        RESULT_OK) {
        (void)http_header_find(&header, "Content-Encoding", &field);
    }
    DecodeStatus status = decode_content(source->decoder, field.value, field.value_length,
                                         buffer_string(&answer->body), answer->body.length,
                                         &entry->body, SOURCE_MAX_RATIO);
    return status == DECODE_MEMORY ? RESULT_MEMORY : RESULT_OK;
}

static Result source_load(ArchiveSource *source, const char *url, ArchiveVisit visit,
                          SourceEntry **loaded)
{
    WarcAnswer answer;
    *loaded = NULL;
    warc_answer_init(&answer);
    Result rc =
        warc_load_visit(source->directory, url, strlen(url), visit.status, visit.time, &answer);
    SourceEntry *entry = rc == RESULT_OK ? source_entry_new(url) : NULL;
    if (rc == RESULT_OK && entry == NULL) {
        rc = RESULT_MEMORY;
    }
    if (rc == RESULT_OK) {
        entry->status = answer.status;
        entry->date = answer.date;
        entry->id = answer.id;
        entry->visit_us = visit.time.us;
        rc = source_decode(source, &answer, entry);
    }
    warc_answer_destroy(&answer);
    if (rc != RESULT_OK) {
        source_entry_delete(entry);
        return rc;
    }
    source_keep(source, entry);
    *loaded = entry;
    return RESULT_OK;
}

typedef struct SourceNear {
    const char *url;
    char *found; /* the newest that is near */
    char timestamp[16];
} SourceNear;

static bool source_look_near(void *context, const CdxjEntry *entry)
{
    SourceNear *near = context;
    size_t path = strcspn(near->url, "?") + 1;
    if (entry->url.length <= path || memcmp(entry->url.bytes, near->url, path) != 0 ||
        entry->timestamp.length >= sizeof near->timestamp) {
        return true;
    }
    char *url = strndup(entry->url.bytes, entry->url.length);
    bool is_newer = url != NULL && archive_source_is_near(near->url, url) &&
                    strncmp(entry->timestamp.bytes, near->timestamp, entry->timestamp.length) > 0;
    if (is_newer) {
        free(near->found);
        near->found = url;
        memcpy(near->timestamp, entry->timestamp.bytes, entry->timestamp.length);
        near->timestamp[entry->timestamp.length] = '\0';
    } else {
        free(url);
    }
    return true;
}

/* Only for a URL whose query has such a value at all, since every index is read. */
static Result source_load_near(ArchiveSource *source, const char *url, SourceEntry **loaded)
{
    SourceNear near = {.url = url};
    ArchiveVisit newest = {.status = 0};
    const char *value = strchr(url, '?');
    bool has_dice = false;
    *loaded = NULL;
    while (value != NULL && *value != '\0' && !has_dice) {
        value += strcspn(value, "?=&") + 1;
        has_dice = source_is_dice(value, strcspn(value, "=&"));
        value += strcspn(value, "=&");
    }
    if (!has_dice) {
        return RESULT_NOT_FOUND;
    }
    (void)cdxj_walk(source->directory, source_look_near, &near);
    if (near.found == NULL) {
        return RESULT_NOT_FOUND;
    }
    *loaded = source_find(source, near.found, newest);
    Result rc = *loaded != NULL ? RESULT_OK : source_load(source, near.found, newest, loaded);
    source->n_near += rc == RESULT_OK;
    free(near.found);
    return rc;
}

static Result source_get(ArchiveSource *source, const char *url, ArchiveVisit visit,
                         SourceEntry **entry)
{
    *entry = NULL;
    Result rc = url_parse(&source->url, NULL, url, strlen(url));
    if (rc != RESULT_OK) {
        return rc;
    }
    *entry = source_find(source, source->url.href, visit);
    if (*entry != NULL) {
        return RESULT_OK;
    }
    rc = source_load(source, source->url.href, visit, entry);
    return rc == RESULT_NOT_FOUND ? source_load_near(source, source->url.href, entry) : rc;
}

Result archive_source_date(ArchiveSource *source, const char *url, ArchiveVisit visit,
                           WallTime *date, WarcId *id)
{
    SourceEntry *entry = NULL;
    Result rc = source_get(source, url, visit, &entry);
    if (rc == RESULT_OK) {
        *date = entry->date;
        *id = entry->id;
    }
    return rc;
}

/* The value of the Cookie line of a request. */
static Result source_take_cookies(WarcBytes request, Buffer *cookies)
{
    static const char name[] = "cookie:";
    const char *end = request.bytes + request.length;
    for (const char *line = request.bytes; line < end;) {
        const char *lf = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((lf == NULL ? end : lf) - line);
        if (length >= sizeof name && strncasecmp(line, name, sizeof name - 1) == 0) {
            line += sizeof name - 1;
            length -= sizeof name - 1;
            size_t blanks = strspn(line, " ");
            length -= blanks + (line[length - 1] == '\r');
            bool is_masked = length >= 3 && memcmp(line + blanks, "***", 3) == 0;
            return is_masked ? RESULT_OK : buffer_append(cookies, line + blanks, length);
        }
        line += length + 1;
    }
    return RESULT_OK;
}

void archive_source_cookies(ArchiveSource *source, const char *url, ArchiveVisit visit,
                            Buffer *cookies)
{
    CdxjCapture capture;
    WarcReader *reader = NULL;
    WarcRecord record = {.length = 0};
    size_t length = strlen(url);
    Result rc = cdxj_of_visit(source->directory, url, length, visit.status, visit.time, &capture);
    if (rc == RESULT_OK) {
        rc = warc_reader_open_in(&reader, source->directory, capture.filename);
    }
    if (rc == RESULT_OK) {
        warc_reader_seek(reader, capture.offset);
        rc = warc_reader_next(reader, &record);
    }
    if (rc == RESULT_OK) {
        rc = warc_reader_next(reader, &record); /* the request follows its answer */
    }
    if (rc == RESULT_OK && record.type == WARC_REQUEST && record.uri.length == length &&
        memcmp(record.uri.bytes, url, record.uri.length) == 0) {
        rc = source_take_cookies(record.block, cookies);
    }
    if (rc != RESULT_OK) {
        buffer_reset(cookies);
    }
    warc_reader_close(reader);
}

RenderVerdict archive_source_answer(ArchiveSource *source, const char *url, ArchiveVisit visit,
                                    RenderAnswer *answer)
{
    SourceEntry *entry = NULL;
    Result rc = source_get(source, url, visit, &entry);
    if (rc == RESULT_NOT_FOUND) {
        return RENDER_LACKING;
    }
    if (rc != RESULT_OK || entry->status < 200) {
        source->n_damaged += rc == RESULT_DAMAGED;
        return RENDER_GONE;
    }
    *answer = (RenderAnswer){.status = entry->status,
                             .header = buffer_string(&entry->header),
                             .header_length = entry->header.length,
                             .body = buffer_string(&entry->body),
                             .length = entry->body.length};
    return RENDER_ANSWERED;
}

RenderVerdict archive_source_ask(void *context, const char *url, RenderAnswer *answer)
{
    return archive_source_answer(context, url, (ArchiveVisit){.status = 0}, answer);
}
