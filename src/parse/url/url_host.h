/* The host parser: domains, IPv4 and IPv6 addresses.
 *
 * What: percent-escapes are decoded, names outside ASCII go through url_idna.h, and what ends in a
 * number must be an IPv4 address.
 * Threads: pure functions.
 * Errors: RESULT_INVALID, RESULT_LIMIT, RESULT_MEMORY.
 * Source: url.spec.whatwg.org, "Host parsing". */
#pragma once

#include "parse/url/url_types.h"

/* Parses a host as written (not empty, valid UTF-8) and appends its serialisation. */
Result url_host_append(Url *out, const char *input, size_t length);
