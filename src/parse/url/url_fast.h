/* URLs that are in normal form already, resolved by one scan with a table.
 *
 * What: most links need no state machine. This module accepts only what it is sure of.
 * Threads: pure functions; a Url belongs to one thread.
 * Invariants: whatever it accepts, url_parse_standard answers alike (tests/fuzz/fuzz_url.c). */
#ifndef PARSE_URL_URL_FAST_H
#define PARSE_URL_URL_FAST_H

#include "parse/url/url_types.h"

/* True when input was resolved. False when url_standard.h must resolve it: out is then valid, with
 * unspecified content. */
bool url_fast_parse(Url *out, const Url *base, const char *input, size_t length);

#endif
