#include "frontier/visit/workbench.h"

#include <assert.h>
#include <stdlib.h>

void workbench_init(Workbench *workbench, MonoTime floor)
{
    *workbench = (Workbench){.floor = floor, .bias = {.kind = LEVEL_BIAS_STRICT}};
    map_init(&workbench->entries);
    heap_init(&workbench->waiting);
    heap_init(&workbench->news);
    heap_init(&workbench->resting);
    for (size_t i = 0; i < SCHEDULE_MAX_LEVELS; i++) {
        heap_init(&workbench->due[i]);
    }
}

void workbench_set_bias(Workbench *workbench, const LevelBias *bias)
{
    workbench->bias = *bias;
}

static void entry_delete(WorkbenchEntry *entry)
{
    heap_destroy(&entry->waiting);
    heap_destroy(&entry->ready);
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
    heap_destroy(&workbench->news);
    heap_destroy(&workbench->resting);
    for (size_t i = 0; i < SCHEDULE_MAX_LEVELS; i++) {
        heap_destroy(&workbench->due[i]);
    }
}

static WorkbenchEntry *entry_of(HeapNode *node)
{
    return HEAP_ELEMENT(node, WorkbenchEntry, place);
}

static VisitState *visit_state_of(HeapNode *node)
{
    return HEAP_ELEMENT(node, VisitState, todo.by_time);
}

static void note_due(Workbench *workbench, unsigned level)
{
    uint64_t bit = UINT64_C(1) << level;
    bool any = workbench->due[level].count > 0;
    workbench->due_levels = any ? workbench->due_levels | bit : workbench->due_levels & ~bit;
}

/* Takes an entry out of whatever it is in. */
static void displace(Workbench *workbench, WorkbenchEntry *entry)
{
    switch (entry->queue) {
    case ENTRY_WAITING:
        heap_remove(&workbench->waiting, &entry->place);
        break;
    case ENTRY_DUE:
        heap_remove(&workbench->due[entry->level], &entry->place);
        note_due(workbench, entry->level);
        workbench->n_due--;
        break;
    case ENTRY_RESTING:
        heap_remove(&workbench->resting, &entry->place);
        break;
    case ENTRY_NOWHERE:
        break;
    }
    if (heap_holds(&entry->news)) {
        heap_remove(&workbench->news, &entry->news);
    }
    entry->queue = ENTRY_NOWHERE;
}

/* Visit states whose time has come are ordered by what they offer. */
static Result ripen(WorkbenchEntry *entry, MonoTime now)
{
    Result rc = RESULT_OK;
    HeapNode *node = heap_top(&entry->waiting);
    while (rc == RESULT_OK && node != NULL && node->key <= now.ns) {
        VisitState *visit_state = visit_state_of(heap_pop(&entry->waiting));
        rc = heap_push(&entry->ready, node, visit_state_level(visit_state),
                       (uint64_t)visit_state->politeness.next_fetch.ns);
        visit_state->todo.ready = rc == RESULT_OK;
        if (rc != RESULT_OK) { /* there is room where it came from */
            (void)heap_push(&entry->waiting, node, visit_state->politeness.next_fetch.ns,
                            visit_state->identity.host);
        }
        node = heap_top(&entry->waiting);
    }
    return rc;
}

static Result place_due(Workbench *workbench, WorkbenchEntry *entry)
{
    HeapNode *best = heap_top(&entry->ready);
    int64_t time = mono_later(entry->next_fetch, (MonoTime){(int64_t)best->tie}).ns;
    entry->level = (uint8_t)(best->key < SCHEDULE_MAX_LEVELS ? best->key : SCHEDULE_MAX_LEVELS - 1);
    Result rc = heap_push(&workbench->due[entry->level], &entry->place, time, 0);
    if (rc == RESULT_OK) {
        entry->queue = ENTRY_DUE;
        workbench->n_due++;
        note_due(workbench, entry->level);
        const HeapNode *next = heap_top(&entry->waiting);
        if (next != NULL) {
            rc = heap_push(&workbench->news, &entry->news, next->key, 0);
        }
    }
    return rc;
}

/* Puts an entry that changed where invariants 2, 3 and 5 want it. */
static Result place_entry(Workbench *workbench, WorkbenchEntry *entry, MonoTime now)
{
    displace(workbench, entry);
    if (entry->acquired) {
        return RESULT_OK;
    }
    Result rc = ripen(entry, now);
    if (rc != RESULT_OK) {
        return rc;
    }
    const HeapNode *next = heap_top(&entry->waiting);
    if (entry->ready.count > 0 && !mono_before(now, entry->next_fetch)) {
        return place_due(workbench, entry);
    }
    if (entry->ready.count == 0 && next == NULL) {
        rc = heap_push(&workbench->resting, &entry->place, entry->next_fetch.ns, 0);
        entry->queue = rc == RESULT_OK ? ENTRY_RESTING : ENTRY_NOWHERE;
        return rc;
    }
    MonoTime time = entry->ready.count > 0 || next == NULL
                        ? entry->next_fetch
                        : mono_later(entry->next_fetch, (MonoTime){next->key});
    rc = heap_push(&workbench->waiting, &entry->place, time.ns, 0);
    entry->queue = rc == RESULT_OK ? ENTRY_WAITING : ENTRY_NOWHERE;
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
        heap_init(&entry->waiting);
        heap_init(&entry->ready);
        heap_node_init(&entry->place);
        heap_node_init(&entry->news);
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
    visit_state->todo.entry->n_visit_states--;
    visit_state->todo.entry = NULL;
}

