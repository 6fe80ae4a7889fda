#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pages/page_db_open.h"
#include "command/rank.h"
#include "store/pages/page_db.h"
#include "command/schedule_command.h"
#include "folder_fixture.h"
#include "unit.h"

#define OUTPUT_BYTES 4096

/* Runs a command (a NULL-terminated list) with standard output and error caught. */
static int run(int (*command)(int argc, char **argv), const char *const *words,
               char output[OUTPUT_BYTES])
{
    char *argv[16] = {NULL};
    int argc = 0;
    for (; words[argc] != NULL; argc++) {
        argv[argc] = strdup(words[argc]);
    }
    (void)fflush(stdout);
    (void)fflush(stderr);
    FILE *file = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    int out = dup(STDOUT_FILENO);
    int error = dup(STDERR_FILENO);
    (void)dup2(fileno(file), STDOUT_FILENO);
    (void)dup2(fileno(file), STDERR_FILENO);
    int status = command(argc, argv);
    (void)fflush(stdout);
    (void)fflush(stderr);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(error, STDERR_FILENO);
    (void)close(out);
    (void)close(error);
    rewind(file);
    size_t n = fread(output, 1, OUTPUT_BYTES - 1, file);
    output[n] = '\0';
    (void)fclose(file);
    for (int i = 0; i < argc; i++) {
        free(argv[i]);
    }
    return status;
}

static void crawl(PageDB *db, const char *url, double time, uint32_t content, const char *link,
                  float score)
{
    CrawledPage *page = crawled_page_new(url);
    page->time = time;
    page->score = score;
    (void)crawled_page_set_hash32(page, content);
    (void)crawled_page_add_link(page, link, 0.5f);
    (void)crawled_page_add_link(page, "http://best/", 0.5f);
    CU_ASSERT_EQUAL(page_db_add(db, page, NULL), page_db_error_ok);
    crawled_page_delete(page);
}

static void make_scored(char dir[64], float score)
{
    folder_make(dir);
    char path[80];
    (void)snprintf(path, sizeof path, "%s/crawl.mdb", dir);
    PageDB *db = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_new(&db, path), page_db_error_ok);
    crawl(db, "http://a/1", 1.0, 1, "http://a/2", score);
    crawl(db, "http://a/2", 1.0, 1, "http://a/1", score);
    crawl(db, "http://b/1", 1.0, 1, "http://b/2", score);
    crawl(db, "http://b/1", 11.0, 2, "http://b/2", score);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

static void make(char dir[64])
{
    make_scored(dir, 0.5f);
}

static void destroy(const char *dir)
{
    char path[80];
    (void)snprintf(path, sizeof path, "%s/crawl.mdb", dir);
    PageDB *db = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_new(&db, path), page_db_error_ok);
    page_db_set_persist(db, 0);
    (void)page_db_delete(db);
    (void)rmdir(path);
    CU_ASSERT_EQUAL(rmdir(dir), 0);
}

