#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "crawl_commit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "ingest/batch/ingest_batch.h"
#include "ingest/ingest.h"
#include "ingest/page/page_way.h"
#include "store/tables/host_rows.h"

#define MAX_AGE_MS   60000
#define MERGE_MS     40
#define CHORE_LOOKS  100u /* at the clock, in a piece of a chore */
#define SIEVE_SUFFIX "/" SIEVE_DIRECTORY

/* ---- the store
 * ---------------------------------------------------------------------------------------- */

static bool open_tables(IngestStore *store, size_t journal_bytes)
{
    journal_set_rows(page_db_journal(store->db), journal_bytes / JOURNAL_BYTES_A_ROW);
    MDB_txn *txn = NULL;
    return page_db_txn_begin(store->db, false, &txn) == 0 &&
           schedule_open(&store->schedule, txn, NULL, page_db_journal(store->db)) == RESULT_OK &&
           mdb_dbi_open(txn, WAIT_TABLE, MDB_CREATE, &store->waits) == 0 &&
           host_rows_open(&store->hosts, txn, page_db_journal(store->db)) == RESULT_OK &&
           body_rows_open(&store->bodies, txn, page_db_journal(store->db)) == RESULT_OK &&
           mdb_dbi_open(txn, "crawl", MDB_CREATE, &store->crawl) == 0 &&
           page_db_txn_commit(store->db, txn) == 0;
}

bool crawl_is_hungry(const Crawl *crawl)
{
    return workbench_front(&crawl->workbench) + crawl->workbench.n_acquired <
           crawl->options.connections;
}

static bool is_hungry(void *context)
{
    return crawl_is_hungry(context);
}

static MonoTime virtual_now(void *context)
{
    const Crawl *crawl = context;
    return crawl->now;
}

static void publish(Crawl *crawl, MDB_txn *txn)
{
    uint64_t entries = 0;
    uint64_t hosts = 0;
    (void)schedule_counts(crawl->store.schedule, txn, &entries, &hosts);
    stats_set(&crawl->stats.urls_queued, entries);
    stats_set(&crawl->stats.urls_seen, page_db_n_pages(crawl->store.db, txn));
}

static void publish_now(Crawl *crawl)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(crawl->store.db, true, &txn) == 0) {
        publish(crawl, txn);
        page_db_txn_abort(crawl->store.db, txn);
    }
}

static bool open_sieve(Crawl *crawl, MDB_txn *txn)
{
    char path[4096];
    if (crawl->options.sieve_bytes == 0) {
        return true;
    }
    (void)snprintf(path, sizeof path, "%s" SIEVE_SUFFIX, crawl->options.directory);
    SieveOptions options = {.directory = path,
                            .db = crawl->store.db,
                            .crawl = crawl->store.crawl,
                            .memory_bytes = crawl->options.sieve_bytes,
                            .max_age_ms = MAX_AGE_MS,
                            .least_urls = crawl->options.sieve_least};
    crawl->sieve = (IngestSieve){
        .context = crawl, .hungry = is_hungry, .now = virtual_now, .stats = &crawl->stats};
    return sieve_open(&crawl->sieve.sieve, &options, txn) == RESULT_OK;
}

bool crawl_store_of(Crawl *crawl)
{
    PageDBOptions options = {.map_bytes = crawl->options.map_bytes, .no_sync = true};
    MDB_txn *txn = NULL;
    if (page_db_open(&crawl->store.db, crawl->options.directory, &options) != 0 ||
        !open_tables(&crawl->store, crawl->options.journal_bytes) ||
        page_db_txn_begin(crawl->store.db, true, &txn) != 0) {
        return false;
    }
    bool ok = ingest_kept_read(txn, crawl->store.crawl, KEPT_TOTALS, &crawl->totals) == RESULT_OK &&
              open_sieve(crawl, txn);
    publish(crawl, txn);
    page_db_txn_abort(crawl->store.db, txn);
    return ok;
}

void crawl_store_drop(Crawl *crawl, bool remove)
{
    if (crawl->store.db == NULL) {
        return;
    }
    sieve_close(crawl->sieve.sieve);
    crawl->sieve.sieve = NULL;
    if (remove && crawl->options.sieve_bytes > 0) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s" SIEVE_SUFFIX, crawl->options.directory);
        (void)rmdir(path);
    }
    schedule_close(crawl->store.schedule);
    host_rows_close(crawl->store.hosts);
    body_rows_close(crawl->store.bodies);
    page_db_set_persist(crawl->store.db, !remove);
    (void)page_db_delete(crawl->store.db);
    crawl->store = (IngestStore){.db = NULL};
}

