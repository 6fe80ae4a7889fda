/* Render way: what becomes of a page that needs a browser, inside the batch's transaction.
 *
 *   page_way: store --judge--> [table of jobs] --render_desk.h--> FETCHED_RENDERED --parse--> take
 *
 *   take, wait     what the browser lacked becomes URLs of the crawl (hop E, found on the page),
 * and the job is LACKING until they have been answered or given up take, settle   links that the
 * document has and the answer had not join the page's list (kind LINK_RENDERED), those that are new
 * are scheduled, and the job is DONE
 *
 * What: which pages become jobs is said by render.never, always and mode ([site] sections
 * included), by the parser's verdict, and by what renderings of the same pattern of URLs have
 * brought. A pattern is the URL without its numbers and identifiers (parse/trap/trap.h). Where
 * RENDER_LESSONS renderings brought neither text nor links, further pages are passed by, but for
 * one in RENDER_PROBE; where at least three quarters of them brought something, pages with scripts
 * are rendered, even if they look as if they could do without.
 * Owns: scratch.
 * Threads: ingest.
 * Errors: those of the table and of PageDB: the batch is tried again or given up (page_way.h). */
#pragma once

#include "ingest/batch/ingest_batch.h"

typedef struct RenderWay {
    RenderTable *table; /* borrowed */
    /* As in IngestOptions. */
    bool (*host_config)(void *context, const char *hostname, Config *config);
    void *context;
    Url url;
    Buffer text;
} RenderWay;

void render_way_init(RenderWay *way, RenderTable *table,
                     bool (*host_config)(void *context, const char *hostname, Config *config),
                     void *context);
void render_way_destroy(RenderWay *way);
/* Makes a job of a page that is stored, if it is to be rendered (*wanted). txn: a write
 * transaction. */
Result render_way_consider(RenderWay *way, MDB_txn *txn, uint64_t page, const char *url,
                           PageNeed need, uint8_t weight, uint32_t signs, bool *wanted);
/* For IngestOptions; the way must outlive the ingest thread. */
IngestRendering render_way_hooks(RenderWay *way);
