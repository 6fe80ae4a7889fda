/* Alerts: tells an operator by a command of theirs what they want to be woken for.
 *
 *        a condition holds for its patience          it is over
 *   QUIET ----------------------------> TOLD "begins" ----------> QUIET, "over" is told
 *
 * What: each line of status is looked at; an alert whose condition has held for control.alert_after
 * (that of the disk at once) is one JSON object, in one line, on the standard input of
 * control.alert_command, which /bin/sh runs:
 *
 *   {"event": "disk", "state": "begins", "text": "the disk is full: ...", "directory": "my-crawl",
 *    "status": {"time": "2026-01-31T12:00:00.000Z", "pid": 4711, ... as in status.json}}
 *
 * One command runs at a time, for ALERTS_COMMAND_MS at most; then it is killed with its group. Of
 * more than ALERTS_WAITING alerts that wait for it, of a command that fails, and of one that
 * cannot be run a warning and a count remain. The end of a crawl is told, too, and waited for.
 * Owns: its process and what waits.
 * Threads: main. Time is a parameter. */
#pragma once

#include "crawl/run/status.h"

#define ALERTS_WAITING    16u
#define ALERTS_COMMAND_MS 30000
#define ALERTS_SHARE      20u /* one answer in 20 makes WALLS and THROTTLED hold */

/* constant, name, in words */
/* clang-format off */
#define ALERT_LIST(ALERT) \
    ALERT(ALERT_STALLED, "stalled", "URLs are queued, and nothing was fetched for control.alert_after") \
    ALERT(ALERT_NETWORK, "network", "the network or the name server does not answer") \
    ALERT(ALERT_DISK, "disk", "the disk is full: the crawl waits for room") \
    ALERT(ALERT_WALLS, "walls", "more than one answer of twenty keeps crawlers out") \
    ALERT(ALERT_THROTTLED, "throttled", "more than one answer of twenty is 429 or 503") \
    ALERT(ALERT_END, "end", "the crawl has ended")
/* clang-format on */
#define ALERT_CONSTANT(constant, name, text) constant,
typedef enum AlertKind { ALERT_LIST(ALERT_CONSTANT) ALERT_KINDS } AlertKind;
#undef ALERT_CONSTANT

/* What the rates of answers are of. */
typedef struct AlertWindow {
    MonoTime begin;
    uint64_t answers;
    uint64_t walls;
    uint64_t throttled;
} AlertWindow;

typedef struct Alerts {
    const char *command; /* borrowed; NULL: none is told */
    const char *directory;
    int64_t patience_ms;
    MonoTime since[ALERT_KINDS]; /* its condition holds; 0: it does not */
    bool is_told[ALERT_KINDS];
    MonoTime last_page; /* when pages grew */
    uint64_t pages;
    AlertWindow window;
    bool walls_hold; /* in the last window that is over */
    bool throttled_hold;
    char *waiting[ALERTS_WAITING]; /* owned; the first is told next */
    size_t n_waiting;
    pid_t pid; /* of the command that runs; 0: none does */
    MonoTime deadline;
    MonoTime next; /* alerts_tick has something to do; MONO_NEVER: it has not */
    uint64_t n_told;
    uint64_t n_failed; /* were not told, or their command has failed */
} Alerts;

/* command and directory are borrowed; an empty command: there are no alerts. */
void alerts_init(Alerts *alerts, const char *command, const char *directory, int64_t patience_ms,
                 MonoTime now);
/* A line of status, and the one before it. */
void alerts_look(Alerts *alerts, const StatusSample *before, const StatusSample *now);
/* Starts what waits, and ends what takes too long; when is Alerts.next. */
void alerts_tick(Alerts *alerts, MonoTime now);
/* The crawl has ended. */
void alerts_end(Alerts *alerts, const StatusSample *before, const StatusSample *last);
/* Waits until all are told, ALERTS_COMMAND_MS at most, or until hurry can be read (a descriptor
 * that stays as it is; -1: none). */
void alerts_wait(Alerts *alerts, int hurry);
void alerts_destroy(Alerts *alerts);
