#include "forecast/forecast_load.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory/array.h"

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

void forecast_load_sort(ForecastLoad *load)
{
    array_sort(load->hosts, load->n, sizeof *load->hosts, ARRAY_KEY(HostLoad, pace.address),
               ARRAY_NO_KEY);
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
    for (size_t i = 0; i < FETCH_CLASSES; i++) { /* what has failed says what will */
        const RetryRule *rule = &reader.rules[i];
        load->share[i] = reader.all.failed > 0 ? reader.failed[i] / reader.all.failed : 0;
        load->chain_s[i] = (double)rule->wait_ms * (exp2(rule->retries) - 1) / 1e3;
    }
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
