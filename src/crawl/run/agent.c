#include "crawl/run/agent.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <curl/curl.h>
#include <libxml/parser.h>

#include "crawl/parts/agent_parts.h"
#include "base/thread/log.h"
#include "crawl/parts/parsing_parts.h"
#include "crawl/parts/writing_parts.h"
#include "report/tell/report_file.h"
#include "rules/memory_budget.h"
#include "crawl/run/monitor.h"
#include "crawl/run/seeds.h"
#include "crawl/run/summary.h"

#define DRAIN_TICK_MS  1000
#define SAME_SIGNAL_MS 100

/* ---- signals and news
 * ------------------------------------------------------------------------------- */

typedef struct Watch {
    AgentParts *parts;
    const AgentOptions *options;
    Monitor *monitor;
    int signals; /* signalfd */
    int news;    /* eventfd of parts */
    MonoTime start;
    uint64_t elapsed_before_ms;
    bool stopping;
    bool forced;
    int status;      /* exit status once stopping */
    const char *why; /* how it ended */
    MonoTime stop_time;
    MonoTime grace_end;
} Watch;

static int open_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    (void)sigaddset(&set, SIGUSR1);
    (void)sigaddset(&set, SIGUSR2);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void begin_stop(Watch *watch, int status, const char *why, MonoTime now)
{
    if (watch->stopping) {
        return;
    }
    watch->stopping = true;
    watch->status = status;
    watch->why = why;
    watch->stop_time = now;
    watch->grace_end = mono_add_ms(now, watch->options->config->crawl_grace);
    LOG_INFO("agent", "stopping", "reason=\"%s\"", why);
    monitor_set_state(watch->monitor, STATE_STOPPING);
    parts_drain(watch->parts);
}

static void on_stop_signal(Watch *watch, MonoTime now)
{
    if (!watch->stopping) {
        begin_stop(watch, EXIT_SIGNAL, "stopped by a signal, everything is saved", now);
    } else if (mono_before(now, mono_add_ms(watch->stop_time, SAME_SIGNAL_MS))) {
        return; /* `timeout` and shells signal the process and its group: one wish, heard twice */
    } else if (watch->status == EXIT_SIGNAL && !watch->forced) {
        watch->forced = true;
        watch->status = EXIT_FORCED;
        watch->why = "stopped at once by a second signal; fetches in flight will be repeated";
        parts_abort(watch->parts);
    }
}

/* One event for each line. */
static void complain(Buffer *error, const char *event)
{
    char *save = NULL;
    char *line = error->length == 0 ? NULL : strtok_r(error->data, "\n", &save);
    do {
        LOG_WARN("agent", event, "signal=SIGHUP error=\"%s\"", line == NULL ? "no memory" : line);
        line = line == NULL ? NULL : strtok_r(NULL, "\n", &save);
    } while (line != NULL);
}

static void reload(Watch *watch)
{
    const AgentOptions *options = watch->options;
    Config fresh;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    if (!options->reload(options->reload_context, &fresh, &error)) {
        complain(&error, "configuration is wrong, nothing was changed");
    } else {
        size_t changed = options_take_live(&options->config->options, &fresh.options);
        config_destroy(&fresh);
        log_set_level((LogLevel)options->config->log_level);
        parts_configure(watch->parts);
        if (parsing_parts_share_rules(watch->parts, &error) != RESULT_OK) {
            complain(&error, "scope and filters stay as they were");
        }
        buffer_reset(&error);
        if (writing_parts_change_revisits(watch->parts, &error) != RESULT_OK) {
            complain(&error, "revisits stay as they were");
        }
        LOG_INFO("agent", "configuration read anew", "changed=%zu", changed);
    }
    buffer_destroy(&error);
}

