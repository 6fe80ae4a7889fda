/* Text jobs: the WARC files of a crawl, cut into pieces that threads read side by side.
 *
 * What: a piece is a range of a file that begins where a record begins. A record belongs to the
 * piece that it begins in. The index of a file (or its journal) says where records begin; a file
 * without one is a single piece. A file that cannot be read is a piece, too, and the thread that
 * reads it reports it. Files that were last written before `since` hold nothing newer and are left
 * out.
 * Owns: the list.
 * Threads: one makes it, all read it. */
#ifndef COMMAND_TEXT_TEXT_JOBS_H
#define COMMAND_TEXT_TEXT_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/clock.h"
#include "base/core/result.h"

typedef struct TextFile {
    char *name;    /* without .open; owned */
    bool open;     /* it is being written, or was when its crawl ended */
    WallTime date; /* of its first record; 0 when that cannot be read */
    uint64_t size;
} TextFile;

typedef struct TextJob {
    size_t file;   /* of files */
    uint64_t from; /* where its first record begins */
    uint64_t to;   /* records that begin here or later are the next piece's */
} TextJob;

typedef struct TextJobs {
    TextFile *files; /* in the order in which they were begun */
    size_t n_files;
    TextJob *jobs; /* in the order of files, and within a file */
    size_t n;
    uint64_t bytes; /* of all pieces */
} TextJobs;

/* Lists what is in directory (a crawl's warc folder); pieces have about job_bytes. since:
 * microseconds; INT64_MIN: all files. RESULT_NOT_FOUND: no such folder; RESULT_IO, RESULT_MEMORY.
 * text_jobs_free in every case. */
Result text_jobs_make(TextJobs *jobs, const char *directory, WallTime since, uint64_t job_bytes);
void text_jobs_free(TextJobs *jobs);

#endif
