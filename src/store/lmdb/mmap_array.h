/* An array of equal elements in a memory-mapped file, or in anonymous memory.
 *
 * What: PageRank, HITS and page_db_get_scores keep one number for each page in it, by index.
 * Growing may move the array, so pointers from mmap_array_idx are valid until the next resize. An
 * array in a file reserves its disk space when it is made or grown, so that a full disk is an error
 * of that call and not a SIGBUS later (file systems without fallocate get a sparse file). A file
 * that is longer than asked for is never cut by opening it.
 * Owns: the mapping and the descriptor; the file stays unless it is told otherwise.
 * Threads: one writer, or any number of readers of elements; resize and delete are exclusive.
 * Errors: the returned code, and `error` has the words; each call that can fail starts clean.
 * Source: seeds 000 and 003, "MMapArray". */
#ifndef STORE_LMDB_MMAP_ARRAY_H
#define STORE_LMDB_MMAP_ARRAY_H

#include <stddef.h>

#include "base/core/error.h"

#define MMAP_ARRAY_DEFAULT_PERSIST 0

typedef enum MMapArrayError {
    mmap_array_error_ok = 0,   /* no error */
    mmap_array_error_memory,   /* error allocating memory */
    mmap_array_error_internal, /* unexpected error: a size that overflows, a NULL argument */
    mmap_array_error_mmap,     /* mmap, munmap, mremap, madvise or msync failed */
    mmap_array_error_file,     /* the file cannot be opened, sized or removed (disk full, ...) */
    mmap_array_error_out_of_bounds /* an element past the end was asked for */
} MMapArrayError;

typedef struct MMapArray {
    char *mem;           /* the first element */
    int fd;              /* -1 for anonymous memory */
    char *path;          /* owned copy; NULL for anonymous memory */
    size_t n_elements;   /* at least 1 */
    size_t element_size; /* bytes, at least 1 */
    Error *error;        /* owned */
    int persist;         /* if true the file outlives mmap_array_delete; default 0 */
} MMapArray;

/* Makes an array of n_elements elements of element_size bytes. path is copied; NULL means anonymous
 * memory. An existing file gives its content; what it lacks is zero. n_elements 0: as many as the
 * file holds, at least one. On failure *marr is NULL and nothing is left behind but a file that may
 * have been created. */
MMapArrayError mmap_array_new(MMapArray **marr, const char *path, size_t n_elements,
                              size_t element_size);
/* Unmaps, closes and, unless persist, removes the file. When unmapping fails the array is kept and
 * the code returned; NULL is accepted. */
MMapArrayError mmap_array_delete(MMapArray *marr);

/* madvise with any of its flags. */
MMapArrayError mmap_array_advise(MMapArray *marr, int flag);
/* msync with any of its flags. */
MMapArrayError mmap_array_sync(MMapArray *marr, int flag);
/* The n-th element, or NULL (and out_of_bounds in error). */
void *mmap_array_idx(MMapArray *marr, size_t n);
/* Copies *x to the n-th element. */
MMapArrayError mmap_array_set(MMapArray *marr, size_t n, const void *x);
/* All bytes zero. */
void mmap_array_zero(MMapArray *marr);
/* Another number of elements (0 counts as 1); new ones are zero. On failure the array is as before.
 */
MMapArrayError mmap_array_resize(MMapArray *marr, size_t n_elements);
/* Sets persist. */
void mmap_array_set_persist(MMapArray *marr, int value);

#endif
