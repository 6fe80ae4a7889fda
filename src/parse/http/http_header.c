#include "parse/http/http_header.h"

#include <string.h>
#include <strings.h>

#include "base/core/ascii.h"
#include "base/core/clock.h"

#define SNIFF_BYTES 1024u /* of a body, in which XHTML says what it is */

/* ---- HTTP response headers as they came over the wire ---- */

/* The end of the line that starts at p (at its LF, or end), and in *next the line behind it. */
static const char *http_header_line_end(const char *p, const char *end, const char **next)
{
    const char *lf = memchr(p, '\n', (size_t)(end - p));
    if (lf == NULL) {
        *next = end;
        return end;
    }
    *next = lf + 1;
    return lf > p && lf[-1] == '\r' ? lf - 1 : lf;
}

/* "HTTP/1.1 200 OK"; the version's second digit may be missing. */
static bool read_status_line(HttpHeader *header, const char *p, const char *end)
{
    /* Servers send "HTTP/2 200" and "http/1.0 200": the digits are read one by one, and any may
     * lack. */
    if (end - p < 5 || strncasecmp(p, "HTTP/", 5) != 0) {
        return false;
    }
    p += 5;
    unsigned digits[2] = {0, 0};
    for (int i = 0; i < 2 && p < end && *p >= '0' && *p <= '9'; i++) {
        digits[i] = (unsigned)(*p++ - '0');
        if (p < end && *p == '.') {
            p++;
        }
    }
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    unsigned status = 0;
    int n = 0;
    /* Four, so that a fourth digit is seen: "2000" is no status, rather than 200. */
    for (; p < end && *p >= '0' && *p <= '9' && n < 4; n++) {
        status = status * 10 + (unsigned)(*p++ - '0');
    }
    if (n != 3 || status < 100) {
        return false;
    }
    header->version = digits[0] * 10 + digits[1];
    header->status = status;
    return true;
}

/* The bit of a name's first letter, small or capital. */
static uint32_t http_header_initial(char first)
{
    /* The lowest five bits of a letter are its place in the alphabet, whatever its case. Other
     * bytes share bits with letters: a bit that is set says only that the lines must be looked
     * at. */
    return UINT32_C(1) << (first & 31);
}

Result http_header_parse(HttpHeader *header, const char *bytes, size_t length)
{
    *header = (HttpHeader){.status = 0};
    if (length == 0) {
        return RESULT_INVALID;
    }
    const char *p = bytes;
    const char *end = bytes + length;
    while (p < end && (*p == '\r' || *p == '\n')) {
        p++; /* left over from the response before */
    }
    /* Once around for each response: interim ones are read like any other, and the last one
     * stays. */
    for (;;) {
        const char *next = NULL;
        const char *stop = http_header_line_end(p, end, &next);
        if (!read_status_line(header, p, stop)) {
            *header = (HttpHeader){.status = 0};
            return RESULT_INVALID;
        }
        header->fields = next;
        header->is_complete = false;
        header->initials = 0;
        for (p = next; p < end; p = next) {
            stop = http_header_line_end(p, end, &next);
            /* A line that is empty and ended. Without its end the block was cut off here, and is
             * not complete. */
            if (stop == p && next > p) {
                header->is_complete = true;
                break;
            }
            header->initials |= http_header_initial(*p);
        }
        header->fields_length = (size_t)(p - header->fields);
        p = header->is_complete ? next : p;
        header->bytes = (size_t)(p - bytes);
        /* A 1xx that is all there is stands for itself: what follows has not come. */
        if (header->status >= 200 || p >= end) {
            return RESULT_OK;
        }
    }
}

static void http_header_trim(const char **start, const char **end)
{
    while (*start < *end && ascii_is_xml_space(**start)) {
        (*start)++;
    }
    while (*start < *end && ascii_is_xml_space((*end)[-1])) {
        (*end)--;
    }
}

