/* A Timekeeper for tests. Its time stands still until the test lets it pass, and the test knows
 * when the thread that goes by it has done all that it could do until then.
 *
 *   FakeTime time;
 *   fake_time_init(&time);
 *   ... give &time.keeper to the module, start its thread ...
 *   fake_time_pass(&time, 100);    the thread has got to where it waits for more than 100 ms
 *
 * For one thread that waits. The module must not be waiting for the test otherwise, for instance
 * for a transaction that the test has begun. */
#ifndef TESTS_UNIT_FAKE_TIME_H
#define TESTS_UNIT_FAKE_TIME_H

#include <stdatomic.h>

#include "base/thread/timekeeper.h"
#include "unit.h"

#define FAKE_TIME_PATIENCE_MS                                                                      \
    120000 /* for a thread that should come to wait, on a busy machine                             \
            */

typedef struct FakeTime {
    Timekeeper keeper; /* the first field */
    atomic_int_least64_t ns;
    Mutex mutex; /* guards the rest */
    Condition parked;
    uint64_t n_parked; /* how often the thread has begun to wait */
    Condition *waits_for;
    Mutex *holds; /* the mutex of that wait */
} FakeTime;

static inline MonoTime fake_time_now(const Timekeeper *keeper)
{
    return (MonoTime){atomic_load(&((const FakeTime *)keeper)->ns)};
}

static inline bool fake_time_wait_until(const Timekeeper *keeper, Condition *condition,
                                        Mutex *mutex, MonoTime deadline)
{
    FakeTime *time = (FakeTime *)(uintptr_t)keeper;
    if (!mono_before(fake_time_now(keeper), deadline)) {
        return false;
    }
    mutex_lock(&time->mutex);
    time->n_parked++;
    time->waits_for = condition;
    time->holds = mutex;
    condition_broadcast(&time->parked);
    mutex_unlock(&time->mutex);
    condition_wait(condition, mutex);
    return mono_before(fake_time_now(keeper), deadline);
}

static inline void fake_time_init(FakeTime *time)
{
    *time = (FakeTime){.keeper = {.now = fake_time_now, .wait_until = fake_time_wait_until},
                       .ns = 1000000000};
    mutex_init(&time->mutex, RANK_LOG);
    condition_init(&time->parked);
}

static inline void fake_time_destroy(FakeTime *time)
{
    mutex_destroy(&time->mutex);
    condition_destroy(&time->parked);
}

/* Wakes the thread if it waits: it looks at the time and at its predicate. Returns how often it had
 * begun to wait before. */
static inline uint64_t fake_time_wake(FakeTime *time)
{
    mutex_lock(&time->mutex);
    uint64_t n_parked = time->n_parked;
    Condition *condition = time->waits_for;
    Mutex *mutex = time->holds;
    mutex_unlock(&time->mutex);
    if (condition != NULL) {
        mutex_lock(mutex);
        condition_broadcast(condition);
        mutex_unlock(mutex);
    }
    return n_parked;
}

/* Time passes while somebody works: a call that takes so long, on whichever thread. */
static inline void fake_time_add(FakeTime *time, int64_t ns)
{
    atomic_fetch_add(&time->ns, ns);
    (void)fake_time_wake(time);
}

/* Waits until the thread has done all that it can do at this time, and waits. */
static inline void fake_time_settle(FakeTime *time)
{
    MonoTime deadline = mono_add_ms(mono_now(), FAKE_TIME_PATIENCE_MS);
    bool in_time = true;
    uint64_t n_parked = fake_time_wake(time);
    mutex_lock(&time->mutex);
    while (time->n_parked == n_parked && in_time) {
        in_time = condition_wait_until(&time->parked, &time->mutex, deadline);
    }
    mutex_unlock(&time->mutex);
    CU_ASSERT_FATAL(in_time);
}

static inline void fake_time_pass(FakeTime *time, int64_t ms)
{
    fake_time_settle(time);
    fake_time_add(time, ms * 1000000);
    fake_time_settle(time);
}

#endif
