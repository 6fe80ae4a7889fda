/* Scoring: scores of pages that were not fetched yet, and how they steer the crawl.
 *
 *   ingest --estimate--> level of a new page           (scoring_scorer, in the ingest thread)
 *
 *   scoring thread: links --compute--> scores --compare with the schedule--> moves
 *                                                                              |
 *   ingest thread, with its batches: schedule and PageDB <--apply, in pieces-- chore
 *                                                                              |
 *   distributor: hosts whose URLs in memory have moved read their windows anew <-'
 *
 * What: a computation begins when enough pages have come since the last one (min_pages, and the
 * share growth of all before it) and another one as dear as that keeps all of them, with the moves,
 * within a tenth of a second and the part share of the CPU that the program has used; or some
 * pages, after interval. So a young crawl is steered after every few pages, when that costs next to
 * nothing, and a large one as often as its own work pays for. The writer does not collect a batch
 * for longer than it takes that many pages to come (scoring_enough_pages): a young crawl that is
 * fast would have fetched hundreds of pages by old scores meanwhile. A computation reads the links
 * in a read transaction that ends before it begins to compute, so that a long computation does not
 * keep the database from reusing its pages. It starts from the last result, which is kept in files
 * of DIR/crawl.mdb from run to run, too. Then the schedule is compared with the new scores, piece
 * after piece in short read transactions. Where the level of an entry changed a move is noted, and
 * after SCORING_MOVES of them the ingest thread applies them: whatever the size of the crawl, moves
 * take bounded memory, and only what changed is written. A piece rides with a batch
 * (ingest/batch/ingest_chore.h) and has SCORING_PIECE moves at most, so that results do not wait
 * long for its work or its share of the sync. A page that was fetched meanwhile is left alone
 * (store/schedule/schedule_read.h).
 *
 * Scores mean little by themselves; what counts is the level. A page of mean importance has
 * SCORER_MEAN (store/scorers/scorer.h), and schedule.levels says how far apart levels are: with 60
 * a fifth, which gathers a hundredth more of the PageRank than with 32 (BENCH=steering). A page
 * younger than the last computation stands where its estimate put it.
 *
 * Owns: the scorer and its files. Database and schedule are borrowed.
 * Threads: scoring_committed and scoring_stats any; the Scorer and the chore ingest; the rest main.
 */
#pragma once

#include "rules/config_words.h"
#include "ingest/batch/ingest_chore.h"
#include "store/schedule/schedule.h"
#include "store/scorers/page_rank_scorer.h"

/* Moves collected before they are applied: as many as can be sorted in a millisecond or two,
 * because a stop waits for the sort. */
#define SCORING_MOVES 16384u
/* The most new pages of the database in one transaction. */
#define SCORING_PIECE 2048u

typedef enum ScoringKind {
    SCORING_NONE,
    SCORING_CONTENT,
    SCORING_PAGERANK,
    SCORING_HITS,
    SCORING_CLASSIFIER /* as content: pages bring their scores */
} ScoringKind;

/* What the word of score.scorer asks of this thread. */
ScoringKind scoring_kind_of(ScorerWord word);

typedef struct ScoringOptions {
    ScoringKind kind;
    uint64_t min_pages;
    double growth;
    double share;        /* of the program's CPU for computations, 0..1; 1: no bound */
    float damping;       /* PageRank */
    float precision;     /* PageRank, HITS: largest relative change at the end */
    bool content_scores; /* weigh with the scores of pages and links (score.rules) */
    float page_share;    /* content: of the score of the page with the link */
} ScoringOptions;

typedef struct ScoringStats {
    uint64_t computations;
    uint64_t rounds;  /* computations, done or failed, whose moves were all handed over */
    uint64_t moves;   /* entries that changed their level */
    uint64_t cpu_us;  /* of the scoring thread */
    uint64_t last_ms; /* how long the last computation took */
} ScoringStats;

typedef struct Scoring Scoring;

/* db and schedule are borrowed. wake: called when the chore has become due, any thread.
 * RESULT_MEMORY, RESULT_IO (the files of the scores). *scoring is NULL then. */
Result scoring_new(Scoring **scoring, const ScoringOptions *options, PageDB *db, Schedule *schedule,
                   void (*wake)(void *context), void *context);
/* The database is a part of a larger one: PageRank is that of the whole. outside is borrowed;
 * before scoring_start. */
void scoring_set_outside(Scoring *scoring, const PageRankOutside *outside);
/* What new pages are estimated with; NULL when kind is SCORING_NONE. Lives as long as scoring. */
const Scorer *scoring_scorer(const Scoring *scoring);
/* Fills in the chore that applies moves; false when there will never be any. */
bool scoring_chore(Scoring *scoring, IngestChore *chore);
/* Nothing is started when there is nothing to compute. pages: fetched so far, by earlier runs. */
Result scoring_start(Scoring *scoring, uint64_t pages);
/* The configuration has changed: weights, and when and how exactly is computed, from the next
 * computation on. kind and content_scores stay as they were. Any thread. */
void scoring_change(Scoring *scoring, const ScoringOptions *options);
/* Says, after a commit, how many pages have been fetched in all. */
void scoring_committed(Scoring *scoring, uint64_t pages);
/* New pages with which a computation is worth their commit; SIZE_MAX: none is, for now. Any thread.
 */
size_t scoring_enough_pages(Scoring *scoring);
void scoring_stats(Scoring *scoring, ScoringStats *stats);
/* Ends a computation at once (store/rank/link_graph.h), drops moves that were not applied, and
 * ends the thread. */
void scoring_stop(Scoring *scoring);
/* NULL is allowed. After scoring_stop, and after ingest has ended. */
void scoring_delete(Scoring *scoring);
