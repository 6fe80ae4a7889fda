/* Render view: what a tab shows, once the page in it has settled: its document, and a picture.
 *
 *   [time is used up] --> render_view_scroll ... --> render_view_read --> render_view_shoot
 *
 * What: ragno's scripts run in a world of their own in each frame (render_script.h), which no page
 * reaches. Frames are read the outermost first, a list and no recursion.
 * Owns: scratch. Tab, bounds and Rendered are borrowed.
 * Threads: the browser's.
 * Errors: RESULT_INVALID: there is nothing to read, or the page is in the way; RESULT_TIMEOUT;
 * those of devtools.h, after which the browser is stopped. */
#pragma once

#include "render/rendered.h"

typedef struct RenderView {
    RenderTab *tab;
    const RenderBounds *bounds;
    Rendered *out;
    Buffer body; /* scratch */
} RenderView;

void render_view_init(RenderView *view, RenderTab *tab, const RenderBounds *bounds, Rendered *out);
void render_view_destroy(RenderView *view);
/* Scrolls the page and what scrolls in it to their ends. *height: what there was to scroll, in
 * pixels and 1; 0: the page does not listen. */
Result render_view_scroll(RenderView *view, MonoTime deadline, int64_t *height);
/* Appends the document to Rendered.document. */
Result render_view_read(RenderView *view, MonoTime deadline);
/* A picture of what the page shows; it does without where that fails. */
void render_view_shoot(RenderView *view, const char *url);
