#include "ingest/page/held_urls.h"

#include "ingest/page/host_groups.h"

#include <string.h>

/* What a status says of the rule; REFUSALS: it is no refusal by a rule. */
static Refusal held_urls_refusal_of(int status)
{
    switch (status) {
    case STATUS_SCOPE:
        return REFUSED_SCOPE;
    case STATUS_DENIED:
        return REFUSED_DENIED;
    case STATUS_BLOCKED:
        return REFUSED_FILTER;
    case STATUS_BAD_URL:
        return REFUSED_PORT;
    default:
        return REFUSALS;
    }
}

Result held_urls_hold(Batch *batch, const FetchResult *fetch)
{
    Refusal refusal = held_urls_refusal_of(fetch->answer.status);
    if (refusal == REFUSALS || fetch->kind != FETCHED_NOTHING) {
        return RESULT_OK;
    }
    batch->totals.refused[refusal]++;
    HeldUrl held = {.index = fetch->request.index,
                    .status = fetch->answer.status,
                    .level = fetch->request.level};
    return fetch->request.again || batch->store->held == 0
               ? RESULT_OK
               : held_rows_put(batch->store->held, batch->txn, &held);
}

static bool held_urls_is_admitted(Batch *batch, const PageRef *page, const Filter *filter, Url *url,
                                  FilterScratch *scratch)
{
    AdmissionQuestion question = {.url = page->url, .length = page->url_length, .hop = page->hop};
    if (batch->admission != NULL &&
        admission_judge(batch->admission, &question).refusal != REFUSALS) {
        return false;
    }
    if (filter == NULL || url_parse(url, NULL, page->url, page->url_length) != RESULT_OK) {
        return true;
    }
    FilterInput input = {.url = url,
                         .has_depth = true,
                         .depth = page->depth > UINT32_MAX ? UINT32_MAX : (uint32_t)page->depth};
    return filter_matches(filter, &input, scratch);
}

/* Whether another spelling of the page was crawled meanwhile. */
static Result is_replaced(Batch *batch, const PageRef *page, bool *replaced)
{
    const char *first = page->url;
    Result rc = batch->options->dedup.on ? batch_spell(batch, page->url, &first) : RESULT_OK;
    *replaced = rc == RESULT_OK && strcmp(first, page->url) != 0;
    return rc;
}

static Result held_urls_schedule(Batch *batch, BatchHost *host, const PageRef *page, int32_t status,
                                 unsigned level)
{
    bool is_done = batch_note_db(batch, page_db_set_state(batch->store->db, batch->txn, page->index,
                                                          status, (uint8_t)level, 0)) &&
                   batch_schedule(batch, page, SCHEDULE_NO_LEVEL, level);
    if (page->n_crawls == 0) { /* what was fetched is not queued, but visited again */
        host_groups_queued(batch, host);
    }
    if (is_done && !host_is_closed(&host->record)) {
        batch_host_gets(host, 1, level);
    }
    return batch->result;
}

/* As it was before it was held. */
static Result schedule_again(Batch *batch, const HeldUrl *held, const PageRef *page,
                             BatchHost *host)
{
    Refusal refusal = held_urls_refusal_of(held->status);
    unsigned level = held->level < SCHEDULE_MAX_LEVELS
                         ? held->level
                         : (unsigned)batch->options->config.schedule_levels - 1;
    Result rc = held_urls_schedule(batch, host, page, 0, level);
    if (rc == RESULT_OK && refusal != REFUSALS && batch->totals.refused[refusal] > 0) {
        batch->totals.refused[refusal]--;
    }
    return rc;
}

Result held_urls_return(Batch *batch, uint64_t index, bool *under_way)
{
    PageRef page;
    BatchHost *host =
        batch_note(batch, batch_stored(batch, index, &page)) ? batch_host(batch, page.host) : NULL;
    *under_way = host != NULL && page.level != SCHEDULE_NO_LEVEL;
    return host == NULL || *under_way || host->record.state == HOST_FULL
               ? batch->result
               : held_urls_schedule(batch, host, &page, page.status,
                                    (unsigned)batch->options->config.schedule_levels - 1);
}

Result held_urls_review(Batch *batch, const HeldUrl *held, const Filter *filter, Url *url,
                        FilterScratch *scratch, bool *returned)
{
    PageRef page;
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    bool replaced = false;
    *returned = false;
    Result rc = page_db_get(batch->store->db, batch->txn, held->index, &page, &text) == 0
                    ? RESULT_OK
                    : RESULT_DAMAGED;
    /* What was scheduled or fetched in another way since is not held any more. */
    bool is_held = rc == RESULT_OK && page.level == SCHEDULE_NO_LEVEL && page.n_crawls == 0 &&
                   page.status == held->status;
    BatchHost *host = is_held ? batch_host(batch, page.host) : NULL;
    if (is_held && host == NULL) {
        buffer_destroy(&text);
        return batch->result;
    }
    bool stays = host != NULL && (host->record.state == HOST_FULL ||
                                  !held_urls_is_admitted(batch, &page, filter, url, scratch));
    if (host != NULL && !stays) {
        rc = is_replaced(batch, &page, &replaced);
        *returned = rc == RESULT_OK && !replaced;
    }
    if (*returned) {
        rc = schedule_again(batch, held, &page, host);
    }
    if (rc == RESULT_OK && !stays) {
        rc = held_rows_remove(batch->store->held, batch->txn, held->index);
    }
    buffer_destroy(&text);
    return rc;
}
