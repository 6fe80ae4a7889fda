/* The registered domain of a host: "example.co.uk" for "www.example.co.uk", by the public suffix
 * list.
 *
 * What: budgets by domain, filters (RegisteredDomainIs...) and same-site rules go by it. Hosts are
 * as in Url.href: lower case, IDNA in ASCII, addresses in the standard's form. The list is libpsl's
 * built-in copy, read-only and shared by all threads; there is nothing to load.
 * Owns: nothing; a Domain is a part of the host that it was taken from.
 * Threads: pure functions. */
#pragma once

#include "parse/url/url.h"

typedef struct Domain {
    const char *name; /* a suffix of the host it was taken from; borrowed */
    size_t length;
} Domain;

/* Whether the host is an IPv4 address or a bracketed IPv6 address. */
bool domain_is_address(const char *host, size_t length);

/* The registered domain. A host that has none is its own: an address, a public suffix, a name of
 * one label or one too long for DNS. A trailing dot does not count (it is not part of the answer).
 * host may be NULL when length is 0: the answer is empty. */
Domain domain_registered(const char *host, size_t length);
Domain domain_of_url(const Url *url);

/* Which list it is: the SHA-1 of its text in hex, 40 characters, or "" when libpsl has none built
 * in. Two programs with different lists may find different registered domains. */
const char *domain_list_sha1(void);

/* Whether host is name or below it, at a label boundary ("a.b.example" is in "b.example"). */
bool domain_contains(const char *name, size_t name_length, const char *host, size_t length);
