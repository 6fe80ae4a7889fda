#include "crawl/run/helm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/bounds.h"
#include "crawl/fault.h"
#include "crawl/parts/wires.h"
#include "logs/crawl_log_line.h"
#include "report/write/report_words.h"

/* ---- Checkpoint ---- */

static void *checkpoint_main(void *argument)
{
    Checkpoint *checkpoint = argument;
    Path target;
    thread_step("copying the database");
    (void)file_path(&target, "%s/crawl.mdb", checkpoint->draft.text);
    checkpoint->code = lmdb_env_copy(checkpoint->env, target.text, 0);
    /* Whole copies alone have a name without .new: who sees one may use it. */
    if (checkpoint->code == 0 && rename(checkpoint->draft.text, checkpoint->path.text) != 0) {
        checkpoint->code = errno;
    }
    /* Last, since the main thread joins when it sees it, and reads the rest. */
    atomic_store(&checkpoint->is_done, true);
    checkpoint->ring(checkpoint->context);
    return NULL;
}

static Result checkpoint_fail(const Checkpoint *checkpoint, Result rc, Buffer *answer)
{
    (void)buffer_printf(answer, "%s cannot be made: %s", checkpoint->path.text, result_name(rc));
    return rc;
}

/* Makes the folder checkpoint->draft, for what is to stand beside the copy. RESULT_EXISTS: a
 * checkpoint is being made already; RESULT_IO and the like. answer gets a sentence then. */
static Result checkpoint_prepare(Checkpoint *checkpoint, const char *directory, Buffer *answer)
{
    if (checkpoint->runs) {
        (void)buffer_append_string(answer, "a checkpoint is being made already");
        return RESULT_EXISTS;
    }
    /* DIR/checkpoint-TIME.new/crawl.mdb */
    Path inner;
    char time[CLOCK_TEXT_BYTES];
    (void)file_path(&checkpoint->path, "%s/checkpoint-%s", directory,
                    wall_format_compact(wall_now(), time));
    (void)file_path(&checkpoint->draft, "%s.new", checkpoint->path.text);
    (void)file_path(&inner, "%s/crawl.mdb", checkpoint->draft.text);
    Result rc = mkdir(checkpoint->draft.text, 0755) != 0 || mkdir(inner.text, 0755) != 0
                    ? result_of_errno(errno)
                    : RESULT_OK;
    return rc == RESULT_OK ? rc : checkpoint_fail(checkpoint, rc, answer);
}

/* Begins the copy. ring is called by the thread when it is done. Errors as before. */
static Result checkpoint_begin(Checkpoint *checkpoint, MDB_env *env, void (*ring)(void *context),
                               void *context, Buffer *answer)
{
    checkpoint->env = env;
    checkpoint->ring = ring;
    checkpoint->context = context;
    checkpoint->code = 0;
    atomic_store(&checkpoint->is_done, false);
    checkpoint->thread = (Thread){.started = false};
    Result rc = thread_start(&checkpoint->thread, "checkpoint", checkpoint_main, checkpoint);
    checkpoint->runs = rc == RESULT_OK;
    return rc == RESULT_OK ? rc : checkpoint_fail(checkpoint, rc, answer);
}

bool checkpoint_end(Checkpoint *checkpoint, Result *rc, Buffer *answer)
{
    if (!checkpoint->runs || !atomic_load(&checkpoint->is_done)) {
        return false;
    }
    thread_join(&checkpoint->thread);
    *rc = checkpoint->code == 0 ? RESULT_OK : RESULT_IO;
    if (checkpoint->code == 0) {
        (void)buffer_printf(answer, "%s", checkpoint->path.text);
        LOG_INFO("agent", "checkpoint made", "path=%s", checkpoint->path.text);
    } else {
        (void)buffer_printf(answer, "%s was not finished: %s", checkpoint->draft.text,
                            mdb_strerror(checkpoint->code));
        LOG_WARN("agent", "checkpoint failed", "path=%s error=\"%s\"", checkpoint->draft.text,
                 mdb_strerror(checkpoint->code));
    }
    checkpoint->runs = false;
    return true;
}

