#include "crawl/cluster/cluster_wait.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/thread/log.h"

#define TELL_MS 5000 /* so long it waits before it says so, and again */

static bool is_asked_to_stop(int signals)
{
    struct signalfd_siginfo info;
    bool asked = false;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
        asked = asked || info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM;
    }
    return asked;
}

static void cluster_wait_tell(ClusterPart *part)
{
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    cluster_part_text(part, &text);
    LOG_WARN("cluster", "waits to join", "for=\"%s\"", buffer_string(&text));
    buffer_destroy(&text);
}

Result cluster_wait(ClusterPart *part, int signals, int news, Buffer *error)
{
    MonoTime next = mono_add_ms(mono_now(), TELL_MS);
    while (cluster_part_state(part) == CLUSTER_JOINING) {
        struct pollfd fds[] = {{.fd = signals, .events = POLLIN}, {.fd = news, .events = POLLIN}};
        int64_t ms = mono_ms_between(mono_now(), next);
        (void)poll(fds, sizeof fds / sizeof *fds, ms < 0 ? 0 : (int)ms);
        uint64_t count = 0;
        (void)!read(news, &count, sizeof count);
        if (is_asked_to_stop(signals)) {
            return RESULT_CLOSED;
        }
        if (!mono_before(mono_now(), next)) {
            next = mono_add_ms(mono_now(), TELL_MS);
            cluster_wait_tell(part);
        }
    }
    if (cluster_part_state(part) != CLUSTER_JOINED) {
        cluster_part_text(part, error);
        return RESULT_LOCKED;
    }
    return RESULT_OK;
}
