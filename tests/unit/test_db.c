/* ragno db: what its commands print, and how they end. */
#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "folder_fixture.h"
#include "unit.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/db/db.h"
#include "store/pages/page_db.h"
#include "store/schedule/schedule.h"

static char dir[FOLDER_BYTES];
static char output[8192];

static void make_crawl(void)
{
    folder_make(dir);
    char path[300];
    (void)snprintf(path, sizeof path, "%s/crawl.mdb", dir);
    PageDB *db = NULL;
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, NULL), page_db_error_ok);
    const char *const links[][2] = {{"http://a.com/", "http://a.com/1"},
                                    {"http://a.com/", "http://b.com:81/"},
                                    {"http://a.com/1", "http://b.com:81/x"}};
    for (size_t i = 0; i < 3; i++) {
        CrawledPage *cp = crawled_page_new(links[i][0]);
        cp->time = 1000;
        cp->score = 0.5F;
        CU_ASSERT_EQUAL(crawled_page_add_link(cp, links[i][1], 0.25F), 0);
        if (i == 0) {
            CU_ASSERT_EQUAL(crawled_page_add_link(cp, links[++i][1], 0.25F), 0);
        }
        CU_ASSERT_EQUAL(page_db_add(db, cp, NULL), page_db_error_ok);
        crawled_page_delete(cp);
    }
    MDB_txn *txn = NULL;
    CU_ASSERT_EQUAL(page_db_txn_begin(db, false, &txn), page_db_error_ok);
    Schedule *schedule = NULL;
    CU_ASSERT_EQUAL_FATAL(schedule_open(&schedule, txn, NULL, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(page_db_set_state(db, txn, 1, 0, 5, 0), page_db_error_ok); /* no entry */
    CU_ASSERT_EQUAL(page_db_set_state(db, txn, 2, 0, 4, 0), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_set_state(db, txn, 3, 0, 2, 0), page_db_error_ok);
    CU_ASSERT_EQUAL(schedule_put(schedule, txn, 1, 4, 2), RESULT_OK);
    CU_ASSERT_EQUAL(schedule_put(schedule, txn, 1, 2, 3), RESULT_OK);
    schedule_close(schedule);
    CU_ASSERT_EQUAL(page_db_txn_commit(db, txn), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
}

/* The crawl has a scorer, and this is what it computed: nothing for the last page. */
static void give_scores(const float *scores, size_t n)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/config.ini", dir);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fprintf(file, "[score]\nscorer = pagerank\n");
    (void)fclose(file);
    (void)snprintf(path, sizeof path, "%s/crawl.mdb/pr.bin", dir);
    file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(scores, sizeof *scores, n, file), n);
    (void)fclose(file);
}

static void remove_crawl(void)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/config.ini", dir);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/crawl.mdb/pr.bin", dir);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/crawl.mdb", dir);
    PageDB *db = NULL;
    CU_ASSERT_EQUAL(page_db_open(&db, path, NULL), page_db_error_ok);
    page_db_set_persist(db, 0);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_EQUAL(rmdir(dir), 0);
}

/* Runs `ragno db DIR words...`; its standard output is in output afterwards. */
static int run_db(const char *command, ...)
{
    char *argv[8] = {(char[]){"db"}, dir};
    int argc = 2;
    va_list words;
    va_start(words, command);
    for (const char *word = command; word != NULL && argc < 7; word = va_arg(words, const char *)) {
        argv[argc++] = strdup(word);
    }
    va_end(words);
    char *given[8];
    memcpy(given, argv, sizeof given); /* the command moves its words */
    (void)fflush(stdout);
    (void)fflush(stderr);
    FILE *file = tmpfile();
    int saved = dup(1), saved_error = dup(2), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)dup2(fileno(file), 1);
    (void)dup2(null, 2);
    int status = db_main(argc, argv);
    (void)fflush(stdout);
    (void)dup2(saved, 1);
    (void)dup2(saved_error, 2);
    (void)close(saved);
    (void)close(saved_error);
    (void)close(null);
    rewind(file);
    output[fread(output, 1, sizeof output - 1, file)] = '\0';
    (void)fclose(file);
    for (int i = 2; i < argc; i++) {
        free(given[i]);
    }
    return status;
}

static void pages_are_printed(void)
{
    make_crawl();
    char line[300];
    CU_ASSERT_EQUAL(run_db("get", "http://a.com/", NULL), 0);
    (void)snprintf(line, sizeof line,
                   "%016llx\t0\thttp://a.com/\t1000.000\t1000.000\t0\t1\t0\t0.5\n",
                   (unsigned long long)page_db_hash("http://a.com/"));
    CU_ASSERT_STRING_EQUAL(output, line);
    CU_ASSERT_EQUAL(run_db("get", "http://unknown.com/", NULL), 1);
    CU_ASSERT_STRING_EQUAL(output, "");
    CU_ASSERT_EQUAL(run_db("get", NULL), 2);
    CU_ASSERT_EQUAL(run_db("get", "http://a.com/", "http://a.com/1", NULL), 2);
    CU_ASSERT_EQUAL(run_db("get", "http://a.com/", "--tail", NULL), 2);
    CU_ASSERT_EQUAL(run_db("get", "http://a.com/", "--body", "--raw", NULL), 2);
    CU_ASSERT_EQUAL(run_db("get", "--body", "http://a.com/", NULL), 1); /* no WARC files */
    CU_ASSERT_STRING_EQUAL(output, "");
    CU_ASSERT_EQUAL(run_db("dump", NULL), 0);
    size_t lines = 0;
    for (const char *p = output; *p != '\0'; p++) {
        lines += *p == '\n';
    }
    CU_ASSERT_EQUAL(lines, 4);
    CU_ASSERT_EQUAL(run_db("find", "b\\.com.*/x$", NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "\thttp://b.com:81/x\t"));
    CU_ASSERT_PTR_NULL(strstr(output, "a.com"));
    CU_ASSERT_EQUAL(run_db("find", "(", NULL), 2);
    CU_ASSERT_EQUAL(run_db("path", "http://b.com:81/x", NULL), 0);
    CU_ASSERT_STRING_EQUAL(output, "http://a.com/\nhttp://a.com/1\nhttp://b.com:81/x\n");
    CU_ASSERT_EQUAL(run_db("info", NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "pages\t4\ncrawled\t2\nlinks\t3\nhosts\t2\n"));
    (void)snprintf(line, sizeof line, "format_version\t%u\n", PAGE_DB_FORMAT_VERSION);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, line));
    remove_crawl();
}

