/* Domains and addresses as they are counted, against counts that look at every host; and which
 * links they drop. */
#include "ingest/page/host_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "ingest_fixture.h"
#include "store/tables/host_rows.h"
#include "unit.h"

enum { HOSTS = 12, DOMAINS = 3, ADDRESSES = 3, BATCHES = 200, MOST_STEPS = 12 };

/* What was told of a host. */
typedef struct ModelHost {
    uint64_t urls;
    uint64_t queued;
    uint64_t pages;
    unsigned address; /* from 1 on; 0: not known */
    bool in_domain;
    bool is_beyond;
    bool is_full;
} ModelHost;

typedef struct World {
    IngestFixture ingest;
    Batch batch;
    Map crowds;
    Dice dice;
    ModelHost hosts[HOSTS];
    unsigned answers[8]; /* how often each limit was the answer; the last: none was */
} World;

static World *set_up(void)
{
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    w->ingest.options.config.schedule_levels = SCHEDULE_DEFAULT_LEVELS;
    ingest_fixture_open(&w->ingest);
    map_init(&w->crowds);
    return w;
}

static void tear_down(World *w)
{
    map_destroy(&w->crowds);
    ingest_fixture_close(&w->ingest);
    free(w);
}

static void begin(World *w)
{
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL_FATAL(batch_init(&w->batch, &w->ingest.options, &w->ingest.tables.store,
                                     w->ingest.log, &w->ingest.totals, txn, NULL, 0),
                          RESULT_OK);
    w->batch.crowds = &w->crowds;
}

static void end(World *w, bool really)
{
    CU_ASSERT_EQUAL(batch_finish(&w->batch), RESULT_OK);
    if (really) {
        store_fixture_commit(&w->ingest.tables, w->batch.txn);
        w->ingest.totals = w->batch.totals;
    } else {
        page_db_txn_abort(w->ingest.tables.store.db, w->batch.txn);
    }
    batch_destroy(&w->batch);
}

/* ---- hosts ---- */

static const char *name_of(unsigned host)
{
    static char name[64];
    (void)snprintf(name, sizeof name, "h%u.d%u.example", host, host % DOMAINS);
    return name;
}

static const char *url_of(unsigned host)
{
    static char url[96];
    (void)snprintf(url, sizeof url, "http://%s/", name_of(host));
    return url;
}

static BatchHost *host_of(World *w, unsigned host)
{
    uint32_t id = 0;
    char origin[96];
    (void)snprintf(origin, sizeof origin, "http://%s", name_of(host));
    CU_ASSERT_EQUAL_FATAL(
        page_db_host_add(w->ingest.tables.store.db, w->batch.txn, origin, strlen(origin), &id), 0);
    BatchHost *found = batch_host(&w->batch, id);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    return found;
}

static IpAddress address_number(unsigned number)
{
    char text[IP_ADDRESS_TEXT_BYTES];
    IpAddress address;
    (void)snprintf(text, sizeof text, "192.0.2.%u", number);
    CU_ASSERT_EQUAL_FATAL(ip_address_parse(text, strlen(text), &address), RESULT_OK);
    return address;
}

/* The name of the limit that a new URL of a host is beyond; NULL: it is queued. */
static const char *find_url(World *w, unsigned host)
{
    BatchHost *found = host_of(w, host);
    Refusal why = REFUSALS;
    size_t length = strlen(url_of(host));
    char *url = malloc(length); /* not terminated, as a merge of the sieve has it */
    CU_ASSERT_PTR_NOT_NULL_FATAL(url);
    PageRef page = {.url = memcpy(url, url_of(host), length), .url_length = length};
    const char *limit = host_groups_refuse(&w->batch, found, &page, &why);
    free(url);
    CU_ASSERT_EQUAL(w->batch.result, RESULT_OK);
    if (limit == NULL) {
        found->record.urls++;
        host_groups_queued(&w->batch, found);
        CU_ASSERT_EQUAL(why, REFUSALS);
    } else {
        CU_ASSERT_EQUAL(why, strstr(limit, "domain") != NULL ? REFUSED_DOMAIN : REFUSED_ADDRESS);
    }
    return limit;
}

/* ---- the model ---- */

typedef struct Sums {
    uint64_t hosts;
    uint64_t queued;
    uint64_t pages;
} Sums;

static void sums_take(Sums *sums, const ModelHost *host, bool counts)
{
    sums->hosts += counts;
    sums->queued += host->queued;
    sums->pages += host->pages;
}

