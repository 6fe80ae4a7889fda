#include "ingest/ingest_writer.h"

#include <string.h>

#include "base/thread/thread.h"
#include "ingest/page/host_groups.h"
#include "ingest/page/page_way.h"
#include "ingest/revisit/revisits.h"
#include "store/pages/page_error.h"

/* Ingest log: the lines of crawl.log for a batch.
 *
 * What: one line for each fetch of the batch, with the path by which its page was found and the
 * page that it is a duplicate of. The lines are made inside the batch's transaction, once all of
 * the batch is in the tables, and come into the log after the commit (page/crawl_log.h).
 * Threads: ingest. */

/* The URL of the page with this index; NULL when there is none. */
static const char *ingest_log_url_of(PageDB *db, MDB_txn *txn, uint64_t index, Buffer *url)
{
    PageRef ref;
    buffer_reset(url);
    return index != PAGE_DB_NO_INDEX && page_db_get(db, txn, index, &ref, url) == 0
               ? buffer_string(url)
               : NULL;
}

/* The path of a fetch, its referrer, the tag of its seed. */
static CrawlLogWay find_way(const Batch *batch, MDB_txn *txn, const FetchResult *fetch,
                            DiscoverySteps *steps, Buffer *path, Buffer *referrer, SeedEntry *seed)
{
    SeedRows seeds = batch->store->seeds;
    uint64_t first = PAGE_DB_NO_INDEX;
    buffer_reset(path);
    buffer_reset(referrer);
    *seed = (SeedEntry){.tag = ""};
    if (fetch->request.has_page) {
        discovery_find(batch->store->db, txn, fetch->request.index, path, referrer, &first, steps);
    } else {
        (void)buffer_append_char(path, 'P');
    }
    if (seeds == 0 || first == PAGE_DB_NO_INDEX ||
        seed_rows_get(seeds, txn, first, seed) != RESULT_OK) {
        seed->tag[0] = '\0';
    }
    return (CrawlLogWay){
        .path = buffer_string(path), .referrer = buffer_string(referrer), .tag = seed->tag};
}

/* Makes the lines; crawl_log_flush or crawl_log_drop follows. */
static void ingest_log_write(CrawlLog *log, const Batch *batch)
{
    PageDB *db = batch->store->db;
    MDB_txn *txn = batch->txn;
    Buffer path = {.limit = BUFFER_NO_LIMIT};
    Buffer referrer = {.limit = BUFFER_NO_LIMIT};
    Buffer original = {.limit = BUFFER_NO_LIMIT};
    Buffer near = {.limit = BUFFER_NO_LIMIT};
    /* The steps of one page are kept for the next: pages of a batch were mostly found on the same
     * ones. */
    DiscoverySteps steps = {.of = {{.page = 0}}};
    for (size_t i = 0; i < batch->n_pages; i++) {
        const ParsedPage *page = batch->pages[i];
        const FetchResult *fetch = page->fetch;
        if (fetch->kind == FETCHED_DNS || fetch->kind == FETCHED_RENDERED ||
            (fetch->kind == FETCHED_NOTHING && fetch->request.url == NULL)) {
            continue; /* no fetch: news of a host, or of a page */
        }
        SeedEntry seed;
        CrawlLogWay way = find_way(batch, txn, fetch, &steps, &path, &referrer, &seed);
        crawl_log_fetch(log, page, &way,
                        ingest_log_url_of(db, txn, batch->duplicate_of[i], &original),
                        ingest_log_url_of(db, txn, batch->near_of[i], &near));
    }
    buffer_destroy(&path);
    buffer_destroy(&referrer);
    buffer_destroy(&original);
    buffer_destroy(&near);
}

/* ---- Ingest patience ---- */

static int64_t hungry_ms(const IngestPatience *patience)
{
    return patience->hungry_ms < INGEST_HUNGRY_MS ? INGEST_HUNGRY_MS : patience->hungry_ms;
}

int64_t ingest_patience_ms(const IngestPatience *patience, int64_t batch_time_ms, bool hungry)
{
    int64_t ms = hungry_ms(patience);
    return hungry && ms < batch_time_ms ? ms : batch_time_ms;
}

