#include "page/parsing.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "page/parser.h"

#define BATCH          16u
#define ENOUGH         8u /* results are worth a wake-up at once */
#define THREADS_MAX    ((unsigned)CONFIG_MOST_THREADS)
#define LARGE_BYTES    ((size_t)64 << 10) /* as received: a page of them may take long */
#define LONG_MS        50                 /* a page that takes longer is a long one */
#define ASIDE_MAX      64u
#define LARGE_PATIENCE 8 /* times that of others: they wait for each other */

typedef struct ParsingThread {
    Parsing *parsing;
    Parser parser;
    Thread thread;
    bool is_made;        /* the parser is; main thread, that of the spare one itself */
    MonoTime large;      /* since when it reads a large page, 0: it does not; Parsing.mutex */
    atomic_bool running; /* until the thread has nothing more to do */
} ParsingThread;

struct Parsing {
    Shared options; /* ParsingOptions */
    ByteGate *results;
    HostCosts *costs;
    Archive *archive;
    Stats *stats;
    void (*sink)(void *context, ParsedPage *page);
    ParsingSkipped skipped;
    void *context;
    Queue queue;
    Mutex mutex;
    FetchResult *aside[ASIDE_MAX]; /* large pages that wait for their turn, a ring; mutex */
    unsigned aside_first;
    unsigned n_aside;
    ParsingThread threads[THREADS_MAX]; /* a place is used again when its thread has ended */
    ParsingThread spare;                /* reads while all others are at long pages */
    Condition all_large;                /* all are at large ones, or it is the end */
    atomic_uint n_wanted;
    atomic_uint n_running; /* never more than wanted for long */
    bool started;
    bool stopped;      /* mutex */
    bool spare_sleeps; /* until it is called; mutex */
};

static void delete_options(void *object)
{
    ParsingOptions *options = object;
    if (options != NULL) {
        score_rules_delete(options->score_rules);
        free(options);
    }
}

static Result share_options(Parsing *parsing, const ParsingOptions *options)
{
    ParsingOptions *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        score_rules_delete(options->score_rules);
        return RESULT_MEMORY;
    }
    *copy = *options;
    return shared_replace(&parsing->options, copy);
}

static bool parsing_is_large(void *result)
{
    return ((const FetchResult *)result)->answer.body.length >= LARGE_BYTES;
}

static void take_result(Parsing *parsing, Parser *parser, FetchResult *result)
{
    if (parsing->results != NULL) {
        thread_step("waiting for ingest");
        byte_gate_wait(parsing->results,
                       parsing_is_large(result) ? BYTE_GATE_LARGE : BYTE_GATE_ANY);
    }
    thread_step("parsing");
    MonoTime start = mono_now();
    if (parsing->costs != NULL) {
        int64_t waited_ms = mono_ms_between(result->cost.handed_on, start);
        host_costs_note_wait(parsing->costs,
                             parsing_is_large(result) ? waited_ms / LARGE_PATIENCE : waited_ms,
                             start);
    }
    ParsedPage *page = parser_read(parser, result);
    if (page == NULL) {
        LOG_ERROR("parse", "page lost for lack of memory", "url=%s", result->request.url);
        fetch_result_delete(result); /* it stays scheduled: fetched again after a restart */
        return;
    }
    int64_t took_us = (mono_now().ns - start.ns) / 1000;
    stats_add(&parsing->stats->parser_busy_us, (uint64_t)took_us);
    if (parsing->costs != NULL && page->fetch->request.has_page) {
        host_costs_note_page(parsing->costs, page->fetch->host.id, took_us,
                             parser->body == NULL ? 0 : parser->body->length, page->links.n);
    }
    thread_step("waiting for ingest");
    parsing->sink(parsing->context, page);
}

/* ---- large pages: at most half of the threads are at long ones, or wait for ingest ---- */

/* Whether ingest has to write before a large page may be read. */
static bool parsing_would_wait(const Parsing *parsing)
{
    return parsing->results != NULL && !byte_gate_is_open_for(parsing->results, BYTE_GATE_LARGE);
}

