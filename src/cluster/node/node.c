#include "cluster/node/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "cluster/desk/watch_desk.h"
#include "cluster/node/node_join.h"

/* LEAVE_MS: the answer to the last record is waited for that long; others take a silent agent for
 * dead by their own clocks all the same. QUIET_MS: towards the end of a crawl nothing but the look
 * is left to wait for. */
#define LEAVE_MS 2000 /* for the last messages */
#define LOOK_MS  1000 /* how often limits and the end are looked at */
#define QUIET_MS 250  /* while nothing is left here */

/* Which parts there are depends on the state. In JOINING and JOINED only link, join and `given`;
 * what stands behind `begun` is made by node_begin, and stays until node_delete also in LEFT and
 * OUT, because others may still read its figures (node_stats). Everything that an event or a note
 * does to the desks is therefore done in MEMBER only.
 *
 * A table goes this way, and nothing but the first and the last step changes what desks decide by:
 *
 *   key changed --table_keeper_take()--> TABLE_NEWER: seen, pending_epoch --sinks.new_table-->
 *   the directory commits it --node_hear(NODE_TABLE)--> node_set_table()
 *
 * pending_epoch keeps a table that is on this way from being sent a second time. */
struct Node {
    NodeOptions options;
    NodeSinks sinks;
    NodeState state;
    NodeLink link;
    NodeJoin join;
    ClusterTable given; /* that the directory had */
    bool begun;         /* what follows is there */
    TableKeeper keeper;
    Members members;
    GreetDesk greet;
    Courier courier;
    LeaseDesk leases;
    LimitDesk limits;
    EndDesk end;
    MassDesk mass;
    ErrandDesk errands;
    EdictDesk edicts;
    WatchDesk watch;
    bool told_two;
    MonoTime next_look; /* at the situation */
    MonoTime leave_end;
    uint64_t pending_epoch; /* of the table that is being committed */
    char why[600];
};

/* ---- birth ---- */

Result node_new(Node **out, const NodeOptions *options, const Transport *transport,
                const NodeSinks *sinks)
{
    MemberRecord record = {.life = 0};
    /* The name becomes part of subjects; a dot or a star in it would be heard by other crawls. */
    if (!node_link_is_name(options->crawl)) {
        return RESULT_INVALID;
    }
    Node *node = calloc(1, sizeof *node);
    if (node == NULL) {
        return RESULT_MEMORY;
    }
    node->options = *options;
    node->sinks = *sinks;
    node->next_look = MONO_NEVER;
    node->leave_end = MONO_NEVER;
    node_link_init(&node->link, transport, options->crawl);
    (void)snprintf(record.machine, sizeof record.machine, "%s", options->machine);
    (void)snprintf(record.name, sizeof record.name, "%s", options->name);
    (void)snprintf(record.version, sizeof record.version, "%s", options->version);
    node_join_init(&node->join, &node->link, &options->identity, &node->given, &record,
                   options->settings, options->luck);
    node->join.stale_ms = options->lease.stale_ms;
    if (options->table != NULL && options->table->epoch > 0 &&
        cluster_table_copy(&node->given, options->table) != RESULT_OK) {
        node_delete(node);
        return RESULT_MEMORY;
    }
    *out = node;
    return RESULT_OK;
}

static void node_close_desks(Node *node)
{
    courier_destroy(&node->courier);
    edict_desk_destroy(&node->edicts);
    lease_desk_destroy(&node->leases);
    limit_desk_destroy(&node->limits);
    end_desk_destroy(&node->end);
    mass_desk_destroy(&node->mass);
    errand_desk_destroy(&node->errands);
    members_destroy(&node->members);
    table_keeper_destroy(&node->keeper);
}

void node_delete(Node *node)
{
    if (node == NULL) {
        return;
    }
    if (node->begun) {
        node_close_desks(node);
    }
    node_join_destroy(&node->join);
    node_link_destroy(&node->link);
    cluster_table_destroy(&node->given);
    free(node);
}

/* OUT is final, and told once: the first reason is the one to look at. */
static void go_out(Node *node, const char *why)
{
    if (node->state != NODE_OUT) {
        node->state = NODE_OUT;
        (void)snprintf(node->why, sizeof node->why, "%s", why);
        node->sinks.out(node->sinks.context, node->why);
    }
}

