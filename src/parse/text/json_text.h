/* Strings of JSON. Pure, no locks. Source: RFC 8259. */
#ifndef PARSE_TEXT_JSON_TEXT_H
#define PARSE_TEXT_JSON_TEXT_H

#include <stddef.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

/* Appends text (UTF-8) as a string with its quotes; what is beyond ASCII stays as it is. bytes may
 * be NULL when length is 0. Errors as buffer_reserve; the buffer is as before then. */
Result json_text_append(Buffer *out, const char *bytes, size_t length);

#endif
