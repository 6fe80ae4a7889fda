#include "ingest/batch/ingest_sieve.h"
#include "store/pages/page_db_read.h"

/* Whether a page has a list of links already, or had a crawl whose list is in the sieve. */
static Result was_crawled(Batch *batch, uint64_t index, bool *crawled)
{
    PageRef ref;
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    int rc = page_db_get(batch->store->db, batch->txn, index, &ref, &url);
    buffer_destroy(&url);
    *crawled = rc == 0 && ref.n_crawls > 0;
    return rc == 0 ? RESULT_OK : RESULT_DAMAGED;
}

Result ingest_sieve_takes_later(Batch *batch, const ParsedPage *page, size_t n_links, bool *later)
{
    *later = false;
    if (batch->sieve == NULL) {
        return RESULT_OK;
    }
    /* What was begun in a transaction that failed is gone on with. */
    bool is_wide = n_links > batch->options->batch_links;
    *later = page->ticket.number != 0 || is_wide || (batch->defers && n_links > 0);
    return *later || !sieve_holds(batch->sieve->sieve)
               ? RESULT_OK
               : was_crawled(batch, page->fetch->request.index, later);
}

Result ingest_sieve_add(Batch *batch, size_t write, const PageRef *page)
{
    const PageWrite *written = &batch->writes[write];
    ParsedPage *parsed = batch->written[write];
    SievePage given = {.index = page->index,
                       .hash = page->hash,
                       .depth = page->depth,
                       .url = written->page->url,
                       .links = written->page->links->link_info,
                       .hops = written->link_hops,
                       .kinds = written->link_kinds,
                       .n_links = written->page->links->n_links,
                       .score = written->page->score};
    const IngestSieve *sieve = batch->sieve;
    MonoTime now = sieve->now == NULL ? mono_now() : sieve->now(sieve->context);
    return sieve_add(sieve->sieve, &given, &parsed->ticket, now);
}

void ingest_sieve_filter(Batch *batch, ParsedPage *page)
{
    if (batch->sieve != NULL && batch->sieve->bloom != NULL && !page->filtered) {
        const char *url = page->fetch->request.url;
        PageOrigin origin;
        size_t kept = 0;
        page_origin_of(url, strlen(url), &origin);
        for (size_t i = 0; i < page->n_links; i++) {
            if (sieve_bloom_takes(batch->sieve->bloom, &origin, page->links[i].url)) {
                parsed_page_move_link(page, kept++, i);
            }
        }
        page->n_links = kept;
        page->filtered = true;
    }
}

void ingest_sieve_publish(const IngestSieve *sieve)
{
    if (sieve->bloom != NULL) {
        stats_set(&sieve->stats->bloom_fp_ppb, (uint64_t)(sieve_bloom_rate(sieve->bloom) * 1e9));
    }
    SieveStats now;
    sieve_stats(sieve->sieve, &now);
    stats_set(&sieve->stats->sieve_pending, now.pending);
    stats_set(&sieve->stats->sieve_merges, now.merges);
    stats_set(&sieve->stats->cache_hits, now.cache_hits);
    stats_set(&sieve->stats->cache_misses, now.cache_misses);
}
