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
#include <inttypes.h>

#include "rules/config.h"
#include "base/memory/file.h"
#include "command/db/db_view.h"
#include "ingest/batch/ingest_batch.h"
#include "ingest/chore/scoring.h"
#include "store/tables/revisit_table.h"
#include "store/schedule/schedule.h"
#include "store/pages/page_db_read.h"
#include "store/schedule/schedule_read.h"
#include "base/core/clock.h"
#include "fetch/tls/tls_context.h"
#include "frontier/visit/host_situation.h"
#include "frontier/visit/politeness.h"
#include "store/tables/host_table.h"

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
    Path path;
    Buffer error;
    ScoringKind kind = SCORING_NONE;
    buffer_init(&error, BUFFER_NO_LIMIT);
    if (config_init(&config) == RESULT_OK) {
        (void)file_path(&path, "%s/../config.ini", view->db->path);
        if (options_load(&config.options, path.text, &error) == RESULT_OK &&
            config.schedule_order == ORDER_BEST_FIRST) {
            kind = scoring_kind_of((ScorerWord)config.score_scorer);
        }
        config_destroy(&config);
    }
    buffer_destroy(&error);
    return kind;
}

/* A file that is missing or short has no scores yet. */
static void open_scores(const DbView *view, ScoreFile *file)
{
    ScoringKind kind = db_schedule_kind_of(view);
    Path path;
    *file = (ScoreFile){.is_used = kind == SCORING_PAGERANK || kind == SCORING_HITS};
    if (!file->is_used) {
        return;
    }
    (void)file_path(&path, "%s/%s", view->db->path,
                    kind == SCORING_PAGERANK ? "pr.bin" : "hits_a2.bin");
    int fd = open(path.text, O_RDONLY | O_CLOEXEC);
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

/* ragno db: hosts. */

typedef struct HostCounts {
    uint64_t known;
    uint64_t crawled;
    uint64_t scheduled;
} HostCounts;

static int db_hosts_count_pages(DbView *view, HostCounts *counts, uint32_t n_hosts)
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
        rc = rc == page_db_error_ok ? db_turn(view) : rc;
    }
    return rc;
}

/* The schedule knows; a page's record does not when its host was given up. */
static int count_scheduled(DbView *view, HostCounts *counts, uint32_t n_hosts)
{
    Schedule *schedule = NULL;
    int turn = page_db_error_ok;
    Result rc = db_open_schedule(view, &schedule);
    for (uint32_t i = 0; schedule != NULL && rc == RESULT_OK && i < n_hosts; i++) {
        rc = schedule_host_count(schedule, view->txn, i, &counts[i].scheduled);
        turn = db_turn(view);
        if (turn != page_db_error_ok) {
            break;
        }
    }
    schedule_close(schedule);
    return rc == RESULT_OK ? turn : page_db_error_damaged;
}

/* ---- hosts that are set aside ---- */

static void print_parked(const char *origin, const HostRecord *record, uint64_t urls)
{
    char since[CLOCK_TEXT_BYTES] = "-";
    if (record->parked_ms > 0) {
        (void)wall_format_iso((WallTime){record->parked_ms * 1000}, since);
    }
    bool is_moved = record->state == HOST_MOVED;
    bool is_denied = record->state == HOST_DENIED;
    printf("%s\t%s\t%s\t%s\t%" PRIu64 "\n", origin,
           is_moved                       ? "moved"
           : is_denied                    ? "denied"
           : record->state == HOST_PARKED ? "parked"
                                          : "dropped",
           is_denied || is_moved ? "-" : fetch_class_name((FetchClass)record->drop_class), since,
           urls);
}

/* origin; parked, dropped, denied or moved; why; since when, URLs kept: one line per host, by id.
 * Hosts that an earlier version dropped have none. */
static int list_parked(DbView *view)
{
    HostTable *hosts = NULL;
    Schedule *schedule = NULL;
    Result rc = db_open_schedule(view, &schedule);
    if (rc == RESULT_OK && schedule != NULL) {
        rc = host_table_open(&hosts, view->txn, page_db_journal(view->db));
    }
    uint32_t n_hosts = page_db_n_hosts(view->db, view->txn);
    int turn = page_db_error_ok;
    for (uint32_t i = 0; hosts != NULL && rc == RESULT_OK && i < n_hosts; i++) {
        turn = db_turn(view);
        if (turn != page_db_error_ok) {
            break;
        }
        HostRecord record;
        uint64_t urls = 0;
        rc = host_table_get(hosts, view->txn, i, &record);
        if (rc != RESULT_OK || !host_is_closed(&record)) {
            continue;
        }
        rc = schedule_host_count(schedule, view->txn, i, &urls);
        if (rc == RESULT_OK && page_db_host_origin(view->db, view->txn, i, &view->url) == 0) {
            print_parked(buffer_string(&view->url), &record, urls);
        }
    }
    host_table_close(hosts);
    schedule_close(schedule);
    return rc == RESULT_OK || rc == RESULT_NOT_FOUND ? turn : page_db_error_damaged;
}

/* ---- hosts that keep crawlers out, hosts that say what has changed ---- */

/* Hosts that fn has something to print of, by id; it returns whether it has, and prints with an
 * origin. */
static int list_records(DbView *view, bool (*fn)(const HostRecord *record, const char *origin))
{
    HostTable *hosts = NULL;
    Result rc = host_table_open(&hosts, view->txn, page_db_journal(view->db));
    uint32_t n_hosts = page_db_n_hosts(view->db, view->txn);
    int turn = page_db_error_ok;
    for (uint32_t i = 0; hosts != NULL && rc == RESULT_OK && i < n_hosts; i++) {
        HostRecord record;
        turn = db_turn(view);
        if (turn != page_db_error_ok) {
            break;
        }
        rc = host_table_get(hosts, view->txn, i, &record);
        if (rc == RESULT_OK && fn(&record, NULL) &&
            page_db_host_origin(view->db, view->txn, i, &view->url) == 0) {
            (void)fn(&record, buffer_string(&view->url));
        }
    }
    host_table_close(hosts);
    return rc == RESULT_OK || rc == RESULT_NOT_FOUND ? turn : page_db_error_damaged;
}

