#include "ingest/ingest.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "page/discovery.h"
#include "ingest/ingest_batch.h"
#include "ingest/ingest_patience.h"
#include "ingest/ingest_sieve.h"
#include "ingest/ingest_totals.h"
#include "ingest/revisits.h"

#define QUEUE_CAPACITY 2048u
#define TAKE           8u /* pages from the queue at a time: a batch passes its links by so many */
#define STUCK_RETRY_MS 1000
#define MAP_ROOM_BYTES ((size_t)1 << 30)

struct Ingest {
    IngestOptions options;
    IngestStore store;
    IngestSinks sinks;
    CrawlLog *log;
    Stats *stats;
    CrawlTotals totals; /* ingest thread */
    RevisitTotals visits;
    Revisits *revisits; /* NULL: schedule.mode = once */
    TrapYield *traps;   /* NULL = off; ingest thread */
    IngestSieve *sieve; /* NULL = off */
    Queue queue;
    Thread thread;
    ParsedPage **pages; /* the batch being collected */
    size_t n_pages;
    MonoTime last_batch; /* when the queue was last emptied */
    IngestPatience patience;
    IngestChore chores[INGEST_MAX_CHORES];
    size_t n_chores;
    size_t next_chore; /* has its turn */
    bool dead; /* a batch was dropped; so is what follows, since the archive ends before it */
    Mutex stop_mutex; /* guards abandon */
    Condition stop_changed;
    bool abandon;
};

/* ---- crawl.log
 * ------------------------------------------------------------------------------------- */

/* The URL of the page with this index; NULL when there is none. */
static const char *url_of(const Ingest *ingest, MDB_txn *txn, uint64_t index, Buffer *url)
{
    PageRef ref;
    buffer_reset(url);
    return index != PAGE_DB_NO_INDEX && page_db_get(ingest->store.db, txn, index, &ref, url) == 0
               ? buffer_string(url)
               : NULL;
}

static void write_log(Ingest *ingest, const Batch *batch)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(ingest->store.db, true, &txn) != 0) {
        return;
    }
    Buffer path;
    Buffer referrer;
    Buffer original;
    Buffer near;
    buffer_init(&near, BUFFER_NO_LIMIT);
    buffer_init(&path, BUFFER_NO_LIMIT);
    buffer_init(&referrer, BUFFER_NO_LIMIT);
    buffer_init(&original, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < batch->n_pages; i++) {
        const ParsedPage *page = batch->pages[i];
        if (page->fetch->kind == FETCHED_DNS) {
            continue; /* no fetch */
        }
        buffer_reset(&path);
        buffer_reset(&referrer);
        if (page->fetch->request.has_page) {
            discovery_find(ingest->store.db, txn, page->fetch->request.index, &path, &referrer);
        } else {
            (void)buffer_append_char(&path, 'P');
        }
        crawl_log_fetch(ingest->log, page, buffer_string(&path), buffer_string(&referrer),
                        url_of(ingest, txn, batch->duplicate_of[i], &original),
                        url_of(ingest, txn, batch->near_of[i], &near));
    }
    buffer_destroy(&path);
    buffer_destroy(&referrer);
    buffer_destroy(&original);
    buffer_destroy(&near);
    page_db_txn_abort(ingest->store.db, txn);
}

/* ---- one commit
 * ---------------------------------------------------------------------------------------- */

static void publish(Ingest *ingest, MDB_txn *txn)
{
    Stats *stats = ingest->stats;
    const CrawlTotals *totals = &ingest->totals;
    uint64_t queued = 0;
    uint64_t hosts = 0;
    (void)schedule_counts(ingest->store.schedule, txn, &queued, &hosts);
    stats_set(&stats->pages, totals->pages);
    stats_set(&stats->fetches, totals->fetches);
    stats_set(&stats->bytes, totals->bytes);
    for (size_t i = 0; i < 6; i++) {
        stats_set(&stats->by_status[i], totals->by_status[i]);
    }
    stats_set(&stats->duplicates, totals->duplicates);
    stats_set(&stats->throttled, totals->throttled);
    stats_set(&stats->robots_denied, totals->refused[REFUSED_ROBOTS]);
    stats_set(&stats->urls_seen, page_db_n_pages(ingest->store.db, txn));
    stats_set(&stats->hosts, page_db_n_hosts(ingest->store.db, txn));
    stats_set(&stats->urls_queued, queued);
    if (ingest->sieve != NULL) {
        ingest_sieve_publish(ingest->sieve);
    }
    if (ingest->revisits != NULL) {
        revisits_publish(ingest->revisits, txn, &ingest->visits, stats);
    }
}

