#include "cluster/lease/lease_arbiter.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "base/memory/heap.h"

/* The longest that anything of this may last. */
static int64_t lease_arbiter_drifted(int64_t ms)
{
    return ms + ms / LEASE_DRIFT + 1;
}

/* ---- Lease floor ---- */

int64_t lease_busy_ms(const LeaseRules *rules)
{
    int64_t busy = rules->term_ms + rules->fetch_ms + rules->delay_ms;
    return lease_arbiter_drifted(busy);
}

int64_t lease_rest_ms(const LeaseRules *rules)
{
    int64_t looks = rules->confirm_ms + rules->stale_ms;
    return lease_busy_ms(rules) + lease_arbiter_drifted(looks);
}

#define FLOOR_TABLES 64u /* changes of arbiters within one rest; beyond, everything rests */

/* Arbiters until some moment. */
typedef struct LeaseFormer {
    Arbiters arbiters;
    MonoTime until;
} LeaseFormer;

typedef struct LeaseFloor {
    int64_t rest_ms;
    uint16_t self;
    bool closed;              /* nothing is granted any more */
    MonoTime floor;           /* nothing is granted before */
    MonoTime confirmed_until; /* nor after */
    uint64_t epoch;
    Arbiters arbiters;
    LeaseFormer formers[FLOOR_TABLES];
    size_t n_formers;
} LeaseFloor;

static bool lease_floor_may_grant(const LeaseFloor *floor, MonoTime now)
{
    return !floor->closed && mono_before(now, floor->confirmed_until);
}

static bool lease_floor_is_mine(const LeaseFloor *floor, const IpAddress *address)
{
    return arbiters_find(&floor->arbiters, address) == floor->self;
}

/* Forgets arbiters of whom nothing can be left; MONO_NEVER: all. */
static void drop_formers(LeaseFloor *floor, MonoTime now)
{
    size_t kept = 0;
    for (size_t i = 0; i < floor->n_formers; i++) {
        LeaseFormer *former = &floor->formers[i];
        if (mono_before(now, mono_add_ms(former->until, floor->rest_ms))) {
            floor->formers[kept++] = *former;
        } else {
            arbiters_destroy(&former->arbiters);
        }
    }
    floor->n_formers = kept;
}

/* When an address may be granted first. */
static MonoTime lease_floor_of(const LeaseFloor *floor, const IpAddress *address)
{
    MonoTime first = floor->floor;
    for (size_t i = 0; i < floor->n_formers; i++) {
        const LeaseFormer *former = &floor->formers[i];
        if (arbiters_find(&former->arbiters, address) != floor->self) {
            first = mono_later(first, mono_add_ms(former->until, floor->rest_ms));
        }
    }
    return first;
}

/* ---- Lease arbiter ---- */

typedef struct Waiter {
    LeaseClient client;
    MonoTime heard;
} Waiter;

typedef struct Lease {
    IpAddress address;
    HeapNode due;       /* when something is to be done about it */
    LeaseClient holder; /* while number > 0 */
    uint64_t number;
    MonoTime busy_until; /* without a release */
    MonoTime free_at;    /* not granted before */
    bool holder_knows;   /* that others wait, or will be told by an answer */
    bool offered;        /* to the first waiter */
    MonoTime offer_end;
    Waiter *waiters; /* in order of coming; owned */
    size_t n_waiters;
    struct Lease *next_foreign; /* while they are collected */
} Lease;

/* What was heard of an agent. */
typedef struct Client {
    uint64_t session;
    uint64_t number; /* of its last message */
} Client;

struct LeaseArbiter {
    LeaseRules rules;
    size_t most;
    LeaseFloor floor;
    Map leases;    /* by address */
    Map clients;   /* by agent + 1 */
    Heap due;      /* leases */
    uint64_t last; /* number given */
    size_t waiters;
};

static bool same_client(LeaseClient a, LeaseClient b)
{
    return a.agent == b.agent && a.session == b.session;
}

/* When something is to be done about it. */
static MonoTime lease_arbiter_due_of(const LeaseArbiter *arbiter, const Lease *lease)
{
    if (lease->number > 0) {
        bool tell = lease->n_waiters > 0 && !lease->holder_knows;
        MonoTime at_once = {0};
        return tell ? at_once : lease->busy_until;
    }
    if (lease->offered) {
        return lease->offer_end;
    }
    return lease->n_waiters > 0 ? mono_add_ms(lease->free_at, -arbiter->rules.lead_ms)
                                : lease->free_at;
}

