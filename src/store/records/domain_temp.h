/* How hot domains are: an estimate of how often each was crawled within the last time window.
 *
 * What: without a list of time stamps, crawls are taken as spread evenly over the window T, which
 * gives dn/dt = -n/T: a crawl adds one, and time cools by exp(-t/T). PageDB heats a domain for
 * every page that is added (page_db_set_domain_temp); schedulers ask before they hand out URLs of a
 * domain.
 *
 * The table holds at most `length` domains. A new domain takes a free place, or the place of the
 * coolest domain if that is below 1; otherwise it is not tracked. Cooling is lazy: temperatures are
 * as of the entry's own time, so update, heat and get cost the same however many domains are
 * tracked. (To heat a domain restores a 4-ary heap: one or two moves for a domain that is hot
 * already.) Times are double, since a float cannot tell the seconds of today's epoch apart. The
 * clock never goes back; earlier times are taken as the latest.
 *
 * Owns: its table.
 * Threads: any; one mutex (RANK_TABLE).
 * Invariants: table[0..n_used) is a 4-ary min-heap by heat_log; slots maps each tracked hash to its
 * place in it.
 * Source: seed 003, "DomainTemp". */
#ifndef STORE_RECORDS_DOMAIN_TEMP_H
#define STORE_RECORDS_DOMAIN_TEMP_H

#include "base/thread/mutex.h"

typedef struct DomainTempEntry {
    uint32_t hash;   /* of the domain: page_db_hash_get_domain */
    float temp;      /* temperature at `time` */
    double time;     /* when temp was last changed */
    double heat_log; /* log(temp) + time / window: orders entries whatever the time is */
    uint32_t slot;   /* of slots that points here */
} DomainTempEntry;

typedef struct DomainTemp {
    DomainTempEntry *table; /* the first n_used entries are tracked */
    size_t length;          /* most domains that are tracked */
    double time;            /* last time that domain_temp_update was given */
    float window;           /* seconds over which crawls count */
    size_t n_used;
    uint32_t *slots;  /* open addressing: place in table + 1, or 0 */
    size_t slot_mask; /* number of slots - 1 */
    Mutex mutex;      /* guards everything above */
} DomainTemp;

/* length at least 1 (and below 2^30), window above 0 seconds; NULL otherwise or without memory. */
DomainTemp *domain_temp_new(size_t length, float window);
/* NULL is accepted. */
void domain_temp_delete(DomainTemp *dh);

/* Moves the clock to t seconds. The first call sets it: everything before counts as time 0. */
void domain_temp_update(DomainTemp *dh, double t);
/* Adds one crawl to a domain, now. */
void domain_temp_heat(DomainTemp *dh, uint32_t hash);
/* The temperature now; 0 for a domain that is not tracked. */
float domain_temp_get(DomainTemp *dh, uint32_t hash);

#endif
