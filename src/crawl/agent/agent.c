#include "crawl/agent/agent.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <curl/curl.h>
#include <libxml/parser.h>
#include <stdio.h>
#include <math.h>

#include "base/core/bounds.h"
#include "crawl/fault.h"
#include "crawl/desk/desk.h"
#include "crawl/seeds/seed_verdict.h"
#include "crawl/seeds/seeds.h"
#include "crawl/run/service.h"
#include "crawl/web/web.h"
#include "fetch/transfer/transfer.h"
#include "ingest/page/seed_places.h"
#include "rules/memory_budget.h"
#include "report/write/report_words.h"

/* Summary: what a crawl came to, printed at its end.
 *
 * What: pages by status, hosts, bytes, duplicates, refusals by reason, time, pages per
 * CPU-second.
 * Threads: main. */

typedef struct HostSums {
    PageDB *db;
    uint64_t active;
    uint64_t dropped;
    uint64_t parked;
    uint64_t dropped_by[FETCH_CLASSES];
    uint64_t parked_by[FETCH_CLASSES];
    uint64_t full;
    uint64_t denied; /* with URLs: */
    uint64_t denied_urls;
} HostSums;

/* Walks over all hosts tell PageDB how many rows they have read, so that mapped pages are let go in
 * time (store.map_memory). */
static Result add_host(void *context, uint32_t host, const HostRecord *record)
{
    (void)host;
    HostSums *sums = context;
    page_db_looked_up(sums->db, 1);
    sums->active += record->state == HOST_ACTIVE;
    sums->dropped += record->state == HOST_DROPPED;
    sums->parked += record->state == HOST_PARKED;
    if (host_is_aside(record) && record->drop_class < FETCH_CLASSES) {
        (record->state == HOST_DROPPED ? sums->dropped_by : sums->parked_by)[record->drop_class]++;
    }
    sums->full += record->state == HOST_FULL;
    if (record->state == HOST_DENIED && record->queued > 0) {
        sums->denied++;
        sums->denied_urls += record->queued;
    }
    return RESULT_OK;
}

/* "TITLE NAME N, NAME N", of what is not 0; no line when nothing is. */
static void print_reasons(const char *title, const uint64_t *counts, size_t n,
                          const char *(*name)(size_t i), FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (counts[i] > 0) {
            (void)fprintf(out, "%s %s %llu", any ? "," : title, name(i),
                          (unsigned long long)counts[i]);
            any = true;
        }
    }
    if (any) {
        (void)fputc('\n', out);
    }
}

static const char *name_of_refusal(size_t i)
{
    return refusal_name((Refusal)i);
}

/* The words of politeness.retry. */
static const char *name_of_class(size_t i)
{
    return fetch_class_name((FetchClass)i);
}

static void summary_print_hosts(const IngestStore *store, MDB_txn *txn, FILE *out)
{
    HostSums sums = {.db = store->db};
    if (host_rows_walk(store->hosts, txn, add_host, &sums) == RESULT_OK) {
        (void)fprintf(out,
                      "  hosts       %llu active, %llu dropped after errors, %llu parked, %llu "
                      "at their limit\n",
                      (unsigned long long)sums.active, (unsigned long long)sums.dropped,
                      (unsigned long long)sums.parked, (unsigned long long)sums.full);
        print_reasons("  dropped    ", sums.dropped_by, FETCH_CLASSES, name_of_class, out);
        print_reasons("  parked     ", sums.parked_by, FETCH_CLASSES, name_of_class, out);
    }
}

/* What hosts have that were set aside, and how it comes back. */
static void print_kept(const IngestStore *store, MDB_txn *txn, const char *directory, FILE *out)
{
    uint64_t urls = 0;
    uint64_t hosts = 0;
    if (schedule_parked_counts(store->schedule, txn, &urls, &hosts) == RESULT_OK && urls > 0) {
        (void)fprintf(
            out,
            "  kept        %llu URLs of %llu hosts that were dropped or parked; they come "
            "back with: ragno schedule %s revive\n",
            (unsigned long long)urls, (unsigned long long)hosts, directory);
    }
}

