#include "misfortune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/bits.h"

#include "cluster/desk/table_keeper.h"
#include "cluster/message/membership.h"

#define SETTLED_MS     60000 /* before, nobody may have the table to put it back */
#define AWAY_MS        20000 /* of a process, at most */
#define QUICK_MS       1000  /* of one that its service manager starts again */
#define CUT_MS         60000
#define LONG_CUT_MS    180000 /* of one in four */
#define DOWN_MS        30000
#define AGAIN_MS       10000 /* until an operator starts again what has ended */
#define RETURN_MS      60000 /* from a backup to its return, at most */
#define LOST_AFTERWARD 20u
#define ORDER_MS       100   /* between two looks of an operator at an order */
#define LATE_MS        10000 /* the agent that was told has died */
#define PAUSE_MS       20000
#define STILL_MS       40000
#define GRACE_MS       600  /* watch_desk.h: two pulses, and a round trip */
#define LOSSY_GRACE_MS 5000 /* when questions of the pulse may be lost */
#define DEAF_GRACE_MS  3600 /* when its network is gone, too: PULSE_DEAF_MS */

static char no_text[] = "";

static int by_time(const void *a, const void *b)
{
    const Misfortune *x = a;
    const Misfortune *y = b;
    return x->time.ns < y->time.ns ? -1 : x->time.ns > y->time.ns;
}

bool trouble_init(Trouble *trouble)
{
    const ClusterSimOptions *options = trouble->options;
    const unsigned counts[] = {
        [FORTUNE_KILL] = options->kills,    [FORTUNE_CUT] = options->cuts,
        [FORTUNE_DOWN] = options->downs,    [FORTUNE_MOVE] = options->moves,
        [FORTUNE_STOP] = options->stops,    [FORTUNE_ORDER] = options->orders,
        [FORTUNE_STILL] = options->stills,  [FORTUNE_STRAY] = options->strays,
        [FORTUNE_FAIL] = options->fails,    [FORTUNE_MACHINE] = options->machines,
        [FORTUNE_BACKUP] = options->returns};
    int64_t most_ms = (int64_t)options->trouble_s * 1000;
    trouble->begin = trouble->net->now;
    trouble->order = MONO_NEVER;
    size_t most = 2 * (size_t)options->returns + 1;
    for (unsigned kind = FORTUNE_KILL; kind < FORTUNE_BACKUP; kind++) {
        most += counts[kind];
    }
    trouble->all = calloc(most, sizeof *trouble->all);
    if (trouble->all == NULL) {
        return false;
    }
    for (unsigned kind = FORTUNE_KILL; kind < FORTUNE_RETURN; kind++) {
        for (unsigned i = 0; i < counts[kind]; i++) {
            int64_t ms = 1 + (int64_t)dice_below(&trouble->net->dice, (uint64_t)most_ms);
            trouble->all[trouble->n++] =
                (Misfortune){.kind = (MisfortuneKind)kind, .time = mono_add_ms(trouble->begin, ms)};
        }
    }
    for (size_t i = 0, n = trouble->n; i < n; i++) {
        if (trouble->all[i].kind == FORTUNE_BACKUP) {
            int64_t ms = 1 + (int64_t)dice_below(&trouble->net->dice, RETURN_MS);
            trouble->all[trouble->n++] =
                (Misfortune){FORTUNE_RETURN, mono_add_ms(trouble->all[i].time, ms)};
        }
    }
    trouble->all[trouble->n++] = (Misfortune){.kind = FORTUNE_KILL, .time = MONO_NEVER};
    qsort(trouble->all, trouble->n, sizeof *trouble->all, by_time);
    return true;
}

void trouble_destroy(Trouble *trouble)
{
    free(trouble->all);
    audit_backup_destroy(&trouble->books);
}

MonoTime trouble_next(const Trouble *trouble)
{
    MonoTime next = trouble->all[trouble->next].time;
    return mono_before(trouble->order, next) ? trouble->order : next;
}

/* ---- the server ------------------------------------------------------------------------------ */

