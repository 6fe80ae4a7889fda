/* Resolver: host names to addresses. c-ares, one thread, thousands of queries in flight.
 *
 *   distributor --resolver_resolve--> [inbox, eventfd] --> resolver thread --> answered sink
 *
 * What: the resolver has the program's only DNS cache (resolver.c). Positive answers are kept for
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
#pragma once

#include "fetch/dns/resolver_types.h"

#include <ares.h>

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

/* DNS record: a DNS answer as text, the way it is archived.
 *
 * What: the block of a resource record "dns:HOST" of type text/dns, for example (separated by
 * tabs):
 *
 *   20260131120000
 *   www.example.org.  300  IN  CNAME  example.org.
 *   example.org.      60   IN  A      192.0.2.1
 *
 * The first line is when the question was asked, as in Heritrix; the others are lines of a master
 * file. A pure function of the answer.
 * Source: RFC 1035 section 5. */

/* Appends the text of an answer for hostname. RESULT_MEMORY, RESULT_LIMIT: of out. */
Result dns_record_format(Buffer *out, const char *hostname, const struct ares_addrinfo *answer,
                         WallTime asked);
/* The same number for the same names and addresses, whatever their order and their TTL; never 0. */
uint64_t dns_record_fingerprint(const struct ares_addrinfo *answer);
