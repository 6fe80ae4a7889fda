/* Denials: hosts, addresses and URLs that the operator has denied.
 *
 * What: a set of rules, each a word. What a rule looks like says what it denies:
 *
 *   example.org                     the host, and all hosts below it
 *   *.shop.example, www?.example    hosts whose name matches the pattern (* ? [ as in a shell)
 *   192.0.2.7, 192.0.2.0/24, ::1    hosts at that address, or in that range
 *   https://example.org/private     this URL, and what is below it
 *   https://a.example/x*.pdf        URLs that match the pattern as a whole
 *   regex:[?&]sessionid=            URLs in which the regular expression (PCRE) is found
 *   forgotten:host:HASH             a host and all below it, or one URL, which `ragno forget` has
 *   forgotten:url:HASH              erased: the hash knows it again, and does not say its name
 *
 * Owns: its copies of the rules. Immutable once made.
 * Threads: any.
 * Errors: error gets one sentence that names the rule. */
#pragma once

#include <string.h>

#include "parse/host/ip_address.h"

typedef struct Denials Denials;

/* Appends a rule as it is kept: lower case where case does not count, names outside ASCII as they
 * are on the wire. RESULT_INVALID: it is none. */
Result denials_normalise(const char *rule, Buffer *out, Buffer *error);

/* The rules of a kind of their own: what was erased. They hold for links before these are kept, too
 * (scope.h), since nothing may write such a name again. */
#define DENIAL_TOMB "forgotten:"
static inline bool denials_is_tomb(const char *rule)
{
    return strncmp(rule, DENIAL_TOMB, sizeof DENIAL_TOMB - 1) == 0;
}
/* Appends the rule for a host, or for a URL; both as the parser of URLs writes them. */
Result denials_tomb(bool is_host, const char *text, size_t length, Buffer *out);

/* rules are normalised. RESULT_INVALID, RESULT_MEMORY. */
Result denials_new(Denials **denials, const char *const *rules, size_t n, Buffer *error);
void denials_delete(Denials *denials); /* NULL is allowed */

/* The rule that denies a host, by its name or by its address, or NULL; borrowed from the set. */
const char *denials_host(const Denials *denials, const char *name, size_t length);
const char *denials_address(const Denials *denials, const IpAddress *address);
/* The rule that denies this URL, which is NUL-terminated, whatever its host; NULL: none does. */
const char *denials_url(const Denials *denials, const char *url, size_t length);
