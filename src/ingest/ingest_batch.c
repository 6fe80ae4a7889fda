#include "ingest/ingest_batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "ingest/ingest_duplicates.h"
#include "ingest/ingest_new_url.h"
#include "ingest/ingest_sieve.h"
#include "ingest/ingest_spelling.h"
#include "ingest/ingest_totals.h"
#include "ingest/revisits.h"

#define NAMES_BLOCK_BYTES ((size_t)64 * 1024)
#define RESULT_LOOK_UPS   6u /* host, schedule, bodies, near, payloads, captures */

static int on_crawled(void *context, const PageRef *before, const PageRef *after, uint8_t *level);

PageSink batch_sink(Batch *batch)
{
    return (PageSink){.context = batch, .discovered = ingest_new_url, .crawled = on_crawled};
}

static Result from_page_db(const Batch *batch, int rc)
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

/* ---- host records
 * --------------------------------------------------------------------------------- */

BatchHost *batch_host(Batch *batch, uint32_t id)
{
    BatchHost *host = map_get(&batch->hosts, map_key(id));
    if (host != NULL) {
        return host;
    }
    host = calloc(1, sizeof *host);
    if (host == NULL) {
        batch->result = RESULT_MEMORY;
        return NULL;
    }
    host->host = id;
    Result rc = host_table_get(batch->store->hosts, batch->txn, id, &host->record);
    if (rc == RESULT_OK) {
        rc = map_put(&batch->hosts, map_key(id), host);
    }
    if (rc != RESULT_OK) {
        free(host);
        batch->result = rc;
        return NULL;
    }
    return host;
}

static void note_fetch(HostRecord *record, CrawlTotals *totals, const FetchResult *fetch)
{
    int64_t wall_ms = fetch->cost.wall_start.us / 1000;
    unsigned class = stats_status_class(fetch->answer.status);
    record->fetches++;
    record->by_status[class]++;
    record->bytes += fetch->cost.bytes;
    record->fetch_ms += (uint64_t)mono_ms_between(fetch->cost.start, fetch->cost.end);
    record->first_fetch_ms = record->first_fetch_ms == 0 ? wall_ms : record->first_fetch_ms;
    record->last_fetch_ms = wall_ms;
    record->rests = fetch->answer.status >= 100 ? 0 : record->rests;
    if (fetch->kind == FETCHED_PAGE && !fetch->request.again && record->owed > 0) {
        record->owed--;
    }
    totals->fetches++;
    totals->bytes += fetch->cost.bytes;
    if (fetch->answer.class == FETCH_BUSY) {
        totals->throttled++;
    }
    if (fetch->answer.truncated != TRUNCATED_NOT) {
        totals->truncated++;
    }
}

static void note_health(HostRecord *record, const FetchResult *fetch)
{
    int64_t end_ms =
        fetch->cost.wall_start.us / 1000 + mono_ms_between(fetch->cost.start, fetch->cost.end);
    record->failures =
        (uint8_t)(fetch->host.health.failures > 255 ? 255 : fetch->host.health.failures);
    record->last_failure = (uint8_t)fetch->host.health.last;
    /* Whatever it waits for: a Retry-After counts, too, when it ends the tries of a URL, and a name
     * that fails meanwhile does not shorten it. */
    int64_t not_before_ms = end_ms + fetch->host.wait_ms;
    if (record->not_before_ms < not_before_ms) {
        record->not_before_ms = not_before_ms;
    }
}

/* ---- what comes with a robots.txt
 * ----------------------------------------------------------------------------------------- */

/* The sitemaps that robots.txt names become pages of their own, found by nobody's link. */
static Result discover_sitemaps(Batch *batch, const ParsedPage *page)
{
    if (page->n_links == 0) {
        return RESULT_OK;
    }
    PageSink sink = batch_sink(batch);
    LinkInfo *links = NULL;
    Result rc = ingest_spell_links(batch, page, &links);
    if (rc != RESULT_OK) {
        return rc;
    }
    return from_page_db(batch,
                        page_db_discover(batch->store->db, batch->txn, links, page->link_hops,
                                         page->n_links, PAGE_DB_NO_INDEX, 0, &sink));
}

