#include "store/rank/hits.h"

#include <stdlib.h>

#include "store/rank/rank_hits.h"
#include "store/rank/rank_team.h"
#include "store/rank/rank_vector.h"

static HitsError hits_fail(Hits *hits, HitsError code, const char *what)
{
    error_set(hits->error, (int)code, what);
    return code;
}

/* What a computation that was stopped has left. */
static void hits_forget_computation(Hits *hits)
{
    rank_team_delete(hits->team);
    hits->team = NULL;
    (void)rank_memory_free(&hits->memory, NULL);
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
    h->path_h1 = rank_vector_path(path, "hits_h1.bin");
    h->path_h2 = rank_vector_path(path, "hits_h2.bin");
    h->path_a1 = rank_vector_path(path, "hits_a1.bin");
    h->path_a2 = rank_vector_path(path, "hits_a2.bin");
    if (h->error == NULL || (path != NULL && (h->path_h1 == NULL || h->path_h2 == NULL ||
                                              h->path_a1 == NULL || h->path_a2 == NULL))) {
        (void)hits_delete(h);
        *hits = NULL;
        return hits_error_memory;
    }
    if (rank_vector_open(&h->h1, h->path_h1, max_vertices) != RESULT_OK ||
        rank_vector_open(&h->h2, h->path_h2, max_vertices) != RESULT_OK ||
        rank_vector_open(&h->a1, h->path_a1, max_vertices) != RESULT_OK ||
        rank_vector_open(&h->a2, h->path_a2, max_vertices) != RESULT_OK) {
        return hits_fail(h, hits_error_internal, "hits_new: the files cannot be opened");
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
    hits_forget_computation(hits);
    free(hits->path_h1);
    free(hits->path_h2);
    free(hits->path_a1);
    free(hits->path_a2);
    error_delete(hits->error);
    mutex_destroy(&hits->mutex);
    free(hits);
    return is_done ? hits_error_ok : hits_error_internal;
}

static Result hits_reserve(Hits *hits, size_t n_pages)
{
    MMapArray *vectors[] = {hits->h1, hits->h2, hits->a1, hits->a2};
    mutex_lock(&hits->mutex);
    Result rc = RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < sizeof vectors / sizeof *vectors; i++) {
        rc = rank_vector_reserve(vectors[i], n_pages);
    }
    if (rc == RESULT_OK) {
        hits->n_pages = n_pages;
    }
    mutex_unlock(&hits->mutex);
    return rc;
}

HitsError hits_set_n_pages(Hits *hits, size_t n_pages)
{
    if (hits == NULL) {
        return hits_error_internal;
    }
    error_clean(hits->error);
    return hits_reserve(hits, n_pages) == RESULT_OK
               ? hits_error_ok
               : hits_fail(hits, hits_error_memory, "hits_set_n_pages: no room for the arrays");
}

/* The value of every page into new, that of a round earlier into old; in pieces, so that readers
 * never wait long. Stopped now, it leaves some scores of before among the new ones. by_source:
 * values and pages are those of sources, else of positions. */
static void publish_one(Hits *hits, const LinkGraph *g, MMapArray *old, MMapArray *new,
                        const double *values, const float *before, bool is_by_source)
{
    float *to = rank_vector_floats(new);
    float *was = rank_vector_floats(old);
    for (size_t first = 0; first < g->n_pages && !rank_is_stopped(hits->stop);
         first += RANK_PIECE) {
        size_t end = first + RANK_PIECE < g->n_pages ? first + RANK_PIECE : g->n_pages;
        mutex_lock(&hits->mutex);
        for (size_t page = first; page < end; page++) {
            was[page] = is_by_source ? 0.0f : was[page];
            to[page] = is_by_source ? 0.0f : to[page];
        }
        mutex_unlock(&hits->mutex);
    }
    size_t n = is_by_source ? g->n_sources : g->n_pages;
    const uint32_t *page_of = is_by_source ? g->source_page : g->page_at;
    for (size_t first = 0; first < n && !rank_is_stopped(hits->stop); first += RANK_PIECE) {
        size_t end = first + RANK_PIECE < n ? first + RANK_PIECE : n;
        mutex_lock(&hits->mutex);
        for (size_t i = first; i < end; i++) {
            was[page_of[i]] = before[i];
            to[page_of[i]] = (float)values[i];
        }
        mutex_unlock(&hits->mutex);
    }
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
    it->team = hits->team = rank_team_new(rank_vector_threads(hits->threads, g->n_links));
    it->is_walk = hits->jump > 0.0f;
    it->jump = it->is_walk ? (double)hits->jump : 0.0;
    it->hub = rank_vector_doubles(&hits->memory, g->n_sources);
    it->flow = rank_vector_doubles(&hits->memory, g->n_sources);
    it->authority = rank_vector_doubles(&hits->memory, g->n_pages);
    it->hub_before = rank_vector_singles(&hits->memory, g->n_sources);
    it->authority_before = rank_vector_singles(&hits->memory, g->n_pages);
    bool is_ready = it->team != NULL && it->hub != NULL && it->flow != NULL &&
                    it->authority != NULL && it->hub_before != NULL && it->authority_before != NULL;
    for (unsigned i = 0; is_ready && i < rank_team_size(it->team); i++) {
        it->gained[i] = rank_vector_doubles(&hits->memory, g->n_sources);
        is_ready = it->gained[i] != NULL;
    }
    double total = 0.0;
    if (is_ready && hits->scores != NULL) {
        Result rc =
            rank_vector_arrange(&hits->memory, hits->scores, g, hits->stop, &it->score, &total);
        if (rc == RESULT_CLOSED) {
            return hits_error_stopped;
        }
        is_ready = rc == RESULT_OK;
    }
    return is_ready ? hits_error_ok
                    : hits_fail(hits, hits_error_memory, "hits_compute: out of memory");
}

