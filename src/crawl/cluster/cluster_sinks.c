#include "crawl/cluster/cluster_sinks.h"

#include <stdlib.h>
#include <string.h>

#include "crawl/cluster/cluster_edicts.h"

static void cluster_sinks_run(void *context, WireReader *question, WireWriter *answer)
{
    ClusterPart *part = context;
    cluster_console_asked(&part->console, question, answer);
}

static Result save_identity(void *context, const NodeIdentity *identity)
{
    const ClusterPart *part = context;
    const IngestStore *tables = &part->store->tables;
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(tables->db, false, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = node_place_write_identity(txn, tables->crawl, identity);
    return page_db_txn_end(tables->db, txn, rc);
}

static void out(void *context, const char *why)
{
    cluster_state_set(context, NODE_OUT, why);
}

/* Without memory it is heard of again, at the next look. */
static void new_table(void *context, const ClusterTable *table)
{
    ClusterPart *part = context;
    if (table_chore_tell(&part->table, table) == RESULT_OK) {
        ingest_wake(part->bonds.ingest);
    }
}

static void cluster_sinks_lease(void *context, const LeaseNotice *notice)
{
    const ClusterPart *part = context;
    frontier_lease(part->bonds.frontier, notice);
}

static void block(void *context, InboxItem *item)
{
    ClusterPart *part = context;
    atomic_fetch_add(&part->arrived, 1);
    inbox_push(&part->inbox, item);
}

static Result cluster_sinks_read_outbox(void *context, uint16_t to, uint64_t from, size_t most,
                                        Buffer *blocks, OutboxRange *range)
{
    const ClusterPart *part = context;
    return ingest_cluster_read_outbox(&part->ingest, part->store->tables.db, to, from, most, blocks,
                                      range);
}

static void cluster_sinks_answered(void *context, uint16_t to, const OutboxRange *range)
{
    ClusterPart *part = context;
    AckRange ack = acks_chore_range(to, range);
    if (acks_chore_tell(&part->acks, &ack)) {
        ingest_wake(part->bonds.ingest);
    }
}

static Result cluster_sinks_mark(void *context, uint16_t agent, PeerMark *mark)
{
    const ClusterPart *part = context;
    const IngestStore *tables = &part->store->tables;
    return ingest_cluster_mark(tables->db, tables->crawl, agent, mark);
}

static Result cluster_sinks_retell(void *context, uint16_t agent, uint64_t heard)
{
    ClusterPart *part = context;
    Result rc = moves_chore_retell(&part->moves, agent, heard);
    ingest_wake(part->bonds.ingest);
    return rc;
}

static void situation(void *context, NodeSituation *s)
{
    ClusterPart *part = context;
    s->end.idle = cluster_state_is_idle(part);
    s->end.tail = s->end.idle && atomic_load(&part->tail);
    s->end.changes = stats_get(&part->bonds.stats->commits) + atomic_load(&part->arrived);
    for (unsigned unit = 0; unit < LEDGER_UNITS; unit++) {
        part->sinks.account(part->sinks.context, (LedgerUnit)unit, &s->accounts[unit]);
        s->accounts[unit].idle = s->end.idle;
    }
}

static void cluster_sinks_granted(void *context, LedgerUnit unit, uint64_t amount)
{
    ClusterPart *part = context;
    if (unit == LEDGER_RATE) {
        atomic_store(&part->rate, amount);
    }
    part->sinks.granted(part->sinks.context, unit, amount);
}

static void ended(void *context, EndVerdict verdict)
{
    ClusterPart *part = context;
    atomic_store(&part->verdict, (int)verdict);
    part->sinks.news(part->sinks.context);
}

static void cluster_sinks_tell_status(void *context, Buffer *text)
{
    ClusterPart *part = context;
    const ClusterBonds *bonds = &part->bonds;
    FrontierStats frontier;
    MovesFigures moves;
    frontier_stats(bonds->frontier, &frontier);
    moves_chore_figures(&part->moves, &moves);
    (void)buffer_printf(
        text,
        "pages=%llu bytes=%llu urls=%llu queued=%llu hosts=%llu active=%zu front=%zu "
        "outbox=%llu inbox=%zu moves=%s ",
        (unsigned long long)stats_get(&bonds->stats->pages),
        (unsigned long long)stats_get(&bonds->stats->bytes),
        (unsigned long long)stats_get(&bonds->stats->urls_seen),
        (unsigned long long)stats_get(&bonds->stats->urls_queued),
        (unsigned long long)stats_get(&bonds->stats->hosts), frontier.acquired, frontier.front,
        (unsigned long long)ingest_cluster_outbox_blocks(&part->ingest),
        inbox_count(&part->inbox, NULL), moves_step_name(moves.step));
    if (moves.step == MOVES_WAIT) {
        (void)buffer_printf(text, "moves_waits=%llu ", (unsigned long long)moves.waits);
    } else if (moves.step == MOVES_PAGES) {
        (void)buffer_printf(text, "moves_pages=%llu/%llu ", (unsigned long long)moves.done,
                            (unsigned long long)moves.all);
    }
    NodeStats node;
    node_stats(part->node, &node);
    if (node.leases.away > 0) {
        (void)buffer_printf(text, "leases_away=%zu waits_for=%u ", node.leases.away,
                            (unsigned)node.leases.waits_for);
    }
    if (part->config->fetch_rate > 0) {
        (void)buffer_printf(text, "rate=%llu ", (unsigned long long)atomic_load(&part->rate));
    }
    (void)buffer_printf(text, "idle=%s limit=%s name=%s",
                        cluster_state_is_idle(part) ? "yes" : "no", atomic_load(&part->limit),
                        part->names.name);
}

static uint64_t cluster_sinks_count_pages(void *context)
{
    const ClusterPart *part = context;
    PageDB *db = part->store->tables.db;
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(db, true, &txn) != 0) {
        return 0;
    }
    uint64_t n = page_db_n_pages(db, txn);
    page_db_txn_abort(db, txn);
    return n;
}

