#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memory/arena.h"
#include "dice.h"
#include "unit.h"

#define PIECES 2000u

static void pieces_are_aligned_and_do_not_overlap(void)
{
    static unsigned char *pieces[PIECES];
    static size_t sizes[PIECES];
    Arena arena;
    Dice dice = {4};
    arena_init(&arena, 1000, (size_t)1 << 30);
    for (size_t i = 0; i < PIECES; i++) {
        sizes[i] = dice_below(&dice, dice_below(&dice, 20) == 0 ? 5000 : 100) + 1;
        bool aligned = dice_below(&dice, 2) == 0;
        pieces[i] = aligned ? arena_alloc(&arena, sizes[i])
                            : (unsigned char *)arena_alloc_bytes(&arena, sizes[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(pieces[i]);
        CU_ASSERT_TRUE(!aligned || (uintptr_t)pieces[i] % alignof(max_align_t) == 0);
        memset(pieces[i], (int)(i & 0xff), sizes[i]);
    }
    size_t wrong = 0;
    for (size_t i = 0; i < PIECES; i++) {
        for (size_t j = 0; j < sizes[i]; j++) {
            wrong += pieces[i][j] != (i & 0xff);
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    arena_destroy(&arena);
}

static void the_limit_counts_what_was_handed_out(void)
{
    Arena arena;
    arena_init(&arena, 256, 1000);
    CU_ASSERT_PTR_NOT_NULL(arena_alloc(&arena, 600));
    CU_ASSERT_PTR_NULL(arena_alloc(&arena, 401));
    CU_ASSERT_PTR_NULL(arena_alloc(&arena, SIZE_MAX));
    CU_ASSERT_PTR_NULL(arena_copy(&arena, "", SIZE_MAX));
    CU_ASSERT_PTR_NOT_NULL(arena_alloc(&arena, 400));
    CU_ASSERT_PTR_NULL(arena_alloc_bytes(&arena, 1));
    arena_reset(&arena);
    CU_ASSERT_PTR_NOT_NULL(arena_alloc(&arena, 1000));
    arena_destroy(&arena);
}

static void a_steady_flow_allocates_nothing(void)
{
    Arena arena;
    arena_init(&arena, 4096, 100000);
    const char *first = arena_alloc(&arena, 100);
    CU_ASSERT_PTR_NOT_NULL(arena_alloc(&arena, 50000)); /* blocks beyond the first are given back */
    arena_reset(&arena);
    CU_ASSERT_PTR_EQUAL(arena_alloc(&arena, 100), first);
    arena_destroy(&arena);
    arena_destroy(&arena);
}

static void copies_are_strings(void)
{
    Arena arena;
    arena_init(&arena, 256, 1000);
    const char *copy = arena_copy(&arena, "abcdef", 3);
    CU_ASSERT_STRING_EQUAL(copy, "abc");
    CU_ASSERT_STRING_EQUAL(arena_copy(&arena, "", 0), "");
    arena_destroy(&arena);
}

UNIT_MAIN("arena", {"pieces are aligned and do not overlap", pieces_are_aligned_and_do_not_overlap},
          {"the limit counts what was handed out", the_limit_counts_what_was_handed_out},
          {"a steady flow allocates nothing", a_steady_flow_allocates_nothing},
          {"copies are strings", copies_are_strings})
