#include "store/rank/link_graph.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- The large arrays of a computation of scores, and how a computation ends soon ---- */

#define FREE_AT_ONCE ((size_t)4 << 20) /* bytes; a page costs about a quarter of a microsecond */

MMapArray *rank_memory_new(RankMemory *memory, size_t n_elements, size_t element_size)
{
    for (size_t i = 0; i < RANK_MEMORY_ARRAYS; i++) {
        MMapArray **slot = &memory->arrays[i];
        if (*slot == NULL) {
            return mmap_array_new(slot, NULL, n_elements, element_size) == mmap_array_error_ok
                       ? *slot
                       : NULL;
        }
    }
    return NULL;
}

static bool drop_slot(MMapArray **slot, const atomic_bool *stop)
{
    MMapArray *array = *slot;
    size_t piece = FREE_AT_ONCE / array->element_size;
    while (array->n_elements > piece && !rank_is_stopped(stop) &&
           mmap_array_resize(array, array->n_elements - piece) == mmap_array_error_ok) {
    }
    if (rank_is_stopped(stop)) {
        return false;
    }
    (void)mmap_array_delete(array);
    *slot = NULL;
    return true;
}

bool rank_memory_drop(RankMemory *memory, MMapArray *array, const atomic_bool *stop)
{
    bool is_done = true;
    for (size_t i = 0; array != NULL && i < RANK_MEMORY_ARRAYS; i++) {
        if (memory->arrays[i] == array) {
            is_done = drop_slot(&memory->arrays[i], stop);
            break;
        }
    }
    return is_done;
}

bool rank_memory_free(RankMemory *memory, const atomic_bool *stop)
{
    bool is_done = true;
    for (size_t i = 0; is_done && i < RANK_MEMORY_ARRAYS; i++) {
        is_done = memory->arrays[i] == NULL || drop_slot(&memory->arrays[i], stop);
    }
    return is_done;
}

/* ---- The link graph as PageRank and HITS want it ---- */

#define FIRST_LINKS  65536u
#define STOP_MASK    0x7fu /* links between two looks at the stop flag: each may touch new pages */
#define MAX_INDEX    ((int64_t)UINT32_MAX - 2)
#define GROWTH_LIMIT ((size_t)1 << 40)

/* A growing array, the graph's for now: growing moves page tables, not bytes. */
typedef struct Column {
    MMapArray *array;
    size_t n;
} Column;

/* What the stream said, in its order. */
typedef struct Reading {
    Column to;          /* uint32: targets */
    Column run_source;  /* uint32: the source of a run of links from one page */
    Column run_end;     /* uint64: end of the run in to */
    Column source_of;   /* uint32 by page: source + 1, 0 for none */
    Column source_page; /* uint32 by source */
    Column degree;      /* uint32 by source */
    int64_t max_index;
} Reading;

/* Whether to give up; looked at once in a while. */
static bool link_graph_is_stopped(const atomic_bool *stop, uint64_t i)
{
    return (i & STOP_MASK) == 0 && rank_is_stopped(stop);
}

static Result column_make(LinkGraph *g, Column *column, size_t n, size_t element_size)
{
    column->n = 0;
    column->array = rank_memory_new(&g->memory, n, element_size);
    return column->array != NULL ? RESULT_OK : RESULT_MEMORY;
}

static Result column_grow(Column *column, size_t n)
{
    size_t capacity = column->array->n_elements;
    if (n <= capacity) {
        return RESULT_OK;
    }
    while (capacity < n && capacity < GROWTH_LIMIT) {
        capacity *= 2;
    }
    return capacity >= n && mmap_array_resize(column->array, capacity) == mmap_array_error_ok
               ? RESULT_OK
               : RESULT_MEMORY;
}

static uint32_t *column_u32(const Column *column)
{
    return (uint32_t *)(void *)column->array->mem;
}

static uint64_t *column_u64(const Column *column)
{
    return (uint64_t *)(void *)column->array->mem;
}

