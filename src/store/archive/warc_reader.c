#include "store/archive/warc_reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/ascii.h"
#include "base/thread/log.h"
#include "parse/host/ip_address.h"
#include "store/warc/warc_head.h"

#define RECORD_LIMIT ((size_t)1 << 30)

struct WarcReader {
    const char *map; /* NULL when the file is empty */
    uint64_t size;
    uint64_t offset;
    WarcDecompressor *decompressor;
    WarcHasher *hasher;
    Buffer data; /* the current record, uncompressed */
    char problem[256];
};

Result warc_reader_open(WarcReader **reader, const char *path)
{
    *reader = NULL;
    WarcReader *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return RESULT_MEMORY;
    }
    buffer_init(&r->data, RECORD_LIMIT);
    Result rc = file_map(AT_FDCWD, path, &r->map, &r->size);
    if (rc == RESULT_OK) {
        rc = warc_decompressor_new(&r->decompressor);
    }
    if (rc == RESULT_OK) {
        rc = warc_hasher_new(&r->hasher);
    }
    if (rc != RESULT_OK) {
        warc_reader_close(r);
        return rc;
    }
    *reader = r;
    return RESULT_OK;
}

Result warc_reader_open_in(WarcReader **reader, const char *directory, const char *name)
{
    Path path;
    Result rc = RESULT_NOT_FOUND;
    for (int look = 0; look < 3 && rc == RESULT_NOT_FOUND; look++) {
        /* The third time: it may have been finished between the two looks. */
        rc = warc_reader_open(reader, warc_path(&path, directory, name, look == 1));
    }
    return rc;
}

void warc_reader_close(WarcReader *reader)
{
    if (reader == NULL) {
        return;
    }
    file_unmap(reader->map, reader->size);
    warc_decompressor_delete(reader->decompressor);
    warc_hasher_delete(reader->hasher);
    buffer_destroy(&reader->data);
    free(reader);
}

uint64_t warc_reader_size(const WarcReader *reader)
{
    return reader->size;
}

void warc_reader_seek(WarcReader *reader, uint64_t offset)
{
    reader->offset = offset;
}

const char *warc_reader_problem(const WarcReader *reader)
{
    return reader->problem;
}

static Result warc_reader_damaged(WarcReader *reader, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static Result warc_reader_damaged(WarcReader *reader, uint64_t offset, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = snprintf(reader->problem, sizeof reader->problem, "offset %" PRIu64 ": ", offset);
    (void)vsnprintf(reader->problem + n, sizeof reader->problem - (size_t)n, format, arguments);
    va_end(arguments);
    return RESULT_DAMAGED;
}

/* Decompresses the record at offset into data. */
static Result warc_reader_read_member(WarcReader *reader, uint64_t offset, uint64_t *length)
{
    size_t used = 0;
    Result rc = warc_decompressor_read(reader->decompressor, reader->map + offset,
                                       (size_t)(reader->size - offset), &reader->data, &used);
    *length = used;
    return rc == RESULT_DAMAGED
               ? warc_reader_damaged(reader, offset, "no complete compressed record")
               : rc;
}

static bool is_token(WarcBytes name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < name.length; i++) {
        char c = name.bytes[i];
        if (!ascii_is_digit(c) && !ascii_is_letter(c) && (c == '\0' || strchr(others, c) == NULL)) {
            return false;
        }
    }
    return name.length > 0;
}

static bool may_repeat(WarcBytes name)
{
    return warc_bytes_are(name, "warc-concurrent-to") || warc_bytes_are(name, "warc-protocol");
}

static bool has_controls(WarcBytes text)
{
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return true;
        }
    }
    return false;
}

/* Adds one "name: value" line to the record. */
static Result warc_reader_add_field(WarcReader *reader, WarcRecord *record, WarcBytes line)
{
    uint64_t at = record->offset;
    const char *colon = memchr(line.bytes, ':', line.length);
    WarcBytes name = warc_bytes(line.bytes, colon == NULL ? 0 : (size_t)(colon - line.bytes));
    if (!is_token(name)) {
        return warc_reader_damaged(reader, at, "bad named field");
    }
    WarcBytes value = warc_bytes_trim(warc_bytes(colon + 1, line.length - name.length - 1));
    if (has_controls(value)) {
        return warc_reader_damaged(reader, at, "control character in %.*s", (int)name.length,
                                   name.bytes);
    }
    for (size_t i = 0; i < record->n_fields && !may_repeat(name); i++) {
        WarcBytes other = record->fields[i].name;
        if (other.length == name.length && strncasecmp(other.bytes, name.bytes, name.length) == 0) {
            return warc_reader_damaged(reader, at, "%.*s repeated", (int)name.length, name.bytes);
        }
    }
    if (record->n_fields == WARC_MAX_FIELDS) {
        return warc_reader_damaged(reader, at, "too many named fields");
    }
    record->fields[record->n_fields++] = (WarcField){.name = name, .value = value};
    return RESULT_OK;
}

