#include "agent_sinks.h"

#include <stdio.h>
#include <stdlib.h>

#include "cluster/message/membership.h"

static void *checked(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

bool agent_is_member(const Agent *agent)
{
    return node_state(agent->node) == NODE_MEMBER;
}

void agent_touch(Agent *agent)
{
    MonoTime soon = mono_later(agent_now(agent), mono_add_ms(agent->node_worked, AGENT_GATHER_MS));
    agent->node_due = mono_before(soon, agent->node_due) ? soon : agent->node_due;
}

static void hear(Agent *agent, NodeNote *note)
{
    node_hear(agent->node, note, agent_now(agent));
    agent_touch(agent);
}

/* ---- what the crawl has for the node
 * --------------------------------------------------------- */

static void on_want(void *context, const IpAddress *address, uint64_t ticket)
{
    Agent *agent = context;
    if (agent_is_member(agent)) {
        hear(agent, &(NodeNote){.kind = NODE_WANT, .address = *address, .ticket = ticket});
    }
}

static void on_release(void *context, const IpAddress *address, MonoTime rest_end)
{
    Agent *agent = context;
    if (agent_is_member(agent)) {
        hear(agent, &(NodeNote){.kind = NODE_RELEASE, .address = *address, .time = rest_end});
    }
}

static void on_left(void *context, uint32_t host)
{
    Agent *agent = context;
    (void)moves_chore_left(&agent->moves, host);
}

static void on_note(void *context, NodeNote *note)
{
    Agent *agent = context;
    if (agent_is_member(agent)) {
        hear(agent, note);
    } else {
        node_note_release(note);
    }
}

static void on_arrived(void *context)
{
    Agent *agent = context;
    agent->arrived++;
}

static void on_settled(void *context, InboxItem *item)
{
    NodeNote note = {.kind = NODE_SETTLED,
                     .text = item->reply_to,
                     .settled = {item->envelope.from, item->fault, item->taken}};
    item->reply_to = NULL;
    on_note(context, &note);
}

/* ---- what the node has for the crawl
 * --------------------------------------------------------- */

static Result save_identity(void *context, const NodeIdentity *identity)
{
    Agent *agent = context;
    const IngestStore *store = &agent->crawl.store;
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(store->db, false, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = node_place_write_identity(txn, store->crawl, identity);
    return page_db_txn_commit(store->db, txn) == 0 ? rc : RESULT_IO;
}

static void sink_out(void *context, const char *why)
{
    Agent *agent = context;
    agent->out = true;
    agent->rules->out(agent->rules->context, agent->number, why);
}

static void new_table(void *context, const ClusterTable *table)
{
    Agent *agent = context;
    (void)table_chore_tell(&agent->table, table);
}

static void lease_notice(void *context, const LeaseNotice *notice)
{
    Agent *agent = context;
    agent->leases =
        checked(reallocarray(agent->leases, agent->n_leases + 1, sizeof *agent->leases));
    agent->leases[agent->n_leases++] = *notice;
}

static void sink_block(void *context, InboxItem *item)
{
    Agent *agent = context;
    inbox_push(&agent->inbox, item);
}

static Result read_outbox(void *context, uint16_t to, uint64_t from, size_t most, Buffer *blocks,
                          OutboxRange *range)
{
    const Agent *agent = context;
    return ingest_cluster_read_outbox(&agent->cluster, agent->crawl.store.db, to, from, most,
                                      blocks, range);
}

static void sink_answered(void *context, uint16_t to, const OutboxRange *range)
{
    Agent *agent = context;
    AckRange ack = acks_chore_range(to, range);
    (void)acks_chore_tell(&agent->acks, &ack);
}

static Result sink_mark(void *context, uint16_t number, PeerMark *mark)
{
    const Agent *agent = context;
    const IngestStore *store = &agent->crawl.store;
    return ingest_cluster_mark(store->db, store->crawl, number, mark);
}

static Result sink_retell(void *context, uint16_t number, uint64_t heard)
{
    Agent *agent = context;
    return moves_chore_retell(&agent->moves, number, heard);
}

/* As cluster_part.c and cluster_state.c have it. */
static void sink_situation(void *context, NodeSituation *s)
{
    Agent *agent = context;
    const Crawl *crawl = &agent->crawl;
    size_t acquired = crawl->workbench.n_acquired;
    size_t most = crawl->options.connections;
    s->end.idle = inbox_is_empty(&agent->inbox) && crawl_is_quiet(crawl);
    s->end.changes = crawl->cost.commits + agent->arrived;
    s->accounts[LEDGER_PAGES] = (LedgerAccount){.used = acquired + crawl->fetched,
                                                .needed = most > acquired ? most - acquired : 1,
                                                .busy = acquired > 0,
                                                .idle = s->end.idle};
}

static void sink_granted(void *context, LedgerUnit unit, uint64_t granted)
{
    Agent *agent = context;
    if (unit == LEDGER_PAGES && agent->rules->limit > 0) {
        agent->crawl.may_fetch = granted;
    }
}

static void sink_ended(void *context, EndVerdict verdict)
{
    Agent *agent = context;
    agent->verdict = verdict;
}

static void sink_edicts(void *context, const Edicts *edicts)
{
    Agent *agent = context;
    if (edicts != &agent->edicts && edicts_copy(&agent->edicts, edicts) != RESULT_OK) {
        abort();
    }
    agent->edicts_are_new = true;
    agent->stale = true;
}

static void sink_told_order(void *context, uint64_t ticket, Result rc, uint64_t by_all,
                            const char *text)
{
    Agent *agent = context;
    (void)by_all;
    agent->told = ticket;
    agent->told_rc = rc;
    (void)snprintf(agent->told_text, sizeof agent->told_text, "%s", text);
}

static void sink_status(void *context, Buffer *text)
{
    (void)context;
    (void)text;
}

NodeSinks agent_node_sinks(Agent *agent)
{
    return (NodeSinks){.context = agent,
                       .save_identity = save_identity,
                       .out = sink_out,
                       .new_table = new_table,
                       .leases = {.context = agent, .take = lease_notice},
                       .blocks = {.context = agent,
                                  .read = read_outbox,
                                  .answered = sink_answered,
                                  .block = sink_block},
                       .situation = sink_situation,
                       .granted = sink_granted,
                       .ended = sink_ended,
                       .status = sink_status,
                       .edicts = {.context = agent, .apply = sink_edicts, .told = sink_told_order},
                       .greet = {.context = agent, .mark = sink_mark, .retell = sink_retell}};
}

InboxSinks agent_inbox_sinks(Agent *agent)
{
    return (InboxSinks){.context = agent, .arrived = on_arrived, .settled = on_settled};
}

void agent_set_sinks(Agent *agent)
{
    agent->cluster.context = agent;
    agent->cluster.note = on_note;
    agent->share =
        (CrawlShare){.cluster = &agent->cluster,
                     .chores = {inbox_chore(agent->inbox_chore), acks_chore(&agent->acks),
                                table_chore(&agent->table), moves_chore(&agent->moves)},
                     .n_chores = 4,
                     .dice = agent->dice,
                     .leases = {.context = agent, .want = on_want, .release = on_release},
                     .context = agent,
                     .left = on_left};
}
