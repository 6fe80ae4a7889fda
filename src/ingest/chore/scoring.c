#include "ingest/chore/scoring.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "store/schedule/schedule_read.h"
#include "base/thread/thread.h"
#include "ingest/batch/ingest_batch.h"
#include "store/scorers/content_scorer.h"
#include "store/scorers/hits_scorer.h"

ScoringKind scoring_kind_of(ScorerWord word)
{
    switch (word) {
    case SCORER_NONE:
        break;
    case SCORER_CONTENT:
        return SCORING_CONTENT;
    case SCORER_PAGERANK:
        return SCORING_PAGERANK;
    case SCORER_HITS:
        return SCORING_HITS;
    case SCORER_COMMAND:
    case SCORER_FASTTEXT:
        return SCORING_CLASSIFIER;
    }
    return SCORING_NONE;
}

#define SCAN_AT_ONCE 1024u /* entries read in one transaction */
#define PIECE_STEP   128u  /* moves between two looks at the clock */
#define MAX_LOOPS    100u
#define FIRST_NS     1e8 /* CPU that every crawl may spend on scores */

struct Scoring {
    ScoringOptions options; /* kind and content_scores are fixed, the rest is under mutex */
    _Atomic float page_share;
    PageDB *db;
    Schedule *schedule;
    void (*wake)(void *context);
    void *context;
    Scorer scorer;
    PageRankScorer *page_rank; /* one of these three is behind the scorer */
    HitsScorer *hits;
    ContentScorer content; /* the ingest thread's */
    Thread thread;
    atomic_bool stopping;
    atomic_bool pending; /* moves wait for the chore */
    /* Handed over to the ingest thread while pending is true, and back: */
    ScheduleChange *moves; /* [SCORING_MOVES], ascending by index */
    size_t n_moves;
    size_t n_applied; /* the first ones are committed */
    /* The ingest thread's: */
    ScheduleChange *piece; /* [SCORING_PIECE] what is being committed: those that held */
    size_t n_taken;        /* moves that the piece is made of */
    size_t n_held;
    MonoTime piece_start;
    int64_t piece_cpu_ns;     /* of the thread, when the piece began */
    _Atomic int64_t moves_ns; /* CPU that moves have cost the ingest thread */
    Mutex mutex;              /* guards the rest */
    Condition changed;
    uint64_t pages;      /* fetched by now */
    uint64_t pages_then; /* at the last computation */
    int64_t cost_ns;     /* CPU of the last round, its moves among it */
    int64_t all_ns;      /* of all rounds */
    ScoringStats stats;
};

/* ---- the thread ---- */

static bool scoring_is_stopping(Scoring *scoring)
{
    return atomic_load(&scoring->stopping);
}

static double least_pages_locked(const Scoring *scoring)
{
    const ScoringOptions *options = &scoring->options;
    return fmax((double)options->min_pages, options->growth * (double)scoring->pages_then);
}

static bool has_earned_locked(const Scoring *scoring)
{
    const ScoringOptions *options = &scoring->options;
    double earned_ns = FIRST_NS + options->share * (double)cpu_process_ns();
    return options->share >= 1 || (double)(scoring->all_ns + scoring->cost_ns) <= earned_ns;
}

/* Looks at the clock only when there are enough pages: it is asked at each commit. */
static bool has_enough_locked(const Scoring *scoring)
{
    double new = (double)(scoring->pages - scoring->pages_then);
    return new >= least_pages_locked(scoring) && has_earned_locked(scoring);
}

/* Waits for a reason to compute; false: the end. */
static bool scoring_wait_for_pages(Scoring *scoring)
{
    mutex_lock(&scoring->mutex);
    while (!scoring_is_stopping(scoring) && !has_enough_locked(scoring)) {
        condition_wait(&scoring->changed, &scoring->mutex);
    }
    scoring->pages_then = scoring->pages;
    mutex_unlock(&scoring->mutex);
    return !scoring_is_stopping(scoring);
}

/* Gives the moves to the ingest thread and waits until they are applied. */
static void scoring_hand_over(Scoring *scoring)
{
    if (scoring->n_moves == 0) {
        return;
    }
    array_sort(scoring->moves, scoring->n_moves, sizeof *scoring->moves,
               ARRAY_KEY(ScheduleChange, index), ARRAY_NO_KEY);
    scoring->n_applied = 0;
    atomic_store(&scoring->pending, true);
    scoring->wake(scoring->context);
    thread_step("moving entries");
    mutex_lock(&scoring->mutex);
    while (!scoring_is_stopping(scoring) && atomic_load(&scoring->pending)) {
        condition_wait(&scoring->changed, &scoring->mutex);
    }
    mutex_unlock(&scoring->mutex);
    if (!scoring_is_stopping(scoring)) {
        scoring->n_moves = 0;
    }
}

