#include "store/rank/page_rank.h"

#include <math.h>
#include <stdlib.h>

#include "store/rank/rank_vector.h"

_Static_assert((int)page_rank_error_memory == RANK_MEMORY &&
                   (int)page_rank_error_internal == RANK_INTERNAL &&
                   (int)page_rank_error_precision == RANK_PRECISION &&
                   (int)page_rank_error_stopped == RANK_STOPPED,
               "codes of rank_vector.h");

static PageRankError page_rank_fail(PageRank *pr, PageRankError code, const char *who,
                                    const char *what)
{
    return (PageRankError)rank_fail(pr->error, (int)code, who, what);
}

PageRankError page_rank_new(PageRank **pr, const char *path, size_t max_vertices)
{
    if (pr == NULL) {
        return page_rank_error_internal;
    }
    PageRank *p = *pr = calloc(1, sizeof *p);
    if (p == NULL) {
        return page_rank_error_memory;
    }
    mutex_init(&p->mutex, RANK_TABLE);
    p->damping = PAGE_RANK_DEFAULT_DAMPING;
    p->max_loops = PAGE_RANK_DEFAULT_MAX_LOOPS;
    p->precision = PAGE_RANK_DEFAULT_PRECISION;
    p->persist = PAGE_RANK_DEFAULT_PERSIST;
    p->error = error_new();
    char *none = NULL;
    if (p->error == NULL) {
        (void)page_rank_delete(p);
        *pr = NULL;
        return page_rank_error_memory;
    }
    if (rank_vector_open(&p->out_degree, &p->path_out_degree, path, "pr_out_degree.bin",
                         max_vertices) != RESULT_OK ||
        rank_vector_open(&p->value2, &p->path_pr, path, "pr.bin", max_vertices) != RESULT_OK ||
        rank_vector_open(&p->value1, &none, NULL, "", p->value2->n_elements) != RESULT_OK) {
        return page_rank_fail(p, page_rank_error_internal, "page_rank_new",
                              "the files cannot be opened");
    }
    return page_rank_error_ok;
}

PageRankError page_rank_delete(PageRank *pr)
{
    if (pr == NULL) {
        return page_rank_error_ok;
    }
    bool is_done = rank_vector_close(pr->out_degree, pr->persist);
    is_done = rank_vector_close(pr->value2, pr->persist) && is_done;
    is_done = rank_vector_close(pr->value1, 0) && is_done;
    free(pr->path_out_degree);
    free(pr->path_pr);
    error_delete(pr->error);
    mutex_destroy(&pr->mutex);
    free(pr);
    return is_done ? page_rank_error_ok : page_rank_error_internal;
}

static PageRankError page_rank_reserve(PageRank *pr, size_t n_pages, const char *who)
{
    MMapArray *const vectors[] = {pr->out_degree, pr->value1, pr->value2};
    return (PageRankError)rank_reserve(&pr->mutex, vectors, 3, n_pages, &pr->n_pages, pr->error,
                                       who);
}

PageRankError page_rank_set_n_pages(PageRank *pr, size_t n_pages)
{
    if (pr == NULL) {
        return page_rank_error_internal;
    }
    error_clean(pr->error);
    return page_rank_reserve(pr, n_pages, "page_rank_set_n_pages");
}

/* One computation. Vectors "by position" are in the order of the graph. */
typedef struct Iteration {
    const PageRank *pr;
    const LinkGraph *graph;
    double *x;          /* by position: the score */
    float *before;      /* by position: the score one sweep earlier */
    double *jump;       /* by position: share of the jump; NULL: 1/n each */
    double *flow;       /* by source: what goes along each of its links */
    double mean;        /* 1/n */
    double total_score; /* sum of the content scores */
    double jumping;     /* mass of this round's jumps */
} Iteration;

/* What flows from each source. Returns the mass of all sources. */
static double page_rank_spread(Iteration *it)
{
    const LinkGraph *g = it->graph;
    double damping = (double)it->pr->damping;
    double mass = 0.0;
    for (size_t s = 0; s < g->n_sources; s++) {
        double x = it->x[g->source_position[s]];
        mass += x;
        it->flow[s] = damping * x / g->source_degree[s];
    }
    return mass;
}

