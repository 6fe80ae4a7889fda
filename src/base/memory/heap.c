#include "base/memory/heap.h"

#include <assert.h>
#include <stdlib.h>

#define HEAP_FIRST 4u /* most heaps are those of workbench entries: one address, one host */

void heap_init(Heap *heap)
{
    *heap = (Heap){.nodes = NULL, .count = 0, .capacity = 0};
}

void heap_destroy(Heap *heap)
{
    free(heap->nodes);
    heap_init(heap);
}

void heap_node_init(HeapNode *node)
{
    *node = (HeapNode){.key = 0, .tie = 0, .place = HEAP_NOWHERE};
}

static bool heap_less(const HeapNode *a, const HeapNode *b)
{
    return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

static void heap_set(Heap *heap, size_t place, HeapNode *node)
{
    heap->nodes[place] = node;
    node->place = place;
}

static void heap_sift_up(Heap *heap, HeapNode *node)
{
    size_t i = node->place;
    while (i > 0 && heap_less(node, heap->nodes[(i - 1) / 2])) {
        heap_set(heap, i, heap->nodes[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_set(heap, i, node);
}

Result heap_push(Heap *heap, HeapNode *node, int64_t key, uint64_t tie)
{
    assert(!heap_holds(node));
    if (heap->count == heap->capacity) {
        size_t capacity = heap->capacity == 0 ? HEAP_FIRST : heap->capacity * 2;
        HeapNode **nodes = realloc(heap->nodes, capacity * sizeof(HeapNode *));
        if (nodes == NULL) {
            return RESULT_MEMORY;
        }
        heap->nodes = nodes;
        heap->capacity = capacity;
    }
    node->key = key;
    node->tie = tie;
    heap_set(heap, heap->count, node);
    heap->count++;
    heap_sift_up(heap, node);
    return RESULT_OK;
}

HeapNode *heap_top(const Heap *heap)
{
    return heap->count == 0 ? NULL : heap->nodes[0];
}

HeapNode *heap_pop(Heap *heap)
{
    HeapNode *top = heap_top(heap);
    if (top != NULL) {
        heap_remove(heap, top);
    }
    return top;
}

void heap_remove(Heap *heap, HeapNode *node)
{
    if (!heap_holds(node)) {
        return;
    }
    assert(heap->nodes[node->place] == node);
    size_t place = node->place;
    HeapNode *last = heap->nodes[--heap->count];
    node->place = HEAP_NOWHERE;
    if (last != node) {
        heap_set(heap, place, last);
        heap_sift_up(heap, last);
        size_t i = last->place;
        for (;;) {
            size_t child = 2 * i + 1;
            if (child >= heap->count) {
                break;
            }
            if (child + 1 < heap->count && heap_less(heap->nodes[child + 1], heap->nodes[child])) {
                child++;
            }
            if (!heap_less(heap->nodes[child], last)) {
                break;
            }
            heap_set(heap, i, heap->nodes[child]);
            i = child;
        }
        heap_set(heap, i, last);
    }
}