/* The server has forgotten that the crawl is over, too, or a backup was put back as it ended: for
 * those who have not heard of it yet, an operator starts the others again. */
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

/* As cluster_command.c: who gives must run, and nobody may know a newer table. */
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
    uint64_t luck = dice_below(&trouble->net->dice, 8);
    ClusterShare share = cluster_table_share(table, from);
    if (luck == 0 && may_change(trouble, table, CLUSTER_NOBODY) &&
        table->n_agents < trouble->options->agents + CLUSTER_SIM_ADDED) {
        uint16_t added = 0;
        return trouble->add(trouble->context) && cluster_table_add(table, &added) == RESULT_OK;
    }
    if (!may_change(trouble, table, from)) {
        return false;
    }
    if (luck <= 2) {
        return share.coming == 0 && share.owned > 0 &&
               cluster_table_drain(table, from) == RESULT_OK;
    }
    unsigned n = 1 + (unsigned)dice_below(&trouble->net->dice, SLOT_COUNT / table->n_agents);
    return from != to && cluster_table_move(table, from, to, n) == RESULT_OK;
}

/* The table that the server has, for an operator to change; false: there is none now. */
static bool misfortune_table(const Trouble *trouble, ClusterTable *table)
{
    const SimValue *value = sim_net_value(trouble->net, TABLE_KEY);
    *table = (ClusterTable){.epoch = 0};
    return value != NULL && !sim_net_is_down(trouble->net) &&
           cluster_table_read(table, value->bytes, value->length) == RESULT_OK;
}

static bool misfortune_put(Trouble *trouble, const ClusterTable *table)
{
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    bool is_written = cluster_table_write(table, &bytes) == RESULT_OK;
    if (is_written) {
        sim_net_store(trouble->net, TABLE_KEY, bytes.data, bytes.length);
    }
    buffer_destroy(&bytes);
    return is_written;
}

static void command(Trouble *trouble)
{
    ClusterTable table;
    if (misfortune_table(trouble, &table) && change(trouble, &table) &&
        misfortune_put(trouble, &table)) {
        trouble->moves++;
    }
    cluster_table_destroy(&table);
}

void trouble_make_room(Trouble *trouble, uint16_t number)
{
    ClusterTable table;
    uint16_t added = 0;
    if (misfortune_table(trouble, &table) && number == table.n_agents &&
        cluster_table_add(&table, &added) == RESULT_OK) {
        (void)misfortune_put(trouble, &table);
    }
    cluster_table_destroy(&table);
}

/* ---- backups --------------------------------------------------------------------------------- */

/* The token of its last start; 0: it is no agent. */
static uint64_t last_start(Agent *agent)
{
    NodeIdentity identity = {.known = false};
    ClusterTable table = {.epoch = 0};
    MDB_txn *txn = NULL;
    Crawl *crawl = &agent->crawl;
    if ((crawl->store.db == NULL && !crawl_store_of(crawl)) ||
        page_db_txn_begin(crawl->store.db, true, &txn) != 0) {
        return 0;
    }
    Result rc = node_place_read(txn, crawl->store.crawl, &identity, &table);
    page_db_txn_abort(crawl->store.db, txn);
    bool is_agent = rc == RESULT_OK && identity.known && table.epoch > 0;
    cluster_table_destroy(&table);
    return is_agent ? identity.token : 0;
}

static void back_up(Trouble *trouble, Agent *agent)
{
    bool may = trouble->backed_up == NULL && agent->state != AGENT_ENDED;
    uint64_t start = may ? last_start(agent) : 0;
    if (start == 0) {
        return;
    }
    (void)snprintf(trouble->backup, sizeof trouble->backup, "%s/backup-%u", trouble->directory,
                   ++trouble->backups);
    if (agent_back_up(agent, trouble->backup)) {
        trouble->start = start;
        trouble->backed_up = agent;
        audit_backup_destroy(&trouble->books);
        audit_back_up(trouble->audit, &trouble->books);
    }
}

