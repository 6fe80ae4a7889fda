#include "agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent_sinks.h"
#include "base/core/hash.h"
#include "cluster/message/membership.h"

#define AGAIN_MS  10000 /* until an operator starts again what was refused, or has failed */
#define FAILED_MS 100   /* from a failed commit to the end of the process */

/* ---- processes ------------------------------------------------------------------------------- */

static void take_event(void *context, TransportEvent *event)
{
    Agent *agent = context;
    if (event->kind == TRANSPORT_UP) { /* from now on it can hear of everything */
        agent->crawl.audit->excused[agent->number / 8] &= (uint8_t) ~(1u << agent->number % 8);
    }
    node_take(agent->node, event, agent_now(agent));
    agent_touch(agent);
    agent->stale = true;
}

static bool read_place(Agent *agent, NodeIdentity *identity, ClusterTable *table)
{
    const IngestStore *store = &agent->crawl.store;
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(store->db, true, &txn) != 0) {
        return false;
    }
    Result rc = node_place_read(txn, store->crawl, identity, table);
    page_db_txn_abort(store->db, txn);
    return rc == RESULT_OK;
}

static bool make_node(Agent *agent)
{
    const AgentRules *rules = agent->rules;
    NodeSinks sinks = agent_node_sinks(agent);
    ClusterTable table = {.epoch = 0};
    char name[32];
    (void)snprintf(name, sizeof name, "machine-%u-%u", (unsigned)agent->number, agent->machine);
    NodeOptions options = {.crawl = "sim",
                           .table = &table,
                           .machine = name,
                           .name = name,
                           .version = "sim",
                           .settings = agent->settings,
                           .edicts = &agent->edicts,
                           .lease = rules->lease,
                           .lease_addresses = 1000000,
                           .courier = {.message_bytes = 16384,
                                       .age_ms = 10000,
                                       .rest_ms = 1000,
                                       .window_bytes = 4 << 20,
                                       .answer_ms = 5000,
                                       .again_ms = 1000}};
    options.limits[LEDGER_PAGES] = rules->limit;
    bool ok = read_place(agent, &options.identity, &table);
    options.luck = hash_mix(rules->seed + agent->number +
                            options.identity.incarnation * UINT64_C(1000) + dice_next(agent->dice));
    ok = ok && node_new(&agent->node, &options, &agent->net->ports[agent->number].transport,
                        &sinks) == RESULT_OK;
    cluster_table_destroy(&table);
    return ok;
}

static bool start(Agent *agent)
{
    TransportSink sink = {.context = agent, .take = take_event};
    sim_net_open(agent->net, agent->number, &sink);
    agent->state = AGENT_JOINING;
    agent->node_due = agent->began = agent_now(agent);
    agent->out = false;
    agent->verdict = END_NOT_YET;
    agent->stops = false;
    return (agent->crawl.store.db != NULL || crawl_store_of(&agent->crawl)) && make_node(agent);
}

static void destroy_tables(Agent *agent)
{
    inbox_chore_delete(agent->inbox_chore);
    agent->inbox_chore = NULL;
    tray_destroy(&agent->acks.ranges);
    table_chore_destroy(&agent->table);
    moves_chore_destroy(&agent->moves);
    ingest_cluster_destroy(&agent->cluster);
    inbox_destroy(&agent->inbox);
}

static void stop(Agent *agent)
{
    if (agent->state == AGENT_MEMBER || agent->state == AGENT_LEAVING) {
        destroy_tables(agent);
    }
    agent->commits += agent->crawl.cost.commits;
    agent->crawl.cost.commits = 0;
    agent->n_leases = 0;
    agent->share.fails = agent->share.failed = false;
    sim_net_close(agent->net, agent->number);
    node_delete(agent->node);
    agent->node = NULL;
}

void agent_kill(Agent *agent, MonoTime when)
{
    agent->crawl.now = mono_later(agent->crawl.now, agent_now(agent));
    crawl_die(&agent->crawl);
    stop(agent);
    agent_start_again(agent, when);
}

