/* ragno db: schedule, and with --due the next visits of a continuous crawl.
 *
 * What is printed is what the crawl goes by. The level is that of the entry. The score is that of
 * the last computation, as `ragno rank` prints it, when the crawl has a scorer that computes (it is
 * read from the scorer's file, so it may be a little ahead of the levels while a computation is
 * being applied); "-" when the page is younger and stands where its estimate put it; and without
 * such a scorer the score of the link. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <inttypes.h>

#include "base/memory/array.h"
#include "base/memory/file.h"
#include "command/db/db_view.h"
#include "crawl/command_line.h"
#include "ingest/chore/scoring.h"
#include "store/tables/revisit_rows.h"
#include "store/schedule/schedule_read.h"
#include "fetch/tls/tls_context.h"
#include "frontier/visit/host_situation.h"

#define SCAN_AT_ONCE 4096u

/* The scores of a crawl's scorer. */
typedef struct ScoreFile {
    bool is_used;    /* the crawl has such a scorer */
    const char *map; /* of floats */
    uint64_t bytes;
    size_t n;
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
    Path crawl;
    ScoringKind kind = SCORING_NONE;
    if (config_init(&config) == RESULT_OK) {
        (void)file_path(&crawl, "%s/..", view->db->path);
        if (config_load_of(&config, crawl.text, NULL) == RESULT_OK &&
            config.schedule_order == ORDER_BEST_FIRST) {
            kind = scoring_kind_of((ScorerWord)config.score_scorer);
        }
        config_destroy(&config);
    }
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
    (void)file_map(AT_FDCWD, path.text, &file->map, &file->bytes);
    file->n = file->bytes / sizeof(float);
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
        rc = db_turn(view, rc);
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
    float found = 0.0f;
    if (index < file->n) {
        memcpy(&found, file->map + index * sizeof found, sizeof found);
    }
    *score = found > 0.0f ? found : -1.0f;
    return page_db_error_ok;
}

typedef struct Collection {
    Scheduled *items;
    size_t n;
} Collection;

static int db_schedule_collect(DbView *view, const bool *wanted, const ScoreFile *scores,
                               Collection *all)
{
    Schedule *schedule = NULL;
    ScheduleEntry *entries = malloc(SCAN_AT_ONCE * sizeof *entries);
    ScheduleScan scan = {.started = false};
    size_t n = SCAN_AT_ONCE;
    bool parked = false; /* the host of the entry: nothing of it comes next */
    int rc = entries == NULL ? page_db_error_memory : page_db_error_ok;
    if (rc == page_db_error_ok && db_open_schedule(view, &schedule) != RESULT_OK) {
        rc = page_db_error_damaged;
    }
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
                if (rc == page_db_error_ok &&
                    array_add(&all->items, &all->n, sizeof item, &item) != RESULT_OK) {
                    rc = page_db_error_memory;
                }
            }
        }
        rc = db_turn(view, rc);
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
        rc = db_turn(view, rc);
        const char *url = rc == page_db_error_ok ? db_url(view, item->index, &rc) : NULL;
        if (url != NULL && item->score < 0.0f) {
            printf("%u\t-\t%s\n", (unsigned)item->level, url);
        } else if (url != NULL) {
            printf("%u\t%.9g\t%s\n", (unsigned)item->level, (double)item->score, url);
        }
    }
    file_unmap(scores.map, scores.bytes);
    free(all.items);
    return db_finish(view, rc);
}

/* What is to be visited again, in order of due time. */
static int print_due(DbView *view, const bool *wanted, uint64_t top)
{
    RevisitRows *table = NULL;
    RevisitDue due = {.freq = 0};
    Result found = revisit_rows_open(&table, view->txn, false);
    int rc = page_db_error_ok;
    while (found == RESULT_OK && rc == page_db_error_ok && top > 0) {
        PageRef page;
        char time[CLOCK_TEXT_BYTES];
        found = revisit_rows_next(table, view->txn, &due);
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
        rc = db_turn(view, rc);
    }
    revisit_rows_close(table);
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
    const char *host = NULL;
    uint64_t top = UINT64_MAX;
    bool is_due = false;
    const CommandOption rows[] = {{"top", 0, COMMAND_NUMBER, .to = &top, .most = 1e15},
                                  {"host", 0, COMMAND_TEXT, .to = &host},
                                  {"due", 0, COMMAND_FLAG, .to = &is_due}};
    CommandLine line = {"db", "usage: ragno db DIR schedule [--due] [--top N] [--host HOST]\n",
                        COMMAND_ROWS(rows), .words_least = 0};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    return db_schedule_print_hosts(view, host, is_due, top);
}

