#include "parse/robots/robots.h"

#include <string.h>

#include "parse/robots/robots_rules.h"

#define NESTING 16u

/* ---- JSON ---------------------------------------------------------------------------------- */

typedef struct Scan {
    const char *at;
    const char *end;
} Scan;

typedef struct Text {
    const char *bytes; /* between the quotes, escapes as written */
    size_t length;
} Text;

/* The next byte that is no white space; 0 at the end. */
static char peek(Scan *scan)
{
    while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) != NULL && *scan->at != '\0') {
        scan->at++;
    }
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool robots_tdm_take(Scan *scan, char byte)
{
    bool is_there = peek(scan) == byte;
    scan->at += is_there;
    return is_there;
}

static bool robots_tdm_take_text(Scan *scan, Text *text)
{
    if (!robots_tdm_take(scan, '"')) {
        return false;
    }
    const char *start = scan->at;
    while (scan->at < scan->end && *scan->at != '"') {
        scan->at += *scan->at == '\\' ? 2 : 1;
    }
    if (scan->at >= scan->end) {
        return false;
    }
    *text = (Text){.bytes = start, .length = (size_t)(scan->at - start)};
    scan->at++;
    return true;
}

/* A number or a word; *text is what stands there. */
static bool robots_tdm_take_word(Scan *scan, Text *text)
{
    (void)peek(scan);
    const char *start = scan->at;
    while (scan->at < scan->end && strchr(",]} \t\r\n", *scan->at) == NULL) {
        scan->at++;
    }
    *text = (Text){.bytes = start, .length = (size_t)(scan->at - start)};
    return text->length > 0;
}

/* Any value; *text is a string's or a word's. Nested values are skipped by counting brackets. */
static bool robots_tdm_take_value(Scan *scan, Text *text)
{
    unsigned depth = 0;
    *text = (Text){.length = 0};
    do {
        char next = peek(scan);
        if (next == '"') {
            if (!robots_tdm_take_text(scan, text)) {
                return false;
            }
        } else if (next == '[' || next == '{') {
            depth++;
            scan->at++;
        } else if (depth > 0 && (next == ']' || next == '}')) {
            depth--;
            scan->at++;
        } else if (depth > 0 && (next == ',' || next == ':')) {
            scan->at++;
        } else if (next == '\0' || !robots_tdm_take_word(scan, text)) {
            return false;
        }
    } while (depth > 0 && depth <= NESTING);
    return depth == 0;
}

static bool robots_tdm_is(Text text, const char *name)
{
    return text.length == strlen(name) && memcmp(text.bytes, name, text.length) == 0;
}

/* ---- rules --------------------------------------------------------------------------------- */

/* Copies the path of a rule up to where it is plain: no wildcard, and no escape but that of a
 * slash. *whole: that is all of it. */
static size_t plain_path(Text location, char path[ROBOTS_TDM_PATH], bool *whole)
{
    size_t n = 0;
    size_t i = 0;
    for (; i < location.length && n < ROBOTS_TDM_PATH; i++) {
        unsigned char c = (unsigned char)location.bytes[i];
        if (c == '\\' && i + 1 < location.length && location.bytes[i + 1] == '/') {
            continue;
        }
        if (c == '*' || c == '$' || c == '\\' || c < 0x21 || c > 0x7e) {
            break;
        }
        path[n++] = (char)c;
    }
    *whole = i == location.length;
    return n;
}

static Result robots_tdm_add_rule(Robots *robots, Text location, Text reservation)
{
    char path[ROBOTS_TDM_PATH];
    bool reserves = robots_tdm_is(reservation, "1") || robots_tdm_is(reservation, "true");
    bool whole = false;
    size_t length = plain_path(location, path, &whole);
    if (length == 0 || path[0] != '/' || (!reserves && !robots_tdm_is(reservation, "0"))) {
        return RESULT_OK;
    }
    if (!reserves && !whole) {
        return RESULT_OK; /* what is allowed must be said plainly */
    }
    Usage usage = {.denied = reserves ? USAGE_TDM | USAGE_TRAIN_AI : 0,
                   .allowed = reserves ? 0 : USAGE_TDM};
    return robots_rules_add_path_usage(robots, path, length, usage, true);
}

/* {"location": "/", "tdm-reservation": 1, ...} */
static Result take_rule(Robots *robots, Scan *scan)
{
    Text location = {.length = 0};
    Text reservation = {.length = 0};
    Text name;
    Text value;
    if (!robots_tdm_take(scan, '{')) {
        return RESULT_INVALID;
    }
    while (!robots_tdm_take(scan, '}')) {
        if (!robots_tdm_take_text(scan, &name) || !robots_tdm_take(scan, ':') ||
            !robots_tdm_take_value(scan, &value)) {
            return RESULT_INVALID;
        }
        if (robots_tdm_is(name, "location")) {
            location = value;
        } else if (robots_tdm_is(name, "tdm-reservation")) {
            reservation = value;
        }
        (void)robots_tdm_take(scan, ',');
    }
    return robots_tdm_add_rule(robots, location, reservation);
}

Result robots_add_tdm(Robots *robots, const char *text, size_t length)
{
    Scan scan = {.at = text, .end = text + (length > ROBOTS_MAX_BYTES ? ROBOTS_MAX_BYTES : length)};
    Result rc = RESULT_OK;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        scan.at += 3;
    }
    if (peek(&scan) == '{') {
        return take_rule(robots, &scan); /* a single rule without the list around it */
    }
    if (!robots_tdm_take(&scan, '[')) {
        return RESULT_INVALID;
    }
    while (rc == RESULT_OK && !robots_tdm_take(&scan, ']')) {
        rc = take_rule(robots, &scan);
        (void)robots_tdm_take(&scan, ',');
    }
    return rc;
}
