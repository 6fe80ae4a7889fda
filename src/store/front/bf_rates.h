/* How often hosts may be asked: leaky buckets for a row of crawl rates.
 *
 * What: a host's heat is the number of rates that it exceeds now. Each rate is a bucket (one double
 * for each host and rate), filled by what is handed out, that lets pass at most
 * rate * t + max(1, rate * BF_RATE_BURST_S) URLs in any t seconds.
 * Owns: nothing; the buckets of a host are the host's.
 * Threads: pure functions; time is a parameter, in seconds. */
#ifndef STORE_FRONT_BF_RATES_H
#define STORE_FRONT_BF_RATES_H

#include "base/core/result.h"

#define BF_CRAWL_RATE_STEPS 5u
#define BF_RATE_BURST_S     1.0
#define BF_NEVER_S          1e9 /* seconds: far away, and in nanoseconds still an int64 */

typedef struct BFRates {
    unsigned n;                       /* 0: none, then every host is of heat 0 */
    double rate[BF_CRAWL_RATE_STEPS]; /* ascending; infinite: no limit */
} BFRates;

/* Crawls per second and host; negative: no such limit. A hard limit below the soft one replaces it;
 * a soft limit without a hard one only orders the hosts. RESULT_INVALID: not a number. */
Result bf_rates_set(BFRates *rates, double soft, double hard);
/* Rates that a host exceeds now; *sinks_at: when that may be one less. full: its buckets, or NULL
 * when none was filled. */
unsigned bf_rates_heat(const BFRates *rates, const double *full, double now_s, double *sinks_at);
/* A URL of the host was handed out. Allocates the buckets; without memory the URL is not counted.
 */
void bf_rates_fill(const BFRates *rates, double **full, double now_s);

#endif
