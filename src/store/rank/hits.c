#include "store/rank/hits.h"

#include <math.h>
#include <stdlib.h>

#include "store/rank/rank_vector.h"

/* One computation of hubs and authorities: the sweeps over the link graph.
 *
 * What: hits.h tells the formulas. Each round weighs what the hubs give; sweeps once over the
 * links, where an authority is complete when its links have been read and gives back at once; and
 * replaces the hubs by what they have gained.
 * Owns: nothing; the vectors are those of the Hits.
 * Threads: the one that computes.
 * Errors: hits_error_stopped, hits_error_precision. */

typedef struct RankHits {
    const Hits *hits;
    const LinkGraph *graph;
    double *hub;       /* by source, sum 1 */
    double *flow;      /* by source: what it gives along each of its links */
    double *gained;    /* by source: the next hubs */
    double *authority; /* by position, sum 1 */
    float *hub_before; /* both one round earlier */
    float *authority_before;
    double *score;          /* by position: content; NULL: 1 each */
    double mean_hub;        /* 1 / sources */
    double mean_authority;  /* 1 / targets */
    bool is_walk;           /* links share what a page gives */
    double jump;            /* share of both that everybody gets */
    double authority_scale; /* (1 - jump) / what this round's hubs give */
    double delta;           /* largest change of this round */
    double relative;
} RankHits;

#define RESTART_SHARE 0.1 /* of the starting vector that is everybody's alike */

static void note_change(RankHits *it, double before, double now, double mean)
{
    double change = fabs(now - before);
    double unit = now > mean ? now : mean;
    it->delta = change > it->delta ? change : it->delta;
    if (change > it->relative * unit) {
        it->relative = change / unit;
    }
}

/* What each hub gives along a link. Returns the sum that is given. */
static double rank_hits_weigh(RankHits *it)
{
    double sum = 0.0;
    for (size_t s = 0; s < it->graph->n_sources; s++) {
        double degree = it->graph->source_degree[s];
        it->flow[s] = it->is_walk ? it->hub[s] / degree : it->hub[s];
        it->gained[s] = 0.0;
        sum += it->flow[s] * degree;
    }
    it->delta = 0.0;
    it->relative = 0.0;
    return sum;
}

/* One sweep over the links does both: a page's authority is complete when its links have been read,
 * and goes back to the same sources while they are at hand. */
static void rank_hits_sweep(RankHits *it)
{
    const LinkGraph *g = it->graph;
    double *gained = it->gained;
    for (size_t slice = 0; slice < g->n_slices && !rank_is_stopped(it->hits->stop); slice++) {
        const LinkSlice *c = &g->slices[slice];
        if (c->degree == 0) {
            continue;
        }
        const uint32_t *in = g->in + c->first_link;
        double share = it->is_walk ? 1.0 / c->degree : 1.0;
        double anybody = it->jump * it->mean_authority;
        for (uint32_t i = 0; i < c->n; i++, in += c->degree) {
            size_t p = c->first + i;
            double now = it->authority_scale * link_graph_gather(it->flow, in, c->degree) + anybody;
            note_change(it, it->authority[p], now, it->mean_authority);
            it->authority_before[p] = (float)it->authority[p];
            it->authority[p] = now;
            double back = share * (it->score == NULL ? now : now * it->score[p]);
            for (uint32_t k = 0; k < c->degree; k++) {
                gained[in[k]] += back;
            }
        }
    }
}

/* The new hubs, scaled; sum: of what they have gained. */
static void rank_hits_replace(RankHits *it, double sum)
{
    double scale = (1.0 - it->jump) / sum;
    for (size_t s = 0; s < it->graph->n_sources; s++) {
        double now = it->gained[s] * scale + it->jump * it->mean_hub;
        note_change(it, it->hub[s], now, it->mean_hub);
        it->hub_before[s] = (float)it->hub[s];
        it->hub[s] = now;
    }
}

