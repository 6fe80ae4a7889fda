/* What a caller of the documented library can get wrong is answered with a code and with words, and
 * never with a crash. */
#include <math.h>
#include <sys/stat.h>

#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "page_db_fixture.h"
#include "ragno.h"

#define EXPECT(call, code, error_object, words)                                                    \
    do {                                                                                           \
        CU_ASSERT_EQUAL((int)(call), (int)(code));                                                 \
        const char *found_ = error_message(error_object);                                          \
        CU_ASSERT_PTR_NOT_NULL_FATAL(found_);                                                      \
        CU_ASSERT_PTR_NOT_NULL(strstr(found_, words));                                             \
    } while (0)

static void page_db_says_what_is_wrong(void)
{
    PageDB *db = page_db_fixture_open("errors");
    const CrawledPage *none = NULL;
    EXPECT(page_db_set_domain_temp(db, 0, 0), page_db_error_invalid, db->error, "n_domains");
    EXPECT(page_db_set_domain_temp(db, 5, NAN), page_db_error_invalid, db->error, "window");
    EXPECT(page_db_add(db, NULL, NULL), page_db_error_invalid, db->error, "NULL");
    EXPECT(page_db_add_batch(db, &none, 1, NULL), page_db_error_invalid, db->error, "NULL");
    EXPECT(page_db_get_info(db, 1, NULL), page_db_error_invalid, db->error, "page_db_get_info");
    EXPECT(page_db_get_idx(db, 1, NULL), page_db_error_invalid, db->error, "page_db_get_idx");
    EXPECT(page_db_get_scores(db, NULL), page_db_error_invalid, db->error, "NULL");
    EXPECT(page_db_info_dump(db, NULL), page_db_error_invalid, db->error, "page_db_info_dump");
    EXPECT(page_db_links_dump(db, NULL), page_db_error_invalid, db->error, "NULL");
    EXPECT(page_db_link_stream_new(NULL, db), page_db_error_invalid, db->error, "NULL");
    EXPECT(hashinfo_stream_new(NULL, db), page_db_error_invalid, db->error, "NULL");
    EXPECT(hashidx_stream_new(NULL, db), page_db_error_invalid, db->error, "NULL");
    uint64_t index = 7;
    EXPECT(page_db_get_idx(db, 1, &index), page_db_error_no_page, db->error, "no such page");
    (void)page_db_delete(db);
}

static void no_page_db_is_no_crash(void)
{
    PageDB *db = NULL;
    uint64_t index = 0;
    PageInfo *info = NULL;
    HashIdxStream *stream = NULL;
    CU_ASSERT_EQUAL(page_db_new(NULL, "x"), page_db_error_invalid);
    EXPECT(page_db_new(&db, NULL), page_db_error_invalid, db->error, "path is NULL");
    EXPECT(page_db_get_idx(db, 1, &index), page_db_error_invalid, db->error, "not opened");
    EXPECT(page_db_get_info(db, 1, &info), page_db_error_invalid, db->error, "not opened");
    EXPECT(hashidx_stream_new(&stream, db), page_db_error_invalid, db->error, "not opened");
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_add(NULL, NULL, NULL), page_db_error_invalid);
    CU_ASSERT_EQUAL(page_db_set_domain_temp(NULL, 1, 1), page_db_error_invalid);
    CU_ASSERT_EQUAL(page_db_get_domain_crawl_rate(NULL, 1), 0);
    CU_ASSERT_EQUAL(page_db_hash(NULL), 0);
    page_db_set_persist(NULL, 1);
    CU_ASSERT_EQUAL(crawled_page_add_link(NULL, "http://a/", 0), -1);
    CU_ASSERT_EQUAL(crawled_page_n_links(NULL), 0);
    CU_ASSERT_PTR_NULL(crawled_page_get_link(NULL, 0));
    CU_ASSERT_PTR_NULL(crawled_page_new(NULL));
    CrawledPage *page = crawled_page_new("http://a/");
    CU_ASSERT_PTR_NULL(crawled_page_get_link(page, 0));
    CU_ASSERT_EQUAL(crawled_page_add_link(page, NULL, 0), -1);
    CU_ASSERT_EQUAL(crawled_page_set_hash(page, NULL, 4), -1);
    crawled_page_delete(page);
}

