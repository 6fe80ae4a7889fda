/* ragno db: schedule, and with --due the next visits of a continuous crawl.
 *
 * What is printed is what the crawl goes by. The level is that of the entry. The score is that of
 * the last computation, as `ragno rank` prints it, when the crawl has a scorer that computes (it is
 * read from the scorer's file, so it may be a little ahead of the levels while a computation is
 * being applied); "-" when the page is younger and stands where its estimate put it; and without
 * such a scorer the score of the link. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rules/config.h"
#include "command/db/db_commands.h"
#include "ingest/batch/ingest_batch.h"
#include "ingest/chore/scoring.h"
#include "store/tables/revisit_table.h"
#include "store/schedule/schedule.h"
#include "store/pages/page_db_read.h"
#include "store/schedule/schedule_read.h"

#define SCAN_AT_ONCE 4096u

/* The scores of a crawl's scorer. */
typedef struct ScoreFile {
    bool is_used; /* the crawl has such a scorer */
    const float *scores;
    size_t n;
    size_t bytes;
} ScoreFile;

typedef struct Scheduled {
    uint64_t index;
    float score; /* negative: there is none */
    uint32_t level;
} Scheduled;

/* The scorer that the crawl was last started with. */
static ScoringKind db_schedule_kind_of(const DbView *view)
{
    Config config;
    Buffer path;
    Buffer error;
    ScoringKind kind = SCORING_NONE;
    buffer_init(&path, BUFFER_NO_LIMIT);
    buffer_init(&error, BUFFER_NO_LIMIT);
    if (config_init(&config) == RESULT_OK) {
        if (buffer_printf(&path, "%s/../config.ini", view->db->path) == RESULT_OK &&
            options_load(&config.options, buffer_string(&path), &error) == RESULT_OK &&
            config.schedule_order == ORDER_BEST_FIRST) {
            kind = scoring_kind_of((ScorerWord)config.score_scorer);
        }
        config_destroy(&config);
    }
    buffer_destroy(&path);
    buffer_destroy(&error);
    return kind;
}

