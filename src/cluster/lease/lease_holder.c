#include "cluster/lease/lease_holder.h"

#include <stdlib.h>

#include "base/memory/array.h"

/* Lease peer: what a holder has to say to each arbiter. A part of lease_holder.h.
 *
 * What: claims with something to send wait in a queue, and one message of them is in flight at a
 * time.
 * Owns: the queues and the messages; claims are the holder's. Time is a parameter.
 * Threads: one at a time. */

/* One address that is wanted, held, or being given back. The states of lease_holder.h, as flags:
 *
 *               wanted  held  leaves
 *   WANTED      yes     no    -       ask, until the want is in a message
 *   HELD        yes     yes   no      told: its end has come, and the workbench knows
 *   LEAVING     no      no    yes     until the release is answered
 *   forgotten   no      no    no      nothing in flight or queued: forget_if_idle
 *
 * A message speaks for the moment at which it was filled. What has changed since is seen when it is
 * answered, and goes into the next one (lease_holder_settle). */
typedef struct LeaseClaim {
    IpAddress address;
    uint16_t arbiter;
    uint64_t ticket;
    bool wanted;       /* the workbench wants it, or has it */
    bool held;         /* it was granted, and not given back since */
    bool others;       /* wait for it, as far as is known */
    bool told;         /* that the lease has ended */
    bool ask;          /* LEASE_WANT is to be sent */
    bool leaves;       /* LEASE_RELEASE is to be sent, with rest_end */
    unsigned messages; /* in flight that speak of it: two when its arbiter has changed meanwhile */
    uint64_t number;   /* of the lease while it is held; 0: its arbiter does not know it */
    MonoTime end;
    MonoTime rest_end;
    HeapNode timer; /* extension, end, refresh */
    struct LeaseClaim *next_queued;
    bool queued;
} LeaseClaim;

/* An arbiter. */
typedef struct LeasePeer {
    uint16_t agent;
    HeapNode due;     /* when a message may be sent, or the wait for an answer ends */
    uint64_t number;  /* of the message in flight; 0: none */
    bool silent;      /* the last one was not answered */
    uint64_t session; /* of its process, as far as it has said so */
    MonoTime sent;
    MonoTime not_before; /* the next one */
    LeaseClaim *first;   /* with something to send */
    LeaseClaim *last;
    LeaseItem *items; /* of the message in flight; those of one claim stand together */
    size_t n;
} LeasePeer;

struct LeaseHolder {
    LeaseRules rules;
    bool silent;
    LeaseNoticeSink sink;
    Arbiters arbiters;
    Map claims; /* by address */
    Heap timers;
    Map peers;     /* by agent + 1 */
    Heap due;      /* peers */
    uint64_t last; /* number of a message */
    uint64_t messages;
    size_t held;
};

static LeasePeer *lease_peer_find_or_add(LeaseHolder *holder, uint16_t agent)
{
    size_t before = holder->peers.count;
    LeasePeer *peer = map_get_or_new(&holder->peers, map_key(agent + UINT64_C(1)), sizeof *peer);
    if (holder->peers.count > before) {
        peer->agent = agent;
        heap_node_init(&peer->due);
    }
    return peer;
}

/* The peer of an agent if its message in flight has this number; NULL. */
static LeasePeer *lease_peers_with(LeaseHolder *holder, uint16_t agent, uint64_t number)
{
    LeasePeer *peer = map_get(&holder->peers, map_key(agent + UINT64_C(1)));
    /* Of a request that nobody took only the token comes back, which has the lowest bits of the
     * number. */
    bool same = peer != NULL && (peer->number ^ number) << (64 - LEASE_NUMBER_BITS) == 0;
    return same && peer->number > 0 ? peer : NULL;
}

/* Its number, its times or its queue have changed. Without memory it is met again when it is placed
 * next. */
