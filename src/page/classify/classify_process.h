/* Classify process: a child process that reads lines and answers each with a line.
 *
 *   classify_process_start --> classify_process_exchange ... --> classify_process_stop
 *
 * What: standard input and output of the child are pipes, its standard error is the crawl's. It has
 * a process group of its own, so that Ctrl-C reaches the crawl alone, and so that all of its
 * children can be ended with it. Writing and reading go on at the same time: neither side waits for
 * the other with a full pipe.
 * Owns: the child and the pipes.
 * Threads: one; classify_process_interrupt any.
 * Errors: after any error of an exchange nothing is known about the child: stop it. */
#ifndef PAGE_CLASSIFY_CLASSIFY_PROCESS_H
#define PAGE_CLASSIFY_CLASSIFY_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/memory/buffer.h"

#define CLASSIFY_ANSWER_BYTES ((size_t)4096) /* of one line; a longer one is an error */

typedef struct ClassifyProcess {
    pid_t pid; /* 0: there is none */
    int in;    /* its standard input */
    int out;
    int interrupt; /* an eventfd; -1: none */
} ClassifyProcess;

/* RESULT_LIMIT, RESULT_MEMORY: no descriptor. */
Result classify_process_init(ClassifyProcess *process);
void classify_process_destroy(ClassifyProcess *process);
/* argv ends with NULL; argv[0] is looked for in PATH. RESULT_NOT_FOUND, RESULT_LIMIT, ...: there is
 * no child. */
Result classify_process_start(ClassifyProcess *process, char *const argv[]);
/* Writes all questions, and reads until there are n lines of answers. answers is emptied first, and
 * holds what came also after an error: RESULT_TIMEOUT, RESULT_CLOSED (the child has ended, or was
 * interrupted), RESULT_LIMIT (a line too long, or more lines than questions), RESULT_IO. */
Result classify_process_exchange(ClassifyProcess *process, const Buffer *questions, size_t n,
                                 Buffer *answers, MonoTime deadline);
/* Ends the child and its group; *status as waitpid has it. Nothing happens without a child. */
void classify_process_stop(ClassifyProcess *process, int *status);
/* Ends the exchange that is under way and all later ones. */
void classify_process_interrupt(ClassifyProcess *process);

#endif
