#include "crawl/run/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "crawl/run/alerts.h"
#include "store/lmdb/reader_slots.h"

/* Reader guard: looks after the readers of the crawl's database while the crawl runs.
 *
 * What: every few seconds the slots of dead processes are cleared, and the oldest snapshot is
 * looked at. A snapshot that lags behind keeps the database from reusing its pages, so data.mdb
 * grows for as long as it lives. The commands of ragno give way (crawl/short_read.h); a process
 * that was stopped (Ctrl-Z), or another program that reads the file, does not. So a warning in
 * ragno.log names its pid once it is older than store.reader_age, and says when it is over.
 * Owns: nothing; the environment is borrowed.
 * Threads: main. Time is a parameter. */

#define READER_GUARD_MS 2000 /* between two looks */

typedef struct ReaderGuard {
    MDB_env *env;
    int64_t patience_ms; /* store.reader_age */
    ReaderTable table;   /* as of the last look */
    ReaderWatch watch;
    int64_t age_ms; /* of the oldest snapshot that lags behind; 0 = none does */
    bool warned;    /* of this one */
    bool crowded;   /* warned of a table that is nearly full */
    MonoTime next;
} ReaderGuard;

/* Looks when it is time to. */
static void reader_guard_tick(ReaderGuard *guard, MonoTime now)
{
    if (mono_before(now, guard->next)) {
        return;
    }
    guard->next = mono_add_ms(now, READER_GUARD_MS);
    int rc = reader_slots_tell(guard->env, &guard->table);
    if (rc != 0) {
        LOG_WARN("db", "the table of readers cannot be read", "error=\"%s\"", mdb_strerror(rc));
        return;
    }
    guard->age_ms = reader_watch_look(&guard->watch, &guard->table, now);
    /* Whom the warning is about, and what it costs. */
    bool is_old = guard->age_ms >= guard->patience_ms;
    if (is_old && !guard->warned) {
        bool is_ours = guard->watch.pid == (long)getpid();
        LOG_WARN("db", "an old reader makes the database grow", "pid=%ld age_s=%lld next=\"%s\"",
                 guard->watch.pid, (long long)(guard->age_ms / 1000),
                 is_ours ? "it is this crawl; it ends by itself" : "end or continue that process");
    } else if (!is_old && guard->warned) {
        LOG_INFO("db", "the old reader is gone", "readers=%u", guard->table.slots);
    }
    guard->warned = is_old;
    bool is_crowded = guard->table.slots * 4 >= guard->table.limit * 3;
    if (is_crowded && !guard->crowded) {
        LOG_WARN("db", "the table of readers is nearly full",
                 "slots=%u limit=%u next=\"end commands that read this crawl\"", guard->table.slots,
                 guard->table.limit);
    }
    guard->crowded = is_crowded;
}

/* Parts sample: what the threads of a crawl are doing, for a line of the status.
 *
 * What: fills in what fetching, scoring, the network and the hosts that wait contribute to a
 *   StatusSample. The counts are relaxed atomics: each is right, and together they may be a moment
 *   apart.
 * Owns: nothing.
 * Threads: main. */

/* Of all fetching threads together. */
static FetcherStats fetch_stats(const AgentParts *parts)
{
    FetcherStats all = {.active = 0};
    for (unsigned i = 0; i < atomic_load(&parts->n_fetchers); i++) {
        FetcherStats f;
        fetcher_stats(parts->fetchers[i], &f);
        all.active += f.active;
        all.paused += f.paused;
        all.requests += f.requests;
        all.connections += f.connections;
        all.cut_new += f.cut_new;
        all.cut_slow += f.cut_slow;
        all.tls.handshakes += f.tls.handshakes;
        all.tls.resumed += f.tls.resumed;
    }
    return all;
}

