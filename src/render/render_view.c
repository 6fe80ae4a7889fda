#include "render/render_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/base64.h"
#include "base/thread/log.h"
#include "render/render_script.h"

#define VIEW_FRAMES    64
#define VIEW_URL_BYTES 8192
#define VIEW_QUALITY   60 /* of a picture, in percent */
#define VIEW_SHOOT_MS  10000

void render_view_init(RenderView *view, RenderTab *tab, const RenderBounds *bounds, Rendered *out)
{
    *view = (RenderView){.tab = tab, .bounds = bounds, .out = out};
    buffer_init(&view->body, DEVTOOLS_MESSAGE_BYTES);
}

void render_view_destroy(RenderView *view)
{
    buffer_destroy(&view->body);
}

/* The doors that the page has tried, as its script has told, with commas between them. */
static void view_doors(RenderView *view, const char *told, size_t length)
{
    static const struct {
        const char *what;
        RenderRefusal why;
    } doors[] = {{"WebSocket", RENDER_NO_SOCKET},
                 {"EventSource", RENDER_NO_SOCKET},
                 {"RTCPeerConnection", RENDER_NO_SOCKET},
                 {"webkitRTCPeerConnection", RENDER_NO_SOCKET},
                 {"WebTransport", RENDER_NO_SOCKET},
                 {"ServiceWorker", RENDER_NO_WORKER},
                 {"SharedWorker", RENDER_NO_WORKER},
                 {"Push", RENDER_NO_DEVICE},
                 {"Notification", RENDER_NO_DEVICE},
                 {"Geolocation", RENDER_NO_DEVICE},
                 {"open", RENDER_NO_WINDOW},
                 {"print", RENDER_NO_WINDOW},
                 {"dialog", RENDER_NO_WINDOW}};
    for (const char *at = told; at < told + length;) {
        size_t word = strcspn(at, ",\n");
        for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
            if (strlen(doors[i].what) == word && memcmp(at, doors[i].what, word) == 0) {
                rendered_refuse(view->out, doors[i].why, doors[i].what);
            }
        }
        at += word + 1;
    }
}

