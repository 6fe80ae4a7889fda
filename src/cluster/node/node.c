#include "cluster/node/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "cluster/node/node_join.h"

/* What other nodes, and operators, ask this one, and what it answers (node_link.h: NodeQuestion).
 *
 * What: a question is answered by the desk that it is for, or by a sink.
 * Owns: nothing. Threads: none of its own; the node's. */

#define ANSWER_BYTES_MOST ((size_t)512 << 10) /* below what a server of NATS takes (1 MB) */

/* What limits and the end are decided by, with what the desks know of it. */
static void node_questions_situation(const NodeDesks *desks, const NodeSinks *sinks,
                                     NodeSituation *situation)
{
    *situation = (NodeSituation){.end = {.idle = false}};
    sinks->situation(sinks->context, situation);
    for (unsigned unit = 0; unit < LEDGER_UNITS; unit++) {
        situation->accounts[unit].granted = desks->limits.granted[unit];
    }
    /* What others have for an agent that has lost it may not be here yet. */
    bool complete = greet_desk_missing(&desks->greet) == CLUSTER_NOBODY;
    situation->end.idle = situation->end.idle && complete;
    situation->end.spent = desks->limits.spent && complete;
    /* A fetch that is under way may come to nothing, and its page is left then. */
    bool may_be_left =
        desks->limits.limits[LEDGER_PAGES] > 0 && situation->accounts[LEDGER_PAGES].busy;
    situation->end.holds = desks->limits.holds || may_be_left;
}

static void answer_status(const NodeDesks *desks, const NodeSinks *sinks, const char *reply_to)
{
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    WireWriter writer = node_link_begin(desks->link, &bytes);
    sinks->status(sinks->context, &bytes);
    node_link_answer(desks->link, &writer, reply_to);
    buffer_destroy(&bytes);
}

static void answer_run(const NodeDesks *desks, const NodeSinks *sinks, WireReader *question,
                       const char *reply_to)
{
    Buffer bytes = {.limit = ANSWER_BYTES_MOST};
    WireWriter writer = node_link_begin(desks->link, &bytes);
    size_t head = bytes.length;
    if (sinks->run != NULL) {
        sinks->run(sinks->context, question, &writer);
    }
    if (bytes.length > head) {
        node_link_answer(desks->link, &writer, reply_to);
    }
    buffer_destroy(&bytes);
}

/* Answers a message to "ask.N"; one that is no question is dropped. */
static void node_questions_take(NodeDesks *desks, const NodeSinks *sinks,
                                const TransportEvent *event, MonoTime now)
{
    WireReader reader;
    NodeHead head;
    NodeSituation situation;
    if (event->reply_to == NULL || !node_link_open(desks->link, event, &reader, &head)) {
        return;
    }
    switch (wire_get_8(&reader)) {
    case NODE_ASK_END:
        node_questions_situation(desks, sinks, &situation);
        end_desk_asked(&desks->end, &reader, event->reply_to, &situation.end);
        break;
    case NODE_ASK_STATUS:
        answer_status(desks, sinks, event->reply_to);
        break;
    case NODE_ASK_RUN:
        answer_run(desks, sinks, &reader, event->reply_to);
        break;
    case NODE_ASK_MASS:
        mass_desk_asked(&desks->mass, &reader, head.from, event->reply_to);
        break;
    case NODE_ASK_GREET:
        greet_desk_asked(&desks->greet, &reader, &head, event->reply_to, now);
        break;
    case NODE_ASK_ROBOTS:
        errand_desk_asked(&desks->errands, &reader, event->reply_to, now);
        break;
    case NODE_ASK_HELD:
        lease_desk_tell_held(&desks->leases, &head, event->reply_to, desks->edicts.edicts.last,
                             now);
        break;
    case NODE_ASK_EDICTS:
        edict_desk_asked(&desks->edicts, &reader, event->reply_to, now);
        break;
    default:
        break; /* of a later version: whoever asks hears nothing */
    }
}

/* ---- Node ---- */

#define LEAVE_MS 2000 /* for the last messages */
#define LOOK_MS  1000 /* how often limits and the end are looked at */
#define QUIET_MS 250  /* while nothing is left here */

struct Node {
    NodeOptions options;
    NodeSinks sinks;
    NodeState state;
    NodeLink link;
    NodeJoin join;
    ClusterTable given; /* that the directory had */
    NodeDesks desks;
    bool begun; /* the desks are there */
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
    cluster_table_init(&node->given);
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

void node_delete(Node *node)
{
    if (node == NULL) {
        return;
    }
    if (node->begun) {
        node_desks_destroy(&node->desks);
    }
    node_join_destroy(&node->join);
    cluster_table_destroy(&node->given);
    free(node);
}

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
    return node->state == NODE_JOINED ? &node->join.table : &node->desks.keeper.table;
}

static void node_set_table(Node *node, const ClusterTable *table, MonoTime now)
{
    node->pending_epoch = 0;
    if (node_desks_set_table(&node->desks, table, now) != RESULT_OK) {
        go_out(node, "no memory for the cluster table");
    }
}