/* There is room: the heap never shrinks. */
static void lease_arbiter_place(LeaseArbiter *arbiter, Lease *lease)
{
    heap_remove(&arbiter->due, &lease->due);
    (void)heap_push(&arbiter->due, &lease->due, lease_arbiter_due_of(arbiter, lease).ns,
                    lease->number);
}

/* ---- birth ---- */

Result lease_arbiter_new(LeaseArbiter **out, const LeaseRules *rules, uint16_t self, size_t most,
                         MonoTime now)
{
    LeaseArbiter *arbiter = calloc(1, sizeof *arbiter);
    if (arbiter == NULL) {
        return RESULT_MEMORY;
    }
    arbiter->rules = *rules;
    arbiter->most = most;
    int64_t rest_ms = lease_rest_ms(rules);
    arbiter->floor = (LeaseFloor){.rest_ms = rest_ms,
                                  .self = self,
                                  .floor = mono_add_ms(now, rest_ms),
                                  .confirmed_until = now};
    map_init(&arbiter->leases);
    map_init(&arbiter->clients);
    heap_init(&arbiter->due);
    *out = arbiter;
    return RESULT_OK;
}

static void lease_arbiter_forget(LeaseArbiter *arbiter, Lease *lease)
{
    heap_remove(&arbiter->due, &lease->due);
    arbiter->waiters -= lease->n_waiters;
    (void)map_remove(&arbiter->leases, ip_address_key(&lease->address));
    free(lease->waiters);
    free(lease);
}

void lease_arbiter_delete(LeaseArbiter *arbiter)
{
    size_t place = 0;
    Client *client = NULL;
    HeapNode *node = NULL;
    if (arbiter == NULL) {
        return;
    }
    while ((node = heap_top(&arbiter->due)) != NULL) { /* every lease is in it */
        lease_arbiter_forget(arbiter, HEAP_ELEMENT(node, Lease, due));
    }
    while ((client = map_next(&arbiter->clients, &place)) != NULL) {
        free(client);
    }
    drop_formers(&arbiter->floor, MONO_NEVER);
    arbiters_destroy(&arbiter->floor.arbiters);
    map_destroy(&arbiter->leases);
    map_destroy(&arbiter->clients);
    heap_destroy(&arbiter->due);
    free(arbiter);
}

/* ---- tables ---- */

/* Those whose arbiter is another agent now. */
static void forget_foreign(LeaseArbiter *arbiter)
{
    size_t place_in_map = 0;
    Lease *lease = NULL;
    Lease *foreign = NULL;
    while ((lease = map_next(&arbiter->leases, &place_in_map)) != NULL) {
        if (!lease_floor_is_mine(&arbiter->floor, &lease->address)) {
            lease->next_foreign = foreign;
            foreign = lease;
        }
    }
    while (foreign != NULL) {
        lease = foreign;
        foreign = lease->next_foreign;
        lease_arbiter_forget(arbiter, lease);
    }
}

/* What is free now may be another's by a table that was not seen: nothing is granted before the
 * floor. What is held stays held as long. */
static void raise_all(LeaseArbiter *arbiter)
{
    size_t place_in_map = 0;
    Lease *lease = NULL;
    while ((lease = map_next(&arbiter->leases, &place_in_map)) != NULL) {
        lease->free_at = mono_later(lease->free_at, arbiter->floor.floor);
        lease->busy_until = mono_later(lease->busy_until, arbiter->floor.floor);
        lease_arbiter_place(arbiter, lease);
    }
}

/* Under a table that was not seen another agent may have been the arbiter of any address. If it had
 * been there while the last confirmation was good, that agent would rest still, and has granted
 * nothing. */
bool lease_arbiter_set(LeaseArbiter *arbiter, Arbiters *arbiters, uint64_t epoch, MonoTime now)
{
    LeaseFloor *floor = &arbiter->floor;
    bool lapsed = !lease_floor_may_grant(floor, now);
    bool same = epoch == floor->epoch;
    floor->epoch = epoch;
    if (same || (!lapsed && arbiters_equal(&floor->arbiters, arbiters))) {
        arbiters_destroy(arbiters);
        return false;
    }
    drop_formers(floor, now);
    if (lapsed || floor->n_formers == FLOOR_TABLES) {
        floor->floor = mono_add_ms(now, floor->rest_ms);
        arbiters_destroy(&floor->arbiters);
        raise_all(arbiter);
    } else {
        floor->formers[floor->n_formers++] = (LeaseFormer){floor->arbiters, now};
    }
    floor->arbiters = *arbiters;
    *arbiters = (Arbiters){.n = 0};
    forget_foreign(arbiter);
    return true;
}

