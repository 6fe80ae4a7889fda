/* DNS answer: which addresses of an answer are used, and how long.
 *
 * What: the allowed addresses (parse/host/ip_address.h), those of the preferred family first. Their
 * time to live is the least of all, within the configured bounds.
 * A pure function of the answer. */
#ifndef FETCH_DNS_DNS_ANSWER_H
#define FETCH_DNS_DNS_ANSWER_H

#include <ares.h>

#include "fetch/dns/name_cache.h"
#include "fetch/dns/resolver.h"

/* Adds the addresses to the name, which has none yet; *special counts those that are not allowed.
 * Returns the time to live in ms. */
int64_t dns_answer_collect(const ResolverOptions *options, Name *name,
                           const struct ares_addrinfo *answer, size_t *special);
/* Tells options->heard of an answer that is new. */
void dns_answer_tell(const ResolverOptions *options, Name *name,
                     const struct ares_addrinfo *answer);
/* The address that is meant by a host name that is one, or by "localhost" and what is below it.
 * False: it is a name. */
bool dns_answer_literal(const char *hostname, IpAddress *address);

#endif
