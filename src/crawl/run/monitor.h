/* Monitor: samples the parts, and writes status.log, DIR/status.json and the progress line.
 *
 * What: time is a parameter; the monitor says when it wants to be called next.
 * Threads: main. */
#pragma once

#include "crawl/run/settings.h"
#include "crawl/run/status.h"

/* Waiting: the hosts that have failed and wait for a retry, for what, and until when.
 *
 * What: the wait table in order of time, with the name of each host and what it has scheduled, for
 * `ragno ctl DIR waiting` and for SIGUSR1. One short read transaction.
 * Threads: any. */

#define WAITING_TOLD 256u /* hosts at most, of those that wait */

typedef struct WaitingHost {
    const char *origin; /* "http://www.example.org"; until the next one */
    const char *why;    /* class of the last failure: "refused" */
    unsigned failures;  /* in a row */
    uint64_t urls;      /* that it has scheduled */
    WallTime until;
} WaitingHost;

/* *all = how many wait. RESULT_IO, RESULT_MEMORY. */
Result waiting_walk(const IngestStore *tables, uint64_t *all,
                    void (*visit)(void *context, const WaitingHost *host), void *context);

typedef struct Monitor Monitor;

/* Opens DIR/ragno.log and writes DIR/config.ini. error holds one sentence. */
Result monitor_open_log(const AgentOptions *options, const char *directory, Buffer *error);

Result monitor_new(Monitor **monitor, const AgentOptions *options, const CrawlStore *store,
                   AgentParts *parts, uint64_t elapsed_before_ms);
void monitor_delete(Monitor *monitor);
/* The state has changed: the next line of status comes at once, and not within log.status_interval.
 */
void monitor_tell_soon(Monitor *monitor, MonoTime now);
void monitor_set_state(Monitor *monitor, CrawlState state);
/* Does what is due. */
void monitor_tick(Monitor *monitor, MonoTime now);
MonoTime monitor_next(const Monitor *monitor);
/* Writes the last line of status.log and ends the progress line; goes_on: the crawl starts anew at
 * once, which is no end that anybody is to be told of. */
void monitor_finish(Monitor *monitor, bool goes_on);
/* Whether an operator's command is still to be told of something; and waits for it, until hurry can
 * be read at the latest (alerts.h). */
bool monitor_is_telling(const Monitor *monitor);
void monitor_wait(Monitor *monitor, int hurry);
/* The status of this moment: "time=... state=...", or as JSON, without a line end. */
Result monitor_status(Monitor *monitor, bool json, Buffer *out);
/* The same as a person reads it, in one line: "running 1.0s  1682 pages (3108/s) ...". */
Result monitor_phrase(Monitor *monitor, MonoTime now, Buffer *out);
/* Writes the whole state into ragno.log (SIGUSR1): the status, the threads, the hosts that wait for
 * a retry, for what, and until when. */
void monitor_dump(Monitor *monitor);
void monitor_reopen(Monitor *monitor);
/* Whether less than crawl.min_free_disk is free (with hysteresis). */
bool monitor_disk_low(Monitor *monitor);
/* Bytes that were free in DIR when it was last looked at. */
uint64_t monitor_disk_free(const Monitor *monitor);
