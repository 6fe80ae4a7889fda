#include "crawl/seeds/seed_verdict.h"

#include "parse/host/authority.h"

/* ---- Seed reason ---- */

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
    [FETCH_WALL] = "it keeps crawlers out",
    [FETCH_SERVER] = "it answers with errors (5xx)",
};

typedef struct Question {
    HostRows *hosts;
    const Config *config;
    MDB_txn *txn;
    const PageRef *page;
    const HostRecord *host;
    Buffer *words;
} Question;

static void tell_class(const Question *q, unsigned class)
{
    const char *remedy = class < FETCH_CLASSES ? remedies[class] : NULL;
    (void)buffer_append_string(q->words,
                               remedy != NULL ? remedy : fetch_class_name((FetchClass) class));
}

/* The line of robots.txt that forbids it. */
static void seed_reason_tell_robots(const Question *q)
{
    Robots *robots = NULL;
    RobotsVerdict verdict = {.line = 0};
    Authority at = authority_of(q->page->url, q->page->url_length);
    (void)buffer_append_string(q->words, "robots.txt forbids it");
    if (host_rows_get_rules(q->hosts, q->txn, q->page->host, q->config->robots_agent, NULL, &robots,
                            NULL) == RESULT_OK &&
        !robots_allows(robots, q->page->url + at.end, q->page->url_length - at.end, &verdict) &&
        verdict.line > 0) {
        (void)buffer_printf(q->words, " (line %u: %s)", verdict.line, verdict.rule);
    }
    robots_delete(robots);
}

/* Of its last failure. */
static unsigned class_of_host(const HostRecord *host)
{
    return host_is_aside(host) ? host->drop_class : host->last_failure;
}

static void seed_reason_tell_status(const Question *q)
{
    switch (q->page->status) {
    case STATUS_ROBOTS:
        seed_reason_tell_robots(q);
        return;
    case STATUS_PRIVATE:
        tell_class(q, FETCH_PRIVATE);
        return;
    case STATUS_DNS:
    case STATUS_CONNECT:
    case STATUS_BROKEN:
    case STATUS_TIMEOUT:
    case STATUS_RETRIES:
    case STATUS_PREREQUISITE:
    case STATUS_DROPPED:
        tell_class(q, class_of_host(q->host));
        return;
    case STATUS_DENIED:
        (void)buffer_append_string(q->words, "the operator denies it (denied.txt; ragno ctl DIR "
                                             "allow)");
        return;
    case STATUS_SCOPE:
        (void)buffer_append_string(q->words,
                                   "scope.exclude_domains or scope.reject_regex refuses it");
        return;
    case STATUS_BLOCKED:
        (void)buffer_append_string(q->words, "filter.fetch refuses it");
        return;
    default:
        (void)buffer_printf(q->words,
                            q->page->status >= 400 ? "it answered %d" : "status %d in crawl.log",
                            q->page->status);
    }
}

SeedState seed_reason_tell(HostRows *hosts, const Config *config, MDB_txn *txn, const PageRef *page,
                           const HostRecord *host, Buffer *words)
{
    Question q = {
        .hosts = hosts, .config = config, .txn = txn, .page = page, .host = host, .words = words};
    if (page->status >= 200 && page->status < 400) {
        return SEED_HAS_SUCCEEDED;
    }
    if (page->status != 0) {
        seed_reason_tell_status(&q);
    } else if (host->state == HOST_DENIED) {
        (void)buffer_append_string(words,
                                   "its host is denied (denied.txt or scope.exclude_domains)");
    } else if (host_is_aside(host)) {
        tell_class(&q, class_of_host(host));
    } else if (host->failures > 0) {
        tell_class(&q, host->last_failure);
        return SEED_IS_RETRIED;
    } else {
        return SEED_IS_TO_COME;
    }
    return SEED_HAS_FAILED;
}

/* ---- Seed verdict ---- */

#define TOLD_MAX   20u /* the others are counted */
#define LOOKED_MAX 100000u

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

/* ---- the walk ---- */

/* RESULT_CLOSED: enough is known. */
static Result seed_verdict_look_at(void *context, const SeedEntry *seed)
{
    Look *look = context;
    SeedVerdict *verdict = look->verdict;
    bool is_enough = look->out == NULL && verdict->succeeded > verdict->redirects;
    if (is_enough || verdict->seeds == LOOKED_MAX) {
        return RESULT_CLOSED;
    }
    int code = page_db_get(look->store->db, look->txn, seed->index, &look->page, &look->url);
    if (code != 0) {
        return RESULT_DAMAGED;
    }
    verdict->seeds++;
    if (look->page.status >= 200 && look->page.status < 400) {
        verdict->succeeded++;
        verdict->redirects += look->page.status >= 300 && look->page.status != 304;
        return RESULT_OK;
    }
    look->host = (HostRecord){.state = HOST_ACTIVE};
    Result rc = host_rows_get(look->store->hosts, look->txn, look->page.host, &look->host);
    if (rc != RESULT_OK && rc != RESULT_NOT_FOUND) {
        return rc;
    }
    buffer_reset(&look->words);
    SeedState state = seed_reason_tell(look->store->hosts, look->config, look->txn, &look->page,
                                       &look->host, &look->words);
    if (state == SEED_IS_RETRIED) {
        (void)buffer_append_string(&look->words, "; it is tried again");
    }
    if (state != SEED_IS_TO_COME && verdict->failed++ < TOLD_MAX && look->out != NULL) {
        (void)fprintf(look->out, "  seed failed %.*s: %s\n", (int)look->page.url_length,
                      look->page.url, buffer_string(&look->words));
    }
    return RESULT_OK;
}

Result seed_verdict_find(const IngestStore *store, const Config *config, FILE *out,
                         SeedVerdict *verdict)
{
    Look look = {.store = store, .config = config, .out = out, .verdict = verdict};
    *verdict = (SeedVerdict){.seeds = 0};
    if (store->seeds == 0) {
        return RESULT_OK;
    }
    if (page_db_txn_begin(store->db, true, &look.txn) != 0) {
        return RESULT_IO;
    }
    buffer_init(&look.url, BUFFER_NO_LIMIT);
    buffer_init(&look.words, BUFFER_NO_LIMIT);
    Result rc = seed_rows_each(store->seeds, look.txn, seed_verdict_look_at, &look);
    if (out != NULL && verdict->failed > TOLD_MAX) {
        (void)fprintf(out,
                      "  seeds       %llu of %s%llu have failed; ragno why DIR URL tells of each\n",
                      (unsigned long long)verdict->failed, rc == RESULT_CLOSED ? "the first " : "",
                      (unsigned long long)verdict->seeds);
    }
    buffer_destroy(&look.url);
    buffer_destroy(&look.words);
    page_db_txn_abort(store->db, look.txn);
    return rc == RESULT_CLOSED ? RESULT_OK : rc;
}
