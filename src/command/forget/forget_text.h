/* Logs and other texts of a crawl, written anew without what is to be forgotten.
 *
 * What: all regular files in DIR that are text, and are not the operator's (config.ini, denied.txt,
 * files that configuration names are elsewhere). A line of crawl.log whose URL is meant goes, or,
 * with hash-logs, has a hash in place of it; in the lines of others the referrer and annotations
 * that name it become "-" or go. With an age, lines of crawl.log from before it go. Of any other
 * file (skipped.log, ragno.log, exports as JSON Lines, TSV, CSV) the lines go that name it.
 *
 * Owns: nothing.
 * Threads: one.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_MEMORY. */
#ifndef COMMAND_FORGET_FORGET_TEXT_H
#define COMMAND_FORGET_FORGET_TEXT_H

#include "command/forget/forget_target.h"

typedef struct ForgetTexts {
    const ForgetTargets *targets;
    const char *directory;
    const char *staging;
    uint64_t files;
    uint64_t lines;     /* that went, or were changed */
    uint64_t untouched; /* files that name it and are no text: a WACZ, a compressed export */
    Buffer names;       /* of these, a line each */
} ForgetTexts;

/* actions gets lines for forget.c. */
Result forget_texts(ForgetTexts *texts, Buffer *actions);

#endif