void lease_arbiter_confirm(LeaseArbiter *arbiter, MonoTime asked)
{
    MonoTime until = mono_add_ms(asked, arbiter->rules.confirm_ms);
    arbiter->floor.confirmed_until = mono_later(arbiter->floor.confirmed_until, until);
}

void lease_arbiter_lapse(LeaseArbiter *arbiter, MonoTime now)
{
    arbiter->floor.confirmed_until = mono_earlier(now, arbiter->floor.confirmed_until);
}

MonoTime lease_arbiter_rested(const LeaseArbiter *arbiter)
{
    const LeaseFloor *floor = &arbiter->floor;
    MonoTime end = floor->floor;
    for (size_t i = 0; i < floor->n_formers; i++) {
        end = mono_later(end, mono_add_ms(floor->formers[i].until, floor->rest_ms));
    }
    return end;
}

void lease_arbiter_close(LeaseArbiter *arbiter)
{
    arbiter->floor.closed = true;
}

void lease_arbiter_know(LeaseArbiter *arbiter, MonoTime now)
{
    LeaseFloor *floor = &arbiter->floor;
    MonoTime rested = mono_add_ms(now, lease_arbiter_drifted(arbiter->rules.delay_ms));
    size_t place_in_map = 0;
    Lease *lease = NULL;
    if (!mono_before(rested, lease_arbiter_rested(arbiter))) {
        return;
    }
    drop_formers(floor, MONO_NEVER);
    floor->floor = rested;
    while ((lease = map_next(&arbiter->leases, &place_in_map)) != NULL) {
        lease->free_at = mono_earlier(rested, lease->free_at); /* also of what is held */
        lease_arbiter_place(arbiter, lease);
    }
}

/* ---- one address ---- */

static Lease *lease_arbiter_find_or_add(LeaseArbiter *arbiter, const IpAddress *address,
                                        MonoTime now)
{
    MapKey key = ip_address_key(address);
    Lease *lease = map_get(&arbiter->leases, key);
    if (lease != NULL || arbiter->leases.count >= arbiter->most) {
        return lease;
    }
    lease = map_get_or_new(&arbiter->leases, key, sizeof *lease);
    if (lease == NULL) {
        return NULL;
    }
    lease->address = *address;
    lease->free_at = mono_later(now, lease_floor_of(&arbiter->floor, address));
    heap_node_init(&lease->due);
    if (heap_push(&arbiter->due, &lease->due, lease->free_at.ns, 0) != RESULT_OK) {
        lease_arbiter_forget(arbiter, lease);
        return NULL;
    }
    return lease;
}

static void drop_waiter(LeaseArbiter *arbiter, Lease *lease, size_t i)
{
    lease->offered = lease->offered && i > 0;
    lease->n_waiters--;
    memmove(&lease->waiters[i], &lease->waiters[i + 1],
            (lease->n_waiters - i) * sizeof *lease->waiters);
    arbiter->waiters--;
}

/* Its place among those who wait, or their number. */
static size_t find_waiter(const Lease *lease, LeaseClient client)
{
    size_t i = 0;
    while (i < lease->n_waiters && !same_client(lease->waiters[i].client, client)) {
        i++;
    }
    return i;
}

static void unlink_waiter(LeaseArbiter *arbiter, Lease *lease, LeaseClient client)
{
    size_t i = find_waiter(lease, client);
    if (i < lease->n_waiters) {
        drop_waiter(arbiter, lease, i);
    }
}

/* Without memory it asks again. */
static void append_waiter(LeaseArbiter *arbiter, Lease *lease, Waiter waiter)
{
    arbiter->waiters +=
        array_add(&lease->waiters, &lease->n_waiters, sizeof waiter, &waiter) == RESULT_OK;
}

/* Keeps its place when it waits already. */
static void enqueue(LeaseArbiter *arbiter, Lease *lease, LeaseClient client, MonoTime now)
{
    size_t i = find_waiter(lease, client);
    if (i < lease->n_waiters) {
        lease->waiters[i].heard = now;
    } else {
        append_waiter(arbiter, lease, (Waiter){.client = client, .heard = now});
    }
}

static void end_lease(Lease *lease, MonoTime free_at)
{
    lease->number = 0;
    lease->holder_knows = false;
    lease->free_at = mono_later(lease->free_at, free_at);
}