static void rank_prints_the_best_page_first(void)
{
    char dir[64];
    char output[OUTPUT_BYTES];
    make(dir);
    const char *pagerank[] = {"rank", dir, "pagerank", "--top", "1", NULL};
    CU_ASSERT_EQUAL(run(rank_main, pagerank, output), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "\thttp://best/\tnever crawled\n"));
    CU_ASSERT_PTR_NULL(strstr(output, "http://a/1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "5 pages, 6 links"));
    const char *hits[] = {"rank", dir, "hits", "--top=0", "--cross-host", "--content-scores", NULL};
    CU_ASSERT_EQUAL(run(rank_main, hits, output), 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(output, "1.000000e+00\t0.000000e+00\thttp://best/\tnever crawled\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "\thttp://b/2\tnever crawled\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "\thttp://b/1\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "3 links"));
    destroy(dir);
}

/* Links have scores, which are estimates, but no page that was crawled has one. */
static void missing_content_scores_are_told(void)
{
    char dir[64];
    char output[OUTPUT_BYTES];
    make_scored(dir, 0.0f);
    const char *const kinds[] = {"pagerank", "hits"};
    for (size_t i = 0; i < 2; i++) {
        const char *words[] = {"rank", dir, kinds[i], "--content-scores", NULL};
        CU_ASSERT_EQUAL(run(rank_main, words, output), 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(output, "no content scores"));
        CU_ASSERT_PTR_NOT_NULL(strstr(output, "score.rules"));
        CU_ASSERT_PTR_NULL(strstr(output, "http://"));
        const char *without[] = {"rank", dir, kinds[i], NULL};
        CU_ASSERT_EQUAL(run(rank_main, without, output), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(output, "\thttp://best/\tnever crawled\n"));
    }
    destroy(dir);
}

static void wrong_words_are_told(void)
{
    char output[OUTPUT_BYTES];
    const char *const words[][6] = {{"rank", NULL},
                                    {"rank", "/nonexistent", "pagerang", NULL},
                                    {"rank", "d", "pagerank", "--damping", "1.5", NULL},
                                    {"rank", "d", "pagerank", "--top", "x", NULL},
                                    {"rank", "d", "pagerank", "--topp", "1", NULL},
                                    {"rank", "d", "pagerank", "--precision", "", NULL}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        CU_ASSERT_EQUAL(run(rank_main, words[i], output), 2);
        bool is_near = strcmp(words[i][3] == NULL ? "" : words[i][3], "--topp") == 0;
        CU_ASSERT_PTR_NOT_NULL(
            strstr(output, is_near ? "did you mean '--top'" : "usage: ragno rank"));
    }
    const char *const missing[] = {"rank", "/nonexistent", "hits", NULL};
    CU_ASSERT_EQUAL(run(rank_main, missing, output), 3);
    const char *const help[] = {"rank", "--help", NULL};
    CU_ASSERT_EQUAL(run(rank_main, help, output), 0);
    CU_ASSERT_EQUAL(strncmp(output, "usage: ragno rank", 17), 0);
    const char *const schedule[][8] = {
        {"schedule", "d", NULL},
        {"schedule", "d", "freq", "--default", "1e300", NULL},
        {"schedule", "d", "freq", "--default", "1e-320d", NULL},
        {"schedule", "d", "freq", "--visits", "1e-50", NULL},
        {"schedule", "d", "freq", "--visits", "1", "--scale", "2", NULL},
        {"schedule", "d", "freq", "--print", "--default", "1d", NULL},
        {"schedule", "d", "freq", "--print", "--scale", "3", NULL},
        {"schedule", "d", "freq", "--top", "3", "--scale=2", NULL},
        {"schedule", "d", "freq", NULL},
        {"schedule", "d", "bf", "--default", "1", NULL},
        {"schedule", "d", "freq", "--default", "1y", NULL},
        {"schedule", "d", "freq", "--default", "-3", NULL},
        {"schedule", "d", "freq", "--scale", "x", NULL}};
    for (size_t i = 0; i < sizeof schedule / sizeof *schedule; i++) {
        CU_ASSERT_EQUAL(run(schedule_main, schedule[i], output), 2);
    }
}

static void schedules_are_built_and_printed(void)
{
    char dir[64];
    char output[OUTPUT_BYTES];
    make(dir);
    const char *simple[] = {"schedule", dir, "freq", "--default", "1d", "--scale", "2", NULL};
    CU_ASSERT_EQUAL(run(schedule_main, simple, output), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "3 pages are scheduled"));
    const char *print[] = {"schedule", dir, "freq", "--print", NULL};
    CU_ASSERT_EQUAL(run(schedule_main, print, output), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "\t1.157407e-05\thttp://a/1\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "\t4.000000e-01\thttp://b/1\n"));

    char path[80];
    (void)snprintf(path, sizeof path, "%s/rules", dir);
    FILE *rules = fopen(path, "w");
    (void)fputs("//a/ 4\n", rules);
    (void)fclose(rules);
    const char *ruled[] = {"schedule", dir, "freq", "--rules", path, NULL};
    CU_ASSERT_EQUAL(run(schedule_main, ruled, output), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "2 pages are scheduled"));
    const char *top[] = {"schedule", dir, "freq", "--print", "--top", "1", NULL};
    CU_ASSERT_EQUAL(run(schedule_main, top, output), 0);
    CU_ASSERT_STRING_EQUAL(output, "0.000\t2.500000e-01\thttp://a/1\n");
    rules = fopen(path, "w");
    (void)fputs("a 4\n(b 3\n", rules);
    (void)fclose(rules);
    CU_ASSERT_EQUAL(run(schedule_main, ruled, output), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "rules:2: "));
    (void)unlink(path);
    CU_ASSERT_EQUAL(run(schedule_main, ruled, output), 3);
    CU_ASSERT_PTR_NULL(strstr(output, "check"));
    destroy(dir);
}

UNIT_MAIN("rank", {"rank prints the best page first", rank_prints_the_best_page_first},
          {"missing content scores are told", missing_content_scores_are_told},
          {"wrong words are told", wrong_words_are_told},
          {"schedules are built and printed", schedules_are_built_and_printed})