void ingest_patience_note(IngestPatience *patience, int64_t batch_time_ms, bool woke)
{
    int64_t ms = woke ? hungry_ms(patience) / 2 : 2 * hungry_ms(patience);
    patience->hungry_ms = ms < batch_time_ms ? ms : batch_time_ms;
}

/* ---- Host places ---- */

typedef struct HostPlace {
    uint32_t host;
    IpAddress address;
} HostPlace;

void host_places_init(HostPlaces *places)
{
    tray_init(&places->waiting, sizeof(HostPlace));
    atomic_init(&places->is_told, false);
    places->n_taken = 0;
}

void host_places_destroy(HostPlaces *places)
{
    tray_destroy(&places->waiting);
}

bool host_places_add(HostPlaces *places, uint32_t host, const IpAddress *address)
{
    HostPlace place = {.host = host, .address = *address};
    return tray_put(&places->waiting, &place, NULL) == RESULT_OK &&
           !atomic_exchange(&places->is_told, true);
}

void host_places_not_told(HostPlaces *places)
{
    atomic_store(&places->is_told, false);
}

Result host_places_apply(HostPlaces *places, Batch *batch)
{
    HostPlace place;
    Result rc = RESULT_OK;
    atomic_store(&places->is_told, false); /* what is added from here on tells anew */
    /* Those that are added from here on stay for the next transaction; an abort takes none out, so
     * the same ones are placed again. */
    places->n_taken = tray_count(&places->waiting);
    for (size_t i = 0; rc == RESULT_OK && i < places->n_taken; i++) {
        (void)tray_get(&places->waiting, i, &place);
        BatchHost *host = batch_host(batch, place.host);
        rc = host == NULL ? batch->result : host_groups_place(batch, host, &place.address);
    }
    return rc;
}

void host_places_settle(HostPlaces *places)
{
    tray_drop(&places->waiting, places->n_taken);
}

/* ---- Ingest writer ---- */

#define STUCK_RETRY_MS 1000
#define MAP_ROOM_BYTES ((size_t)1 << 30)

/* What one transaction is opened for: pages, a piece of a chore, or both. */
typedef struct Work {
    ParsedPage **pages;
    size_t n_pages;
    const IngestChore *chore; /* NULL: none */
} Work;

/* ---- after a commit ---- */

/* Hosts that are not fetched from, or not now. What cannot be read shows as 0: these figures are
 * for people, and a database that is broken says so at the next commit. The closed ones are
 * counted, which is a walk, only when every host with work waits. */
static void publish_trouble(IngestWriter *writer, MDB_txn *txn, uint64_t hosts_with_work)
{
    Stats *stats = writer->stats;
    uint64_t urls = 0;
    uint64_t hosts = 0;
    uint64_t waiting = 0;
    uint64_t closed = 0;
    WaitEntry next = {.until_ms = 0};
    size_t n = 0;
    (void)schedule_parked_counts(writer->store.schedule, txn, &urls, &hosts);
    if (writer->store.waits != 0) {
        (void)lmdb_count(txn, writer->store.waits, &waiting, "count waits");
        (void)wait_rows_read(writer->store.waits, txn, NULL, &next, 1, &n);
    }
    if (waiting > 0 && waiting >= hosts_with_work) {
        (void)wait_rows_count_closed(writer->store.waits, txn, &closed);
    }
    stats_set(&stats->hosts_closed, closed);
    stats_set(&stats->urls_parked, urls);
    stats_set(&stats->hosts_parked, hosts);
    stats_set(&stats->hosts_waiting, waiting);
    stats_set(&stats->next_retry_ms, n > 0 ? (uint64_t)next.until_ms : 0);
    stats_set(&stats->next_is_walled, n > 0 && next.class == FETCH_WALL);
}

