/* ragno db: hosts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "command/db/db_commands.h"
#include "fetch/tls/tls_facts.h"
#include "frontier/visit/host_situation.h"
#include "frontier/visit/politeness.h"
#include "store/tables/host_table.h"
#include "store/pages/page_db_read.h"
#include "store/schedule/schedule_read.h"

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