/* Whether too many threads are at long pages for a large one to be begun; any large page is long
 * that would wait. Mutex held. */
static bool parsing_is_busy(const Parsing *parsing, MonoTime now, bool would_wait)
{
    unsigned most = atomic_load(&parsing->n_running) / 2;
    unsigned n_long = 0;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        MonoTime since = parsing->threads[i].large;
        n_long += since.ns != 0 && (would_wait || mono_ms_between(since, now) > LONG_MS);
    }
    return n_long >= (most > 0 ? most : 1);
}

/* When all threads will have been at large pages for so long that those are long ones; MONO_NEVER:
 * some are not. Mutex held. */
static MonoTime parsing_all_long(const Parsing *parsing)
{
    MonoTime latest = {0};
    unsigned n_large = 0;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        MonoTime since = parsing->threads[i].large;
        n_large += since.ns != 0;
        latest = since.ns > latest.ns ? since : latest;
    }
    return n_large < atomic_load(&parsing->n_running) ? MONO_NEVER : mono_add_ms(latest, LONG_MS);
}

/* Begins a large page; false: it is put aside, for a thread that is at a long one now. */
static bool parsing_begin_large(ParsingThread *thread, FetchResult *result)
{
    Parsing *parsing = thread->parsing;
    MonoTime now = mono_now();
    bool would_wait = parsing_would_wait(parsing);
    mutex_lock(&parsing->mutex);
    bool waits = parsing_is_busy(parsing, now, would_wait) && parsing->n_aside < ASIDE_MAX;
    if (waits) {
        parsing->aside[(parsing->aside_first + parsing->n_aside++) % ASIDE_MAX] = result;
    } else {
        thread->large = now;
        if (parsing->spare_sleeps && parsing_all_long(parsing).ns != MONO_NEVER.ns) {
            parsing->spare_sleeps = false;
            condition_signal(&parsing->all_large);
        }
    }
    mutex_unlock(&parsing->mutex);
    return !waits;
}

static void parsing_take_large(ParsingThread *thread, FetchResult *result)
{
    if (!parsing_begin_large(thread, result)) {
        return;
    }
    while (result != NULL) {
        take_result(thread->parsing, &thread->parser, result);
        /* Behind a large page: the next one that was put aside, or NULL. */
        Parsing *parsing = thread->parsing;
        result = NULL;
        MonoTime now = mono_now();
        bool would_wait = parsing_would_wait(parsing);
        mutex_lock(&parsing->mutex);
        thread->large = (MonoTime){0};
        if (parsing->n_aside > 0 && !parsing_is_busy(parsing, now, would_wait)) {
            result = parsing->aside[parsing->aside_first];
            parsing->aside_first = (parsing->aside_first + 1) % ASIDE_MAX;
            parsing->n_aside--;
            thread->large = now;
        }
        mutex_unlock(&parsing->mutex);
    }
}

/* Whether this thread is one too many; the next one that is hears of it from here. */
static bool parsing_leaves(Parsing *parsing)
{
    unsigned wanted = atomic_load(&parsing->n_wanted);
    unsigned running = atomic_load(&parsing->n_running);
    while (running > wanted) {
        if (atomic_compare_exchange_weak(&parsing->n_running, &running, running - 1)) {
            if (running - 1 > wanted) {
                queue_wake(&parsing->queue);
            }
            return true;
        }
    }
    return false;
}

/* Reads what is queued, or comes until the deadline. RESULT_CLOSED: nothing more will. */
static Result parsing_take(ParsingThread *self, MonoTime deadline)
{
    Parsing *parsing = self->parsing;
    void *items[BATCH];
    size_t n = 0;
    size_t n_large = 0;
    thread_step("waiting");
    Result rc = queue_pop(&parsing->queue, items, BATCH, &n, deadline);
    for (size_t i = 0; i < n; i++) { /* none, unless rc is RESULT_OK */
        if (parsing_is_large(items[i])) {
            items[n_large++] = items[i];
        } else {
            take_result(parsing, &self->parser, items[i]);
        }
    }
    for (size_t i = 0; i < n_large; i++) {
        parsing_take_large(self, items[i]);
    }
    return rc;
}