void checkpoint_stop(Checkpoint *checkpoint)
{
    Result rc = RESULT_OK;
    Buffer ignored;
    if (checkpoint->runs) {
        buffer_init(&ignored, BUFFER_NO_LIMIT);
        /* A copy cannot be broken off; the crawl's end waits for it. */
        thread_join(&checkpoint->thread);
        atomic_store(&checkpoint->is_done, true);
        (void)checkpoint_end(checkpoint, &rc, &ignored);
        buffer_destroy(&ignored);
    }
}

/* ---- Network look ---- */

#define RECHECK_LEAST_MS INT64_C(500) /* between two looks for names whose time has come */
#define RECHECK_MOST_MS  INT64_C(600000)
#define CLOCK_STEP_US    INT64_C(1000000)
#define MARGIN_MS        2000 /* clocks of two threads: what was dropped just before counts, too */

/* The classes of failure for which our network may have been the reason. */
static uint32_t our_classes(void)
{
    uint32_t classes = 0;
    for (unsigned class = 0; class < FETCH_CLASSES; class ++) {
        classes |= fetch_class_may_be_ours((FetchClass) class) ? UINT32_C(1) << class : 0;
    }
    return classes;
}

static void network_look_at(NetworkSide *side, bool out, MonoTime since, const char *what,
                            AgentParts *parts, MonoTime now, WallTime wall)
{
    if (out && !side->out) {
        side->since = since.ns == MONO_NEVER.ns ? now : since;
        LOG_WARN("agent",
                 "our own network is out: no host is charged, and the crawl goes on by itself",
                 "reason=network what=\"%s\" for_ms=%lld", what,
                 (long long)mono_ms_between(side->since, now));
    } else if (!out && side->out) {
        int64_t ms = mono_ms_between(side->since, now);
        LOG_WARN("agent", "our own network is back", "reason=network what=\"%s\" after_ms=%lld",
                 what, (long long)ms);
        /* By the wall clock, which hosts' records have; how long it was is measured by the clock
         * that nobody sets, so a clock that was set in the outage does not matter. */
        RevivalOrder order = {.since_ms = wall.us / 1000 - ms - MARGIN_MS,
                              .classes = our_classes()};
        if (parts_revive(parts, &order) != RESULT_OK) {
            LOG_WARN("agent", "hosts that were dropped in the outage stay dropped: no memory",
                     "next=\"ragno schedule DIR revive, when the crawl has ended\"");
        }
    }
    side->out = out;
}

/* Looks, and does what is to be done. PAUSE_NETWORK, or 0. */
static unsigned network_look(NetworkLook *look, AgentParts *parts, MonoTime now, WallTime wall)
{
    bool tries = false;
    OutageReport gateway = network_watch_gateway(parts->network, now, &tries);
    OutageReport transfers = network_watch_report(parts->network);
    bool is_gateways = gateway.state == OUTAGE_OUT;
    ResolverStats names;
    resolver_stats(parts->resolver, &names);
    network_look_at(&look->gateway, is_gateways, gateway.since,
                    "one answer comes from unrelated hosts: a gateway, proxy or portal of ours",
                    parts, now, wall);
    /* Not beside a gateway's: one outage, one word in the log, one revival. */
    network_look_at(&look->transfers, transfers.state == OUTAGE_OUT && !is_gateways,
                    transfers.since, "no address answers any more", parts, now, wall);
    network_look_at(&look->names, names.outage == OUTAGE_OUT, names.outage_since,
                    "name servers are silent, or say that no name exists any more", parts, now,
                    wall);
    /* Names alone pause nothing: hosts whose address is known go on. Behind a gateway the crawl
     * goes on now and then (`tries`), to find out whether that has gone. */
    return look->transfers.out || (is_gateways && !tries) ? PAUSE_NETWORK : 0u;
}

static bool network_look_is_out(const NetworkLook *look)
{
    return look->transfers.out || look->names.out || look->gateway.out;
}

/* ---- names that do not exist ---- */

static bool network_look_ask_again(AgentParts *parts, int64_t by_ms)
{
    RevivalOrder order = {.classes = UINT32_C(1) << FETCH_NO_NAME, .recheck_by_ms = by_ms};
    return parts_revive(parts, &order) == RESULT_OK;
}

