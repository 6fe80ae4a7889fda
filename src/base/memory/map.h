/* A hash map from 128-bit integers to pointers: host ids, page indices, IP addresses.
 *
 * What: keys are compared whole, so a hash never stands for what it hashed. Open addressing with
 * linear probing and backward-shift deletion; the table grows at 3/4 and shrinks at 1/8, so that
 * memory follows what it holds.
 * Owns: the table; the pointers are the caller's.
 * Threads: one at a time.
 * Errors: RESULT_MEMORY; the map is then as before. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct MapKey {
    uint64_t high;
    uint64_t low;
} MapKey;

typedef struct MapSlot {
    MapKey key;
    void *value; /* NULL = free */
} MapSlot;

typedef struct Map {
    MapSlot *slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;
} Map;

static inline MapKey map_key(uint64_t low)
{
    return (MapKey){.high = 0, .low = low};
}
/* The 128-bit hash of some bytes, for who takes that for the bytes themselves. */
MapKey map_key_of(const void *bytes, size_t length);

void map_init(Map *map);
void map_destroy(Map *map);
/* NULL when the key is not there. */
void *map_get(const Map *map, MapKey key);
/* What is there, or a new value of so many zeroed bytes (from malloc), which is put there. NULL
 * without memory: nothing changed. */
void *map_get_or_new(Map *map, MapKey key, size_t bytes);
/* Adds or replaces; value is not NULL. RESULT_MEMORY: nothing changed. */
Result map_put(Map *map, MapKey key, void *value);
/* Removes a key. Returns its value, or NULL when the key was not there. */
void *map_remove(Map *map, MapKey key);
/* Walks all values in no order: start with *place = 0; NULL at the end. The map may not change
 * meanwhile. */
void *map_next(const Map *map, size_t *place);