static Result note_robots(Batch *batch, BatchHost *host, const FetchResult *fetch)
{
    HostRecord *record = &host->record;
    int64_t end_ms =
        fetch->cost.wall_start.us / 1000 + mono_ms_between(fetch->cost.start, fetch->cost.end);
    uint32_t before = record->robots_version;
    batch->totals.robots_files++;
    record->robots_status = fetch->answer.status;
    record->robots_version = fetch->host.robots_version;
    record->robots_state = (uint8_t)fetch->host.robots_state;
    record->robots_expiry_ms = end_ms + fetch->host.robots_expiry_ms;
    record->crawl_delay_ms =
        fetch->host.crawl_delay_ms > 0 && fetch->host.crawl_delay_ms < UINT32_MAX
            ? (uint32_t)fetch->host.crawl_delay_ms
            : 0;
    if (fetch->host.robots_state != ROBOTS_KNOWN || fetch->answer.status >= 500 ||
        fetch->answer.status < 200) {
        return RESULT_OK;
    }
    bool has_body = fetch->answer.status < 300;
    if (before != 0 && before != fetch->host.robots_version) {
        Result rc = host_table_keep_robots(batch->store->hosts, batch->txn, host->host, before);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return host_table_put_robots(batch->store->hosts, batch->txn, host->host,
                                 has_body ? buffer_string(&fetch->answer.body) : "",
                                 has_body ? fetch->answer.body.length : 0);
}

/* ---- one result
 * ----------------------------------------------------------------------------------------- */

Result batch_stored(Batch *batch, const FetchResult *fetch, PageRef *page)
{
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    int rc = page_db_get(batch->store->db, batch->txn, fetch->request.index, page, &url);
    buffer_destroy(&url);
    return rc == page_db_error_ok ? RESULT_OK : RESULT_DAMAGED;
}

/* A visit that brings nothing to replace what is stored: not modified, or an error. */
static bool is_confirmation(const FetchResult *fetch)
{
    return fetch->request.again && (fetch->answer.status == 304 || fetch->answer.status >= 400);
}

/* Takes a page out of the schedule. */
static Result unschedule(Batch *batch, const PageRef *page, int32_t status, uint8_t tries)
{
    Result rc = page->level == SCHEDULE_NO_LEVEL
                    ? RESULT_OK
                    : schedule_remove(batch->store->schedule, batch->txn, page->host, page->level,
                                      page->index);
    return rc == RESULT_OK
               ? from_page_db(batch, page_db_set_state(batch->store->db, batch->txn, page->index,
                                                       status, SCHEDULE_NO_LEVEL, tries))
               : rc;
}

/* The status of a page is that of what is stored of it. */
static Result confirm(Batch *batch, const FetchResult *fetch)
{
    PageRef page;
    double time = (double)fetch->cost.wall_start.us / 1e6;
    batch->totals.pages++;
    Result rc = batch_stored(batch, fetch, &page);
    if (rc == RESULT_OK) {
        rc = unschedule(batch, &page, page.status, 0);
    }
    return rc == RESULT_OK ? from_page_db(batch, page_db_confirm(batch->store->db, batch->txn,
                                                                 fetch->request.index, time))
                           : rc;
}

/* Whether the answer counts among the pages of its host: once, when it is good. */
static bool is_first_good(Batch *batch, const FetchResult *fetch)
{
    PageRef stored = {.status = 0};
    if (fetch->answer.status < 200 || fetch->answer.status >= 300) {
        return false;
    }
    if (fetch->request.again && batch_stored(batch, fetch, &stored) != RESULT_OK) {
        return false;
    }
    return stored.status < 200 || stored.status >= 300;
}

/* The links of a page as they are stored: none of one whose body is that of another page,
 * *original, unless that is wanted or they differ; spelled as the pages they lead to. */
static Result find_links(Batch *batch, ParsedPage *page, uint64_t *original, PageLinks *links)
{
    bool same_links = false;
    LinkInfo *spelled = NULL;
    Result rc = ingest_find_duplicate(batch, page, original, &same_links);
    bool duplicate = *original != PAGE_DB_NO_INDEX;
    bool follow = !duplicate || !same_links || batch->options->follow_duplicates;
    if (rc == RESULT_OK && follow) {
        batch_filter_links(batch, page);
    }
    if (rc == RESULT_OK) {
        rc = ingest_spell_links(batch, page, &spelled);
    }
    *links = (PageLinks){.link_info = spelled, .n_links = follow ? page->n_links : 0};
    return rc;
}

static Result add_write(Batch *batch, size_t place, BatchHost *host)
{
    ParsedPage *page = batch->pages[place];
    FetchResult *fetch = page->fetch;
    if (is_confirmation(fetch)) {
        return confirm(batch, fetch);
    }
    PageLinks links = {.n_links = 0};
    bool later = false;
    Result rc = ingest_forget_body(batch, page);
    if (rc == RESULT_OK) {
        rc = find_links(batch, page, &batch->duplicate_of[place], &links);
    }
    bool duplicate = batch->duplicate_of[place] != PAGE_DB_NO_INDEX;
    if (rc == RESULT_OK) {
        rc = ingest_find_near(batch, page, duplicate, &batch->near_of[place]);
    }
    if (rc == RESULT_OK) {
        rc = batch_takes_later(batch, page, links.n_links, &later);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    size_t i = batch->n_writes++;
    batch->written[i] = page;
    batch->links[i] = links;
    batch->crawled[i] = (CrawledPage){.url = fetch->request.url,
                                      .links = &batch->links[i],
                                      .time = (double)fetch->cost.wall_start.us / 1e6,
                                      .score = page->score,
                                      .content_hash = (char *)&page->body_hash[0],
                                      .content_hash_length = sizeof page->body_hash[0]};
    batch->writes[i] = (PageWrite){.page = &batch->crawled[i],
                                   .link_hops = page->link_hops,
                                   .link_kinds = page->link_kinds,
                                   .status = fetch->answer.status,
                                   .links_later = later};
    batch->totals.pages++;
    bool counts = is_first_good(batch, fetch);
    if (duplicate) {
        batch->totals.duplicates++;
        host->record.duplicates += counts;
    } else {
        host->record.pages += counts;
    }
    return RESULT_OK;
}

/* A URL that is given up without an answer, or was refused: its entry leaves, its reason stays. */
static Result give_up(Batch *batch, BatchHost *host, const FetchResult *fetch)
{
    PageRef page;
    Result rc = batch_stored(batch, fetch, &page);
    if (rc == RESULT_OK) {
        rc = unschedule(batch, &page, page.n_crawls > 0 ? page.status : fetch->answer.status,
                        (uint8_t)fetch->host.health.failures);
    }
    if (fetch->answer.status == STATUS_ROBOTS) {
        batch->totals.refused[REFUSED_ROBOTS]++;
        host->record.robots_denied++;
    } else if (fetch->answer.status == STATUS_BLOCKED) {
        batch->totals.refused[REFUSED_FILTER]++;
    } else if (fetch->answer.status == STATUS_TRAP) {
        batch->totals.refused[REFUSED_TRAP]++;
    }
    return rc == RESULT_OK ? ingest_release_key(batch, fetch) : rc;
}

static Result clear_host(Batch *batch, BatchHost *host, HostState state, FetchClass why)
{
    uint64_t removed = 0;
    host->record.state = (uint8_t)state;
    host->record.drop_class = (uint8_t)why;
    host->cleared = true;
    Result rc = schedule_clear_host(batch->store->schedule, batch->txn, host->host, &removed);
    if (state == HOST_DROPPED) {
        batch->totals.hosts_dropped++;
        batch->totals.refused[REFUSED_HOST] += removed;
    } else {
        batch->totals.refused[REFUSED_QUOTA] += removed;
    }
    return rc;
}

/* Appends the records of a page, once: a batch that is tried again finds them there. */
static Result archive(Batch *batch, ParsedPage *page)
{
    Archive *files = batch->store->archive;
    if (files == NULL || page->group == NULL) {
        return RESULT_OK;
    }
    if (!page->archived) {
        Result rc = archive_append(files, page->group);
        if (rc != RESULT_OK) {
            return rc;
        }
        page->archived = true;
    }
    return archive_remember(files, batch->txn, page->group, page->fetch);
}

static Result apply(Batch *batch, size_t place)
{
    FetchResult *fetch = batch->pages[place]->fetch;
    batch->duplicate_of[place] = PAGE_DB_NO_INDEX;
    batch->near_of[place] = PAGE_DB_NO_INDEX;
    if (fetch->kind == FETCHED_DNS) {
        return archive(batch, batch->pages[place]);
    }
    BatchHost *host = batch_host(batch, fetch->host.id);
    Result rc = host == NULL ? batch->result : RESULT_OK;
    page_db_looked_up(batch->store->db, RESULT_LOOK_UPS);
    if (rc == RESULT_OK) {
        rc = archive(batch, batch->pages[place]);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    if (fetch->kind != FETCHED_NOTHING) {
        note_fetch(&host->record, &batch->totals, fetch);
    }
    if (fetch->kind != FETCHED_NOTHING || !fetch->request.has_page) {
        note_health(&host->record, fetch); /* a refusal by robots.txt is no fetch */
    }
    if (fetch->kind == FETCHED_ROBOTS) {
        rc = note_robots(batch, host, fetch);
        if (rc == RESULT_OK) {
            rc = discover_sitemaps(batch, batch->pages[place]);
        }
    } else if (!fetch->request.has_page) {
        batch->totals.by_status[0]++; /* a name that could not be resolved */
    } else {
        batch->totals.by_status[stats_status_class(fetch->answer.status)] +=
            fetch->kind == FETCHED_PAGE;
        if (!fetch->final) {
            batch->totals.retries++;
        } else if (fetch->answer.status >= 100) {
            rc = add_write(batch, place, host);
        } else {
            rc = give_up(batch, host, fetch);
        }
    }
    return rc;
}

/* ---- what PageDB tells
 * ---------------------------------------------------------------------------------- */

static int on_crawled(void *context, const PageRef *before, const PageRef *after, uint8_t *level)
{
    Batch *batch = context;
    batch->n_begun++;
    batch->begun = before->index;
    batch->visits.changed += after->n_changes > before->n_changes;
    *level = SCHEDULE_NO_LEVEL;
    if (before->level != SCHEDULE_NO_LEVEL) {
        batch->result = schedule_remove(batch->store->schedule, batch->txn, before->host,
                                        before->level, before->index);
    }
    if (batch->result == RESULT_OK && batch->writes[batch->n_begun - 1].links_later) {
        batch->result = batch_sieve(batch, batch->n_begun - 1, after);
    }
    return batch->result == RESULT_OK ? 0 : -1;
}

/* ---- the batch
 * ------------------------------------------------------------------------------------------------
 */

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
    arena_init(&batch->names, NAMES_BLOCK_BYTES, SIZE_MAX);
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
    size_t place = 0;
    BatchHost *host = NULL;
    while ((host = map_next(&batch->hosts, &place)) != NULL) {
        free(host);
    }
    map_destroy(&batch->hosts);
    arena_destroy(&batch->names);
    dedup_scratch_destroy(&batch->dedup);
    free(batch->writes);
    free(batch->crawled);
    free(batch->links);
    free(batch->written);
    free(batch->duplicate_of);
    free(batch->near_of);
}

static Result drop_hosts(Batch *batch)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; i < batch->n_pages && rc == RESULT_OK; i++) {
        const FetchResult *fetch = batch->pages[i]->fetch;
        BatchHost *host = fetch->host.drop ? batch_host(batch, fetch->host.id) : NULL;
        if (host != NULL && host->record.state == HOST_ACTIVE && batch->revisits != NULL &&
            revisits_rest(batch->revisits, &host->record)) {
            batch->visits.rests++;
            LOG_INFO("ingest", "host rests", "id=%u reason=%s url=%s", fetch->host.id,
                     fetch_class_name(fetch->answer.class),
                     fetch->request.url == NULL ? "-" : fetch->request.url);
        } else if (host != NULL && host->record.state == HOST_ACTIVE) {
            LOG_INFO("ingest", "host dropped", "id=%u reason=%s url=%s", fetch->host.id,
                     fetch_class_name(fetch->answer.class),
                     fetch->request.url == NULL ? "-" : fetch->request.url);
            rc = clear_host(batch, host, HOST_DROPPED, fetch->answer.class);
        }
    }
    size_t place = 0;
    BatchHost *host = NULL;
    while (rc == RESULT_OK && batch->options->pages_per_host > 0 &&
           (host = map_next(&batch->hosts, &place)) != NULL) {
        if (host->record.state == HOST_ACTIVE &&
            host->record.pages >= batch->options->pages_per_host) {
            rc = clear_host(batch, host, HOST_FULL, FETCH_OK);
        }
    }
    return rc;
}

