#include "ingest/page/redirect_chain.h"

#include "store/pages/page_db_read.h"
#include "ingest/batch/ingest_cluster.h"

/* What is known of the redirects that led to a page of which the path begins elsewhere. */
static unsigned redirects_before(Batch *batch, uint64_t index)
{
    Via via;
    return batch->cluster != NULL &&
                   via_table_get(batch->cluster->vias, batch->txn, index, &via) == RESULT_OK
               ? via.redirects
               : 1;
}

/* How many hops of this kind lead to a page in a row, this one included, counted up to one beyond
 * most. */
static unsigned chain_length(Batch *batch, const PageRef *page, uint8_t hop, unsigned most)
{
    uint64_t from = page->linked_from;
    unsigned chain = page->hop != hop                         ? 0
                     : hop == 'R' && from == PAGE_DB_NO_INDEX ? redirects_before(batch, page->index)
                                                              : 1;
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    PageRef ref;
    while (chain > 0 && from != PAGE_DB_NO_INDEX && chain <= most) {
        buffer_reset(&url);
        if (page_db_get(batch->store->db, batch->txn, from, &ref, &url) != 0 || ref.hop != hop) {
            break;
        }
        chain +=
            hop == 'R' && ref.linked_from == PAGE_DB_NO_INDEX ? redirects_before(batch, from) : 1;
        from = ref.linked_from;
    }
    buffer_destroy(&url);
    return chain;
}

unsigned redirect_chain_length(Batch *batch, const PageRef *page)
{
    return chain_length(batch, page, 'R', batch->options->max_redirects);
}

unsigned embed_chain_length(Batch *batch, const PageRef *page)
{
    return chain_length(batch, page, 'E', batch->options->max_embeds);
}
