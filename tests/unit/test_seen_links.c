/* Seen links: a bounded set of keys that is used again. */
#include "page/tool/seen_links.h"
#include "unit.h"

static void a_key_is_new_once(void)
{
    SeenLinks seen = {.keys = NULL};
    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t key = 0; key < 100000; key++) {
            CU_ASSERT_TRUE_FATAL(seen_links_note(&seen, key * 4096, 1000000));
        }
        /* Key 0 stands for 1 in the table. */
        CU_ASSERT_FALSE(seen_links_note(&seen, 1, 1000000));
        for (uint64_t key = 0; key < 100000; key++) {
            CU_ASSERT_FALSE_FATAL(seen_links_note(&seen, key * 4096, 1000000));
        }
        seen_links_forget(&seen);
    }
    seen_links_destroy(&seen);
}

static void pages_of_all_sizes_leave_nothing_behind(void)
{
    SeenLinks seen = {.keys = NULL};
    for (uint64_t n = 1; n < 3000; n += 97) {
        for (uint64_t key = 1; key <= n; key++) {
            CU_ASSERT_TRUE_FATAL(seen_links_note(&seen, key * 4096 + 5, 1000000));
        }
        CU_ASSERT_EQUAL(seen.count, n);
        seen_links_forget(&seen);
        for (size_t i = 0; i < seen.slots; i++) {
            CU_ASSERT_EQUAL_FATAL(seen.keys[i], 0);
        }
    }
    seen_links_destroy(&seen);
}

static void what_is_beyond_the_bound_is_new_each_time(void)
{
    SeenLinks seen = {.keys = NULL};
    for (uint64_t key = 1; key <= 5000; key++) {
        CU_ASSERT_TRUE_FATAL(seen_links_note(&seen, key, 0));
    }
    CU_ASSERT_EQUAL(seen.count, 4096);
    CU_ASSERT_FALSE(seen_links_note(&seen, 4096, 0));
    CU_ASSERT_TRUE(seen_links_note(&seen, 4097, 0));
    seen_links_forget(&seen);
    CU_ASSERT_TRUE(seen_links_note(&seen, 4096, 0));
    seen_links_destroy(&seen);
}

UNIT_MAIN("seen_links", {"a key is new once", a_key_is_new_once},
          {"pages of all sizes leave nothing behind", pages_of_all_sizes_leave_nothing_behind},
          {"what is beyond the bound is new each time", what_is_beyond_the_bound_is_new_each_time})
