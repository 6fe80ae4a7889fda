/* The two containers of the best-first front, small enough for a processor's cache: a heap of hosts
 * whose keys lie in the heap itself, four children to a node, and a set of page indices, which are
 * dense numbers.
 *
 * Not thread-safe. A handle knows its place in the one heap that it is in. */
#ifndef STORE_BEST_FIRST_BF_HEAP_H
#define STORE_BEST_FIRST_BF_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

struct BFHeap;

/* Embedded in what is in the heap. */
typedef struct BFHandle {
    struct BFHeap *heap; /* NULL: in none */
    size_t place;
} BFHandle;

typedef struct BFHeapEntry {
    uint64_t key;
    BFHandle *handle;
} BFHeapEntry;

typedef struct BFHeap {
    BFHeapEntry *entries;
    size_t count;
    size_t capacity;
} BFHeap;

/* Zero bytes are an empty heap. */
void bf_heap_destroy(BFHeap *heap);
/* Puts the handle into the heap, out of the one it is in, or gives it another key there.
 * RESULT_MEMORY: it is in none. */
Result bf_heap_put(BFHeap *heap, BFHandle *handle, uint64_t key);
/* Takes the handle out of its heap, if it is in one. */
void bf_heap_leave(BFHandle *handle);
/* The least entry, or NULL. */
static inline const BFHeapEntry *bf_heap_top(const BFHeap *heap)
{
    return heap->count == 0 ? NULL : &heap->entries[0];
}

/* Bits in chunks, of which only those that have any are there: what was numbered together lies
 * together, and a chunk of thousands of pages is half a kilobyte. */
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
