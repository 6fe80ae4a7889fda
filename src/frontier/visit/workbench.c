#include "frontier/visit/workbench.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Crowd ---- */

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

/* ---- Workbench ---- */

/* ---- Workbench entry ----
 *
 * A visit state that is queued is in one heap of its entry:
 *
 *     enqueue -> waiting, by time -> ripen, its time has come -> ready, by level -> take
 *
 * todo.ready says in which. todo.standing is that of the moment it was queued and is not asked for
 * again before it leaves: a standing that changed meanwhile would have dequeue look into another
 * heap than the one that has it. */

static VisitState *visit_state_of(HeapNode *node)
{
    return HEAP_ELEMENT(node, VisitState, todo.by_time);
}

/* NULL without memory. floor: its next fetch. */
static WorkbenchEntry *workbench_entry_new(const IpAddress *address, MonoTime floor)
{
    WorkbenchEntry *entry = calloc(1, sizeof *entry);
    if (entry == NULL) {
        return NULL;
    }
    entry->address = *address;
    entry->next_fetch = floor;
    heap_init(&entry->waiting);
    heap_node_init(&entry->place);
    for (size_t s = 0; s < STANDINGS; s++) {
        heap_init(&entry->ready[s]);
        heap_node_init(&entry->due[s].node);
    }
    heap_node_init(&entry->news);
    return entry;
}

/* Visit states are not freed. */
static void workbench_entry_delete(WorkbenchEntry *entry)
{
    heap_destroy(&entry->waiting);
    for (size_t s = 0; s < STANDINGS; s++) {
        heap_destroy(&entry->ready[s]);
    }
    free(entry);
}

/* RESULT_MEMORY: it is not queued. */
static Result workbench_entry_enqueue(WorkbenchEntry *entry, VisitState *visit_state)
{
    visit_state->todo.ready = false;
    visit_state->todo.standing =
        standing_of(&visit_state->politeness.standing, &visit_state->politeness.health);
    return heap_push(&entry->waiting, &visit_state->todo.by_time,
                     visit_state_next_time(visit_state).ns, visit_state->identity.host);
}

/* It is queued. */
static void workbench_entry_dequeue(WorkbenchEntry *entry, VisitState *visit_state)
{
    Heap *ready = &entry->ready[visit_state->todo.standing];
    heap_remove(visit_state->todo.ready ? ready : &entry->waiting, &visit_state->todo.by_time);
}

/* A heap's key decides, its tie-break second: by level, then by the time since when it could go. So
 * the tie of a ready one is its time (place_due reads it there). */
static Result workbench_entry_ripen(WorkbenchEntry *entry, MonoTime now)
{
    Result rc = RESULT_OK;
    HeapNode *node = heap_top(&entry->waiting);
    while (rc == RESULT_OK && node != NULL && node->key <= now.ns) {
        VisitState *visit_state = visit_state_of(heap_pop(&entry->waiting));
        rc = heap_push(&entry->ready[visit_state->todo.standing], node,
                       visit_state_level(visit_state),
                       (uint64_t)visit_state_next_time(visit_state).ns);
        visit_state->todo.ready = rc == RESULT_OK;
        if (rc != RESULT_OK) { /* there is room where it came from: a heap never shrinks */
            (void)heap_push(&entry->waiting, node, visit_state_next_time(visit_state).ns,
                            visit_state->identity.host);
        }
        node = heap_top(&entry->waiting);
    }
    return rc;
}

bool workbench_entry_has_ready(const WorkbenchEntry *entry)
{
    return entry->ready[STANDING_PROVEN].count + entry->ready[STANDING_NEW].count +
               entry->ready[STANDING_ILL].count >
           0;
}

/* ---- Due entries ---- */

/* The bias is strict. */
static void due_entries_init(DueEntries *due)
{
    *due = (DueEntries){.bias = {.kind = LEVEL_BIAS_STRICT}};
    for (size_t s = 0; s < STANDINGS; s++) {
        for (size_t i = 0; i < SCHEDULE_MAX_LEVELS; i++) {
            heap_init(&due->at[s][i]);
        }
    }
}

static void due_entries_destroy(DueEntries *due)
{
    for (size_t s = 0; s < STANDINGS; s++) {
        for (size_t i = 0; i < SCHEDULE_MAX_LEVELS; i++) {
            heap_destroy(&due->at[s][i]);
        }
    }
}

/* The bit of a level says whether its heap has anything, so that the best one is found without a
 * look at 64 heaps. */