bool http_header_next(const HttpHeader *header, size_t *position, HttpField *field)
{
    const char *end = header->fields + header->fields_length;
    const char *p = header->fields == NULL ? end : header->fields + *position;
    while (p < end) {
        const char *next = NULL;
        const char *stop = http_header_line_end(p, end, &next);
        /* A folded line belongs to the field above: the end is moved, and the break stays in the
         * value. */
        while (next < end && (*next == ' ' || *next == '\t')) {
            stop = http_header_line_end(next, end, &next);
        }
        const char *colon = memchr(p, ':', (size_t)(stop - p));
        const char *name = p;
        p = next;
        /* A line that begins with a blank and has no field above it, or has no colon, is none. */
        if (colon == NULL || ascii_is_xml_space(*name)) {
            continue;
        }
        const char *name_end = colon;
        const char *value = colon + 1;
        http_header_trim(&name, &name_end);
        http_header_trim(&value, &stop);
        if (name == name_end) {
            continue;
        }
        *position = (size_t)(p - header->fields);
        *field = (HttpField){.name = name,
                             .name_length = (size_t)(name_end - name),
                             .value = value,
                             .value_length = (size_t)(stop - value)};
        return true;
    }
    *position = header->fields_length;
    return false;
}

bool http_header_next_named(const HttpHeader *header, const char *name, size_t *position,
                            HttpField *field)
{
    if ((header->initials & http_header_initial(*name)) == 0) {
        return false; /* what is asked for is seldom there */
    }
    size_t length = strlen(name);
    const char *end = header->fields + header->fields_length;
    const char *p = header->fields + *position;
    while (p < end) {
        /* Most fields have another first letter, and are not looked at. */
        if (((*p ^ *name) & ~0x20) != 0) {
            (void)http_header_line_end(p, end, &p);
            continue;
        }
        /* A folded line begins with a blank, so it is never taken for a name; of its own field
         * http_header_next takes it along. */
        HttpField next;
        *position = (size_t)(p - header->fields);
        if (!http_header_next(header, position, &next)) {
            return false;
        }
        if (next.name_length == length && strncasecmp(next.name, name, length) == 0) {
            *field = next;
            return true;
        }
        p = header->fields + *position;
    }
    *position = header->fields_length;
    return false;
}

bool http_header_find(const HttpHeader *header, const char *name, HttpField *field)
{
    size_t position = 0;
    return http_header_next_named(header, name, &position, field);
}

bool http_header_find_list(const HttpHeader *header, const char *name, Buffer *scratch,
                           HttpField *field)
{
    size_t position = 0;
    HttpField more;
    buffer_reset(scratch);
    if (!http_header_next_named(header, name, &position, field)) {
        return false;
    }
    while (http_header_next_named(header, name, &position, &more)) {
        /* The first value is copied only when a second one is met: nearly always there is none. */
        if ((scratch->length == 0 &&
             buffer_append(scratch, field->value, field->value_length) != RESULT_OK) ||
            buffer_append_string(scratch, ", ") != RESULT_OK ||
            buffer_append(scratch, more.value, more.value_length) != RESULT_OK) {
            return true;
        }
        /* Set each time, since the buffer may have moved. */
        field->value = scratch->data;
        field->value_length = scratch->length;
    }
    return true;
}

/* One word of a list; *at moves behind it. */
static HttpField http_header_list_word(const HttpField *list, size_t *at)
{
    const char *end = list->value + list->value_length;
    const char *word = list->value + *at;
    const char *comma = memchr(word, ',', (size_t)(end - word));
    size_t n = (size_t)((comma == NULL ? end : comma) - word);
    *at += n + (comma != NULL);
    ascii_trim(&word, &n);
    return (HttpField){.value = word, .value_length = n};
}

