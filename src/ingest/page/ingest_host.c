#include "ingest/page/ingest_host.h"

#include "store/schedule/schedule_read.h"
#include "ingest/page/host_groups.h"
#include "ingest/revisit/revisits.h"
#include "parse/host/authority.h"

#define NAME_BYTES 256

/* ---- what a result says of its host ---- */

static void ingest_host_count_request(CrawlTotals *totals, const FetchResult *fetch)
{
    totals->fetches++;
    totals->bytes += fetch->cost.bytes;
    if (fetch->answer.class == FETCH_BUSY) {
        totals->throttled++;
    }
    if (fetch->answer.truncated != TRUNCATED_NOT) {
        totals->truncated++;
    }
}

/* When the fetch ended. */
static int64_t ingest_host_end_ms(const FetchResult *fetch)
{
    return fetch->cost.wall_start.us / 1000 + mono_ms_between(fetch->cost.start, fetch->cost.end);
}

static void count_fetch(HostRecord *record, const FetchResult *fetch)
{
    int64_t wall_ms = fetch->cost.wall_start.us / 1000;
    unsigned class = stats_status_class(fetch->answer.status);
    record->fetches++;
    record->by_status[class]++;
    record->bytes += fetch->cost.bytes;
    record->fetch_ms += (uint64_t)mono_ms_between(fetch->cost.start, fetch->cost.end);
    record->first_fetch_ms = record->first_fetch_ms == 0 ? wall_ms : record->first_fetch_ms;
    record->last_fetch_ms = ingest_host_end_ms(fetch);
    if (fetch->answer.tls.verdict != TLS_NOT_KNOWN) {
        record->tls_version = fetch->answer.tls.version;
        record->tls_verdict = (uint16_t)fetch->answer.tls.verdict;
        record->tls_expiry_s =
            fetch->answer.tls.expiry_s < 0 || fetch->answer.tls.expiry_s > UINT32_MAX
                ? 0
                : (uint32_t)fetch->answer.tls.expiry_s;
    }
    if (fetch->answer.status >= 100) {
        record->rests = 0;
        record->rechecks = 0;
    }
    if (fetch->kind == FETCHED_PAGE && !fetch->request.again && record->owed > 0) {
        record->owed--;
    }
}

static void note_health(HostRecord *record, const FetchResult *fetch)
{
    const HostHealth *health = &fetch->host.health;
    int64_t end_ms = ingest_host_end_ms(fetch);
    /* Results overtake each other: an answer is parsed while news of its host come at once. */
    if ((int16_t)(health->judgements - record->judgements) >= 0) {
        record->judgements = health->judgements;
        record->failures = (uint8_t)(health->failures > 255 ? 255 : health->failures);
        record->last_failure = (uint8_t)health->last;
        record->closed = fetch->host.closed;
        record->wall_mark = fetch->answer.class == FETCH_WALL ? fetch->host.wall_mark : 0;
        record->rested_ms = health->rested_ms;
        record->extra_ms = health->extra_ms;
    }
    /* Whatever it waits for: a Retry-After counts, too, when it ends the tries of a URL, and a name
     * that fails meanwhile does not shorten it. */
    int64_t not_before_ms =
        end_ms + fetch->host.wait_ms + (fetch->host.wait_ms > 0 ? HOST_WAIT_ROUNDING_MS : 0);
    bool is_from_the_future = record->noted_ms > end_ms + HOST_CLOCKS_DIFFER_MS;
    if (record->not_before_ms < not_before_ms || is_from_the_future) {
        record->not_before_ms = not_before_ms;
        record->noted_ms = end_ms;
    }
}

static uint32_t ingest_host_changed(uint32_t number, unsigned before, unsigned after)
{
    int64_t changed = (int64_t)number + after - before;
    return changed > 0 ? (uint32_t)changed : 0; /* what was queued may have been taken back */
}

