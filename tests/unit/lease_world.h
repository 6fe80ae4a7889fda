/* Agents that share addresses, in virtual time: each has an arbiter and a holder, and fetches from
 * what it holds. Messages between them are lost, repeated, late and out of order; agents die and
 * start again; agents are cut off. Whoever fetches is watched from outside: never two requests to
 * an address at a time, never one too soon. */
#ifndef TESTS_UNIT_LEASE_WORLD_H
#define TESTS_UNIT_LEASE_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "base/memory/heap.h"
#include "cluster/lease/lease_arbiter.h"
#include "cluster/lease/lease_holder.h"
#include "dice.h"

#define LEASE_WORLD_AGENTS    32u
#define LEASE_WORLD_ADDRESSES 200u
#define LEASE_WORLD_ZOMBIES   64u

typedef struct LeaseWorldOptions {
    unsigned agents;
    unsigned addresses;
    unsigned wanted; /* of a hundred agents, so many want an address */
    unsigned lost;   /* of a thousand messages */
    unsigned kills;  /* in all: a process that another one replaces */
    unsigned cuts;   /* an agent that is cut off for a while, in all */
    bool proven;     /* a process that is replaced is known to be dead; else it goes on, cut off
                        from the others, with what it holds */
    int64_t run_ms;
    LeaseRules rules;    /* of the holders */
    LeaseRules arbiters; /* the mutations differ from `rules` */
    bool no_floor;       /* a mutation: a new arbiter grants at once */
    uint64_t seed;
} LeaseWorldOptions;

/* What an agent does with an address: the workbench in small. */
typedef struct LeaseWorldUse {
    bool wants; /* has work for it at all */
    bool asked; /* lease_holder_want was called, and no release since */
    bool held;
    bool gives_back; /* when the fetch is over */
    uint64_t ticket;
    MonoTime end;       /* of the lease */
    MonoTime next;      /* fetch */
    MonoTime fetch_end; /* while busy */
    bool busy;
} LeaseWorldUse;

typedef struct LeaseWorldAgent {
    LeaseArbiter *arbiter;
    LeaseHolder *holder;
    LeaseWorldUse uses[LEASE_WORLD_ADDRESSES];
    uint64_t session;
    MonoTime cut_until;
    struct LeaseWorld *world;
    uint16_t number;
    uint64_t tickets;
} LeaseWorldAgent;

typedef enum LeaseWorldEventKind { WORLD_ASK, WORLD_ANSWER, WORLD_HINT } LeaseWorldEventKind;

typedef struct LeaseWorldEvent {
    HeapNode node;
    LeaseWorldEventKind kind;
    uint16_t from;
    uint16_t to;
    uint64_t session; /* of the holder */
    uint64_t number;
    size_t n;
    LeaseItem items[64];
    LeaseAnswer answers[64];
    LeaseHint hint;
} LeaseWorldEvent;

typedef struct LeaseWorld {
    LeaseWorldOptions options;
    LeaseWorldAgent agents[LEASE_WORLD_AGENTS];
    LeaseWorldAgent zombies[LEASE_WORLD_ZOMBIES];
    unsigned n_zombies;
    ClusterTable table;
    Heap events;
    Dice dice;
    MonoTime now;
    uint64_t ties;
    /* from outside */
    unsigned in_flight[LEASE_WORLD_ADDRESSES];
    MonoTime last_end[LEASE_WORLD_ADDRESSES];
    uint64_t fetches;
    uint64_t violations;
    uint64_t messages;
} LeaseWorld;

static inline IpAddress lease_world_address(uint32_t number)
{
    struct in_addr in = {0x0b000000u + number * 2654435761u % 100000u};
    return ip_address_v4(&in);
}

static inline size_t lease_world_number(const IpAddress *address)
{
    for (uint32_t i = 0; i < LEASE_WORLD_ADDRESSES; i++) {
        IpAddress other = lease_world_address(i);
        if (memcmp(other.bytes, address->bytes, sizeof other.bytes) == 0) {
            return i;
        }
    }
    return 0;
}

