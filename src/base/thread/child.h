/* Child: another program, run as a process of this one.
 *
 * What: the threads of a crawl block all signals, and it ignores SIGPIPE: not so a child. It has a
 * process group of its own, so that Ctrl-C reaches the crawl alone, and so that all of its own
 * children can be ended with it.
 * Owns: nothing; the caller waits for the process.
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/core/result.h"

/* Starts a program, which is looked for in PATH when its name has no slash; argv ends with NULL.
 * files: its standard input, output and error, -1 = as this process has them. RESULT_NOT_FOUND,
 * RESULT_LIMIT, RESULT_MEMORY, ...: there is no child. */
Result child_start(pid_t *pid, const char *program, char *const argv[], const int files[3]);
/* Ends it with its group, and waits for it; *status as waitpid has it. */
void child_kill(pid_t pid, int *status);
/* Whether it has ended; then *status is as waitpid has it, and it is waited for no more. */
bool child_has_ended(pid_t pid, int *status);