/* ---- results
 * ------------------------------------------------------------------------------------------ */

/* What a parsing thread would have found: links, hops and their bytes in one allocation. */
static bool parse(const Crawl *crawl, ParsedPage *parsed, WorldPage page)
{
    WorldLink links[WORLD_LINKS_MAX];
    const FetchResult *fetch = parsed->fetch;
    WorldReply reply = world_fetch(crawl->world, page, fetch->cost.start.ns / 1000000);
    size_t n = 0;
    if (fetch->answer.status == 200) {
        n = world_links(crawl->world, page, links);
        parsed->hashes.body[0] = hash_mix(reply.content);
        parsed->hashes.body[1] = hash_mix(reply.content + 1);
    } else if (fetch->answer.status == 301) {
        links[n++] = (WorldLink){.to = {page.host, reply.location}, .score = 1.0f};
    }
    char *memory = malloc(n * (sizeof *parsed->links.list + 1 + WORLD_URL_BYTES) + 1);
    if (memory == NULL) {
        return false;
    }
    parsed->links.list = (LinkInfo *)(void *)memory;
    parsed->links.hops = (uint8_t *)memory + n * sizeof *parsed->links.list;
    parsed->links.bytes = memory + n * (sizeof *parsed->links.list + 1);
    parsed->links.n = n;
    parsed->parsed = true;
    for (size_t i = 0; i < n; i++) {
        char *url = parsed->links.bytes + i * WORLD_URL_BYTES;
        (void)world_url(crawl->world, links[i].to, url);
        parsed->links.list[i] = (LinkInfo){.url = url, .score = links[i].score};
        parsed->links.hops[i] = fetch->answer.status == 301 ? 'R' : 'L';
    }
    return true;
}

void crawl_add_result(Crawl *crawl, FetchResult *result)
{
    ParsedPage *parsed = parsed_page_new(result);
    WorldPage page;
    bool ok = parsed != NULL && crawl->n_pages < CRAWL_PAGES_MAX;
    if (ok && result->request.has_page && result->kind == FETCHED_PAGE && result->final &&
        result->answer.status >= 200) {
        ok = world_locate(crawl->world, result->request.url, strlen(result->request.url), &page) &&
             parse(crawl, parsed, page);
    }
    if (!ok) {
        (void)fprintf(stderr, "sim: a result cannot be taken\n");
        crawl->broken = true;
        return;
    }
    if (crawl->n_pages == 0 && (crawl->share == NULL || !crawl->share->waits)) {
        crawl->batch_since = crawl->now;
    }
    crawl->pages[crawl->n_pages++] = parsed;
}

void crawl_host_news(Crawl *crawl, const VisitState *visit_state, FetchClass why, int64_t wait_ms,
                     bool drop)
{
    FetchResult *result = fetch_result_new(FETCHED_NOTHING);
    if (result == NULL) {
        crawl->broken = true;
        return;
    }
    result->host.id = visit_state->identity.host;
    result->answer.class = why;
    result->answer.status = fetch_status_of_class(why);
    result->cost.wall_start = crawl_wall(crawl);
    result->cost.start = crawl->now;
    result->cost.end = crawl->now;
    result->host.drop = drop;
    result->host.wait_ms = wait_ms;
    result->host.health = visit_state->politeness.health;
    uint32_t number = 0;
    if (drop && world_host(crawl->world, visit_state->identity.hostname, &number)) {
        audit_given_up(crawl->audit, number);
    }
    crawl_add_result(crawl, result);
}

/* ---- commits
 * ------------------------------------------------------------------------------------------ */

/* The audit learns what is now on disk for good. */
static void tell_audit(Crawl *crawl, const Batch *batch)
{
    for (size_t i = 0; i < batch->n_pages; i++) {
        const ParsedPage *parsed = batch->pages[i];
        const FetchResult *fetch = parsed->fetch;
        WorldPage page;
        if (fetch->request.url == NULL ||
            !world_locate(crawl->world, fetch->request.url, strlen(fetch->request.url), &page)) {
            continue; /* host news */
        }
        if (fetch->host.drop || fetch->host.park) {
            audit_given_up(crawl->audit, page.host);
        }
        audit_committed(crawl->audit, page, fetch, fetch_result_settles(fetch));
        bool followed = fetch_result_settles(fetch) && fetch->answer.status >= 100 &&
                        batch->duplicate_of[i] == PAGE_DB_NO_INDEX;
        for (size_t j = 0; followed && j < parsed->links.n; j++) {
            WorldPage to;
            if (world_locate(crawl->world, parsed->links.list[j].url,
                             strlen(parsed->links.list[j].url), &to)) {
                audit_known(crawl->audit, to);
            }
        }
    }
}