static void read_signals(Watch *watch, MonoTime now)
{
    struct signalfd_siginfo info;
    while (read(watch->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        switch ((int)info.ssi_signo) {
        case SIGHUP:
            (void)log_reopen();
            parts_reopen_logs(watch->parts);
            monitor_reopen(watch->monitor);
            LOG_INFO("agent", "logs opened anew", "signal=SIGHUP");
            reload(watch);
            break;
        case SIGUSR1:
            monitor_dump(watch->monitor);
            break;
        case SIGUSR2:
            LOG_INFO("agent", "checkpoint", "note=\"every commit is one\"");
            break;
        default:
            on_stop_signal(watch, now);
            break;
        }
    }
}

/* Nothing was ever fetched, and not one name server said a word. */
static bool is_without_names(const Watch *watch)
{
    ResolverStats names;
    resolver_stats(watch->parts->resolver, &names);
    return names.unanswered > 0 && names.answered == 0 &&
           stats_get(&watch->parts->stats.fetches) == 0;
}

static void check_limits(Watch *watch, MonoTime now)
{
    const Config *config = watch->options->config;
    const Stats *stats = &watch->parts->stats;
    int64_t run_ms = mono_ms_between(watch->start, now);
    int64_t total_ms = run_ms + (int64_t)watch->elapsed_before_ms;
    if (atomic_load(&watch->parts->failed)) {
        begin_stop(watch, EXIT_IO,
                   "stopped: the directory cannot be read or written; the log says why", now);
    } else if (is_without_names(watch)) {
        begin_stop(watch, EXIT_NETWORK,
                   "stopped: no name server answers (dns.servers, or /etc/resolv.conf)", now);
    } else if (atomic_load(&watch->parts->finished)) {
        begin_stop(watch, EXIT_FINISHED, "finished, nothing is left to fetch", now);
    } else if (config->crawl_max_pages > 0 &&
               stats_get(&stats->pages) >= (uint64_t)config->crawl_max_pages) {
        begin_stop(watch, EXIT_PAGE_LIMIT, "stopped at crawl.max_pages", now);
    } else if (config->crawl_max_bytes > 0 &&
               stats_get(&stats->bytes) >= (uint64_t)config->crawl_max_bytes) {
        begin_stop(watch, EXIT_PAGE_LIMIT, "stopped at crawl.max_bytes", now);
    } else if (config->crawl_max_duration > 0 && total_ms >= config->crawl_max_duration) {
        begin_stop(watch, EXIT_TIME_LIMIT, "stopped at crawl.max_duration", now);
    } else if (config->crawl_disk_full_exit && monitor_disk_low(watch->monitor)) {
        begin_stop(watch, EXIT_DISK_LIMIT, "stopped because the disk is nearly full", now);
    }
}

static MonoTime sooner(MonoTime a, MonoTime b)
{
    return mono_before(a, b) ? a : b;
}

static int wait_ms(const Watch *watch, MonoTime now)
{
    MonoTime next = monitor_next(watch->monitor);
    int64_t duration = watch->options->config->crawl_max_duration;
    if (duration > 0) {
        int64_t left = duration - (int64_t)watch->elapsed_before_ms;
        next = sooner(next, mono_add_ms(watch->start, left < 0 ? 0 : left));
    }
    if (watch->stopping) {
        next = sooner(next, mono_add_ms(now, DRAIN_TICK_MS));
        next = sooner(next, watch->grace_end);
    }
    int64_t ms = (next.ns - now.ns + 999999) / 1000000;
    return ms < 0 ? 0 : ms > 60000 ? 60000 : (int)ms;
}

/* Until everything that is in flight has ended. */
static void watch_crawl(Watch *watch)
{
    for (;;) {
        MonoTime now = mono_now();
        struct pollfd fds[2] = {{.fd = watch->signals, .events = POLLIN},
                                {.fd = watch->news, .events = POLLIN}};
        (void)poll(fds, 2, wait_ms(watch, now));
        now = mono_now();
        read_signals(watch, now);
        uint64_t count = 0;
        (void)!read(watch->news, &count, sizeof count);
        monitor_tick(watch->monitor, now);
        parts_pause(watch->parts, monitor_disk_low(watch->monitor));
        check_limits(watch, now);
        if (watch->stopping && !watch->forced && !mono_before(now, watch->grace_end)) {
            watch->forced = true; /* the grace is over: what is in flight is fetched again */
            parts_abort(watch->parts);
        }
        if (watch->stopping && parts_outstanding(watch->parts) == 0) {
            return;
        }
    }
}

/* ---- seeds
 * --------------------------------------------------------------------------------------------- */

typedef struct SeedSink {
    Ingest *ingest;
    uint64_t added;
} SeedSink;

static Result add_seeds(void *context, const LinkInfo *seeds, size_t n)
{
    SeedSink *sink = context;
    uint64_t added = 0;
    Result rc = ingest_seeds(sink->ingest, seeds, n, &added);
    sink->added += added;
    return rc;
}

static int read_seeds(const AgentOptions *options, AgentParts *parts)
{
    SeedSink sink = {.ingest = parts->ingest};
    SeedReader reader = {.context = &sink,
                         .batch = add_seeds,
                         .ports = &parts->ports,
                         .keep_credentials = parts->config->scope_seed_credentials};
    Result rc = RESULT_OK;
    for (size_t i = 0; i < options->n_seed_files && rc == RESULT_OK; i++) {
        rc = seeds_read_file(&reader, options->seed_files[i]);
    }
    if (rc == RESULT_OK && options->n_seed_words > 0) {
        rc = seeds_read_words(&reader, options->seed_words, options->n_seed_words);
    }
    if (rc == RESULT_NOT_FOUND || rc == RESULT_IO) {
        return EXIT_IO; /* said already */
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno: seeds cannot be stored: %s\n", result_name(rc));
        return EXIT_IO;
    }
    bool known = stats_get(&parts->stats.urls_seen) > 0;
    if (reader.good == 0 && !known) {
        (void)fprintf(stderr, "ragno: there is no seed%s; give URLs, or a file of URLs with -i\n",
                      reader.bad > 0 ? " that could be fetched" : "");
        return EXIT_USAGE;
    }
    LOG_INFO("agent", "seeds read", "good=%llu new=%llu bad=%llu", (unsigned long long)reader.good,
             (unsigned long long)sink.added, (unsigned long long)reader.bad);
    return EXIT_FINISHED;
}

/* ---- the run
 * ---------------------------------------------------------------------------------------------- */

static int status_of_open(Result rc)
{
    if (rc == RESULT_LOCKED || rc == RESULT_VERSION || rc == RESULT_DAMAGED) {
        return EXIT_DIRECTORY;
    }
    return rc == RESULT_EXISTS || rc == RESULT_INVALID ? EXIT_USAGE : EXIT_IO;
}

/* log.report; that it cannot be written does not change how the crawl ended. */
static void write_report(const Watch *watch, CrawlStore *store)
{
    ReportForm form = (ReportForm)watch->options->config->log_report;
    Buffer error;
    if (form == REPORT_OFF) {
        return;
    }
    buffer_init(&error, 4096);
    if (report_write(store->directory, store->tables.db, form, &error) != RESULT_OK) {
        LOG_WARN("report", "was not written", "error=\"%s\"", buffer_string(&error));
    }
    buffer_destroy(&error);
}

static int end_run(Watch *watch, CrawlStore *store)
{
    AgentParts *parts = watch->parts;
    parts_stop(parts);
    int64_t elapsed_ms = mono_ms_between(watch->start, mono_now());
    Result rc = ingest_save_times(parts->ingest, (uint64_t)elapsed_ms,
                                  (uint64_t)cpu_process_ns() / 1000000);
    if (rc != RESULT_OK) {
        LOG_WARN("agent", "times were not saved", "error=\"%s\"", result_name(rc));
    }
    monitor_set_state(watch->monitor,
                      watch->status == EXIT_FINISHED ? STATE_FINISHED : STATE_STOPPED);
    monitor_finish(watch->monitor);
    if (!watch->options->quiet) {
        summary_print(&store->tables, store->directory, ingest_totals(parts->ingest), watch->why,
                      stdout);
    }
    write_report(watch, store);
    LOG_INFO("agent", "end", "status=%d reason=\"%s\"", watch->status, watch->why);
    return watch->status;
}

static int crawl(const AgentOptions *options, CrawlStore *store, AgentParts *parts, int signals)
{
    Monitor *monitor = NULL;
    Watch watch = {.parts = parts,
                   .options = options,
                   .signals = signals,
                   .news = parts->news,
                   .start = mono_now(),
                   .elapsed_before_ms = ingest_totals(parts->ingest)->elapsed_ms,
                   .status = EXIT_INTERNAL,
                   .why = "internal error"};
    Result rc = monitor_new(&monitor, options, store, parts, watch.elapsed_before_ms);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno: %s: logs cannot be written: %s\n", store->directory,
                      result_name(rc));
        return EXIT_IO;
    }
    watch.monitor = monitor;
    rc = parts_start(parts);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno: threads cannot be started: %s\n", result_name(rc));
        begin_stop(&watch, EXIT_INTERNAL, "threads cannot be started", mono_now());
    }
    watch_crawl(&watch);
    int status = end_run(&watch, store);
    monitor_delete(monitor);
    return status;
}

