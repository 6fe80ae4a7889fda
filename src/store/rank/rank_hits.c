#include "store/rank/rank_hits.h"

#include <math.h>
#include <string.h>

#include "store/rank/rank_vector.h"

#define RESTART_SHARE 0.1 /* of the starting vector that is everybody's alike */

static void source_part(const RankHits *it, unsigned part, unsigned parts, size_t *first,
                        size_t *end)
{
    *first = (size_t)it->graph->n_sources * part / parts;
    *end = (size_t)it->graph->n_sources * (part + 1) / parts;
}

/* Looked at between pieces of a loop. What was computed by then is not used. */
static bool rank_hits_is_stopped(const RankHits *it, size_t i)
{
    return i % RANK_PIECE == 0 && rank_is_stopped(it->hits->stop);
}

static double sum_of_parts(const RankHits *it)
{
    double sum = 0.0;
    for (unsigned i = 0; i < rank_team_size(it->team); i++) {
        sum += it->part_sum[i];
    }
    return sum;
}

static void note_change(RankHits *it, unsigned part, double before, double now, double mean)
{
    double change = fabs(now - before);
    double unit = now > mean ? now : mean;
    it->part_delta[part] = change > it->part_delta[part] ? change : it->part_delta[part];
    if (change > it->part_relative[part] * unit) {
        it->part_relative[part] = change / unit;
    }
}

/* Team: what each hub gives along a link, and the sum that is given. */
static void rank_hits_weigh(void *context, unsigned part, unsigned parts)
{
    RankHits *it = context;
    size_t first = 0;
    size_t end = 0;
    source_part(it, part, parts, &first, &end);
    double sum = 0.0;
    for (size_t s = first; s < end && !rank_hits_is_stopped(it, s); s++) {
        double degree = it->graph->source_degree[s];
        it->flow[s] = it->is_walk ? it->hub[s] / degree : it->hub[s];
        sum += it->flow[s] * degree;
    }
    it->part_sum[part] = sum;
    it->part_delta[part] = 0.0;
    it->part_relative[part] = 0.0;
}

/* Each source of a page with more links than a slice has gains as much. */
static void rank_hits_give_back(const RankHits *it, double *gained, const uint32_t *in,
                                uint32_t degree, double back)
{
    for (uint32_t k = 0; k < degree; k++) {
        if (k % LINK_GRAPH_SLICE == 0 && rank_is_stopped(it->hits->stop)) {
            break;
        }
        gained[in[k]] += back;
    }
}

/* Team: one sweep over the links does both: a page's authority is complete when its links have been
 * read, and goes back to the same sources while they are at hand. */
static void rank_hits_sweep(void *context, unsigned part, unsigned parts)
{
    RankHits *it = context;
    const LinkGraph *g = it->graph;
    double *gained = it->gained[part];
    for (size_t s = 0; s < g->n_sources && !rank_hits_is_stopped(it, s); s += RANK_PIECE) {
        size_t n = g->n_sources - s < RANK_PIECE ? g->n_sources - s : RANK_PIECE;
        memset(gained + s, 0, n * sizeof *gained);
    }
    size_t slice = 0;
    size_t end = 0;
    link_graph_part(g, part, parts, &slice, &end);
    for (; slice < end && !rank_is_stopped(it->hits->stop); slice++) {
        const LinkSlice *c = &g->slices[slice];
        if (c->degree == 0) {
            continue;
        }
        const uint32_t *in = g->in + c->first_link;
        double share = it->is_walk ? 1.0 / c->degree : 1.0;
        double anybody = it->jump * it->mean_authority;
        for (uint32_t i = 0; i < c->n; i++, in += c->degree) {
            size_t p = c->first + i;
            double sum = c->degree <= LINK_GRAPH_SLICE
                             ? link_graph_gather(it->flow, in, c->degree)
                             : rank_vector_gather(it->flow, in, c->degree, it->hits->stop);
            double now = it->authority_scale * sum + anybody;
            note_change(it, part, it->authority[p], now, it->mean_authority);
            it->authority_before[p] = (float)it->authority[p];
            it->authority[p] = now;
            double back = share * (it->score == NULL ? now : now * it->score[p]);
            if (c->degree > LINK_GRAPH_SLICE) {
                rank_hits_give_back(it, gained, in, c->degree, back);
                continue;
            }
            for (uint32_t k = 0; k < c->degree; k++) {
                gained[in[k]] += back;
            }
        }
    }
}

