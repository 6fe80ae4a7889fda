/* Render desk: the threads that render pages while the crawl runs.
 *
 *   [table of jobs] --take--> render-N --parsing_push: FETCHED_RENDERED--> parse --> ingest
 *                                                                     (render_way.h) --> the table
 *
 * What: a thread takes the job that has waited longest for pages which have come, else the one that
 * needs a browser most; reads the page from the archive, has it rendered (renderer.h) from what the
 * crawl has fetched (crawl_source.h), and hands over document, links and what was lacking. The job
 * itself is changed by ingest, in the transaction that takes the result. Each thread is a tab;
 * render.tabs of them share a browser. A tab that ends or swells over a page costs the page one
 * more try with another. Where the browser ended with several pages in it, each is rendered anew,
 * alone, and then it is the page that did it.
 * With render.mode = auto no more than render.share percent of the crawl's pages are rendered, but
 * for the first DESK_JOBS_FREE; the others wait, and with the end of the crawl they stay behind.
 * When nothing else is left to do in the crawl, what a job still lacks will not come, and the page
 * is rendered without.
 * Owns: its threads and their browsers. Table, database and parsing are borrowed.
 * Threads: main makes, starts, stops and deletes it; render_desk_holds is ingest's.
 * Invariants: a job is taken by one thread at a time, and again only when ingest has changed it. */
#pragma once

#include "ingest/batch/ingest_chore.h"
#include "page/parsing.h"
#include "render/render_table.h"
#include "render/renderer.h"

#define RENDER_DESK_BROWSERS 32u

typedef struct RenderDesk RenderDesk;

typedef struct RenderDeskOptions {
    const Config *config;  /* borrowed, as what follows */
    const char *directory; /* of the crawl */
    PageDB *db;
    RenderTable *table;
    Parsing *parsing;
    /* Whether nothing is left to be fetched, parsed or written but what the desk brings. NULL: it
     * never is, what is lacking may come in another run. */
    bool (*quiet)(void *context);
    void *context;
    bool no_share; /* render.share does not hold */
} RenderDeskOptions;

/* What a browser is, and what pages have in it. */
RendererOptions render_desk_browsers(const Config *config);
/* RESULT_INVALID: there is no browser, or it may not be used; error says why. RESULT_MEMORY. */
Result render_desk_new(RenderDesk **desk, const RenderDeskOptions *options, Buffer *error);
Result render_desk_start(RenderDesk *desk);
/* What is being rendered is given up, and rendered after the next start. Before parsing_stop. */
void render_desk_stop(RenderDesk *desk);
void render_desk_delete(RenderDesk *desk); /* NULL is allowed */
/* Whether no job can be taken, and no result is under way. */
bool render_desk_is_idle(RenderDesk *desk);
/* A chore that never runs: it says that the crawl is not over while pages are to be rendered. */
IngestChore render_desk_chore(RenderDesk *desk);
