#include "cluster/node/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "cluster/node/block_desk.h"
#include "cluster/node/end_desk.h"
#include "cluster/node/lease_desk.h"
#include "cluster/node/limit_desk.h"
#include "cluster/node/members.h"
#include "cluster/node/node_join.h"
#include "cluster/node/table_keeper.h"

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
    TableKeeper keeper;
    Members members;
    BlockDesk blocks;
    LeaseDesk leases;
    LimitDesk limits;
    EndDesk end;
    bool begun; /* the desks are there */
    bool told_two;
    MonoTime confirmed; /* the last time */
    MonoTime next_look; /* at the situation */
    MonoTime leave_end;
    uint64_t pending_epoch; /* of the table that is being committed */
    char why[600];
};

/* ---- birth ----------------------------------------------------------------------------------- */

static void set_text(char *text, size_t size, const char *value)
{
    (void)snprintf(text, size, "%s", value == NULL ? "" : value);
}

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
    table_keeper_init(&node->keeper, &node->link, options->lease.confirm_ms);
    members_init(&node->members, &node->link);
    set_text(record.machine, sizeof record.machine, options->machine);
    set_text(record.name, sizeof record.name, options->name);
    set_text(record.version, sizeof record.version, options->version);
    node_join_init(&node->join, &node->link, &options->identity, &node->given, &record,
                   options->settings, options->luck);
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
        block_desk_destroy(&node->blocks);
        lease_desk_destroy(&node->leases);
        limit_desk_destroy(&node->limits);
        end_desk_destroy(&node->end);
    }
    node_join_destroy(&node->join);
    members_destroy(&node->members);
    table_keeper_destroy(&node->keeper);
    cluster_table_destroy(&node->given);
    free(node);
}

static Result read_outbox(void *context, uint16_t to, uint64_t from, size_t most, Buffer *blocks,
                          OutboxRange *range)
{
    const Node *node = context;
    return node->sinks.read_outbox(node->sinks.context, to, from, most, blocks, range);
}

static void answered(void *context, uint16_t to, const OutboxRange *range)
{
    const Node *node = context;
    node->sinks.answered(node->sinks.context, to, range);
}

static void block(void *context, InboxItem *item)
{
    const Node *node = context;
    node->sinks.block(node->sinks.context, item);
}

