/* Lanes: the transfers of one fetching thread in several curl multi handles, by host.
 *
 * What: libcurl walks over all connections that a multi handle keeps whenever a transfer is taken
 * out of it (curl_multi_remove_handle, 7.88), in use or idle. With thousands of idle ones that
 * costs more than the transfer. A lane is a multi handle that keeps LANES_CONNECTIONS of them (with
 * half as many a crawl of new hosts alone costs 4 % less, and the handles take 6 MB more); a host
 * always has the same lane, so that its connections are found again. All lanes share one
 * epoll.
 *
 *   lanes_begin --> [libcurl] --(socket, timer callbacks)--> epoll, lanes_time
 *   epoll, time --> lanes_event, lanes_run_timers --> [libcurl] --> lanes_ended --> lanes_take_out
 *
 * Owns: the multi handles; easy handles stay the caller's.
 * Threads: one fetching thread. */
#pragma once

#include <curl/curl.h>

#include "base/core/clock.h"
#include "fetch/connect/socket_watch.h"

#define LANES_CONNECTIONS 64u
#define LANES_MOST        64u

typedef struct Lanes Lanes;

typedef struct Lane {
    Lanes *lanes;
    CURLM *multi;
    uint8_t number;
    bool is_touched; /* transfers of it may have ended */
    struct Lane *next_touched;
} Lane;

struct Lanes {
    SocketWatch *sockets; /* borrowed; knows which lane each belongs to */
    size_t kept;          /* connections */
    unsigned n;
    Lane *first_touched; /* in this order they are asked for ended transfers */
    Lane *last_touched;
    MonoTime due[LANES_MOST]; /* when libcurl wants to be called without an event; MONO_NEVER */
    Lane lane[LANES_MOST];
};

/* kept_connections: open at most after their use, of all lanes together, as many in each, rounded
 * up. RESULT_MEMORY; to be destroyed all the same. */
Result lanes_init(Lanes *lanes, SocketWatch *sockets, size_t kept_connections);
/* How many are kept from now on; what is open stays until it has been used again. */
void lanes_keep(Lanes *lanes, size_t kept_connections);
/* Closes all connections; without memory for it some stay. No transfer is in any lane. */
void lanes_close_all(Lanes *lanes);
/* No transfer is in any lane. */
void lanes_destroy(Lanes *lanes);

Lane *lanes_of(Lanes *lanes, uint64_t host);
/* RESULT_MEMORY: it is not in the lane. Where none is kept, its connection is closed behind it. */
Result lanes_begin(Lane *lane, CURL *easy);
/* Ends a transfer that goes on, or takes one that has ended out of the lane. */
void lanes_take_out(Lane *lane, CURL *easy);
/* Says that transfers of this lane may have ended without an event of libcurl. */
void lanes_touch(Lane *lane);

/* Tells libcurl about an event of a socket (EPOLLIN ...). */
void lanes_event(Lanes *lanes, int fd, uint32_t events);
/* When lanes_run_timers has something to do. */
MonoTime lanes_time(const Lanes *lanes);
void lanes_run_timers(Lanes *lanes, MonoTime now);
/* A transfer that has ended, and its code; NULL when there are no more. Take it out of its lane
 * before the next call. */
CURL *lanes_ended(Lanes *lanes, CURLcode *code);