static LeaseAnswer grant(LeaseArbiter *arbiter, Lease *lease, LeaseClient client, MonoTime now)
{
    bool fresh = lease->number == 0;
    unlink_waiter(arbiter, lease, client);
    lease->number = fresh ? ++arbiter->last : lease->number;
    lease->holder = client;
    lease->busy_until = mono_add_ms(now, lease_busy_ms(&arbiter->rules));
    lease->offered = false;
    lease->holder_knows = lease->n_waiters > 0;
    int64_t wait_ms =
        mono_before(now, lease->free_at) ? mono_ms_between(now, lease->free_at) + 1 : 0;
    return (LeaseAnswer){LEASE_GRANTED, lease->number, lease->n_waiters > 0, wait_ms};
}

/* Whoever holds it and does not know asks without a number: its answer was lost. */
static LeaseAnswer lease_arbiter_want(LeaseArbiter *arbiter, Lease *lease, LeaseClient client,
                                      uint64_t number, MonoTime now)
{
    bool holds = lease->number > 0 && same_client(lease->holder, client);
    bool first = lease->n_waiters == 0 || same_client(lease->waiters[0].client, client);
    bool soon = !mono_before(mono_add_ms(now, arbiter->rules.lead_ms), lease->free_at);
    bool may = lease_floor_may_grant(&arbiter->floor, now) && soon;
    if (may &&
        ((holds && (lease->n_waiters == 0 || number == 0)) || (lease->number == 0 && first))) {
        return grant(arbiter, lease, client, now);
    }
    if (holds) { /* an extension that is refused; it may ask anew behind its release */
        lease->holder_knows = lease->n_waiters > 0;
    } else {
        enqueue(arbiter, lease, client, now);
    }
    return (LeaseAnswer){.said = LEASE_WAIT, .others = lease->n_waiters > 0};
}

Result lease_arbiter_learn(LeaseArbiter *arbiter, LeaseClient client, const LeaseHeld *held,
                           MonoTime now)
{
    Lease *lease = lease_arbiter_find_or_add(arbiter, &held->address, now);
    int64_t left = held->left_ms < arbiter->rules.term_ms ? held->left_ms : arbiter->rules.term_ms;
    int64_t busy = left + arbiter->rules.fetch_ms + arbiter->rules.delay_ms;
    MonoTime until = mono_add_ms(now, lease_arbiter_drifted(busy));
    if (lease == NULL) {
        return arbiter->leases.count >= arbiter->most ? RESULT_LIMIT : RESULT_MEMORY;
    }
    if (lease->number == 0) {
        unlink_waiter(arbiter, lease, client);
        lease->number = ++arbiter->last;
        lease->holder = client;
        lease->busy_until = until;
    } else {
        /* It has said so before; or two agents say it, and neither is believed to be done. */
        lease->busy_until = mono_later(lease->busy_until, until);
    }
    lease_arbiter_place(arbiter, lease);
    return RESULT_OK;
}

static void lease_arbiter_release(LeaseArbiter *arbiter, Lease *lease, LeaseClient client,
                                  const LeaseItem *item, MonoTime now)
{
    unlink_waiter(arbiter, lease, client);
    if (lease->number > 0 && same_client(lease->holder, client)) {
        int64_t rest = item->rest_ms > 0 ? item->rest_ms : 0;
        end_lease(lease, mono_add_ms(now, rest + rest / LEASE_DRIFT + (rest > 0)));
    }
}

LeaseAnswer lease_arbiter_ask(LeaseArbiter *arbiter, LeaseClient client, const LeaseItem *item,
                              MonoTime now)
{
    if (!lease_floor_is_mine(&arbiter->floor, &item->address)) {
        return (LeaseAnswer){.said = LEASE_ELSEWHERE};
    }
    bool wants = item->ask == LEASE_WANT;
    Lease *lease = wants ? lease_arbiter_find_or_add(arbiter, &item->address, now)
                         : map_get(&arbiter->leases, ip_address_key(&item->address));
    LeaseAnswer answer = {.said = wants ? LEASE_WAIT : LEASE_RELEASED};
    if (lease == NULL) {
        return answer;
    }
    if (wants) {
        answer = lease_arbiter_want(arbiter, lease, client, item->number, now);
    } else {
        lease_arbiter_release(arbiter, lease, client, item, now);
    }
    lease_arbiter_place(arbiter, lease);
    return answer;
}

/* ---- clients ---- */

static bool is_former(LeaseClient client, uint16_t agent, uint64_t below)
{
    return client.agent == agent && client.session < below;
}

/* Sessions of an agent below `session` wait no longer; of those below dead_below nothing is in
 * flight. */