static void check_finished(Crawl *crawl)
{
    MDB_txn *txn = NULL;
    uint64_t entries = 1;
    uint64_t hosts = 0;
    if (page_db_txn_begin(crawl->store.db, true, &txn) == 0) {
        (void)schedule_counts(crawl->store.schedule, txn, &entries, &hosts);
        publish(crawl, txn);
        page_db_txn_abort(crawl->store.db, txn);
    }
    bool holds = crawl->sieve.sieve != NULL && sieve_holds(crawl->sieve.sieve);
    crawl->finished = crawl->share == NULL && entries == 0 && crawl->n_pages == 0 && !holds;
}

bool crawl_is_quiet(const Crawl *crawl)
{
    const CrawlShare *share = crawl->share;
    bool holds = false;
    for (size_t i = 0; i < share->n_chores; i++) {
        holds = holds || ingest_chore_holds(&share->chores[i]);
    }
    return !holds && crawl->n_pages == 0 && stats_get(&crawl->stats.urls_queued) == 0 &&
           ingest_cluster_outbox_blocks(share->cluster) == 0;
}

MonoTime crawl_look_at_chores(Crawl *crawl)
{
    CrawlShare *share = crawl->share;
    MonoTime next = MONO_NEVER;
    for (size_t i = 0; share != NULL && i < share->n_chores; i++) {
        MonoTime due = share->chores[i].due(share->chores[i].context);
        if (mono_before(crawl->now, due)) {
            next = mono_before(due, next) ? due : next;
        } else if (!share->waits) {
            crawl->batch_since = crawl->n_pages == 0 ? crawl->now : crawl->batch_since;
            share->waits = true;
        }
    }
    return next;
}

/* As due_chore of ingest.c: those that are due take turns. */
static const IngestChore *due_chore(Crawl *crawl)
{
    CrawlShare *share = crawl->share;
    for (size_t i = 0; share != NULL && i < share->n_chores; i++) {
        size_t place = (share->next_chore + i) % share->n_chores;
        const IngestChore *chore = &share->chores[place];
        if (!mono_before(crawl->now, chore->due(chore->context))) {
            share->next_chore = place + 1;
            return chore;
        }
    }
    return NULL;
}

/* Lets a part have paid for the CPU time since *since. */
static void charge(int64_t *part, int64_t *since)
{
    int64_t now = cpu_thread_ns();
    *part += now - *since;
    *since = now;
}

/* The results; then a piece of a chore, as long as the dice say. */
static Result apply(Crawl *crawl, Batch *batch, const IngestChore *chore)
{
    Result rc = batch->n_pages > 0 || chore == NULL ? page_way_apply(batch) : RESULT_OK;
    if (rc == RESULT_OK && chore != NULL) {
        int64_t looks = (int64_t)dice_below(crawl->share->dice, CHORE_LOOKS);
        rc = chore->run(chore->context, batch, (MonoTime){mono_now().ns + looks});
    }
    return rc;
}

/* Before every so many-th commit. */
static bool looks_at_leaves(Crawl *crawl)
{
    uint64_t commits = crawl->cost.commits + crawl->cost.pieces;
    if (crawl->options.leaves == 0 || commits % crawl->options.leaves != 0) {
        return false;
    }
    crawl->broken = !leaves_before(&crawl->leaves, page_db_env(crawl->store.db));
    return !crawl->broken;
}

#define PARSE_MS 8000 /* longer than the next answer of its host takes to come */

/* Several threads parse, and news of a host do not wait for them: of the answers of hosts that are
 * well one in eight takes its time, and the next results of its host overtake it; not those of its
 * URL. (Failures and rules are not parsed; and what of them a crash loses nobody can obey.)
 * Of one agent alone. Puts what waits last, and returns how many do not. */
