/* Desk jobs: which page is rendered next, and who has which.
 *
 *   desk_jobs_take --> a thread has it --> [its result is under way] --> ingest changes the job: it
 * is |               forgotten here
 *                          '--> desk_jobs_give_back: nobody has it
 *
 * What: first comes the job that has waited longest for pages which have come, then the one that
 * needs a browser most; dear ones behind all others (turns.h). A job that somebody has is
 * remembered as it was when it was taken: while it stands so in the table, its result is under way.
 * Owns: its memory of jobs under way. Table, database and configuration are borrowed.
 * Threads: all functions lock.
 * Invariants: a job is taken by one thread at a time, and again only when ingest has changed it. */
#ifndef RENDER_DESK_DESK_JOBS_H
#define RENDER_DESK_DESK_JOBS_H

#include <stdatomic.h>

#include "base/memory/map.h"
#include "base/thread/mutex.h"
#include "render/desk/turns.h"
#include "render/render_table.h"
#include "rules/config.h"
#include "store/pages/page_db_read.h"

#define DESK_JOBS_FREE 100u /* renderings that render.share does not count */

typedef struct DeskJobsOptions {
    const Config *config;
    PageDB *db;
    RenderTable *table;
    bool (*quiet)(void *context); /* as RenderDeskOptions */
    void *context;
    bool no_share;
} DeskJobsOptions;

typedef struct DeskJob {
    uint64_t page;
    uint32_t host;
    RenderJob job;
    Turn turn;
    MonoTime taken;
    bool is_last;   /* of its rounds: what it lacks is not waited for */
    bool is_asking; /* nothing but a guess is under way */
} DeskJob;

typedef struct DeskJobs {
    DeskJobsOptions options;
    atomic_bool is_closed; /* no more are taken */
    Mutex mutex; /* RANK_SCHEDULER, since the table is read under it; guards what follows */
    Condition changed;
    Map under_way;     /* by page: DeskJob */
    unsigned n_asking; /* of these */
    Turns turns;
    RenderCursor lacking; /* the last job that was looked at */
} DeskJobs;

void desk_jobs_init(DeskJobs *jobs, const DeskJobsOptions *options);
void desk_jobs_destroy(DeskJobs *jobs);
/* Waits for a job. False: they are closed. */
bool desk_jobs_take(DeskJobs *jobs, DeskJob *job);
/* A page that cannot be rendered now is tried again: nobody has it. */
void desk_jobs_give_back(DeskJobs *jobs, uint64_t page);
/* Of what was taken nothing but a guess is under way. */
void desk_jobs_note_asking(DeskJobs *jobs, uint64_t page);
/* The browser has it no more. */
void desk_jobs_end_turn(DeskJobs *jobs, const DeskJob *job, TurnEnd end);
/* Nobody waits for one any more. */
void desk_jobs_close(DeskJobs *jobs);
/* Whether none can be taken, and no result is under way. */
bool desk_jobs_are_idle(DeskJobs *jobs);
/* Whether the crawl is not over for their sake: those that lack something count as well, since at
 * the end they are rendered without. */
bool desk_jobs_hold(DeskJobs *jobs);

#endif