/* What schedule.mode = continuous did, and what comes. */
static void print_revisits(const IngestStore *store, MDB_txn *txn, FILE *out)
{
    RevisitTotals totals;
    RevisitDue next = {.freq = 0};
    uint64_t n = 0;
    char time[WORDS_BYTES];
    if (store->revisits == NULL ||
        ingest_kept_read(txn, store->crawl, KEPT_REVISITS, &totals) != RESULT_OK ||
        revisit_rows_count(store->revisits, txn, &n) != RESULT_OK) {
        return;
    }
    (void)fprintf(out,
                  "  revisits    %llu, %llu not modified, %llu changed, %llu gone; %llu pages will "
                  "be visited again, %llu no more\n",
                  (unsigned long long)totals.visits, (unsigned long long)totals.not_modified,
                  (unsigned long long)totals.changed, (unsigned long long)totals.gone,
                  (unsigned long long)n, (unsigned long long)totals.ended);
    /* A time below that is no date: `ragno schedule DIR freq` counts from 0. */
    if (revisit_rows_next(store->revisits, txn, &next) == RESULT_OK &&
        next.time_s >= REVISIT_VIRTUAL_MAX) {
        double left_s = next.time_s - (double)wall_now().us / 1e6;
        (void)fprintf(out, left_s > 0 ? "  next visit  in %s\n" : "  next visit  due since %s\n",
                      words_ms(fabs(left_s) * 1e3, time));
    }
}

/* One transaction for all figures, so that they fit together. */
static void summary_print(const IngestStore *store, const char *directory,
                          const CrawlTotals *totals, const char *how_it_ended, FILE *out)
{
    char bytes[WORDS_BYTES];
    char time[WORDS_BYTES];
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(store->db, true, &txn) != 0) {
        return;
    }
    uint64_t queued = 0;
    uint64_t hosts = 0;
    (void)schedule_counts(store->schedule, txn, &queued, &hosts);
    double cpu_s = (double)totals->cpu_ms / 1000;
    (void)fprintf(out, "%s: %s\n", directory, how_it_ended);
    uint64_t answers = totals->by_status[2] + totals->by_status[3] + totals->by_status[4] +
                       totals->by_status[5]; /* with those that were asked for again */
    (void)fprintf(
        out,
        "  pages       %llu fetched; %llu answers (2xx %llu, 3xx %llu, 4xx %llu, 5xx %llu), %llu "
        "failed attempts\n",
        (unsigned long long)totals->pages, (unsigned long long)answers,
        (unsigned long long)totals->by_status[2], (unsigned long long)totals->by_status[3],
        (unsigned long long)totals->by_status[4], (unsigned long long)totals->by_status[5],
        (unsigned long long)totals->by_status[0]);
    (void)fprintf(out, "  requests    %llu, robots.txt %llu, retries %llu, throttled %llu\n",
                  (unsigned long long)totals->fetches, (unsigned long long)totals->robots_files,
                  (unsigned long long)totals->retries, (unsigned long long)totals->throttled);
    (void)fprintf(out, "  received    %s, %llu truncated, %llu duplicates\n",
                  words_bytes((double)totals->bytes, bytes), (unsigned long long)totals->truncated,
                  (unsigned long long)totals->duplicates);
    (void)fprintf(out, "  known       %llu URLs, %llu still queued on %llu hosts\n",
                  (unsigned long long)page_db_n_pages(store->db, txn), (unsigned long long)queued,
                  (unsigned long long)hosts);
    print_kept(store, txn, directory, out);
    print_revisits(store, txn, out);
    print_reasons("  refused    ", totals->refused, REFUSALS, name_of_refusal, out);
    summary_print_hosts(store, txn, out);
    (void)fprintf(out, "  time        %s, CPU %.1f s, %.0f pages per CPU-second\n",
                  words_ms((double)totals->elapsed_ms, time), cpu_s,
                  cpu_s > 0 ? (double)totals->pages / cpu_s : 0);
    page_db_txn_abort(store->db, txn);
}

/* ---- Agent ---- */

#define LAST_COMMIT_MS 300000 /* a service manager is told that the end may take so long */

/* ---- signals and news ---- */

