/* Service: tells the service manager (systemd) how the crawl is: ready, reloading, stopping, alive.
 *
 *   opening --ready--> running --(each half interval: alive)--> running --stopping--> stopping
 *
 * What: the protocol of sd_notify(3): datagrams of VARIABLE=VALUE lines to the Unix socket that the
 * environment names in NOTIFY_SOCKET. Without one every call does nothing. The watchdog is fed
 * while the crawl gets on: results that wait and are not written, although nothing pauses the
 * crawl, are no life.
 * Owns: one socket.
 * Threads: main. Time is a parameter.
 * Errors: a manager that does not listen changes nothing for the crawl. */
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include "base/core/clock.h"

/* What tells that the writing thread gets on. */
typedef struct ServicePulse {
    uint64_t commits; /* so far */
    size_t waiting;   /* results that nobody has written */
    bool paused;      /* by the operator, or since the disk is full: nothing needs to move */
} ServicePulse;

typedef struct Service {
    int fd; /* -1: there is no manager */
    struct sockaddr_un address;
    socklen_t address_length;
    int64_t interval_ms; /* of the watchdog; 0 = the manager has none */
    bool ready;
    bool stopping;
    MonoTime next; /* when it wants to be called again */
    uint64_t commits;
} Service;

/* socket: NOTIFY_SOCKET, or NULL; a name that begins with @ is in the abstract namespace. watchdog
 * is WATCHDOG_USEC, pid is WATCHDOG_PID, or NULL each. */
void service_open(Service *service, const char *socket, const char *watchdog, const char *pid);
/* The same with what the environment says. */
void service_open_environment(Service *service);
void service_close(Service *service);

/* The crawl runs, or runs again with its new configuration. */
void service_ready(Service *service, MonoTime now);
/* The configuration is being read anew; service_ready follows. */
void service_reloading(Service *service, MonoTime now);
/* The crawl ends; why is one sentence. most_ms: how long the manager waits at least for the end;
 * each service_tick adds to it. */
void service_stopping(Service *service, const char *why, int64_t most_ms);
/* Feeds the watchdog when it is due and the crawl is alive. phrase: what `systemctl status` shows,
 * one line, or NULL. */
void service_tick(Service *service, const ServicePulse *pulse, const char *phrase, MonoTime now);
/* When service_tick wants to be called; MONO_NEVER without a manager. */
MonoTime service_next(const Service *service);