/* Adds those codings of a list that are left. RESULT_MEMORY, RESULT_LIMIT. */
static Result http_header_add_codings(const HttpField *list, Buffer *codings)
{
    for (size_t at = 0; at < list->value_length;) {
        HttpField word = http_header_list_word(list, &at);
        /* "chunked" is how the body was sent, not how it is coded: who hands the body on has undone
         * it. */
        bool is_gone = word.value_length == 0 ||
                       (word.value_length == 7 && strncasecmp(word.value, "chunked", 7) == 0);
        Result rc = RESULT_OK;
        if (!is_gone && codings->length > 0) {
            rc = buffer_append_string(codings, ", ");
        }
        if (rc == RESULT_OK && !is_gone) {
            rc = buffer_append(codings, word.value, word.value_length);
        }
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

bool http_header_codings(const HttpHeader *header, Buffer *scratch, HttpField *field)
{
    /* Archives rename what does not hold for the stored body, but may have undone the chunks
     * only. */
    static const char *const names[] = {"Transfer-Encoding", "X-Archive-Orig-Transfer-Encoding"};
    HttpField more;
    bool has_coding = http_header_find_list(header, "Content-Encoding", scratch, field);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t position = 0;
        while (http_header_next_named(header, names[i], &position, &more)) {
            if ((has_coding && scratch->length == 0 &&
                 buffer_append(scratch, field->value, field->value_length) != RESULT_OK) ||
                http_header_add_codings(&more, scratch) != RESULT_OK) {
                return has_coding;
            }
        }
    }
    if (scratch->length > 0) {
        field->value = scratch->data;
        field->value_length = scratch->length;
    }
    return has_coding || scratch->length > 0;
}

/* The values of header fields: parse/http/http_header.h, second half. */

typedef struct Scan {
    const char *p;
    const char *end;
} Scan;

static void skip_blanks(Scan *scan)
{
    while (scan->p < scan->end && ascii_is_space(*scan->p)) {
        scan->p++;
    }
}

/* Digits up to a cap; -1 when there are none. */
static int64_t http_header_value_read_number(Scan *scan, int64_t cap)
{
    if (scan->p >= scan->end || !ascii_is_digit(*scan->p)) {
        return -1;
    }
    /* All digits are read, also behind the cap, so that what follows is never one of them. */
    int64_t n = 0;
    for (; scan->p < scan->end && ascii_is_digit(*scan->p); scan->p++) {
        n = n * 10 + (*scan->p - '0');
        n = n > cap ? cap : n;
    }
    return n;
}

typedef struct Parameter {
    const char *name;
    size_t name_length;
    const char *value; /* without quotes; NULL when there is no "=" */
    size_t value_length;
} Parameter;

static void http_header_value_read_value(Scan *scan, const char *stops, Parameter *parameter)
{
    skip_blanks(scan);
    /* Single quotes are no HTTP, but servers send them. A backslash stays in the value: nothing
     * that is looked for has one. */
    if (scan->p < scan->end && (*scan->p == '"' || *scan->p == '\'')) {
        char quote = *scan->p++;
        parameter->value = scan->p;
        while (scan->p < scan->end && *scan->p != quote) {
            scan->p += *scan->p == '\\' && scan->end - scan->p > 1 ? 2 : 1;
        }
        parameter->value_length = (size_t)(scan->p - parameter->value);
        while (scan->p < scan->end && strchr(stops, *scan->p) == NULL) {
            scan->p++; /* the quote and junk behind it */
        }
        return;
    }
    parameter->value = scan->p;
    /* strchr finds its own terminator: a zero byte of the value would stop here without this. */
    while (scan->p < scan->end && (*scan->p == '\0' || strchr(stops, *scan->p) == NULL)) {
        scan->p++;
    }
    parameter->value_length = (size_t)(scan->p - parameter->value);
    ascii_trim(&parameter->value, &parameter->value_length);
}

/* Reads "name", "name=value" or 'name="value"' up to one of stops, which is not consumed. */
static void read_parameter(Scan *scan, const char *stops, Parameter *parameter)
{
    skip_blanks(scan);
    *parameter = (Parameter){.name = scan->p};
    while (scan->p < scan->end && *scan->p != '=' &&
           (*scan->p == '\0' || strchr(stops, *scan->p) == NULL)) {
        scan->p++;
    }
    parameter->name_length = (size_t)(scan->p - parameter->name);
    ascii_trim(&parameter->name, &parameter->name_length);
    if (scan->p < scan->end && *scan->p == '=') {
        scan->p++;
        http_header_value_read_value(scan, stops, parameter);
    }
}

HttpContentType http_header_content_type(const char *value, size_t length)
{
    HttpContentType result = {0};
    if (length == 0) {
        return result;
    }
    Scan scan = {value, value + length};
    Parameter parameter;
    /* Some servers send "text/html,text/html"; the first counts. */
    read_parameter(&scan, ";,", &parameter);
    /* What has no slash is no type: "html" or "charset=utf-8" alone leave it open. */
    if (memchr(parameter.name, '/', parameter.name_length) != NULL) {
        result.type = parameter.name;
        result.type_length = parameter.name_length;
    }
    return result;
}

bool http_header_is_type(const HttpContentType *content_type, const char *type)
{
    return content_type->type != NULL &&
           ascii_is(content_type->type, content_type->type_length, type);
}

bool http_header_is_html(const HttpContentType *content_type)
{
    return http_header_is_type(content_type, "text/html") ||
           http_header_is_type(content_type, "application/xhtml+xml");
}

static bool http_header_is_xml(const HttpContentType *content_type)
{
    return http_header_is_type(content_type, "text/xml") ||
           http_header_is_type(content_type, "application/xml");
}

bool http_header_is_open(const HttpContentType *content_type)
{
    return content_type->type_length == 0 || http_header_is_type(content_type, "*/*") ||
           http_header_is_type(content_type, "unknown/unknown") ||
           http_header_is_type(content_type, "application/unknown") ||
           http_header_is_xml(content_type);
}

/* XML: XHTML says so in the first bytes. */
bool http_header_is_page(const HttpContentType *content_type, const char *body, size_t length)
{
    static const char blanks[] = " \t\r\n\f\xef\xbb\xbf";
    static const char space[] = "http://www.w3.org/1999/xhtml";
    if (!http_header_is_open(content_type)) {
        return http_header_is_html(content_type);
    }
    /* Blanks and a byte order mark, whose three bytes are taken singly. */
    while (length > 0 && *body != '\0' && strchr(blanks, *body) != NULL) {
        body++;
        length--;
    }
    size_t first = length < SNIFF_BYTES ? length : SNIFF_BYTES;
    return length > 0 && *body == '<' &&
           (!http_header_is_xml(content_type) ||
            (memmem(body, first, "<html", 5) != NULL &&
             memmem(body, first, space, sizeof space - 1) != NULL));
}

/* ---- dates ---- */

static int month_of(const char *word, size_t length)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    /* Three letters count, so "September" and "Sept" are months, too. */
    for (int i = 0; length >= 3 && i < 12; i++) {
        if (strncasecmp(word, names + (size_t)3 * (size_t)i, 3) == 0) {
            return i + 1;
        }
    }
    return 0;
}