/* The new score of every page, and the largest changes. Each page is computed from flow alone, so
 * the old score can be overwritten. */
static void page_rank_collect(PageRank *pr, Iteration *it)
{
    const LinkGraph *g = it->graph;
    double delta = 0.0;
    double relative = 0.0;
    for (size_t slice = 0; slice < g->n_slices && !rank_is_stopped(pr->stop); slice++) {
        const LinkSlice *c = &g->slices[slice];
        const uint32_t *in = g->in + c->first_link;
        double *x = it->x + c->first;
        float *before = it->before + c->first;
        const double *jump = it->jump == NULL ? NULL : it->jump + c->first;
        double base = it->jumping * it->mean;
        for (uint32_t i = 0; i < c->n; i++, in += c->degree) {
            base = jump == NULL ? base : it->jumping * jump[i];
            double score = base + link_graph_gather(it->flow, in, c->degree);
            double change = fabs(score - x[i]);
            double unit = score > it->mean ? score : it->mean;
            delta = change > delta ? change : delta;
            relative = change > relative * unit ? change / unit : relative;
            before[i] = (float)x[i];
            x[i] = score;
        }
    }
    pr->delta = delta;
    pr->relative_delta = relative;
}

static PageRankError iterate(PageRank *pr, Iteration *it)
{
    for (pr->loops = 0; pr->max_loops == 0 || pr->loops < pr->max_loops;) {
        it->jumping = 1.0 - (double)pr->damping * page_rank_spread(it);
        pr->jumping = it->jumping;
        page_rank_collect(pr, it);
        if (rank_is_stopped(pr->stop)) {
            return page_rank_error_stopped;
        }
        pr->loops++;
        if (pr->relative_delta <= (double)pr->precision) {
            return page_rank_error_ok;
        }
    }
    return page_rank_error_precision;
}

/* The starting vector: the last scores, the mean for pages that had none, scaled to sum 1. */
static void start_vector(const PageRank *pr, Iteration *it)
{
    const float *last = rank_vector_floats(pr->value2);
    size_t n_last = pr->value2->n_elements;
    double sum = 0.0;
    for (uint32_t p = 0; p < it->graph->n_pages; p++) {
        uint32_t page = it->graph->page_at[p];
        double x = page < n_last ? (double)last[page] : 0.0;
        it->x[p] = x > 0.0 && x <= 1.0 ? x : it->mean;
        sum += it->x[p];
    }
    rank_vector_scale(it->x, it->graph->n_pages, 1.0 / sum);
}

static PageRankError page_rank_publish(PageRank *pr, const Iteration *it)
{
    const LinkGraph *g = it->graph;
    PageRankError code = page_rank_reserve(pr, g->n_pages, "page_rank_compute");
    if (code != page_rank_error_ok) {
        return code;
    }
    float *degree = rank_vector_floats(pr->out_degree);
    rank_clear(&pr->mutex, pr->out_degree, g->n_pages);
    rank_publish(&pr->mutex, pr->value2, it->x, pr->value1, it->before, g->page_at, g->n_pages);
    mutex_lock(&pr->mutex);
    for (size_t s = 0; s < g->n_sources; s++) {
        degree[g->source_page[s]] = (float)g->source_degree[s];
    }
    pr->n_links = g->n_links;
    pr->n_sources = g->n_sources;
    pr->n_ranked = g->n_pages;
    pr->total_score = (float)it->total_score;
    mutex_unlock(&pr->mutex);
    return page_rank_error_ok;
}

/* The jump by content scores, if there are any. */
static PageRankError arrange_scores(PageRank *pr, Iteration *it)
{
    double total = 0.0;
    if (pr->scores == NULL) {
        return page_rank_error_ok;
    }
    if (rank_vector_arrange(pr->scores, it->graph, &it->jump, &total) != RESULT_OK) {
        return page_rank_fail(pr, page_rank_error_memory, "page_rank_compute", "out of memory");
    }
    it->total_score = total;
    if (it->jump != NULL) {
        rank_vector_scale(it->jump, it->graph->n_pages, 1.0 / total);
    }
    return page_rank_error_ok;
}