/* Notes the moves among some entries of the schedule. There is room for all. */
static void scoring_compare(Scoring *scoring, const ScheduleEntry *entries, size_t n)
{
    const Scorer *scorer = &scoring->scorer;
    float scale = scorer->scale(scorer->state);
    for (size_t i = 0; i < n; i++) {
        float old = 0.0f;
        float score = 0.0f;
        if (schedule_is_express(scoring->schedule, entries[i].level)) {
            continue; /* a visit that is due: not ours */
        }
        if (scorer->get(scorer->state, entries[i].index, &old, &score) != 0 || !(score > 0.0f)) {
            continue; /* newer than the computation: its estimate stands */
        }
        unsigned level = schedule_level(scoring->schedule, score * scale);
        if (level != entries[i].level &&
            !schedule_is_express(scoring->schedule, entries[i].level)) {
            scoring->moves[scoring->n_moves++] = (ScheduleChange){.index = entries[i].index,
                                                                  .host = entries[i].host,
                                                                  .from = (uint8_t)entries[i].level,
                                                                  .to = (uint8_t)level};
        }
    }
}

/* Goes through the schedule once. */
static void scoring_sweep(Scoring *scoring, ScheduleEntry *entries)
{
    ScheduleScan scan = {.started = false};
    size_t n = SCAN_AT_ONCE;
    while (n == SCAN_AT_ONCE && !scoring_is_stopping(scoring)) {
        MDB_txn *txn = NULL;
        thread_step("comparing levels");
        if (page_db_txn_begin(scoring->db, true, &txn) != page_db_error_ok) {
            LOG_WARN("scoring", "the schedule cannot be read", "next=\"after the next pages\"");
            break;
        }
        Result rc = schedule_scan(scoring->schedule, txn, &scan, entries, SCAN_AT_ONCE, &n);
        page_db_txn_abort(scoring->db, txn);
        if (rc != RESULT_OK) {
            break;
        }
        scoring_compare(scoring, entries, n);
        if (scoring->n_moves > SCORING_MOVES - SCAN_AT_ONCE) {
            scoring_hand_over(scoring);
        }
    }
    if (!scoring_is_stopping(scoring)) {
        scoring_hand_over(scoring);
    }
}

static const char *scoring_words_of(const Scoring *scoring)
{
    const Error *error =
        scoring->page_rank != NULL ? scoring->page_rank->error : scoring->hits->error;
    const char *words = error_message(error);
    return words == NULL ? "" : words;
}

/* That the precision was not reached is told; the scores are the best there are. */
static bool scoring_compute(Scoring *scoring)
{
    MonoTime start = mono_now();
    thread_step("computing scores");
    /* What the configuration says now. */
    mutex_lock(&scoring->mutex);
    ScoringOptions options = scoring->options;
    mutex_unlock(&scoring->mutex);
    if (scoring->page_rank != NULL) {
        page_rank_scorer_set_damping(scoring->page_rank, options.damping);
        scoring->page_rank->page_rank->precision = options.precision;
    } else {
        scoring->hits->hits->precision = options.precision;
    }
    int rc = scoring->scorer.update(scoring->scorer.state);
    uint64_t ms = (uint64_t)mono_ms_between(start, mono_now());
    if (scoring_is_stopping(scoring)) {
        return false;
    }
    bool done = rc == 0 || (scoring->page_rank != NULL && rc == page_rank_scorer_error_precision);
    if (rc != 0) {
        LOG_WARN("scoring", done ? "scores are not exact" : "scores cannot be computed",
                 "error=\"%s\"", scoring_words_of(scoring));
    }
    mutex_lock(&scoring->mutex);
    scoring->stats.computations += done;
    scoring->stats.last_ms = ms;
    uint64_t pages = scoring->pages_then;
    mutex_unlock(&scoring->mutex);
    LOG_DEBUG("scoring", "computed", "pages=%llu ms=%llu", (unsigned long long)pages,
              (unsigned long long)ms);
    return done;
}

static void *scoring_main(void *argument)
{
    Scoring *scoring = argument;
    ScheduleEntry *entries = calloc(SCAN_AT_ONCE, sizeof *entries);
    thread_step("waiting for pages");
    while (entries != NULL && scoring_wait_for_pages(scoring)) {
        if (scoring_compute(scoring)) {
            scoring_sweep(scoring, entries);
        }
        /* A round has ended; what it cost decides when the next one may begin. */
        int64_t own_ns = cpu_thread_ns();
        mutex_lock(&scoring->mutex);
        int64_t all_ns = own_ns + atomic_load(&scoring->moves_ns);
        scoring->stats.rounds++;
        scoring->stats.cpu_us = (uint64_t)own_ns / 1000;
        scoring->cost_ns = all_ns - scoring->all_ns;
        scoring->all_ns = all_ns;
        mutex_unlock(&scoring->mutex);
        thread_step("waiting for pages");
    }
    free(entries);
    return NULL;
}

