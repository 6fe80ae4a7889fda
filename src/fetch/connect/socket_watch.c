#include "fetch/connect/socket_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/memory/array.h"

void socket_watch_init(SocketWatch *watch, int epoll)
{
    *watch = (SocketWatch){.epoll = epoll, .states = NULL};
}

void socket_watch_destroy(SocketWatch *watch)
{
    free(watch->states);
    socket_watch_init(watch, -1);
}

/* NULL: there is no memory to know it. */
static SocketState *socket_watch_state_of(SocketWatch *watch, int fd)
{
    size_t place = (size_t)fd;
    Result rc = array_reserve(&watch->states, &watch->n, place + 1, sizeof *watch->states);
    return rc == RESULT_OK ? &watch->states[place] : NULL;
}

static bool put_in(const SocketWatch *watch, int fd, uint32_t events, bool known)
{
    struct epoll_event event = {.events = events, .data = {.fd = fd}};
    return epoll_ctl(watch->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0 ||
           (!known && errno == EEXIST && epoll_ctl(watch->epoll, EPOLL_CTL_MOD, fd, &event) == 0);
}

static void socket_watch_take_out(const SocketWatch *watch, int fd)
{
    (void)epoll_ctl(watch->epoll, EPOLL_CTL_DEL, fd, NULL);
}

void socket_watch_opened(SocketWatch *watch, int fd)
{
    if ((size_t)fd < watch->n) {
        watch->states[fd] = (SocketState){.wanted = 0, .registered = 0};
    }
}

void socket_watch_closed(SocketWatch *watch, int fd)
{
    socket_watch_opened(watch, fd);
}

static void socket_watch_want_one(const SocketWatch *watch, int fd, SocketState *state,
                                  uint32_t events)
{
    state->wanted = (uint8_t)events;
    if (events == 0 && (state->registered & EPOLLOUT) == 0) {
        return; /* it may be read from again */
    }
    if (events == 0) { /* could always be written to: epoll would tell at once */
        socket_watch_take_out(watch, fd);
        state->registered = 0;
    } else if (events != state->registered) {
        bool known = state->registered != 0;
        state->registered = put_in(watch, fd, events, known) ? (uint8_t)events : 0;
    }
}

void socket_watch_want(SocketWatch *watch, int fd, uint32_t events)
{
    SocketState *state = socket_watch_state_of(watch, fd);
    if (state != NULL) {
        socket_watch_want_one(watch, fd, state, events);
    } else if (events == 0) {
        socket_watch_take_out(watch, fd);
    } else {
        (void)put_in(watch, fd, events, false);
    }
}

void socket_watch_set_owner(SocketWatch *watch, int fd, uint8_t owner)
{
    SocketState *state = socket_watch_state_of(watch, fd);
    if (state != NULL) {
        state->owner = owner;
    }
}

uint8_t socket_watch_owner(const SocketWatch *watch, int fd)
{
    return (size_t)fd < watch->n ? watch->states[fd].owner : 0;
}

bool socket_watch_wants(SocketWatch *watch, int fd)
{
    SocketState *state = (size_t)fd < watch->n ? &watch->states[fd] : NULL;
    if (state == NULL || state->wanted != 0) {
        return true;
    }
    if (state->registered != 0) {
        socket_watch_take_out(watch, fd);
        state->registered = 0;
    }
    return false;
}