/* A directory that has been started since: the operator says that the backup takes its place. */
static bool restore(Trouble *trouble, uint16_t number)
{
    ClusterTable table = {.epoch = 0};
    Buffer bytes;
    const SimValue *value = sim_net_value(trouble->net, TABLE_KEY);
    if (value == NULL || sim_net_is_down(trouble->net)) {
        return false;
    }
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    bool ok = cluster_table_read(&table, value->bytes, value->length) == RESULT_OK &&
              may_change(trouble, &table, CLUSTER_NOBODY) &&
              cluster_table_restore(&table, number) == RESULT_OK &&
              cluster_table_write(&table, &bytes) == RESULT_OK;
    if (ok) {
        sim_net_store(trouble->net, TABLE_KEY, bytes.data, bytes.length);
    }
    buffer_destroy(&bytes);
    cluster_table_destroy(&table);
    return ok;
}

static void put_back(Trouble *trouble)
{
    Agent *agent = trouble->backed_up;
    MonoTime start =
        mono_add_ms(trouble->net->now, 1 + (int64_t)dice_below(&trouble->net->dice, AWAY_MS));
    trouble->backed_up = NULL;
    if (agent == NULL || agent->state == AGENT_ENDED) {
        return;
    }
    uint16_t number = agent_self(agent);
    bool restarted = last_start(agent) != trouble->start || number == CLUSTER_NOBODY;
    /* A new directory would take the agent that is to be restored. */
    bool may = !restarted || (number != CLUSTER_NOBODY && trouble->options->moves == 0);
    if (!may || (restarted && !restore(trouble, number))) {
        return;
    }
    if (agent_put_back(agent, trouble->backup, start)) {
        audit_put_back(trouble->audit, agent->number, &trouble->books, trouble->options->moves > 0);
        trouble->looked_after = mono_add_ms(trouble->net->now, LATE_MS);
        trouble->returns++;
        start_ended(trouble); /* what they know may be needed */
    }
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* Those who are named as away may go on until they can hear of it. */
static void excuse(Trouble *trouble, const char *text)
{
    const char *away = strstr(text, "away:");
    for (unsigned i = 0; i < *trouble->n_agents; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "agent %u (", (unsigned)agent_self(&trouble->agents[i]));
        if (away != NULL && strstr(away, name) != NULL) {
            bits_set(trouble->audit->excused, i);
        }
    }
}

static bool has_all_ended(const Trouble *trouble)
{
    for (unsigned i = 0; i < *trouble->n_agents; i++) {
        if (trouble->agents[i].state != AGENT_ENDED) {
            return false;
        }
    }
    return true;
}

/* Gives the order at any member, and again until one says that it is carried out; then the same
 * with the order to go on. */