static void lease_peers_place(LeaseHolder *holder, LeasePeer *peer)
{
    heap_remove(&holder->due, &peer->due);
    /* One message in flight: until it is answered, or given up, nothing else is due. */
    if (peer->number > 0) {
        (void)heap_push(&holder->due, &peer->due, mono_add_ms(peer->sent, LEASE_ANSWER_MS).ns, 0);
    } else if (peer->first != NULL) {
        (void)heap_push(&holder->due, &peer->due, peer->not_before.ns, 0);
    }
}

/* A claim has something to say to its arbiter. Without memory, or without an arbiter, nothing
 * happens: its timer comes by again. */
static void lease_peers_queue(LeaseHolder *holder, LeaseClaim *claim)
{
    bool nowhere = claim->queued || claim->arbiter == CLUSTER_NOBODY;
    LeasePeer *peer = nowhere ? NULL : lease_peer_find_or_add(holder, claim->arbiter);
    if (peer == NULL) {
        return;
    }
    claim->queued = true;
    claim->next_queued = NULL;
    if (peer->last == NULL) {
        peer->first = claim;
    } else {
        peer->last->next_queued = claim;
    }
    peer->last = claim;
    lease_peers_place(holder, peer);
}

/* Behind the others of the message; NULL without memory. */
static LeaseItem *next_item(LeasePeer *peer, LeaseClaim *claim, LeaseAsk ask)
{
    LeaseItem item = {.ask = ask, .address = claim->address, .claim = claim};
    Result rc = array_add(&peer->items, &peer->n, sizeof item, &item);
    return rc == RESULT_OK ? &peer->items[peer->n - 1] : NULL;
}

/* What does not fit into memory is said in a later message. */
static void write_items(LeasePeer *peer, LeaseClaim *claim, MonoTime now)
{
    size_t before = peer->n;
    LeaseItem *item = claim->leaves ? next_item(peer, claim, LEASE_RELEASE) : NULL;
    if (item != NULL) {
        /* One ms more, since it was rounded down: an address may rest longer than owed, never
         * less. */
        int64_t rest = mono_ms_between(now, claim->rest_end) + 1;
        item->rest_ms = rest > 0 ? rest : 0;
    }
    bool left = item != NULL || !claim->leaves; /* a want is never read before a release */
    item = claim->ask && left ? next_item(peer, claim, LEASE_WANT) : NULL;
    if (item != NULL) {
        /* 0: a new want. Else an extension of this very lease, which another grant does not
         * answer. */
        item->number = claim->held ? claim->number : 0;
        claim->ask = false;
    }
    claim->messages += peer->n > before;
}

/* Takes what waits into the peer's items; peer->n of them. Claims that have another arbiter by now
 * go to that one. */
static void lease_peers_fill(LeaseHolder *holder, LeasePeer *peer, MonoTime now)
{
    peer->n = 0;
    /* Two, since a claim that is released and wanted again says both in one message, in this
     * order. */
    while (peer->first != NULL && peer->n + 2 <= LEASE_ITEMS_MOST) {
        LeaseClaim *claim = peer->first;
        peer->first = claim->next_queued;
        peer->last = peer->first == NULL ? NULL : peer->last;
        claim->queued = false;
        if (claim->arbiter == peer->agent) {
            write_items(peer, claim, now);
        } else {
            lease_peers_queue(holder, claim);
        }
    }
}

/* ---- Lease holder ---- */

#define NOBODY_MS 1000 /* until an agent that was not there is asked again */

/* ---- birth ---- */

Result lease_holder_new(LeaseHolder **out, const LeaseRules *rules, const LeaseNoticeSink *sink)
{
    LeaseHolder *holder = calloc(1, sizeof *holder);
    if (holder == NULL) {
        return RESULT_MEMORY;
    }
    holder->rules = *rules;
    holder->sink = *sink;
    map_init(&holder->claims);
    map_init(&holder->peers);
    heap_init(&holder->timers);
    heap_init(&holder->due);
    *out = holder;
    return RESULT_OK;
}

