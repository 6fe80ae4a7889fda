#include "ingest/batch/ingest_batch.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/message/membership.h"
#include "parse/host/authority.h"
#include "base/memory/array.h"

/* ---- Ingest options ---- */

/* Results that wait, not bytes: these are bounded by the gate (IngestOptions.results). */
#define QUEUE_CAPACITY 2048u

HostLimits ingest_host_limits(const Config *config)
{
    return (HostLimits){.pages_per_host = (uint64_t)config->limits_pages_per_host,
                        .hosts_per_domain = (uint64_t)config->limits_hosts_per_domain,
                        .pages_per_domain = (uint64_t)config->limits_pages_per_domain,
                        .urls_per_domain = (uint64_t)config->limits_urls_per_domain,
                        .hosts_per_address = (uint64_t)config->limits_hosts_per_address,
                        .pages_per_address = (uint64_t)config->limits_pages_per_address,
                        .urls_per_address = (uint64_t)config->limits_urls_per_address,
                        .feeds_per_host = (uint64_t)config->limits_feeds_per_host};
}

IngestOptions ingest_options(const Config *config)
{
    return (IngestOptions){.config = *config,
                           .queue = QUEUE_CAPACITY,
                           .limits = ingest_host_limits(config),
                           .traps = {.fetches = (uint32_t)config->limits_trap_fetches,
                                     .yield = config->limits_trap_yield,
                                     .patterns = (size_t)config->limits_trap_patterns}};
}

/* ---- Batch ---- */

/* ---- Ingest totals ---- */

static const struct {
    const char *name;
    size_t size;
} kept_records[] = {[KEPT_TOTALS] = {"totals", sizeof(CrawlTotals)},
                    [KEPT_REVISITS] = {"revisits", sizeof(RevisitTotals)},
                    [KEPT_WALLS] = {"walls", sizeof(WallTotals)},
                    [KEPT_CLUSTER] = {"cluster_totals", sizeof(ClusterTotals)},
                    [KEPT_LOG_SERIAL] = {"log_serial", sizeof(uint64_t)},
                    [KEPT_RULES] = {"rules", sizeof(uint64_t)}};

static MDB_val ingest_kept_key(IngestKept what)
{
    return lmdb_bytes(kept_records[what].name, strlen(kept_records[what].name));
}

Result ingest_kept_write(MDB_txn *txn, MDB_dbi crawl, IngestKept what, const void *record)
{
    return lmdb_put(txn, crawl, ingest_kept_key(what), lmdb_bytes(record, kept_records[what].size),
                    "put totals");
}