static void note_level(DueEntries *due, Standing standing, unsigned level)
{
    uint64_t bit = UINT64_C(1) << level;
    uint64_t levels = due->levels[standing];
    due->levels[standing] = due->at[standing][level].count > 0 ? levels | bit : levels & ~bit;
}

/* level: the best of what it offers; worse ones than there are share the last heap. RESULT_MEMORY:
 * it is not in. */
static Result due_entries_add(DueEntries *due, Standing standing, DuePlace *place, unsigned level,
                              MonoTime time)
{
    place->level = (uint8_t)(level < SCHEDULE_MAX_LEVELS ? level : SCHEDULE_MAX_LEVELS - 1);
    Result rc = heap_push(&due->at[standing][place->level], &place->node, time.ns, due->n_added++);
    if (rc == RESULT_OK) {
        due->count[standing]++;
        note_level(due, standing, place->level);
    }
    return rc;
}

static void due_entries_remove(DueEntries *due, Standing standing, DuePlace *place)
{
    heap_remove(&due->at[standing][place->level], &place->node);
    due->count[standing]--;
    note_level(due, standing, place->level);
}

/* The place whose turn it is, among the standings that are open; NULL. It stays in. First the
 * level, over all open standings; then, at that level, who has been due longest. */
static DuePlace *due_entries_next(const DueEntries *due, const bool open[STANDINGS],
                                  Standing *standing)
{
    uint64_t levels = 0;
    for (size_t s = 0; s < STANDINGS; s++) {
        levels |= open[s] ? due->levels[s] : 0;
    }
    unsigned level = level_bias_choose(&due->bias, levels, due->ticket);
    HeapNode *first = NULL;
    for (size_t s = 0; s < STANDINGS && level != SCHEDULE_NO_LEVEL; s++) {
        HeapNode *node = open[s] ? heap_top(&due->at[s][level]) : NULL;
        if (node != NULL && (first == NULL || node->key < first->key)) {
            first = node;
            *standing = (Standing)s;
        }
    }
    return first == NULL ? NULL : HEAP_ELEMENT(first, DuePlace, node);
}

/* ---- Workbench ---- */

/* Leases are asked for LEASE_WANT_MS early because an answer takes a round trip to the arbiter
 * (f2842895), and on a grid so that the threads of an agent wake up for many at once (efc3d29c). */
#define LEASE_KEEP_MS  500                /* a contended lease is kept so long for the next fetch */
#define LEASE_WANT_MS  2000               /* one is asked for so long before it is needed */
#define LEASE_GRID_NS  INT64_C(128000000) /* or up to so much earlier, together with others */
#define LEASE_PAUSE_MS 1000              /* until one is wanted again that could not be asked for */
#define ASLEEP_NS      INT64_C(50000000) /* less is how far two clocks are read apart */

void workbench_init(Workbench *workbench, MonoTime floor)
{
    *workbench = (Workbench){.floor = floor, .most = {SIZE_MAX, SIZE_MAX, SIZE_MAX}};
    map_init(&workbench->entries);
    heap_init(&workbench->waiting);
    heap_init(&workbench->news);
    heap_init(&workbench->resting);
    due_entries_init(&workbench->due);
}

void workbench_share(Workbench *workbench, StandingShares shares, size_t connections)
{
    for (size_t s = 0; s < STANDINGS; s++) {
        workbench->most[s] = standing_most(&shares, (Standing)s, connections);
        workbench->slowed[s] = shares.slowed[s];
    }
}

void workbench_set_leases(Workbench *workbench, const WorkbenchLeases *leases)
{
    workbench->leases = leases;
}

void workbench_set_bias(Workbench *workbench, const LevelBias *bias)
{
    workbench->due.bias = *bias;
}

void workbench_destroy(Workbench *workbench)
{
    size_t place = 0;
    WorkbenchEntry *entry = NULL;
    while ((entry = map_next(&workbench->entries, &place)) != NULL) {
        workbench_entry_delete(entry);
    }
    map_destroy(&workbench->entries);
    heap_destroy(&workbench->waiting);
    heap_destroy(&workbench->news);
    heap_destroy(&workbench->resting);
    due_entries_destroy(&workbench->due);
}

static WorkbenchEntry *workbench_entry_of(HeapNode *node)
{
    return HEAP_ELEMENT(node, WorkbenchEntry, place);
}

static void leave_due(Workbench *workbench, WorkbenchEntry *entry)
{
    for (size_t s = 0; s < STANDINGS; s++) {
        if (heap_holds(&entry->due[s].node)) {
            due_entries_remove(&workbench->due, (Standing)s, &entry->due[s]);
        }
    }
}

