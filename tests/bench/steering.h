/* Do scores steer a crawl, and revisits follow changes? Crawls of synthetic webs, without a
 * network.
 *
 * The web: hosts of Zipf-like size; pages whose attractiveness is Pareto distributed and has
 * nothing to do with where they are, so that in-degrees follow a power law; most links inside the
 * host; every page reachable by the navigation of its host. A crawl can fetch any page it knows at
 * once: only the number of fetches is limited. Everything is seeded. */
#ifndef TESTS_BENCH_STEERING_H
#define TESTS_BENCH_STEERING_H

#include <stddef.h>

/* Prints schedule.mass_at_{5,10,20}pct.{breadth_first,pagerank,hits,omniscient}: the share of the
 * whole web's PageRank in the pages fetched first, and schedule.harvest.*: pages on a topic per
 * page fetched, with content scores on links and without. */
void steering_run(size_t n_pages, size_t n_hosts);

/* Prints schedule.revisit.*: a hundred virtual days of pages with known change rates. */
void revisits_run(size_t n_pages);

/* Prints schedule.freshness.*: what policies of revisits come to with as many visits, for several
 * distributions of change rates, against the best that is possible when all rates are known. */
void freshness_run(size_t n_pages);

#endif
