#include "store/bf_heap.h"

#include <stdlib.h>

#include "base/hash.h"

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

static void sift_up(BFHeap *heap, size_t place, BFHeapEntry entry)
{
    while (place > 0 && entry.key < heap->entries[(place - 1) / CHILDREN].key) {
        set_entry(heap, place, heap->entries[(place - 1) / CHILDREN]);
        place = (place - 1) / CHILDREN;
    }
    set_entry(heap, place, entry);
}

static void sift_down(BFHeap *heap, size_t place, BFHeapEntry entry)
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
        sift_up(heap, place, entry);
    } else {
        sift_down(heap, place, entry);
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
    sift_up(heap, heap->count - 1, (BFHeapEntry){key, handle});
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

/* ---- The set: linear probing, at most half full, removal closes the gap ---- */

void bf_set_destroy(BFSet *set)
{
    free(set->slots);
    *set = (BFSet){0};
}

/* Where number is, or the free slot where it would be. */
static size_t find_slot(const BFSet *set, uint64_t number)
{
    size_t mask = set->capacity - 1;
    size_t slot = hash_mix(number) & mask;
    while (set->slots[slot] != 0 && set->slots[slot] != number + 1) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static Result resize(BFSet *set, size_t capacity)
{
    BFSet larger = {.slots = calloc(capacity, sizeof *larger.slots), .capacity = capacity};
    if (larger.slots == NULL) {
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i] != 0) {
            larger.slots[find_slot(&larger, set->slots[i] - 1)] = set->slots[i];
        }
    }
    larger.count = set->count;
    free(set->slots);
    *set = larger;
    return RESULT_OK;
}

Result bf_set_add(BFSet *set, uint64_t number)
{
    if (set->count * 2 >= set->capacity) {
        Result rc = resize(set, set->capacity == 0 ? FIRST_ENTRIES : set->capacity * 2);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    size_t slot = find_slot(set, number);
    set->count += set->slots[slot] == 0;
    set->slots[slot] = number + 1;
    return RESULT_OK;
}

bool bf_set_has(const BFSet *set, uint64_t number)
{
    return set->count > 0 && set->slots[find_slot(set, number)] != 0;
}

bool bf_set_remove(BFSet *set, uint64_t number)
{
    if (!bf_set_has(set, number)) {
        return false;
    }
    size_t mask = set->capacity - 1;
    size_t gap = find_slot(set, number);
    for (size_t i = (gap + 1) & mask; set->slots[i] != 0; i = (i + 1) & mask) {
        size_t home = hash_mix(set->slots[i] - 1) & mask;
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            set->slots[gap] = set->slots[i];
            gap = i;
        }
    }
    set->slots[gap] = 0;
    set->count--;
    if (set->capacity > FIRST_ENTRIES && set->count * 16 < set->capacity) {
        (void)resize(set, set->capacity / 4); /* without memory it stays large */
    }
    return true;
}
