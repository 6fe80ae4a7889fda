#include "ingest/page/ingest_new_url.h"

#include <math.h>

#include "frontier/sieve/sieve.h"
#include "ingest/batch/ingest_sieve.h"
#include "store/tables/host_parking.h"

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

/* What the scorer expects of a new page, in units in which levels are measured. */
static float estimate(Batch *batch, const PageRef *page)
{
    const Scorer *scorer = batch->options->scorer;
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

static unsigned level_of(Batch *batch, const PageRef *page)
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
            ? (double)estimate(batch, page)
            : (double)page->score * pow(batch->options->depth_factor, (double)page->depth);
    if (page->hop == 'R') {
        score *= batch->options->redirect_weight;
    }
    return schedule_level(batch->store->schedule, (float)score);
}

/* How many redirects lead to this page, this one included. */
static unsigned redirect_chain(Batch *batch, const PageRef *page)
{
    unsigned chain = 1;
    uint64_t from = page->linked_from;
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    PageRef ref;
    while (from != PAGE_DB_NO_INDEX && chain <= batch->options->max_redirects) {
        buffer_reset(&url);
        if (page_db_get(batch->store->db, batch->txn, from, &ref, &url) != 0 || ref.hop != 'R') {
            break;
        }
        chain++;
        from = ref.linked_from;
    }
    buffer_destroy(&url);
    return chain;
}

/* Seeds are what the operator wants, trap or not. */
static TrapState trap_state(Batch *batch, const PageRef *page)
{
    return batch->traps == NULL || page->hop == 'M'
               ? TRAP_FREE
               : trap_yield_state(batch->traps, page->url, page->url_length);
}

static Refusal refuse(Batch *batch, const BatchHost *host, const PageRef *page, TrapState trap)
{
    if (host->record.state == HOST_FULL) {
        return REFUSED_QUOTA;
    }
    if (host->record.state == HOST_DENIED) {
        return REFUSED_HOST;
    }
    if (page->depth > batch->options->max_depth) {
        return REFUSED_DEPTH;
    }
    if (page->hop == 'R' && redirect_chain(batch, page) > batch->options->max_redirects) {
        return REFUSED_REDIRECTS;
    }
    return trap == TRAP_PARKED ? REFUSED_TRAP : REFUSALS;
}

int ingest_new_url(void *context, const PageRef *page, PageState *state)
{
    Batch *batch = context;
    BatchHost *host = batch_host(batch, page->host);
    if (host == NULL) {
        return -1;
    }
    TrapState trap = trap_state(batch, page);
    Refusal refusal = refuse(batch, host, page, trap);
    if (refusal != REFUSALS) {
        batch->totals.refused[refusal]++;
        crawl_log_skipped(batch->log, page->url, page->url_length, refusal_status(refusal),
                          refusal_name(refusal), (long)page->depth, NULL);
        return 0;
    }
    unsigned level = trap == TRAP_THROTTLED ? batch->options->levels - 1 : level_of(batch, page);
    state->level = (uint8_t)level;
    page_db_looked_up(batch->store->db, 2); /* the host, and its schedule */
    batch->result =
        schedule_put(batch->store->schedule, batch->txn, page->host, level, page->index);
    host->record.urls++;
    if (host_is_aside(&host->record)) {
        return batch->result == RESULT_OK ? 0 : -1; /* it waits with the others of its host */
    }
    if (host->got_urls == 0 || level < host->best_level) {
        host->best_level = (uint8_t)level;
    }
    host->got_urls++;
    return batch->result == RESULT_OK ? 0 : -1;
}
