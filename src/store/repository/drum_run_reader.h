/* Reading a sorted run (drum_run.h).
 *
 * What: a reader sweeps forward. By the fences it skips blocks that cannot hold what is looked for.
 * A block is checked whenever it is read.
 * Owns: the file descriptor and its memory.
 * Threads: one.
 * Errors: RESULT_DAMAGED, RESULT_VERSION, RESULT_NOT_FOUND, RESULT_IO, RESULT_MEMORY. */
#ifndef STORE_REPOSITORY_DRUM_RUN_READER_H
#define STORE_REPOSITORY_DRUM_RUN_READER_H

#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "store/drum/drum.h"
#include "store/repository/drum_run.h"

typedef struct DrumRunReader {
    int fd; /* owned; -1 when there is none */
    uint64_t size;
    uint64_t entries;
    DrumFence *fences; /* owned; one more stands for the end of the last block */
    size_t n_fences;
    /* the block at hand */
    size_t block; /* n_fences behind the last; SIZE_MAX before the first */
    size_t n;
    size_t at;
    uint64_t *keys; /* owned, DRUM_RUN_ENTRIES */
    uint32_t width; /* of each value, if they are of one length, else UINT32_MAX */
    const uint8_t *ends;
    const uint8_t *values;
    size_t values_bytes;
    Buffer input;
} DrumRunReader;

/* RESULT_DAMAGED, RESULT_VERSION, RESULT_NOT_FOUND, RESULT_IO, RESULT_MEMORY. */
Result drum_run_reader_open(DrumRunReader *reader, int directory, const char *name);
void drum_run_reader_destroy(DrumRunReader *reader);
/* Back to before the first entry. */
void drum_run_reader_rewind(DrumRunReader *reader);
/* Moves to the first entry at or behind key, never backwards. RESULT_NOT_FOUND behind the last;
 * RESULT_DAMAGED, RESULT_IO. Then drum_run_reader_key and _value are of that entry. */
Result drum_run_reader_seek(DrumRunReader *reader, uint64_t key);
/* Moves to the next entry; before the first, to that. */
Result drum_run_reader_next(DrumRunReader *reader);
/* Borrowed until the next move. */
DrumBytes drum_run_reader_value(const DrumRunReader *reader);

static inline uint64_t drum_run_reader_key(const DrumRunReader *reader)
{
    return reader->keys[reader->at];
}

#endif