Result batch_apply(Batch *batch)
{
    PageSink sink = batch_sink(batch);
    Result rc = RESULT_OK;
    for (size_t i = 0; i < batch->n_pages && rc == RESULT_OK; i++) {
        rc = apply(batch, i);
    }
    if (rc == RESULT_OK && batch->n_writes > 0) {
        rc = from_page_db(batch, page_db_write(batch->store->db, batch->txn, batch->writes,
                                               batch->n_writes, &sink));
    }
    for (size_t i = 0; i < batch->n_pages && rc == RESULT_OK && batch->revisits != NULL; i++) {
        const FetchResult *fetch = batch->pages[i]->fetch;
        if (fetch->request.has_page && fetch->final) {
            rc = revisits_note(batch->revisits, batch, batch->pages[i]);
        }
    }
    if (rc == RESULT_OK) {
        rc = drop_hosts(batch);
    }
    return rc == RESULT_OK && batch->revisits != NULL ? revisits_end(batch->revisits, batch) : rc;
}

Result batch_seed(Batch *batch, const LinkInfo *seeds, size_t n, uint64_t *added)
{
    PageSink sink = batch_sink(batch);
    uint64_t before = page_db_n_pages(batch->store->db, batch->txn);
    LinkInfo *spelled = NULL;
    Result result = RESULT_OK;
    if (batch->options->dedup.on && n > 0) {
        result = ingest_spell_seeds(batch, seeds, n, &spelled);
        seeds = spelled;
    }
    uint8_t *hops = result == RESULT_OK ? malloc(n == 0 ? 1 : n) : NULL;
    if (hops == NULL) {
        return result == RESULT_OK ? RESULT_MEMORY : result;
    }
    memset(hops, 'M', n);
    int rc =
        page_db_discover(batch->store->db, batch->txn, seeds, hops, n, PAGE_DB_NO_INDEX, 0, &sink);
    free(hops);
    *added = page_db_n_pages(batch->store->db, batch->txn) - before;
    return from_page_db(batch, rc);
}

