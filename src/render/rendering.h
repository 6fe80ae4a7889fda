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
 * Requests that no source is asked for: images (an empty picture) and fonts (failed), unless a
 * picture of the page is wanted; media (failed),
 * anything but GET and HEAD, other schemes than http and https, a second document of the page
 * itself (its URL becomes a link), and what exceeds most_requests. Owns: nothing; a Rendered owns
 * its buffers. Threads: the browser's. Invariants: the source is asked nothing twice that it
 * lacked; every rendering ends by a bound. Errors: a page that cannot be rendered is data
 * (RenderEnd); an error means that the tab is gone.
 */
#ifndef RENDER_RENDERING_H
#define RENDER_RENDERING_H

#include <stdatomic.h>

#include "render/devtools.h"

#define RENDER_BUDGET_MS 8000 /* of the page's own time */

typedef enum RenderEnd {
    RENDER_SETTLED, /* its time is used up and nothing is outstanding */
    RENDER_TIME,    /* options.timeout_ms */
    RENDER_CPU,     /* options.cpu_ms */
    RENDER_MEMORY,  /* options.memory_bytes */
    RENDER_CRASHED, /* the browser or the tab ended, or talked nonsense */
    RENDER_NOTHING, /* there was no document to show */
    RENDER_ENDS
} RenderEnd;

typedef enum RenderRefusal {
    RENDER_NO_METHOD,     /* neither GET nor HEAD */
    RENDER_NO_SCHEME,     /* neither http nor https */
    RENDER_NO_NUMBER,     /* most_requests */
    RENDER_NO_NAVIGATION, /* another document in place of this one */
    RENDER_NO_WINDOW,     /* window.open, print, dialogs */
    RENDER_NO_SOCKET,     /* WebSocket, EventSource, WebRTC, WebTransport */
    RENDER_NO_WORKER,     /* service workers, shared workers */
    RENDER_NO_DEVICE,     /* notifications, geolocation */
    RENDER_NO_DOWNLOAD,
    RENDER_NO_DENIED, /* the source says no: robots.txt, scope, ... */
    RENDER_REFUSALS
} RenderRefusal;

const char *render_end_name(RenderEnd end);
const char *render_refusal_name(RenderRefusal refusal);

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

typedef struct RenderBounds {
    int64_t timeout_ms;      /* of a rendering, by the clock on the wall */
    int64_t cpu_ms;          /* of a rendering, all processes of the browser */
    uint64_t memory_bytes;   /* of all processes of the browser */
    unsigned most_requests;  /* of a page */
    size_t most_document;    /* bytes of the document, about */
    bool wants_picture;      /* and so the pictures and fonts of the page */
    const atomic_bool *stop; /* ends the rendering as if it had crashed, soon; NULL: nobody does */
} RenderBounds;

typedef struct RenderPage {
    const char *url;
    int64_t fetched_ms;  /* unix time in milliseconds: the page's clock starts there */
    const char *cookies; /* that its host had set by then: "a=b; c=d"; NULL: none */
} RenderPage;

typedef struct Rendered {
    RenderEnd end;
    bool has_document;
    bool is_cut;     /* something of the document was left out for its length */
    Buffer document; /* HTML, UTF-8 */
    Buffer picture;  /* JPEG; empty: none was wanted, or none could be taken */
    Buffer lacking;  /* URLs, a line each */
    Buffer onward;   /* URLs of documents that would have taken its place, a line each */
    Buffer refused;  /* "KIND WHAT", a line each, as far as there is room */
    unsigned n_lacking;
    unsigned n_requests;
    unsigned n_refused[RENDER_REFUSALS];
    unsigned n_frames;
    int64_t cpu_ms;
} Rendered;

/* The tab that pages are rendered in. */
typedef struct RenderTab {
    Devtools *devtools; /* borrowed; its session is the tab's */
    char target[DEVTOOLS_SESSION_BYTES];
    char script[32];  /* number of the script that runs first; "": none yet */
    int64_t clock_ms; /* the browser's, as it stands */
    bool has_clock;   /* it was set */
} RenderTab;

void rendered_init(Rendered *rendered, size_t most_document);
void rendered_destroy(Rendered *rendered);
/* As if nothing had been rendered. */
void rendered_clear(Rendered *rendered);
/* Renders a page; what is in rendered goes. RESULT_OK: the tab may be used again. RESULT_CLOSED and
 * the others: stop the browser; rendered says how the page ended all the same. */
Result rendering_run(RenderTab *tab, const RenderBounds *bounds, const RenderPage *page,
                     const RenderSource *source, Rendered *rendered);

#endif