static void schedulers_say_what_is_wrong(void)
{
    PageDB *db = page_db_fixture_open("schedulers");
    BFScheduler *best = NULL;
    FreqScheduler *freq = NULL, *second = NULL;
    CU_ASSERT_EQUAL(bf_scheduler_new(NULL, db, NULL), bf_scheduler_error_invalid);
    EXPECT(bf_scheduler_new(&best, NULL, NULL), bf_scheduler_error_invalid, best->error, "NULL");
    bf_scheduler_delete(best);
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_new(&best, db, NULL), bf_scheduler_error_ok);
    EXPECT(bf_scheduler_add(best, NULL), bf_scheduler_error_invalid, best->error, "NULL");
    EXPECT(bf_scheduler_request(best, 1, NULL), bf_scheduler_error_invalid, best->error, "NULL");
    CU_ASSERT_EQUAL(bf_scheduler_add(NULL, NULL), bf_scheduler_error_invalid);
    CU_ASSERT_EQUAL(bf_scheduler_request(NULL, 1, NULL), bf_scheduler_error_invalid);
    CU_ASSERT_EQUAL(bf_scheduler_reload(NULL), bf_scheduler_error_invalid);
    CU_ASSERT_EQUAL(bf_scheduler_update_start(NULL), bf_scheduler_error_invalid);
    CU_ASSERT_EQUAL(bf_scheduler_update_stop(NULL), bf_scheduler_error_invalid);
    CU_ASSERT_EQUAL(bf_scheduler_set_max_domain_crawl_rate(NULL, 1, 1), bf_scheduler_error_invalid);
    bf_scheduler_set_persist(NULL, 1);
    bf_scheduler_set_max_crawl_depth(NULL, 1);
    bf_scheduler_set_update_interval(NULL, 1);
    bf_scheduler_delete(best);
    CU_ASSERT_EQUAL(freq_scheduler_new(NULL, db, NULL), freq_scheduler_error_invalid);
    EXPECT(freq_scheduler_new(&freq, NULL, NULL), freq_scheduler_error_invalid, freq->error,
           "NULL");
    freq_scheduler_delete(freq);
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_new(&freq, db, NULL), freq_scheduler_error_ok);
    EXPECT(freq_scheduler_new(&second, db, "other"), freq_scheduler_error_locked, second->error,
           "another FreqScheduler");
    freq_scheduler_delete(second);
    EXPECT(freq_scheduler_add(freq, NULL), freq_scheduler_error_invalid, freq->error, "NULL");
    EXPECT(freq_scheduler_request(freq, 1, NULL), freq_scheduler_error_invalid, freq->error,
           "NULL");
    EXPECT(freq_scheduler_load_mmap(freq, NULL), freq_scheduler_error_invalid, freq->error, "NULL");
    EXPECT(freq_scheduler_cursor_open(freq, NULL), freq_scheduler_error_invalid, freq->error,
           "NULL");
    EXPECT(freq_scheduler_cursor_write(freq, NULL, 1, 1), freq_scheduler_error_invalid, freq->error,
           "NULL");
    EXPECT(freq_scheduler_cursor_commit(freq, NULL), freq_scheduler_error_invalid, freq->error,
           "NULL");
    EXPECT(freq_scheduler_dump(freq, NULL), freq_scheduler_error_invalid, freq->error, "NULL");
    freq_scheduler_cursor_abort(freq, NULL);
    CU_ASSERT_EQUAL(freq_scheduler_load_simple(NULL, 1, 1), freq_scheduler_error_invalid);
    freq_scheduler_delete(freq);
    (void)page_db_delete(db);
}

