#include "render/renderer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"

#define RENDERER_START_MS    60000 /* for the first answer of a browser; much is read from disk */
#define RENDERER_COMMAND_MS  30000
#define RENDERER_PER_BROWSER 500                    /* pages: it swells by and by */
#define RENDERER_LOOK_PAGES  8                      /* between two looks at a browser's memory */
#define RENDERER_FIRST_CLOCK INT64_C(1700000000000) /* any time that is not before a page's */

struct Renderer {
    RendererOptions options;
    Browser browser;
    Devtools devtools;
    RenderTab tab;
    bool has_tab;
    char context[DEVTOOLS_SESSION_BYTES];
    unsigned pages_of_context;
    unsigned pages_of_browser;
    int64_t cpu_of_browser;
    char product[64];
    Buffer word;
    RendererTotals totals;
};

Result renderer_new(Renderer **renderer, const RendererOptions *options)
{
    Renderer *r = calloc(1, sizeof *r);
    *renderer = NULL;
    if (r == NULL) {
        return RESULT_MEMORY;
    }
    r->options = *options;
    browser_init(&r->browser);
    devtools_init(&r->devtools, &r->browser);
    buffer_init(&r->word, 4096);
    *renderer = r;
    return RESULT_OK;
}

/* What the browser has spent since this was asked last: for a page, for the way to it, or for its
 * start. 0: it has ended. */
static int64_t renderer_spent(Renderer *renderer)
{
    Browser *browser = &renderer->browser;
    bool is_known = browser->n_processes > 0;
    int64_t cpu = (is_known ? browser_use_again(browser) : browser_use(browser)).cpu_ms;
    int64_t spent = cpu > renderer->cpu_of_browser ? cpu - renderer->cpu_of_browser : 0;
    renderer->cpu_of_browser += spent;
    renderer->totals.cpu_ms += spent;
    return spent;
}

static void renderer_stop(Renderer *renderer)
{
    browser_stop(&renderer->browser);
    devtools_reset(&renderer->devtools);
    renderer->has_tab = false;
    renderer->context[0] = '\0';
    renderer->cpu_of_browser = 0;
    renderer->pages_of_browser = 0;
}