/* Has names asked for again whose time has come. */
static void network_look_recheck(NetworkLook *look, AgentParts *parts, MonoTime now, WallTime wall)
{
    int64_t recheck_ms = parts->config->politeness_name_recheck;
    if (recheck_ms == 0 || mono_before(now, look->next_recheck)) {
        return;
    }
    /* A quarter of the time: a name is late by that much at most. Bounded, since each look walks
     * all hosts that are set aside. */
    int64_t step_ms = bounds_int64(recheck_ms / 4, RECHECK_LEAST_MS, RECHECK_MOST_MS);
    /* Not at the start, when everything that is due is asked for anyhow. */
    if (look->next_recheck.ns != 0 && stats_get(&parts->stats.hosts_parked) > 0) {
        (void)network_look_ask_again(parts, wall.us / 1000);
    }
    look->next_recheck = mono_add_ms(now, step_ms);
}

/* The crawl is about to end. True: it is not to, since all names of which it is not yet believed
 * that they do not exist are asked for first; only once. */
static bool network_look_once_more(NetworkLook *look, AgentParts *parts)
{
    bool may_bring = !look->looked_once_more && parts->config->politeness_name_recheck > 0 &&
                     stats_get(&parts->stats.hosts_parked) > 0;
    look->looked_once_more = true;
    return may_bring && network_look_ask_again(parts, INT64_MAX);
}

/* ---- the clock ---- */

/* Says in the log when the system's clock was set. */
static void network_look_at_clock(NetworkLook *look, MonoTime now, WallTime wall)
{
    /* What the two clocks differ by, sleep left out, changes only when one of them is set. */
    int64_t clock_us = wall.us - (now.ns + clock_asleep_ns()) / 1000;
    int64_t step_us = clock_us - look->clock_us;
    if (look->clock_us != 0 && (step_us > CLOCK_STEP_US || step_us < -CLOCK_STEP_US)) {
        LOG_WARN("agent", "the clock of the system was set: delays go on as they were",
                 "by_ms=%lld", (long long)(step_us / 1000));
    }
    look->clock_us = clock_us;
}

/* ---- Helm ---- */

#define DRAIN_TICK_MS  1000
#define SAME_SIGNAL_MS 100
#define DAY_US         (INT64_C(86400) * 1000000)
#define ERASE_TICK_MS  100 /* until no link waits */

/* ---- stop ---- */

/* A crawl RUNS while helm->stopping is false; pauses come and go meanwhile (parts->pauses).
 *
 *   RUNS     -> STOPPING  begin_stop: helm_stop, at a limit or a failure (helm_tick), or
 *                         helm_stop_asked, for a signal or an operator. Nothing new is fetched.
 *   STOPPING -> FORCED    force, when it is asked for again; helm_tick, when crawl.grace is over.
 *                         Transfers are broken off, and their URLs stay scheduled.
 *   both     -> stopped   helm_has_stopped: nothing is outstanding.
 *
 * The first reason is the one that is told: begin_stop does nothing when the crawl stops already,
 * and only force changes the exit status behind it. */
static void begin_stop(Helm *helm, int status, const char *why, const char *who, MonoTime now)
{
    if (helm->stopping) {
        return;
    }
    helm->stopping = true;
    helm->status = status;
    helm->why = why;
    helm->stop_time = now;
    helm->grace_end = mono_add_ms(now, helm->options->config->crawl_grace);
    if (status == EXIT_SIGNAL && !helm->options->quiet) {
        /* That it takes a while, and how it can be had at once. */
        char time[WORDS_BYTES];
        size_t flights = parts_outstanding(helm->parts);
        if (flights > 0) {
            (void)fprintf(
                stderr,
                "ragno: stopping: %zu fetches in flight have %s to end (crawl.grace); %s stops "
                "at once\n",
                flights, words_ms((double)helm->options->config->crawl_grace, time),
                strcmp(who, "signal=SIGINT") == 0 ? "Ctrl-C once more" : "a second signal");
        }
    }
    LOG_INFO("agent", "stopping", "reason=\"%s\"%s%s", why, who == NULL ? "" : " ",
             who == NULL ? "" : who);
    monitor_set_state(helm->monitor, STATE_STOPPING);
    /* Last: everything that is asked for during the drain sees `stopping`. */
    parts_drain(helm->parts);
}

void helm_stop(Helm *helm, int status, const char *why, MonoTime now)
{
    begin_stop(helm, status, why, NULL, now);
}