static size_t hold_back(Crawl *crawl)
{
    size_t n = 0;
    for (size_t i = 0; i < crawl->n_pages; i++) {
        ParsedPage *page = crawl->pages[i];
        const FetchResult *fetch = page->fetch;
        uint64_t dice = hash_mix((uint64_t)fetch->cost.end.ns + fetch->host.id);
        bool waits = crawl->share == NULL && fetch->kind == FETCHED_PAGE && (dice & 7) == 0 &&
                     fetch->answer.class == FETCH_OK && fetch->host.health.failures == 0 &&
                     mono_ms_between(fetch->cost.end, crawl->now) < PARSE_MS;
        for (size_t j = n; j < i && !waits; j++) {
            const FetchRequest *held = &crawl->pages[j]->fetch->request;
            waits =
                fetch->request.has_page && held->has_page && held->index == fetch->request.index;
        }
        if (!waits) {
            memmove(crawl->pages + n + 1, crawl->pages + n, (i - n) * sizeof(ParsedPage *));
            crawl->pages[n++] = page;
        }
    }
    return n;
}

/* What the database has of the health of these hosts is what their visit states have: but for those
 * that are away or have a result that was held back. */
static bool is_held_back(const Crawl *crawl, size_t n, uint32_t host)
{
    for (size_t i = n; i < crawl->n_pages; i++) {
        if (crawl->pages[i]->fetch->host.id == host) {
            return true;
        }
    }
    return false;
}

static void check_health(Crawl *crawl, const Batch *batch)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(crawl->store.db, true, &txn) != 0) {
        crawl->broken = true;
        return;
    }
    for (size_t i = 0; i < batch->n_pages; i++) {
        HostRecord record;
        uint32_t host = batch->pages[i]->fetch->host.id;
        const VisitState *visit_state = map_get(&crawl->distributor.visit_states, map_key(host));
        if (visit_state == NULL || visit_state->place == VISIT_STATE_ACQUIRED ||
            visit_state->distributor.retired || is_held_back(crawl, batch->n_pages, host) ||
            host_rows_get(crawl->store.hosts, txn, host, &record) != RESULT_OK ||
            host_is_aside(&record)) {
            continue;
        }
        const HostHealth *health = &visit_state->politeness.health;
        if (record.failures != health->failures || record.extra_ms != health->extra_ms) {
            audit_violation(crawl->audit, "a host whose record is older than its visit state",
                            (WorldPage){host, 0}, crawl->now.ns / 1000000);
        }
    }
    page_db_txn_abort(crawl->store.db, txn);
}

/* The batch, or a piece of a merge. */
static bool commit(Crawl *crawl, bool merge)
{
    MDB_txn *txn = NULL;
    Batch batch;
    CrawlCost *cost = &crawl->cost;
    int64_t since = cpu_thread_ns();
    size_t n = merge ? 0 : hold_back(crawl);
    CrawlShare *share = crawl->share;
    const IngestChore *chore = merge ? NULL : due_chore(crawl);
    if (page_db_txn_begin(crawl->store.db, false, &txn) != 0) {
        return false;
    }
    Result rc = batch_init(&batch, &crawl->ingest, &crawl->store, crawl->log, &crawl->totals, txn,
                           crawl->pages, n);
    batch.hungry = crawl_is_hungry(crawl);
    if (crawl->sieve.sieve != NULL) {
        batch.sieve = &crawl->sieve;
        batch.defers =
            sieve_is_due_for(crawl->sieve.sieve, stats_get(&crawl->stats.urls_seen), batch.hungry);
    }
    if (rc == RESULT_OK && share != NULL) {
        rc = ingest_cluster_begin(share->cluster, &batch);
    }
    if (rc == RESULT_OK) {
        rc = merge ? sieve_chore(&crawl->sieve)
                         .run(&crawl->sieve, &batch, mono_add_ms(mono_now(), MERGE_MS))
                   : apply(crawl, &batch, chore);
    }
    if (rc == RESULT_OK) {
        rc = batch_finish(&batch);
    }
    charge(merge ? &cost->merge_ns : &cost->apply_ns, &since);
    bool looks = rc == RESULT_OK && looks_at_leaves(crawl);
    since = cpu_thread_ns(); /* nor is what the commit is seen to write */
    if (rc == RESULT_OK && share != NULL && share->fails) {
        share->failed = true;
        rc = RESULT_IO;
    }
    if (rc != RESULT_OK) {
        page_db_txn_abort(crawl->store.db, txn);
    } else if (page_db_txn_commit(crawl->store.db, txn) != 0) {
        rc = RESULT_FULL;
    }
    charge(merge ? &cost->merge_ns : &cost->write_ns, &since);
    if (looks && !leaves_after(&crawl->leaves, page_db_env(crawl->store.db), n)) {
        crawl->broken = true;
    }
    since = cpu_thread_ns();
    if (crawl->sieve.sieve != NULL) {
        sieve_settle(crawl->sieve.sieve, rc == RESULT_OK);
    }
    if (share != NULL) {
        ingest_cluster_end(share->cluster, &batch, rc == RESULT_OK);
        share->waits = false;
    }
    if (chore != NULL && chore->ended != NULL) {
        chore->ended(chore->context, rc);
    }
    CommitNotice *notice = rc == RESULT_OK ? batch_notice(&batch) : NULL;
    if (notice != NULL) {
        check_health(crawl, &batch);
        crawl->totals = batch.totals;
        if (batch.hungry && (n > 0 || batch.woke)) {
            ingest_patience_note(&crawl->patience, crawl->options.batch_ms, batch.woke);
        }
        tell_audit(crawl, &batch);
        since = cpu_thread_ns(); /* the books are not the crawler's */
    }
    /* The distributor's answer may add to the next batch. */
    crawl->n_pages -= n;
    ParsedPage **done = malloc((n + 1) * sizeof(ParsedPage *));
    if (done != NULL) {
        memcpy(done, crawl->pages, n * sizeof(ParsedPage *));
    }
    memmove(crawl->pages, crawl->pages + n, crawl->n_pages * sizeof(ParsedPage *));
    crawl->batch_since = crawl->now;
    batch_destroy(&batch);
    if (notice != NULL) {
        distributor_committed(&crawl->distributor, notice, crawl->now, crawl_wall(crawl));
        crawl_recall(crawl);
        commit_notice_delete(notice);
    }
    for (size_t i = 0; done != NULL && i < n; i++) {
        parsed_page_delete(done[i]);
    }
    free(done);
    check_finished(crawl);
    charge(&cost->tell_ns, &since);
    cost->commits += !merge;
    cost->pieces += merge;
    return notice != NULL;
}

