/* Browser: a headless browser as a child process, without a network, spoken to over two pipes.
 *
 *   browser_start --> browser_wait --> browser_write, browser_read ... --> browser_stop
 *
 * What: messages go in at descriptor 3 of the child and come out at descriptor 4
 * (--remote-debugging-pipe). The child is the leader of a session, so that Ctrl-C reaches the crawl
 * alone and all of its processes are ended and measured together. Three walls stand between it and
 * any network: a network namespace of its own without a device, where the kernel allows one
 * (browser_is_cut_off); a resolver that knows no name; and rendering.h, which answers each request
 * before it is sent. Its own sandbox stays on, so it is never run as root. Its profile is a folder
 * of its own below TMPDIR (/tmp where that is closed to the browser's user), which goes with it;
 * browser_start removes folders that processes left behind which were killed.
 * Each tab has a process of its own, as it is a context of its own; the others are shared by all
 * tabs. What a tab takes are its own process and the shared ones; their CPU time is counted once,
 * for the tab that asks first.
 * Owns: the child, its pipes, its folder.
 * Threads: one at a time, but for browser_wait, which may run beside the others, and browser_wake.
 * The thread that starts it must live as long as the child: the kernel ends the child with it.
 * Errors: after any error nothing is known about the child: stop it.
 * Source: the DevTools protocol's pipe; pages and renderers measured as /proc has them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/clock.h"
#include "base/memory/buffer.h"

typedef struct BrowserOptions {
    const char *command; /* a program; "": chromium-headless-shell or chromium, on PATH */
    const char *user;    /* whom it runs as when this process is root's; "": root is refused */
} BrowserOptions;

#define BROWSER_PROCESSES 64u /* that are remembered */
#define BROWSER_TABS      8u

/* A process that was seen. */
typedef struct BrowserProcess {
    pid_t pid;
    bool runs_pages;
} BrowserProcess;

/* The process of a tab. */
typedef struct BrowserTab {
    pid_t pid;          /* 0: it is not known */
    int64_t counted_ms; /* of its CPU time */
} BrowserTab;

typedef struct Browser {
    pid_t pid; /* 0: there is none */
    int in;    /* messages to it */
    int out;
    int wake;                                    /* an eventfd: whoever waits is to look again */
    bool is_cut_off;                             /* it has a network namespace of its own */
    char folder[160];                            /* of its profile; "": none */
    BrowserProcess processes[BROWSER_PROCESSES]; /* those that browser_use has seen last */
    unsigned n_processes;
    BrowserTab tabs[BROWSER_TABS];
    int64_t counted_ms; /* of the CPU time of all processes */
} Browser;

/* What a tab takes: its process, and those that all share. */
typedef struct BrowserUse {
    uint64_t memory_bytes; /* resident, not shared with anybody */
    int64_t cpu_ms;        /* that was not counted yet, ended processes included */
} BrowserUse;

/* Makes one without a child; browser_stop is its end, too. */
void browser_init(Browser *browser);
/* Whether a browser with these options can be started: RESULT_OK and its path in path, or
 * RESULT_NOT_FOUND, RESULT_INVALID and why not, for the operator, in path. */
Result browser_look(const BrowserOptions *options, Buffer *path);
/* Starts it. RESULT_NOT_FOUND, RESULT_INVALID as browser_look; RESULT_IO, RESULT_LIMIT,
 * RESULT_MEMORY: no folder, no pipe or no process. */
Result browser_start(Browser *browser, const BrowserOptions *options);
/* Ends it and all of its processes, and removes its folder. Nothing happens without one. */
void browser_stop(Browser *browser);
/* Its processes end soon; whoever waits for it hears of it. */
void browser_kill(const Browser *browser);
/* Waits until deadline for bytes from it, for room to write when that is wanted, or to be woken.
 * RESULT_OK: look; RESULT_TIMEOUT; RESULT_IO. */
Result browser_wait(const Browser *browser, bool writes, MonoTime deadline);
void browser_wake(const Browser *browser);
/* Writes as much of out, from *written on, as there is room for. RESULT_CLOSED: it has ended;
 * RESULT_IO. */
Result browser_write(const Browser *browser, const Buffer *out, size_t *written);
/* Appends what has come to in. RESULT_CLOSED; RESULT_LIMIT: in is full; RESULT_IO. */
Result browser_read(const Browser *browser, Buffer *in);
/* The youngest process for pages that is no other tab's becomes this tab's. */
void browser_find_tab(Browser *browser, unsigned tab);
/* Ends the tab's process, if it is known: a page that spins is not asked whether it may be closed.
 */
void browser_end_tab(const Browser *browser, unsigned tab);
/* Measures; zero where nothing can be read. It looks at each process of the machine: for now and
 * then. */
BrowserUse browser_use(Browser *browser, unsigned tab);
/* The CPU time of the processes that were seen last, which costs next to nothing. */
int64_t browser_cpu_ms(const Browser *browser, unsigned tab);
/* The same, which is counted herewith. */
int64_t browser_count(Browser *browser, unsigned tab);