/* Rounds until hubs and authorities change by less than hits->precision.
 * hits_error_precision: max_loops came first; hits_error_stopped. */
static HitsError rank_hits_iterate(Hits *hits, RankHits *it)
{
    for (hits->loops = 0; hits->max_loops == 0 || hits->loops < hits->max_loops;) {
        it->authority_scale = (1.0 - it->jump) / rank_hits_weigh(it);
        rank_hits_sweep(it);
        if (rank_is_stopped(hits->stop)) {
            return hits_error_stopped;
        }
        double sum = 0.0;
        for (size_t s = 0; s < it->graph->n_sources; s++) {
            sum += it->gained[s];
        }
        if (!(sum > 0.0)) { /* no page that is linked to has a content score */
            if (it->score == NULL) {
                return hits_error_internal;
            }
            free(it->score);
            it->score = NULL;
            continue;
        }
        rank_hits_replace(it, sum);
        hits->loops++;
        hits->delta = it->delta;
        hits->relative_delta = it->relative;
        if (hits->relative_delta <= (double)hits->precision) {
            return hits_error_ok;
        }
    }
    return hits_error_precision;
}

/* The hubs that a computation begins with: the last ones, mixed with a little of everybody. */
static void rank_hits_start(const Hits *hits, RankHits *it)
{
    const LinkGraph *g = it->graph;
    const float *last = rank_vector_floats(hits->h2);
    double sum = 0.0;
    size_t n_known = 0;
    for (uint32_t s = 0; s < g->n_sources; s++) {
        uint32_t page = g->source_page[s];
        double hub = page < hits->h2->n_elements ? (double)last[page] : 0.0;
        it->hub[s] = hub > 0.0 && hub <= 1.0 ? hub : 0.0;
        sum += it->hub[s];
        n_known += it->hub[s] > 0.0;
    }
    bool is_first = n_known == 0;
    for (uint32_t s = 0; s < g->n_sources; s++) {
        it->hub[s] = is_first
                         ? it->mean_hub
                         : it->hub[s] / sum * (1.0 - RESTART_SHARE) + RESTART_SHARE * it->mean_hub;
    }
}

/* ---- Hubs and authorities of a link graph ---- */

_Static_assert((int)hits_error_memory == RANK_MEMORY && (int)hits_error_internal == RANK_INTERNAL &&
                   (int)hits_error_precision == RANK_PRECISION &&
                   (int)hits_error_stopped == RANK_STOPPED,
               "codes of rank_vector.h");

static HitsError hits_fail(Hits *hits, HitsError code, const char *who, const char *what)
{
    return (HitsError)rank_fail(hits->error, (int)code, who, what);
}

HitsError hits_new(Hits **hits, const char *path, size_t max_vertices)
{
    if (hits == NULL) {
        return hits_error_internal;
    }
    Hits *h = *hits = calloc(1, sizeof *h);
    if (h == NULL) {
        return hits_error_memory;
    }
    mutex_init(&h->mutex, RANK_TABLE);
    h->max_loops = HITS_DEFAULT_MAX_LOOPS;
    h->precision = HITS_DEFAULT_PRECISION;
    h->persist = HITS_DEFAULT_PERSIST;
    h->error = error_new();
    if (h->error == NULL) {
        (void)hits_delete(h);
        *hits = NULL;
        return hits_error_memory;
    }
    size_t n = max_vertices;
    if (rank_vector_open(&h->h1, &h->path_h1, path, "hits_h1.bin", n) != RESULT_OK ||
        rank_vector_open(&h->h2, &h->path_h2, path, "hits_h2.bin", n) != RESULT_OK ||
        rank_vector_open(&h->a1, &h->path_a1, path, "hits_a1.bin", n) != RESULT_OK ||
        rank_vector_open(&h->a2, &h->path_a2, path, "hits_a2.bin", n) != RESULT_OK) {
        return hits_fail(h, hits_error_internal, "hits_new", "the files cannot be opened");
    }
    return hits_error_ok;
}

