#include "store/rank/link_graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"

#define STOP_MASK     0x7fu /* links between two looks at the stop flag: each may touch new pages */
#define MAX_INDEX     ((int64_t)UINT32_MAX - 2)
#define SMALL_DEGREES 1024u

/* Links from one page, one behind the other. */
typedef struct Run {
    uint64_t end; /* in Reading.to */
    uint32_t source;
} Run;

/* What the stream said, in its order. */
typedef struct Reading {
    uint32_t *to; /* targets */
    size_t n_to;
    Run *runs;
    size_t n_runs;
    uint32_t *source_of; /* by page: source + 1, 0 for none */
    size_t m_source_of;
    uint32_t *source_page; /* by source */
    size_t n_sources;
    uint32_t *degree; /* by source */
    size_t n_degrees;
    int64_t max_index;
} Reading;

/* Whether to give up; looked at once in a while. */
static bool link_graph_is_stopped(const atomic_bool *stop, uint64_t i)
{
    return (i & STOP_MASK) == 0 && rank_is_stopped(stop);
}

/* A link from another page than the one before: ends the run and begins the next. A page that was
 * no source becomes one. */
static Result begin_run(Reading *r, uint32_t page)
{
    static const uint32_t none = 0;
    Result rc = array_reserve(&r->source_of, &r->m_source_of, (size_t)page + 1, sizeof page);
    if (rc == RESULT_OK && r->source_of[page] == 0) {
        rc = array_add(&r->source_page, &r->n_sources, sizeof page, &page);
        if (rc == RESULT_OK) {
            rc = array_add(&r->degree, &r->n_degrees, sizeof none, &none);
        }
        r->source_of[page] = (uint32_t)r->n_sources;
    }
    if (rc == RESULT_OK) {
        Run run = {.end = r->n_to, .source = r->source_of[page] - 1};
        rc = array_add(&r->runs, &r->n_runs, sizeof run, &run);
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
            uint32_t to = (uint32_t)link.to;
            rc = array_add(&r->to, &r->n_to, sizeof to, &to);
        }
        if (rc != RESULT_OK) {
            return rc;
        }
        in_run++;
        r->max_index = link.to > r->max_index ? link.to : r->max_index;
        assert(r->runs != NULL && r->degree != NULL); /* the run has begun */
        Run *run = &r->runs[r->n_runs - 1];
        run->end = r->n_to;
        r->degree[run->source]++;
        if (link_graph_is_stopped(stop, r->n_to)) {
            return RESULT_CLOSED;
        }
    }
    return state == stream_state_error ? RESULT_IO : RESULT_OK;
}

/* Cuts the class of pages [first, end) with degree links each into slices. */
static Result add_slices(LinkGraph *g, uint32_t first, uint32_t end, uint32_t degree,
                         uint64_t *link)
{
    uint32_t most = LINK_GRAPH_SLICE / (degree + 1);
    most = most == 0 ? 1 : most;
    while (first < end) {
        uint32_t n = end - first < most ? end - first : most;
        LinkSlice slice = {.first_link = *link, .first = first, .n = n, .degree = degree};
        Result rc = array_add(&g->slices, &g->n_slices, sizeof slice, &slice);
        if (rc != RESULT_OK) {
            return rc;
        }
        *link += (uint64_t)n * degree;
        first += n;
    }
    return RESULT_OK;
}

/* By degree, ties by index. */
static int compare_degrees(const void *left, const void *right, void *degrees)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    const uint32_t *degree = degrees;
    if (degree[a] != degree[b]) {
        return degree[a] < degree[b] ? -1 : 1;
    }
    return (a > b) - (a < b);
}

static uint32_t class_of(uint32_t degree)
{
    return degree < SMALL_DEGREES ? degree : SMALL_DEGREES;
}

/* Orders the pages by in_degree, ties by index, and cuts the order into slices: few pages have
 * SMALL_DEGREES links or more, and those are sorted one by one. */
static Result order_pages(LinkGraph *g, uint32_t *in_degree)
{
    uint32_t count[SMALL_DEGREES + 1] = {0};
    uint32_t begin[SMALL_DEGREES + 1];
    for (uint32_t page = 0; page < g->n_pages; page++) {
        count[class_of(in_degree[page])]++;
    }
    uint32_t position = 0;
    for (uint32_t d = 0; d <= SMALL_DEGREES; d++) {
        begin[d] = position;
        position += count[d];
    }
    for (uint32_t page = 0; page < g->n_pages; page++) {
        g->page_at[begin[class_of(in_degree[page])]++] = page;
    }
    g->n_targets = g->n_pages - count[0];
    Result rc = RESULT_OK;
    uint64_t link = 0;
    uint32_t first = 0;
    for (uint32_t d = 0; rc == RESULT_OK && d < SMALL_DEGREES; d++) {
        rc = add_slices(g, first, first + count[d], d, &link);
        first += count[d];
    }
    if (count[SMALL_DEGREES] > 1) {
        qsort_r(g->page_at + first, count[SMALL_DEGREES], sizeof *g->page_at, compare_degrees,
                in_degree);
    }
    for (; rc == RESULT_OK && first < g->n_pages; first++) {
        rc = add_slices(g, first, first + 1, in_degree[g->page_at[first]], &link);
    }
    return rc;
}

