/* Paths in robots.txt rules and URLs: one spelling for both, and wildcard patterns over it.
 *
 * What: in that spelling percent-encoded unreserved characters are decoded, all other escapes get
 * upper-case digits, and every byte that is not plain in a URL is escaped: controls, blanks,
 * non-ASCII, and the two that patterns use, '*' and '$'. So "%7e" equals "~"; "%2a" in a rule means
 * the character, and "*" the wildcard.
 * Threads: pure functions.
 * Source: RFC 9309 section 2.2.2. */
#ifndef PARSE_ROBOTS_ROBOTS_PATTERN_H
#define PARSE_ROBOTS_ROBOTS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/buffer.h"

/* A set of pairs of neighbouring bytes, hashed: what a path does not have, no pattern finds in it.
 */
typedef struct RobotsPairs {
    uint64_t bits[4];
} RobotsPairs;

typedef struct RobotsPattern {
    uint32_t length;       /* of the normalised pattern, wildcards as '*', without a final "$" */
    uint32_t first_length; /* of its part before the first '*' */
    bool has_wildcard;     /* else it is a plain prefix (or the whole path, when anchored) */
    bool is_anchored;      /* ended in "$": the path must end there */
    RobotsPairs pairs;     /* in all its parts */
} RobotsPattern;

/* Whether the path has its one spelling already (nearly all do). */
bool robots_path_is_normal(const char *path, size_t length);
/* Writes the one spelling of a path to out, which holds 3 * length bytes. Its length. */
size_t robots_path_normalize(const char *path, size_t length, char *out);

/* Appends the normalised text of a rule's path to out and describes it; *octets is what "longest
 * match" counts. Trailing wildcards say nothing and are left out (but counted). */
Result robots_pattern_compile(const char *rule, size_t length, Buffer *out, RobotsPattern *pattern,
                              uint32_t *octets);

void robots_pairs_of(const char *bytes, size_t length, RobotsPairs *pairs);
static inline bool robots_pairs_within(const RobotsPairs *part, const RobotsPairs *whole)
{
    return ((part->bits[0] & ~whole->bits[0]) | (part->bits[1] & ~whole->bits[1]) |
            (part->bits[2] & ~whole->bits[2]) | (part->bits[3] & ~whole->bits[3])) == 0;
}

typedef enum RobotsMatch {
    ROBOTS_MATCH_NO,
    ROBOTS_MATCH_YES,
    ROBOTS_MATCH_UNKNOWN /* the steps were used up before the answer was known */
} RobotsMatch;

/* Matches a normalised path; text is the pattern's. The leftmost place of each part decides, so no
 * byte of the path is looked at again for an earlier part: the cost is linear in path and pattern.
 * Each part is searched for only while *steps is enough for the worst case of that search; *steps
 * is lowered by what was really looked at (parse/robots/robots.h says what a step is). */
RobotsMatch robots_pattern_matches(const RobotsPattern *pattern, const char *text, const char *path,
                                   size_t length, int64_t *steps);

#endif
