#include "store/front/bf_heap.h"

#include <stdlib.h>

#define CHILDREN      4u
#define FIRST_ENTRIES 64u

void bf_heap_destroy(BFHeap *heap)
{
    free(heap->entries);
    *heap = (BFHeap){0};
}

static void set_entry(BFHeap *heap, size_t place, BFHeapEntry entry)
{
    heap->entries[place] = entry;
    entry.handle->place = place;
}

static void bf_heap_sift_up(BFHeap *heap, size_t place, BFHeapEntry entry)
{
    while (place > 0 && entry.key < heap->entries[(place - 1) / CHILDREN].key) {
        set_entry(heap, place, heap->entries[(place - 1) / CHILDREN]);
        place = (place - 1) / CHILDREN;
    }
    set_entry(heap, place, entry);
}

static void bf_heap_sift_down(BFHeap *heap, size_t place, BFHeapEntry entry)
{
    for (;;) {
        size_t first = place * CHILDREN + 1;
        size_t end = first + CHILDREN < heap->count ? first + CHILDREN : heap->count;
        size_t least = first;
        for (size_t child = first + 1; child < end; child++) {
            least = heap->entries[child].key < heap->entries[least].key ? child : least;
        }
        if (first >= heap->count || entry.key <= heap->entries[least].key) {
            break;
        }
        set_entry(heap, place, heap->entries[least]);
        place = least;
    }
    set_entry(heap, place, entry);
}

static void sift(BFHeap *heap, size_t place, BFHeapEntry entry)
{
    if (place > 0 && entry.key < heap->entries[(place - 1) / CHILDREN].key) {
        bf_heap_sift_up(heap, place, entry);
    } else {
        bf_heap_sift_down(heap, place, entry);
    }
}

Result bf_heap_put(BFHeap *heap, BFHandle *handle, uint64_t key)
{
    if (handle->heap == heap) {
        sift(heap, handle->place, (BFHeapEntry){key, handle});
        return RESULT_OK;
    }
    bf_heap_leave(handle);
    if (heap->count == heap->capacity) {
        size_t capacity = heap->capacity == 0 ? FIRST_ENTRIES : heap->capacity * 2;
        BFHeapEntry *entries = realloc(heap->entries, capacity * sizeof *entries);
        if (entries == NULL) {
            return RESULT_MEMORY;
        }
        heap->entries = entries;
        heap->capacity = capacity;
    }
    handle->heap = heap;
    heap->count++;
    bf_heap_sift_up(heap, heap->count - 1, (BFHeapEntry){key, handle});
    return RESULT_OK;
}

void bf_heap_leave(BFHandle *handle)
{
    BFHeap *heap = handle->heap;
    if (heap == NULL) {
        return;
    }
    size_t place = handle->place;
    handle->heap = NULL;
    heap->count--;
    if (place < heap->count) {
        sift(heap, place, heap->entries[heap->count]);
    }
}
