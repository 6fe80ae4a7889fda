/* Turns: whose pages a browser sees next, so that pages that fight it do not hold up the others.
 *
 *   turns_begin --> [trial: a tenth of the CPU time] --> settled: CHEAP
 *                        '--> it needs more: the page is put back, and has the whole bounds in a
 *                             later turn
 *
 * What: a host has a credit, by what its pages needed. A page is dear when its host has less than
 * none, or none and the page's trial was not enough; where there is credit it has another turn at
 * once. What needs more than a trial even then takes all of the credit. Others
 * go before dear ones, which have a twentieth of the time that has passed, saved up before it is
 * spent, until nothing else is left to do. So a hostile page costs the others a trial, and a host
 * of hostile pages costs them a few trials.
 * Owns: what it has noted, for the life of the process; beyond TURNS_MOST it begins anew.
 * Threads: those of the desk, under its mutex. */
#ifndef RENDER_DESK_TURNS_H
#define RENDER_DESK_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/clock.h"
#include "base/memory/map.h"

#define TURNS_MOST  100000u /* hosts, and pages, that are remembered */
#define TURNS_SHARE 20      /* dear pages have one part of so many of the time */

typedef struct Turns {
    Map hosts;       /* by id: how many of its pages were cheap rather than dear */
    Map pages;       /* by index: those whose trial was not enough */
    unsigned n_dear; /* that a browser has */
    int64_t most_ms; /* that one of them takes, about */
    int64_t dear_ms; /* that they, and trials that were not enough, have taken */
    bool has_begun;
    MonoTime begun; /* the first page of all */
} Turns;

/* A page while a browser has it. */
typedef struct Turn {
    uint32_t host;
    uint64_t page;
    bool is_dear;
    bool is_trial; /* else it has the whole bounds */
    MonoTime begun;
} Turn;

typedef enum TurnEnd {
    TURN_UNSEEN, /* no browser has seen it, or it was not to blame */
    TURN_CHEAP,  /* it settled, within what a trial has */
    TURN_DEAR
} TurnEnd;

/* most_ms: what one page has. */
void turns_init(Turns *turns, int64_t most_ms);
void turns_destroy(Turns *turns);
bool turns_is_dear(const Turns *turns, uint32_t host, uint64_t page);
/* Whether a dear page may begin beside others that wait. */
bool turns_may_begin_dear(const Turns *turns, MonoTime now);
Turn turns_begin(Turns *turns, uint32_t host, uint64_t page, MonoTime now);
void turns_end(Turns *turns, const Turn *turn, TurnEnd end, MonoTime now);

#endif
