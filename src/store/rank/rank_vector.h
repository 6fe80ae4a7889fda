/* Rank vector: what PageRank and HITS share.
 *
 * What: float arrays by page index in memory-mapped files, and their arrangement in the order of a
 * link graph; and what goes on before and behind the sweeps.
 * Owns: nothing; the arrays are the caller's.
 * Threads: the one that computes.
 * Errors: RESULT_MEMORY, RESULT_IO. */
#pragma once

#include <stdatomic.h>

#include "base/thread/mutex.h"
#include "store/rank/link_graph.h"

/* Opens a float array of at least n elements in the file dir/name, whose path is malloc'd; an
 * existing file gives its content, a longer one all of it. dir NULL: anonymous, and *path is NULL.
 * RESULT_IO, RESULT_MEMORY. */
Result rank_vector_open(MMapArray **vector, char **path, const char *dir, const char *name,
                        size_t n);
/* NULL is allowed. False when the file could not be closed or removed. */
bool rank_vector_close(MMapArray *vector, int persist);
/* Makes room for n elements; never shrinks. RESULT_MEMORY. */
Result rank_vector_reserve(MMapArray *vector, size_t n);

static inline float *rank_vector_floats(const MMapArray *vector)
{
    return (float *)(void *)vector->mem;
}

/* The values by position of graph, in memory that the caller frees: negative ones and no numbers
 * become 0, pages behind the end have 0. *total = their sum; when it is 0, *out is NULL.
 * RESULT_MEMORY. */
Result rank_vector_arrange(const MMapArray *vector, const LinkGraph *graph, double **out,
                           double *total);
/* Multiplies n numbers by factor. */
void rank_vector_scale(double *values, size_t n, double factor);

/* ---- What the two computations have in common around their sweeps ---- */

/* PageRankError and HitsError have the same values. */
enum { RANK_OK, RANK_MEMORY, RANK_INTERNAL, RANK_PRECISION, RANK_STOPPED };

/* Of an error: RANK_MEMORY, RANK_STOPPED, RANK_INTERNAL. */
int rank_code(Result rc);
/* Sets the error "who: what" and returns the code. */
int rank_fail(Error *error, int code, const char *who, const char *what);
/* Reads the link stream into a graph that the caller deletes. A code; the error is set. */
int rank_read_graph(LinkGraph **graph, size_t n_pages, void *stream, LinkStreamNextFunc *next,
                    LinkStreamResetFunc *reset, const atomic_bool *stop, Error *error,
                    const char *who);
/* Makes room for n elements in each of the vectors, under the lock, and sets *n_pages. RANK_MEMORY;
 * the error is set. */
int rank_reserve(Mutex *mutex, MMapArray *const *vectors, size_t n_vectors, size_t n,
                 size_t *n_pages, Error *error, const char *who);
/* What readers see changes in pieces under the lock, so that they never wait long. The first n
 * elements become 0; */
void rank_clear(Mutex *mutex, MMapArray *vector, size_t n);
/* pages page_of[0 .. n) get the values, and in the other vector those of a round before. */
void rank_publish(Mutex *mutex, MMapArray *vector, const double *values, MMapArray *old,
                  const float *before, const uint32_t *page_of, size_t n);
/* Tells of a precision that was not reached and of a stop. Returns the code. */
int rank_end(int code, Error *error, const char *who);
/* The values of a page in two vectors; mutex is only locked. */
int rank_get(const Mutex *mutex, size_t n_pages, const MMapArray *old, const MMapArray *new,
             size_t idx, float *value_old, float *value_new, Error *error, const char *who);
