/* Stay set: the places that a crawl stays in: the hosts, domains or directories of its seeds.
 *
 * What: scope.stay. A place is added for each seed, and for what a seed redirects to, as often as
 * it is redirected. Scheme and port do not count. A directory is a host and a path up to its last
 * slash; it holds what lies below it. A place is kept as a hash of 64 bits.
 * Owns: its tables. A table that is half full gets a successor of twice its size; none is freed
 * before the set is.
 * Threads: any may ask, without a lock; those who add take turns.
 * Errors: RESULT_MEMORY; RESULT_INVALID for what is no absolute URL.
 * Source: wget's --no-parent, Heritrix's SurtPrefixScope. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/result.h"

/* In the order of the words of scope.stay. */
/* clang-format off */
#define STAY_WORDS(WORD) \
    WORD(STAY_ANYWHERE, "anywhere") \
    WORD(STAY_HOST, "host") \
    WORD(STAY_DOMAIN, "domain") \
    WORD(STAY_DIRECTORY, "directory")
/* clang-format on */
typedef enum StayKind { WORDS_ENUM(STAY_WORDS) } StayKind;

typedef struct StaySet StaySet;

Result stay_set_new(StaySet **set, StayKind kind);
void stay_set_delete(StaySet *set); /* NULL is allowed */

/* Adds the place of a seed. */
Result stay_set_add(StaySet *set, const char *url, size_t length);
/* The same for what a seed redirects to, and remembers that it stands for a seed. */
Result stay_set_follow(StaySet *set, const char *url, size_t length);
/* Whether a URL is what a seed was redirected to. */
bool stay_set_stands_for_seed(const StaySet *set, const char *url, size_t length);
/* Whether a URL lies in one of the places. */
bool stay_set_has(const StaySet *set, const char *url, size_t length);
