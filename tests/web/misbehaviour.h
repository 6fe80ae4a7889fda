/* The catalogue of misbehaviour: one table, one row per way in which a server can be bad.
 *
 * A host NAME.SUFFIX (or NAME-N.SUFFIX: N in 0..9999 gives more hosts of the kind) has an address
 * of its own and behaves as its row says: TRICK_PAGES   on every path but /robots.txt (which allows
 * everything) TRICK_ROBOTS  on /robots.txt only; the rest is a small, good site TRICK_SITE    on
 * every path, /robots.txt included TRICK_DNS     in DNS only; the rest is a small, good site `web
 * --catalogue` prints the table. Adding a row: misbehaviour.c, in alphabetical order within its
 * kind. All functions here are pure but for the visit count they are given. */
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
} Misbehaviour;

#define MISBEHAVIOURS_MAX 200

/* The row of that name (case ignored), or NULL. */
const Misbehaviour *misbehaviour_find(const char *name, size_t length);
uint32_t misbehaviour_index(const Misbehaviour *row);
/* Prints the table to standard output. */
void misbehaviour_print(const char *suffix);
#endif
