/* Allocations that fail when the test says so. Sanitizers have their own: under them none fails.
 * For one translation unit of a program; what libraries allocate counts, too. */
#ifndef TESTS_UNIT_ALLOC_FIXTURE_H
#define TESTS_UNIT_ALLOC_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ALLOC_CAN_FAIL 1
static long alloc_fail_at;  /* the alloc_fail_at-th allocation from now fails; 0 = none */
static size_t alloc_counts; /* of at least as many bytes; smaller ones are not counted */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *old, size_t size);

static bool alloc_fails(size_t size)
{
    return alloc_fail_at > 0 && size >= alloc_counts && --alloc_fail_at == 0;
}

void *malloc(size_t size)
{
    return alloc_fails(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return alloc_fails(n * size) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return alloc_fails(size) ? NULL : __libc_realloc(old, size);
}
#endif

#endif