static void info_lists_every_table_there_is(void)
{
    make_crawl();
    char path[300];
    PageDB *db = NULL;
    MDB_txn *txn = NULL;
    MDB_dbi dbi = 0;
    (void)snprintf(path, sizeof path, "%s/crawl.mdb", dir);
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, path, NULL), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_begin(db, false, &txn), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(mdb_dbi_open(txn, "of_tomorrow", MDB_CREATE, &dbi), 0);
    CU_ASSERT_EQUAL_FATAL(page_db_txn_commit(db, txn), page_db_error_ok);
    CU_ASSERT_EQUAL(page_db_delete(db), page_db_error_ok);
    CU_ASSERT_EQUAL(run_db("info", NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "table.of_tomorrow\t0 entries\t0 bytes\n"));
    static const char *const names[] = {"hash2idx", "idx2info", "links",
                                        "origins",  "info",     "schedule"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "\ntable.%s\t", names[i]);
        CU_ASSERT_PTR_NOT_NULL(strstr(output, line));
    }
    remove_crawl();
}

static void links_are_printed(void)
{
    make_crawl();
    CU_ASSERT_EQUAL(run_db("links", "--ids", NULL), 0);
    CU_ASSERT_STRING_EQUAL(output, "0\t2\n0\t1\n1\t3\n");
    CU_ASSERT_EQUAL(run_db("links", "--from", "http://a.com/1", NULL), 0);
    CU_ASSERT_STRING_EQUAL(output, "http://a.com/1\thttp://b.com:81/x\n");
    CU_ASSERT_EQUAL(run_db("links", "--to=http://a.com/1", NULL), 0);
    CU_ASSERT_STRING_EQUAL(output, "http://a.com/\thttp://a.com/1\n");
    CU_ASSERT_EQUAL(run_db("links", "--to=http://c.com/", NULL), 1);
    CU_ASSERT_EQUAL(run_db("links", "--to=http://a.com/", "--from=http://a.com/", NULL), 2);
    CU_ASSERT_EQUAL(run_db("links", "--what", NULL), 2);
    remove_crawl();
}

static void hosts_and_schedule_are_printed(void)
{
    make_crawl();
    CU_ASSERT_EQUAL(run_db("hosts", NULL), 0);
    CU_ASSERT_STRING_EQUAL(output, "0\thttp://a.com\t2\t2\t0\t-\tready\n"
                                   "1\thttp://b.com:81\t2\t0\t2\t-\tready\n");
    CU_ASSERT_EQUAL(run_db("hosts", "b.com:81", NULL), 0);
    CU_ASSERT_STRING_EQUAL(output, "1\thttp://b.com:81\t2\t0\t2\t-\tready\n");
    CU_ASSERT_EQUAL(run_db("hosts", "c.com", NULL), 1);
    CU_ASSERT_EQUAL(run_db("schedule", NULL), 0);
    CU_ASSERT_STRING_EQUAL(output, "2\t0.25\thttp://b.com:81/x\n4\t0.25\thttp://b.com:81/\n");
    CU_ASSERT_EQUAL(run_db("schedule", "--top", "1", NULL), 0);
    CU_ASSERT_STRING_EQUAL(output, "2\t0.25\thttp://b.com:81/x\n");
    CU_ASSERT_EQUAL(run_db("schedule", "--host", "a.com", NULL), 0);
    CU_ASSERT_STRING_EQUAL(output, "");
    CU_ASSERT_EQUAL(run_db("schedule", "--top", "x", NULL), 2);
    CU_ASSERT_EQUAL(run_db("schedule", "--host", "nowhere.com", NULL), 1);
    CU_ASSERT_EQUAL(run_db("schedule", "--due", "--host", "nowhere.com", NULL), 1);
    CU_ASSERT_EQUAL(run_db("schedule", "--due", NULL), 0);
    CU_ASSERT_STRING_EQUAL(output, "");
    const float scores[] = {0.5f, 0.25f, 0.125f};
    give_scores(scores, 3);
    CU_ASSERT_EQUAL(run_db("schedule", NULL), 0);
    CU_ASSERT_STRING_EQUAL(output, "2\t-\thttp://b.com:81/x\n4\t0.125\thttp://b.com:81/\n");
    remove_crawl();
}

static void wrong_calls_are_told(void)
{
    folder_name(dir, "none");
    CU_ASSERT_EQUAL(run_db("info", NULL), 3);
    CU_ASSERT_EQUAL(run_db("infos", NULL), 2);
    CU_ASSERT_EQUAL(run_db(NULL), 2);
    CU_ASSERT_EQUAL(run_db("--help", NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(output, "schedule"));
}

UNIT_MAIN("db", {"pages are printed", pages_are_printed},
          {"info lists every table there is", info_lists_every_table_there_is},
          {"links are printed", links_are_printed},
          {"hosts and schedule are printed", hosts_and_schedule_are_printed},
          {"wrong calls are told", wrong_calls_are_told})
