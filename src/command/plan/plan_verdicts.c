#include "command/plan/plan_verdicts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "base/memory/json_writer.h"
#include "command/plan/plan_hosts.h"
#include "crawl/seeds/seed_verdict.h"
#include "fetch/transfer/fetch_result.h"
#include "parse/robots/robots.h"
#include "parse/url/url.h"
#include "report/tell/report_words.h"
#include "rules/filters.h"
#include "store/tables/seed_table.h"

#define PIECE 256u

typedef struct Look {
    CrawlView *view;
    const Config *config;
    MDB_txn *txn;
    SeedTable *seeds;
    PlanHosts hosts;
    Filters filters;
    FilterScratch *scratch;
    bool json;
    uint64_t n_seeds;
    uint64_t n_open;
    uint64_t n_sitemaps;
    PageRef page;
    Buffer url;
    Buffer reason;
    Buffer robots_text;
    Buffer line;
} Look;

/* ---- one seed ----------------------------------------------------------------------------------
 */

static bool own_filter_refuses(const Look *look)
{
    Url url;
    url_init(&url);
    bool refuses = false;
    if (look->filters.of[HOOK_FETCH] != NULL &&
        url_parse(&url, NULL, look->page.url, look->page.url_length) == RESULT_OK) {
        FilterInput input = {.url = &url, .has_depth = true, .depth = 0};
        refuses = !filters_pass(&look->filters, HOOK_FETCH, &input, look->scratch);
    }
    url_destroy(&url);
    return refuses;
}

/* Whether it would be fetched: reason says why not. The dry run's own rule is the last one. */
static bool plan_verdicts_is_open(Look *look, const PlanHost *host)
{
    buffer_reset(&look->reason);
    if (look->page.status == STATUS_BLOCKED &&
        map_get(&look->hosts.usage, map_key(look->page.index)) != NULL) {
        (void)buffer_append_string(&look->reason,
                                   "politeness.usage refuses it, for what its host denies");
        return false;
    }
    if (look->page.status == STATUS_BLOCKED && !own_filter_refuses(look)) {
        return true;
    }
    SeedState state = seed_reason_tell(look->view->hosts, look->config, look->txn, &look->page,
                                       &host->record, &look->reason);
    if (state == SEED_IS_TO_COME) {
        (void)buffer_append_string(&look->reason, "not known: it was not its turn yet");
    }
    return false;
}

/* The sitemaps that its robots.txt names; *robots is to be deleted. */
static size_t read_sitemaps(Look *look, Robots **robots)
{
    buffer_reset(&look->robots_text);
    *robots = NULL;
    Result rc =
        host_table_get_robots(look->view->hosts, look->txn, look->page.host, &look->robots_text);
    if (rc != RESULT_OK || robots_parse(buffer_string(&look->robots_text), look->robots_text.length,
                                        look->config->robots_agent, robots) != RESULT_OK) {
        return 0;
    }
    return robots_n_sitemaps(*robots);
}

static void put_text(Look *look, const PlanHost *host, bool open, const Robots *robots,
                     size_t n_sitemaps)
{
    char address[IP_ADDRESS_TEXT_BYTES];
    char text[WORDS_BYTES];
    (void)buffer_printf(&look->line, "%s\t%.*s\t%s\t", open ? "open" : "closed",
                        (int)look->page.url_length, look->page.url,
                        host->has_address ? ip_address_format(&host->address, address) : "-");
    if (open) {
        (void)buffer_printf(&look->line, "%.0f pages a day", plan_host_per_day(host));
        if (host->record.crawl_delay_ms > 0) {
            (void)buffer_printf(&look->line, ", Crawl-delay %s",
                                words_ms(host->record.crawl_delay_ms, text));
        }
    } else {
        (void)buffer_append_string(&look->line, buffer_string(&look->reason));
    }
    (void)buffer_append_char(&look->line, '\n');
    for (size_t i = 0; i < n_sitemaps; i++) {
        (void)buffer_printf(&look->line, "sitemap\t%s\n", robots_sitemap(robots, i));
    }
}

static void plan_verdicts_put_json(Look *look, const PlanHost *host, bool open,
                                   const Robots *robots, size_t n_sitemaps)
{
    char address[IP_ADDRESS_TEXT_BYTES];
    JsonWriter json;
    json_init(&json, &look->line);
    json_open(&json, NULL, '{');
    json_text(&json, "seed", look->page.url, look->page.url_length);
    json_bool(&json, "open", open);
    json_string(&json, "reason", open ? NULL : buffer_string(&look->reason));
    json_integer(&json, "status", open ? 0 : look->page.status);
    json_string(&json, "address",
                host->has_address ? ip_address_format(&host->address, address) : NULL);
    json_real(&json, "crawl_delay_s", (double)host->record.crawl_delay_ms / 1e3, 3);
    json_integer(&json, "robots_status", host->record.robots_status);
    json_real(&json, "pages_per_day", open ? plan_host_per_day(host) : 0, 0);
    json_open(&json, "sitemaps", '[');
    for (size_t i = 0; i < n_sitemaps; i++) {
        json_string(&json, NULL, robots_sitemap(robots, i));
    }
    json_close(&json);
    json_close(&json);
    (void)buffer_append_char(&look->line, '\n');
}

