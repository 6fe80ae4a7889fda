#include "frontier/sieve/sieve_edges.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory/file.h"
#include "store/format/page_links.h"

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
#define DIGIT_MASK   (SIEVE_SORT_VALUES - 1)
#define SORT_STEP    ((size_t)1 << 14) /* edges between two looks at the clock */

/* ---- memory ---- */

/* Makes the file so long and maps it; old is the mapping of old_bytes so far, or NULL. */
static Result sieve_edges_map_file(int fd, SieveEdge *old, size_t old_bytes, size_t bytes,
                                   SieveEdge **edges)
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

/* From memory to a file. */
static Result move_to_file(SieveEdges *edges, size_t capacity)
{
    int fd = -1;
    Result rc = temporary_file_open(AT_FDCWD, edges->directory, &fd);
    if (rc != RESULT_OK) {
        return rc;
    }
    SieveEdge *mapped = NULL;
    rc = sieve_edges_map_file(fd, NULL, 0, capacity * sizeof(SieveEdge), &mapped);
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
static Result sieve_edges_reserve(SieveEdges *edges, size_t capacity)
{
    if (capacity <= IN_MEMORY) {
        SieveEdge *more = realloc(edges->edges, capacity * sizeof(SieveEdge));
        if (more == NULL) {
            return RESULT_MEMORY;
        }
        edges->edges = more;
        edges->capacity = capacity;
        return RESULT_OK;
    }
    if (edges->fd < 0) {
        return move_to_file(edges, capacity);
    }
    Result rc = sieve_edges_map_file(edges->fd, edges->edges, edges->capacity * sizeof(SieveEdge),
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
    if (edges->fd < 0) {
        free(edges->edges);
    } else {
        if (edges->edges != NULL) {
            (void)munmap(edges->edges, edges->capacity * sizeof(SieveEdge));
        }
        (void)close(edges->fd);
    }
    sieve_edges_init(edges, edges->directory);
}

/* ---- collecting ---- */

static Result sieve_edges_add_one(SieveEdges *edges, uint64_t page, uint32_t number,
                                  uint64_t target)
{
    if (edges->n == edges->capacity) {
        size_t step = edges->capacity < IN_MEMORY ? edges->capacity : FILE_STEP;
        Result rc =
            sieve_edges_reserve(edges, edges->capacity == 0 ? FIRST : edges->capacity + step);
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
    return sieve_edges_add_one(edges, page, number, cross ? both : both | SAME_BIT);
}

Result sieve_edges_add_count(SieveEdges *edges, uint64_t page, uint32_t number, size_t n_links)
{
    return sieve_edges_add_one(edges, page, number,
                               SAME_BIT | (TARGET_MASK - n_links) << KIND_BITS);
}

/* ---- sorted ---- */

static int compare_targets(const void *a, const void *b)
{
    const SieveEdge *x = a;
    const SieveEdge *y = b;
    return (x->target > y->target) - (x->target < y->target);
}

Result sieve_sort_begin(SieveSort *sort, const SieveEdges *edges)
{
    memset(sort, 0, sizeof *sort);
    sieve_edges_init(&sort->scratch, edges->directory);
    return sieve_edges_reserve(&sort->scratch, edges->n == 0 ? FIRST : edges->n);
}

void sieve_sort_end(SieveSort *sort)
{
    if (sort->scratch.edges != NULL) {
        sieve_edges_destroy(&sort->scratch);
    }
}

/* From counts to places. */
static void sum_counts(size_t counts[SIEVE_SORT_VALUES])
{
    size_t sum = 0;
    for (unsigned v = 0; v < SIEVE_SORT_VALUES; v++) {
        size_t count = counts[v];
        counts[v] = sum;
        sum += count;
    }
}

static void move_by_digit(SieveSort *sort, const SieveEdges *edges, size_t end)
{
    unsigned shift = (sort->digit - 1) * DIGIT_BITS;
    size_t *places = sort->counts[sort->digit - 1];
    for (size_t i = sort->position; i < end; i++) {
        unsigned digit = (unsigned)(edges->edges[i].from >> shift) & DIGIT_MASK;
        sort->scratch.edges[places[digit]++] = edges->edges[i];
    }
    sort->position = end;
}

/* By page, and number as far as it is beside it: least digit first, without digits that all share.
 * At the end of a pass: which is the next. */
static void next_digit(SieveSort *sort, SieveEdges *edges)
{
    if (sort->digit > 0) {
        sort->scratch.n = edges->n;
        SieveEdges swap = *edges;
        *edges = sort->scratch;
        sort->scratch = swap;
    }
    sort->position = 0;
    sort->digit++;
    while (sort->digit <= SIEVE_SORT_DIGITS && edges->n > 0) {
        unsigned d = sort->digit - 1;
        unsigned first = (unsigned)(edges->edges[0].from >> (d * DIGIT_BITS)) & DIGIT_MASK;
        if (sort->counts[d][first] != edges->n) {
            sum_counts(sort->counts[d]);
            break;
        }
        sort->digit++;
    }
}

/* Each crawl's edges by target, until at least end. */
static void sort_targets(SieveSort *sort, SieveEdges *edges, size_t least)
{
    const SieveEdge *all = edges->edges;
    size_t end = 0;
    for (size_t i = sort->position; i < least; i = end) {
        for (end = i + 1; end < edges->n && all[end].from == all[i].from; end++) {
        }
        qsort(edges->edges + i, end - i, sizeof *edges->edges, compare_targets);
        bool same = i > 0 && all[i].from >> HIGH_BITS == all[i - 1].from >> HIGH_BITS;
        sort->of_page = (same ? sort->of_page : 0) + end - i;
        sort->longest = sort->of_page > sort->longest ? sort->of_page : sort->longest;
        sort->position = end;
    }
}

bool sieve_sort_step(SieveSort *sort, SieveEdges *edges, MonoTime until)
{
    do {
        /* Edges of the pass that are done before the next look at the clock: [position, the
         * result). */
        size_t rest = edges->n - sort->position;
        size_t end = sort->position + (rest < SORT_STEP ? rest : SORT_STEP);
        if (sort->digit == 0) {
            for (size_t i = sort->position; i < end; i++) {
                for (unsigned d = 0; d < SIEVE_SORT_DIGITS; d++) {
                    sort->counts[d][edges->edges[i].from >> (d * DIGIT_BITS) & DIGIT_MASK]++;
                }
            }
            sort->position = end;
        } else if (sort->digit <= SIEVE_SORT_DIGITS) {
            move_by_digit(sort, edges, end);
        } else {
            sort_targets(sort, edges, end);
        }
        if (sort->position == edges->n && sort->digit <= SIEVE_SORT_DIGITS) {
            next_digit(sort, edges);
        } else if (sort->position == edges->n) {
            sieve_sort_end(sort);
            return true;
        }
    } while (mono_before(mono_now(), until));
    return false;
}

static uint32_t sieve_edges_number_of(const SieveEdge *edge)
{
    return (uint32_t)(edge->from & ((UINT64_C(1) << HIGH_BITS) - 1)) << LOW_BITS |
           (uint32_t)(edge->target >> NUMBER_SHIFT);
}

bool sieve_edges_next(const SieveEdges *edges, size_t *position, SieveList *list)
{
    size_t begin = *position, end = begin;
    if (begin == edges->n) {
        return false;
    }
    list->page = edges->edges[begin].from >> HIGH_BITS;
    for (; end < edges->n && edges->edges[end].from >> HIGH_BITS == list->page; end++) {
        if (sieve_edges_number_of(&edges->edges[end]) !=
            sieve_edges_number_of(&edges->edges[begin])) {
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
