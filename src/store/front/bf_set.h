/* A set of page indices, which are dense numbers.
 *
 * What: bits in chunks, of which only those that have any are there. What was numbered together
 * lies together, and a chunk of thousands of pages is half a kilobyte.
 * Owns: its chunks.
 * Threads: one at a time.
 * Errors: RESULT_MEMORY. */
#ifndef STORE_FRONT_BF_SET_H
#define STORE_FRONT_BF_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct BFSetChunk {
    uint64_t *words; /* BF_SET_CHUNK_BITS; NULL while count is 0 */
    size_t count;    /* of bits that are set */
} BFSetChunk;

#define BF_SET_CHUNK_BITS 4096u

typedef struct BFSet {
    BFSetChunk *chunks;
    size_t n_chunks;
    size_t count;
} BFSet;

/* Zero bytes are an empty set. */
void bf_set_destroy(BFSet *set);
/* RESULT_MEMORY: nothing changed. Needs sixteen bytes for each chunk below number, once. */
Result bf_set_add(BFSet *set, uint64_t number);
bool bf_set_has(const BFSet *set, uint64_t number);
/* False: it was not there. */
bool bf_set_remove(BFSet *set, uint64_t number);

#endif
