#include "cluster/lease/lease.h"

int64_t lease_busy_ms(const LeaseRules *rules)
{
    int64_t busy = rules->term_ms + rules->fetch_ms + rules->delay_ms;
    return busy + busy / LEASE_DRIFT + 1;
}

int64_t lease_rest_ms(const LeaseRules *rules)
{
    int64_t looks = rules->confirm_ms + rules->stale_ms;
    int64_t confirm = looks + looks / LEASE_DRIFT + 1;
    return lease_busy_ms(rules) + confirm;
}
