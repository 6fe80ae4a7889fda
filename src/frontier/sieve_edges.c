#include "frontier/sieve_edges.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/temporary_file.h"
#include "store/page_links.h"

#define FIRST        ((size_t)1 << 10) /* edges */
#define IN_MEMORY    ((size_t)1 << 17)
#define FILE_STEP    ((size_t)1 << 20)
#define TARGET_BITS  48
#define TARGET_MASK  ((UINT64_C(1) << TARGET_BITS) - 1)
#define SAME_BIT     (UINT64_C(1) << (TARGET_BITS + KIND_BITS))
#define LOW_BITS     7
#define KIND_BITS    PAGE_LINKS_KIND_BITS
#define KIND_MASK    ((UINT64_C(1) << KIND_BITS) - 1)
#define LOW_MASK     ((UINT32_C(1) << LOW_BITS) - 1)
#define HIGH_BITS    16
#define NUMBER_SHIFT (TARGET_BITS + KIND_BITS + 1)
#define COUNT_LEAST  (TARGET_MASK - SIEVE_MAX_LINKS) /* targets from here on are counts */
#define DIGIT_BITS   8
#define DIGITS       (1u << DIGIT_BITS)
#define DIGIT_NUMBER (64 / DIGIT_BITS)

/* ---- memory
 * ------------------------------------------------------------------------------------------- */

/* Makes the file so long and maps it; old is the mapping of old_bytes so far, or NULL. */
static Result map_file(int fd, SieveEdge *old, size_t old_bytes, size_t bytes, SieveEdge **edges)
{
    /* Reserved, so that a full disk is an error here and not a signal later. */
    int error = posix_fallocate(fd, 0, (off_t)bytes);
    if (error != 0) {
        return result_of_errno(error);
    }
    void *map = old == NULL ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                            : mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);
    if (map == MAP_FAILED) {
        return result_of_errno(errno);
    }
    *edges = map;
    return RESULT_OK;
}

static void release(SieveEdges *edges)
{
    if (edges->fd < 0) {
        free(edges->edges);
    } else {
        if (edges->edges != NULL) {
            (void)munmap(edges->edges, edges->capacity * sizeof(SieveEdge));
        }
        (void)close(edges->fd);
    }
}

static Result reserve_memory(SieveEdges *edges, size_t capacity)
{
    SieveEdge *more = realloc(edges->edges, capacity * sizeof(SieveEdge));
    if (more == NULL) {
        return RESULT_MEMORY;
    }
    edges->edges = more;
    edges->capacity = capacity;
    return RESULT_OK;
}

/* From memory to a file. */
static Result move_to_file(SieveEdges *edges, size_t capacity)
{
    int fd = -1;
    Result rc = temporary_file_open(AT_FDCWD, edges->directory, &fd);
    if (rc != RESULT_OK) {
        return rc;
    }
    SieveEdge *mapped = NULL;
    rc = map_file(fd, NULL, 0, capacity * sizeof(SieveEdge), &mapped);
    if (mapped == NULL) {
        (void)close(fd);
        return rc;
    }
    if (edges->n > 0) {
        memcpy(mapped, edges->edges, edges->n * sizeof(SieveEdge));
    }
    free(edges->edges);
    edges->edges = mapped;
    edges->capacity = capacity;
    edges->fd = fd;
    return RESULT_OK;
}

/* Room for capacity edges: in memory, or in a file. */
static Result reserve(SieveEdges *edges, size_t capacity)
{
    if (capacity <= IN_MEMORY) {
        return reserve_memory(edges, capacity);
    }
    if (edges->fd < 0) {
        return move_to_file(edges, capacity);
    }
    Result rc = map_file(edges->fd, edges->edges, edges->capacity * sizeof(SieveEdge),
                         capacity * sizeof(SieveEdge), &edges->edges);
    if (rc == RESULT_OK) {
        edges->capacity = capacity;
    }
    return rc;
}

void sieve_edges_init(SieveEdges *edges, const char *directory)
{
    *edges = (SieveEdges){.directory = directory, .fd = -1};
}

void sieve_edges_destroy(SieveEdges *edges)
{
    release(edges);
    sieve_edges_init(edges, edges->directory);
}

/* ---- collecting
 * --------------------------------------------------------------------------------------- */

