#include "cluster/node/node_desks.h"

#include <string.h>

Result node_desks_init(NodeDesks *desks, NodeLink *link, const NodeOptions *options,
                       const NodeSinks *sinks, uint64_t dead_below, bool alone,
                       const uint64_t used[LEDGER_UNITS], MonoTime now)
{
    const ClusterTable *table = &desks->keeper.table;
    desks->link = link;
    table_keeper_init(&desks->keeper, link, options->lease.confirm_ms);
    members_init(&desks->members, link);
    limit_desk_init(&desks->limits, link, table, options->limits, used);
    end_desk_init(&desks->end, link, &desks->members, table);
    mass_desk_init(&desks->mass, link, &options->mass);
    errand_desk_init(&desks->errands, link, table, &sinks->errands);
    greet_desk_init(&desks->greet, link, &desks->members, table, &sinks->greet);
    edict_desk_init(&desks->edicts, link, &desks->members, table, &sinks->edicts);
    watch_desk_init(&desks->watch, link, &desks->keeper, &desks->members);
    Result rc =
        block_desk_init(&desks->blocks, link, &desks->greet, &options->courier, &sinks->blocks);
    Result rc_leases =
        lease_desk_init(&desks->leases, link, &options->lease, options->lease_addresses, dead_below,
                        alone, &sinks->leases, now);
    rc = rc == RESULT_OK ? rc_leases : rc;
    return rc == RESULT_OK ? edict_desk_begin(&desks->edicts, options->edicts) : rc;
}

void node_desks_destroy(NodeDesks *desks)
{
    block_desk_destroy(&desks->blocks);
    greet_desk_destroy(&desks->greet);
    edict_desk_destroy(&desks->edicts);
    watch_desk_destroy(&desks->watch);
    lease_desk_destroy(&desks->leases);
    limit_desk_destroy(&desks->limits);
    end_desk_destroy(&desks->end);
    mass_desk_destroy(&desks->mass);
    errand_desk_destroy(&desks->errands);
    members_destroy(&desks->members);
    table_keeper_destroy(&desks->keeper);
}

void node_desks_up(NodeDesks *desks, uint64_t revision, MonoTime now)
{
    (void)node_link_listen(desks->link);
    table_keeper_up(&desks->keeper, now);
    members_up(&desks->members, revision, now);
    greet_desk_up(&desks->greet, now);
    courier_lost(desks->blocks.courier, now);
    limit_desk_up(&desks->limits, desks->keeper.settled, now);
    end_desk_up(&desks->end, now);
    lease_desk_up(&desks->leases, desks->keeper.settled, now);
    watch_desk_up(&desks->watch, now);
    edict_desk_up(&desks->edicts, desks->keeper.settled, now);
    lease_holder_lose_all(desks->leases.holder, now); /* something may have been ordered since */
}

void node_desks_down(NodeDesks *desks)
{
    table_keeper_down(&desks->keeper);
    limit_desk_down(&desks->limits);
    edict_desk_down(&desks->edicts);
}

void node_desks_stop(NodeDesks *desks, MonoTime now)
{
    MemberRecord *self = &desks->members.self;
    if (greet_desk_stop(&desks->greet, &desks->members.heard) != RESULT_OK) {
        return; /* as if it had been killed */
    }
    self->state = MEMBER_STOPPED;
    self->dead_below = desks->link->head.session + 1;
    members_put_self(&desks->members, now);
}

