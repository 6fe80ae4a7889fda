/* What a service manager hears of a crawl, and what it does not. */
#include "crawl/run/service.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#define NAME "@ragno-test-service"

static const ServicePulse calm = {.commits = 1};

/* The manager's end; name gets what NOTIFY_SOCKET would be. */
static int listen_as_manager(char name[64])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(name, 64, NAME "-%ld", (long)getpid());
    size_t length = strlen(name);
    memcpy(address.sun_path, name, length);
    address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&address,
                               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)),
                          0);
    return fd;
}

/* The next message, or "" when there is none. */
static const char *heard(int fd)
{
    static char text[2048];
    ssize_t n = recv(fd, text, sizeof text - 1, 0);
    text[n < 0 ? 0 : n] = '\0';
    return text;
}

static bool hears(int fd, const char *part)
{
    return strstr(heard(fd), part) != NULL;
}

static MonoTime at(int64_t ms)
{
    return (MonoTime){ms * 1000000};
}

static void without_a_manager_nothing_is_due(void)
{
    Service service;
    service_open(&service, NULL, "1000000", NULL);
    service_ready(&service, at(0));
    CU_ASSERT_EQUAL(service_next(&service).ns, MONO_NEVER.ns);
    service_tick(&service, &calm, "x", at(1));
    service_close(&service);
    service_open(&service, "relative/path", NULL, NULL);
    CU_ASSERT_EQUAL(service.fd, -1);
    char long_name[300] = "/";
    memset(long_name + 1, 'a', sizeof long_name - 2);
    service_open(&service, long_name, NULL, NULL);
    CU_ASSERT_EQUAL(service.fd, -1);
}

static void it_tells_ready_reloading_stopping(void)
{
    char name[64];
    int manager = listen_as_manager(name);
    Service service;
    service_open(&service, name, NULL, NULL);
    service_ready(&service, at(0));
    CU_ASSERT_TRUE(hears(manager, "READY=1\nMAINPID="));
    service_reloading(&service, at(7));
    CU_ASSERT_STRING_EQUAL(heard(manager), "RELOADING=1\nMONOTONIC_USEC=7000");
    service_ready(&service, at(8));
    CU_ASSERT_TRUE(hears(manager, "READY=1"));
    service_tick(&service, &calm, "running 1s", at(8));
    CU_ASSERT_STRING_EQUAL(heard(manager), "STATUS=running 1s");
    (void)heard(manager);
    service_stopping(&service, "finished", 2000);
    CU_ASSERT_STRING_EQUAL(heard(manager),
                           "STOPPING=1\nSTATUS=finished\nEXTEND_TIMEOUT_USEC=2000000");
    service_tick(&service, &calm, "running 9s", at(90000));
    CU_ASSERT_TRUE(hears(manager, "EXTEND_TIMEOUT_USEC="));
    service_close(&service);
    (void)close(manager);
}

static void the_watchdog_is_fed_twice_in_its_interval(void)
{
    char name[64];
    int manager = listen_as_manager(name);
    Service service;
    service_open(&service, name, "4000000", NULL);
    service_ready(&service, at(0));
    (void)heard(manager);
    service_tick(&service, &calm, NULL, at(0));
    CU_ASSERT_STRING_EQUAL(heard(manager), "WATCHDOG=1");
    CU_ASSERT_EQUAL(service_next(&service).ns, at(2000).ns);
    service_tick(&service, &calm, NULL, at(1999));
    CU_ASSERT_STRING_EQUAL(heard(manager), "");
    service_tick(&service, &calm, NULL, at(2000));
    CU_ASSERT_STRING_EQUAL(heard(manager), "WATCHDOG=1");
    service_close(&service);
    (void)close(manager);
}

static void a_writer_that_stands_still_starves_it(void)
{
    char name[64];
    int manager = listen_as_manager(name);
    Service service;
    ServicePulse pulse = {.commits = 5, .waiting = 3};
    service_open(&service, name, "4000000", NULL);
    service_ready(&service, at(0));
    (void)heard(manager);
    service_tick(&service, &pulse, NULL, at(0));
    CU_ASSERT_STRING_EQUAL(heard(manager), "WATCHDOG=1"); /* the first look */
    service_tick(&service, &pulse, NULL, at(2000));
    CU_ASSERT_STRING_EQUAL(heard(manager), ""); /* results wait, none was written */
    pulse.paused = true;
    service_tick(&service, &pulse, NULL, at(4000));
    CU_ASSERT_STRING_EQUAL(heard(manager), "WATCHDOG=1");
    pulse.paused = false;
    pulse.commits = 6;
    service_tick(&service, &pulse, NULL, at(6000));
    CU_ASSERT_STRING_EQUAL(heard(manager), "WATCHDOG=1");
    pulse.waiting = 0;
    service_tick(&service, &pulse, NULL, at(8000));
    CU_ASSERT_STRING_EQUAL(heard(manager), "WATCHDOG=1");
    service_close(&service);
    (void)close(manager);
}

static void the_watchdog_of_another_process_is_not_ours(void)
{
    char name[64];
    int manager = listen_as_manager(name);
    Service service;
    service_open(&service, name, "4000000", "1");
    CU_ASSERT_EQUAL(service.interval_ms, 0);
    service_close(&service);
    service_open(&service, name, "nonsense", NULL);
    CU_ASSERT_EQUAL(service.interval_ms, 0);
    service_close(&service);
    (void)close(manager);
}

static void a_manager_that_does_not_listen_costs_nothing(void)
{
    Service service;
    service_open(&service, "/nonexistent/notify", "4000000", NULL);
    service_ready(&service, at(0));
    service_tick(&service, &calm, "x", at(1));
    service_stopping(&service, "finished", 1);
    service_close(&service);
    service_close(&service);
    CU_ASSERT_EQUAL(service_next(&service).ns, MONO_NEVER.ns);
}

UNIT_MAIN("service", {"without a manager nothing is due", without_a_manager_nothing_is_due},
          {"it tells ready, reloading, stopping", it_tells_ready_reloading_stopping},
          {"the watchdog is fed twice in its interval", the_watchdog_is_fed_twice_in_its_interval},
          {"a writer that stands still starves it", a_writer_that_stands_still_starves_it},
          {"the watchdog of another process is not ours",
           the_watchdog_of_another_process_is_not_ours},
          {"a manager that does not listen costs nothing",
           a_manager_that_does_not_listen_costs_nothing})
