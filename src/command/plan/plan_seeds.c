#include "command/plan/plan_seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

#include "base/memory/array.h"
#include "crawl/crawl_view.h"
#include "forecast/forecast.h"
#include "crawl/agent/agent.h"
#include "crawl/seeds/seed_verdict.h"
#include "logs/crawl_log_line.h"
#include "logs/log_reader.h"
#include "report/write/report_words.h"

/* Plan hosts: the hosts of a dry run, with their addresses and how often they may be asked.
 *
 * What: addresses stand in crawl.log of the dry run, delays in the records of its hosts.
 * Owns: its list, and the pages that politeness.usage has refused.
 * Threads: one.
 * Errors: RESULT_MEMORY, RESULT_IO, RESULT_DAMAGED. */

typedef struct PlanHost {
    HostRecord record;
    HostPace pace;
    IpAddress address;
    bool has_address;
    bool has_seed; /* it is the host of one, */
    bool is_open;  /* which may be fetched */
} PlanHost;

typedef struct PlanHosts {
    PlanHost *hosts; /* by id */
    size_t n;
    Map usage; /* page -> itself: politeness.usage has refused it */
} PlanHosts;

/* What politeness comes to for the open ones. */
typedef struct PlanSums {
    size_t hosts; /* of seeds */
    size_t open_hosts;
    size_t addresses; /* of them */
    double pages_per_day;
    const PlanHost *slowest; /* host that allows least; NULL: none is open */
    const PlanHost *crowded; /* one of the address that allows least for each of its hosts */
    size_t crowded_hosts;
    double crowded_per_day;
} PlanSums;

#define DAY_S   86400.0
#define LEAST_S 1e-6 /* a host without any delay, whose fetches took no time */

/* ---- reading ---- */

static void plan_hosts_take_address(PlanHosts *hosts, CrawlView *view, MDB_txn *txn,
                                    const CrawlLogLine *line)
{
    char scratch[LOG_ORIGIN_BYTES];
    uint32_t host = 0;
    LogText origin = log_text_origin(line->url, scratch);
    if (line->was_sent &&
        page_db_host_find(view->db, txn, origin.bytes, origin.length, &host) == page_db_error_ok &&
        host < hosts->n) {
        hosts->hosts[host].address = line->address;
        hosts->hosts[host].has_address = true;
    }
}

/* The rule that the dry run refuses everything by is not told. */
static Result take_refusal(PlanHosts *hosts, CrawlView *view, MDB_txn *txn,
                           const CrawlLogLine *line)
{
    uint64_t index = 0;
    if (line->status != STATUS_BLOCKED || !log_text_is(line->rule, "politeness.usage") ||
        page_db_find(view->db, txn, line->url.bytes, line->url.length, &index) !=
            page_db_error_ok) {
        return RESULT_OK;
    }
    return map_put(&hosts->usage, map_key(index), hosts);
}

typedef struct PlanReading {
    PlanHosts *hosts;
    CrawlView *view;
    MDB_txn *txn;
} PlanReading;

static Result plan_hosts_take_line(void *context, const char *text, size_t length)
{
    const PlanReading *reading = context;
    CrawlLogLine line;
    const char *why = NULL;
    if (crawl_log_line_parse(text, length, &line, &why) != RESULT_OK) {
        return RESULT_OK;
    }
    plan_hosts_take_address(reading->hosts, reading->view, reading->txn, &line);
    return take_refusal(reading->hosts, reading->view, reading->txn, &line);
}

static Result read_hosts(PlanHosts *hosts, CrawlView *view, MDB_txn *txn, const Config *config)
{
    HostPaces paces;
    Result rc = RESULT_OK;
    host_paces_init(&paces, config, view->db, 0);
    for (size_t i = 0; rc == RESULT_OK && i < hosts->n; i++) {
        PlanHost *host = &hosts->hosts[i];
        rc = host_rows_get(view->hosts, txn, (uint32_t)i, &host->record);
        if (rc == RESULT_OK) {
            rc = host_pace_find(&paces, txn, (uint32_t)i, &host->record, &host->pace);
        }
    }
    host_paces_destroy(&paces);
    return rc;
}

