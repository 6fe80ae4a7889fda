/* Renderer: a tab that renders page after page, in a browser that is started when it is needed and
 * renewed before it swells.
 *
 *   renderer_render --> [browser started, or joined] --> [context and tab made] --> rendering_run
 *
 *   a page that ends its tab           the next page has another
 *   pages_per_context pages            the context goes, with all that its pages stored
 *   half of its memory, or 500 pages   the browser is left: the next page joins another, and who
 *                                      leaves it last ends it
 *
 * What: pages of one context share a tab, because a tab of its own costs several times what a small
 * page does; between two pages all that the first could have stored is removed. The kernel's word
 * is taken for memory and CPU time of the browser, not the browser's own.
 * Renderers with one RendererShare are tabs of one browser. Each has a context, and with it a
 * process of its own, so that a page which spins, swells or crashes ends with its tab; the process
 * that answers their requests is shared, and so are its end and its time. A page whose browser
 * ended in company may not be to blame (Rendered.in_company): it is to be rendered alone, in a
 * browser of its own that ends with it.
 * Owns: the browser, with the others; its context and tab.
 * Threads: one from renderer_render to renderer_delete, and the one that started a browser outlives
 * those that share it (browser.h says why).
 * Errors: a page that cannot be rendered is data (rendering.h); RESULT_NOT_FOUND, RESULT_INVALID,
 * RESULT_IO, RESULT_CLOSED: no browser can be started. */
#pragma once

#include "render/rendering.h"

typedef struct RendererOptions {
    BrowserOptions browser;
    RenderBounds bounds;
    unsigned pages_per_context; /* 1 or more */
} RendererOptions;

typedef struct Renderer Renderer;
typedef struct SharedBrowser SharedBrowser;

/* Where renderers meet. */
typedef struct RendererShare {
    Mutex mutex;            /* guards what follows, and is held while a browser or a tab begins */
    SharedBrowser *current; /* that is joined; NULL: none */
    unsigned n_tabs;        /* renderers; at most BROWSER_TABS */
} RendererShare;

void renderer_share_init(RendererShare *share);
/* Its renderers are deleted. */
void renderer_share_destroy(RendererShare *share);

/* Borrows the texts of the options, and the share; NULL: it shares with nobody. RESULT_MEMORY. */
Result renderer_new(Renderer **renderer, const RendererOptions *options, RendererShare *share);
void renderer_delete(Renderer *renderer);
/* Renders a page; what is in rendered goes. alone: with nobody else in the browser. */
Result renderer_render(Renderer *renderer, const RenderPage *page, const RenderSource *source,
                       bool alone, Rendered *rendered);
/* The browser and its version as it says; "" before the first page. */
const char *renderer_product(const Renderer *renderer);
/* Whether the browser has a network namespace of its own; false without a browser. */
bool renderer_is_cut_off(const Renderer *renderer);