static inline void lease_world_post(LeaseWorld *world, const LeaseWorldEvent *event)
{
    unsigned copies = dice_below(&world->dice, 1000) < world->options.lost ? 0 : 1;
    copies += dice_below(&world->dice, 1000) < world->options.lost ? 1 : 0;
    world->messages++;
    for (unsigned i = 0; i < copies; i++) {
        LeaseWorldEvent *copy = malloc(sizeof *copy);
        *copy = *event;
        bool late = dice_below(&world->dice, 1000) < world->options.lost;
        int64_t ms = 1 + (int64_t)dice_below(&world->dice, late ? 20000 : 20);
        heap_node_init(&copy->node);
        (void)heap_push(&world->events, &copy->node, mono_add_ms(world->now, ms).ns, world->ties++);
    }
}

static inline bool lease_world_is_cut(const LeaseWorld *world, uint16_t agent)
{
    return mono_before(world->now, world->agents[agent].cut_until);
}

/* ---- the workbench in small ---- */

static inline void lease_world_take_news(void *context, const LeaseNotice *news)
{
    LeaseWorldAgent *agent = context;
    LeaseWorld *world = agent->world;
    LeaseWorldUse *use = &agent->uses[lease_world_number(&news->address)];
    if (!use->asked || news->ticket != use->ticket) {
        return;
    }
    if (news->kind == LEASE_NOTICE_GRANTED) {
        use->held = true;
        use->end = news->end;
        use->next = mono_later(use->next, news->begin);
        use->gives_back = news->contended && dice_below(&world->dice, 4) == 0;
    } else {
        use->gives_back = true;
    }
}

static inline void lease_world_use(LeaseWorld *world, LeaseWorldAgent *agent, uint32_t number)
{
    LeaseWorldUse *use = &agent->uses[number];
    MonoTime now = world->now;
    if (use->busy && !mono_before(now, use->fetch_end)) {
        use->busy = false;
        use->next = mono_add_ms(now, world->options.rules.delay_ms);
        world->in_flight[number]--;
        world->last_end[number] = now;
    }
    if (use->busy || !use->wants) {
        return;
    }
    if (use->asked && use->gives_back) {
        IpAddress address = lease_world_address(number);
        use->asked = use->held = use->gives_back = false;
        lease_holder_release(agent->holder, &address, use->next, now);
    }
    if (mono_before(now, use->next)) {
        return;
    }
    if (!use->asked) {
        IpAddress address = lease_world_address(number);
        use->asked = true;
        use->held = use->gives_back = false;
        use->ticket = ++agent->tickets;
        lease_holder_want(agent->holder, &address, use->ticket, now);
    } else if (use->held && mono_before(now, use->end)) {
        bool early =
            mono_before(now, mono_add_ms(world->last_end[number], world->options.rules.delay_ms));
        world->violations += world->in_flight[number] > 0 || early;
        world->in_flight[number]++;
        world->fetches++;
        int64_t most = world->options.rules.fetch_ms;
        bool slow = dice_below(&world->dice, 50) == 0;
        use->fetch_end =
            mono_add_ms(now, slow ? most : 1 + (int64_t)dice_below(&world->dice, 1000) % most);
        use->busy = true;
    }
}

/* ---- messages ---- */

static inline void lease_world_hints(LeaseWorld *world, LeaseWorldAgent *agent)
{
    LeaseHint hint;
    while (lease_arbiter_hint(agent->arbiter, world->now, &hint)) {
        LeaseWorldEvent event = {.kind = WORLD_HINT,
                                 .from = agent->number,
                                 .to = hint.to.agent,
                                 .session = hint.to.session,
                                 .hint = hint};
        lease_world_post(world, &event);
    }
}