/* origin, answers 402, 403, 429 and challenges. */
static bool print_walls(const HostRecord *record, const char *origin)
{
    uint64_t walls = 0;
    for (size_t w = 0; w < HTTP_WALLS; w++) {
        walls += record->walls[w];
    }
    if (origin != NULL) {
        printf("%s\t%u\t%u\t%u\t%u\n", origin, record->walls[WALL_PAYMENT],
               record->walls[WALL_FORBIDDEN], record->walls[WALL_BUSY],
               record->walls[WALL_CHALLENGE]);
    }
    return walls > 0;
}

/* origin, signals, and how many of them were true. */
static bool print_signals(const HostRecord *record, const char *origin)
{
    if (origin != NULL) {
        printf("%s\t%u\t%u\n", origin, record->signals, record->signals_true);
    }
    return record->signals > 0;
}

/* ---- hosts ---- */

/* "1.3 verified 2027-01-31T12:00:00.000Z": protocol, verification and expiry of the certificate. No
 * column without TLS. */
static void print_tls(const HostRecord *record)
{
    char expiry[CLOCK_TEXT_BYTES] = "-";
    if (record->tls_verdict == TLS_NOT_KNOWN) {
        printf("\n");
        return;
    }
    if (record->tls_expiry_s > 0) {
        (void)wall_format_iso((WallTime){(int64_t)record->tls_expiry_s * 1000000}, expiry);
    }
    printf("\t%s %s %s\n", tls_version_name(record->tls_version),
           tls_verdict_name((TlsVerdict)record->tls_verdict), expiry);
}

/* What it waits for and until when: "2026-01-31T12:00:00.123Z" or "-", and a phrase. */
static Result print_situation(DbView *view, HostTable *hosts, uint32_t host, int64_t now_ms)
{
    HostRecord record = {.state = HOST_ACTIVE};
    Buffer phrase;
    char until[CLOCK_TEXT_BYTES] = "-";
    buffer_init(&phrase, 1024);
    Result rc = hosts == NULL ? RESULT_OK : host_table_get(hosts, view->txn, host, &record);
    HostSituation situation = host_situation_of(&record, now_ms);
    if (situation.until_ms > 0) {
        (void)wall_format_iso((WallTime){situation.until_ms * 1000}, until);
    }
    rc = rc == RESULT_OK ? host_situation_tell(&situation, now_ms, &phrase) : rc;
    printf("\t%s\t%s", until, buffer_string(&phrase));
    print_tls(&record);
    buffer_destroy(&phrase);
    return rc;
}

static int list_hosts(DbView *view, const HostCounts *counts, const char *only, bool *found)
{
    HostTable *hosts = NULL;
    int64_t now_ms = wall_now().us / 1000;
    uint32_t n_hosts = page_db_n_hosts(view->db, view->txn);
    Result result = host_table_open(&hosts, view->txn, page_db_journal(view->db));
    int rc = result == RESULT_OK || result == RESULT_NOT_FOUND ? page_db_error_ok
                                                               : page_db_error_damaged;
    for (uint32_t host = 0; host < n_hosts && rc == page_db_error_ok; host++) {
        rc = page_db_host_origin(view->db, view->txn, host, &view->url);
        const char *origin = buffer_string(&view->url);
        if (rc == page_db_error_ok && (only == NULL || db_is_host(origin, only))) {
            printf("%" PRIu32 "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64, host,
                   *origin == '\0' ? "-" : origin, counts[host].known, counts[host].crawled,
                   counts[host].scheduled);
            result = print_situation(view, hosts, host, now_ms);
            rc = result == RESULT_OK ? db_turn(view) : page_db_error_damaged;
            *found = true;
        }
    }
    host_table_close(hosts);
    return rc;
}

int db_hosts(DbView *view, int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--parked") == 0) {
        return db_finish(view, list_parked(view));
    }
    if (argc == 2 && strcmp(argv[1], "--walls") == 0) {
        return db_finish(view, list_records(view, print_walls));
    }
    if (argc == 2 && strcmp(argv[1], "--signals") == 0) {
        return db_finish(view, list_records(view, print_signals));
    }
    if (argc > 2 || (argc == 2 && *argv[1] == '-')) {
        (void)fprintf(stderr,
                      "usage: ragno db DIR hosts [HOST | --parked | --walls | --signals]\n");
        return EXIT_USAGE;
    }
    uint32_t n_hosts = page_db_n_hosts(view->db, view->txn);
    HostCounts *counts = calloc(n_hosts == 0 ? 1 : n_hosts, sizeof *counts);
    if (counts == NULL) {
        (void)fprintf(stderr, "ragno db: out of memory\n");
        return 1;
    }
    int rc = db_hosts_count_pages(view, counts, n_hosts);
    if (rc == page_db_error_ok) {
        rc = count_scheduled(view, counts, n_hosts);
    }
    bool found = argc == 1;
    if (rc == page_db_error_ok) {
        rc = list_hosts(view, counts, argc == 1 ? NULL : argv[1], &found);
    }
    free(counts);
    if (rc == page_db_error_ok && !found) {
        (void)fprintf(stderr, "ragno db: there is no host '%s'\n", argv[1]);
        return EXIT_NEGATIVE;
    }
    return db_finish(view, rc);
}
