/* One sorted run: an immutable file of ascending 64-bit keys with values, delta-compressed.
 *
 * What: the layout, which drum_run.h writes and drum_run.h reads.
 *
 *   file  := block* index trailer                all numbers little-endian
 *   block := header deltas values                up to DRUM_RUN_ENTRIES entries
 *   index := (first key, offset)*                one per block: the fences, kept in memory
 *
 * Deltas between neighbours are packed with as many bits as the largest of the block needs (about
 * 42 for 60 million random keys). Values of one length are packed; others have an array of ends
 * before them. Blocks, index and trailer carry 64-bit XXH3 checksums; a block is checked whenever
 * it is read.
 * Threads: pure functions. */
#ifndef STORE_REPOSITORY_DRUM_RUN_H
#define STORE_REPOSITORY_DRUM_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/hash.h"
#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "store/drum/drum.h"

#define DRUM_RUN_VERSION       1u
#define DRUM_RUN_ENTRIES       4096u
#define DRUM_RUN_BLOCK_MAGIC   UINT32_C(0x4E55524B)
#define DRUM_RUN_TRAILER_MAGIC UINT64_C(0x4E55524452474152)
/* Wider deltas are stored as 64 bits: a load at any bit offset holds no more. */
#define DRUM_RUN_MOST_BITS 56u

typedef struct DrumFence {
    uint64_t first_key;
    uint64_t offset; /* of the block */
} DrumFence;

typedef struct DrumRunBlock {
    uint32_t magic;
    uint32_t n;
    uint32_t payload_bytes;
    uint32_t bits;  /* of a delta */
    uint32_t width; /* of a value, or UINT32_MAX */
    uint32_t values_bytes;
    uint64_t first_key;
    uint64_t last_key;
    uint64_t checksum; /* of the payload, seeded with that of the fields before */
} DrumRunBlock;

typedef struct DrumRunTrailer {
    uint64_t magic;
    uint32_t version;
    uint32_t reserved;
    uint64_t entries;
    uint64_t n_fences;
    uint64_t index_offset;
    uint64_t checksum; /* of the index, seeded with that of the fields before */
} DrumRunTrailer;

_Static_assert(sizeof(DrumRunBlock) == 48 && sizeof(DrumRunTrailer) == 48, "no padding");

/* Deltas, and 8 bytes behind them so that the last can be loaded as 64 bits. */
static inline size_t drum_run_deltas_bytes(size_t n, uint32_t bits)
{
    return ((n - 1) * bits + 7) / 8 + 8;
}

static inline uint64_t drum_run_block_checksum(const DrumRunBlock *header, const void *payload)
{
    uint64_t seed = hash_64(header, offsetof(DrumRunBlock, checksum), 0);
    return hash_64(payload, header->payload_bytes, seed);
}

static inline uint64_t drum_run_trailer_checksum(const DrumRunTrailer *trailer,
                                                 const DrumFence *fences)
{
    uint64_t seed = hash_64(trailer, offsetof(DrumRunTrailer, checksum), 0);
    return hash_64(fences, (size_t)trailer->n_fences * sizeof *fences, seed);
}

/* Reading a sorted run (drum_run.h).
 *
 * What: a reader sweeps forward. By the fences it skips blocks that cannot hold what is looked for.
 * A block is checked whenever it is read.
 * Owns: the file descriptor and its memory.
 * Threads: one.
 * Errors: RESULT_DAMAGED, RESULT_VERSION, RESULT_NOT_FOUND, RESULT_IO, RESULT_MEMORY. */

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

/* Writing a sorted run (drum_run.h).
 *
 * What: a writer is filled in ascending order of keys and finished.
 * Owns: the file descriptor and its memory; the file stays on disk.
 * Threads: one.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_MEMORY; the first one stays until finish. */

typedef struct DrumRunWriter {
    int fd;        /* owned; -1 when there is none */
    uint64_t size; /* written so far */
    uint64_t entries;
    DrumFence *fences; /* owned */
    size_t n_fences;
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
