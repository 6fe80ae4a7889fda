/* The documented C interface of schedulers, scorers and their computations: signatures and types of
 * fields, as programs were written against them, are compared when this is compiled; defaults when
 * it runs. Source: seeds 000 and 003. */
#include <time.h>

#include "ragno.h"
#include "store_fixture.h"
#include "unit.h"

#define CALL(function, result, ...)                                                                \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&(function)), result (*)(__VA_ARGS__)), \
                   #function)
#define FIELD(structure, field, type)                                                              \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((structure *)0)->field), type),        \
                   #structure "." #field)

/* Best-first. */
CALL(bf_scheduler_new, BFSchedulerError, BFScheduler **, PageDB *, const char *);
CALL(bf_scheduler_delete, void, BFScheduler *);
CALL(bf_scheduler_add, BFSchedulerError, BFScheduler *, const CrawledPage *);
CALL(bf_scheduler_request, BFSchedulerError, BFScheduler *, size_t, PageRequest **);
CALL(bf_scheduler_update_start, BFSchedulerError, BFScheduler *);
CALL(bf_scheduler_update_stop, BFSchedulerError, BFScheduler *);
CALL(bf_scheduler_set_persist, void, BFScheduler *, int);
CALL(bf_scheduler_set_max_domain_crawl_rate, BFSchedulerError, BFScheduler *, float, float);
CALL(bf_scheduler_reload, BFSchedulerError, BFScheduler *);
CALL(bf_scheduler_set_max_crawl_depth, void, BFScheduler *, uint64_t);
CALL(bf_scheduler_set_update_interval, void, BFScheduler *, time_t);
FIELD(BFScheduler, page_db, PageDB *);
FIELD(BFScheduler, scorer, Scorer *);
FIELD(BFScheduler, txn_manager, TxnManager *);
FIELD(BFScheduler, path, char *);
FIELD(BFScheduler, persist, int);
FIELD(BFScheduler, max_soft_domain_crawl_rate, float);
FIELD(BFScheduler, max_hard_domain_crawl_rate, float);
FIELD(BFScheduler, max_crawl_depth, uint64_t);
FIELD(BFScheduler, error, Error *);

/* By frequency. */
CALL(freq_scheduler_new, FreqSchedulerError, FreqScheduler **, PageDB *, const char *);
CALL(freq_scheduler_delete, void, FreqScheduler *);
CALL(freq_scheduler_add, FreqSchedulerError, FreqScheduler *, const CrawledPage *);
CALL(freq_scheduler_request, FreqSchedulerError, FreqScheduler *, size_t, PageRequest **);
CALL(freq_scheduler_load_simple, FreqSchedulerError, FreqScheduler *, float, float);
CALL(freq_scheduler_load_mmap, FreqSchedulerError, FreqScheduler *, MMapArray *);
CALL(freq_scheduler_cursor_open, FreqSchedulerError, FreqScheduler *, MDB_cursor **);
CALL(freq_scheduler_cursor_commit, FreqSchedulerError, FreqScheduler *, MDB_cursor *);
CALL(freq_scheduler_cursor_abort, void, FreqScheduler *, MDB_cursor *);
CALL(freq_scheduler_cursor_write, FreqSchedulerError, FreqScheduler *, MDB_cursor *, uint64_t,
     float);
CALL(freq_scheduler_dump, FreqSchedulerError, FreqScheduler *, FILE *);
CALL(freq_algo_simple, FreqSchedulerError, PageDB *, MMapArray **, const char *, char **);
FIELD(FreqScheduler, path, char *);
FIELD(FreqScheduler, page_db, PageDB *);
FIELD(FreqScheduler, txn_manager, TxnManager *);
FIELD(FreqScheduler, error, Error *);
FIELD(FreqScheduler, persist, int);
FIELD(FreqScheduler, margin, float);
FIELD(FreqScheduler, max_n_crawls, size_t);
FIELD(PageFreq, hash, uint64_t);
FIELD(PageFreq, freq, float);

/* PageRank. */
CALL(page_rank_scorer_new, PageRankScorerError, PageRankScorer **, PageDB *);
CALL(page_rank_scorer_delete, PageRankScorerError, PageRankScorer *);
CALL(page_rank_scorer_setup, void, PageRankScorer *, Scorer *);
CALL(page_rank_scorer_set_persist, void, PageRankScorer *, int);
CALL(page_rank_scorer_set_use_content_scores, void, PageRankScorer *, int);
CALL(page_rank_scorer_set_damping, void, PageRankScorer *, float);
CALL(page_rank_new, PageRankError, PageRank **, const char *, size_t);
CALL(page_rank_delete, PageRankError, PageRank *);
CALL(page_rank_set_n_pages, PageRankError, PageRank *, size_t);
CALL(page_rank_compute, PageRankError, PageRank *, void *, LinkStreamNextFunc *,
     LinkStreamResetFunc *);
CALL(page_rank_get, PageRankError, const PageRank *, size_t, float *, float *);
CALL(page_rank_set_persist, void, PageRank *, int);
FIELD(Scorer, state, void *);
FIELD(Scorer, update, ScorerUpdateFunc *);
FIELD(Scorer, add, ScorerAddFunc *);
FIELD(Scorer, get, ScorerGetFunc *);
FIELD(PageRankScorer, page_rank, PageRank *);
FIELD(PageRankScorer, page_db, PageDB *);
FIELD(PageRankScorer, error, Error *);
FIELD(PageRankScorer, persist, int);
FIELD(PageRankScorer, use_content_scores, int);
FIELD(PageRank, out_degree, MMapArray *);
FIELD(PageRank, value1, MMapArray *);
FIELD(PageRank, value2, MMapArray *);
FIELD(PageRank, n_pages, size_t);
FIELD(PageRank, path_out_degree, char *);
FIELD(PageRank, path_pr, char *);
FIELD(PageRank, error, Error *);
FIELD(PageRank, damping, float);
FIELD(PageRank, scores, MMapArray *);
FIELD(PageRank, total_score, float);
FIELD(PageRank, max_loops, size_t);
FIELD(PageRank, precision, float);
FIELD(PageRank, persist, int);
CALL(page_rank_scorer_update, int, void *);
CALL(page_rank_scorer_add, int, void *, const PageInfo *, float *);
CALL(page_rank_scorer_get, int, void *, size_t, float *, float *);

