/* ragno db: hosts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/db/db_commands.h"

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
        }
    }
    return rc;
}

/* The schedule knows; a page's record does not when its host was given up. */
static int count_scheduled(DbView *view, HostCounts *counts, uint32_t n_hosts)
{
    Schedule *schedule = NULL;
    Result rc = db_open_schedule(view, &schedule);
    for (uint32_t i = 0; schedule != NULL && rc == RESULT_OK && i < n_hosts; i++) {
        rc = schedule_host_count(schedule, view->txn, i, &counts[i].scheduled);
    }
    schedule_close(schedule);
    return rc == RESULT_OK ? page_db_error_ok : page_db_error_damaged;
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
    if (rc == page_db_error_ok) {
        rc = count_scheduled(view, counts, n_hosts);
    }
    bool found = argc == 1;
    for (uint32_t host = 0; host < n_hosts && rc == page_db_error_ok; host++) {
        rc = page_db_host_origin(view->db, view->txn, host, &view->url);
        const char *origin = buffer_string(&view->url);
        if (rc == page_db_error_ok && (argc == 1 || db_is_host(origin, argv[1]))) {
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
