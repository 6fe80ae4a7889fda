#include "store/warc/warc_http.h"

#include <string.h>

#define RENAMED   "X-Archive-Orig-"
#define NO_FIELDS "X-Archive-Orig-Fields: none"

/* One line of a header block: text without its line end; next = behind it. */
typedef struct HeaderLine {
    WarcBytes text;
    const char *next;
    bool crlf;
} HeaderLine;

static HeaderLine line_at(const char *at, const char *end)
{
    size_t rest = (size_t)(end - at);
    const char *lf = rest == 0 ? NULL : memchr(at, '\n', rest);
    const char *stop = lf == NULL ? end : lf;
    HeaderLine line = {.next = lf == NULL ? end : lf + 1, .crlf = false};
    if (stop > at && stop[-1] == '\r') {
        line.crlf = lf != NULL;
        stop--;
    }
    line.text = warc_bytes(at, (size_t)(stop - at));
    return line;
}

/* The length of "HTTP/d" or "HTTP/d.d" at the start of text; 0 when it is not there. */
static size_t version_length(WarcBytes text)
{
    const char *s = text.bytes;
    if (text.length < 6 || memcmp(s, "HTTP/", 5) != 0 || s[5] < '0' || s[5] > '9') {
        return 0;
    }
    return text.length >= 8 && s[6] == '.' && s[7] >= '0' && s[7] <= '9' ? 8 : 6;
}

/* Splits a status line; the reason keeps its leading blank. */
static bool split_status(WarcBytes line, size_t *version, unsigned *status)
{
    uint64_t n = 0;
    size_t v = version_length(line);
    if (v == 0 || line.length < v + 4 || line.bytes[v] != ' ' ||
        !warc_bytes_number(warc_bytes(line.bytes + v + 1, 3), 999, &n) || n < 100 ||
        (line.length > v + 4 && line.bytes[v + 4] != ' ')) {
        return false;
    }
    *version = v;
    *status = (unsigned)n;
    return true;
}

/* True for versions that have a textual form: 1.0 and 1.1. */
static bool is_textual(const char *version, size_t length)
{
    return length == 8 && version[5] == '1';
}

static void warc_http_append_line(Buffer *out, WarcBytes line)
{
    buffer_append(out, line.bytes, line.length);
    buffer_append(out, "\r\n", 2);
}

/* A status line that libcurl takes but readers do not ("HTTP/1.1  200OK"): blanks are put right. */
static Result warc_http_append_sloppy_status(Buffer *out, WarcBytes line)
{
    size_t v = version_length(line);
    uint64_t status = 0;
    WarcBytes rest = warc_bytes_trim(warc_bytes(line.bytes + v, line.length - v));
    if (v == 0 || rest.length < 3 || rest.length == line.length - v ||
        !warc_bytes_number(warc_bytes(rest.bytes, 3), 999, &status) || status < 100) {
        return RESULT_INVALID;
    }
    WarcBytes reason = warc_bytes_trim(warc_bytes(rest.bytes + 3, rest.length - 3));
    buffer_printf(out, "HTTP/1.1 %u ", (unsigned)status);
    warc_http_append_line(out, reason);
    return RESULT_OK;
}

static Result warc_http_append_status(Buffer *out, WarcBytes line)
{
    size_t version = 0;
    unsigned status = 0;
    if (!split_status(line, &version, &status)) {
        return warc_http_append_sloppy_status(out, line);
    }
    if (!is_textual(line.bytes, version)) {
        buffer_append_string(out, "HTTP/1.1");
        line = warc_bytes(line.bytes + version, line.length - version);
    }
    warc_http_append_line(out, line);
    return RESULT_OK;
}

/* False for lines without a name: folded ones, garbage. */
static bool split_field(WarcBytes line, WarcField *field)
{
    return line.length > 0 && line.bytes[0] != ' ' && line.bytes[0] != '\t' &&
           warc_field_split(line, field);
}

static bool contradicts_gzip(WarcBytes body, WarcTruncation truncated)
{
    if (body.length == 0 || (body.length == 1 && truncated != WARC_WHOLE)) {
        return false;
    }
    return body.length == 1 || memcmp(body.bytes, "\x1f\x8b", 2) != 0;
}

/* Would this field contradict the body it is stored with? */
static bool contradicts(const WarcField *field, WarcBytes body, WarcTruncation truncated)
{
    switch (field->name.length) {
    case 17:
        return warc_bytes_are(field->name, "transfer-encoding");
    case 14: {
        uint64_t length = 0;
        return truncated == WARC_WHOLE && warc_bytes_are(field->name, "content-length") &&
               !(warc_bytes_number(field->value, UINT64_MAX, &length) && length == body.length);
    }
    case 16:
        return warc_bytes_are(field->name, "content-encoding") &&
               (warc_bytes_are(field->value, "gzip") || warc_bytes_are(field->value, "x-gzip")) &&
               contradicts_gzip(body, truncated);
    default:
        return false;
    }
}

/* The last of several header blocks: libcurl hands over 1xx answers before the one that counts.
 * What follows any other status are trailers of the chunks, whatever they look like. */
