#include "page/parsing.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/thread/log.h"
#include "base/thread/queue.h"
#include "base/thread/thread.h"

#define BATCH       16u
#define THREADS_MAX 64u

typedef struct ParsingThread {
    Parsing *parsing;
    Parser parser;
    Thread thread;
} ParsingThread;

struct Parsing {
    ParsingOptions options;
    Stats *stats;
    void (*sink)(void *context, ParsedPage *page);
    void *context;
    Queue queue;
    ParsingThread threads[THREADS_MAX];
    unsigned n_threads;
};

static void take_result(Parsing *parsing, Parser *parser, FetchResult *result)
{
    if (parsing->options.results != NULL) {
        thread_step("waiting for ingest");
        byte_gate_wait(parsing->options.results);
    }
    thread_step("parsing");
    MonoTime start = mono_now();
    ParsedPage *page = parser_read(parser, result);
    if (page == NULL) {
        LOG_ERROR("parse", "page lost for lack of memory", "url=%s", result->request.url);
        fetch_result_delete(result); /* it stays scheduled: fetched again after a restart */
        return;
    }
    stats_add(&parsing->stats->parser_busy_us, (uint64_t)(mono_now().ns - start.ns) / 1000);
    thread_step("waiting for ingest");
    parsing->sink(parsing->context, page);
}

static void *parser_main(void *argument)
{
    ParsingThread *self = argument;
    Parsing *parsing = self->parsing;
    void *items[BATCH];
    size_t n = 0;
    thread_step("waiting");
    while (queue_pop(&parsing->queue, items, BATCH, &n, MONO_NEVER) == RESULT_OK) {
        for (size_t i = 0; i < n; i++) {
            take_result(parsing, &self->parser, items[i]);
        }
        thread_step("waiting");
    }
    if (filter_scratch_given_up(self->parser.scratch) > 0) {
        LOG_WARN("filter", "regular expressions gave up at their limit, which counts as no match",
                 "matches=%llu", (unsigned long long)filter_scratch_given_up(self->parser.scratch));
    }
    return NULL;
}

Result parsing_new(Parsing **out, const ParsingOptions *options, Archive *archive, Stats *stats,
                   void (*sink)(void *context, ParsedPage *page), ParsingSkipped skipped,
                   void *context)
{
    Parsing *parsing = calloc(1, sizeof *parsing);
    if (parsing == NULL) {
        return RESULT_MEMORY;
    }
    parsing->options = *options;
    parsing->stats = stats;
    parsing->sink = sink;
    parsing->context = context;
    Result rc = queue_init(&parsing->queue, options->queue);
    if (rc != RESULT_OK) {
        free(parsing);
        return rc;
    }
    while (rc == RESULT_OK && parsing->n_threads < options->threads &&
           parsing->n_threads < THREADS_MAX) {
        ParsingThread *thread = &parsing->threads[parsing->n_threads++];
        thread->parsing = parsing;
        thread->parser = (Parser){.options = &parsing->options,
                                  .stats = stats,
                                  .describe = archive_wants_metadata(archive),
                                  .skipped = skipped,
                                  .skipped_context = context};
        rc = parser_init(&thread->parser, archive);
    }
    if (rc != RESULT_OK) {
        parsing_delete(parsing);
        return rc;
    }
    *out = parsing;
    return RESULT_OK;
}

Result parsing_start(Parsing *parsing)
{
    Result rc = RESULT_OK;
    for (unsigned i = 0; i < parsing->n_threads && rc == RESULT_OK; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "parse-%u", i);
        rc = thread_start(&parsing->threads[i].thread, name, parser_main, &parsing->threads[i]);
    }
    return rc;
}

void parsing_parse(Parsing *parsing, FetchResult *result)
{
    take_result(parsing, &parsing->threads[0].parser, result);
}

void parsing_push(Parsing *parsing, FetchResult *result)
{
    Result rc = queue_try_push(&parsing->queue, result);
    if (rc == RESULT_LIMIT) {
        stats_add(&parsing->stats->fetch_wait_full, 1);
        rc = queue_push(&parsing->queue, result);
    }
    if (rc != RESULT_OK) {
        fetch_result_delete(result);
    }
}

size_t parsing_waiting(Parsing *parsing)
{
    return queue_count(&parsing->queue);
}

void parsing_stop(Parsing *parsing)
{
    queue_close(&parsing->queue);
    for (unsigned i = 0; i < parsing->n_threads; i++) {
        thread_join(&parsing->threads[i].thread);
    }
}

void parsing_delete(Parsing *parsing)
{
    if (parsing == NULL) {
        return;
    }
    for (unsigned i = 0; i < parsing->n_threads; i++) {
        parser_destroy(&parsing->threads[i].parser);
    }
    queue_destroy(&parsing->queue);
    free(parsing);
}
