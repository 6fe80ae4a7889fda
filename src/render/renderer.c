#include "render/renderer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"

#define RENDERER_START_MS    60000 /* for the first answer of a browser; much is read from disk */
#define RENDERER_COMMAND_MS  30000
#define RENDERER_PER_BROWSER 500                    /* pages: it swells by and by */
#define RENDERER_LOOK_PAGES  8                      /* between two looks at a tab's memory */
#define RENDERER_FIRST_CLOCK INT64_C(1700000000000) /* any time that is not before a page's */

/* A browser and who is in it; guarded by the mutex of its share. */
struct SharedBrowser {
    DevtoolsPipe pipe; /* with a lock of its own */
    unsigned users;
    unsigned pages;
    bool is_old;     /* nobody joins it any more */
    bool was_shared; /* there was more than one user */
    char product[64];
};

struct Renderer {
    RendererOptions options;
    RendererShare own;
    RendererShare *share;
    SharedBrowser *browser; /* NULL: it is in none */
    Devtools devtools;
    RenderTab tab;
    bool has_tab;
    char context[DEVTOOLS_SESSION_BYTES];
    unsigned pages_of_context;
    char product[64]; /* of the last browser */
    Buffer word;
};

void renderer_share_init(RendererShare *share)
{
    *share = (RendererShare){.n_tabs = 0};
    mutex_init(&share->mutex, RANK_QUEUE);
}

void renderer_share_destroy(RendererShare *share)
{
    mutex_destroy(&share->mutex);
}

Result renderer_new(Renderer **renderer, const RendererOptions *options, RendererShare *share)
{
    Renderer *r = calloc(1, sizeof *r);
    *renderer = NULL;
    if (r == NULL) {
        return RESULT_MEMORY;
    }
    r->options = *options;
    renderer_share_init(&r->own);
    r->share = share == NULL ? &r->own : share;
    devtools_init(&r->devtools, r->share->n_tabs++);
    buffer_init(&r->word, 4096);
    *renderer = r;
    return RESULT_OK;
}

/* Leaves the browser, which ends with the last one. */
static void renderer_leave_locked(Renderer *renderer)
{
    SharedBrowser *browser = renderer->browser;
    renderer->has_tab = false;
    renderer->browser = NULL;
    if (browser == NULL) {
        return;
    }
    devtools_detach(&renderer->devtools);
    browser->users--;
    if (renderer->share->current == browser &&
        (browser->users == 0 || devtools_pipe_has_ended(&browser->pipe))) {
        renderer->share->current = NULL;
    }
    if (browser->users == 0) {
        devtools_pipe_destroy(&browser->pipe);
        free(browser);
    }
}

static void renderer_leave(Renderer *renderer)
{
    mutex_lock(&renderer->share->mutex);
    renderer_leave_locked(renderer);
    mutex_unlock(&renderer->share->mutex);
}

void renderer_delete(Renderer *renderer)
{
    if (renderer != NULL) {
        renderer_leave(renderer);
        devtools_destroy(&renderer->devtools);
        renderer_share_destroy(&renderer->own);
        buffer_destroy(&renderer->word);
        free(renderer);
    }
}

const char *renderer_product(const Renderer *renderer)
{
    return renderer->product;
}

bool renderer_is_cut_off(const Renderer *renderer)
{
    return renderer->browser != NULL && renderer->browser->pipe.browser.is_cut_off;
}

/* ---- browser, context, tab ---- */

static void renderer_no_event(void *context, JsonValue event)
{
    (void)context;
    (void)event;
}

/* Sends the command that was begun, which must be taken. */
static Result renderer_tell(Renderer *renderer)
{
    return devtools_call(&renderer->devtools, mono_add_ms(mono_now(), RENDERER_COMMAND_MS), NULL);
}

/* The same; a text of its answer goes to out. */
static Result renderer_ask(Renderer *renderer, const char *member, char *out, size_t size)
{
    JsonValue result;
    JsonValue value;
    Result rc =
        devtools_call(&renderer->devtools, mono_add_ms(mono_now(), RENDERER_COMMAND_MS), &result);
    if (rc != RESULT_OK) {
        return rc;
    }
    buffer_reset(&renderer->word);
    rc = json_read_member(result, member, &value) ? json_read_text(value, &renderer->word)
                                                  : RESULT_INVALID;
    if (rc == RESULT_OK && renderer->word.length >= size) {
        rc = RESULT_LIMIT;
    }
    if (rc == RESULT_OK) {
        (void)snprintf(out, size, "%s", buffer_string(&renderer->word));
    }
    return rc;
}

