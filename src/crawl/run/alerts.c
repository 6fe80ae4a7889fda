#include "crawl/run/alerts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/json_writer.h"
#include "base/thread/child.h"

#define ALERT_NAME(constant, name, text) [constant] = name,
#define ALERT_TEXT(constant, name, text) [constant] = text,
static const char *const alert_names[ALERT_KINDS] = {ALERT_LIST(ALERT_NAME)};
static const char *const alert_texts[ALERT_KINDS] = {ALERT_LIST(ALERT_TEXT)};

#define ALERTS_LOOK_MS 50 /* between two looks whether the command has ended */

void alerts_init(Alerts *alerts, const char *command, const char *directory, int64_t patience_ms,
                 MonoTime now)
{
    *alerts = (Alerts){.command = *command == '\0' ? NULL : command,
                       .directory = directory,
                       .patience_ms = patience_ms,
                       .last_page = now,
                       .next = MONO_NEVER,
                       .window = {.begin = now}};
}

/* ---- what is told ---- */

static void alerts_fail(Alerts *alerts, const char *what)
{
    alerts->n_failed++;
    LOG_WARN("alerts", "an alert was not told", "why=\"%s\" command=\"%s\"", what, alerts->command);
}

static const char *alert_state(AlertKind kind, bool begins)
{
    if (kind == ALERT_END) {
        return "ended";
    }
    return begins ? "begins" : "over";
}

static Result alerts_write(const Alerts *alerts, AlertKind kind, bool begins,
                           const StatusSample *before, const StatusSample *now, Buffer *line)
{
    JsonWriter json;
    Buffer status = {.limit = BUFFER_NO_LIMIT};
    Result rc = status_json(before, now, (long)getpid(), &status);
    while (status.length > 0 && status.data[status.length - 1] == '\n') {
        status.length--;
    }
    json_init(&json, line);
    json_open(&json, NULL, '{');
    json_string(&json, "event", alert_names[kind]);
    json_string(&json, "state", alert_state(kind, begins));
    json_string(&json, "text", alert_texts[kind]);
    json_string(&json, "directory", alerts->directory);
    json_raw(&json, "status", status.data, status.length);
    json_close(&json);
    (void)buffer_append_char(line, '\n');
    buffer_destroy(&status);
    return rc == RESULT_OK ? json.result : rc;
}

static void alerts_add(Alerts *alerts, AlertKind kind, bool begins, const StatusSample *before,
                       const StatusSample *now)
{
    Buffer line = {.limit = BUFFER_NO_LIMIT};
    LOG_INFO("alerts", "alert", "event=%s state=%s text=\"%s\"", alert_names[kind],
             alert_state(kind, begins), alert_texts[kind]);
    if (alerts->n_waiting == ALERTS_WAITING) {
        alerts_fail(alerts, "too many wait for the command");
        return;
    }
    Result rc = alerts_write(alerts, kind, begins, before, now, &line);
    char *text = rc == RESULT_OK ? strdup(buffer_string(&line)) : NULL;
    buffer_destroy(&line);
    if (text == NULL) {
        alerts_fail(alerts, "no memory");
        return;
    }
    alerts->waiting[alerts->n_waiting++] = text;
    alerts->next = mono_earlier(now->mono, alerts->next);
}

/* ---- conditions ---- */

static uint64_t alerts_walls(const StatusSample *now)
{
    uint64_t walls = 0;
    for (size_t i = 0; i < HTTP_WALLS; i++) {
        walls += stats_get(&now->stats->walls[i]);
    }
    return walls;
}

/* What the answers of the last window were. */
static void alerts_judge_answers(Alerts *alerts, const StatusSample *now)
{
    AlertWindow *before = &alerts->window;
    AlertWindow window = {.begin = now->mono,
                          .walls = alerts_walls(now),
                          .throttled = stats_get(&now->stats->throttled)};
    for (size_t i = 1; i < 6; i++) {
        window.answers += now->by_status[i];
    }
    if (mono_ms_between(before->begin, now->mono) < alerts->patience_ms) {
        return;
    }
    uint64_t answers = window.answers - before->answers;
    uint64_t most = answers / ALERTS_SHARE;
    alerts->walls_hold = window.walls - before->walls > most;
    alerts->throttled_hold = window.throttled - before->throttled > most;
    *before = window;
}

static bool alerts_holds(const Alerts *alerts, AlertKind kind, const StatusSample *now)
{
    bool is_out = now->network.state == OUTAGE_OUT || now->resolver.outage == OUTAGE_OUT;
    switch (kind) {
    case ALERT_STALLED:
        return now->state == STATE_RUNNING && now->urls_queued > 0 && !is_out && !now->disk_low &&
               !(status_only_waits(now) && now->hosts_closed > 0) &&
               mono_ms_between(alerts->last_page, now->mono) >= alerts->patience_ms;
    case ALERT_NETWORK:
        return is_out;
    case ALERT_DISK:
        return now->disk_low;
    case ALERT_WALLS:
        return alerts->walls_hold;
    case ALERT_THROTTLED:
        return alerts->throttled_hold;
    case ALERT_END:
    case ALERT_KINDS:
        break;
    }
    return false;
}

