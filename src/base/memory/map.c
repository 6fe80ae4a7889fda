#include "base/memory/map.h"

#include <stdlib.h>

#include "base/core/hash.h"

#define MAP_FIRST_SLOTS 16u

MapKey map_key_of(const void *bytes, size_t length)
{
    Hash128 hash = hash_128(bytes, length);
    return (MapKey){.high = hash.high, .low = hash.low};
}

void map_init(Map *map)
{
    *map = (Map){.slots = NULL, .capacity = 0, .count = 0};
}

void map_destroy(Map *map)
{
    free(map->slots);
    map_init(map);
}

static size_t map_home(const Map *map, MapKey key)
{
    uint64_t mixed = hash_mix(key.low + hash_mix(key.high + UINT64_C(0x9E3779B97F4A7C15)));
    return (size_t)mixed & (map->capacity - 1);
}

/* The slot of key, or the free slot where it would go. */
static size_t map_find(const Map *map, MapKey key)
{
    size_t i = map_home(map, key);
    while (map->slots[i].value != NULL &&
           (map->slots[i].key.low != key.low || map->slots[i].key.high != key.high)) {
        i = (i + 1) & (map->capacity - 1);
    }
    return i;
}

static Result map_resize(Map *map, size_t capacity)
{
    Map bigger = {.slots = calloc(capacity, sizeof(MapSlot)), .capacity = capacity, .count = 0};
    if (bigger.slots == NULL) {
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].value != NULL) {
            bigger.slots[map_find(&bigger, map->slots[i].key)] = map->slots[i];
        }
    }
    bigger.count = map->count;
    free(map->slots);
    *map = bigger;
    return RESULT_OK;
}

void *map_get(const Map *map, MapKey key)
{
    return map->count == 0 ? NULL : map->slots[map_find(map, key)].value;
}

void *map_get_or_new(Map *map, MapKey key, size_t bytes)
{
    void *value = map_get(map, key);
    if (value == NULL) {
        value = calloc(1, bytes);
        if (value != NULL && map_put(map, key, value) != RESULT_OK) {
            free(value);
            value = NULL;
        }
    }
    return value;
}

Result map_put(Map *map, MapKey key, void *value)
{
    if (map->count + 1 > map->capacity / 4 * 3) {
        Result rc = map_resize(map, map->capacity == 0 ? MAP_FIRST_SLOTS : map->capacity * 2);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    MapSlot *slot = &map->slots[map_find(map, key)];
    if (slot->value == NULL) {
        map->count++;
    }
    *slot = (MapSlot){.key = key, .value = value};
    return RESULT_OK;
}

void *map_remove(Map *map, MapKey key)
{
    if (map->count == 0) {
        return NULL;
    }
    size_t hole = map_find(map, key);
    void *value = map->slots[hole].value;
    if (value == NULL) {
        return NULL;
    }
    size_t mask = map->capacity - 1;
    for (size_t i = (hole + 1) & mask; map->slots[i].value != NULL; i = (i + 1) & mask) {
        size_t wants = map_home(map, map->slots[i].key);
        if (((i - wants) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole].value = NULL;
    map->count--;
    if (map->capacity > MAP_FIRST_SLOTS && map->count < map->capacity / 8) {
        (void)map_resize(map, map->capacity / 2);
    }
    return value;
}

void *map_next(const Map *map, size_t *place)
{
    while (*place < map->capacity) {
        void *value = map->slots[(*place)++].value;
        if (value != NULL) {
            return value;
        }
    }
    return NULL;
}