typedef struct Watch {
    Helm helm;
    Desk *desk;
    Web *web;        /* NULL: no status page */
    Service service; /* the service manager, if there is one */
    Buffer phrase;   /* what it shows of the crawl */
    int signals;     /* signalfd */
    int news;        /* eventfd of parts */
} Watch;

/* Blocked before the first thread is made: threads inherit the mask, so a signal reaches nobody but
 * the signalfd. SIGPIPE is the one that a socket may raise anywhere. */
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
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* One event for each line. */
static void agent_complain(Buffer *error, const char *event)
{
    char *save = NULL;
    char *line = error->length == 0 ? NULL : strtok_r(error->data, "\n", &save);
    do {
        LOG_WARN("agent", event, "signal=SIGHUP error=\"%s\"", line == NULL ? "no memory" : line);
        line = line == NULL ? NULL : strtok_r(NULL, "\n", &save);
    } while (line != NULL);
}

static void checkpoint(Helm *helm)
{
    Buffer answer = {.limit = BUFFER_NO_LIMIT};
    Result rc = helm_checkpoint(helm, "signal=SIGUSR2", &answer);
    if (rc != RESULT_OK) {
        LOG_WARN("agent", "no checkpoint", "error=\"%s\"", buffer_string(&answer));
    }
    buffer_destroy(&answer);
}

static void read_signals(Watch *watch, MonoTime now)
{
    struct signalfd_siginfo info;
    /* All that came since the last look; two of a kind that came together are one. */
    while (read(watch->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        switch ((int)info.ssi_signo) {
        case SIGHUP:
            /* The manager wants to hear both ends of a reload, in this order. */
            service_reloading(&watch->service, now);
            helm_reopen_logs(&watch->helm, "signal=SIGHUP");
            size_t changed = 0;
            Buffer error = {.limit = BUFFER_NO_LIMIT};
            if (settings_reload(&watch->helm.settings, "signal=SIGHUP", &changed, &error) !=
                RESULT_OK) {
                agent_complain(&error, "configuration is wrong, nothing was changed");
            }
            buffer_destroy(&error);
            service_ready(&watch->service, now);
            break;
        case SIGUSR1:
            monitor_dump(watch->helm.monitor);
            break;
        case SIGUSR2:
            checkpoint(&watch->helm);
            break;
        /* A second one breaks off what is in flight (helm.c). */
        case SIGINT:
            helm_stop_asked(&watch->helm, "signal=SIGINT", now);
            break;
        default:
            helm_stop_asked(&watch->helm, "signal=SIGTERM", now);
            break;
        }
    }
}

/* Rounded up: rounded down the thread would turn without anything to do until the time has come. 60
 * s at most, whatever the parts say. */
static int agent_wait_ms(const Watch *watch, MonoTime now)
{
    MonoTime next = mono_earlier(monitor_next(watch->helm.monitor), desk_next(watch->desk));
    next = mono_earlier(next, helm_next(&watch->helm, now));
    next = mono_earlier(next, service_next(&watch->service));
    int64_t ms = (next.ns - now.ns + 999999) / 1000000;
    return (int)bounds_int64(ms, 0, 60000);
}

/* The watchdog is fed from here alone, so a main thread that hangs is noticed, too. */
static void tell_service(Watch *watch, MonoTime now)
{
    AgentParts *parts = watch->helm.parts;
    if (mono_before(now, service_next(&watch->service))) {
        return;
    }
    ServicePulse pulse = {.commits = stats_get(&parts->stats.commits),
                          .waiting = ingest_waiting(parts->ingest),
                          .paused = parts->pauses != 0};
    Result rc = monitor_phrase(watch->helm.monitor, now, &watch->phrase);
    service_tick(&watch->service, &pulse, rc == RESULT_OK ? buffer_string(&watch->phrase) : NULL,
                 now);
}

/* Until everything that is in flight has ended. One turn:
 *
 *   poll: a signal, news of a part, an operator, or the next of four times (agent_wait_ms)
 *   signals and operators first: what they ask for is in force in this turn
 *   monitor_tick: figures of this moment, by which helm_tick decides
 *   helm_tick: limits, disk, network, the end; it may set `stopping`
 *   the service manager last: it is told what came of it */
static void watch_crawl(Watch *watch)
{
    while (!helm_has_stopped(&watch->helm)) {
        MonoTime now = mono_now();
        struct pollfd fds[] = {{.fd = watch->signals, .events = POLLIN},
                               {.fd = watch->news, .events = POLLIN},
                               {.fd = desk_fd(watch->desk), .events = POLLIN}};
        (void)poll(fds, sizeof fds / sizeof *fds, agent_wait_ms(watch, now));
        now = mono_now();
        read_signals(watch, now);
        /* News carry nothing but that there are some: helm_tick looks at all of them. */
        uint64_t count = 0;
        (void)!read(watch->news, &count, sizeof count);
        monitor_tick(watch->helm.monitor, now);
        desk_serve(watch->desk, now);
        helm_tick(&watch->helm, now);
        /* The manager gives a crawl that ends the time that crawl.grace and the last commit take.
         */
        bool goes_on = watch->helm.options->erase != NULL && *watch->helm.options->erase;
        if (watch->helm.stopping && !watch->service.stopping && !goes_on) {
            service_stopping(&watch->service, watch->helm.why,
                             watch->helm.options->config->crawl_grace + LAST_COMMIT_MS);
        }
        tell_service(watch, now);
    }
}

/* ---- seeds ---- */

typedef struct SeedSink {
    Ingest *ingest;
    SharedReader scope;
    uint64_t added;
    uint64_t forgotten; /* `ragno forget` has erased them: they are not written down again */
} SeedSink;

/* Seeds go the way of links, through the ingest thread's tables, but before it is started: so this
 * is the only writer. What was forgotten is left out here, since a seed is not judged by the
 * scope. */
static Result agent_add_seeds(void *context, const LinkInfo *seeds, const char *const *tags,
                              size_t n)
{
    SeedSink *sink = context;
    const Scope *scope = shared_get(&sink->scope);
    LinkInfo *kept = calloc(n + 1, sizeof *kept);
    const char **kept_tags = calloc(n + 1, sizeof *kept_tags);
    uint64_t added = 0;
    size_t n_kept = 0;
    Result rc = kept == NULL || kept_tags == NULL ? RESULT_MEMORY : RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
        if (scope != NULL &&
            scope_rule_of(scope, seeds[i].url, strlen(seeds[i].url), 'M') == SCOPE_FORGOTTEN) {
            continue;
        }
        kept[n_kept] = seeds[i];
        kept_tags[n_kept++] = tags[i];
    }
    if (rc == RESULT_OK && n_kept > 0) {
        rc = ingest_seeds(sink->ingest, kept, kept_tags, n_kept, &added);
    }
    free(kept);
    free(kept_tags);
    sink->added += added;
    sink->forgotten += n - n_kept;
    return rc;
}

