/* Resolver, its types: options, questions and answers.
 *
 * What: the types that its parts share; resolver.h has the functions.
 * Owns: what each comment says.
 * Threads: as resolver.h says. */
#pragma once

#include "fetch/outage/outage.h"
#include "frontier/visit/visit_state.h"

/* clang-format off */
#define RESOLVER_FAMILY_WORDS(WORD) \
    WORD(RESOLVER_IPV4_FIRST, "ipv4-first") \
    WORD(RESOLVER_IPV6_FIRST, "ipv6-first") \
    WORD(RESOLVER_IPV4_ONLY, "ipv4") \
    WORD(RESOLVER_IPV6_ONLY, "ipv6")
/* clang-format on */
typedef enum ResolverFamily { WORDS_ENUM(RESOLVER_FAMILY_WORDS) } ResolverFamily;

#define DNS_TTL_MOST_MS 86400000 /* answers are kept a day at most */

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
     * answer before, with its text (fetch/dns/resolver.h). May be NULL. */
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