PageRankError page_rank_compute_graph(PageRank *pr, const LinkGraph *graph)
{
    error_clean(pr->error);
    pr->loops = 0;
    pr->delta = 0.0;
    pr->relative_delta = 0.0;
    if (!(pr->damping >= 0.0f && pr->damping <= 1.0f)) {
        return page_rank_fail(pr, page_rank_error_internal, "page_rank_compute",
                              "damping is not in 0..1");
    }
    if (graph->n_pages == 0) {
        return page_rank_error_ok;
    }
    Iteration it = {.pr = pr, .graph = graph, .mean = 1.0 / graph->n_pages};
    it.x = malloc(graph->n_pages * sizeof *it.x);
    it.before = malloc(graph->n_pages * sizeof *it.before);
    it.flow = malloc(((size_t)graph->n_sources + 1) * sizeof *it.flow);
    PageRankError code = page_rank_error_ok;
    if (it.x == NULL || it.before == NULL || it.flow == NULL) {
        code = page_rank_fail(pr, page_rank_error_memory, "page_rank_compute", "out of memory");
    }
    if (code == page_rank_error_ok) {
        code = arrange_scores(pr, &it);
    }
    if (code == page_rank_error_ok) {
        start_vector(pr, &it);
        code = iterate(pr, &it);
    }
    if (code == page_rank_error_ok || code == page_rank_error_precision) {
        PageRankError published = page_rank_publish(pr, &it);
        code = published == page_rank_error_ok ? code : published;
    }
    free(it.x);
    free(it.before);
    free(it.flow);
    free(it.jump);
    return (PageRankError)rank_end((int)code, pr->error, "page_rank_compute");
}

PageRankError page_rank_compute(PageRank *pr, void *link_stream_state,
                                LinkStreamNextFunc *link_stream_next,
                                LinkStreamResetFunc *link_stream_reset)
{
    LinkGraph *graph = NULL;
    if (pr == NULL) {
        return page_rank_error_internal;
    }
    int code = rank_read_graph(&graph, pr->n_pages, link_stream_state, link_stream_next,
                               link_stream_reset, pr->stop, pr->error, "page_rank_compute");
    if (code == RANK_OK) {
        code = (int)page_rank_compute_graph(pr, graph);
    }
    link_graph_delete(graph);
    return (PageRankError)code;
}

/* The object is const for the callers of get; only the lock inside changes. */
static Mutex *lock_of(const PageRank *pr)
{
    return (Mutex *)(uintptr_t)&pr->mutex;
}

PageRankError page_rank_get(const PageRank *pr, size_t idx, float *score_old, float *score_new)
{
    if (pr == NULL) {
        return page_rank_error_internal;
    }
    return (PageRankError)rank_get(&pr->mutex, pr->n_pages, pr->value1, pr->value2, idx, score_old,
                                   score_new, pr->error, "page_rank_get");
}

float page_rank_get_out_degree(const PageRank *pr, size_t idx)
{
    mutex_lock(lock_of(pr));
    float degree = idx < pr->n_pages ? rank_vector_floats(pr->out_degree)[idx] : 0.0f;
    mutex_unlock(lock_of(pr));
    return degree;
}

void page_rank_get_totals(const PageRank *pr, PageRankTotals *totals)
{
    mutex_lock(lock_of(pr));
    totals->n_pages = pr->n_ranked;
    totals->mean_out_degree =
        pr->n_sources == 0 ? 1.0f : (float)((double)pr->n_links / (double)pr->n_sources);
    totals->total_score = pr->total_score;
    mutex_unlock(lock_of(pr));
}

void page_rank_set_persist(PageRank *pr, int value)
{
    if (pr == NULL) {
        return;
    }
    pr->persist = value;
}
