#include "parse/filter/filter_compiler.h"

#include <stdarg.h>
#include <stdio.h>

Result filter_compiler_fail(FilterCompiler *compiler, size_t at, const char *format, ...)
{
    FilterError *error = compiler->error;
    error->column = 1;
    for (size_t i = 0; i < at && i < compiler->length; i++) {
        error->column += ((unsigned char)compiler->text[i] & 0xC0) != 0x80;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return RESULT_INVALID;
}