/* HITS. */
CALL(hits_scorer_new, HitsScorerError, HitsScorer **, PageDB *);
CALL(hits_scorer_delete, HitsScorerError, HitsScorer *);
CALL(hits_scorer_setup, void, HitsScorer *, Scorer *);
CALL(hits_scorer_set_persist, void, HitsScorer *, int);
CALL(hits_scorer_set_use_content_scores, void, HitsScorer *, int);
CALL(hits_new, HitsError, Hits **, const char *, size_t);
CALL(hits_delete, HitsError, Hits *);
CALL(hits_set_n_pages, HitsError, Hits *, size_t);
CALL(hits_compute, HitsError, Hits *, void *, LinkStreamNextFunc *, LinkStreamResetFunc *);
CALL(hits_get_hub, HitsError, const Hits *, size_t, float *, float *);
CALL(hits_get_authority, HitsError, const Hits *, size_t, float *, float *);
CALL(hits_set_persist, void, Hits *, int);
FIELD(HitsScorer, hits, Hits *);
FIELD(HitsScorer, page_db, PageDB *);
FIELD(HitsScorer, error, Error *);
FIELD(HitsScorer, persist, int);
FIELD(HitsScorer, use_content_scores, int);
FIELD(Hits, h1, MMapArray *);
FIELD(Hits, h2, MMapArray *);
FIELD(Hits, a1, MMapArray *);
FIELD(Hits, a2, MMapArray *);
FIELD(Hits, path_h1, char *);
FIELD(Hits, path_h2, char *);
FIELD(Hits, n_pages, size_t);
FIELD(Hits, error, Error *);
FIELD(Hits, scores, MMapArray *);
FIELD(Hits, max_loops, size_t);
FIELD(Hits, precision, float);
FIELD(Hits, persist, int);
CALL(hits_scorer_update, int, void *);
CALL(hits_scorer_add, int, void *, const PageInfo *, float *);
CALL(hits_scorer_get, int, void *, size_t, float *, float *);

static void schedulers_have_the_documented_defaults(void)
{
    StoreFixture fixture;
    BFScheduler *best = NULL;
    FreqScheduler *freq = NULL;
    store_fixture_open(&fixture);
    PageDB *db = fixture.store.db;
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_new(&best, db, NULL), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(best->persist, 1);
    CU_ASSERT_TRUE(best->max_soft_domain_crawl_rate < 0 && best->max_hard_domain_crawl_rate < 0);
    CU_ASSERT_EQUAL(best->max_crawl_depth, 0);
    CU_ASSERT_EQUAL(BF_SCHEDULER_UPDATE_BATCH_SIZE, 100);
    CU_ASSERT_EQUAL(BF_SCHEDULER_UPDATE_NUM_PAGES, 100);
    CU_ASSERT_DOUBLE_EQUAL(BF_SCHEDULER_UPDATE_PER_PAGES, 0.01, 1e-9);
    CU_ASSERT_EQUAL(BF_SCHEDULER_CRAWL_RATE_STEPS, 5);
    bf_scheduler_delete(best);
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_new(&freq, db, NULL), freq_scheduler_error_ok);
    CU_ASSERT_EQUAL(freq->persist, 0);
    CU_ASSERT_TRUE(freq->margin < 0);
    CU_ASSERT_EQUAL(freq->max_n_crawls, 0);
    freq_scheduler_delete(freq);
    store_fixture_close(&fixture, true);
}

static void scorers_have_the_documented_defaults(void)
{
    StoreFixture fixture;
    PageRankScorer *rank = NULL;
    HitsScorer *hits = NULL;
    store_fixture_open(&fixture);
    PageDB *db = fixture.store.db;
    CU_ASSERT_EQUAL_FATAL(page_rank_scorer_new(&rank, db), page_rank_scorer_error_ok);
    CU_ASSERT_TRUE(rank->persist == 0 && rank->use_content_scores == 0);
    CU_ASSERT_DOUBLE_EQUAL((double)rank->page_rank->damping, 0.85, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL((double)rank->page_rank->precision, 1e-4, 1e-9);
    CU_ASSERT_EQUAL(rank->page_rank->max_loops, 100);
    CU_ASSERT_EQUAL(rank->page_rank->persist, 0);
    CU_ASSERT_EQUAL(page_rank_scorer_delete(rank), page_rank_scorer_error_ok);
    CU_ASSERT_EQUAL_FATAL(hits_scorer_new(&hits, db), hits_scorer_error_ok);
    CU_ASSERT_TRUE(hits->persist == 0 && hits->use_content_scores == 0);
    CU_ASSERT_DOUBLE_EQUAL((double)hits->hits->precision, 1e-4, 1e-9);
    CU_ASSERT_EQUAL(hits->hits->max_loops, 100);
    CU_ASSERT_EQUAL(hits->hits->persist, 0);
    CU_ASSERT_EQUAL(hits_scorer_delete(hits), hits_scorer_error_ok);
    store_fixture_close(&fixture, true);
}

UNIT_MAIN("library_api",
          {"schedulers have the documented defaults", schedulers_have_the_documented_defaults},
          {"scorers have the documented defaults", scorers_have_the_documented_defaults})
