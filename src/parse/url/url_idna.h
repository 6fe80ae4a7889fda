/* Domain to ASCII: host names outside ASCII as browsers write them.
 *
 * What: UTS 46, non-transitional, no STD3 rules, hyphens and DNS lengths unchecked, joiners and
 * bidi checked, by ICU. Characters that Unicode got since are refused with the ICU that has them
 * not; what single characters are mapped to is as of Unicode 16 with each.
 * Threads: pure functions.
 * Errors: RESULT_INVALID, RESULT_LIMIT (longer than any name can be), RESULT_MEMORY.
 * Source: unicode.org/reports/tr46; RFC 3492 (Punycode); RFC 5892, 5893. */
#pragma once

#include "parse/url/url_types.h"

/* Appends the ASCII form of a valid UTF-8 domain that is not all ASCII. */
Result url_idna_append(Url *out, const char *domain, size_t length);
