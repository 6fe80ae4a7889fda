/* One thread's epoll loop with timers.
 *
 * A watch is a descriptor and what to call when it is ready (edge-triggered, both directions); a
 * timer calls once, not before its time, with a resolution of a millisecond. Both are embedded in
 * their owner. Callbacks may close and free their own owner, nobody else's. Timers live in a wheel:
 * setting and clearing one is O(1). One thread, except event_loop_stop. */
#ifndef TESTS_WEB_EVENT_LOOP_H
#define TESTS_WEB_EVENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/clock.h"
#include "base/core/result.h"

typedef struct EventWatch EventWatch;
typedef struct EventTimer EventTimer;
typedef void EventIdle(void *context, bool poked);

struct EventWatch {
    int fd;
    void (*ready)(EventWatch *watch, uint32_t events); /* EPOLLIN ... */
};

struct EventTimer {
    EventTimer *next; /* ring of its slot; NULL when not set */
    EventTimer *previous;
    MonoTime due;
    void (*expired)(EventTimer *timer);
};

#define EVENT_SLOTS 4096 /* milliseconds of one turn of the wheel */

typedef struct EventLoop {
    int epoll;
    EventWatch stop; /* an eventfd */
    EventWatch poke; /* an eventfd: asks for an idle call now */
    bool stopping;
    int64_t tick_ms;               /* all timers due before it have been called */
    uint64_t n_timers;             /* set now */
    EventTimer slots[EVENT_SLOTS]; /* ring heads */
    bool poked;
    EventIdle *idle; /* about once a second, and when poked */
    void *idle_context;
    MonoTime next_idle;
} EventLoop;

Result event_loop_init(EventLoop *loop, EventIdle *idle, void *idle_context);
void event_loop_destroy(EventLoop *loop);
/* Until event_loop_stop. */
void event_loop_run(EventLoop *loop);
/* Any thread. */
void event_loop_stop(EventLoop *loop);
void event_loop_poke(EventLoop *loop);

Result event_loop_watch(EventLoop *loop, EventWatch *watch);
void event_loop_set(EventLoop *loop, EventTimer *timer, MonoTime due);
void event_loop_clear(EventLoop *loop, EventTimer *timer);

#endif