static Result renderer_start(Renderer *renderer)
{
    JsonValue result;
    JsonValue value;
    SharedBrowser *browser = renderer->browser;
    (void)devtools_begin(&renderer->devtools, "Browser.getVersion");
    Result rc =
        devtools_call(&renderer->devtools, mono_add_ms(mono_now(), RENDERER_START_MS), &result);
    if (rc == RESULT_OK && json_read_member(result, "product", &value)) {
        buffer_reset(&renderer->word);
        (void)json_read_text(value, &renderer->word);
        (void)snprintf(browser->product, sizeof browser->product, "%.60s",
                       buffer_string(&renderer->word));
    }
    return rc;
}

/* Joins the browser that the others are in; where there is none, or alone, it starts one. */
static Result renderer_join_locked(Renderer *renderer, bool alone)
{
    RendererShare *share = renderer->share;
    SharedBrowser *browser = alone ? NULL : share->current;
    bool is_new = browser == NULL || devtools_pipe_has_ended(&browser->pipe);
    Result rc = RESULT_OK;
    if (is_new) {
        browser = calloc(1, sizeof *browser);
        if (browser == NULL) {
            return RESULT_MEMORY;
        }
        devtools_pipe_init(&browser->pipe);
        rc = browser_start(&browser->pipe.browser, &renderer->options.browser);
    }
    browser->users++;
    browser->was_shared = browser->was_shared || browser->users > 1;
    renderer->browser = browser;
    devtools_attach(&renderer->devtools, &browser->pipe);
    if (is_new && rc == RESULT_OK) {
        rc = renderer_start(renderer);
    }
    if (is_new && !alone && rc == RESULT_OK) {
        share->current = browser;
    }
    memcpy(renderer->product, browser->product, sizeof renderer->product);
    return rc;
}

