#include "ingest/batch/ingest_batch.h"

#include <stdlib.h>
#include <string.h>

#include "store/schedule/schedule_read.h"
#include "store/pages/page_db_read.h"
#include "base/thread/log.h"
#include "ingest/batch/ingest_cluster.h"
#include "ingest/batch/batch_waits.h"
#include "ingest/batch/ingest_sieve.h"
#include "ingest/batch/ingest_totals.h"
#include "parse/host/authority.h"

#define BLOCK_BYTES ((size_t)64 * 1024)

Result batch_init(Batch *batch, const IngestOptions *options, const IngestStore *store,
                  CrawlLog *log, const CrawlTotals *totals, MDB_txn *txn, ParsedPage **pages,
                  size_t n_pages)
{
    *batch = (Batch){.options = options,
                     .store = store,
                     .log = log,
                     .txn = txn,
                     .totals = *totals,
                     .pages = pages,
                     .n_pages = n_pages};
    map_init(&batch->hosts);
    map_init(&batch->groups);
    batch->limits = options->limits;
    if (options->host_limits != NULL) {
        batch->site_limits =
            options->host_limits(options->host_pages_context, NULL, &batch->limits);
    }
    arena_init(&batch->memory, BLOCK_BYTES, SIZE_MAX);
    dedup_scratch_init(&batch->dedup);
    size_t n = n_pages == 0 ? 1 : n_pages;
    batch->writes = calloc(n, sizeof *batch->writes);
    batch->crawled = calloc(n, sizeof *batch->crawled);
    batch->links = calloc(n, sizeof *batch->links);
    batch->written = calloc(n, sizeof *batch->written);
    batch->duplicate_of = calloc(n, sizeof *batch->duplicate_of);
    batch->near_of = calloc(n, sizeof *batch->near_of);
    return batch->writes == NULL || batch->crawled == NULL || batch->links == NULL ||
                   batch->written == NULL || batch->duplicate_of == NULL || batch->near_of == NULL
               ? RESULT_MEMORY
               : RESULT_OK;
}

void batch_destroy(Batch *batch)
{
    map_destroy(&batch->hosts);
    map_destroy(&batch->groups);
    arena_destroy(&batch->memory);
    dedup_scratch_destroy(&batch->dedup);
    free(batch->writes);
    free(batch->crawled);
    free(batch->links);
    free(batch->written);
    free(batch->duplicate_of);
    free(batch->near_of);
}

BatchHost *batch_host(Batch *batch, uint32_t id)
{
    BatchHost *host = map_get(&batch->hosts, map_key(id));
    if (host != NULL) {
        return host;
    }
    host = arena_alloc(&batch->memory, sizeof *host);
    if (host == NULL) {
        batch->result = RESULT_MEMORY;
        return NULL;
    }
    *host = (BatchHost){.host = id};
    Result rc = host_table_get(batch->store->hosts, batch->txn, id, &host->record);
    WaitEntry entry;
    host->waits_ms = wait_table_entry(id, &host->record, &entry) ? entry.until_ms : 0;
    if (rc == RESULT_OK) {
        rc = map_put(&batch->hosts, map_key(id), host);
    }
    if (rc != RESULT_OK) {
        batch->result = rc;
        return NULL;
    }
    return host;
}

Result batch_host_name(Batch *batch, uint32_t id, Buffer *name)
{
    if (page_db_host_origin(batch->store->db, batch->txn, id, name) != page_db_error_ok) {
        return RESULT_IO;
    }
    Authority at = authority_of(buffer_string(name), name->length);
    memmove(name->data, name->data + at.host, at.host_end - at.host);
    name->length = at.host_end - at.host;
    name->data[name->length] = '\0';
    return RESULT_OK;
}

BatchGroup *batch_group(Batch *batch, uint64_t key)
{
    BatchGroup *group = map_get(&batch->groups, map_key(key));
    if (group != NULL) {
        return group;
    }
    group = arena_alloc(&batch->memory, sizeof *group);
    if (group == NULL) {
        batch->result = RESULT_MEMORY;
        return NULL;
    }
    *group = (BatchGroup){.key = key};
    page_db_looked_up(batch->store->db, 1);
    Result rc = group_table_get(batch->store->groups, batch->txn, key, &group->record);
    if (rc == RESULT_OK) {
        rc = map_put(&batch->groups, map_key(key), group);
    }
    if (rc != RESULT_OK) {
        batch->result = rc;
        return NULL;
    }
    return group;
}

static Result put_groups(Batch *batch)
{
    Result rc = RESULT_OK;
    size_t place = 0;
    const BatchGroup *group = NULL;
    while (rc == RESULT_OK && (group = map_next(&batch->groups, &place)) != NULL) {
        if (group->changed) {
            rc = group_table_put(batch->store->groups, batch->txn, group->key, &group->record);
        }
    }
    return rc;
}

