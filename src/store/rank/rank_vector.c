#include "store/rank/rank_vector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rank vector ---- */

#define MESSAGE_BYTES 160
#define RANK_PIECE    4096u /* elements that are published under the lock at once */

Result rank_vector_open(MMapArray **vector, char **path, const char *dir, const char *name,
                        size_t n)
{
    if (dir != NULL && asprintf(path, "%s/%s", dir, name) < 0) {
        *path = NULL;
        return RESULT_MEMORY;
    }
    size_t held = *path == NULL ? n : 0; /* 0: as many as the file has */
    if (mmap_array_new(vector, *path, held, sizeof(float)) != mmap_array_error_ok) {
        *vector = NULL;
        return RESULT_IO;
    }
    return rank_vector_reserve(*vector, n);
}

bool rank_vector_close(MMapArray *vector, int persist)
{
    if (vector == NULL) {
        return true;
    }
    vector->persist = persist;
    return mmap_array_delete(vector) == mmap_array_error_ok;
}

Result rank_vector_reserve(MMapArray *vector, size_t n)
{
    if (n <= vector->n_elements) {
        return RESULT_OK;
    }
    return mmap_array_resize(vector, n) == mmap_array_error_ok ? RESULT_OK : RESULT_MEMORY;
}

Result rank_vector_arrange(const MMapArray *vector, const LinkGraph *graph, double **out,
                           double *total)
{
    *total = 0.0;
    *out = malloc(((size_t)graph->n_pages + 1) * sizeof **out);
    if (*out == NULL) {
        return RESULT_MEMORY;
    }
    const float *values = rank_vector_floats(vector);
    for (uint32_t p = 0; p < graph->n_pages; p++) {
        uint32_t page = graph->page_at[p];
        double value = page < vector->n_elements ? (double)values[page] : 0.0;
        (*out)[p] = isfinite(value) && value > 0.0 ? value : 0.0;
        *total += (*out)[p];
    }
    if (!(*total > 0.0)) {
        free(*out);
        *out = NULL;
    }
    return RESULT_OK;
}

void rank_vector_scale(double *values, size_t n, double factor)
{
    for (size_t i = 0; i < n; i++) {
        values[i] *= factor;
    }
}

/* ---- Around the sweeps ---- */

int rank_fail(Error *error, int code, const char *who, const char *what)
{
    char text[MESSAGE_BYTES];
    (void)snprintf(text, sizeof text, "%s: %s", who, what);
    error_set(error, code, text);
    return code;
}

int rank_code(Result rc)
{
    if (rc == RESULT_MEMORY) {
        return RANK_MEMORY;
    }
    return rc == RESULT_CLOSED ? RANK_STOPPED : RANK_INTERNAL;
}

int rank_read_graph(LinkGraph **graph, size_t n_pages, void *stream, LinkStreamNextFunc *next,
                    LinkStreamResetFunc *reset, const atomic_bool *stop, Error *error,
                    const char *who)
{
    *graph = NULL;
    error_clean(error);
    if (next == NULL || reset == NULL) {
        return rank_fail(error, RANK_INTERNAL, who, "a function of the link stream is NULL");
    }
    Result rc = link_graph_build(graph, n_pages, stream, next, reset, stop);
    if (rc == RESULT_OK) {
        return RANK_OK;
    }
    if (rc == RESULT_MEMORY) {
        return rank_fail(error, RANK_MEMORY, who, "no memory for the links");
    }
    if (rc == RESULT_CLOSED) {
        return rank_fail(error, RANK_STOPPED, who, "stopped");
    }
    return rank_fail(error, RANK_INTERNAL, who,
                     rc == RESULT_LIMIT ? "a page index is out of range"
                                        : "the link stream failed");
}

int rank_reserve(Mutex *mutex, MMapArray *const *vectors, size_t n_vectors, size_t n,
                 size_t *n_pages, Error *error, const char *who)
{
    size_t done = 0;
    mutex_lock(mutex);
    while (done < n_vectors && rank_vector_reserve(vectors[done], n) == RESULT_OK) {
        done++;
    }
    bool is_done = done == n_vectors;
    *n_pages = is_done ? n : *n_pages;
    mutex_unlock(mutex);
    return is_done ? RANK_OK : rank_fail(error, RANK_MEMORY, who, "no room for the arrays");
}

void rank_clear(Mutex *mutex, MMapArray *vector, size_t n)
{
    float *to = rank_vector_floats(vector);
    for (size_t first = 0; first < n; first += RANK_PIECE) {
        size_t piece = n - first < RANK_PIECE ? n - first : RANK_PIECE;
        mutex_lock(mutex);
        memset(to + first, 0, piece * sizeof *to);
        mutex_unlock(mutex);
    }
}

void rank_publish(Mutex *mutex, MMapArray *vector, const double *values, MMapArray *old,
                  const float *before, const uint32_t *page_of, size_t n)
{
    float *to = rank_vector_floats(vector);
    float *was = rank_vector_floats(old);
    for (size_t first = 0; first < n; first += RANK_PIECE) {
        size_t end = first + RANK_PIECE < n ? first + RANK_PIECE : n;
        mutex_lock(mutex);
        for (size_t i = first; i < end; i++) {
            was[page_of[i]] = before[i];
            to[page_of[i]] = (float)values[i];
        }
        mutex_unlock(mutex);
    }
}

int rank_end(int code, Error *error, const char *who)
{
    if (code == RANK_PRECISION) {
        (void)rank_fail(error, code, who, "precision was not reached in max_loops");
    } else if (code == RANK_STOPPED) {
        (void)rank_fail(error, code, who, "stopped");
    }
    return code;
}

int rank_get(const Mutex *mutex, size_t n_pages, const MMapArray *old, const MMapArray *new,
             size_t idx, float *value_old, float *value_new, Error *error, const char *who)
{
    Mutex *lock = (Mutex *)(uintptr_t)mutex;
    const char *what = "an argument is NULL";
    if (value_old != NULL && value_new != NULL) {
        *value_old = 0.0f;
        *value_new = 0.0f;
        what = "no page has that index; see the call that sets the number of pages";
        mutex_lock(lock);
        if (idx < n_pages) {
            *value_old = rank_vector_floats(old)[idx];
            *value_new = rank_vector_floats(new)[idx];
            what = NULL;
        }
        mutex_unlock(lock);
    }
    if (what == NULL) {
        return RANK_OK;
    }
    error_clean(error);
    return rank_fail(error, RANK_INTERNAL, who, what);
}
