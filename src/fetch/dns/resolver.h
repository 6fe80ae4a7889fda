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

#include "fetch/dns/resolver_types.h"

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
