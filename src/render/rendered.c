#include "render/rendered.h"

#include <string.h>

#define RENDERED_LISTS   ((size_t)256 << 10)
#define RENDERED_PICTURE ((size_t)16 << 20)

const char *render_end_name(RenderEnd end)
{
    static const char *const names[RENDER_ENDS] = {"settled", "time",    "cpu",
                                                   "memory",  "crashed", "nothing"};
    return names[end];
}

const char *render_refusal_name(RenderRefusal refusal)
{
    static const char *const names[RENDER_REFUSALS] = {"method",   "scheme", "number", "navigation",
                                                       "window",   "socket", "worker", "device",
                                                       "download", "denied"};
    return names[refusal];
}

void rendered_init(Rendered *rendered, size_t most_document)
{
    *rendered = (Rendered){.end = RENDER_NOTHING};
    buffer_init(&rendered->document, most_document * 4 + 4096);
    buffer_init(&rendered->picture, RENDERED_PICTURE);
    buffer_init(&rendered->lacking, RENDERED_LISTS * 8);
    buffer_init(&rendered->onward, RENDERED_LISTS);
    buffer_init(&rendered->refused, RENDERED_LISTS / 16);
}

void rendered_destroy(Rendered *rendered)
{
    buffer_destroy(&rendered->document);
    buffer_destroy(&rendered->picture);
    buffer_destroy(&rendered->lacking);
    buffer_destroy(&rendered->onward);
    buffer_destroy(&rendered->refused);
}

void rendered_clear(Rendered *rendered)
{
    Rendered empty = {.end = RENDER_NOTHING,
                      .document = rendered->document,
                      .picture = rendered->picture,
                      .lacking = rendered->lacking,
                      .onward = rendered->onward,
                      .refused = rendered->refused};
    *rendered = empty;
    buffer_reset(&rendered->document);
    buffer_reset(&rendered->picture);
    buffer_reset(&rendered->lacking);
    buffer_reset(&rendered->onward);
    buffer_reset(&rendered->refused);
}

void rendered_line(Buffer *list, const char *text)
{
    if (list->length + strlen(text) + 1 <= list->limit) {
        (void)buffer_append_string(list, text);
        (void)buffer_append_char(list, '\n');
    }
}

void rendered_refuse(Rendered *rendered, RenderRefusal why, const char *what)
{
    Buffer *list = &rendered->refused;
    rendered->n_refused[why]++;
    size_t room = strlen(what) + 32;
    if (list->length + room <= list->limit && strpbrk(what, "\r\n") == NULL) {
        (void)buffer_printf(list, "%s %s\n", render_refusal_name(why), what);
    }
}
