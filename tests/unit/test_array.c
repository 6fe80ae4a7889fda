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

typedef struct Thing {
    char name;
    uint64_t wide;
    uint32_t narrow;
    bool flag;
} Thing;

/* The names in order. */
static void names_of(const Thing *things, size_t n, char *names)
{
    for (size_t i = 0; i < n; i++) {
        names[i] = things[i].name;
    }
    names[n] = '\0';
}

static void elements_are_sorted_by_one_member_and_then_another(void)
{
    char names[8];
    Thing things[] = {{'a', UINT64_MAX, 2, false},
                      {'b', 1, 7, true},
                      {'c', UINT64_C(1) << 40, 2, true},
                      {'d', 1, 0, false}};
    array_sort(things, 4, sizeof *things, ARRAY_KEY(Thing, wide), ARRAY_KEY(Thing, narrow));
    names_of(things, 4, names);
    CU_ASSERT_STRING_EQUAL(names, "dbca");
    array_sort(things, 4, sizeof *things, ARRAY_FALLING(Thing, flag), ARRAY_KEY(Thing, wide));
    names_of(things, 4, names);
    CU_ASSERT_STRING_EQUAL(names, "bcda");
    array_sort(things, 4, sizeof *things, ARRAY_FALLING(Thing, narrow), ARRAY_FALLING(Thing, wide));
    names_of(things, 4, names);
    CU_ASSERT_STRING_EQUAL(names, "bacd");
    array_sort(NULL, 0, sizeof *things, ARRAY_KEY(Thing, wide), ARRAY_NO_KEY);
}

static void every_element_of_a_sorted_array_is_found_and_no_other(void)
{
    Thing things[100];
    for (size_t i = 0; i < 100; i++) {
        things[i] = (Thing){.narrow = (uint32_t)(2 * i + 1)};
    }
    for (uint32_t number = 0; number <= 202; number++) {
        const Thing *found =
            array_find(things, 100, sizeof *things, ARRAY_KEY(Thing, narrow), number);
        bool is_there = number % 2 == 1 && number < 200;
        CU_ASSERT_PTR_EQUAL(found, is_there ? &things[number / 2] : NULL);
    }
    CU_ASSERT_PTR_NULL(array_find(NULL, 0, sizeof *things, ARRAY_KEY(Thing, narrow), 1));
}

UNIT_MAIN("array", {"elements keep their order and values", elements_keep_their_order_and_values},
          {"an array that shrinks may grow again", an_array_that_shrinks_may_grow_again},
          {"the room follows from the number", the_room_follows_from_the_number},
          {"elements are sorted by one member and then another",
           elements_are_sorted_by_one_member_and_then_another},
          {"every element of a sorted array is found and no other",
           every_element_of_a_sorted_array_is_found_and_no_other})