Result node_begin(Node *node, const uint64_t used[LEDGER_UNITS], MonoTime now)
{
    const NodeJoin *join = &node->join;
    node->begun = true;
    if (node_desks_init(&node->desks, &node->link, &node->options, &node->sinks,
                        join->record.dead_below, join->alone, used, now) != RESULT_OK) {
        return RESULT_MEMORY;
    }
    node->desks.members.self = join->record;
    node->state = NODE_MEMBER;
    node->next_look = now;
    node_set_table(node, &join->table, now);
    for (uint32_t i = 0; i < join->table.n_agents; i++) {
        (void)courier_look(node->desks.blocks.courier, (uint16_t)i, now); /* it knows all agents */
    }
    if (node->link.up) {
        node_desks_up(&node->desks, join->record_revision, now);
    }
    return RESULT_OK;
}

void node_leave(Node *node, MonoTime now)
{
    if (node->state != NODE_MEMBER) {
        node->state = node->state == NODE_OUT ? NODE_OUT : NODE_LEFT;
        return;
    }
    lease_desk_close(&node->desks.leases, now);
    node->leave_end = mono_add_ms(now, LEAVE_MS);
    node_desks_stop(&node->desks, now);
}

/* ---- events ---- */

static void node_take_table(Node *node, const TransportEvent *event, MonoTime now)
{
    switch (table_keeper_take(&node->desks.keeper, event, now)) {
    case TABLE_NOTHING:
        break;
    case TABLE_CONFIRMED:
        lease_arbiter_confirm(node->desks.leases.arbiter, node->desks.keeper.key.asked);
        break;
    case TABLE_NEWER:
        if (node->desks.keeper.seen.epoch > node->pending_epoch) {
            node->pending_epoch = node->desks.keeper.seen.epoch;
            node->sinks.new_table(node->sinks.context, &node->desks.keeper.seen);
        }
        break;
    case TABLE_TWO:
        if (!node->told_two) {
            node->told_two = true;
            LOG_ERROR("cluster",
                      "two cluster tables have one epoch, or the table has an unknown format; "
                      "nothing is granted",
                      "epoch=%llu next=\"ragno cluster status\"",
                      (unsigned long long)node->desks.keeper.table.epoch);
        }
        break;
    }
}

static void take_member(Node *node, const TransportEvent *event, MonoTime now)
{
    uint16_t agent = CLUSTER_NOBODY;
    switch (members_take(&node->desks.members, event, now, &agent)) {
    case MEMBER_NOTHING:
        break;
    case MEMBER_STARTED:
        lease_holder_restarted(node->desks.leases.holder, agent, now);
        courier_present(node->desks.blocks.courier, agent, now);
        greet_desk_present(&node->desks.greet, agent, now);
        break;
    case MEMBER_LOST:
        go_out(node, "another process runs as this agent now; this one must not go on");
        break;
    case MEMBER_WRITTEN:
        node->state = NODE_LEFT;
        break;
    }
    greet_desk_seen(&node->desks.greet, agent);
}

static void take_limits(Node *node, const TransportEvent *event, MonoTime now)
{
    NodeSituation situation;
    node_questions_situation(&node->desks, &node->sinks, &situation);
    if (limit_desk_take(&node->desks.limits, event, situation.accounts, now)) {
        for (unsigned unit = 0; unit < LEDGER_UNITS; unit++) {
            node->sinks.granted(node->sinks.context, (LedgerUnit)unit,
                                node->desks.limits.granted[unit]);
        }
    }
}

static void take_end(Node *node, const TransportEvent *event, MonoTime now)
{
    NodeSituation situation;
    node_questions_situation(&node->desks, &node->sinks, &situation);
    EndVerdict verdict = end_desk_take(&node->desks.end, event, &situation.end, now);
    if (verdict != END_NOT_YET) {
        node->sinks.ended(node->sinks.context, verdict);
    }
}

static void node_take_answer(Node *node, const TransportEvent *event, MonoTime now)
{
    switch (node_token_part(event->token)) {
    case NODE_PART_TABLE:
        node_take_table(node, event, now);
        break;
    case NODE_PART_MEMBERS:
        take_member(node, event, now);
        break;
    case NODE_PART_LEASES:
    case NODE_PART_BLOCKS:
        node_desks_answered(&node->desks, event, now);
        break;
    case NODE_PART_LIMITS:
        take_limits(node, event, now);
        break;
    case NODE_PART_END:
        take_end(node, event, now);
        break;
    case NODE_PART_MASS:
        mass_desk_take(&node->desks.mass, event, now);
        break;
    case NODE_PART_ERRANDS:
        errand_desk_take(&node->desks.errands, event, now);
        break;
    case NODE_PART_GREET:
        greet_desk_take(&node->desks.greet, event);
        break;
    case NODE_PART_WATCH:
        if (watch_desk_take(&node->desks.watch, event, now)) {
            node_slept(node, now);
        }
        break;
    case NODE_PART_HELD:
        lease_desk_count(&node->desks.leases, event, node->desks.edicts.edicts.last, now);
        break;
    case NODE_PART_EDICTS:
        edict_desk_take(&node->desks.edicts, event, now);
        break;
    case NODE_PART_JOIN:
    case NODE_PART_QUESTIONS:
        break;
    }
}

