/* The catalogue of misbehaviour: one table, one row per way in which a server can be bad.
 *
 * A host NAME.SUFFIX (or NAME-N.SUFFIX: N in 0..9999 gives more hosts of the kind) has an address
 * of its own and behaves as its row says:
 *   TRICK_PAGES   on every path but /robots.txt (which allows everything)
 *   TRICK_ROBOTS  on /robots.txt only; the rest is a small, good site
 *   TRICK_SITE    on every path, /robots.txt included
 *   TRICK_DNS     in DNS only; the rest is a small, good site
 * `web --catalogue` prints the table. Adding a row: misbehaviour.c, in alphabetical order within
 * its kind. All functions here are pure but for the visit count they are given.
 *
 * Each row has the time within which a good crawler is done with such a host, counted from when it
 * first asks for it: a sum of "N WORD", each of which is what the crawler is configured to.
 *   turn        a request that is answered at once: politeness.host_delay
 *   level       what limits leave of an endless site: a turn for each level of limits.max_depth
 *   failure     a request that fails at once, with all tries of politeness.retry
 *   first-byte  one that fails by fetch.first_byte_timeout, with all tries
 *   slow        one that is broken off after fetch.slow_time, with all tries
 *   total       one that ends by fetch.total_timeout, and what came is kept
 *   busy        one that is refused with Retry-After, with all tries
 *   rest        the rests of a host that does not recover: politeness.park_after
 *   name        a name without an address, with all tries of DNS and of politeness.retry */
#ifndef TESTS_WEB_MISBEHAVIOUR_H
#define TESTS_WEB_MISBEHAVIOUR_H

#include <stddef.h>
#include <stdint.h>

#include "trick.h"

typedef enum TrickKind { TRICK_PAGES, TRICK_ROBOTS, TRICK_SITE, TRICK_DNS } TrickKind;

typedef struct Misbehaviour {
    const char *name;
    TrickKind kind;
    void (*reply)(const TrickCall *call, Reply *reply); /* NULL: TRICK_DNS */
    const char *does;
    const char *crawler; /* what a good crawler does about it */
    const char *within;  /* in which time it is done with it: see above */
} Misbehaviour;

#define MISBEHAVIOURS_MAX 200

/* The row of that name (case ignored), or NULL. */
const Misbehaviour *misbehaviour_find(const char *name, size_t length);
uint32_t misbehaviour_index(const Misbehaviour *row);
/* Prints the table to standard output. */
void misbehaviour_print(const char *suffix);
#endif
