#include "event_loop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BATCH          256
#define IDLE_EVERY_MS  1000
#define LOOP_OF(field) ((EventLoop *)(void *)((char *)watch - offsetof(EventLoop, field)))

static int64_t ms_of(MonoTime time)
{
    return time.ns / 1000000;
}

static void drain(int fd)
{
    uint64_t count = 0;
    if (read(fd, &count, sizeof count) < 0 && errno != EAGAIN) {
        perror("web: eventfd");
    }
}

static void on_stop(EventWatch *watch, uint32_t events)
{
    if ((events & EPOLLIN) != 0) {
        LOOP_OF(stop)->stopping = true;
    }
}

static void on_poke(EventWatch *watch, uint32_t events)
{
    if ((events & EPOLLIN) != 0) {
        drain(watch->fd);
        LOOP_OF(poke)->poked = true;
    }
}

Result event_loop_init(EventLoop *loop, EventIdle *idle, void *idle_context)
{
    memset(loop, 0, sizeof *loop);
    for (size_t i = 0; i < EVENT_SLOTS; i++) {
        loop->slots[i].next = loop->slots[i].previous = &loop->slots[i];
    }
    loop->idle = idle;
    loop->idle_context = idle_context;
    loop->tick_ms = ms_of(mono_now());
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->stop = (EventWatch){eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), on_stop};
    loop->poke = (EventWatch){eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), on_poke};
    if (loop->epoll < 0 || loop->stop.fd < 0 || loop->poke.fd < 0 ||
        event_loop_watch(loop, &loop->stop) != RESULT_OK ||
        event_loop_watch(loop, &loop->poke) != RESULT_OK) {
        event_loop_destroy(loop);
        return RESULT_IO;
    }
    return RESULT_OK;
}

void event_loop_destroy(EventLoop *loop)
{
    int fds[] = {loop->epoll, loop->stop.fd, loop->poke.fd};
    for (size_t i = 0; i < 3; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

static void add_one(int fd)
{
    uint64_t one = 1;
    if (write(fd, &one, sizeof one) < 0) {
        perror("web: eventfd");
    }
}

void event_loop_stop(EventLoop *loop)
{
    add_one(loop->stop.fd);
}

void event_loop_poke(EventLoop *loop)
{
    add_one(loop->poke.fd);
}

Result event_loop_watch(EventLoop *loop, EventWatch *watch)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = watch};
    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, watch->fd, &event) == 0 ? RESULT_OK : RESULT_IO;
}

void event_loop_set(EventLoop *loop, EventTimer *timer, MonoTime due)
{
    event_loop_clear(loop, timer);
    int64_t ms = ms_of(due) + 1; /* rounded up: never early */
    ms = ms > loop->tick_ms ? ms : loop->tick_ms + 1;
    timer->due = (MonoTime){ms * 1000000};
    EventTimer *slot = &loop->slots[ms % EVENT_SLOTS];
    timer->next = slot;
    timer->previous = slot->previous;
    slot->previous->next = timer;
    slot->previous = timer;
    loop->n_timers++;
}

void event_loop_clear(EventLoop *loop, EventTimer *timer)
{
    if (timer->next != NULL) {
        timer->next->previous = timer->previous;
        timer->previous->next = timer->next;
        timer->next = timer->previous = NULL;
        loop->n_timers--;
    }
}

/* Calls the timers of one millisecond's slot; those of a later turn of the wheel stay. */
static void run_slot(EventLoop *loop, int64_t ms)
{
    EventTimer *slot = &loop->slots[ms % EVENT_SLOTS];
    EventTimer *timer = slot->next;
    while (timer != slot) {
        EventTimer *next = timer->next;
        if (ms_of(timer->due) <= ms) {
            event_loop_clear(loop, timer);
            timer->expired(timer); /* may set itself again: later, so in another slot or turn */
        }
        timer = next;
    }
}

static void run_timers(EventLoop *loop, MonoTime now)
{
    int64_t now_ms = ms_of(now);
    if (loop->n_timers == 0) {
        loop->tick_ms = now_ms;
    }
    while (loop->tick_ms < now_ms) {
        loop->tick_ms++;
        run_slot(loop, loop->tick_ms);
    }
    if (loop->poked || now.ns >= loop->next_idle.ns) {
        loop->next_idle = mono_add_ms(now, IDLE_EVERY_MS);
        loop->idle(loop->idle_context, loop->poked);
        loop->poked = false;
    }
}

void event_loop_run(EventLoop *loop)
{
    struct epoll_event events[BATCH];
    while (!loop->stopping) {
        /* With timers set, a tick is a millisecond: a test server may wake that often. */
        int timeout = loop->n_timers > 0 ? 1 : IDLE_EVERY_MS;
        int n = epoll_wait(loop->epoll, events, BATCH, timeout);
        for (int i = 0; i < n; i++) {
            EventWatch *watch = events[i].data.ptr;
            watch->ready(watch, events[i].events);
        }
        run_timers(loop, mono_now());
    }
}