static void computations_say_what_is_wrong(void)
{
    PageRank *pr = NULL;
    Hits *hits = NULL;
    PageRankScorer *prs = NULL;
    HitsScorer *hs = NULL;
    float old = 0, new = 0;
    CU_ASSERT_EQUAL_FATAL(page_rank_new(&pr, NULL, 4), page_rank_error_ok);
    CU_ASSERT_EQUAL_FATAL(hits_new(&hits, NULL, 4), hits_error_ok);
    EXPECT(page_rank_get(pr, 99, &old, &new), page_rank_error_internal, pr->error, "index");
    EXPECT(page_rank_get(pr, 0, NULL, &new), page_rank_error_internal, pr->error, "NULL");
    EXPECT(page_rank_compute(pr, NULL, NULL, NULL), page_rank_error_internal, pr->error, "NULL");
    EXPECT(hits_get_hub(hits, 99, &old, &new), hits_error_internal, hits->error, "index");
    EXPECT(hits_get_authority(hits, 0, &old, NULL), hits_error_internal, hits->error, "NULL");
    EXPECT(hits_compute(hits, NULL, NULL, NULL), hits_error_internal, hits->error, "NULL");
    CU_ASSERT_EQUAL(page_rank_get(NULL, 0, &old, &new), page_rank_error_internal);
    CU_ASSERT_EQUAL(page_rank_new(NULL, NULL, 4), page_rank_error_internal);
    CU_ASSERT_EQUAL(page_rank_set_n_pages(NULL, 4), page_rank_error_internal);
    CU_ASSERT_EQUAL(hits_get_hub(NULL, 0, &old, &new), hits_error_internal);
    CU_ASSERT_EQUAL(hits_new(NULL, NULL, 4), hits_error_internal);
    page_rank_set_persist(NULL, 0);
    hits_set_persist(NULL, 0);
    EXPECT(page_rank_scorer_new(&prs, NULL), page_rank_scorer_error_internal, prs->error, "NULL");
    EXPECT(hits_scorer_new(&hs, NULL), hits_scorer_error_internal, hs->error, "NULL");
    (void)page_rank_scorer_delete(prs);
    (void)hits_scorer_delete(hs);
    (void)page_rank_delete(pr);
    (void)hits_delete(hits);
}

static void drum_says_what_is_wrong(void)
{
    Drum *drum = NULL;
    DrumOptions options = {.directory = NULL};
    CU_ASSERT_EQUAL(drum_open(&drum, NULL, NULL), RESULT_INVALID);
    CU_ASSERT_STRING_EQUAL(drum_problem(NULL), "options is NULL");
    CU_ASSERT_EQUAL(drum_open(&drum, &options, NULL), RESULT_INVALID);
    CU_ASSERT_PTR_NULL(drum);
    CU_ASSERT_STRING_EQUAL(drum_problem(&options), "options.directory is NULL");
    options.directory = "x";
    CU_ASSERT_STRING_EQUAL(drum_problem(&options), "options.repository is NULL");
    DrumRepository repository = {.keys = DRUM_KEYS_NUMBERS};
    options.repository = &repository;
    CU_ASSERT_PTR_NULL(drum_problem(&options));
    options.buckets = 3;
    CU_ASSERT_PTR_NOT_NULL(strstr(drum_problem(&options), "buckets"));
}

static void a_database_can_be_written_without_a_sync_per_call(void)
{
    PageDB *db = NULL;
    const char *path = page_db_fixture_path("lazy");
    unsigned flags = 0;
    CU_ASSERT_EQUAL_FATAL(page_db_new(&db, path), page_db_error_ok);
    CU_ASSERT_EQUAL(mdb_env_get_flags(page_db_env(db), &flags), 0);
    CU_ASSERT_TRUE((flags & MDB_NOSYNC) != 0);
    CrawledPage *page = crawled_page_new("http://a/");
    CU_ASSERT_EQUAL(page_db_add(db, page, NULL), page_db_error_ok);
    crawled_page_delete(page);
    CU_ASSERT_EQUAL(page_db_set_sync(db, 1), page_db_error_ok);
    CU_ASSERT_EQUAL(mdb_env_get_flags(page_db_env(db), &flags), 0);
    CU_ASSERT_TRUE((flags & MDB_NOSYNC) == 0);
    CU_ASSERT_EQUAL(page_db_set_sync(NULL, 1), page_db_error_invalid);
    page_db_set_persist(db, 0);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

UNIT_MAIN("library_errors", {"PageDB says what is wrong", page_db_says_what_is_wrong},
          {"no PageDB is no crash", no_page_db_is_no_crash},
          {"schedulers say what is wrong", schedulers_say_what_is_wrong},
          {"computations say what is wrong", computations_say_what_is_wrong},
          {"DRUM says what is wrong", drum_says_what_is_wrong},
          {"a database can be written without a sync per call",
           a_database_can_be_written_without_a_sync_per_call})
