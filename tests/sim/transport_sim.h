/* A network of agents and a server with a key-value bucket, in virtual time: messages are lost,
 * repeated, late and out of order; agents are cut off, or stand still; the server is away, forgets,
 * and answers out of date. */
#ifndef TESTS_SIM_TRANSPORT_SIM_H
#define TESTS_SIM_TRANSPORT_SIM_H

#include "../unit/dice.h"
#include "base/core/clock.h"
#include "base/memory/heap.h"
#include "base/memory/map.h"
#include "cluster/transport/transport.h"

#define SIM_NET_AGENTS 1016u
#define SIM_NET_KEYS   (2 * SIM_NET_AGENTS + 16u)

typedef struct SimNet SimNet;

/* One process of an agent. */
typedef struct SimPort {
    SimNet *net;
    uint16_t agent;
    uint64_t life; /* of the process; answers to a former one are lost */
    bool alive;
    bool up; /* it believes */
    MonoTime up_since;
    MonoTime cut_until;
    MonoTime still_until; /* what is for it waits */
    bool listens;
    uint16_t number; /* in the subjects that it listens to */
    Transport transport;
    TransportSink sink;
} SimPort;

typedef struct SimValue {
    char key[32];
    char *bytes;
    size_t length;
    uint64_t revision;
    char *before_bytes; /* the value before this one */
    size_t before_length;
    uint64_t before_revision;
    MonoTime replaced;
} SimValue;

struct SimNet {
    MonoTime now;
    Dice dice;
    unsigned lost;       /* of a thousand messages; as many are repeated, as many late */
    MonoTime down_until; /* the server */
    int64_t stale_ms;    /* a look may show what was there so long ago; 0: never */
    Heap events;
    uint64_t ties;
    uint64_t messages;
    uint64_t bytes; /* of them */
    SimPort ports[SIM_NET_AGENTS];
    uint16_t n_ports;                   /* those behind have never been opened */
    SimPort *listeners[SIM_NET_AGENTS]; /* by number: who listened last */
    SimValue values[SIM_NET_KEYS];
    size_t n_values;
    Map by_key; /* of them, by hash */
    uint64_t revision;
};

void sim_net_init(SimNet *net, uint64_t seed, unsigned lost, MonoTime now);
void sim_net_destroy(SimNet *net);
/* A process begins, and hears of the connection when there is one. */
void sim_net_open(SimNet *net, uint16_t agent, const TransportSink *sink);
void sim_net_close(SimNet *net, uint16_t agent);
void sim_net_cut(SimNet *net, uint16_t agent, MonoTime until);
/* The server is away until then; it may forget everything, or the last changes. */
void sim_net_down(SimNet *net, MonoTime until, bool forgets);
/* What an operator puts there: its watchers hear of it. Copies. */
void sim_net_store(SimNet *net, const char *key, const void *bytes, size_t length);
/* NULL: there is none. */
const SimValue *sim_net_value(SimNet *net, const char *key);
bool sim_net_is_down(const SimNet *net);
/* When something is due next. */
MonoTime sim_net_next(const SimNet *net);
/* Delivers what is due. */
void sim_net_run(SimNet *net, MonoTime now);

#endif
