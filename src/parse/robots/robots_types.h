/* Robots rules, their types.
 *
 * What: the types that its parts share; robots.h has the functions.
 * Owns: what each comment says.
 * Threads: as robots.h says. */
#pragma once

#include "parse/usage/usage.h"

#define ROBOTS_MAX_BYTES (500u * 1024u) /* RFC 9309 2.5: the rest of the file is ignored */

#define ROBOTS_WILD_MAX            4096u
#define ROBOTS_FREE_STEPS_PER_BYTE 4
#define ROBOTS_DECISION_STEPS      (INT64_C(1) << 18)
#define ROBOTS_EARNED_STEPS        (INT64_C(1) << 15)
#define ROBOTS_SAVED_STEPS         (INT64_C(1) << 20)

#define ROBOTS_RULE_TEXT_BYTES 512u
#define ROBOTS_MAX_SITEMAPS    2000u /* more are left out */

typedef struct Robots Robots;

typedef struct RobotsVerdict {
    bool allowed;
    unsigned line;    /* of the deciding rule in the file, 1-based; 0 = no rule */
    const char *rule; /* that line as written ("Disallow: /x"), trimmed, without its comment, cut at
                       * ROBOTS_RULE_TEXT_BYTES, control characters as '?'; borrowed from Robots;
                       * NULL when line is 0 */
    bool undecided;   /* a rule was too expensive to be decided, and may not say this at all */
} RobotsVerdict;

/* The steps that decisions about one file may still take. A new file has ROBOTS_SAVED_STEPS. */
typedef struct RobotsAllowance {
    int64_t steps; /* saved so far; slightly negative after an expensive decision */
    int64_t spent; /* in all */
} RobotsAllowance;
#define ROBOTS_NEW_ALLOWANCE ((RobotsAllowance){.steps = ROBOTS_SAVED_STEPS})

#define ROBOTS_DELAY_MAX_MS INT64_C(1000000000000)
#define ROBOTS_MAX_USAGES   1000u /* statements about usage; more are left out */
#define ROBOTS_TDM_FILE     "/.well-known/tdmrep.json"
#define ROBOTS_TDM_PATH     2048u /* bytes of a location of tdmrep.json that are looked at */