/* Takes an entry out of whatever it is in. It comes first in every move, so an entry is never in
 * two places; until place_entry has ended it is in none. */
static void displace(Workbench *workbench, WorkbenchEntry *entry)
{
    switch (entry->queue) {
    case ENTRY_WAITING:
        heap_remove(&workbench->waiting, &entry->place);
        break;
    case ENTRY_DUE:
        leave_due(workbench, entry);
        workbench->n_due--;
        break;
    case ENTRY_RESTING:
        heap_remove(&workbench->resting, &entry->place);
        break;
    case ENTRY_LEASING:
        workbench->n_leasing--;
        break;
    case ENTRY_NOWHERE:
        break;
    }
    heap_remove(&workbench->news, &entry->news);
    entry->queue = ENTRY_NOWHERE;
}

static Result place_due(Workbench *workbench, WorkbenchEntry *entry)
{
    Result rc = RESULT_OK;
    for (size_t s = 0; s < STANDINGS && rc == RESULT_OK; s++) {
        HeapNode *best = heap_top(&entry->ready[s]);
        if (best != NULL) {
            MonoTime time = mono_later(entry->next_fetch, (MonoTime){(int64_t)best->tie});
            if (s == STANDING_NEW && !visit_state_of(best)->politeness.standing.has_answered) {
                time = mono_add_ms(time, WORKBENCH_UNHEARD_MS);
            }
            rc = due_entries_add(&workbench->due, (Standing)s, &entry->due[s], (unsigned)best->key,
                                 time);
        }
    }
    /* All or nothing: an entry that stood in one of two heaps would be taken for one that offers
     * less. */
    if (rc != RESULT_OK) {
        leave_due(workbench, entry);
        return rc;
    }
    entry->queue = ENTRY_DUE;
    workbench->n_due++;
    const HeapNode *next = heap_top(&entry->waiting);
    return next == NULL ? RESULT_OK : heap_push(&workbench->news, &entry->news, next->key, 0);
}

/* ---- leases ---- */

/* The other agents may go on when the address has rested, so its next fetch goes with the lease.
 * Also one that is only wanted is given back: the holder forgets the wish. */
static void workbench_give_back(Workbench *workbench, WorkbenchEntry *entry)
{
    if (entry->lease.state != NO_LEASE) {
        entry->lease = (EntryLease){.state = NO_LEASE};
        workbench->leases->release(workbench->leases->context, &entry->address, entry->next_fetch);
    }
}

/* Once: while an answer is awaited nothing more is asked. The ticket makes an answer to an earlier
 * wish known as such (workbench_hear). */
static void workbench_want(Workbench *workbench, WorkbenchEntry *entry)
{
    if (entry->lease.state == NO_LEASE) {
        entry->lease = (EntryLease){.state = LEASE_IS_WANTED, .ticket = ++workbench->lease_ticket};
        workbench->leases->want(workbench->leases->context, &entry->address, entry->lease.ticket);
    }
}

/* The entry has something to fetch now: it may, or asks for a lease. Asked at each place where a
 * fetch may begin (place_entry, next_due), as a lease ends by the clock alone. */
static bool has_lease(Workbench *workbench, WorkbenchEntry *entry, MonoTime now)
{
    const EntryLease *lease = &entry->lease;
    bool held = lease->state == LEASE_IS_HELD;
    if (workbench->leases == NULL || (held && !lease->ended && mono_before(now, lease->end))) {
        return true;
    }
    if (held) {
        workbench_give_back(workbench, entry);
    }
    workbench_want(workbench, entry);
    return false;
}

/* When a lease is asked for that is needed at `time`: the todo thread wakes up for many at once. */
static MonoTime workbench_want_time(MonoTime time)
{
    MonoTime early = mono_add_ms(time, -LEASE_WANT_MS);
    return (MonoTime){early.ns - early.ns % LEASE_GRID_NS};
}

/* The entry has nothing to fetch before `time`, or without work at all. What it holds it keeps when
 * it will use it; others who wait go first, unless it is a matter of moments, or it was not used
 * yet. What it will need soon it asks for. */
