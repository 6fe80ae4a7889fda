#include "command/verify/verify_run.h"

#include <stdarg.h>

__attribute__((format(printf, 4, 0))) static void
verify_run_tell(const Verify *verify, const char *kind, const char *file, const char *format,
                va_list arguments)
{
    (void)fprintf(verify->options->out, "%s\t%s\t", kind, file);
    (void)vfprintf(verify->options->out, format, arguments);
    (void)fputc('\n', verify->options->out);
}

void verify_problem(Verify *verify, const char *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    verify_run_tell(verify, "problem", file, format, arguments);
    va_end(arguments);
    verify->counts->problems++;
}

void verify_lost(Verify *verify, const char *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    verify_run_tell(verify, "lost", file, format, arguments);
    va_end(arguments);
}

void verify_repaired(Verify *verify, const char *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    verify_run_tell(verify, "repaired", file, format, arguments);
    va_end(arguments);
    verify->counts->repaired++;
}
