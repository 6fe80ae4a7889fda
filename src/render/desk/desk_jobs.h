/* Desk jobs: which page is rendered next, and who has which.
 *
 *   desk_jobs_take --> a thread has it --> [its result is under way] --> ingest has changed it
 *                            '--> desk_jobs_give_back: nobody has it
 *
 *   AT_ONCE, or UNSURE [a glance, or a trial] --> it settled: its host has more credit
 *      |--> the glance was not enough: LATER [a trial] --> it settled
 *      |                                 '--> nor the trial: DEAR [all of the CPU time]
 *      '--> the same, but something was answered: HOPEFUL [a trial, twice that, ... all]
 *
 * What: first comes the job that has waited longest for pages which have come, then the one that
 * needs a browser most. A job that somebody has is remembered as it was when it was taken: while it
 * stands so in the table, its result is under way.
 * Turns keep pages that fight their browser from holding up the others, as a multilevel feedback
 * queue does: what a page may take depends on what its host's pages have taken. A host of which
 * nothing is known has a glance, thrice what pages usually take that settle; one with credit has a
 * trial. Where that is not enough, the page is put back, behind all others, and so are the other
 * pages of a host without credit; where there is some, it has all of its time at once, and what
 * needs more even then takes all of the credit.
 * A page that asked for scripts or data, was answered, and then was stopped looks more like a heavy
 * page than one that has just spun. So its host has hope: its pages go before all others that were
 * put back. The first one has a trial; where that is not enough, the host's next has twice as much,
 * until one settles and brings text or links: from then on all of them have all of their time. A
 * page that comes to nothing with all of its time ends the hope. Who gives ragno something to fetch
 * that way comes before other hostile hosts, but not before pages that were never put back.
 * What was put back, and the looks at hosts of which nothing is known that come to nothing, are
 * paid from an account of CPU time: a fortieth of what pages of known hosts take, and all that a
 * new host takes which brings something. When it is overdrawn, hosts of which nothing is known are
 * put back unseen (UNSURE), and have no more than what pages usually take, until another one brings
 * something. Pages that were put back have their turns when there is enough for them in the
 * account (for a HOPEFUL one, a trial) beyond what looks that came to nothing, and HOPEFUL turns
 * that did, have taken, when no page before them has come for
 * as long as they may take, or when nothing else is left to do: what other pages have brought
 * counts as left until it is written down. So a host of hostile pages costs the others a glance,
 * many such hosts cost them one and then a fortieth; and in a crawl of heavy pages no browser
 * stands idle.
 * Owns: its memory of jobs under way. Table, database and configuration are borrowed.
 * Threads: all functions but those of turns lock.
 * Invariants: a job is taken by one thread at a time, and again only when ingest has changed it. */
#pragma once

#include <stdatomic.h>

#include "render/render_table.h"
#include "rules/config.h"
#include "store/pages/page_db_read.h"

#define TURNS_MOST  100000u /* hosts, and pages, that are remembered */
#define TURNS_SHARE 40      /* pages that were put back have one part of so many of the CPU time */
#define TURNS_TRIAL 1000    /* ms of CPU time: a tenth of what a page has, but no less than this */
#define TURNS_USUAL 70      /* ms of CPU time that a page takes, as long as none is known */

/* When a page's turn comes, beside others that wait. */
typedef enum TurnPlace {
    TURN_AT_ONCE,
    TURN_UNSURE,
    TURN_HOPEFUL,
    TURN_LATER,
    TURN_IS_DEAR,
    TURN_PLACES
} TurnPlace;

typedef struct Turns {
    Map hosts;        /* by id: how many of its pages were cheap rather than dear, and its hope */
    Map pages;        /* by index: what was not enough, a glance or a trial */
    unsigned n_later; /* that a browser has, and were put back before */
    int64_t most_ms;  /* CPU time that a page has */
    int64_t usual_ms; /* that pages which settle take: their median, about */
    int64_t saved_ms; /* the account, from a glance overdrawn to most_ms */
    int64_t owed_ms;  /* by looks and HOPEFUL turns in vain, until a fortieth has made up for it */
    bool has_begun;
    MonoTime last[TURN_PLACES]; /* a browser had one with this place */
} Turns;

/* A page while a browser has it. */
typedef struct Turn {
    uint32_t host;
    uint64_t page;
    TurnPlace place;
    int64_t cpu_ms; /* that it has */
} Turn;

typedef enum TurnEnd {
    TURN_UNSEEN,   /* no browser has seen it, it was not to blame, or is rendered again */
    TURN_CHEAP,    /* it settled, within what a trial has */
    TURN_FRUITFUL, /* it settled and brought text or links; it may have taken more */
    TURN_ANSWERED, /* as DEAR, but what it asked for was answered, and it has not had all */
    TURN_DEAR
} TurnEnd;

/* most_ms: CPU time that one page has. */
void turns_init(Turns *turns, int64_t most_ms);
void turns_destroy(Turns *turns);
TurnPlace turns_place(const Turns *turns, uint32_t host, uint64_t page);
/* Whether a page with this place may begin beside others that wait. */
bool turns_may_begin(const Turns *turns, TurnPlace place, MonoTime now);
/* Whether a page that had more than a trial took more. */
bool turns_is_heavy(const Turns *turns, const Turn *turn, int64_t cpu_ms);
Turn turns_begin(Turns *turns, uint32_t host, uint64_t page, MonoTime now);
/* cpu_ms: that it took. */
void turns_end(Turns *turns, const Turn *turn, TurnEnd end, int64_t cpu_ms, MonoTime now);

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
/* The browser has it no more; cpu_ms: that it took. */
void desk_jobs_end_turn(DeskJobs *jobs, const DeskJob *job, TurnEnd end, int64_t cpu_ms);
/* Nobody waits for one any more. */
void desk_jobs_close(DeskJobs *jobs);
/* Whether none can be taken, and no result is under way. */
bool desk_jobs_are_idle(DeskJobs *jobs);
/* Whether the crawl is not over for their sake: those that lack something count as well, since at
 * the end they are rendered without. */
bool desk_jobs_hold(DeskJobs *jobs);
