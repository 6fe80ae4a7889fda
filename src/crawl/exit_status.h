/* Exit status: how the program tells its caller what happened.
 *
 * What: one list for all commands; the manual describes it under EXIT STATUS. */
#pragma once

#include "base/memory/buffer.h"

typedef enum ExitStatus {
    EXIT_FINISHED = 0,    /* nothing is left; the answer is yes */
    EXIT_INTERNAL = 1,    /* crawl: a bug, or no memory */
    EXIT_NEGATIVE = 1,    /* other commands: the answer is no */
    EXIT_USAGE = 2,       /* usage or configuration */
    EXIT_IO = 3,          /* cannot be read or written; disk full at the start */
    EXIT_NETWORK = 4,     /* no network or name server at the start */
    EXIT_SIGNAL = 11,     /* stopped by a signal, state saved */
    EXIT_FORCED = 13,     /* by a second one, state consistent */
    EXIT_PAGE_LIMIT = 14, /* pages or bytes */
    EXIT_TIME_LIMIT = 15,
    EXIT_DISK_LIMIT = 16,
    EXIT_DIRECTORY = 17, /* locked, damaged, or of another format version */
    EXIT_TAIL = 18,      /* only hosts that have failed were left for limits.tail */
    EXIT_NO_SEED = 19,   /* finished, and none of the seeds could be fetched */
    EXIT_DENIED = 20     /* all that is left is denied by the operator, and stays scheduled */
} ExitStatus;

/* Of a command that ended so: 0; EXIT_DIRECTORY damaged, locked or of another version; EXIT_IO;
 * EXIT_USAGE what it was given is wrong; EXIT_INTERNAL. */
int exit_status_of(Result rc);
/* The same; of what went wrong it says on standard error "ragno COMMAND: " and the sentence in
 * error, or, when that is empty, what rc means. error is destroyed. */
int exit_status_tell(const char *command, Result rc, Buffer *error);
