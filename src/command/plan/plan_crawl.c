#include "command/plan/plan_crawl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "store/pages/page_db_read.h"
#include "command/plan/plan_folder.h"
#include "crawl/crawl_store.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "forecast/forecast_text.h"

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
    for (size_t i = 0; i < options->n_assignments; i++) {
        if (strncmp(options->assignments[i], "crawl.max_", strlen("crawl.max_")) == 0) {
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
    Buffer out;
    forecast_make(&forecast, input);
    buffer_init(&out, BUFFER_NO_LIMIT);
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
        rc = json ? forecast_json(&forecast, input, &subject, &out)
                  : forecast_text(&forecast, input, &subject, &out);
    }
    if (rc == RESULT_OK &&
        (fwrite(buffer_string(&out), 1, out.length, stdout) != out.length || fflush(stdout) != 0)) {
        rc = RESULT_IO;
    }
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
        rc = forecast_load_read(&plan->load, view->db, view->hosts, config);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    const ForecastInput input = {.history = &plan->history,
                                 .load = &plan->load,
                                 .config = config,
                                 .directory_bytes = plan_folder_bytes(view->directory),
                                 .database_bytes = plan->history.db_bytes,
                                 .disk_free = disk_free(view->directory),
                                 .limits_hold = is_running || names_limit(options),
                                 .never_ends = config_is_continuous(config)};
    return plan_crawl_tell(plan, &input, is_running, json);
}

int plan_crawl(const char *directory, const CheckOptions *options, bool json)
{
    Buffer error;
    Plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        return EXIT_INTERNAL;
    }
    int status = crawl_view_open(&plan->view, "plan", directory);
    if (status != 0) {
        free(plan);
        return status;
    }
    buffer_init(&error, BUFFER_NO_LIMIT);
    buffer_init(&plan->slowest_host, BUFFER_NO_LIMIT);
    buffer_init(&plan->slowest_address, BUFFER_NO_LIMIT);
    if (check_options_assign(options, &plan->view.config, &error) != RESULT_OK) {
        (void)fprintf(stderr, "ragno plan: %s", buffer_string(&error));
        status = EXIT_USAGE;
    } else {
        Result rc = plan_crawl_run(plan, options, json);
        if (rc != RESULT_OK) {
            (void)fprintf(stderr, "ragno plan: %s: %s\n", directory, result_name(rc));
            status = rc == RESULT_DAMAGED || rc == RESULT_VERSION ? EXIT_DIRECTORY
                     : rc == RESULT_MEMORY                        ? EXIT_INTERNAL
                                                                  : EXIT_IO;
        }
    }
    buffer_destroy(&error);
    buffer_destroy(&plan->slowest_host);
    buffer_destroy(&plan->slowest_address);
    forecast_load_destroy(&plan->load);
    crawl_view_close(&plan->view);
    free(plan);
    return status;
}
