/* Cluster console: commands of ragno that are asked for from another machine, on this agent's
 * directory.
 *
 *   NODE_ASK_RUN: ticket, offset, words --> `ragno WORD DIR WORDS...`, a process --> a file
 *      ^------- ConsoleState, exit status, what it has printed from the offset on ------'
 *
 * What: an agent answers for itself as it would at its own machine, so there is one source for what
 * `ragno report`, `why` or `ctl` say. A question that comes again, or a later one with the same
 * ticket, finds the process that the first has begun. At most CONSOLE_JOBS are known; the one that
 * was asked for least lately goes when it has ended. Only words that write nothing on this machine
 * are carried out, and of `ctl` those that change something only when this agent logs in to its
 * server: otherwise anybody may be asking.
 *
 * Owns: the processes and what they print (in a file without a name, in the directory of the crawl;
 * CONSOLE_BYTES at most).
 * Threads: cluster.
 * Errors: a ConsoleState with a sentence. */
#pragma once

#include <sys/types.h>

#include "cluster/wire/wire.h"
#include "rules/config.h"

#define CONSOLE_JOBS        4u
#define CONSOLE_WORDS       300u
#define CONSOLE_CHUNK_BYTES ((size_t)128 << 10)
#define CONSOLE_BYTES       ((uint64_t)1 << 30)

typedef enum ConsoleState { CONSOLE_REFUSED, CONSOLE_RUNS, CONSOLE_ENDED } ConsoleState;

typedef struct ConsoleJob {
    uint64_t ticket; /* 0: free */
    pid_t pid;       /* 0: it has ended */
    int fd;
    int status; /* exit status, or 128 and a signal */
    MonoTime asked;
} ConsoleJob;

typedef struct ClusterConsole {
    const char *directory; /* of the crawl; borrowed */
    bool has_login;
    ConsoleJob jobs[CONSOLE_JOBS];
} ClusterConsole;

void cluster_console_init(ClusterConsole *console, const char *directory, const Config *config);
/* Ends the processes. */
void cluster_console_destroy(ClusterConsole *console);
/* Appends the answer; nothing to what is no question. */
void cluster_console_asked(ClusterConsole *console, WireReader *question, WireWriter *answer);
