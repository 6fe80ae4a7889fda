#include "frontier/workbench.h"

#include <assert.h>
#include <stdlib.h>

void workbench_init(Workbench *workbench, MonoTime floor)
{
    map_init(&workbench->entries);
    heap_init(&workbench->waiting);
    heap_init(&workbench->due);
    heap_init(&workbench->resting);
    workbench->n_queued = 0;
    workbench->n_acquired = 0;
    workbench->floor = floor;
}

static void entry_delete(WorkbenchEntry *entry)
{
    heap_destroy(&entry->visit_states);
    free(entry);
}

void workbench_destroy(Workbench *workbench)
{
    size_t place = 0;
    WorkbenchEntry *entry = NULL;
    while ((entry = map_next(&workbench->entries, &place)) != NULL) {
        entry_delete(entry);
    }
    map_destroy(&workbench->entries);
    heap_destroy(&workbench->waiting);
    heap_destroy(&workbench->due);
    heap_destroy(&workbench->resting);
}

static WorkbenchEntry *entry_of(HeapNode *node)
{
    return HEAP_ELEMENT(node, WorkbenchEntry, place);
}

static VisitState *first_visit_state(const WorkbenchEntry *entry)
{
    HeapNode *node = heap_top(&entry->visit_states);
    return node == NULL ? NULL : HEAP_ELEMENT(node, VisitState, by_time);
}

static Heap *heap_of(Workbench *workbench, const WorkbenchEntry *entry)
{
    switch (entry->queue) {
    case ENTRY_WAITING:
        return &workbench->waiting;
    case ENTRY_DUE:
        return &workbench->due;
    case ENTRY_RESTING:
        return &workbench->resting;
    case ENTRY_NOWHERE:
        break;
    }
    return NULL;
}

/* Puts an entry that changed where invariants 2, 3 and 5 want it. */
static Result place_entry(Workbench *workbench, WorkbenchEntry *entry, MonoTime now)
{
    Heap *heap = heap_of(workbench, entry);
    if (heap != NULL) {
        heap_remove(heap, &entry->place);
        entry->queue = ENTRY_NOWHERE;
    }
    if (entry->acquired) {
        return RESULT_OK;
    }
    const VisitState *first = first_visit_state(entry);
    Result rc = RESULT_OK;
    if (first == NULL) {
        rc = heap_push(&workbench->resting, &entry->place, entry->next_fetch.ns, 0);
        entry->queue = rc == RESULT_OK ? ENTRY_RESTING : ENTRY_NOWHERE;
        return rc;
    }
    MonoTime time = mono_later(entry->next_fetch, first->next_fetch);
    if (mono_before(now, time)) {
        rc = heap_push(&workbench->waiting, &entry->place, time.ns, 0);
        entry->queue = rc == RESULT_OK ? ENTRY_WAITING : ENTRY_NOWHERE;
    } else {
        const WindowUrl *url = visit_state_peek(first);
        rc = heap_push(&workbench->due, &entry->place, url == NULL ? 0 : url->level,
                       (uint64_t)time.ns);
        entry->queue = rc == RESULT_OK ? ENTRY_DUE : ENTRY_NOWHERE;
    }
    return rc;
}

static Result find_entry(Workbench *workbench, const IpAddress *address, WorkbenchEntry **out)
{
    MapKey key = ip_address_key(address);
    WorkbenchEntry *entry = map_get(&workbench->entries, key);
    Result rc = RESULT_OK;
    if (entry == NULL) {
        entry = calloc(1, sizeof *entry);
        if (entry == NULL) {
            return RESULT_MEMORY;
        }
        entry->address = *address;
        entry->next_fetch = workbench->floor;
        heap_init(&entry->visit_states);
        heap_node_init(&entry->place);
        rc = map_put(&workbench->entries, key, entry);
        if (rc != RESULT_OK) {
            entry_delete(entry);
            return rc;
        }
    }
    *out = entry;
    return rc;
}

static void leave_entry(VisitState *visit_state)
{
    visit_state->entry->n_visit_states--;
    visit_state->entry = NULL;
}

