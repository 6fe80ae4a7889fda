#include "render/rendering.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/hash.h"
#include "base/memory/base64.h"
#include "parse/http/http_header.h"
#include "render/render_script.h"
#include "render/render_view.h"

#define RENDERING_LOOK_MS   250   /* between two measurements of the browser, at most */
#define RENDERING_LOOKS     10    /* parts of a page's CPU time: no look comes sooner */
#define RENDERING_READ_MS   20000 /* for reading the document */
#define RENDERING_READ_CPU  1000  /* ms of CPU time for it, or half of what the page has */
#define RENDERING_SCROLL_MS 5000  /* for one time that it is scrolled */
#define RENDERING_RESCUE_MS 10000 /* for reading what there is of one that does not end */
#define RENDERING_URL_BYTES 8192  /* a longer URL is not asked for */

typedef struct Rendering {
    RenderTab *tab;
    Devtools *devtools;
    const RenderBounds *bounds;
    const RenderPage *page;
    const RenderSource *source;
    Rendered *out;
    RenderView view;
    Buffer url;
    Buffer word;        /* scratch */
    Buffer body;        /* scratch: Base64 */
    uint64_t *lacked;   /* hashes of the URLs that are lacking */
    bool started;       /* time runs */
    bool has_main;      /* the document itself was answered */
    bool is_over;       /* time is used up */
    bool is_dead;       /* the tab has crashed */
    Result result;      /* of what the listener sent */
    int64_t cpu_ms;     /* that it has by now */
    int64_t cpu_before; /* of the tab, when the page began */
    MonoTime around;    /* when new processes are looked for again */
} Rendering;

/* ---- requests ---- */

static void rendering_note(Rendering *rendering, Result rc)
{
    if (rendering->result == RESULT_OK) {
        rendering->result = rc;
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
        if (field->name_length == strlen(gone[i]) &&
            strncasecmp(field->name, gone[i], field->name_length) == 0) {
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
            json_open(json, NULL, '{');
            json_text(json, "name", field.name, field.name_length);
            json_text(json, "value", field.value, field.value_length);
            json_close(json);
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
        rendered_line(&rendering->out->lacking, rendering->url.data);
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
        rendered_refuse(rendering->out, RENDER_NO_DENIED, url);
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
        rendered_refuse(rendering->out, RENDER_NO_METHOD, url);
        return true;
    }
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        rendered_refuse(rendering->out, RENDER_NO_SCHEME, url);
        return true;
    }
    if (rendering->out->n_requests >= rendering->bounds->most_requests) {
        rendered_refuse(rendering->out, RENDER_NO_NUMBER, url);
        return true;
    }
    return false;
}