HitsError hits_compute_graph(Hits *hits, const LinkGraph *graph)
{
    error_clean(hits->error);
    hits_forget_computation(hits);
    hits->loops = 0;
    hits->delta = 0.0;
    hits->relative_delta = 0.0;
    if (!(hits->jump >= 0.0f && hits->jump < 1.0f)) {
        return hits_fail(hits, hits_error_internal, "hits_compute: jump is not in 0..1");
    }
    RankHits it = {.hits = hits, .graph = graph};
    HitsError code = hits_prepare(hits, &it);
    if (code == hits_error_ok && graph->n_links > 0) {
        rank_hits_start(hits, &it);
        code = rank_hits_iterate(hits, &it);
    }
    if (code == hits_error_ok || code == hits_error_precision) {
        if (hits_reserve(hits, graph->n_pages) != RESULT_OK) {
            code = hits_fail(hits, hits_error_memory, "hits_compute: no room for the results");
        } else {
            publish_one(hits, graph, hits->h1, hits->h2, it.hub, it.hub_before, true);
            publish_one(hits, graph, hits->a1, hits->a2, it.authority, it.authority_before, false);
            publish_gifts(hits, &it);
            code = rank_is_stopped(hits->stop) ? hits_error_stopped : code;
        }
    }
    if (code == hits_error_precision) {
        (void)hits_fail(hits, code, "hits_compute: precision was not reached in max_loops");
    } else if (code == hits_error_stopped) {
        (void)hits_fail(hits, code, "hits_compute: stopped");
    }
    if (!rank_is_stopped(hits->stop)) {
        rank_team_delete(hits->team);
        hits->team = NULL;
    }
    (void)rank_memory_free(&hits->memory, hits->stop);
    return code;
}

/* What went wrong while the graph was read. */
static HitsError hits_fail_to_build(Hits *hits, Result rc)
{
    if (rc == RESULT_MEMORY) {
        return hits_fail(hits, hits_error_memory, "hits_compute: no memory for the links");
    }
    if (rc == RESULT_CLOSED) {
        return hits_fail(hits, hits_error_stopped, "hits_compute: stopped");
    }
    return hits_fail(hits, hits_error_internal,
                     rc == RESULT_LIMIT ? "hits_compute: a page index is out of range"
                                        : "hits_compute: the link stream failed");
}

HitsError hits_compute(Hits *hits, void *link_stream_state, LinkStreamNextFunc *link_stream_next,
                       LinkStreamResetFunc *link_stream_reset)
{
    if (hits == NULL) {
        return hits_error_internal;
    }
    error_clean(hits->error);
    if (link_stream_next == NULL || link_stream_reset == NULL) {
        return hits_fail(hits, hits_error_internal,
                         "hits_compute: a function of the link stream is NULL");
    }
    LinkGraph *graph = NULL;
    Result rc = link_graph_build(&graph, hits->n_pages, link_stream_state, link_stream_next,
                                 link_stream_reset, hits->stop);
    if (rc != RESULT_OK) {
        link_graph_delete(graph);
        return hits_fail_to_build(hits, rc);
    }
    HitsError code = hits_compute_graph(hits, graph);
    link_graph_delete(graph);
    return code;
}

static HitsError hits_fail_get(const Hits *hits, const char *what)
{
    error_clean(hits->error);
    error_set(hits->error, (int)hits_error_internal, what);
    return hits_error_internal;
}

static HitsError hits_get_one(const Hits *hits, const MMapArray *old, const MMapArray *new,
                              size_t idx, float *score_old, float *score_new)
{
    /* the object is const for its caller; only the lock inside changes */
    Mutex *mutex = (Mutex *)(uintptr_t)&hits->mutex;
    HitsError code = hits_error_internal;
    if (score_old == NULL || score_new == NULL) {
        return hits_fail_get(hits, "hits_get: an argument is NULL");
    }
    *score_old = 0.0f;
    *score_new = 0.0f;
    mutex_lock(mutex);
    if (idx < hits->n_pages) {
        *score_old = rank_vector_floats(old)[idx];
        *score_new = rank_vector_floats(new)[idx];
        code = hits_error_ok;
    }
    mutex_unlock(mutex);
    return code == hits_error_ok
               ? code
               : hits_fail_get(hits, "hits_get: no page has that index; see hits_set_n_pages");
}

HitsError hits_get_hub(const Hits *hits, size_t idx, float *score_old, float *score_new)
{
    if (hits == NULL) {
        return hits_error_internal;
    }
    return hits_get_one(hits, hits->h1, hits->h2, idx, score_old, score_new);
}

HitsError hits_get_authority(const Hits *hits, size_t idx, float *score_old, float *score_new)
{
    if (hits == NULL) {
        return hits_error_internal;
    }
    return hits_get_one(hits, hits->a1, hits->a2, idx, score_old, score_new);
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