static void lease_news(void *context, const LeaseNews *news)
{
    const Node *node = context;
    node->sinks.lease_news(node->sinks.context, news);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void go_out(Node *node, const char *why)
{
    if (node->state != NODE_OUT) {
        node->state = NODE_OUT;
        set_text(node->why, sizeof node->why, why);
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

uint64_t node_session(const Node *node)
{
    return node->link.head.session;
}

static Result make_desks(Node *node, const uint64_t used[LEDGER_UNITS], MonoTime now)
{
    const NodeOptions *options = &node->options;
    CourierOptions courier = {.message_bytes = options->message_bytes,
                              .age_ms = options->message_age_ms,
                              .window_bytes = options->window_bytes,
                              .answer_ms = options->answer_ms,
                              .again_ms = 1000};
    BlockDeskSinks sinks = {
        .context = node, .read = read_outbox, .answered = answered, .block = block};
    LeaseNewsSink news = {.context = node, .take = lease_news};
    node->begun = true;
    Result rc = block_desk_init(&node->blocks, &node->link, &courier, &sinks);
    limit_desk_init(&node->limits, &node->link, options->limits, used);
    end_desk_init(&node->end, &node->link);
    Result leases =
        lease_desk_init(&node->leases, &node->link, &options->lease, options->lease_addresses,
                        node->join.record.dead_below, &news, now);
    return rc == RESULT_OK ? leases : rc;
}

static void come_up(Node *node, MonoTime now)
{
    static const char *const names[] = {"in", "lease", "hint", "ask"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)node_link_listen(&node->link, names[i]);
    }
    table_keeper_up(&node->keeper, now);
    members_look(&node->members, now);
    courier_lost(node->blocks.courier, now);
    limit_desk_up(&node->limits, node->keeper.settled, now);
    end_desk_up(&node->end, now);
}

Result node_begin(Node *node, const uint64_t used[LEDGER_UNITS], MonoTime now)
{
    Result rc = make_desks(node, used, now);
    node->members.self = node->join.record;
    if (rc != RESULT_OK) {
        return rc;
    }
    node->state = NODE_MEMBER;
    node->next_look = now;
    node_table_committed(node, &node->join.table, now);
    if (node->link.up) {
        come_up(node, now);
    }
    return RESULT_OK;
}

void node_table_committed(Node *node, const ClusterTable *table, MonoTime now)
{
    node->pending_epoch = 0;
    Result rc = table_keeper_set(&node->keeper, table);
    if (rc == RESULT_OK) {
        rc = members_resize(&node->members, table->n_agents);
    }
    for (uint32_t i = 0; rc == RESULT_OK && i < table->n_agents; i++) {
        rc = courier_grown(node->blocks.courier, (uint16_t)i, 0, now); /* it knows them all */
    }
    if (rc == RESULT_OK) {
        rc = lease_desk_set(&node->leases, &node->keeper.table, now);
    }
    if (rc == RESULT_OK) {
        rc = end_desk_set(&node->end, &node->keeper.table);
    }
    if (rc != RESULT_OK) {
        go_out(node, "no memory for the cluster table");
        return;
    }
    node->link.head.epoch = table->epoch;
    node->limits.agents = table->n_agents;
    block_desk_set_agents(&node->blocks, table->n_agents);
    table_keeper_changed(&node->keeper, now); /* it is confirmed */
}

void node_leave(Node *node, MonoTime now)
{
    if (node->state != NODE_MEMBER) {
        node->state = node->state == NODE_OUT ? NODE_OUT : NODE_LEFT;
        return;
    }
    lease_holder_give_back(node->leases.holder, now);
    lease_desk_work(&node->leases, now);
    node->members.self.state = MEMBER_STOPPED;
    node->members.self.dead_below = node->link.head.session + 1;
    node->leave_end = mono_add_ms(now, LEAVE_MS);
    (void)members_put_self(&node->members, TRANSPORT_ANY);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void go_up(Node *node, MonoTime now)
{
    node->link.up = true;
    node->link.up_since = now;
    if (node->state == NODE_MEMBER) {
        LOG_INFO("cluster", "connected", "crawl=%s agent=%u", node->link.crawl,
                 (unsigned)node->link.head.from);
        come_up(node, now);
    } else if (node->state == NODE_JOINING) {
        node_join_up(&node->join, now);
    }
}

static void go_down(Node *node)
{
    node->link.up = false;
    if (node->state == NODE_MEMBER) {
        LOG_WARN("cluster", "no connection; leases run out and the crawl waits", "crawl=%s",
                 node->link.crawl);
        table_keeper_down(&node->keeper);
        limit_desk_down(&node->limits);
    }
}

static void situation_of(Node *node, NodeSituation *situation)
{
    *situation = (NodeSituation){.end = {.idle = false}};
    node->sinks.situation(node->sinks.context, situation);
    for (unsigned unit = 0; unit < LEDGER_UNITS; unit++) {
        situation->accounts[unit].granted = node->limits.granted[unit];
    }
    situation->end.spent = node->limits.spent;
    situation->end.holds = node->limits.holds;
}

static void take_question(Node *node, const TransportEvent *event)
{
    WireReader reader;
    NodeHead head;
    NodeSituation situation;
    if (event->reply_to == NULL || !node_link_open(&node->link, event, &reader, &head)) {
        return;
    }
    uint8_t question = wire_get_8(&reader);
    if (question == NODE_ASK_END) {
        situation_of(node, &situation);
        end_desk_asked(&node->end, &reader, event->reply_to, &situation.end);
    } else if (question == NODE_ASK_STATUS) {
        Buffer bytes;
        buffer_init(&bytes, BUFFER_NO_LIMIT);
        WireWriter writer = node_link_begin(&node->link, &bytes);
        if (writer.rc == RESULT_OK) {
            (void)node_link_reply(&node->link, event->reply_to, &bytes);
        }
        buffer_destroy(&bytes);
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

static void take_message(Node *node, const TransportEvent *event, MonoTime now)
{
    if (is_about(event->subject, "in")) {
        block_desk_arrived(&node->blocks, event, now);
    } else if (is_about(event->subject, "lease")) {
        lease_desk_asked(&node->leases, event, now);
    } else if (is_about(event->subject, "hint")) {
        lease_desk_hinted(&node->leases, event, now);
    } else if (is_about(event->subject, "ask")) {
        take_question(node, event);
    }
}

static void take_changed(Node *node, const char *key, MonoTime now)
{
    if (strcmp(key, TABLE_KEY) == 0) {
        table_keeper_changed(&node->keeper, now);
    } else if (strncmp(key, MEMBER_KEY, sizeof MEMBER_KEY - 1) == 0) {
        members_changed(&node->members, key);
    } else if (strcmp(key, LEDGER_KEY) == 0) {
        limit_desk_changed(&node->limits, now);
    } else if (strcmp(key, END_KEY) == 0) {
        end_desk_changed(&node->end, now);
    }
}

static void take_table(Node *node, const TransportEvent *event, MonoTime now)
{
    switch (table_keeper_take(&node->keeper, event, now)) {
    case TABLE_NOTHING:
        break;
    case TABLE_CONFIRMED:
        node->confirmed = now;
        lease_arbiter_confirm(node->leases.arbiter, node->keeper.asked);
        break;
    case TABLE_NEWER:
        if (node->keeper.seen.epoch > node->pending_epoch) {
            node->pending_epoch = node->keeper.seen.epoch;
            node->sinks.new_table(node->sinks.context, &node->keeper.seen);
        }
        break;
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
    uint16_t agent = 0;
    if (event->kind == TRANSPORT_STORED && node->leave_end.ns != MONO_NEVER.ns) {
        node->state = NODE_LEFT;
        return;
    }
    switch (members_take(&node->members, event, now, &agent)) {
    case MEMBER_NOTHING:
        break;
    case MEMBER_STARTED:
        lease_holder_restarted(node->leases.holder, agent, now);
        courier_present(node->blocks.courier, agent, now);
        break;
    case MEMBER_LOST:
        go_out(node, "another process runs as this agent now; this one must not go on");
        break;
    }
}

static void take_limits(Node *node, const TransportEvent *event, MonoTime now)
{
    NodeSituation situation;
    situation_of(node, &situation);
    if (limit_desk_take(&node->limits, event, situation.accounts, now)) {
        for (unsigned unit = 0; unit < LEDGER_UNITS; unit++) {
            node->sinks.granted(node->sinks.context, (LedgerUnit)unit, node->limits.granted[unit]);
        }
    }
}

static void take_end(Node *node, const TransportEvent *event, MonoTime now)
{
    NodeSituation situation;
    situation_of(node, &situation);
    EndVerdict verdict = end_desk_take(&node->end, event, &situation.end, now);
    if (verdict != END_NOT_YET) {
        node->sinks.ended(node->sinks.context, verdict);
    }
}

static void take_answer(Node *node, const TransportEvent *event, MonoTime now)
{
    bool nobody = event->kind == TRANSPORT_NOBODY;
    uint64_t number = node_token_number(event->token);
    switch (node_token_part(event->token)) {
    case NODE_PART_TABLE:
        take_table(node, event, now);
        break;
    case NODE_PART_MEMBERS:
        take_member(node, event, now);
        break;
    case NODE_PART_LEASES:
        if (nobody) {
            lease_desk_nobody(&node->leases, number, now);
        } else {
            lease_desk_answered(&node->leases, event, now);
        }
        break;
    case NODE_PART_BLOCKS:
        if (nobody) {
            block_desk_nobody(&node->blocks, number, now);
        } else {
            block_desk_answered(&node->blocks, event, now);
        }
        break;
    case NODE_PART_LIMITS:
        take_limits(node, event, now);
        break;
    case NODE_PART_END:
        take_end(node, event, now);
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
        take_message(node, event, now);
        break;
    case TRANSPORT_CHANGED:
        take_changed(node, event->subject, now);
        break;
    case TRANSPORT_ANSWER:
    case TRANSPORT_NOBODY:
    case TRANSPORT_VALUE:
    case TRANSPORT_STORED:
    case TRANSPORT_CONFLICT:
    case TRANSPORT_FAILED:
        take_answer(node, event, now);
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
        go_up(node, now);
    } else if (event->kind == TRANSPORT_DOWN) {
        go_down(node);
    } else if (event->kind == TRANSPORT_CLOSED) {
        go_out(node, event->text == NULL ? "the connection was closed for good" : event->text);
    } else if (node->state == NODE_MEMBER) {
        take_as_member(node, event, now);
    } else if (node->state == NODE_JOINING) {
        node_join_take(&node->join, event, now);
    }
    transport_event_delete(event);
}

/* ---- work ------------------------------------------------------------------------------------ */

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
        if (node->sinks.save_identity(node->sinks.context, &node->join.identity) != RESULT_OK) {
            go_out(node, "the directory cannot be written");
            return;
        }
        node->state = NODE_JOINED;
    } else if (node->join.step == JOIN_REFUSED) {
        go_out(node, node->join.why);
    }
}

static void look_at_situation(Node *node, MonoTime now)
{
    NodeSituation situation;
    situation_of(node, &situation);
    bool quiet = situation.end.idle || situation.end.spent;
    node->next_look = mono_add_ms(now, quiet ? QUIET_MS : LOOK_MS);
    limit_desk_work(&node->limits, situation.accounts, now);
    end_desk_work(&node->end, &situation.end, now);
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
    table_keeper_work(&node->keeper, now);
    members_work(&node->members, now);
    if (node->link.up) {
        courier_work(node->blocks.courier, now);
    }
    lease_desk_work(&node->leases, now);
    if (!mono_before(now, node->next_look)) {
        look_at_situation(node, now);
    }
}

static MonoTime sooner(MonoTime a, MonoTime b)
{
    return mono_before(a, b) ? a : b;
}

MonoTime node_next(Node *node)
{
    if (node->state == NODE_JOINING) {
        return node_join_next(&node->join);
    }
    if (node->state != NODE_MEMBER) {
        return MONO_NEVER;
    }
    MonoTime next = sooner(node->next_look, node->leave_end);
    next = sooner(next, table_keeper_next(&node->keeper));
    next = sooner(next, members_next(&node->members));
    if (node->link.up) {
        next = sooner(next, courier_next(node->blocks.courier));
    }
    return sooner(next, lease_desk_next(&node->leases));
}

/* ---- of others ------------------------------------------------------------------------------- */

void node_want(Node *node, const IpAddress *address, uint64_t ticket, MonoTime now)
{
    lease_holder_want(node->leases.holder, address, ticket, now);
}

void node_release(Node *node, const IpAddress *address, MonoTime rest_end, MonoTime now)
{
    lease_holder_release(node->leases.holder, address, rest_end, now);
}

void node_slept(Node *node, MonoTime now)
{
    if (node->begun) {
        LOG_WARN("cluster", "this machine has slept; leases are asked for anew", "crawl=%s",
                 node->link.crawl);
        lease_arbiter_lapse(node->leases.arbiter, now);
        lease_holder_lose_all(node->leases.holder, now);
    }
}

void node_grown(Node *node, uint16_t to, size_t bytes, MonoTime now)
{
    (void)courier_grown(node->blocks.courier, to, bytes, now); /* it knows all agents */
}

void node_settled(Node *node, uint64_t ticket, BlockFault fault, uint16_t from, MonoTime now)
{
    (void)now;
    block_desk_settled(&node->blocks, ticket, fault, from);
}

void node_stats(const Node *node, NodeStats *stats)
{
    *stats = (NodeStats){.up = node->link.up, .epoch = node->link.head.epoch};
    if (!node->begun) {
        return;
    }
    LeaseArbiterStats arbiter;
    LeaseHolderStats holder;
    CourierStats courier;
    lease_arbiter_stats(node->leases.arbiter, &arbiter);
    lease_holder_stats(node->leases.holder, &holder);
    courier_stats(node->blocks.courier, &courier);
    stats->confirmed = node->keeper.asked.ns > 0;
    stats->held = holder.held;
    stats->wanted = holder.wanted;
    stats->arbitrated = arbiter.addresses;
    stats->lease_bytes = arbiter.bytes + holder.bytes;
    stats->lease_messages = holder.messages;
    stats->granted = arbiter.granted;
    stats->expired = arbiter.expired;
    stats->in_flight = courier.in_flight;
    stats->agents_away = courier.agents_away;
    stats->sent = courier.sent;
    stats->repeated = courier.repeated;
    stats->bytes_sent = courier.bytes;
    stats->refused = node->blocks.refused_ours;
    for (size_t i = 0; i < BLOCK_FAULTS; i++) {
        stats->refused += node->blocks.refused[i];
    }
}
