#include "ingest/ingest.h"

#include <assert.h>
#include <stdlib.h>

#include "base/thread/thread.h"
#include "ingest/revisit/revisits.h"
#include "ingest/page/page_way.h"
#include "base/memory/array.h"

#define TAKE                                                                                       \
    8u /* pages from the queue at a time: the most by which a batch passes its bound of links */
#define CHORE_SHARE 4   /* while the thread is behind, chores have a quarter of its time */
#define GATHER      64u /* the thread sleeps until this number is there, or its batch is complete */

struct Ingest {
    IngestWriter writer;
    Queue queue;
    Thread thread;
    ParsedPage **pages; /* the batch being collected */
    size_t n_pages;
    size_t room;         /* elements that fit */
    MonoTime last_batch; /* when the queue was last emptied */
    IngestChore chores[INGEST_MAX_CHORES];
    size_t n_chores;
    size_t next_chore;    /* has its turn */
    MonoTime chore_after; /* while the thread is behind, the next piece of one begins no sooner */
};

/* ---- thread ---- */

/* The pages that were collected, and a piece of a chore (NULL: none). One transaction, unless they
 * have more links than PageDB writes at once. */
static void commit(Ingest *ingest, const IngestChore *chore)
{
    size_t first = 0;
    size_t links = 0;
    for (size_t i = 0; i < ingest->n_pages; i++) {
        links += ingest->pages[i]->links.n + 1;
        if (links >= PAGE_DB_WRITE_MAX && i > first) {
            ingest_writer_commit(&ingest->writer, ingest->pages + first, i - first, NULL);
            first = i;
            links = ingest->pages[i]->links.n + 1;
        }
    }
    ingest_writer_commit(&ingest->writer, ingest->pages + first, ingest->n_pages - first, chore);
    for (size_t i = 0; i < ingest->n_pages; i++) {
        parsed_page_delete(ingest->pages[i]);
    }
    ingest->n_pages = 0;
}

/* A chore whose time has come, or NULL; *until = when the first one's comes or came. Those that are
 * due take turns. */
static const IngestChore *due_chore(Ingest *ingest, MonoTime *until)
{
    MonoTime now = mono_now();
    *until = MONO_NEVER;
    for (size_t i = 0; i < ingest->n_chores && !ingest->writer.dead; i++) {
        size_t place = (ingest->next_chore + i) % ingest->n_chores;
        MonoTime due = ingest_chore_due(&ingest->chores[place]);
        until->ns = due.ns < until->ns ? due.ns : until->ns;
        if (due.ns <= now.ns) {
            ingest->next_chore = place + 1;
            return &ingest->chores[place];
        }
    }
    return NULL;
}

