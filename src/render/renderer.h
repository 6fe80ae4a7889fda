/* Renderer: a browser that renders page after page, started when it is needed and renewed before it
 * swells.
 *
 *   renderer_render ... --> [browser started] --> [context and tab made] --> rendering_run
 *   a page that ends the browser --> stopped; the next page starts another
 *   pages_per_context pages --> the context is thrown away with all that its pages stored
 *   memory beyond half of what is allowed, or pages_per_browser pages --> the browser is
 *
 * What: pages of one context share a tab, because a tab of its own costs several times what a small
 * page does; between two pages all that the first could have stored is removed. The kernel's word
 * is taken for memory and CPU time of the browser, not the browser's own.
 * Owns: the browser, its context and tab.
 * Threads: one from renderer_render to renderer_delete (browser.h says why). Errors: a page that
 * cannot be rendered is data (rendering.h); RESULT_NOT_FOUND, RESULT_INVALID, RESULT_IO,
 * RESULT_CLOSED: no browser can be started. */
#ifndef RENDER_RENDERER_H
#define RENDER_RENDERER_H

#include "render/rendering.h"

typedef struct RendererOptions {
    BrowserOptions browser;
    RenderBounds bounds;
    unsigned pages_per_context; /* 1 or more */
} RendererOptions;

typedef struct RendererTotals {
    uint64_t pages;
    uint64_t starts; /* of browsers */
    uint64_t contexts;
    uint64_t ends[RENDER_ENDS];
    int64_t cpu_ms;        /* of ended browsers and of this one as it was looked at last */
    uint64_t memory_bytes; /* the most that was seen */
} RendererTotals;

typedef struct Renderer Renderer;

/* Borrows the texts of the options. RESULT_MEMORY. */
Result renderer_new(Renderer **renderer, const RendererOptions *options);
void renderer_delete(Renderer *renderer);
/* Renders a page; what is in rendered goes. */
Result renderer_render(Renderer *renderer, const RenderPage *page, const RenderSource *source,
                       Rendered *rendered);
/* The browser and its version as it says; "" before the first page. */
const char *renderer_product(const Renderer *renderer);
/* Whether the browser has a network namespace of its own; false without a browser. */
bool renderer_is_cut_off(const Renderer *renderer);

#endif
