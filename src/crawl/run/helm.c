#include "crawl/run/helm.h"

#include <string.h>

#include "base/thread/log.h"
#include "crawl/parts/cluster_wires.h"
#include "crawl/parts/wires.h"

#define DRAIN_TICK_MS  1000
#define SAME_SIGNAL_MS 100

/* ---- stop ------------------------------------------------------------------------------------ */

/* That it takes a while, and how it can be had at once. */
static void tell_of_second(const Helm *helm, const char *who)
{
    char time[24];
    size_t flights = parts_outstanding(helm->parts);
    if (flights > 0) {
        (void)fprintf(
            stderr,
            "ragno: stopping: %zu fetches in flight have %s to end (crawl.grace); %s stops "
            "at once\n",
            flights, status_format_time(helm->options->config->crawl_grace, time),
            strcmp(who, "signal=SIGINT") == 0 ? "Ctrl-C once more" : "a second signal");
    }
}

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
        tell_of_second(helm, who);
    }
    LOG_INFO("agent", "stopping", "reason=\"%s\"%s%s", why, who == NULL ? "" : " ",
             who == NULL ? "" : who);
    monitor_set_state(helm->monitor, STATE_STOPPING);
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

/* ---- pause ----------------------------------------------------------------------------------- */

bool helm_pause(Helm *helm, bool held, const char *who)
{
    if (helm->held == held) {
        return false;
    }
    helm->held = held;
    LOG_INFO("agent", held ? "paused" : "resumed", "reason=operator %s", who);
    return true;
}

/* What happened, where, and which option decides. */
static void tell_disk(const Helm *helm, bool is_low)
{
    const char *path = helm->parts->store->directory;
    long long least = helm->options->config->crawl_min_free_disk;
    long long free_bytes = (long long)monitor_disk_free(helm->monitor);
    if (is_low) {
        LOG_WARN("agent", "paused",
                 "reason=\"disk nearly full\" path=%s free_bytes=%lld crawl.min_free_disk=%lld "
                 "next=\"make room until %lld bytes are free, or lower crawl.min_free_disk\"",
                 path, free_bytes, least, 2 * least);
    } else {
        LOG_WARN("agent", "resumed",
                 "reason=\"the disk has room again\" path=%s free_bytes=%lld "
                 "crawl.min_free_disk=%lld",
                 path, free_bytes, least);
    }
}

/* The disk's part of the reasons to pause, told when it changes. */
static unsigned helm_look_at_disk(Helm *helm)
{
    unsigned low =
        monitor_disk_low(helm->monitor) || atomic_load(&helm->parts->stuck) ? PAUSE_DISK : 0u;
    if (low != (helm->parts->pauses & PAUSE_DISK) && !helm->stopping) {
        tell_disk(helm, low != 0);
    }
    return low;
}

/* ---- configuration and logs ------------------------------------------------------------------ */

void helm_reopen_logs(Helm *helm, const char *who)
{
    (void)log_reopen();
    parts_reopen_logs(helm->parts);
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
    LOG_INFO("agent", "checkpoint begun", "path=%s %s", helm->checkpoint.path, who);
    (void)settings_write(helm->options->config, helm->checkpoint.draft);
    (void)denial_list_write(&parts->denials, helm->checkpoint.draft, answer);
    return checkpoint_begin(&helm->checkpoint, page_db_env(parts->store->tables.db), wires_done,
                            parts, answer);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Nothing was ever fetched, and not one name server said a word. */
static bool is_without_names(const Helm *helm)
{
    ResolverStats names;
    resolver_stats(helm->parts->resolver, &names);
    return names.unanswered > 0 && names.answered == 0 &&
           stats_get(&helm->parts->stats.fetches) == 0;
}

/* Since when nothing is left but hosts that have failed and wait. */
static void note_tail(Helm *helm, MonoTime now)
{
    const Stats *stats = &helm->parts->stats;
    uint64_t waiting = stats_get(&stats->hosts_waiting);
    bool is_tail = waiting > 0 && waiting >= stats_get(&stats->hosts_with_work) &&
                   helm->parts->pauses == 0 && !network_look_is_out(&helm->network);
    if (is_tail && helm->tail_start.ns == 0) {
        helm->tail_start = now;
        LOG_INFO("agent", "only hosts that have failed are left", "hosts=%llu",
                 (unsigned long long)waiting);
    } else if (!is_tail) {
        helm->tail_start = (MonoTime){0};
    }
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
    cluster_part_set_settled(cluster, finished);
    cluster_part_set_tail(cluster, !mono_before(now, tail_end(helm)));
    if (cluster_part_state(cluster) == CLUSTER_OUT && !helm->stopping) {
        Buffer why;
        buffer_init(&why, BUFFER_NO_LIMIT);
        cluster_part_text(cluster, &why);
        LOG_ERROR("cluster", "this agent is out", "reason=\"%s\"", buffer_string(&why));
        buffer_destroy(&why);
        helm_stop(helm, EXIT_DIRECTORY,
                  "stopped: this agent may not go on in its cluster; the log says why", now);
    } else if (cluster_part_verdict(cluster) == END_FINISHED) {
        helm_stop(helm, EXIT_FINISHED, "finished, nothing is left to fetch at any agent", now);
    } else if (cluster_part_verdict(cluster) == END_LIMIT) {
        helm_stop(helm, EXIT_PAGE_LIMIT, "stopped at a limit of all agents together", now);
    } else if (cluster_part_verdict(cluster) == END_TAIL) {
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
    if (atomic_load(&helm->parts->failed)) {
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
    if (!helm->stopping) {
        WallTime wall = wall_now();
        network_look_at_clock(&helm->network, now, wall);
        reasons |= network_look(&helm->network, helm->parts, now, wall);
        network_look_recheck(&helm->network, helm->parts, now, wall);
    }
    parts_pause(helm->parts, reasons);
    note_tail(helm, now);
    check_failures(helm, now);
    if (helm->parts->cluster != NULL) {
        helm_check_cluster(helm, is_finished(helm), now);
    } else {
        check_own_limits(helm, now);
    }
    check_times(helm, now);
    if (helm->stopping && !helm->forced && !mono_before(now, helm->grace_end)) {
        helm->forced = true; /* the grace is over: what is in flight is fetched again */
        parts_abort(helm->parts);
    }
}

static MonoTime helm_sooner(MonoTime a, MonoTime b)
{
    return mono_before(a, b) ? a : b;
}

MonoTime helm_next(const Helm *helm, MonoTime now)
{
    int64_t of_run = helm->options->config->crawl_max_duration;
    int64_t of_all = helm->options->config->crawl_max_total_duration;
    MonoTime next = tail_end(helm);
    if (helm->parts->cluster != NULL && !mono_before(now, next)) {
        next = MONO_NEVER; /* it has been told */
    }
    if (of_run > 0) {
        next = helm_sooner(next, mono_add_ms(helm->start, of_run));
    }
    if (of_all > 0) {
        int64_t left = of_all - (int64_t)helm->elapsed_before_ms;
        next = helm_sooner(next, mono_add_ms(helm->start, left < 0 ? 0 : left));
    }
    next = helm_sooner(next, network_look_next(&helm->network));
    if (helm->stopping) {
        next = helm_sooner(next, mono_add_ms(now, DRAIN_TICK_MS));
        next = helm_sooner(next, helm->grace_end);
    }
    return next;
}

bool helm_has_stopped(const Helm *helm)
{
    return helm->stopping && parts_outstanding(helm->parts) == 0;
}
