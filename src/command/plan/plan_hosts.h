/* Plan hosts: the hosts of a dry run, with their addresses and how often they may be asked.
 *
 * What: addresses stand in crawl.log of the dry run, delays in the records of its hosts.
 * Owns: its list, and the pages that politeness.usage has refused.
 * Threads: one.
 * Errors: RESULT_MEMORY, RESULT_IO, RESULT_DAMAGED. */
#ifndef COMMAND_PLAN_PLAN_HOSTS_H
#define COMMAND_PLAN_PLAN_HOSTS_H

#include "base/memory/map.h"
#include "crawl/crawl_view.h"
#include "forecast/forecast.h"
#include "parse/host/ip_address.h"

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

Result plan_hosts_read(PlanHosts *hosts, CrawlView *view, const Config *config);
void plan_hosts_destroy(PlanHosts *hosts);
/* Pages a day that the host's own delays and those of its address allow. */
double plan_host_per_day(const PlanHost *host);
/* Sorts the hosts by address: ids do not count from then on. */
PlanSums plan_hosts_sum(PlanHosts *hosts);

#endif