NodeState node_state(const Node *node)
{
    return node->state;
}

const char *node_text(const Node *node)
{
    return node->state == NODE_OUT ? node->why : node_join_waits_for(&node->join);
}

const NodeIdentity *node_identity(const Node *node)
{
    return &node->join.identity;
}

const ClusterTable *node_table(const Node *node)
{
    return node->state == NODE_JOINED ? &node->join.table : &node->keeper.table;
}

/* All desks learn of the table at once, within one event, so that no two of them ever act by
 * different ones. Without memory the node goes out, whatever the desks behind the first that had
 * none have done. */
static void node_set_table(Node *node, const ClusterTable *table, MonoTime now)
{
    Result rc = cluster_table_copy(&node->keeper.table, table);
    rc = result_first(rc, members_resize(&node->members, table->n_agents, now));
    rc = result_first(rc, greet_desk_set(&node->greet, now));
    rc = result_first(rc, courier_set_agents(&node->courier, table->n_agents, now));
    rc = result_first(rc, lease_desk_set(&node->leases, &node->keeper.table, now));
    rc = result_first(rc, end_desk_set(&node->end));
    node->pending_epoch = 0;
    if (rc != RESULT_OK) {
        go_out(node, "no memory for the cluster table");
        return;
    }
    /* The more agents, the more rarely each one says what all of them say. */
    int64_t pace = (int64_t)table->n_agents * NODE_PACE_MS;
    node->link.head.epoch = table->epoch;
    node->link.pace_ms = pace < NODE_PACE_MOST ? pace : NODE_PACE_MOST;
    mass_desk_set_agents(&node->mass, table->n_agents);
    watch_desk_set(&node->watch, now);
    key_changed(&node->keeper.key, now); /* it is to be confirmed */
}

/* The connection is there, for the first time or again. Nothing that was known before counts until
 * it has been looked at anew: a message may have been missed. revision: of our record, as far as is
 * known. */
static void node_up(Node *node, uint64_t revision, MonoTime now)
{
    const NodeLink *link = &node->link;
    LOG_INFO("cluster", "connected", "crawl=%s agent=%u wire=%u", link->crawl,
             (unsigned)link->head.from, (unsigned)link->wire);
    (void)node_link_listen(link);
    table_keeper_up(&node->keeper, now);
    members_up(&node->members, revision, now);
    greet_desk_up(&node->greet, now);
    courier_lost(&node->courier, now);
    limit_desk_up(&node->limits, node->keeper.settled, now);
    end_desk_up(&node->end, now);
    lease_desk_up(&node->leases, node->keeper.settled, now);
    watch_desk_up(&node->watch, now);
    edict_desk_up(&node->edicts, node->keeper.settled, now);
    lease_holder_lose_all(node->leases.holder, now); /* something may have been ordered since */
}

/* A desk comes behind those that it needs: the courier behind the greeter, all behind the link's
 * table and members. Each init leaves what its destroy accepts, so after RESULT_MEMORY, too, the
 * desks are to be ended (node_delete). */
static Result node_open_desks(Node *node, const uint64_t used[LEDGER_UNITS], MonoTime now)
{
    const NodeOptions *options = &node->options;
    const NodeSinks *sinks = &node->sinks;
    NodeLink *link = &node->link;
    node->begun = true;
    link->table = &node->keeper.table;
    link->members = &node->members;
    table_keeper_init(&node->keeper, link, options->lease.confirm_ms);
    members_init(&node->members, link);
    limit_desk_init(&node->limits, link, options->limits, used);
    end_desk_init(&node->end, link);
    mass_desk_init(&node->mass, link, &options->mass);
    errand_desk_init(&node->errands, link, &sinks->errands);
    greet_desk_init(&node->greet, link, &sinks->greet);
    edict_desk_init(&node->edicts, link, &sinks->edicts);
    watch_desk_init(&node->watch, link, &node->keeper);
    Result rc = courier_init(&node->courier, link, &node->greet, &options->courier, &sinks->blocks);
    Result rc_leases =
        lease_desk_init(&node->leases, link, &options->lease, options->lease_addresses,
                        node->join.record.dead_below, node->join.alone, &sinks->leases, now);
    rc = result_first(rc, rc_leases);
    return rc == RESULT_OK ? edict_desk_begin(&node->edicts, options->edicts) : rc;
}

