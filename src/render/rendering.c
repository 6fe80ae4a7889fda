#include "render/rendering.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/hash.h"
#include "base/memory/base64.h"
#include "base/thread/log.h"
#include "parse/http/http_header.h"
#include "render/render_script.h"

#define RENDERING_LOOK_MS   250   /* between two measurements of the browser */
#define RENDERING_READ_MS   20000 /* for reading the document */
#define RENDERING_RESCUE_MS 10000 /* for reading what there is of one that does not end */
#define RENDERING_FRAMES    64
#define RENDERING_URL_BYTES 8192 /* a longer URL is not asked for */
#define RENDERING_LISTS     ((size_t)256 << 10)
#define RENDERING_PICTURE   ((size_t)16 << 20)
#define RENDERING_QUALITY   60 /* of it, in percent */
#define RENDERING_SHOOT_MS  10000

typedef struct Rendering {
    RenderTab *tab;
    Devtools *devtools;
    const RenderBounds *bounds;
    const RenderPage *page;
    const RenderSource *source;
    Rendered *out;
    Buffer url;
    Buffer word;      /* scratch */
    Buffer body;      /* scratch: Base64 */
    uint64_t *lacked; /* hashes of the URLs that are lacking */
    bool started;     /* time runs */
    bool has_main;    /* the document itself was answered */
    bool is_over;     /* time is used up */
    bool is_dead;     /* the tab has crashed */
    Result result;    /* of what the listener sent */
} Rendering;

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
    buffer_init(&rendered->picture, RENDERING_PICTURE);
    buffer_init(&rendered->lacking, RENDERING_LISTS * 8);
    buffer_init(&rendered->onward, RENDERING_LISTS);
    buffer_init(&rendered->refused, RENDERING_LISTS / 16);
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

/* ---- requests ---- */

static void rendering_note(Rendering *rendering, Result rc)
{
    if (rendering->result == RESULT_OK) {
        rendering->result = rc;
    }
}

static void rendering_line(Buffer *list, const char *text)
{
    if (list->length + strlen(text) + 1 <= list->limit) {
        (void)buffer_append_string(list, text);
        (void)buffer_append_char(list, '\n');
    }
}

static void rendering_refuse(Rendering *rendering, RenderRefusal why, const char *what)
{
    Buffer *list = &rendering->out->refused;
    rendering->out->n_refused[why]++;
    size_t room = strlen(what) + 32;
    if (list->length + room <= list->limit && strpbrk(what, "\r\n") == NULL) {
        (void)buffer_printf(list, "%s %s\n", render_refusal_name(why), what);
    }
}

/* Appends a text of the event's to the command as one of its parameters: numbers of requests are
 * texts of the browser's own. */
static void rendering_pass(Rendering *rendering, JsonWriter *json, const char *name,
                           JsonValue value)
{
    buffer_reset(&rendering->word);
    rendering_note(rendering, json_read_text(value, &rendering->word));
    json_text(json, name, buffer_string(&rendering->word), rendering->word.length);
}

static void rendering_fail(Rendering *rendering, JsonValue id, const char *reason)
{
    JsonWriter *json = devtools_begin(rendering->devtools, "Fetch.failRequest");
    rendering_pass(rendering, json, "requestId", id);
    json_string(json, "errorReason", reason);
    rendering_note(rendering, devtools_send(rendering->devtools));
}

static void rendering_header(JsonWriter *json, const char *name, size_t name_length,
                             const char *value, size_t length)
{
    json_open(json, NULL, '{');
    json_text(json, "name", name, name_length);
    json_text(json, "value", value, length);
    json_close(json);
}

static bool rendering_is_named(const HttpField *field, const char *name)
{
    return field->name_length == strlen(name) &&
           strncasecmp(field->name, name, field->name_length) == 0;
}

/* What the transfer was like, what would outlast the page, and what asks for further requests is
 * not passed on. */
