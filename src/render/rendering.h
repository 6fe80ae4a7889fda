/* Rendering: one page in a tab, from the answers of an archive to the document that its scripts
 * make.
 *
 *   navigate --> request paused --> RenderSource --> fulfilled or failed ... --> time is used up
 *            --> the document is read
 *
 * What: each request of the page is paused before it is sent and answered by the caller's source.
 * What the source lacks fails in the page and is named in Rendered.lacking: when the caller has it,
 * the page is rendered again. The page's time is virtual: it starts when the page was fetched,
 * stands still while a request waits, and leaps from timer to timer, for RENDER_BUDGET_MS. With
 * seeded random numbers the same answers give the same document and the same requests.
 * A page that listens for it is scrolled to its end as long as that makes it longer, and has more
 * time each time, up to a bound: so much of an endless list is shown.
 * Requests that no source is asked for: images (an empty picture) and fonts (failed), unless a
 * picture of the page is wanted; media (failed),
 * anything but GET and HEAD, other schemes than http and https, a second document of the page
 * itself (its URL becomes a link), and what exceeds most_requests.
 * Owns: nothing; a Rendered owns its buffers.
 * Threads: the browser's.
 * Invariants: the source is asked nothing twice that it lacked; every rendering ends by a bound.
 * Errors: a page that cannot be rendered is data (RenderEnd); an error means that the tab is gone.
 */
#pragma once

#include "render/rendered.h"

typedef enum RenderVerdict {
    RENDER_ANSWERED,
    RENDER_LACKING, /* it may come */
    RENDER_GONE,    /* it has failed: the page sees a failed request */
    RENDER_DENIED
} RenderVerdict;

typedef struct RenderAnswer { /* borrowed until the source is asked again */
    unsigned status;
    const char *header; /* an HTTP header block */
    size_t header_length;
    const char *body; /* without content coding */
    size_t length;
} RenderAnswer;

typedef struct RenderSource {
    RenderVerdict (*ask)(void *context, const char *url, RenderAnswer *answer);
    void *context;
} RenderSource;

/* Renders a page; what is in rendered goes. RESULT_OK: the tab may be used again. RESULT_CLOSED and
 * the others: stop the browser; rendered says how the page ended all the same. */
Result rendering_run(RenderTab *tab, const RenderBounds *bounds, const RenderPage *page,
                     const RenderSource *source, Rendered *rendered);