static Result enqueue(WorkbenchEntry *entry, VisitState *visit_state)
{
    visit_state->todo.ready = false;
    return heap_push(&entry->waiting, &visit_state->todo.by_time,
                     visit_state->politeness.next_fetch.ns, visit_state->identity.host);
}

static void dequeue(WorkbenchEntry *entry, VisitState *visit_state)
{
    heap_remove(visit_state->todo.ready ? &entry->ready : &entry->waiting,
                &visit_state->todo.by_time);
}

Result workbench_add(Workbench *workbench, VisitState *visit_state, MonoTime now)
{
    assert(visit_state->todo.entry == NULL);
    WorkbenchEntry *entry = NULL;
    Result rc = find_entry(workbench, &visit_state->address.ip, &entry);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = enqueue(entry, visit_state);
    if (rc == RESULT_OK) {
        rc = place_entry(workbench, entry, now);
        if (rc != RESULT_OK) {
            dequeue(entry, visit_state);
        }
    }
    if (rc == RESULT_OK) {
        visit_state->todo.entry = entry;
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
    node = heap_top(&workbench->news);
    while (node != NULL && node->key <= now.ns) {
        if (place_entry(workbench, HEAP_ELEMENT(node, WorkbenchEntry, news), now) != RESULT_OK) {
            break;
        }
        node = heap_top(&workbench->news);
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
    unsigned level = level_bias_choose(&workbench->bias, workbench->due_levels, workbench->ticket);
    if (level == SCHEDULE_NO_LEVEL) {
        return NULL;
    }
    workbench->ticket++;
    WorkbenchEntry *entry = entry_of(heap_top(&workbench->due[level]));
    displace(workbench, entry);
    VisitState *visit_state = visit_state_of(heap_pop(&entry->ready));
    assert(!entry->acquired && !mono_before(now, entry->next_fetch) &&
           !mono_before(now, visit_state->politeness.next_fetch));
    entry->acquired = true;
    visit_state->place = VISIT_STATE_ACQUIRED;
    workbench->n_queued--;
    workbench->n_acquired++;
    return visit_state;
}

bool workbench_release(Workbench *workbench, VisitState *visit_state, MonoTime now)
{
    WorkbenchEntry *entry = visit_state->todo.entry;
    assert(entry != NULL && entry->acquired);
    entry->acquired = false;
    entry->next_fetch = mono_later(entry->next_fetch, visit_state->politeness.ip_next_fetch);
    workbench->n_acquired--;
    bool far = mono_ms_between(now, visit_state->politeness.next_fetch) > WORKBENCH_FAR_MS;
    bool keep = visit_state_count(visit_state) > 0 && !visit_state->politeness.dropped && !far &&
                !visit_state->robots.elsewhere && !atomic_load(&visit_state->signals.wanted) &&
                mono_before(now, visit_state->address.expiry);
    if (keep && enqueue(entry, visit_state) == RESULT_OK) {
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

bool workbench_recall(Workbench *workbench, VisitState *visit_state, MonoTime now)
{
    if (!heap_holds(&visit_state->todo.by_time)) {
        return false;
    }
    WorkbenchEntry *entry = visit_state->todo.entry;
    dequeue(entry, visit_state);
    leave_entry(visit_state);
    visit_state->place = VISIT_STATE_REFILLING;
    workbench->n_queued--;
    (void)place_entry(workbench, entry, now);
    return true;
}

MonoTime workbench_next_time(const Workbench *workbench)
{
    if (workbench->n_due > 0) {
        return (MonoTime){0};
    }
    const HeapNode *node = heap_top(&workbench->waiting);
    return node == NULL ? MONO_NEVER : (MonoTime){node->key};
}

size_t workbench_front(const Workbench *workbench)
{
    return workbench->waiting.count + workbench->n_due;
}

size_t workbench_n_entries(const Workbench *workbench)
{
    return workbench->entries.count;
}

VisitState *workbench_drain(Workbench *workbench)
{
    HeapNode *node = workbench->due_levels == 0
                         ? heap_top(&workbench->waiting)
                         : heap_top(&workbench->due[__builtin_ctzll(workbench->due_levels)]);
    if (node == NULL) {
        return NULL;
    }
    WorkbenchEntry *entry = entry_of(node);
    HeapNode *first = heap_top(entry->ready.count > 0 ? &entry->ready : &entry->waiting);
    VisitState *visit_state = visit_state_of(first);
    (void)workbench_recall(workbench, visit_state, (MonoTime){0});
    return visit_state;
}
