/* Agent: builds every part, starts the threads in order, watches over them, and stops everything.
 *
 * What: the agent takes all signals (signalfd) and all news of the other threads (eventfd): the
 * crawl is finished, a limit was reached, the disk is full. A stop goes in this order: no new
 * fetches; fetches in flight end or are aborted; fetchers, resolver, parsers, ingest, frontier.
 * Threads: main. */
#ifndef CRAWL_RUN_AGENT_H
#define CRAWL_RUN_AGENT_H

#include <stdbool.h>

#include "rules/config.h"
#include "crawl/exit_status.h"
#include "crawl/crawl_store.h"

typedef enum ProgressMode { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER } ProgressMode;

typedef struct AgentOptions {
    Config *config;      /* live keys change in it */
    ConfigFile settings; /* the crawl's own config.ini, when no other file was named */
    const char *directory;
    bool must_be_new;
    const char *crawl_log; /* NULL = DIR/crawl.log */
    const char **seed_files;
    size_t n_seed_files;
    char *const *seed_words;
    size_t n_seed_words;
    ProgressMode progress;
    /* SIGHUP: reads the configuration anew into *fresh; false (nothing to destroy) when it is
     * wrong: error has a line for each mistake. */
    bool (*reload)(void *context, Config *fresh, Buffer *error);
    void *reload_context;
    bool quiet;   /* no summary */
    bool verbose; /* events of level INFO on standard error, too */
} AgentOptions;

/* Crawls until the end; returns the exit status. */
int agent_run(const AgentOptions *options);

#endif