static void spare_lease(Workbench *workbench, WorkbenchEntry *entry, MonoTime time, bool works,
                        MonoTime now)
{
    const EntryLease *lease = &entry->lease;
    bool wants = works && !mono_before(now, workbench_want_time(time));
    MonoTime kept = mono_later(mono_add_ms(now, LEASE_KEEP_MS), lease->kept);
    bool keeps = !mono_before(kept, time);
    bool held = lease->state == LEASE_IS_HELD;
    if (held ? lease->ended || !mono_before(time, lease->end) || (lease->contended && !keeps)
             : !wants) {
        workbench_give_back(workbench, entry);
    }
    if (wants && workbench->leases != NULL) {
        workbench_want(workbench, entry);
    }
}

/* ---- places ---- */

/* Puts an entry that changed where invariants 2, 3, 5 and 6 want it, the first that applies:
 *
 *   it is acquired                        NOWHERE   until workbench_release
 *   a visit state is ready, and so is     DUE       until it is acquired; LEASING, without a lease,
 *   the address                                     until there is news of it
 *   none is queued                        RESTING   until its next fetch; then it is forgotten
 *   any other                             WAITING   for the address, or its first visit state
 *
 * A due entry whose next visit state only waits stands in `news` as well: that one may be of a
 * better level, or of a standing that the entry has no place for, when its time has come. */
static Result place_entry(Workbench *workbench, WorkbenchEntry *entry, MonoTime now)
{
    displace(workbench, entry);
    if (entry->acquired) {
        return RESULT_OK;
    }
    Result rc = workbench_entry_ripen(entry, now);
    if (rc != RESULT_OK) {
        return rc;
    }
    const HeapNode *next = heap_top(&entry->waiting);
    bool ready = workbench_entry_has_ready(entry);
    if (ready && !mono_before(now, entry->next_fetch)) {
        if (has_lease(workbench, entry, now)) {
            return place_due(workbench, entry);
        }
        entry->queue = ENTRY_LEASING;
        workbench->n_leasing++;
        return RESULT_OK;
    }
    if (!ready && next == NULL) {
        spare_lease(workbench, entry, entry->next_fetch, false, now);
        rc = heap_push(&workbench->resting, &entry->place, entry->next_fetch.ns, 0);
        entry->queue = rc == RESULT_OK ? ENTRY_RESTING : ENTRY_NOWHERE;
        return rc;
    }
    /* A ready one waits for the address; else the later of both. */
    MonoTime time = ready || next == NULL ? entry->next_fetch
                                          : mono_later(entry->next_fetch, (MonoTime){next->key});
    spare_lease(workbench, entry, time, true, now);
    /* It wakes up early, to ask for the lease; then it is placed anew, by its own time. */
    if (workbench->leases != NULL && entry->lease.state == NO_LEASE) {
        time = workbench_want_time(time);
    }
    rc = heap_push(&workbench->waiting, &entry->place, time.ns, 0);
    entry->queue = rc == RESULT_OK ? ENTRY_WAITING : ENTRY_NOWHERE;
    return rc;
}

static Result workbench_find_entry(Workbench *workbench, const IpAddress *address,
                                   WorkbenchEntry **out)
{
    MapKey key = ip_address_key(address);
    WorkbenchEntry *entry = map_get(&workbench->entries, key);
    if (entry == NULL) {
        entry = workbench_entry_new(address, workbench->floor);
        if (entry == NULL) {
            return RESULT_MEMORY;
        }
        Result rc = map_put(&workbench->entries, key, entry);
        if (rc != RESULT_OK) {
            workbench_entry_delete(entry);
            return rc;
        }
    }
    *out = entry;
    return RESULT_OK;
}

static void leave_entry(VisitState *visit_state)
{
    visit_state->todo.entry->n_visit_states--;
    visit_state->todo.entry = NULL;
}

