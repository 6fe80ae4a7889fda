#include <stdlib.h>
#include <string.h>

#include "base/memory/map.h"
#include "dice.h"
#include "unit.h"

#define KEYS  3000u
#define STEPS 200000u

static char values[KEYS + 1];

/* Few different words, so that keys share halves. */
static MapKey key_of(size_t number)
{
    return (MapKey){.high = number % 7, .low = number / 7 * UINT64_C(0x100000000)};
}

static size_t count_by_walk(const Map *map)
{
    size_t place = 0;
    size_t n = 0;
    while (map_next(map, &place) != NULL) {
        n++;
    }
    return n;
}

static void random_work_agrees_with_a_plain_array(void)
{
    static void *model[KEYS];
    Map map;
    Dice dice = {3};
    size_t count = 0;
    map_init(&map);
    for (size_t step = 0; step < STEPS; step++) {
        /* Phases of growth and of decay. */
        bool growing = step / 20000 % 2 == 0;
        size_t number = dice_below(&dice, KEYS);
        if (dice_below(&dice, 10) < (growing ? 8u : 2u)) {
            void *value = &values[dice_below(&dice, KEYS)];
            CU_ASSERT_EQUAL(map_put(&map, key_of(number), value), RESULT_OK);
            count += model[number] == NULL;
            model[number] = value;
        } else {
            CU_ASSERT_PTR_EQUAL(map_remove(&map, key_of(number)), model[number]);
            count -= model[number] != NULL;
            model[number] = NULL;
        }
        size_t other = dice_below(&dice, KEYS);
        CU_ASSERT_PTR_EQUAL(map_get(&map, key_of(other)), model[other]);
        CU_ASSERT_EQUAL(map.count, count);
    }
    CU_ASSERT_EQUAL(count_by_walk(&map), count);
    map_destroy(&map);
}

static void memory_follows_what_it_holds(void)
{
    Map map;
    map_init(&map);
    CU_ASSERT_PTR_NULL(map_get(&map, map_key(1)));
    CU_ASSERT_PTR_NULL(map_remove(&map, map_key(1)));
    for (uint64_t i = 0; i < 100000; i++) {
        CU_ASSERT_EQUAL(map_put(&map, map_key(i), &values[0]), RESULT_OK);
    }
    CU_ASSERT_TRUE(map.capacity >= 100000 && map.capacity <= 4 * 100000);
    for (uint64_t i = 0; i < 99990; i++) {
        CU_ASSERT_PTR_EQUAL(map_remove(&map, map_key(i)), &values[0]);
    }
    CU_ASSERT_TRUE(map.capacity <= 128);
    CU_ASSERT_EQUAL(count_by_walk(&map), 10);
    for (uint64_t i = 99990; i < 100000; i++) {
        CU_ASSERT_PTR_NOT_NULL(map_get(&map, map_key(i)));
    }
    map_destroy(&map);
}

static void both_halves_of_a_key_count(void)
{
    Map map;
    map_init(&map);
    CU_ASSERT_EQUAL(map_put(&map, (MapKey){.high = 1, .low = 2}, &values[0]), RESULT_OK);
    CU_ASSERT_EQUAL(map_put(&map, (MapKey){.high = 2, .low = 1}, &values[1]), RESULT_OK);
    CU_ASSERT_PTR_NULL(map_get(&map, (MapKey){.high = 1, .low = 1}));
    CU_ASSERT_PTR_EQUAL(map_get(&map, (MapKey){.high = 1, .low = 2}), &values[0]);
    CU_ASSERT_PTR_EQUAL(map_get(&map, (MapKey){.high = 2, .low = 1}), &values[1]);
    CU_ASSERT_EQUAL(map_put(&map, (MapKey){.high = 2, .low = 1}, &values[2]), RESULT_OK);
    CU_ASSERT_PTR_EQUAL(map_get(&map, (MapKey){.high = 2, .low = 1}), &values[2]);
    CU_ASSERT_EQUAL(map.count, 2);
    map_destroy(&map);
}

UNIT_MAIN("map", {"random work agrees with a plain array", random_work_agrees_with_a_plain_array},
          {"memory follows what it holds", memory_follows_what_it_holds},
          {"both halves of a key count", both_halves_of_a_key_count})