void lease_holder_delete(LeaseHolder *holder)
{
    size_t place = 0;
    LeaseClaim *claim = NULL;
    LeasePeer *peer = NULL;
    if (holder == NULL) {
        return;
    }
    while ((claim = map_next(&holder->claims, &place)) != NULL) {
        free(claim);
    }
    place = 0;
    while ((peer = map_next(&holder->peers, &place)) != NULL) {
        free(peer->items);
        free(peer);
    }
    arbiters_destroy(&holder->arbiters);
    map_destroy(&holder->claims);
    map_destroy(&holder->peers);
    heap_destroy(&holder->timers);
    heap_destroy(&holder->due);
    free(holder);
}

/* ---- claims ---- */

static void set_timer(LeaseHolder *holder, LeaseClaim *claim, MonoTime time)
{
    heap_remove(&holder->timers, &claim->timer); /* it is always in: so the push cannot fail */
    (void)heap_push(&holder->timers, &claim->timer, time.ns, 0);
}

static void forget_if_idle(LeaseHolder *holder, LeaseClaim *claim)
{
    if (claim->wanted || claim->held || claim->leaves || claim->messages > 0 || claim->queued) {
        return;
    }
    heap_remove(&holder->timers, &claim->timer);
    (void)map_remove(&holder->claims, ip_address_key(&claim->address));
    free(claim);
}

static void lease_holder_tell(LeaseHolder *holder, const LeaseClaim *claim, LeaseNoticeKind kind)
{
    LeaseNotice notice = {.kind = kind,
                          .address = claim->address,
                          .ticket = claim->ticket,
                          .begin = claim->rest_end,
                          .end = claim->end,
                          .contended = claim->others};
    holder->sink.take(holder->sink.context, &notice);
}

static LeaseClaim *claim_of(LeaseHolder *holder, const IpAddress *address)
{
    return map_get(&holder->claims, ip_address_key(address));
}

static LeaseClaim *add_claim(LeaseHolder *holder, const IpAddress *address)
{
    MapKey key = ip_address_key(address);
    LeaseClaim *claim = map_get_or_new(&holder->claims, key, sizeof *claim);
    if (claim == NULL) {
        return NULL;
    }
    claim->address = *address;
    claim->arbiter = arbiters_find(&holder->arbiters, address);
    heap_node_init(&claim->timer);
    /* In the heap from now on, so that set_timer, which takes it out first, always has room. */
    if (heap_push(&holder->timers, &claim->timer, MONO_NEVER.ns, 0) != RESULT_OK) {
        free(map_remove(&holder->claims, key));
        return NULL;
    }
    return claim;
}

/* What is held is given back, or the place among those who wait is. */
static void lease_holder_leave(LeaseHolder *holder, LeaseClaim *claim, MonoTime rest_end)
{
    claim->leaves = true;
    claim->rest_end = mono_later(claim->rest_end, rest_end);
    holder->held -= claim->held;
    claim->held = false;
    /* Who waits is asked of the arbiter anew with the next grant. */
    claim->others = false;
}

void lease_holder_want(LeaseHolder *holder, const IpAddress *address, uint64_t ticket, MonoTime now)
{
    LeaseClaim *claim = claim_of(holder, address);
    if (claim == NULL) {
        claim = add_claim(holder, address);
    }
    if (claim == NULL) {
        LeaseNotice notice = {.kind = LEASE_NOTICE_ENDED, .address = *address, .ticket = ticket};
        holder->sink.take(holder->sink.context, &notice);
        return;
    }
    /* The workbench asks anew after an end, or for another ticket: the old lease goes back in the
     * same message, before the want. */
    if (claim->held) {
        lease_holder_leave(holder, claim, now);
    }
    claim->ticket = ticket;
    claim->wanted = true;
    claim->told = false;
    claim->ask = true;
    set_timer(holder, claim, mono_add_ms(now, LEASE_REFRESH_MS));
    lease_peers_queue(holder, claim);
}

void lease_holder_release(LeaseHolder *holder, const IpAddress *address, MonoTime rest_end,
                          MonoTime now)
{
    LeaseClaim *claim = claim_of(holder, address);
    if (claim == NULL || !claim->wanted) {
        return;
    }
    claim->wanted = false;
    claim->ask = false;
    lease_holder_leave(holder, claim, mono_later(rest_end, now));
    set_timer(holder, claim, mono_add_ms(now, LEASE_REFRESH_MS));
    lease_peers_queue(holder, claim);
}

