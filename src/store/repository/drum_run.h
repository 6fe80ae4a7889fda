/* One sorted run: an immutable file of ascending 64-bit keys with values, delta-compressed.
 *
 * What: the layout, which drum_run_writer.h writes and drum_run_reader.h reads.
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

#define DRUM_RUN_VERSION       1u
#define DRUM_RUN_ENTRIES       4096u
#define DRUM_RUN_BLOCK_MAGIC   UINT32_C(0x4E55524B)
#define DRUM_RUN_TRAILER_MAGIC UINT64_C(0x4E55524452474152)
/* Wider deltas are stored as 64 bits: a load at any bit offset holds so many. */
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

#endif