Result node_begin(Node *node, const uint64_t used[LEDGER_UNITS], MonoTime now)
{
    const NodeJoin *join = &node->join;
    if (node_open_desks(node, used, now) != RESULT_OK) {
        return RESULT_MEMORY;
    }
    node->members.self = join->record;
    members_hold(&node->members, join->theirs, join->settings_revision);
    node->state = NODE_MEMBER;
    node->next_look = now;
    node_set_table(node, &join->table, now);
    /* The connection may have gone while the table was being committed; then TRANSPORT_UP does
     * this. */
    if (node->link.up) {
        node_up(node, join->record_revision, now);
    }
    return RESULT_OK;
}

void node_leave(Node *node, MonoTime now)
{
    /* Who never became a member has told nobody that he is there. */
    if (node->state != NODE_MEMBER) {
        node->state = node->state == NODE_OUT ? NODE_OUT : NODE_LEFT;
        return;
    }
    /* First the leases: other agents may go on with these addresses before our record says
     * anything. */
    lease_desk_close(&node->leases, now);
    node->leave_end = mono_add_ms(now, LEAVE_MS);
    MemberRecord *self = &node->members.self;
    if (greet_desk_stop(&node->greet, &node->members.heard) != RESULT_OK) {
        return; /* as if it had been killed */
    }
    self->state = MEMBER_STOPPED;
    /* Whoever reads it knows that leases of this session and of all before it are void. */
    self->dead_below = node->link.head.session + 1;
    members_put_self(&node->members, now);
}

/* ---- questions ---- */

/* What other nodes, and operators, ask this one, and what it answers (node_link.h: NodeQuestion). A
 * question is answered by the desk that it is for, or by a sink. */

/* What limits and the end are decided by, with what the desks know of it. */
static void node_look(const Node *node, NodeSituation *situation)
{
    *situation = (NodeSituation){.end = {.idle = false}};
    node->sinks.situation(node->sinks.context, situation);
    for (unsigned unit = 0; unit < LEDGER_UNITS; unit++) {
        situation->accounts[unit].granted = node->limits.granted[unit];
    }
    /* What others have for an agent that has lost it may not be here yet. */
    bool complete = !greet_desk_misses(&node->greet);
    situation->end.idle = situation->end.idle && complete;
    situation->end.spent = node->limits.spent && complete;
    /* A fetch that is under way may come to nothing, and its page is left then. */
    bool may_be_left =
        node->limits.limits[LEDGER_PAGES] > 0 && situation->accounts[LEDGER_PAGES].busy;
    situation->end.holds = node->limits.holds || may_be_left;
}

static void answer_status(Node *node, const NodeMessage *in)
{
    WireWriter writer = node_link_begin(&node->link);
    node->sinks.status(node->sinks.context, writer.out);
    node_link_reply(&node->link, &writer, in->event->reply_to);
}

static void answer_run(Node *node, NodeMessage *in)
{
    WireWriter writer = node_link_begin(&node->link);
    size_t head = writer.out->length;
    if (node->sinks.run != NULL) {
        node->sinks.run(node->sinks.context, &in->body, &writer);
    }
    if (writer.out->length > head) {
        node_link_reply(&node->link, &writer, in->event->reply_to);
    }
}

/* Answers a message to "ask.N". */
static void node_take_question(Node *node, NodeMessage *in, MonoTime now)
{
    NodeSituation situation;
    switch (wire_get_number(&in->body, 1)) {
    case NODE_ASK_END:
        node_look(node, &situation);
        end_desk_asked(&node->end, in, &situation.end);
        break;
    case NODE_ASK_STATUS:
        answer_status(node, in);
        break;
    case NODE_ASK_RUN:
        answer_run(node, in);
        break;
    case NODE_ASK_MASS:
        mass_desk_asked(&node->mass, in);
        break;
    case NODE_ASK_GREET:
        greet_desk_asked(&node->greet, in, now);
        break;
    case NODE_ASK_ROBOTS:
        errand_desk_asked(&node->errands, in, now);
        break;
    case NODE_ASK_HELD:
        lease_desk_tell_held(&node->leases, in, node->edicts.edicts.last, now);
        break;
    case NODE_ASK_EDICTS:
        edict_desk_asked(&node->edicts, in, now);
        break;
    default:
        break; /* of a later version: whoever asks hears nothing */
    }
}

