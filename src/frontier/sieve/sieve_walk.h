/* Sieve walk: which pages' links wait in the bucket files, and are all there.
 *
 * What: for `ragno verify`. A page that was crawled and has no list of links is one whose links are
 * lost, or still in the sieve; this tells them apart. Reads only, without an open sieve.
 * Errors: those of drum_walk. */
#ifndef FRONTIER_SIEVE_SIEVE_WALK_H
#define FRONTIER_SIEVE_SIEVE_WALK_H

#include "frontier/sieve/sieve_state.h"

/* Sets the bits of the pages whose links wait in the bucket files and are all there (n_pages bits,
 * zeroed by the caller). Reads only; recovery as drum_walk. */
Result sieve_walk(const char *directory, const SieveState *state, uint8_t *pages, uint64_t n_pages,
                  DrumRecovery *recovery);

#endif