static void ingest_writer_publish_one(IngestWriter *writer, MDB_txn *txn)
{
    Stats *stats = writer->stats;
    const CrawlTotals *totals = &writer->totals;
    uint64_t queued = 0;
    uint64_t hosts = 0;
    (void)schedule_counts(writer->store.schedule, txn, &queued, &hosts);
    stats_set(&stats->hosts_with_work, hosts);
    publish_trouble(writer, txn, hosts);
    stats_set(&stats->pages, totals->pages);
    stats_set(&stats->fetches, totals->fetches);
    stats_set(&stats->bytes, totals->bytes);
    for (size_t i = 0; i < 6; i++) {
        stats_set(&stats->by_status[i], totals->by_status[i]);
    }
    stats_set(&stats->duplicates, totals->duplicates);
    stats_set(&stats->throttled, totals->throttled);
    stats_set(&stats->robots_denied, totals->refused[REFUSED_ROBOTS]);
    for (size_t i = 0; i < HTTP_WALLS; i++) {
        stats_set(&stats->walls[i], writer->walls.answers[i]);
    }
    stats_set(&stats->walled_hosts, writer->walls.hosts);
    stats_set(&stats->domain_refused, totals->refused[REFUSED_DOMAIN]);
    stats_set(&stats->address_refused, totals->refused[REFUSED_ADDRESS]);
    stats_set(&stats->feeds_refused, totals->refused[REFUSED_FEEDS]);
    stats_set(&stats->elsewhere, totals->refused[REFUSED_ELSEWHERE]);
    stats_set(&stats->urls_seen, page_db_n_pages(writer->store.db, txn));
    stats_set(&stats->hosts, page_db_n_hosts(writer->store.db, txn));
    stats_set(&stats->urls_queued, queued);
    if (writer->sieve != NULL) {
        ingest_sieve_publish(writer->sieve);
    }
    if (writer->revisits != NULL) {
        revisits_publish(writer->revisits, txn, &writer->visits, stats);
    }
}

void ingest_writer_publish(IngestWriter *writer)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(writer->store.db, true, &txn) == 0) {
        ingest_writer_publish_one(writer, txn);
        page_db_txn_abort(writer->store.db, txn);
    }
}

/* Behind the commit: a batch that is tried again would count its pages twice. Patterns are kept in
 * memory only, so a restart learns them anew. */
static void note_yield(IngestWriter *writer, const Batch *batch)
{
    static const char *const told[] = {
        [TRAP_FREE] = "pattern is free again: its pages bring new content",
        [TRAP_THROTTLED] = "pattern throttled: its pages bring nothing new",
        [TRAP_PARKED] = "pattern parked: its pages bring nothing new",
    };
    char pattern[512];
    TrapState state = TRAP_FREE;
    for (size_t i = 0; writer->traps != NULL && i < batch->n_pages; i++) {
        const ParsedPage *page = batch->pages[i];
        TrapVisit visit = {.url = page->fetch->request.url,
                           .pattern = page->hashes.pattern,
                           .is_new = batch->duplicate_of[i] == PAGE_DB_NO_INDEX,
                           .content = page->hashes.trap};
        if (page->parsed && (visit.pattern.high | visit.pattern.low) != 0 &&
            !page->verdict.is_rendered &&
            trap_yield_note(writer->traps, &visit, &state, pattern, sizeof pattern)) {
            LOG_INFO("ingest", told[state], "pattern=%s", pattern);
        }
    }
}

/* Only this thread raises, others read; so two steps are enough. */
static void raise_to(_Atomic uint64_t *most, uint64_t value)
{
    if (value > stats_get(most)) {
        stats_set(most, value);
    }
}

static uint64_t us_since(MonoTime start)
{
    return (uint64_t)(mono_now().ns - start.ns) / 1000;
}

/* After a commit: everybody who waits for it. The order:
 *
 *   totals of the writer     what the next batch begins with
 *   archive                  its records count from here on
 *   counters                 before the notice: who hears of it may look at them
 *   crawl.log, trap patterns the batch is still there, whose strings they need
 *   the notice               last: the distributor may hand out URLs that this commit brought */
