#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/thread/thread.h"
#include "base/thread/wake.h"
#include "unit.h"

#define RINGERS 2u
#define EACH    50000u
#define LONG_MS 10000 /* longer than any thread is kept from running */

static bool waits(int epoll, int ms)
{
    struct epoll_event event;
    return epoll_wait(epoll, &event, 1, ms) == 0;
}

static void it_wakes_until_it_is_cleared(void)
{
    Wake wake;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(wake_init(&wake, epoll), RESULT_OK);
    CU_ASSERT_TRUE(waits(epoll, 0));
    for (int i = 0; i < 3; i++) {
        wake_ring(&wake);
        wake_ring(&wake);
        CU_ASSERT_FALSE(waits(epoll, LONG_MS));
        CU_ASSERT_FALSE(waits(epoll, LONG_MS));
        wake_clear(&wake);
        CU_ASSERT_TRUE(waits(epoll, 0));
    }
    wake_clear(&wake); /* for nothing */
    wake_ring(&wake);
    CU_ASSERT_FALSE(waits(epoll, LONG_MS));
    wake_destroy(&wake);
    wake_destroy(&wake);
    (void)close(epoll);
}

static void one_that_cannot_be_waited_for_is_none(void)
{
    Wake wake;
    CU_ASSERT_NOT_EQUAL(wake_init(&wake, -1), RESULT_OK);
    CU_ASSERT_EQUAL(wake.fd, -1);
}

typedef struct Ringers {
    Wake wake;
    atomic_uint n; /* what the waiter is woken for */
} Ringers;

static void *ring_often(void *argument)
{
    Ringers *ringers = argument;
    for (unsigned i = 0; i < EACH; i++) {
        (void)atomic_fetch_add_explicit(&ringers->n, 1, memory_order_relaxed);
        wake_ring(&ringers->wake);
    }
    return NULL;
}

static void no_ring_is_lost(void)
{
    static Ringers ringers;
    Thread threads[RINGERS];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(wake_init(&ringers.wake, epoll), RESULT_OK);
    for (unsigned i = 0; i < RINGERS; i++) {
        CU_ASSERT_EQUAL_FATAL(thread_start(&threads[i], "ringer", ring_often, &ringers), RESULT_OK);
    }
    unsigned seen = 0;
    bool lost = false;
    while (seen < RINGERS * EACH && !lost) {
        lost = waits(epoll, LONG_MS);
        wake_clear(&ringers.wake);
        seen = atomic_load_explicit(&ringers.n, memory_order_relaxed);
    }
    CU_ASSERT_FALSE(lost);
    for (unsigned i = 0; i < RINGERS; i++) {
        thread_join(&threads[i]);
    }
    wake_destroy(&ringers.wake);
    (void)close(epoll);
}

UNIT_MAIN("wake", {"it wakes until it is cleared", it_wakes_until_it_is_cleared},
          {"one that cannot be waited for is none", one_that_cannot_be_waited_for_is_none},
          {"no ring is lost", no_ring_is_lost})