typedef struct DateParts {
    int64_t day, month, year, hour, minute, second;
    bool has_day, has_year, has_time;
} DateParts;

/* A run of digits: a time when ':' follows, else the day (one or two digits, first) or the year.
 *
 *    Sun, 06 Nov 1994 08:49:37 GMT     day, month, year, time
 *    Sunday, 06-Nov-94 08:49:37 GMT    the same with two digits: below 70 it is this century
 *    Sun Nov  6 08:49:37 1994          asctime: the year behind the time
 *
 * So no order is asked for, only that each part is there once. */
static bool http_header_value_take_number(Scan *scan, DateParts *parts)
{
    const char *start = scan->p;
    /* The caps are above any good value and keep a bad one bad, as http_header_date finds. */
    int64_t n = http_header_value_read_number(scan, 100000);
    size_t digits = (size_t)(scan->p - start);
    if (scan->p < scan->end && *scan->p == ':') {
        if (parts->has_time) {
            return false;
        }
        parts->hour = n;
        scan->p++;
        parts->minute = http_header_value_read_number(scan, 100);
        if (scan->p < scan->end && *scan->p == ':') {
            scan->p++;
            parts->second = http_header_value_read_number(scan, 100);
        }
        parts->has_time = true;
        return parts->minute >= 0 && parts->second >= 0;
    }
    if (!parts->has_day && digits <= 2) {
        parts->day = n;
        parts->has_day = true;
        return true;
    }
    if (parts->has_year || digits > 4) {
        return false;
    }
    int century = n < 70 ? 2000 : 1900;
    parts->year = digits > 2 ? n : n + century;
    parts->has_year = true;
    return true;
}