static void ingest_writer_tell(IngestWriter *writer, const Batch *batch)
{
    CommitNotice *notice = batch_notice(batch);
    writer->totals = batch->totals;
    if (batch->visits.visits > writer->visits.visits) {
        stats_set(&writer->stats->revisit_due_ms, (uint64_t)(batch->late_s * 1e3));
    }
    writer->visits = batch->visits;
    writer->walls = batch->walls;
    if (writer->store.archive != NULL) {
        archive_committed(writer->store.archive);
    }
    ingest_writer_publish(writer);
    if (batch->n_pages > 0) {
        host_places_settle(&writer->places);
        writer->log_serial++;
        (void)crawl_log_flush(writer->log);
        note_yield(writer, batch);
    }
    if (notice != NULL) {
        writer->sinks.committed(writer->sinks.context, notice);
    }
    if (batch->hungry && (batch->n_pages > 0 || batch->woke)) {
        ingest_patience_note(&writer->patience, writer->options.config.store_batch_time,
                             batch->woke);
    }
    stats_add(&writer->stats->commits, 1);
}

/* ---- one transaction ---- */

static Result run_chore(IngestWriter *writer, Batch *batch, const IngestChore *chore)
{
    MonoTime start = mono_now();
    int64_t cpu_ns = cpu_thread_ns();
    /* A chore that rides with results gets little time, since these wait for it; one that is alone
     * gets more, and results that come meanwhile wait. */
    int64_t most_ms = batch->n_pages > 0 ? INGEST_RIDE_MS : INGEST_CHORE_MS;
    Result rc = chore->run(chore->context, batch, mono_add_ms(start, most_ms));
    raise_to(&writer->stats->chore_cpu_max_us, (uint64_t)(cpu_thread_ns() - cpu_ns) / 1000);
    if (batch->n_pages > 0) {
        raise_to(&writer->stats->chore_wait_max_us, us_since(start));
    }
    return rc;
}

/* Hosts before pages: a page's host must be in its group when its links are judged. The chore is
 * last, as it may use up the time. */
static Result ingest_writer_apply(IngestWriter *writer, Batch *batch, const IngestChore *chore)
{
    Result rc = batch->n_pages > 0 ? host_places_apply(&writer->places, batch) : RESULT_OK;
    if (rc == RESULT_OK && batch->n_pages > 0) {
        rc = page_way_apply(batch);
    }
    return rc == RESULT_OK && chore != NULL ? run_chore(writer, batch, chore) : rc;
}

/* Whether the links of the collected pages go through the sieve. */
static bool defers(const IngestWriter *writer, bool hungry)
{
    return writer->sieve != NULL &&
           sieve_is_due_for(writer->sieve->sieve, stats_get(&writer->stats->urls_seen), hungry);
}

/* What the operator admits; NULL: everything. */
static const Admission *admission_of_now(IngestWriter *writer)
{
    return writer->options.admission == NULL ? NULL : shared_get(&writer->admission);
}

void ingest_writer_change(IngestWriter *writer, const Config *config)
{
    mutex_lock(&writer->live_mutex);
    writer->live = *config;
    mutex_unlock(&writer->live_mutex);
}

static Result begin_batch(IngestWriter *writer, Batch *batch, const Work *work, MDB_txn *txn)
{
    /* One configuration for the whole of a batch, also when it is changed meanwhile. */
    mutex_lock(&writer->live_mutex);
    writer->options.config = writer->live;
    mutex_unlock(&writer->live_mutex);
    Result rc = batch_init(batch, &writer->options, &writer->store, writer->log, &writer->totals,
                           txn, work->pages, work->n_pages);
    batch->admission = admission_of_now(writer);
    batch->traps = writer->traps;
    batch->crowds = &writer->crowds;
    batch->walled = &writer->walled;
    batch->revisits = writer->revisits;
    batch->sieve = writer->sieve;
    batch->hungry = writer->sinks.hungry(writer->sinks.context);
    batch->defers = work->n_pages > 0 && defers(writer, batch->hungry);
    batch->visits = writer->visits;
    batch->walls = writer->walls;
    return rc == RESULT_OK && writer->cluster != NULL ? ingest_cluster_begin(writer->cluster, batch)
                                                      : rc;
}

/* Those whose own transactions hang on the batch's. */
static void ingest_writer_settle(IngestWriter *writer, const Batch *batch, bool committed)
{
    if (writer->sieve != NULL) {
        sieve_settle(writer->sieve->sieve, committed);
    }
    if (writer->cluster != NULL) {
        ingest_cluster_end(writer->cluster, batch, committed);
    }
}

