/* Reads one JSON value where it stands: nothing is copied, nothing is allocated.
 *
 *   JsonValue message, params, url;
 *   json_read(bytes, length, &message);
 *   json_read_member(message, "params", &params);
 *   json_read_member(params, "url", &url);
 *   json_read_text(url, &buffer);
 *
 * What: a JsonValue is a place in the caller's bytes. Each question scans from the start of the
 * object or array it is asked of, so that a reader who takes the first members of a long message
 * never looks at the rest. What is wrong behind the member that was asked for is not noticed.
 * Owns: nothing.
 * Threads: pure functions.
 * Invariants: no more than length bytes are read; at most JSON_READ_DEPTH levels are followed.
 * Errors: a value that is not what was asked for is "not found"; RESULT_INVALID of json_read.
 * Source: RFC 8259. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/buffer.h"

#define JSON_READ_DEPTH 64u

typedef enum JsonKind {
    JSON_NOTHING, /* there is no value */
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_TEXT,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL
} JsonKind;

typedef struct JsonValue {
    JsonKind kind;
    const char *begin; /* its first byte: a bracket, a quote, ... */
    const char *end;   /* as far as the bytes go that it may be read from; not its own end */
} JsonValue;

/* The value at the start of the bytes, behind white space. RESULT_INVALID: none begins there. */
Result json_read(const char *bytes, size_t length, JsonValue *value);
/* A member of an object by its name (ASCII, without escapes): the first of that name. False, and
 * *member is JSON_NOTHING: it has none, it is no object, or it is broken before the member. */
bool json_read_member(JsonValue object, const char *name, JsonValue *member);
/* Steps through an array; *position is NULL at first. False at its end, or where it is broken. */
bool json_read_next(JsonValue array, const char **position, JsonValue *element);
/* Appends the text as UTF-8; half a surrogate pair becomes U+FFFD. RESULT_INVALID: it is no text,
 * or it is broken; RESULT_LIMIT, RESULT_MEMORY of the buffer. */
Result json_read_text(JsonValue value, Buffer *out);
/* Whether it is this text (without escapes). */
bool json_read_is(JsonValue value, const char *text);
/* A number that is, or rounds towards zero to, an integer; otherwise when_not. */
int64_t json_read_integer(JsonValue value, int64_t when_not);
