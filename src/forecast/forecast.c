#include "forecast/forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "base/memory/file.h"
#include "logs/log_reader.h"
#include "logs/log_text.h"
#include "rules/host_delays.h"
#include "store/pages/page_db_read.h"

/* ---- Forecast load ---- */

#define AT_ONCE                  1024u /* hosts in one read transaction */
#define OWN_LEAST                10    /* finished URLs of a host that weigh as all other hosts */
#define FORECAST_LOAD_BISECTIONS 60

/* ---- what is queued ---- */

Result forecast_load_add(ForecastLoad *load, const HostLoad *host)
{
    load->urls += host->urls;
    load->queued += host->queued;
    return array_add(&load->hosts, &load->n, sizeof *host, host);
}

static int forecast_load_by_address(const void *a, const void *b)
{
    const HostLoad *x = a;
    const HostLoad *y = b;
    return (x->pace.address > y->pace.address) - (x->pace.address < y->pace.address);
}

void forecast_load_sort(ForecastLoad *load)
{
    if (load->n > 0) {
        qsort(load->hosts, load->n, sizeof *load->hosts, forecast_load_by_address);
    }
}

void forecast_load_destroy(ForecastLoad *load)
{
    free(load->hosts);
    *load = (ForecastLoad){.hosts = NULL};
}

/* What became of URLs. */
typedef struct Outcomes {
    double good; /* finished otherwise than by failures, */
    double pages;
    double requests; /* and those for them */
    double failed;   /* URLs that have failed, whether they are given up or tried again */
} Outcomes;

/* What the hosts of one walk are judged by. */
typedef struct LoadReader {
    HostPaces paces;
    RetryRule rules[FETCH_CLASSES];
    int64_t now_ms;
    double fetches;
    double fetch_ms;
    Outcomes all;                 /* of all hosts so far; a host's own ratios begin as theirs */
    double failed[FETCH_CLASSES]; /* of Outcomes.failed */
} LoadReader;

/* How its URLs fail. */
static FetchClass record_failure(const HostRecord *record)
{
    FetchClass class =
        record->last_failure < FETCH_CLASSES ? (FetchClass)record->last_failure : FETCH_SERVER;
    return fetch_class_is_of_url(class) ? class : FETCH_SERVER;
}

static double record_retried(const HostRecord *record)
{
    return record->retried < record->queued ? record->retried : record->queued;
}

static Outcomes load_reader_outcomes(const LoadReader *reader, const HostRecord *record)
{
    const RetryRule *rule = &reader->rules[record_failure(record)];
    double finished = record->urls > record->queued ? record->urls - record->queued : 0;
    double failures = (double)record->by_status[0] + record->by_status[5];
    double given_up = fmax(failures - record->failed_tries, 0) / (rule->retries + 1);
    given_up = fmin(given_up, finished);
    return (Outcomes){.good = finished - given_up,
                      .pages = (double)record->pages + record->duplicates,
                      .requests = fmax(record->fetches - failures, 0),
                      .failed = given_up + record_retried(record)};
}

static void load_reader_sum(LoadReader *reader, const HostRecord *records, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        Outcomes one = load_reader_outcomes(reader, &records[i]);
        reader->fetches += records[i].fetches;
        reader->fetch_ms += (double)records[i].fetch_ms;
        reader->all.good += one.good;
        reader->all.pages += one.pages;
        reader->all.requests += one.requests;
        reader->all.failed += one.failed;
        reader->failed[record_failure(&records[i])] += one.failed;
    }
    reader->paces.typical_ms = reader->fetches > 0 ? reader->fetch_ms / reader->fetches : 0;
}

/* part / whole of a host, which counts by itself when it has many more than OWN_LEAST. */
static double own_ratio(double part, double whole, double all_part, double all_whole)
{
    double common = all_whole > 0 ? all_part / all_whole : 1;
    return (part + OWN_LEAST * common) / (whole + OWN_LEAST);
}

