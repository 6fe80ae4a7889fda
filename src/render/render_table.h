/* Render table: which pages are to be rendered, which wait for what they lack, and what came of the
 * others.
 *
 *                  render_table_want               render_table_put
 *   no job ---------------------------> WAITING --------------------> LACKING
 *                                        |   ^                          |
 *                                        |   '--- fetched again --------|
 *                                        '---> DONE, FAILED, PASSED <---'
 *
 * What: LMDB table `renders`. A job is written in the transaction that stores its page, and changed
 * in the one that takes what a browser made of it; so whatever ends the process costs CPU time and
 * nothing else. Keys begin with a letter, and numbers in them with their highest byte, so that they
 * stand in the order of their values:
 *
 *   j INDEX            the job of a page: RenderJob, and the pages that it waits for
 *   q 255-WEIGHT INDEX its place while it is WAITING: what needs a browser most comes first
 *   l INDEX            the same while it is LACKING or ASKED
 *   p PATTERN          what renderings of one pattern of URLs have brought: RenderLesson
 *   f SHAPE            what pages of one shape ask for: a list of forms (render_forms.h)
 *   s TEXT             the page of a host whose document has shown this text first
 *   d PLACE            what the document of a URL showed that differs in its query at most: a hash
 *   t                  RenderTotals
 *
 * Owns: the handle; the table is the environment's.
 * Threads: writer: the one with the write transaction. Readers: any, with a transaction of their
 * own.
 * Errors: RESULT_FULL (the map must grow), RESULT_DAMAGED, RESULT_IO; RESULT_NOT_FOUND. */
#pragma once

#include <lmdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/buffer.h"

#define RENDER_TABLE_REQUISITES 4096u /* of one job; a page that lacks more waits for these */

#define RENDER_WEIGHT_LEARNED 50u  /* a page is rendered for what others like it brought */
#define RENDER_WEIGHT_ALWAYS  100u /* and more: a page is rendered whatever it looks like */

typedef struct RenderTable RenderTable;

typedef enum RenderJobState {
    RENDER_JOB_WAITING, /* for a browser */
    RENDER_JOB_LACKING, /* for pages of the crawl */
    RENDER_JOB_DONE,
    RENDER_JOB_FAILED, /* no document came of it: RenderJob.end */
    RENDER_JOB_PASSED, /* pages like it bring nothing (RenderLesson) */
    RENDER_JOB_ASKED,  /* as LACKING, for what is guessed: no browser has seen it yet */
    RENDER_JOB_STATES,
    RENDER_JOB_ROOM = 8 /* for states in RenderTotals */
} RenderJobState;

const char *render_job_state_name(RenderJobState state);

/* Saved as it stands; only appended to. */
typedef struct RenderJob {
    uint8_t state;  /* RenderJobState */
    uint8_t weight; /* 0 to 255: how much it needs a browser */
    uint8_t rounds; /* renderings that were committed */
    uint8_t end;    /* RenderEnd of the last of them */
    uint32_t requests;
    uint32_t lacking;    /* requests without an answer, at its end */
    uint32_t refused;    /* requests and doors that were refused */
    uint32_t links;      /* of the document, which the answer did not have */
    uint32_t cpu_ms;     /* of all rounds */
    uint32_t text_bytes; /* of the document, about */
    uint32_t n_requisites;
    uint64_t pattern; /* hash of the URL's pattern, for RenderLesson */
    int64_t time_us;  /* of the last round */
    uint32_t signs;   /* why it needs a browser: page_verdict_tell */
    uint32_t spare;
} RenderJob;

/* What came of the renderings of one pattern. */
typedef struct RenderLesson {
    uint32_t rendered;
    uint32_t fruitful; /* with text or links that the answer did not have */
    uint32_t passed;   /* pages that were not rendered for it */
    uint32_t spare;
} RenderLesson;

