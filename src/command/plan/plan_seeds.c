#include "command/plan/plan_seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/plan/plan_folder.h"
#include "command/plan/plan_verdicts.h"
#include "crawl/agent/agent.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"

/* What a dry run has otherwise than the crawl that it stands for. No URL is shorter than a byte: so
 * each page is refused by the last rule that is asked. */
static const char *const changes[][2] = {
    {"filter.fetch", "URLShorterThan(1)"},
    {"warc.enabled", "no"},
    {"robots.tdm_file", "no"},
    {"score.scorer", "none"},
    {"schedule.mode", "once"},
    {"limits.tail", "1s"}, /* a host that has failed is not asked again */
    {"crawl.max_pages", "0"},
    {"crawl.max_bytes", "0"},
    {"crawl.max_duration", "0"},
    {"crawl.max_total_duration", "0"},
    {"crawl.start_paused", "no"},
    {"cluster.url", ""},
    {"control.listen", ""},
    {"log.report", "off"},
    {"log.skipped", "off"},
};

static int plan_seeds_change(Config *config)
{
    Buffer error;
    Result rc = RESULT_OK;
    buffer_init(&error, BUFFER_NO_LIMIT);
    for (size_t i = 0; rc == RESULT_OK && i < sizeof changes / sizeof *changes; i++) {
        rc = options_set(&config->options, changes[i][0], changes[i][1], "ragno plan", &error);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno plan: %s\n", buffer_string(&error));
    }
    buffer_destroy(&error);
    return rc == RESULT_OK ? 0 : EXIT_INTERNAL;
}

/* Another look at the configuration while it runs would make a crawl of it. */
static bool no_reload(void *context, Config *fresh, Buffer *error)
{
    (void)context;
    (void)fresh;
    (void)buffer_append_string(error, "a dry run takes no other settings");
    return false;
}

static int plan_seeds_crawl(const PlanSeeds *seeds, Config *config, const char *folder)
{
    AgentOptions agent = {.config = config,
                          .settings = CONFIG_FILE_NONE,
                          .directory = folder,
                          .seed_files = calloc(PLAN_SEED_FILES, sizeof *agent.seed_files),
                          .n_seed_files = seeds->n_files,
                          .seed_words = seeds->words,
                          .n_seed_words = seeds->n_words,
                          .reload = no_reload,
                          .quiet = true,
                          .is_dry = true};
    if (agent.seed_files == NULL) {
        return EXIT_INTERNAL;
    }
    memcpy(agent.seed_files, seeds->files, seeds->n_files * sizeof *agent.seed_files);
    int status = agent_run(&agent);
    free(agent.seed_files);
    return status;
}

static int plan_seeds_tell(const Config *config, const char *folder, bool json, bool *all_open)
{
    CrawlView view;
    int status = crawl_view_open(&view, "plan", folder);
    if (status == 0) {
        Result rc = plan_verdicts_tell(&view, config, json, all_open);
        if (rc != RESULT_OK) {
            (void)fprintf(stderr, "ragno plan: %s\n", result_name(rc));
            status = rc == RESULT_MEMORY ? EXIT_INTERNAL : EXIT_IO;
        }
        crawl_view_close(&view);
    }
    return status;
}

/* The status of the dry run, and what its seeds came to. */
static int plan_seeds_conclude(int crawled, int told, bool all_open)
{
    if (told != 0) {
        return told;
    }
    if (crawled == EXIT_SIGNAL || crawled == EXIT_FORCED) {
        return crawled;
    }
    return all_open ? 0 : EXIT_NEGATIVE;
}

static bool has_ended(int status)
{
    return status == EXIT_FINISHED || status == EXIT_TAIL || status == EXIT_NO_SEED ||
           status == EXIT_SIGNAL || status == EXIT_FORCED;
}

int plan_seeds(const PlanSeeds *seeds, const CheckOptions *options, bool json)
{
    Config as_asked; /* what a crawl would have */
    Config dry;
    Buffer folder;
    bool all_open = true;
    buffer_init(&folder, BUFFER_NO_LIMIT);
    int status = config_init(&as_asked) == RESULT_OK ? check_options_load(options, &as_asked)
                                                     : EXIT_INTERNAL;
    int made = config_init(&dry) == RESULT_OK ? status : EXIT_INTERNAL;
    if (made == 0) {
        made = check_options_load(options, &dry);
    }
    made = made == 0 ? plan_seeds_change(&dry) : made;
    if (made == 0 && plan_folder_make(&folder) != RESULT_OK) {
        (void)fprintf(stderr, "ragno plan: %s cannot be made (TMPDIR)\n", buffer_string(&folder));
        made = EXIT_IO;
        buffer_reset(&folder);
    }
    status = made;
    if (made == 0) {
        status = plan_seeds_crawl(seeds, &dry, buffer_string(&folder));
        if (has_ended(status)) {
            int told = plan_seeds_tell(&as_asked, buffer_string(&folder), json, &all_open);
            status = plan_seeds_conclude(status, told, all_open);
        }
    }
    if (folder.length > 0) {
        plan_folder_remove(buffer_string(&folder));
    }
    buffer_destroy(&folder);
    config_destroy(&as_asked);
    config_destroy(&dry);
    return status;
}
