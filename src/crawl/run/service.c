#include "crawl/run/service.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/bounds.h"
#include "base/thread/log.h"

#define STATUS_MS   10000 /* how often the phrase is told without a watchdog */
#define MESSAGE     1024u
#define STOPPING_US 60000000 /* a crawl that ends has so long until it says again that it lives */

static void service_tell(Service *service, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void service_tell(Service *service, const char *format, ...)
{
    char text[MESSAGE];
    va_list arguments;
    if (service->fd < 0) {
        return;
    }
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n <= 0) {
        return;
    }
    size_t length = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    /* Without waiting: a manager that does not read must not hold the crawl up. */
    (void)!sendto(service->fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT,
                  (const struct sockaddr *)&service->address, service->address_length);
}

/* ---- open ---- */

/* False: it is no address of a Unix socket. */
static bool service_take_address(Service *service, const char *name)
{
    size_t length = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || length < 2 ||
        length >= sizeof service->address.sun_path) {
        return false;
    }
    service->address.sun_family = AF_UNIX;
    memcpy(service->address.sun_path, name, length);
    if (name[0] == '@') {
        service->address.sun_path[0] = '\0';
    }
    service->address_length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '/' ? 1 : 0));
    return true;
}

/* A whole number above 0; else 0. */
static int64_t service_number(const char *text)
{
    char *end = NULL;
    errno = 0;
    long long value = text == NULL ? 0 : strtoll(text, &end, 10);
    return text == NULL || end == text || *end != '\0' || errno != 0 || value < 0 ? 0 : value;
}

void service_open(Service *service, const char *socket_name, const char *watchdog, const char *pid)
{
    *service = (Service){.fd = -1, .next = MONO_NEVER};
    if (socket_name == NULL || *socket_name == '\0') {
        return;
    }
    if (!service_take_address(service, socket_name)) {
        LOG_WARN("service", "NOTIFY_SOCKET is not the address of a Unix socket", "value=\"%s\"",
                 socket_name);
        return;
    }
    service->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (service->fd < 0) {
        LOG_WARN("service", "the service manager cannot be notified", "error=\"%s\"",
                 strerror(errno));
        return;
    }
    if (pid == NULL || service_number(pid) == (int64_t)getpid()) {
        service->interval_ms = service_number(watchdog) / 1000;
    }
}

void service_open_environment(Service *service)
{
    service_open(service, getenv("NOTIFY_SOCKET"), getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
}

void service_close(Service *service)
{
    if (service->fd >= 0) {
        (void)close(service->fd);
        service->fd = -1;
        service->next = MONO_NEVER;
    }
}

/* ---- what is told ---- */

/* Twice in an interval, so that one that comes late does no harm. */
static int64_t period_ms(const Service *service)
{
    int64_t half = service->interval_ms / 2;
    return service->interval_ms == 0 ? STATUS_MS : bounds_int64(half, 1, STATUS_MS);
}

void service_ready(Service *service, MonoTime now)
{
    service_tell(service, "READY=1\nMAINPID=%ld", (long)getpid());
    service->ready = true;
    if (service->fd >= 0) {
        service->next = now;
    }
}

void service_reloading(Service *service, MonoTime now)
{
    service_tell(service, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)(now.ns / 1000));
}

void service_stopping(Service *service, const char *why, int64_t most_ms)
{
    service->stopping = true;
    service_tell(service, "STOPPING=1\nSTATUS=%s\nEXTEND_TIMEOUT_USEC=%lld", why,
                 (long long)most_ms * 1000);
}

/* Nothing waits, or something was written since the last time, or nothing needs to move. */
static bool is_alive(Service *service, const ServicePulse *pulse)
{
    bool alive = pulse->waiting == 0 || pulse->paused || pulse->commits != service->commits;
    service->commits = pulse->commits;
    return alive;
}

void service_tick(Service *service, const ServicePulse *pulse, const char *phrase, MonoTime now)
{
    if (service->fd < 0 || !service->ready || mono_before(now, service->next)) {
        return;
    }
    service->next = mono_add_ms(now, period_ms(service));
    if (service->stopping) {
        service_tell(service, "EXTEND_TIMEOUT_USEC=%d", STOPPING_US);
    } else if (phrase != NULL) {
        service_tell(service, "STATUS=%s", phrase);
    }
    if (is_alive(service, pulse)) {
        service_tell(service, "WATCHDOG=1");
    }
}

MonoTime service_next(const Service *service)
{
    return service->next;
}