/* ---- events ---- */

static void node_take_table(Node *node, const TransportEvent *event, MonoTime now)
{
    /* The keeper looks, and says what it saw; what follows from that concerns other desks, so it is
     * done here. */
    switch (table_keeper_take(&node->keeper, event, now)) {
    case TABLE_NOTHING:
        break;
    case TABLE_CONFIRMED:
        /* As of the time of the question, not of the answer: what happened in between is not
         * confirmed. */
        lease_arbiter_confirm(node->leases.arbiter, node->keeper.key.asked);
        break;
    case TABLE_NEWER:
        if (node->keeper.seen.epoch > node->pending_epoch) {
            node->pending_epoch = node->keeper.seen.epoch;
            node->sinks.new_table(node->sinks.context, &node->keeper.seen);
        }
        break;
    /* Logged once. Nothing is granted as long as it lasts, since no look confirms the table. */
    case TABLE_TWO:
        if (!node->told_two) {
            node->told_two = true;
            LOG_ERROR("cluster",
                      "two cluster tables have one epoch, or the table has an unknown format; "
                      "nothing is granted",
                      "epoch=%llu next=\"ragno cluster status\"",
                      (unsigned long long)node->keeper.table.epoch);
        }
        break;
    }
}

static void take_member(Node *node, const TransportEvent *event, MonoTime now)
{
    uint16_t agent = CLUSTER_NOBODY;
    switch (members_take(&node->members, event, now, &agent)) {
    case MEMBER_NOTHING:
        break;
    case MEMBER_STARTED:
        lease_holder_restarted(node->leases.holder, agent, now);
        courier_present(&node->courier, agent, now);
        greet_desk_present(&node->greet, agent, now);
        break;
    /* Two processes with one directory's number (a copied directory, a machine that came back): the
     * later one wins, as its session is higher. */
    case MEMBER_LOST:
        go_out(node, "another process runs as this agent now; this one must not go on");
        break;
    /* Our record says STOPPED, and the server has it: the last thing to wait for. */
    case MEMBER_WRITTEN:
        node->state = NODE_LEFT;
        break;
    }
    greet_desk_seen(&node->greet, agent);
}

/* While this agent is connected it puts its own back (members_take_settings); after it was cut
 * off, the others may go by the new ones already. */
static void take_settings_now(Node *node, const TransportEvent *event, MonoTime now)
{
    if (!members_take_settings(&node->members, event, now)) {
        go_out(node,
               "the settings of the crawl were changed while this agent was cut off; give all "
               "agents the same");
    }
}

/* The situation is asked for anew with each answer: what was used since the question counts. */
static void take_limits(Node *node, const TransportEvent *event, MonoTime now)
{
    NodeSituation situation;
    node_look(node, &situation);
    if (limit_desk_take(&node->limits, event, situation.accounts, now)) {
        for (unsigned unit = 0; unit < LEDGER_UNITS; unit++) {
            node->sinks.granted(node->sinks.context, (LedgerUnit)unit, node->limits.granted[unit]);
        }
    }
}

static void take_end(Node *node, NodeMessage *in, MonoTime now)
{
    NodeSituation situation;
    node_look(node, &situation);
    EndVerdict verdict = end_desk_take(&node->end, in, &situation.end, now);
    if (verdict != END_NOT_YET) {
        node->sinks.ended(node->sinks.context, verdict);
    }
}

/* The token names the desk that asked. An answer to a question of before the desks began has
 * NODE_PART_JOIN, and is late. */
