/* Writing a sorted run (drum_run.h).
 *
 * What: a writer is filled in ascending order of keys and finished.
 * Owns: the file descriptor and its memory; the file stays on disk.
 * Threads: one.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_MEMORY; the first one stays until finish. */
#ifndef STORE_REPOSITORY_DRUM_RUN_WRITER_H
#define STORE_REPOSITORY_DRUM_RUN_WRITER_H

#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "store/drum/drum.h"
#include "store/repository/drum_run.h"

typedef struct DrumRunWriter {
    int fd;        /* owned; -1 when there is none */
    uint64_t size; /* written so far */
    uint64_t entries;
    DrumFence *fences; /* owned */
    size_t n_fences;
    size_t capacity;
    Result failed; /* the first error: nothing is written after it */
    /* the block being filled */
    size_t n;
    uint64_t *keys; /* owned, DRUM_RUN_ENTRIES */
    uint32_t *ends; /* owned, DRUM_RUN_ENTRIES: of the values */
    Buffer values;
    Buffer output;
} DrumRunWriter;

/* Creates the file name in directory. RESULT_IO, RESULT_FULL, RESULT_MEMORY. */
Result drum_run_writer_open(DrumRunWriter *writer, int directory, const char *name);
/* Keys must ascend strictly. Errors stay until finish. */
Result drum_run_writer_put(DrumRunWriter *writer, uint64_t key, DrumBytes value);
/* Writes the rest and syncs. Destroy it afterwards in any case. */
Result drum_run_writer_finish(DrumRunWriter *writer);
void drum_run_writer_destroy(DrumRunWriter *writer);

#endif