/* ---- the chore ---- */

static MonoTime scoring_chore_due(void *context)
{
    Scoring *scoring = context;
    bool due = atomic_load(&scoring->pending) && !scoring_is_stopping(scoring);
    return due ? ((MonoTime){0}) : MONO_NEVER;
}

static Result scoring_chore_run(void *context, Batch *batch, MonoTime until)
{
    Scoring *scoring = context;
    Result rc = RESULT_OK;
    scoring->piece_start = mono_now();
    scoring->piece_cpu_ns = cpu_thread_ns();
    scoring->n_taken = 0;
    scoring->n_held = 0;
    size_t left = scoring->n_moves - scoring->n_applied;
    size_t most = left < SCORING_PIECE ? left : SCORING_PIECE;
    do { /* at least a step, or there would be no end */
        size_t n = most - scoring->n_taken < PIECE_STEP ? most - scoring->n_taken : PIECE_STEP;
        ScheduleChange *to = scoring->piece + scoring->n_held;
        size_t held = 0;
        memcpy(to, scoring->moves + scoring->n_applied + scoring->n_taken, n * sizeof *to);
        rc = page_levels_move(scoring->db, scoring->schedule, batch->txn, to, n, &held);
        scoring->n_taken += n;
        scoring->n_held += held;
    } while (rc == RESULT_OK && scoring->n_taken < most && mono_before(mono_now(), until));
    batch->moved = scoring->piece;
    batch->n_moved = scoring->n_held;
    return rc;
}

static void scoring_chore_ended(void *context, Result rc)
{
    Scoring *scoring = context;
    atomic_fetch_add(&scoring->moves_ns, cpu_thread_ns() - scoring->piece_cpu_ns);
    if (rc != RESULT_OK) {
        return; /* the same moves are tried again */
    }
    LOG_DEBUG("scoring", "moved", "entries=%zu of=%zu us=%lld", scoring->n_held, scoring->n_taken,
              (long long)(mono_now().ns - scoring->piece_start.ns) / 1000);
    scoring->n_applied += scoring->n_taken;
    mutex_lock(&scoring->mutex);
    scoring->stats.moves += scoring->n_held;
    if (scoring->n_applied == scoring->n_moves) {
        atomic_store(&scoring->pending, false);
        condition_broadcast(&scoring->changed);
    }
    mutex_unlock(&scoring->mutex);
}

bool scoring_chore(Scoring *scoring, IngestChore *chore)
{
    *chore = (IngestChore){.context = scoring,
                           .due = scoring_chore_due,
                           .run = scoring_chore_run,
                           .ended = scoring_chore_ended,
                           .nothing_to_fetch = true, /* moves lead from level to level */
                           .rides = true};
    return scoring->page_rank != NULL || scoring->hits != NULL;
}

/* ---- the outside ---- */

static Result open_page_rank(Scoring *scoring)
{
    const ScoringOptions *options = &scoring->options;
    if (page_rank_scorer_new(&scoring->page_rank, scoring->db) != page_rank_scorer_error_ok) {
        return scoring->page_rank == NULL ? RESULT_MEMORY : RESULT_IO;
    }
    page_rank_scorer_set_persist(scoring->page_rank, 1);
    page_rank_scorer_set_use_content_scores(scoring->page_rank, options->content_scores);
    scoring->page_rank->page_rank->max_loops = MAX_LOOPS;
    page_rank_scorer_setup(scoring->page_rank, &scoring->scorer);
    return RESULT_OK;
}

static Result open_hits(Scoring *scoring)
{
    const ScoringOptions *options = &scoring->options;
    if (hits_scorer_new(&scoring->hits, scoring->db) != hits_scorer_error_ok) {
        return scoring->hits == NULL ? RESULT_MEMORY : RESULT_IO;
    }
    hits_scorer_set_persist(scoring->hits, 1);
    hits_scorer_set_use_content_scores(scoring->hits, options->content_scores);
    scoring->hits->hits->max_loops = MAX_LOOPS;
    hits_scorer_setup(scoring->hits, &scoring->scorer);
    return RESULT_OK;
}

/* content_scorer_estimate with the share as it is now; ingest thread. */
static int estimate_content(void *state, const ScorerLink *link, float *score)
{
    Scoring *scoring = HEAP_ELEMENT(state, Scoring, content);
    scoring->content.page_share = atomic_load(&scoring->page_share);
    return content_scorer_estimate(state, link, score);
}