void lease_holder_give_back(LeaseHolder *holder, MonoTime now)
{
    size_t place = 0;
    LeaseClaim *claim = NULL;
    while ((claim = map_next(&holder->claims, &place)) != NULL) {
        if (claim->wanted) {
            /* What was fetched last is not known here: the whole delay is owed. */
            lease_holder_release(holder, &claim->address, mono_add_ms(now, holder->rules.delay_ms),
                                 now);
        }
    }
}

/* What is in flight was asked before: an answer to it is not believed. */
static void give_up_all(LeaseHolder *holder, MonoTime now)
{
    size_t place = 0;
    const LeasePeer *peer = NULL;
    while ((peer = map_next(&holder->peers, &place)) != NULL) {
        if (peer->number > 0) {
            lease_holder_nobody(holder, peer->agent, peer->number, now);
        }
    }
}

void lease_holder_lose_all(LeaseHolder *holder, MonoTime now)
{
    size_t place = 0;
    LeaseClaim *claim = NULL;
    while ((claim = map_next(&holder->claims, &place)) != NULL) {
        if (claim->held) {
            /* serve_timer tells the workbench, with the next work. */
            claim->end = now.ns < claim->end.ns ? now : claim->end;
            claim->ask = false;
            set_timer(holder, claim, now);
        }
    }
    give_up_all(holder, now);
}

bool lease_holder_holds(const LeaseHolder *holder)
{
    return holder->held > 0;
}

/* ---- messages ---- */

bool lease_holder_message(LeaseHolder *holder, MonoTime now, LeaseMessage *message)
{
    HeapNode *node = NULL;
    lease_holder_work(holder, now);
    while (!holder->silent && (node = heap_top(&holder->due)) != NULL && node->key <= now.ns) {
        LeasePeer *peer = HEAP_ELEMENT(node, LeasePeer, due);
        /* It stood behind one that had nothing to say any more; to fill it would lose what is in
         * flight, and place it at the same time again. */
        if (peer->number > 0) {
            lease_holder_nobody(holder, peer->agent, peer->number, now);
            continue;
        }
        lease_peers_fill(holder, peer, now);
        if (peer->n > 0) {
            /* By the clock, so that numbers go on growing after a restart; at least one more than
             * the last, so that no two are the same within a tick. */
            uint64_t clock = (uint64_t)now.ns >> LEASE_TICK_BITS;
            holder->last = clock > holder->last ? clock : holder->last + 1;
            holder->messages++;
            peer->number = holder->last;
            /* The term is counted from here, before anybody can have granted it (invariant 1). */
            peer->sent = now;
            peer->not_before = mono_add_ms(now, holder->rules.pace_ms);
        }
        lease_peers_place(holder, peer);
        if (peer->n > 0) {
            *message = (LeaseMessage){
                .to = peer->agent, .number = peer->number, .items = peer->items, .n = peer->n};
            return true;
        }
    }
    return false;
}

/* ---- answers ---- */

/* What is given back before it has begun is left alone until then. */
static void take_grant(LeaseHolder *holder, LeaseClaim *claim, const LeaseItem *item,
                       const LeaseAnswer *answer, MonoTime asked, MonoTime now)
{
    bool extends = item->number > 0;
    /* A little longer than was said, since two clocks drift apart by a LEASE_DRIFTth at most. */
    int64_t wait_ms = answer->wait_ms + answer->wait_ms / LEASE_DRIFT;
    MonoTime begin = wait_ms > 0 ? mono_add_ms(now, wait_ms + 1) : (MonoTime){0};
    /* The answer to a question of before: the lease that it extends is another one by now, or
     * nobody wants the address any more. Then the grant is given back, as the arbiter believes that
     * we have it. */
    if (extends ? !claim->held || claim->number != item->number : !claim->wanted) {
        claim->leaves |= !extends; /* it is not wanted any more */
        claim->rest_end = mono_later(claim->rest_end, begin);
        return;
    }
    holder->held += !claim->held;
    claim->held = true;
    claim->leaves = false;
    claim->number = answer->number;
    claim->others = answer->others;
    claim->told = false;
    claim->rest_end = begin;
    /* Never earlier than what was granted before: an old answer cannot shorten a lease. */
    claim->end = mono_later(claim->end, mono_add_ms(asked, holder->rules.term_ms));
    set_timer(holder, claim, mono_add_ms(asked, holder->rules.term_ms * 2 / 3));
    lease_holder_tell(holder, claim, LEASE_NOTICE_GRANTED);
}

