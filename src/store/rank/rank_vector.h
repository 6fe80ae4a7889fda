/* Rank vector: what PageRank and HITS share.
 *
 * What: float arrays by page index in memory-mapped files, and their arrangement in the order of a
 * link graph.
 * Owns: nothing; the arrays are the caller's.
 * Threads: the one that computes.
 * Errors: RESULT_MEMORY, RESULT_IO, RESULT_CLOSED when it was stopped. */
#ifndef STORE_RANK_RANK_VECTOR_H
#define STORE_RANK_RANK_VECTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
#include "store/lmdb/mmap_array.h"
#include "store/rank/link_graph.h"

/* A few threads that do one piece of work in equal parts, again and again.
 *
 * What: for the sweeps of PageRank and HITS. rank_team_run hands the same function to every member
 * (the caller is one of them), each with a part number of its own, and returns when all are done.
 * Between runs the others sleep on a condition. When threads cannot be had, the team is smaller,
 * down to the caller alone.
 * Owns: its threads.
 * Threads: a team belongs to one caller; the function may not use the team. */

#define RANK_TEAM_MAX 16u

typedef struct RankTeam RankTeam;

/* part counts from 0 to parts - 1. */
typedef void RankTeamFunc(void *context, unsigned part, unsigned parts);

/* size: members, the caller included; cut to 1..RANK_TEAM_MAX. NULL: out of memory. */
RankTeam *rank_team_new(unsigned size);
/* Ends and joins the threads. NULL is allowed. */
void rank_team_delete(RankTeam *team);

/* How many parts a run has. */
unsigned rank_team_size(const RankTeam *team);
void rank_team_run(RankTeam *team, RankTeamFunc *function, void *context);

/* "dir/name", malloc'd, or NULL when memory is short; NULL also for a dir that is NULL. */
char *rank_vector_path(const char *dir, const char *name);

/* Opens a float array of at least n elements; an existing file gives its content, a longer one all
 * of it. path NULL: anonymous. RESULT_IO. */
Result rank_vector_open(MMapArray **vector, const char *path, size_t n);
/* NULL is allowed. False when the file could not be closed or removed. */
bool rank_vector_close(MMapArray *vector, int persist);
/* Makes room for n elements; never shrinks. RESULT_MEMORY. */
Result rank_vector_reserve(MMapArray *vector, size_t n);

static inline float *rank_vector_floats(const MMapArray *vector)
{
    return (float *)(void *)vector->mem;
}

/* The values by position of graph, in memory: negative ones and no numbers become 0, pages behind
 * the end have 0. *total = their sum; when it is 0, *out is NULL. RESULT_MEMORY; RESULT_CLOSED:
 * *stop (NULL: none) became true. */
Result rank_vector_arrange(RankMemory *memory, const MMapArray *vector, const LinkGraph *graph,
                           const atomic_bool *stop, double **out, double *total);

/* n numbers in memory, 0; NULL without memory. */
double *rank_vector_doubles(RankMemory *memory, size_t n);
/* The same of floats. */
float *rank_vector_singles(RankMemory *memory, size_t n);

/* Multiplies n numbers by factor; not all of them when *stop becomes true. */
void rank_vector_scale(double *values, size_t n, double factor, const atomic_bool *stop);

/* link_graph_gather for a page with more links than a slice has: looks at the flag on the way. */
double rank_vector_gather(const double *value, const uint32_t *in, uint32_t degree,
                          const atomic_bool *stop);

/* The largest of n numbers, none of which is negative. */
double rank_vector_largest(const double *values, unsigned n);

/* How many threads sweep a graph of n links; asked: a number that was set, 0 for none. */
unsigned rank_vector_threads(unsigned asked, uint64_t n_links);

#endif
