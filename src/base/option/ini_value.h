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

/* Appends text without the blanks around it. RESULT_INVALID: no file can hold it, since it has
 * control characters or what begins a remark; error says so, as a predicate ("has ..."). */
Result ini_value_read(const char *text, Buffer *value, Buffer *error);
/* What a piece of a line may not begin with: it would be trimmed, or make the piece a remark. */
bool ini_value_is_bad_start(char c);

#endif