static void node_take_answer(Node *node, const TransportEvent *event, MonoTime now)
{
    NodeMessage in;
    if (!node_link_open(&node->link, event, &in)) {
        return;
    }
    switch (node_token_part(event->token)) {
    case NODE_PART_TABLE:
        node_take_table(node, event, now);
        break;
    case NODE_PART_MEMBERS:
        take_member(node, event, now);
        break;
    case NODE_PART_LEASES:
        lease_desk_take(&node->leases, &in, now);
        break;
    case NODE_PART_BLOCKS:
        courier_take(&node->courier, &in, now);
        break;
    case NODE_PART_LIMITS:
        take_limits(node, event, now);
        break;
    case NODE_PART_END:
        take_end(node, &in, now);
        break;
    case NODE_PART_MASS:
        mass_desk_take(&node->mass, &in, now);
        break;
    case NODE_PART_ERRANDS:
        errand_desk_take(&node->errands, &in, now);
        break;
    case NODE_PART_GREET:
        greet_desk_take(&node->greet, &in);
        break;
    case NODE_PART_WATCH:
        if (watch_desk_take(&node->watch, &in, now)) {
            node_slept(node, now);
        }
        break;
    case NODE_PART_HELD:
        lease_desk_count(&node->leases, &in, node->edicts.edicts.last, now);
        break;
    case NODE_PART_EDICTS:
        edict_desk_take(&node->edicts, &in, now);
        break;
    case NODE_PART_SETTINGS:
        take_settings_now(node, event, now);
        break;
    case NODE_PART_JOIN:
        break;
    }
}

/* The third word of "ragno.CRAWL.what.agent". */
static bool is_about(const char *subject, const char *what)
{
    const char *word = strchr(subject, '.');
    word = word == NULL ? NULL : strchr(word + 1, '.');
    size_t length = strlen(what);
    return word != NULL && strncmp(word + 1, what, length) == 0 && word[1 + length] == '.';
}

/* One that waits for an answer, unless it is a hint, which does not; others are dropped. */
static void node_take_message(Node *node, const TransportEvent *event, MonoTime now)
{
    NodeMessage in;
    if (is_about(event->subject, "in")) {
        courier_arrived(&node->courier, event, now);
    } else if (!node_link_open(&node->link, event, &in)) {
        return;
    } else if (is_about(event->subject, "hint")) {
        lease_desk_hinted(&node->leases, &in, now);
    } else if (event->reply_to == NULL) {
        return;
    } else if (is_about(event->subject, "lease")) {
        if (watch_desk_hear(&node->watch, &in, now)) {
            node_slept(node, now);
        }
        lease_desk_asked(&node->leases, &in, now);
    } else {
        node_take_question(node, &in, now);
    }
}

/* The next one that the desks look at; begin with 0. NULL: that were all. One list for work, time
 * and change: a key that is not in it would never be looked at. */
static Key *node_next_key(Node *node, size_t *place)
{
    Key *keys[] = {&node->keeper.key, &node->members.own, &node->members.settings,
                   &node->limits.key, &node->end.key,     &node->edicts.key};
    return *place < sizeof keys / sizeof *keys ? keys[(*place)++] : NULL;
}

/* A key of the server was written. A hint only: what is there now is looked at anew, and a hint
 * that was lost is made up for by the regular looks. Whoever joins puts the settings again as they
 * are: that is no reason for all to look. */
static void node_key_changed(Node *node, const char *name, MonoTime now)
{
    size_t place = 0;
    Key *key = NULL;
    while ((key = node_next_key(node, &place)) != NULL) {
        if (key != &node->members.settings && strcmp(name, key->name) == 0) {
            key_changed(key, now);
        }
    }
    if (strncmp(name, MEMBER_KEY, sizeof MEMBER_KEY - 1) == 0) {
        members_changed(&node->members, name);
    }
}

static void take_as_member(Node *node, const TransportEvent *event, MonoTime now)
{
    /* Anything that arrives shows that the connection carries; a failure is made on this side. */
    if (event->kind != TRANSPORT_FAILED) {
        watch_desk_heard(&node->watch, now);
    }
    switch (event->kind) {
    case TRANSPORT_MESSAGE:
        node_take_message(node, event, now);
        break;
    case TRANSPORT_CHANGED:
        node_key_changed(node, event->subject, now);
        break;
    case TRANSPORT_ANSWER:
    case TRANSPORT_NOBODY:
    case TRANSPORT_VALUE:
    case TRANSPORT_STORED:
    case TRANSPORT_CONFLICT:
    case TRANSPORT_FAILED:
        node_take_answer(node, event, now);
        break;
    case TRANSPORT_UP:
    case TRANSPORT_DOWN:
    case TRANSPORT_CLOSED:
        break;
    }
}

