/* Agent options: what the command line of a crawl says.
 *
 * What: plain values that the main thread's modules read.
 * Owns: nothing; everything is the command's.
 * Threads: main. */
#ifndef CRAWL_RUN_AGENT_OPTIONS_H
#define CRAWL_RUN_AGENT_OPTIONS_H

#include <stdbool.h>

#include "rules/config.h"

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
    bool is_dry;  /* that no seed is fetched is what is wanted */
    bool verbose; /* events of level INFO on standard error, too */
    bool *erase;  /* set when the crawl has stopped only for `ragno forget`, and is to start anew */
} AgentOptions;

#endif
