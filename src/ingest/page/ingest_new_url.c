#include "ingest/page/ingest_new_url.h"

#include "ingest/batch/ingest_cluster.h"
#include "ingest/page/hand_over.h"
#include "ingest/page/host_groups.h"
#include "ingest/page/ingest_host.h"
#include "ingest/page/redirect_chain.h"
#include "ingest/page/url_score.h"
#include "store/tables/host_parking.h"

/* Seeds are what the operator wants, trap or not. */
static TrapState trap_state(Batch *batch, const PageRef *page)
{
    return batch->traps == NULL || page->hop == 'M'
               ? TRAP_FREE
               : trap_yield_state(batch->traps, page->url, page->url_length);
}

/* The record that brought a URL of another agent's finding; NULL: it was found here. */
static const LinkRecord *arrival_of(Batch *batch, const PageRef *page)
{
    return batch->cluster == NULL ? NULL : ingest_cluster_arrival(batch->cluster, page);
}

static bool has_too_many_redirects(Batch *batch, const PageRef *page)
{
    const LinkRecord *arrival = arrival_of(batch, page);
    unsigned chain = arrival != NULL ? arrival->redirects : redirect_chain_length(batch, page);
    return chain > batch->options->max_redirects;
}

/* What a page embeds is as deep as the page. */
static bool is_too_deep(Batch *batch, const PageRef *page)
{
    unsigned embeds = page->hop == 'E' ? embed_chain_length(batch, page) : 0;
    return embeds > batch->options->max_embeds || page->depth > batch->options->max_depth + embeds;
}

static Refusal ingest_new_url_refuse(Batch *batch, const BatchHost *host, const PageRef *page,
                                     TrapState trap)
{
    if (host->record.state == HOST_FULL) {
        return REFUSED_QUOTA;
    }
    if (is_too_deep(batch, page)) {
        return REFUSED_DEPTH;
    }
    if (page->hop == 'R' && has_too_many_redirects(batch, page)) {
        return REFUSED_REDIRECTS;
    }
    return trap == TRAP_PARKED ? REFUSED_TRAP : REFUSALS;
}

static unsigned ingest_new_url_level_of(Batch *batch, const PageRef *page, TrapState trap)
{
    const LinkRecord *arrival = arrival_of(batch, page);
    return trap == TRAP_THROTTLED
               ? batch->options->levels - 1
               : url_score_level(batch, page, arrival == NULL ? -1 : arrival->estimate);
}

int ingest_new_url(void *context, const PageRef *page, PageState *state)
{
    Batch *batch = context;
    int rc = 0;
    if (batch->cluster != NULL && hand_over_new(batch, page, state, &rc)) {
        return rc;
    }
    BatchHost *host = batch_host(batch, page->host);
    if (host == NULL) {
        return -1;
    }
    if (host->record.urls == 0 && !ingest_host_admit(batch, host, page)) {
        return -1;
    }
    TrapState trap = trap_state(batch, page);
    Refusal refusal = ingest_new_url_refuse(batch, host, page, trap);
    const char *rule = refusal == REFUSALS ? host_groups_refuse(batch, host, page, &refusal)
                                           : refusal_name(refusal);
    if (batch->result != RESULT_OK) {
        return -1;
    }
    if (rule != NULL) {
        batch->totals.refused[refusal]++;
        crawl_log_skipped(batch->log, page->url, page->url_length, refusal_status(refusal), rule,
                          (long)page->depth, NULL);
        return 0;
    }
    unsigned level = ingest_new_url_level_of(batch, page, trap);
    state->level = (uint8_t)level;
    page_db_looked_up(batch->store->db, 2); /* the host, and its schedule */
    batch->result =
        schedule_put(batch->store->schedule, batch->txn, page->host, level, page->index);
    host->record.urls++;
    host_groups_queued(batch, host);
    if (host_is_closed(&host->record)) {
        return batch->result == RESULT_OK ? 0 : -1; /* it waits with the others of its host */
    }
    if (host->got_urls == 0 || level < host->best_level) {
        host->best_level = (uint8_t)level;
    }
    host->got_urls++;
    return batch->result == RESULT_OK ? 0 : -1;
}
