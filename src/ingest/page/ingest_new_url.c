#include "ingest/page/ingest_new_url.h"

#include <math.h>

#include "ingest/page/host_groups.h"
#include "ingest/page/ingest_host.h"

/* URL score: how good a new URL is expected to be, and its level in the schedule.
 *
 * What: the level follows from schedule.order: from the depth alone, or, best first, from the
 * scorer's estimate for a link on that page. Without a scorer, the score of the link and its depth
 * decide. For a URL that another agent found, the estimate came with the URL, because the linking
 * page is at that agent.
 * Threads: ingest, inside the batch's transaction. */

/* The scorer's estimate, in the unit of levels. Negative when there is no scorer, or schedule.order
 * does not use one. */
static float url_score_estimate(Batch *batch, const PageRef *page)
{
    const Scorer *scorer = batch->options->scorer;
    if (scorer == NULL || batch->options->config.schedule_order != ORDER_BEST_FIRST) {
        return -1;
    }
    ScorerLink link = {.parent = page->linked_from, .score = page->score};
    const ScorerLink *last = &batch->estimated;
    if (!batch->has_estimate || link.parent != last->parent || link.score != last->score) {
        /* What the page with the link was like: it is being written, or its link waited in the
         * sieve. */
        if (batch->merges) {
            SieveSource source = sieve_source(batch->sieve->sieve);
            link.n_links = source.n_links;
            link.page_score = source.score;
        } else if (link.parent != PAGE_DB_NO_INDEX && batch->n_begun > 0 &&
                   batch->begun == link.parent) {
            const CrawledPage *parent = batch->writes[batch->n_begun - 1].page;
            link.n_links = parent->links->n_links;
            link.page_score = parent->score;
        }
        float score = 0.0f;
        int rc = scorer->estimate(scorer->state, &link, &score);
        float scale = scorer->scale == NULL ? 1.0f : scorer->scale(scorer->state);
        batch->estimate = rc == 0 ? score * scale : 0.0f;
        batch->estimated = link;
        batch->has_estimate = true;
    }
    return batch->estimate;
}

/* The level of a new URL. given: the estimate that came with the URL; negative when none did. */
static unsigned url_score_level(Batch *batch, const PageRef *page, float given)
{
    unsigned last = (unsigned)batch->options->config.schedule_levels - 1;
    unsigned depth = page->depth > last ? last : (unsigned)page->depth;
    switch ((ScheduleOrder)batch->options->config.schedule_order) {
    case ORDER_BREADTH_FIRST:
        return depth;
    case ORDER_DEPTH_FIRST:
        return last - depth;
    case ORDER_BEST_FIRST:
        break;
    }
    double score = (double)given;
    if (batch->options->scorer == NULL) {
        score = (double)page->score *
                pow(batch->options->config.score_depth_factor, (double)page->depth);
    } else if (given < 0) {
        score = (double)url_score_estimate(batch, page);
    }
    return schedule_level(batch->store->schedule, (float)score);
}

/* Redirect chain: how many redirects, or how many embeds, in a row lead to a URL.
 *
 * What: counts redirects along the path of the page in this database. Where the path continues at
 * another agent, the count came with the URL (cluster/link/stub.h), so that a loop of
 * redirects over two agents ends.
 * Threads: ingest, inside the batch's transaction. */

/* What is known of the redirects that led to a page of which the path begins elsewhere. */
static unsigned redirects_before(Batch *batch, uint64_t index)
{
    Via via;
    return batch->cluster != NULL &&
                   via_table_get(batch->cluster->vias, batch->txn, index, &via) == RESULT_OK
               ? via.redirects
               : 1;
}

/* The number of redirects that lead to this page, the last one included; 0 when the page was not
 * found by a redirect. Counting stops at fetch.max_redirects + 1. */
static unsigned redirect_chain_length(Batch *batch, const PageRef *page)
{
    unsigned most = (unsigned)batch->options->config.fetch_max_redirects;
    uint64_t from = page->linked_from;
    unsigned chain = page->hop == 'R';
    if (chain == 1 && from == PAGE_DB_NO_INDEX) {
        chain = redirects_before(batch, page->index);
    }
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    PageRef ref;
    while (chain > 0 && from != PAGE_DB_NO_INDEX && chain <= most) {
        buffer_reset(&url);
        if (page_db_get(batch->store->db, batch->txn, from, &ref, &url) != 0 || ref.hop != 'R') {
            break;
        }
        chain += ref.linked_from == PAGE_DB_NO_INDEX ? redirects_before(batch, from) : 1;
        from = ref.linked_from;
    }
    buffer_destroy(&url);
    return chain;
}

/* The same for hops from a page to what it embeds (E), and redirects behind the first of them: 2
 * for an image of a style sheet. Not counted further than one beyond scope.embed_hops; what lies
 * before another agent's part of the path is not counted. */
static unsigned embed_chain_length(Batch *batch, const PageRef *page)
{
    unsigned most = (unsigned)batch->options->config.scope_embed_hops;
    unsigned steps = most + (unsigned)batch->options->config.fetch_max_redirects + 1;
    unsigned embeds = 0;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    PageRef ref = *page;
    for (unsigned n = 1; (ref.hop == 'E' || ref.hop == 'R') && embeds <= most && n <= steps; n++) {
        embeds = ref.hop == 'E' ? n : embeds;
        uint64_t from = ref.linked_from;
        buffer_reset(&url);
        if (from == PAGE_DB_NO_INDEX ||
            page_db_get(batch->store->db, batch->txn, from, &ref, &url) != 0) {
            break;
        }
    }
    buffer_destroy(&url);
    return embeds;
}