static inline void lease_world_answer(LeaseWorld *world, const LeaseWorldEvent *ask)
{
    LeaseWorldAgent *agent = &world->agents[ask->to];
    LeaseClient client = {ask->from, ask->session};
    uint64_t dead_below = world->options.proven ? ask->session : 0;
    LeaseWorldEvent answer = {.kind = WORLD_ANSWER,
                              .from = ask->to,
                              .to = ask->from,
                              .session = ask->session,
                              .number = ask->number,
                              .n = ask->n};
    if (!lease_arbiter_hear(agent->arbiter, client, ask->number, dead_below, world->now)) {
        return;
    }
    for (size_t i = 0; i < ask->n; i++) {
        answer.answers[i] = lease_arbiter_ask(agent->arbiter, client, &ask->items[i], world->now);
    }
    lease_world_post(world, &answer);
}

static inline void lease_world_deliver(LeaseWorld *world, const LeaseWorldEvent *event)
{
    LeaseWorldAgent *to = &world->agents[event->to];
    if (lease_world_is_cut(world, event->to) || lease_world_is_cut(world, event->from)) {
        return;
    }
    if (event->kind == WORLD_ASK) {
        lease_world_answer(world, event);
    } else if (event->session != to->session) {
        return;
    } else if (event->kind == WORLD_ANSWER) {
        lease_holder_answer(to->holder, event->from, event->number, event->answers, event->n,
                            world->now);
    } else {
        lease_holder_hint(to->holder, event->from, event->hint.kind, &event->hint.address,
                          world->now);
    }
}

static inline void lease_world_send(LeaseWorld *world, LeaseWorldAgent *agent)
{
    LeaseMessage message;
    while (lease_holder_message(agent->holder, world->now, &message)) {
        LeaseWorldEvent event = {.kind = WORLD_ASK,
                                 .from = agent->number,
                                 .to = message.to,
                                 .session = agent->session,
                                 .number = message.number};
        event.n = message.n;
        if (message.n > 64) {
            abort();
        }
        memcpy(event.items, message.items, message.n * sizeof *message.items);
        lease_world_post(world, &event);
    }
}

/* ---- life and death ---- */

static inline void lease_world_start(LeaseWorld *world, uint16_t number)
{
    LeaseWorldAgent *agent = &world->agents[number];
    const LeaseWorldOptions *options = &world->options;
    LeaseNoticeSink sink = {.context = agent, .take = lease_world_take_news};
    Arbiters arbiters;
    int64_t back = options->no_floor ? 4 * lease_rest_ms(&options->arbiters) : 0;
    agent->world = world;
    agent->number = number;
    agent->session++;
    agent->cut_until = (MonoTime){0};
    (void)lease_arbiter_new(&agent->arbiter, &options->arbiters, number, 100000,
                            mono_add_ms(world->now, -back));
    (void)lease_holder_new(&agent->holder, &options->rules, &sink);
    (void)arbiters_of_table(&arbiters, &world->table);
    lease_arbiter_set(agent->arbiter, &arbiters, world->table.epoch,
                      mono_add_ms(world->now, -back));
    (void)arbiters_of_table(&arbiters, &world->table);
    lease_holder_set(agent->holder, &arbiters, world->now);
    for (uint32_t i = 0; i < options->addresses; i++) {
        LeaseWorldUse *use = &agent->uses[i];
        bool wants = hash_mix(options->seed + number * 1000u + i) % 100 < options->wanted;
        *use = (LeaseWorldUse){.wants = wants,
                               .next = mono_add_ms(world->now, options->rules.delay_ms)};
    }
}

static inline void lease_world_stop(LeaseWorldAgent *agent)
{
    lease_arbiter_delete(agent->arbiter);
    lease_holder_delete(agent->holder);
}

