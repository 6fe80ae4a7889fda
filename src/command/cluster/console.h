/* Console: what all agents of a cluster say to one command.
 *
 *   words --console_ask--> each agent that they concern runs them on its own directory
 *                          (crawl/cluster/cluster_console.h) --ConsoleSink--> pieces, agent by
 * agent
 *
 * What: `why`, `consent`, `complaint` and `db get|path` of a URL or host are asked of its owner
 * alone; of `ctl`, what agents tell each other (docs/cluster.md, "Orders") is said to the first
 * that answers; all else goes to all agents. CONSOLE_AHEAD of them are at work at a time, and their
 * answers come in the order of their numbers. An agent that is away is told of as such, by name.
 *
 * Owns: the connection, what is known of the agents.
 * Threads: one.
 * Errors: as cluster_client.h; error of console_open has a sentence. */
#pragma once

#include "command/cluster/cluster_client.h"

#define CONSOLE_AHEAD 8u

typedef struct ConsoleAgent {
    uint16_t number;
    const char *state; /* running, stopped, silent, never-started, refuses, lost */
    char name[MEMBER_TEXT_BYTES];
    ClusterRun run;
    Buffer said; /* and not handed over yet */
    Result rc;   /* of the last exchange */
} ConsoleAgent;

typedef struct Console {
    const Config *config; /* borrowed */
    ClusterClient client;
    ClusterTable table;
    ConsoleAgent *agents; /* by number; owned */
    size_t running;       /* that have answered */
} Console;

/* To be closed in any case. */
Result console_open(Console *console, const Config *config, Buffer *error);
void console_close(Console *console);

/* A piece of what an agent says; the last one, which may be empty, has agent->run.ended, or
 * agent->rc says why there is no more. */
typedef void (*ConsoleSink)(void *context, const ConsoleAgent *agent, const char *piece,
                            size_t length);
/* words: the command, and what follows the directory. The greatest exit status of those who were
 * asked; EXIT_NEGATIVE at least when one of them is away. */
int console_ask(Console *console, char *const *words, size_t n, ConsoleSink sink, void *context);
/* The same of one agent. */
int console_ask_agent(Console *console, uint16_t number, char *const *words, size_t n,
                      ConsoleSink sink, void *context);

/* What an agent's directory says of the others (`ragno verify --peers`). */
typedef struct ConsolePeer {
    uint64_t taken; /* messages of that one that are committed here */
    uint64_t heard; /* ours that it has said to have committed */
} ConsolePeer;

typedef struct ConsoleView {
    bool known;         /* it has answered */
    uint64_t epoch;     /* of its table */
    uint64_t table;     /* a hash of it */
    uint64_t blocks;    /* that wait for others */
    ConsolePeer *peers; /* by number */
} ConsoleView;

/* Takes a line of what an agent has said. */
void console_view_take(ConsoleView *view, uint32_t n, const char *line);
/* Whether n agents agree: what one has heard of another before, that one must have afterwards, and
 * who has an older table must have got the newer one. Appends a line for each problem; how many. */
size_t console_compare(const ConsoleView *before, const ConsoleView *after, uint32_t n,
                       Buffer *out);

/* One agent, for `ragno top`. */
typedef struct ConsoleRow {
    const ConsoleAgent *agent;
    uint64_t pages;
    uint64_t queued;
    double pages_s;
    char limit[32];
} ConsoleRow;
/* How the whole crawl does. Appends to *whole the sums of what `ragno ctl DIR status json` says,
 * flat JSON as there; to *all (NULL: not wanted) an object with the sums and each agent's own; rows
 * (NULL: not wanted) are of all agents. The exit status as of console_ask. */
int console_status(Console *console, Buffer *whole, Buffer *all, ConsoleRow *rows);

/* ---- `ragno COMMAND nats://HOST:PORT/NAME ...` ----
 *
 * What: prints what the agents say, one after the other under the agent's name; with --json as one
 * object. Who is away is named on standard error. */

/* argv[0] is the command; whether such a URL stands in the place of its directory. */
bool console_is_for(int argc, char **argv);
/* The server, and the other words, the command first: CONSOLE_WORDS at most. RESULT_INVALID,
 * RESULT_LIMIT: too many. */
Result console_command_read(Config *config, int argc, char **argv, char **words, size_t *n,
                            Buffer *error);
/* Of all commands but `top`. Returns the exit status. */
int console_main(int argc, char **argv);
