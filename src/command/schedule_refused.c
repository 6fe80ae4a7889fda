#include "command/schedule_refused.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "crawl/input_file.h"
#include "crawl/crawl_open.h"
#include "crawl/crawl_store.h"
#include "crawl/exit_status.h"
#include "fetch/transfer/fetch_result.h"
#include "parse/filter/filter.h"
#include "parse/url/url.h"
#include "store/tables/host_table.h"
#include "store/pages/page_db.h"
#include "store/schedule/schedule.h"

#define PAGES_PER_TXN 20000u

typedef struct Refused {
    PageDB *db;
    Filter *filter; /* NULL: all */
    FilterScratch *scratch;
    Url url;
    Buffer text;
    uint64_t n_scheduled;
} Refused;

static int usage(FILE *out)
{
    (void)fprintf(out,
                  "usage: ragno schedule DIR refused [--only FILTER]\n"
                  "Schedules what was refused: too deep, of a parked pattern, behind too many\n"
                  "redirects, of a host that was full or given up.\n"
                  "  --only FILTER   of these only what it lets through; it knows URL and "
                  "depth\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static Result read_file(void *context, const char *path, Buffer *out)
{
    (void)context;
    return input_file_read(path, out) == 0 ? RESULT_OK : RESULT_IO;
}

static int compile(Refused *refused, const char *expression)
{
    FilterOptions options = {.available = FILTER_HAS_DEPTH, .read_file = read_file};
    FilterError error;
    Result rc = filter_compile(&refused->filter, expression, strlen(expression), &options, &error);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno schedule: --only: column %zu: %s%s%s\n", error.column,
                      error.message, error.hint[0] != '\0' ? "; " : "", error.hint);
        return EXIT_USAGE;
    }
    return filter_scratch_new(&refused->scratch) == RESULT_OK ? 0 : EXIT_INTERNAL;
}

static bool is_wanted(Refused *refused, const PageRef *page)
{
    bool refused_when_found = page->status == 0;
    bool refused_in_its_turn = page->status == STATUS_TRAP;
    if (page->level != PAGE_DB_NO_LEVEL || page->n_crawls > 0 ||
        (!refused_when_found && !refused_in_its_turn)) {
        return false;
    }
    if (refused->filter == NULL) {
        return true;
    }
    FilterInput input = {.url = &refused->url,
                         .has_depth = true,
                         .depth = page->depth > UINT32_MAX ? UINT32_MAX : (uint32_t)page->depth};
    return url_parse(&refused->url, NULL, page->url, page->url_length) == RESULT_OK &&
           filter_matches(refused->filter, &input, refused->scratch);
}

/* Page, schedule and the host's count of URLs together. */
static Result put_back(Refused *refused, MDB_txn *txn, Schedule *schedule, HostTable *hosts,
                       const PageRef *page)
{
    unsigned level = schedule_level(schedule, page->score);
    HostRecord record;
    if (page_db_set_state(refused->db, txn, page->index, 0, (uint8_t)level, 0) !=
        page_db_error_ok) {
        return RESULT_FULL;
    }
    Result rc = schedule_put(schedule, txn, page->host, level, page->index);
    rc = rc == RESULT_OK ? host_table_get(hosts, txn, page->host, &record) : rc;
    if (rc == RESULT_OK) {
        record.urls += page->status == 0; /* what was refused in its turn is counted already */
        rc = host_table_put(hosts, txn, page->host, &record);
    }
    refused->n_scheduled += rc == RESULT_OK;
    return rc;
}

static Result work(Refused *refused, uint64_t first, uint64_t *n_pages)
{
    MDB_txn *txn = NULL;
    Schedule *schedule = NULL;
    HostTable *hosts = NULL;
    if (page_db_txn_begin(refused->db, false, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    *n_pages = page_db_n_pages(refused->db, txn);
    Result rc = schedule_open(&schedule, txn, NULL);
    rc = rc == RESULT_OK ? host_table_open(&hosts, txn) : rc;
    for (uint64_t i = first; i < *n_pages && i < first + PAGES_PER_TXN && rc == RESULT_OK; i++) {
        PageRef page;
        if (page_db_get(refused->db, txn, i, &page, &refused->text) != page_db_error_ok) {
            rc = RESULT_DAMAGED;
        } else if (is_wanted(refused, &page)) {
            rc = put_back(refused, txn, schedule, hosts, &page);
        }
    }
    if (rc == RESULT_OK) {
        rc = page_db_txn_commit(refused->db, txn) == page_db_error_ok ? RESULT_OK : RESULT_FULL;
    } else {
        page_db_txn_abort(refused->db, txn);
    }
    host_table_close(hosts);
    schedule_close(schedule);
    return rc;
}

static int run(Refused *refused, const char *directory)
{
    int status = crawl_open("schedule", directory, false, &refused->db);
    if (status != 0) {
        return status;
    }
    uint64_t n_pages = 0;
    uint64_t first = 0;
    Result rc = RESULT_OK;
    do {
        rc = work(refused, first, &n_pages);
        first += PAGES_PER_TXN;
    } while (rc == RESULT_OK && first < n_pages);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno schedule: %s: %s\n", directory, result_name(rc));
        return rc == RESULT_DAMAGED || rc == RESULT_VERSION ? EXIT_DIRECTORY : EXIT_IO;
    }
    (void)fprintf(stderr, "%" PRIu64 " pages are scheduled\n", refused->n_scheduled);
    return 0;
}

/* Only the holder of the lock writes the schedule. */
static int run_locked(Refused *refused, const char *directory)
{
    CrawlStore store = {.lock = -1};
    Buffer error;
    if (!crawl_open_is_crawl(directory)) {
        (void)fprintf(stderr, "ragno schedule: %s holds no crawl\n", directory);
        return EXIT_IO;
    }
    buffer_init(&error, BUFFER_NO_LIMIT);
    int status = 0;
    if (crawl_store_lock(&store, directory, false, &error) != RESULT_OK) {
        (void)fprintf(stderr, "ragno schedule: %s\n", buffer_string(&error));
        status = EXIT_DIRECTORY;
    }
    buffer_destroy(&error);
    status = status == 0 ? run(refused, directory) : status;
    (void)page_db_delete(refused->db);
    crawl_store_close(&store);
    return status;
}

int schedule_refused(int argc, char **argv)
{
    const char *expression = NULL;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--only") != 0 || i + 1 == argc) {
            return usage(strcmp(argv[i], "--help") == 0 ? stdout : stderr);
        }
        expression = argv[++i];
    }
    Refused refused = {.db = NULL};
    url_init(&refused.url);
    buffer_init(&refused.text, BUFFER_NO_LIMIT);
    int status = expression == NULL ? 0 : compile(&refused, expression);
    status = status == 0 ? run_locked(&refused, argv[1]) : status;
    filter_scratch_delete(refused.scratch);
    filter_delete(refused.filter);
    buffer_destroy(&refused.text);
    url_destroy(&refused.url);
    return status;
}