/* Writes every link's source to its target's place. cursor[page]: the next place of the page. */
static Result place_links(const Reading *r, uint64_t *cursor, uint32_t *in, const atomic_bool *stop)
{
    const uint32_t *to = r->to;
    const Run *runs = r->runs;
    uint64_t link = 0;
    for (size_t i = 0; i < r->n_runs; i++) {
        for (; link < runs[i].end; link++) {
            in[cursor[to[link]]++] = runs[i].source;
            if (link_graph_is_stopped(stop, link)) {
                return RESULT_CLOSED;
            }
        }
    }
    return RESULT_OK;
}

/* Where the links of each page begin, and at which position each source is. */
static void link_graph_set_cursors(LinkGraph *g, const Reading *r, const uint32_t *in_degree,
                                   uint64_t *cursor)
{
    const uint32_t *source_of = r->source_of;
    uint64_t link = 0;
    for (uint32_t position = 0; position < g->n_pages; position++) {
        uint32_t page = g->page_at[position];
        cursor[page] = link;
        link += in_degree[page];
        if (page < r->m_source_of && source_of[page] != 0) {
            g->source_position[source_of[page] - 1] = position;
        }
    }
}

static Result arrange(LinkGraph *g, const Reading *r, const atomic_bool *stop)
{
    size_t n = (size_t)g->n_pages + 1;
    const uint32_t *to = r->to;
    uint32_t *in_degree = calloc(n, sizeof *in_degree);
    uint64_t *cursor = malloc(n * sizeof *cursor);
    g->page_at = malloc(n * sizeof *g->page_at);
    g->in = malloc((g->n_links + 1) * sizeof *g->in);
    g->source_position = malloc(((size_t)g->n_sources + 1) * sizeof *g->source_position);
    Result rc = RESULT_MEMORY;
    if (in_degree == NULL || cursor == NULL || g->page_at == NULL || g->in == NULL ||
        g->source_position == NULL) {
        goto done;
    }
    for (uint64_t i = 0; i < g->n_links; i++) {
        in_degree[to[i]]++;
    }
    rc = order_pages(g, in_degree);
    if (rc == RESULT_OK) {
        link_graph_set_cursors(g, r, in_degree, cursor);
        rc = place_links(r, cursor, g->in, stop);
    }
done:
    free(in_degree);
    free(cursor);
    return rc;
}

Result link_graph_build(LinkGraph **graph, size_t n_pages, void *stream, LinkStreamNextFunc *next,
                        LinkStreamResetFunc *reset, const atomic_bool *stop)
{
    *graph = NULL;
    if (n_pages > (size_t)MAX_INDEX + 1) {
        return RESULT_LIMIT;
    }
    Reading r = {.max_index = (int64_t)n_pages - 1};
    LinkGraph *g = calloc(1, sizeof *g);
    Result rc = g == NULL ? RESULT_MEMORY : RESULT_OK;
    if (rc == RESULT_OK && reset(stream) == stream_state_error) {
        rc = RESULT_IO;
    }
    if (rc == RESULT_OK) {
        rc = link_graph_read_links(&r, stream, next, stop);
    }
    if (rc == RESULT_OK) {
        g->n_links = r.n_to;
        g->n_pages = (uint32_t)(r.max_index + 1);
        g->n_sources = (uint32_t)r.n_sources;
        rc = arrange(g, &r, stop);
    }
    free(r.to);
    free(r.runs);
    free(r.source_of);
    if (g != NULL) {
        g->source_page = r.source_page;
        g->source_degree = r.degree;
    }
    if (rc != RESULT_OK) {
        link_graph_delete(g);
        return rc;
    }
    *graph = g;
    return RESULT_OK;
}

void link_graph_delete(LinkGraph *graph)
{
    if (graph != NULL) {
        free(graph->in);
        free(graph->page_at);
        free(graph->source_page);
        free(graph->source_position);
        free(graph->source_degree);
        free(graph->slices);
        free(graph);
    }
}