HitsError hits_delete(Hits *hits)
{
    if (hits == NULL) {
        return hits_error_ok;
    }
    bool is_done = rank_vector_close(hits->h1, hits->persist);
    is_done = rank_vector_close(hits->h2, hits->persist) && is_done;
    is_done = rank_vector_close(hits->a1, hits->persist) && is_done;
    is_done = rank_vector_close(hits->a2, hits->persist) && is_done;
    free(hits->path_h1);
    free(hits->path_h2);
    free(hits->path_a1);
    free(hits->path_a2);
    error_delete(hits->error);
    mutex_destroy(&hits->mutex);
    free(hits);
    return is_done ? hits_error_ok : hits_error_internal;
}

static HitsError hits_reserve(Hits *hits, size_t n_pages, const char *who)
{
    MMapArray *const vectors[] = {hits->h1, hits->h2, hits->a1, hits->a2};
    return (HitsError)rank_reserve(&hits->mutex, vectors, 4, n_pages, &hits->n_pages, hits->error,
                                   who);
}

HitsError hits_set_n_pages(Hits *hits, size_t n_pages)
{
    if (hits == NULL) {
        return hits_error_internal;
    }
    error_clean(hits->error);
    return hits_reserve(hits, n_pages, "hits_set_n_pages");
}

static void publish_gifts(Hits *hits, const RankHits *it)
{
    const LinkGraph *g = it->graph;
    double of_nobody = it->jump * it->mean_authority;
    HitsGifts gifts = {.n_pages = g->n_pages,
                       .is_shared = it->is_walk,
                       .scale = (float)it->authority_scale,
                       .of_nobody = (float)of_nobody};
    if (g->n_links > 0) {
        gifts.of_newcomer = (float)((1.0 - it->jump) / (double)g->n_links + of_nobody);
    }
    mutex_lock(&hits->mutex);
    hits->gifts = gifts;
    mutex_unlock(&hits->mutex);
}

static HitsError hits_prepare(Hits *hits, RankHits *it)
{
    const LinkGraph *g = it->graph;
    it->mean_hub = g->n_sources == 0 ? 0.0 : 1.0 / g->n_sources;
    it->mean_authority = g->n_targets == 0 ? 0.0 : 1.0 / g->n_targets;
    it->is_walk = hits->jump > 0.0f;
    it->jump = it->is_walk ? (double)hits->jump : 0.0;
    size_t n_sources = (size_t)g->n_sources + 1;
    size_t n_pages = (size_t)g->n_pages + 1;
    it->hub = calloc(n_sources, sizeof *it->hub);
    it->flow = calloc(n_sources, sizeof *it->flow);
    it->gained = calloc(n_sources, sizeof *it->gained);
    it->authority = calloc(n_pages, sizeof *it->authority);
    it->hub_before = calloc(n_sources, sizeof *it->hub_before);
    it->authority_before = calloc(n_pages, sizeof *it->authority_before);
    bool is_ready = it->hub != NULL && it->flow != NULL && it->gained != NULL &&
                    it->authority != NULL && it->hub_before != NULL && it->authority_before != NULL;
    double total = 0.0;
    if (is_ready && hits->scores != NULL) {
        is_ready = rank_vector_arrange(hits->scores, g, &it->score, &total) == RESULT_OK;
    }
    if (!is_ready) {
        return hits_fail(hits, hits_error_memory, "hits_compute", "out of memory");
    }
    return hits_error_ok;
}

static HitsError hits_publish(Hits *hits, const RankHits *it)
{
    const LinkGraph *g = it->graph;
    HitsError code = hits_reserve(hits, g->n_pages, "hits_compute");
    if (code != hits_error_ok) {
        return code;
    }
    rank_clear(&hits->mutex, hits->h1, g->n_pages); /* pages without links are no hubs */
    rank_clear(&hits->mutex, hits->h2, g->n_pages);
    rank_publish(&hits->mutex, hits->h2, it->hub, hits->h1, it->hub_before, g->source_page,
                 g->n_sources);
    rank_publish(&hits->mutex, hits->a2, it->authority, hits->a1, it->authority_before, g->page_at,
                 g->n_pages);
    publish_gifts(hits, it);
    return hits_error_ok;
}

