/* robots.txt by RFC 9309: groups, longest match, "*" and "$", percent-encoding; Crawl-delay,
 * Request-rate, Visit-time and Sitemap lines beside it.
 *
 * What: the fetching thread that got the file compiles it for one product token; from then on it
 * decides about every URL of its visit state. What counts:
 *
 * 1. The groups that name the token are merged; the "*" groups count only if there are none. Tokens
 *    are compared whole, without case; "ragno/1.0 (x)" names "ragno".
 * 2. The rule with the most octets that matches wins, Allow wins a tie, no rule means allowed;
 *    /robots.txt itself is always allowed. "Allow: /d/index.html" allows "/d/" as well.
 * 3. Crawl-delay belongs to the agents listed right above it, as does Request-rate, pages/time with
 *    s, m or h (the longest delay of all counts), and Visit-time, HHMM-HHMM in UT (all lines add
 *    up); Sitemap to the file. None ends a group.
 *
 * What a decision costs is bounded, whatever the file and the URL:
 *
 * - Rules without "*" are found by binary search. Rules with "*" are tried best first; most are
 *   refuted by their first bytes or by a pair of bytes that the path does not have. The others are
 *   matched in time linear in path and pattern, without backtracking.
 * - Work is counted in steps of about a nanosecond of CPU time. One decision gets at most
 *   ROBOTS_DECISION_STEPS (and some for each byte of the path), and a file gets ROBOTS_EARNED_STEPS
 *   for each decision on the average; what it does not use it saves, up to ROBOTS_SAVED_STEPS
 *   (RobotsAllowance).
 * - When the steps are used up, the remaining rules are judged by their first bytes and their pairs
 *   alone, and the cautious answer counts: a Disallow rule that could not be decided forbids, an
 *   Allow rule that could not be decided does not allow.
 * - Of ROBOTS_WILD_MAX different rules with "*" each counts as written. Each further one is
 *   shortened: "Disallow: /ab" for "Disallow: /ab*c"; "Allow: /ab*c" is ignored.
 *
 * Owns: its rules.
 * Threads: a Robots object is immutable after robots_parse: any thread may read it. A
 * RobotsAllowance belongs to the thread that decides.
 * Errors: RESULT_MEMORY.
 * Source: RFC 9309; Google's parser where the RFC is silent. Request-rate and Visit-time (2.0.0):
 * the proposal in the robots mailing list of 17 October 1996, and robots.txt files in use. */
#pragma once

#include "base/core/clock.h"
#include "parse/robots/robots_types.h"
#include "parse/usage/rsl.h"

/* Compiles the rules that apply to agent (a product token, compared without case). RESULT_MEMORY.
 */
Result robots_parse(const char *body, size_t length, const char *agent, Robots **robots);
/* Rules that allow everything. RESULT_MEMORY. */
Result robots_allow_all(Robots **robots);
void robots_delete(Robots *robots);

/* A hash of the content, as far as it is read. A missing file has the hash of an empty one. */
uint64_t robots_content_hash(const char *body, size_t length);

/* Decides about a path with its query ("/x?y"), escaped or not; empty means "/". Earns and spends
 * steps of the allowance. Allocates only for unusually long paths that need escaping; without
 * memory the answer is no. */
bool robots_decide(const Robots *robots, const char *path, size_t length,
                   RobotsAllowance *allowance, RobotsVerdict *verdict);
/* The same with the allowance of a new file: one decision by itself. verdict may be NULL. */
bool robots_allows(const Robots *robots, const char *path, size_t length, RobotsVerdict *verdict);

/* How many rules are shortened because there are more than ROBOTS_WILD_MAX. */
size_t robots_n_shortened(const Robots *robots);

/* Milliseconds, or -1 when the group has no (valid) Crawl-delay and Request-rate. Decimals count;
 * no upper bound but ROBOTS_DELAY_MAX_MS: the cap is the caller's. */
int64_t robots_crawl_delay_ms(const Robots *robots);
/* Milliseconds until the Visit-time lines of the group allow a visit; 0: they do, or there are none
 * that can be read. */
int64_t robots_closed_ms(const Robots *robots, WallTime now);

/* The Sitemap lines in file order without repetitions, as written: relative ones are resolved by
 * the caller against the address of robots.txt. Borrowed, NUL-terminated. */
size_t robots_n_sitemaps(const Robots *robots);
const char *robots_sitemap(const Robots *robots, size_t i);
/* What is stated about the use of a path with its query: by the Content-Usage and Content-Signal
 * lines of the group, which may begin with a path, and by the files that were added. Of each place
 * the longest match counts, and of equals the strictest; denied is what one of the places denies.
 * At most ROBOTS_MAX_USAGES statements are kept. What matching costs is bounded; a statement whose
 * match would cost more denies, and allows nothing. ledger may be NULL; what it lists is borrowed
 * from Robots. */
Usage robots_usage(const Robots *robots, const char *path, size_t length, UsageLedger *ledger);
/* Adds what a /.well-known/tdmrep.json says (the TDM Reservation Protocol): a list of objects with
 * a "location", a path as in robots.txt, and "tdm-reservation", 1 or 0. RESULT_INVALID: from some
 * point on it is no such file, RESULT_LIMIT: it has too many statements; what stood before counts.
 * RESULT_MEMORY. */
Result robots_add_tdm(Robots *robots, const char *text, size_t length);
/* Appends the address of a licence file (RSL) that a License line names, against the address of
 * robots.txt. The lines of our group count, else those of no group, else of everybody's; the first
 * is at USAGE_IN_LICENCE, the others are behind it, as far as there are places.
 * RESULT_NOT_FOUND: there is none. RESULT_INVALID: it is no address of a page. */
Result robots_licence_url(const Robots *robots, UsagePlace place, const char *origin, Buffer *out);
/* Adds what that file says, once. Until this has returned RESULT_OK for each place that has one, a
 * licence that is named permits nothing: its statement (line 0, the address as its words) denies
 * all usages, and so does one for which there is no place. Errors are those of rsl_read,
 * RESULT_LIMIT when there are too many statements, and RESULT_NOT_FOUND when it is not named. */
Result robots_add_licence(Robots *robots, UsagePlace place, const char *text, size_t length,
                          const RslReader *reader);
/* Bytes of memory it occupies, for the frontier's budget. */
size_t robots_bytes(const Robots *robots);
