#include "store/lmdb/mmap_array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/file.h"

#define MMAP_ARRAY_FILE_MODE 0600

static MMapArrayError mmap_array_fail(MMapArray *marr, MMapArrayError code, const char *what,
                                      int error)
{
    char text[256];
    (void)snprintf(text, sizeof text, "mmap_array: %s%s%s", what, error != 0 ? ": " : "",
                   error != 0 ? strerror(error) : "");
    error_set(marr->error, (int)code, text);
    return code;
}

/* Element access is hot: the mutex of the error object is taken only when there is an error. */
static void start_clean(MMapArray *marr)
{
    if (marr->error->code != 0) {
        error_clean(marr->error);
    }
}

static bool size_of(size_t n_elements, size_t element_size, size_t *bytes)
{
    return !__builtin_mul_overflow(n_elements, element_size, bytes) && *bytes <= (size_t)INT64_MAX;
}

/* Makes the file at least bytes long, with its disk space. */
static int mmap_array_reserve(int fd, size_t bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return errno;
    }
    if (fallocate(fd, 0, 0, (off_t)bytes) == 0) {
        return 0;
    }
    int error = errno;
    if (error == EOPNOTSUPP || error == ENOSYS) {
        if ((size_t)st.st_size >= bytes) {
            return 0;
        }
        return ftruncate(fd, (off_t)bytes) == 0 ? 0 : errno;
    }
    /* fallocate may have allocated a part: give it back. */
    if (ftruncate(fd, st.st_size) != 0) {
        return errno;
    }
    return error;
}

static MMapArrayError mmap_array_open_file(MMapArray *marr)
{
    marr->fd = open(marr->path, O_CREAT | O_RDWR | O_CLOEXEC, MMAP_ARRAY_FILE_MODE);
    if (marr->fd < 0) {
        return mmap_array_fail(marr, mmap_array_error_file, marr->path, errno);
    }
    if (marr->n_elements == 0) {
        struct stat st;
        if (fstat(marr->fd, &st) != 0) {
            return mmap_array_fail(marr, mmap_array_error_file, marr->path, errno);
        }
        marr->n_elements = (size_t)st.st_size / marr->element_size;
    }
    return mmap_array_error_ok;
}

static MMapArrayError map(MMapArray *marr)
{
    if (marr->path != NULL) {
        MMapArrayError rc = mmap_array_open_file(marr);
        if (rc != mmap_array_error_ok) {
            return rc;
        }
    }
    if (marr->n_elements == 0) {
        marr->n_elements = 1;
    }
    size_t bytes = 0;
    if (!size_of(marr->n_elements, marr->element_size, &bytes)) {
        return mmap_array_fail(marr, mmap_array_error_internal, "the size overflows", 0);
    }
    if (marr->fd >= 0) {
        int error = mmap_array_reserve(marr->fd, bytes);
        if (error != 0) {
            return mmap_array_fail(marr, mmap_array_error_file, marr->path, error);
        }
    }
    int flags = marr->fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, marr->fd, 0);
    if (mem == MAP_FAILED) {
        return mmap_array_fail(
            marr, errno == ENOMEM ? mmap_array_error_memory : mmap_array_error_mmap, "mmap", errno);
    }
    marr->mem = mem;
    return mmap_array_error_ok;
}

static void mmap_array_dispose(MMapArray *marr)
{
    file_close_fd(marr->fd);
    error_delete(marr->error);
    free(marr->path);
    free(marr);
}

MMapArrayError mmap_array_new(MMapArray **marr, const char *path, size_t n_elements,
                              size_t element_size)
{
    if (marr == NULL) {
        return mmap_array_error_internal;
    }
    *marr = NULL;
    if (element_size == 0) {
        return mmap_array_error_internal;
    }
    MMapArray *array = calloc(1, sizeof *array);
    if (array == NULL) {
        return mmap_array_error_memory;
    }
    array->fd = -1;
    array->n_elements = n_elements;
    array->element_size = element_size;
    array->persist = MMAP_ARRAY_DEFAULT_PERSIST;
    array->error = error_new();
    array->path = path == NULL ? NULL : strdup(path);
    MMapArrayError rc = mmap_array_error_memory;
    if (array->error != NULL && (path == NULL || array->path != NULL)) {
        rc = map(array);
    }
    if (rc != mmap_array_error_ok) {
        mmap_array_dispose(array);
        return rc;
    }
    *marr = array;
    return mmap_array_error_ok;
}

