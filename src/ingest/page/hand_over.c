#include "ingest/page/hand_over.h"

#include "store/pages/page_db_read.h"
#include "ingest/batch/ingest_cluster.h"
#include "ingest/page/redirect_chain.h"
#include "ingest/page/url_score.h"

static uint8_t at_most_255(unsigned number)
{
    return (uint8_t)(number < UINT8_MAX ? number : UINT8_MAX);
}

LinkRecord hand_over_record(Batch *batch, const PageRef *page)
{
    return (LinkRecord){.url = page->url,
                        .length = page->url_length,
                        .hop = page->hop,
                        .depth = page->depth,
                        .score = page->score,
                        .redirects = at_most_255(redirect_chain_length(batch, page)),
                        .estimate = url_score_estimate(batch, page),
                        .agent = batch->cluster->self,
                        .parent = page->linked_from == PAGE_DB_NO_INDEX ? LINK_NO_PARENT
                                                                        : page->linked_from};
}

/* The same of a URL that came from a third agent: what that one said. */
static LinkRecord passed_on(const PageRef *page, const LinkRecord *arrival)
{
    LinkRecord record = *arrival;
    record.url = page->url;
    record.length = page->url_length;
    record.hop = page->hop;
    record.depth = page->depth;
    record.score = page->score;
    return record;
}

static Result send_to_owner(Batch *batch, const PageRef *page, uint16_t owner,
                            const LinkRecord *arrival)
{
    IngestCluster *cluster = batch->cluster;
    unsigned embeds = page->hop == 'E' ? embed_chain_length(batch, page) : 0;
    if (embeds > batch->options->max_embeds || page->depth > batch->options->max_depth + embeds) {
        batch->totals.refused[REFUSED_DEPTH]++;
        crawl_log_skipped(batch->log, page->url, page->url_length, refusal_status(REFUSED_DEPTH),
                          refusal_name(REFUSED_DEPTH), (long)page->depth, NULL);
        return RESULT_OK;
    }
    LinkRecord record = arrival == NULL ? hand_over_record(batch, page) : passed_on(page, arrival);
    batch->shared.urls_sent++;
    return outbox_draft_add(&cluster->draft, owner, &record);
}

/* Where a page came from that was found elsewhere. */
static Result note_via(Batch *batch, const PageRef *page, const LinkRecord *arrival)
{
    if (arrival == NULL) {
        return RESULT_OK;
    }
    Via via = {.agent = arrival->agent, .redirects = arrival->redirects, .parent = arrival->parent};
    return via_table_put(batch->cluster->vias, batch->txn, page->index, &via);
}

bool hand_over_new(Batch *batch, const PageRef *page, PageState *state, int *rc)
{
    IngestCluster *cluster = batch->cluster;
    ClusterSlot slot = ingest_cluster_slot(cluster, page->url, page->url_length);
    uint16_t owner = slot.to;
    const LinkRecord *arrival = ingest_cluster_arrival(cluster, page);
    batch->result = note_via(batch, page, arrival);
    *rc = batch->result == RESULT_OK ? 0 : -1;
    bool is_done = arrival != NULL && arrival->done;
    bool is_ours = owner == cluster->self;
    bool awaits = is_ours && cluster_slot_is_moving(slot);
    state->flags = is_done ? DONE_FLAG : 0;
    if (is_ours && !awaits) {
        return *rc != 0 || is_done;
    }
    state->flags |= STUB_FLAG;
    batch->shared.stubs++;
    if (batch->result == RESULT_OK && !is_ours) {
        batch->result = send_to_owner(batch, page, owner, arrival);
    }
    *rc = batch->result == RESULT_OK ? 0 : -1;
    return true;
}

/* PageDB does not have the URL at hand when a merge of the sieve has found the better path. */
static Result hand_over_complete(Batch *batch, PageRef *page, Buffer *url)
{
    PageRef stored;
    if (page->url != NULL) {
        return RESULT_OK;
    }
    if (page_db_get(batch->store->db, batch->txn, page->index, &stored, url) != 0) {
        return RESULT_DAMAGED;
    }
    page->url = url->data;
    page->url_length = url->length;
    return RESULT_OK;
}

int hand_over_improved(Batch *batch, const PageRef *improved)
{
    PageRef page = *improved;
    Buffer url;
    if (!page_is_stub(&page) && batch->cluster->arrivals.n == 0) {
        return 0;
    }
    buffer_init(&url, BUFFER_NO_LIMIT);
    const LinkRecord *arrival = ingest_cluster_best(batch->cluster, page.url, page.url_length);
    Result rc = note_via(batch, &page, arrival);
    if (rc == RESULT_OK && page_is_stub(&page)) {
        rc = hand_over_complete(batch, &page, &url);
        if (rc == RESULT_OK) {
            uint16_t owner = ingest_cluster_owner(batch->cluster, page.url, page.url_length);
            rc = owner == batch->cluster->self ? RESULT_OK
                                               : send_to_owner(batch, &page, owner, arrival);
        }
    }
    buffer_destroy(&url);
    batch->result = rc;
    return rc == RESULT_OK ? 0 : -1;
}