static void take_as_member(Node *node, const TransportEvent *event, MonoTime now)
{
    switch (event->kind) {
    case TRANSPORT_MESSAGE:
        if (!node_desks_heard(&node->desks, event, now)) {
            node_questions_take(&node->desks, &node->sinks, event, now);
        }
        break;
    case TRANSPORT_CHANGED:
        node_desks_changed(&node->desks, event->subject, now);
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
        node->link.up_since = now;
        if (node->state == NODE_MEMBER) {
            LOG_INFO("cluster", "connected", "crawl=%s agent=%u", node->link.crawl,
                     (unsigned)node->link.head.from);
            node_desks_up(&node->desks, node->desks.members.own.revision, now);
        } else if (node->state == NODE_JOINING) {
            node_join_up(&node->join, now);
        }
    } else if (event->kind == TRANSPORT_DOWN) {
        node->link.up = false;
        if (node->state == NODE_MEMBER) {
            LOG_WARN("cluster", "no connection; leases run out and the crawl waits", "crawl=%s",
                     node->link.crawl);
            node_desks_down(&node->desks);
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
    if (node->join.step == JOIN_DONE) {
        node->state = NODE_JOINED;
    } else if (node->join.step == JOIN_REFUSED) {
        go_out(node, node->join.why);
    }
}

void node_work(Node *node, MonoTime now)
{
    if (node->state == NODE_JOINING) {
        work_on_join(node, now);
    }
    if (node->state != NODE_MEMBER) {
        return;
    }
    if (!mono_before(now, node->leave_end)) {
        node->state = NODE_LEFT;
        return;
    }
    node_desks_work(&node->desks, now);
    if (!mono_before(now, node->next_look)) {
        NodeSituation situation;
        node_questions_situation(&node->desks, &node->sinks, &situation);
        bool quiet = situation.end.idle || situation.end.spent;
        node->next_look = mono_add_ms(now, quiet ? QUIET_MS : LOOK_MS);
        limit_desk_work(&node->desks.limits, situation.accounts, now);
        end_desk_work(&node->desks.end, &situation.end, now);
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
    MonoTime desks = node_desks_next(&node->desks);
    MonoTime next = mono_earlier(node->next_look, desks);
    return mono_earlier(node->leave_end, next);
}

void node_slept(Node *node, MonoTime now)
{
    if (node->begun) {
        LOG_WARN("cluster", "this machine has slept; leases are asked for anew", "crawl=%s",
                 node->link.crawl);
        lease_arbiter_lapse(node->desks.leases.arbiter, now);
        edict_desk_doubt(&node->desks.edicts, now);
        lease_holder_lose_all(node->desks.leases.holder, now);
    }
}

void node_note_release(NodeNote *note)
{
    free(note->text);
    errand_answer_delete(note->answer);
    if (note->table != NULL) {
        cluster_table_destroy(note->table);
        free(note->table);
    }
    if (note->edicts != NULL) {
        edicts_destroy(note->edicts);
        free(note->edicts);
    }
}

static void node_take_note(Node *node, NodeNote *note, MonoTime now)
{
    NodeDesks *desks = &node->desks;
    switch (note->kind) {
    case NODE_WANT:
        lease_holder_want(desks->leases.holder, &note->address, note->ticket, now);
        break;
    case NODE_RELEASE:
        lease_holder_release(desks->leases.holder, &note->address, note->time, now);
        break;
    case NODE_ASK:
        errand_desk_ask(&desks->errands, (uint32_t)note->ticket, note->text, now);
        break;
    case NODE_FETCHED:
        errand_desk_told(&desks->errands, note->ticket, note->answer, now);
        note->answer = NULL;
        break;
    case NODE_GROWN:
        (void)courier_grown(desks->blocks.courier, note->agent, note->bytes, now); /* it is known */
        break;
    case NODE_SETTLED:
        block_desk_settled(&desks->blocks, &note->settled);
        break;
    case NODE_FORGET:
        block_desk_forget(&desks->blocks, note->ticket);
        break;
    case NODE_RETOLD:
        greet_desk_retold(&desks->greet, note->agent);
        break;
    case NODE_MOVED:
        if (greet_desk_missing(&desks->greet) == CLUSTER_NOBODY) { /* what we have is complete */
            table_keeper_settle(&desks->keeper, note->agent, now);
        }
        break;
    case NODE_TABLE:
        node_set_table(node, note->table, now);
        break;
    case NODE_ORDER:
        edict_desk_give(&desks->edicts, &note->edicts->list[0], note->ticket, now);
        break;
    case NODE_APPLIED:
        edict_desk_applied(&desks->edicts, note->ticket, note->text);
        break;
    }
}

void node_hear(Node *node, NodeNote *note, MonoTime now)
{
    if (node->state == NODE_MEMBER) {
        node_take_note(node, note, now);
    }
    node_note_release(note);
}

void node_stats(const Node *node, NodeStats *stats)
{
    *stats = (NodeStats){.refused = 0};
    if (node->begun) {
        node_desks_stats(&node->desks, stats);
    }
}