static Result take_seed(Look *look, uint64_t index)
{
    Robots *robots = NULL;
    if (page_db_get(look->view->db, look->txn, index, &look->page, &look->url) !=
        page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    if (look->page.host >= look->hosts.n) {
        return RESULT_DAMAGED;
    }
    PlanHost *host = &look->hosts.hosts[look->page.host];
    bool open = plan_verdicts_is_open(look, host);
    /* A host's sitemaps stand behind its first seed. */
    size_t n_sitemaps = host->has_seed ? 0 : read_sitemaps(look, &robots);
    host->has_seed = true;
    host->is_open = host->is_open || open;
    look->n_seeds++;
    look->n_open += open;
    look->n_sitemaps += n_sitemaps;
    buffer_reset(&look->line);
    if (look->json) {
        plan_verdicts_put_json(look, host, open, robots, n_sitemaps);
    } else {
        put_text(look, host, open, robots, n_sitemaps);
    }
    robots_delete(robots);
    return fwrite(buffer_string(&look->line), 1, look->line.length, stdout) == look->line.length
               ? RESULT_OK
               : RESULT_IO;
}

/* ---- all of them -------------------------------------------------------------------------------
 */

static void sum_text(const Look *look, const PlanSums *sums)
{
    char address[IP_ADDRESS_TEXT_BYTES];
    (void)printf("\n%llu seeds on %zu hosts: %llu may be fetched, something stands in the way of "
                 "%llu\n",
                 (unsigned long long)look->n_seeds, sums->hosts, (unsigned long long)look->n_open,
                 (unsigned long long)(look->n_seeds - look->n_open));
    (void)printf("%llu sitemaps are named by robots.txt\n", (unsigned long long)look->n_sitemaps);
    if (sums->slowest == NULL) {
        return;
    }
    (void)printf("politeness allows %.0f pages a day, of %zu hosts on %zu addresses\n",
                 sums->pages_per_day, sums->open_hosts, sums->addresses);
    (void)printf("  the slowest host allows %.0f", plan_host_per_day(sums->slowest));
    if (sums->slowest->has_address) {
        (void)printf(" (at %s)", ip_address_format(&sums->slowest->address, address));
    }
    (void)printf("\n");
    if (sums->crowded != NULL && sums->crowded->has_address) {
        (void)printf("  the most crowded address, %s, allows %.0f to its %zu hosts together\n",
                     ip_address_format(&sums->crowded->address, address), sums->crowded_per_day,
                     sums->crowded_hosts);
    }
}

static Result sum_json(Look *look, const PlanSums *sums)
{
    JsonWriter json;
    buffer_reset(&look->line);
    json_init(&json, &look->line);
    json_open(&json, NULL, '{');
    json_count(&json, "seeds", look->n_seeds);
    json_count(&json, "open_seeds", look->n_open);
    json_count(&json, "hosts", sums->hosts);
    json_count(&json, "open_hosts", sums->open_hosts);
    json_count(&json, "open_addresses", sums->addresses);
    json_count(&json, "sitemaps", look->n_sitemaps);
    json_real(&json, "pages_per_day", sums->pages_per_day, 0);
    json_close(&json);
    (void)printf("%s\n", buffer_string(&look->line));
    return json.result;
}

static Result plan_verdicts_take_all(Look *look)
{
    SeedEntry entries[PIECE];
    size_t n = PIECE;
    uint64_t next = 0;
    Result rc = seed_table_open(&look->seeds, look->txn);
    while (rc == RESULT_OK && n == PIECE) {
        rc = seed_table_read(look->seeds, look->txn, next, entries, PIECE, &n);
        for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
            rc = take_seed(look, entries[i].index);
            next = entries[i].index + 1;
        }
    }
    seed_table_close(look->seeds);
    if (rc == RESULT_OK) {
        PlanSums sums = plan_hosts_sum(&look->hosts);
        if (look->json) {
            rc = sum_json(look, &sums);
        } else {
            sum_text(look, &sums);
        }
    }
    return rc == RESULT_OK && fflush(stdout) != 0 ? RESULT_IO : rc;
}

Result plan_verdicts_tell(CrawlView *view, const Config *config, bool json, bool *all_open)
{
    Look look = {.view = view, .config = config, .json = json};
    Buffer error;
    buffer_init(&error, 4096);
    buffer_init(&look.url, BUFFER_NO_LIMIT);
    buffer_init(&look.reason, BUFFER_NO_LIMIT);
    buffer_init(&look.robots_text, BUFFER_NO_LIMIT);
    buffer_init(&look.line, BUFFER_NO_LIMIT);
    Result rc = filters_compile(&look.filters, config, &error);
    if (rc == RESULT_OK) {
        rc = filter_scratch_new(&look.scratch);
    }
    if (rc == RESULT_OK) {
        rc = plan_hosts_read(&look.hosts, view, config);
    }
    if (rc == RESULT_OK && page_db_txn_begin(view->db, true, &look.txn) != page_db_error_ok) {
        rc = RESULT_IO;
    }
    if (rc == RESULT_OK) {
        rc = plan_verdicts_take_all(&look);
        page_db_txn_abort(view->db, look.txn);
    }
    *all_open = look.n_open == look.n_seeds;
    plan_hosts_destroy(&look.hosts);
    filter_scratch_delete(look.scratch);
    filters_destroy(&look.filters);
    buffer_destroy(&look.url);
    buffer_destroy(&look.reason);
    buffer_destroy(&look.robots_text);
    buffer_destroy(&look.line);
    buffer_destroy(&error);
    return rc;
}