static void drop_sessions(LeaseArbiter *arbiter, uint16_t agent, uint64_t session,
                          uint64_t dead_below, MonoTime now)
{
    MonoTime rested = mono_add_ms(now, lease_arbiter_drifted(arbiter->rules.delay_ms));
    size_t place_in_map = 0;
    Lease *lease = NULL;
    while ((lease = map_next(&arbiter->leases, &place_in_map)) != NULL) {
        for (size_t i = lease->n_waiters; i > 0; i--) {
            if (is_former(lease->waiters[i - 1].client, agent, session)) {
                drop_waiter(arbiter, lease, i - 1);
            }
        }
        if (lease->number > 0 && is_former(lease->holder, agent, dead_below)) {
            end_lease(lease, rested);
        }
        lease_arbiter_place(arbiter, lease);
    }
}

bool lease_arbiter_hear(LeaseArbiter *arbiter, LeaseClient from, uint64_t number,
                        uint64_t dead_below, MonoTime now)
{
    Client *client =
        map_get_or_new(&arbiter->clients, map_key(from.agent + UINT64_C(1)), sizeof *client);
    if (client == NULL || from.session < client->session || /* without memory it asks again */
        (from.session == client->session && number <= client->number)) {
        return false;
    }
    if (from.session > client->session) {
        dead_below = dead_below < from.session ? dead_below : from.session;
        drop_sessions(arbiter, from.agent, from.session, dead_below, now);
    }
    *client = (Client){.session = from.session, .number = number};
    return true;
}

/* ---- hints ---- */

/* Whoever was not heard of lately waits no longer. True: somebody does. */
static bool has_waiter(LeaseArbiter *arbiter, Lease *lease, MonoTime now)
{
    while (lease->n_waiters > 0 &&
           mono_before(mono_add_ms(lease->waiters[0].heard, LEASE_WAITER_MS), now)) {
        drop_waiter(arbiter, lease, 0);
    }
    return lease->n_waiters > 0;
}

/* Does what is due for one address; true: *hint is to be sent. It may be forgotten. */
static bool lease_arbiter_serve(LeaseArbiter *arbiter, Lease *lease, MonoTime now, LeaseHint *hint)
{
    *hint = (LeaseHint){.address = lease->address};
    if (lease->number > 0 && !mono_before(now, lease->busy_until)) {
        end_lease(lease, now);
    }
    if (lease->number > 0) {
        lease->holder_knows = true;
        hint->kind = LEASE_OTHERS;
        hint->to = lease->holder;
        lease_arbiter_place(arbiter, lease);
        return true;
    }
    if (lease->offered) { /* whoever did not take it up goes behind the others */
        Waiter waiter = lease->waiters[0];
        drop_waiter(arbiter, lease, 0);
        append_waiter(arbiter, lease, waiter);
    }
    if (!has_waiter(arbiter, lease, now)) {
        if (mono_before(now, lease->free_at)) {
            lease_arbiter_place(arbiter, lease);
        } else {
            lease_arbiter_forget(arbiter, lease);
        }
        return false;
    }
    lease->offered = true;
    lease->offer_end = mono_add_ms(now, LEASE_OFFER_MS);
    hint->kind = LEASE_OFFER;
    hint->to = lease->waiters[0].client;
    lease_arbiter_place(arbiter, lease);
    return true;
}

bool lease_arbiter_hint(LeaseArbiter *arbiter, MonoTime now, LeaseHint *hint)
{
    HeapNode *node = lease_floor_may_grant(&arbiter->floor, now) ? heap_top(&arbiter->due) : NULL;
    while (node != NULL && node->key <= now.ns) {
        if (lease_arbiter_serve(arbiter, HEAP_ELEMENT(node, Lease, due), now, hint)) {
            return true;
        }
        node = heap_top(&arbiter->due);
    }
    return false;
}

MonoTime lease_arbiter_next(const LeaseArbiter *arbiter)
{
    const HeapNode *node = heap_top(&arbiter->due);
    MonoTime next = node == NULL ? MONO_NEVER : (MonoTime){node->key};
    /* Without a confirmation nothing is done until one comes, which calls. */
    return lease_floor_may_grant(&arbiter->floor, next) ? next : MONO_NEVER;
}

size_t lease_arbiter_bytes(const LeaseArbiter *arbiter)
{
    return arbiter->leases.count * (sizeof(Lease) + sizeof(HeapNode *)) +
           arbiter->leases.capacity * sizeof(MapSlot) + arbiter->waiters * sizeof(Waiter);
}