static void parsing_end_thread(ParsingThread *self)
{
    if (filter_scratch_given_up(self->parser.scratch) > 0) {
        LOG_WARN("filter", "regular expressions gave up at their limit, which counts as no match",
                 "matches=%llu", (unsigned long long)filter_scratch_given_up(self->parser.scratch));
    }
    atomic_store(&self->running, false);
}

static void *parser_main(void *argument)
{
    ParsingThread *self = argument;
    while (!parsing_leaves(self->parsing) && parsing_take(self, MONO_NEVER) != RESULT_CLOSED) {
    }
    parsing_end_thread(self);
    return NULL;
}

static Result make_parser(Parsing *parsing, ParsingThread *thread)
{
    thread->parsing = parsing;
    thread->is_made = true;
    thread->parser = (Parser){.all_options = &parsing->options,
                              .stats = parsing->stats,
                              .describe = archive_wants_metadata(parsing->archive),
                              .skipped = parsing->skipped,
                              .skipped_context = parsing->context};
    return parser_init(&thread->parser, parsing->archive);
}

static void unmake_parser(ParsingThread *thread)
{
    if (thread->is_made) {
        parser_destroy(&thread->parser);
        thread->is_made = false;
    }
}

Result parsing_new(Parsing **out, const ParsingOptions *options, Archive *archive, Stats *stats,
                   void (*sink)(void *context, ParsedPage *page), ParsingSkipped skipped,
                   void *context)
{
    Parsing *parsing = calloc(1, sizeof *parsing);
    if (parsing == NULL) {
        score_rules_delete(options->score_rules);
        return RESULT_MEMORY;
    }
    shared_init(&parsing->options, delete_options);
    mutex_init(&parsing->mutex, RANK_TABLE);
    condition_init(&parsing->all_large);
    parsing->results = options->results;
    parsing->costs = options->costs;
    parsing->archive = archive;
    parsing->stats = stats;
    parsing->sink = sink;
    parsing->skipped = skipped;
    parsing->context = context;
    atomic_init(&parsing->n_wanted, config_threads(options->config.parse_threads));
    Result rc = share_options(parsing, options);
    if (rc == RESULT_OK) {
        rc = queue_init(&parsing->queue, (size_t)options->config.parse_queue);
    }
    if (rc != RESULT_OK) {
        shared_destroy(&parsing->options);
        free(parsing);
        return rc;
    }
    for (unsigned i = 0; i < atomic_load(&parsing->n_wanted); i++) {
        rc = make_parser(parsing, &parsing->threads[i]);
        if (rc != RESULT_OK) {
            parsing_delete(parsing);
            return rc;
        }
    }
    *out = parsing;
    return RESULT_OK;
}

/* It looks at the queue only while nobody else does, and has no tools before. */
static void *spare_main(void *argument)
{
    ParsingThread *self = argument;
    Parsing *parsing = self->parsing;
    Result rc = RESULT_OK;
    while (rc != RESULT_CLOSED) {
        thread_step("not needed");
        mutex_lock(&parsing->mutex);
        MonoTime when = parsing_all_long(parsing);
        while (!parsing->stopped && !mono_before(when, mono_now())) {
            parsing->spare_sleeps = when.ns == MONO_NEVER.ns;
            condition_wait_until(&parsing->all_large, &parsing->mutex, when);
            when = parsing_all_long(parsing);
        }
        bool stopped = parsing->stopped;
        mutex_unlock(&parsing->mutex);
        if (stopped || (!self->is_made && make_parser(parsing, self) != RESULT_OK)) {
            break; /* without memory others read what there is, later */
        }
        rc = parsing_take(self, mono_add_ms(mono_now(), LONG_MS));
    }
    if (self->is_made) {
        parsing_end_thread(self);
    }
    return NULL;
}

