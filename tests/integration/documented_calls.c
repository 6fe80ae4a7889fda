/* Every function of the documented C library, called as its documentation says, against what `make
 * install` put in place. Usage: documented_calls DIRECTORY, which is empty and writable. Each
 * result is checked; the exit status is the number of those that were wrong. Source: seeds 000 and
 * 003. */
#define _DEFAULT_SOURCE /* MADV_SEQUENTIAL */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ragno.h"

static int n_wrong;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)printf("%s:%d: not so: %s\n", __func__, __LINE__, #condition);                   \
            n_wrong++;                                                                             \
        }                                                                                          \
    } while (0)

#define A "http://a.example/"
#define B "http://b.example/"
#define C "http://c.example/"

static int near(float value, float expected)
{
    return value > expected - 1e-3f && value < expected + 1e-3f;
}

static void errors(void)
{
    Error here;
    error_init(&here);
    EXPECT(error_code(&here) == 0);
    error_set(&here, 3, "inner");
    error_add(&here, "outer");
    EXPECT(error_code(&here) == 3 && strcmp(error_message(&here), "inner: outer") == 0);
    error_clean(&here);
    EXPECT(error_code(&here) == 0);
    error_destroy(&here);
    Error *there = error_new();
    EXPECT(there != NULL && error_code(there) == 0);
    error_delete(there);
}

static void crawled_pages(void)
{
    CrawledPage *page = crawled_page_new(A);
    char hash128[16] = "0123456789abcde";
    EXPECT(page != NULL && strcmp(page->url, A) == 0 && page->content_hash == NULL);
    EXPECT(crawled_page_add_link(page, B, 0.5f) == 0);
    EXPECT(crawled_page_n_links(page) == 1 && page->links->n_links == 1);
    EXPECT(strcmp(crawled_page_get_link(page, 0)->url, B) == 0);
    EXPECT(crawled_page_set_hash(page, "abc", 3) == 0 && page->content_hash_length == 3);
    EXPECT(crawled_page_set_hash128(page, hash128) == 0 && page->content_hash_length == 16);
    EXPECT(crawled_page_set_hash64(page, 7) == 0 && page->content_hash_length == 8);
    EXPECT(crawled_page_set_hash32(page, 7) == 0 && page->content_hash_length == 4);
    crawled_page_delete(page);
}

static void arrays(const char *directory)
{
    char path[512];
    MMapArray *array = NULL;
    int value = 42;
    (void)snprintf(path, sizeof path, "%s/array", directory);
    EXPECT(mmap_array_new(&array, path, 4, sizeof value) == mmap_array_error_ok);
    EXPECT(mmap_array_set(array, 3, &value) == mmap_array_error_ok);
    EXPECT(*(int *)mmap_array_idx(array, 3) == 42);
    EXPECT(mmap_array_idx(array, 4) == NULL);
    EXPECT(error_code(array->error) == mmap_array_error_out_of_bounds);
    EXPECT(mmap_array_resize(array, 8) == mmap_array_error_ok && array->n_elements == 8);
    EXPECT(*(int *)mmap_array_idx(array, 3) == 42);
    EXPECT(mmap_array_advise(array, MADV_SEQUENTIAL) == mmap_array_error_ok);
    EXPECT(mmap_array_sync(array, MS_SYNC) == mmap_array_error_ok);
    mmap_array_zero(array);
    EXPECT(*(int *)mmap_array_idx(array, 3) == 0);
    EXPECT(mmap_array_delete(array) == mmap_array_error_ok);
    EXPECT(fopen(path, "rb") == NULL);
}

static void temperatures(void)
{
    DomainTemp *temp = domain_temp_new(4, 10.0f);
    domain_temp_update(temp, 100.0);
    domain_temp_heat(temp, 1);
    domain_temp_heat(temp, 1);
    EXPECT(near(domain_temp_get(temp, 1), 2.0f) && near(domain_temp_get(temp, 2), 0.0f));
    domain_temp_update(temp, 110.0);
    EXPECT(near(domain_temp_get(temp, 1), 2.0f * 0.367879f));
    domain_temp_delete(temp);
}

/* Three pages in a ring, and one more link from the first to the third. */
static void add_page(PageDB *db, const char *url, double time, uint64_t hash, const char *to1,
                     const char *to2)
{
    PageInfoList *list = NULL;
    CrawledPage *page = crawled_page_new(url);
    page->time = time;
    page->score = 0.5f;
    (void)crawled_page_set_hash64(page, hash);
    (void)crawled_page_add_link(page, to1, 0.25f);
    if (to2 != NULL) {
        (void)crawled_page_add_link(page, to2, 0.75f);
    }
    EXPECT(page_db_add(db, page, &list) == page_db_error_ok && list != NULL);
    page_info_list_delete(list);
    crawled_page_delete(page);
}