Result workbench_add(Workbench *workbench, VisitState *visit_state, MonoTime now)
{
    assert(visit_state->entry == NULL);
    WorkbenchEntry *entry = NULL;
    Result rc = find_entry(workbench, &visit_state->address, &entry);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = heap_push(&entry->visit_states, &visit_state->by_time, visit_state->next_fetch.ns,
                   visit_state->host);
    if (rc == RESULT_OK) {
        rc = place_entry(workbench, entry, now);
        if (rc != RESULT_OK) {
            heap_remove(&entry->visit_states, &visit_state->by_time);
        }
    }
    if (rc == RESULT_OK) {
        visit_state->entry = entry;
        entry->n_visit_states++;
        visit_state->place = VISIT_STATE_QUEUED;
        workbench->n_queued++;
    }
    return rc;
}

/* Moves entries whose time has come, and forgets empty ones whose rest is over. */
static void advance(Workbench *workbench, MonoTime now)
{
    HeapNode *node = heap_top(&workbench->waiting);
    while (node != NULL && node->key <= now.ns) {
        if (place_entry(workbench, entry_of(node), now) != RESULT_OK) {
            break;
        }
        node = heap_top(&workbench->waiting);
    }
    node = heap_top(&workbench->resting);
    while (node != NULL && node->key <= now.ns) {
        WorkbenchEntry *entry = entry_of(heap_pop(&workbench->resting));
        (void)map_remove(&workbench->entries, ip_address_key(&entry->address));
        entry_delete(entry);
        node = heap_top(&workbench->resting);
    }
}

VisitState *workbench_acquire(Workbench *workbench, MonoTime now)
{
    advance(workbench, now);
    HeapNode *node = heap_pop(&workbench->due);
    if (node == NULL) {
        return NULL;
    }
    WorkbenchEntry *entry = entry_of(node);
    entry->queue = ENTRY_NOWHERE;
    VisitState *visit_state = HEAP_ELEMENT(heap_pop(&entry->visit_states), VisitState, by_time);
    assert(!entry->acquired && !mono_before(now, entry->next_fetch) &&
           !mono_before(now, visit_state->next_fetch));
    entry->acquired = true;
    visit_state->place = VISIT_STATE_ACQUIRED;
    workbench->n_queued--;
    workbench->n_acquired++;
    return visit_state;
}

bool workbench_release(Workbench *workbench, VisitState *visit_state, MonoTime now)
{
    WorkbenchEntry *entry = visit_state->entry;
    assert(entry != NULL && entry->acquired);
    entry->acquired = false;
    entry->next_fetch = mono_later(entry->next_fetch, visit_state->ip_next_fetch);
    workbench->n_acquired--;
    bool far = mono_ms_between(now, visit_state->next_fetch) > WORKBENCH_FAR_MS;
    bool keep = visit_state_count(visit_state) > 0 && !visit_state->dropped && !far &&
                !visit_state->robots_elsewhere && !atomic_load(&visit_state->wanted) &&
                mono_before(now, visit_state->address_expiry);
    if (keep && heap_push(&entry->visit_states, &visit_state->by_time, visit_state->next_fetch.ns,
                          visit_state->host) == RESULT_OK) {
        visit_state->place = VISIT_STATE_QUEUED;
        workbench->n_queued++;
    } else {
        keep = false;
        leave_entry(visit_state);
        visit_state->place = VISIT_STATE_REFILLING;
    }
    /* No memory to place the entry: it stays findable by address and is placed at the next add. */
    (void)place_entry(workbench, entry, now);
    return keep;
}

MonoTime workbench_next_time(const Workbench *workbench)
{
    if (workbench->due.count > 0) {
        return (MonoTime){0};
    }
    const HeapNode *node = heap_top(&workbench->waiting);
    return node == NULL ? MONO_NEVER : (MonoTime){node->key};
}

size_t workbench_front(const Workbench *workbench)
{
    return workbench->waiting.count + workbench->due.count;
}

size_t workbench_n_entries(const Workbench *workbench)
{
    return workbench->entries.count;
}

VisitState *workbench_drain(Workbench *workbench)
{
    Heap *const heaps[] = {&workbench->due, &workbench->waiting};
    for (size_t i = 0; i < 2; i++) {
        HeapNode *node = heap_top(heaps[i]);
        if (node != NULL) {
            WorkbenchEntry *entry = entry_of(node);
            VisitState *visit_state =
                HEAP_ELEMENT(heap_pop(&entry->visit_states), VisitState, by_time);
            workbench->n_queued--;
            leave_entry(visit_state);
            (void)place_entry(workbench, entry, (MonoTime){0});
            return visit_state;
        }
    }
    return NULL;
}