/* "+0130" where the scan stopped: HTTP knows GMT only, its servers do not. */
static int64_t zone_seconds(Scan scan, const char *start)
{
    /* The scan stopped at the first digit behind a whole date: the sign is the byte before it. */
    if (scan.p == start || scan.end - scan.p < 4 || (scan.p[-1] != '+' && scan.p[-1] != '-')) {
        return 0;
    }
    int64_t sign = scan.p[-1] == '-' ? -1 : 1;
    int64_t zone = http_header_value_read_number(&scan, 9999);
    return sign * (zone / 100 * 3600 + zone % 100 * 60);
}

bool http_header_date(const char *value, size_t length, int64_t *unix_s)
{
    if (length == 0) {
        return false;
    }
    Scan scan = {value, value + length};
    DateParts parts = {0};
    while (scan.p < scan.end) {
        char c = *scan.p;
        if (ascii_is_digit(c)) {
            if (parts.has_time && parts.has_day && parts.has_year) {
                break; /* only a zone can follow */
            }
            if (!http_header_value_take_number(&scan, &parts)) {
                return false;
            }
            continue;
        }
        const char *word = scan.p;
        while (scan.p < scan.end && ((*scan.p | 0x20) >= 'a' && (*scan.p | 0x20) <= 'z')) {
            scan.p++;
        }
        /* Neither digit nor letter separates, whatever it is: '-' in RFC 850's dates, commas,
         * blanks. */
        if (scan.p == word) {
            scan.p++;
        } else if (parts.month == 0) {
            parts.month = month_of(word, (size_t)(scan.p - word));
        }
    }
    /* A day that a month does not have (31 April) is the next one's first: close enough for a
     * cache. A second of 60 is a leap second. Years before 1601 are none by RFC 6265 5.1.1. */
    bool is_date = parts.has_day && parts.has_year && parts.has_time && parts.month > 0 &&
                   parts.day >= 1 && parts.day <= 31 && parts.hour <= 23 && parts.minute <= 59 &&
                   parts.second <= 60 && parts.year >= 1601;
    if (is_date) {
        *unix_s = wall_days(parts.year, parts.month, parts.day) * 86400 + parts.hour * 3600 +
                  parts.minute * 60 + parts.second - zone_seconds(scan, value);
    }
    return is_date;
}

int64_t http_header_retry_after(const char *value, size_t length, int64_t unix_now_s)
{
    if (length == 0) {
        return -1;
    }
    Scan scan = {value, value + length};
    skip_blanks(&scan);
    /* A number may be followed by blanks only. "10 Nov ..." is a date, so the scan is a copy. */
    Scan number = scan;
    int64_t seconds = http_header_value_read_number(&number, HTTP_MAX_SECONDS);
    if (seconds >= 0 && number.p < number.end && *number.p == '.') {
        seconds++; /* "1.5": rounded up */
        number.p++;
        (void)http_header_value_read_number(&number, HTTP_MAX_SECONDS);
    }
    skip_blanks(&number);
    if (seconds >= 0 && number.p == number.end) {
        return seconds > HTTP_MAX_SECONDS ? HTTP_MAX_SECONDS : seconds;
    }
    int64_t then = 0;
    if (!http_header_date(value, length, &then)) {
        return -1;
    }
    /* A time that is past asks for no wait, but it was said: 0, not -1. */
    if (then <= unix_now_s) {
        return 0;
    }
    return then - unix_now_s > HTTP_MAX_SECONDS ? HTTP_MAX_SECONDS : then - unix_now_s;
}

void http_header_cache_control(const char *value, size_t length, HttpCacheControl *control)
{
    if (length == 0) {
        return;
    }
    Scan scan = {value, value + length};
    while (scan.p < scan.end) {
        Parameter parameter;
        read_parameter(&scan, ",", &parameter);
        /* Over the comma, and over a zero byte behind a quote: each turn moves on, or this would
         * not end. */
        if (scan.p < scan.end) {
            scan.p++;
        }
        if (ascii_is(parameter.name, parameter.name_length, "no-store")) {
            control->no_store = true;
        } else if (ascii_is(parameter.name, parameter.name_length, "no-cache")) {
            control->no_cache |= parameter.value == NULL; /* with a value: for some fields only */
            /* The first max-age counts (RFC 9111 4.2.1). */
        } else if (parameter.value != NULL && control->max_age_s < 0 &&
                   ascii_is(parameter.name, parameter.name_length, "max-age")) {
            Scan number = {parameter.value, parameter.value + parameter.value_length};
            control->max_age_s = http_header_value_read_number(&number, HTTP_MAX_SECONDS);
        }
    }
}