static Result plan_hosts_read(PlanHosts *hosts, CrawlView *view, const Config *config)
{
    MDB_txn *txn = NULL;
    *hosts = (PlanHosts){.hosts = NULL};
    if (page_db_txn_begin(view->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    hosts->n = page_db_n_hosts(view->db, txn);
    hosts->hosts = calloc(hosts->n + 1, sizeof *hosts->hosts);
    Result rc = hosts->hosts == NULL ? RESULT_MEMORY : read_hosts(hosts, view, txn, config);
    if (rc == RESULT_OK) {
        PlanReading reading = {hosts, view, txn};
        Path path;
        rc = log_reader_each(file_path(&path, "%s/crawl.log", view->directory),
                             plan_hosts_take_line, &reading, NULL);
    }
    page_db_txn_abort(view->db, txn);
    return rc;
}

/* ---- sums ---- */

/* Pages a day that the host's own delays and those of its address allow. */
static double plan_host_per_day(const PlanHost *host)
{
    return DAY_S / fmax(fmax(host->pace.host_s, host->pace.address_s), LEAST_S);
}

/* What an address allows: no more than its hosts by themselves, nor one after the other. */
static void take_address_sum(PlanSums *sums, const PlanHost *first, size_t n)
{
    double alone = 0;
    double turn_s = 0;
    for (size_t i = 0; i < n; i++) {
        double per_day = plan_host_per_day(&first[i]);
        alone += per_day;
        turn_s += fmax(first[i].pace.address_s, LEAST_S);
        if (sums->slowest == NULL || per_day < plan_host_per_day(sums->slowest)) {
            sums->slowest = &first[i];
        }
    }
    double per_day = fmin(alone, (double)n * DAY_S / turn_s);
    sums->addresses++;
    sums->open_hosts += n;
    sums->pages_per_day += per_day;
    if (n > 1 && (sums->crowded == NULL ||
                  per_day / (double)n < sums->crowded_per_day / (double)sums->crowded_hosts)) {
        sums->crowded = first;
        sums->crowded_hosts = n;
        sums->crowded_per_day = per_day;
    }
}

/* Sorts the hosts by address: ids do not count from then on. */
static PlanSums plan_hosts_sum(PlanHosts *hosts)
{
    PlanSums sums = {.hosts = 0};
    for (size_t i = 0; i < hosts->n; i++) {
        sums.hosts += hosts->hosts[i].has_seed;
    }
    array_sort(hosts->hosts, hosts->n, sizeof *hosts->hosts, ARRAY_FALLING(PlanHost, is_open),
               ARRAY_KEY(PlanHost, pace.address));
    for (size_t first = 0; first < hosts->n && hosts->hosts[first].is_open;) {
        size_t end = first + 1;
        uint64_t address = hosts->hosts[first].pace.address;
        while (end < hosts->n && hosts->hosts[end].is_open && address != 0 &&
               hosts->hosts[end].pace.address == address) {
            end++;
        }
        take_address_sum(&sums, &hosts->hosts[first], end - first);
        first = end;
    }
    return sums;
}

/* Plan verdicts: what a dry run of seeds came to.
 *
 * What: a line for each seed: whether it may be fetched, its host's address, how many pages a day
 * politeness allows of the host, its Crawl-delay, and what stands in the way; then the sitemaps
 * that robots.txt of each host names, and all hosts and addresses together.
 * Memory: some 60 bytes for each host, of seeds nothing.
 * Owns: nothing beyond a call.
 * Threads: main. */

typedef struct Look {
    CrawlView *view;
    const Config *config;
    MDB_txn *txn;
    SeedRows seeds;
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
    Buffer line;
} Look;

/* ---- one seed ---- */

static bool own_filter_refuses(const Look *look)
{
    Url url = {.href = NULL};
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

static Result take_seed(void *context, const SeedEntry *seed)
{
    Look *look = context;
    Robots *robots = NULL;
    if (page_db_get(look->view->db, look->txn, seed->index, &look->page, &look->url) !=
        page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    if (look->page.host >= look->hosts.n) {
        return RESULT_DAMAGED;
    }
    PlanHost *host = &look->hosts.hosts[look->page.host];
    bool open = plan_verdicts_is_open(look, host);
    /* A host's sitemaps stand behind its first seed. */
    size_t n_sitemaps = 0;
    if (!host->has_seed &&
        host_rows_get_rules(look->view->hosts, look->txn, look->page.host,
                            look->config->robots_agent, NULL, &robots, NULL) == RESULT_OK) {
        n_sitemaps = robots_n_sitemaps(robots);
    }
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

/* ---- all of them ---- */

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

static Result plan_verdicts_take_all(Look *look)
{
    Result rc = lmdb_table_open(&look->seeds, look->txn, SEED_TABLE, MDB_INTEGERKEY);
    if (rc == RESULT_OK) {
        rc = seed_rows_each(look->seeds, look->txn, take_seed, look);
    }
    if (rc == RESULT_OK) {
        PlanSums sums = plan_hosts_sum(&look->hosts);
        if (look->json) {
            JsonWriter json;
            buffer_reset(&look->line);
            json_init(&json, &look->line);
            json_open(&json, NULL, '{');
            json_count(&json, "seeds", look->n_seeds);
            json_count(&json, "open_seeds", look->n_open);
            json_count(&json, "hosts", sums.hosts);
            json_count(&json, "open_hosts", sums.open_hosts);
            json_count(&json, "open_addresses", sums.addresses);
            json_count(&json, "sitemaps", look->n_sitemaps);
            json_real(&json, "pages_per_day", sums.pages_per_day, 0);
            json_close(&json);
            (void)printf("%s\n", buffer_string(&look->line));
            rc = json.result;
        } else {
            sum_text(look, &sums);
        }
    }
    return rc;
}

/* Of the crawl that view shows; config is what a crawl of the seeds would have. *all_open: nothing
 * stands in the way of any. RESULT_MEMORY, RESULT_IO, RESULT_DAMAGED. */
static Result plan_verdicts_tell(CrawlView *view, const Config *config, bool json, bool *all_open)
{
    Look look = {.view = view, .config = config, .json = json};
    Buffer error = {.limit = 4096};
    buffer_init(&look.url, BUFFER_NO_LIMIT);
    buffer_init(&look.reason, BUFFER_NO_LIMIT);
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
    free(look.hosts.hosts);
    map_destroy(&look.hosts.usage);
    filter_scratch_delete(look.scratch);
    filters_destroy(&look.filters);
    buffer_destroy(&look.url);
    buffer_destroy(&look.reason);
    buffer_destroy(&look.line);
    buffer_destroy(&error);
    return rc;
}

/* ---- Plan seeds ---- */

/* What a dry run has otherwise than the crawl that it stands for. No URL is shorter than a byte: so
 * each page is refused by the last rule that is asked. */
static const char *const changes[][2] = {
    {"filter.fetch", "URLShorterThan(1)"},
    {"warc.enabled", "no"},
    {"robots.tdm_file", "no"},
    {"score.scorer", "none"},
    {"schedule.mode", "once"},
    {"limits.tail", "1s"}, /* a host that has failed is not asked again */
    {"crawl.max_pages", "0"},
    {"crawl.max_bytes", "0"},
    {"crawl.max_duration", "0"},
    {"crawl.max_total_duration", "0"},
    {"crawl.start_paused", "no"},
    {"cluster.url", ""},
    {"control.listen", ""},
    {"log.skipped", "off"},
};

static int plan_seeds_change(Config *config)
{
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Result rc = RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < sizeof changes / sizeof *changes; i++) {
        rc = options_set(&config->options, changes[i][0], changes[i][1], "ragno plan", &error);
    }
    return exit_status_tell("plan", rc, &error) == 0 ? 0 : EXIT_INTERNAL;
}

/* Another look at the configuration while it runs would make a crawl of it. */
static bool no_reload(void *context, Config *fresh, Buffer *error)
{
    (void)context;
    (void)fresh;
    (void)buffer_append_string(error, "a dry run takes no other settings");
    return false;
}

static int plan_seeds_crawl(const PlanSeeds *seeds, Config *config, const char *folder)
{
    AgentOptions agent = {.config = config,
                          .settings = CONFIG_FILE_NONE,
                          .directory = folder,
                          .seed_files = calloc(PLAN_SEED_FILES, sizeof *agent.seed_files),
                          .n_seed_files = seeds->n_files,
                          .seed_words = seeds->words,
                          .n_seed_words = seeds->n_words,
                          .reload = no_reload,
                          .quiet = true,
                          .is_dry = true};
    if (agent.seed_files == NULL) {
        return EXIT_INTERNAL;
    }
    memcpy(agent.seed_files, seeds->files, seeds->n_files * sizeof *agent.seed_files);
    int status = agent_run(&agent);
    free(agent.seed_files);
    return status;
}

static int plan_seeds_tell(const Config *config, const char *folder, bool json, bool *all_open)
{
    CrawlView view;
    int status = crawl_view_open(&view, "plan", folder);
    if (status == 0) {
        Result rc = plan_verdicts_tell(&view, config, json, all_open);
        if (rc != RESULT_OK) {
            (void)fprintf(stderr, "ragno plan: %s\n", result_name(rc));
            status = rc == RESULT_MEMORY ? EXIT_INTERNAL : EXIT_IO;
        }
        crawl_view_close(&view);
    }
    return status;
}

/* The status of the dry run, and what its seeds came to. */
static int plan_seeds_conclude(int crawled, int told, bool all_open)
{
    if (told != 0) {
        return told;
    }
    if (crawled == EXIT_SIGNAL || crawled == EXIT_FORCED) {
        return crawled;
    }
    return all_open ? 0 : EXIT_NEGATIVE;
}

static bool has_ended(int status)
{
    return status == EXIT_FINISHED || status == EXIT_TAIL || status == EXIT_NO_SEED ||
           status == EXIT_SIGNAL || status == EXIT_FORCED;
}

int plan_seeds(const PlanSeeds *seeds, const CheckOptions *options, bool json)
{
    Config as_asked; /* what a crawl would have */
    Config dry = {.options = {.specs = NULL}};
    Path folder;
    bool all_open = true;
    int status = check_options_load(options, &as_asked);
    if (status == 0) {
        status = check_options_load(options, &dry);
    }
    if (status == 0) {
        status = plan_seeds_change(&dry);
    }
    if (status == 0 && file_make_folder(&folder, "plan") != RESULT_OK) {
        (void)fprintf(stderr, "ragno plan: %s cannot be made (TMPDIR)\n", folder.text);
        status = EXIT_IO;
    }
    if (status == 0) {
        status = plan_seeds_crawl(seeds, &dry, folder.text);
        if (has_ended(status)) {
            int told = plan_seeds_tell(&as_asked, folder.text, json, &all_open);
            status = plan_seeds_conclude(status, told, all_open);
        }
        file_remove(folder.text);
    }
    config_destroy(&as_asked);
    config_destroy(&dry);
    return status;
}