/* Four ways out: a file that cannot be read, tables that cannot be written, no seed at all in a
 * crawl that knows no URL yet, and on. An agent of a cluster may begin without a seed, because
 * others have some. */
static int read_seeds(const AgentOptions *options, AgentParts *parts)
{
    SeedSink sink = {.ingest = parts->ingest};
    SeedReader reader = {.context = &sink,
                         .batch = agent_add_seeds,
                         .ports = &parts->ports,
                         .keep_credentials = parts->config->scope_seed_credentials};
    Result rc = RESULT_OK;
    shared_reader_open(&sink.scope, &parts->scope);
    for (size_t i = 0; i < options->n_seed_files && rc == RESULT_OK; i++) {
        rc = seeds_read_file(&reader, options->seed_files[i]);
    }
    if (rc == RESULT_OK && options->n_seed_words > 0) {
        rc = seeds_read_words(&reader, options->seed_words, options->n_seed_words);
    }
    shared_reader_close(&sink.scope);
    if (rc == RESULT_NOT_FOUND || rc == RESULT_IO) {
        return EXIT_IO; /* said already */
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno: seeds cannot be stored: %s\n", result_name(rc));
        return EXIT_IO;
    }
    bool known = stats_get(&parts->stats.urls_seen) > 0;
    /* Behind the seeds: scope.stay is about where these lead, with the redirects that earlier runs
     * have met. */
    if (parts->stay != NULL) {
        rc = seed_places_load(&parts->store->tables, parts->stay,
                              (unsigned)parts->config->fetch_max_redirects);
        if (rc != RESULT_OK) {
            (void)fprintf(stderr, "ragno: the seeds cannot be read, for scope.stay: %s\n",
                          result_name(rc));
            return EXIT_IO;
        }
    }
    if (reader.good == 0 && !known && parts->cluster == NULL) {
        (void)fprintf(stderr, "ragno: there is no seed%s; give URLs, or a file of URLs with -i\n",
                      reader.bad > 0 ? " that could be fetched" : "");
        return EXIT_USAGE;
    }
    LOG_INFO("agent", "seeds read", "good=%llu new=%llu bad=%llu forgotten=%llu",
             (unsigned long long)reader.good, (unsigned long long)sink.added,
             (unsigned long long)reader.bad, (unsigned long long)sink.forgotten);
    return EXIT_FINISHED;
}