Result workbench_add(Workbench *workbench, VisitState *visit_state, MonoTime now)
{
    assert(visit_state->todo.entry == NULL);
    WorkbenchEntry *entry = NULL;
    if (visit_state->politeness.next_fetch.ns == 0) {
        visit_state->politeness.next_fetch = now; /* it has never been asked: due since now */
    }
    /* An entry that was made here and stays empty is harmless: it rests, and is forgotten. */
    Result rc = workbench_find_entry(workbench, &visit_state->address.ip, &entry);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = workbench_entry_enqueue(entry, visit_state);
    if (rc == RESULT_OK) {
        rc = place_entry(workbench, entry, now);
        if (rc != RESULT_OK) {
            workbench_entry_dequeue(entry, visit_state);
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

/* Moves entries whose time has come, and forgets empty ones whose rest is over. Lack of memory
 * ends the walk; the entry at hand stands nowhere then (workbench_release). */
static void workbench_advance(Workbench *workbench, MonoTime now)
{
    HeapNode *node = heap_top(&workbench->waiting);
    while (node != NULL && node->key <= now.ns) {
        if (place_entry(workbench, workbench_entry_of(node), now) != RESULT_OK) {
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
        WorkbenchEntry *entry = workbench_entry_of(heap_pop(&workbench->resting));
        workbench_give_back(workbench, entry);
        (void)map_remove(&workbench->entries, ip_address_key(&entry->address));
        workbench_entry_delete(entry);
        node = heap_top(&workbench->resting);
    }
}

/* `place` is one of the entry's row of places; the row begins `standing` places before. */
static WorkbenchEntry *entry_due(DuePlace *place, Standing standing)
{
    return HEAP_ELEMENT(place - standing, WorkbenchEntry, due);
}

static bool workbench_is_open(const Workbench *workbench, Standing standing)
{
    return workbench_n_active(workbench, standing) < workbench->most[standing];
}

/* The entry whose turn it is, and which of its visit states; NULL. It is displaced. Each entry
 * without a lease leaves the due ones here, so the loop ends. A turn counts for the bias only when
 * it is used. */
static WorkbenchEntry *next_due(Workbench *workbench, MonoTime now, Standing *standing)
{
    bool open[STANDINGS];
    DuePlace *place = NULL;
    for (size_t s = 0; s < STANDINGS; s++) {
        open[s] = workbench_is_open(workbench, (Standing)s);
    }
    while ((place = due_entries_next(&workbench->due, open, standing)) != NULL) {
        WorkbenchEntry *entry = entry_due(place, *standing);
        if (has_lease(workbench, entry, now)) {
            workbench->due.ticket++;
            displace(workbench, entry);
            return entry;
        }
        (void)place_entry(workbench, entry, now); /* its lease has run out */
    }
    return NULL;
}

VisitState *workbench_acquire(Workbench *workbench, MonoTime now)
{
    workbench_advance(workbench, now);
    Standing standing = STANDING_PROVEN;
    WorkbenchEntry *entry = next_due(workbench, now, &standing);
    if (entry == NULL) {
        return NULL;
    }
    /* The entry is in no heap from here on, and none of its other visit states can be acquired
     * (invariant 4). */
    VisitState *visit_state = visit_state_of(heap_pop(&entry->ready[standing]));
    assert(!entry->acquired && !mono_before(now, entry->next_fetch) &&
           !mono_before(now, visit_state_next_time(visit_state)));
    entry->acquired = true;
    /* It has been used: from now on others who wait go first. */
    entry->lease.kept = (MonoTime){0};
    MonoTime unbounded = {0};
    visit_state->politeness.fetch_before = workbench->leases == NULL ? unbounded : entry->lease.end;
    visit_state->place = VISIT_STATE_ACQUIRED;
    workbench->n_queued--;
    workbench->n_acquired++;
    workbench->acquired[standing]++;
    return visit_state;
}

bool workbench_release(Workbench *workbench, VisitState *visit_state, MonoTime now)
{
    WorkbenchEntry *entry = visit_state->todo.entry;
    assert(entry != NULL && entry->acquired);
    entry->acquired = false;
    /* Never earlier than it was: a visit state that was given back untouched must not shorten the
     * rest that another one has caused. */
    entry->next_fetch = mono_later(entry->next_fetch, visit_state->politeness.ip_next_fetch);
    workbench->n_acquired--;
    workbench->acquired[visit_state->todo.standing]--;
    /* Why a visit state leaves: nothing to fetch, dropped, far, an errand for its robots.txt,
     * better URLs (signals.wanted), or an address that is to be asked for again. */
    bool far = mono_ms_between(now, visit_state->politeness.next_fetch) > WORKBENCH_FAR_MS;
    bool keep = visit_state_n_ready(visit_state) > 0 && !visit_state->politeness.dropped && !far &&
                !visit_state->robots.elsewhere && !atomic_load(&visit_state->signals.wanted) &&
                mono_before(now, visit_state->address.expiry);
    if (keep && workbench_entry_enqueue(entry, visit_state) == RESULT_OK) {
        visit_state->place = VISIT_STATE_QUEUED;
        workbench->n_queued++;
    } else {
        keep = false;
        leave_entry(visit_state);
        visit_state->place = VISIT_STATE_REFILLING;
    }
    /* Without memory the entry stands nowhere, though what is queued in it stays. It is found by
     * its address, and placed when a visit state of that address is added. */
    (void)place_entry(workbench, entry, now);
    return keep;
}

bool workbench_recall(Workbench *workbench, VisitState *visit_state, MonoTime now)
{
    /* It is at a fetching thread, or was recalled before. */
    if (!heap_holds(&visit_state->todo.by_time)) {
        return false;
    }
    WorkbenchEntry *entry = visit_state->todo.entry;
    workbench_entry_dequeue(entry, visit_state);
    leave_entry(visit_state);
    visit_state->place = VISIT_STATE_REFILLING;
    workbench->n_queued--;
    (void)place_entry(workbench, entry, now);
    return true;
}

MonoTime workbench_next_time(const Workbench *workbench)
{
    for (size_t s = 0; s < STANDINGS; s++) {
        if (workbench->due.count[s] > 0 && workbench_is_open(workbench, (Standing)s)) {
            return (MonoTime){0};
        }
    }
    /* Nothing that is due may go. Beside the entries that wait, one that is due for a standing
     * without room may get a visit state of another (news). */
    const HeapNode *node = heap_top(&workbench->waiting);
    const HeapNode *news = heap_top(&workbench->news);
    MonoTime next = node == NULL ? MONO_NEVER : (MonoTime){node->key};
    return news == NULL ? next : mono_earlier(next, (MonoTime){news->key});
}

MonoTime workbench_next_round(const Workbench *workbench, bool idle, MonoTime last, bool was_told)
{
    MonoTime next = idle ? MONO_NEVER : workbench_next_time(workbench);
    MonoTime releases = mono_add_ms(last, WORKBENCH_RELEASE_MS);
    if (!mono_before(last, next)) {
        return next;
    }
    next = mono_later(next, mono_add_ms(last, WORKBENCH_ROUND_MS));
    return was_told && workbench->n_due == 0 && mono_before(releases, next) ? releases : next;
}

size_t workbench_front(const Workbench *workbench)
{
    return workbench->waiting.count + workbench->n_due + workbench->n_leasing;
}

size_t workbench_n_entries(const Workbench *workbench)
{
    return workbench->entries.count;
}

size_t workbench_n_active(const Workbench *workbench, Standing standing)
{
    return standing_counted(workbench->acquired, workbench->slowed, workbench->most[STANDING_ILL],
                            standing);
}

/* Entries, not visit states: an address is one connection. */
size_t workbench_n_crowded(const Workbench *workbench, Standing standing, size_t connections)
{
    bool open = workbench_is_open(workbench, standing) && workbench->n_acquired < connections;
    return open ? 0 : workbench->due.count[standing];
}

/* ---- news of leases ---- */

void workbench_hear(Workbench *workbench, const LeaseNotice *notice, MonoTime now)
{
    WorkbenchEntry *entry = map_get(&workbench->entries, ip_address_key(&notice->address));
    EntryLease *lease = entry == NULL ? NULL : &entry->lease;
    if (lease == NULL || lease->state == NO_LEASE || lease->ticket != notice->ticket) {
        return; /* it came too late */
    }
    switch (notice->kind) {
    case LEASE_NOTICE_GRANTED:
        *lease = (EntryLease){.state = LEASE_IS_HELD,
                              .ticket = notice->ticket,
                              .end = notice->end,
                              .contended = notice->contended};
        /* Another agent has fetched from it, and the address rests until then. */
        entry->next_fetch = mono_later(entry->next_fetch, notice->begin);
        lease->kept = mono_add_ms(mono_later(now, notice->begin), LEASE_WANT_MS);
        break;
    case LEASE_NOTICE_CONTENDED:
        lease->contended = true;
        break;
    case LEASE_NOTICE_ENDED:
        if (lease->state == LEASE_IS_WANTED) { /* it could not be asked for: not at once again */
            *lease = (EntryLease){.state = NO_LEASE};
            entry->next_fetch =
                mono_later(entry->next_fetch, mono_add_ms(now, LEASE_PAUSE_MS + LEASE_WANT_MS));
        }
        lease->ended = true;
        break;
    }
    (void)place_entry(workbench, entry, now);
}

/* A lease that has ended in the past is given back, and wanted again, when the entry is looked
 * at. */
void workbench_count_sleep(Workbench *workbench, int64_t asleep_ns)
{
    if (asleep_ns - workbench->asleep_ns > ASLEEP_NS) {
        size_t place = 0;
        WorkbenchEntry *entry = NULL;
        while ((entry = map_next(&workbench->entries, &place)) != NULL) {
            entry->lease.end = (MonoTime){0};
        }
    }
    workbench->asleep_ns = asleep_ns;
}
