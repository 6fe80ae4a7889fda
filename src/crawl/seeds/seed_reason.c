#include "crawl/seeds/seed_reason.h"

#include "fetch/transfer/fetch_result.h"
#include "frontier/visit/politeness.h"
#include "parse/host/authority.h"
#include "parse/robots/robots.h"
#include "store/tables/host_parking.h"

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

typedef struct Question {
    HostTable *hosts;
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
    Buffer body;
    Robots *robots = NULL;
    RobotsVerdict verdict = {.line = 0};
    Authority at = authority_of(q->page->url, q->page->url_length);
    (void)buffer_append_string(q->words, "robots.txt forbids it");
    buffer_init(&body, BUFFER_NO_LIMIT);
    if (host_table_get_robots(q->hosts, q->txn, q->page->host, &body) == RESULT_OK &&
        robots_parse(body.data, body.length, q->config->robots_agent, &robots) == RESULT_OK &&
        !robots_allows(robots, q->page->url + at.end, q->page->url_length - at.end, &verdict) &&
        verdict.line > 0) {
        (void)buffer_printf(q->words, " (line %u: %s)", verdict.line, verdict.rule);
    }
    robots_delete(robots);
    buffer_destroy(&body);
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

SeedState seed_reason_tell(HostTable *hosts, const Config *config, MDB_txn *txn,
                           const PageRef *page, const HostRecord *host, Buffer *words)
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