Result batch_stored(Batch *batch, const FetchResult *fetch, PageRef *page)
{
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    int rc = page_db_get(batch->store->db, batch->txn, fetch->request.index, page, &url);
    buffer_destroy(&url);
    return rc == page_db_error_ok ? RESULT_OK : RESULT_DAMAGED;
}

Result batch_result_of(const Batch *batch, int rc)
{
    if (rc == 0) {
        return RESULT_OK;
    }
    if (batch->result != RESULT_OK) {
        return batch->result;
    }
    LOG_ERROR("ingest", "page database failed", "rc=%d", rc);
    return rc == page_db_error_full     ? RESULT_FULL
           : rc == page_db_error_memory ? RESULT_MEMORY
                                        : RESULT_IO;
}

/* Whether other hosts on its address have URLs: then its address has something to go on with. */
static bool has_busy_neighbours(Batch *batch, const BatchHost *host)
{
    const BatchGroup *group = batch->store->groups == NULL || host->record.address == 0
                                  ? NULL
                                  : batch_group(batch, host->record.address);
    return group != NULL && group->record.queued > host->record.queued;
}

/* Whether a host has nothing scheduled but what it got now. */
static Result look_for_woken(Batch *batch)
{
    Result rc = RESULT_OK;
    size_t place = 0;
    const BatchHost *host = NULL;
    while (rc == RESULT_OK && !batch->woke && (host = map_next(&batch->hosts, &place)) != NULL) {
        uint64_t entries = 0;
        if (host->got_urls > 0 && !host->cleared && !has_busy_neighbours(batch, host)) {
            page_db_looked_up(batch->store->db, 1);
            rc = schedule_host_count(batch->store->schedule, batch->txn, host->host, &entries);
            batch->woke = entries <= host->got_urls;
        }
    }
    return rc;
}

Result batch_finish(Batch *batch)
{
    Result rc = RESULT_OK;
    size_t place = 0;
    BatchHost *host = NULL;
    while (rc == RESULT_OK && (host = map_next(&batch->hosts, &place)) != NULL) {
        page_db_looked_up(batch->store->db, 1);
        rc = batch_waits_note(batch, host);
        if (rc != RESULT_OK) {
            break;
        }
        rc = host_table_put(batch->store->hosts, batch->txn, host->host, &host->record);
        if (rc == RESULT_OK && batch->store->waits != NULL) {
            rc = wait_table_follow(batch->store->waits, batch->txn, host->host, host->waits_ms,
                                   &host->record);
        }
    }
    if (rc == RESULT_OK) {
        rc = put_groups(batch);
    }
    if (rc == RESULT_OK) {
        rc = ingest_write_totals(batch->txn, batch->store->crawl, &batch->totals,
                                 batch->revisits == NULL ? NULL : &batch->visits);
    }
    if (rc == RESULT_OK && batch->walls_changed) {
        rc = ingest_write_wall_totals(batch->txn, batch->store->crawl, &batch->walls);
    }
    if (rc == RESULT_OK && batch->hungry) {
        rc = look_for_woken(batch);
    }
    if (rc == RESULT_OK && batch->sieve != NULL) {
        rc = sieve_save(batch->sieve->sieve, batch->txn);
    }
    if (rc == RESULT_OK && batch->cluster != NULL) {
        rc = ingest_cluster_finish(batch->cluster, batch);
    }
    if (rc == RESULT_OK && batch->store->archive != NULL) {
        rc = archive_prepare(batch->store->archive, batch->txn);
    }
    return rc;
}

CommitNotice *batch_notice(const Batch *batch)
{
    CommitNotice *notice = calloc(1, sizeof *notice);
    if (notice == NULL) {
        return NULL;
    }
    notice->done = calloc(batch->n_pages + 1, sizeof *notice->done);
    notice->hosts = calloc(batch->hosts.count + 1, sizeof *notice->hosts);
    notice->dropped = calloc(batch->hosts.count + 1, sizeof *notice->dropped);
    notice->moved = calloc(batch->n_moved + 1, sizeof *notice->moved);
    if (notice->done == NULL || notice->hosts == NULL || notice->dropped == NULL ||
        notice->moved == NULL) {
        commit_notice_delete(notice);
        return NULL;
    }
    for (size_t i = 0; i < batch->n_pages; i++) {
        const FetchResult *fetch = batch->pages[i]->fetch;
        if (fetch->request.has_page && fetch->final) {
            notice->done[notice->n_done++] =
                (CommitDone){.index = fetch->request.index, .host = fetch->host.id};
        }
    }
    for (size_t i = 0; i < batch->n_moved; i++) {
        notice->moved[notice->n_moved++] = batch->moved[i];
    }
    size_t place = 0;
    const BatchHost *host = NULL;
    while ((host = map_next(&batch->hosts, &place)) != NULL) {
        if (host->cleared) {
            notice->dropped[notice->n_dropped++] = host->host;
        } else if (host->got_urls > 0 || host->revived) {
            notice->hosts[notice->n_hosts++] = (CommitHost){
                .host = host->host, .level = host->best_level, .revived = host->revived};
        }
    }
    return notice;
}