/* ---- the run ---- */

/* What cannot be opened is told apart by what an operator does about it: look at the directory,
 * change the command line, look at the disk. */
static int status_of_open(Result rc)
{
    if (rc == RESULT_LOCKED || rc == RESULT_VERSION || rc == RESULT_DAMAGED) {
        return EXIT_DIRECTORY;
    }
    if (rc == RESULT_CLOSED) {
        return EXIT_SIGNAL; /* while it waited to join a cluster */
    }
    return rc == RESULT_EXISTS || rc == RESULT_INVALID ? EXIT_USAGE : EXIT_IO;
}

/* A crawl that has fetched none of its seeds has not done what it was asked for, even though
 * nothing is left. Redirects alone are no success unless some page was fetched behind them. */
static void judge_seeds(Helm *helm, CrawlStore *store)
{
    SeedVerdict verdict;
    const CrawlTotals *totals = ingest_totals(helm->parts->ingest);
    Result rc = seed_verdict_find(&store->tables, helm->options->config, NULL, &verdict);
    if (rc != RESULT_OK) {
        if (rc == RESULT_DAMAGED) {
            fault_note();
        }
        if (helm->status == EXIT_FINISHED) { /* what cannot be read may hide what is left */
            helm->status = exit_status_of(rc);
            helm->why = "the database cannot be read";
        }
        return;
    }
    bool none = verdict.succeeded == verdict.redirects &&
                (verdict.redirects == 0 || totals->by_status[2] == 0);
    bool alone = helm->parts->cluster == NULL; /* else others have fetched some */
    if (alone && !helm->options->is_dry && helm->status == EXIT_FINISHED && verdict.failed > 0 &&
        none) {
        helm->status = EXIT_NO_SEED;
        helm->why = "finished, but none of the seeds could be fetched";
        LOG_ERROR("agent", "no seed could be fetched", "seeds=%llu next=\"ragno why DIR URL\"",
                  (unsigned long long)verdict.seeds);
    }
}

/* A crawl that ends because the operator denies all that is left has not finished: it says so, and
 * how it goes on. */
static void agent_judge_denied(Helm *helm, CrawlStore *store)
{
    HostSums sums = {.db = store->tables.db};
    MDB_txn *txn = NULL;
    if (helm->status != EXIT_FINISHED || helm->options->is_dry ||
        page_db_txn_begin(store->tables.db, true, &txn) != 0) {
        return;
    }
    Result rc = host_rows_walk(store->tables.hosts, txn, add_host, &sums);
    page_db_txn_abort(store->tables.db, txn);
    if (rc == RESULT_OK && sums.denied_urls > 0) {
        helm->status = EXIT_DENIED;
        helm->why =
            "ended: all that is left is denied, and stays scheduled (ragno ctl DIR denials; "
            "ragno ctl DIR allow RULE, then crawl again)";
        LOG_WARN("agent", "all that is left is denied",
                 "urls=%llu hosts=%llu next=\"ragno ctl DIR allow RULE\"",
                 (unsigned long long)sums.denied_urls, (unsigned long long)sums.denied);
    }
}

/* All threads but this one have ended when the figures are read: times, summary and seeds are those
 * of the last commit, and nothing moves under them. Operators who are connected get their answers
 * before the control socket closes (desk_close), and the summary comes behind, because a crawl of
 * many hosts takes a while to sum up. */