static void take_wait(LeaseHolder *holder, LeaseClaim *claim, const LeaseItem *item,
                      const LeaseAnswer *answer, MonoTime now)
{
    if (!claim->held) {
        /* We stand in the arbiter's line for what nobody wants any more: it is told so. */
        claim->leaves |= !claim->wanted;
        set_timer(holder, claim, mono_add_ms(now, LEASE_REFRESH_MS));
    } else if (item->number == claim->number) {
        if (answer->others && !claim->others) {
            claim->others = true;
            lease_holder_tell(holder, claim, LEASE_NOTICE_CONTENDED);
        }
        /* Not extended, though nobody is known to wait: by an arbiter that has just begun, for
         * example (lease.h, 3). */
        MonoTime again = mono_add_ms(now, holder->rules.term_ms / 6 + 1);
        set_timer(holder, claim, claim->others ? claim->end : mono_earlier(claim->end, again));
    }
}

static void lease_holder_take_answer(LeaseHolder *holder, LeaseClaim *claim, const LeaseItem *item,
                                     const LeaseAnswer *answer, MonoTime asked, MonoTime now)
{
    if (item->ask == LEASE_RELEASE) {
        /* Only an answer ends LEAVING: a release that may be lost is repeated
         * (lease_holder_nobody). */
        claim->leaves = false;
        claim->rest_end = (MonoTime){0};
    } else if (answer->said == LEASE_GRANTED) {
        take_grant(holder, claim, item, answer, asked, now);
    } else if (answer->said == LEASE_WAIT) {
        take_wait(holder, claim, item, answer, now);
    } else if (claim->wanted && !claim->held) { /* the arbiter has another table */
        set_timer(holder, claim, mono_add_ms(now, NOBODY_MS));
    }
}

/* Behind the last item of a claim: what is still to be said goes into the next message. */
static void lease_holder_settle(LeaseHolder *holder, const LeasePeer *peer, size_t i)
{
    LeaseClaim *claim = peer->items[i].claim;
    if (i + 1 < peer->n && peer->items[i + 1].claim == claim) {
        return;
    }
    claim->messages--;
    if (claim->leaves || claim->ask) {
        lease_peers_queue(holder, claim);
    }
    forget_if_idle(holder, claim);
}

void lease_holder_answer(LeaseHolder *holder, uint16_t from, uint64_t number,
                         const LeaseAnswer *answers, size_t n, MonoTime now)
{
    LeasePeer *peer = lease_peers_with(holder, from, number);
    if (peer == NULL) {
        return;
    }
    /* Another number of answers than of questions belongs to another message, or a faulty
     * program. */
    if (n != peer->n) {
        lease_holder_nobody(holder, from, number, now);
        return;
    }
    peer->number = 0;
    peer->silent = false;
    for (size_t i = 0; i < n; i++) {
        LeaseClaim *claim = peer->items[i].claim;
        /* The arbiter of this address may have changed since it was asked: then its word does not
         * count. */
        if (claim->arbiter == from) {
            lease_holder_take_answer(holder, claim, &peer->items[i], &answers[i], peer->sent, now);
        }
        lease_holder_settle(holder, peer, i);
    }
    lease_peers_place(holder, peer);
}