HitsError hits_compute_graph(Hits *hits, const LinkGraph *graph)
{
    error_clean(hits->error);
    hits->loops = 0;
    hits->delta = 0.0;
    hits->relative_delta = 0.0;
    if (!(hits->jump >= 0.0f && hits->jump < 1.0f)) {
        return hits_fail(hits, hits_error_internal, "hits_compute", "jump is not in 0..1");
    }
    RankHits it = {.hits = hits, .graph = graph};
    HitsError code = hits_prepare(hits, &it);
    if (code == hits_error_ok && graph->n_links > 0) {
        rank_hits_start(hits, &it);
        code = rank_hits_iterate(hits, &it);
    }
    if (code == hits_error_ok || code == hits_error_precision) {
        HitsError published = hits_publish(hits, &it);
        code = published == hits_error_ok ? code : published;
    }
    free(it.hub);
    free(it.flow);
    free(it.gained);
    free(it.authority);
    free(it.hub_before);
    free(it.authority_before);
    free(it.score);
    return (HitsError)rank_end((int)code, hits->error, "hits_compute");
}

HitsError hits_compute(Hits *hits, void *link_stream_state, LinkStreamNextFunc *link_stream_next,
                       LinkStreamResetFunc *link_stream_reset)
{
    LinkGraph *graph = NULL;
    if (hits == NULL) {
        return hits_error_internal;
    }
    int code = rank_read_graph(&graph, hits->n_pages, link_stream_state, link_stream_next,
                               link_stream_reset, hits->stop, hits->error, "hits_compute");
    if (code == RANK_OK) {
        code = (int)hits_compute_graph(hits, graph);
    }
    link_graph_delete(graph);
    return (HitsError)code;
}

HitsError hits_get_hub(const Hits *hits, size_t idx, float *score_old, float *score_new)
{
    if (hits == NULL) {
        return hits_error_internal;
    }
    return (HitsError)rank_get(&hits->mutex, hits->n_pages, hits->h1, hits->h2, idx, score_old,
                               score_new, hits->error, "hits_get_hub");
}

HitsError hits_get_authority(const Hits *hits, size_t idx, float *score_old, float *score_new)
{
    if (hits == NULL) {
        return hits_error_internal;
    }
    return (HitsError)rank_get(&hits->mutex, hits->n_pages, hits->a1, hits->a2, idx, score_old,
                               score_new, hits->error, "hits_get_authority");
}

HitsError hits_get_gift(const Hits *hits, size_t idx, size_t n_links, float *gift)
{
    Mutex *mutex = (Mutex *)(uintptr_t)&hits->mutex;
    mutex_lock(mutex);
    const HitsGifts *gifts = &hits->gifts;
    HitsError code = gifts->n_pages == 0 ? hits_error_internal : hits_error_ok;
    float hub = idx < hits->n_pages ? rank_vector_floats(hits->h2)[idx] : 0.0f;
    bool is_hub = hub > 0.0f && !(gifts->is_shared && n_links == 0);
    float links = gifts->is_shared ? (float)n_links : 1.0f;
    *gift = is_hub ? hub * gifts->scale / links + gifts->of_nobody : gifts->of_newcomer;
    mutex_unlock(mutex);
    return code;
}

size_t hits_get_n_ranked(const Hits *hits)
{
    Mutex *mutex = (Mutex *)(uintptr_t)&hits->mutex;
    mutex_lock(mutex);
    size_t n_pages = hits->gifts.n_pages;
    mutex_unlock(mutex);
    return n_pages;
}

void hits_set_persist(Hits *hits, int value)
{
    if (hits == NULL) {
        return;
    }
    hits->persist = value;
}
