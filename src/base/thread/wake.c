#include "base/thread/wake.h"

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/memory/file.h"

Result wake_init(Wake *wake, int epoll)
{
    atomic_init(&wake->rung, false);
    wake->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = wake->fd}};
    if (wake->fd < 0 ||
        (epoll != WAKE_POLLED && epoll_ctl(epoll, EPOLL_CTL_ADD, wake->fd, &event) != 0)) {
        Result rc = result_of_errno(errno);
        wake_destroy(wake);
        return rc;
    }
    return RESULT_OK;
}

void wake_destroy(Wake *wake)
{
    file_close_fd(wake->fd);
    wake->fd = -1;
}

void wake_ring(Wake *wake)
{
    uint64_t one = 1;
    if (!atomic_exchange(&wake->rung, true)) {
        (void)!write(wake->fd, &one, sizeof one);
    }
}

void wake_clear(Wake *wake)
{
    uint64_t count = 0;
    (void)!read(wake->fd, &count, sizeof count);
    /* After the read, which would swallow a later ring; an exchange, to see what was done before
     * the ring that it undoes. */
    (void)atomic_exchange(&wake->rung, false);
}
