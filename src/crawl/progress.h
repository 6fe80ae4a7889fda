/* Progress: how far a long command has come, as one line that a terminal shows and that is
 * overwritten.
 *
 *   ragno export: 41 %  81733 pages (3105/s)  1 m 52 s left
 *
 * What: writes nothing unless it is on, and a line at most every PROGRESS_MS. The time that is left
 * is estimated from the rate so far.
 * Threads: one. */
#pragma once

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

/* Whether a command should show its progress: standard error is a terminal, and the data does not
 * go to a terminal. */
bool progress_is_wanted(const char *output_path);
void progress_begin(Progress *progress, const char *command, const char *items, bool on, FILE *out,
                    MonoTime now);
/* done of total, in any unit; n_items have come out. */
void progress_show(Progress *progress, uint64_t done, uint64_t total, uint64_t n_items,
                   MonoTime now);
/* When the next line is due; MONO_NEVER when it is off. */
MonoTime progress_due(const Progress *progress);
/* Erases the line. */
void progress_end(Progress *progress);
