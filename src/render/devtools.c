#include "render/devtools.h"

#include <string.h>

#define DEVTOOLS_KEPT ((size_t)1 << 20) /* memory that is kept from page to page */

void devtools_init(Devtools *devtools, Browser *browser)
{
    *devtools = (Devtools){.browser = browser};
    buffer_init(&devtools->in, DEVTOOLS_MESSAGE_BYTES);
    buffer_init(&devtools->out, DEVTOOLS_MESSAGE_BYTES);
}

void devtools_destroy(Devtools *devtools)
{
    buffer_destroy(&devtools->in);
    buffer_destroy(&devtools->out);
}

void devtools_reset(Devtools *devtools)
{
    buffer_reset(&devtools->in);
    buffer_reset(&devtools->out);
    devtools->taken = 0;
    devtools->written = 0;
    devtools->session[0] = '\0';
}

/* ---- commands ---- */

/* What is written already goes out of the buffer before more is put behind it. */
static void devtools_forget_written(Devtools *devtools)
{
    if (devtools->written == devtools->out.length) {
        buffer_reset(&devtools->out);
        buffer_trim(&devtools->out, DEVTOOLS_KEPT);
        devtools->written = 0;
    }
}

JsonWriter *devtools_begin(Devtools *devtools, const char *method)
{
    devtools_forget_written(devtools);
    JsonWriter *json = &devtools->json;
    devtools->number++;
    json_init(json, &devtools->out);
    json_open(json, NULL, '{');
    json_integer(json, "id", devtools->number);
    json_string(json, "method", method);
    if (devtools->session[0] != '\0') {
        json_string(json, "sessionId", devtools->session);
    }
    json_open(json, "params", '{');
    return json;
}

Result devtools_send(Devtools *devtools)
{
    JsonWriter *json = &devtools->json;
    json_close(json);
    json_close(json);
    return json->result != RESULT_OK ? json->result : buffer_append_char(&devtools->out, '\0');
}

Result devtools_tell(Devtools *devtools, const char *method)
{
    (void)devtools_begin(devtools, method);
    return devtools_send(devtools);
}

/* ---- messages ---- */

/* The messages that were handed out leave the buffer, so that a whole one fits behind them. */
static void devtools_forget_taken(Devtools *devtools)
{
    Buffer *in = &devtools->in;
    if (devtools->taken > 0) {
        memmove(in->data, in->data + devtools->taken, in->length - devtools->taken);
        in->length -= devtools->taken;
        devtools->taken = 0;
        if (in->length == 0) {
            buffer_trim(in, DEVTOOLS_KEPT);
        }
    }
}

Result devtools_next(Devtools *devtools, MonoTime deadline, JsonValue *message)
{
    Buffer *in = &devtools->in;
    size_t looked = devtools->taken;
    for (;;) {
        const char *end =
            in->length == looked ? NULL : memchr(in->data + looked, '\0', in->length - looked);
        if (end != NULL) {
            const char *start = in->data + devtools->taken;
            devtools->taken = (size_t)(end - in->data) + 1;
            Result rc = json_read(start, (size_t)(end - start), message);
            return rc == RESULT_OK && message->kind != JSON_OBJECT ? RESULT_INVALID : rc;
        }
        devtools_forget_taken(devtools);
        looked = in->length;
        Result rc =
            browser_exchange(devtools->browser, &devtools->out, &devtools->written, in, deadline);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
}

Result devtools_call(Devtools *devtools, MonoTime deadline, JsonValue *result)
{
    JsonValue message;
    JsonValue member;
    int64_t number = devtools->number;
    Result rc = devtools_send(devtools);
    while (rc == RESULT_OK) {
        rc = devtools_next(devtools, deadline, &message);
        if (rc != RESULT_OK) {
            break;
        }
        if (!json_read_member(message, "id", &member)) {
            devtools->listener(devtools->context, message);
        } else if (json_read_integer(member, -1) == number) {
            bool done = json_read_member(message, "result", &member);
            if (result != NULL) {
                *result = member;
            }
            return done ? RESULT_OK : RESULT_INVALID;
        }
    }
    return rc;
}