static Result add(SieveEdges *edges, uint64_t page, uint32_t number, uint64_t target)
{
    if (edges->n == edges->capacity) {
        size_t step = edges->capacity < IN_MEMORY ? edges->capacity : FILE_STEP;
        Result rc = reserve(edges, edges->capacity == 0 ? FIRST : edges->capacity + step);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    edges->edges[edges->n++] =
        (SieveEdge){.from = page << HIGH_BITS | number >> LOW_BITS,
                    .target = (uint64_t)(number & LOW_MASK) << NUMBER_SHIFT | target};
    return RESULT_OK;
}

Result sieve_edges_add(SieveEdges *edges, uint64_t page, uint32_t number, bool cross,
                       uint64_t target, uint8_t kind)
{
    uint64_t both = target << KIND_BITS | kind;
    return add(edges, page, number, cross ? both : both | SAME_BIT);
}

Result sieve_edges_add_count(SieveEdges *edges, uint64_t page, uint32_t number, size_t n_links)
{
    return add(edges, page, number, SAME_BIT | (TARGET_MASK - n_links) << KIND_BITS);
}

/* ---- sorted
 * ------------------------------------------------------------------------------------------- */

static int compare_targets(const void *a, const void *b)
{
    const SieveEdge *x = a;
    const SieveEdge *y = b;
    return (x->target > y->target) - (x->target < y->target);
}

/* By page, and number as far as it is beside it: least digit first, without digits that all share.
 */
static void sort_by_page(SieveEdges *edges, SieveEdges *scratch)
{
    size_t counts[DIGIT_NUMBER][DIGITS];
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < edges->n; i++) {
        for (unsigned d = 0; d < DIGIT_NUMBER; d++) {
            counts[d][edges->edges[i].from >> (d * DIGIT_BITS) & (DIGITS - 1)]++;
        }
    }
    for (unsigned d = 0; d < DIGIT_NUMBER && edges->n > 0; d++) {
        unsigned shift = d * DIGIT_BITS;
        if (counts[d][edges->edges[0].from >> shift & (DIGITS - 1)] == edges->n) {
            continue;
        }
        size_t sum = 0;
        for (unsigned v = 0; v < DIGITS; v++) {
            size_t count = counts[d][v];
            counts[d][v] = sum;
            sum += count;
        }
        for (size_t i = 0; i < edges->n; i++) {
            unsigned digit = (unsigned)(edges->edges[i].from >> shift) & (DIGITS - 1);
            scratch->edges[counts[d][digit]++] = edges->edges[i];
        }
        scratch->n = edges->n;
        SieveEdges swap = *edges;
        *edges = *scratch;
        *scratch = swap;
    }
}

Result sieve_edges_sort(SieveEdges *edges)
{
    SieveEdges scratch;
    sieve_edges_init(&scratch, edges->directory);
    Result rc = reserve(&scratch, edges->n == 0 ? FIRST : edges->n);
    if (rc != RESULT_OK) {
        return rc;
    }
    sort_by_page(edges, &scratch);
    sieve_edges_destroy(&scratch);
    for (size_t i = 0, end; i < edges->n; i = end) {
        for (end = i + 1; end < edges->n && edges->edges[end].from == edges->edges[i].from; end++) {
        }
        qsort(edges->edges + i, end - i, sizeof *edges->edges, compare_targets);
    }
    return RESULT_OK;
}

static uint32_t number_of(const SieveEdge *edge)
{
    return (uint32_t)(edge->from & ((UINT64_C(1) << HIGH_BITS) - 1)) << LOW_BITS |
           (uint32_t)(edge->target >> NUMBER_SHIFT);
}

size_t sieve_edges_longest(const SieveEdges *edges)
{
    size_t longest = 0;
    for (size_t i = 0, end; i < edges->n; i = end) {
        uint64_t page = edges->edges[i].from >> HIGH_BITS;
        for (end = i + 1; end < edges->n && edges->edges[end].from >> HIGH_BITS == page; end++) {
        }
        longest = end - i > longest ? end - i : longest;
    }
    return longest;
}

bool sieve_edges_next(const SieveEdges *edges, size_t *position, SieveList *list)
{
    size_t begin = *position, end = begin;
    if (begin == edges->n) {
        return false;
    }
    list->page = edges->edges[begin].from >> HIGH_BITS;
    for (; end < edges->n && edges->edges[end].from >> HIGH_BITS == list->page; end++) {
        if (number_of(&edges->edges[end]) != number_of(&edges->edges[begin])) {
            begin = end; /* a later crawl of the same page */
        }
    }
    *position = end;
    list->n = 0;
    list->n_diff = 0;
    list->kinds = false;
    list->whole = false;
    for (size_t i = begin; i < end; i++) {
        uint64_t target = edges->edges[i].target >> KIND_BITS & TARGET_MASK;
        uint64_t kind = edges->edges[i].target & KIND_MASK;
        if (target >= COUNT_LEAST) {
            list->whole = TARGET_MASK - target == list->n;
        } else {
            list->kinds = list->kinds || kind != 0;
            list->n_diff += (edges->edges[i].target & SAME_BIT) == 0;
            list->targets[list->n++] = target << KIND_BITS | kind;
        }
    }
    for (size_t i = 0; i < list->n && !list->kinds; i++) {
        list->targets[i] >>= KIND_BITS;
    }
    return true;
}