static bool rendering_passes(const HttpField *field)
{
    static const char *const gone[] = {"Content-Encoding",
                                       "Content-Length",
                                       "Transfer-Encoding",
                                       "Connection",
                                       "Keep-Alive",
                                       "Trailer",
                                       "Upgrade",
                                       "Alt-Svc",
                                       "Clear-Site-Data",
                                       "Strict-Transport-Security",
                                       "Report-To",
                                       "Reporting-Endpoints",
                                       "NEL",
                                       "Refresh",
                                       "Public-Key-Pins",
                                       "Speculation-Rules"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        if (rendering_is_named(field, gone[i])) {
            return false;
        }
    }
    return memchr(field->value, '\n', field->value_length) == NULL &&
           memchr(field->value, '\r', field->value_length) == NULL;
}

static void rendering_fulfill(Rendering *rendering, JsonValue id, const RenderAnswer *answer)
{
    HttpHeader header;
    HttpField field;
    size_t position = 0;
    buffer_reset(&rendering->body);
    Result rc = base64_append(&rendering->body, answer->body, answer->length, BASE64_STANDARD);
    if (rc != RESULT_OK) {
        rendering_fail(rendering, id, "Failed");
        return;
    }
    JsonWriter *json = devtools_begin(rendering->devtools, "Fetch.fulfillRequest");
    rendering_pass(rendering, json, "requestId", id);
    json_integer(json, "responseCode", answer->status);
    json_open(json, "responseHeaders", '[');
    bool has_fields =
        http_header_parse(&header, answer->header, answer->header_length) == RESULT_OK;
    while (has_fields && http_header_next(&header, &position, &field)) {
        if (rendering_passes(&field)) {
            rendering_header(json, field.name, field.name_length, field.value, field.value_length);
        }
    }
    json_close(json);
    json_text(json, "body", buffer_string(&rendering->body), rendering->body.length);
    rendering_note(rendering, devtools_send(rendering->devtools));
}

/* A picture of one transparent dot: a page that waits for its pictures goes on. */
static void rendering_blank(Rendering *rendering, JsonValue id)
{
    static const char dot[] = "GIF89a\1\0\1\0\200\0\0\0\0\0\0\0\0!\371\4\1\0\0\0\0,\0\0\0\0\1\0\1\0"
                              "\0\2\2D\1\0;";
    static const char header[] = "HTTP/1.1 200 OK\r\nContent-Type: image/gif\r\n"
                                 "Access-Control-Allow-Origin: *\r\n\r\n";
    RenderAnswer answer = {.status = 200,
                           .header = header,
                           .header_length = sizeof header - 1,
                           .body = dot,
                           .length = sizeof dot - 1};
    rendering_fulfill(rendering, id, &answer);
}

/* Whether the page lacked this URL before, in this rendering; it does from now on. */
static bool rendering_lacked(Rendering *rendering)
{
    uint64_t key = hash_64(rendering->url.data, rendering->url.length, 0);
    for (unsigned i = 0; i < rendering->out->n_lacking; i++) {
        if (rendering->lacked[i] == key) {
            return true;
        }
    }
    if (rendering->out->n_lacking < rendering->bounds->most_requests) {
        rendering->lacked[rendering->out->n_lacking++] = key;
        rendering_line(&rendering->out->lacking, rendering->url.data);
    }
    return false;
}

static void rendering_ask(Rendering *rendering, JsonValue id)
{
    RenderAnswer answer = {.status = 0};
    const char *url = buffer_string(&rendering->url);
    switch (rendering->source->ask(rendering->source->context, url, &answer)) {
    case RENDER_ANSWERED:
        rendering_fulfill(rendering, id, &answer);
        return;
    case RENDER_LACKING:
        (void)rendering_lacked(rendering);
        break;
    case RENDER_DENIED:
        rendering_refuse(rendering, RENDER_NO_DENIED, url);
        break;
    case RENDER_GONE:
        break;
    }
    rendering_fail(rendering, id, "Failed");
}

typedef enum RenderingWish { WISH_ASK, WISH_BLANK, WISH_NOTHING } RenderingWish;

/* What a kind of request is worth to text and links. */
static RenderingWish rendering_wish(const RenderBounds *bounds, JsonValue kind, const char *url)
{
    static const char *const nothing[] = {"Media",    "TextTrack",          "Manifest",
                                          "Prefetch", "EventSource",        "SignedExchange",
                                          "Ping",     "CSPViolationReport", "Preflight"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        if (json_read_is(kind, nothing[i])) {
            return WISH_NOTHING;
        }
    }
    size_t length = strlen(url);
    static const char icon[] = "/favicon.ico";
    if (json_read_is(kind, "Other") && length >= sizeof icon - 1 &&
        strcmp(url + length - (sizeof icon - 1), icon) == 0) {
        return WISH_NOTHING;
    }
    if (bounds->wants_picture) {
        return WISH_ASK;
    }
    if (json_read_is(kind, "Font")) {
        return WISH_NOTHING;
    }
    return json_read_is(kind, "Image") ? WISH_BLANK : WISH_ASK;
}

