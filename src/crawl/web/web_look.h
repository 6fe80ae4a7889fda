/* Web look: the thread that looks into the database and the logs for the status page.
 *
 *   web --WebQuestion--> look --> survey, why, status.log
 *       <--answered()--'
 *
 * What: answers one question after the other, so that a look over many hosts delays neither the
 * crawl nor the other answers of the page. A list of hosts is answered anew after SURVEY_LEAST_MS,
 * or ten times what the look took, whichever is longer, and from memory before.
 * Owns: its queue and its answers of before. A question is borrowed until answered() is called.
 * Threads: its own, "look"; web_look_ask by any. Read transactions are short.
 * Errors: an answer's status tells. */
#pragma once

#include "ingest/batch/ingest_batch.h"
#include "survey/survey.h"

/* Web history: what status.log tells of the last hours, as JSON for graphs.
 *
 *   {"from": 1769860800000, "width_ms": 10000, "pages_s": [12.5, ...], ...}
 *
 * What: one number for each bucket of time, null for those in which nothing was told. There are at
 * most SERIES_BUCKETS buckets (report/count/tally.h), however long the crawl.
 * Threads: one at a time; the crawl may be writing the log.
 * Errors: RESULT_MEMORY; a log that cannot be read has no buckets. */

/* bytes: of the log, from its end. */
Result web_history(const char *directory, size_t bytes, Buffer *out);

typedef struct WebLook WebLook;

typedef enum WebQuestionKind { WEB_HOSTS, WEB_WHY_TEXT, WEB_WHY_JSON, WEB_HISTORY } WebQuestionKind;

typedef struct WebQuestion {
    WebQuestionKind kind;
    SurveyOrder order; /* of hosts */
    size_t rows;
    const char *text; /* filter of hosts, or the URL; borrowed */
    /* the answer */
    unsigned status; /* of HTTP */
    Buffer body;     /* to be destroyed by whoever asked */
    void (*answered)(void *context);
    void *context;
} WebQuestion;

/* directory and store are borrowed until web_look_delete. RESULT_MEMORY, RESULT_IO. */
Result web_look_start(WebLook **look, const char *directory, const IngestStore *store);
/* Every question that was taken is answered, and none is taken any more. NULL is allowed. */
void web_look_stop(WebLook *look);
/* After web_look_stop, when nobody asks any more. NULL is allowed. */
void web_look_delete(WebLook *look);
/* RESULT_LIMIT: too many wait; RESULT_CLOSED: it is ending. The question was not taken then. */
Result web_look_ask(WebLook *look, WebQuestion *question);
