#include "ingest/page/url_score.h"

#include <math.h>

#include "frontier/sieve/sieve.h"
#include "ingest/batch/ingest_sieve.h"

/* What the page with the link was like: it is being written, or its link waited in the sieve. */
static void describe_parent(const Batch *batch, ScorerLink *link)
{
    if (batch->merges) {
        SieveSource source = sieve_source(batch->sieve->sieve);
        link->n_links = source.n_links;
        link->page_score = source.score;
    } else if (link->parent != PAGE_DB_NO_INDEX && batch->n_begun > 0 &&
               batch->begun == link->parent) {
        const CrawledPage *parent = batch->writes[batch->n_begun - 1].page;
        link->n_links = parent->links->n_links;
        link->page_score = parent->score;
    }
}

float url_score_estimate(Batch *batch, const PageRef *page)
{
    const Scorer *scorer = batch->options->scorer;
    if (scorer == NULL || batch->options->order != ORDER_BEST_FIRST) {
        return -1;
    }
    ScorerLink link = {.parent = page->linked_from, .score = page->score};
    const ScorerLink *last = &batch->estimated;
    if (!batch->has_estimate || link.parent != last->parent || link.score != last->score) {
        describe_parent(batch, &link);
        float score = 0.0f;
        int rc = scorer->estimate(scorer->state, &link, &score);
        float scale = scorer->scale == NULL ? 1.0f : scorer->scale(scorer->state);
        batch->estimate = rc == 0 ? score * scale : 0.0f;
        batch->estimated = link;
        batch->has_estimate = true;
    }
    return batch->estimate;
}

unsigned url_score_level(Batch *batch, const PageRef *page, float given)
{
    unsigned last = batch->options->levels - 1;
    unsigned depth = page->depth > last ? last : (unsigned)page->depth;
    switch (batch->options->order) {
    case ORDER_BREADTH_FIRST:
        return depth;
    case ORDER_DEPTH_FIRST:
        return last - depth;
    case ORDER_BEST_FIRST:
        break;
    }
    double score =
        batch->options->scorer != NULL
            ? (double)(given < 0 ? url_score_estimate(batch, page) : given)
            : (double)page->score * pow(batch->options->depth_factor, (double)page->depth);
    if (page->hop == 'R') {
        score *= batch->options->redirect_weight;
    }
    return schedule_level(batch->store->schedule, (float)score);
}