void agent_lose(Agent *agent, MonoTime when)
{
    agent->crawl.now = mono_later(agent->crawl.now, agent_now(agent));
    crawl_be_lost(&agent->crawl);
    agent->machine++;
    stop(agent);
    agent_start_again(agent, when);
}

void agent_start_again(Agent *agent, MonoTime when)
{
    agent->state = AGENT_AWAY;
    agent->start = when;
    agent->stale = true;
}

void agent_stop(Agent *agent, int64_t pause_ms)
{
    if (agent->state == AGENT_MEMBER) {
        agent->stops = true;
        agent->pause_ms = pause_ms;
        agent->stale = true;
    }
}

void agent_stand_still(Agent *agent, int64_t ms)
{
    agent->still_until = agent->net->ports[agent->number].still_until =
        mono_add_ms(agent->net->now, ms);
    agent->behind_ns += ms * 1000000;
    agent->stale = true;
}

static bool copy_file(const char *from, const char *to)
{
    char block[65536];
    size_t n = 0;
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");
    bool ok = in != NULL && out != NULL;
    while (ok && (n = fread(block, 1, sizeof block, in)) > 0) {
        ok = fwrite(block, 1, n, out) == n;
    }
    ok = ok && ferror(in) == 0;
    if (in != NULL) {
        (void)fclose(in);
    }
    return (out == NULL || fclose(out) == 0) && ok;
}

bool agent_back_up(Agent *agent, const char *path)
{
    MDB_txn *txn = NULL;
    Crawl *crawl = &agent->crawl;
    if ((crawl->store.db == NULL && !crawl_store_of(crawl)) || mkdir(path, 0777) != 0 ||
        page_db_txn_begin(crawl->store.db, true, &txn) != 0) {
        return false;
    }
    MDB_env *env = mdb_txn_env(txn);
    page_db_txn_abort(crawl->store.db, txn);
    return mdb_env_copy2(env, path, MDB_CP_COMPACT) == 0;
}

bool agent_put_back(Agent *agent, const char *path, MonoTime when)
{
    char from[4096];
    char to[4096];
    if (agent_runs(agent)) {
        agent_kill(agent, when);
    } else {
        crawl_stop(&agent->crawl);
        agent_start_again(agent, when);
    }
    (void)snprintf(from, sizeof from, "%s/data.mdb", path);
    (void)snprintf(to, sizeof to, "%s/data.mdb", agent->crawl.options.directory);
    return copy_file(from, to);
}

bool agent_runs(const Agent *agent)
{
    return agent->state != AGENT_AWAY && agent->state != AGENT_ENDED;
}

uint16_t agent_self(const Agent *agent)
{
    return agent->node == NULL || node_state(agent->node) == NODE_JOINING
               ? CLUSTER_NOBODY
               : node_identity(agent->node)->self;
}

void agent_tell(const Agent *agent)
{
    static const char *const states[] = {"away", "joining", "member", "leaving", "ended"};
    const Crawl *crawl = &agent->crawl;
    (void)fprintf(stderr, "sim: directory %u %s", (unsigned)agent->number, states[agent->state]);
    if (agent->node != NULL) {
        (void)fprintf(stderr, " agent %u \"%s\"", (unsigned)agent_self(agent),
                      node_text(agent->node));
    }
    if (agent->state == AGENT_MEMBER) {
        (void)fprintf(stderr,
                      " epoch %llu queued %llu front %zu leasing %zu acquired %zu outbox %llu "
                      "inbox %d moves %s awaits %u quiet %d",
                      (unsigned long long)agent->cluster.table.epoch,
                      (unsigned long long)stats_get(&crawl->stats.urls_queued),
                      workbench_front(&crawl->workbench), crawl->workbench.n_leasing,
                      crawl->workbench.n_acquired,
                      (unsigned long long)ingest_cluster_outbox_blocks(&agent->cluster),
                      !inbox_is_empty((Inbox *)(uintptr_t)&agent->inbox),
                      moves_step_name(agent->moves.place.step), agent->moves.plan.awaits,
                      crawl_is_quiet(crawl));
    }
    (void)fprintf(stderr, "\n");
}

