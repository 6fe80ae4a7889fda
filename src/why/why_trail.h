/* Why trail: what the logs tell of a URL.
 *
 * What: attempts in crawl.log and refusals in skipped.log. Memory does not grow with the logs: the
 * latest WHY_ATTEMPTS are kept.
 * Owns: its texts.
 * Threads: one.
 * Errors: RESULT_MEMORY. A log that does not exist tells nothing. */
#ifndef WHY_WHY_TRAIL_H
#define WHY_WHY_TRAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/clock.h"
#include "base/core/result.h"

#define WHY_ATTEMPTS 20u

typedef struct WhyAttempt {
    WallTime start;
    int64_t duration_ms;
    int status;
    int64_t bytes;      /* -1: nothing was asked */
    int64_t retry;      /* failures in a row; -1 = none */
    int64_t robots;     /* version; -1 = not said */
    char *error;        /* class, or NULL */
    char *rule;         /* that refused it, or NULL */
    char *duplicate_of; /* or NULL */
    char *near;         /* or NULL */
    bool truncated;
    bool dropped_host;
} WhyAttempt;

typedef struct WhyTrail {
    WhyAttempt attempts[WHY_ATTEMPTS]; /* the latest ones, oldest first */
    size_t n;
    uint64_t n_all;
    WhyAttempt host; /* the last trouble of its host: robots.txt or its name; start 0 = none */
    bool host_is_robots;
    bool is_skipped; /* skipped.log has it */
    int skipped_status;
    char *skipped_rule;
    char *skipped_on; /* the page it was found on, or NULL */
    bool is_partial;  /* only the ends of the logs were read */
} WhyTrail;

/* Reads DIR/crawl.log and DIR/skipped.log for what they say of url, whose host is origin. bytes: as
 * WhySources.log_bytes. To be destroyed in any case. */
Result why_trail_read(WhyTrail *trail, const char *directory, const char *url, const char *origin,
                      size_t bytes);
void why_trail_destroy(WhyTrail *trail);

#endif
