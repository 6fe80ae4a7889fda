/* Fetcher, its types: options, sinks and figures.
 *
 * What: the types that its parts share; fetcher.h has the functions.
 * Owns: what each comment says.
 * Threads: as fetcher.h says. */
#pragma once

#include "base/thread/byte_quota.h"
#include "base/thread/rate_gate.h"
#include "fetch/connect/flights.h"
#include "fetch/identity/message_signature.h"
#include "fetch/outage/network_watch.h"
#include "fetch/site/fetch_site.h"
#include "fetch/transfer/fetch_step.h"

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
    size_t most_transfers;   /* in flight, before a host is asked for several pages at once */
    size_t kept_connections; /* open at most after their use, those in use included */
    LiveShares *shares;      /* for what crowding.h says; borrowed */
    HostCosts *costs;        /* NULL: no page is too dear; borrowed */
    unsigned threads;        /* how many fetchers there are */
    BodySpoolOptions spool;  /* pages that are longer than what is kept of them */
    unsigned max_ratio;      /* decoded over received bytes of a robots.txt with a content coding */
    TlsTrust *trust;         /* what servers are verified by; NULL: none can be */
    TlsSessions *sessions;   /* of all fetchers */
    const Signer *signer;    /* NULL: requests are not signed; borrowed */
    ByteQuota *quota;        /* of all bytes ever received; NULL = none; borrowed */
    RateGate *rate;          /* of all bytes received; NULL = no limit; borrowed */
    bool keep_requests;      /* fill in FetchRequest.header */
    bool mask_secrets;       /* and write passwords and cookies in it as "***" */
    Shared *admission;       /* what the operator admits; NULL = everything; borrowed */
    FetchJudge *judge;       /* reads what is in it */
    Shared *filter;      /* of a Filter that is asked before each fetch; NULL = none; borrowed */
    Shared *body_filter; /* that is asked at the header of each answer; as filter */
    Shared *traps;       /* of a TrapSet, the parked patterns; as filter */
    /* Whether failures are our own network's; NULL: they are not; borrowed. */
    NetworkWatch *network;
} FetcherOptions;

/* Who waits only for a connection. */
typedef struct FetchCrowd {
    size_t n_new;    /* addresses of hosts that no page has come from yet, */
    size_t most_new; /* and how many of them may be in flight */
    size_t n_proven; /* of hosts that have sent one */
    size_t n_ill;    /* visit states in flight that fail or are slow, */
    size_t most_ill; /* and how many of them may be */
} FetchCrowd;

typedef struct FetcherSinks {
    void *context;
    void (*result)(void *context, FetchResult *result);   /* takes it; must not block for long */
    void (*done)(void *context, VisitState *visit_state); /* takes it */
    /* Takes an asker back from its errand (frontier/visit/visit_state.h). */
    void (*answered)(void *context, VisitState *asker);
    void (*crowded)(void *context, FetchCrowd *crowd); /* asks */
    void (*slowed)(
        void *context);           /* some count as slow from now on: others may have their places */
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
