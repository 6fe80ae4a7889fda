/* Sort-friendly URI Reordering Transform: the keys of CDXJ, "org,example)/path?a=1&b=2".
 *
 * What: the canonical form is that of the Internet Archive's tools and of pywb, so that their
 * look-ups find our keys. Scheme, userinfo, default port, fragment, leading www<digits>. and
 * session ids are dropped. Percent-escapes are undone until none is left, and put back only for
 * bytes that need them. Path and query are lower case, "//" in a path is "/", a trailing "/" goes,
 * and arguments are sorted. Addresses are reversed like names, and IPv6 ones lose their brackets.
 * So several URLs share a key, and a look-up compares the URL as well.
 * Threads: pure functions.
 * Source: the behaviour of the surt package for Python (wayback's IAURLCanonicalizer). */
#pragma once

#include "base/memory/buffer.h"

/* Appends the key of url (absolute, as serialised by parse/url; any other scheme is copied, blanks
 * and controls escaped). The key has no blanks. Errors of out; then out is as before. */
Result surt_append(Buffer *out, const char *url, size_t length);
