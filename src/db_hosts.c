/* ragno db: hosts, schedule. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db.h"
#include "exit_status.h"
#include "store/revisit_table.h"

/* A HOST argument is an origin, or the host of one ("example.org", "example.org:81"). */
static bool is_host(const char *origin, const char *host)
{
    const char *slashes = strstr(origin, "//");
    return strcmp(origin, host) == 0 || (slashes != NULL && strcmp(slashes + 2, host) == 0);
}

typedef struct HostCounts {
    uint64_t known;
    uint64_t crawled;
    uint64_t scheduled;
} HostCounts;

static int count_pages(DbView *view, HostCounts *counts, uint32_t n_hosts)
{
    uint64_t n_pages = page_db_n_pages(view->db, view->txn);
    PageRef page;
    int rc = page_db_error_ok;
    for (uint64_t i = 0; i < n_pages && rc == page_db_error_ok; i++) {
        rc = page_db_get(view->db, view->txn, i, &page, &view->url);
        if (rc == page_db_error_ok && page.host < n_hosts) {
            HostCounts *c = &counts[page.host];
            c->known++;
            c->crawled += page.n_crawls > 0;
            c->scheduled += page.level != PAGE_DB_NO_LEVEL;
        }
    }
    return rc;
}

int db_hosts(DbView *view, int argc, char **argv)
{
    if (argc > 2) {
        (void)fprintf(stderr, "usage: ragno db DIR hosts [HOST]\n");
        return EXIT_USAGE;
    }
    uint32_t n_hosts = page_db_n_hosts(view->db, view->txn);
    HostCounts *counts = calloc(n_hosts == 0 ? 1 : n_hosts, sizeof *counts);
    if (counts == NULL) {
        (void)fprintf(stderr, "ragno db: out of memory\n");
        return 1;
    }
    int rc = count_pages(view, counts, n_hosts);
    bool found = argc == 1;
    for (uint32_t host = 0; host < n_hosts && rc == page_db_error_ok; host++) {
        rc = page_db_host_origin(view->db, view->txn, host, &view->url);
        const char *origin = buffer_string(&view->url);
        if (rc == page_db_error_ok && (argc == 1 || is_host(origin, argv[1]))) {
            printf("%" PRIu32 "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", host,
                   *origin == '\0' ? "-" : origin, counts[host].known, counts[host].crawled,
                   counts[host].scheduled);
            found = true;
        }
    }
    free(counts);
    if (rc == page_db_error_ok && !found) {
        (void)fprintf(stderr, "ragno db: there is no host '%s'\n", argv[1]);
        return EXIT_NEGATIVE;
    }
    return db_finish(view, rc);
}

typedef struct Scheduled {
    uint64_t index;
    float score;
    uint8_t level;
} Scheduled;

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

/* The hosts that are wanted, by id; NULL = all. */
static int wanted_hosts(DbView *view, const char *host, bool **wanted)
{
    *wanted = NULL;
    if (host == NULL) {
        return page_db_error_ok;
    }
    uint32_t n_hosts = page_db_n_hosts(view->db, view->txn);
    *wanted = calloc(n_hosts == 0 ? 1 : n_hosts, sizeof **wanted);
    int rc = *wanted == NULL ? page_db_error_memory : page_db_error_ok;
    for (uint32_t i = 0; i < n_hosts && rc == page_db_error_ok; i++) {
        rc = page_db_host_origin(view->db, view->txn, i, &view->url);
        (*wanted)[i] = rc == page_db_error_ok && is_host(buffer_string(&view->url), host);
    }
    return rc;
}

static int collect(DbView *view, const bool *wanted, Scheduled **all, size_t *n)
{
    uint64_t n_pages = page_db_n_pages(view->db, view->txn);
    size_t capacity = 0;
    PageRef page;
    int rc = page_db_error_ok;
    for (uint64_t i = 0; i < n_pages && rc == page_db_error_ok; i++) {
        rc = page_db_get(view->db, view->txn, i, &page, &view->url);
        if (rc != page_db_error_ok || page.level == PAGE_DB_NO_LEVEL ||
            (wanted != NULL && !wanted[page.host])) {
            continue;
        }
        if (*n == capacity) {
            capacity = capacity == 0 ? 1024 : 2 * capacity;
            Scheduled *more = reallocarray(*all, capacity, sizeof *more);
            if (more == NULL) {
                return page_db_error_memory;
            }
            *all = more;
        }
        (*all)[(*n)++] = (Scheduled){.index = i, .score = page.score, .level = page.level};
    }
    return rc;
}

static int print_schedule(DbView *view, const char *host, uint64_t top)
{
    bool *wanted = NULL;
    Scheduled *all = NULL;
    size_t n = 0;
    int rc = wanted_hosts(view, host, &wanted);
    if (rc == page_db_error_ok) {
        rc = collect(view, wanted, &all, &n);
    }
    if (rc == page_db_error_ok && n > 0) {
        qsort(all, n, sizeof *all, compare_scheduled);
    }
    for (size_t i = 0; i < n && i < top && rc == page_db_error_ok; i++) {
        const char *url = db_url(view, all[i].index, &rc);
        if (url != NULL) {
            printf("%u\t%.9g\t%s\n", (unsigned)all[i].level, (double)all[i].score, url);
        }
    }
    free(all);
    free(wanted);
    return db_finish(view, rc);
}

/* What is to be visited again, in order of due time. */
static int print_due(DbView *view, const char *host, uint64_t top)
{
    bool *wanted = NULL;
    RevisitTable *table = NULL;
    RevisitDue due = {.freq = 0};
    Result found = revisit_table_open(&table, view->txn, false);
    int rc = wanted_hosts(view, host, &wanted);
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
    }
    free(wanted);
    revisit_table_close(table);
    if (found != RESULT_OK && found != RESULT_NOT_FOUND) {
        (void)fprintf(stderr, "ragno db: the revisit schedule is damaged\n");
        return EXIT_DIRECTORY;
    }
    return db_finish(view, rc);
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
                (void)fprintf(stderr, "ragno db: --top wants a number\n");
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
    return is_due ? print_due(view, host, top) : print_schedule(view, host, top);
}