void lease_holder_nobody(LeaseHolder *holder, uint16_t to, uint64_t number, MonoTime now)
{
    LeasePeer *peer = lease_peers_with(holder, to, number);
    if (peer == NULL) {
        return;
    }
    /* From here on an answer that comes late is one to no message in flight, and is dropped
     * (invariant 2): a grant that was given up must not make two holders of an address. */
    peer->number = 0;
    peer->silent = true;
    peer->not_before = mono_add_ms(now, NOBODY_MS);
    for (size_t i = 0; i < peer->n; i++) {
        LeaseClaim *claim = peer->items[i].claim;
        if (peer->items[i].ask == LEASE_WANT) {
            /* Not of a lease whose end was told: the workbench asks again, if it still wants it. */
            claim->ask |= claim->wanted && (!claim->held || !claim->told);
        }
        lease_holder_settle(holder, peer, i);
    }
    lease_peers_place(holder, peer);
}

void lease_holder_hint(LeaseHolder *holder, uint16_t from, LeaseHintKind kind,
                       const IpAddress *address, MonoTime now)
{
    (void)now;
    LeaseClaim *claim = claim_of(holder, address);
    if (claim == NULL || !claim->wanted || claim->arbiter != from) {
        return;
    }
    /* With a message in flight the want is at the arbiter, or will be: the offer is answered by
     * it. */
    if (kind == LEASE_OFFER && !claim->held && claim->messages == 0) {
        claim->ask = true;
        lease_peers_queue(holder, claim);
    } else if (kind == LEASE_OTHERS && claim->held && !claim->others) {
        claim->others = true;
        lease_holder_tell(holder, claim, LEASE_NOTICE_CONTENDED);
    }
}

/* ---- time, and other arbiters ---- */

/* A lease is at two thirds, or at its end; a want has waited long. */
static void serve_timer(LeaseHolder *holder, LeaseClaim *claim, MonoTime now)
{
    if (claim->held && !mono_before(now, claim->end)) {
        /* It stays held, for the arbiter, until the workbench has released it or wants it again. */
        set_timer(holder, claim, MONO_NEVER);
        if (!claim->told) {
            claim->told = true;
            claim->ask = false;
            lease_holder_tell(holder, claim, LEASE_NOTICE_ENDED);
        }
        return;
    }
    if (claim->held) {
        set_timer(holder, claim, claim->end);
        /* An address that others wait for is not extended: it goes round. */
        claim->ask = !claim->others;
    } else {
        set_timer(holder, claim, mono_add_ms(now, LEASE_REFRESH_MS));
        claim->ask = claim->wanted;
    }
    if ((claim->ask || claim->leaves) && claim->messages == 0) {
        lease_peers_queue(holder, claim);
    }
    forget_if_idle(holder, claim);
}

void lease_holder_work(LeaseHolder *holder, MonoTime now)
{
    HeapNode *node = NULL;
    while ((node = heap_top(&holder->timers)) != NULL && node->key <= now.ns) {
        serve_timer(holder, HEAP_ELEMENT(node, LeaseClaim, timer), now);
    }
    /* Only those that wait for an answer; the others are lease_holder_message's. */
    while ((node = heap_top(&holder->due)) != NULL && node->key <= now.ns &&
           HEAP_ELEMENT(node, LeasePeer, due)->number > 0) {
        const LeasePeer *peer = HEAP_ELEMENT(node, LeasePeer, due);
        lease_holder_nobody(holder, peer->agent, peer->number, now);
    }
}

MonoTime lease_holder_next(const LeaseHolder *holder)
{
    const HeapNode *timer = heap_top(&holder->timers);
    const HeapNode *peer = holder->silent ? NULL : heap_top(&holder->due);
    int64_t next = timer == NULL ? INT64_MAX : timer->key;
    return (MonoTime){peer != NULL && peer->key < next ? peer->key : next};
}

