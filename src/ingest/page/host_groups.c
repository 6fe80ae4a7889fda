#include "ingest/page/host_groups.h"

#include <string.h>

#include "parse/host/authority.h"
#include "parse/host/domain.h"

static bool host_groups_is_beyond(uint64_t count, uint64_t most)
{
    return most > 0 && count >= most;
}

/* ---- counting ---- */

static uint64_t host_groups_domain_key(const char *url, size_t length)
{
    Authority at = authority_of(url, length);
    Domain domain = domain_registered(url + at.host, at.host_end - at.host);
    return group_key_of_domain(domain.name == NULL ? "" : domain.name, domain.length);
}

static const struct {
    const char *name;
    Refusal refusal;
} limits[] = {{"limits.hosts_per_domain", REFUSED_DOMAIN},
              {"limits.urls_per_domain", REFUSED_DOMAIN},
              {"limits.pages_per_domain", REFUSED_DOMAIN},
              {"limits.urls_per_address", REFUSED_ADDRESS},
              {"limits.hosts_per_address", REFUSED_ADDRESS}};

typedef enum Limit { DOMAIN_HOSTS, DOMAIN_URLS, DOMAIN_PAGES, ADDRESS_URLS, ADDRESS_HOSTS } Limit;

static MapKey crowd_key(Limit limit, uint64_t group)
{
    return (MapKey){.high = limit, .low = group};
}

/* Once for each group and run of the program, since it may be an honest one. */
static void note_crowd(Batch *batch, Limit limit, const BatchGroup *group, const char *where,
                       size_t length)
{
    static char yes;
    MapKey key = crowd_key(limit, group->key);
    if (batch->crowds == NULL || map_get(batch->crowds, key) != NULL ||
        map_put(batch->crowds, key, &yes) != RESULT_OK) {
        return;
    }
    LOG_INFO("ingest", "a limit of many names is met",
             "limit=%s hosts=%u pages=%llu queued=%llu at=%.*s", limits[limit].name,
             group->record.hosts, (unsigned long long)group->record.pages,
             (unsigned long long)group->record.queued, (int)length, where);
}

static void host_groups_add(uint64_t *count, int64_t n)
{
    *count = n < 0 && *count < (uint64_t)-n ? 0 : *count + (uint64_t)n;
}

/* Both groups of a host change alike. */
static void host_groups_count(Batch *batch, const BatchHost *host, int64_t queued, int64_t pages)
{
    const uint64_t keys[] = {host->record.domain, host->record.address};
    for (size_t i = 0; i < 2 && batch->store->groups != 0; i++) {
        BatchGroup *group = keys[i] == 0 ? NULL : batch_group(batch, keys[i]);
        if (group != NULL) {
            group->changed = true;
            host_groups_add(&group->record.queued, queued);
            host_groups_add(&group->record.pages, pages);
        }
    }
}

void host_groups_queued(Batch *batch, BatchHost *host)
{
    host->record.queued++;
    host_groups_count(batch, host, 1, 0);
}

void host_groups_left(Batch *batch, BatchHost *host, uint64_t n)
{
    uint32_t left = n < host->record.queued ? (uint32_t)n : host->record.queued;
    host->record.queued -= left;
    host_groups_count(batch, host, -(int64_t)left, 0);
}

void host_groups_stored(Batch *batch, BatchHost *host)
{
    host_groups_count(batch, host, 0, 1);
}

/* What it has counts in a group from now on, and so does the host, unless it is one too many. */
static void host_groups_join(const BatchHost *host, BatchGroup *group, bool counts)
{
    group->changed = true;
    group->record.hosts += counts;
    group->record.queued += host->record.queued;
    group->record.pages += host->record.pages;
}

/* ---- judging ---- */

static Result append_name(Buffer *name, const char *url, size_t length)
{
    Authority at = authority_of(url, length);
    return buffer_append(name, url + at.host, at.host_end - at.host);
}

static HostLimits host_groups_limits(const IngestOptions *options, const Buffer *name)
{
    Config config;
    (void)options->host_config(options->host_context, buffer_string(name), &config);
    return ingest_host_limits(&config);
}

/* Those of all, unless a site section names the host. page: one of its pages, or NULL. */
static const HostLimits *limits_of(Batch *batch, BatchHost *host, const PageRef *page)
{
    const IngestOptions *options = batch->options;
    if (!batch->site_limits || host->has_limits) {
        return host->has_limits ? &host->limits : &batch->limits;
    }
    Buffer name = {.limit = BUFFER_NO_LIMIT};
    Result rc = page != NULL ? append_name(&name, page->url, page->url_length)
                             : batch_host_name(batch, host->host, &name);
    if (rc == RESULT_OK) {
        host->limits = host_groups_limits(options, &name);
        host->has_limits = true;
    } else {
        batch->result = rc;
    }
    buffer_destroy(&name);
    return host->has_limits ? &host->limits : &batch->limits;
}