/* A file that is missing or short has no scores yet. */
static void open_scores(const DbView *view, ScoreFile *file)
{
    ScoringKind kind = db_schedule_kind_of(view);
    Buffer path;
    *file = (ScoreFile){.is_used = kind == SCORING_PAGERANK || kind == SCORING_HITS};
    if (!file->is_used) {
        return;
    }
    buffer_init(&path, BUFFER_NO_LIMIT);
    (void)buffer_printf(&path, "%s/%s", view->db->path,
                        kind == SCORING_PAGERANK ? "pr.bin" : "hits_a2.bin");
    int fd = open(buffer_string(&path), O_RDONLY | O_CLOEXEC);
    struct stat st = {.st_size = 0};
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        void *memory = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (memory != MAP_FAILED) {
            file->scores = memory;
            file->bytes = (size_t)st.st_size;
            file->n = file->bytes / sizeof *file->scores;
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    buffer_destroy(&path);
}

static void close_scores(ScoreFile *file)
{
    if (file->scores != NULL) {
        (void)munmap((void *)(uintptr_t)file->scores, file->bytes);
    }
}

static int compare_scheduled(const void *a, const void *b)
{
    const Scheduled *x = a;
    const Scheduled *y = b;
    if (x->level != y->level) {
        return x->level < y->level ? -1 : 1;
    }
    if (x->score != y->score) {
        return x->score > y->score ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

/* The hosts that are wanted, by id; NULL = all. *found: there are any. */
static int wanted_hosts(DbView *view, const char *host, bool **wanted, bool *found)
{
    *wanted = NULL;
    *found = host == NULL;
    if (host == NULL) {
        return page_db_error_ok;
    }
    uint32_t n_hosts = page_db_n_hosts(view->db, view->txn);
    *wanted = calloc(n_hosts == 0 ? 1 : n_hosts, sizeof **wanted);
    int rc = *wanted == NULL ? page_db_error_memory : page_db_error_ok;
    for (uint32_t i = 0; i < n_hosts && rc == page_db_error_ok; i++) {
        rc = page_db_host_origin(view->db, view->txn, i, &view->url);
        (*wanted)[i] = rc == page_db_error_ok && db_is_host(buffer_string(&view->url), host);
        *found = *found || (*wanted)[i];
        rc = rc == page_db_error_ok ? db_turn(view) : rc;
    }
    return rc;
}

static int db_schedule_score_of(DbView *view, const ScoreFile *file, uint64_t index, float *score)
{
    if (!file->is_used) {
        PageRef page;
        int rc = page_db_get(view->db, view->txn, index, &page, &view->url);
        *score = rc == page_db_error_ok && page.score > 0.0f ? page.score : 0.0f;
        return rc;
    }
    float found = index < file->n ? file->scores[index] : 0.0f;
    *score = found > 0.0f ? found : -1.0f;
    return page_db_error_ok;
}

typedef struct Collection {
    Scheduled *items;
    size_t n;
    size_t capacity;
} Collection;

static int db_schedule_add(Collection *all, const Scheduled *item)
{
    if (all->n == all->capacity) {
        size_t capacity = all->capacity == 0 ? 1024 : 2 * all->capacity;
        Scheduled *more = reallocarray(all->items, capacity, sizeof *more);
        if (more == NULL) {
            return page_db_error_memory;
        }
        all->items = more;
        all->capacity = capacity;
    }
    all->items[all->n++] = *item;
    return page_db_error_ok;
}

static int db_schedule_collect(DbView *view, const bool *wanted, const ScoreFile *scores,
                               Collection *all)
{
    Schedule *schedule = NULL;
    ScheduleEntry *entries = malloc(SCAN_AT_ONCE * sizeof *entries);
    ScheduleScan scan = {.started = false};
    size_t n = SCAN_AT_ONCE;
    bool parked = false; /* the host of the entry: nothing of it comes next */
    int rc = entries == NULL                                  ? page_db_error_memory
             : db_open_schedule(view, &schedule) != RESULT_OK ? page_db_error_damaged
                                                              : page_db_error_ok;
    while (rc == page_db_error_ok && schedule != NULL && n == SCAN_AT_ONCE) {
        if (schedule_scan(schedule, view->txn, &scan, entries, SCAN_AT_ONCE, &n) != RESULT_OK) {
            rc = page_db_error_damaged;
        }
        for (size_t i = 0; rc == page_db_error_ok && i < n; i++) {
            Scheduled item = {.index = entries[i].index, .level = entries[i].level};
            if (i == 0 || entries[i].host != entries[i - 1].host) {
                rc = schedule_is_parked(schedule, view->txn, entries[i].host, &parked) == RESULT_OK
                         ? page_db_error_ok
                         : page_db_error_damaged;
            }
            if (rc == page_db_error_ok && !parked && (wanted == NULL || wanted[entries[i].host])) {
                rc = db_schedule_score_of(view, scores, item.index, &item.score);
                rc = rc == page_db_error_ok ? db_schedule_add(all, &item) : rc;
            }
        }
        rc = rc == page_db_error_ok ? db_turn(view) : rc;
    }
    schedule_close(schedule);
    free(entries);
    return rc;
}

static int print_schedule(DbView *view, const bool *wanted, uint64_t top)
{
    Collection all = {.items = NULL};
    ScoreFile scores;
    open_scores(view, &scores);
    int rc = db_schedule_collect(view, wanted, &scores, &all);
    if (rc == page_db_error_ok && all.n > 0) {
        qsort(all.items, all.n, sizeof *all.items, compare_scheduled);
    }
    for (size_t i = 0; i < all.n && i < top && rc == page_db_error_ok; i++) {
        const Scheduled *item = &all.items[i];
        rc = db_turn(view);
        const char *url = rc == page_db_error_ok ? db_url(view, item->index, &rc) : NULL;
        if (url != NULL && item->score < 0.0f) {
            printf("%u\t-\t%s\n", (unsigned)item->level, url);
        } else if (url != NULL) {
            printf("%u\t%.9g\t%s\n", (unsigned)item->level, (double)item->score, url);
        }
    }
    close_scores(&scores);
    free(all.items);
    return db_finish(view, rc);
}

/* What is to be visited again, in order of due time. */
static int print_due(DbView *view, const bool *wanted, uint64_t top)
{
    RevisitTable *table = NULL;
    RevisitDue due = {.freq = 0};
    Result found = revisit_table_open(&table, view->txn, false);
    int rc = page_db_error_ok;
    while (found == RESULT_OK && rc == page_db_error_ok && top > 0) {
        PageRef page;
        char time[CLOCK_TEXT_BYTES];
        found = revisit_table_next(table, view->txn, &due);
        if (found == RESULT_OK) {
            rc = page_db_get(view->db, view->txn, due.index, &page, &view->url);
        }
        if (found == RESULT_OK && rc == page_db_error_ok && (wanted == NULL || wanted[page.host])) {
            WallTime wall = {(int64_t)(due.time_s * 1e6)};
            printf("%s\t%.3f\t%s\n",
                   due.time_s < REVISIT_VIRTUAL_MAX ? "-" : wall_format_iso(wall, time),
                   1 / (double)due.freq, buffer_string(&view->url));
            top--;
        }
        rc = rc == page_db_error_ok ? db_turn(view) : rc;
    }
    revisit_table_close(table);
    if (found != RESULT_OK && found != RESULT_NOT_FOUND) {
        (void)fprintf(stderr, "ragno db: the revisit schedule is damaged\n");
        return EXIT_DIRECTORY;
    }
    return db_finish(view, rc);
}

static int db_schedule_print_hosts(DbView *view, const char *host, bool is_due, uint64_t top)
{
    bool *wanted = NULL;
    bool found = false;
    int rc = wanted_hosts(view, host, &wanted, &found);
    int status = EXIT_NEGATIVE;
    if (rc != page_db_error_ok) {
        status = db_finish(view, rc);
    } else if (!found) {
        (void)fprintf(stderr, "ragno db: there is no host '%s'\n", host);
    } else {
        status = is_due ? print_due(view, wanted, top) : print_schedule(view, wanted, top);
    }
    free(wanted);
    return status;
}

int db_schedule(DbView *view, int argc, char **argv)
{
    static const struct option options[] = {
        {"top", required_argument, NULL, 't'},
        {"host", required_argument, NULL, 'h'},
        {"due", no_argument, NULL, 'd'},
        {NULL, 0, NULL, 0},
    };
    const char *host = NULL;
    uint64_t top = UINT64_MAX;
    bool is_due = false;
    optind = 1;
    for (int c = 0; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        char *end = NULL;
        switch (c) {
        case 't':
            errno = 0;
            top = strtoull(optarg, &end, 10);
            if (errno != 0 || end == optarg || *end != '\0' || *optarg == '-') {
                (void)fprintf(stderr, "ragno db: --top: expected a number\n");
                return EXIT_USAGE;
            }
            break;
        case 'h':
            host = optarg;
            break;
        case 'd':
            is_due = true;
            break;
        default:
            return EXIT_USAGE;
        }
    }
    if (optind != argc) {
        (void)fprintf(stderr, "usage: ragno db DIR schedule [--due] [--top N] [--host HOST]\n");
        return EXIT_USAGE;
    }
    return db_schedule_print_hosts(view, host, is_due, top);
}
