#include "base/thread/tray.h"

#include "base/thread/thread.h"
#include "unit.h"

#define PUTTERS 3u
#define EACH    4000u

static void what_is_not_dropped_stays_in_its_place(void)
{
    Tray tray;
    uint32_t got = 0;
    bool is_alone = false;
    tray_init(&tray, sizeof got);
    CU_ASSERT_FALSE(tray_get(&tray, 0, &got));
    for (uint32_t i = 1; i <= 100; i++) {
        CU_ASSERT_EQUAL(tray_put(&tray, &i, &is_alone), RESULT_OK);
        CU_ASSERT_EQUAL(is_alone, i == 1);
    }
    for (size_t look = 0; look < 2; look++) { /* the first time it failed */
        CU_ASSERT_TRUE(tray_get(&tray, 0, &got) && got == 1);
        CU_ASSERT_TRUE(tray_get(&tray, 99, &got) && got == 100);
        CU_ASSERT_FALSE(tray_get(&tray, 100, &got));
    }
    tray_drop(&tray, 98);
    CU_ASSERT_EQUAL(tray_count(&tray), 2);
    CU_ASSERT_TRUE(tray_get(&tray, 0, &got) && got == 99);
    tray_drop(&tray, SIZE_MAX);
    CU_ASSERT_EQUAL(tray_count(&tray), 0);
    CU_ASSERT_EQUAL(tray_put(&tray, &got, &is_alone), RESULT_OK);
    CU_ASSERT_TRUE(is_alone);
    tray_destroy(&tray);
}

static void *put_all(void *argument)
{
    for (uint32_t i = 0; i < EACH; i++) {
        (void)tray_put(argument, &i, NULL); /* what is lost is missed in the sum */
    }
    return NULL;
}

/* One reads while others put; of each of them everything comes, in its order. */
static void nothing_is_lost_among_threads(void)
{
    Tray tray;
    Thread threads[PUTTERS] = {{.started = false}};
    uint64_t sum = 0;
    size_t n = 0;
    tray_init(&tray, sizeof(uint32_t));
    for (size_t i = 0; i < PUTTERS; i++) {
        CU_ASSERT_EQUAL_FATAL(thread_start(&threads[i], "putter", put_all, &tray), RESULT_OK);
    }
    while (n < PUTTERS * EACH) {
        uint32_t got = 0;
        if (tray_get(&tray, 0, &got)) {
            tray_drop(&tray, 1);
            sum += got;
            n++;
        }
    }
    for (size_t i = 0; i < PUTTERS; i++) {
        thread_join(&threads[i]);
    }
    CU_ASSERT_EQUAL(sum, PUTTERS * (uint64_t)EACH * (EACH - 1) / 2);
    CU_ASSERT_EQUAL(tray_count(&tray), 0);
    tray_destroy(&tray);
}

UNIT_MAIN("tray",
          {"what is not dropped stays in its place", what_is_not_dropped_stays_in_its_place},
          {"nothing is lost among threads", nothing_is_lost_among_threads})