static void infos(PageDB *db)
{
    char text[PAGE_INFO_PRINT_BYTES];
    PageInfo *info = NULL;
    PageInfo *other = NULL;
    EXPECT(page_db_get_info(db, page_db_hash(A), &info) == page_db_error_ok && info != NULL);
    EXPECT(info->n_crawls == 2 && info->n_changes == 1 && strcmp(info->url, A) == 0);
    EXPECT(page_info_rate(info) > 0.0f);
    EXPECT(page_info_print(info, text) > 0 && strstr(text, A) != NULL);
    EXPECT(page_db_get_info(db, page_db_hash("http://x.example/"), &other) == page_db_error_ok);
    EXPECT(other == NULL);
    page_info_delete(other);
    EXPECT(page_db_get_info(db, page_db_hash(B), &other) == page_db_error_ok && other != NULL);
    EXPECT(page_info_rate(other) < 0.0f);
    PageInfoList *list = page_info_list_new(info, page_db_hash(A));
    list = page_info_list_cons(list, other, page_db_hash(B));
    EXPECT(list != NULL && list->hash == page_db_hash(B) && list->next->page_info == info);
    page_info_list_delete(list);
}

static void streams(PageDB *db)
{
    PageDBLinkStream *links = NULL;
    HashInfoStream *by_info = NULL;
    HashIdxStream *by_index = NULL;
    uint64_t hash = 0;
    size_t index = 0;
    PageInfo *info = NULL;
    Link link;
    int n[3] = {0, 0, 0};
    EXPECT(page_db_link_stream_new(&links, db) == page_db_error_ok);
    for (int round = 0; round < 2; round++) {
        while (page_db_link_stream_next(links, &link) == stream_state_next) {
            EXPECT(link.from >= 0 && link.from < 3 && link.to >= 0 && link.to < 3);
            n[0]++;
        }
        EXPECT(page_db_link_stream_reset(links) != stream_state_error);
    }
    page_db_link_stream_delete(links);
    EXPECT(hashinfo_stream_new(&by_info, db) == page_db_error_ok);
    while (hashinfo_stream_next(by_info, &hash, &info) == stream_state_next) {
        EXPECT(page_db_hash(info->url) == hash);
        page_info_delete(info);
        n[1]++;
    }
    hashinfo_stream_delete(by_info);
    EXPECT(hashidx_stream_new(&by_index, db) == page_db_error_ok);
    while (hashidx_stream_next(by_index, &hash, &index) == stream_state_next) {
        uint64_t same = 99;
        EXPECT(page_db_get_idx(db, hash, &same) == page_db_error_ok && same == index);
        n[2]++;
    }
    hashidx_stream_delete(by_index);
    EXPECT(n[0] == 8 && n[1] == 3 && n[2] == 3);
}

static void dumps(PageDB *db)
{
    FILE *file = tmpfile();
    EXPECT(page_db_info_dump(db, file) == page_db_error_ok);
    long infos_end = ftell(file);
    EXPECT(page_db_links_dump(db, file) == page_db_error_ok);
    EXPECT(infos_end > 0 && ftell(file) > infos_end);
    (void)fclose(file);
}

static void scores(PageDB *db)
{
    MMapArray *array = NULL;
    uint64_t index = 99;
    EXPECT(page_db_get_idx(db, page_db_hash(C), &index) == page_db_error_ok && index < 3);
    EXPECT(page_db_get_scores(db, &array) == page_db_error_ok && array->n_elements >= 3);
    EXPECT(near(*(float *)mmap_array_idx(array, index), 0.5f));
    EXPECT(mmap_array_delete(array) == mmap_array_error_ok);
}

static void transactions(PageDB *db)
{
    TxnManager *manager = NULL;
    MDB_txn *txn = NULL;
    EXPECT(txn_manager_begin(db->txn_manager, 0, &txn) == txn_manager_error_ok);
    EXPECT(txn_manager_commit(db->txn_manager, txn) == txn_manager_error_ok);
    EXPECT(txn_manager_begin(db->txn_manager, MDB_RDONLY, &txn) == txn_manager_error_ok);
    EXPECT(txn_manager_abort(db->txn_manager, txn) == txn_manager_error_ok);
    EXPECT(txn_manager_expand(db->txn_manager) == txn_manager_error_ok);
    EXPECT(txn_manager_new(&manager, db->txn_manager->env) == txn_manager_error_ok);
    EXPECT(txn_manager_delete(manager) == txn_manager_error_ok);
}