static void note_times(IngestWriter *writer, const Work *work, MonoTime start)
{
    uint64_t us = us_since(start);
    stats_set(&writer->stats->writer_since_ns, 0);
    stats_add(&writer->stats->writer_busy_us, us);
    if (work->n_pages == 0) {
        raise_to(&writer->stats->chore_max_us, us);
        if (queue_count(writer->waiting) > 0) { /* came meanwhile: waits for all of it at most */
            raise_to(&writer->stats->chore_wait_max_us, us);
        }
    }
}

/* The lines of crawl.log that the commit will make true. Only a full disk holds the batch up:
 * nothing is decided by logs. */
static Result prepare_log(IngestWriter *writer, const Batch *batch, size_t *mark)
{
    uint64_t serial = writer->log_serial + 1;
    Result rc = crawl_log_begin(writer->log, mark);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = ingest_kept_write(batch->txn, writer->store.crawl, KEPT_LOG_SERIAL, &serial);
    if (rc != RESULT_OK) {
        return rc;
    }
    ingest_log_write(writer->log, batch);
    rc = crawl_log_prepare(writer->log, writer->log_serial + 1);
    if (rc != RESULT_OK && rc != RESULT_FULL) {
        LOG_WARN("ingest", "lines of crawl.log cannot be prepared", "error=\"%s\"",
                 result_name(rc));
        rc = RESULT_OK;
    }
    return rc;
}

/* What stands outside the database, and when it counts:
 *
 *   before the commit  bucket files, WARC files  synced; the commit says where they end
 *                      crawl.pending             written; the commit has its serial number
 *   the commit
 *   behind it          crawl.log, counters, trap patterns, the notice (ingest_writer_tell)
 *
 * Killed before the commit: the next start cuts the files, and drops the lines of crawl.pending.
 * Killed behind it: the lines are taken from there, and the distributor finds by its walk what the
 * notice would have said. An abort leaves the files as they are: the next try finds in page and
 * sieve what was appended, and goes on behind it. */

/* Tries to commit the collected pages and a piece of a chore (NULL: none) once. */
static Result commit_once(IngestWriter *writer, const Work *work)
{
    MDB_txn *txn = NULL;
    Batch batch;
    MonoTime start = mono_now();
    if (page_db_txn_begin(writer->store.db, false, &txn) != 0) {
        return RESULT_IO;
    }
    stats_set(&writer->stats->writer_since_ns, (uint64_t)start.ns);
    Result rc = begin_batch(writer, &batch, work, txn);
    if (rc == RESULT_OK) {
        rc = ingest_writer_apply(writer, &batch, work->chore);
    }
    uint64_t refused[REFUSALS] = {0};
    if (rc == RESULT_OK) {
        /* Refusals of the parsing threads become part of what is saved; a try that fails gives them
         * back, beside what has been counted meanwhile. */
        for (size_t i = 0; i < REFUSALS; i++) {
            refused[i] =
                atomic_exchange_explicit(&writer->stats->refused[i], 0, memory_order_relaxed);
            batch.totals.refused[i] += refused[i];
        }
        rc = batch_finish(&batch);
    }
    size_t mark = SIZE_MAX; /* no line is made */
    if (rc == RESULT_OK && batch.n_pages > 0) {
        rc = prepare_log(writer, &batch, &mark);
    }
    if (rc != RESULT_OK) {
        page_db_txn_abort(writer->store.db, txn);
    } else {
        thread_step("committing");
        rc = page_db_result(page_db_txn_commit(writer->store.db, txn));
    }
    /* Sieve and cluster hear of both ends before anybody else: what they wrote is in this
     * transaction. */
    ingest_writer_settle(writer, &batch, rc == RESULT_OK);
    if (rc == RESULT_OK) {
        ingest_writer_tell(writer, &batch);
    } else {
        crawl_log_drop(writer->log, mark);
        for (size_t i = 0; i < REFUSALS; i++) {
            stats_add(&writer->stats->refused[i], refused[i]);
        }
    }
    batch_destroy(&batch);
    /* Behind the batch: nothing of it is there any more. */
    if (work->chore != NULL && work->chore->ended != NULL) {
        work->chore->ended(work->chore->context, rc);
    }
    note_times(writer, work, start);
    return rc;
}

