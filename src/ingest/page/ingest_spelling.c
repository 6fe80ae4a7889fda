#include "ingest/page/ingest_spelling.h"

#include <string.h>

Result ingest_spell_links(Batch *batch, const ParsedPage *page, LinkInfo **links)
{
    const char *from = page->fetch->request.has_page ? page->fetch->request.url : NULL;
    *links = page->links;
    if (!batch->options->dedup.on || page->n_links == 0 || page->link_keys == NULL) {
        return RESULT_OK;
    }
    LinkInfo *copy = arena_alloc(&batch->memory, page->n_links * sizeof *copy);
    Result rc = copy == NULL ? RESULT_MEMORY : RESULT_OK;
    for (size_t i = 0; i < page->n_links && rc == RESULT_OK; i++) {
        const char *first = NULL;
        rc = dedup_first(batch->txn, batch->store->keys, &page->link_keys[i], page->links[i].url,
                         page->link_hops[i] == 'R' ? from : NULL, &batch->memory, &first);
        copy[i] = (LinkInfo){.url = (char *)(uintptr_t)first, .score = page->links[i].score};
    }
    *links = copy;
    return rc;
}

Result ingest_spell_seeds(Batch *batch, const LinkInfo *seeds, size_t n, LinkInfo **links)
{
    const DedupSteps *steps = &batch->options->dedup;
    LinkInfo *copy = arena_alloc(&batch->memory, n * sizeof *copy);
    Result rc = copy == NULL ? RESULT_MEMORY : RESULT_OK;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        Hash128 key;
        const char *first = seeds[i].url;
        rc = dedup_key(steps, &batch->dedup, first, strlen(first), &key);
        if (rc == RESULT_OK) {
            rc = dedup_first(batch->txn, batch->store->keys, &key, seeds[i].url, NULL,
                             &batch->memory, &first);
        }
        copy[i] = (LinkInfo){.url = (char *)(uintptr_t)first, .score = seeds[i].score};
    }
    *links = copy;
    return rc;
}

Result ingest_spell_records(Batch *batch, LinkRecord *records, size_t n)
{
    const DedupSteps *steps = &batch->options->dedup;
    Result rc = RESULT_OK;
    for (size_t i = 0; steps->on && rc == RESULT_OK && i < n; i++) {
        Hash128 key;
        const char *url = arena_copy(&batch->memory, records[i].url, records[i].length);
        const char *first = url;
        rc = url == NULL ? RESULT_MEMORY
                         : dedup_key(steps, &batch->dedup, url, records[i].length, &key);
        if (rc == RESULT_OK) {
            rc = dedup_first(batch->txn, batch->store->keys, &key, url, NULL, &batch->memory,
                             &first);
        }
        if (rc == RESULT_OK) {
            records[i].url = first;
            records[i].length = strlen(first);
        }
    }
    return rc;
}

Result ingest_release_key(Batch *batch, const FetchResult *fetch)
{
    bool forbidden = fetch->answer.status == STATUS_ROBOTS ||
                     fetch->answer.status == STATUS_BLOCKED ||
                     fetch->answer.status == STATUS_TRAP || fetch->answer.status == STATUS_SCOPE ||
                     fetch->answer.status == STATUS_DENIED;
    if (!batch->options->dedup.on || !forbidden) {
        return RESULT_OK;
    }
    Hash128 key;
    Result rc = dedup_key(&batch->options->dedup, &batch->dedup, fetch->request.url,
                          strlen(fetch->request.url), &key);
    return rc == RESULT_OK ? dedup_release(batch->txn, batch->store->keys, &key, fetch->request.url)
                           : rc;
}