/* ---- birth ----------------------------------------------------------------------------------- */

/* As cluster_part_open. */
static bool open_tables(Agent *agent)
{
    const IngestStore *store = &agent->crawl.store;
    InboxSinks sinks = agent_inbox_sinks(agent);
    MDB_txn *txn = NULL;
    agent->cluster = (IngestCluster){.self = 0};
    inbox_init(&agent->inbox, NULL, &sinks);
    acks_chore_init(&agent->acks, &agent->cluster);
    table_chore_init(&agent->table, &agent->cluster);
    moves_chore_init(&agent->moves, &agent->cluster);
    if (page_db_txn_begin(store->db, false, &txn) != 0) {
        return false;
    }
    Result rc = ingest_cluster_init(&agent->cluster, node_identity(agent->node)->self,
                                    node_table(agent->node), txn, store->crawl);
    bool ok = page_db_txn_commit(store->db, txn) == 0 && rc == RESULT_OK;
    agent->inbox_chore = inbox_chore_new(&agent->inbox, &agent->cluster);
    agent_set_sinks(agent);
    return ok && agent->inbox_chore != NULL;
}

/* It has joined: everything runs from now on. The first directory has the seeds. */
static bool begin(Agent *agent)
{
    Crawl *crawl = &agent->crawl;
    MonoTime now = agent_now(agent);
    crawl->share = &agent->share;
    crawl->now = now;
    crawl->may_fetch = agent->rules->limit > 0 ? 0 : UINT64_MAX;
    if (!open_tables(agent)) {
        return false;
    }
    agent->state = AGENT_MEMBER;
    agent->join_ms += mono_ms_between(agent->began, now);
    agent->joins++;
    agent->member_since = agent->net->now;
    crawl->held = false;
    bool resumed = stats_get(&crawl->stats.urls_seen) > 0;
    crawl_begin(crawl, resumed);
    if (!resumed && agent->number == 0 && !crawl_seed(crawl)) {
        return false;
    }
    uint64_t used[LEDGER_UNITS] = {[LEDGER_PAGES] = crawl->fetched};
    return node_begin(agent->node, used, now) == RESULT_OK;
}

/* ---- work ------------------------------------------------------------------------------------ */

/* What the node said while it worked. */
static void take_news(Agent *agent)
{
    if (agent_is_member(agent) && agent->edicts_are_new) {
        const Edict *edict = agent->edicts.n == 0 ? NULL : &agent->edicts.list[0];
        agent->edicts_are_new = false;
        agent->crawl.held = edict != NULL && edict->verb == EDICT_PAUSE;
        NodeNote note = {.kind = NODE_APPLIED, .ticket = agent->edicts.last, .text = strdup("")};
        node_hear(agent->node, &note, agent_now(agent));
        agent_touch(agent);
    }
    for (size_t i = 0; i < agent->n_leases; i++) { /* more may come meanwhile */
        LeaseNotice notice = agent->leases[i];
        workbench_hear(&agent->crawl.workbench, &notice, agent_now(agent));
    }
    agent->n_leases = 0;
}

static void work_node(Agent *agent)
{
    MonoTime now = agent_now(agent);
    if (mono_before(now, agent->node_due)) {
        return;
    }
    agent->node_worked = now;
    agent->node_due = MONO_NEVER;
    node_work(agent->node, now);
    MonoTime soon = mono_add_ms(now, node_state(agent->node) == NODE_MEMBER ? AGENT_GATHER_MS : 1);
    agent->node_due = mono_later(node_next(agent->node), soon);
}