Result scoring_new(Scoring **out, const ScoringOptions *options, PageDB *db, Schedule *schedule,
                   void (*wake)(void *context), void *context)
{
    *out = NULL;
    Scoring *scoring = calloc(1, sizeof *scoring);
    if (scoring == NULL) {
        return RESULT_MEMORY;
    }
    scoring->options = *options;
    scoring->db = db;
    scoring->schedule = schedule;
    scoring->wake = wake;
    scoring->context = context;
    mutex_init(&scoring->mutex, RANK_SCHEDULER);
    condition_init(&scoring->changed);
    Result rc = RESULT_OK;
    if (options->kind == SCORING_CONTENT || options->kind == SCORING_CLASSIFIER) {
        content_scorer_init(&scoring->content, options->page_share);
        content_scorer_setup(&scoring->content, &scoring->scorer);
        atomic_store(&scoring->page_share, scoring->content.page_share);
        scoring->scorer.estimate = estimate_content;
    } else if (options->kind != SCORING_NONE) {
        scoring->moves = malloc(SCORING_MOVES * sizeof *scoring->moves);
        scoring->piece = malloc(SCORING_PIECE * sizeof *scoring->piece);
        rc = RESULT_MEMORY;
        if (scoring->moves != NULL && scoring->piece != NULL) {
            rc = options->kind == SCORING_PAGERANK ? open_page_rank(scoring) : open_hits(scoring);
        }
    }
    if (rc != RESULT_OK) {
        scoring_delete(scoring);
        return rc;
    }
    *out = scoring;
    return RESULT_OK;
}

void scoring_set_outside(Scoring *scoring, const PageRankOutside *outside)
{
    if (scoring->page_rank != NULL) {
        page_rank_scorer_set_outside(scoring->page_rank, outside);
    }
}

const Scorer *scoring_scorer(const Scoring *scoring)
{
    return scoring->options.kind == SCORING_NONE ? NULL : &scoring->scorer;
}

Result scoring_start(Scoring *scoring, uint64_t pages)
{
    if (scoring->page_rank == NULL && scoring->hits == NULL) {
        return RESULT_OK;
    }
    /* A crawl that is resumed computes at once: estimates need totals. Ingest runs already. */
    mutex_lock(&scoring->mutex);
    scoring->pages = pages > scoring->pages ? pages : scoring->pages;
    mutex_unlock(&scoring->mutex);
    return thread_start(&scoring->thread, "scoring", scoring_main, scoring);
}

void scoring_change(Scoring *scoring, const ScoringOptions *options)
{
    mutex_lock(&scoring->mutex);
    ScoringKind kind = scoring->options.kind;
    bool content_scores = scoring->options.content_scores;
    scoring->options = *options;
    scoring->options.kind = kind;
    scoring->options.content_scores = content_scores;
    atomic_store(&scoring->page_share, options->page_share);
    condition_broadcast(&scoring->changed);
    mutex_unlock(&scoring->mutex);
}

void scoring_committed(Scoring *scoring, uint64_t pages)
{
    mutex_lock(&scoring->mutex);
    bool first = scoring->pages == scoring->pages_then && pages > scoring->pages;
    scoring->pages = pages;
    if (first || has_enough_locked(scoring)) {
        condition_broadcast(&scoring->changed);
    }
    mutex_unlock(&scoring->mutex);
}

size_t scoring_enough_pages(Scoring *scoring)
{
    size_t enough = SIZE_MAX;
    mutex_lock(&scoring->mutex);
    if ((scoring->page_rank != NULL || scoring->hits != NULL) && has_earned_locked(scoring)) {
        enough = (size_t)fmin(least_pages_locked(scoring), 1e15);
    }
    mutex_unlock(&scoring->mutex);
    return enough;
}

void scoring_stats(Scoring *scoring, ScoringStats *stats)
{
    mutex_lock(&scoring->mutex);
    *stats = scoring->stats;
    mutex_unlock(&scoring->mutex);
}

void scoring_stop(Scoring *scoring)
{
    mutex_lock(&scoring->mutex);
    atomic_store(&scoring->stopping, true);
    condition_broadcast(&scoring->changed);
    mutex_unlock(&scoring->mutex);
    if (scoring->scorer.stop != NULL) {
        scoring->scorer.stop(scoring->scorer.state, true);
    }
    thread_join(&scoring->thread);
}

void scoring_delete(Scoring *scoring)
{
    if (scoring == NULL) {
        return;
    }
    (void)page_rank_scorer_delete(scoring->page_rank);
    (void)hits_scorer_delete(scoring->hits);
    free(scoring->moves);
    free(scoring->piece);
    condition_destroy(&scoring->changed);
    mutex_destroy(&scoring->mutex);
    free(scoring);
}
