/* Host costs: what the pages of a host cost this machine, and how much less often it is asked.
 *
 * What: a page that is made to be dear (megabytes of links, sitemaps by the dozen) takes parsing
 * threads and ingest as long as thousands of ordinary ones. A host whose pages are dear rests for a
 * multiple of what the last of them took, the price. It rises by a quarter when some page has
 * waited longer than the patience (parse.patience) for a parsing thread, or some host for room for
 * an answer, at most once in a second, since what waits already shows nothing of its effect. It
 * falls by half in a quarter of a minute otherwise: without a shortage nobody rests, and with one
 * those rest longest that cause it. One host rests up to four times as long as another, by its id:
 * else all would come back at once when the price has fallen far enough. Pages below
 * HOST_COSTS_LEAST_US, nearly all there are, cost nothing. A cost is what reading took, at most
 * what a page of that length may take (time goes by for other reasons, too, on a busy machine), and
 * what its links take ingest. It is halved by each page that costs less. Costs of hosts that share
 * a place push each other out: then they are asked sooner.
 *
 * Owns: nothing.
 * Threads: any; all of it is atomic. Time is a parameter. */
#pragma once

#include <stdatomic.h>

#include "base/core/clock.h"

#define HOST_COSTS_PLACES      4096u
#define HOST_COSTS_PRICE_UNIT  16u
#define HOST_COSTS_LEAST_US    10000u
#define HOST_COSTS_STEP_MS     100
#define HOST_COSTS_RISE_MS     1000
#define HOST_COSTS_WAIT_MAX_MS INT64_C(3600000)

/* All zero, but for the patience: nobody has cost anything. */
typedef struct HostCosts {
    _Atomic uint64_t costs[HOST_COSTS_PLACES]; /* id of the host in the upper half, microseconds */
    _Atomic int64_t patience_ms;               /* 0: the price stays 0 */
    _Atomic int64_t longest_ms;                /* some page has waited since the last step */
    _Atomic int64_t next_step_ns;
    _Atomic int64_t next_rise_ns;
    atomic_uint price;        /* in HOST_COSTS_PRICE_UNITs: how many times its cost a host rests */
    _Atomic uint64_t n_rests; /* hosts were put off */
} HostCosts;

/* A page has waited so long for a parsing thread, or a host for room. */
void host_costs_note_wait(HostCosts *costs, int64_t waited_ms, MonoTime now);
/* A page has been read: its bytes, and its links. */
void host_costs_note_page(HostCosts *costs, uint32_t host, int64_t took_us, size_t bytes,
                          size_t links);
/* How long the host rests from the end of its last fetch on. */
int64_t host_costs_wait_ms(const HostCosts *costs, uint32_t host);