/* Reads the record header; *block = where the block starts. */
static Result warc_reader_read_header(WarcReader *reader, WarcRecord *record, size_t *block)
{
    static const char version[] = "WARC/1.1\r\n";
    const char *text = reader->data.data;
    const char *end = text + reader->data.length;
    size_t n_version = sizeof version - 1;
    if (reader->data.length < n_version || memcmp(text, version, n_version) != 0) {
        return warc_reader_damaged(reader, record->offset, "does not start with WARC/1.1");
    }
    const char *at = text + n_version;
    for (;;) {
        const char *lf = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        if (lf == NULL || lf == at || lf[-1] != '\r') {
            return warc_reader_damaged(reader, record->offset, "record header without CRLF");
        }
        WarcBytes line = warc_bytes(at, (size_t)(lf - 1 - at));
        at = lf + 1;
        if (line.length == 0) {
            *block = (size_t)(at - text);
            return RESULT_OK;
        }
        Result rc = warc_reader_add_field(reader, record, line);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
}

bool warc_record_field(const WarcRecord *record, const char *name, WarcBytes *value)
{
    return warc_fields_find(record->fields, record->n_fields, name, value);
}

/* The fields every record must have, and the URI that some must and some must not. */
static Result read_mandatory(WarcReader *reader, WarcRecord *record, uint64_t *length)
{
    uint64_t at = record->offset;
    WarcBytes value;
    if (!warc_record_field(record, "warc-type", &value)) {
        return warc_reader_damaged(reader, at, "no WARC-Type");
    }
    record->type = warc_type_of(value);
    if (record->type == WARC_TYPES) {
        return warc_reader_damaged(reader, at, "unknown WARC-Type");
    }
    if (!warc_record_field(record, "warc-record-id", &value) ||
        !warc_id_parse(value, &record->id)) {
        return warc_reader_damaged(reader, at, "no or bad WARC-Record-ID");
    }
    if (!warc_record_field(record, "warc-date", &value) || !warc_date_parse(value, &record->date)) {
        return warc_reader_damaged(reader, at, "no or bad WARC-Date");
    }
    if (!warc_record_field(record, "content-length", &value) ||
        !warc_bytes_number(value, RECORD_LIMIT, length)) {
        return warc_reader_damaged(reader, at, "no or bad Content-Length");
    }
    record->uri = warc_bytes("", 0);
    bool has_uri = warc_record_field(record, "warc-target-uri", &record->uri);
    bool wants_uri = record->type != WARC_WARCINFO && record->type != WARC_METADATA;
    if ((has_uri && record->type == WARC_WARCINFO) || (!has_uri && wants_uri)) {
        return warc_reader_damaged(reader, at, "WARC-Target-URI missing or out of place");
    }
    if (has_uri &&
        (record->uri.length == 0 || memchr(record->uri.bytes, ' ', record->uri.length))) {
        return warc_reader_damaged(reader, at, "bad WARC-Target-URI");
    }
    if (record->type == WARC_REVISIT && !warc_record_field(record, "warc-profile", &value)) {
        return warc_reader_damaged(reader, at, "revisit without WARC-Profile");
    }
    if (warc_record_field(record, "warc-ip-address", &value)) {
        IpAddress ip;
        if (ip_address_parse(value.bytes, value.length, &ip) != RESULT_OK || *value.bytes == '[') {
            return warc_reader_damaged(reader, at, "bad WARC-IP-Address");
        }
    }
    return RESULT_OK;
}

/* Takes an HTTP block apart. */
static Result read_http(WarcReader *reader, WarcRecord *record)
{
    WarcBytes type = {.bytes = NULL};
    record->is_http = false;
    record->payload = record->block;
    bool message = record->type == WARC_RESPONSE || record->type == WARC_REQUEST ||
                   record->type == WARC_REVISIT;
    if (!message || !warc_record_field(record, "content-type", &type) || type.length < 16 ||
        strncasecmp(type.bytes, "application/http", 16) != 0) {
        return RESULT_OK;
    }
    Result rc = record->type == WARC_REQUEST
                    ? warc_http_parse_request(record->block, &record->http)
                    : warc_http_parse_response(record->block, &record->http);
    if (rc != RESULT_OK) {
        return warc_reader_damaged(reader, record->offset, "the block is no HTTP message");
    }
    record->is_http = true;
    record->payload = warc_bytes(record->block.bytes + record->http.header_length,
                                 record->block.length - record->http.header_length);
    return RESULT_OK;
}

Result warc_reader_next(WarcReader *reader, WarcRecord *record)
{
    uint64_t length = 0;
    size_t block = 0;
    record->offset = reader->offset;
    record->n_fields = 0;
    if (reader->offset >= reader->size) {
        return reader->offset == reader->size
                   ? RESULT_NOT_FOUND
                   : warc_reader_damaged(reader, reader->offset, "beyond the end of the file");
    }
    Result rc = warc_reader_read_member(reader, reader->offset, &record->length);
    if (rc == RESULT_OK) {
        rc = warc_reader_read_header(reader, record, &block);
    }
    if (rc == RESULT_OK) {
        rc = read_mandatory(reader, record, &length);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    const Buffer *data = &reader->data;
    if (data->length - block != length + 4 ||
        memcmp(data->data + data->length - 4, "\r\n\r\n", 4) != 0) {
        return warc_reader_damaged(reader, record->offset,
                                   "Content-Length does not fit the record");
    }
    record->block = warc_bytes(data->data + block, (size_t)length);
    rc = read_http(reader, record);
    if (rc == RESULT_OK) {
        reader->offset += record->length;
    }
    return rc;
}

WarcBytes warc_reader_member(const WarcReader *reader, const WarcRecord *record)
{
    return warc_bytes(reader->map + record->offset, (size_t)record->length);
}

/* Whether a record begins at offset. */
static bool warc_reader_begins_record(WarcReader *reader, uint64_t offset)
{
    static const char version[] = "WARC/1.";
    uint64_t length = 0;
    const char *p = reader->map + offset;
    uint64_t left = reader->size - offset;
    return (warc_compression_begins(WARC_GZIP, p, left) ||
            warc_compression_begins(WARC_ZSTD, p, left)) &&
           warc_reader_read_member(reader, offset, &length) == RESULT_OK &&
           reader->data.length >= sizeof version - 1 &&
           memcmp(reader->data.data, version, sizeof version - 1) == 0;
}

Result warc_reader_resync(WarcReader *reader, uint64_t *passed)
{
    uint64_t start = reader->offset < reader->size ? reader->offset : reader->size;
    uint64_t offset = start + 1;
    while (offset < reader->size && !warc_reader_begins_record(reader, offset)) {
        offset++;
    }
    bool found = offset < reader->size;
    reader->offset = found ? offset : reader->size;
    *passed = reader->offset - start;
    return found ? RESULT_OK : RESULT_NOT_FOUND;
}

static Result check_digest(WarcReader *reader, const WarcRecord *record, const char *field,
                           WarcBytes bytes)
{
    WarcBytes value;
    WarcDigest said;
    WarcDigest is;
    if (!warc_record_field(record, field, &value)) {
        return RESULT_OK;
    }
    if (!warc_digest_parse(value, &said)) {
        return warc_reader_damaged(reader, record->offset, "bad %s", field);
    }
    Result rc = warc_hasher_digest(reader->hasher, bytes, warc_bytes("", 0), &is);
    if (rc == RESULT_OK && memcmp(&said, &is, sizeof is) != 0) {
        return warc_reader_damaged(reader, record->offset, "%s does not match", field);
    }
    return rc;
}

Result warc_reader_check(WarcReader *reader, const WarcRecord *record)
{
    WarcBytes value;
    bool truncated = warc_record_field(record, "warc-truncated", &value);
    Result rc = check_digest(reader, record, "warc-block-digest", record->block);
    if (rc == RESULT_OK && record->type != WARC_REVISIT) {
        rc = check_digest(reader, record, "warc-payload-digest", record->payload);
    }
    if (rc == RESULT_OK && record->type == WARC_RESPONSE && record->is_http) {
        /* A header that agrees with its body comes out of the writer's own repair unchanged. */
        Buffer mended = {.limit = RECORD_LIMIT};
        WarcBytes header = warc_bytes(record->block.bytes, record->http.header_length);
        rc = warc_http_response(header, record->payload,
                                truncated ? WARC_TRUNCATED_UNSPECIFIED : WARC_WHOLE, &mended);
        if (rc == RESULT_OK && (mended.length != header.length ||
                                memcmp(mended.data, header.bytes, header.length) != 0)) {
            rc = warc_reader_damaged(reader, record->offset, "HTTP header and body disagree");
        }
        buffer_destroy(&mended);
    }
    return rc;
}

Result warc_record_index(const WarcRecord *record, const char *filename, Buffer *out)
{
    WarcDigest digest;
    WarcBytes value;
    bool capture = record->type == WARC_RESPONSE || record->type == WARC_REVISIT ||
                   record->type == WARC_RESOURCE || record->type == WARC_CONVERSION;
    if (!capture) {
        return RESULT_NOT_FOUND;
    }
    CdxjFacts facts = {.url = record->uri,
                       .date = record->date,
                       .type = record->type,
                       .status = record->is_http ? record->http.status : 0,
                       .mime = record->is_http ? record->http.content_type : warc_bytes("", 0),
                       .usage = warc_bytes("", 0),
                       .digest = NULL};
    if (!record->is_http && warc_record_field(record, "content-type", &value)) {
        size_t n = 0;
        while (n < value.length && value.bytes[n] != ';' && value.bytes[n] != ' ') {
            n++;
        }
        facts.mime = warc_bytes(value.bytes, n);
    }
    if (warc_record_field(record, "warc-payload-digest", &value) &&
        warc_digest_parse(value, &digest)) {
        facts.digest = &digest;
    }
    (void)warc_record_field(record, "warc-usage", &facts.usage);
    Result rc = cdxj_append_facts(out, &facts);
    return rc == RESULT_OK ? cdxj_append_place(out, record->length, record->offset, filename) : rc;
}

/* ---- Loading an answer ---- */

#define COMPONENT "warc"

void warc_answer_init(WarcAnswer *answer)
{
    *answer = (WarcAnswer){.status = 0};
    buffer_init(&answer->header, BUFFER_NO_LIMIT);
    buffer_init(&answer->body, BUFFER_NO_LIMIT);
}

void warc_answer_destroy(WarcAnswer *answer)
{
    buffer_destroy(&answer->header);
    buffer_destroy(&answer->body);
}

/* Reads the record that the index names, and checks that it is the one. */
static Result warc_load_read_capture(WarcReader **out, const char *directory,
                                     const CdxjCapture *capture, WarcBytes url, WarcRecord *record)
{
    *record = (WarcRecord){.offset = 0};
    Result rc = warc_reader_open_in(out, directory, capture->filename);
    if (rc != RESULT_OK) {
        return rc;
    }
    WarcReader *reader = *out;
    warc_reader_seek(reader, capture->offset);
    rc = warc_reader_next(reader, record);
    if (rc == RESULT_OK) {
        rc = warc_reader_check(reader, record);
    }
    if (rc == RESULT_DAMAGED) {
        LOG_ERROR(COMPONENT, "record is damaged", "file=%s problem=\"%s\"", capture->filename,
                  warc_reader_problem(reader));
    }
    if (rc == RESULT_OK && record->type == WARC_CONVERSION) {
        url = cdxj_plain_url(url);
    }
    if (rc == RESULT_NOT_FOUND ||
        (rc == RESULT_OK && (record->uri.bytes == NULL || record->uri.length != url.length ||
                             memcmp(record->uri.bytes, url.bytes, url.length) != 0))) {
        LOG_ERROR(COMPONENT, "index is wrong", "file=%s offset=%llu", capture->filename,
                  (unsigned long long)capture->offset);
        rc = RESULT_DAMAGED;
    }
    return rc;
}

/* ---- the record that a revisit refers to ---- */

typedef struct OriginalSearch {
    char timestamp[CLOCK_TEXT_BYTES];
    const WarcDigest *payload; /* NULL: nothing is said */
    bool only_same;            /* another payload is another record */
    CdxjCapture *capture;
} OriginalSearch;

/* An index tells captures of a URL apart by their second, in which there may be several: the
 * payload says which it is. */
static bool take_original(void *context, const CdxjEntry *entry)
{
    OriginalSearch *search = context;
    WarcDigest digest;
    if (warc_bytes_are(entry->mime, "warc/revisit") ||
        memcmp(entry->timestamp.bytes, search->timestamp, entry->timestamp.length) != 0) {
        return true;
    }
    bool is_told = search->payload != NULL && warc_digest_parse(entry->digest, &digest);
    bool is_same = is_told && memcmp(&digest, search->payload, sizeof digest) == 0;
    if (is_told && !is_same && search->only_same) {
        return true;
    }
    if (is_same) {
        *search->capture = (CdxjCapture){.offset = 0};
    }
    (void)cdxj_capture_take(search->capture, entry);
    return !is_same;
}

static Result search_original(const char *directory, WarcBytes uri, WallTime date,
                              OriginalSearch *search)
{
    (void)wall_format_seconds(date, search->timestamp);
    return cdxj_find_capture(directory, uri.bytes, uri.length, take_original, search,
                             search->capture);
}

Result warc_load_payload(const char *directory, const char *url, size_t length, WallTime date,
                         const WarcDigest *payload, WarcAnswer *answer)
{
    CdxjCapture capture;
    OriginalSearch search = {.payload = payload, .only_same = true, .capture = &capture};
    Result rc = search_original(directory, warc_bytes(url, length), date, &search);
    return rc == RESULT_OK ? warc_load_capture(directory, &capture, url, length, answer) : rc;
}

Result warc_load_find_original(const char *directory, const WarcRecord *revisit,
                               CdxjCapture *capture)
{
    WarcBytes uri;
    WarcBytes date;
    WarcBytes value;
    WarcBytes profile;
    WallTime t;
    WarcDigest payload;
    OriginalSearch search = {.capture = capture};
    if (!warc_record_field(revisit, "warc-refers-to-target-uri", &uri) ||
        !warc_record_field(revisit, "warc-refers-to-date", &date) || !warc_date_parse(date, &t)) {
        return RESULT_DAMAGED;
    }
    if (warc_record_field(revisit, "warc-payload-digest", &value) &&
        warc_digest_parse(value, &payload)) {
        search.payload = &payload;
    }
    /* Behind a 304 some programs write the digest of the empty body that came. */
    search.only_same = warc_record_field(revisit, "warc-profile", &profile) &&
                       memmem(profile.bytes, profile.length, "identical-payload", 17) != NULL;
    return search_original(directory, uri, t, &search);
}

Result warc_load_original(const char *directory, const WarcRecord *revisit, WarcAnswer *answer)
{
    WarcBytes uri = warc_bytes("", 0);
    CdxjCapture capture;
    WarcReader *reader = NULL;
    WarcRecord record;
    Result rc = warc_load_find_original(directory, revisit, &capture);
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)warc_record_field(revisit, "warc-refers-to-target-uri", &uri);
    rc = warc_load_read_capture(&reader, directory, &capture, uri, &record);
    if (rc == RESULT_OK) {
        WarcBytes truncated;
        answer->truncated = warc_record_field(&record, "warc-truncated", &truncated);
        rc = buffer_append(&answer->body, record.payload.bytes, record.payload.length);
    }
    warc_reader_close(reader);
    return rc;
}

Result warc_load_capture(const char *directory, const CdxjCapture *capture, const char *url,
                         size_t length, WarcAnswer *answer)
{
    WarcReader *reader = NULL;
    WarcRecord record;
    WarcBytes truncated;
    WarcBytes usage = warc_bytes("", 0);
    buffer_reset(&answer->header);
    buffer_reset(&answer->body);
    Result rc =
        warc_load_read_capture(&reader, directory, capture, warc_bytes(url, length), &record);
    if (rc == RESULT_OK && record.is_http) {
        rc = buffer_append(&answer->header, record.block.bytes, record.http.header_length);
    }
    if (rc == RESULT_OK) {
        answer->date = record.date;
        answer->id = record.id;
        answer->status = record.is_http ? record.http.status : 0;
        answer->revisit = record.type == WARC_REVISIT;
        (void)warc_record_field(&record, "warc-usage", &usage);
        (void)snprintf(answer->usage, sizeof answer->usage, "%.*s", (int)usage.length, usage.bytes);
        answer->truncated = warc_record_field(&record, "warc-truncated", &truncated);
        rc = answer->revisit
                 ? warc_load_original(directory, &record, answer)
                 : buffer_append(&answer->body, record.payload.bytes, record.payload.length);
    }
    warc_reader_close(reader);
    return rc;
}

Result warc_load_visit(const char *directory, const char *url, size_t length, int32_t status,
                       WallTime time, WarcAnswer *answer)
{
    CdxjCapture capture;
    Result rc = cdxj_of_visit(directory, url, length, status, time, &capture);
    return rc == RESULT_OK ? warc_load_capture(directory, &capture, url, length, answer) : rc;
}

Result warc_load(const char *directory, const char *url, size_t length, WarcAnswer *answer)
{
    CdxjCapture capture;
    Result rc = cdxj_newest(directory, url, length, true, &capture);
    return rc == RESULT_OK ? warc_load_capture(directory, &capture, url, length, answer) : rc;
}
