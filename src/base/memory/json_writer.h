/* Writes one JSON value into a Buffer: objects, arrays, strings, numbers.
 *
 *   json_open(&json, NULL, '{');
 *   json_text(&json, "url", url, strlen(url));
 *   json_open(&json, "hosts", '[');
 *   json_integer(&json, NULL, 7);
 *   json_close(&json);
 *   json_close(&json);                       {"url": "http://...", "hosts": [7]}
 *
 * What: a member of an object has a name, an element of an array has none (NULL). Text that is not
 * UTF-8 is mended with U+FFFD.
 * Owns: nothing; the Buffer is the caller's.
 * Threads: one.
 * Errors: the first error stays in json->result. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

#define JSON_DEPTH 48u

typedef struct JsonWriter {
    Buffer *out; /* borrowed */
    unsigned depth;
    bool has_member[JSON_DEPTH]; /* of each open object or array */
    char closing[JSON_DEPTH];
    Result result;
} JsonWriter;

void json_init(JsonWriter *json, Buffer *out);
/* Begins an object ('{') or an array ('['); at most JSON_DEPTH are open at a time. */
void json_open(JsonWriter *json, const char *name, char bracket);
/* Ends the innermost object or array. */
void json_close(JsonWriter *json);
void json_text(JsonWriter *json, const char *name, const char *bytes, size_t length);
/* Writes null when string is NULL. */
void json_string(JsonWriter *json, const char *name, const char *string);
void json_integer(JsonWriter *json, const char *name, int64_t number);
void json_count(JsonWriter *json, const char *name, uint64_t number);
/* Writes a number with that many decimals; null when it is not finite. */
void json_real(JsonWriter *json, const char *name, double number, int decimals);
void json_bool(JsonWriter *json, const char *name, bool value);
void json_null(JsonWriter *json, const char *name);
/* Writes a value that is JSON already. */
void json_raw(JsonWriter *json, const char *name, const char *bytes, size_t length);

/* Appends text as a JSON string with its quotes. */
Result json_append_text(Buffer *out, const char *bytes, size_t length);
