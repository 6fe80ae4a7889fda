/* A value as an INI file can hold it.
 *
 * What: whatever sets an option (a file, the environment, the command line) gets the value that a
 * file would have given, so that --print-config writes what loads again.
 * Threads: pure functions. */
#ifndef BASE_OPTION_INI_VALUE_H
#define BASE_OPTION_INI_VALUE_H

#include <stdbool.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

/* Appends text without the blanks around it. RESULT_INVALID: a file cannot hold the text, because
 * it has control characters or a sequence that begins a comment; error is a predicate that says so
 * ("has ..."). */
Result ini_value_read(const char *text, Buffer *value, Buffer *error);
/* Whether a value must not begin with this character, because it would be trimmed or begin a
 * comment. */
bool ini_value_is_bad_start(char c);

#endif
