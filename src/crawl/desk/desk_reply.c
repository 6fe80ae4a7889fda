#include "crawl/desk/desk_reply.h"

#include <stdarg.h>

/* The formatted text, or "out of memory". */
__attribute__((format(printf, 2, 0))) static const char *format_text(Desk *desk, const char *format,
                                                                     va_list arguments)
{
    buffer_reset(&desk->text);
    return buffer_vprintf(&desk->text, format, arguments) == RESULT_OK ? buffer_string(&desk->text)
                                                                       : "out of memory";
}

void desk_say(Desk *desk, ControlClient client, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    control_server_say(desk->server, client, format_text(desk, format, arguments));
    va_end(arguments);
}

void desk_ok(Desk *desk, const DeskRequest *request)
{
    control_server_end(desk->server, request->client, CONTROL_OK, NULL);
}

void desk_end(Desk *desk, const DeskRequest *request, ControlEnd end, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    control_server_end(desk->server, request->client, end, format_text(desk, format, arguments));
    va_end(arguments);
}