static WarcBytes last_block(WarcBytes header)
{
    const char *end = header.bytes + header.length;
    const char *start = header.bytes;
    const char *at = start;
    size_t version = 0;
    unsigned status = 0;
    while (at < end) {
        HeaderLine line = line_at(at, end);
        bool interim = split_status(line.text, &version, &status) && status < 200;
        start = at;
        while (line.text.length > 0 && line.next < end) {
            line = line_at(line.next, end);
        }
        if (!interim || line.next == end) {
            break;
        }
        at = line.next;
    }
    return warc_bytes(start, (size_t)(end - start));
}

Result warc_http_response(WarcBytes header, WarcBytes body, WarcTruncation truncated, Buffer *out)
{
    if (header.length == 0) {
        return RESULT_INVALID;
    }
    WarcBytes block = last_block(header);
    const char *end = block.bytes + block.length;
    HeaderLine line = line_at(block.bytes, end);
    size_t before = out->length;
    Result rc = warc_http_append_status(out, line.text);
    if (rc != RESULT_OK) {
        return rc;
    }
    size_t first = out->length;
    for (const char *at = line.next; at < end; at = line.next) {
        line = line_at(at, end);
        if (line.text.length == 0) {
            break; /* what follows are trailers of the chunks: no part of the header */
        }
        WarcField field;
        if (split_field(line.text, &field) && contradicts(&field, body, truncated)) {
            buffer_append_string(out, RENAMED);
        }
        warc_http_append_line(out, line.text);
    }
    if (out->length == first) {
        buffer_append_string(out, NO_FIELDS "\r\n");
    }
    buffer_append(out, "\r\n", 2);
    return buffer_end(out, before);
}

bool warc_http_is_conditional(WarcBytes header)
{
    const char *end = header.bytes + header.length;
    for (const char *at = header.bytes; at < end;) {
        HeaderLine line = line_at(at, end);
        WarcField field;
        if (split_field(line.text, &field) && (warc_bytes_are(field.name, "if-none-match") ||
                                               warc_bytes_are(field.name, "if-modified-since"))) {
            return true;
        }
        at = line.next;
    }
    return false;
}

/* Where the version of a request line starts; 0 when the line is none ("GET /x HTTP/1.1"). */
static size_t request_version(WarcBytes line)
{
    const char *first = line.length == 0 ? NULL : memchr(line.bytes, ' ', line.length);
    const char *last = line.length == 0 ? NULL : memrchr(line.bytes, ' ', line.length);
    if (first == NULL || first == line.bytes || last < first + 2 ||
        memchr(first + 1, ' ', (size_t)(last - first - 1)) != NULL) {
        return 0;
    }
    for (const char *c = line.bytes; c < first; c++) {
        if (*c < 'A' || *c > 'Z') {
            return 0;
        }
    }
    size_t at = (size_t)(last + 1 - line.bytes);
    WarcBytes version = warc_bytes(last + 1, line.length - at);
    return version.length > 0 && version_length(version) == version.length ? at : 0;
}

Result warc_http_request(WarcBytes header, Buffer *out)
{
    const char *end = header.bytes + header.length;
    if (header.length == 0) {
        return RESULT_INVALID;
    }
    HeaderLine line = line_at(header.bytes, end);
    size_t version = request_version(line.text);
    if (version == 0) {
        return RESULT_INVALID;
    }
    WarcBytes request = line.text;
    bool textual = is_textual(request.bytes + version, request.length - version);
    if (!textual) {
        request.length = version;
    }
    size_t before = out->length;
    buffer_append(out, request.bytes, request.length);
    buffer_append_string(out, textual ? "\r\n" : "HTTP/1.1\r\n");
    for (const char *at = line.next; at < end; at = line.next) {
        line = line_at(at, end);
        if (line.text.length == 0) {
            break;
        }
        warc_http_append_line(out, line.text);
    }
    buffer_append(out, "\r\n", 2);
    return buffer_end(out, before);
}

/* Fields of a stored block, up to its empty line. */
static Result parse_fields(WarcBytes block, HeaderLine line, WarcHttp *http)
{
    const char *end = block.bytes + block.length;
    http->content_type = warc_bytes("", 0);
    while (line.next < end) {
        line = line_at(line.next, end);
        if (!line.crlf) {
            return RESULT_INVALID;
        }
        WarcField field;
        if (line.text.length == 0) {
            http->header_length = (size_t)(line.next - block.bytes);
            return RESULT_OK;
        }
        if (http->content_type.length == 0 && split_field(line.text, &field) &&
            warc_bytes_are(field.name, "content-type")) {
            const char *parameters =
                field.value.length == 0 ? NULL : memchr(field.value.bytes, ';', field.value.length);
            if (parameters != NULL) {
                field.value.length = (size_t)(parameters - field.value.bytes);
            }
            http->content_type = warc_bytes_trim(field.value);
        }
    }
    return RESULT_INVALID;
}

Result warc_http_parse_response(WarcBytes block, WarcHttp *http)
{
    size_t version = 0;
    HeaderLine line = line_at(block.bytes, block.bytes + block.length);
    if (!line.crlf || !split_status(line.text, &version, &http->status)) {
        return RESULT_INVALID;
    }
    return parse_fields(block, line, http);
}

Result warc_http_parse_request(WarcBytes block, WarcHttp *http)
{
    HeaderLine line = line_at(block.bytes, block.bytes + block.length);
    http->status = 0;
    if (!line.crlf || request_version(line.text) == 0) {
        return RESULT_INVALID;
    }
    return parse_fields(block, line, http);
}