static void publish_now(Ingest *ingest)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(ingest->store.db, true, &txn) == 0) {
        publish(ingest, txn);
        page_db_txn_abort(ingest->store.db, txn);
    }
}

static void note_yield(Ingest *ingest, const Batch *batch)
{
    static const char *const told[] = {
        [TRAP_FREE] = "pattern is free again: its pages bring new content",
        [TRAP_THROTTLED] = "pattern throttled: its pages bring nothing new",
        [TRAP_PARKED] = "pattern parked: its pages bring nothing new",
    };
    char pattern[512];
    TrapState state = TRAP_FREE;
    for (size_t i = 0; ingest->traps != NULL && i < batch->n_pages; i++) {
        const ParsedPage *page = batch->pages[i];
        if (page->parsed && page->fetch->answer.status == 200 && !page->fetch->request.again &&
            trap_yield_note(ingest->traps, page->fetch->request.url,
                            strlen(page->fetch->request.url),
                            batch->duplicate_of[i] == PAGE_DB_NO_INDEX, page->trap_hash, &state,
                            pattern, sizeof pattern)) {
            LOG_INFO("ingest", told[state], "pattern=%s", pattern);
        }
    }
}

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

static Result run_chore(Ingest *ingest, Batch *batch, const IngestChore *chore)
{
    MonoTime start = mono_now();
    int64_t cpu_ns = cpu_thread_ns();
    int64_t most_ms = batch->n_pages > 0 ? INGEST_RIDE_MS : INGEST_CHORE_MS;
    Result rc = chore->run(chore->context, batch, mono_add_ms(start, most_ms));
    raise_to(&ingest->stats->chore_cpu_max_us, (uint64_t)(cpu_thread_ns() - cpu_ns) / 1000);
    if (batch->n_pages > 0) {
        raise_to(&ingest->stats->chore_wait_max_us, us_since(start));
    }
    return rc;
}

/* What a transaction is opened for: the collected pages, a piece of a chore, or both. */
static Result work(Ingest *ingest, Batch *batch, const IngestChore *chore)
{
    Result rc = batch->n_pages > 0 ? batch_apply(batch) : RESULT_OK;
    return rc == RESULT_OK && chore != NULL ? run_chore(ingest, batch, chore) : rc;
}

/* After a commit: everybody who waits for it. */
static void tell(Ingest *ingest, const Batch *batch)
{
    CommitNotice *notice = batch_notice(batch);
    ingest->totals = batch->totals;
    if (batch->visits.visits > ingest->visits.visits) {
        stats_set(&ingest->stats->revisit_due_ms, (uint64_t)(batch->late_s * 1e3));
    }
    ingest->visits = batch->visits;
    if (ingest->store.archive != NULL) {
        archive_committed(ingest->store.archive);
    }
    publish_now(ingest);
    if (batch->n_pages > 0) {
        write_log(ingest, batch);
        note_yield(ingest, batch);
    }
    if (notice != NULL) {
        ingest->sinks.committed(ingest->sinks.context, notice);
    }
    if (batch->hungry && (batch->n_pages > 0 || batch->woke)) {
        ingest_patience_note(&ingest->patience, ingest->options.batch_time_ms, batch->woke);
    }
    stats_add(&ingest->stats->commits, 1);
}

/* Whether the links of the collected pages go through the sieve. */
static bool defers(const Ingest *ingest, bool hungry)
{
    return ingest->sieve != NULL &&
           sieve_is_due_for(ingest->sieve->sieve, stats_get(&ingest->stats->urls_seen), hungry);
}