/* Team: adds up what the parts have gained, into the first one's vector. */
static void rank_hits_gather(void *context, unsigned part, unsigned parts)
{
    RankHits *it = context;
    size_t first = 0;
    size_t end = 0;
    source_part(it, part, parts, &first, &end);
    double sum = 0.0;
    for (size_t s = first; s < end && !rank_hits_is_stopped(it, s); s++) {
        double hub = it->gained[0][s];
        for (unsigned i = 1; i < parts; i++) {
            hub += it->gained[i][s];
        }
        it->gained[0][s] = hub;
        sum += hub;
    }
    it->part_sum[part] = sum;
}

/* Team: the new hubs, scaled. */
static void rank_hits_replace(void *context, unsigned part, unsigned parts)
{
    RankHits *it = context;
    size_t first = 0;
    size_t end = 0;
    source_part(it, part, parts, &first, &end);
    for (size_t s = first; s < end && !rank_hits_is_stopped(it, s); s++) {
        double now = it->gained[0][s] * it->hub_scale + it->jump * it->mean_hub;
        note_change(it, part, it->hub[s], now, it->mean_hub);
        it->hub_before[s] = (float)it->hub[s];
        it->hub[s] = now;
    }
}

HitsError rank_hits_iterate(Hits *hits, RankHits *it)
{
    unsigned parts = rank_team_size(it->team);
    for (hits->loops = 0; hits->max_loops == 0 || hits->loops < hits->max_loops;) {
        rank_team_run(it->team, rank_hits_weigh, it);
        it->authority_scale = (1.0 - it->jump) / sum_of_parts(it);
        rank_team_run(it->team, rank_hits_sweep, it);
        rank_team_run(it->team, rank_hits_gather, it);
        if (rank_is_stopped(hits->stop)) {
            return hits_error_stopped;
        }
        double sum = sum_of_parts(it);
        if (!(sum > 0.0)) { /* no page that is linked to has a content score */
            if (it->score == NULL) {
                return hits_error_internal;
            }
            it->score = NULL;
            continue;
        }
        it->hub_scale = (1.0 - it->jump) / sum;
        rank_team_run(it->team, rank_hits_replace, it);
        if (rank_is_stopped(hits->stop)) {
            return hits_error_stopped;
        }
        hits->loops++;
        hits->delta = rank_vector_largest(it->part_delta, parts);
        hits->relative_delta = rank_vector_largest(it->part_relative, parts);
        if (hits->relative_delta <= (double)hits->precision) {
            return hits_error_ok;
        }
    }
    return hits_error_precision;
}

void rank_hits_start(const Hits *hits, RankHits *it)
{
    const LinkGraph *g = it->graph;
    const float *last = rank_vector_floats(hits->h2);
    double sum = 0.0;
    size_t n_known = 0;
    for (uint32_t s = 0; s < g->n_sources && !rank_hits_is_stopped(it, s); s++) {
        uint32_t page = g->source_page[s];
        double hub = page < hits->h2->n_elements ? (double)last[page] : 0.0;
        it->hub[s] = hub > 0.0 && hub <= 1.0 ? hub : 0.0;
        sum += it->hub[s];
        n_known += it->hub[s] > 0.0;
    }
    bool is_first = n_known == 0;
    for (uint32_t s = 0; s < g->n_sources && !rank_hits_is_stopped(it, s); s++) {
        it->hub[s] = is_first
                         ? it->mean_hub
                         : it->hub[s] / sum * (1.0 - RESTART_SHARE) + RESTART_SHARE * it->mean_hub;
    }
}
