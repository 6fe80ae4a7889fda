/* Rendered: what came of one page in a browser, and the bounds that it had.
 *
 * What: the document and what is told of it: how it ended, what was lacking, where it would have
 * led, what was refused.
 * Owns: its buffers, whose limits are set once.
 * Threads: one at a time. */
#pragma once

#include <stdatomic.h>

#include "render/devtools.h"

#define RENDER_BUDGET_MS 8000 /* of the page's own time */
#define RENDER_SCROLL_MS 2000 /* of it, behind each time it is scrolled */

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

typedef struct RenderBounds {
    int64_t timeout_ms;      /* of a rendering, by the clock on the wall */
    int64_t cpu_ms;          /* of a rendering: the tab, and what the browser's tabs share */
    uint64_t memory_bytes;   /* likewise */
    unsigned most_requests;  /* of a page */
    size_t most_document;    /* bytes of the document, about */
    unsigned scrolls;        /* to the page's end, at most */
    bool wants_picture;      /* and so the pictures and fonts of the page */
    const atomic_bool *stop; /* ends the rendering as if it had crashed, soon; NULL: nobody does */
} RenderBounds;

typedef struct RenderPage {
    const char *url;
    int64_t fetched_ms;  /* unix time in milliseconds: the page's clock starts there */
    int64_t cpu_ms;      /* less than its bounds: one that needs more is not read; 0: all */
    const char *cookies; /* that its host had set by then: "a=b; c=d"; NULL: none */
} RenderPage;

typedef struct Rendered {
    RenderEnd end;
    bool has_document;
    bool is_cut;     /* something of the document was left out for its length */
    bool in_company; /* its browser ended, beside pages in other tabs of it */
    Buffer document; /* HTML, UTF-8 */
    Buffer picture;  /* JPEG; empty: none was wanted, or none could be taken */
    Buffer lacking;  /* URLs, a line each */
    Buffer onward;   /* URLs of documents that would have taken its place, a line each */
    Buffer refused;  /* "KIND WHAT", a line each, as far as there is room */
    unsigned n_lacking;
    unsigned n_requests;
    unsigned n_refused[RENDER_REFUSALS];
    unsigned n_frames;
    unsigned n_scrolls;
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
/* Appends a line, if there is room for it. */
void rendered_line(Buffer *list, const char *text);
/* Counts a refusal, and names it, if there is room. */
void rendered_refuse(Rendered *rendered, RenderRefusal why, const char *what);