static size_t ingest_less(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t ingest_most_pages(const Ingest *ingest)
{
    return ingest_less((size_t)ingest->writer.options.config.store_batch_pages, ingest->room);
}

/* Its records do not wait for the batch in memory. What the files cannot take now is tried again
 * with the batch; so is what may belong to the second of two transactions (commit). */
static void ingest_archive(Ingest *ingest, ParsedPage *page, size_t links)
{
    Archive *archive = ingest->writer.store.archive;
    if (archive != NULL && !ingest->writer.dead && page->archive.group != NULL &&
        links + ingest->n_pages < PAGE_DB_WRITE_MAX &&
        archive_append(archive, page->archive.group) == RESULT_OK) {
        parsed_page_settle(page, ingest->writer.options.results);
    }
}

/* Takes up to n more pages from the queue, once there are `least` or it is the deadline; how many
 * links they have is added to *links. */
static Result ingest_take(Ingest *ingest, size_t n, size_t least, MonoTime deadline, size_t *links)
{
    size_t room = ingest_most_pages(ingest) - ingest->n_pages;
    size_t taken = 0;
    Result rc = queue_gather(&ingest->queue, (void **)(ingest->pages + ingest->n_pages),
                             ingest_less(n, room), ingest_less(least, room), &taken, deadline);
    for (size_t i = 0; rc == RESULT_OK && i < taken; i++) {
        ParsedPage *page = ingest->pages[ingest->n_pages++];
        *links += page->links.n;
        ingest_archive(ingest, page, *links);
    }
    return rc;
}

/* Then nothing more that is large comes before something is committed, or nothing at all. */
static bool parsing_waits(const Ingest *ingest)
{
    return ingest->writer.options.results != NULL &&
           !byte_gate_is_open_for(ingest->writer.options.results, BYTE_GATE_LARGE);
}

/* How long a batch is collected. */
static int64_t patience_ms(const Ingest *ingest)
{
    return ingest_patience_ms(&ingest->writer.patience,
                              ingest->writer.options.config.store_batch_time,
                              ingest->writer.sinks.hungry(ingest->writer.sinks.context));
}

/* Whether results come faster than they are written, and fetchers have enough to do. Then a chore
 * has a CHORE_SHARE of the time: it may have work for hours, as the merge of what a few pages link.
 */
static bool ingest_is_behind(Ingest *ingest)
{
    size_t waiting = queue_count(&ingest->queue);
    return waiting > 0 && !ingest->writer.sinks.hungry(ingest->writer.sinks.context) &&
           (waiting > ingest->writer.options.queue / 4 || parsing_waits(ingest));
}

/* A piece of a chore, in a transaction of its own. */
static void ingest_commit_chore(Ingest *ingest, const IngestChore *chore)
{
    MonoTime start = mono_now();
    commit(ingest, chore);
    MonoTime end = mono_now();
    ingest->chore_after.ns = end.ns + (CHORE_SHARE - 1) * (end.ns - start.ns);
}

/* Whether a chore may go first: no result waits longer for its commit than it would anyway. */
static bool may_wait(Ingest *ingest)
{
    return queue_count(&ingest->queue) < (size_t)ingest->writer.options.config.store_batch_pages &&
           !parsing_waits(ingest) &&
           mono_before(mono_now(), mono_add_ms(ingest->last_batch, patience_ms(ingest)));
}

/* Collects one batch: until it is full or there is enough for somebody, its oldest page is old
 * enough, or the queue is closed.
 * Without patience what is there is the batch. */
static Result ingest_collect(Ingest *ingest, MonoTime until, bool patient)
{
    size_t links = 0;
    /* For as many pages as a batch may have now. Without memory it stays as it was. */
    size_t wanted = (size_t)ingest->writer.options.config.store_batch_pages;
    (void)array_reserve(&ingest->pages, &ingest->room, wanted, sizeof *ingest->pages);
    thread_step("waiting");
    Result rc = ingest_take(ingest, 1, 1, until, &links);
    if (rc != RESULT_OK) {
        return rc;
    }
    MonoTime deadline = mono_add_ms(mono_now(), patient ? patience_ms(ingest) : 0);
    const IngestSinks *sinks = &ingest->writer.sinks;
    size_t enough = sinks->enough == NULL ? SIZE_MAX : sinks->enough(sinks->context);
    bool is_empty = false; /* none is left of those that it was called for */
    while (rc == RESULT_OK && ingest->n_pages < ingest_most_pages(ingest) &&
           links < (size_t)ingest->writer.options.config.store_batch_links &&
           !(is_empty && ingest->n_pages >= enough)) {
        bool waits = is_empty && !parsing_waits(ingest);
        size_t least = ingest_less(ingest_less(GATHER, ingest->writer.options.queue),
                                   enough - ingest->n_pages);
        rc = ingest_take(ingest, TAKE, waits ? least : 1, waits ? deadline : (MonoTime){0}, &links);
        is_empty = rc == RESULT_TIMEOUT && !is_empty;
        rc = is_empty ? RESULT_OK : rc;
    }
    return rc == RESULT_TIMEOUT ? RESULT_OK : rc;
}

static void ingest_check_end(Ingest *ingest)
{
    bool held = false;
    for (size_t i = 0; i < ingest->n_chores; i++) {
        held = held || ingest_chore_holds(&ingest->chores[i]);
    }
    bool quiet = !held && stats_get(&ingest->writer.stats->urls_queued) == 0 &&
                 queue_count(&ingest->queue) == 0;
    if (ingest->writer.sinks.quiet != NULL) {
        ingest->writer.sinks.quiet(ingest->writer.sinks.context, quiet);
    }
    if (quiet) {
        ingest->writer.sinks.finished(ingest->writer.sinks.context);
    }
}

/* A batch, a piece of a chore, or both. RESULT_CLOSED: there will be no more. */
static Result ingest_turn(Ingest *ingest)
{
    MonoTime until;
    Result rc = RESULT_OK;
    const IngestChore *chore = due_chore(ingest, &until);
    bool rides = chore != NULL && chore->rides;
    if (rides) {
        until = mono_add_ms(mono_now(), patience_ms(ingest));
    }
    if (chore == NULL || rides || !may_wait(ingest)) {
        rc = ingest_collect(ingest, until, chore == NULL || rides);
        if (ingest->n_pages > 0) {
            commit(ingest, rides ? chore : NULL);
            chore = rides ? NULL : chore;
        }
        ingest->last_batch = mono_now();
    }
    if (chore != NULL && rc != RESULT_CLOSED &&
        !(ingest_is_behind(ingest) && mono_before(mono_now(), ingest->chore_after))) {
        ingest_commit_chore(ingest, chore);
    }
    return rc;
}

static void *ingest_main(void *argument)
{
    Ingest *ingest = argument;
    ingest_check_end(ingest);
    Result rc = RESULT_OK;
    while (rc != RESULT_CLOSED) {
        rc = ingest_turn(ingest);
        ingest_check_end(ingest);
    }
    /* What a stop does not leave to the next start, if there is time. */
    MonoTime until = mono_add_ms(mono_now(), ingest->writer.options.config.crawl_grace);
    for (size_t i = 0; i < ingest->n_chores; i++) {
        const IngestChore *chore = &ingest->chores[i];
        while (chore->at_stop && !ingest->writer.dead && ingest_chore_holds(chore) &&
               mono_before(mono_now(), until)) {
            commit(ingest, chore);
        }
    }
    return NULL;
}

/* ---- the outside ---- */

Result ingest_new(Ingest **out, const IngestOptions *options, const IngestStore *store,
                  const IngestSinks *sinks, CrawlLog *log, Stats *stats)
{
    Ingest *ingest = calloc(1, sizeof *ingest);
    if (ingest == NULL) {
        return RESULT_MEMORY;
    }
    ingest->pages = calloc((size_t)options->config.store_batch_pages, sizeof(ParsedPage *));
    ingest->room = (size_t)options->config.store_batch_pages;
    Result rc = ingest->pages == NULL ? RESULT_MEMORY : queue_init(&ingest->queue, options->queue);
    if (rc != RESULT_OK) {
        free(ingest->pages);
        free(ingest);
        return rc;
    }
    rc = ingest_writer_init(&ingest->writer, options, store, sinks, log, stats, &ingest->queue);
    if (rc != RESULT_OK) {
        ingest_delete(ingest);
        return rc;
    }
    *out = ingest;
    return RESULT_OK;
}

void ingest_add_chore(Ingest *ingest, const IngestChore *chore)
{
    assert(ingest->n_chores < INGEST_MAX_CHORES); /* who adds one raises it */
    ingest->chores[ingest->n_chores++] = *chore;
}

void ingest_set_revisits(Ingest *ingest, Revisits *revisits)
{
    IngestChore chore = revisits_chore(revisits);
    ingest->writer.revisits = revisits;
    ingest_add_chore(ingest, &chore);
    ingest_writer_publish(&ingest->writer);
}

void ingest_set_sieve(Ingest *ingest, IngestSieve *sieve)
{
    ingest->writer.sieve = sieve;
    IngestChore chore = sieve_chore(sieve);
    ingest_add_chore(ingest, &chore);
    ingest_writer_publish(&ingest->writer);
}

void ingest_set_cluster(Ingest *ingest, IngestCluster *cluster)
{
    ingest->writer.cluster = cluster;
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
    } else if (parsing_waits(ingest)) {
        queue_wake(&ingest->queue); /* the batch gets no larger */
    }
}

