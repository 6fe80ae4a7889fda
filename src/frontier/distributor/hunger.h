/* Hunger: how large the front must be, and when the distributor is told that it is too small.
 *
 * What: the front is the set of addresses that have work. The rule of BUbiNG is: when fetchers
 * could work and nothing is due although the front is as large as required, it must be larger. A
 * front that is smaller than required is a matter of the distributor. It is told once, and then
 * again only when another look can bring more: what is new by then reaches it as a message of its
 * own.
 *
 * Owns: its counters.
 * Threads: hunger_starve: todo. hunger_heard, hunger_fed: distributor. The counts: any.
 * Invariant: between a message and hunger_heard there is no second one.
 * Source: BUbiNG, Frontier.requiredFrontSize. */
#ifndef FRONTIER_DISTRIBUTOR_HUNGER_H
#define FRONTIER_DISTRIBUTOR_HUNGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/clock.h"

#define HUNGER_PAUSE_MS 10 /* after a look that left it hungry */

typedef struct Hunger {
    size_t step; /* how much the required front grows at once; constant, as most is */
    size_t most;
    atomic_size_t required;
    _Atomic uint64_t starved;     /* times a fetcher could have worked and nothing was due */
    _Atomic int64_t fed_until_ns; /* before it, a message would change nothing */
    atomic_bool is_told;
} Hunger;

void hunger_init(Hunger *hunger, size_t first, size_t step, size_t most);
/* Fetchers could work, and nothing is due. True: the distributor is to be told. */
bool hunger_starve(Hunger *hunger, size_t front, MonoTime now);
/* It was told. */
void hunger_heard(Hunger *hunger);
/* It has looked for hosts. is_hungry: the front was too small for it, too, and it has loaded what
 * there is. next_walk: when it may look again. */
void hunger_fed(Hunger *hunger, bool is_hungry, MonoTime next_walk, MonoTime now);
size_t hunger_required(const Hunger *hunger);

#endif
