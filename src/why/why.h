/* Why: everything about one URL.
 *
 * What: how the URL was found, how the rules judge it, where it is now and what it waits for, what
 * each attempt came to, and what happens next. It is in one of these states:
 *
 *   unknown       no link to it was kept; the rules are applied to it as to a new link
 *   refused       it was found, and a rule keeps it from being requested
 *   queued        it is in the schedule, for the first time or again: how many URLs go before it
 *   in flight     it is being fetched now
 *   fetched       it was answered: when, with which status, and when it is visited again
 *   duplicate     it was answered, and its body is that of another page
 *   failed        it was tried and given up
 *   host dropped  its host was given up, or reached its limit, before it was fetched
 *
 * Owns: its texts.
 * Threads: one at a time; nothing is kept between two calls.
 * Errors: RESULT_INVALID (not a URL), RESULT_MEMORY, RESULT_DAMAGED, RESULT_IO. */
#pragma once

#include "render/render_table.h"
#include "store/tables/revisit_rows.h"
#include "why/why_judge.h"

/* Why trail: what the logs tell of a URL.
 *
 * What: attempts in crawl.log and refusals in skipped.log. Memory does not grow with the logs: the
 * latest WHY_ATTEMPTS are kept.
 * Owns: its texts.
 * Threads: one.
 * Errors: RESULT_MEMORY. A log that does not exist tells nothing. */

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

#define WHY_STATE_WORDS(WORD)                                                                      \
    WORD(WHY_UNKNOWN, "unknown")                                                                   \
    WORD(WHY_REFUSED, "refused")                                                                   \
    WORD(WHY_QUEUED, "queued")                                                                     \
    WORD(WHY_IN_FLIGHT, "in flight")                                                               \
    WORD(WHY_FETCHED, "fetched")                                                                   \
    WORD(WHY_DUPLICATE, "duplicate")                                                               \
    WORD(WHY_FAILED, "failed")                                                                     \
    WORD(WHY_HOST_DROPPED, "host dropped")
typedef enum WhyState { WORDS_ENUM(WHY_STATE_WORDS) WHY_STATES } WhyState;

const char *why_state_name(WhyState state);

/* Where answers come from. Everything is borrowed; a source that is NULL is not consulted. */
typedef struct WhySources {
    const char *directory;
    PageDB *db;
    HostRows *hosts;             /* may be NULL */
    GroupRows groups;            /* 0: none */
    Schedule *schedule;          /* may be NULL */
    const RevisitRows *revisits; /* may be NULL: schedule.mode = once */
    RenderTable *renders;        /* may be NULL: nothing was ever rendered */
    const Config *config;        /* may be NULL: nothing is judged */
    bool is_running;             /* a crawl is at work in the directory */
    /* Asks that crawl whether it is fetching a URL right now; NULL: nobody to ask. */
    bool (*is_in_flight)(const char *directory, const char *url);
    size_t log_bytes;    /* of the logs that are read, from their end; 0 = all, rotated ones too */
    const StaySet *stay; /* where the seeds are; NULL unless scope.stay is set */
    WallTime now;
} WhySources;

/* A page on the way from a seed. */
typedef struct WhyStep {
    char *url;
    char hop; /* how it was found from the one before: L R E S M */
} WhyStep;

#define WHY_STEPS      64u
#define WHY_AHEAD_MOST 100000u /* URLs of its level that are counted one by one */

typedef struct Why {
    char *url;    /* as it is stored */
    char *asked;  /* as it was asked for, when that is another spelling; NULL */
    char *origin; /* of its host */
    WhyState state;
    bool is_known;
    PageRef page;            /* when it is known; its url is not set */
    WhyStep path[WHY_STEPS]; /* seed first, itself last */
    size_t n_path;
    bool path_is_cut; /* it has more steps at its front */

    bool has_host;
    HostRecord host;
    uint64_t host_queued;
    int64_t host_delay_ms; /* between two fetches; -1 = not known */
    int64_t ip_delay_ms;   /* the same, of its address, which other hosts may have, too */
    const char *bound_by;  /* which of the delays decides; NULL = not known */
    int64_t opens_ms;      /* wall time; it is outside its hours until then; 0: it is not */

    bool is_queued;
    uint64_t ahead;      /* URLs of its host that go first, */
    bool ahead_is_more;  /* or more */
    int64_t earliest_ms; /* wall time; it cannot be fetched before: 0 = not known */

    bool is_revisited;
    double revisit_s; /* when, seconds since 1970; below REVISIT_VIRTUAL_MAX: not met yet */
    double revisit_interval_s;
    bool is_rendered; /* or is to be */
    RenderJob render; /* then */

    WhyJudgements judged; /* now */
    WhyTrail trail;
    bool is_running;
    bool is_stored; /* in the WARC files: */
    char file[256];
    uint64_t offset;
    uint64_t length;
} Why;

/* Finds out everything about a URL, which may be written as in an address bar. The Why is to be
 * destroyed in any case. */
Result why_find(Why *why, const WhySources *sources, const char *url, Buffer *error);
void why_destroy(Why *why);