void ingest_place(Ingest *ingest, uint32_t host, const IpAddress *address)
{
    if (!host_places_add(&ingest->writer.places, host, address)) {
        return;
    }
    FetchResult *result = fetch_result_new(FETCHED_NOTHING);
    ParsedPage *page = result == NULL ? NULL : parsed_page_new(result);
    if (page == NULL) {
        fetch_result_delete(result);
        host_places_not_told(&ingest->writer.places);
        return;
    }
    result->host.id = host;
    result->host.has_places = true;
    result->cost.wall_start = wall_now();
    ingest_push(ingest, page);
}

size_t ingest_waiting(Ingest *ingest)
{
    return queue_count(&ingest->queue);
}

void ingest_change(Ingest *ingest, const Config *config)
{
    ingest_writer_change(&ingest->writer, config);
}

Result ingest_seeds(Ingest *ingest, const LinkInfo *seeds, const char *const *tags, size_t n,
                    uint64_t *added)
{
    return ingest_writer_seeds(&ingest->writer, seeds, tags, n, added);
}

void ingest_abandon(Ingest *ingest)
{
    ingest_writer_abandon(&ingest->writer);
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
        ingest_writer_destroy(&ingest->writer);
        free(ingest->pages);
        free(ingest);
    }
}

const CrawlTotals *ingest_totals(const Ingest *ingest)
{
    return &ingest->writer.totals;
}

