/* Fetcher, inside: all that one fetching thread has.
 *
 * What: the parts, and the numbers that other threads read.
 * Owns: its parts, but for what the options say is borrowed.
 * Threads: the fetching thread; atomics are read, and flags set, by any. */
#ifndef FETCH_TRANSFER_FETCHER_INSIDE_H
#define FETCH_TRANSFER_FETCHER_INSIDE_H

#include <stdatomic.h>

#include "base/thread/life.h"
#include "base/thread/queue.h"
#include "base/thread/wake.h"
#include "fetch/transfer/crowding.h"
#include "fetch/transfer/fetcher_rules.h"
#include "fetch/transfer/gate_turn.h"
#include "fetch/outage/local_trouble.h"
#include "fetch/clock/run_clock.h"
#include "fetch/connect/lanes.h"
#include "fetch/connect/socket_watch.h"
#include "fetch/transfer/transfer_pool.h"
#include "fetch/transfer/fetcher_types.h"

struct Fetcher {
    FetcherOptions options;
    atomic_size_t kept; /* connections */
    FetcherSinks sinks;
    FetcherRules rules;
    unsigned number;
    TransferShared shared;
    Lanes lanes;
    TlsContext tls;
    int epoll;
    SocketWatch sockets;
    Wake wake;
    Queue inbox;
    Life life;
    RunClock run;        /* time in which this thread ran */
    TransferClock clock; /* how long transfers may take, by it */
    LocalTrouble local;  /* what this machine could not do */
    Flights flights;     /* what is asked for */
    GateTurn turn;       /* transfers that wait for the gate */
    TransferPool pool;
    Crowding crowding;
    uint64_t n_connections;
    atomic_bool draining;
    atomic_bool aborting;
    atomic_bool stopping;
    atomic_size_t active;
    atomic_size_t n_paused;
    bool has_waiting; /* visit states wait in the inbox */
    atomic_bool held_back;
    _Atomic uint64_t requests;
    _Atomic uint64_t connections;
};

#endif
