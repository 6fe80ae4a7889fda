#include "crawl/cluster/cluster_part.h"

#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "base/core/hash.h"
#include "cluster/message/node_place.h"
#include "crawl/cluster/cluster_settings.h"
#include "crawl/cluster/cluster_sinks.h"
#include "crawl/cluster/cluster_thread.h"

#define SEED_OF_SEEDS UINT64_C(0x7261676e6f)

/* ---- asked by others ------------------------------------------------------------------------ */

ClusterState cluster_part_state(ClusterPart *part)
{
    return cluster_state_get(part);
}

void cluster_part_text(ClusterPart *part, Buffer *text)
{
    mutex_lock(&part->mutex);
    (void)buffer_append_string(text, part->text);
    mutex_unlock(&part->mutex);
}

EndVerdict cluster_part_verdict(const ClusterPart *part)
{
    return (EndVerdict)atomic_load(&part->verdict);
}

/* ---- mail ------------------------------------------------------------------------------------ */

static void cluster_part_take_event(void *context, TransportEvent *event)
{
    ClusterPart *part = context;
    Mail letter = {.kind = MAIL_EVENT, .event = event};
    cluster_mail_post(&part->mail, &letter);
}

void cluster_part_want(ClusterPart *part, const IpAddress *address, uint64_t ticket)
{
    Mail letter = {.kind = MAIL_WANT, .address = *address, .ticket = ticket};
    cluster_mail_post(&part->mail, &letter);
}

void cluster_part_release(ClusterPart *part, const IpAddress *address, MonoTime rest_end)
{
    Mail letter = {.kind = MAIL_RELEASE, .address = *address, .time = rest_end};
    cluster_mail_post(&part->mail, &letter);
}

/* Without memory for its URL it is as if the owner were away. */
void cluster_part_ask(ClusterPart *part, uint32_t host, const char *url)
{
    Mail letter = {.kind = MAIL_ASK, .ticket = host, .url = strdup(url)};
    if (letter.url == NULL) {
        frontier_told(part->bonds.frontier, host, ERRAND_AWAY, NULL);
        return;
    }
    cluster_mail_post(&part->mail, &letter);
}

void cluster_part_tell(ClusterPart *part, uint64_t ticket, ErrandAnswer *answer)
{
    Mail letter = {.kind = MAIL_FETCHED, .ticket = ticket, .answer = answer};
    cluster_mail_post(&part->mail, &letter);
}

static void on_grown(void *context, uint16_t to, size_t bytes)
{
    ClusterPart *part = context;
    Mail letter = {.kind = MAIL_GROWN, .agent = to, .bytes = bytes};
    cluster_mail_post(&part->mail, &letter);
}

static void on_arrived(void *context)
{
    const ClusterPart *part = context;
    ingest_wake(part->bonds.ingest);
}

static void on_settled(void *context, const InboxItem *item)
{
    ClusterPart *part = context;
    Mail letter = {.kind = MAIL_SETTLED,
                   .ticket = item->ticket,
                   .fault = item->fault,
                   .agent = item->envelope.from};
    cluster_mail_post(&part->mail, &letter);
}

static void on_replaced(void *context, uint64_t ticket)
{
    ClusterPart *part = context;
    Mail letter = {.kind = MAIL_FORGET, .ticket = ticket};
    cluster_mail_post(&part->mail, &letter);
}

static void on_table(void *context, const ClusterTable *table)
{
    ClusterPart *part = context;
    ClusterTable *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        return;
    }
    cluster_table_init(copy);
    if (part->mass != NULL) {
        (void)mass_set_table(part->mass, table); /* without memory the older one decides */
    }
    Mail letter = {.kind = MAIL_TABLE, .table = copy};
    if (cluster_table_copy(copy, table) == RESULT_OK) {
        cluster_mail_post(&part->mail, &letter);
    } else {
        free(copy);
    }
}

static void on_settle(void *context, uint16_t to)
{
    ClusterPart *part = context;
    Mail letter = {.kind = MAIL_MOVED, .agent = to};
    cluster_mail_post(&part->mail, &letter);
}

void cluster_part_left(ClusterPart *part, uint32_t host)
{
    if (moves_chore_left(&part->moves, host)) {
        ingest_wake(part->bonds.ingest);
    }
}

/* ---- birth and death ------------------------------------------------------------------------- */