/* What its URLs need: those that have failed already, and the others. */
static void load_reader_find_needs(const LoadReader *reader, const HostRecord *record,
                                   HostLoad *one)
{
    const RetryRule *rule = &reader->rules[record_failure(record)];
    const Outcomes *all = &reader->all;
    Outcomes own = load_reader_outcomes(reader, record);
    double tries = rule->retries + 1;
    double retried = record_retried(record);
    double left_s = (double)(record->retried_until_ms - reader->now_ms) / 1e3;
    double tried = own.good + own.failed;
    one->failing = own_ratio(own.failed, tried, all->failed, all->good + all->failed);
    double requests = own_ratio(own.requests, own.good + 1, all->requests, all->good);
    one->requests = requests * (1 - one->failing) + tries * one->failing;
    one->pages = own_ratio(own.pages, own.good, all->pages, all->good) * (1 - one->failing);
    one->retries = fmax(retried * tries - record->failed_tries, retried);
    one->retry_s = retried > 0 ? fmax(left_s, 0) : 0;
    one->urls = record->queued - retried;
    one->wait_s = fmax((double)(record->not_before_ms - reader->now_ms) / 1e3, 0);
}

/* A host with hours lasts as long as its next ones say, not those of the average day. */
static void load_reader_keep_hours(const LoadReader *reader, HostLoad *one)
{
    const Hours *hours = one->pace.hours;
    double requests = one->urls * one->requests + one->retries;
    one->pace.hours = NULL; /* they are the reader's */
    if (hours == NULL || !(requests > 0)) {
        return;
    }
    WallTime from = {(reader->now_ms + llround(one->wait_s * 1e3)) * 1000};
    double work_ms = requests * one->pace.host_s * hours_share(hours) * 1e3;
    one->pace.host_s = (double)hours_last_ms(hours, from, llround(work_ms)) / 1e3 / requests;
}

static Result forecast_load_take_host(ForecastLoad *load, LoadReader *reader, MDB_txn *txn,
                                      uint32_t host, const HostRecord *record)
{
    HostLoad one = {.host = host, .queued = record->queued, .room = -1};
    if (record->queued == 0 || record->state != HOST_ACTIVE) {
        return RESULT_OK;
    }
    Result rc = host_pace_find(&reader->paces, txn, host, record, &one.pace);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (one.pace.most > 0) {
        one.room = fmax((double)one.pace.most - record->pages, 0);
    }
    load_reader_find_needs(reader, record, &one);
    load_reader_keep_hours(reader, &one);
    return forecast_load_add(load, &one);
}