/* ---- until it is committed ---- */

/* Waits a moment for room on the disk; false when the batch is to be abandoned. A stop does so: a
 * full disk must not keep a crawl from ending. */
static bool wait_for_room(IngestWriter *writer)
{
    MonoTime until = mono_add_ms(mono_now(), STUCK_RETRY_MS);
    mutex_lock(&writer->stop_mutex);
    while (!writer->abandon &&
           condition_wait_until(&writer->stop_changed, &writer->stop_mutex, until)) {
    }
    bool go_on = !writer->abandon;
    mutex_unlock(&writer->stop_mutex);
    return go_on;
}

/* Is it the map that is full, and not the disk? Then growing it helps. No batch needs more than
 * MAP_ROOM_BYTES. */
static bool map_is_full(IngestWriter *writer)
{
    MDB_envinfo info;
    MDB_stat stat;
    MDB_env *env = page_db_env(writer->store.db);
    return mdb_env_info(env, &info) == MDB_SUCCESS && mdb_env_stat(env, &stat) == MDB_SUCCESS &&
           info.me_mapsize - (info.me_last_pgno + 1) * stat.ms_psize < MAP_ROOM_BYTES;
}

/* Until the pages (and the piece of a chore) are committed or given up:
 *
 *   committed            OK
 *   the map is full      it grows, and at once again
 *   full, no memory      `stuck` is told once; every STUCK_RETRY_MS again, until it works or an
 *                        operator's stop gives it up
 *   anything else        given up: another try cannot help
 *
 * The same work is tried each time. Totals and lists of a failed try go back
 * (ingest_writer_settle), so no page counts twice. */
static Result commit_patiently(IngestWriter *writer, const Work *work)
{
    Result rc = commit_once(writer, work);
    if (rc == RESULT_FULL && map_is_full(writer) && page_db_grow(writer->store.db) == 0) {
        rc = commit_once(writer, work);
    }
    bool stuck = false;
    while (rc == RESULT_FULL || rc == RESULT_MEMORY) {
        if (!stuck) {
            LOG_ERROR("ingest", "cannot commit, the crawl waits", "results=%zu error=\"%s\"",
                      work->n_pages, result_name(rc));
            writer->sinks.stuck(writer->sinks.context, true);
            stuck = true;
        }
        if (!wait_for_room(writer)) {
            return rc;
        }
        if (rc == RESULT_FULL && map_is_full(writer)) {
            (void)page_db_grow(writer->store.db);
        }
        rc = commit_once(writer, work);
    }
    if (stuck) {
        LOG_WARN("ingest", rc == RESULT_OK ? "commits work again" : "cannot commit",
                 "results=%zu error=\"%s\"", work->n_pages, result_name(rc));
        writer->sinks.stuck(writer->sinks.context, false);
    }
    return rc;
}

void ingest_writer_commit(IngestWriter *writer, ParsedPage **pages, size_t n_pages,
                          const IngestChore *chore)
{
    Work work = {.pages = pages, .n_pages = n_pages, .chore = chore};
    thread_step("writing");
    Result rc = writer->dead ? RESULT_CLOSED : commit_patiently(writer, &work);
    if (rc != RESULT_OK) {
        if (!writer->dead && rc != RESULT_FULL && rc != RESULT_MEMORY) {
            LOG_ERROR("ingest", "cannot commit, the crawl ends",
                      "results=%zu error=\"%s\" next=\"look at the disk, then start it again\"",
                      n_pages, result_name(rc));
            writer->sinks.failed(writer->sinks.context, rc);
        }
        /* After this nothing is committed but the times. */
        if (!writer->dead && writer->store.archive != NULL) {
            archive_freeze(writer->store.archive);
        }
        /* A later batch must not be committed when this one was not: its WARC records would stand
         * behind bytes that the next start cuts off. */
        writer->dead = true;
        LOG_WARN("ingest", "results dropped, their URLs stay scheduled", "results=%zu", n_pages);
    }
    (void)crawl_log_flush(writer->log);
}