static Result push_u32(Column *column, uint32_t value)
{
    if (column->n == column->array->n_elements) {
        Result rc = column_grow(column, column->n + 1);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    column_u32(column)[column->n++] = value;
    return RESULT_OK;
}

static Result reading_make(LinkGraph *g, Reading *r, size_t n_pages)
{
    *r = (Reading){.max_index = (int64_t)n_pages - 1};
    Column *columns[] = {&r->to, &r->run_source, &r->source_page, &r->degree};
    Result rc = RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < sizeof columns / sizeof *columns; i++) {
        rc = column_make(g, columns[i], FIRST_LINKS, sizeof(uint32_t));
    }
    if (rc == RESULT_OK) {
        rc = column_make(g, &r->run_end, FIRST_LINKS, sizeof(uint64_t));
    }
    if (rc == RESULT_OK) {
        rc = column_make(g, &r->source_of, n_pages > FIRST_LINKS ? n_pages : FIRST_LINKS,
                         sizeof(uint32_t));
    }
    return rc;
}

/* A link from another page than the one before: ends the run and begins the next. */
static Result begin_run(Reading *r, uint32_t page)
{
    Result rc = column_grow(&r->source_of, (size_t)page + 1);
    if (rc != RESULT_OK) {
        return rc;
    }
    uint32_t *source = &column_u32(&r->source_of)[page];
    if (*source == 0) {
        rc = push_u32(&r->source_page, page);
        if (rc == RESULT_OK) {
            rc = push_u32(&r->degree, 0);
        }
        if (rc != RESULT_OK) {
            return rc;
        }
        *source = (uint32_t)r->source_page.n;
    }
    rc = column_grow(&r->run_end, r->run_end.n + 1);
    if (rc == RESULT_OK) {
        column_u64(&r->run_end)[r->run_end.n++] = r->to.n;
        rc = push_u32(&r->run_source, *source - 1);
    }
    return rc;
}

static Result link_graph_read_links(Reading *r, void *stream, LinkStreamNextFunc *next,
                                    const atomic_bool *stop)
{
    Link link;
    int64_t last = -1;
    uint64_t in_run = 0;
    StreamState state = next(stream, &link);
    for (; state == stream_state_next; state = next(stream, &link)) {
        if (link.from < 0 || link.to < 0 || link.from > MAX_INDEX || link.to > MAX_INDEX) {
            return RESULT_LIMIT;
        }
        Result rc = RESULT_OK;
        if (link.from != last || in_run == UINT32_MAX) {
            rc = begin_run(r, (uint32_t)link.from);
            last = link.from;
            in_run = 0;
            r->max_index = last > r->max_index ? last : r->max_index;
        }
        if (rc == RESULT_OK) {
            rc = push_u32(&r->to, (uint32_t)link.to);
        }
        if (rc != RESULT_OK) {
            return rc;
        }
        in_run++;
        r->max_index = link.to > r->max_index ? link.to : r->max_index;
        column_u64(&r->run_end)[r->run_end.n - 1] = r->to.n;
        column_u32(&r->degree)[column_u32(&r->run_source)[r->run_source.n - 1]]++;
        if (link_graph_is_stopped(stop, r->to.n)) {
            return RESULT_CLOSED;
        }
    }
    return state == stream_state_error ? RESULT_IO : RESULT_OK;
}

static uint32_t *graph_u32(LinkGraph *g, size_t n)
{
    MMapArray *array = rank_memory_new(&g->memory, n, sizeof(uint32_t));
    return array == NULL ? NULL : (uint32_t *)(void *)array->mem;
}

/* Cuts the class of pages [first, end) with degree links each into slices. */
static Result add_slices(Column *slices, uint32_t first, uint32_t end, uint32_t degree,
                         uint64_t *link)
{
    uint32_t most = LINK_GRAPH_SLICE / (degree + 1);
    most = most == 0 ? 1 : most;
    while (first < end) {
        uint32_t n = end - first < most ? end - first : most;
        Result rc = column_grow(slices, slices->n + 1);
        if (rc != RESULT_OK) {
            return rc;
        }
        LinkSlice *slice = &((LinkSlice *)(void *)slices->array->mem)[slices->n++];
        *slice = (LinkSlice){.first_link = *link, .first = first, .n = n, .degree = degree};
        *link += (uint64_t)n * degree;
        first += n;
    }
    return RESULT_OK;
}

#define SMALL_DEGREES 1024u
#define DIGIT_BITS    8u /* an even number of digits: the result is where it began */
#define DIGIT_MASK    ((1u << DIGIT_BITS) - 1)

/* The pages from position first on have SMALL_DEGREES links or more. They stand in order of index,
 * and are sorted by degree, digit by digit. */
