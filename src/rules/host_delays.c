#include "rules/host_delays.h"

#include <math.h>

static double fetch_ms_of(const HostRecord *record, double typical_ms)
{
    return record->fetches > 0 ? (double)record->fetch_ms / record->fetches : typical_ms;
}

/* Pages of a burst, which share the pause behind it. */
static double burst_of(const Config *config, const HostRecord *record, double fetch_ms)
{
    return record->crawl_delay_ms == 0 && config->politeness_keep_alive_time > 0
               ? 1 + floor((double)config->politeness_keep_alive_time / fmax(fetch_ms, 1))
               : 1;
}

double host_delays_host_s(const Config *config, const HostRecord *record, double typical_ms)
{
    const PolitenessOptions politeness = {.crawl_delay_max_ms = config->politeness_crawl_delay_max,
                                          .adaptive_factor = config->politeness_adaptive_factor};
    double fetch_ms = fetch_ms_of(record, typical_ms);
    bool is_learned = config->politeness_learned && record->learned_ms > 0;
    int64_t host_ms = is_learned ? (int64_t)record->learned_ms : config->politeness_host_delay;
    double delay_ms = (double)politeness_host_delay(&politeness, host_ms, record->crawl_delay_ms,
                                                    llround(fetch_ms));
    return (delay_ms / burst_of(config, record, fetch_ms) + fetch_ms) / 1e3;
}

double host_delays_address_s(const Config *config, const HostRecord *record, double typical_ms)
{
    double fetch_ms = fetch_ms_of(record, typical_ms);
    return ((double)config->politeness_ip_delay / burst_of(config, record, fetch_ms) + fetch_ms) /
           1e3;
}
