/* Robots rules: the compiled rules of a robots.txt, which robots_rules.c builds and robots.c asks.
 *
 * What: rules without wildcards are sorted for binary search; rules with wildcards are tried best
 * first (robots.h).
 * Owns: its patterns.
 * Threads: immutable once built. */
#pragma once

#include <string.h>

#include "base/core/hours.h"
#include "base/memory/map.h"
#include "parse/robots/robots_types.h"
#include "parse/robots/robots_line.h"

/* Paths in robots.txt rules and URLs: one spelling for both, and wildcard patterns over it.
 *
 * What: in that spelling percent-encoded unreserved characters are decoded, all other escapes get
 * upper-case digits, and every byte that is not plain in a URL is escaped: controls, blanks,
 * non-ASCII, and the two that patterns use, '*' and '$'. So "%7e" equals "~"; "%2a" in a rule means
 * the character, and "*" the wildcard.
 * Threads: pure functions.
 * Source: RFC 9309 section 2.2.2. */

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

#define ROBOTS_NONE UINT32_MAX

typedef struct RobotsRule {
    uint32_t line;
    uint32_t octets; /* the longest match wins */
    uint32_t text;   /* offset in the pool */
    bool allow;
    bool shortened; /* only what stands before its first wildcard is looked at */
} RobotsRule;

/* A rule without wildcards, a prefix or with "$" the whole path. Sorted by their bytes: the longest
 * prefix of a path is the path's predecessor or one of that one's parents. */
typedef struct RobotsPlain {
    uint64_t key; /* its first eight bytes, big-endian: order without touching the pool */
    uint32_t text;
    uint32_t length;
    uint32_t parent; /* the longest other prefix that is a prefix of this one, or ROBOTS_NONE */
    uint32_t rule;   /* the best rule of this one and its parents */
} RobotsPlain;

typedef struct RobotsPlains {
    RobotsPlain *all; /* owned */
    size_t n;
} RobotsPlains;

/* A rule with '*', sorted best first. */
typedef struct RobotsWild {
    RobotsPattern pattern;
    uint64_t first_key; /* first eight bytes of what stands before the first wildcard */
    uint64_t first_mask;
    uint32_t text;
    uint32_t rule;
} RobotsWild;

typedef struct RobotsSitemap {
    uint64_t hash;
    uint32_t text;
} RobotsSitemap;

/* For what the pages that a pattern matches may be used. */
typedef struct RobotsUsage {
    RobotsPattern pattern;
    uint32_t text;   /* of the pattern, in the pool */
    uint32_t octets; /* the longest match of each place counts */
    uint32_t words;  /* of the statement, in the pool */
    uint32_t line;
    UsagePlace place;
    Usage usage;
} RobotsUsage;

typedef struct RobotsLicence {
    uint32_t address; /* of the pool */
    uint32_t line;
    bool is_read;
} RobotsLicence;

/* One more than are asked for, which stays unread. */
#define ROBOTS_LICENCES (USAGE_PLACES - USAGE_IN_LICENCE + 1)

struct Robots {
    Buffer pool; /* patterns, rule texts, sitemaps */
    RobotsRule *rules;
    size_t n_rules;
    RobotsPlains prefixes;
    RobotsPlains exacts; /* with "$" */
    RobotsWild *wilds;
    size_t n_wilds;
    Map wild_by_text; /* while rules are added: places in wilds, plus one, by hash of the pattern */
    size_t n_shortened; /* rules beyond ROBOTS_WILD_MAX */
    RobotsSitemap *sitemaps;
    size_t n_sitemaps;
    RobotsUsage *usages;
    size_t n_usages;
    RobotsLicence licences[ROBOTS_LICENCES]; /* of License lines of the same standing */
    size_t n_licences;
    unsigned licence_standing;
    int64_t crawl_delay_ms;
    Hours *hours; /* owned; NULL: no Visit-time */
};

/* The order in which rules decide: most octets, then Allow, then the earlier line. */
static inline bool robots_rule_beats(const RobotsRule *a, const RobotsRule *b)
{
    if (a->octets != b->octets) {
        return a->octets > b->octets;
    }
    if (a->allow != b->allow) {
        return a->allow;
    }
    return a->line < b->line;
}

static inline uint64_t robots_key_of(const char *bytes, size_t length)
{
    uint8_t first[8] = {0};
    memcpy(first, bytes, length < 8 ? length : 8);
    uint64_t key;
    memcpy(&key, first, 8);
    return __builtin_bswap64(key);
}

static inline int robots_compare_bytes(const char *a, size_t a_length, const char *b,
                                       size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static inline size_t robots_common_length(const char *a, size_t a_length, const char *b,
                                          size_t b_length)
{
    size_t n = a_length < b_length ? a_length : b_length;
    size_t i = 0;
    while (i < n && a[i] == b[i]) {
        i++;
    }
    return i;
}

/* The first of index and its parents that is no longer than length; ROBOTS_NONE if there is none.
 */
static inline uint32_t robots_climb(const RobotsPlain *prefixes, uint32_t index, size_t length)
{
    while (index != ROBOTS_NONE && prefixes[index].length > length) {
        index = prefixes[index].parent;
    }
    return index;
}

/* Adds an Allow or Disallow line of our group. RESULT_MEMORY. */
Result robots_rules_add(Robots *robots, const RobotsLine *line);
/* Adds a Sitemap line unless it is known. RESULT_MEMORY. */
Result robots_rules_add_sitemap(Robots *robots, const RobotsLine *line);
/* Keeps a License line unless one of the same or a higher standing is known. RESULT_MEMORY. */
Result robots_rules_add_licence(Robots *robots, const RobotsLine *line, unsigned standing);
/* Adds a statement about what a pattern matches, a path with "*" and "$" ("": everything). Its
 * words are cut at ROBOTS_RULE_TEXT_BYTES. RESULT_LIMIT: there are ROBOTS_MAX_USAGES.
 * RESULT_MEMORY. */
Result robots_rules_add_usage(Robots *robots, const char *path, size_t length,
                              const UsageStatement *statement);
/* Puts all rules in the order in which they are asked; once, after the last was added. */
void robots_rules_sort(Robots *robots);
