/* Settings: the configuration of a crawl that runs, and how it changes.
 *
 *   config file, environment, command line --settings_reload--> values in effect
 *   an operator ------------------------- --settings_set-----> the same, and DIR/config.ini
 *
 * What: options that are live change at once; each change is a line of ragno.log with key, old and
 * new value, and who asked. An option that is not live is named in a warning, with what to do. What
 * an operator has set holds over reloads and restarts, until settings_unset.
 * Owns: what operators have set. Parts and options are borrowed.
 * Threads: main.
 * Errors: error gets a line for each mistake; nothing has changed then. */
#pragma once

#include "crawl/parts/agent_parts.h"

/* Agent options: what the command line of a crawl says; plain values, all of them the command's. */

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

typedef struct SettingsEntry {
    char *pattern; /* of hosts, as in [site "pattern"]; "" = all */
    char *name;    /* "politeness.host_delay" */
    char *text;
    char *before; /* what it was, when it was first set */
    char *origin; /* and where that came from */
} SettingsEntry;

typedef struct Settings {
    const AgentOptions *options;
    AgentParts *parts;
    SettingsEntry *set; /* by operators of this run */
    size_t n_set;
    bool by_all; /* what is changed now is changed at all agents of the cluster */
} Settings;

void settings_init(Settings *settings, const AgentOptions *options, AgentParts *parts);
void settings_destroy(Settings *settings);

/* Reads the configuration anew. *changed = how many live options have another value now.
 * RESULT_INVALID: it is wrong. */
Result settings_reload(Settings *settings, const char *who, size_t *changed, Buffer *error);
/* pattern: a host or a pattern of hosts, as in [site "pattern"]; "" = all. Sets one option; answer
 * gets a sentence in any case. RESULT_INVALID: there is no such option, or the value is wrong;
 * RESULT_LIMIT: it cannot change while the crawl runs. */
Result settings_set(Settings *settings, const char *pattern, const char *name, const char *text,
                    const char *who, Buffer *answer);
/* Back to what it was before an operator set it; the standard value when that was in an earlier
 * run. RESULT_NOT_FOUND: no operator has set it. */
Result settings_unset(Settings *settings, const char *pattern, const char *name, const char *who,
                      Buffer *answer);
/* Before that: a crawl keeps the identity that it was begun with, since what it has was got, and
 * may be used, as that. RESULT_INVALID: error gets a sentence. */
Result settings_keep_identity(const Config *config, const char *directory, Buffer *error);
/* Before config.ini is written at a start: each value that differs from that of the run before is a
 * line of ragno.log, so that the log says what was in force at any time. */
void settings_tell_start(const Config *config, const char *directory);
/* Writes DIR/config.ini, and the same as DIR/in-force.ini, which nobody edits; synced. */
Result settings_write(const Config *config, const char *directory);