static Result rendering_give_time(Rendering *rendering, int64_t budget_ms)
{
    JsonWriter *json = devtools_begin(rendering->devtools, "Emulation.setVirtualTimePolicy");
    json_string(json, "policy", "pauseIfNetworkFetchesPending");
    json_integer(json, "budget", budget_ms);
    return devtools_send(rendering->devtools);
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
    rendered_refuse(rendering->out, RENDER_NO_NAVIGATION, rendering->url.data);
    rendered_line(&rendering->out->onward, rendering->url.data);
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
    if (!rendering->started) { /* time is the same whatever the browser did before */
        rendering->started = true;
        rendering_note(rendering, rendering_give_time(rendering, RENDER_BUDGET_MS));
    }
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

/* A dialog that came past the script: a page that leaves asks whether it may. */
static void rendering_dialog(Rendering *rendering)
{
    rendered_refuse(rendering->out, RENDER_NO_WINDOW, "dialog");
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
    rendered_refuse(rendering->out, RENDER_NO_WINDOW, "window");
    JsonWriter *json = devtools_begin(rendering->devtools, "Target.closeTarget");
    rendering_pass(rendering, json, "targetId", target);
    rendering_note(rendering, devtools_send(rendering->devtools));
}

static void rendering_event(void *context, JsonValue event)
{
    Rendering *rendering = context;
    JsonValue method;
    JsonValue params;
    JsonValue session;
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
        rendered_refuse(rendering->out, RENDER_NO_DOWNLOAD, "download");
    } else if (json_read_is(method, "Inspector.targetCrashed") ||
               (json_read_is(method, "Target.detachedFromTarget") &&
                json_read_member(params, "sessionId", &session) &&
                json_read_is(session, rendering->devtools->session))) {
        rendering->is_dead = true; /* sessions of workers come and go */
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
    while (*at != '\0') {
        size_t length = strcspn(at, ";");
        size_t name = strcspn(at, "=;");
        if (name > 0 && name < length) {
            JsonWriter *json = devtools_begin(rendering->devtools, "Network.setCookie");
            json_text(json, "name", at, name);
            json_text(json, "value", at + name + 1, length - name - 1);
            json_string(json, "url", rendering->page->url);
            Result rc = devtools_send(rendering->devtools);
            if (rc != RESULT_OK) {
                return rc;
            }
        }
        at += length;
        at += strspn(at, "; ");
    }
    return RESULT_OK;
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
static bool rendering_may_go_on(Rendering *rendering)
{
    if (rendering->bounds->stop != NULL && atomic_load(rendering->bounds->stop)) {
        rendering->is_dead = true;
        return true;
    }
    MonoTime now = mono_now();
    BrowserUse use = {.memory_bytes = 0};
    if (mono_before(now, rendering->around)) {
        use.cpu_ms = devtools_cpu_ms(rendering->devtools);
    } else {
        use = devtools_use(rendering->devtools);
        rendering->around = mono_add_ms(now, RENDERING_LOOK_MS);
    }
    rendering->out->cpu_ms = use.cpu_ms - rendering->cpu_before;
    if (use.memory_bytes > rendering->bounds->memory_bytes) {
        rendering->out->end = RENDER_MEMORY;
        return false;
    }
    if (rendering->out->cpu_ms > rendering->cpu_ms) {
        rendering->out->end = RENDER_CPU;
        return false;
    }
    return true;
}

/* The page may go on while the browser is asked something: its handlers run then, too. */
static bool rendering_goes_on_asked(void *context)
{
    Rendering *rendering = context;
    return rendering_may_go_on(rendering) && !rendering->is_dead;
}

/* Beside what the page has taken, reading it may take so much. */
static void rendering_allow_reading(Rendering *rendering, int64_t spent_ms)
{
    int64_t half_ms = rendering->cpu_ms / 2;
    rendering->cpu_ms = spent_ms + (half_ms > RENDERING_READ_CPU ? half_ms : RENDERING_READ_CPU);
}

/* When the next look is due: the page can hardly take half of what is left before. */
static MonoTime rendering_next_look(const Rendering *rendering)
{
    int64_t half_ms = (rendering->cpu_ms - rendering->out->cpu_ms) / 2;
    int64_t least_ms = rendering->cpu_ms / RENDERING_LOOKS;
    int64_t wait_ms = half_ms > least_ms ? half_ms : least_ms;
    return mono_add_ms(mono_now(), wait_ms < RENDERING_LOOK_MS ? wait_ms : RENDERING_LOOK_MS);
}

/* Answers what the page asks until its time is used up. */
static Result rendering_watch(Rendering *rendering, MonoTime deadline)
{
    JsonValue message;
    JsonValue number;
    MonoTime look = rendering_next_look(rendering);
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
            if (!rendering_may_go_on(rendering)) {
                return RESULT_TIMEOUT;
            }
            look = rendering_next_look(rendering);
        }
    }
    return rendering->is_dead ? RESULT_CLOSED : RESULT_OK;
}

/* Scrolls for as long as that makes the page longer, and each time gives it time. A page that is in
 * the way of it is shown as it is. */
