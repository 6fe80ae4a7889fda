#include "fetch/dns/name_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

static MapKey name_key(const char *hostname)
{
    Hash128 h = hash_128(hostname, strlen(hostname));
    return (MapKey){.high = h.high, .low = h.low};
}

void name_queue_add(NameQueue *queue, Name *name)
{
    name->next_queued = NULL;
    if (queue->tail == NULL) {
        queue->head = name;
    } else {
        queue->tail->next_queued = name;
    }
    queue->tail = name;
}

Name *name_queue_take(NameQueue *queue)
{
    Name *name = queue->head;
    queue->head = name->next_queued;
    queue->tail = queue->head == NULL ? NULL : queue->tail;
    name->next_queued = NULL;
    return name;
}

void name_cache_init(NameCache *cache, size_t most)
{
    *cache = (NameCache){.most = most};
    map_init(&cache->names);
    heap_init(&cache->by_expiry);
}

void name_cache_destroy(NameCache *cache)
{
    size_t place = 0;
    Name *name = NULL;
    while ((name = map_next(&cache->names, &place)) != NULL) {
        free(name->hostname);
        free(name);
    }
    map_destroy(&cache->names);
    heap_destroy(&cache->by_expiry);
}

Name *name_cache_find(const NameCache *cache, const char *hostname)
{
    return map_get(&cache->names, name_key(hostname));
}

Name *name_cache_add(NameCache *cache, const char *hostname)
{
    Name *name = calloc(1, sizeof *name);
    if (name == NULL) {
        return NULL;
    }
    name->hostname = strdup(hostname);
    heap_node_init(&name->by_expiry);
    if (name->hostname == NULL || map_put(&cache->names, name_key(hostname), name) != RESULT_OK) {
        free(name->hostname);
        free(name);
        return NULL;
    }
    return name;
}

static void name_delete(NameCache *cache, Name *name)
{
    if (heap_holds(&name->by_expiry)) {
        heap_remove(&cache->by_expiry, &name->by_expiry);
    }
    (void)map_remove(&cache->names, name_key(name->hostname));
    free(name->hostname);
    free(name);
}

Result name_cache_wait(NameCache *cache, Name *name, VisitState *visit_state, bool *asked)
{
    NameWaiter *waiter = malloc(sizeof *waiter);
    if (waiter == NULL) {
        return RESULT_MEMORY;
    }
    *asked = name->waiters != NULL;
    *waiter = (NameWaiter){.visit_state = visit_state, .next = name->waiters};
    name->waiters = waiter;
    if (heap_holds(&name->by_expiry)) {
        heap_remove(&cache->by_expiry, &name->by_expiry);
    }
    return RESULT_OK;
}

NameWaiter *name_cache_take_waiters(Name *name)
{
    NameWaiter *first = name->waiters;
    name->waiters = NULL;
    return first;
}

void name_cache_keep(NameCache *cache, Name *name)
{
    if (heap_push(&cache->by_expiry, &name->by_expiry, name->expiry.ns, 0) != RESULT_OK) {
        name_delete(cache, name);
        return;
    }
    name_cache_bound(cache, cache->most);
}

void name_cache_bound(NameCache *cache, size_t most)
{
    cache->most = most;
    while (cache->by_expiry.count > cache->most) {
        name_delete(cache, HEAP_ELEMENT(heap_top(&cache->by_expiry), Name, by_expiry));
    }
}