/* The crawl is over, or is to stop: what is in flight is committed, then it leaves. */
static void look_at_end(Agent *agent)
{
    Crawl *crawl = &agent->crawl;
    bool ends = agent->verdict != END_NOT_YET || agent->stops;
    if (!ends || agent->share.failed) { /* whose commit failed is killed */
        return;
    }
    crawl->may_fetch = 0;
    if (agent->state == AGENT_MEMBER && crawl->workbench.n_acquired == 0 && crawl->n_pages == 0) {
        agent->state = AGENT_LEAVING;
        node_leave(agent->node, agent_now(agent));
        agent_touch(agent);
    }
}

bool agent_work(Agent *agent)
{
    MonoTime now = agent->net->now;
    agent->stale = true;
    if (agent->state == AGENT_ENDED || mono_before(now, agent->still_until) ||
        (agent->state == AGENT_AWAY && mono_before(now, agent->start))) {
        return true;
    }
    if (agent->state == AGENT_AWAY && !start(agent)) {
        return false;
    }
    work_node(agent);
    if (agent->out) {
        agent_kill(agent, mono_add_ms(now, AGAIN_MS));
        return true;
    }
    if (agent->state == AGENT_JOINING && node_state(agent->node) == NODE_JOINED && !begin(agent)) {
        return false;
    }
    if (agent->state == AGENT_MEMBER) {
        take_news(agent);
        if (agent->share.failed) { /* what it has said meanwhile has been sent */
            if (!mono_before(now, agent->failed_end)) {
                agent_kill(agent, mono_add_ms(now, AGAIN_MS));
            }
            return true;
        }
        if (!mono_before(agent_now(agent), crawl_next(&agent->crawl))) {
            (void)crawl_turn(&agent->crawl, agent_now(agent));
            agent->failed_end = mono_add_ms(now, FAILED_MS);
        }
        look_at_end(agent);
    }
    if (agent->state == AGENT_LEAVING && node_state(agent->node) == NODE_LEFT) {
        crawl_stop(&agent->crawl);
        stop(agent);
        agent->state = AGENT_ENDED;
        if (agent->verdict == END_NOT_YET) {
            agent_start_again(agent, mono_add_ms(now, agent->pause_ms));
        }
    }
    return !agent->crawl.broken;
}

static MonoTime find_next(Agent *agent)
{
    if (agent->state == AGENT_ENDED) {
        return MONO_NEVER;
    }
    if (mono_before(agent->net->now, agent->still_until)) {
        return agent->still_until;
    }
    if (agent->state == AGENT_AWAY) {
        return agent->start;
    }
    if (agent->state == AGENT_MEMBER && (agent->n_leases > 0 || agent->edicts_are_new)) {
        return agent->net->now;
    }
    bool crawls = agent->state == AGENT_MEMBER && !agent->share.failed;
    MonoTime next = crawls ? crawl_next(&agent->crawl) : MONO_NEVER;
    next = mono_earlier(next, agent->node_due);
    next = next.ns == MONO_NEVER.ns ? next : (MonoTime){next.ns + agent->behind_ns};
    return agent->share.failed ? mono_earlier(next, agent->failed_end) : next;
}

MonoTime agent_next(Agent *agent)
{
    if (agent->stale) {
        agent->due = find_next(agent);
        agent->stale = false;
    }
    return agent->due;
}

bool agent_is_due(const Agent *agent)
{
    return agent->stale || !mono_before(agent->net->now, agent->due);
}

bool agent_open(Agent *agent, uint16_t number, const CrawlOptions *options, const AgentRules *rules,
                SimNet *net, const World *world, Audit *audit)
{
    *agent = (Agent){.rules = rules,
                     .net = net,
                     .dice = &net->dice,
                     .number = number,
                     .state = AGENT_AWAY,
                     .settings = "sim = yes\n",
                     .stale = true};
    return crawl_open(&agent->crawl, options, world, audit);
}

void agent_close(Agent *agent)
{
    if (agent_runs(agent)) {
        crawl_stop(&agent->crawl);
        stop(agent);
    }
    crawl_close(&agent->crawl, false);
    edicts_destroy(&agent->edicts);
    free(agent->leases);
}
