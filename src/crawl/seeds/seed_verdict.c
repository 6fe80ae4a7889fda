#include "crawl/seeds/seed_verdict.h"

#include <string.h>

#include "fetch/transfer/fetch_result.h"
#include "frontier/visit/politeness.h"
#include "parse/host/authority.h"
#include "parse/robots/robots.h"
#include "store/tables/host_parking.h"

#define PIECE      256u
#define TOLD_MAX   20u /* the others are counted */
#define LOOKED_MAX 100000u

/* What an operator can do about a host that does not answer; NULL: nothing but wait. */
static const char *const remedies[FETCH_CLASSES] = {
    [FETCH_NO_NAME] = "the name does not exist: check how it is spelled",
    [FETCH_DNS] = "its name could not be looked up: check dns.servers",
    [FETCH_REFUSED] = "the connection was refused: is the port right, does a server run there?",
    [FETCH_NO_ROUTE] = "there is no route to it: check the network, and dns.family",
    [FETCH_CONNECT_TIME] = "connecting took longer than fetch.connect_timeout",
    [FETCH_TLS] = "TLS failed: http instead of https, or fetch.tls_verify = no",
    [FETCH_TIMEOUT] = "it took longer than fetch.first_byte_timeout or fetch.total_timeout",
    [FETCH_SLOW] = "it was slower than fetch.slow_rate",
    [FETCH_BROKEN] = "its answer was broken off, or is not HTTP",
    [FETCH_PRIVATE] = "its address is private or special: fetch.allow_addresses allows it",
    [FETCH_ROBOTS_ERROR] = "its robots.txt cannot be fetched, which forbids everything",
    [FETCH_BAD_PORT] = "nothing is connected to at its port: scope.ports",
    [FETCH_BUSY] = "it asked to be left alone (429 or 503)",
    [FETCH_SERVER] = "it answers with errors (5xx)",
};

typedef struct Look {
    const IngestStore *store;
    const Config *config;
    MDB_txn *txn;
    FILE *out;
    SeedVerdict *verdict;
    PageRef page;
    HostRecord host;
    Buffer url;
    Buffer words;
} Look;

/* ---- reasons --------------------------------------------------------------------------------- */

static void tell_class(Look *look, unsigned class)
{
    const char *remedy = class < FETCH_CLASSES ? remedies[class] : NULL;
    (void)buffer_append_string(&look->words,
                               remedy != NULL ? remedy : fetch_class_name((FetchClass) class));
}

/* The line of robots.txt that forbids it. */
static void tell_robots(Look *look)
{
    Buffer body;
    Robots *robots = NULL;
    RobotsVerdict verdict = {.line = 0};
    Authority at = authority_of(look->page.url, look->page.url_length);
    (void)buffer_append_string(&look->words, "robots.txt forbids it");
    buffer_init(&body, BUFFER_NO_LIMIT);
    if (host_table_get_robots(look->store->hosts, look->txn, look->page.host, &body) == RESULT_OK &&
        robots_parse(body.data, body.length, look->config->robots_agent, &robots) == RESULT_OK &&
        !robots_allows(robots, look->page.url + at.end, look->page.url_length - at.end, &verdict) &&
        verdict.line > 0) {
        (void)buffer_printf(&look->words, " (line %u: %s)", verdict.line, verdict.rule);
    }
    robots_delete(robots);
    buffer_destroy(&body);
}

/* Of its last failure. */
static unsigned class_of_host(const HostRecord *host)
{
    return host_is_aside(host) ? host->drop_class : host->last_failure;
}