static void computations(PageDB *db, const char *directory)
{
    PageRank *rank = NULL;
    Hits *hits = NULL;
    PageDBLinkStream *links = NULL;
    float old_score = 0;
    float score = 0;
    float sum = 0;
    EXPECT(page_db_link_stream_new(&links, db) == page_db_error_ok);
    EXPECT(page_rank_new(&rank, directory, 2) == page_rank_error_ok);
    EXPECT(page_rank_set_n_pages(rank, 3) == page_rank_error_ok && rank->n_pages == 3);
    page_rank_set_persist(rank, 0);
    EXPECT(page_rank_compute(rank, links, page_db_link_stream_next, page_db_link_stream_reset) ==
           page_rank_error_ok);
    for (size_t i = 0; i < 3; i++) {
        EXPECT(page_rank_get(rank, i, &old_score, &score) == page_rank_error_ok && score > 0.0f);
        sum += score;
    }
    EXPECT(near(sum, 1.0f));
    EXPECT(page_rank_delete(rank) == page_rank_error_ok);
    EXPECT(hits_new(&hits, directory, 2) == hits_error_ok);
    EXPECT(hits_set_n_pages(hits, 3) == hits_error_ok && hits->n_pages == 3);
    hits_set_persist(hits, 0);
    EXPECT(hits_compute(hits, links, page_db_link_stream_next, page_db_link_stream_reset) ==
           hits_error_ok);
    for (size_t i = 0; i < 3; i++) {
        EXPECT(hits_get_hub(hits, i, &old_score, &score) == hits_error_ok && score >= 0.0f);
        EXPECT(hits_get_authority(hits, i, &old_score, &score) == hits_error_ok && score >= 0.0f);
    }
    EXPECT(hits_delete(hits) == hits_error_ok);
    page_db_link_stream_delete(links);
}

/* By its own functions, and by the three that a scheduler is given. */
static void scorers(PageDB *db)
{
    PageRankScorer *rank = NULL;
    HitsScorer *hits = NULL;
    Scorer scorer;
    PageInfo *info = NULL;
    float old_score = 0;
    float score = -1;
    float same = -1;
    EXPECT(page_db_get_info(db, page_db_hash(C), &info) == page_db_error_ok);
    EXPECT(page_rank_scorer_new(&rank, db) == page_rank_scorer_error_ok);
    page_rank_scorer_set_persist(rank, 0);
    page_rank_scorer_set_use_content_scores(rank, 1);
    page_rank_scorer_set_damping(rank, 0.8f);
    page_rank_scorer_setup(rank, &scorer);
    EXPECT(page_rank_scorer_update(rank) == 0);
    EXPECT(page_rank_scorer_get(rank, 0, &old_score, &score) == 0 && score > 0.0f);
    EXPECT(scorer.get(scorer.state, 0, &old_score, &same) == 0 && near(same, score));
    EXPECT(page_rank_scorer_add(rank, info, &score) == 0 && score >= 0.0f);
    EXPECT(page_rank_scorer_delete(rank) == page_rank_scorer_error_ok);
    EXPECT(hits_scorer_new(&hits, db) == hits_scorer_error_ok);
    hits_scorer_set_persist(hits, 0);
    hits_scorer_set_use_content_scores(hits, 1);
    hits_scorer_setup(hits, &scorer);
    EXPECT(hits_scorer_update(hits) == 0);
    EXPECT(hits_scorer_get(hits, 0, &old_score, &score) == 0 && score >= 0.0f);
    EXPECT(scorer.get(scorer.state, 0, &old_score, &same) == 0 && near(same, score));
    EXPECT(hits_scorer_add(hits, info, &score) == 0 && score >= 0.0f);
    EXPECT(hits_scorer_delete(hits) == hits_scorer_error_ok);
    page_info_delete(info);
}

