#include "rules/host_delays.h"

#include <math.h>

#include "frontier/visit/politeness.h"

HostDelays host_delays_of(const Config *config)
{
    return (HostDelays){.host_ms = config->politeness_host_delay,
                        .ip_ms = config->politeness_ip_delay,
                        .crawl_delay_max_ms = config->politeness_crawl_delay_max,
                        .keep_alive_ms = config->politeness_keep_alive_time,
                        .adaptive_factor = config->politeness_adaptive_factor,
                        .learned = config->politeness_learned};
}

static double fetch_ms_of(const HostRecord *record, double typical_ms)
{
    return record->fetches > 0 ? (double)record->fetch_ms / record->fetches : typical_ms;
}

/* Pages of a burst. */
static double burst_of(const HostDelays *delays, const HostRecord *record, double fetch_ms)
{
    return record->crawl_delay_ms == 0 && delays->keep_alive_ms > 0
               ? 1 + floor((double)delays->keep_alive_ms / fmax(fetch_ms, 1))
               : 1;
}

double host_delays_host_s(const HostDelays *delays, const HostRecord *record, double typical_ms)
{
    const PolitenessOptions politeness = {.crawl_delay_max_ms = delays->crawl_delay_max_ms,
                                          .adaptive_factor = delays->adaptive_factor};
    double fetch_ms = fetch_ms_of(record, typical_ms);
    bool is_learned = delays->learned && record->learned_ms > 0;
    int64_t host_ms = is_learned ? (int64_t)record->learned_ms : delays->host_ms;
    double delay_ms = (double)politeness_host_delay(&politeness, host_ms, record->crawl_delay_ms,
                                                    llround(fetch_ms));
    return (delay_ms / burst_of(delays, record, fetch_ms) + fetch_ms) / 1e3;
}

double host_delays_address_s(const HostDelays *delays, const HostRecord *record, double typical_ms)
{
    double fetch_ms = fetch_ms_of(record, typical_ms);
    return ((double)delays->ip_ms / burst_of(delays, record, fetch_ms) + fetch_ms) / 1e3;
}
