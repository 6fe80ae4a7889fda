/* Array: elements in one piece of memory that grows while they are added at its end.
 *
 * What: the caller has the pointer, NULL at first, and the number of elements. How many there is
 * room for follows from the number: ARRAY_FIRST, then the next power of two. So an array that is
 * emptied to be filled again is shrunk by its first element: whoever fills one page after page has
 * a capacity of his own (array_reserve).
 *
 *     rc = array_add(&list->items, &list->n, sizeof *list->items, &item);
 *
 * A sorted one is ordered by one or two members, numbers without sign, and searched by one:
 *
 *     array_sort(hosts, n, sizeof *hosts, ARRAY_KEY(Host, address), ARRAY_NO_KEY);
 *
 * Owns: nothing; the memory is freed by the caller.
 * Threads: an array belongs to its caller.
 * Errors: RESULT_MEMORY; the array is as before. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/result.h"

#define ARRAY_FIRST 8u

/* How many elements an array of n has room for. */
static inline size_t array_room(size_t n)
{
    if (n <= ARRAY_FIRST) {
        return n == 0 ? 0 : ARRAY_FIRST;
    }
    return (size_t)1 << (64 - __builtin_clzll(n - 1));
}

/* Appends a copy of an element of this many bytes; place is the address of the pointer. */
static inline Result array_add(void *place, size_t *n, size_t bytes, const void *element)
{
    char *array = NULL;
    memcpy(&array, place, sizeof array);
    if (*n == 0 || (*n >= ARRAY_FIRST && (*n & (*n - 1)) == 0)) {
        char *more = reallocarray(array, array_room(*n + 1), bytes);
        if (more == NULL) {
            return RESULT_MEMORY;
        }
        array = more;
        memcpy(place, &array, sizeof array);
    }
    memcpy(array + *n * bytes, element, bytes);
    *n += 1;
    return RESULT_OK;
}

/* Room for n elements in an array that keeps its capacity; those that are new are zeros. */
static inline Result array_reserve(void *place, size_t *capacity, size_t n, size_t bytes)
{
    char *array = NULL;
    if (n <= *capacity) {
        return RESULT_OK;
    }
    size_t room = array_room(n);
    memcpy(&array, place, sizeof array);
    char *more = reallocarray(array, room, bytes);
    if (more == NULL) {
        return RESULT_MEMORY;
    }
    array = more;
    memset(array + *capacity * bytes, 0, (room - *capacity) * bytes);
    memcpy(place, &array, sizeof array);
    *capacity = room;
    return RESULT_OK;
}

/* A member of 8, 4 or 1 bytes. */
typedef struct ArrayKey {
    size_t offset;
    size_t bytes; /* 0: none */
    bool falls;   /* the greatest first */
} ArrayKey;

#define ARRAY_KEY(type, member)                                                                    \
    ((ArrayKey){offsetof(type, member), sizeof(((type *)NULL)->member), false})
#define ARRAY_FALLING(type, member)                                                                \
    ((ArrayKey){offsetof(type, member), sizeof(((type *)NULL)->member), true})
#define ARRAY_OF_NUMBERS ((ArrayKey){0, sizeof(uint64_t), false})
#define ARRAY_NO_KEY     ((ArrayKey){0, 0, false})

/* Sorts n elements by one member, and where that is the same by the other. */
void array_sort(void *array, size_t n, size_t bytes, ArrayKey by, ArrayKey then);
/* An element whose member is this number, of an array that is sorted by it, rising; NULL: none. */
void *array_find(const void *array, size_t n, size_t bytes, ArrayKey by, uint64_t number);