Result ingest_save_times(Ingest *ingest, uint64_t elapsed_ms, uint64_t cpu_ms)
{
    ingest->writer.totals.elapsed_ms += elapsed_ms;
    ingest->writer.totals.cpu_ms += cpu_ms;
    uint64_t added = 0;
    return ingest_seeds(ingest, NULL, NULL, 0, &added);
}

/* ---- sieve chore ---- */

static MonoTime sieve_chore_due(void *context)
{
    IngestSieve *sieve = context;
    if (!sieve_holds(sieve->sieve)) {
        atomic_store(&sieve->flush, false);
    }
    /* With nothing scheduled nobody else would wake the thread. */
    bool at_once = stats_get(&sieve->stats->urls_queued) == 0 || sieve->hungry(sieve->context) ||
                   atomic_load(&sieve->flush);
    return sieve_due(sieve->sieve, at_once);
}

static Result sieve_chore_run(void *context, Batch *batch, MonoTime until)
{
    const IngestSieve *sieve = context;
    PageSink sink = ingest_sink(batch);
    batch->merges = true;
    /* The commit takes as long again for the pages that were changed. */
    MonoTime now = mono_now();
    MonoTime half = {now.ns + (until.ns - now.ns) / 2};
    batch->holds = true;
    Result rc = sieve_merge(sieve->sieve, batch->txn, &sink, half);
    return batch_let_go(batch) ? rc : batch->result;
}

static bool sieve_chore_holds(void *context)
{
    const IngestSieve *sieve = context;
    return sieve_holds(sieve->sieve);
}

IngestChore sieve_chore(IngestSieve *sieve)
{
    return (IngestChore){.context = sieve,
                         .due = sieve_chore_due,
                         .run = sieve_chore_run, /* ingest settles the sieve behind it */
                         .holds = sieve_chore_holds,
                         .at_stop = true};
}
