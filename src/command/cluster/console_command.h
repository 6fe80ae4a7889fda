/* `ragno COMMAND nats://HOST:PORT/NAME ...`: a command that all agents of a crawl answer.
 *
 * What: prints what they say (console.h), one after the other under the agent's name; with --json
 * as one object. Who is away is named on standard error. Threads: main. */
#ifndef COMMAND_CLUSTER_CONSOLE_COMMAND_H
#define COMMAND_CLUSTER_CONSOLE_COMMAND_H

#include "rules/config.h"

/* argv[0] is the command; whether such a URL stands in the place of its directory. */
bool console_is_for(int argc, char **argv);
/* The server, and the other words, the command first: CONSOLE_WORDS at most. RESULT_INVALID,
 * RESULT_LIMIT: too many. */
Result console_command_read(Config *config, int argc, char **argv, char **words, size_t *n,
                            Buffer *error);
/* Of all commands but `top`. Returns the exit status. */
int console_main(int argc, char **argv);

#endif
