/* Which pages a FreqScheduler has handed out, and nobody has crawled yet.
 *
 * What: with a margin a page is due by the time of its last crawl. From the moment when it is
 * handed out until it is crawled that time says "due" over and over, so a lease says "it is out". A
 * lease ends when the page has been crawled (its count of crawls has grown), when it is released,
 * and after its length. Owns: the leases. They are in memory alone: after a restart what was out is
 * due again. Threads: any; a mutex (RANK_TABLE) guards them. Errors: RESULT_MEMORY. */
#ifndef STORE_FREQUENCY_FREQ_LEASES_H
#define STORE_FREQUENCY_FREQ_LEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct FreqLeases FreqLeases;

/* NULL: no memory. */
FreqLeases *freq_leases_new(void);
void freq_leases_delete(FreqLeases *leases);
/* The page is out until until_s, or until it has more than n_crawls crawls. */
Result freq_leases_give(FreqLeases *leases, uint64_t page, uint64_t n_crawls, double until_s);
/* Whether it is out. Forgets a lease that has ended. */
bool freq_leases_has(FreqLeases *leases, uint64_t page, uint64_t n_crawls, double now_s);
/* It is not out any more. False: it was not. */
bool freq_leases_end(FreqLeases *leases, uint64_t page);

#endif