static bool is_by_signal(const char *who)
{
    return strncmp(who, "signal=", 7) == 0;
}

static void force(Helm *helm, const char *who)
{
    /* Only of a stop that was asked for. A limit's or a failure's end has its own status, and its
     * grace. */
    if (helm->status == EXIT_SIGNAL && !helm->forced) {
        helm->forced = true;
        helm->status = EXIT_FORCED;
        helm->why = is_by_signal(who)
                        ? "stopped at once by a second signal; fetches in flight will be repeated"
                        : "stopped at once by the operator; fetches in flight will be repeated";
        LOG_INFO("agent", "stopping at once", "%s", who);
        parts_abort(helm->parts);
    }
}

void helm_stop_asked(Helm *helm, const char *who, MonoTime now)
{
    if (!helm->stopping) {
        begin_stop(helm, EXIT_SIGNAL,
                   is_by_signal(who) ? "stopped by a signal, everything is saved"
                                     : "stopped by the operator, everything is saved",
                   who, now);
        return;
    }
    /* `timeout` and shells signal the process and its group: one wish, heard twice. */
    if (is_by_signal(who) && !mono_before(now, mono_add_ms(helm->stop_time, SAME_SIGNAL_MS))) {
        force(helm, who);
    }
}

void helm_stop_now(Helm *helm, const char *who, MonoTime now)
{
    helm_stop_asked(helm, who, now);
    force(helm, who);
}

/* ---- erasing ---- */

void helm_erase(Helm *helm, MonoTime time, const char *who)
{
    helm->erases = true;
    helm->erase_time = time;
    LOG_INFO("agent", "an erasure is asked for", "links_waiting=%llu %s",
             (unsigned long long)stats_get(&helm->parts->stats.sieve_pending), who);
    /* Links that wait in bucket files cannot be erased there: the sieve looks them up first. */
    atomic_store(&helm->parts->sieve.flush, true);
    ingest_wake(helm->parts->ingest);
}

Result helm_erase_by(Helm *helm, const char *order, MonoTime time, const char *who)
{
    Path path;
    Buffer before = {.limit = BUFFER_NO_LIMIT};
    const char *directory = helm->parts->store->directory;
    Result rc = file_read(file_path(&path, "%s/" ERASURE_ORDER, directory), &before);
    /* Another order is being carried out; the same one may come twice, as from a console and a
     * cluster. */
    if (rc == RESULT_OK && strcmp(buffer_string(&before), order) != 0) {
        rc = RESULT_LOCKED;
    } else if (rc == RESULT_NOT_FOUND) {
        Path folder;
        if (mkdir(file_path(&folder, "%s/forget", directory), 0700) == 0) {
            rc = file_sync_folder(directory);
        } else {
            rc = errno == EEXIST ? RESULT_OK : result_of_errno(errno);
        }
        if (rc == RESULT_OK) {
            rc = file_replace(path.text, order, strlen(order));
        }
    }
    if (rc == RESULT_OK) {
        helm_erase(helm, time, who);
    }
    buffer_destroy(&before);
    return rc;
}

/* When a day begins, what is older than store.retention is erased. The process that starts anew
 * does it (command/forget). */
static void helm_check_retention(Helm *helm)
{
    const Config *config = helm->options->config;
    int64_t day = wall_now().us / DAY_US;
    if (config->store_retention == 0 || helm->erases || helm->stopping || day == helm->day) {
        return;
    }
    Path path;
    WallTime oldest;
    const char *log = helm->options->crawl_log;
    /* Before the look: an error, too, is looked at again tomorrow, not at each tick. */
    helm->day = day;
    Result rc = crawl_log_oldest(
        log != NULL ? log : file_path(&path, "%s/crawl.log", helm->options->directory), &oldest);
    if (rc == RESULT_OK && oldest.us < wall_now().us - config->store_retention * 1000) {
        helm_erase(helm, mono_now(), "reason=store.retention");
    }
}

static void helm_check_erasure(Helm *helm, MonoTime now)
{
    if (helm->options->erase == NULL) {
        return; /* it cannot start anew */
    }
    helm_check_retention(helm);
    /* EXIT_FINISHED is not what the caller sees: *erase makes the process erase and start anew. */
    if (helm->erases && !helm->stopping && !mono_before(now, helm->erase_time) &&
        stats_get(&helm->parts->stats.sieve_pending) == 0) {
        *helm->options->erase = true;
        helm_stop(helm, EXIT_FINISHED, "stopped for an erasure; it goes on afterwards", now);
    }
}