void renderer_delete(Renderer *renderer)
{
    if (renderer != NULL) {
        renderer_stop(renderer);
        browser_destroy(&renderer->browser);
        devtools_destroy(&renderer->devtools);
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
    return renderer->browser.pid != 0 && renderer->browser.is_cut_off;
}

/* ---- browser, context, tab ---- */

static void renderer_no_event(void *context, JsonValue event)
{
    (void)context;
    (void)event;
}

/* Sends the command that was begun; a text of its answer goes to out. */
static Result renderer_ask(Renderer *renderer, const char *member, char *out, size_t size)
{
    JsonValue result;
    JsonValue value;
    Result rc =
        devtools_call(&renderer->devtools, mono_add_ms(mono_now(), RENDERER_COMMAND_MS), &result);
    if (rc != RESULT_OK || member == NULL) {
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
    Result rc = browser_start(&renderer->browser, &renderer->options.browser);
    if (rc != RESULT_OK) {
        return rc;
    }
    renderer->totals.starts++;
    (void)devtools_begin(&renderer->devtools, "Browser.getVersion");
    rc = devtools_call(&renderer->devtools, mono_add_ms(mono_now(), RENDERER_START_MS), &result);
    if (rc == RESULT_OK && json_read_member(result, "product", &value)) {
        buffer_reset(&renderer->word);
        (void)json_read_text(value, &renderer->word);
        (void)snprintf(renderer->product, sizeof renderer->product, "%.60s",
                       buffer_string(&renderer->word));
    }
    return rc;
}

/* What a tab is set to; each of these commands must be taken. */
static Result renderer_set_tab(Renderer *renderer)
{
    Devtools *devtools = &renderer->devtools;
    static const char *const switches[] = {"Page.enable", "Inspector.enable"};
    Result rc = RESULT_OK;
    for (size_t i = 0; i < sizeof switches / sizeof *switches && rc == RESULT_OK; i++) {
        (void)devtools_begin(devtools, switches[i]);
        rc = renderer_ask(renderer, NULL, NULL, 0);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    json_bool(devtools_begin(devtools, "Network.setCacheDisabled"), "cacheDisabled", true);
    rc = renderer_ask(renderer, NULL, NULL, 0);
    if (rc != RESULT_OK) {
        return rc;
    }
    JsonWriter *json = devtools_begin(devtools, "Target.setAutoAttach");
    json_bool(json, "autoAttach", true);
    json_bool(json, "waitForDebuggerOnStart", false);
    json_bool(json, "flatten", true);
    rc = renderer_ask(renderer, NULL, NULL, 0);
    if (rc != RESULT_OK) {
        return rc;
    }
    json = devtools_begin(devtools, "Fetch.enable");
    json_open(json, "patterns", '[');
    json_open(json, NULL, '{');
    json_string(json, "urlPattern", "*");
    json_close(json);
    json_close(json);
    return renderer_ask(renderer, NULL, NULL, 0);
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
    rc = renderer_ask(renderer, NULL, NULL, 0);
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
    (void)snprintf(devtools->session, sizeof devtools->session, "%s", session);
    rc = renderer_set_tab(renderer);
    renderer->has_tab = rc == RESULT_OK;
    renderer->pages_of_context = 0;
    renderer->totals.contexts++;
    return rc;
}

/* Throws the context away with its tab and all that its pages have stored. */
static Result renderer_close_tab(Renderer *renderer)
{
    if (!renderer->has_tab) {
        return RESULT_OK;
    }
    renderer->has_tab = false;
    renderer->devtools.session[0] = '\0';
    json_string(devtools_begin(&renderer->devtools, "Target.disposeBrowserContext"),
                "browserContextId", renderer->context);
    return renderer_ask(renderer, NULL, NULL, 0);
}

/* Looks at a browser between two pages; one that has swollen is ended, not asked. */
static void renderer_look(Renderer *renderer)
{
    if (renderer->browser.pid == 0 || renderer->pages_of_browser % RENDERER_LOOK_PAGES != 0) {
        return;
    }
    BrowserUse use = browser_use(&renderer->browser);
    if (use.memory_bytes > renderer->totals.memory_bytes) {
        renderer->totals.memory_bytes = use.memory_bytes;
    }
    if (use.memory_bytes > renderer->options.bounds.memory_bytes / 2 ||
        renderer->pages_of_browser >= RENDERER_PER_BROWSER) {
        renderer_stop(renderer);
    }
}

/* A browser with a tab. */
static Result renderer_prepare(Renderer *renderer)
{
    renderer->devtools.listener = renderer_no_event;
    renderer_look(renderer);
    Result rc = RESULT_OK;
    if (renderer->has_tab && renderer->pages_of_context >= renderer->options.pages_per_context) {
        rc = renderer_close_tab(renderer);
    }
    if (rc != RESULT_OK) {
        renderer_stop(renderer);
    }
    if (renderer->browser.pid == 0) {
        rc = renderer_start(renderer);
    }
    if (rc == RESULT_OK && !renderer->has_tab) {
        rc = renderer_open_tab(renderer);
        (void)browser_use(&renderer->browser); /* which processes it has by now */
    }
    return rc;
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
    Result rc = renderer_ask(renderer, NULL, NULL, 0);
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)devtools_begin(&renderer->devtools, "Network.clearBrowserCookies");
    return renderer_ask(renderer, NULL, NULL, 0);
}

Result renderer_render(Renderer *renderer, const RenderPage *page, const RenderSource *source,
                       Rendered *rendered)
{
    Result rc = renderer_prepare(renderer);
    if (rc != RESULT_OK) {
        LOG_WARN("render", "no browser", "error=%s", result_name(rc));
        renderer_stop(renderer);
        return rc;
    }
    renderer->pages_of_context++;
    renderer->pages_of_browser++;
    RenderPage what = *page;
    what.is_fresh = renderer->pages_of_browser == 1;
    rc = rendering_run(&renderer->tab, &renderer->options.bounds, &what, source, rendered);
    int64_t spent = renderer_spent(renderer);
    rendered->cpu_ms = spent > rendered->cpu_ms ? spent : rendered->cpu_ms;
    renderer->totals.pages++;
    renderer->totals.ends[rendered->end]++;
    renderer->devtools.listener = renderer_no_event;
    if (rc == RESULT_OK) {
        rc = renderer_clear(renderer, page->url);
    }
    if (rc != RESULT_OK) {
        renderer_stop(renderer);
    }
    return RESULT_OK;
}