/* What a tab is set to; each of these commands must be taken. */
static Result renderer_set_tab(Renderer *renderer)
{
    static const struct {
        const char *method;
        const char *parameters[3][2]; /* names and JSON */
    } commands[] = {
        {"Page.enable", {{NULL}}},
        {"Inspector.enable", {{NULL}}},
        {"Network.setCacheDisabled", {{"cacheDisabled", "true"}}},
        {"Target.setAutoAttach",
         {{"autoAttach", "true"}, {"waitForDebuggerOnStart", "false"}, {"flatten", "true"}}},
        {"Fetch.enable", {{"patterns", "[{\"urlPattern\": \"*\"}]"}}}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        JsonWriter *json = devtools_begin(&renderer->devtools, commands[i].method);
        for (size_t k = 0; k < 3 && commands[i].parameters[k][0] != NULL; k++) {
            const char *value = commands[i].parameters[k][1];
            json_raw(json, commands[i].parameters[k][0], value, strlen(value));
        }
        Result rc = renderer_tell(renderer);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

static Result renderer_open_tab(Renderer *renderer)
{
    Devtools *devtools = &renderer->devtools;
    renderer->tab = (RenderTab){.devtools = devtools, .clock_ms = RENDERER_FIRST_CLOCK};
    json_bool(devtools_begin(devtools, "Target.createBrowserContext"), "disposeOnDetach", true);
    Result rc =
        renderer_ask(renderer, "browserContextId", renderer->context, sizeof renderer->context);
    if (rc != RESULT_OK) {
        return rc;
    }
    JsonWriter *json = devtools_begin(devtools, "Browser.setDownloadBehavior");
    json_string(json, "behavior", "deny");
    json_string(json, "browserContextId", renderer->context);
    rc = renderer_tell(renderer);
    if (rc != RESULT_OK) {
        return rc;
    }
    json = devtools_begin(devtools, "Target.createTarget");
    json_string(json, "url", "about:blank");
    json_string(json, "browserContextId", renderer->context);
    rc = renderer_ask(renderer, "targetId", renderer->tab.target, sizeof renderer->tab.target);
    if (rc != RESULT_OK) {
        return rc;
    }
    char session[DEVTOOLS_SESSION_BYTES];
    json = devtools_begin(devtools, "Target.attachToTarget");
    json_string(json, "targetId", renderer->tab.target);
    json_bool(json, "flatten", true);
    rc = renderer_ask(renderer, "sessionId", session, sizeof session);
    if (rc != RESULT_OK) {
        return rc;
    }
    devtools_set_session(devtools, session);
    rc = renderer_set_tab(renderer);
    devtools_find_tab(devtools);
    renderer->has_tab = rc == RESULT_OK;
    renderer->pages_of_context = 0;
    return rc;
}

/* Throws the context away with its tab and all that its pages have stored. */
static Result renderer_close_tab(Renderer *renderer)
{
    if (!renderer->has_tab) {
        return RESULT_OK;
    }
    renderer->has_tab = false;
    devtools_set_session(&renderer->devtools, "");
    json_string(devtools_begin(&renderer->devtools, "Target.disposeBrowserContext"),
                "browserContextId", renderer->context);
    return renderer_tell(renderer);
}

/* Whether a browser, between two pages of this tab, has had enough: it has ended, or swollen. */
static bool renderer_is_over_locked(Renderer *renderer)
{
    SharedBrowser *browser = renderer->browser;
    uint64_t most = renderer->options.bounds.memory_bytes / 2;
    browser->is_old = browser->is_old || browser->pages >= RENDERER_PER_BROWSER ||
                      (browser->pages % RENDERER_LOOK_PAGES == 0 &&
                       devtools_use(&renderer->devtools).memory_bytes > most);
    if (browser->is_old && renderer->share->current == browser) {
        renderer->share->current = NULL;
    }
    return browser->is_old || devtools_pipe_has_ended(&browser->pipe);
}

/* A tab in a browser. */
static Result renderer_prepare_locked(Renderer *renderer, bool alone)
{
    Result rc = RESULT_OK;
    if (renderer->browser != NULL && (alone || renderer_is_over_locked(renderer))) {
        (void)renderer_close_tab(renderer); /* others may stay for long */
        renderer_leave_locked(renderer);
    }
    if (renderer->browser == NULL) {
        rc = renderer_join_locked(renderer, alone);
    }
    if (rc == RESULT_OK && renderer->pages_of_context >= renderer->options.pages_per_context) {
        rc = renderer_close_tab(renderer);
    }
    if (rc == RESULT_OK && !renderer->has_tab) {
        rc = renderer_open_tab(renderer);
    }
    if (rc == RESULT_OK) {
        renderer->browser->pages++;
    }
    return rc;
}

/* Behind a page that its tab did not stand: the tab goes, and where it does not, the browser. */
static void renderer_give_up(Renderer *renderer)
{
    if (renderer->has_tab) {
        devtools_end_tab(&renderer->devtools);
    }
    if (renderer->has_tab && renderer_close_tab(renderer) == RESULT_OK) {
        return;
    }
    if (renderer->browser != NULL) {
        devtools_pipe_end(&renderer->browser->pipe);
    }
    renderer_leave(renderer);
}

/* What the page may have stored under its origin, and all cookies, are removed, so that the next
 * page finds what the first one of a context finds. */
static Result renderer_clear(Renderer *renderer, const char *url)
{
    const char *host = strstr(url, "://");
    size_t length = host == NULL ? 0 : (size_t)(host + 3 - url) + strcspn(host + 3, "/?#");
    JsonWriter *json = devtools_begin(&renderer->devtools, "Storage.clearDataForOrigin");
    json_text(json, "origin", url, length);
    json_string(json, "storageTypes", "all");
    Result rc = renderer_tell(renderer);
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)devtools_begin(&renderer->devtools, "Network.clearBrowserCookies");
    return renderer_tell(renderer);
}

Result renderer_render(Renderer *renderer, const RenderPage *page, const RenderSource *source,
                       bool alone, Rendered *rendered)
{
    Devtools *devtools = &renderer->devtools;
    devtools->listener = renderer_no_event;
    mutex_lock(&renderer->share->mutex);
    Result rc = renderer_prepare_locked(renderer, alone);
    mutex_unlock(&renderer->share->mutex);
    if (rc != RESULT_OK) {
        LOG_WARN("render", "no browser", "error=%s", result_name(rc));
        renderer_give_up(renderer);
        return rc;
    }
    renderer->pages_of_context++;
    rc = rendering_run(&renderer->tab, &renderer->options.bounds, page, source, rendered);
    int64_t spent = devtools_count(devtools);
    rendered->cpu_ms = spent > rendered->cpu_ms ? spent : rendered->cpu_ms;
    mutex_lock(&renderer->share->mutex);
    rendered->in_company =
        renderer->browser->was_shared && devtools_pipe_has_ended(&renderer->browser->pipe);
    mutex_unlock(&renderer->share->mutex);
    devtools->listener = renderer_no_event;
    if (rc == RESULT_OK) {
        rc = renderer_clear(renderer, page->url);
    }
    if (rc != RESULT_OK) {
        renderer_give_up(renderer);
    }
    if (alone) {
        renderer_leave(renderer);
    }
    return RESULT_OK;
}