const char *host_groups_refuse(Batch *batch, BatchHost *host, const PageRef *page, Refusal *why)
{
    if (batch->store->groups == 0) {
        return NULL;
    }
    bool is_new = host->record.domain == 0;
    uint64_t key =
        is_new ? host_groups_domain_key(page->url, page->url_length) : host->record.domain;
    BatchGroup *domain = batch_group(batch, key);
    BatchGroup *address =
        host->record.address == 0 ? NULL : batch_group(batch, host->record.address);
    if (batch->result != RESULT_OK) {
        return NULL;
    }
    /* Which limit the new URL is beyond; address may be NULL. -1: none. */
    const HostLimits *most = limits_of(batch, host, page);
    bool is_first = host->record.domain == 0 && host->record.urls == 0;
    int limit = -1;
    if (is_first && host_groups_is_beyond(domain->record.hosts, most->hosts_per_domain)) {
        limit = DOMAIN_HOSTS;
    } else if (host_groups_is_beyond(domain->record.queued, most->urls_per_domain)) {
        limit = DOMAIN_URLS;
    } else if (host_groups_is_beyond(domain->record.pages, most->pages_per_domain)) {
        limit = DOMAIN_PAGES;
    } else if (address != NULL &&
               host_groups_is_beyond(address->record.queued, most->urls_per_address)) {
        limit = ADDRESS_URLS;
    }
    if (batch->result != RESULT_OK) {
        return NULL;
    }
    if (limit < 0) {
        host->record.domain = key;
        if (is_new) {
            host_groups_join(host, domain, true);
        }
        return NULL;
    }
    note_crowd(batch, (Limit)limit, limit == ADDRESS_URLS ? address : domain, page->url,
               page->url_length);
    *why = limits[limit].refusal;
    return limits[limit].name;
}

Result host_groups_place(Batch *batch, BatchHost *host, const IpAddress *address)
{
    if (batch->store->groups == 0 || host->record.address != 0) {
        return RESULT_OK;
    }
    host->record.address = group_key_of_address(address);
    BatchGroup *group = batch_group(batch, host->record.address);
    if (group == NULL) {
        return batch->result;
    }
    host->is_beyond =
        host_groups_is_beyond(group->record.hosts, limits_of(batch, host, NULL)->hosts_per_address);
    if (host->is_beyond) {
        char text[IP_ADDRESS_TEXT_BYTES];
        (void)ip_address_format(address, text);
        note_crowd(batch, ADDRESS_HOSTS, group, text, strlen(text));
    }
    host_groups_join(host, group, !host->is_beyond); /* what it has queued leaves the group again */
    return RESULT_OK;
}

bool host_groups_have_enough(Batch *batch, BatchHost *host, HostLimit *limit)
{
    const HostLimits *most = limits_of(batch, host, NULL);
    *limit = LIMIT_HOST_PAGES;
    if (host_groups_is_beyond(host_pages(&host->record), most->pages_per_host)) {
        return true;
    }
    if (host->is_beyond) {
        *limit = LIMIT_ADDRESS_HOSTS;
        return true;
    }
    BatchGroup *domain = most->pages_per_domain == 0 || host->record.domain == 0
                             ? NULL
                             : batch_group(batch, host->record.domain);
    if (domain != NULL && host_groups_is_beyond(domain->record.pages, most->pages_per_domain)) {
        *limit = LIMIT_DOMAIN_PAGES;
        return true;
    }
    BatchGroup *address = most->pages_per_address == 0 || host->record.address == 0
                              ? NULL
                              : batch_group(batch, host->record.address);
    *limit = LIMIT_ADDRESS_PAGES;
    return address != NULL && host_groups_is_beyond(address->record.pages, most->pages_per_address);
}

/* ---- links ---- */

/* Whether its domain has, for a further host of this name, as many hosts as there may be. */
static bool is_crowded(Batch *batch, const char *url, size_t length)
{
    const IngestOptions *options = batch->options;
    HostLimits most = batch->limits;
    uint64_t key = host_groups_domain_key(url, length);
    if (map_get(batch->crowds, crowd_key(DOMAIN_HOSTS, key)) == NULL) {
        return false;
    }
    Buffer name = {.limit = BUFFER_NO_LIMIT};
    if (batch->site_limits && append_name(&name, url, length) == RESULT_OK) {
        most = host_groups_limits(options, &name);
    }
    buffer_destroy(&name);
    const BatchGroup *domain = batch_group(batch, key);
    return domain != NULL && host_groups_is_beyond(domain->record.hosts, most.hosts_per_domain);
}

/* What the link before this one was found to be: links of a page are mostly alike. */
typedef struct Neighbour {
    const char *host; /* borrowed from its URL */
    size_t length;
    bool drop;
} Neighbour;

static bool host_groups_is_dropped(Batch *batch, const char *url, Neighbour *last)
{
    uint32_t id = 0;
    Authority at = authority_of(url, strlen(url));
    size_t length = at.end - at.host;
    if (last->host != NULL && last->length == length &&
        memcmp(last->host, url + at.host, length) == 0) {
        return last->drop;
    }
    *last = (Neighbour){.host = url + at.host, .length = length};
    last->drop = is_crowded(batch, url, at.end) && !batch_find_host(batch, url, &id);
    return last->drop;
}

Result host_groups_drop_links(Batch *batch, ParsedPage *page)
{
    Neighbour last = {.host = NULL};
    size_t kept = 0;
    if (batch->crowds == NULL || batch->crowds->count == 0) {
        return RESULT_OK;
    }
    for (size_t i = 0; i < page->links.n; i++) {
        if (host_groups_is_dropped(batch, page->links.list[i].url, &last)) {
            batch->totals.refused[REFUSED_DOMAIN]++;
            crawl_log_skipped(batch->log, page->links.list[i].url, strlen(page->links.list[i].url),
                              refusal_status(REFUSED_DOMAIN), limits[DOMAIN_HOSTS].name, -1,
                              page->fetch->request.url);
            continue;
        }
        parsed_page_move_link(page, kept++, i);
    }
    page->links.n = kept;
    return batch->result;
}
