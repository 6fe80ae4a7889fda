/* Host delays: how often politeness lets a host and its address be asked, by what the configuration
 * and the host's record say.
 *
 * What: the time from the beginning of a fetch to that of the next one: the delay that holds
 * (politeness.host_delay or politeness.ip_delay, Crawl-delay, adaptive_factor, keep_alive_time) and
 * the fetch itself, since delays count from the end of a fetch. A fetch takes as long as those of
 * the host did on average.
 * Threads: any; pure. */
#pragma once

#include "rules/config.h"
#include "store/tables/host_rows.h"

/* Seconds for a page, by the delays of the host and by those of its address, which other hosts may
 * need, too. config: that of the host. typical_ms: of a fetch from a host that was not asked yet.
 */
double host_delays_host_s(const Config *config, const HostRecord *record, double typical_ms);
double host_delays_address_s(const Config *config, const HostRecord *record, double typical_ms);