static Result order_large(LinkGraph *g, const uint32_t *in_degree, uint32_t *page_at,
                          uint32_t first, uint64_t link, Column *slices, const atomic_bool *stop)
{
    size_t n = g->n_pages - first;
    uint32_t *from = page_at + first;
    Column other;
    Result rc = column_make(g, &other, n, sizeof(uint32_t));
    uint32_t *to = rc == RESULT_OK ? column_u32(&other) : NULL;
    for (unsigned shift = 0; rc == RESULT_OK && shift < 32; shift += DIGIT_BITS) {
        size_t begin[(1u << DIGIT_BITS) + 1] = {0};
        for (size_t i = 0; i < n && !link_graph_is_stopped(stop, i); i++) {
            begin[(in_degree[from[i]] >> shift & DIGIT_MASK) + 1]++;
        }
        for (size_t d = 0; d < DIGIT_MASK; d++) {
            begin[d + 1] += begin[d];
        }
        for (size_t i = 0; i < n && !link_graph_is_stopped(stop, i); i++) {
            to[begin[in_degree[from[i]] >> shift & DIGIT_MASK]++] = from[i];
        }
        rc = rank_is_stopped(stop) ? RESULT_CLOSED : RESULT_OK;
        uint32_t *sorted = to;
        to = from;
        from = sorted;
    }
    for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
        uint32_t position = first + (uint32_t)i;
        rc = link_graph_is_stopped(stop, i)
                 ? RESULT_CLOSED
                 : add_slices(slices, position, position + 1, in_degree[page_at[position]], &link);
    }
    return rc == RESULT_OK && !rank_memory_drop(&g->memory, other.array, stop) ? RESULT_CLOSED : rc;
}

static uint32_t class_of(uint32_t degree)
{
    return degree < SMALL_DEGREES ? degree : SMALL_DEGREES;
}

/* Orders the pages by in_degree, ties by index, and cuts the order into slices. */
static Result order_pages(LinkGraph *g, const uint32_t *in_degree, uint32_t *page_at,
                          const atomic_bool *stop)
{
    uint32_t count[SMALL_DEGREES + 1] = {0};
    uint32_t begin[SMALL_DEGREES + 1];
    for (uint32_t page = 0; page < g->n_pages; page++) {
        count[class_of(in_degree[page])]++;
        if (link_graph_is_stopped(stop, page)) {
            return RESULT_CLOSED;
        }
    }
    uint32_t position = 0;
    for (uint32_t d = 0; d <= SMALL_DEGREES; d++) {
        begin[d] = position;
        position += count[d];
    }
    for (uint32_t page = 0; page < g->n_pages; page++) {
        page_at[begin[class_of(in_degree[page])]++] = page;
        if (link_graph_is_stopped(stop, page)) {
            return RESULT_CLOSED;
        }
    }
    g->n_targets = g->n_pages - count[0];
    Column slices = {0};
    Result rc = column_make(g, &slices, 1024, sizeof(LinkSlice));
    uint64_t link = 0;
    uint32_t first = 0;
    for (uint32_t d = 0; rc == RESULT_OK && d < SMALL_DEGREES; d++) {
        rc = add_slices(&slices, first, first + count[d], d, &link);
        first += count[d];
    }
    if (rc == RESULT_OK && first < g->n_pages) {
        rc = order_large(g, in_degree, page_at, first, link, &slices, stop);
    }
    if (rc == RESULT_OK) {
        g->n_slices = slices.n;
        g->slices = (const LinkSlice *)(void *)slices.array->mem;
    }
    return rc;
}

/* Writes every link's source to its target's place. cursor[page]: the next place of the page. */
static Result place_links(const Reading *r, uint64_t *cursor, uint32_t *in, const atomic_bool *stop)
{
    const uint32_t *to = column_u32(&r->to);
    uint64_t link = 0;
    for (size_t run = 0; run < r->run_end.n; run++) {
        uint32_t source = column_u32(&r->run_source)[run];
        uint64_t end = column_u64(&r->run_end)[run];
        for (; link < end; link++) {
            in[cursor[to[link]]++] = source;
            if (link_graph_is_stopped(stop, link)) {
                return RESULT_CLOSED;
            }
        }
    }
    return RESULT_OK;
}

/* The arrays by page that only the build needs. */
typedef struct Scratch {
    Column in_degree; /* uint32 */
    Column cursor;    /* uint64 */
} Scratch;

