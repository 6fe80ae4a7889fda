#include "store/frequency/freq_leases.h"

#include <stdlib.h>

#include "base/memory/map.h"
#include "base/thread/mutex.h"

typedef struct Lease {
    uint64_t n_crawls;
    double until_s;
} Lease;

struct FreqLeases {
    Mutex mutex; /* guards the rest */
    Map pages;   /* by index, to Lease */
};

FreqLeases *freq_leases_new(void)
{
    FreqLeases *leases = calloc(1, sizeof *leases);
    if (leases != NULL) {
        mutex_init(&leases->mutex, RANK_TABLE);
        map_init(&leases->pages);
    }
    return leases;
}

void freq_leases_delete(FreqLeases *leases)
{
    if (leases == NULL) {
        return;
    }
    size_t place = 0;
    for (void *lease = NULL; (lease = map_next(&leases->pages, &place)) != NULL;) {
        free(lease);
    }
    map_destroy(&leases->pages);
    mutex_destroy(&leases->mutex);
    free(leases);
}

Result freq_leases_give(FreqLeases *leases, uint64_t page, uint64_t n_crawls, double until_s)
{
    Result rc = RESULT_OK;
    mutex_lock(&leases->mutex);
    Lease *lease = map_get(&leases->pages, map_key(page));
    if (lease == NULL) {
        lease = malloc(sizeof *lease);
        rc = lease == NULL ? RESULT_MEMORY : map_put(&leases->pages, map_key(page), lease);
    }
    if (rc == RESULT_OK) {
        *lease = (Lease){.n_crawls = n_crawls, .until_s = until_s};
    } else {
        free(lease);
    }
    mutex_unlock(&leases->mutex);
    return rc;
}

static bool end_locked(FreqLeases *leases, uint64_t page)
{
    Lease *lease = map_remove(&leases->pages, map_key(page));
    free(lease);
    return lease != NULL;
}

bool freq_leases_has(FreqLeases *leases, uint64_t page, uint64_t n_crawls, double now_s)
{
    mutex_lock(&leases->mutex);
    const Lease *lease = map_get(&leases->pages, map_key(page));
    bool is_out = lease != NULL && lease->n_crawls == n_crawls && now_s < lease->until_s;
    if (lease != NULL && !is_out) {
        (void)end_locked(leases, page);
    }
    mutex_unlock(&leases->mutex);
    return is_out;
}

bool freq_leases_end(FreqLeases *leases, uint64_t page)
{
    mutex_lock(&leases->mutex);
    bool was_out = end_locked(leases, page);
    mutex_unlock(&leases->mutex);
    return was_out;
}