/* Whether a request is refused whatever the source has. */
static bool rendering_refuses(Rendering *rendering, JsonValue method)
{
    const char *url = buffer_string(&rendering->url);
    if (!json_read_is(method, "GET") && !json_read_is(method, "HEAD")) {
        rendering_refuse(rendering, RENDER_NO_METHOD, url);
        return true;
    }
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        rendering_refuse(rendering, RENDER_NO_SCHEME, url);
        return true;
    }
    if (rendering->out->n_requests >= rendering->bounds->most_requests) {
        rendering_refuse(rendering, RENDER_NO_NUMBER, url);
        return true;
    }
    return false;
}

/* Time begins with the first request, so that it is the same whatever the browser did before. */
static void rendering_start_time(Rendering *rendering)
{
    if (!rendering->started) {
        rendering->started = true;
        JsonWriter *json = devtools_begin(rendering->devtools, "Emulation.setVirtualTimePolicy");
        json_string(json, "policy", "pauseIfNetworkFetchesPending");
        json_integer(json, "budget", RENDER_BUDGET_MS);
        rendering_note(rendering, devtools_send(rendering->devtools));
    }
}

/* The page's own document is answered once; what takes its place is a link. A redirect of it goes
 * on under its first request. */
static bool rendering_goes_on(Rendering *rendering, JsonValue params, JsonValue kind)
{
    JsonValue frame;
    JsonValue redirected;
    if (!json_read_is(kind, "Document") || !json_read_member(params, "frameId", &frame) ||
        !json_read_is(frame, rendering->tab->target)) {
        return false;
    }
    if (!rendering->has_main || json_read_member(params, "redirectedRequestId", &redirected)) {
        rendering->has_main = true;
        return false;
    }
    rendering_refuse(rendering, RENDER_NO_NAVIGATION, rendering->url.data);
    rendering_line(&rendering->out->onward, rendering->url.data);
    return true;
}

static void rendering_request(Rendering *rendering, JsonValue params)
{
    JsonValue id;
    JsonValue request;
    JsonValue url;
    JsonValue method;
    JsonValue kind;
    if (!json_read_member(params, "requestId", &id) ||
        !json_read_member(params, "request", &request) || !json_read_member(request, "url", &url) ||
        !json_read_member(request, "method", &method) ||
        !json_read_member(params, "resourceType", &kind)) {
        rendering_note(rendering, RESULT_INVALID);
        return;
    }
    rendering_start_time(rendering);
    buffer_reset(&rendering->url);
    Result rc = json_read_text(url, &rendering->url);
    if (rc != RESULT_OK || rendering->url.length == 0 ||
        strpbrk(rendering->url.data, "\r\n") != NULL) {
        rendering_fail(rendering, id, "Failed");
    } else if (rendering_refuses(rendering, method) || rendering_goes_on(rendering, params, kind)) {
        rendering_fail(rendering, id, "Aborted");
    } else {
        rendering->out->n_requests++;
        RenderingWish wish = rendering_wish(rendering->bounds, kind, rendering->url.data);
        if (wish == WISH_BLANK) {
            rendering_blank(rendering, id);
        } else if (wish == WISH_NOTHING) {
            rendering_fail(rendering, id, "BlockedByClient");
        } else {
            rendering_ask(rendering, id);
        }
    }
}

/* ---- other events ---- */

/* The doors that the page has tried, as its script has told, with commas between them. */
static void rendering_doors(Rendering *rendering, const char *told, size_t length)
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
                 {"Notification", RENDER_NO_DEVICE},
                 {"Geolocation", RENDER_NO_DEVICE},
                 {"open", RENDER_NO_WINDOW},
                 {"print", RENDER_NO_WINDOW},
                 {"dialog", RENDER_NO_WINDOW}};
    for (const char *at = told; at < told + length;) {
        size_t word = strcspn(at, ",\n");
        for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
            if (strlen(doors[i].what) == word && memcmp(at, doors[i].what, word) == 0) {
                rendering_refuse(rendering, doors[i].why, doors[i].what);
            }
        }
        at += word + 1;
    }
}

