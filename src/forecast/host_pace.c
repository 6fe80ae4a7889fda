#include "forecast/host_pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontier/visit/politeness.h"
#include "logs/log_text.h"

void host_paces_init(HostPaces *paces, const Config *config, PageDB *db, double typical_ms)
{
    *paces = (HostPaces){.config = config, .db = db, .typical_ms = typical_ms};
    buffer_init(&paces->origin, BUFFER_NO_LIMIT);
}

void host_paces_destroy(HostPaces *paces)
{
    buffer_destroy(&paces->origin);
}

/* What the options say of one host. */
typedef struct HostRules {
    int64_t host_delay_ms;
    int64_t ip_delay_ms;
    int64_t most;
} HostRules;

/* Without [site] sections the name does not matter. */
static Result find_rules(HostPaces *paces, MDB_txn *txn, uint32_t host, HostRules *rules)
{
    const Config *config = paces->config;
    const Options *options = &config->options;
    *rules = (HostRules){.host_delay_ms = config->politeness_host_delay,
                         .ip_delay_ms = config->politeness_ip_delay,
                         .most = config->limits_pages_per_host};
    if (options->n_sites == 0) {
        return RESULT_OK;
    }
    if (page_db_host_origin(paces->db, txn, host, &paces->origin) != page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    LogText name = log_text_host((LogText){paces->origin.data, paces->origin.length});
    char *text = name.length == 0 ? NULL : strndup(name.bytes, name.length);
    if (text == NULL) {
        return name.length == 0 ? RESULT_OK : RESULT_MEMORY;
    }
    (void)options_site_number(options, offsetof(Config, politeness_host_delay), text,
                              &rules->host_delay_ms);
    (void)options_site_number(options, offsetof(Config, politeness_ip_delay), text,
                              &rules->ip_delay_ms);
    (void)options_site_number(options, offsetof(Config, limits_pages_per_host), text, &rules->most);
    free(text);
    return RESULT_OK;
}

Result host_pace_find(HostPaces *paces, MDB_txn *txn, uint32_t host, const HostRecord *record,
                      HostPace *pace)
{
    const Config *config = paces->config;
    const PolitenessOptions politeness = {.crawl_delay_max_ms = config->politeness_crawl_delay_max,
                                          .adaptive_factor = config->politeness_adaptive_factor};
    HostRules rules;
    Result rc = find_rules(paces, txn, host, &rules);
    double fetch_ms =
        record->fetches > 0 ? (double)record->fetch_ms / record->fetches : paces->typical_ms;
    double delay_ms = (double)politeness_host_delay(&politeness, rules.host_delay_ms,
                                                    record->crawl_delay_ms, llround(fetch_ms));
    /* Pages of a burst share the pause behind it. */
    double burst = 1;
    if (record->crawl_delay_ms == 0 && config->politeness_keep_alive_time > 0) {
        burst += floor((double)config->politeness_keep_alive_time / fmax(fetch_ms, 1));
    }
    *pace = (HostPace){.address = record->address,
                       .host_s = (delay_ms / burst + fetch_ms) / 1e3,
                       .address_s = ((double)rules.ip_delay_ms / burst + fetch_ms) / 1e3,
                       .most = rules.most};
    return rc;
}