void ingest_host_note(Batch *batch, BatchHost *host, const FetchResult *fetch)
{
    if (fetch->kind != FETCHED_NOTHING && !fetch->request.by_agent) {
        count_fetch(&host->record, fetch);
        host->record.learned_ms = (uint32_t)fetch->cost.pace.delay_ms;
        ingest_host_count_request(&batch->totals, fetch);
    }
    if (fetch->kind != FETCHED_NOTHING || !fetch->request.has_page) {
        note_health(&host->record, fetch); /* a refusal by robots.txt is no fetch */
    }
    if (fetch->request.has_page && !fetch->request.check) {
        /* What is known of the URLs that will be tried again. */
        int64_t end_ms = ingest_host_end_ms(fetch);
        bool stays = !fetch->final && !fetch->host.drop && !fetch->host.park;
        unsigned before = fetch->request.tries_before;
        unsigned after = stays ? fetch->request.tries : 0;
        int64_t until_ms = end_ms + fetch->host.url_left_ms;
        host->record.retried = ingest_host_changed(host->record.retried, before > 0, after > 0);
        host->record.failed_tries = ingest_host_changed(host->record.failed_tries, before, after);
        if (fetch->host.url_left_ms > 0 && host->record.retried_until_ms < until_ms) {
            host->record.retried_until_ms = until_ms;
        }
    }
}

void ingest_host_note_for_others(Batch *batch, const FetchResult *fetch)
{
    if (fetch->kind != FETCHED_NOTHING) {
        ingest_host_count_request(&batch->totals, fetch);
        batch->totals.by_status[0] += fetch->answer.status < 0;
    }
}

void ingest_host_note_wall(Batch *batch, BatchHost *host, HttpWall wall)
{
    uint64_t before = 0;
    if (wall == HTTP_WALLS) {
        return;
    }
    for (size_t i = 0; i < HTTP_WALLS; i++) {
        before += host->record.walls[i];
    }
    host->record.walls[wall]++;
    batch->walls_changed = true;
    batch->walls.answers[wall]++;
    batch->walls.hosts += before == 0;
}

Result ingest_host_note_robots(Batch *batch, BatchHost *host, const FetchResult *fetch)
{
    HostRecord *record = &host->record;
    int64_t end_ms = ingest_host_end_ms(fetch);
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
        Result rc = host_rows_keep_robots(batch->store->hosts, batch->txn, host->host, before);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return host_rows_put_robots(batch->store->hosts, batch->txn, host->host, has_body ? text : "",
                                has_body ? length : 0, fetch->host.robots_hash);
}

Result ingest_host_note_usage_file(Batch *batch, const BatchHost *host, const FetchResult *fetch)
{
    int status = fetch->answer.status;
    size_t length = 0;
    const char *text = fetch_result_text(fetch, &length);
    batch->totals.by_status[0] += status < 0;
    bool is_had = status >= 200 && status < 300;
    if (fetch->request.file == USAGE_IN_TDM && (status < 200 || status >= 500)) {
        return RESULT_OK; /* what is known stays */
    }
    return host_rows_put_usage_file(batch->store->hosts, batch->txn, host->host,
                                    fetch->request.file, text, is_had ? length : 0);
}

/* ---- hosts that are given up, or full ---- */

static Result ingest_host_set_aside_one(Batch *batch, BatchHost *host, const FetchResult *fetch)
{
    uint64_t urls = 0;
    HostState state = fetch->host.park ? HOST_PARKED : HOST_DROPPED;
    int64_t now_ms = ingest_host_end_ms(fetch);
    Result rc =
        host_parking_set_aside(batch->store->schedule, batch->txn, host->host, &host->record, state,
                               (uint8_t)fetch->answer.class, now_ms, &urls);
    /* That a name does not exist is believed when it was said several times, ever longer apart. */
    int64_t wait_ms = batch->options->config.politeness_name_recheck;
    if (host->record.state == HOST_DROPPED && host->record.drop_class == FETCH_NO_NAME &&
        wait_ms > 0 && host->record.rechecks < INGEST_HOST_RECHECKS) {
        host->record.recheck_ms = now_ms + (wait_ms << host->record.rechecks);
        host->record.rechecks++;
    }
    host->cleared = true;
    batch->totals.hosts_dropped += state == HOST_DROPPED ? 1 : 0;
    LOG_INFO("ingest", state == HOST_DROPPED ? "host dropped" : "host parked",
             "id=%u reason=%s urls=%llu url=%s", host->host, fetch_class_name(fetch->answer.class),
             (unsigned long long)urls, fetch->request.url == NULL ? "-" : fetch->request.url);
    return rc;
}