/* ---- pause ---- */

bool helm_pause(Helm *helm, bool held, const char *who)
{
    if (helm->held == held) {
        return false;
    }
    helm->held = held;
    LOG_INFO("agent", held ? "paused" : "resumed", "reason=operator %s", who);
    return true;
}

/* The disk's part of the reasons to pause, told when it changes. */
static unsigned helm_look_at_disk(Helm *helm)
{
    /* Nearly full by measure, or full by a write that failed (`stuck`), wherever its file is. */
    unsigned low =
        monitor_disk_low(helm->monitor) || atomic_load(&helm->parts->stuck) ? PAUSE_DISK : 0u;
    if (low != (helm->parts->pauses & PAUSE_DISK) && !helm->stopping) {
        /* What happened, where, and which option decides. */
        bool is_low = low != 0;
        const char *path = helm->parts->store->directory;
        long long least = helm->options->config->crawl_min_free_disk;
        long long free_bytes = (long long)monitor_disk_free(helm->monitor);
        if (is_low && atomic_load(&helm->parts->stuck)) {
            LOG_WARN("agent", "paused",
                     "reason=\"disk full: nothing can be written\" path=%s free_bytes=%lld "
                     "next=\"make room there, or on the disk that the errors above name\"",
                     path, free_bytes);
        } else if (is_low) {
            LOG_WARN("agent", "paused",
                     "reason=\"disk nearly full\" path=%s free_bytes=%lld "
                     "crawl.min_free_disk=%lld "
                     "next=\"make room until %lld bytes are free, or lower crawl.min_free_disk\"",
                     path, free_bytes, least, 2 * least);
        } else {
            LOG_WARN("agent", "resumed",
                     "reason=\"the disk has room again\" path=%s free_bytes=%lld "
                     "crawl.min_free_disk=%lld",
                     path, free_bytes, least);
        }
    }
    return low;
}

/* ---- configuration and logs ---- */

void helm_reopen_logs(Helm *helm, const char *who)
{
    (void)log_reopen();
    crawl_log_reopen(helm->parts->log);
    monitor_reopen(helm->monitor);
    LOG_INFO("agent", "logs opened anew", "%s", who);
}

Result helm_checkpoint(Helm *helm, const char *who, Buffer *answer)
{
    AgentParts *parts = helm->parts;
    Result rc = helm->stopping ? RESULT_CLOSED : RESULT_OK;
    if (rc != RESULT_OK) {
        (void)buffer_append_string(answer, "the crawl is stopping");
        return rc;
    }
    rc = checkpoint_prepare(&helm->checkpoint, parts->store->directory, answer);
    if (rc != RESULT_OK) {
        return rc;
    }
    LOG_INFO("agent", "checkpoint begun", "path=%s %s", helm->checkpoint.path.text, who);
    (void)settings_write(helm->options->config, helm->checkpoint.draft.text);
    (void)denial_list_write(&parts->denials, helm->checkpoint.draft.text, answer);
    return checkpoint_begin(&helm->checkpoint, page_db_env(parts->store->tables.db), wires_ring,
                            parts, answer);
}

/* ---- limits ---- */

/* Nothing was ever fetched, and not one name server said a word. */
static bool is_without_names(const Helm *helm)
{
    ResolverStats names;
    resolver_stats(helm->parts->resolver, &names);
    return names.unanswered > 0 && names.answered == 0 &&
           stats_get(&helm->parts->stats.fetches) == 0;
}

/* When the tail has been long enough. */
static MonoTime tail_end(const Helm *helm)
{
    int64_t most_ms = helm->options->config->limits_tail;
    return helm->tail_start.ns == 0 || most_ms == 0 ? MONO_NEVER
                                                    : mono_add_ms(helm->tail_start, most_ms);
}

/* Nothing is left, and names that did not exist have been asked for once more. */
static bool is_finished(Helm *helm)
{
    if (!atomic_load(&helm->parts->finished)) {
        return false;
    }
    if (!helm->stopping && network_look_once_more(&helm->network, helm->parts)) {
        atomic_store(&helm->parts->finished, false); /* told again, when there is nothing new */
        return false;
    }
    return true;
}

