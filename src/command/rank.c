#include "command/rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/embed.h"
#include "cluster/mass/mass.h"
#include "cluster/message/membership.h"
#include "crawl/command_line.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "crawl/short_read.h"
#include "store/rank/hits.h"

/* Rank agents: `ragno rank` in the directory of one of several agents (cluster/mass/mass.h).
 *
 * What: PageRank is then that of the whole crawl, for the pages of this agent, as of what it last
 * heard of the others.
 * Owns: the mass.
 * Threads: main. */

typedef struct RankAgents {
    Mass *mass; /* NULL: one agent alone */
    uint16_t self;
    uint32_t agents;
    MMapArray *weights;
} RankAgents;

/* RESULT_DAMAGED, RESULT_IO, RESULT_MEMORY. To be closed in any case. */
static Result rank_agents_open(RankAgents *agents, const char *directory, PageDB *db)
{
    ClusterTable table = {.epoch = 0};
    *agents = (RankAgents){.mass = NULL};
    Result rc = node_place_of(db, &agents->self, &table);
    agents->agents = table.n_agents;
    if (rc == RESULT_OK) {
        rc = mass_new(&agents->mass, directory, db, agents->self, &table);
    }
    cluster_table_destroy(&table);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* What the pages jump with; scores: content, or NULL. Alone it is these. RESULT_MEMORY, RESULT_IO.
 */
static Result rank_agents_weigh(RankAgents *agents, const PageRank *pr, size_t n, MMapArray *scores,
                                MMapArray **weights)
{
    *weights = scores;
    if (agents->mass == NULL || n == 0) {
        return RESULT_OK;
    }
    PageRankOutside outside = mass_outside(agents->mass);
    Result rc = outside.weigh(outside.context, pr->damping, scores, n, NULL, &agents->weights);
    *weights = agents->weights;
    return rc;
}

/* After the computation: a score times *factor is the share of all values of the crawl. */
static void rank_agents_finish(RankAgents *agents, const PageRank *pr, double *factor)
{
    *factor = 1.0;
    if (agents->mass != NULL && pr->jumping > 0.0) {
        double whole = (double)pr->total_score / pr->jumping;
        mass_close_books(agents->mass, pr, whole);
        double total = mass_total(agents->mass);
        *factor = total > 0.0 ? whole / total : 1.0;
    }
}

/* Says on standard error whose pages these are, and what was heard from whom, and when. */
static void rank_agents_tell(const RankAgents *agents)
{
    size_t n = 0;
    const MassPeer *peers = agents->mass == NULL ? NULL : mass_peers(agents->mass, &n);
    if (agents->mass != NULL) {
        (void)fprintf(stderr,
                      "pages of agent %u of %u; scores are shares of the whole crawl, with what "
                      "flows in from the others:\n",
                      (unsigned)agents->self, agents->agents);
    }
    for (size_t i = 0; i < n; i++) {
        char text[CLOCK_TEXT_BYTES];
        WallTime time = {.us = (int64_t)peers[i].head.time_s * 1000000};
        if (peers[i].heard) {
            (void)fprintf(stderr, "  agent %u, as of %s: into %llu pages of %llu\n",
                          (unsigned)peers[i].agent, wall_format_iso(time, text),
                          (unsigned long long)peers[i].placed,
                          (unsigned long long)peers[i].head.records);
        } else {
            (void)fprintf(stderr, "  agent %u: nothing was heard\n", (unsigned)peers[i].agent);
        }
    }
}

/* ---- `ragno rank DIR pagerank|hits` ---- */

#define DEFAULT_TOP 20u

typedef struct RankCommand {
    const char *directory;
    bool is_hits;
    uint64_t top; /* 0: all */
    double damping;
    double precision;
    bool is_cross_host;
    bool has_content_scores;
} RankCommand;

/* What is printed of a page. */
typedef struct RankedPage {
    float score;
    float hub;
    uint64_t index;
} RankedPage;

EMBED(rank_usage, "src/command/rank.txt");

/* 0, an exit status, or COMMAND_HELPED. */
static int rank_parse(RankCommand *command, int argc, char **argv)
{
    const CommandOption options[] = {
        {"top", 0, COMMAND_NUMBER, .to = &command->top, .most = 1e15},
        {"damping", 0, COMMAND_REAL, .to = &command->damping, .most = 1},
        {"precision", 0, COMMAND_REAL, .to = &command->precision, .most = 1},
        {"cross-host", 0, COMMAND_FLAG, .to = &command->is_cross_host},
        {"content-scores", 0, COMMAND_FLAG, .to = &command->has_content_scores}};
    CommandLine line = {"rank", rank_usage, COMMAND_ROWS(options), .words_least = 2,
                        .words_most = 2};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status;
    }
    command->directory = line.words[0];
    command->is_hits = strcmp(line.words[1], "hits") == 0;
    if (!command->is_hits && strcmp(line.words[1], "pagerank") != 0) {
        return command_line_complain(&line, "expected pagerank or hits, not", line.words[1]);
    }
    return 0;
}

