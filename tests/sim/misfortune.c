#include "misfortune.h"

#include <stdlib.h>

#include "cluster/desk/table_keeper.h"

#define SETTLED_MS     60000 /* before, nobody may have the table to put it back */
#define AWAY_MS        20000 /* of a process, at most */
#define CUT_MS         60000
#define DOWN_MS        30000
#define AGAIN_MS       10000 /* until an operator starts again what has ended */
#define LOST_AFTERWARD 20u

static int by_time(const void *a, const void *b)
{
    const Misfortune *x = a;
    const Misfortune *y = b;
    return x->time.ns < y->time.ns ? -1 : x->time.ns > y->time.ns;
}

bool trouble_init(Trouble *trouble)
{
    const ClusterSimOptions *options = trouble->options;
    const unsigned counts[] = {[FORTUNE_KILL] = options->kills,
                               [FORTUNE_CUT] = options->cuts,
                               [FORTUNE_DOWN] = options->downs,
                               [FORTUNE_MOVE] = options->moves,
                               [FORTUNE_STOP] = options->stops};
    int64_t most_ms = (int64_t)options->trouble_s * 1000;
    trouble->begin = trouble->net->now;
    trouble->all = calloc((size_t)options->kills + options->cuts + options->downs + options->moves +
                              options->stops + 1,
                          sizeof *trouble->all);
    if (trouble->all == NULL) {
        return false;
    }
    for (unsigned kind = FORTUNE_KILL; kind <= FORTUNE_STOP; kind++) {
        for (unsigned i = 0; i < counts[kind]; i++) {
            int64_t ms = 1 + (int64_t)dice_below(&trouble->net->dice, (uint64_t)most_ms);
            trouble->all[trouble->n++] =
                (Misfortune){.kind = (MisfortuneKind)kind, .time = mono_add_ms(trouble->begin, ms)};
        }
    }
    trouble->all[trouble->n++] = (Misfortune){.kind = FORTUNE_KILL, .time = MONO_NEVER};
    qsort(trouble->all, trouble->n, sizeof *trouble->all, by_time);
    return true;
}

void trouble_destroy(Trouble *trouble)
{
    free(trouble->all);
}

MonoTime trouble_next(const Trouble *trouble)
{
    return trouble->all[trouble->next].time;
}

/* ---- the server ------------------------------------------------------------------------------ */

/* The server has forgotten that the crawl is over, too: for those who have not heard of it yet, an
 * operator starts the others again. */
static void start_ended(Trouble *trouble)
{
    for (unsigned i = 0; i < *trouble->n_agents; i++) {
        Agent *agent = &trouble->agents[i];
        if (agent->state == AGENT_ENDED) {
            agent_start_again(agent, mono_add_ms(trouble->net->now, AGAIN_MS));
        }
    }
}

static void take_server_away(Trouble *trouble)
{
    SimNet *net = trouble->net;
    bool settled = mono_ms_between(trouble->begin, net->now) > SETTLED_MS;
    bool forgets = dice_below(&net->dice, 3) == 0 && settled;
    sim_net_down(net, mono_add_ms(net->now, (int64_t)dice_below(&net->dice, DOWN_MS)), forgets);
    if (forgets) {
        start_ended(trouble);
    }
}

/* ---- the operator ---------------------------------------------------------------------------- */

/* As cluster_moves.c: who gives must run, and nobody may know a newer table. */
static bool may_change(const Trouble *trouble, const ClusterTable *table, uint16_t giver)
{
    bool runs = giver == CLUSTER_NOBODY;
    for (unsigned i = 0; i < *trouble->n_agents; i++) {
        const Agent *agent = &trouble->agents[i];
        if (agent->state == AGENT_ENDED ||
            (agent->state == AGENT_MEMBER && node_table(agent->node)->epoch > table->epoch)) {
            return false;
        }
        runs = runs || (agent->state == AGENT_MEMBER && agent_self(agent) == giver);
    }
    return runs;
}

static uint16_t somebody(Trouble *trouble, const ClusterTable *table)
{
    return (uint16_t)dice_below(&trouble->net->dice, table->n_agents);
}

/* False: the table is as it was. */
static bool change(Trouble *trouble, ClusterTable *table)
{
    uint16_t from = somebody(trouble, table);
    uint16_t to = somebody(trouble, table);
    unsigned leaving = 0;
    unsigned coming = 0;
    uint64_t luck = dice_below(&trouble->net->dice, 8);
    cluster_table_count_moves(table, from, &leaving, &coming);
    if (luck == 0 && may_change(trouble, table, CLUSTER_NOBODY) &&
        table->n_agents < trouble->options->agents + CLUSTER_SIM_ADDED) {
        uint16_t added = 0;
        return trouble->add(trouble->context) && cluster_table_add(table, &added) == RESULT_OK;
    }
    if (!may_change(trouble, table, from)) {
        return false;
    }
    if (luck <= 2) {
        return coming == 0 && cluster_table_count(table, from) > 0 &&
               cluster_table_drain(table, from) == RESULT_OK;
    }
    unsigned n = 1 + (unsigned)dice_below(&trouble->net->dice, SLOT_COUNT / table->n_agents);
    return from != to && cluster_table_move(table, from, to, n) == RESULT_OK;
}

static void command(Trouble *trouble)
{
    ClusterTable table;
    Buffer bytes;
    const SimValue *value = sim_net_value(trouble->net, TABLE_KEY);
    if (value == NULL || sim_net_is_down(trouble->net)) {
        return;
    }
    cluster_table_init(&table);
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    if (cluster_table_read(&table, value->bytes, value->length) == RESULT_OK &&
        change(trouble, &table) && cluster_table_write(&table, &bytes) == RESULT_OK) {
        sim_net_store(trouble->net, TABLE_KEY, bytes.data, bytes.length);
        trouble->moves++;
    }
    buffer_destroy(&bytes);
    cluster_table_destroy(&table);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void trouble_work(Trouble *trouble)
{
    SimNet *net = trouble->net;
    if (mono_ms_between(trouble->begin, net->now) > (int64_t)trouble->options->trouble_s * 1000) {
        net->lost = net->lost < LOST_AFTERWARD ? net->lost : LOST_AFTERWARD;
    }
    for (; !mono_before(net->now, trouble_next(trouble)); trouble->next++) {
        MisfortuneKind kind = trouble->all[trouble->next].kind;
        Agent *victim = &trouble->agents[dice_below(&net->dice, *trouble->n_agents)];
        if (kind == FORTUNE_KILL && agent_runs(victim)) {
            agent_kill(victim, mono_add_ms(net->now, 1 + (int64_t)dice_below(&net->dice, AWAY_MS)));
            trouble->kills++;
        } else if (kind == FORTUNE_CUT) {
            sim_net_cut(net, victim->number,
                        mono_add_ms(net->now, (int64_t)dice_below(&net->dice, CUT_MS)));
        } else if (kind == FORTUNE_DOWN) {
            take_server_away(trouble);
        } else if (kind == FORTUNE_MOVE) {
            command(trouble);
        } else if (kind == FORTUNE_STOP && victim->state == AGENT_MEMBER) {
            agent_stop(victim, 1 + (int64_t)dice_below(&net->dice, AWAY_MS));
            trouble->stops++;
        }
    }
}