/* A crawl on several machines ends when nothing is left anywhere, or a limit of all is used up. */
static void helm_check_cluster(Helm *helm, bool finished, MonoTime now)
{
    ClusterPart *cluster = helm->parts->cluster;
    EndVerdict verdict = (EndVerdict)atomic_load(&cluster->verdict);
    /* What the cluster thread tells others about us (situation): this agent alone never ends the
     * crawl. */
    atomic_store(&cluster->settled, finished);
    atomic_store(&cluster->tail, !mono_before(now, tail_end(helm)));
    if (cluster_part_state(cluster) == NODE_OUT && !helm->stopping) {
        Buffer why = {.limit = BUFFER_NO_LIMIT};
        cluster_part_text(cluster, &why);
        LOG_ERROR("cluster", "this agent is out", "reason=\"%s\"", buffer_string(&why));
        buffer_destroy(&why);
        helm_stop(helm, EXIT_DIRECTORY,
                  "stopped: this agent may not go on in its cluster; the log says why", now);
    } else if (verdict == END_FINISHED) {
        helm_stop(helm, EXIT_FINISHED, "finished, nothing is left to fetch at any agent", now);
    } else if (verdict == END_LIMIT) {
        helm_stop(helm, EXIT_PAGE_LIMIT, "stopped at a limit of all agents together", now);
    } else if (verdict == END_TAIL) {
        helm_stop(
            helm, EXIT_TAIL,
            "stopped at limits.tail: only hosts that have failed were left, at all agents; they "
            "stay scheduled",
            now);
    }
}

/* Other agents do not take what is for them, or what was granted of crawl.max_bytes is used up. */
static unsigned look_at_cluster(const Helm *helm)
{
    AgentParts *parts = helm->parts;
    const Config *config = helm->options->config;
    if (parts->cluster == NULL) {
        return 0;
    }
    bool full = cluster_part_is_full(parts->cluster, (uint64_t)config->cluster_outbox);
    bool spent =
        config->crawl_max_bytes > 0 && cluster_wires_bytes(parts) >= atomic_load(&parts->max_bytes);
    return full || spent ? PAUSE_CLUSTER : 0u;
}

/* Limits of one agent alone. */
static void check_own_limits(Helm *helm, MonoTime now)
{
    const Config *config = helm->options->config;
    const Stats *stats = &helm->parts->stats;
    if (is_finished(helm)) {
        helm_stop(helm, EXIT_FINISHED, "finished, nothing is left to fetch", now);
    } else if (config->crawl_max_pages > 0 &&
               stats_get(&stats->pages) >= (uint64_t)config->crawl_max_pages) {
        helm_stop(helm, EXIT_PAGE_LIMIT, "stopped at crawl.max_pages", now);
    } else if (byte_quota_is_used_up(&helm->parts->quota)) {
        helm_stop(helm, EXIT_PAGE_LIMIT, "stopped at crawl.max_bytes", now);
    } else if (!mono_before(now, tail_end(helm))) {
        helm_stop(
            helm, EXIT_TAIL,
            "stopped at limits.tail: only hosts that have failed were left; they stay scheduled",
            now);
    }
}

static void check_failures(Helm *helm, MonoTime now)
{
    if (atomic_load(&helm->parts->failed) && fault_is_known()) {
        helm_stop(helm, EXIT_DIRECTORY, "stopped: the database is damaged; ragno verify says more",
                  now);
    } else if (atomic_load(&helm->parts->failed)) {
        helm_stop(helm, EXIT_IO,
                  "stopped: the directory cannot be read or written; the log says why", now);
    } else if (is_without_names(helm)) {
        helm_stop(helm, EXIT_NETWORK,
                  "stopped: no name server answers (dns.servers, or /etc/resolv.conf)", now);
    }
}