bool crawl_commit(Crawl *crawl)
{
    return commit(crawl, false);
}

MonoTime crawl_merge_due(Crawl *crawl)
{
    return crawl->sieve.sieve == NULL ? MONO_NEVER : sieve_chore(&crawl->sieve).due(&crawl->sieve);
}

bool crawl_merge(Crawl *crawl)
{
    if (mono_before(crawl->now, crawl_merge_due(crawl))) {
        return true;
    }
    int64_t cpu = cpu_thread_ns();
    MonoTime start = mono_now();
    bool ok = commit(crawl, true);
    cpu = cpu_thread_ns() - cpu;
    int64_t wall = mono_now().ns - start.ns;
    if (cpu > crawl->longest_merge_ns) {
        crawl->longest_merge_ns = cpu;
    }
    if (wall > crawl->longest_merge_wall_ns) {
        crawl->longest_merge_wall_ns = wall;
    }
    return ok;
}

bool crawl_seed(Crawl *crawl)
{
    uint32_t n = crawl->options.seeds;
    LinkInfo *seeds = calloc(n, sizeof *seeds);
    char *text = malloc((size_t)n * WORLD_URL_BYTES);
    MDB_txn *txn = NULL;
    Batch batch;
    uint64_t added = 0;
    if (seeds == NULL || text == NULL || page_db_txn_begin(crawl->store.db, false, &txn) != 0) {
        free(seeds);
        free(text);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        WorldPage root = {(uint32_t)((uint64_t)i * crawl->world->hosts / n), 0};
        seeds[i] = (LinkInfo){.url = text + (size_t)i * WORLD_URL_BYTES, .score = 1};
        (void)world_url(crawl->world, root, seeds[i].url);
        audit_known(crawl->audit, root);
    }
    Result rc =
        batch_init(&batch, &crawl->ingest, &crawl->store, crawl->log, &crawl->totals, txn, NULL, 0);
    if (rc == RESULT_OK && crawl->share != NULL) {
        rc = ingest_cluster_begin(crawl->share->cluster, &batch);
    }
    rc = rc == RESULT_OK ? page_way_seed(&batch, seeds, NULL, n, &added) : rc;
    rc = rc == RESULT_OK ? batch_finish(&batch) : rc;
    bool ok = rc == RESULT_OK && page_db_txn_commit(crawl->store.db, txn) == 0 && added == n;
    crawl->totals = batch.totals;
    if (crawl->share != NULL) {
        ingest_cluster_end(crawl->share->cluster, &batch, ok);
        publish_now(crawl);
    }
    batch_destroy(&batch);
    free(seeds);
    free(text);
    return ok;
}
