#include "command/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/memory/embed.h"
#include "command/plan/plan_seeds.h"
#include "crawl/crawl_store.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "forecast/forecast_text.h"

/* Plan crawl: `ragno plan DIR`, the forecast of a crawl.
 *
 * What: looks at a crawl, running or not, and prints what src/forecast makes of it. Only reads.
 * Threads: main. */

typedef struct Plan {
    CrawlView view;
    ForecastHistory history;
    ForecastLoad load;
    Buffer slowest_host;
    Buffer slowest_address;
} Plan;

static double disk_free(const char *directory)
{
    struct statvfs disk;
    return statvfs(directory, &disk) == 0 ? (double)disk.f_bavail * (double)disk.f_frsize : 0;
}

/* Whether limits of a run are asked for. A crawl that is resumed forgets those of the run before.
 */
static bool names_limit(const CheckOptions *options)
{
    for (size_t i = 0; i < options->settings.n; i++) {
        if (strncmp(options->settings.all[i].name, "crawl.max_", strlen("crawl.max_")) == 0) {
            return true;
        }
    }
    return false;
}

static Result name_host(Plan *plan, const HostLoad *host, Buffer *origin)
{
    MDB_txn *txn = NULL;
    if (host == NULL) {
        return RESULT_OK;
    }
    if (page_db_txn_begin(plan->view.db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    int code = page_db_host_origin(plan->view.db, txn, host->host, origin);
    page_db_txn_abort(plan->view.db, txn);
    return code == page_db_error_ok ? RESULT_OK : RESULT_DAMAGED;
}

static Result plan_crawl_tell(Plan *plan, const ForecastInput *input, bool is_running, bool json)
{
    Forecast forecast;
    Buffer out = {.limit = BUFFER_NO_LIMIT};
    forecast_make(&forecast, input);
    Result rc = name_host(plan, forecast.slowest.host, &plan->slowest_host);
    if (rc == RESULT_OK) {
        rc = name_host(plan, forecast.slowest.address, &plan->slowest_address);
    }
    if (rc == RESULT_OK) {
        const ForecastSubject subject = {.directory = plan->view.directory,
                                         .is_running = is_running,
                                         .is_cluster = *input->config->cluster_url != '\0',
                                         .slowest_host = buffer_string(&plan->slowest_host),
                                         .slowest_address = buffer_string(&plan->slowest_address)};
        rc = forecast_write(&forecast, input, &subject, json ? REPORT_AS_JSON : REPORT_AS_TEXT,
                            &out);
    }
    (void)fwrite(buffer_string(&out), 1, rc == RESULT_OK ? out.length : 0, stdout);
    buffer_destroy(&out);
    return rc;
}

static Result plan_crawl_run(Plan *plan, const CheckOptions *options, bool json)
{
    const CrawlView *view = &plan->view;
    const Config *config = &view->config;
    bool is_running = crawl_store_owner(view->directory) != 0;
    Result rc = forecast_history_read(&plan->history, view->directory);
    if (rc == RESULT_OK) {
        rc = forecast_load_read(&plan->load, view->db, view->hosts, config, wall_now().us / 1000);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    const ForecastInput input = {.history = &plan->history,
                                 .load = &plan->load,
                                 .config = config,
                                 .directory_bytes = file_bytes(view->directory),
                                 .database_bytes = plan->history.db_bytes,
                                 .disk_free = disk_free(view->directory),
                                 .limits_hold = is_running || names_limit(options),
                                 .never_ends = config_is_continuous(config)};
    return plan_crawl_tell(plan, &input, is_running, json);
}

/* options: what to assume instead of the crawl's own settings. An exit status. */
static int plan_crawl(const char *directory, const CheckOptions *options, bool json)
{
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        return EXIT_INTERNAL;
    }
    int status = crawl_view_open(&plan->view, "plan", directory);
    if (status != 0) {
        free(plan);
        return status;
    }
    buffer_init(&plan->slowest_host, BUFFER_NO_LIMIT);
    buffer_init(&plan->slowest_address, BUFFER_NO_LIMIT);
    if (command_settings_apply(&options->settings, &plan->view.config.options, &error) !=
        RESULT_OK) {
        (void)fprintf(stderr, "ragno plan: %s", buffer_string(&error));
        status = EXIT_USAGE;
    } else {
        Result rc = plan_crawl_run(plan, options, json);
        (void)buffer_printf(&error, "%s: %s", directory, result_name(rc));
        status = exit_status_tell("plan", rc, &error);
    }
    buffer_destroy(&error);
    buffer_destroy(&plan->slowest_host);
    buffer_destroy(&plan->slowest_address);
    forecast_load_destroy(&plan->load);
    crawl_view_close(&plan->view);
    free(plan);
    return status;
}

/* ---- `ragno plan` ---- */

EMBED(plan_usage, "src/command/plan/plan.txt");

static int plan_take_file(void *to, const char *file)
{
    PlanSeeds *seeds = to;
    if (seeds->n_files == PLAN_SEED_FILES) {
        (void)fprintf(stderr, "ragno plan: more than %u seed files\n", PLAN_SEED_FILES);
        return EXIT_USAGE;
    }
    seeds->files[seeds->n_files++] = file;
    return 0;
}

static bool plan_is_url(const char *word)
{
    return strstr(word, "://") != NULL;
}

int plan_main(int argc, char **argv)
{
    CheckOptions options = {.file = NULL};
    PlanSeeds seeds = {.n_files = 0};
    bool json = false;
    const CommandOption rows[] = {
        CHECK_OPTIONS_ROWS(&options),
        {"input-file", 'i', COMMAND_TAKE, .to = &seeds, .take = plan_take_file},
        {"contact", 0, COMMAND_SETTING, .to = &options.settings, .setting = "crawl.contact"},
        {"json", 0, COMMAND_FLAG, .to = &json}};
    CommandLine line = {"plan", plan_usage, COMMAND_ROWS(rows), .words_most = argc};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    if (seeds.n_files == 0 && line.n_words == 1 && !plan_is_url(line.words[0])) {
        if (options.file != NULL) {
            (void)fprintf(stderr, "ragno plan: -c goes with seeds: a crawl has its config.ini\n");
            return EXIT_USAGE;
        }
        return plan_crawl(line.words[0], &options, json);
    }
    if (seeds.n_files == 0 && (line.n_words == 0 || !plan_is_url(line.words[0]))) {
        (void)fputs(plan_usage, stderr);
        return EXIT_USAGE;
    }
    seeds.words = line.words;
    seeds.n_words = (size_t)line.n_words;
    return plan_seeds(&seeds, &options, json);
}
