/* The patterns of URLs (trap_pattern) that are parked, as fetching threads see them.
 *
 * What: an immutable set. One more pattern is a new set, which replaces the old one (shared.h):
 * ingest (src/ingest/batch/trap_yield.h) calls trap_set_with and shared_replace, fetching threads
 * call trap_set_has.
 * Owns: its patterns.
 * Threads: immutable once made.
 * Errors: RESULT_MEMORY. */
#ifndef PARSE_TRAP_TRAP_SET_H
#define PARSE_TRAP_TRAP_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory/buffer.h"
#include "base/core/hash.h"
#include "parse/url/url.h"

typedef struct TrapSet TrapSet;

/* A new set with the patterns of set (NULL: none) and one more, given as hash_128 of its text. NULL
 * when memory is short. */
TrapSet *trap_set_with(const TrapSet *set, Hash128 pattern);
size_t trap_set_count(const TrapSet *set);
/* Whether the URL's pattern is among them; set may be NULL. text is scratch. */
bool trap_set_has(const TrapSet *set, const Url *url, Buffer *text);
void trap_set_delete(void *set);

#endif
