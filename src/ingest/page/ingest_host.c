#include "ingest/page/ingest_host.h"

#include "base/thread/log.h"
#include "ingest/revisit/revisits.h"
#include "store/tables/host_parking.h"

/* ---- what a result says of its host -------------------------------------------------------- */

static void count_fetch(HostRecord *record, CrawlTotals *totals, const FetchResult *fetch)
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
    record->rested_ms = fetch->host.health.rested_ms;
    record->extra_ms = fetch->host.health.extra_ms;
    /* Whatever it waits for: a Retry-After counts, too, when it ends the tries of a URL, and a name
     * that fails meanwhile does not shorten it. */
    int64_t not_before_ms = end_ms + fetch->host.wait_ms;
    if (record->not_before_ms < not_before_ms) {
        record->not_before_ms = not_before_ms;
        record->noted_ms = end_ms;
    }
}

void ingest_host_note(Batch *batch, BatchHost *host, const FetchResult *fetch)
{
    if (fetch->kind != FETCHED_NOTHING) {
        count_fetch(&host->record, &batch->totals, fetch);
    }
    if (fetch->kind != FETCHED_NOTHING || !fetch->request.has_page) {
        note_health(&host->record, fetch); /* a refusal by robots.txt is no fetch */
    }
}

Result ingest_host_note_robots(Batch *batch, BatchHost *host, const FetchResult *fetch)
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
    size_t length = 0;
    const char *text = fetch_result_text(fetch, &length);
    if (before != 0 && before != fetch->host.robots_version) {
        Result rc = host_table_keep_robots(batch->store->hosts, batch->txn, host->host, before);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return host_table_put_robots(batch->store->hosts, batch->txn, host->host, has_body ? text : "",
                                 has_body ? length : 0);
}

/* ---- hosts that are given up, or full ------------------------------------------------------ */

static Result fill_host(Batch *batch, BatchHost *host)
{
    uint64_t removed = 0;
    host->record.state = HOST_FULL;
    host->cleared = true;
    Result rc = schedule_clear_host(batch->store->schedule, batch->txn, host->host, &removed);
    batch->totals.refused[REFUSED_QUOTA] += removed;
    return rc;
}

static Result set_aside(Batch *batch, BatchHost *host, const FetchResult *fetch)
{
    uint64_t urls = 0;
    HostState state = fetch->host.park ? HOST_PARKED : HOST_DROPPED;
    int64_t now_ms =
        fetch->cost.wall_start.us / 1000 + mono_ms_between(fetch->cost.start, fetch->cost.end);
    Result rc =
        host_parking_set_aside(batch->store->schedule, batch->txn, host->host, &host->record, state,
                               (uint8_t)fetch->answer.class, now_ms, &urls);
    host->cleared = true;
    batch->totals.hosts_dropped += state == HOST_DROPPED ? 1 : 0;
    LOG_INFO("ingest", state == HOST_DROPPED ? "host dropped" : "host parked",
             "id=%u reason=%s urls=%llu url=%s", host->host, fetch_class_name(fetch->answer.class),
             (unsigned long long)urls, fetch->request.url == NULL ? "-" : fetch->request.url);
    return rc;
}

Result ingest_host_revive(Batch *batch, BatchHost *host, uint64_t *urls)
{
    unsigned level = SCHEDULE_NO_LEVEL;
    *urls = 0;
    if (!host_is_aside(&host->record)) {
        return RESULT_OK;
    }
    if (host->record.state == HOST_DROPPED && batch->totals.hosts_dropped > 0) {
        batch->totals.hosts_dropped--;
    }
    Result rc = host_parking_bring_back(batch->store->schedule, batch->txn, host->host,
                                        &host->record, urls, &level);
    host->cleared = false;
    host->revived = true;
    if (level < SCHEDULE_NO_LEVEL && (host->got_urls == 0 || level < host->best_level)) {
        host->best_level = (uint8_t)level;
    }
    host->got_urls += *urls > UINT32_MAX ? UINT32_MAX : (uint32_t)*urls;
    return rc;
}

Result ingest_host_close(Batch *batch)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; i < batch->n_pages && rc == RESULT_OK; i++) {
        const FetchResult *fetch = batch->pages[i]->fetch;
        bool is_over = fetch->host.drop || fetch->host.park;
        BatchHost *host = is_over ? batch_host(batch, fetch->host.id) : NULL;
        if (host != NULL && host->record.state == HOST_ACTIVE && batch->revisits != NULL &&
            revisits_rest(batch->revisits, &host->record)) {
            batch->visits.rests++;
            LOG_INFO("ingest", "host rests", "id=%u reason=%s url=%s", fetch->host.id,
                     fetch_class_name(fetch->answer.class),
                     fetch->request.url == NULL ? "-" : fetch->request.url);
        } else if (host != NULL && host->record.state == HOST_ACTIVE) {
            rc = set_aside(batch, host, fetch);
        }
    }
    size_t place = 0;
    BatchHost *host = NULL;
    while (rc == RESULT_OK && batch->options->pages_per_host > 0 &&
           (host = map_next(&batch->hosts, &place)) != NULL) {
        if (host->record.state == HOST_ACTIVE &&
            host->record.pages >= batch->options->pages_per_host) {
            rc = fill_host(batch, host);
        }
    }
    return rc;
}