static Sums sums_of_domain(const World *w, unsigned domain)
{
    Sums sums = {0};
    for (unsigned i = domain; i < HOSTS; i += DOMAINS) {
        if (w->hosts[i].in_domain) {
            sums_take(&sums, &w->hosts[i], true);
        }
    }
    return sums;
}

static Sums sums_of_address(const World *w, unsigned address)
{
    Sums sums = {0};
    for (unsigned i = 0; i < HOSTS; i++) {
        if (w->hosts[i].address == address) {
            sums_take(&sums, &w->hosts[i], !w->hosts[i].is_beyond);
        }
    }
    return sums;
}

static bool is_beyond(uint64_t count, uint64_t most)
{
    return most > 0 && count >= most;
}

static const char *expected_refusal(const World *w, unsigned host)
{
    const ModelHost *m = &w->hosts[host];
    const HostLimits *most = &w->ingest.options.limits;
    Sums domain = sums_of_domain(w, host % DOMAINS);
    Sums address = sums_of_address(w, m->address);
    if (m->urls == 0 && is_beyond(domain.hosts, most->hosts_per_domain)) {
        return "limits.hosts_per_domain";
    }
    if (is_beyond(domain.queued, most->urls_per_domain)) {
        return "limits.urls_per_domain";
    }
    if (is_beyond(domain.pages, most->pages_per_domain)) {
        return "limits.pages_per_domain";
    }
    return m->address != 0 && is_beyond(address.queued, most->urls_per_address)
               ? "limits.urls_per_address"
               : NULL;
}

static bool expected_enough(const World *w, unsigned host, HostLimit *limit)
{
    const ModelHost *m = &w->hosts[host];
    const HostLimits *most = &w->ingest.options.limits;
    const struct {
        HostLimit limit;
        bool met;
    } limits[] = {
        {LIMIT_HOST_PAGES, is_beyond(m->pages, most->pages_per_host)},
        {LIMIT_ADDRESS_HOSTS, m->is_beyond && !m->is_full},
        {LIMIT_DOMAIN_PAGES, m->in_domain && is_beyond(sums_of_domain(w, host % DOMAINS).pages,
                                                       most->pages_per_domain)},
        {LIMIT_ADDRESS_PAGES, m->address != 0 && is_beyond(sums_of_address(w, m->address).pages,
                                                           most->pages_per_address)},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (limits[i].met) {
            *limit = limits[i].limit;
            return true;
        }
    }
    return false;
}

/* ---- random steps ---- */

static void step_find_url(World *w, unsigned host)
{
    ModelHost *m = &w->hosts[host];
    const char *expected = m->is_full ? NULL : expected_refusal(w, host);
    if (m->is_full) {
        return; /* nobody asks */
    }
    const char *limit = find_url(w, host);
    CU_ASSERT_TRUE(expected == NULL ? limit == NULL
                                    : limit != NULL && strcmp(limit, expected) == 0);
    if (limit == NULL) {
        m->in_domain = true;
        m->urls++;
        m->queued++;
    }
    w->answers[limit == NULL ? 7 : strlen(limit) % 7]++;
}

/* A URL has its result, which is a page or none. */
static void step_fetch(World *w, unsigned host)
{
    ModelHost *m = &w->hosts[host];
    if (m->queued == 0) {
        return;
    }
    BatchHost *found = host_of(w, host);
    host_groups_left(&w->batch, found, 1);
    m->queued--;
    if (dice_below(&w->dice, 3) > 0) {
        found->record.pages++;
        host_groups_stored(&w->batch, found);
        m->pages++;
    }
}

/* The host has an address, and then another one. */
static void step_place(World *w, unsigned host)
{
    ModelHost *m = &w->hosts[host];
    unsigned number = 1 + (unsigned)dice_below(&w->dice, ADDRESSES);
    IpAddress address = address_number(number);
    bool beyond =
        is_beyond(sums_of_address(w, number).hosts, w->ingest.options.limits.hosts_per_address);
    CU_ASSERT_EQUAL(host_groups_place(&w->batch, host_of(w, host), &address), RESULT_OK);
    if (m->address == 0) {
        m->address = number;
        m->is_beyond = beyond;
    }
}

/* As the end of a batch does it: a host that has enough loses what it has queued. */
static void fill(World *w)
{
    for (unsigned i = 0; i < HOSTS; i++) {
        ModelHost *m = &w->hosts[i];
        HostLimit expected = LIMIT_HOST_PAGES;
        HostLimit limit = LIMIT_HOST_PAGES;
        BatchHost *host = m->is_full ? NULL : host_of(w, i);
        if (host == NULL) {
            continue;
        }
        bool has_enough = expected_enough(w, i, &expected);
        CU_ASSERT_EQUAL(host_groups_have_enough(&w->batch, host, &limit), has_enough);
        if (has_enough) {
            CU_ASSERT_EQUAL(limit, expected);
            host_groups_left(&w->batch, host, m->queued);
            m->queued = 0;
            m->is_full = true;
        }
    }
}

