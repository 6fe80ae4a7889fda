#include <stdint.h>

#include "base/memory/array.h"
#include "unit.h"

static void elements_keep_their_order_and_values(void)
{
    uint64_t *items = NULL;
    size_t n = 0;
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t value = i * i;
        CU_ASSERT_EQUAL_FATAL(array_add(&items, &n, sizeof value, &value), RESULT_OK);
        CU_ASSERT_EQUAL(n, i + 1);
    }
    for (uint64_t i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(items[i], i * i);
    }
    free(items);
}

/* Under a sanitizer a place that is too small is a fault. */
static void an_array_that_shrinks_may_grow_again(void)
{
    char *items = NULL;
    size_t n = 0;
    for (unsigned step = 0; step < 2000; step++) {
        char c = (char)('a' + step % 26);
        CU_ASSERT_EQUAL_FATAL(array_add(&items, &n, sizeof c, &c), RESULT_OK);
        CU_ASSERT_EQUAL(items[n - 1], c);
        CU_ASSERT_TRUE(array_room(n) >= n);
        n = step % 97 == 0 ? n / 3 : n;
    }
    free(items);
}

static void the_room_follows_from_the_number(void)
{
    static const size_t rooms[][2] = {{0, 0}, {1, 8}, {8, 8}, {9, 16}, {1000, 1024}, {1024, 1024}};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        CU_ASSERT_EQUAL(array_room(rooms[i][0]), rooms[i][1]);
    }
}

UNIT_MAIN("array", {"elements keep their order and values", elements_keep_their_order_and_values},
          {"an array that shrinks may grow again", an_array_that_shrinks_may_grow_again},
          {"the room follows from the number", the_room_follows_from_the_number})