static Result view_open_section(Buffer *document, const char *url)
{
    Result rc = buffer_append_string(document, "<section data-ragno-frame=\"");
    if (rc != RESULT_OK) {
        return rc;
    }
    for (const char *c = url; *c != '\0'; c++) {
        rc = strchr("\"<&", *c) != NULL ? buffer_printf(document, "&#%d;", *c)
                                        : buffer_append_char(document, *c);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return buffer_append_string(document, "\">");
}

/* "CLOCK CUT REFUSED", a line feed, and the document. */
static Result view_take(RenderView *view, JsonValue value, bool is_main, const char *url)
{
    Buffer *document = &view->out->document;
    buffer_reset(&view->body);
    Result rc = json_read_text(value, &view->body);
    if (rc != RESULT_OK) {
        return rc;
    }
    const char *text = buffer_string(&view->body);
    char *told = NULL;
    const char *line = strchr(text, '\n');
    if (line == NULL) {
        return RESULT_INVALID;
    }
    long long clock = strtoll(text, &told, 10);
    long cut = strtol(told, &told, 10);
    told += strspn(told, " ");
    if (told > line) {
        return RESULT_INVALID;
    }
    view_doors(view, told, (size_t)(line - told));
    size_t length = view->body.length - (size_t)(line + 1 - text);
    view->out->is_cut = view->out->is_cut || cut != 0;
    if (is_main) {
        view->tab->clock_ms = clock;
        rc = buffer_append_string(document, "<!DOCTYPE html>");
    } else {
        rc = view_open_section(document, url);
    }
    if (rc == RESULT_OK) {
        rc = buffer_append(document, line + 1, length);
    }
    if (rc == RESULT_OK && !is_main) {
        rc = buffer_append_string(document, "</section>");
    }
    return rc;
}

/* Runs a script in a world of ragno's own in a frame. */
static Result view_run(RenderView *view, const char *frame, const Buffer *script, MonoTime deadline,
                       JsonValue *value)
{
    JsonValue result;
    JsonValue member;
    Devtools *devtools = view->tab->devtools;
    JsonWriter *json = devtools_begin(devtools, "Page.createIsolatedWorld");
    json_string(json, "frameId", frame);
    json_string(json, "worldName", "ragno");
    Result rc = devtools_call(devtools, deadline, &result);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (!json_read_member(result, "executionContextId", &member)) {
        return RESULT_INVALID;
    }
    int64_t world = json_read_integer(member, 0);
    json = devtools_begin(devtools, "Runtime.evaluate");
    json_text(json, "expression", buffer_string(script), script->length);
    json_integer(json, "contextId", world);
    json_bool(json, "returnByValue", true);
    json_bool(json, "awaitPromise", true);
    rc = devtools_call(devtools, deadline, &result);
    if (rc != RESULT_OK) {
        return rc;
    }
    bool is_done =
        json_read_member(result, "result", &member) && json_read_member(member, "value", value);
    return is_done ? RESULT_OK : RESULT_INVALID;
}

/* Reads one frame. RESULT_INVALID: there is nothing to read, or the page is in the way. */
static Result view_read_frame(RenderView *view, JsonValue frame, bool is_main, MonoTime deadline)
{
    JsonValue member;
    Buffer id;
    Buffer url;
    buffer_init(&id, 256);
    buffer_init(&url, VIEW_URL_BYTES);
    Result rc =
        json_read_member(frame, "id", &member) ? json_read_text(member, &id) : RESULT_INVALID;
    if (json_read_member(frame, "url", &member)) {
        (void)json_read_text(member, &url);
    }
    if (rc != RESULT_OK) {
        goto done;
    }
    buffer_reset(&view->body);
    size_t room = view->bounds->most_document > view->out->document.length
                      ? view->bounds->most_document - view->out->document.length
                      : 0;
    rc = render_script_read(&view->body, room);
    if (rc != RESULT_OK) {
        goto done;
    }
    rc = view_run(view, buffer_string(&id), &view->body, deadline, &member);
    if (rc == RESULT_OK) {
        rc = view_take(view, member, is_main, buffer_string(&url));
    }
done:
    buffer_destroy(&id);
    buffer_destroy(&url);
    return rc;
}

/* The frames of a tree, in a copy of the browser's answer, the outermost first: a list of those
 * that are still to be read, not recursion. */
static Result view_read_frames(RenderView *view, JsonValue tree, MonoTime deadline)
{
    JsonValue left[VIEW_FRAMES];
    size_t n = 1;
    left[0] = tree;
    for (size_t i = 0; i < n; i++) {
        JsonValue frame;
        JsonValue children;
        JsonValue child;
        const char *position = NULL;
        if (!json_read_member(left[i], "frame", &frame)) {
            return RESULT_INVALID;
        }
        Result rc = view_read_frame(view, frame, i == 0, deadline);
        if (rc != RESULT_OK && (i == 0 || rc != RESULT_INVALID)) {
            return rc;
        }
        view->out->n_frames++;
        (void)json_read_member(left[i], "childFrames", &children);
        while (json_read_next(children, &position, &child)) {
            if (n == VIEW_FRAMES) {
                view->out->is_cut = true;
                break;
            }
            left[n++] = child;
        }
    }
    return RESULT_OK;
}

Result render_view_scroll(RenderView *view, MonoTime deadline, int64_t *height)
{
    JsonValue value;
    *height = 0;
    buffer_reset(&view->body);
    Result rc = render_script_scroll(&view->body);
    if (rc == RESULT_OK) {
        rc = view_run(view, view->tab->target, &view->body, deadline, &value);
    }
    if (rc == RESULT_OK) {
        *height = json_read_integer(value, 0);
    }
    return rc;
}

Result render_view_read(RenderView *view, MonoTime deadline)
{
    JsonValue result;
    JsonValue tree;
    Buffer copy;
    buffer_init(&copy, DEVTOOLS_MESSAGE_BYTES);
    (void)devtools_begin(view->tab->devtools, "Page.getFrameTree");
    Result rc = devtools_call(view->tab->devtools, deadline, &result);
    if (rc == RESULT_OK) {
        rc = json_read_member(result, "frameTree", &tree)
                 ? buffer_append(&copy, tree.begin, (size_t)(tree.end - tree.begin))
                 : RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        rc = json_read(copy.data, copy.length, &tree);
    }
    if (rc == RESULT_OK) {
        rc = view_read_frames(view, tree, deadline);
    }
    buffer_destroy(&copy);
    return rc;
}

void render_view_shoot(RenderView *view, const char *url)
{
    JsonValue result;
    JsonValue data;
    JsonWriter *json = devtools_begin(view->tab->devtools, "Page.captureScreenshot");
    json_string(json, "format", "jpeg");
    json_integer(json, "quality", VIEW_QUALITY);
    Result rc = devtools_call(view->tab->devtools, mono_add_ms(mono_now(), VIEW_SHOOT_MS), &result);
    buffer_reset(&view->body);
    if (rc == RESULT_OK && json_read_member(result, "data", &data)) {
        rc = json_read_text(data, &view->body);
    }
    if (rc == RESULT_OK) {
        rc = base64_read(&view->out->picture, buffer_string(&view->body), view->body.length,
                         BASE64_STANDARD);
    }
    if (rc != RESULT_OK) {
        LOG_WARN("render", "no picture", "url=%s error=%s", url, result_name(rc));
        buffer_reset(&view->out->picture);
    }
}