/* The visit state of an open host is made anew, from its record and with what is scheduled. */
static Result ingest_host_begin_anew(Batch *batch, BatchHost *host, uint64_t *urls)
{
    ScheduleItem best = {.level = SCHEDULE_NO_LEVEL};
    size_t n = 0;
    Result rc = schedule_host_count(batch->store->schedule, batch->txn, host->host, urls);
    if (rc == RESULT_OK) {
        rc = schedule_head(batch->store->schedule, batch->txn, host->host, NULL, &best, 1, &n);
    }
    batch_host_returns(host, *urls, best.level);
    return rc;
}

Result ingest_host_cure(Batch *batch, BatchHost *host, uint64_t *urls)
{
    *urls = 0;
    if (host->record.state != HOST_ACTIVE) {
        return RESULT_OK;
    }
    host_parking_cure(&host->record);
    return ingest_host_begin_anew(batch, host, urls);
}

Result ingest_host_set_aside(Batch *batch, BatchHost *host, uint64_t *urls)
{
    *urls = 0;
    if (host_is_closed(&host->record)) {
        return RESULT_OK;
    }
    batch_host_clear(host);
    batch->totals.hosts_dropped++;
    return host_parking_set_aside(batch->store->schedule, batch->txn, host->host, &host->record,
                                  HOST_DROPPED, FETCH_OK, wall_now().us / 1000, urls);
}

Result ingest_host_revive(Batch *batch, BatchHost *host, uint64_t *urls)
{
    unsigned level = SCHEDULE_NO_LEVEL;
    bool is_walled = host->record.failures > 0 && host->record.last_failure == FETCH_WALL;
    *urls = 0;
    if (!host_is_aside(&host->record)) {
        return is_walled ? ingest_host_cure(batch, host, urls) : RESULT_OK;
    }
    if (host->record.state == HOST_DROPPED && batch->totals.hosts_dropped > 0) {
        batch->totals.hosts_dropped--;
    }
    Result rc = host_parking_bring_back(batch->store->schedule, batch->txn, host->host,
                                        &host->record, urls, &level);
    batch_host_returns(host, *urls, level);
    return rc;
}

/* ---- hosts that the operator denies ---- */

static Result deny(Batch *batch, BatchHost *host, const char *rule, const char *name)
{
    uint64_t urls = 0;
    host->record.state = HOST_DENIED;
    batch_host_clear(host);
    Result rc = schedule_park(batch->store->schedule, batch->txn, host->host, &urls);
    LOG_INFO("ingest", "host denied", "id=%u host=%s rule=\"%s\" urls=%llu", host->host, name, rule,
             (unsigned long long)urls);
    return rc;
}

static const char *refused_by(const Batch *batch, const char *name, const IpAddress *address)
{
    AdmissionQuestion question = {.host = name, .host_length = strlen(name), .address = address};
    return batch->admission == NULL ? NULL : admission_judge(batch->admission, &question).rule;
}

static Result ingest_host_judge(Batch *batch, BatchHost *host, const char *name,
                                const IpAddress *address)
{
    const char *rule = refused_by(batch, name, address);
    uint64_t urls = 0;
    unsigned level = SCHEDULE_NO_LEVEL;
    Result rc = RESULT_OK;
    if (rule != NULL && host->record.state == HOST_ACTIVE) {
        return deny(batch, host, rule, name);
    }
    if (rule == NULL && host->record.state == HOST_DENIED) {
        host->record.state = HOST_ACTIVE;
        rc = schedule_unpark(batch->store->schedule, batch->txn, host->host, &urls, &level);
        batch_host_returns(host, urls, level);
        LOG_INFO("ingest", "host allowed again", "id=%u host=%s urls=%llu", host->host, name,
                 (unsigned long long)urls);
    }
    return rc;
}

Result ingest_host_is_refused(Batch *batch, uint32_t id, bool *refused)
{
    Buffer name = {.limit = BUFFER_NO_LIMIT};
    Result rc = batch_host_name(batch, id, &name);
    *refused = rc == RESULT_OK && refused_by(batch, buffer_string(&name), NULL) != NULL;
    buffer_destroy(&name);
    return rc;
}