static void check_group(World *w, MDB_txn *txn, uint64_t key, Sums expected)
{
    GroupRecord group;
    CU_ASSERT_EQUAL(group_rows_get(w->ingest.tables.store.groups, txn, key, &group), RESULT_OK);
    CU_ASSERT_EQUAL(group.hosts, expected.hosts);
    CU_ASSERT_EQUAL(group.queued, expected.queued);
    CU_ASSERT_EQUAL(group.pages, expected.pages);
}

static void check_groups(World *w)
{
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    for (unsigned i = 0; i < DOMAINS; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "d%u.example", i);
        check_group(w, txn, group_key_of_domain(name, strlen(name)), sums_of_domain(w, i));
    }
    for (unsigned i = 1; i <= ADDRESSES; i++) {
        IpAddress address = address_number(i);
        check_group(w, txn, group_key_of_address(&address), sums_of_address(w, i));
    }
    page_db_txn_abort(w->ingest.tables.store.db, txn);
}

static void run_against_the_model(uint64_t seed, const HostLimits *limits, unsigned answers[8])
{
    static void (*const steps[])(World *, unsigned) = {step_find_url, step_find_url, step_fetch,
                                                       step_place};
    World *w = set_up();
    w->dice.state = seed;
    w->ingest.options.limits = *limits;
    for (unsigned i = 0; i < BATCHES; i++) {
        ModelHost saved[HOSTS];
        memcpy(saved, w->hosts, sizeof saved);
        begin(w);
        for (uint64_t n = dice_below(&w->dice, MOST_STEPS); n > 0; n--) {
            steps[dice_below(&w->dice, 4)](w, (unsigned)dice_below(&w->dice, HOSTS));
        }
        fill(w);
        bool really = dice_below(&w->dice, 4) > 0;
        end(w, really);
        if (!really) {
            memcpy(w->hosts, saved, sizeof saved);
        }
        check_groups(w);
    }
    for (size_t i = 0; i < 8; i++) {
        answers[i] += w->answers[i];
    }
    tear_down(w);
}

static void groups_count_what_their_hosts_have(void)
{
    static const HostLimits limits[] = {
        {.pages_per_host = 20},
        {.hosts_per_domain = 2, .urls_per_domain = 9, .pages_per_domain = 40},
        {.hosts_per_address = 2, .pages_per_address = 60, .urls_per_address = 5},
    };
    unsigned answers[8] = {0};
    for (uint64_t i = 0; i < 6; i++) {
        run_against_the_model(7 + i, &limits[i % 3], answers);
    }
    CU_ASSERT_TRUE(answers[7] > 500);
    CU_ASSERT_TRUE(answers[strlen("limits.hosts_per_domain") % 7] > 0);
    CU_ASSERT_TRUE(answers[strlen("limits.urls_per_domain") % 7] > 0);
    CU_ASSERT_TRUE(answers[strlen("limits.pages_per_domain") % 7] > 0);
    CU_ASSERT_TRUE(answers[strlen("limits.urls_per_address") % 7] > 0);
}

/* An older version counted no groups. */
static void a_host_that_was_not_counted_joins_with_what_it_has(void)
{
    World *w = set_up();
    begin(w);
    BatchHost *host = host_of(w, 0);
    host->record.urls = 9;
    host->record.queued = 4;
    host->record.pages = 5;
    host_groups_left(&w->batch, host, 1);
    host_groups_stored(&w->batch, host);
    CU_ASSERT_PTR_NULL(find_url(w, 0));
    w->hosts[0] = (ModelHost){.queued = 4, .pages = 5, .in_domain = true};
    end(w, true);
    check_groups(w);
    /* Nothing is taken away that is not there. */
    begin(w);
    host_groups_left(&w->batch, host_of(w, 0), 100);
    CU_ASSERT_EQUAL(host_of(w, 0)->record.queued, 0);
    host_of(w, 0)->record.queued = 3;
    host_groups_left(&w->batch, host_of(w, 0), 2);
    CU_ASSERT_EQUAL(host_of(w, 0)->record.queued, 1);
    w->hosts[0].queued = 0;
    end(w, true);
    check_groups(w);
    tear_down(w);
}

/* ---- limits of a site ---- */