static void work_on_order(Trouble *trouble)
{
    SimNet *net = trouble->net;
    Agent *agent = trouble->ordered;
    trouble->order = mono_add_ms(net->now, ORDER_MS);
    if (agent != NULL && agent->told == trouble->ticket) {
        trouble->ordered = NULL;
        if (agent->told_rc == RESULT_OK) {
            trouble->orders++;
            trouble->audit->paused = trouble->pauses;
            if (trouble->pauses) {
                excuse(trouble, agent->told_text);
            }
            bool over = !trouble->pauses;
            trouble->pauses = false;
            trouble->order =
                over ? MONO_NEVER
                     : mono_add_ms(net->now, 1 + (int64_t)dice_below(&net->dice, PAUSE_MS));
            return;
        }
    } else if (agent != NULL && mono_before(net->now, mono_add_ms(trouble->ordered_at, LATE_MS))) {
        return;
    }
    trouble->ordered = NULL;
    agent = &trouble->agents[dice_below(&net->dice, *trouble->n_agents)];
    if (agent->state == AGENT_MEMBER) {
        Edict edict = {.number = (uint64_t)(net->now.ns / 1000000),
                       .verb = trouble->pauses ? EDICT_PAUSE : EDICT_RESUME,
                       .name = no_text,
                       .pattern = no_text,
                       .value = no_text,
                       .who = no_text};
        trouble->audit->paused = trouble->audit->paused && trouble->pauses;
        trouble->ordered = agent;
        trouble->ordered_at = net->now;
        NodeNote note = {.kind = NODE_ORDER,
                         .ticket = ++trouble->ticket,
                         .edicts = calloc(1, sizeof *note.edicts)};
        if (note.edicts == NULL || edicts_add(note.edicts, &edict) != RESULT_OK) {
            abort();
        }
        node_hear(agent->node, &note, agent_now(agent));
        agent->stale = true;
        agent->node_due = agent_now(agent);
    } else if (has_all_ended(trouble)) {
        trouble->order = MONO_NEVER;
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

void trouble_work(Trouble *trouble)
{
    if (mono_before(trouble->net->now, trouble->looked_after) && !has_all_ended(trouble)) {
        start_ended(trouble);
    }
    SimNet *net = trouble->net;
    if (mono_ms_between(trouble->begin, net->now) > (int64_t)trouble->options->trouble_s * 1000) {
        net->lost = net->lost < LOST_AFTERWARD ? net->lost : LOST_AFTERWARD;
    }
    if (!mono_before(net->now, trouble->order)) {
        work_on_order(trouble);
    }
    for (; !mono_before(net->now, trouble->all[trouble->next].time); trouble->next++) {
        MisfortuneKind kind = trouble->all[trouble->next].kind;
        Agent *victim = &trouble->agents[dice_below(&net->dice, *trouble->n_agents)];
        bool kills = kind == FORTUNE_KILL || kind == FORTUNE_MACHINE || kind == FORTUNE_STRAY;
        if (kills && agent_runs(victim)) {
            int64_t most_ms = dice_below(&net->dice, 4) == 0 ? AWAY_MS : QUICK_MS;
            int64_t ms = 1 + (int64_t)dice_below(&net->dice, (uint64_t)most_ms);
            (kind == FORTUNE_MACHINE ? agent_lose : agent_kill)(victim, mono_add_ms(net->now, ms));
            trouble->machines += kind == FORTUNE_MACHINE;
            trouble->strays += kind == FORTUNE_STRAY;
            victim->settings = kind == FORTUNE_STRAY ? "sim = no\n" : victim->settings;
            trouble->kills++;
        } else if (kind == FORTUNE_STILL && !mono_before(net->now, victim->still_until)) {
            int64_t ms = 1 + (int64_t)dice_below(&net->dice, STILL_MS);
            int64_t grace_ms = net->lost > 0 ? LOSSY_GRACE_MS : GRACE_MS;
            if (dice_below(&net->dice, 3) == 0) {
                sim_net_cut(net, victim->number, mono_add_ms(net->now, ms + CUT_MS));
                grace_ms = grace_ms < DEAF_GRACE_MS ? DEAF_GRACE_MS : grace_ms;
            }
            audit_stands_still(trouble->audit, victim->number, ms, grace_ms, net->now.ns / 1000000);
            agent_stand_still(victim, ms);
            trouble->stills++;
        } else if (kind == FORTUNE_FAIL && victim->state == AGENT_MEMBER) {
            victim->share.fails = true;
            trouble->fails++;
        } else if (kind == FORTUNE_CUT) {
            uint64_t most_ms = dice_below(&net->dice, 4) == 0 ? LONG_CUT_MS : CUT_MS;
            sim_net_cut(net, victim->number,
                        mono_add_ms(net->now, (int64_t)dice_below(&net->dice, most_ms)));
        } else if (kind == FORTUNE_DOWN) {
            take_server_away(trouble);
        } else if (kind == FORTUNE_MOVE) {
            command(trouble);
        } else if (kind == FORTUNE_STOP && victim->state == AGENT_MEMBER) {
            agent_stop(victim, 1 + (int64_t)dice_below(&net->dice, AWAY_MS));
            trouble->stops++;
        } else if (kind == FORTUNE_ORDER && trouble->order.ns == MONO_NEVER.ns) {
            trouble->pauses = true;
            trouble->order = net->now;
        } else if (kind == FORTUNE_BACKUP) {
            back_up(trouble, victim);
        } else if (kind == FORTUNE_RETURN) {
            put_back(trouble);
        }
    }
}