static void cluster_sinks_told(void *context, uint32_t host, ErrandOutcome outcome,
                               ErrandAnswer *answer)
{
    const ClusterPart *part = context;
    frontier_told(part->bonds.frontier, host, outcome, answer);
}

/* An asker that stands for another agent's host: its name is that of the host that is asked. */
static bool fetch(void *context, uint64_t ticket, const char *text)
{
    const ClusterPart *part = context;
    VisitState *asker = NULL;
    Url url = {.href = NULL};
    Buffer origin = {.limit = BUFFER_NO_LIMIT};
    Result rc = url_parse(&url, NULL, text, strlen(text));
    if (rc == RESULT_OK) {
        rc = url_origin(&url, &origin);
    }
    if (rc == RESULT_OK) {
        rc = visit_state_new(&asker, FETCH_NO_HOST, origin.data, origin.length);
    }
    if (rc == RESULT_OK) {
        asker->errands.ticket = ticket;
        asker->robots.elsewhere = true;
        asker->robots.target = strndup(url.href, url.length);
        rc = asker->robots.target == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    url_destroy(&url);
    buffer_destroy(&origin);
    if (rc != RESULT_OK) {
        visit_state_delete(asker);
        return false;
    }
    frontier_asked(part->bonds.frontier, asker);
    return true;
}

MassDeskOptions cluster_sinks_mass(ClusterPart *part)
{
    bool by_rank = part->config->score_scorer == SCORER_PAGERANK;
    return (MassDeskOptions){.directory = by_rank ? part->store->directory : NULL,
                             .context = part,
                             .pages = cluster_sinks_count_pages};
}

NodeSinks cluster_sinks(ClusterPart *part)
{
    return (NodeSinks){
        .context = part,
        .save_identity = save_identity,
        .out = out,
        .new_table = new_table,
        .leases = {.context = part, .take = cluster_sinks_lease},
        .blocks = {.context = part,
                   .read = cluster_sinks_read_outbox,
                   .answered = cluster_sinks_answered,
                   .block = block},
        .situation = situation,
        .granted = cluster_sinks_granted,
        .ended = ended,
        .status = cluster_sinks_tell_status,
        .run = cluster_sinks_run,
        .greet = {.context = part, .mark = cluster_sinks_mark, .retell = cluster_sinks_retell},
        .edicts = cluster_edicts_sinks(part),
        .errands = {.context = part, .told = cluster_sinks_told, .fetch = fetch}};
}
