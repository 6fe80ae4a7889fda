/* A heap of hosts, small enough for the cache of a processor.
 *
 * What: the keys lie in the heap itself, four children to a node.
 * Owns: its entries; the handles are embedded in what is in the heap.
 * Threads: one at a time.
 * Invariants: a handle knows its place in the one heap that it is in.
 * Errors: RESULT_MEMORY. */
#ifndef STORE_FRONT_BF_HEAP_H
#define STORE_FRONT_BF_HEAP_H

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

#endif