Result ingest_host_review(Batch *batch, uint32_t id, const IpAddress *address)
{
    Buffer name = {.limit = BUFFER_NO_LIMIT};
    BatchHost *host = batch_host(batch, id);
    if (host == NULL) {
        return batch->result;
    }
    Result rc = batch_host_name(batch, id, &name);
    if (rc == RESULT_OK) {
        rc = ingest_host_judge(batch, host, buffer_string(&name), address);
    }
    buffer_destroy(&name);
    return rc;
}

bool ingest_host_admit(Batch *batch, BatchHost *host, const PageRef *page)
{
    Authority at = authority_of(page->url, page->url_length);
    char name[NAME_BYTES];
    if (batch->admission == NULL || host->record.state != HOST_ACTIVE) {
        return true;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(at.host_end - at.host), page->url + at.host);
    return batch_note(batch, ingest_host_judge(batch, host, name, NULL));
}

/* A fetching thread met a host that is denied. It may have been allowed since; then its visit state
 * begins anew. */
static bool take_denial(Batch *batch, const FetchResult *fetch)
{
    uint64_t urls = 0;
    BatchHost *host = batch_host(batch, fetch->host.id);
    if (host == NULL ||
        !batch_note(batch, ingest_host_review(batch, host->host, &fetch->request.address))) {
        return false;
    }
    return host->record.state != HOST_ACTIVE || host->revived ||
           batch_note(batch, ingest_host_begin_anew(batch, host, &urls));
}

static bool fill_hosts(Batch *batch)
{
    static const Refusal refusals[] = {[LIMIT_HOST_PAGES] = REFUSED_QUOTA,
                                       [LIMIT_DOMAIN_PAGES] = REFUSED_DOMAIN,
                                       [LIMIT_ADDRESS_PAGES] = REFUSED_ADDRESS,
                                       [LIMIT_ADDRESS_HOSTS] = REFUSED_ADDRESS};
    size_t place = 0;
    BatchHost *host = NULL;
    while (batch->result == RESULT_OK && (host = map_next(&batch->hosts, &place)) != NULL) {
        HostLimit limit = LIMIT_HOST_PAGES;
        if (host->record.state == HOST_ACTIVE && host_groups_have_enough(batch, host, &limit)) {
            uint64_t removed = 0;
            host->record.state = HOST_FULL;
            host->record.drop_class = (uint8_t)limit;
            host->cleared = true;
            (void)batch_note(batch, schedule_clear_host(batch->store->schedule, batch->txn,
                                                        host->host, &removed));
            batch->totals.refused[refusals[limit]] += removed;
            host_groups_left(batch, host, removed);
        }
    }
    return batch->result == RESULT_OK;
}

/* A host that was given up is dropped, or rests when pages are visited again. */
static bool ingest_host_give_up(Batch *batch, const FetchResult *fetch)
{
    BatchHost *host = batch_host(batch, fetch->host.id);
    if (host == NULL || host->record.state != HOST_ACTIVE) {
        return host != NULL;
    }
    if (batch->revisits == NULL || !revisits_rest(batch->revisits, &host->record)) {
        return batch_note(batch, ingest_host_set_aside_one(batch, host, fetch));
    }
    batch->visits.rests++;
    LOG_INFO("ingest", "host rests", "id=%u reason=%s url=%s", fetch->host.id,
             fetch_class_name(fetch->answer.class),
             fetch->request.url == NULL ? "-" : fetch->request.url);
    return true;
}

bool ingest_host_close(Batch *batch)
{
    for (size_t i = 0; i < batch->n_pages; i++) {
        const FetchResult *fetch = batch->pages[i]->fetch;
        bool is_denied = fetch->host.deny && fetch->host.id != FETCH_NO_HOST;
        bool is_over = fetch->host.drop || fetch->host.park;
        if ((is_denied && !take_denial(batch, fetch)) ||
            (is_over && !ingest_host_give_up(batch, fetch))) {
            return false;
        }
    }
    return fill_hosts(batch);
}
