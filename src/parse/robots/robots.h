/* robots.txt by RFC 9309: groups, longest match, "*" and "$", percent-encoding; Crawl-delay,
 * Request-rate and Sitemap lines beside it.
 *
 * What: the fetching thread that got the file compiles it for one product token; from then on it
 * decides about every URL of its visit state. What counts:
 *
 * 1. The groups that name the token are merged; the "*" groups count only if there are none. Tokens
 *    are compared whole, without case; "ragno/1.0 (x)" names "ragno".
 * 2. The rule with the most octets that matches wins, Allow wins a tie, no rule means allowed;
 *    /robots.txt itself is always allowed. "Allow: /d/index.html" allows "/d/" as well.
 * 3. Crawl-delay belongs to the agents listed right above it, as does Request-rate, pages/time with
 *    s, m or h (the longest delay of all counts); Sitemap to the file. None ends a group.
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
 * Source: RFC 9309; Google's parser where the RFC is silent. Request-rate (2.0.0): the proposal in
 * the robots mailing list of 17 October 1996, and robots.txt files in use. */
#ifndef PARSE_ROBOTS_ROBOTS_H
#define PARSE_ROBOTS_ROBOTS_H

#include "parse/robots/robots_types.h"

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

int64_t robots_crawl_delay_ms(const Robots *robots);

/* The Sitemap lines in file order without repetitions, as written: relative ones are resolved by
 * the caller against the address of robots.txt. Borrowed, NUL-terminated. */
size_t robots_n_sitemaps(const Robots *robots);
const char *robots_sitemap(const Robots *robots, size_t i);
Usage robots_usage(const Robots *robots, const char *path, size_t length);
Result robots_add_tdm(Robots *robots, const char *text, size_t length);
/* Bytes of memory it occupies, for the frontier's budget. */
size_t robots_bytes(const Robots *robots);

/* Robots usage: which lines of a robots.txt, or of a tdmrep.json, say for what a path may be used.
 *
 * What: what robots_usage (robots.h) sums up, line by line: for those who must show the sentence
 * and not only what follows from it.
 * Threads: pure functions. */

typedef struct RobotsUsageLine {
    unsigned line; /* of robots.txt, 1-based; 0: it is of tdmrep.json */
    bool of_file;  /* of tdmrep.json */
    Usage usage;
} RobotsUsageLine;

/* The statements that count for a path with its query, at most max of them; how many. */
size_t robots_usage_lines(const Robots *robots, const char *path, size_t length,
                          RobotsUsageLine *lines, size_t max);

#endif
