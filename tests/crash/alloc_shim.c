/* A library to preload: makes one allocation fail.
 *
 *   gcc -shared -fPIC -O2 -D_GNU_SOURCE -o alloc_shim.so tests/crash/alloc_shim.c
 *   LD_PRELOAD=./alloc_shim.so ALLOC_FAIL=N ALLOC_COUNT=FILE program
 *
 *   ALLOC_FAIL=N      the N-th malloc, calloc, realloc or aligned_alloc (from 1) answers NULL
 *   ALLOC_COUNT=FILE  at exit: how many there were, in decimal
 *
 * The program must then report the failure or get over it, never crash, and leave its files whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The C library's own names for what is replaced here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static struct {
    atomic_long calls;
    long fail_at; /* 0: none */
} shim;

__attribute__((constructor)) static void start(void)
{
    const char *fail = getenv("ALLOC_FAIL");
    shim.fail_at = fail != NULL ? strtol(fail, NULL, 10) : 0;
    atomic_store(&shim.calls, 0);
}

__attribute__((destructor)) static void finish(void)
{
    const char *path = getenv("ALLOC_COUNT");
    char text[32];
    int n = snprintf(text, sizeof text, "%ld\n", atomic_load(&shim.calls));
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
    if (fd >= 0) {
        ssize_t written = write(fd, text, (size_t)n);
        (void)written; /* an empty file tells */
        (void)close(fd);
    }
}

static bool fails(void)
{
    if (atomic_fetch_add(&shim.calls, 1) + 1 != shim.fail_at) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}
