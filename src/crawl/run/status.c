#include "crawl/run/status.h"

#include <stdlib.h>
#include <unistd.h>

#include "crawl/run/status_fields.h"
#include "report/write/report_words.h"

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

/* What nothing is fetched for, whatever the rest is like; NULL: it goes on. */
static const char *status_pause(const StatusSample *now)
{
    bool out = now->network.state == OUTAGE_OUT || now->resolver.outage == OUTAGE_OUT;
    if (now->disk_low) {
        return "disk";
    }
    if (!out && now->state != STATE_PAUSED) {
        return NULL;
    }
    if (now->held || out) {
        return now->held ? "operator" : "network";
    }
    return now->cluster_full ? "cluster" : "none";
}

const char *status_limit(const StatusSample *before, const StatusSample *now)
{
    double us = seconds_between(before, now) * 1e6;
    double parser = (double)(now->parser_busy_us - before->parser_busy_us) / us;
    uint64_t busy_us = now->writer_busy_us > before->writer_busy_us
                           ? now->writer_busy_us - before->writer_busy_us
                           : 0;
    double writer = (double)busy_us / us;
    const char *pause = status_pause(now);
    if (pause != NULL) {
        return pause;
    }
    if (now->urls_queued == 0) {
        return now->continuous ? "schedule" : "seeds";
    }
    if (status_only_waits(now)) {
        const char *failed = now->next_is_walled ? "walls" : "retries";
        return now->hosts_closed > 0 ? "hours" : failed;
    }
    /* Parsers that wait for the writer have a full queue, too: it is the one that works more. */
    bool is_full = now->parse_queue * 2 > now->parse_queue_limit;
    if (writer > 0.9 || now->results_closed || (is_full && writer * now->parsers > parser)) {
        return "writer";
    }
    /* Hosts that rest for what their pages cost wait for parsing threads, too. */
    if (parser > 0.9 * now->parsers || is_full || now->cost_rests > before->cost_rests) {
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
    bool leasing = now->frontier.acquired == 0 && now->cluster.node.leases.wanted > 0;
    if (now->clustered && (leasing || now->cluster.node.leases.away > 0)) {
        return "cluster";
    }
    if (now->frontier.front > 0) {
        return "politeness";
    }
    return "none";
}

/* ---- the fields ---- */

typedef struct StatusWriter {
    Buffer *out;
    bool is_json; /* else "name=value name=value" */
} StatusWriter;

static void status_put_name(StatusWriter *to, const char *name)
{
    const char *between = to->is_json ? ", " : " ";
    (void)buffer_printf(
        to->out, to->is_json ? "%s\"%s\": " : "%s%s=", to->out->length == 0 ? "" : between, name);
}

static void status_put_text(StatusWriter *to, const char *name, const char *text)
{
    status_put_name(to, name);
    (void)buffer_printf(to->out, to->is_json ? "\"%s\"" : "%s", text); /* nothing to escape */
}

static void status_put_int(StatusWriter *to, const char *name, uint64_t value)
{
    status_put_name(to, name);
    (void)buffer_printf(to->out, "%llu", (unsigned long long)value);
}

static void status_put_real(StatusWriter *to, const char *name, double value)
{
    status_put_name(to, name);
    (void)buffer_printf(to->out, "%.1f", value);
}

static void status_put_share(StatusWriter *to, const char *name, double value)
{
    status_put_name(to, name);
    (void)buffer_printf(to->out, "%.6f", value);
}

static double share_of(uint64_t part, uint64_t rest)
{
    return part + rest == 0 ? 0 : (double)part / (double)(part + rest);
}

/* Since the crawl began. */
static double average_of(const StatusSample *s)
{
    double elapsed = (double)s->elapsed_ms / 1000;
    return elapsed > 0.001 ? (double)s->pages / elapsed : 0;
}

/* Acquired by fetching threads that have not begun with it. */
static size_t todo_of(const StatusSample *s)
{
    return s->frontier.acquired > s->fetch.active ? s->frontier.acquired - s->fetch.active : 0;
}

/* The words of status_fields.h. */
#define STAT(field)                                              stats_get(&s->stats->field)
#define rate_of(field)                                           ((double)(s->field - before->field) / seconds)
#define STATUS_PUT(name, kind, value, type, metric, label, help) status_put_##kind(to, name, value);

static void status_emit(const StatusSample *before, const StatusSample *s, StatusWriter *to)
{
    char time[CLOCK_TEXT_BYTES];
    double seconds = seconds_between(before, s);
    STATUS_FIELDS(STATUS_PUT)
    if (s->continuous) {
        STATUS_CONTINUOUS_FIELDS(STATUS_PUT)
    }
    if (s->clustered) {
        STATUS_CLUSTER_FIELDS(STATUS_PUT)
    }
    status_put_text(to, "limit", status_limit(before, s));
}

Result status_line(const StatusSample *before, const StatusSample *now, Buffer *out)
{
    StatusWriter to = {.out = out};
    buffer_reset(out);
    status_emit(before, now, &to);
    return buffer_end(out, 0);
}

Result status_json(const StatusSample *before, const StatusSample *now, long pid, Buffer *out)
{
    StatusWriter to = {.out = out, .is_json = true};
    buffer_reset(out);
    (void)buffer_printf(out, "{\"pid\": %ld", pid);
    status_emit(before, now, &to);
    (void)buffer_append_string(out, "}\n");
    return buffer_end(out, 0);
}

/* What binds, in brackets; or for how long nothing can be done. */
static Result status_tell_limit(const StatusSample *before, const StatusSample *now, Buffer *out)
{
    char time[WORDS_BYTES];
    if (!status_only_waits(now) || now->state != STATE_RUNNING) {
        return buffer_printf(out, "[%s]", status_limit(before, now));
    }
    return buffer_printf(out, "waiting for %s: %llu host%s, next in %s",
                         now->hosts_closed > 0 ? "their hours" : "retries",
                         (unsigned long long)now->hosts_waiting, now->hosts_waiting == 1 ? "" : "s",
                         words_ms((double)now->next_retry_ms, time));
}

Result status_progress(const StatusSample *before, const StatusSample *now, unsigned columns,
                       Buffer *out)
{
    char bytes[WORDS_BYTES];
    char time[WORDS_BYTES];
    double seconds = seconds_between(before, now);
    buffer_reset(out);
    Result rc = buffer_printf(
        out, "%s %s  %llu pages (%.0f/s)  %s  %llu queued  %llu hosts  %zu active  %llu err  ",
        crawl_state_name(now->state), words_ms((double)now->elapsed_ms, time),
        (unsigned long long)now->pages, (double)(now->pages - before->pages) / seconds,
        words_bytes((double)now->bytes, bytes), (unsigned long long)now->urls_queued,
        (unsigned long long)now->hosts, now->fetch.active, (unsigned long long)now->by_status[0]);
    Buffer limit = {.limit = 4096};
    if (rc == RESULT_OK) {
        rc = status_tell_limit(before, now, &limit);
    }
    /* What binds is kept whole; what does not fit is cut before it. */
    size_t room = columns > limit.length + 1 ? columns - limit.length - 1 : 0;
    if (rc == RESULT_OK && out->length > room) {
        out->length = room > 0 ? room - 1 : 0;
        rc = room > 0 ? buffer_append_char(out, ' ') : rc;
    }
    if (rc == RESULT_OK) {
        rc = buffer_append(out, limit.data, limit.length);
    }
    buffer_destroy(&limit);
    if (out->length >= columns && columns > 1) {
        out->length = columns - 1;
        out->data[out->length] = '\0';
    }
    return rc;
}
