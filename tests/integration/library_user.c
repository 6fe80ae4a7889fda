/* A user of the documented C library, against what `make install` put in place: three pages go in,
 * a scheduler says what is next, PageRank and streams say what is known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ragno.h"

static int failed(const char *what, const Error *error)
{
    const char *words = error == NULL ? NULL : error_message(error);
    (void)fprintf(stderr, "%s: %s\n", what, words == NULL ? "failed" : words);
    return 1;
}

static int add(BFScheduler *scheduler, const char *url, const char *to1, const char *to2)
{
    CrawledPage *page = crawled_page_new(url);
    int rc = page == NULL || crawled_page_set_hash64(page, 42) != 0 ||
             crawled_page_add_link(page, to1, 0.25f) != 0 ||
             crawled_page_add_link(page, to2, 0.75f) != 0 ||
             bf_scheduler_add(scheduler, page) != bf_scheduler_error_ok;
    crawled_page_delete(page);
    return rc;
}

static int rank(PageDB *db)
{
    PageRankScorer *scorer = NULL;
    uint64_t index = 0;
    float old_score = 0;
    float score = 0;
    int rc = page_rank_scorer_new(&scorer, db) != page_rank_scorer_error_ok ||
             page_rank_scorer_update(scorer) != 0 ||
             page_db_get_idx(db, page_db_hash("http://a.example/"), &index) != 0 ||
             page_rank_scorer_get(scorer, index, &old_score, &score) != 0;
    (void)printf("rank %s\n", score > 0 && score < 1 ? "found" : "wrong");
    (void)page_rank_scorer_delete(scorer);
    return rc;
}

static int count_links(PageDB *db)
{
    PageDBLinkStream *stream = NULL;
    Link link;
    int n = 0;
    if (page_db_link_stream_new(&stream, db) != page_db_error_ok) {
        return 1;
    }
    stream->only_diff_domain = 0;
    while (page_db_link_stream_next(stream, &link) == stream_state_next) {
        n++;
    }
    page_db_link_stream_delete(stream);
    (void)printf("links %d\n", n);
    return 0;
}

int main(int argc, char **argv)
{
    PageDB *db = NULL;
    BFScheduler *scheduler = NULL;
    PageRequest *request = NULL;
    PageInfo *info = NULL;
    if (argc != 2 || page_db_new(&db, argv[1]) != page_db_error_ok) {
        return failed("page_db_new", db == NULL ? NULL : db->error);
    }
    if (bf_scheduler_new(&scheduler, db, argv[1]) != bf_scheduler_error_ok ||
        add(scheduler, "http://a.example/", "http://a.example/low", "http://b.example/high") != 0 ||
        add(scheduler, "http://a.example/x", "http://a.example/", "http://b.example/high") != 0 ||
        bf_scheduler_request(scheduler, 1, &request) != bf_scheduler_error_ok) {
        return failed("bf_scheduler", scheduler == NULL ? NULL : scheduler->error);
    }
    (void)printf("next %s\n", request->n_urls == 1 ? request->urls[0] : "nothing");
    if (rank(db) != 0 || count_links(db) != 0 ||
        page_db_get_info(db, page_db_hash("http://b.example/high"), &info) != page_db_error_ok) {
        return failed("page_db", db->error);
    }
    (void)printf("linked from %d, crawls %d\n",
                 info->linked_from == page_db_hash("http://a.example/"), (int)info->n_crawls);
    page_info_delete(info);
    page_request_delete(request);
    bf_scheduler_delete(scheduler);
    page_db_set_persist(db, 0);
    return page_db_delete(db) == page_db_error_ok ? 0 : 1;
}
