#include "store/rank/rank_memory.h"

#define FREE_AT_ONCE ((size_t)4 << 20) /* bytes; a page costs about a quarter of a microsecond */

MMapArray *rank_memory_new(RankMemory *memory, size_t n_elements, size_t element_size)
{
    for (size_t i = 0; i < RANK_MEMORY_ARRAYS; i++) {
        MMapArray **slot = &memory->arrays[i];
        if (*slot == NULL) {
            return mmap_array_new(slot, NULL, n_elements, element_size) == mmap_array_error_ok
                       ? *slot
                       : NULL;
        }
    }
    return NULL;
}

static bool drop_slot(MMapArray **slot, const atomic_bool *stop)
{
    MMapArray *array = *slot;
    size_t piece = FREE_AT_ONCE / array->element_size;
    while (array->n_elements > piece && !rank_is_stopped(stop) &&
           mmap_array_resize(array, array->n_elements - piece) == mmap_array_error_ok) {
    }
    if (rank_is_stopped(stop)) {
        return false;
    }
    (void)mmap_array_delete(array);
    *slot = NULL;
    return true;
}

bool rank_memory_drop(RankMemory *memory, MMapArray *array, const atomic_bool *stop)
{
    bool is_done = true;
    for (size_t i = 0; array != NULL && i < RANK_MEMORY_ARRAYS; i++) {
        if (memory->arrays[i] == array) {
            is_done = drop_slot(&memory->arrays[i], stop);
            break;
        }
    }
    return is_done;
}

bool rank_memory_free(RankMemory *memory, const atomic_bool *stop)
{
    bool is_done = true;
    for (size_t i = 0; is_done && i < RANK_MEMORY_ARRAYS; i++) {
        is_done = memory->arrays[i] == NULL || drop_slot(&memory->arrays[i], stop);
    }
    return is_done;
}
