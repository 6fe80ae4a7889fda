/* A copy of exactly its size, so that the sanitizer sees one byte too many. For fuzz targets. */
#ifndef TESTS_FUZZ_EXACT_COPY_H
#define TESTS_FUZZ_EXACT_COPY_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The caller frees it. */
static inline void *exact_copy(const void *data, size_t size)
{
    void *copy = malloc(size == 0 ? 1 : size);
    assert(copy != NULL);
    memcpy(copy, data, size);
    return copy;
}

#endif
