/* Resolver: host names to addresses. c-ares, one thread, thousands of queries in flight.
 *
 *   distributor --resolver_resolve--> [inbox, eventfd] --> resolver thread --> answered sink
 *
 * What: the resolver has the program's only DNS cache (name_cache.h). Positive answers are kept for
 * their time to live, within bounds, negative ones for a fixed time. A name that is being asked for
 * is asked for once, however many hosts wait for it. Special addresses (parse/host/ip_address.h)
 * are dropped from answers unless they are allowed; a name that has no other address is
 * FETCH_PRIVATE. Of several addresses the first of the preferred family is used, and after each
 * failure to connect the next one (visit_state_next_address).
 *
 * Owns: a visit state from resolver_resolve until it goes to the sink.
 * Threads: dns; resolver_resolve and resolver_stats any.
 * Errors: a name that cannot be resolved is no error: the visit state says FETCH_NO_NAME or
 * FETCH_DNS, or FETCH_LOCAL when the trouble is our own (name_watch.h): then nobody is to be
 * charged. */
#ifndef FETCH_DNS_RESOLVER_H
#define FETCH_DNS_RESOLVER_H

#include <stdint.h>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "fetch/outage/outage.h"
#include "frontier/visit/visit_state.h"
#include "parse/host/ip_address.h"

typedef enum ResolverFamily {
    RESOLVER_IPV4_FIRST,
    RESOLVER_IPV6_FIRST,
    RESOLVER_IPV4_ONLY,
    RESOLVER_IPV6_ONLY
} ResolverFamily;

typedef struct ResolverOptions {
    const char *servers; /* "127.0.0.1:5353, [::1]"; "" = the system's */
    int64_t timeout_ms;  /* of one try */
    unsigned tries;
    size_t queries; /* in flight at most; fewer while answers get lost; the rest waits */
    size_t cache_entries;
    int64_t ttl_min_ms;
    int64_t ttl_max_ms;
    int64_t negative_ttl_ms;
    ResolverFamily family;
    const IpPolicy *policy; /* which addresses are used; borrowed */
    /* Called in the resolver's thread for every answer that has addresses and differs from the
     * answer before, with its text (fetch/dns/dns_record.h). May be NULL. */
    void (*heard)(void *context, const char *hostname, WallTime asked, const Buffer *records);
    void *heard_context;
    /* Told when an outage of ours is found, suspected no more, or over; in the resolver's thread.
     * NULL: nobody wants it. */
    void (*changed)(void *context);
    void *changed_context;
} ResolverOptions;

typedef struct ResolverStats {
    uint64_t queries;    /* sent */
    uint64_t hits;       /* answered from the cache */
    uint64_t failures;   /* no answer or a negative one */
    uint64_t answered;   /* questions to which a server said something, whatever it was */
    uint64_t unanswered; /* and those to which none did */
    size_t in_flight;
    size_t cached;
    OutageState outage;    /* of our own: nobody is charged meanwhile */
    MonoTime outage_since; /* the first failure that led to it; MONO_NEVER: there is none */
    uint64_t outages;      /* so far */
    uint64_t excused;      /* failures that were not charged */
} ResolverStats;

typedef struct Resolver Resolver;

/* answered gets every visit state back, with VisitState.address filled in.
 * RESULT_INVALID: the servers cannot be parsed. */
Result resolver_new(Resolver **resolver, const ResolverOptions *options,
                    void (*answered)(void *context, VisitState *visit_state), void *context);
Result resolver_start(Resolver *resolver);
/* Changes all options while it runs; main thread. Errors as those of resolver_new; nothing changes
 * then. */
Result resolver_change(Resolver *resolver, const ResolverOptions *options);
/* Takes a visit state; any thread. */
void resolver_resolve(Resolver *resolver, VisitState *visit_state);
/* Ends the thread; what is in flight is answered as FETCH_LOCAL. */
void resolver_stop(Resolver *resolver);
void resolver_delete(Resolver *resolver);
void resolver_stats(Resolver *resolver, ResolverStats *stats);

#endif