/* ---- the outside ---- */

Result ingest_writer_init(IngestWriter *writer, const IngestOptions *options,
                          const IngestStore *store, const IngestSinks *sinks, CrawlLog *log,
                          Stats *stats, Queue *waiting)
{
    *writer = (IngestWriter){.options = *options,
                             .store = *store,
                             .sinks = *sinks,
                             .log = log,
                             .stats = stats,
                             .waiting = waiting};
    MDB_txn *txn = NULL;
    map_init(&writer->crowds);
    map_init(&writer->walled);
    host_places_init(&writer->places);
    mutex_init(&writer->live_mutex, RANK_TABLE);
    writer->live = options->config;
    mutex_init(&writer->stop_mutex, RANK_TABLE);
    condition_init(&writer->stop_changed);
    Result rc = page_db_txn_begin(store->db, true, &txn) == 0 ? RESULT_OK : RESULT_IO;
    if (rc == RESULT_OK) {
        void *const records[] = {[KEPT_TOTALS] = &writer->totals,
                                 [KEPT_REVISITS] = &writer->visits,
                                 [KEPT_WALLS] = &writer->walls,
                                 [KEPT_LOG_SERIAL] = &writer->log_serial};
        for (size_t i = 0; rc == RESULT_OK && i < sizeof records / sizeof *records; i++) {
            if (records[i] != NULL) {
                rc = ingest_kept_read(txn, store->crawl, (IngestKept)i, records[i]);
            }
        }
        /* Before there is a thread: the line of status and the limits begin with what earlier runs
         * have done. */
        ingest_writer_publish_one(writer, txn);
        page_db_txn_abort(store->db, txn);
    }
    if (options->admission != NULL) {
        shared_reader_open(&writer->admission, options->admission);
    }
    if (rc == RESULT_OK && options->traps.fetches > 0) {
        rc = trap_yield_new(&writer->traps, &options->traps);
    }
    return rc;
}

void ingest_writer_destroy(IngestWriter *writer)
{
    condition_destroy(&writer->stop_changed);
    mutex_destroy(&writer->stop_mutex);
    shared_reader_close(&writer->admission);
    mutex_destroy(&writer->live_mutex);
    trap_yield_delete(writer->traps);
    map_destroy(&writer->crowds);
    map_destroy(&writer->walled);
    host_places_destroy(&writer->places);
}

Result ingest_writer_seeds(IngestWriter *writer, const LinkInfo *seeds, const char *const *tags,
                           size_t n, uint64_t *added)
{
    MDB_txn *txn = NULL;
    Batch batch;
    if (page_db_txn_begin(writer->store.db, false, &txn) != 0) {
        return RESULT_IO;
    }
    /* A batch without pages: seeds take the way of links. It is tried once; who gave them is
     * told. */
    Result rc = batch_init(&batch, &writer->options, &writer->store, writer->log, &writer->totals,
                           txn, NULL, 0);
    batch.admission = admission_of_now(writer);
    if (rc == RESULT_OK && writer->cluster != NULL) {
        rc = ingest_cluster_begin(writer->cluster, &batch);
    }
    if (rc == RESULT_OK) {
        rc = page_way_seed(&batch, seeds, tags, n, added);
    }
    if (rc == RESULT_OK) {
        rc = batch_finish(&batch);
    }
    if (rc != RESULT_OK) {
        page_db_txn_abort(writer->store.db, txn);
    } else {
        rc = page_db_result(page_db_txn_commit(writer->store.db, txn));
    }
    if (writer->cluster != NULL) {
        ingest_cluster_end(writer->cluster, &batch, rc == RESULT_OK);
    }
    if (rc == RESULT_OK) {
        writer->totals = batch.totals;
        ingest_writer_publish(writer);
    }
    batch_destroy(&batch);
    return rc;
}

void ingest_writer_abandon(IngestWriter *writer)
{
    mutex_lock(&writer->stop_mutex);
    writer->abandon = true;
    condition_broadcast(&writer->stop_changed);
    mutex_unlock(&writer->stop_mutex);
}