static Result arrange(LinkGraph *g, Reading *r, Scratch *scratch, const atomic_bool *stop)
{
    size_t n = g->n_pages == 0 ? 1 : g->n_pages;
    Result rc = column_make(g, &scratch->in_degree, n, sizeof(uint32_t));
    if (rc == RESULT_OK) {
        rc = column_make(g, &scratch->cursor, n, sizeof(uint64_t));
    }
    uint32_t *page_at = graph_u32(g, n);
    uint32_t *in = graph_u32(g, g->n_links);
    uint32_t *position_of_source = graph_u32(g, g->n_sources);
    if (rc != RESULT_OK || page_at == NULL || in == NULL || position_of_source == NULL) {
        return RESULT_MEMORY;
    }
    uint32_t *in_degree = column_u32(&scratch->in_degree);
    for (uint64_t i = 0; i < g->n_links; i++) {
        in_degree[column_u32(&r->to)[i]]++;
        if (link_graph_is_stopped(stop, i)) {
            return RESULT_CLOSED;
        }
    }
    rc = order_pages(g, in_degree, page_at, stop);
    if (rc != RESULT_OK) {
        return rc;
    }
    uint64_t *cursor = column_u64(&scratch->cursor);
    uint32_t *source_of = column_u32(&r->source_of);
    uint64_t link = 0;
    for (uint32_t position = 0; position < g->n_pages; position++) {
        uint32_t page = page_at[position];
        cursor[page] = link;
        link += in_degree[page];
        if (page < r->source_of.array->n_elements && source_of[page] != 0) {
            position_of_source[source_of[page] - 1] = position;
        }
        if (link_graph_is_stopped(stop, position)) {
            return RESULT_CLOSED;
        }
    }
    rc = place_links(r, cursor, in, stop);
    g->page_at = page_at;
    g->in = in;
    g->source_position = position_of_source;
    return rc;
}

/* Frees what only the build needed. */
static Result drop_scratch(LinkGraph *g, const Reading *r, const Scratch *scratch,
                           const atomic_bool *stop)
{
    MMapArray *arrays[] = {r->to.array,        r->run_source.array,      r->run_end.array,
                           r->source_of.array, scratch->in_degree.array, scratch->cursor.array};
    bool is_done = true;
    for (size_t i = 0; is_done && i < sizeof arrays / sizeof *arrays; i++) {
        is_done = rank_memory_drop(&g->memory, arrays[i], stop);
    }
    return is_done ? RESULT_OK : RESULT_CLOSED;
}

Result link_graph_build(LinkGraph **graph, size_t n_pages, void *stream, LinkStreamNextFunc *next,
                        LinkStreamResetFunc *reset, const atomic_bool *stop)
{
    *graph = NULL;
    if (n_pages > (size_t)MAX_INDEX + 1) {
        return RESULT_LIMIT;
    }
    LinkGraph *g = calloc(1, sizeof *g);
    Reading r = {0};
    Scratch scratch = {0};
    Result rc = g == NULL ? RESULT_MEMORY : reading_make(g, &r, n_pages);
    if (rc == RESULT_OK && reset(stream) == stream_state_error) {
        rc = RESULT_IO;
    }
    if (rc == RESULT_OK) {
        rc = link_graph_read_links(&r, stream, next, stop);
    }
    if (rc == RESULT_OK) {
        g->n_links = r.to.n;
        g->n_pages = (uint32_t)(r.max_index + 1);
        g->n_sources = (uint32_t)r.source_page.n;
        rc = arrange(g, &r, &scratch, stop);
    }
    if (rc == RESULT_OK) {
        g->source_page = column_u32(&r.source_page);
        g->source_degree = column_u32(&r.degree);
        rc = drop_scratch(g, &r, &scratch, stop);
    }
    if (rc == RESULT_OK || rc == RESULT_CLOSED) {
        *graph = g;
    } else {
        link_graph_delete(g);
    }
    return rc;
}

bool link_graph_delete_until(LinkGraph *graph, const atomic_bool *stop)
{
    bool is_done = graph == NULL || rank_memory_free(&graph->memory, stop);
    if (is_done) {
        free(graph);
    }
    return is_done;
}

void link_graph_delete(LinkGraph *graph)
{
    (void)link_graph_delete_until(graph, NULL);
}