/* ragno db: hosts. */

typedef struct HostCounts {
    uint64_t known;
    uint64_t crawled;
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
        rc = db_turn(view, rc);
    }
    return rc;
}

/* A walk over all hosts, by id. */
typedef struct DbHostWalk {
    DbView *view;
    HostRows *hosts;    /* NULL: a database of the library */
    Schedule *schedule; /* NULL: so */
    HostCounts *counts; /* by host; NULL: not counted */
    const char *only;   /* a host that is named; NULL: all */
    bool found;         /* one was told */
    int64_t now_ms;
} DbHostWalk;

typedef Result HostVisit(DbHostWalk *walk, uint32_t host, const HostRecord *record);

static int host_walk_all(DbHostWalk *walk, HostVisit *visit)
{
    DbView *view = walk->view;
    uint32_t n = page_db_n_hosts(view->db, view->txn);
    int turn = page_db_error_ok;
    Result rc = db_open_schedule(view, &walk->schedule);
    if (rc == RESULT_OK) {
        rc = host_rows_open(&walk->hosts, view->txn, page_db_journal(view->db));
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    for (uint32_t i = 0; rc == RESULT_OK && turn == page_db_error_ok && i < n; i++) {
        HostRecord record = {.state = HOST_ACTIVE};
        if (walk->hosts != NULL) {
            rc = host_rows_get(walk->hosts, view->txn, i, &record);
        }
        if (rc == RESULT_OK) {
            rc = visit(walk, i, &record);
        }
        turn = db_turn(view, turn);
    }
    host_rows_close(walk->hosts);
    schedule_close(walk->schedule);
    walk->hosts = NULL;
    walk->schedule = NULL;
    return rc == RESULT_OK ? turn : page_db_error_damaged;
}

/* NULL: it cannot be read. */
static const char *host_walk_origin(DbHostWalk *walk, uint32_t host)
{
    DbView *view = walk->view;
    return page_db_host_origin(view->db, view->txn, host, &view->url) == page_db_error_ok
               ? buffer_string(&view->url)
               : NULL;
}

/* URLs of the host that are scheduled: a page's record does not know when its host was given up. */
static Result host_walk_urls(const DbHostWalk *walk, uint32_t host, uint64_t *urls)
{
    *urls = 0;
    return walk->schedule == NULL
               ? RESULT_OK
               : schedule_host_count(walk->schedule, walk->view->txn, host, urls);
}

/* ---- hosts that are set aside, that keep crawlers out, that say what has changed ---- */

/* origin; parked, dropped, denied or moved; why; since when, URLs kept. */
static Result print_parked(DbHostWalk *walk, uint32_t host, const HostRecord *record)
{
    char since[CLOCK_TEXT_BYTES] = "-";
    uint64_t urls = 0;
    Result rc = host_is_closed(record) ? host_walk_urls(walk, host, &urls) : RESULT_OK;
    const char *origin =
        rc == RESULT_OK && host_is_closed(record) ? host_walk_origin(walk, host) : NULL;
    if (origin == NULL) {
        return rc;
    }
    if (record->parked_ms > 0) {
        (void)wall_format_iso((WallTime){record->parked_ms * 1000}, since);
    }
    static const char *const names[] = {[HOST_DROPPED] = "dropped",
                                        [HOST_DENIED] = "denied",
                                        [HOST_PARKED] = "parked",
                                        [HOST_MOVED] = "moved"};
    bool has_failed = host_is_aside(record);
    printf("%s\t%s\t%s\t%s\t%" PRIu64 "\n", origin, names[record->state],
           has_failed ? fetch_class_name((FetchClass)record->drop_class) : "-", since, urls);
    return RESULT_OK;
}

/* origin, answers 402, 403, 429 and challenges. */
static Result print_walls(DbHostWalk *walk, uint32_t host, const HostRecord *record)
{
    uint64_t walls = 0;
    for (size_t w = 0; w < HTTP_WALLS; w++) {
        walls += record->walls[w];
    }
    const char *origin = walls > 0 ? host_walk_origin(walk, host) : NULL;
    if (origin != NULL) {
        printf("%s\t%u\t%u\t%u\t%u\n", origin, record->walls[WALL_PAYMENT],
               record->walls[WALL_FORBIDDEN], record->walls[WALL_BUSY],
               record->walls[WALL_CHALLENGE]);
    }
    return RESULT_OK;
}

/* origin, signals, and how many of them were true. */
static Result print_signals(DbHostWalk *walk, uint32_t host, const HostRecord *record)
{
    const char *origin = record->signals > 0 ? host_walk_origin(walk, host) : NULL;
    if (origin != NULL) {
        printf("%s\t%u\t%u\n", origin, record->signals, record->signals_true);
    }
    return RESULT_OK;
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

/* id, origin, URLs known, crawled, scheduled; what it waits for and until when, as a time or "-"
 * and a phrase; TLS. */
static Result print_host(DbHostWalk *walk, uint32_t host, const HostRecord *record)
{
    const HostCounts *counts = &walk->counts[host];
    Buffer phrase = {.limit = 1024};
    char until[CLOCK_TEXT_BYTES] = "-";
    const char *origin = host_walk_origin(walk, host);
    if (origin == NULL) {
        return RESULT_DAMAGED;
    }
    if (walk->only != NULL && !db_is_host(origin, walk->only)) {
        return RESULT_OK;
    }
    HostSituation situation = host_situation_of(record, walk->now_ms);
    if (situation.until_ms > 0) {
        (void)wall_format_iso((WallTime){situation.until_ms * 1000}, until);
    }
    uint64_t scheduled = 0;
    Result rc = host_situation_tell(&situation, walk->now_ms, &phrase);
    if (rc == RESULT_OK) {
        rc = host_walk_urls(walk, host, &scheduled);
    }
    printf("%" PRIu32 "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s", host,
           *origin == '\0' ? "-" : origin, counts->known, counts->crawled, scheduled, until,
           buffer_string(&phrase));
    print_tls(record);
    walk->found = true;
    buffer_destroy(&phrase);
    return rc;
}

int db_hosts(DbView *view, int argc, char **argv)
{
    static const struct {
        const char *option;
        HostVisit *visit;
    } lists[] = {
        {"--parked", print_parked}, {"--walls", print_walls}, {"--signals", print_signals}};
    DbHostWalk walk = {
        .view = view, .only = argc == 2 ? argv[1] : NULL, .now_ms = wall_now().us / 1000};
    for (size_t i = 0; walk.only != NULL && i < sizeof lists / sizeof *lists; i++) {
        if (strcmp(walk.only, lists[i].option) == 0) {
            return db_finish(view, host_walk_all(&walk, lists[i].visit));
        }
    }
    if (argc > 2 || (walk.only != NULL && *walk.only == '-')) {
        (void)fprintf(stderr,
                      "usage: ragno db DIR hosts [HOST | --parked | --walls | --signals]\n");
        return EXIT_USAGE;
    }
    uint32_t n_hosts = page_db_n_hosts(view->db, view->txn);
    walk.counts = calloc(n_hosts == 0 ? 1 : n_hosts, sizeof *walk.counts);
    if (walk.counts == NULL) {
        (void)fprintf(stderr, "ragno db: out of memory\n");
        return 1;
    }
    int rc = db_hosts_count_pages(view, walk.counts, n_hosts);
    if (rc == page_db_error_ok) {
        rc = host_walk_all(&walk, print_host);
    }
    free(walk.counts);
    if (rc == page_db_error_ok && !walk.found && walk.only != NULL) {
        (void)fprintf(stderr, "ragno db: there is no host '%s'\n", walk.only);
        return EXIT_NEGATIVE;
    }
    return db_finish(view, rc);
}