Result ingest_kept_read(MDB_txn *txn, MDB_dbi crawl, IngestKept what, void *record)
{
    size_t size = kept_records[what].size;
    MDB_val value;
    memset(record, 0, size);
    Result rc = lmdb_get(txn, crawl, ingest_kept_key(what), &value, "get totals");
    if (rc == RESULT_OK) {
        /* The shorter of both: a record of an older version has fewer fields, the rest stays 0. */
        memcpy(record, value.mv_data, value.mv_size < size ? value.mv_size : size);
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* ---- Batch ---- */

/* Batch waits: keeps the wait table (store/tables/host_rows.h) in step with a batch.
 *
 * What: a host that has failed, or is outside its hours, and has something scheduled stands in the
 * wait table, by the time of its next try. With nothing scheduled it does not. A healthy host costs
 * nothing here.
 * Threads: ingest, inside the batch's transaction. */

/* Enters a host into the wait table, or removes it. Call when the host's record and schedule are
 * final, before the record is written. */
static bool batch_waits_note(Batch *batch, BatchHost *host)
{
    HostRecord *record = &host->record;
    uint64_t entries = 0;
    record->idle = 0;
    if (record->state != HOST_ACTIVE || (record->failures == 0 && record->closed == 0)) {
        return true;
    }
    page_db_looked_up(batch->store->db, 1);
    bool is_known = batch_note(
        batch, schedule_host_count(batch->store->schedule, batch->txn, host->host, &entries));
    /* An idle host has no entry: put_hosts makes it from this record. */
    record->idle = is_known && entries == 0;
    return is_known;
}

/* ---- Ingest's cluster ---- */

static void ingest_cluster_publish(IngestCluster *cluster, const OutboxState *state)
{
    atomic_store(&cluster->outbox_blocks, state->blocks);
    atomic_store(&cluster->outbox_bytes, state->bytes);
}

/* A directory that has none has all of its slots adopted: it is new. */
static Result read_duty(IngestCluster *cluster, MDB_txn *txn, MDB_dbi crawl)
{
    Result rc = slot_duty_read(&cluster->duty, txn, crawl);
    if (rc == RESULT_NOT_FOUND) {
        slot_duty_begin(&cluster->duty, &cluster->table, cluster->self);
        return RESULT_OK;
    }
    return rc;
}

/* The duties may be ahead of a table that is not committed after all: it comes again. */
Result ingest_cluster_write_table(IngestCluster *cluster, MDB_txn *txn, MDB_dbi crawl,
                                  const ClusterTable *table)
{
    ClusterTable before = {.epoch = 0};
    NodeIdentity identity;
    Result rc = node_place_read(txn, crawl, &identity, &before);
    if (rc == RESULT_OK) {
        slot_duty_take_back(&cluster->duty, &before, table, cluster->self);
        slot_duty_follow(&cluster->duty, table, cluster->self);
    }
    cluster_table_destroy(&before);
    if (rc == RESULT_OK) {
        rc = slot_duty_write(&cluster->duty, txn, crawl);
    }
    return rc == RESULT_OK ? node_place_write_table(txn, crawl, table) : rc;
}

Result ingest_cluster_init(IngestCluster *cluster, uint16_t self, const ClusterTable *table,
                           MDB_txn *txn, MDB_dbi crawl)
{
    cluster->self = self;
    cluster->table = (ClusterTable){.epoch = 0};
    cluster->duty = (SlotDuty){.adopted = {0}};
    slot_cache_init(&cluster->slots, hash_mix((uint64_t)mono_now().ns));
    Result rc = cluster_table_copy(&cluster->table, table);
    if (rc == RESULT_OK) {
        rc = outbox_open(&cluster->outbox, txn, crawl);
    }
    /* Before the result is looked at: ingest_cluster_destroy takes it apart in any case. */
    outbox_draft_init(&cluster->draft, &cluster->outbox);
    if (rc == RESULT_OK) {
        rc = via_table_open(&cluster->vias, txn);
    }
    OutboxState state = {.blocks = 0};
    if (rc == RESULT_OK) {
        rc = read_duty(cluster, txn, crawl);
    }
    if (rc == RESULT_OK) {
        rc = ingest_cluster_write_table(cluster, txn, crawl, table);
    }
    if (rc == RESULT_OK) {
        rc = outbox_read_state(&cluster->outbox, txn, &state);
    }
    ingest_cluster_publish(cluster, &state);
    return rc == RESULT_OK ? ingest_kept_read(txn, crawl, KEPT_CLUSTER, &cluster->totals) : rc;
}

void ingest_cluster_destroy(IngestCluster *cluster)
{
    ingest_cluster_arrive(cluster, NULL, 0);
    outbox_draft_destroy(&cluster->draft);
    cluster_table_destroy(&cluster->table);
}

Result ingest_cluster_mark(PageDB *db, MDB_dbi crawl, uint16_t agent, PeerMark *mark)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(db, true, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = peer_mark_read(txn, crawl, agent, mark);
    page_db_txn_abort(db, txn);
    return rc;
}

Result ingest_cluster_read_outbox(const IngestCluster *cluster, PageDB *db, uint16_t to,
                                  uint64_t from, size_t most, Buffer *blocks, OutboxRange *range)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(db, true, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = outbox_read(&cluster->outbox, txn, to, from, most, blocks, range);
    page_db_txn_abort(db, txn);
    return rc;
}

/* ---- what arrives ---- */

void ingest_cluster_arrive(IngestCluster *cluster, const LinkRecord *records, size_t n)
{
    if (cluster->arrivals.best != NULL) {
        map_destroy(cluster->arrivals.best);
        free(cluster->arrivals.best);
    }
    cluster->arrivals = (Arrivals){.records = records, .n = n};
}

/* PageDB tells of new pages in the order of the records, each by the bytes of its first one. */
const LinkRecord *ingest_cluster_arrival(IngestCluster *cluster, const PageRef *page)
{
    Arrivals *arrivals = &cluster->arrivals;
    while (arrivals->next < arrivals->n && arrivals->records[arrivals->next].url != page->url) {
        arrivals->next++;
    }
    return arrivals->next < arrivals->n ? &arrivals->records[arrivals->next] : NULL;
}

/* Without memory some records are missing. For such a page nobody notes which page of the other
 * agent led to it, so its path ends here. */
static void index_arrivals(Arrivals *arrivals)
{
    arrivals->best = malloc(sizeof *arrivals->best);
    if (arrivals->best == NULL) {
        return;
    }
    map_init(arrivals->best);
    for (size_t i = 0; i < arrivals->n; i++) {
        const LinkRecord *record = &arrivals->records[i];
        MapKey key = map_key_of(record->url, record->length);
        const LinkRecord *best = map_get(arrivals->best, key);
        if (best == NULL || record->depth < best->depth) {
            (void)map_put(arrivals->best, key, (void *)(uintptr_t)record);
        }
    }
}

const LinkRecord *ingest_cluster_best(IngestCluster *cluster, const char *url, size_t length)
{
    Arrivals *arrivals = &cluster->arrivals;
    if (arrivals->n == 0 || url == NULL) {
        return NULL;
    }
    /* Made when it is first asked for: most blocks bring no page that is new here. */
    if (arrivals->best == NULL) {
        index_arrivals(arrivals);
    }
    return arrivals->best == NULL ? NULL : map_get(arrivals->best, map_key_of(url, length));
}

/* ---- the batch ---- */

static bool batch_keep(Batch *batch, IngestKept what, const void *record)
{
    return batch_note(batch, ingest_kept_write(batch->txn, batch->store->crawl, what, record));
}

Result ingest_cluster_begin(IngestCluster *cluster, Batch *batch)
{
    batch->cluster = cluster;
    batch->shared = cluster->totals;
    return outbox_draft_begin(&cluster->draft, batch->txn, (uint32_t)cluster->table.epoch);
}

void ingest_cluster_note(const IngestCluster *cluster, NodeNote note)
{
    if (cluster->note == NULL) {
        node_note_release(&note);
    } else {
        cluster->note(cluster->context, &note);
    }
}

void ingest_cluster_end(IngestCluster *cluster, const Batch *batch, bool committed)
{
    size_t place = 0;
    uint16_t to = 0;
    size_t bytes = 0;
    ingest_cluster_arrive(cluster, NULL, 0);
    /* Behind the commit only: what others are told, and what is counted, cannot be taken back. */
    if (committed) {
        cluster->totals = batch->shared;
        ingest_cluster_publish(cluster, &cluster->draft.state);
        while (outbox_draft_grown(&cluster->draft, &place, &to, &bytes)) {
            ingest_cluster_note(cluster,
                                (NodeNote){.kind = NODE_GROWN, .agent = to, .bytes = bytes});
        }
    }
    outbox_draft_end(&cluster->draft);
}

/* ---- Ingest's sieve ---- */

Result ingest_sieve_takes_later(Batch *batch, const ParsedPage *page, size_t n_links, bool *later)
{
    *later = false;
    if (batch->sieve == NULL) {
        return RESULT_OK;
    }
    bool is_wide = n_links > (size_t)batch->options->config.store_batch_links;
    /* Three reasons: its links are begun there, in a transaction that failed; they are too many for
     * one; or the batch as a whole leaves its links to the sieve. */
    *later = page->links.ticket.number != 0 || is_wide || (batch->defers && n_links > 0);
    if (*later || !sieve_holds(batch->sieve->sieve)) {
        return RESULT_OK;
    }
    /* Whether it has a list of links already, or had a crawl whose list is in the sieve. */
    PageRef ref = {.n_crawls = 0};
    Result rc = batch_stored(batch, page->fetch->request.index, &ref);
    *later = ref.n_crawls > 0;
    return rc;
}

Result ingest_sieve_add(Batch *batch, size_t write, const PageRef *page)
{
    const PageWrite *written = &batch->writes[write];
    ParsedPage *parsed = batch->written[write];
    SievePage given = {.index = page->index,
                       .hash = page->hash,
                       .depth = page->depth,
                       .url = written->page->url,
                       .links = written->page->links->link_info,
                       .keys = written->link_keys,
                       .hops = written->link_hops,
                       .kinds = written->link_kinds,
                       .n_links = written->page->links->n_links,
                       .score = written->page->score};
    const IngestSieve *sieve = batch->sieve;
    MonoTime now = sieve->now == NULL ? mono_now() : sieve->now(sieve->context);
    return sieve_add(sieve->sieve, &given, &parsed->links.ticket, now);
}

void ingest_sieve_publish(const IngestSieve *sieve)
{
    SieveStats now;
    sieve_stats(sieve->sieve, &now);
    stats_set(&sieve->stats->sieve_pending, now.pending);
    stats_set(&sieve->stats->sieve_merges, now.merges);
    stats_set(&sieve->stats->cache_hits, now.cache_hits);
    stats_set(&sieve->stats->cache_misses, now.cache_misses);
}

/* ---- Batch ---- */

#define BLOCK_BYTES  ((size_t)64 * 1024)
#define HELD_CHANGES 4096u

Result batch_init(Batch *batch, const IngestOptions *options, const IngestStore *store,
                  CrawlLog *log, const CrawlTotals *totals, MDB_txn *txn, ParsedPage **pages,
                  size_t n_pages)
{
    *batch = (Batch){.options = options,
                     .store = store,
                     .log = log,
                     .txn = txn,
                     .totals = *totals,
                     .pages = pages,
                     .n_pages = n_pages};
    map_init(&batch->hosts);
    map_init(&batch->groups);
    batch->limits = options->limits;
    if (options->host_config != NULL) {
        Config config;
        batch->site_limits = options->host_config(options->host_context, "", &config);
        batch->limits = ingest_host_limits(&config);
    }
    /* No bound of its own: results are bounded by their number, and by the gate. */
    arena_init(&batch->memory, BLOCK_BYTES, SIZE_MAX);
    dedup_scratch_init(&batch->dedup);
    /* A batch of chores alone has no pages, and its arrays are not NULL. */
    size_t n = n_pages == 0 ? 1 : n_pages;
    batch->writes = arena_alloc(&batch->memory, n * sizeof *batch->writes);
    batch->crawled = arena_alloc(&batch->memory, n * sizeof *batch->crawled);
    batch->links = arena_alloc(&batch->memory, n * sizeof *batch->links);
    batch->written = arena_alloc(&batch->memory, n * sizeof *batch->written);
    batch->duplicate_of = arena_alloc(&batch->memory, n * sizeof *batch->duplicate_of);
    batch->near_of = arena_alloc(&batch->memory, n * sizeof *batch->near_of);
    batch->held = arena_alloc(&batch->memory, HELD_CHANGES * sizeof *batch->held);
    return batch->writes == NULL || batch->crawled == NULL || batch->links == NULL ||
                   batch->written == NULL || batch->duplicate_of == NULL ||
                   batch->near_of == NULL || batch->held == NULL
               ? RESULT_MEMORY
               : RESULT_OK;
}

void batch_destroy(Batch *batch)
{
    map_destroy(&batch->hosts);
    map_destroy(&batch->groups);
    arena_destroy(&batch->memory);
    dedup_scratch_destroy(&batch->dedup);
}

BatchHost *batch_host(Batch *batch, uint32_t id)
{
    BatchHost *host = map_get(&batch->hosts, map_key(id));
    if (host != NULL) {
        return host;
    }
    host = arena_alloc(&batch->memory, sizeof *host);
    if (!batch_note(batch, host == NULL ? RESULT_MEMORY : RESULT_OK)) {
        return NULL;
    }
    *host = (BatchHost){.host = id};
    bool is_read =
        batch_note(batch, host_rows_get(batch->store->hosts, batch->txn, id, &host->record));
    WaitEntry entry;
    /* Its entry as of the last commit, which put_hosts has to take out of the table. */
    host->waits_ms = wait_rows_entry(id, &host->record, &entry) ? entry.until_ms : 0;
    return is_read && batch_note(batch, map_put(&batch->hosts, map_key(id), host)) ? host : NULL;
}

void batch_host_gets(BatchHost *host, uint64_t n, unsigned level)
{
    /* 0 is the best level; URLs that have none say nothing about it. */
    if (level < SCHEDULE_NO_LEVEL && (host->got_urls == 0 || level < host->best_level)) {
        host->best_level = (uint8_t)level;
    }
    host->got_urls += n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

void batch_host_returns(BatchHost *host, uint64_t n, unsigned level)
{
    host->cleared = false;
    host->revived = true;
    batch_host_gets(host, n, level);
}

void batch_host_clear(BatchHost *host)
{
    host->cleared = true;
    host->revived = false;
    host->got_urls = 0;
}

Result batch_spell(Batch *batch, const char *url, const char **first)
{
    Hash128 key;
    Result rc = dedup_key(&batch->options->dedup, &batch->dedup, url, strlen(url), &key);
    return rc == RESULT_OK
               ? dedup_first(batch->txn, batch->store->keys, &key, url, NULL, &batch->memory, first)
               : rc;
}

Result batch_host_name(Batch *batch, uint32_t id, Buffer *name)
{
    page_db_looked_up(batch->store->db, 1);
    if (page_db_host_origin(batch->store->db, batch->txn, id, name) != page_db_error_ok) {
        return RESULT_IO;
    }
    Authority at = authority_of(buffer_string(name), name->length);
    memmove(name->data, name->data + at.host, at.host_end - at.host);
    name->length = at.host_end - at.host;
    name->data[name->length] = '\0';
    return RESULT_OK;
}

bool batch_find_host(Batch *batch, const char *url, uint32_t *id)
{
    Authority at = authority_of(url, strlen(url));
    Buffer origin = {.limit = BUFFER_NO_LIMIT};
    /* The scheme as it stands, then host and port: hosts are known without user and password. */
    bool found = buffer_append(&origin, url, at.start) == RESULT_OK &&
                 buffer_append(&origin, url + at.host, at.end - at.host) == RESULT_OK &&
                 page_db_host_find(batch->store->db, batch->txn, origin.data, origin.length, id) ==
                     page_db_error_ok;
    buffer_destroy(&origin);
    return found;
}

BatchGroup *batch_group(Batch *batch, uint64_t key)
{
    BatchGroup *group = map_get(&batch->groups, map_key(key));
    if (group != NULL) {
        return group;
    }
    group = arena_alloc(&batch->memory, sizeof *group);
    if (!batch_note(batch, group == NULL ? RESULT_MEMORY : RESULT_OK)) {
        return NULL;
    }
    *group = (BatchGroup){.key = key};
    page_db_looked_up(batch->store->db, 1);
    bool is_read =
        batch_note(batch, group_rows_get(batch->store->groups, batch->txn, key, &group->record));
    return is_read && batch_note(batch, map_put(&batch->groups, map_key(key), group)) ? group
                                                                                      : NULL;
}

static bool put_groups(Batch *batch)
{
    size_t place = 0;
    const BatchGroup *group = NULL;
    while (batch->result == RESULT_OK && (group = map_next(&batch->groups, &place)) != NULL) {
        if (group->changed) {
            (void)batch_note(batch, group_rows_put(batch->store->groups, batch->txn, group->key,
                                                   &group->record));
        }
    }
    return batch->result == RESULT_OK;
}

Result batch_stored(const Batch *batch, uint64_t index, PageRef *page)
{
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    int rc = page_db_get(batch->store->db, batch->txn, index, page, &url);
    buffer_destroy(&url);
    if (rc == page_db_error_memory) {
        return RESULT_MEMORY; /* no reason to call the directory damaged */
    }
    return rc == page_db_error_ok ? RESULT_OK : RESULT_DAMAGED;
}

Result batch_result_of(const Batch *batch, int rc)
{
    if (rc == 0) {
        return RESULT_OK;
    }
    /* A callback has failed, and told why; PageDB says only that one did. */
    if (batch->result != RESULT_OK) {
        return batch->result;
    }
    LOG_ERROR("ingest", "page database failed", "rc=%d", rc);
    if (rc == page_db_error_full) {
        return RESULT_FULL;
    }
    return rc == page_db_error_memory ? RESULT_MEMORY : RESULT_IO;
}

bool batch_note_db(Batch *batch, int rc)
{
    return batch_note(batch, batch_result_of(batch, rc));
}

static bool make_held_changes(Batch *batch)
{
    size_t n = batch->n_held;
    /* First: after an error the batch is aborted, and these must not be made a second time. */
    batch->n_held = 0;
    return batch_note(batch,
                      schedule_change_all(batch->store->schedule, batch->txn, batch->held, n));
}

bool batch_schedule(Batch *batch, const PageRef *page, unsigned from, unsigned to)
{
    batch->held[batch->n_held++] = schedule_move(page->host, from, to, page->index);
    /* Held back until HELD_CHANGES have come together, so that those of one host are made together,
     * whatever the order of the pages. */
    return (batch->holds && batch->n_held < HELD_CHANGES) || make_held_changes(batch);
}

bool batch_let_go(Batch *batch)
{
    batch->holds = false;
    return batch->result == RESULT_OK && make_held_changes(batch);
}

/* Whether other hosts on its address have URLs: then its address has something to go on with. */
static bool has_busy_neighbours(Batch *batch, const BatchHost *host)
{
    const BatchGroup *group = batch->store->groups == 0 || host->record.address == 0
                                  ? NULL
                                  : batch_group(batch, host->record.address);
    return group != NULL && group->record.queued > host->record.queued;
}

/* Whether a host has nothing scheduled but what it got now. */
static bool look_for_woken(Batch *batch)
{
    size_t place = 0;
    const BatchHost *host = NULL;
    /* One such host is enough to know that the distributor has something new to do. */
    while (batch->result == RESULT_OK && !batch->woke &&
           (host = map_next(&batch->hosts, &place)) != NULL) {
        uint64_t entries = 0;
        if (host->got_urls > 0 && !host->cleared && !has_busy_neighbours(batch, host)) {
            page_db_looked_up(batch->store->db, 1);
            (void)batch_note(batch, schedule_host_count(batch->store->schedule, batch->txn,
                                                        host->host, &entries));
            batch->woke = entries <= host->got_urls;
        }
    }
    return batch->result == RESULT_OK;
}

static bool put_hosts(Batch *batch)
{
    const IngestStore *store = batch->store;
    size_t place = 0;
    BatchHost *host = NULL;
    while (batch->result == RESULT_OK && (host = map_next(&batch->hosts, &place)) != NULL) {
        page_db_looked_up(store->db, 1);
        if (batch_waits_note(batch, host) &&
            batch_note(batch, host_rows_put(store->hosts, batch->txn, host->host, &host->record)) &&
            store->waits != 0) {
            (void)batch_note(batch, wait_rows_follow(store->waits, batch->txn, host->host,
                                                     host->waits_ms, &host->record));
        }
    }
    return batch->result == RESULT_OK;
}

/* Ends what the stations and the chore have changed, in an order that each step needs:
 *
 *   hosts, groups, totals   the stations count in memory until here
 *   woken                   while it is hungry: reads the schedule as it will be committed
 *   sieve_save              syncs the bucket files, and writes how far they count
 *   outbox                  writes the rows for other agents
 *   archive_prepare         syncs the WARC files, and writes where they end
 *   journal_sweep           last, because it writes in proportion to the rows of all the others
 *
 * So a commit never speaks of bytes of a file that are not on the disk. What a crash leaves is
 * files that are longer than the commit says, never shorter. Both syncs are waited for with the
 * write transaction open: they are a part of what a commit costs. */
Result batch_finish(Batch *batch)
{
    const IngestStore *store = batch->store;
    bool is_done =
        put_hosts(batch) && put_groups(batch) && batch_keep(batch, KEPT_TOTALS, &batch->totals) &&
        (batch->revisits == NULL || batch_keep(batch, KEPT_REVISITS, &batch->visits)) &&
        (!batch->walls_changed || batch_keep(batch, KEPT_WALLS, &batch->walls)) &&
        (!batch->hungry || look_for_woken(batch)) &&
        (batch->sieve == NULL || batch_note(batch, sieve_save(batch->sieve->sieve, batch->txn))) &&
        (batch->cluster == NULL ||
         (batch_note(batch, outbox_draft_finish(&batch->cluster->draft)) &&
          batch_keep(batch, KEPT_CLUSTER, &batch->shared))) &&
        (store->archive == NULL || batch_note(batch, archive_prepare(store->archive, batch->txn)));
    if (is_done) {
        int rc = journal_sweep(page_db_journal(store->db), batch->txn);
        (void)batch_note(batch, lmdb_result(rc, "sweep"));
    }
    return batch->result;
}

CommitNotice *batch_notice(const Batch *batch)
{
    CommitNotice *notice = calloc(1, sizeof *notice);
    if (notice == NULL) {
        return NULL;
    }
    /* One more than needed, so that NULL always means that there is no memory. */
    notice->done = calloc(batch->n_pages + 1, sizeof *notice->done);
    notice->hosts = calloc(batch->hosts.count + 1, sizeof *notice->hosts);
    notice->dropped = calloc(batch->hosts.count + 1, sizeof *notice->dropped);
    notice->moved = calloc(batch->n_moved + 1, sizeof *notice->moved);
    if (notice->done == NULL || notice->hosts == NULL || notice->dropped == NULL ||
        notice->moved == NULL) {
        commit_notice_delete(notice);
        return NULL;
    }
    for (size_t i = 0; i < batch->n_pages; i++) {
        const FetchResult *fetch = batch->pages[i]->fetch;
        if (fetch_result_settles(fetch)) {
            notice->done[notice->n_done++] =
                (CommitDone){.index = fetch->request.index, .host = fetch->host.id};
        }
    }
    for (size_t i = 0; i < batch->n_moved; i++) {
        notice->moved[notice->n_moved++] = batch->moved[i];
    }
    size_t place = 0;
    const BatchHost *host = NULL;
    while ((host = map_next(&batch->hosts, &place)) != NULL) {
        /* Either, or: a host that was cleared and got URLs again has `cleared` taken back
         * (batch_host_returns). */
        if (host->cleared) {
            notice->dropped[notice->n_dropped++] = host->host;
        } else if (host->got_urls > 0 || host->revived) {
            notice->hosts[notice->n_hosts++] = (CommitHost){
                .host = host->host, .level = host->best_level, .revived = host->revived};
        }
    }
    /* In the order in which they were named, they are asked for and loaded. */
    array_sort(notice->hosts, notice->n_hosts, sizeof *notice->hosts, ARRAY_KEY(CommitHost, host),
               ARRAY_NO_KEY);
    return notice;
}