/* ---- links ---- */

bool http_header_next_link(const char *value, size_t length, size_t *position, HttpLink *link)
{
    if (*position >= length) {
        return false;
    }
    Scan scan = {value + *position, value + length};
    const char *open = memchr(scan.p, '<', (size_t)(scan.end - scan.p));
    /* A comma may stand within a URL, so items are found by their brackets, not by commas. */
    const char *close = open == NULL ? NULL : memchr(open, '>', (size_t)(scan.end - open));
    if (close == NULL) {
        *position = length;
        return false;
    }
    *link = (HttpLink){.uri = open + 1, .uri_length = (size_t)(close - open) - 1};
    scan.p = close + 1;
    ascii_trim(&link->uri, &link->uri_length);
    for (;;) {
        skip_blanks(&scan);
        if (scan.p >= scan.end || *scan.p != ';') {
            break;
        }
        scan.p++;
        Parameter parameter;
        read_parameter(&scan, ";,", &parameter);
        if (parameter.value == NULL) {
            continue;
        }
        /* RFC 8288 3: of rel and type the first counts. */
        if (link->rel == NULL && ascii_is(parameter.name, parameter.name_length, "rel")) {
            link->rel = parameter.value;
            link->rel_length = parameter.value_length;
        } else if (link->type == NULL && ascii_is(parameter.name, parameter.name_length, "type")) {
            link->type = parameter.value;
            link->type_length = parameter.value_length;
        } else if (ascii_is(parameter.name, parameter.name_length, "anchor")) {
            link->has_anchor = true;
        }
    }
    *position = (size_t)(scan.p - value);
    return true;
}

bool http_header_refresh(const char *value, size_t length, int64_t *seconds, const char **uri,
                         size_t *uri_length)
{
    if (length == 0) {
        return false;
    }
    Scan scan = {value, value + length};
    skip_blanks(&scan);
    *seconds = http_header_value_read_number(&scan, HTTP_MAX_SECONDS);
    /* As the HTML standard has it: ".5" is 0 seconds, and what begins with anything else is
     * ignored. */
    if (*seconds < 0) {
        if (scan.p >= scan.end || *scan.p != '.') {
            return false;
        }
        *seconds = 0;
    }
    while (scan.p < scan.end && (ascii_is_digit(*scan.p) || *scan.p == '.')) {
        scan.p++;
    }
    *uri = scan.p;
    *uri_length = 0;
    if (scan.p == scan.end) {
        return true;
    }
    if (*scan.p != ';' && *scan.p != ',' && !ascii_is_space(*scan.p)) {
        return false;
    }
    skip_blanks(&scan);
    if (scan.p < scan.end && (*scan.p == ';' || *scan.p == ',')) {
        scan.p++;
    }
    skip_blanks(&scan);
    if (scan.end - scan.p >= 3 && strncasecmp(scan.p, "url", 3) == 0) {
        Scan equal = {scan.p + 3, scan.end};
        skip_blanks(&equal);
        if (equal.p < equal.end && *equal.p == '=') {
            scan.p = equal.p + 1;
            skip_blanks(&scan);
        }
    }
    /* An unclosed quote goes to the end of the value. */
    char quote = scan.p < scan.end && (*scan.p == '"' || *scan.p == '\'') ? *scan.p : '\0';
    scan.p += quote == '\0' ? 0 : 1;
    const char *stop = scan.end;
    if (quote != '\0') {
        const char *closing = memchr(scan.p, quote, (size_t)(scan.end - scan.p));
        stop = closing == NULL ? stop : closing;
    }
    *uri = scan.p;
    *uri_length = (size_t)(stop - scan.p);
    return true;
}

/* ---- Http freshness ---- */

