/* The agent: builds every part, starts the threads in order, watches over them, and stops
 * everything.
 *
 * It runs in the main thread, which takes all signals (signalfd) and all news of the other threads
 * (eventfd): the crawl is finished, a limit was reached, the disk is full. Order of the stop: no
 * new fetches; fetches in flight end or are aborted; fetchers, resolver, parsers, ingest, frontier.
 */
#ifndef AGENT_H
#define AGENT_H

#include <stdbool.h>

#include "config.h"
#include "crawl_store.h"

typedef enum ProgressMode { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER } ProgressMode;

typedef struct AgentOptions {
    Config *config; /* live keys change in it */
    const char *directory;
    bool must_be_new;
    const char *crawl_log; /* NULL = DIR/crawl.log */
    const char **seed_files;
    size_t n_seed_files;
    char *const *seed_words;
    size_t n_seed_words;
    ProgressMode progress;
    /* SIGHUP: reads the configuration anew into *fresh; false (nothing to destroy) when it is
     * wrong. */
    bool (*reload)(void *context, Config *fresh);
    void *reload_context;
    bool quiet;   /* no summary */
    bool verbose; /* events of level INFO on standard error, too */
} AgentOptions;

/* Exit statuses: see the manual. */
typedef enum ExitStatus {
    EXIT_FINISHED = 0,
    EXIT_INTERNAL = 1,
    EXIT_USAGE = 2,
    EXIT_IO = 3,
    EXIT_NETWORK = 4,
    EXIT_SIGNAL = 11,
    EXIT_FORCED = 13,
    EXIT_PAGE_LIMIT = 14,
    EXIT_TIME_LIMIT = 15,
    EXIT_DISK_LIMIT = 16,
    EXIT_DIRECTORY = 17
} ExitStatus;

/* Crawls until the end; returns the exit status. */
int agent_run(const AgentOptions *options);

#endif
