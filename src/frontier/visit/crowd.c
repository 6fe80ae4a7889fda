#include "frontier/visit/crowd.h"

void crowd_publish(Crowd *crowd, const Workbench *workbench, size_t connections)
{
    for (size_t s = 0; s < STANDINGS; s++) {
        size_t waiting = workbench_n_crowded(workbench, (Standing)s, connections);
        atomic_store_explicit(&crowd->active[s], workbench_n_active(workbench, (Standing)s),
                              memory_order_relaxed);
        atomic_store_explicit(&crowd->waiting[s], waiting, memory_order_relaxed);
    }
    atomic_store_explicit(&crowd->ill, workbench->acquired[STANDING_ILL], memory_order_relaxed);
}

CrowdCounts crowd_counts(const Crowd *crowd)
{
    CrowdCounts counts = {.ill = atomic_load_explicit(&crowd->ill, memory_order_relaxed)};
    for (size_t s = 0; s < STANDINGS; s++) {
        counts.active[s] = atomic_load_explicit(&crowd->active[s], memory_order_relaxed);
        counts.waiting[s] = atomic_load_explicit(&crowd->waiting[s], memory_order_relaxed);
    }
    return counts;
}