/* Some records, in one short transaction. */
static Result forecast_load_read_some(ForecastLoad *load, LoadReader *reader, HostRows *table,
                                      HostRecord *records, uint64_t *from, size_t *n)
{
    uint32_t hosts[AT_ONCE];
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(reader->paces.db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = host_rows_read(table, txn, from, hosts, records, AT_ONCE, n);
    if (rc == RESULT_OK) {
        load_reader_sum(reader, records, *n);
    }
    for (size_t i = 0; rc == RESULT_OK && i < *n; i++) {
        rc = forecast_load_take_host(load, reader, txn, hosts[i], &records[i]);
    }
    page_db_txn_abort(reader->paces.db, txn);
    return rc;
}

/* What the failures so far say of those to come. */
static void load_reader_find_chains(const LoadReader *reader, ForecastLoad *load)
{
    for (size_t i = 0; i < FETCH_CLASSES; i++) {
        const RetryRule *rule = &reader->rules[i];
        load->share[i] = reader->all.failed > 0 ? reader->failed[i] / reader->all.failed : 0;
        load->chain_s[i] = (double)rule->wait_ms * (exp2(rule->retries) - 1) / 1e3;
    }
}

static Result load_reader_rules(LoadReader *reader, const Config *config)
{
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    politeness_default_rules(reader->rules);
    Result rc = politeness_parse_rules(reader->rules, config->politeness_retry, &error);
    buffer_destroy(&error);
    return rc;
}

Result forecast_load_read(ForecastLoad *load, PageDB *db, HostRows *table, const Config *config,
                          int64_t now_ms)
{
    LoadReader reader = {.now_ms = now_ms};
    HostRecord *records = malloc(AT_ONCE * sizeof *records);
    uint64_t from = 0;
    size_t n = table == NULL ? 0 : AT_ONCE;
    *load = (ForecastLoad){.hosts = NULL};
    host_paces_init(&reader.paces, config, db, 0);
    Result rc = records == NULL ? RESULT_MEMORY : load_reader_rules(&reader, config);
    while (rc == RESULT_OK && n == AT_ONCE) {
        rc = forecast_load_read_some(load, &reader, table, records, &from, &n);
    }
    load_reader_find_chains(&reader, load);
    host_paces_destroy(&reader.paces);
    free(records);
    forecast_load_sort(load);
    for (size_t i = 0; i < load->n; i++) {
        load->n_addresses += i == 0 || load->hosts[i].pace.address == 0 ||
                             load->hosts[i].pace.address != load->hosts[i - 1].pace.address;
    }
    return rc;
}

/* ---- how long it lasts ---- */

/* Hosts that take turns. */
typedef struct Group {
    size_t first;
    size_t n;
    double queued;
    double pages;
    double seconds;
    double address_s; /* by the delays of the address alone */
} Group;

/* URLs that a host still finishes when each of those that are queued stands for scale. */
static double host_load_urls(const HostLoad *host, double scale)
{
    double urls = host->urls * scale;
    return host->room >= 0 && host->room < urls * host->pages ? host->room / host->pages : urls;
}

/* As long as its requests need. */
static double host_load_busy_s(const HostLoad *host, double scale)
{
    double requests = host_load_urls(host, scale) * host->requests + host->retries;
    return requests * host->pace.host_s;
}

/* The same, with its waits, but for those of URLs that have not failed yet. */
static double host_load_seconds(const HostLoad *host, double scale)
{
    double busy_s = host->wait_s + host_load_busy_s(host, scale);
    return fmax(busy_s, host->retry_s > 0 ? host->retry_s + host->pace.host_s : 0);
}

/* How many URLs, on an average, of those that have not failed yet will wait for their last try
 * after that time: a URL fails anywhere in the time that its host is busy. */
static double host_load_late(const HostLoad *host, double scale, double chain_s, double seconds)
{
    double failing = host_load_urls(host, scale) * host->failing;
    double busy_s = host_load_busy_s(host, scale);
    double early_s = seconds - host->wait_s - chain_s; /* who fails behind it is late */
    return busy_s > 0 ? failing * fmin(fmax(1 - early_s / busy_s, 0), 1) : 0;
}

static double forecast_load_late(const ForecastLoad *load, double scale, double seconds)
{
    double late = 0;
    for (size_t class = 0; class < FETCH_CLASSES; class ++) {
        for (size_t i = 0; i < load->n && load->share[class] > 0; i++) {
            late += load->share[class] *
                    host_load_late(&load->hosts[i], scale, load->chain_s[class], seconds);
        }
    }
    return late;
}

/* The hosts from *at on that have one address; *at moves on behind them. */
static Group next_group(const ForecastLoad *load, double scale, size_t *at)
{
    Group group = {.first = *at};
    uint64_t address = load->hosts[*at].pace.address;
    do {
        const HostLoad *host = &load->hosts[(*at)++];
        double urls = host_load_urls(host, scale);
        group.pages += urls * host->pages;
        group.queued += host->queued;
        group.address_s += (urls * host->requests + host->retries) * host->pace.address_s;
        group.seconds = fmax(group.seconds, host_load_seconds(host, scale));
        group.n++;
    } while (*at < load->n && address != 0 && load->hosts[*at].pace.address == address);
    group.seconds = fmax(group.seconds, group.address_s);
    return group;
}

double forecast_load_fetched(const ForecastLoad *load, double scale, double seconds, double *all)
{
    double fetched = 0;
    *all = 0;
    for (size_t at = 0; at < load->n;) {
        Group group = next_group(load, scale, &at);
        double share = group.seconds > seconds ? seconds / group.seconds : 1;
        fetched += group.pages * share;
        *all += group.pages;
    }
    return fetched;
}

double forecast_load_seconds(const ForecastLoad *load, double scale, double pages)
{
    double least = 0;
    double most = 0;
    double all = 0;
    for (size_t at = 0; at < load->n;) {
        most = fmax(most, next_group(load, scale, &at).seconds);
    }
    (void)forecast_load_fetched(load, scale, 0, &all);
    if (pages >= all) {
        return most;
    }
    for (int i = 0; i < FORECAST_LOAD_BISECTIONS && most - least > most * 1e-6; i++) {
        double middle = (least + most) / 2;
        if (forecast_load_fetched(load, scale, middle, &all) < pages) {
            least = middle;
        } else {
            most = middle;
        }
    }
    return most;
}

/* URLs that fail are few and independent of each other, so that their number is Poisson's. */
double forecast_load_end(const ForecastLoad *load, double scale, double probability)
{
    double least = 0;
    for (size_t at = 0; at < load->n;) {
        least = fmax(least, next_group(load, scale, &at).seconds);
    }
    double most = least;
    for (size_t class = 0; class < FETCH_CLASSES; class ++) {
        most += load->share[class] > 0 ? load->chain_s[class] : 0;
    }
    for (int i = 0; i < FORECAST_LOAD_BISECTIONS && most - least > most * 1e-4; i++) {
        double middle = (least + most) / 2;
        if (forecast_load_late(load, scale, middle) > -log(probability)) {
            least = middle;
        } else {
            most = middle;
        }
    }
    return most;
}

ForecastSlowest forecast_load_slowest(const ForecastLoad *load)
{
    ForecastSlowest slowest = {.host = NULL};
    for (size_t at = 0; at < load->n;) {
        Group group = next_group(load, 1, &at);
        if (slowest.address_hosts == 0 || group.address_s > slowest.address_s) {
            slowest.address = &load->hosts[group.first];
            slowest.address_hosts = group.n;
            slowest.address_urls = group.queued;
            slowest.address_s = group.address_s;
        }
        for (size_t i = group.first; i < at; i++) {
            double seconds = host_load_seconds(&load->hosts[i], 1);
            if (i == 0 || seconds > slowest.host_s) {
                slowest.host = &load->hosts[i];
                slowest.host_s = seconds;
            }
        }
    }
    return slowest;
}

/* ---- Forecast history ---- */

void forecast_history_begin(ForecastHistory *history)
{
    *history = (ForecastHistory){.n = 1};
}

const ForecastPoint *forecast_history_last(const ForecastHistory *history)
{
    return &history->points[history->n - 1];
}

const ForecastPoint *forecast_history_before(const ForecastHistory *history, double at_work_s)
{
    double until = forecast_history_last(history)->at_work_s - at_work_s;
    size_t i = history->n - 1;
    while (i > 0 && history->points[i].at_work_s > until) {
        i--;
    }
    return &history->points[i];
}

static void copy_word(LogText text, char word[FORECAST_WORD])
{
    size_t n = text.length < FORECAST_WORD ? text.length : 0;
    memcpy(word, n == 0 ? "" : text.bytes, n);
    word[n] = '\0';
}

static bool is_at_work(const char *state)
{
    return strcmp(state, "running") == 0 || strcmp(state, "stopping") == 0 ||
           strcmp(state, "stopped") == 0 || strcmp(state, "finished") == 0;
}

void forecast_history_take(ForecastHistory *history, const char *line, size_t length)
{
    ForecastPoint before = *forecast_history_last(history);
    ForecastPoint now = {.elapsed_s = status_log_number(line, length, "elapsed_s", -1)};
    double cpu_s = status_log_number(line, length, "cpu_s", 0);
    if (now.elapsed_s < 0) {
        return;
    }
    if (cpu_s < history->run_cpu_s) { /* it counts from the start of a run */
        history->run_begin_s = before.elapsed_s;
    }
    history->run_cpu_s = cpu_s;
    copy_word(status_log_get(line, length, "state"), history->state);
    copy_word(status_log_get(line, length, "limit"), now.limit);
    now.pages = status_log_number(line, length, "pages", before.pages);
    now.bytes = status_log_number(line, length, "bytes", before.bytes);
    now.seen = status_log_number(line, length, "urls_seen", before.seen);
    history->queued = status_log_number(line, length, "urls_queued", 0);
    history->parked = status_log_number(line, length, "urls_parked", 0);
    history->db_bytes = status_log_number(line, length, "db_bytes", 0);
    history->disk_free = status_log_number(line, length, "disk_free_bytes", 0);
    double finished = now.seen - history->queued - history->parked;
    now.finished = finished > 0 ? finished : 0;
    double seconds = now.elapsed_s - before.elapsed_s;
    now.at_work_s = before.at_work_s + (seconds > 0 && is_at_work(history->state) ? seconds : 0);
    /* A last point that is nearer to the one before than the spacing only stood for now. */
    size_t n = history->n;
    if (n > 1 &&
        history->points[n - 1].at_work_s - history->points[n - 2].at_work_s < history->spacing_s) {
        history->n--;
    }
    history->points[history->n++] = now;
    if (history->n == FORECAST_POINTS) {
        /* Leaves every second point out, but for the first and the last. */
        size_t kept = 0;
        ForecastPoint last = *forecast_history_last(history);
        for (size_t i = 0; i + 1 < history->n; i += 2) {
            history->points[kept++] = history->points[i];
        }
        history->points[kept++] = last;
        history->n = kept;
        history->spacing_s = last.at_work_s / ((double)FORECAST_POINTS / 2);
    }
}

Result forecast_history_read(ForecastHistory *history, const char *directory)
{
    LogReader *reader = NULL;
    Path path;
    const char *line = NULL;
    size_t length = 0;
    forecast_history_begin(history);
    Result rc = log_reader_open(&reader, file_path(&path, "%s/status.log", directory));
    while (rc == RESULT_OK && log_reader_next(reader, &line, &length)) {
        forecast_history_take(history, line, length);
    }
    log_reader_close(reader);
    return rc == RESULT_MEMORY ? rc : RESULT_OK;
}

/* ---- Host pace ---- */

void host_paces_init(HostPaces *paces, const Config *config, PageDB *db, double typical_ms)
{
    *paces = (HostPaces){.config = config, .db = db, .typical_ms = typical_ms};
    buffer_init(&paces->origin, BUFFER_NO_LIMIT);
}

void host_paces_destroy(HostPaces *paces)
{
    buffer_destroy(&paces->origin);
    hours_book_destroy(&paces->hours);
}

/* What the options say of one host. Without [site] sections the name does not matter. */
static Result host_pace_find_delays(HostPaces *paces, MDB_txn *txn, uint32_t host,
                                    HostDelays *delays, HostPace *pace)
{
    const char *why = NULL;
    const Config *config = paces->config;
    Config values;
    *delays = host_delays_of(config);
    pace->most = config->limits_pages_per_host;
    if (config->options.n_sites == 0) {
        return hours_book_get(&paces->hours, config->politeness_hours, &pace->hours, &why);
    }
    if (page_db_host_origin(paces->db, txn, host, &paces->origin) != page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    LogText name = log_text_host((LogText){paces->origin.data, paces->origin.length});
    char *text = name.length == 0 ? NULL : strndup(name.bytes, name.length);
    if (text == NULL) {
        return name.length == 0 ? RESULT_OK : RESULT_MEMORY;
    }
    site_values_of(config, text, &values);
    *delays = host_delays_of(&values);
    pace->most = values.limits_pages_per_host;
    free(text);
    return hours_book_get(&paces->hours, values.politeness_hours, &pace->hours, &why);
}

Result host_pace_find(HostPaces *paces, MDB_txn *txn, uint32_t host, const HostRecord *record,
                      HostPace *pace)
{
    HostDelays delays;
    *pace = (HostPace){.address = record->address};
    Result rc = host_pace_find_delays(paces, txn, host, &delays, pace);
    pace->host_s = host_delays_host_s(&delays, record, paces->typical_ms);
    pace->host_s /= pace->hours == NULL ? 1 : hours_share(pace->hours);
    pace->address_s = host_delays_address_s(&delays, record, paces->typical_ms);
    return rc;
}

/* ---- Forecast ---- */

#define NEVER        ((double)INFINITY)
#define QUARTERS     4
#define GROWTH_LIMIT 0.999 /* with more new URLs than that for each one there is no end */
#define BISECTIONS   200
#define TREND_PIECES 16u
#define TREND_LEAST  0.01 /* of the growth: what falls by less over the past does not fall */
#define MODEL_EARLY  0.2  /* of the likely time; */
#define MODEL_LATE   0.3  /* URLs that come last, with low scores, fail more often than others */

const char *forecast_limit_name(ForecastLimit limit)
{
    static const char *const names[FORECAST_LIMITS] = {
        [FORECAST_MAX_PAGES] = "crawl.max_pages",
        [FORECAST_MAX_BYTES] = "crawl.max_bytes",
        [FORECAST_MAX_DURATION] = "crawl.max_duration",
        [FORECAST_MAX_TOTAL_DURATION] = "crawl.max_total_duration",
        [FORECAST_DISK] = "crawl.min_free_disk",
        [FORECAST_NOTHING_LEFT] = "nothing left"};
    return names[limit];
}

/* ---- lately ---- */

static double pages_per_s(const ForecastPoint *from, const ForecastPoint *to)
{
    double seconds = to->at_work_s - from->at_work_s;
    return seconds > 0 ? (to->pages - from->pages) / seconds : 0;
}

/* The word that stood longest behind a point. */
static const char *bound_since(const ForecastHistory *history, const ForecastPoint *since)
{
    const ForecastPoint *end = history->points + history->n;
    const char *best = "";
    double best_s = 0;
    for (const ForecastPoint *p = since + 1; p < end; p++) {
        double seconds = 0;
        for (const ForecastPoint *q = since + 1; q < end; q++) {
            seconds += strcmp(q->limit, p->limit) == 0 ? q->at_work_s - q[-1].at_work_s : 0;
        }
        if (seconds > best_s) {
            best = p->limit;
            best_s = seconds;
        }
    }
    return best;
}

/* Rates of the quarters of the last quarter; of fewer points those that there are. */
static void find_rates(Forecast *forecast, const ForecastHistory *history)
{
    const ForecastPoint *last = forecast_history_last(history);
    const ForecastPoint *since = forecast_history_before(history, last->at_work_s / 4);
    forecast->measured_s = last->at_work_s - since->at_work_s;
    forecast->rate = pages_per_s(since, last);
    forecast->rate_least = forecast->rate;
    forecast->rate_most = forecast->rate;
    const ForecastPoint *from = since;
    for (const ForecastPoint *p = since + 1; p <= last; p++) {
        bool is_long = p->at_work_s - from->at_work_s >= forecast->measured_s / QUARTERS * 0.9;
        if (is_long) {
            forecast->rate_least = fmin(forecast->rate_least, pages_per_s(from, p));
            forecast->rate_most = fmax(forecast->rate_most, pages_per_s(from, p));
            from = p;
        }
    }
    forecast->bound = bound_since(history, since);
}

/* What the crawl could do if its hosts let it: the best rate over a tenth of its work. */
static double best_rate(const ForecastHistory *history)
{
    const ForecastPoint *last = forecast_history_last(history);
    const ForecastPoint *from = history->points;
    double best = 0;
    for (const ForecastPoint *p = from + 1; p <= last; p++) {
        if (p->at_work_s - from->at_work_s >= last->at_work_s / 10) {
            best = fmax(best, pages_per_s(from, p));
            from = p;
        }
    }
    return best;
}

static double ratio(double part, double whole, double otherwise)
{
    return whole > 0 ? part / whole : otherwise;
}

/* New URLs for each that is finished, now, and by how much fewer with each URL that is known. */
typedef struct Trend {
    double growth;
    double per_known; /* 0: it does not fall */
} Trend;

/* The last point at which this number of URLs, or fewer, were finished. */
static const ForecastPoint *when_finished(const ForecastHistory *history, double finished)
{
    size_t i = history->n - 1;
    while (i > 0 && history->points[i].finished > finished) {
        i--;
    }
    return &history->points[i];
}

/* The line growth = a - b * known through pieces of the past, as many URLs finished in each; later
 * ones weigh more, since links to what is easily found say little of the rest. */
static void find_trend(const ForecastHistory *history, Trend *trend)
{
    const ForecastPoint *last = forecast_history_last(history);
    const ForecastPoint *from = history->points;
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0; /* sums, x = known, y = growth */
    for (unsigned i = 1; i <= TREND_PIECES; i++) {
        const ForecastPoint *to = when_finished(history, last->finished * i / TREND_PIECES);
        double finished = to->finished - from->finished;
        if (finished <= 0) {
            continue;
        }
        double x = (to->seen + from->seen) / 2 - last->seen;
        double y = (to->seen - from->seen) / finished;
        double weight = finished * i * i;
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
        from = to;
    }
    double spread = w * wxx - wx * wx;
    double slope = spread > 0 ? (w * wxy - wx * wy) / spread : 0;
    double mean = ratio(wy, w, 0);
    *trend = (Trend){.growth = fmax(mean, 0)};
    if (-slope * last->seen > mean * TREND_LEAST) {
        trend->per_known = -slope;
        trend->growth = fmax(mean - slope * wx / w, mean / 100);
    }
}

static void find_growth(Forecast *forecast, const ForecastHistory *history, Trend *trend)
{
    const ForecastPoint *last = forecast_history_last(history);
    const ForecastPoint *half = when_finished(history, last->finished / 2);
    const ForecastPoint *quarter = when_finished(history, last->finished * 3 / 4);
    double lately = ratio(last->seen - quarter->seen, last->finished - quarter->finished, 0);
    find_trend(history, trend);
    forecast->growth = fmax(lately, 0);
    forecast->pages_per_url = ratio(last->pages - half->pages, last->finished - half->finished,
                                    ratio(last->pages, last->finished, 1));
    forecast->bytes_per_page = ratio(last->bytes - half->bytes, last->pages - half->pages,
                                     ratio(last->bytes, last->pages, 0));
}

/* ---- the end of the frontier ---- */

/* URLs that are finished until nothing is left when each brings less the more are known:
 * d known / d finished = growth - per_known * (known - known now). */
static double finished_by_trend(double queued, const Trend *trend)
{
    double undiscovered = trend->growth / trend->per_known;
    double least = queued;
    double most = queued + undiscovered;
    for (int i = 0; i < BISECTIONS && most - least > 0.5; i++) {
        double middle = (least + most) / 2;
        double known = undiscovered * (1 - exp(-trend->per_known * middle));
        if (queued + known > middle) {
            least = middle;
        } else {
            most = middle;
        }
    }
    return most;
}

/* ---- time ---- */

/* URLs to come from a host, for each that it has queued now. */
static double scale_of(const Forecast *forecast, const ForecastInput *input, ForecastGrowth growth)
{
    double scale = ratio(forecast->urls_left[growth], input->load->urls, 1);
    return isfinite(scale) ? scale : 1e6;
}

/* Until this number of pages more is there, at a rate; NEVER when the rate is not known. */
static double seconds_for(const Forecast *forecast, const ForecastInput *input, double pages,
                          double rate, double *polite)
{
    double scale = scale_of(forecast, input, GROWTH_TREND);
    *polite = forecast_load_seconds(input->load, scale, pages);
    double by_rate = pages > 0 ? (rate > 0 ? pages / rate : NEVER) : 0;
    return fmax(by_rate, *polite);
}

/* ---- limits ---- */

/* A limit that is met after a number of pages. */
static ForecastEnd after_pages(const Forecast *forecast, const ForecastInput *input, double pages)
{
    double polite = 0;
    ForecastEnd end = {.holds = true, .pages = fmax(pages, 0)};
    if (end.pages > forecast->pages_left[GROWTH_TREND]) {
        end.pages = NEVER;
        end.seconds = end.soonest = end.latest = NEVER;
        return end;
    }
    double most = fmax(forecast->able, forecast->rate_most);
    double least = forecast->able > forecast->rate ? forecast->rate : forecast->rate_least;
    end.seconds = seconds_for(forecast, input, end.pages, forecast->able, &polite);
    end.soonest = seconds_for(forecast, input, end.pages, most, &polite);
    end.latest = seconds_for(forecast, input, end.pages, least, &polite);
    return end;
}

/* A limit that is met after so much time. */
static ForecastEnd after_seconds(const Forecast *forecast, const ForecastInput *input,
                                 double seconds)
{
    ForecastEnd end = {.holds = true, .seconds = fmax(seconds, 0)};
    double scale = scale_of(forecast, input, GROWTH_TREND);
    double all = 0;
    double polite = forecast_load_fetched(input->load, scale, end.seconds, &all);
    end.soonest = end.latest = end.seconds;
    end.pages = fmin(polite, forecast->able * end.seconds);
    if (end.seconds > forecast->seconds_left[GROWTH_TREND]) {
        end.pages = NEVER;
        end.seconds = end.soonest = end.latest = NEVER;
    }
    return end;
}

static void find_limits(Forecast *forecast, const ForecastInput *input)
{
    const Config *config = input->config;
    const ForecastPoint *now = forecast_history_last(input->history);
    double run_s = now->elapsed_s - input->history->run_begin_s;
    if (input->limits_hold && config->crawl_max_pages > 0) {
        forecast->ends[FORECAST_MAX_PAGES] =
            after_pages(forecast, input, (double)config->crawl_max_pages - now->pages);
    }
    if (input->limits_hold && config->crawl_max_bytes > 0 && forecast->bytes_per_page > 0) {
        double left = (double)config->crawl_max_bytes - now->bytes;
        forecast->ends[FORECAST_MAX_BYTES] =
            after_pages(forecast, input, left / forecast->bytes_per_page);
    }
    if (input->limits_hold && config->crawl_max_duration > 0) {
        forecast->ends[FORECAST_MAX_DURATION] =
            after_seconds(forecast, input, (double)config->crawl_max_duration / 1e3 - run_s);
    }
    if (config->crawl_max_total_duration > 0) {
        forecast->ends[FORECAST_MAX_TOTAL_DURATION] = after_seconds(
            forecast, input, (double)config->crawl_max_total_duration / 1e3 - now->elapsed_s);
    }
    if (forecast->disk_per_page > 0) {
        double room = input->disk_free - (double)config->crawl_min_free_disk;
        forecast->ends[FORECAST_DISK] =
            after_pages(forecast, input, room / forecast->disk_per_page);
    }
    double likely = forecast->seconds_left[GROWTH_TREND];
    forecast->ends[FORECAST_NOTHING_LEFT] = (ForecastEnd){
        .holds = !input->never_ends,
        .pages = forecast->pages_left[GROWTH_TREND],
        .seconds = likely,
        .soonest = fmin(forecast->seconds_left[GROWTH_NONE], likely * (1 - MODEL_EARLY)),
        .latest = fmax(forecast->seconds_left[GROWTH_STEADY], likely * (1 + MODEL_LATE))};
}

/* ---- all of it ---- */

static void find_first(Forecast *forecast, const ForecastInput *input)
{
    const ForecastEnd *best = NULL;
    for (unsigned i = 0; i < FORECAST_LIMITS; i++) {
        const ForecastEnd *end = &forecast->ends[i];
        if (end->holds && isfinite(end->seconds) &&
            (best == NULL || end->seconds < best->seconds)) {
            best = end;
            forecast->first = (ForecastLimit)i;
        }
    }
    forecast->has_end = best != NULL;
    if (best == NULL) {
        return;
    }
    forecast->pages = best->pages;
    forecast->bytes = best->pages * forecast->bytes_per_page;
    /* WARC files and logs grow with pages, the database with known URLs. */
    const ForecastPoint *now = forecast_history_last(input->history);
    double files = ratio(fmax(input->directory_bytes - input->database_bytes, 0), now->pages, 0);
    double urls = fmin(best->pages / forecast->pages_per_url, forecast->urls_left[GROWTH_TREND]);
    double known = urls * forecast->growth;
    if (isfinite(forecast->urls_left[GROWTH_TREND]) && urls > 0) {
        /* Not more than are still to be found. */
        known = (forecast->urls_left[GROWTH_TREND] - input->load->urls) * urls /
                forecast->urls_left[GROWTH_TREND];
    }
    forecast->disk = files * best->pages + ratio(input->database_bytes, now->seen, 0) * known;
    forecast->rate_seconds = forecast->able > 0 ? best->pages / forecast->able : NEVER;
    (void)seconds_for(forecast, input, best->pages, forecast->able, &forecast->polite_seconds);
}

void forecast_make(Forecast *forecast, const ForecastInput *input)
{
    Trend trend;
    const ForecastPoint *now = forecast_history_last(input->history);
    *forecast = (Forecast){.bound = ""};
    find_rates(forecast, input->history);
    bool is_polite = strcmp(forecast->bound, "politeness") == 0;
    forecast->able = is_polite ? fmax(best_rate(input->history), forecast->rate) : forecast->rate;
    find_growth(forecast, input->history, &trend);
    forecast->pages_per_url = fmin(fmax(forecast->pages_per_url, 0.001), 1);
    forecast->disk_per_page = ratio(input->directory_bytes, now->pages, 0);
    double queued = input->load->urls;
    double growth = forecast->growth;
    forecast->urls_left[GROWTH_NONE] = queued;
    forecast->urls_left[GROWTH_STEADY] =
        growth < GROWTH_LIMIT ? queued / (1 - growth) : (queued > 0 ? NEVER : 0);
    forecast->urls_left[GROWTH_TREND] = trend.per_known > 0 ? finished_by_trend(queued, &trend)
                                                            : forecast->urls_left[GROWTH_STEADY];
    static const double probability[GROWTHS] = {
        [GROWTH_NONE] = 0.05, [GROWTH_TREND] = 0.5, [GROWTH_STEADY] = 0.95};
    for (unsigned g = 0; g < GROWTHS; g++) {
        double urls = forecast->urls_left[g];
        if (!isfinite(urls)) {
            forecast->pages_left[g] = NEVER;
            forecast->seconds_left[g] = NEVER;
            continue;
        }
        double scale = scale_of(forecast, input, (ForecastGrowth)g);
        double all = 0;
        (void)forecast_load_fetched(input->load, scale, 0, &all); /* full hosts take no more */
        forecast->pages_left[g] = all;
        double by_rate = forecast->able > 0 ? all / forecast->able : NEVER;
        double polite = forecast_load_end(input->load, scale, probability[g]);
        forecast->seconds_left[g] = fmax(all > 0 ? by_rate : 0, polite);
    }
    find_limits(forecast, input);
    find_first(forecast, input);
    forecast->slowest = forecast_load_slowest(input->load);
}