Result node_desks_set_table(NodeDesks *desks, const ClusterTable *table, MonoTime now)
{
    Result rc = table_keeper_set(&desks->keeper, table);
    if (rc == RESULT_OK) {
        rc = members_resize(&desks->members, table->n_agents, now);
    }
    if (rc == RESULT_OK) {
        rc = greet_desk_set(&desks->greet, now);
    }
    for (uint32_t i = 0; rc == RESULT_OK && i < table->n_agents; i++) {
        rc = courier_grown(desks->blocks.courier, (uint16_t)i, 0, now); /* it knows them all */
    }
    if (rc == RESULT_OK) {
        rc = lease_desk_set(&desks->leases, &desks->keeper.table, now);
    }
    if (rc == RESULT_OK) {
        rc = end_desk_set(&desks->end);
    }
    if (rc == RESULT_OK) {
        rc = mass_desk_set_agents(&desks->mass, table->n_agents);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    int64_t pace = (int64_t)table->n_agents * NODE_PACE_MS;
    desks->link->head.epoch = table->epoch;
    desks->link->pace_ms = pace < NODE_PACE_MOST ? pace : NODE_PACE_MOST;
    watch_desk_set(&desks->watch, now);
    block_desk_set_agents(&desks->blocks, table->n_agents);
    key_changed(&desks->keeper.key, now); /* it is to be confirmed */
    return RESULT_OK;
}

/* The third word of "ragno.CRAWL.what.agent". */
static bool is_about(const char *subject, const char *what)
{
    const char *word = strchr(subject, '.');
    word = word == NULL ? NULL : strchr(word + 1, '.');
    size_t length = strlen(what);
    return word != NULL && strncmp(word + 1, what, length) == 0 && word[1 + length] == '.';
}

bool node_desks_heard(NodeDesks *desks, const TransportEvent *event, MonoTime now)
{
    if (is_about(event->subject, "in")) {
        block_desk_arrived(&desks->blocks, event, now);
    } else if (is_about(event->subject, "lease")) {
        lease_desk_asked(&desks->leases, event, now);
    } else if (is_about(event->subject, "hint")) {
        lease_desk_hinted(&desks->leases, event, now);
    } else {
        return false;
    }
    return true;
}

void node_desks_answered(NodeDesks *desks, const TransportEvent *event, MonoTime now)
{
    bool nobody = event->kind == TRANSPORT_NOBODY;
    bool leases = node_token_part(event->token) == NODE_PART_LEASES;
    uint64_t number = node_token_number(event->token);
    if (leases && nobody) {
        lease_desk_nobody(&desks->leases, number, now);
    } else if (leases) {
        lease_desk_answered(&desks->leases, event, now);
    } else if (nobody) {
        block_desk_nobody(&desks->blocks, number, now);
    } else {
        block_desk_answered(&desks->blocks, event, now);
    }
}

void node_desks_changed(NodeDesks *desks, const char *key, MonoTime now)
{
    Key *keys[] = {&desks->keeper.key, &desks->limits.key, &desks->end.key, &desks->edicts.key};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(key, keys[i]->name) == 0) {
            key_changed(keys[i], now);
        }
    }
    if (strncmp(key, MEMBER_KEY, sizeof MEMBER_KEY - 1) == 0) {
        members_changed(&desks->members, key, now);
    }
}

void node_desks_work(NodeDesks *desks, MonoTime now)
{
    key_work(&desks->keeper.key, now);
    key_work(&desks->members.own, now);
    greet_desk_work(&desks->greet, now);
    if (desks->link->up) {
        courier_work(desks->blocks.courier, now);
        mass_desk_work(&desks->mass, now);
    }
    edict_desk_work(&desks->edicts, now);
    watch_desk_work(&desks->watch, lease_holder_holds(desks->leases.holder), now);
    lease_holder_set_silent(desks->leases.holder, !edict_desk_is_fresh(&desks->edicts));
    lease_desk_work(&desks->leases, now);
    if (desks->leases.known) {
        /* All agents have said that they know no newer table and no newer edict: nobody has
         * anything to put back. */
        desks->leases.known = false;
        if (mono_before(now, desks->keeper.settled)) {
            desks->keeper.settled = desks->edicts.settled = now;
            key_doubt(&desks->keeper.key, now);
            key_doubt(&desks->edicts.key, now);
        }
    }
    errand_desk_work(&desks->errands, now);
}

MonoTime node_desks_next(const NodeDesks *desks)
{
    MonoTime next = mono_earlier(key_next(&desks->keeper.key), key_next(&desks->members.own));
    if (desks->link->up) {
        next = mono_earlier(next, courier_next(desks->blocks.courier));
        next = mono_earlier(next, mass_desk_next(&desks->mass));
    }
    next = mono_earlier(next, greet_desk_next(&desks->greet));
    next = mono_earlier(next, errand_desk_next(&desks->errands));
    next = mono_earlier(next, edict_desk_next(&desks->edicts));
    next = mono_earlier(next, watch_desk_next(&desks->watch));
    return mono_earlier(next, lease_desk_next(&desks->leases));
}

void node_desks_stats(const NodeDesks *desks, NodeStats *stats)
{
    LeaseArbiterStats arbiter;
    lease_arbiter_stats(desks->leases.arbiter, &arbiter);
    lease_holder_stats(desks->leases.holder, &stats->leases);
    courier_stats(desks->blocks.courier, &stats->blocks);
    stats->leases.bytes += arbiter.bytes;
    stats->agents_awaited = desks->limits.awaited;
    stats->refused = desks->blocks.refused_ours;
    for (size_t i = 0; i < BLOCK_FAULTS; i++) {
        stats->refused += desks->blocks.refused[i];
    }
}