static void check_times(Helm *helm, MonoTime now)
{
    const Config *config = helm->options->config;
    int64_t run_ms = mono_ms_between(helm->start, now);
    int64_t total_ms = run_ms + (int64_t)helm->elapsed_before_ms;
    if (config->crawl_max_duration > 0 && run_ms >= config->crawl_max_duration) {
        helm_stop(helm, EXIT_TIME_LIMIT, "stopped at crawl.max_duration", now);
    } else if (config->crawl_max_total_duration > 0 &&
               total_ms >= config->crawl_max_total_duration) {
        helm_stop(helm, EXIT_TIME_LIMIT,
                  "stopped at crawl.max_total_duration, which counts all runs", now);
    } else if (config->crawl_disk_full_exit && monitor_disk_low(helm->monitor)) {
        helm_stop(helm, EXIT_DISK_LIMIT, "stopped because the disk is nearly full", now);
    }
}

void helm_tick(Helm *helm, MonoTime now)
{
    unsigned reasons =
        helm_look_at_disk(helm) | look_at_cluster(helm) | (helm->held ? PAUSE_OPERATOR : 0u);
    /* A stopping crawl asks for nothing, so that silence says nothing about the network. */
    if (!helm->stopping) {
        WallTime wall = wall_now();
        network_look_at_clock(&helm->network, now, wall);
        reasons |= network_look(&helm->network, helm->parts, now, wall);
        network_look_recheck(&helm->network, helm->parts, now, wall);
    }
    if ((reasons != 0) != (helm->parts->pauses != 0)) {
        monitor_tell_soon(helm->monitor, now);
    }
    /* All reasons at once: one that goes must not resume what another one holds. */
    parts_pause(helm->parts, reasons);
    /* Since when nothing is left but hosts that have failed and wait. */
    const Stats *stats = &helm->parts->stats;
    uint64_t waiting = stats_get(&stats->hosts_waiting);
    bool is_tail = waiting > 0 && waiting >= stats_get(&stats->hosts_with_work) &&
                   stats_get(&stats->hosts_closed) == 0 && helm->parts->pauses == 0 &&
                   !network_look_is_out(&helm->network);
    if (is_tail && helm->tail_start.ns == 0) {
        helm->tail_start = now;
        LOG_INFO("agent", "only hosts that have failed are left", "hosts=%llu",
                 (unsigned long long)waiting);
    } else if (!is_tail) {
        helm->tail_start = (MonoTime){0};
    }
    /* Failures before limits: the first reason is the one that is told. */
    check_failures(helm, now);
    if (helm->parts->cluster != NULL) {
        helm_check_cluster(helm, is_finished(helm), now);
    } else {
        check_own_limits(helm, now);
    }
    check_times(helm, now);
    helm_check_erasure(helm, now);
    if (helm->stopping && !helm->forced && !mono_before(now, helm->grace_end)) {
        helm->forced = true; /* the grace is over: what is in flight is fetched again */
        parts_abort(helm->parts);
    }
}

MonoTime helm_next(const Helm *helm, MonoTime now)
{
    int64_t of_run = helm->options->config->crawl_max_duration;
    int64_t of_all = helm->options->config->crawl_max_total_duration;
    /* The times at which helm_tick would do something by itself; all other changes ring
     * (wires_ring). */
    MonoTime next = tail_end(helm);
    if (helm->parts->cluster != NULL && !mono_before(now, next)) {
        next = MONO_NEVER; /* it has been told */
    }
    if (of_run > 0) {
        next = mono_earlier(next, mono_add_ms(helm->start, of_run));
    }
    if (of_all > 0) {
        int64_t left = of_all - (int64_t)helm->elapsed_before_ms;
        next = mono_earlier(next, mono_add_ms(helm->start, left < 0 ? 0 : left));
    }
    if (helm->network.next_recheck.ns != 0) {
        next = mono_earlier(next, helm->network.next_recheck);
    }
    next = mono_earlier(next, network_watch_next(helm->parts->network));
    if (helm->erases) {
        next = mono_earlier(next, mono_add_ms(now, ERASE_TICK_MS));
    }
    if (helm->options->config->store_retention > 0) {
        next = mono_earlier(next, mono_add_ms(now, (DAY_US - wall_now().us % DAY_US) / 1000 + 1));
    }
    if (helm->stopping) {
        next = mono_earlier(next, mono_add_ms(now, DRAIN_TICK_MS));
        next = mono_earlier(next, helm->grace_end);
    }
    return next;
}

bool helm_has_stopped(const Helm *helm)
{
    return helm->stopping && parts_outstanding(helm->parts) == 0;
}