MMapArrayError mmap_array_delete(MMapArray *marr)
{
    if (marr == NULL) {
        return mmap_array_error_ok;
    }
    start_clean(marr);
    if (marr->mem != NULL && munmap(marr->mem, marr->n_elements * marr->element_size) != 0) {
        return mmap_array_fail(marr, mmap_array_error_mmap, "munmap", errno);
    }
    marr->mem = NULL;
    if (marr->path != NULL && !marr->persist && remove(marr->path) != 0 && errno != ENOENT) {
        return mmap_array_fail(marr, mmap_array_error_file, marr->path, errno);
    }
    mmap_array_dispose(marr);
    return mmap_array_error_ok;
}

MMapArrayError mmap_array_advise(MMapArray *marr, int flag)
{
    start_clean(marr);
    if (madvise(marr->mem, marr->n_elements * marr->element_size, flag) != 0) {
        return mmap_array_fail(marr, mmap_array_error_mmap, "madvise", errno);
    }
    return mmap_array_error_ok;
}

MMapArrayError mmap_array_sync(MMapArray *marr, int flag)
{
    start_clean(marr);
    if (msync(marr->mem, marr->n_elements * marr->element_size, flag) != 0) {
        return mmap_array_fail(marr, mmap_array_error_mmap, "msync", errno);
    }
    return mmap_array_error_ok;
}

void *mmap_array_idx(MMapArray *marr, size_t n)
{
    start_clean(marr);
    if (n >= marr->n_elements) {
        (void)mmap_array_fail(marr, mmap_array_error_out_of_bounds, "past the last element", 0);
        return NULL;
    }
    return marr->mem + n * marr->element_size;
}

MMapArrayError mmap_array_set(MMapArray *marr, size_t n, const void *x)
{
    void *element = mmap_array_idx(marr, n);
    if (element == NULL) {
        return mmap_array_error_out_of_bounds;
    }
    memcpy(element, x, marr->element_size);
    return mmap_array_error_ok;
}

void mmap_array_zero(MMapArray *marr)
{
    memset(marr->mem, 0, marr->n_elements * marr->element_size);
}

/* What lies behind the array's end will be read as zeros when it grows, and without a touch of each
 * page: a file may be longer than its array was; anonymous memory keeps the rest of its last page
 * when it shrinks. */
static int clear_behind(MMapArray *marr, size_t bytes)
{
    if (marr->fd >= 0) {
        return ftruncate(marr->fd, (off_t)bytes) == 0 ? 0 : errno;
    }
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    memset(marr->mem + bytes, 0, (page_bytes - bytes % page_bytes) % page_bytes);
    return 0;
}

MMapArrayError mmap_array_resize(MMapArray *marr, size_t n_elements)
{
    start_clean(marr);
    n_elements = n_elements == 0 ? 1 : n_elements;
    size_t old_bytes = marr->n_elements * marr->element_size;
    size_t bytes = 0;
    if (!size_of(n_elements, marr->element_size, &bytes)) {
        return mmap_array_fail(marr, mmap_array_error_internal, "the size overflows", 0);
    }
    if (bytes > old_bytes) {
        int error = clear_behind(marr, old_bytes);
        if (error == 0 && marr->fd >= 0) {
            error = mmap_array_reserve(marr->fd, bytes);
        }
        if (error != 0) {
            return mmap_array_fail(marr, mmap_array_error_file, marr->path, error);
        }
    }
    void *mem = mremap(marr->mem, old_bytes, bytes, MREMAP_MAYMOVE);
    if (mem == MAP_FAILED) {
        return mmap_array_fail(marr,
                               errno == ENOMEM ? mmap_array_error_memory : mmap_array_error_mmap,
                               "mremap", errno);
    }
    marr->mem = mem;
    marr->n_elements = n_elements;
    if (bytes < old_bytes && marr->fd >= 0 && ftruncate(marr->fd, (off_t)bytes) != 0) {
        return mmap_array_fail(marr, mmap_array_error_file, marr->path, errno);
    }
    return mmap_array_error_ok;
}

void mmap_array_set_persist(MMapArray *marr, int value)
{
    marr->persist = value;
}