static Result read_place(ClusterPart *part, NodeIdentity *identity, ClusterTable *table)
{
    const IngestStore *tables = &part->store->tables;
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(tables->db, true, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = node_place_read(txn, tables->crawl, identity, table);
    bool alone = !identity->known && page_db_n_pages(tables->db, txn) > 0;
    page_db_txn_abort(tables->db, txn);
    return rc == RESULT_OK && alone ? RESULT_EXISTS : rc;
}

static Result make_node(ClusterPart *part, Buffer *error)
{
    NodeOptions options = cluster_node_options(part->config, &part->names);
    NodeSinks sinks = cluster_sinks(part);
    ClusterTable table;
    cluster_table_init(&table);
    Result rc = cluster_settings_write(part->config, &part->settings);
    if (rc == RESULT_OK) {
        rc = read_place(part, &options.identity, &table);
    }
    if (rc == RESULT_EXISTS) {
        (void)buffer_printf(error,
                            "%s holds a crawl that was begun by one agent alone; it cannot become "
                            "an agent of a cluster",
                            part->store->directory);
        rc = RESULT_INVALID;
    }
    if (!options.identity.known && options.identity.next_token == 0 &&
        *part->config->cluster_agent != '\0') {
        options.identity.self = (uint16_t)strtoul(part->config->cluster_agent, NULL, 10);
    }
    options.table = &table;
    options.mass = cluster_sinks_mass(part);
    options.settings = buffer_string(&part->settings);
    if (rc == RESULT_OK) {
        rc = node_new(&part->node, &options, transport_nats(part->nats), &sinks);
    }
    cluster_table_destroy(&table);
    return rc;
}

Result cluster_part_new(ClusterPart **result, const Config *config, CrawlStore *store,
                        const ClusterSinks *sinks, Buffer *error)
{
    ClusterPart *part = calloc(1, sizeof *part);
    if (part == NULL) {
        return RESULT_MEMORY;
    }
    part->config = config;
    atomic_store(&part->limit, "none");
    part->store = store;
    part->sinks = *sinks;
    buffer_init(&part->settings, BUFFER_NO_LIMIT);
    cluster_mail_init(&part->mail);
    mutex_init(&part->mutex, RANK_TABLE);
    cluster_names_of(store->directory, &part->names);
    TransportNatsOptions nats = cluster_nats_options(config, part->names.name);
    TransportSink sink = {.context = part, .take = cluster_part_take_event};
    *result = part;
    Result rc = transport_nats_open(&part->nats, &nats, &sink, error);
    if (rc == RESULT_OK) {
        rc = make_node(part, error);
    }
    return rc == RESULT_OK ? thread_start(&part->thread, "cluster", cluster_thread_run, part) : rc;
}

void cluster_part_delete(ClusterPart *part)
{
    if (part == NULL) {
        return;
    }
    cluster_part_leave(part);
    transport_nats_close(part->nats);
    node_delete(part->node);
    if (part->opened) {
        inbox_chore_delete(part->inbox_chore);
        acks_chore_destroy(&part->acks);
        table_chore_destroy(&part->table);
        moves_chore_destroy(&part->moves);
        ingest_cluster_destroy(&part->ingest);
        inbox_destroy(&part->inbox);
        mass_delete(part->mass);
    }
    cluster_mail_destroy(&part->mail);
    buffer_destroy(&part->settings);
    mutex_destroy(&part->mutex);
    free(part);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* All agents know pages by the same hashes. */
static Result share_seed(PageDB *db, MDB_txn *txn, const ClusterTable *table)
{
    uint64_t seed = hash_64(table->uuid, sizeof table->uuid, SEED_OF_SEEDS);
    if (page_db_n_pages(db, txn) > 0 || page_db_n_hosts(db, txn) > 0) {
        return RESULT_OK; /* it has been set when the directory was empty */
    }
    return page_db_share_seed(db, txn, seed) == page_db_error_ok ? RESULT_OK : RESULT_IO;
}

static Result cluster_part_open_tables(ClusterPart *part)
{
    const IngestStore *tables = &part->store->tables;
    const ClusterTable *table = node_table(part->node);
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(tables->db, false, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = ingest_cluster_init(&part->ingest, node_identity(part->node)->self, table, txn,
                                    tables->crawl);
    if (rc == RESULT_OK) {
        rc = share_seed(tables->db, txn, table);
    }
    if (rc != RESULT_OK) {
        page_db_txn_abort(tables->db, txn);
        return rc;
    }
    return page_db_txn_commit(tables->db, txn) == 0 ? RESULT_OK : RESULT_IO;
}

Result cluster_part_open(ClusterPart *part, Ingest *ingest, ByteGate *gate, Buffer *error)
{
    InboxSinks sinks = {
        .context = part, .arrived = on_arrived, .settled = on_settled, .replaced = on_replaced};
    part->bonds.ingest = ingest;
    part->opened = true;
    inbox_init(&part->inbox, gate, &sinks);
    acks_chore_init(&part->acks, &part->ingest);
    table_chore_init(&part->table, &part->ingest);
    moves_chore_init(&part->moves, &part->ingest);
    Result rc = cluster_part_open_tables(part);
    part->inbox_chore = rc == RESULT_OK ? inbox_chore_new(&part->inbox, &part->ingest) : NULL;
    if (part->inbox_chore == NULL) {
        rc = rc == RESULT_OK ? RESULT_MEMORY : rc;
        (void)buffer_printf(error, "%s: the tables of the cluster cannot be opened: %s",
                            part->store->directory, result_name(rc));
        return rc;
    }
    part->ingest.context = part;
    part->ingest.grown = on_grown;
    part->table.context = part;
    part->table.committed = on_table;
    part->moves.context = part;
    part->moves.settle = on_settle;
    IngestChore chores[] = {inbox_chore(part->inbox_chore), acks_chore(&part->acks),
                            table_chore(&part->table), moves_chore(&part->moves)};
    ingest_set_cluster(ingest, &part->ingest);
    for (size_t i = 0; i < sizeof chores / sizeof *chores; i++) {
        ingest_add_chore(ingest, &chores[i]);
    }
    return RESULT_OK;
}

Result cluster_part_score(ClusterPart *part, Scoring *scoring)
{
    const IngestStore *tables = &part->store->tables;
    if (part->config->score_scorer != SCORING_PAGERANK) {
        return RESULT_OK;
    }
    Result rc = mass_new(&part->mass, part->store->directory, tables->db, part->ingest.self,
                         &part->ingest.table);
    if (rc == RESULT_OK) {
        part->outside = mass_outside(part->mass);
        scoring_set_outside(scoring, &part->outside);
    }
    return rc;
}

void cluster_part_begin(ClusterPart *part, const ClusterBonds *bonds,
                        const uint64_t used[LEDGER_UNITS])
{
    Mail letter = {.kind = MAIL_BEGIN};
    part->bonds = *bonds;
    memcpy(part->used, used, sizeof part->used);
    cluster_mail_post(&part->mail, &letter);
}

void cluster_part_leave(ClusterPart *part)
{
    Mail letter = {.kind = MAIL_LEAVE};
    atomic_store(&part->leaving, true);
    cluster_mail_post(&part->mail, &letter);
    thread_join(&part->thread);
}

void cluster_part_set_quiet(ClusterPart *part, bool quiet)
{
    atomic_store(&part->quiet, quiet);
}

void cluster_part_set_settled(ClusterPart *part, bool settled)
{
    atomic_store(&part->settled, settled);
}

void cluster_part_set_tail(ClusterPart *part, bool tail)
{
    atomic_store(&part->tail, tail);
}

void cluster_part_set_limit(ClusterPart *part, const char *limit)
{
    atomic_store(&part->limit, limit);
}

/* Half of it must be free again before the crawl goes on. */
bool cluster_part_is_full(ClusterPart *part, uint64_t most_bytes)
{
    uint64_t bytes = part->opened ? atomic_load(&part->ingest.outbox_bytes) : 0;
    bool full = atomic_load(&part->full) ? bytes > most_bytes / 2 : bytes >= most_bytes;
    atomic_store(&part->full, full);
    return full;
}

void cluster_part_figures(ClusterPart *part, ClusterFigures *figures)
{
    size_t bytes = 0;
    mutex_lock(&part->mutex);
    *figures = part->figures;
    mutex_unlock(&part->mutex);
    if (part->opened) {
        figures->inbox_blocks = inbox_count(&part->inbox, &bytes);
        figures->inbox_bytes = bytes;
        figures->outbox_blocks = ingest_cluster_outbox_blocks(&part->ingest);
        figures->outbox_bytes = atomic_load(&part->ingest.outbox_bytes);
    }
}