static bool is_too_deep(Batch *batch, const PageRef *page)
{
    return ingest_is_too_deep(page->depth, embed_chain_length(batch, page),
                              (uint64_t)batch->options->config.scope_depth,
                              (unsigned)batch->options->config.scope_embed_hops);
}

/* ---- Hand over ---- */

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
    if (is_too_deep(batch, page)) {
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

/* With Batch.cluster: hands a new URL over if another agent owns it. True when it did, or something
 * has failed. */
static bool hand_over_new(Batch *batch, const PageRef *page, PageState *state)
{
    IngestCluster *cluster = batch->cluster;
    ClusterSlot slot = ingest_cluster_slot(cluster, page->url, page->url_length);
    uint16_t owner = slot.to;
    const LinkRecord *arrival = ingest_cluster_arrival(cluster, page);
    bool is_noted = batch_note(batch, note_via(batch, page, arrival));
    bool is_done = arrival != NULL && arrival->done;
    bool is_ours = owner == cluster->self;
    bool awaits = is_ours && cluster_slot_is_moving(slot);
    state->flags = is_done ? DONE_FLAG : 0;
    if (is_ours && !awaits) {
        return !is_noted || is_done;
    }
    state->flags |= STUB_FLAG;
    batch->shared.stubs++;
    if (is_noted && !is_ours) {
        (void)batch_note(batch, send_to_owner(batch, page, owner, arrival));
    }
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

int hand_over_improved(void *context, const PageRef *improved)
{
    Batch *batch = context;
    PageRef page = *improved;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    if (!page_is_stub(&page) && batch->cluster->arrivals.n == 0) {
        return 0;
    }
    const LinkRecord *arrival = ingest_cluster_best(batch->cluster, page.url, page.url_length);
    if (batch_note(batch, note_via(batch, &page, arrival)) && page_is_stub(&page) &&
        batch_note(batch, hand_over_complete(batch, &page, &url))) {
        uint16_t owner = ingest_cluster_owner(batch->cluster, page.url, page.url_length);
        (void)batch_note(batch, owner == batch->cluster->self
                                    ? RESULT_OK
                                    : send_to_owner(batch, &page, owner, arrival));
    }
    buffer_destroy(&url);
    return batch->result == RESULT_OK ? 0 : -1;
}

/* ---- New URL ---- */

/* The record that brought a URL of another agent's finding; NULL: it was found here. */
static const LinkRecord *arrival_of(Batch *batch, const PageRef *page)
{
    return batch->cluster == NULL ? NULL : ingest_cluster_arrival(batch->cluster, page);
}

static bool has_too_many_redirects(Batch *batch, const PageRef *page)
{
    const LinkRecord *arrival = arrival_of(batch, page);
    unsigned chain = arrival != NULL ? arrival->redirects : redirect_chain_length(batch, page);
    return chain > (unsigned)batch->options->config.fetch_max_redirects;
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
    if (trap == TRAP_PARKED) {
        return REFUSED_TRAP;
    }
    /* Seeds are visited whoever has them, for the sake of their links. */
    const Archive *archive = batch->store->archive;
    return archive != NULL && page->hop != 'M' &&
                   archive_is_fresh_elsewhere(archive, page->url, page->url_length)
               ? REFUSED_ELSEWHERE
               : REFUSALS;
}

/* Refuses a new URL that is ours, or schedules it. */
static bool ingest_new_url_judge(Batch *batch, const PageRef *page, PageState *state)
{
    BatchHost *host = batch_host(batch, page->host);
    if (host == NULL || (host->record.urls == 0 && !ingest_host_admit(batch, host, page))) {
        return false;
    }
    /* Seeds are what the operator wants, trap or not. */
    TrapState trap = batch->traps == NULL || page->hop == 'M'
                         ? TRAP_FREE
                         : trap_yield_state(batch->traps, page->url, page->url_length);
    Refusal refusal = ingest_new_url_refuse(batch, host, page, trap);
    const char *rule = refusal == REFUSALS ? host_groups_refuse(batch, host, page, &refusal)
                                           : refusal_name(refusal);
    if (batch->result != RESULT_OK) {
        return false;
    }
    if (rule != NULL) {
        batch->totals.refused[refusal]++;
        crawl_log_skipped(batch->log, page->url, page->url_length, refusal_status(refusal), rule,
                          (long)page->depth, NULL);
        return true;
    }
    const LinkRecord *arrival = arrival_of(batch, page);
    unsigned level = (unsigned)batch->options->config.schedule_levels - 1;
    if (trap != TRAP_THROTTLED) {
        level = url_score_level(batch, page, arrival == NULL ? -1 : arrival->estimate);
    }
    state->level = (uint8_t)level;
    page_db_looked_up(batch->store->db, 2); /* the host, and its schedule */
    host->record.urls++;
    host_groups_queued(batch, host);
    if (!host_is_closed(&host->record)) { /* else it waits with the others of its host */
        batch_host_gets(host, 1, level);
    }
    return batch_schedule(batch, page, SCHEDULE_NO_LEVEL, level);
}

int ingest_new_url(void *context, const PageRef *page, PageState *state)
{
    Batch *batch = context;
    bool is_done = (batch->cluster != NULL && hand_over_new(batch, page, state)) ||
                   ingest_new_url_judge(batch, page, state);
    return is_done && batch->result == RESULT_OK ? 0 : -1;
}
