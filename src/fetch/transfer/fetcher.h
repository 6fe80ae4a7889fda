/* Fetcher: a fetching thread. Hundreds of transfers in flight over one curl multi handle on epoll.
 *
 *   todo thread --fetcher_fetch--> [inbox, eventfd] --> fetcher --> result sink (parsing threads)
 *                                                          '------> done sink (todo thread)
 *
 * What: for each visit state that the fetcher receives it makes one request (fetch_step.h). URLs
 * that robots.txt or filter.fetch refuse cost no request; each becomes a result of its own. When
 * the fetch ends, well or badly, the result goes to the result sink and the visit state to the done
 * sink. Redirects are not followed: they are links. Bodies keep their content coding. libcurl
 * enforces the limits: time to connect, to the first byte and in all, least speed, bytes of header
 * and body.
 *
 * Owns: a visit state from fetcher_fetch until it goes to the done sink.
 * Threads: fetch-N; the functions below may be called by any thread, but for new, start, rest, stop
 * and delete, which are the main thread's.
 *
 * Invariants:
 *  1. The connection goes to the visit state's address, whatever the URL says. Special addresses
 *     are refused once more when the socket is opened.
 *  2. The bytes of all answers that are not parsed yet are counted at a gate. While the gate is
 *     closed no transfer is begun (visit states wait in the inbox), and a transfer whose body has
 *     to grow is paused, so that the server waits. What holds the gate closed can always leave
 *     (gate_turn.h).
 *
 * Errors: a fetch that failed is a result. */
#ifndef FETCH_TRANSFER_FETCHER_H
#define FETCH_TRANSFER_FETCHER_H

#include "parse/host/ip_address.h"
#include "parse/host/port_set.h"
#include "base/core/result.h"
#include "fetch/identity/message_signature.h"
#include "fetch/outage/network_watch.h"
#include "fetch/site/fetch_site.h"
#include "fetch/tls/tls_context.h"
#include "fetch/tls/tls_trust.h"
#include "fetch/transfer/fetch_result.h"
#include "fetch/transfer/fetch_step.h"
#include "fetch/connect/flights.h"
#include "frontier/visit/visit_state.h"
#include "base/thread/byte_quota.h"
#include "base/thread/rate_gate.h"
#include "base/thread/shared.h"

typedef struct FetcherOptions {
    const char *user_agent; /* all strings are borrowed */
    const char *robots_agent;
    /* What most hosts are sent (FetchSite): lines for it are made once. */
    const char *headers; /* copied, as the next one */
    const char *accept_language;
    const char *port_map;   /* "80:8080,443:8443": URL port to real port; may be "" */
    const IpPolicy *policy; /* which addresses may be connected to */
    const PortSet *ports;   /* and which ports; NULL: all that are not bad */
    Shared *sites;          /* the object that site_of reads; borrowed */
    FetchSiteOf *site_of;
    ByteGate *gate; /* bytes of answers that are not parsed yet; NULL = not counted; borrowed */
    size_t most_transfers;    /* in flight, before a host is asked for several pages at once */
    size_t kept_connections;  /* open at most after their use, those in use included */
    const LiveShares *shares; /* for what crowding.h says; borrowed */
    unsigned threads;         /* how many fetchers there are */
    BodySpoolOptions spool;   /* pages that are longer than what is kept of them */
    unsigned max_ratio;    /* decoded over received bytes of a robots.txt with a content coding */
    TlsTrust *trust;       /* what servers are verified by; NULL: none can be */
    TlsSessions *sessions; /* of all fetchers */
    const Signer *signer;  /* NULL: requests are not signed; borrowed */
    ByteQuota *quota;      /* of all bytes ever received; NULL = none; borrowed */
    RateGate *rate;        /* of all bytes received; NULL = no limit; borrowed */
    bool keep_requests;    /* fill in FetchRequest.header */
    bool mask_secrets;     /* and write passwords and cookies in it as "***" */
    Shared *admission;     /* what the operator admits; NULL = everything; borrowed */
    FetchJudge *judge;     /* reads what is in it */
    Shared *filter;        /* of a Filter that is asked before each fetch; NULL = none; borrowed */
    Shared *body_filter;   /* that is asked at the header of each answer; as filter */
    Shared *traps;         /* of a TrapSet, the parked patterns; as filter */
    /* Whether failures are our own network's; NULL: they are not; borrowed. */
    NetworkWatch *network;
} FetcherOptions;

/* Who waits only for a connection. */
typedef struct FetchCrowd {
    size_t n_new;       /* addresses of hosts that nothing has come from yet */
    size_t n_proven;    /* of hosts that have answered */
    size_t connections; /* of all fetchers */
} FetchCrowd;

typedef struct FetcherSinks {
    void *context;
    void (*result)(void *context, FetchResult *result);   /* takes it; must not block for long */
    void (*done)(void *context, VisitState *visit_state); /* takes it */
    /* Takes an asker back from its errand (frontier/visit/visit_state.h). */
    void (*answered)(void *context, VisitState *asker);
    void (*crowded)(void *context, FetchCrowd *crowd); /* asks */
    void (*round)(void *context); /* what one look at all sockets has brought was given */
} FetcherSinks;

typedef struct FetcherStats {
    size_t active;           /* transfers in flight, paused ones included */
    size_t paused;           /* those that wait for the gate */
    bool held_back;          /* something waits for the rate of all bytes */
    uint64_t requests;       /* begun since the start */
    uint64_t connections;    /* opened */
    uint64_t local;          /* fetches that this machine could not do */
    uint64_t no_descriptors; /* of these: for want of file descriptors */
    uint64_t cut_new;        /* broken off for other new hosts */
    uint64_t cut_slow;       /* and because slow answers held the gate closed */
    TlsStats tls;
} FetcherStats;

typedef struct Fetcher Fetcher;

/* number names the thread. RESULT_INVALID: port_map; RESULT_MEMORY, RESULT_IO. */
Result fetcher_new(Fetcher **fetcher, unsigned number, const FetcherOptions *options,
                   const FetcherSinks *sinks);
/* RESULT_MEMORY, RESULT_LIMIT: there is no thread. */
Result fetcher_start(Fetcher *fetcher);
/* The thread ends when what is in flight has ended, and its connections are closed. Visit states
 * are given back untouched from now on. fetcher_start makes it go on, or starts it again. */
void fetcher_rest(Fetcher *fetcher);
/* How many connections it keeps from now on; any thread. */
void fetcher_keep(Fetcher *fetcher, size_t kept_connections);
/* Takes an acquired visit state; any thread. */
void fetcher_fetch(Fetcher *fetcher, VisitState *visit_state);
/* From now on visit states are given back untouched; what is in flight goes on. */
void fetcher_drain(Fetcher *fetcher);
/* The gate is open again: what waited goes on. Any thread. */
void fetcher_wake(Fetcher *fetcher);
/* Aborts what is in flight: those URLs stay scheduled and give no result. */
void fetcher_abort(Fetcher *fetcher);
/* Ends the thread; implies fetcher_abort. */
void fetcher_stop(Fetcher *fetcher);
void fetcher_delete(Fetcher *fetcher);
void fetcher_stats(Fetcher *fetcher, FetcherStats *stats);
/* What it is asking for; borrowed, for any thread. */
Flights *fetcher_flights(Fetcher *fetcher);

#endif