void node_take(Node *node, TransportEvent *event, MonoTime now)
{
    if (event->kind == TRANSPORT_UP) {
        node->link.up = true;
        if (node->state == NODE_MEMBER) {
            node_up(node, node->members.own.revision, now);
        } else if (node->state == NODE_JOINING) {
            node_join_up(&node->join, now);
        }
    } else if (event->kind == TRANSPORT_DOWN) {
        /* Nothing is given up yet: a lease is good until its own time ends, which the other side
         * counts as well. So a short cut costs nothing. */
        node->link.up = false;
        if (node->state == NODE_MEMBER) {
            LOG_WARN("cluster", "no connection; leases run out and the crawl waits", "crawl=%s",
                     node->link.crawl);
        }
    } else if (event->kind == TRANSPORT_CLOSED) {
        go_out(node, event->text == NULL ? "the connection was closed for good" : event->text);
    } else if (node->state == NODE_MEMBER) {
        take_as_member(node, event, now);
    } else if (node->state == NODE_JOINING) {
        node_join_take(&node->join, event, now);
    }
    transport_event_delete(event);
}

/* ---- work ---- */

/* Time may have passed that was not counted here: what was granted before is worth nothing. The
 * arbiter's side first, so that what our holder asks for anew is not granted from the old
 * ledger. */
static void node_doubt_leases(Node *node, MonoTime now)
{
    lease_arbiter_lapse(node->leases.arbiter, now);
    edict_desk_doubt(&node->edicts, now);
    lease_holder_lose_all(node->leases.holder, now);
}

/* The identity is durable before anybody hears of it: a process that was killed between the two
 * would come back as another agent and leave the first number to nobody. */
static void work_on_join(Node *node, MonoTime now)
{
    node_join_work(&node->join, now);
    if (node->join.step == JOIN_SAVE) {
        if (node->sinks.save_identity(node->sinks.context, &node->join.identity) != RESULT_OK) {
            go_out(node, "the directory cannot be written");
            return;
        }
        node_join_saved(&node->join, now);
        node_join_work(&node->join, now);
    }
    /* JOINED: the owner commits the table that node_table names, and calls node_begin. */
    if (node->join.step == JOIN_DONE) {
        node->state = NODE_JOINED;
    } else if (node->join.step == JOIN_REFUSED) {
        go_out(node, node->join.why);
    }
}

/* Does what is due, but for limits and the end, which want to know more. */
static void node_work_desks(Node *node, MonoTime now)
{
    size_t place = 0;
    Key *key = NULL;
    while ((key = node_next_key(node, &place)) != NULL) {
        key_work(key, now);
    }
    greet_desk_work(&node->greet, now);
    if (node->link.up) {
        courier_work(&node->courier, now);
        mass_desk_work(&node->mass, now);
    }
    edict_desk_work(&node->edicts, now);
    if (watch_desk_work(&node->watch, lease_holder_holds(node->leases.holder), now)) {
        LOG_WARN("cluster", "nothing is heard of others; leases are asked for anew", "crawl=%s",
                 node->link.crawl);
        node_doubt_leases(node, now);
    }
    /* Without fresh edicts a lease is used for a short time only (4ab0e76c: 3 s): an order to stop
     * must not wait for a connection. */
    lease_holder_set_silent(node->leases.holder, !edict_desk_is_fresh(&node->edicts));
    lease_desk_work(&node->leases, now);
    if (node->leases.known) {
        /* All agents have said that they know no newer table and no newer edict: nobody has
         * anything to put back. */
        node->leases.known = false;
        if (mono_before(now, node->keeper.settled)) {
            node->keeper.settled = node->edicts.settled = now;
            key_doubt(&node->keeper.key, now);
            key_doubt(&node->edicts.key, now);
        }
    }
    errand_desk_work(&node->errands, now);
}