static void tell_status(Look *look)
{
    switch (look->page.status) {
    case STATUS_ROBOTS:
        tell_robots(look);
        return;
    case STATUS_PRIVATE:
        tell_class(look, FETCH_PRIVATE);
        return;
    case STATUS_DNS:
    case STATUS_CONNECT:
    case STATUS_BROKEN:
    case STATUS_TIMEOUT:
    case STATUS_RETRIES:
    case STATUS_PREREQUISITE:
    case STATUS_DROPPED:
        tell_class(look, class_of_host(&look->host));
        return;
    case STATUS_DENIED:
        (void)buffer_append_string(&look->words,
                                   "the operator denies it (denied.txt; ragno ctl DIR "
                                   "allow)");
        return;
    case STATUS_SCOPE:
        (void)buffer_append_string(&look->words,
                                   "scope.exclude_domains or scope.reject_regex refuses it");
        return;
    case STATUS_BLOCKED:
        (void)buffer_append_string(&look->words, "filter.fetch refuses it");
        return;
    default:
        (void)buffer_printf(&look->words,
                            look->page.status >= 400 ? "it answered %d" : "status %d in crawl.log",
                            look->page.status);
    }
}

/* Why a seed has not been fetched, as far as it is known; false: it is still to come. */
static bool tell_reason(Look *look)
{
    const HostRecord *host = &look->host;
    if (look->page.status != 0) {
        tell_status(look);
    } else if (host->state == HOST_DENIED) {
        (void)buffer_append_string(&look->words,
                                   "its host is denied (denied.txt or scope.exclude_domains)");
    } else if (host_is_aside(host)) {
        tell_class(look, class_of_host(host));
    } else if (host->failures > 0) {
        tell_class(look, host->last_failure);
        (void)buffer_append_string(&look->words, "; it is tried again");
    } else {
        return false;
    }
    return true;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static Result look_at(Look *look, uint64_t index)
{
    SeedVerdict *verdict = look->verdict;
    int code = page_db_get(look->store->db, look->txn, index, &look->page, &look->url);
    if (code != 0) {
        return RESULT_DAMAGED;
    }
    look->host = (HostRecord){.state = HOST_ACTIVE};
    Result rc = host_table_get(look->store->hosts, look->txn, look->page.host, &look->host);
    if (rc != RESULT_OK && rc != RESULT_NOT_FOUND) {
        return rc;
    }
    verdict->seeds++;
    if (look->page.status >= 200 && look->page.status < 400) {
        verdict->succeeded++;
        verdict->redirects += look->page.status >= 300 && look->page.status != 304;
        return RESULT_OK;
    }
    buffer_reset(&look->words);
    if (tell_reason(look) && verdict->failed++ < TOLD_MAX && look->out != NULL) {
        (void)fprintf(look->out, "  seed failed %.*s: %s\n", (int)look->page.url_length,
                      look->page.url, buffer_string(&look->words));
    }
    return RESULT_OK;
}

Result seed_verdict_find(const IngestStore *store, const Config *config, FILE *out,
                         SeedVerdict *verdict)
{
    SeedEntry entries[PIECE];
    size_t n = PIECE;
    uint64_t next = 0;
    Look look = {.store = store, .config = config, .out = out, .verdict = verdict};
    *verdict = (SeedVerdict){.seeds = 0};
    if (store->seeds == NULL || page_db_txn_begin(store->db, true, &look.txn) != 0) {
        return RESULT_IO;
    }
    buffer_init(&look.url, BUFFER_NO_LIMIT);
    buffer_init(&look.words, BUFFER_NO_LIMIT);
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && n == PIECE && verdict->seeds < LOOKED_MAX) {
        rc = seed_table_read(store->seeds, look.txn, next, entries, PIECE, &n);
        for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
            rc = look_at(&look, entries[i].index);
            next = entries[i].index + 1;
        }
    }
    if (out != NULL && verdict->failed > TOLD_MAX) {
        (void)fprintf(out,
                      "  seeds       %llu of %llu have failed; ragno why DIR URL tells of each\n",
                      (unsigned long long)verdict->failed, (unsigned long long)verdict->seeds);
    }
    buffer_destroy(&look.url);
    buffer_destroy(&look.words);
    page_db_txn_abort(store->db, look.txn);
    return rc;
}
