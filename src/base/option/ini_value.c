#include "base/option/ini_value.h"

#include <ctype.h>
#include <string.h>

#define MOST_IN_A_ROW 64 /* blanks and signs of a remark: a long line is cut between them */

bool ini_value_is_bad_start(char c)
{
    return isspace((unsigned char)c) || c == ';' || c == '#';
}

Result ini_value_read(const char *text, Buffer *value, Buffer *error)
{
    const char *end = text + strlen(text);
    while (isspace((unsigned char)*text)) {
        text++;
    }
    while (end > text && isspace((unsigned char)end[-1])) {
        end--;
    }
    size_t run = 0;
    for (const char *p = text; p < end; p++) {
        run = ini_value_is_bad_start(*p) ? run + 1 : 0;
        if (run > MOST_IN_A_ROW) {
            (void)buffer_printf(error, "has more than %d blanks, ';' or '#' in a row",
                                MOST_IN_A_ROW);
            return RESULT_INVALID;
        }
        if (iscntrl((unsigned char)*p) && *p != '\t') {
            (void)buffer_printf(error, "has a control character, which no file can hold");
            return RESULT_INVALID;
        }
        if (*p == ';' && (p == text || isspace((unsigned char)p[-1]))) {
            (void)buffer_printf(error, "has a ';' after a blank, which begins a comment in a file");
            return RESULT_INVALID;
        }
    }
    return buffer_append(value, text, (size_t)(end - text));
}
