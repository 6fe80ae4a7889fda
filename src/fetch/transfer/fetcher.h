/* A fetching thread: hundreds of transfers in flight over one curl multi handle on epoll.
 *
 *   todo thread --fetcher_fetch--> [inbox, eventfd] --> fetcher --> result sink (parsing threads)
 *                                                          '------> done sink (todo thread)
 *
 * For each visit state it receives it does one thing: an errand when it has askers; fetches
 * robots.txt when that is missing or expired; otherwise takes the first URL that robots.txt and
 * filter.fetch allow (refused ones cost nothing and become results of their own) and fetches it.
 * When the fetch ends, well or badly, politeness is judged, the result goes to the result sink and
 * the visit state to the done sink.
 *
 * The connection goes to the visit state's address, whatever the URL says; special addresses are
 * refused again when the socket is opened. Redirects are not followed: they are links. Bodies keep
 * their content coding. libcurl's limits: connect, first byte, total, least speed, header and body
 * bytes.
 *
 * The bytes of all answers, from here to the parsing threads, are counted at a gate. While it is
 * closed no transfer is begun (visit states wait in the inbox) and one whose body has to grow is
 * paused: TCP's window fills and the server waits. One paused one of each thread goes on all
 * the same when the gate runs dry, in turns: so what holds the gate closed can always leave, and a
 * body larger than the gate passes alone. */
#ifndef FETCH_TRANSFER_FETCHER_H
#define FETCH_TRANSFER_FETCHER_H

#include "parse/host/ip_address.h"
#include "base/core/result.h"
#include "fetch/transfer/fetch_result.h"
#include "frontier/visit/visit_state.h"
#include "base/thread/shared.h"

typedef struct FetcherOptions {
    const char *user_agent; /* all strings are borrowed */
    const char *robots_agent;
    const char *headers;         /* "Name: value", separated by |; may be "" */
    const char *accept_language; /* may be "" */
    const char *port_map;        /* "80:8080,443:8443": URL port to real port; may be "" */
    const IpPolicy *policy;      /* which addresses may be connected to */
    const PolitenessOptions *politeness;
    ByteGate *gate; /* bytes of answers that are not parsed yet; NULL = not counted; borrowed */
    size_t kept_connections; /* open at most after their use, those in use included */
    int64_t connect_timeout_ms;
    int64_t first_byte_timeout_ms;
    int64_t total_timeout_ms;
    int64_t slow_bytes_s; /* slower than this for slow_time_ms is too slow; 0 = off */
    int64_t slow_time_ms;
    int64_t max_body_bytes;
    int64_t max_sitemap_bytes; /* of a body that was found as a sitemap */
    int64_t max_header_bytes;
    bool http2;
    bool tls_verify;
    int64_t robots_expiry_ms;
    bool keep_requests; /* fill in FetchRequest.header */
    Shared *filter;     /* of a Filter that is asked before each fetch; NULL = none; borrowed */
    Shared *traps;      /* of a TrapSet, the parked patterns; as filter */
} FetcherOptions;

typedef struct FetcherSinks {
    void *context;
    void (*result)(void *context, FetchResult *result);   /* takes it; must not block for long */
    void (*done)(void *context, VisitState *visit_state); /* takes it */
    /* Takes an asker back from its errand (frontier/visit/visit_state.h). */
    void (*answered)(void *context, VisitState *asker);
} FetcherSinks;

typedef struct FetcherStats {
    size_t active;        /* transfers in flight, paused ones included */
    size_t paused;        /* those that wait for the gate */
    uint64_t requests;    /* begun since the start */
    uint64_t connections; /* opened */
} FetcherStats;

typedef struct Fetcher Fetcher;

/* number names the thread. RESULT_INVALID: port_map; RESULT_MEMORY, RESULT_IO. */
Result fetcher_new(Fetcher **fetcher, unsigned number, const FetcherOptions *options,
                   const FetcherSinks *sinks);
Result fetcher_start(Fetcher *fetcher);
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

#endif
