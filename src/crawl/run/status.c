#include "crawl/run/status.h"

#include <stdlib.h>
#include <unistd.h>

const char *crawl_state_name(CrawlState state)
{
    static const char *const names[] = {"running", "paused", "stopping", "stopped", "finished"};
    return names[state];
}

uint64_t status_rss_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    char text[128] = "";
    if (file == NULL) {
        return 0;
    }
    (void)!fgets(text, sizeof text, file);
    (void)fclose(file);
    char *rest = text;
    (void)strtoull(rest, &rest, 10);
    return strtoull(rest, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

char *status_format_bytes(uint64_t bytes, char text[24])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1000 && unit < 5) {
        value /= 1000;
        unit++;
    }
    (void)snprintf(text, 24, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

char *status_format_time(int64_t ms, char text[24])
{
    int64_t s = ms / 1000;
    if (s < 60) {
        (void)snprintf(text, 24, "%.1fs", (double)ms / 1000);
    } else if (s < 3600) {
        (void)snprintf(text, 24, "%dm %02ds", (int)(s / 60), (int)(s % 60));
    } else {
        (void)snprintf(text, 24, "%lldh %02dm %02ds", (long long)(s / 3600), (int)(s / 60 % 60),
                       (int)(s % 60));
    }
    return text;
}

static double seconds_between(const StatusSample *before, const StatusSample *now)
{
    double s = (double)(now->mono.ns - before->mono.ns) / 1e9;
    return s > 0.001 ? s : 0.001;
}

bool status_only_waits(const StatusSample *now)
{
    return now->hosts_waiting > 0 && now->hosts_waiting >= now->hosts_with_work &&
           now->fetch.active == 0;
}

const char *status_limit(const StatusSample *before, const StatusSample *now)
{
    double us = seconds_between(before, now) * 1e6;
    double parser = (double)(now->parser_busy_us - before->parser_busy_us) / us;
    uint64_t busy_us = now->writer_busy_us > before->writer_busy_us
                           ? now->writer_busy_us - before->writer_busy_us
                           : 0;
    double writer = (double)busy_us / us;
    bool out = now->network.state == OUTAGE_OUT || now->resolver.outage == OUTAGE_OUT;
    if (now->disk_low || now->state == STATE_PAUSED || out) {
        return now->disk_low       ? "disk"
               : now->held         ? "operator"
               : out               ? "network"
               : now->cluster_full ? "cluster"
                                   : "none";
    }
    if (now->urls_queued == 0) {
        return now->continuous ? "schedule" : "seeds";
    }
    if (status_only_waits(now)) {
        return now->next_is_walled ? "walls" : "retries";
    }
    /* Parsers that wait for the writer have a full queue, too: it is the one that works more. */
    bool is_full = now->parse_queue * 2 > now->parse_queue_limit;
    if (writer > 0.9 || now->results_closed || (is_full && writer * now->parsers > parser)) {
        return "writer";
    }
    if (parser > 0.9 * now->parsers || is_full) {
        return "parser";
    }
    double bytes_s = (double)(now->bytes - before->bytes) / seconds_between(before, now);
    if (now->rate > 0 && (now->held_back || bytes_s > 0.8 * (double)now->rate)) {
        return "bandwidth";
    }
    if (now->gate_closed) {
        return "memory";
    }
    if (now->clustered && now->frontier.acquired == 0 && now->cluster.node.agents_awaited > 0) {
        return "cluster";
    }
    if (now->frontier.acquired >= now->connections) {
        return "connections";
    }
    if (now->frontier.crowd.waiting[STANDING_NEW] + now->frontier.crowd.waiting[STANDING_ILL] > 0) {
        return "shares";
    }
    if (now->frontier.resolving > now->frontier.front) {
        return "dns";
    }
    bool leasing = now->frontier.acquired == 0 && now->cluster.node.wanted > 0;
    if (now->clustered && (leasing || now->cluster.node.leases_away > 0)) {
        return "cluster";
    }
    if (now->frontier.front > 0) {
        return "politeness";
    }
    return "none";
}

typedef enum FieldKind { FIELD_TEXT, FIELD_INTEGER, FIELD_REAL, FIELD_SHARE } FieldKind;

/* Every field once, for both forms. */
typedef void (*FieldSink)(Buffer *out, const char *name, FieldKind kind, const char *text,
                          uint64_t integer, double real);

static void emit_progress(const StatusSample *before, const StatusSample *now, Buffer *out,
                          FieldSink sink)
{
    char time[CLOCK_TEXT_BYTES];
    double elapsed = (double)now->elapsed_ms / 1000;
    double average = elapsed > 0.001 ? (double)now->pages / elapsed : 0;
    double seconds = seconds_between(before, now);
    sink(out, "time", FIELD_TEXT, wall_format_iso(now->wall, time), 0, 0);
    sink(out, "state", FIELD_TEXT, crawl_state_name(now->state), 0, 0);
    sink(out, "elapsed_s", FIELD_REAL, NULL, 0, elapsed);
    sink(out, "pages", FIELD_INTEGER, NULL, now->pages, 0);
    sink(out, "pages_s", FIELD_REAL, NULL, 0, (double)(now->pages - before->pages) / seconds);
    sink(out, "pages_s_avg", FIELD_REAL, NULL, 0, average);
    sink(out, "bytes", FIELD_INTEGER, NULL, now->bytes, 0);
    sink(out, "bytes_s", FIELD_REAL, NULL, 0, (double)(now->bytes - before->bytes) / seconds);
    sink(out, "urls_seen", FIELD_INTEGER, NULL, now->urls_seen, 0);
    sink(out, "urls_queued", FIELD_INTEGER, NULL, now->urls_queued, 0);
    sink(out, "hosts", FIELD_INTEGER, NULL, now->hosts, 0);
    sink(out, "urls_parked", FIELD_INTEGER, NULL, now->urls_parked, 0);
    sink(out, "hosts_parked", FIELD_INTEGER, NULL, now->hosts_parked, 0);
    sink(out, "hosts_waiting", FIELD_INTEGER, NULL, now->hosts_waiting, 0);
    sink(out, "next_retry_s", FIELD_REAL, NULL, 0, (double)now->next_retry_ms / 1000);
}

static void emit_parts(const StatusSample *now, Buffer *out, FieldSink sink)
{
    size_t todo =
        now->frontier.acquired > now->fetch.active ? now->frontier.acquired - now->fetch.active : 0;
    sink(out, "visit_states", FIELD_INTEGER, NULL, now->frontier.visit_states, 0);
    sink(out, "wb_entries", FIELD_INTEGER, NULL, now->frontier.entries, 0);
    sink(out, "front", FIELD_INTEGER, NULL, now->frontier.front, 0);
    sink(out, "required_front", FIELD_INTEGER, NULL, now->frontier.required_front, 0);
    sink(out, "evictions", FIELD_INTEGER, NULL, now->frontier.evictions, 0);
    sink(out, "nameless", FIELD_INTEGER, NULL, now->frontier.nameless, 0);
    sink(out, "names_left_out", FIELD_INTEGER, NULL, now->frontier.names_left_out, 0);
    sink(out, "todo", FIELD_INTEGER, NULL, todo, 0);
    sink(out, "active", FIELD_INTEGER, NULL, now->fetch.active, 0);
    sink(out, "waiting_proven", FIELD_INTEGER, NULL, now->frontier.crowd.waiting[STANDING_PROVEN],
         0);
    sink(out, "active_new", FIELD_INTEGER, NULL, now->frontier.crowd.active[STANDING_NEW], 0);
    sink(out, "active_ill", FIELD_INTEGER, NULL, now->frontier.crowd.active[STANDING_ILL], 0);
    sink(out, "waiting_new", FIELD_INTEGER, NULL, now->frontier.crowd.waiting[STANDING_NEW], 0);
    sink(out, "waiting_ill", FIELD_INTEGER, NULL, now->frontier.crowd.waiting[STANDING_ILL], 0);
    sink(out, "cut_new", FIELD_INTEGER, NULL, now->fetch.cut_new, 0);
    sink(out, "cut_slow", FIELD_INTEGER, NULL, now->fetch.cut_slow, 0);
    sink(out, "connects", FIELD_INTEGER, NULL, now->fetch.connections, 0);
    sink(out, "tls_handshakes", FIELD_INTEGER, NULL, now->fetch.tls.handshakes, 0);
    sink(out, "tls_resumed", FIELD_INTEGER, NULL, now->fetch.tls.resumed, 0);
    sink(out, "tls_session_bytes", FIELD_INTEGER, NULL, now->tls_sessions.bytes, 0);
    sink(out, "tls_forgotten", FIELD_INTEGER, NULL, now->tls_sessions.forgotten, 0);
    sink(out, "dns_waiting", FIELD_INTEGER, NULL, now->frontier.resolving, 0);
    sink(out, "dns_queries", FIELD_INTEGER, NULL, now->resolver.queries, 0);
    sink(out, "dns_failures", FIELD_INTEGER, NULL, now->resolver.failures, 0);
    sink(out, "results", FIELD_INTEGER, NULL, now->results, 0);
    sink(out, "sieve_pending", FIELD_INTEGER, NULL, now->sieve_pending, 0);
    sink(out, "sieve_merges", FIELD_INTEGER, NULL, now->sieve_merges, 0);
    sink(out, "url_cache_share", FIELD_SHARE, NULL, 0, now->cache_share);
    sink(out, "bloom_fp", FIELD_SHARE, NULL, 0, now->bloom_fp);
    sink(out, "parse_queue", FIELD_INTEGER, NULL, now->parse_queue, 0);
    sink(out, "scorings", FIELD_INTEGER, NULL, now->computations, 0);
    sink(out, "score_ms", FIELD_INTEGER, NULL, now->score_ms, 0);
    sink(out, "score_cpu_s", FIELD_REAL, NULL, 0, (double)now->score_cpu_us / 1e6);
    sink(out, "moves", FIELD_INTEGER, NULL, now->moves, 0);
    sink(out, "classified", FIELD_INTEGER, NULL, now->classified, 0);
    sink(out, "classify_default", FIELD_INTEGER, NULL, now->classify_default, 0);
    sink(out, "classify_bad", FIELD_INTEGER, NULL, now->classify_bad, 0);
    sink(out, "classify_starts", FIELD_INTEGER, NULL, now->classify_starts, 0);
    sink(out, "classify_s", FIELD_REAL, NULL, 0, (double)now->classify_us / 1e6);
    sink(out, "commits", FIELD_INTEGER, NULL, now->commits, 0);
    sink(out, "chore_max_ms", FIELD_REAL, NULL, 0, (double)now->chore_max_us / 1000);
    sink(out, "chore_wait_max_ms", FIELD_REAL, NULL, 0, (double)now->chore_wait_max_us / 1000);
    sink(out, "chore_cpu_max_ms", FIELD_REAL, NULL, 0, (double)now->chore_cpu_max_us / 1000);
    sink(out, "held_bytes", FIELD_INTEGER, NULL, now->held_bytes, 0);
    sink(out, "outages", FIELD_INTEGER, NULL, now->network.n_outages + now->resolver.outages, 0);
    sink(out, "excused", FIELD_INTEGER, NULL, now->network.n_excused + now->resolver.excused, 0);
    sink(out, "held_waits", FIELD_INTEGER, NULL, now->held_waits, 0);
    sink(out, "spool_bytes", FIELD_INTEGER, NULL, now->spool_bytes, 0);
    sink(out, "cut_endless", FIELD_INTEGER, NULL, now->cut_endless, 0);
}

static void emit_spread(Buffer *out, FieldSink sink, const char *const names[3],
                        const DistributionSpread *spread)
{
    sink(out, names[0], FIELD_INTEGER, NULL, spread->half, 0);
    sink(out, names[1], FIELD_INTEGER, NULL, spread->most, 0);
    sink(out, names[2], FIELD_INTEGER, NULL, spread->nearly_all, 0);
}

/* What the answers since the start are like, and the queues are now. */
static void emit_answers(const StatusSample *now, Buffer *out, FieldSink sink)
{
    static const char *const links[] = {"links_p50", "links_p90", "links_p99"};
    static const char *const lengths[] = {"length_p50", "length_p90", "length_p99"};
    static const char *const speeds[] = {"speed_p50", "speed_p90", "speed_p99"};
    static const char *const queues[] = {"queue_p50", "queue_p90", "queue_p99"};
    static const char *const types[] = {"type_html", "type_text", "type_image", "type_other"};
    emit_spread(out, sink, links, &now->answers.links);
    emit_spread(out, sink, lengths, &now->answers.lengths);
    emit_spread(out, sink, speeds, &now->answers.speeds);
    emit_spread(out, sink, queues, &now->frontier.queues);
    for (size_t i = 0; i < STATS_TYPES; i++) {
        sink(out, types[i], FIELD_INTEGER, NULL, now->answers.types[i], 0);
    }
}

/* Answers that keep crawlers out. */
static void emit_walls(const StatusSample *now, Buffer *out, FieldSink sink)
{
    static const char *const names[] = {[WALL_PAYMENT] = "walls_402",
                                        [WALL_FORBIDDEN] = "walls_403",
                                        [WALL_BUSY] = "walls_429",
                                        [WALL_CHALLENGE] = "walls_challenge"};
    for (size_t i = 0; i < HTTP_WALLS; i++) {
        sink(out, names[i], FIELD_INTEGER, NULL, now->walls[i], 0);
    }
    sink(out, "walled_hosts", FIELD_INTEGER, NULL, now->walled_hosts, 0);
}

static void emit_counters(const StatusSample *now, Buffer *out, FieldSink sink)
{
    static const char *const classes[] = {"err", "1xx", "2xx", "3xx", "4xx", "5xx"};
    for (size_t i = 2; i < 6; i++) {
        sink(out, classes[i], FIELD_INTEGER, NULL, now->by_status[i], 0);
    }
    sink(out, "err", FIELD_INTEGER, NULL, now->by_status[0], 0);
    sink(out, "dup", FIELD_INTEGER, NULL, now->duplicates, 0);
    sink(out, "robots_denied", FIELD_INTEGER, NULL, now->robots_denied, 0);
    sink(out, "domain_refused", FIELD_INTEGER, NULL, now->domain_refused, 0);
    sink(out, "address_refused", FIELD_INTEGER, NULL, now->address_refused, 0);
    sink(out, "feeds_refused", FIELD_INTEGER, NULL, now->feeds_refused, 0);
    sink(out, "throttled", FIELD_INTEGER, NULL, now->throttled, 0);
    if (now->continuous) {
        sink(out, "revisits", FIELD_INTEGER, NULL, now->revisits, 0);
        sink(out, "not_modified", FIELD_INTEGER, NULL, now->not_modified, 0);
        sink(out, "revisit_signals", FIELD_INTEGER, NULL, now->revisit_signals, 0);
        sink(out, "revisit_pages", FIELD_INTEGER, NULL, now->revisit_pages, 0);
        sink(out, "revisit_due", FIELD_REAL, NULL, 0, (double)now->revisit_due_ms / 1000);
    }
    sink(out, "rss_bytes", FIELD_INTEGER, NULL, now->rss_bytes, 0);
    sink(out, "map_drops", FIELD_INTEGER, NULL, now->map_drops, 0);
    sink(out, "frontier_bytes", FIELD_INTEGER, NULL, now->frontier.memory_bytes, 0);
    sink(out, "db_bytes", FIELD_INTEGER, NULL, now->db_bytes, 0);
    sink(out, "db_readers", FIELD_INTEGER, NULL, now->db_readers, 0);
    sink(out, "db_reader_age_s", FIELD_REAL, NULL, 0, (double)now->db_reader_age_ms / 1000);
    sink(out, "db_reader_pid", FIELD_INTEGER, NULL, now->db_reader_pid, 0);
    sink(out, "disk_free_bytes", FIELD_INTEGER, NULL, now->disk_free_bytes, 0);
    sink(out, "cpu_s", FIELD_REAL, NULL, 0, (double)now->cpu_ms / 1000);
}

static void emit_cluster(const StatusSample *now, Buffer *out, FieldSink sink)
{
    const ClusterFigures *c = &now->cluster;
    sink(out, "agent", FIELD_INTEGER, NULL, c->agent, 0);
    sink(out, "leases", FIELD_INTEGER, NULL, c->node.held, 0);
    sink(out, "leases_wanted", FIELD_INTEGER, NULL, c->node.wanted, 0);
    sink(out, "lease_messages", FIELD_INTEGER, NULL, c->node.lease_messages, 0);
    sink(out, "lease_bytes", FIELD_INTEGER, NULL, c->node.lease_bytes, 0);
    sink(out, "outbox_bytes", FIELD_INTEGER, NULL, c->outbox_bytes, 0);
    sink(out, "inbox_bytes", FIELD_INTEGER, NULL, c->inbox_bytes, 0);
    sink(out, "blocks_sent", FIELD_INTEGER, NULL, c->node.sent, 0);
    sink(out, "blocks_repeated", FIELD_INTEGER, NULL, c->node.repeated, 0);
    sink(out, "blocks_refused", FIELD_INTEGER, NULL, c->node.refused, 0);
    sink(out, "agents_away", FIELD_INTEGER, NULL, c->node.agents_away, 0);
    sink(out, "agents_awaited", FIELD_INTEGER, NULL, c->node.agents_awaited, 0);
}

static void status_emit(const StatusSample *before, const StatusSample *now, Buffer *out,
                        FieldSink sink)
{
    emit_progress(before, now, out, sink);
    emit_parts(now, out, sink);
    emit_counters(now, out, sink);
    emit_walls(now, out, sink);
    emit_answers(now, out, sink);
    if (now->clustered) {
        emit_cluster(now, out, sink);
    }
    sink(out, "limit", FIELD_TEXT, status_limit(before, now), 0, 0);
}

static void line_field(Buffer *out, const char *name, FieldKind kind, const char *text,
                       uint64_t integer, double real)
{
    const char *blank = out->length == 0 ? "" : " ";
    if (kind == FIELD_TEXT) {
        (void)buffer_printf(out, "%s%s=%s", blank, name, text);
    } else if (kind == FIELD_INTEGER) {
        (void)buffer_printf(out, "%s%s=%llu", blank, name, (unsigned long long)integer);
    } else {
        (void)buffer_printf(out, kind == FIELD_REAL ? "%s%s=%.1f" : "%s%s=%.6f", blank, name, real);
    }
}

static void json_field(Buffer *out, const char *name, FieldKind kind, const char *text,
                       uint64_t integer, double real)
{
    if (kind == FIELD_TEXT) {
        (void)buffer_printf(out, ", \"%s\": \"%s\"", name, text); /* ours: nothing to escape */
    } else if (kind == FIELD_INTEGER) {
        (void)buffer_printf(out, ", \"%s\": %llu", name, (unsigned long long)integer);
    } else {
        (void)buffer_printf(out, kind == FIELD_REAL ? ", \"%s\": %.1f" : ", \"%s\": %.6f", name,
                            real);
    }
}

Result status_line(const StatusSample *before, const StatusSample *now, Buffer *out)
{
    buffer_reset(out);
    status_emit(before, now, out, line_field);
    return out->length == 0 ? RESULT_MEMORY : RESULT_OK;
}

Result status_json(const StatusSample *before, const StatusSample *now, long pid, Buffer *out)
{
    buffer_reset(out);
    Result rc = buffer_printf(out, "{\"pid\": %ld", pid);
    status_emit(before, now, out, json_field);
    return rc == RESULT_OK ? buffer_append_string(out, "}\n") : rc;
}

/* What binds, in brackets; or for how long nothing can be done. */
static Result status_tell_limit(const StatusSample *before, const StatusSample *now, Buffer *out)
{
    char time[24];
    if (!status_only_waits(now) || now->state != STATE_RUNNING) {
        return buffer_printf(out, "[%s]", status_limit(before, now));
    }
    return buffer_printf(out, "waiting for retries: %llu host%s, next in %s",
                         (unsigned long long)now->hosts_waiting, now->hosts_waiting == 1 ? "" : "s",
                         status_format_time((int64_t)now->next_retry_ms, time));
}

Result status_progress(const StatusSample *before, const StatusSample *now, unsigned columns,
                       Buffer *out)
{
    char bytes[24];
    char time[24];
    double seconds = seconds_between(before, now);
    buffer_reset(out);
    Result rc = buffer_printf(
        out, "%s %s  %llu pages (%.0f/s)  %s  %llu queued  %llu hosts  %zu active  %llu err  ",
        crawl_state_name(now->state), status_format_time(now->elapsed_ms, time),
        (unsigned long long)now->pages, (double)(now->pages - before->pages) / seconds,
        status_format_bytes(now->bytes, bytes), (unsigned long long)now->urls_queued,
        (unsigned long long)now->hosts, now->fetch.active, (unsigned long long)now->by_status[0]);
    Buffer limit = {.limit = 4096};
    rc = rc == RESULT_OK ? status_tell_limit(before, now, &limit) : rc;
    /* What binds is kept whole; what does not fit is cut before it. */
    size_t room = columns > limit.length + 1 ? columns - limit.length - 1 : 0;
    if (rc == RESULT_OK && out->length > room) {
        out->length = room > 0 ? room - 1 : 0;
        rc = room > 0 ? buffer_append_char(out, ' ') : rc;
    }
    rc = rc == RESULT_OK ? buffer_append(out, limit.data, limit.length) : rc;
    buffer_destroy(&limit);
    if (out->length >= columns && columns > 1) {
        out->length = columns - 1;
        out->data[out->length] = '\0';
    }
    return rc;
}