static int end_run(Watch *watch, CrawlStore *store)
{
    Helm *helm = &watch->helm;
    AgentParts *parts = helm->parts;
    /* In the order that agent.h tells; behind it no other thread writes. */
    parts_stop(parts);
    int64_t elapsed_ms = mono_ms_between(helm->start, mono_now());
    Result rc = ingest_save_times(parts->ingest, (uint64_t)elapsed_ms,
                                  (uint64_t)cpu_process_ns() / 1000000);
    if (rc != RESULT_OK) {
        LOG_WARN("agent", "times were not saved", "error=\"%s\"", result_name(rc));
    }
    bool anew = helm->options->erase != NULL && *helm->options->erase; /* it goes on at once */
    monitor_set_state(helm->monitor,
                      helm->status == EXIT_FINISHED && !anew ? STATE_FINISHED : STATE_STOPPED);
    monitor_finish(helm->monitor, anew);
    /* The desk before the page, which asks it. */
    desk_close(watch->desk);
    web_close(watch->web);
    if (!anew) {
        judge_seeds(helm, store);
        agent_judge_denied(helm, store);
    }
    if (!helm->options->quiet) {
        SeedVerdict verdict;
        summary_print(&store->tables, store->directory, ingest_totals(parts->ingest), helm->why,
                      stdout);
        (void)seed_verdict_find(&store->tables, helm->options->config, stdout, &verdict);
    }
    /* A program that is told of the end may take its time; a signal leaves it. */
    if (monitor_is_telling(helm->monitor)) {
        if (!helm->options->quiet && isatty(STDERR_FILENO) == 1) {
            (void)fputs("ragno: control.alert_command is told of the end (Ctrl-C: leave it)\n",
                        stderr);
        }
        monitor_wait(helm->monitor, watch->signals);
    }
    LOG_INFO("agent", "end", "status=%d reason=\"%s\"", helm->status, helm->why);
    return helm->status;
}

/* From here on there is one way out: a failure to start sets the helm to stop, and watch_crawl and
 * end_run take apart whatever part of the crawl runs. So every thread is ended by parts_stop. */
static int agent_crawl(const AgentOptions *options, CrawlStore *store, AgentParts *parts,
                       int signals)
{
    Monitor *monitor = NULL;
    Watch watch = {.helm = {.parts = parts,
                            .options = options,
                            .start = mono_now(),
                            .elapsed_before_ms = ingest_totals(parts->ingest)->elapsed_ms,
                            /* If nobody sets it, the loop ended for no reason that is known. */
                            .status = EXIT_INTERNAL,
                            .why = "internal error"},
                   .signals = signals,
                   .news = parts->news};
    Helm *helm = &watch.helm;
    Result rc = monitor_new(&monitor, options, store, parts, helm->elapsed_before_ms);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno: %s: logs cannot be written: %s\n", store->directory,
                      result_name(rc));
        return EXIT_IO;
    }
    helm->monitor = monitor;
    settings_init(&helm->settings, options, parts);
    if (options->config->crawl_start_paused) {
        (void)helm_pause(helm, true, "crawl.start_paused");
        parts_pause(parts, PAUSE_OPERATOR); /* before there is a thread that fetches */
    }
    /* Before the threads: an operator may stop a crawl that does not come up. */
    rc = desk_open(&watch.desk, helm, store->directory);
    if (rc == RESULT_OK) {
        rc = web_open(&watch.web, options->config, store);
    }
    if (rc == RESULT_OK) {
        rc = parts_start(parts);
    }
    buffer_init(&watch.phrase, 4096);
    service_open_environment(&watch.service);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno: threads cannot be started: %s\n", result_name(rc));
        helm_stop(helm, EXIT_INTERNAL, "threads cannot be started", mono_now());
    } else {
        service_ready(&watch.service, mono_now());
    }
    watch_crawl(&watch);
    int status = end_run(&watch, store);
    service_close(&watch.service);
    buffer_destroy(&watch.phrase);
    /* Behind end_run: waits for a copy that is being made, which reads the database that the
     * caller closes. */
    checkpoint_stop(&helm->checkpoint);
    settings_destroy(&helm->settings);
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
                            "settings with -c FILE (-c /dev/null: the defaults)",
                            directory);
        return RESULT_DAMAGED;
    }
    if (options->settings == CONFIG_FILE_CUT) {
        (void)fprintf(stderr,
                      "ragno: warning: %s/config.ini does not end as ragno wrote it; unless it was "
                      "edited, its end is lost, and the settings there have their defaults now\n",
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
    bool alone = *options->config->cluster_url == '\0'; /* else others may have them */
    if (rc == RESULT_OK && !found && alone && !crawl_store_exists(options->directory)) {
        if (options->n_seed_files == 0) { /* a word that is no URL was an error already */
            (void)buffer_append_string(error,
                                       "there is no seed; give URLs, or a file of URLs with -i");
        } else {
            (void)buffer_printf(error,
                                "there is no seed: no line of %s%s is an http or https URL, such "
                                "as https://example.org/",
                                *options->seed_files,
                                options->n_seed_files > 1 ? " and of the other files" : "");
        }
        return RESULT_INVALID;
    }
    return rc;
}

#define FILES_LEAST 64u /* logs, database, archive, wake-ups, and a few connections */

/* As many descriptors as the system lets this user have: each connection takes one, and a soft
 * limit of 1024 would be that of the crawl. */
static Result raise_file_limit(Buffer *error)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return RESULT_OK;
    }
    if (files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    if (files.rlim_cur >= FILES_LEAST) {
        return RESULT_OK;
    }
    (void)buffer_printf(error,
                        "this process may open only %llu files at once (ulimit -n), and a crawl "
                        "needs %u at least",
                        (unsigned long long)files.rlim_cur, FILES_LEAST);
    return RESULT_IO;
}