/* What a crawl left must not be taken for a new one: its pages would be crawled again, and
 * anywhere, when the settings are gone that kept it to its hosts. */
static Result check_directory(const AgentOptions *options, Buffer *error)
{
    const char *directory = options->directory;
    if (!crawl_store_has_run(directory)) {
        return RESULT_OK;
    }
    if (!crawl_store_exists(directory)) {
        (void)buffer_printf(error,
                            "%s held a crawl, but its database (crawl.mdb/data.mdb) is missing or "
                            "empty; copy it back from a backup, or choose another directory",
                            directory);
        return RESULT_DAMAGED;
    }
    if (options->settings == CONFIG_FILE_NONE) {
        (void)buffer_printf(error,
                            "%s holds a crawl, but its config.ini is missing or empty; give its "
                            "settings with -c FILE (-c /dev/null: the standard ones)",
                            directory);
        return RESULT_DAMAGED;
    }
    if (options->settings == CONFIG_FILE_CUT) {
        (void)fprintf(stderr,
                      "ragno: warning: %s/config.ini does not end as ragno wrote it; if it was not "
                      "edited, its end is lost, and what stood there is at its standard now\n",
                      directory);
    }
    return RESULT_OK;
}

/* A crawl that does not exist yet needs a seed. */
static Result check_seeds(const AgentOptions *options, Buffer *error)
{
    bool found = false;
    Result rc = seeds_probe(options->seed_files, options->n_seed_files, options->seed_words,
                            options->n_seed_words, &found, error);
    if (rc == RESULT_OK && !found && !crawl_store_exists(options->directory)) {
        bool asked = options->n_seed_files + options->n_seed_words > 0;
        (void)buffer_printf(error, "%s; give URLs, or a file of URLs with -i",
                            asked ? "there is no seed that is an http or https URL"
                                  : "there is no seed");
        return RESULT_INVALID;
    }
    return rc;
}