static Result rendering_scroll(Rendering *rendering, MonoTime deadline)
{
    int64_t before = 0;
    while (rendering->has_main && rendering->out->n_scrolls < rendering->bounds->scrolls) {
        int64_t height = 0;
        MonoTime soon = mono_earlier(deadline, mono_add_ms(mono_now(), RENDERING_SCROLL_MS));
        Result rc = render_view_scroll(&rendering->view, soon, &height);
        if (rc == RESULT_TIMEOUT && rendering->out->end != RENDER_NOTHING) {
            return rc; /* it took too much */
        }
        if (rc == RESULT_INVALID || rc == RESULT_TIMEOUT) {
            return RESULT_OK;
        }
        if (rc != RESULT_OK || height <= before) {
            return rc;
        }
        before = height;
        rendering->out->n_scrolls++;
        rendering->is_over = false;
        rc = rendering_give_time(rendering, RENDER_SCROLL_MS);
        if (rc == RESULT_OK) {
            rc = rendering_watch(rendering, deadline);
        }
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

/* A page that does not end: its script is stopped, and what there is of it is read, if it lets. */
static void rendering_rescue(Rendering *rendering)
{
    MonoTime deadline = mono_add_ms(mono_now(), RENDERING_RESCUE_MS);
    RenderEnd end = rendering->out->end;
    rendering_allow_reading(rendering, rendering->out->cpu_ms);
    Result rc = devtools_tell(rendering->devtools, "Runtime.terminateExecution");
    if (rc == RESULT_OK) {
        JsonWriter *json = devtools_begin(rendering->devtools, "Emulation.setVirtualTimePolicy");
        json_string(json, "policy", "pause");
        rc = devtools_send(rendering->devtools);
    }
    if (rc == RESULT_OK) {
        rendering->out->has_document = render_view_read(&rendering->view, deadline) == RESULT_OK;
    }
    rendering->out->end = end;
}

/* Reads a page that has settled. */
static Result rendering_read(Rendering *rendering)
{
    Rendered *out = rendering->out;
    out->end = rendering->has_main ? RENDER_SETTLED : RENDER_NOTHING;
    rendering_allow_reading(rendering, rendering->cpu_ms);
    Result rc = render_view_read(&rendering->view, mono_add_ms(mono_now(), RENDERING_READ_MS));
    out->has_document = rc == RESULT_OK;
    if (rc == RESULT_OK && rendering->bounds->wants_picture) {
        render_view_shoot(&rendering->view, rendering->page->url);
    }
    if (rc == RESULT_TIMEOUT && out->end != RENDER_CPU && out->end != RENDER_MEMORY) {
        out->end = RENDER_TIME;
    }
    return rc;
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
    rendering.cpu_ms = page->cpu_ms > 0 ? page->cpu_ms : bounds->cpu_ms;
    rendering.cpu_before = devtools_cpu_ms(tab->devtools);
    rendering.around = mono_add_ms(mono_now(), RENDERING_LOOK_MS);
    rendered_clear(rendered);
    render_view_init(&rendering.view, tab, bounds, rendered);
    buffer_init(&rendering.url, RENDERING_URL_BYTES);
    buffer_init(&rendering.word, RENDERING_URL_BYTES);
    buffer_init(&rendering.body, DEVTOOLS_MESSAGE_BYTES);
    rendering.lacked = calloc(bounds->most_requests + 1, sizeof *rendering.lacked);
    tab->devtools->listener = rendering_event;
    tab->devtools->context = &rendering;
    tab->devtools->goes_on = rendering_goes_on_asked;
    Result rc = rendering.lacked == NULL ? RESULT_MEMORY : rendering_navigate(&rendering, deadline);
    if (rc == RESULT_OK) {
        rc = rendering_watch(&rendering, deadline);
    }
    if (rc == RESULT_OK) {
        rc = rendering_scroll(&rendering, deadline);
    }
    if (rc == RESULT_OK) {
        rc = rendering_read(&rendering);
    } else if (rc == RESULT_TIMEOUT &&
               (rendered->end != RENDER_CPU || rendering.cpu_ms >= bounds->cpu_ms)) {
        rendering_rescue(&rendering);
    }
    if (rc != RESULT_OK && rc != RESULT_TIMEOUT) {
        rendered->end = RENDER_CRASHED;
    }
    tab->devtools->goes_on = NULL;
    free(rendering.lacked);
    render_view_destroy(&rendering.view);
    buffer_destroy(&rendering.url);
    buffer_destroy(&rendering.word);
    buffer_destroy(&rendering.body);
    return rc;
}
