/* The large arrays of a computation of scores, and how a computation ends soon.
 *
 * What: a computation that is stopped returns within a millisecond or two of CPU time, however
 * large the graph is. So it looks at the flag every RANK_PIECE elements, or more often where
 * elements may be the first in their pages of memory, each of which costs microseconds. And it does
 * not give its memory back, since that alone takes a quarter of a second for four gigabytes. What
 * it leaves, threads included, is freed when the next computation begins or its owner is deleted:
 * page_rank.h, hits.h, and the scorers for what they read from the database.
 * Owns: the arrays that were made with it.
 * Threads: the one that computes. */
#ifndef STORE_RANK_RANK_MEMORY_H
#define STORE_RANK_RANK_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "store/lmdb/mmap_array.h"

#define RANK_MEMORY_ARRAYS 24u
#define RANK_PIECE         256u /* elements between two looks at the stop flag, or the lock */

typedef struct RankMemory {
    MMapArray *arrays[RANK_MEMORY_ARRAYS]; /* NULL: free */
} RankMemory;

/* Makes an array in anonymous memory, of zeros. NULL without memory. */
MMapArray *rank_memory_new(RankMemory *memory, size_t n_elements, size_t element_size);
/* Frees one array (NULL is allowed) or all, piece by piece. False when *stop became true (stop may
 * be NULL): the rest is not freed yet. */
bool rank_memory_drop(RankMemory *memory, MMapArray *array, const atomic_bool *stop);
bool rank_memory_free(RankMemory *memory, const atomic_bool *stop);

#ifndef __cplusplus /* the library's own; C++ has other atomic calls */
static inline bool rank_is_stopped(const atomic_bool *stop)
{
    return stop != NULL && atomic_load_explicit(stop, memory_order_relaxed);
}
#endif

#endif