/* Saved as they stand; only appended to. */
typedef struct RenderTotals {
    uint64_t jobs[RENDER_JOB_ROOM]; /* as they are now */
    uint64_t judged;                /* pages that were asked about */
    uint64_t passed;                /* of these, by what was learned */
    uint64_t rounds;                /* renderings */
    uint64_t requisites;            /* URLs that pages waited for, with repetitions */
    uint64_t links;                 /* that documents have and answers have not */
    uint64_t cpu_ms;
    uint64_t refused;
    uint64_t lacking;
    uint64_t near; /* answers whose query differed in clock or dice */
} RenderTotals;

/* In a write transaction a table that is missing is created. RESULT_NOT_FOUND: a read transaction,
 * and there is none. */
Result render_table_open(RenderTable **table, MDB_txn *txn);
void render_table_close(RenderTable *table); /* NULL is allowed */

/* Makes a job of a page, or begins its job anew. */
Result render_table_want(RenderTable *table, MDB_txn *txn, uint64_t page, uint8_t weight,
                         uint32_t signs, uint64_t pattern);
/* *requisites (may be NULL) is borrowed until the transaction writes or ends, and not aligned: copy
 * it. RESULT_NOT_FOUND: the page has no job. */
Result render_table_get(RenderTable *table, MDB_txn *txn, uint64_t page, RenderJob *job,
                        const void **requisites);
/* Replaces a job; requisites: job->n_requisites pages. */
Result render_table_put(RenderTable *table, MDB_txn *txn, uint64_t page, const RenderJob *job,
                        const uint64_t *requisites);

/* A place among the jobs of one state. Zeroed, it is before the first. */
typedef struct RenderCursor {
    uint8_t weight; /* of the job it stands at */
    uint64_t page;
    bool has_begun;
} RenderCursor;

/* The next job that is WAITING, or, with LACKING, that is LACKING or ASKED. RESULT_NOT_FOUND: there
 * are no more. */
Result render_table_next(RenderTable *table, MDB_txn *txn, RenderJobState state,
                         RenderCursor *cursor);

#define RENDER_LESSONS 8u  /* renderings of a pattern that teach something */
#define RENDER_PROBE   32u /* of pages that are passed by, one is rendered all the same */

/* Whether nothing is to be expected of one more page of the pattern. */
bool render_lesson_is_dull(const RenderLesson *lesson, uint64_t page);
/* Zeroes when nothing is known. */
Result render_table_lesson(RenderTable *table, MDB_txn *txn, uint64_t pattern,
                           RenderLesson *lesson);
Result render_table_learn(RenderTable *table, MDB_txn *txn, uint64_t pattern,
                          const RenderLesson *lesson);
/* Appends the forms of a shape; nothing when none are known. */
Result render_table_forms(RenderTable *table, MDB_txn *txn, uint64_t shape, Buffer *forms);
Result render_table_set_forms(RenderTable *table, MDB_txn *txn, uint64_t shape,
                              const Buffer *forms);
/* The page of a host whose document has shown this text (a hash) first, which may be this page. */
Result render_table_first(RenderTable *table, MDB_txn *txn, uint32_t host, uint64_t shown,
                          uint64_t page, uint64_t *first);
/* Queries that change nothing. The documents of URLs that differ in their query alone are compared:
 * when RENDER_LESSONS of a host, with the same names of parameters, showed the same text as another
 * of their place, and none showed something else, further ones are passed by (but for one in
 * RENDER_PROBE) where the place has a document: "/page?id=heading" beside "/page". */
Result render_query_is_idle(RenderTable *table, MDB_txn *txn, const char *url, uint64_t page,
                            bool *is_idle);
/* Notes what the document of a URL has shown (a hash). */
Result render_query_learn(RenderTable *table, MDB_txn *txn, const char *url, uint64_t shown);
Result render_table_totals(RenderTable *table, MDB_txn *txn, RenderTotals *totals);
/* All but jobs, links, refused and lacking, which the table counts itself. */
Result render_table_set_totals(RenderTable *table, MDB_txn *txn, const RenderTotals *totals);
