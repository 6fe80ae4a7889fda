#include "command/plan/plan_hosts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "fetch/transfer/fetch_result.h"
#include "logs/crawl_log_line.h"
#include "logs/log_reader.h"

#define DAY_S   86400.0
#define LEAST_S 1e-6 /* a host without any delay, whose fetches took no time */

/* ---- reading ----------------------------------------------------------------------------------
 */

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

static Result read_log(PlanHosts *hosts, CrawlView *view, MDB_txn *txn)
{
    LogReader *reader = NULL;
    Buffer path;
    const char *text = NULL;
    size_t length = 0;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/crawl.log", view->directory);
    if (rc == RESULT_OK) {
        rc = log_reader_open(&reader, buffer_string(&path));
    }
    while (rc == RESULT_OK && log_reader_next(reader, &text, &length)) {
        CrawlLogLine line;
        const char *why = NULL;
        if (crawl_log_line_parse(text, length, &line, &why) == RESULT_OK) {
            plan_hosts_take_address(hosts, view, txn, &line);
            rc = take_refusal(hosts, view, txn, &line);
        }
    }
    log_reader_close(reader);
    buffer_destroy(&path);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

static Result read_hosts(PlanHosts *hosts, CrawlView *view, MDB_txn *txn, const Config *config)
{
    HostPaces paces;
    Result rc = RESULT_OK;
    host_paces_init(&paces, config, view->db, 0);
    for (size_t i = 0; rc == RESULT_OK && i < hosts->n; i++) {
        PlanHost *host = &hosts->hosts[i];
        rc = host_table_get(view->hosts, txn, (uint32_t)i, &host->record);
        if (rc == RESULT_OK) {
            rc = host_pace_find(&paces, txn, (uint32_t)i, &host->record, &host->pace);
        }
    }
    host_paces_destroy(&paces);
    return rc;
}

Result plan_hosts_read(PlanHosts *hosts, CrawlView *view, const Config *config)
{
    MDB_txn *txn = NULL;
    *hosts = (PlanHosts){.hosts = NULL};
    map_init(&hosts->usage);
    if (page_db_txn_begin(view->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    hosts->n = page_db_n_hosts(view->db, txn);
    hosts->hosts = calloc(hosts->n + 1, sizeof *hosts->hosts);
    Result rc = hosts->hosts == NULL ? RESULT_MEMORY : read_hosts(hosts, view, txn, config);
    if (rc == RESULT_OK) {
        rc = read_log(hosts, view, txn);
    }
    page_db_txn_abort(view->db, txn);
    return rc;
}

void plan_hosts_destroy(PlanHosts *hosts)
{
    free(hosts->hosts);
    map_destroy(&hosts->usage);
    *hosts = (PlanHosts){.hosts = NULL};
}

/* ---- sums --------------------------------------------------------------------------------------
 */

double plan_host_per_day(const PlanHost *host)
{
    return DAY_S / fmax(fmax(host->pace.host_s, host->pace.address_s), LEAST_S);
}

/* Those that count first, of one address side by side. */
static int plan_hosts_by_address(const void *a, const void *b)
{
    const PlanHost *x = a;
    const PlanHost *y = b;
    if (x->is_open != y->is_open) {
        return x->is_open ? -1 : 1;
    }
    return (x->pace.address > y->pace.address) - (x->pace.address < y->pace.address);
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

PlanSums plan_hosts_sum(PlanHosts *hosts)
{
    PlanSums sums = {.hosts = 0};
    for (size_t i = 0; i < hosts->n; i++) {
        sums.hosts += hosts->hosts[i].has_seed;
    }
    if (hosts->n > 0) {
        qsort(hosts->hosts, hosts->n, sizeof *hosts->hosts, plan_hosts_by_address);
    }
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