/* As many descriptors as the system lets this user have. */
static void raise_file_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

int agent_run(const AgentOptions *options)
{
    Config *config = options->config;
    CrawlStore store = {.lock = -1};
    AgentParts parts;
    Buffer error;
    int status = EXIT_INTERNAL;
    int signals = open_signals();
    buffer_init(&error, BUFFER_NO_LIMIT);
    memset(&parts, 0, sizeof parts);
    parts.news = -1;
    memory_budget_tune_malloc(config);
    raise_file_limit();
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    xmlInitParser();
    /* What can be refused is refused before anything is created. */
    Result rc = parts_identify(&parts, config, &error);
    CrawlStoreOptions store_options = crawl_store_options(config, &parts.dedup);
    store_options.must_be_new = options->must_be_new;
    if (rc == RESULT_OK) {
        rc = check_directory(options, &error);
    }
    if (rc == RESULT_OK) {
        rc = check_seeds(options, &error);
    }
    if (rc == RESULT_OK) {
        rc = crawl_store_open(&store, options->directory, &store_options, &error);
    }
    if (rc == RESULT_OK) {
        rc = monitor_open_log(options, store.directory, &error);
    }
    if (rc == RESULT_OK) {
        LOG_INFO("agent", "start", "version=%s directory=%s resumed=%s", RAGNO_VERSION,
                 store.directory, store.existed ? "yes" : "no");
        rc = parts_new(&parts, &store, options->crawl_log, &error);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno: %s\n",
                      error.length > 0 ? buffer_string(&error) : result_name(rc));
        status = status_of_open(rc);
    } else {
        status = read_seeds(options, &parts);
        if (status == EXIT_FINISHED) {
            status = crawl(options, &store, &parts, signals);
        }
    }
    parts_delete(&parts);
    crawl_store_close(&store);
    log_close();
    curl_global_cleanup();
    buffer_destroy(&error);
    if (signals >= 0) {
        (void)close(signals);
    }
    return status;
}
