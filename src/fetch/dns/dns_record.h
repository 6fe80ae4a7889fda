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
#ifndef FETCH_DNS_DNS_RECORD_H
#define FETCH_DNS_DNS_RECORD_H

#include <ares.h>
#include <stdint.h>

#include "base/memory/buffer.h"
#include "base/core/clock.h"
#include "base/core/result.h"

/* Appends the text of an answer for hostname. RESULT_MEMORY, RESULT_LIMIT: of out. */
Result dns_record_format(Buffer *out, const char *hostname, const struct ares_addrinfo *answer,
                         WallTime asked);
/* The same number for the same names and addresses, whatever their order and their TTL; never 0. */
uint64_t dns_record_fingerprint(const struct ares_addrinfo *answer);

#endif