void node_work(Node *node, MonoTime now)
{
    if (node->state == NODE_JOINING) {
        work_on_join(node, now);
    }
    if (node->state != NODE_MEMBER) {
        return;
    }
    /* The server did not answer in time. The others find out by themselves. */
    if (!mono_before(now, node->leave_end)) {
        node->state = NODE_LEFT;
        return;
    }
    node_work_desks(node, now);
    if (!mono_before(now, node->next_look)) {
        NodeSituation situation;
        node_look(node, &situation);
        bool quiet = situation.end.idle || situation.end.spent;
        node->next_look = mono_add_ms(now, quiet ? QUIET_MS : LOOK_MS);
        /* Limits before the end: what is spent decides whether it has come. */
        limit_desk_work(&node->limits, situation.accounts, now);
        end_desk_work(&node->end, &situation.end, now);
    }
}

MonoTime node_next(Node *node)
{
    if (node->state == NODE_JOINING) {
        return node_join_next(&node->join);
    }
    if (node->state != NODE_MEMBER) {
        return MONO_NEVER;
    }
    /* Each desk that node_work does something for must be here, or its work waits for the next
     * event: at most a second, as node_look is due then. */
    MonoTime next = mono_earlier(node->leave_end, node->next_look);
    size_t place = 0;
    const Key *key = NULL;
    while ((key = node_next_key(node, &place)) != NULL) {
        next = mono_earlier(next, key_next(key));
    }
    if (node->link.up) {
        next = mono_earlier(next, courier_next(&node->courier));
        next = mono_earlier(next, mass_desk_next(&node->mass));
    }
    next = mono_earlier(next, greet_desk_next(&node->greet));
    next = mono_earlier(next, errand_desk_next(&node->errands));
    next = mono_earlier(next, edict_desk_next(&node->edicts));
    next = mono_earlier(next, watch_desk_next(&node->watch));
    return mono_earlier(next, lease_desk_next(&node->leases));
}

void node_slept(Node *node, MonoTime now)
{
    if (node->begun) {
        LOG_WARN("cluster", "this machine has slept; leases are asked for anew", "crawl=%s",
                 node->link.crawl);
        node_doubt_leases(node, now);
    }
}

static void node_take_note(Node *node, NodeNote *note, MonoTime now)
{
    switch (note->kind) {
    case NODE_WANT:
        lease_holder_want(node->leases.holder, &note->address, note->ticket, now);
        break;
    case NODE_RELEASE:
        lease_holder_release(node->leases.holder, &note->address, note->time, now);
        break;
    case NODE_ASK:
        errand_desk_ask(&node->errands, (uint32_t)note->ticket, note->text, now);
        break;
    case NODE_FETCHED:
        errand_desk_told(&node->errands, note->ticket, note->answer, now);
        /* The desk has taken it; the rest is released with the note. */
        note->answer = NULL;
        break;
    case NODE_GROWN:
        courier_grown(&node->courier, note->agent, note->bytes, now);
        break;
    case NODE_SETTLED:
        courier_settled(&node->courier, &note->settled, note->text);
        break;
    case NODE_RETOLD:
        greet_desk_retold(&node->greet, note->agent);
        break;
    case NODE_MOVED:
        if (!greet_desk_misses(&node->greet)) { /* what we have is complete */
            table_keeper_settle(&node->keeper, note->agent, now);
        }
        break;
    case NODE_TABLE:
        node_set_table(node, note->table, now);
        break;
    case NODE_ORDER:
        edict_desk_give(&node->edicts, &note->edicts->list[0], note->ticket, now);
        break;
    case NODE_APPLIED:
        edict_desk_applied(&node->edicts, note->ticket, note->text);
        break;
    }
}

/* A note may still be under way when the node is OUT: what it owns is freed all the same. */
void node_hear(Node *node, NodeNote *note, MonoTime now)
{
    if (node->state == NODE_MEMBER) {
        node_take_note(node, note, now);
    }
    node_note_release(note);
}

void node_stats(const Node *node, NodeStats *stats)
{
    *stats = (NodeStats){.agents_awaited = 0};
    if (!node->begun) {
        return;
    }
    lease_holder_stats(node->leases.holder, &stats->leases);
    stats->blocks = node->courier.stats;
    stats->leases.bytes += lease_arbiter_bytes(node->leases.arbiter);
    stats->agents_awaited = node->limits.awaited;
}