/* s->state and s->wall are set before. */
static void parts_sample(AgentParts *parts, StatusSample *s)
{
    /* Hosts that are not fetched from, and their URLs. */
    s->hosts_with_work = stats_get(&parts->stats.hosts_with_work);
    s->hosts_waiting = stats_get(&parts->stats.hosts_waiting);
    int64_t left_ms = (int64_t)stats_get(&parts->stats.next_retry_ms) - s->wall.us / 1000;
    s->hosts_closed = stats_get(&parts->stats.hosts_closed);
    s->next_is_walled = stats_get(&parts->stats.next_is_walled) != 0;
    s->next_retry_ms = s->hosts_waiting > 0 && left_ms > 0 ? (uint64_t)left_ms : 0;
    scoring_stats(parts->scoring, &s->scores);
    frontier_stats(parts->frontier, &s->frontier);
    resolver_stats(parts->resolver, &s->resolver);
    s->network = network_watch_report(parts->network);
    /* What fetch.rate does. */
    s->rate = atomic_load(&parts->rate.bytes_s);
    s->held_back = false;
    for (unsigned i = 0; i < atomic_load(&parts->n_fetchers); i++) {
        FetcherStats f;
        fetcher_stats(parts->fetchers[i], &f);
        s->held_back |= f.held_back;
    }
    s->fetch = fetch_stats(parts);
    tls_sessions_stats(&parts->sessions, &s->tls_sessions);
    if (s->state == STATE_RUNNING && parts->pauses != 0) {
        s->state = STATE_PAUSED;
    }
    s->clustered = parts->cluster != NULL;
    if (s->clustered) {
        cluster_part_figures(parts->cluster, &s->cluster);
        s->cluster_full = (parts->pauses & PAUSE_CLUSTER) != 0;
    }
    s->held = (parts->pauses & PAUSE_OPERATOR) != 0;
}

/* ---- Waiting ---- */

