/* A binary min-heap of embedded nodes: push, pop, and removal or re-keying from the middle.
 *
 * What: the element holds a HeapNode. The heap holds pointers to nodes, and each node knows its
 * place, so that an element may leave in O(log n) wherever it is. The order is that of (key, tie).
 * Owns: the array of pointers; elements are the caller's.
 * Threads: one at a time.
 * Errors: RESULT_MEMORY. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

#define HEAP_NOWHERE SIZE_MAX

typedef struct HeapNode {
    int64_t key;
    uint64_t tie;
    size_t place; /* in the heap, or HEAP_NOWHERE */
} HeapNode;

typedef struct Heap {
    HeapNode **nodes;
    size_t count;
    size_t capacity;
} Heap;

/* The element that a node is embedded in. */
#define HEAP_ELEMENT(node, Type, member) ((Type *)(void *)((char *)(node)-offsetof(Type, member)))

void heap_init(Heap *heap);
void heap_destroy(Heap *heap);
/* A node must be initialised once before its first use. */
void heap_node_init(HeapNode *node);
static inline bool heap_holds(const HeapNode *node)
{
    return node->place != HEAP_NOWHERE;
}

/* RESULT_MEMORY: the node is not in the heap. */
Result heap_push(Heap *heap, HeapNode *node, int64_t key, uint64_t tie);
/* The least node, which stays in the heap; NULL when the heap is empty. */
HeapNode *heap_top(const Heap *heap);
HeapNode *heap_pop(Heap *heap);
/* Nothing when the node is in none. */
void heap_remove(Heap *heap, HeapNode *node);