/* An agent of a cluster is nothing before it has joined. */
static Result agent_join(AgentParts *parts, CrawlStore *store, int signals, Buffer *error)
{
    Result rc = parts_join(parts, store, error);
    if (rc == RESULT_OK && parts->cluster != NULL) {
        rc = cluster_wait(parts->cluster, signals, parts->news, error);
    }
    return rc;
}

/* What comes before what:
 *
 *   signals                     blocked before a thread is made
 *   limits, seeds, identity     refused before anything is created
 *   directory, store            its lock is taken, so no other process writes from here on
 *   log                         in that directory, so behind the lock
 *   cluster                     joined before parts are built: the table says which URLs are ours
 *   parts, seeds, agent_crawl   the threads, last */
int agent_run(const AgentOptions *options)
{
    Config *config = options->config;
    CrawlStore store = {.lock = -1};
    AgentParts parts;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    int status = EXIT_INTERNAL;
    int signals = open_signals();
    memset(&parts, 0, sizeof parts);
    parts.news = -1;
    /* Before any thread allocates: the number of arenas is set for new threads only. */
    memory_budget_tune_malloc(config);
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    xmlInitParser();
    /* What can be refused is refused before anything is created. */
    Result rc = raise_file_limit(&error);
    if (rc == RESULT_OK) {
        rc = check_seeds(options, &error);
    }
    if (rc == RESULT_OK) {
        rc = parts_identify(&parts, config, &error);
    }
    CrawlStoreOptions store_options = crawl_store_options(config, &parts.dedup);
    store_options.must_be_new = options->must_be_new;
    if (rc == RESULT_OK) {
        rc = check_directory(options, &error);
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
        if (config->fetch_http2 && !transfer_has_http2()) {
            LOG_WARN("agent", "libcurl has no HTTP/2, HTTP/1.1 is spoken", "fetch.http2=yes");
        }
        rc = agent_join(&parts, &store, signals, &error);
    }
    if (rc == RESULT_OK) {
        rc = parts_new(&parts, &store, options->crawl_log, &error);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno: %s\n",
                      error.length > 0 ? buffer_string(&error) : result_name(rc));
        status = status_of_open(rc);
    } else {
        status = read_seeds(options, &parts);
        if (status == EXIT_FINISHED) {
            status = agent_crawl(options, &store, &parts, signals);
        }
    }
    /* In reverse order, whatever part of it was made; each accepts what is zero. */
    parts_delete(&parts);
    crawl_store_close(&store);
    log_close();
    curl_global_cleanup();
    buffer_destroy(&error);
    file_close_fd(signals);
    return status;
}