Result waiting_walk(const IngestStore *tables, uint64_t *all,
                    void (*visit)(void *context, const WaitingHost *host), void *context)
{
    WaitEntry entries[WAITING_TOLD];
    size_t n = 0;
    MDB_txn *txn = NULL;
    Buffer origin = {.limit = BUFFER_NO_LIMIT};
    *all = 0;
    if (page_db_txn_begin(tables->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = lmdb_count(txn, tables->waits, all, "count waits");
    if (rc == RESULT_OK) {
        rc = wait_rows_read(tables->waits, txn, NULL, entries, WAITING_TOLD, &n);
    }
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        WaitingHost host = {.why = entries[i].failures == 0
                                       ? "hours"
                                       : fetch_class_name((FetchClass)entries[i].class),
                            .failures = entries[i].failures,
                            .until = {.us = entries[i].until_ms * 1000}};
        buffer_reset(&origin);
        (void)page_db_host_origin(tables->db, txn, entries[i].host, &origin);
        (void)schedule_host_count(tables->schedule, txn, entries[i].host, &host.urls);
        host.origin = buffer_string(&origin);
        visit(context, &host);
    }
    page_db_txn_abort(tables->db, txn);
    buffer_destroy(&origin);
    return rc;
}

/* ---- Monitor ---- */

#define PROGRESS_MS     250
#define PROGRESS_LOG_MS 2000 /* when it is forced onto something that is no terminal */
#define COLUMNS         120u
#define PHRASE_COLUMNS  1000u
#define RATE_LEAST_MS   1000
#define MEMORY_MS       20  /* how often residence is compared with crawl.memory */
#define MAP_MEMORY_MS   100 /* and with store.map_memory alone: it grows with the commits */

struct Monitor {
    const AgentOptions *options;
    const CrawlStore *store;
    AgentParts *parts;
    uint64_t elapsed_before_ms;
    MonoTime start;
    CrawlState state;
    bool disk_low;
    uint64_t disk_free_bytes;
    uint64_t disk_least; /* crawl.min_free_disk as it was then */
    int log;             /* status.log */
    bool progress;
    bool terminal;
    StatusSample last_line;
    StatusSample line_before; /* the line before that one */
    StatusSample last_progress;
    MonoTime next_line;
    int64_t interval_ms; /* log.status_interval as it was then */
    MonoTime next_progress;
    MonoTime next_memory; /* MONO_NEVER without a budget */
    ReaderGuard readers;
    Alerts alerts;
    Buffer text;
};

/* ---- files ---- */

Result monitor_open_log(const AgentOptions *options, const char *directory, Buffer *error)
{
    Path path;
    LogLevel echo = options->quiet ? LOG_LEVEL_ERROR : LOG_LEVEL_WARN;
    if (options->verbose) {
        echo = LOG_LEVEL_INFO;
    }
    Result rc = log_open(file_path(&path, "%s/ragno.log", directory),
                         (LogLevel)options->config->log_level, echo);
    if (rc == RESULT_OK) {
        rc = settings_keep_identity(options->config, directory, error);
    }
    if (rc == RESULT_OK) {
        settings_tell_start(options->config, directory);
        rc = settings_write(options->config, directory);
    }
    if (rc != RESULT_OK && error->length == 0) {
        (void)buffer_printf(error, "%s: ragno.log or config.ini cannot be written: %s", directory,
                            result_name(rc));
    }
    return rc;
}

static int open_status_log(const Monitor *monitor)
{
    Path path;
    return open(file_path(&path, "%s/status.log", monitor->store->directory),
                O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

/* Replaces DIR/status.json in one step. */
static void write_json(Monitor *monitor, const StatusSample *now)
{
    Path path;
    Path draft;
    ssize_t n = -1;
    int fd = open(file_path(&draft, "%s/status.json.new", monitor->store->directory),
                  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        return;
    }
    if (status_json(&monitor->last_line, now, (long)getpid(), &monitor->text) == RESULT_OK) {
        n = write(fd, monitor->text.data, monitor->text.length);
    }
    (void)close(fd);
    if (n == (ssize_t)monitor->text.length) {
        (void)rename(draft.text, file_path(&path, "%s/status.json", monitor->store->directory));
    }
}

/* ---- samples ---- */

static uint64_t database_bytes(const Monitor *monitor)
{
    Path path;
    struct stat st = {.st_size = 0};
    (void)stat(file_path(&path, "%s/crawl.mdb/data.mdb", monitor->store->directory), &st);
    return (uint64_t)st.st_size;
}

/* Between crawl.min_free_disk and twice that, disk_low keeps its value. With a single threshold the
 * crawl, whose own files grow and shrink, would pause and go on by turns. */
static void monitor_look_at_disk(Monitor *monitor)
{
    struct statvfs fs;
    uint64_t least = (uint64_t)monitor->options->config->crawl_min_free_disk;
    if (statvfs(monitor->store->directory, &fs) != 0) {
        return;
    }
    monitor->disk_least = least;
    monitor->disk_free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (monitor->disk_free_bytes < least) {
        monitor->disk_low = true;
    } else if (monitor->disk_free_bytes >= 2 * least) {
        monitor->disk_low = false;
    }
}

static void sample(Monitor *monitor, MonoTime now, StatusSample *s)
{
    AgentParts *parts = monitor->parts;
    const Stats *stats = &parts->stats;
    *s = (StatusSample){
        .mono = now,
        .wall = wall_now(),
        .state = monitor->state,
        .elapsed_ms = mono_ms_between(monitor->start, now) + (int64_t)monitor->elapsed_before_ms,
        .cpu_ms = cpu_process_ns() / 1000000,
        .stats = stats,
        .pages = stats_get(&stats->pages),
        .bytes = stats_get(&stats->bytes),
        .continuous = parts->revisits != NULL,
        .urls_queued = stats_get(&stats->urls_queued),
        .hosts = stats_get(&stats->hosts),
        .connections = atomic_load(&parts->connections),
        .results = ingest_waiting(parts->ingest),
        .parse_queue = parsing_waiting(parts->parsing),
        .cost_price = atomic_load(&parts->costs.price) / HOST_COSTS_PRICE_UNIT,
        .cost_rests = atomic_load(&parts->costs.n_rests),
        .parse_queue_limit = (size_t)monitor->options->config->parse_queue,
        .held_bytes = byte_gate_held(&parts->answers) + byte_gate_held(&parts->results),
        .held_waits = byte_gate_closings(&parts->answers) + byte_gate_closings(&parts->results),
        .gate_closed = !byte_gate_is_open(&parts->answers),
        .spool_bytes = byte_gate_held(&parts->spools),
        .cut_endless = atomic_load_explicit(&parts->n_endless, memory_order_relaxed),
        .answers = stats_answers(stats),
        .parser_busy_us = stats_get(&stats->parser_busy_us),
        .parsers = parsing_tend(parts->parsing),
        .writer_busy_us = stats_writer_busy_us(stats, now),
        .results_closed = !byte_gate_is_open(&parts->results),
        .rss_bytes = status_rss_bytes(),
        .alerts = monitor->alerts.n_told,
        .alerts_failed = monitor->alerts.n_failed,
        .map_drops = page_db_check_residence(monitor->store->tables.db),
        .db_bytes = database_bytes(monitor)};
    const ReaderGuard *guard = &monitor->readers;
    s->db_readers = guard->table.slots;
    s->db_reader_age_ms = (uint64_t)guard->age_ms;
    s->db_reader_pid = guard->age_ms == 0 ? 0 : (uint64_t)guard->watch.pid;
    for (size_t i = 0; i < 6; i++) {
        s->by_status[i] = stats_get(&stats->by_status[i]);
    }
    parts_sample(parts, s);
    monitor_look_at_disk(monitor);
    s->disk_free_bytes = monitor->disk_free_bytes;
    s->disk_low = monitor->disk_low || atomic_load(&monitor->parts->stuck);
}

/* ---- output ---- */

/* The log wipes the progress line before it writes to the terminal; the next tick draws it again.
 */
static void wipe_progress(void)
{
    static const char wipe[] = "\r\033[K";
    (void)!write(STDERR_FILENO, wipe, sizeof wipe - 1);
}

static unsigned columns(void)
{
    struct winsize size = {.ws_col = 0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return COLUMNS;
}

static void draw_progress(Monitor *monitor, const StatusSample *now)
{
    if (status_progress(&monitor->last_progress, now, monitor->terminal ? columns() : 1000,
                        &monitor->text) != RESULT_OK) {
        return;
    }
    if (monitor->terminal) {
        wipe_progress();
    } else {
        (void)buffer_append_char(&monitor->text, '\n');
    }
    (void)!write(STDERR_FILENO, monitor->text.data, monitor->text.length);
}

static void monitor_write_line(Monitor *monitor, const StatusSample *now)
{
    if (monitor->parts->cluster != NULL) {
        atomic_store(&monitor->parts->cluster->limit, status_limit(&monitor->last_line, now));
    }
    if (status_line(&monitor->last_line, now, &monitor->text) == RESULT_OK &&
        buffer_append_char(&monitor->text, '\n') == RESULT_OK && monitor->log >= 0) {
        (void)!write(monitor->log, monitor->text.data, monitor->text.length);
    }
    write_json(monitor, now);
    alerts_look(&monitor->alerts, &monitor->last_line, now);
    monitor->line_before = monitor->last_line;
    monitor->last_line = *now;
}

/* An operator has changed log.status_interval. */
static bool has_other_interval(const Monitor *monitor)
{
    return monitor->interval_ms != monitor->options->config->log_status_interval;
}

static void begin_interval(Monitor *monitor, MonoTime now)
{
    monitor->interval_ms = monitor->options->config->log_status_interval;
    monitor->next_line = mono_add_ms(now, monitor->interval_ms);
}

void monitor_tick(Monitor *monitor, MonoTime now)
{
    if (has_other_interval(monitor)) {
        begin_interval(monitor, now);
    }
    if (!mono_before(now, monitor->next_memory)) {
        (void)page_db_check_residence(monitor->store->tables.db);
        bool is_budget = monitor->options->config->crawl_memory > 0;
        monitor->next_memory = mono_add_ms(now, is_budget ? MEMORY_MS : MAP_MEMORY_MS);
    }
    reader_guard_tick(&monitor->readers, now);
    if (!mono_before(now, monitor->alerts.next)) {
        alerts_tick(&monitor->alerts, now);
    }
    bool line = !mono_before(now, monitor->next_line);
    bool progress = monitor->progress && !mono_before(now, monitor->next_progress);
    StatusSample s;
    if (!line && !progress) {
        return;
    }
    sample(monitor, now, &s);
    if (line) {
        monitor_write_line(monitor, &s);
        begin_interval(monitor, now);
    }
    if (progress) {
        draw_progress(monitor, &s);
        monitor->last_progress = s;
        monitor->next_progress =
            mono_add_ms(now, monitor->terminal ? PROGRESS_MS : PROGRESS_LOG_MS);
    }
}

MonoTime monitor_next(const Monitor *monitor)
{
    MonoTime next = monitor->next_line;
    if (has_other_interval(monitor)) {
        next = (MonoTime){0};
    }
    next = monitor->progress ? mono_earlier(monitor->next_progress, next) : next;
    next = mono_earlier(monitor->readers.next, next);
    next = mono_earlier(monitor->alerts.next, next);
    return mono_earlier(monitor->next_memory, next);
}

void monitor_finish(Monitor *monitor, bool goes_on)
{
    StatusSample s;
    sample(monitor, mono_now(), &s);
    monitor_write_line(monitor, &s);
    if (!goes_on) {
        alerts_end(&monitor->alerts, &monitor->line_before, &s);
    }
    if (monitor->progress) {
        log_set_echo_hook(NULL);
        if (monitor->terminal) {
            wipe_progress();
        }
        monitor->progress = false;
    }
}

bool monitor_is_telling(const Monitor *monitor)
{
    return monitor->alerts.next.ns != MONO_NEVER.ns;
}

void monitor_wait(Monitor *monitor, int hurry)
{
    alerts_wait(&monitor->alerts, hurry);
}

Result monitor_status(Monitor *monitor, bool json, Buffer *out)
{
    StatusSample s;
    sample(monitor, mono_now(), &s);
    /* Rates cover the time since the last line, or, if that was written only just now, the time
     * since the line before it: a rate over a few milliseconds means nothing. */
    bool is_young = mono_ms_between(monitor->last_line.mono, s.mono) < RATE_LEAST_MS;
    const StatusSample *before = is_young ? &monitor->line_before : &monitor->last_line;
    Result rc = json ? status_json(before, &s, (long)getpid(), out) : status_line(before, &s, out);
    if (out->length > 0 && out->data[out->length - 1] == '\n') {
        out->data[--out->length] = '\0';
    }
    return rc;
}

Result monitor_phrase(Monitor *monitor, MonoTime now, Buffer *out)
{
    StatusSample s;
    sample(monitor, now, &s);
    return status_progress(&monitor->last_line, &s, PHRASE_COLUMNS, out);
}

static void dump_thread(void *context, const char *name, const char *step)
{
    (void)context;
    LOG_INFO("monitor", "thread", "name=%s step=\"%s\"", name, step);
}

static void dump_waiting(void *context, const WaitingHost *host)
{
    char time[CLOCK_TEXT_BYTES];
    (void)context;
    LOG_INFO("monitor", "waits for a retry", "host=%s until=%s why=%s failures=%u urls=%llu",
             host->origin, wall_format_iso(host->until, time), host->why, host->failures,
             (unsigned long long)host->urls);
}

void monitor_dump(Monitor *monitor)
{
    uint64_t waiting = 0;
    StatusSample s;
    sample(monitor, mono_now(), &s);
    if (status_line(&monitor->last_line, &s, &monitor->text) == RESULT_OK) {
        LOG_INFO("monitor", "state", "%s", buffer_string(&monitor->text));
    }
    thread_walk(dump_thread, NULL);
    (void)waiting_walk(&monitor->store->tables, &waiting, dump_waiting, NULL);
    LOG_INFO("monitor", "hosts that wait for a retry", "all=%llu told=%llu",
             (unsigned long long)waiting,
             (unsigned long long)(waiting < WAITING_TOLD ? waiting : WAITING_TOLD));
}

void monitor_reopen(Monitor *monitor)
{
    int fd = open_status_log(monitor);
    if (fd >= 0) {
        (void)close(monitor->log);
        monitor->log = fd;
    }
}

uint64_t monitor_disk_free(const Monitor *monitor)
{
    return monitor->disk_free_bytes;
}

bool monitor_disk_low(Monitor *monitor)
{
    if (monitor->disk_least != (uint64_t)monitor->options->config->crawl_min_free_disk) {
        monitor_look_at_disk(monitor); /* an operator has changed it */
    }
    return monitor->disk_low;
}

void monitor_tell_soon(Monitor *monitor, MonoTime now)
{
    monitor->next_line = now;
}

void monitor_set_state(Monitor *monitor, CrawlState state)
{
    monitor->state = state;
}

Result monitor_new(Monitor **out, const AgentOptions *options, const CrawlStore *store,
                   AgentParts *parts, uint64_t elapsed_before_ms)
{
    Monitor *monitor = calloc(1, sizeof *monitor);
    if (monitor == NULL) {
        return RESULT_MEMORY;
    }
    monitor->options = options;
    monitor->store = store;
    monitor->parts = parts;
    monitor->elapsed_before_ms = elapsed_before_ms;
    monitor->start = mono_now();
    monitor->state = STATE_RUNNING;
    monitor->next_line = monitor->start;
    monitor->interval_ms = options->config->log_status_interval;
    monitor->next_progress = monitor->start;
    bool is_bound = options->config->crawl_memory > 0 || options->config->store_map_memory > 0;
    monitor->next_memory = is_bound ? monitor->start : MONO_NEVER;
    page_db_set_residence(store->tables.db, (size_t)options->config->crawl_memory);
    page_db_set_map_memory(store->tables.db, options->config->crawl_memory > 0
                                                 ? 0
                                                 : (size_t)options->config->store_map_memory);
    ReaderGuard *guard = &monitor->readers;
    MDB_env *env = page_db_env(store->tables.db);
    *guard = (ReaderGuard){
        .env = env, .patience_ms = options->config->store_reader_age, .next = monitor->start};
    alerts_init(&monitor->alerts, options->config->control_alert_command, store->directory,
                options->config->control_alert_after, monitor->start);
    monitor->terminal = isatty(STDERR_FILENO) != 0;
    monitor->progress =
        options->progress == PROGRESS_ALWAYS ||
        (options->progress == PROGRESS_AUTO && monitor->terminal && !options->quiet);
    buffer_init(&monitor->text, 65536);
    monitor->log = open_status_log(monitor);
    if (monitor->log < 0) {
        Result rc = result_of_errno(errno);
        free(monitor);
        return rc;
    }
    sample(monitor, monitor->start, &monitor->last_line);
    monitor->line_before = monitor->last_line;
    monitor->last_progress = monitor->last_line;
    if (monitor->progress && monitor->terminal) {
        log_set_echo_hook(wipe_progress);
    }
    *out = monitor;
    return RESULT_OK;
}

void monitor_delete(Monitor *monitor)
{
    if (monitor != NULL) {
        log_set_echo_hook(NULL);
        (void)close(monitor->log);
        alerts_destroy(&monitor->alerts);
        buffer_destroy(&monitor->text);
        free(monitor);
    }
}