Result batch_relink(Batch *batch, ParsedPage *page)
{
    PageSink sink = batch_sink(batch);
    PageLinks links = {.n_links = 0};
    uint64_t original = PAGE_DB_NO_INDEX;
    Result rc = find_links(batch, page, &original, &links);
    if (rc != RESULT_OK) {
        return rc;
    }
    CrawledPage crawled = {.url = page->fetch->request.url, .links = &links};
    PageWrite write = {
        .page = &crawled, .link_hops = page->link_hops, .link_kinds = page->link_kinds};
    int code = page_db_relink(batch->store->db, batch->txn, &write, &sink);
    return code == page_db_error_no_page ? RESULT_NOT_FOUND : from_page_db(batch, code);
}

/* Whether a host has nothing scheduled but what it got now. */
static Result look_for_woken(Batch *batch)
{
    Result rc = RESULT_OK;
    size_t place = 0;
    const BatchHost *host = NULL;
    while (rc == RESULT_OK && !batch->woke && (host = map_next(&batch->hosts, &place)) != NULL) {
        uint64_t entries = 0;
        if (host->got_urls > 0 && !host->cleared) {
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
        rc = host_table_put(batch->store->hosts, batch->txn, host->host, &host->record);
    }
    if (rc == RESULT_OK) {
        rc = ingest_write_totals(batch->txn, batch->store->crawl, &batch->totals,
                                 batch->revisits == NULL ? NULL : &batch->visits);
    }
    if (rc == RESULT_OK && batch->hungry) {
        rc = look_for_woken(batch);
    }
    if (rc == RESULT_OK && batch->sieve != NULL) {
        rc = sieve_save(batch->sieve->sieve, batch->txn);
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
        } else if (host->got_urls > 0) {
            notice->hosts[notice->n_hosts++] =
                (CommitHost){.host = host->host, .level = host->best_level};
        }
    }
    return notice;
}