/* Another one decides about an address, who does not know of its lease. */
static void change_arbiter(LeaseHolder *holder, LeaseClaim *claim)
{
    /* The next message to the new one is a want, whose grant goes on where this lease ends. What
     * leaves need not be told to it: it has never heard of the lease. */
    claim->number = 0;
    claim->leaves = false;
    if (claim->wanted && !claim->held) {
        claim->ask = true;
        lease_peers_queue(holder, claim);
    }
}

void lease_holder_set_silent(LeaseHolder *holder, bool silent)
{
    holder->silent = silent;
}

void lease_holder_set_pace(LeaseHolder *holder, int64_t pace_ms)
{
    holder->rules.pace_ms = pace_ms;
}

void lease_holder_set(LeaseHolder *holder, Arbiters *arbiters, MonoTime now)
{
    size_t place = 0;
    LeaseClaim *claim = NULL;
    bool changed = !arbiters_equal(&holder->arbiters, arbiters);
    arbiters_destroy(&holder->arbiters);
    holder->arbiters = *arbiters;
    *arbiters = (Arbiters){.n = 0};
    while ((claim = map_next(&holder->claims, &place)) != NULL) {
        uint16_t arbiter = arbiters_find(&holder->arbiters, &claim->address);
        if (arbiter != claim->arbiter) {
            claim->arbiter = arbiter;
            change_arbiter(holder, claim);
        }
    }
    if (changed) {
        /* Also of claims whose arbiter stays: an answer under way was given by the table before. */
        give_up_all(holder, now);
    }
}

size_t lease_holder_held(LeaseHolder *holder, uint16_t agent, uint64_t session, LeaseHeld *held,
                         size_t most, MonoTime now)
{
    LeasePeer *peer = lease_peer_find_or_add(holder, agent);
    size_t place = 0;
    size_t n = 0;
    const LeaseClaim *claim = NULL;
    /* An older process of the arbiter still asks: what it builds on the answer is void. */
    if (peer == NULL || session < peer->session) {
        return SIZE_MAX;
    }
    peer->session = session;
    lease_holder_restarted(holder, agent, now); /* what is in flight is not believed any more */
    while ((claim = map_next(&holder->claims, &place)) != NULL) {
        if (claim->held && claim->arbiter == agent) {
            /* Rounded up, and counted from now at its side: it waits rather too long than too
             * short. */
            int64_t left_ms = mono_ms_between(now, claim->end) + 1;
            if (n == most) {
                return SIZE_MAX;
            }
            held[n++] = (LeaseHeld){claim->address, left_ms > 0 ? left_ms : 0};
        }
    }
    return n;
}

void lease_holder_restarted(LeaseHolder *holder, uint16_t agent, MonoTime now)
{
    LeasePeer *peer = map_get(&holder->peers, map_key(agent + UINT64_C(1)));
    if (peer != NULL && peer->number > 0) {
        lease_holder_nobody(holder, agent, peer->number, now);
    }
    if (peer != NULL) {
        peer->not_before = now;
        lease_peers_place(holder, peer);
    }
    size_t place = 0;
    LeaseClaim *claim = NULL;
    while ((claim = map_next(&holder->claims, &place)) != NULL) {
        if (claim->arbiter == agent) {
            change_arbiter(holder, claim);
        }
    }
}

void lease_holder_stats(const LeaseHolder *holder, LeaseHolderStats *stats)
{
    size_t place = 0;
    const LeaseClaim *claim = NULL;
    *stats =
        (LeaseHolderStats){.wanted = holder->claims.count,
                           .waits_for = CLUSTER_NOBODY,
                           .held = holder->held,
                           .bytes = holder->claims.count * (sizeof(LeaseClaim) + sizeof(void *)) +
                                    holder->claims.capacity * sizeof(MapSlot) +
                                    holder->peers.count * sizeof(LeasePeer),
                           .messages = holder->messages};
    while ((claim = map_next(&holder->claims, &place)) != NULL) {
        const LeasePeer *peer = map_get(&holder->peers, map_key(claim->arbiter + UINT64_C(1)));
        if (claim->wanted && !claim->held && peer != NULL && peer->silent) {
            stats->away++;
            stats->waits_for = claim->arbiter;
        }
    }
}