/* A thread in a place where none is. */
static Result start_thread(Parsing *parsing, unsigned place)
{
    ParsingThread *thread = &parsing->threads[place];
    char name[24];
    Result rc = thread->is_made ? RESULT_OK : make_parser(parsing, thread);
    if (rc == RESULT_OK) {
        atomic_store(&thread->running, true);
        atomic_fetch_add(&parsing->n_running, 1);
        (void)snprintf(name, sizeof name, "parse-%u", place);
        rc = thread_start(&thread->thread, name, parser_main, thread);
    }
    if (rc != RESULT_OK && atomic_exchange(&thread->running, false)) {
        atomic_fetch_sub(&parsing->n_running, 1);
    }
    return rc;
}

Result parsing_start(Parsing *parsing)
{
    for (unsigned i = 0; i < atomic_load(&parsing->n_wanted); i++) {
        Result rc = start_thread(parsing, i);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    parsing->spare.parsing = parsing;
    Result rc = thread_start(&parsing->spare.thread, "parse-spare", spare_main, &parsing->spare);
    parsing->started = rc == RESULT_OK;
    return rc;
}

/* Threads that have ended are joined, and what they read pages with is freed. */
static void clear_places(Parsing *parsing)
{
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        ParsingThread *thread = &parsing->threads[i];
        if (thread->thread.started && !atomic_load(&thread->running)) {
            thread_join(&thread->thread);
            unmake_parser(thread);
        }
    }
}

static Result tend(Parsing *parsing)
{
    clear_places(parsing);
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        bool missing = atomic_load(&parsing->n_running) < atomic_load(&parsing->n_wanted);
        bool is_free = !parsing->threads[i].thread.started;
        Result rc = missing && is_free ? start_thread(parsing, i) : RESULT_OK;
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

Result parsing_change(Parsing *parsing, const ParsingOptions *options)
{
    unsigned wanted = config_threads(options->config.parse_threads);
    Result rc = share_options(parsing, options);
    if (rc == RESULT_OK && parsing->started) {
        atomic_store(&parsing->n_wanted, wanted);
        rc = tend(parsing);
        queue_wake(&parsing->queue);
    }
    return rc;
}

unsigned parsing_tend(Parsing *parsing)
{
    if (parsing->started) {
        (void)tend(parsing); /* what cannot be started is missing until the next look */
    }
    return atomic_load(&parsing->n_running);
}

static void parsing_push_one(Parsing *parsing, FetchResult *result, size_t enough)
{
    if (parsing->costs != NULL) {
        result->cost.handed_on = mono_now();
    }
    Result rc = queue_try_add(&parsing->queue, result, enough);
    if (rc == RESULT_LIMIT) {
        rc = queue_push(&parsing->queue, result);
    }
    if (rc != RESULT_OK) {
        fetch_result_delete(result);
    }
}

void parsing_push(Parsing *parsing, FetchResult *result)
{
    parsing_push_one(parsing, result, 0);
}

void parsing_add(Parsing *parsing, FetchResult *result)
{
    parsing_push_one(parsing, result, ENOUGH);
}

void parsing_call(Parsing *parsing)
{
    queue_call(&parsing->queue);
}

size_t parsing_waiting(Parsing *parsing)
{
    mutex_lock(&parsing->mutex);
    unsigned n_aside = parsing->n_aside;
    mutex_unlock(&parsing->mutex);
    return queue_count(&parsing->queue) + n_aside;
}

void parsing_stop(Parsing *parsing)
{
    parsing->started = false;
    queue_close(&parsing->queue);
    mutex_lock(&parsing->mutex);
    parsing->stopped = true;
    condition_signal(&parsing->all_large);
    mutex_unlock(&parsing->mutex);
    thread_join(&parsing->spare.thread);
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        thread_join(&parsing->threads[i].thread);
    }
}

void parsing_delete(Parsing *parsing)
{
    if (parsing == NULL) {
        return;
    }
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        unmake_parser(&parsing->threads[i]);
    }
    unmake_parser(&parsing->spare);
    queue_destroy(&parsing->queue);
    condition_destroy(&parsing->all_large);
    mutex_destroy(&parsing->mutex);
    shared_destroy(&parsing->options);
    free(parsing);
}