/* A dialog that came past the script: a page that leaves asks whether it may. */
static void rendering_dialog(Rendering *rendering)
{
    rendering_refuse(rendering, RENDER_NO_WINDOW, "dialog");
    JsonWriter *json = devtools_begin(rendering->devtools, "Page.handleJavaScriptDialog");
    json_bool(json, "accept", false);
    rendering_note(rendering, devtools_send(rendering->devtools));
}

/* A window that came past the script is closed. */
static void rendering_window(Rendering *rendering, JsonValue params)
{
    JsonValue info;
    JsonValue kind;
    JsonValue target;
    if (!json_read_member(params, "targetInfo", &info) || !json_read_member(info, "type", &kind) ||
        !json_read_is(kind, "page") || !json_read_member(info, "targetId", &target) ||
        json_read_is(target, rendering->tab->target)) {
        return;
    }
    rendering_refuse(rendering, RENDER_NO_WINDOW, "window");
    JsonWriter *json = devtools_begin(rendering->devtools, "Target.closeTarget");
    rendering_pass(rendering, json, "targetId", target);
    rendering_note(rendering, devtools_send(rendering->devtools));
}

/* Whether the session that has ended is the tab's own: those of workers come and go. */
static bool rendering_lost(const Rendering *rendering, JsonValue params)
{
    JsonValue session;
    return json_read_member(params, "sessionId", &session) &&
           json_read_is(session, rendering->devtools->session);
}

static void rendering_event(void *context, JsonValue event)
{
    Rendering *rendering = context;
    JsonValue method;
    JsonValue params;
    if (!json_read_member(event, "method", &method)) {
        return;
    }
    (void)json_read_member(event, "params", &params);
    if (json_read_is(method, "Fetch.requestPaused")) {
        rendering_request(rendering, params);
    } else if (json_read_is(method, "Emulation.virtualTimeBudgetExpired")) {
        rendering->is_over = true;
    } else if (json_read_is(method, "Page.javascriptDialogOpening")) {
        rendering_dialog(rendering);
    } else if (json_read_is(method, "Target.attachedToTarget")) {
        rendering_window(rendering, params);
    } else if (json_read_is(method, "Browser.downloadWillBegin") ||
               json_read_is(method, "Page.downloadWillBegin")) {
        rendering_refuse(rendering, RENDER_NO_DOWNLOAD, "download");
    } else if (json_read_is(method, "Inspector.targetCrashed") ||
               (json_read_is(method, "Target.detachedFromTarget") &&
                rendering_lost(rendering, params))) {
        rendering->is_dead = true;
    }
}

/* ---- the way of a page ---- */