static int by_score(const void *a, const void *b)
{
    const RankedPage *x = a;
    const RankedPage *y = b;
    if (x->score != y->score) {
        return x->score > y->score ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

/* Sorts the pages and prints the first ones. */
static int rank_print_pages(const RankCommand *command, PageDB *db, RankedPage *pages, size_t n)
{
    qsort(pages, n, sizeof *pages, by_score);
    n = command->top != 0 && command->top < n ? command->top : n;
    ShortRead read;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    int rc = short_read_begin(&read, db, stdout);
    for (size_t i = 0; rc == page_db_error_ok && i < n; i++) {
        PageRef page;
        rc = page_db_get(db, read.txn, pages[i].index, &page, &url);
        if (rc != page_db_error_ok) {
            (void)fprintf(stderr, "ragno rank: the pages cannot be read\n");
            rc = page_db_error_damaged;
        } else {
            (void)printf("%.6e\t", (double)pages[i].score);
            if (command->is_hits) {
                (void)printf("%.6e\t", (double)pages[i].hub);
            }
            (void)printf("%s%s\n", buffer_string(&url), page.n_crawls > 0 ? "" : "\tnever crawled");
        }
        rc = short_read_turn(&read, rc);
    }
    buffer_destroy(&url);
    return short_read_end(&read, rc, "rank");
}

static void rank_report(const LinkGraph *graph, size_t loops, double delta, double relative,
                        bool is_reached)
{
    (void)fprintf(stderr,
                  "%u pages, %llu links, %zu loops, largest change %.2e (relative %.2e)%s\n",
                  graph->n_pages, (unsigned long long)graph->n_links, loops, delta, relative,
                  is_reached ? "" : ": the precision was not reached");
}

static size_t rank_collect(const PageRank *pr, const RankAgents *agents, double factor, size_t n,
                           RankedPage *pages)
{
    size_t listed = 0;
    for (size_t i = 0; i < n; i++) {
        float old = 0.0f;
        float score = 0.0f;
        (void)page_rank_get(pr, i, &old, &score);
        if (agents->mass == NULL || mass_is_own(agents->mass, i)) {
            pages[listed++] = (RankedPage){.index = i, .score = (float)((double)score * factor)};
        }
    }
    return listed;
}

/* The exit status of a computation; why: what PageRank or HITS say of it. */
static int rank_status(bool is_done, bool is_reached, const Error *why)
{
    if (!is_done) {
        const char *words = why == NULL ? NULL : error_message(why);
        (void)fprintf(stderr, "ragno rank: %s\n", words == NULL ? "out of memory" : words);
        return EXIT_IO;
    }
    return is_reached ? 0 : EXIT_NEGATIVE;
}

/* *n: pages; those that are listed. */
static int rank_pages(const RankCommand *command, const ScoreInput *input, RankAgents *agents,
                      RankedPage *pages, size_t *n)
{
    PageRank *pr = NULL;
    PageRankError code = page_rank_new(&pr, NULL, input->graph->n_pages);
    if (code == page_rank_error_ok) {
        pr->damping = (float)command->damping;
        pr->precision = (float)command->precision;
        pr->max_loops = 1000;
        Result rc = rank_agents_weigh(agents, pr, *n, input->scores, &pr->scores);
        code =
            rc == RESULT_OK ? page_rank_compute_graph(pr, input->graph) : page_rank_error_internal;
    }
    bool is_done = code == page_rank_error_ok || code == page_rank_error_precision;
    if (is_done) {
        double factor = 1.0;
        rank_agents_finish(agents, pr, &factor);
        *n = rank_collect(pr, agents, factor, *n, pages);
        rank_agents_tell(agents);
        rank_report(input->graph, pr->loops, pr->delta, pr->relative_delta,
                    code == page_rank_error_ok);
    }
    int status = rank_status(is_done, code == page_rank_error_ok, pr == NULL ? NULL : pr->error);
    (void)page_rank_delete(pr);
    return status;
}

static int rank_hubs(const RankCommand *command, const ScoreInput *input, RankedPage *pages)
{
    Hits *hits = NULL;
    HitsError code = hits_new(&hits, NULL, input->graph->n_pages);
    if (code == hits_error_ok) {
        hits->precision = (float)command->precision;
        hits->max_loops = 1000;
        hits->scores = input->scores;
        code = hits_compute_graph(hits, input->graph);
    }
    bool is_done = code == hits_error_ok || code == hits_error_precision;
    if (is_done) {
        for (size_t i = 0; i < input->graph->n_pages; i++) {
            float old = 0.0f;
            pages[i].index = i;
            (void)hits_get_authority(hits, i, &old, &pages[i].score);
            (void)hits_get_hub(hits, i, &old, &pages[i].hub);
        }
        rank_report(input->graph, hits->loops, hits->delta, hits->relative_delta,
                    code == hits_error_ok);
    }
    int status = rank_status(is_done, code == hits_error_ok, hits == NULL ? NULL : hits->error);
    (void)hits_delete(hits);
    return status;
}

/* Whether there are content scores. A page that was never crawled has the score of a link, which is
 * an estimate and does not count. An exit status; 0: there are, or they are not asked for. */
static int look_for_scores(const RankCommand *command, PageDB *db)
{
    if (!command->has_content_scores) {
        return 0;
    }
    ShortRead read;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    bool is_found = false;
    int rc = short_read_begin(&read, db, NULL);
    uint64_t n = rc == page_db_error_ok ? page_db_n_pages(db, read.txn) : 0;
    for (uint64_t i = 0; rc == page_db_error_ok && !is_found && i < n; i++) {
        PageRef page;
        rc = page_db_get(db, read.txn, i, &page, &url);
        is_found = rc == page_db_error_ok && page.n_crawls > 0 && page.score != 0.0f;
        rc = short_read_turn(&read, rc);
    }
    buffer_destroy(&url);
    int status = short_read_end(&read, rc, "rank");
    if (rc == page_db_error_ok && status == 0 && !is_found) {
        (void)fprintf(stderr,
                      "ragno rank: there are no content scores: no page that was crawled has one. "
                      "score.rules makes them while a crawl runs; without --content-scores the "
                      "links alone count\n");
        return EXIT_NEGATIVE;
    }
    if (rc != page_db_error_ok && rc != SHORT_READ_OVER) {
        (void)fprintf(stderr, "ragno rank: the pages cannot be read\n");
    }
    return rc == SHORT_READ_OVER && status == 0 ? EXIT_NEGATIVE : status;
}

static int rank_run(const RankCommand *command, PageDB *db)
{
    int missing = look_for_scores(command, db);
    if (missing != 0) {
        return missing;
    }
    ScoreInput input = {0};
    int code =
        score_input_read(&input, db, command->has_content_scores, command->is_cross_host, NULL);
    if (code != 0) {
        const char *words = error_message(db->error);
        (void)fprintf(stderr, "ragno rank: the links cannot be read: %s\n",
                      words == NULL ? "no reason is known" : words);
        score_input_free(&input);
        return EXIT_IO;
    }
    RankAgents agents;
    size_t n = input.graph->n_pages;
    Result placed = rank_agents_open(&agents, command->directory, db);
    RankedPage *pages = calloc(n + 1, sizeof *pages);
    int status = EXIT_IO;
    if (pages == NULL || placed != RESULT_OK) {
        (void)fprintf(stderr, "ragno rank: %s\n",
                      pages == NULL ? "out of memory" : result_name(placed));
    } else {
        status = command->is_hits ? rank_hubs(command, &input, pages)
                                  : rank_pages(command, &input, &agents, pages, &n);
    }
    score_input_free(&input);
    if (status == 0 || status == EXIT_NEGATIVE) {
        int printed = rank_print_pages(command, db, pages, n);
        status = printed != 0 ? printed : status;
    }
    (void)mmap_array_delete(agents.weights);
    mass_delete(agents.mass);
    free(pages);
    return status;
}

int rank_main(int argc, char **argv)
{
    RankCommand command = {.top = DEFAULT_TOP,
                           .damping = (double)PAGE_RANK_DEFAULT_DAMPING,
                           .precision = (double)PAGE_RANK_DEFAULT_PRECISION};
    int status = rank_parse(&command, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    PageDB *db = NULL;
    status = crawl_open("rank", command.directory, true, &db);
    if (status != 0) {
        return status;
    }
    status = rank_run(&command, db);
    (void)page_db_delete(db);
    return status;
}
