/* A hash of a page that is the same for all pages of a crawler trap.
 *
 * What: a list under another combination of filters, the next month of an empty calendar, and the
 * same page in another session then count as nothing new (src/ingest/batch/trap_yield.h). What a
 * generator of endless URLs varies is left out, and no more: a page that shows anything else than
 * the last one has another hash.
 *
 * - Everywhere: identifiers (trap_identifier) are one and the same.
 * - In tags: href and action that lead to the page itself are one and the same: the same path but
 *   for its numbers, or (a path with numbers) that and further numbers, with any query. What src
 *   and other links name counts, since a page may be nothing but its picture.
 * - In text: names of months in English are one and the same. So are numbers of the page's URL and
 *   their neighbours, and a number that follows the one before it in the text (the days of a
 *   month).
 *
 * The hash is good for comparing pages of one process; it is kept nowhere.
 *
 * Threads: pure functions. */
#pragma once

#include "parse/url/url.h"

/* Whether a generator of endless pages may be at work: the URL has a query, an identifier, or two
 * numbers in its path that are words of their own: 2031/05, not d3/p248. A version is one number,
 * dots and all (stdlib-4.2, releases/1.5.4.html). Others need no hash: to be looked at they must
 * repeat byte for byte. */
bool trap_content_is_due(const Url *url);
/* The hash of a page with this URL. Never 0. */
uint64_t trap_content_hash(const Url *url, const char *body, size_t length);
