#include "forecast/forecast_load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE    1024u /* hosts in one read transaction */
#define BISECTIONS 60

/* ---- what is queued ---------------------------------------------------------------------------
 */

Result forecast_load_add(ForecastLoad *load, const HostLoad *host)
{
    if (load->n == load->most) {
        size_t most = load->most == 0 ? 1024 : load->most * 2;
        HostLoad *more = realloc(load->hosts, most * sizeof *more);
        if (more == NULL) {
            return RESULT_MEMORY;
        }
        load->hosts = more;
        load->most = most;
    }
    load->hosts[load->n++] = *host;
    load->urls += host->urls;
    return RESULT_OK;
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

static Result forecast_load_take_host(ForecastLoad *load, HostPaces *paces, MDB_txn *txn,
                                      uint32_t host, const HostRecord *record)
{
    HostLoad one = {.host = host, .urls = record->queued, .room = -1};
    if (record->state == HOST_FULL) {
        load->n_full++;
    }
    if (record->queued == 0 || record->state != HOST_ACTIVE) {
        return RESULT_OK;
    }
    Result rc = host_pace_find(paces, txn, host, record, &one.pace);
    if (one.pace.most > 0) {
        one.room = fmax((double)one.pace.most - record->pages, 0);
    }
    return rc == RESULT_OK ? forecast_load_add(load, &one) : rc;
}

/* Of a host that was not asked yet a fetch is taken to last as long as those of the hosts that are
 * read with it. */
static double typical_ms(const HostRecord *records, size_t n, double otherwise)
{
    double ms = 0;
    double fetches = 0;
    for (size_t i = 0; i < n; i++) {
        ms += (double)records[i].fetch_ms;
        fetches += records[i].fetches;
    }
    return fetches > 0 ? ms / fetches : otherwise;
}

Result forecast_load_read(ForecastLoad *load, PageDB *db, HostTable *table, const Config *config)
{
    uint32_t hosts[AT_ONCE];
    HostRecord *records = malloc(AT_ONCE * sizeof *records);
    HostPaces paces;
    uint64_t from = 0;
    size_t n = table == NULL ? 0 : AT_ONCE;
    Result rc = records == NULL ? RESULT_MEMORY : RESULT_OK;
    *load = (ForecastLoad){.hosts = NULL};
    host_paces_init(&paces, config, db, 0);
    while (rc == RESULT_OK && n == AT_ONCE) {
        MDB_txn *txn = NULL;
        if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
            rc = RESULT_IO;
            break;
        }
        rc = host_table_read(table, txn, &from, hosts, records, AT_ONCE, &n);
        paces.typical_ms = rc == RESULT_OK ? typical_ms(records, n, paces.typical_ms) : 0;
        for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
            rc = forecast_load_take_host(load, &paces, txn, hosts[i], &records[i]);
        }
        page_db_txn_abort(db, txn);
    }
    host_paces_destroy(&paces);
    free(records);
    forecast_load_sort(load);
    for (size_t i = 0; i < load->n; i++) {
        load->n_addresses += i == 0 || load->hosts[i].pace.address == 0 ||
                             load->hosts[i].pace.address != load->hosts[i - 1].pace.address;
    }
    return rc;
}

/* ---- how long it lasts ------------------------------------------------------------------------
 */

/* Hosts that take turns. */
typedef struct Group {
    size_t first;
    size_t n;
    double pages;
    double seconds;
    double address_s; /* by the delays of the address alone */
} Group;

static double forecast_load_pages_of(const HostLoad *host, double scale)
{
    double pages = host->urls * scale;
    return host->room >= 0 && host->room < pages ? host->room : pages;
}

/* The hosts from *at on that have one address; *at moves on behind them. */
static Group next_group(const ForecastLoad *load, double scale, size_t *at)
{
    Group group = {.first = *at};
    uint64_t address = load->hosts[*at].pace.address;
    do {
        const HostLoad *host = &load->hosts[(*at)++];
        double pages = forecast_load_pages_of(host, scale);
        group.pages += pages;
        group.address_s += pages * host->pace.address_s;
        group.seconds = fmax(group.seconds, pages * host->pace.host_s);
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
    for (int i = 0; i < BISECTIONS && most - least > most * 1e-6; i++) {
        double middle = (least + most) / 2;
        if (forecast_load_fetched(load, scale, middle, &all) < pages) {
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
            slowest.address_urls = group.pages;
            slowest.address_s = group.address_s;
        }
        for (size_t i = group.first; i < at; i++) {
            double seconds =
                forecast_load_pages_of(&load->hosts[i], 1) * load->hosts[i].pace.host_s;
            if (i == 0 || seconds > slowest.host_s) {
                slowest.host = &load->hosts[i];
                slowest.host_s = seconds;
            }
        }
    }
    return slowest;
}
