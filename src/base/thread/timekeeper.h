/* The time as a part of a program sees it: what it is, and how a thread waits for it to come.
 *
 * What: a module whose threads wait for a time takes a Timekeeper. The program gives it the
 * system's; a test gives it one whose time passes only when the test says so, so that the test
 * neither waits for a clock nor depends on how busy the machine is (tests/unit/fake_time.h).
 * Threads: any; a Timekeeper is not changed while it is in use. */
#ifndef BASE_THREAD_TIMEKEEPER_H
#define BASE_THREAD_TIMEKEEPER_H

#include "base/thread/mutex.h"

typedef struct Timekeeper Timekeeper;
struct Timekeeper {
    MonoTime (*now)(const Timekeeper *time);
    /* As condition_wait_until: the caller holds the mutex and checks its predicate in a loop.
     * False: the deadline has passed. */
    bool (*wait_until)(const Timekeeper *time, Condition *condition, Mutex *mutex,
                       MonoTime deadline);
};

/* The monotonic clock. */
extern const Timekeeper timekeeper_system;

static inline MonoTime timekeeper_now(const Timekeeper *time)
{
    return time->now(time);
}

static inline bool timekeeper_wait_until(const Timekeeper *time, Condition *condition, Mutex *mutex,
                                         MonoTime deadline)
{
    return time->wait_until(time, condition, mutex, deadline);
}

#endif