/* Another process begins as this agent; nobody hears of the former one again. */
static inline void lease_world_replace(LeaseWorld *world, uint16_t number)
{
    LeaseWorldAgent *agent = &world->agents[number];
    bool lives = !world->options.proven && world->n_zombies < LEASE_WORLD_ZOMBIES;
    for (uint32_t i = 0; i < world->options.addresses && !lives; i++) {
        if (agent->uses[i].busy) {
            world->in_flight[i]--;
            world->last_end[i] = world->now;
        }
    }
    if (lives) {
        LeaseWorldAgent *zombie = &world->zombies[world->n_zombies++];
        *zombie = *agent;
        zombie->cut_until = MONO_NEVER;
    } else {
        lease_world_stop(agent);
    }
    lease_world_start(world, number);
    for (uint16_t i = 0; i < world->options.agents; i++) {
        lease_holder_restarted(world->agents[i].holder, number, world->now);
    }
}

static inline void lease_world_init(LeaseWorld *world, const LeaseWorldOptions *options)
{
    const uint8_t uuid[CLUSTER_UUID_BYTES] = {1};
    memset(world, 0, sizeof *world);
    world->options = *options;
    world->dice = (Dice){options->seed};
    world->now = (MonoTime){INT64_C(1000000000000)};
    heap_init(&world->events);
    (void)cluster_table_create(&world->table, uuid, "", options->agents);
    for (uint16_t i = 0; i < options->agents; i++) {
        lease_world_start(world, i);
    }
}

static inline void lease_world_destroy(LeaseWorld *world)
{
    HeapNode *node = NULL;
    while ((node = heap_pop(&world->events)) != NULL) {
        free(HEAP_ELEMENT(node, LeaseWorldEvent, node));
    }
    heap_destroy(&world->events);
    for (uint16_t i = 0; i < world->options.agents; i++) {
        lease_world_stop(&world->agents[i]);
    }
    for (unsigned i = 0; i < world->n_zombies; i++) {
        lease_world_stop(&world->zombies[i]);
    }
    cluster_table_destroy(&world->table);
}

static inline void lease_world_misfortune(LeaseWorld *world, int64_t step)
{
    const LeaseWorldOptions *options = &world->options;
    uint64_t steps = (uint64_t)(options->run_ms / step);
    uint16_t victim = (uint16_t)dice_below(&world->dice, options->agents);
    if (dice_below(&world->dice, steps) < options->kills) {
        lease_world_replace(world, victim);
    }
    if (dice_below(&world->dice, steps) < options->cuts) {
        world->agents[victim].cut_until =
            mono_add_ms(world->now, (int64_t)dice_below(&world->dice, 200000));
    }
}

/* Runs it in steps of ten milliseconds. */
static inline void lease_world_run(LeaseWorld *world)
{
    MonoTime end = mono_add_ms(world->now, world->options.run_ms);
    while (mono_before(world->now, end)) {
        world->now = mono_add_ms(world->now, 10);
        HeapNode *node = NULL;
        while ((node = heap_top(&world->events)) != NULL && node->key <= world->now.ns) {
            LeaseWorldEvent *event = HEAP_ELEMENT(heap_pop(&world->events), LeaseWorldEvent, node);
            lease_world_deliver(world, event);
            free(event);
        }
        for (uint16_t i = 0; i < world->options.agents; i++) {
            LeaseWorldAgent *agent = &world->agents[i];
            if (!lease_world_is_cut(world, i)) {
                lease_arbiter_confirm(agent->arbiter, world->now);
            }
            for (uint32_t a = 0; a < world->options.addresses; a++) {
                lease_world_use(world, agent, a);
            }
            lease_world_hints(world, agent);
            lease_world_send(world, agent);
        }
        for (unsigned i = 0; i < world->n_zombies; i++) {
            for (uint32_t a = 0; a < world->options.addresses; a++) {
                lease_world_use(world, &world->zombies[i], a);
            }
        }
        lease_world_misfortune(world, 10);
    }
}

#endif