/* The script that runs first has the page's clock in it. */
static Result rendering_set_script(Rendering *rendering, MonoTime deadline)
{
    RenderTab *tab = rendering->tab;
    JsonValue result;
    JsonValue number;
    JsonWriter *json = NULL;
    if (tab->script[0] != '\0') {
        json = devtools_begin(rendering->devtools, "Page.removeScriptToEvaluateOnNewDocument");
        json_string(json, "identifier", tab->script);
        Result rc = devtools_send(rendering->devtools);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    buffer_reset(&rendering->body);
    Result rc = render_script_start(&rendering->body, rendering->page->fetched_ms - tab->clock_ms);
    if (rc != RESULT_OK) {
        return rc;
    }
    json = devtools_begin(rendering->devtools, "Page.addScriptToEvaluateOnNewDocument");
    json_text(json, "source", rendering->body.data, rendering->body.length);
    rc = devtools_call(rendering->devtools, deadline, &result);
    if (rc != RESULT_OK || !json_read_member(result, "identifier", &number)) {
        return rc != RESULT_OK ? rc : RESULT_INVALID;
    }
    buffer_reset(&rendering->word);
    rc = json_read_text(number, &rendering->word);
    (void)snprintf(tab->script, sizeof tab->script, "%s", buffer_string(&rendering->word));
    return rc;
}

/* The cookies that the page was fetched with. */
static Result rendering_set_cookies(Rendering *rendering)
{
    const char *at = rendering->page->cookies == NULL ? "" : rendering->page->cookies;
    Result rc = RESULT_OK;
    while (*at != '\0' && rc == RESULT_OK) {
        size_t length = strcspn(at, ";");
        size_t name = strcspn(at, "=;");
        if (name > 0 && name < length) {
            JsonWriter *json = devtools_begin(rendering->devtools, "Network.setCookie");
            json_text(json, "name", at, name);
            json_text(json, "value", at + name + 1, length - name - 1);
            json_string(json, "url", rendering->page->url);
            rc = devtools_send(rendering->devtools);
        }
        at += length;
        at += strspn(at, "; ");
    }
    return rc;
}

static Result rendering_navigate(Rendering *rendering, MonoTime deadline)
{
    RenderTab *tab = rendering->tab;
    Result rc = rendering_set_script(rendering, deadline);
    if (rc == RESULT_OK) {
        rc = rendering_set_cookies(rendering);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    JsonWriter *json = devtools_begin(rendering->devtools, "Emulation.setVirtualTimePolicy");
    json_string(json, "policy", "pause");
    if (!tab->has_clock) {
        json_real(json, "initialVirtualTime", (double)tab->clock_ms / 1000, 3);
        tab->has_clock = true;
    }
    rc = devtools_call(rendering->devtools, deadline, NULL);
    if (rc != RESULT_OK) {
        return rc;
    }
    json = devtools_begin(rendering->devtools, "Page.navigate");
    json_string(json, "url", rendering->page->url);
    return devtools_send(rendering->devtools);
}

/* Looks at what the browser takes; false when that is too much. */
static bool rendering_may_go_on(Rendering *rendering, int64_t cpu_before)
{
    if (rendering->bounds->stop != NULL && atomic_load(rendering->bounds->stop)) {
        rendering->is_dead = true;
        return true;
    }
    BrowserUse use = browser_use(rendering->devtools->browser);
    rendering->out->cpu_ms = use.cpu_ms - cpu_before;
    if (use.memory_bytes > rendering->bounds->memory_bytes) {
        rendering->out->end = RENDER_MEMORY;
        return false;
    }
    if (rendering->out->cpu_ms > rendering->bounds->cpu_ms) {
        rendering->out->end = RENDER_CPU;
        return false;
    }
    return true;
}

/* Answers what the page asks until its time is used up. */
static Result rendering_watch(Rendering *rendering, MonoTime deadline)
{
    JsonValue message;
    JsonValue number;
    int64_t cpu_before = browser_use_again(rendering->devtools->browser).cpu_ms;
    MonoTime look = mono_add_ms(mono_now(), RENDERING_LOOK_MS);
    while (!rendering->is_over && !rendering->is_dead) {
        Result rc = devtools_next(rendering->devtools, mono_earlier(deadline, look), &message);
        if (rc == RESULT_OK && !json_read_member(message, "id", &number)) {
            rendering_event(rendering, message);
            rc = rendering->result;
        }
        if (rc != RESULT_OK && rc != RESULT_TIMEOUT) {
            return rc;
        }
        MonoTime now = mono_now();
        if (!mono_before(now, deadline)) {
            rendering->out->end = RENDER_TIME;
            return RESULT_TIMEOUT;
        }
        if (!mono_before(now, look)) {
            if (!rendering_may_go_on(rendering, cpu_before)) {
                return RESULT_TIMEOUT;
            }
            look = mono_add_ms(now, RENDERING_LOOK_MS);
        }
    }
    return rendering->is_dead ? RESULT_CLOSED : RESULT_OK;
}

/* ---- the document ---- */

/* "CLOCK CUT REFUSED", a line feed, and the document. */
static Result rendering_take(Rendering *rendering, JsonValue value, bool is_main, const char *url)
{
    Buffer *document = &rendering->out->document;
    buffer_reset(&rendering->body);
    Result rc = json_read_text(value, &rendering->body);
    const char *text = buffer_string(&rendering->body);
    char *told = NULL;
    const char *line = strchr(text, '\n');
    if (rc != RESULT_OK || line == NULL) {
        return rc != RESULT_OK ? rc : RESULT_INVALID;
    }
    long long clock = strtoll(text, &told, 10);
    long cut = strtol(told, &told, 10);
    told += strspn(told, " ");
    if (told > line) {
        return RESULT_INVALID;
    }
    rendering_doors(rendering, told, (size_t)(line - told));
    size_t length = rendering->body.length - (size_t)(line + 1 - text);
    rendering->out->is_cut = rendering->out->is_cut || cut != 0;
    if (is_main) {
        rendering->tab->clock_ms = clock;
        rc = buffer_append_string(document, "<!DOCTYPE html>");
    } else {
        rc = buffer_append_string(document, "<section data-ragno-frame=\"");
        for (const char *c = url; rc == RESULT_OK && *c != '\0'; c++) {
            rc = *c == '"' || *c == '<' || *c == '&' ? buffer_printf(document, "&#%d;", *c)
                                                     : buffer_append_char(document, *c);
        }
        rc = rc == RESULT_OK ? buffer_append_string(document, "\">") : rc;
    }
    if (rc == RESULT_OK) {
        rc = buffer_append(document, line + 1, length);
    }
    if (rc == RESULT_OK && !is_main) {
        rc = buffer_append_string(document, "</section>");
    }
    return rc;
}

/* Reads one frame. RESULT_INVALID: there is nothing to read, or the page is in the way. */
static Result rendering_read_frame(Rendering *rendering, JsonValue frame, bool is_main,
                                   MonoTime deadline)
{
    JsonValue value;
    JsonValue result;
    Buffer id;
    Buffer url;
    buffer_init(&id, 256);
    buffer_init(&url, RENDERING_URL_BYTES);
    JsonValue member;
    Result rc =
        json_read_member(frame, "id", &member) ? json_read_text(member, &id) : RESULT_INVALID;
    if (json_read_member(frame, "url", &member)) {
        (void)json_read_text(member, &url);
    }
    if (rc != RESULT_OK) {
        goto done;
    }
    JsonWriter *json = devtools_begin(rendering->devtools, "Page.createIsolatedWorld");
    json_string(json, "frameId", id.data);
    json_string(json, "worldName", "ragno");
    rc = devtools_call(rendering->devtools, deadline, &result);
    if (rc != RESULT_OK || !json_read_member(result, "executionContextId", &value)) {
        goto done;
    }
    int64_t world = json_read_integer(value, 0);
    buffer_reset(&rendering->body);
    size_t room = rendering->bounds->most_document > rendering->out->document.length
                      ? rendering->bounds->most_document - rendering->out->document.length
                      : 0;
    rc = render_script_read(&rendering->body, room);
    if (rc != RESULT_OK) {
        goto done;
    }
    json = devtools_begin(rendering->devtools, "Runtime.evaluate");
    json_text(json, "expression", rendering->body.data, rendering->body.length);
    json_integer(json, "contextId", world);
    json_bool(json, "returnByValue", true);
    rc = devtools_call(rendering->devtools, deadline, &result);
    if (rc == RESULT_OK) {
        bool done =
            json_read_member(result, "result", &value) && json_read_member(value, "value", &member);
        rc =
            done ? rendering_take(rendering, member, is_main, buffer_string(&url)) : RESULT_INVALID;
    }
done:
    buffer_destroy(&id);
    buffer_destroy(&url);
    return rc;
}

/* The frames of a tree, in a copy of the browser's answer, the outermost first: a list of those
 * that are still to be read, not recursion. */
static Result rendering_read_frames(Rendering *rendering, JsonValue tree, MonoTime deadline)
{
    JsonValue left[RENDERING_FRAMES];
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
        Result rc = rendering_read_frame(rendering, frame, i == 0, deadline);
        if (rc != RESULT_OK && (i == 0 || rc != RESULT_INVALID)) {
            return rc;
        }
        rendering->out->n_frames++;
        (void)json_read_member(left[i], "childFrames", &children);
        while (json_read_next(children, &position, &child)) {
            if (n == RENDERING_FRAMES) {
                rendering->out->is_cut = true;
                break;
            }
            left[n++] = child;
        }
    }
    return RESULT_OK;
}

static Result rendering_read(Rendering *rendering, MonoTime deadline)
{
    JsonValue result;
    JsonValue tree;
    Buffer copy;
    buffer_init(&copy, DEVTOOLS_MESSAGE_BYTES);
    (void)devtools_begin(rendering->devtools, "Page.getFrameTree");
    Result rc = devtools_call(rendering->devtools, deadline, &result);
    if (rc == RESULT_OK) {
        rc = json_read_member(result, "frameTree", &tree)
                 ? buffer_append(&copy, tree.begin, (size_t)(tree.end - tree.begin))
                 : RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        rc = json_read(copy.data, copy.length, &tree);
    }
    if (rc == RESULT_OK) {
        rc = rendering_read_frames(rendering, tree, deadline);
    }
    buffer_destroy(&copy);
    rendering->out->has_document = rc == RESULT_OK;
    return rc;
}

/* A picture of what the page shows; it does without where that fails. */
static void rendering_shoot(Rendering *rendering)
{
    JsonValue result;
    JsonValue data;
    JsonWriter *json = devtools_begin(rendering->devtools, "Page.captureScreenshot");
    json_string(json, "format", "jpeg");
    json_integer(json, "quality", RENDERING_QUALITY);
    Result rc =
        devtools_call(rendering->devtools, mono_add_ms(mono_now(), RENDERING_SHOOT_MS), &result);
    buffer_reset(&rendering->body);
    if (rc == RESULT_OK && json_read_member(result, "data", &data)) {
        rc = json_read_text(data, &rendering->body);
    }
    if (rc == RESULT_OK) {
        rc = base64_read(&rendering->out->picture, buffer_string(&rendering->body),
                         rendering->body.length, BASE64_STANDARD);
    }
    if (rc != RESULT_OK) {
        LOG_WARN("render", "no picture", "url=%s error=%s", rendering->page->url, result_name(rc));
        buffer_reset(&rendering->out->picture);
    }
}

/* A page that does not end: its script is stopped, and what there is of it is read, if it lets. */
static void rendering_rescue(Rendering *rendering)
{
    MonoTime deadline = mono_add_ms(mono_now(), RENDERING_RESCUE_MS);
    Result rc = devtools_tell(rendering->devtools, "Runtime.terminateExecution");
    if (rc == RESULT_OK) {
        JsonWriter *json = devtools_begin(rendering->devtools, "Emulation.setVirtualTimePolicy");
        json_string(json, "policy", "pause");
        rc = devtools_send(rendering->devtools);
    }
    if (rc == RESULT_OK) {
        (void)rendering_read(rendering, deadline);
    }
}

Result rendering_run(RenderTab *tab, const RenderBounds *bounds, const RenderPage *page,
                     const RenderSource *source, Rendered *rendered)
{
    Rendering rendering = {.tab = tab,
                           .devtools = tab->devtools,
                           .bounds = bounds,
                           .page = page,
                           .source = source,
                           .out = rendered};
    MonoTime deadline = mono_add_ms(mono_now(), bounds->timeout_ms);
    rendered_clear(rendered);
    buffer_init(&rendering.url, RENDERING_URL_BYTES);
    buffer_init(&rendering.word, RENDERING_URL_BYTES);
    buffer_init(&rendering.body, DEVTOOLS_MESSAGE_BYTES);
    rendering.lacked = calloc(bounds->most_requests + 1, sizeof *rendering.lacked);
    tab->devtools->listener = rendering_event;
    tab->devtools->context = &rendering;
    Result rc = rendering.lacked == NULL ? RESULT_MEMORY : rendering_navigate(&rendering, deadline);
    if (rc == RESULT_OK) {
        rc = rendering_watch(&rendering, deadline);
    }
    if (rc == RESULT_OK) {
        rendered->end = rendering.has_main ? RENDER_SETTLED : RENDER_NOTHING;
        rc = rendering_read(&rendering, mono_add_ms(mono_now(), RENDERING_READ_MS));
        if (rc == RESULT_OK && bounds->wants_picture) {
            rendering_shoot(&rendering);
        }
    } else if (rc == RESULT_TIMEOUT) {
        rendering_rescue(&rendering);
    }
    if (rc != RESULT_OK && rc != RESULT_TIMEOUT) {
        rendered->end = RENDER_CRASHED;
    }
    free(rendering.lacked);
    buffer_destroy(&rendering.url);
    buffer_destroy(&rendering.word);
    buffer_destroy(&rendering.body);
    return rc;
}