#define DAY_S          INT64_C(86400)
#define HEURISTIC_MOST (30 * DAY_S) /* a guess is no promise */

/* False when the field is missing; *unix_s is 0 when it is no date ("Expires: 0"). */
static bool http_freshness_date(const HttpHeader *header, const char *name, int64_t *unix_s)
{
    HttpField field;
    *unix_s = 0;
    if (!http_header_find(header, name, &field)) {
        return false;
    }
    /* Told apart from "missing", because an Expires that is no date means: already stale. */
    if (!http_header_date(field.value, field.value_length, unix_s) || *unix_s < 0) {
        *unix_s = 0;
    }
    return true;
}

static int64_t http_freshness_within(int64_t seconds)
{
    int64_t least = seconds > 0 ? seconds : 0;
    return least < HTTP_MAX_SECONDS ? least : HTTP_MAX_SECONDS;
}

/* Statuses that RFC 9110 15.1 lets a cache guess for. */
static bool http_freshness_may_guess(unsigned status)
{
    return status == 200 || status == 203 || status == 300 || status == 301 || status == 304 ||
           status == 308 || status == 404 || status == 410;
}

static int64_t http_freshness_lifetime(const HttpHeader *header, const HttpCacheControl *control,
                                       int64_t date_s, double heuristic)
{
    int64_t expires_s = 0;
    int64_t modified_s = 0;
    /* In RFC 9111's order: what is said in seconds outweighs dates, and saying outweighs
     * guessing. */
    if (control->max_age_s >= 0) {
        return control->max_age_s;
    }
    if (http_freshness_date(header, "Expires", &expires_s)) {
        return expires_s == 0 ? 0 : http_freshness_within(expires_s - date_s);
    }
    if (heuristic > 0 && http_freshness_may_guess(header->status) &&
        http_freshness_date(header, "Last-Modified", &modified_s) && modified_s > 0 &&
        modified_s < date_s) {
        int64_t guess_s = (int64_t)(heuristic * (double)(date_s - modified_s));
        return guess_s < HEURISTIC_MOST ? guess_s : HEURISTIC_MOST;
    }
    return 0;
}

static int64_t http_freshness_age(const HttpHeader *header, int64_t date_s, int64_t now_s)
{
    HttpField field;
    /* A clock of theirs that is ahead must not make an answer fresh for longer: 0 at the least. */
    int64_t apparent_s = now_s > date_s ? now_s - date_s : 0;
    if (!http_header_find(header, "Age", &field)) {
        return apparent_s;
    }
    int64_t age_s = 0;
    for (size_t i = 0; i < field.value_length; i++) {
        if (field.value[i] < '0' || field.value[i] > '9') {
            return HTTP_MAX_SECONDS;
        }
        age_s = http_freshness_within(age_s * 10 + (field.value[i] - '0'));
    }
    return age_s > apparent_s ? age_s : apparent_s;
}

HttpFreshness http_freshness_of(const HttpHeader *header, int64_t now_s, double heuristic)
{
    HttpFreshness freshness = {.fresh_s = 0};
    HttpCacheControl control = HTTP_CACHE_CONTROL_NONE;
    HttpField field;
    size_t position = 0;
    int64_t date_s = 0;
    while (http_header_next_named(header, "Cache-Control", &position, &field)) {
        http_header_cache_control(field.value, field.value_length, &control);
    }
    if (!http_freshness_date(header, "Date", &date_s) || date_s == 0) {
        date_s = now_s;
    }
    /* A server in trouble promises nothing, whatever its error page says. */
    if (!control.no_cache && header->status < 500) {
        int64_t lifetime_s = http_freshness_lifetime(header, &control, date_s, heuristic);
        freshness.fresh_s =
            http_freshness_within(lifetime_s - http_freshness_age(header, date_s, now_s));
    }
    if (header->status >= 300 && header->status < 400 &&
        http_header_find(header, "Retry-After", &field)) {
        int64_t wait_s = http_header_retry_after(field.value, field.value_length, now_s);
        freshness.fresh_s = wait_s > freshness.fresh_s ? wait_s : freshness.fresh_s;
    }
    (void)http_freshness_date(header, "Sunset", &freshness.ends_s);
    return freshness;
}