static bool site_config(void *context, const char *hostname, Config *config)
{
    (void)context;
    *config = (Config){.limits_urls_per_domain = strcmp(hostname, "h0.d0.example") == 0 ? 5 : 2};
    return true;
}

static void a_site_may_go_beyond_what_others_of_its_domain_may(void)
{
    World *w = set_up();
    w->ingest.options.host_config = site_config;
    begin(w);
    for (unsigned i = 0; i < 2; i++) {
        CU_ASSERT_PTR_NULL(find_url(w, 3));
    }
    CU_ASSERT_PTR_NOT_NULL(find_url(w, 3));
    for (unsigned i = 2; i < 5; i++) {
        CU_ASSERT_PTR_NULL(find_url(w, 0)); /* what the other has counts */
    }
    CU_ASSERT_PTR_NOT_NULL(find_url(w, 0));
    CU_ASSERT_PTR_NOT_NULL(find_url(w, 6)); /* and what it has, for the others */
    end(w, true);
    tear_down(w);
}

/* ---- links ---- */

/* A page with these links, each with a kind and a hop of its own. */
static ParsedPage *page_with(const char *const *urls, size_t n)
{
    FetchResult *fetch = fetch_result_new(FETCHED_PAGE);
    fetch->request.url = strdup("http://from.example/");
    ParsedPage *page = parsed_page_new(fetch);
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        length += strlen(urls[i]) + 1;
    }
    char *memory = malloc(n * (sizeof(LinkInfo) + 1) + length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    page->links.list = (LinkInfo *)(void *)memory;
    page->links.hops = (uint8_t *)memory + n * sizeof(LinkInfo);
    page->links.bytes = memory + n * (sizeof(LinkInfo) + 1);
    page->links.n = n;
    char *at = page->links.bytes;
    for (size_t i = 0; i < n; i++) {
        size_t bytes = strlen(urls[i]) + 1;
        page->links.list[i] = (LinkInfo){.url = memcpy(at, urls[i], bytes), .score = (float)i};
        page->links.hops[i] = (uint8_t)('A' + i);
        at += bytes;
    }
    return page;
}

static void links_to_further_hosts_of_a_crowded_domain_are_dropped(void)
{
    static const char *const urls[] = {
        "http://h0.d0.example:81/",    /* one too many */
        "http://h0.d0.example/a",      /* known */
        "http://new.d0.example/a",     /* one too many, too */
        "http://new.d0.example/b",     /* as its neighbour */
        "http://other.example/",       /* another domain */
        "http://new.d0.example/c",     /* again */
        "http://u@h0.d0.example/user", /* known */
    };
    World *w = set_up();
    w->ingest.options.limits.hosts_per_domain = 1;
    begin(w);
    ParsedPage *page = page_with(urls, 7);
    CU_ASSERT_EQUAL(host_groups_drop_links(&w->batch, page), RESULT_OK);
    CU_ASSERT_EQUAL(page->links.n, 7); /* none was refused yet */
    CU_ASSERT_PTR_NULL(find_url(w, 0));
    CU_ASSERT_EQUAL(host_groups_drop_links(&w->batch, page), RESULT_OK);
    CU_ASSERT_EQUAL(page->links.n, 7);
    CU_ASSERT_STRING_EQUAL(find_url(w, 3), "limits.hosts_per_domain");
    CU_ASSERT_EQUAL(host_groups_drop_links(&w->batch, page), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(page->links.n, 3);
    static const size_t kept[] = {1, 4, 6};
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_STRING_EQUAL(page->links.list[i].url, urls[kept[i]]);
        CU_ASSERT_EQUAL(page->links.hops[i], 'A' + kept[i]);
    }
    CU_ASSERT_EQUAL(w->batch.totals.refused[REFUSED_DOMAIN], 4);
    parsed_page_delete(page);
    end(w, true);
    /* In the next batch, too. */
    begin(w);
    page = page_with(&urls[2], 1);
    CU_ASSERT_EQUAL(host_groups_drop_links(&w->batch, page), RESULT_OK);
    CU_ASSERT_EQUAL(page->links.n, 0);
    parsed_page_delete(page);
    end(w, true);
    tear_down(w);
}

UNIT_MAIN("host_groups", {"groups count what their hosts have", groups_count_what_their_hosts_have},
          {"a host that was not counted joins with what it has",
           a_host_that_was_not_counted_joins_with_what_it_has},
          {"a site may go beyond what others of its domain may",
           a_site_may_go_beyond_what_others_of_its_domain_may},
          {"links to further hosts of a crowded domain are dropped",
           links_to_further_hosts_of_a_crowded_domain_are_dropped})