/* Tries to commit the collected pages and a piece of a chore (NULL: none) once. */
static Result commit_once(Ingest *ingest, const IngestChore *chore)
{
    MDB_txn *txn = NULL;
    Batch batch;
    MonoTime start = mono_now();
    if (page_db_txn_begin(ingest->store.db, false, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = batch_init(&batch, &ingest->options, &ingest->store, ingest->log, &ingest->totals,
                           txn, ingest->pages, ingest->n_pages);
    batch.traps = ingest->traps;
    batch.revisits = ingest->revisits;
    batch.sieve = ingest->sieve;
    batch.hungry = ingest->sinks.hungry(ingest->sinks.context);
    batch.defers = ingest->n_pages > 0 && defers(ingest, batch.hungry);
    batch.visits = ingest->visits;
    if (rc == RESULT_OK) {
        rc = work(ingest, &batch, chore);
    }
    uint64_t refused[REFUSALS] = {0};
    if (rc == RESULT_OK) {
        /* Refusals of the parsing threads become part of what is saved. */
        for (size_t i = 0; i < REFUSALS; i++) {
            refused[i] =
                atomic_exchange_explicit(&ingest->stats->refused[i], 0, memory_order_relaxed);
            batch.totals.refused[i] += refused[i];
        }
        rc = batch_finish(&batch);
    }
    if (rc != RESULT_OK) {
        page_db_txn_abort(ingest->store.db, txn);
    } else {
        thread_step("committing");
        rc = page_db_txn_commit(ingest->store.db, txn) == 0 ? RESULT_OK : RESULT_FULL;
    }
    if (ingest->sieve != NULL) {
        sieve_settle(ingest->sieve->sieve, rc == RESULT_OK);
    }
    if (rc == RESULT_OK) {
        tell(ingest, &batch);
    } else {
        for (size_t i = 0; i < REFUSALS; i++) {
            stats_add(&ingest->stats->refused[i], refused[i]);
        }
    }
    batch_destroy(&batch);
    if (chore != NULL) {
        chore->ended(chore->context, rc);
    }
    uint64_t us = us_since(start);
    stats_add(&ingest->stats->writer_busy_us, us);
    if (ingest->n_pages == 0) {
        raise_to(&ingest->stats->chore_max_us, us);
        if (queue_count(&ingest->queue) > 0) { /* came meanwhile: waits for all of it at most */
            raise_to(&ingest->stats->chore_wait_max_us, us);
        }
    }
    return rc;
}

/* Waits a moment for room on the disk; false when the batch is to be abandoned. */
static bool wait_for_room(Ingest *ingest)
{
    MonoTime until = mono_add_ms(mono_now(), STUCK_RETRY_MS);
    mutex_lock(&ingest->stop_mutex);
    while (!ingest->abandon &&
           condition_wait_until(&ingest->stop_changed, &ingest->stop_mutex, until)) {
    }
    bool go_on = !ingest->abandon;
    mutex_unlock(&ingest->stop_mutex);
    return go_on;
}

/* Is it the map that is full, and not the disk? Then growing it helps. No batch needs more than
 * MAP_ROOM_BYTES. */
static bool map_is_full(Ingest *ingest)
{
    MDB_envinfo info;
    MDB_stat stat;
    MDB_env *env = page_db_env(ingest->store.db);
    return mdb_env_info(env, &info) == MDB_SUCCESS && mdb_env_stat(env, &stat) == MDB_SUCCESS &&
           info.me_mapsize - (info.me_last_pgno + 1) * stat.ms_psize < MAP_ROOM_BYTES;
}

/* After this nothing is committed but the times. */
static void drop_batch(Ingest *ingest)
{
    if (!ingest->dead && ingest->store.archive != NULL) {
        archive_freeze(ingest->store.archive);
    }
    ingest->dead = true;
    LOG_WARN("ingest", "results dropped, their URLs stay scheduled", "results=%zu",
             ingest->n_pages);
}

/* Until the pages (and the piece of a chore) are committed or given up. */
static Result commit_patiently(Ingest *ingest, const IngestChore *chore)
{
    Result rc = commit_once(ingest, chore);
    if (rc == RESULT_FULL && map_is_full(ingest) && page_db_grow(ingest->store.db) == 0) {
        rc = commit_once(ingest, chore);
    }
    bool stuck = false;
    while (rc == RESULT_FULL || rc == RESULT_MEMORY) {
        if (!stuck) {
            LOG_ERROR("ingest", "cannot commit, the crawl waits", "results=%zu error=\"%s\"",
                      ingest->n_pages, result_name(rc));
            ingest->sinks.stuck(ingest->sinks.context, true);
            stuck = true;
        }
        if (!wait_for_room(ingest)) {
            return rc;
        }
        if (rc == RESULT_FULL && map_is_full(ingest)) {
            (void)page_db_grow(ingest->store.db);
        }
        rc = commit_once(ingest, chore);
    }
    if (stuck) {
        LOG_WARN("ingest", rc == RESULT_OK ? "commits work again" : "cannot commit",
                 "results=%zu error=\"%s\"", ingest->n_pages, result_name(rc));
        ingest->sinks.stuck(ingest->sinks.context, false);
    }
    return rc;
}

/* The pages that were collected, and a piece of a chore (NULL: none). */
static void commit(Ingest *ingest, const IngestChore *chore)
{
    thread_step("writing");
    Result rc = ingest->dead ? RESULT_CLOSED : commit_patiently(ingest, chore);
    if (rc != RESULT_OK) {
        if (!ingest->dead && rc != RESULT_FULL && rc != RESULT_MEMORY) {
            LOG_ERROR("ingest", "cannot commit, the crawl ends", "results=%zu error=\"%s\"",
                      ingest->n_pages, result_name(rc));
            ingest->sinks.failed(ingest->sinks.context);
        }
        drop_batch(ingest);
    }
    (void)crawl_log_flush(ingest->log);
    for (size_t i = 0; i < ingest->n_pages; i++) {
        parsed_page_delete(ingest->pages[i]);
    }
    ingest->n_pages = 0;
}

/* ---- thread
 * ------------------------------------------------------------------------------------------------
 */

/* A chore whose time has come, or NULL; *until = when the first one's comes or came. Those that are
 * due take turns. */
static const IngestChore *due_chore(Ingest *ingest, MonoTime *until)
{
    MonoTime now = mono_now();
    *until = MONO_NEVER;
    for (size_t i = 0; i < ingest->n_chores && !ingest->dead; i++) {
        size_t place = (ingest->next_chore + i) % ingest->n_chores;
        MonoTime due = ingest->chores[place].due(ingest->chores[place].context);
        until->ns = due.ns < until->ns ? due.ns : until->ns;
        if (due.ns <= now.ns) {
            ingest->next_chore = place + 1;
            return &ingest->chores[place];
        }
    }
    return NULL;
}

/* Takes up to n more pages from the queue; how many links they have is added to *links. */
static Result take(Ingest *ingest, size_t n, MonoTime deadline, size_t *links)
{
    size_t room = ingest->options.batch_pages - ingest->n_pages;
    size_t taken = 0;
    Result rc = queue_pop(&ingest->queue, (void **)(ingest->pages + ingest->n_pages),
                          n < room ? n : room, &taken, deadline);
    for (size_t i = 0; rc == RESULT_OK && i < taken; i++) {
        *links += ingest->pages[ingest->n_pages++]->n_links;
    }
    return rc;
}

/* Then nothing more comes before something is committed. */
static bool parsing_waits(const Ingest *ingest)
{
    return ingest->options.results != NULL && !byte_gate_is_open(ingest->options.results);
}

/* How long a batch is collected. */
static int64_t patience_ms(const Ingest *ingest)
{
    return ingest_patience_ms(&ingest->patience, ingest->options.batch_time_ms,
                              ingest->sinks.hungry(ingest->sinks.context));
}

/* Whether a chore may go first: no result waits longer for its commit than it would anyway. */
static bool may_wait(Ingest *ingest)
{
    return queue_count(&ingest->queue) < ingest->options.batch_pages && !parsing_waits(ingest) &&
           mono_before(mono_now(), mono_add_ms(ingest->last_batch, patience_ms(ingest)));
}

/* Collects one batch: until it is full, its oldest page is old enough, or the queue is closed.
 * Without patience what is there is the batch. */
static Result collect(Ingest *ingest, MonoTime until, bool patient)
{
    size_t links = 0;
    thread_step("waiting");
    Result rc = take(ingest, 1, until, &links);
    if (rc != RESULT_OK) {
        return rc;
    }
    MonoTime deadline = mono_add_ms(mono_now(), patient ? patience_ms(ingest) : 0);
    while (rc == RESULT_OK && ingest->n_pages < ingest->options.batch_pages &&
           links < ingest->options.batch_links) {
        rc = take(ingest, TAKE, parsing_waits(ingest) ? ((MonoTime){0}) : deadline, &links);
    }
    return rc == RESULT_TIMEOUT ? RESULT_OK : rc;
}

static void check_end(Ingest *ingest)
{
    bool held = false;
    for (size_t i = 0; i < ingest->n_chores; i++) {
        held = held || ingest->chores[i].holds(ingest->chores[i].context);
    }
    if (!held && stats_get(&ingest->stats->urls_queued) == 0 && queue_count(&ingest->queue) == 0) {
        ingest->sinks.finished(ingest->sinks.context);
    }
}

/* What a stop does not leave to the next start, if there is time. */
static void finish_chores(Ingest *ingest)
{
    MonoTime until = mono_add_ms(mono_now(), ingest->options.stop_ms);
    for (size_t i = 0; i < ingest->n_chores; i++) {
        const IngestChore *chore = &ingest->chores[i];
        while (chore->at_stop && !ingest->dead && chore->holds(chore->context) &&
               mono_before(mono_now(), until)) {
            commit(ingest, chore);
        }
    }
}

/* A batch, a piece of a chore, or both. RESULT_CLOSED: there will be no more. */
static Result turn(Ingest *ingest)
{
    MonoTime until;
    Result rc = RESULT_OK;
    const IngestChore *chore = due_chore(ingest, &until);
    bool rides = chore != NULL && chore->rides;
    if (rides) {
        until = mono_add_ms(mono_now(), patience_ms(ingest));
    }
    if (chore == NULL || rides || !may_wait(ingest)) {
        rc = collect(ingest, until, chore == NULL || rides);
        if (ingest->n_pages > 0) {
            commit(ingest, rides ? chore : NULL);
            chore = rides ? NULL : chore;
        }
        ingest->last_batch = mono_now();
    }
    if (chore != NULL && rc != RESULT_CLOSED) {
        commit(ingest, chore);
    }
    return rc;
}

static void *ingest_main(void *argument)
{
    Ingest *ingest = argument;
    check_end(ingest);
    Result rc = RESULT_OK;
    while (rc != RESULT_CLOSED) {
        rc = turn(ingest);
        check_end(ingest);
    }
    finish_chores(ingest);
    return NULL;
}

/* ---- the outside
 * --------------------------------------------------------------------------------------------- */

IngestOptions ingest_options(const Config *config)
{
    return (IngestOptions){.batch_pages = (size_t)config->store_batch_pages,
                           .batch_links = (size_t)config->store_batch_links,
                           .queue = QUEUE_CAPACITY,
                           .batch_time_ms = config->store_batch_time,
                           .stop_ms = config->crawl_grace,
                           .order = (ScheduleOrder)config->schedule_order,
                           .levels = (unsigned)config->schedule_levels,
                           .depth_factor = config->score_depth_factor,
                           .redirect_weight = config->score_redirect,
                           .max_depth = (uint64_t)config->scope_depth,
                           .max_redirects = (unsigned)config->fetch_max_redirects,
                           .pages_per_host = (uint64_t)config->limits_pages_per_host,
                           .follow_duplicates = config->parse_follow_duplicates,
                           .near_duplicates = config->parse_near_duplicates != 0,
                           .traps = {.fetches = (uint32_t)config->limits_trap_fetches,
                                     .yield = config->limits_trap_yield,
                                     .patterns = (size_t)config->limits_trap_patterns}};
}

Result ingest_new(Ingest **out, const IngestOptions *options, const IngestStore *store,
                  const IngestSinks *sinks, CrawlLog *log, Stats *stats)
{
    Ingest *ingest = calloc(1, sizeof *ingest);
    if (ingest == NULL) {
        return RESULT_MEMORY;
    }
    ingest->options = *options;
    ingest->store = *store;
    ingest->sinks = *sinks;
    ingest->log = log;
    ingest->stats = stats;
    ingest->pages = calloc(options->batch_pages, sizeof(ParsedPage *));
    MDB_txn *txn = NULL;
    Result rc = ingest->pages == NULL ? RESULT_MEMORY : queue_init(&ingest->queue, options->queue);
    if (rc != RESULT_OK) {
        free(ingest->pages);
        free(ingest);
        return rc;
    }
    mutex_init(&ingest->stop_mutex, RANK_TABLE);
    condition_init(&ingest->stop_changed);
    rc = page_db_txn_begin(store->db, true, &txn) == 0 ? RESULT_OK : RESULT_IO;
    if (rc == RESULT_OK) {
        rc = ingest_read_totals(txn, store->crawl, &ingest->totals);
        rc = rc == RESULT_OK ? ingest_read_revisit_totals(txn, store->crawl, &ingest->visits) : rc;
        publish(ingest, txn);
        page_db_txn_abort(store->db, txn);
    }
    if (rc == RESULT_OK && options->traps.fetches > 0) {
        rc = trap_yield_new(&ingest->traps, &options->traps);
    }
    if (rc != RESULT_OK) {
        ingest_delete(ingest);
        return rc;
    }
    *out = ingest;
    return RESULT_OK;
}

void ingest_add_chore(Ingest *ingest, const IngestChore *chore)
{
    ingest->chores[ingest->n_chores++] = *chore;
}

void ingest_set_revisits(Ingest *ingest, Revisits *revisits)
{
    IngestChore chore = revisits_chore(revisits);
    ingest->revisits = revisits;
    ingest_add_chore(ingest, &chore);
    publish_now(ingest);
}

void ingest_set_sieve(Ingest *ingest, IngestSieve *sieve)
{
    ingest->sieve = sieve;
    IngestChore chore = ingest_sieve_chore(sieve);
    ingest_add_chore(ingest, &chore);
    publish_now(ingest);
}

void ingest_wake(Ingest *ingest)
{
    queue_wake(&ingest->queue);
}

Result ingest_start(Ingest *ingest)
{
    return thread_start(&ingest->thread, "ingest", ingest_main, ingest);
}

void ingest_push(Ingest *ingest, ParsedPage *page)
{
    if (queue_push(&ingest->queue, page) != RESULT_OK) {
        parsed_page_delete(page); /* after the end: its URL is still scheduled */
    }
}

size_t ingest_waiting(Ingest *ingest)
{
    return queue_count(&ingest->queue);
}

Result ingest_seeds(Ingest *ingest, const LinkInfo *seeds, size_t n, uint64_t *added)
{
    MDB_txn *txn = NULL;
    Batch batch;
    if (page_db_txn_begin(ingest->store.db, false, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = batch_init(&batch, &ingest->options, &ingest->store, ingest->log, &ingest->totals,
                           txn, NULL, 0);
    if (rc == RESULT_OK) {
        rc = batch_seed(&batch, seeds, n, added);
    }
    if (rc == RESULT_OK) {
        rc = batch_finish(&batch);
    }
    if (rc != RESULT_OK) {
        page_db_txn_abort(ingest->store.db, txn);
    } else if (page_db_txn_commit(ingest->store.db, txn) != 0) {
        rc = RESULT_FULL;
    }
    if (rc == RESULT_OK) {
        ingest->totals = batch.totals;
        publish_now(ingest);
    }
    batch_destroy(&batch);
    return rc;
}

void ingest_abandon(Ingest *ingest)
{
    mutex_lock(&ingest->stop_mutex);
    ingest->abandon = true;
    condition_broadcast(&ingest->stop_changed);
    mutex_unlock(&ingest->stop_mutex);
}

void ingest_stop(Ingest *ingest)
{
    queue_close(&ingest->queue);
    thread_join(&ingest->thread);
}

void ingest_delete(Ingest *ingest)
{
    if (ingest != NULL) {
        queue_destroy(&ingest->queue);
        condition_destroy(&ingest->stop_changed);
        mutex_destroy(&ingest->stop_mutex);
        trap_yield_delete(ingest->traps);
        free(ingest->pages);
        free(ingest);
    }
}

const CrawlTotals *ingest_totals(const Ingest *ingest)
{
    return &ingest->totals;
}

Result ingest_save_times(Ingest *ingest, uint64_t elapsed_ms, uint64_t cpu_ms)
{
    ingest->totals.elapsed_ms += elapsed_ms;
    ingest->totals.cpu_ms += cpu_ms;
    uint64_t added = 0;
    return ingest_seeds(ingest, NULL, 0, &added);
}
