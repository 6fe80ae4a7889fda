#include "parse/trap/trap_set.h"

#include <stdlib.h>
#include <string.h>

#include "parse/trap/trap.h"

struct TrapSet {
    size_t n;
    Hash128 patterns[]; /* ascending */
};

/* The place of the first pattern that is not before this one. */
static size_t trap_set_place_of(const TrapSet *set, Hash128 pattern)
{
    size_t first = 0;
    size_t behind = trap_set_count(set);
    while (first < behind) {
        size_t middle = first + (behind - first) / 2;
        const Hash128 *there = &set->patterns[middle];
        bool before =
            there->high < pattern.high || (there->high == pattern.high && there->low < pattern.low);
        first = before ? middle + 1 : first;
        behind = before ? behind : middle;
    }
    return first;
}

TrapSet *trap_set_with(const TrapSet *set, Hash128 pattern)
{
    size_t n = trap_set_count(set);
    size_t place = trap_set_place_of(set, pattern);
    TrapSet *more = malloc(sizeof *more + (n + 1) * sizeof *more->patterns);
    if (more == NULL) {
        return NULL;
    }
    if (n > 0) {
        memcpy(more->patterns, set->patterns, place * sizeof pattern);
        memcpy(more->patterns + place + 1, set->patterns + place, (n - place) * sizeof pattern);
    }
    more->patterns[place] = pattern;
    more->n = n + 1;
    return more;
}

size_t trap_set_count(const TrapSet *set)
{
    return set == NULL ? 0 : set->n;
}

bool trap_set_has(const TrapSet *set, const Url *url, Buffer *text)
{
    if (set == NULL) {
        return false;
    }
    buffer_reset(text);
    if (trap_pattern(url, text) != RESULT_OK) {
        return false;
    }
    Hash128 pattern = hash_128(text->data, text->length);
    size_t place = trap_set_place_of(set, pattern);
    return place < set->n && set->patterns[place].high == pattern.high &&
           set->patterns[place].low == pattern.low;
}

void trap_set_delete(void *set)
{
    free(set);
}
