/* How far a long command has come: one line on a terminal, written over and over.
 *
 *   ragno export: 41 %  81733 pages (3105/s)  1 m 52 s left
 *
 * What: nothing is written unless it is on; a line at most every PROGRESS_MS. The time that is left
 * is what the rest takes at the rate of what has been done so far. Threads: belongs to one. */
#ifndef CRAWL_PROGRESS_H
#define CRAWL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/core/clock.h"

#define PROGRESS_MS 500

typedef struct Progress {
    FILE *out;
    const char *command;
    const char *items; /* "pages" */
    bool on;
    bool shown; /* a line stands there */
    MonoTime start;
    MonoTime next;
} Progress;

/* Whether a command should show it: standard error is a terminal, and the data goes elsewhere. */
bool progress_is_wanted(const char *output_path);
void progress_begin(Progress *progress, const char *command, const char *items, bool on, FILE *out,
                    MonoTime now);
/* done of total, in any unit; n_items have come out. */
void progress_show(Progress *progress, uint64_t done, uint64_t total, uint64_t n_items,
                   MonoTime now);
/* When the next line is due; MONO_NEVER when it is off. */
MonoTime progress_due(const Progress *progress);
/* Takes the line away. */
void progress_end(Progress *progress);

#endif