/* Only an outage has to last; the others have lasted when they hold. */
static int64_t alerts_patience_ms(const Alerts *alerts, AlertKind kind)
{
    return kind == ALERT_NETWORK ? alerts->patience_ms : 0;
}

void alerts_look(Alerts *alerts, const StatusSample *before, const StatusSample *now)
{
    if (alerts->command == NULL) {
        return;
    }
    if (now->pages != alerts->pages || now->state != STATE_RUNNING) {
        alerts->pages = now->pages;
        alerts->last_page = now->mono;
    }
    alerts_judge_answers(alerts, now);
    for (AlertKind kind = 0; kind < ALERT_END; kind++) {
        bool holds = alerts_holds(alerts, kind, now);
        if (!holds || alerts->since[kind].ns == 0) {
            alerts->since[kind] = holds ? now->mono : (MonoTime){0};
        }
        bool is_due = holds && mono_ms_between(alerts->since[kind], now->mono) >=
                                   alerts_patience_ms(alerts, kind);
        if (is_due != alerts->is_told[kind] && is_due == holds) {
            alerts->is_told[kind] = is_due;
            alerts_add(alerts, kind, is_due, before, now);
        }
    }
}

/* ---- the command ---- */

/* A line is shorter than what a pipe holds, so that it is written before the command reads it. */
static Result alerts_start(Alerts *alerts, const char *line)
{
    char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                    (char *)(uintptr_t)alerts->command, NULL};
    int ends[2];
    size_t length = strlen(line);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return result_of_errno(errno);
    }
    bool is_written = write(ends[1], line, length) == (ssize_t)length;
    (void)close(ends[1]);
    (void)fcntl(ends[0], F_SETFL, 0);
    const int files[3] = {ends[0], STDERR_FILENO, -1};
    Result rc = is_written ? child_start(&alerts->pid, "/bin/sh", argv, files) : RESULT_LIMIT;
    (void)close(ends[0]);
    return rc;
}

void alerts_tick(Alerts *alerts, MonoTime now)
{
    if (alerts->pid != 0) {
        /* Looks after the command that runs. */
        int status = 0;
        if (child_has_ended(alerts->pid, &status)) {
            alerts->pid = 0;
            alerts->n_told++;
            if (status != 0) {
                alerts_fail(alerts, "the command has failed");
            }
        } else if (!mono_before(now, alerts->deadline)) {
            child_kill(alerts->pid, &status);
            alerts->pid = 0;
            alerts_fail(alerts, "the command did not end within 30 s");
        }
    }
    if (alerts->pid == 0 && alerts->n_waiting > 0) {
        char *line = alerts->waiting[0];
        Result rc = alerts_start(alerts, line);
        free(line);
        alerts->n_waiting--;
        memmove(alerts->waiting, alerts->waiting + 1, alerts->n_waiting * sizeof *alerts->waiting);
        alerts->deadline = mono_add_ms(now, ALERTS_COMMAND_MS);
        if (rc != RESULT_OK) {
            alerts->pid = 0;
            alerts_fail(alerts, result_name(rc));
        }
    }
    bool is_at_work = alerts->pid != 0 || alerts->n_waiting > 0;
    alerts->next = is_at_work ? mono_add_ms(now, ALERTS_LOOK_MS) : MONO_NEVER;
}

void alerts_end(Alerts *alerts, const StatusSample *before, const StatusSample *last)
{
    if (alerts->command != NULL) {
        alerts_add(alerts, ALERT_END, true, before, last);
    }
}

void alerts_wait(Alerts *alerts, int hurry)
{
    MonoTime now = mono_now();
    MonoTime end = mono_add_ms(now, ALERTS_COMMAND_MS);
    struct pollfd asked = {.fd = hurry, .events = POLLIN};
    bool is_hurried = false;
    while (alerts->next.ns != MONO_NEVER.ns && !is_hurried && mono_before(now, end)) {
        alerts_tick(alerts, now);
        is_hurried = alerts->next.ns != MONO_NEVER.ns && poll(&asked, 1, ALERTS_LOOK_MS) > 0;
        now = mono_now();
    }
    if (alerts->next.ns != MONO_NEVER.ns) {
        alerts_fail(alerts, is_hurried ? "asked to end at once" : "the crawl has ended");
    }
}

void alerts_destroy(Alerts *alerts)
{
    int status = 0;
    if (alerts->pid != 0) {
        child_kill(alerts->pid, &status);
    }
    while (alerts->n_waiting > 0) {
        free(alerts->waiting[--alerts->n_waiting]);
    }
}