static void frequencies(PageDB *db)
{
    FreqScheduler *scheduler = NULL;
    PageRequest *request = NULL;
    MDB_cursor *cursor = NULL;
    MMapArray *freqs = NULL;
    PageFreq freq = {.hash = page_db_hash(B), .freq = 0.25f};
    CrawledPage *page = crawled_page_new(B);
    EXPECT(freq_scheduler_new(&scheduler, db, NULL) == freq_scheduler_error_ok);
    EXPECT(freq_scheduler_load_simple(scheduler, 0.5f, -1.0f) == freq_scheduler_error_ok);
    EXPECT(freq_scheduler_request(scheduler, 3, &request) == freq_scheduler_error_ok);
    EXPECT(request->n_urls == 3);
    page_request_delete(request);
    EXPECT(freq_scheduler_cursor_open(scheduler, &cursor) == freq_scheduler_error_ok);
    EXPECT(freq_scheduler_cursor_write(scheduler, cursor, page_db_hash(A), 2.0f) ==
           freq_scheduler_error_ok);
    freq_scheduler_cursor_abort(scheduler, cursor);
    EXPECT(freq_scheduler_cursor_open(scheduler, &cursor) == freq_scheduler_error_ok);
    EXPECT(freq_scheduler_cursor_write(scheduler, cursor, page_db_hash(A), 4.0f) ==
           freq_scheduler_error_ok);
    EXPECT(freq_scheduler_cursor_commit(scheduler, cursor) == freq_scheduler_error_ok);
    EXPECT(mmap_array_new(&freqs, NULL, 1, sizeof freq) == mmap_array_error_ok);
    EXPECT(mmap_array_set(freqs, 0, &freq) == mmap_array_error_ok);
    EXPECT(freq_scheduler_load_mmap(scheduler, freqs) == freq_scheduler_error_ok);
    EXPECT(mmap_array_delete(freqs) == mmap_array_error_ok);
    page->time = 300.0;
    EXPECT(freq_scheduler_add(scheduler, page) == freq_scheduler_error_ok);
    crawled_page_delete(page);
    freq_scheduler_delete(scheduler);
}

/* The page with the better link is first; what was requested is not handed out again. */
static void best_first(const char *directory)
{
    char path[512];
    PageDB *db = NULL;
    BFScheduler *scheduler = NULL;
    PageRequest *request = NULL;
    CrawledPage *page = crawled_page_new(A);
    (void)snprintf(path, sizeof path, "%s/best", directory);
    EXPECT(page_db_new(&db, path) == page_db_error_ok);
    EXPECT(bf_scheduler_new(&scheduler, db, path) == bf_scheduler_error_ok);
    EXPECT(bf_scheduler_set_max_domain_crawl_rate(scheduler, 10.0f, 100.0f) ==
           bf_scheduler_error_ok);
    bf_scheduler_set_persist(scheduler, 0);
    (void)crawled_page_add_link(page, B, 0.25f);
    (void)crawled_page_add_link(page, C, 0.75f);
    EXPECT(bf_scheduler_add(scheduler, page) == bf_scheduler_error_ok);
    crawled_page_delete(page);
    EXPECT(bf_scheduler_update_start(scheduler) == bf_scheduler_error_ok);
    EXPECT(bf_scheduler_update_stop(scheduler) == bf_scheduler_error_ok);
    EXPECT(bf_scheduler_request(scheduler, 1, &request) == bf_scheduler_error_ok);
    EXPECT(request->n_urls == 1 && strcmp(request->urls[0], C) == 0);
    page_request_delete(request);
    EXPECT(bf_scheduler_request(scheduler, 5, &request) == bf_scheduler_error_ok);
    EXPECT(request->n_urls == 1 && strcmp(request->urls[0], B) == 0);
    page_request_delete(request);
    bf_scheduler_delete(scheduler);
    page_db_set_persist(db, 0);
    EXPECT(page_db_delete(db) == page_db_error_ok);
}

static void database(const char *directory)
{
    char path[512];
    PageDB *db = NULL;
    uint64_t hash = page_db_hash(A);
    (void)snprintf(path, sizeof path, "%s/pages", directory);
    EXPECT(page_db_new(&db, path) == page_db_error_ok && strcmp(db->path, path) == 0);
    EXPECT(((uint64_t)page_db_hash_get_domain(hash) << 32 | page_db_hash_get_url(hash)) == hash);
    EXPECT(page_db_set_domain_temp(db, 10, 60.0f) == page_db_error_ok);
    add_page(db, A, 100.0, 1, B, C);
    add_page(db, A, 200.0, 2, B, C);
    add_page(db, B, 200.0, 1, C, NULL);
    add_page(db, C, 200.0, 1, A, NULL);
    EXPECT(near(page_db_get_domain_crawl_rate(db, page_db_hash_get_domain(page_db_hash(B))), 1.0f));
    infos(db);
    streams(db);
    dumps(db);
    scores(db);
    transactions(db);
    computations(db, path);
    scorers(db);
    frequencies(db);
    page_db_set_persist(db, 1);
    EXPECT(page_db_delete(db) == page_db_error_ok);
    /* What is persistent is there again. */
    EXPECT(page_db_new(&db, path) == page_db_error_ok);
    EXPECT(page_db_get_idx(db, hash, &hash) == page_db_error_ok && hash == 0);
    page_db_set_persist(db, 0);
    EXPECT(page_db_delete(db) == page_db_error_ok);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        return 2;
    }
    errors();
    crawled_pages();
    arrays(argv[1]);
    temperatures();
    database(argv[1]);
    best_first(argv[1]);
    (void)printf("%d wrong\n", n_wrong);
    return n_wrong;
}
