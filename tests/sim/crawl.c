#include "crawl.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "crawl_commit.h"
#include "virtual_clock.h"

#define FRONT_FIRST  1000u
#define FRONT_STEP   1000u
#define ROBOTS_AGENT "ragno"
#define ADDRESS_BASE 0x0b000000u /* 11.0.0.0: public, unlike 10 */

typedef struct Event {
    HeapNode node;
    VisitState *visit_state;
    FetchResult *result; /* of a fetch; NULL: a DNS answer */
    WorldPage page;
    uint32_t address;
} Event;

static int64_t now_ms(const Crawl *crawl)
{
    return crawl->now.ns / 1000000;
}

WallTime crawl_wall(const Crawl *crawl)
{
    return virtual_wall(crawl->now);
}

static void broken(Crawl *crawl, const char *what)
{
    (void)fprintf(stderr, "sim: %s failed\n", what);
    crawl->broken = true;
}

static Event *new_event(Crawl *crawl, VisitState *visit_state, int64_t delay_ms)
{
    Event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        broken(crawl, "memory");
        return NULL;
    }
    event->visit_state = visit_state;
    heap_node_init(&event->node);
    if (heap_push(&crawl->events, &event->node, mono_add_ms(crawl->now, delay_ms).ns,
                  crawl->n_events++) != RESULT_OK) {
        broken(crawl, "memory");
    }
    return event;
}

/* ---- names
 * ------------------------------------------------------------------------------------------ */

static void on_resolve(void *context, VisitState *visit_state)
{
    Crawl *crawl = context;
    uint32_t host = 0;
    if (!world_host(crawl->world, visit_state->identity.hostname, &host)) {
        broken(crawl, "a host name");
        return;
    }
    WorldName name = world_resolve(crawl->world, host, now_ms(crawl));
    (void)new_event(crawl, visit_state, name.delay_ms);
}

static void answer_name(Crawl *crawl, VisitState *visit_state)
{
    uint32_t host = 0;
    (void)world_host(crawl->world, visit_state->identity.hostname, &host);
    WorldName name = world_resolve(crawl->world, host, now_ms(crawl));
    visit_state->address.class = name.class;
    visit_state->address.resolve_ms = name.delay_ms;
    if (name.class == FETCH_OK) {
        struct in_addr in = {htonl(ADDRESS_BASE + name.address)};
        visit_state->address.ip = ip_address_v4(&in);
        visit_state->address.expiry = mono_add_ms(crawl->now, name.ttl_ms);
    }
    visit_state->news = NEWS_RESOLVED;
    distributor_receive(&crawl->distributor, visit_state, crawl->now, crawl_wall(crawl));
}

static uint32_t address_of(const VisitState *visit_state)
{
    uint32_t bits = 0;
    memcpy(&bits, visit_state->address.ip.bytes + 12, sizeof bits);
    return ntohl(bits) - ADDRESS_BASE;
}

/* ---- the frontier's other sinks
 * ----------------------------------------------------------------------- */

static void go_home(Crawl *crawl, VisitState *visit_state)
{
    visit_state->place = VISIT_STATE_REFILLING;
    visit_state->news = NEWS_EMPTY;
    distributor_receive(&crawl->distributor, visit_state, crawl->now, crawl_wall(crawl));
}

static void on_ready(void *context, VisitState *visit_state)
{
    Crawl *crawl = context;
    if (workbench_add(&crawl->workbench, visit_state, crawl->now) != RESULT_OK) {
        broken(crawl, "workbench_add");
    }
}

static void on_recall(void *context, VisitState *visit_state)
{
    Crawl *crawl = context;
    VisitState **more = realloc(crawl->recalled, (crawl->n_recalled + 1) * sizeof *crawl->recalled);
    if (more == NULL) {
        broken(crawl, "a recall");
        return;
    }
    crawl->recalled = more;
    crawl->recalled[crawl->n_recalled++] = visit_state;
}

void crawl_recall(Crawl *crawl)
{
    for (size_t i = 0; i < crawl->n_recalled; i++) {
        VisitState *visit_state = crawl->recalled[i];
        if (workbench_recall(&crawl->workbench, visit_state, crawl->now)) {
            go_home(crawl, visit_state);
        }
        distributor_recalled(&crawl->distributor, visit_state);
    }
    crawl->n_recalled = 0;
}

static void on_drop(void *context, const VisitState *visit_state, FetchClass why)
{
    crawl_host_news(context, visit_state, why, 0, true);
}

static void on_left(void *context, uint32_t host)
{
    const Crawl *crawl = context;
    crawl->share->left(crawl->share->context, host);
}

static void on_unresolved(void *context, const VisitState *visit_state, FetchClass why,
                          int64_t wait_ms)
{
    (void)why;
    crawl_host_news(context, visit_state, visit_state->address.class, wait_ms, false);
}

/* ---- fetching
 * ----------------------------------------------------------------------------------------- */

static void on_refused(void *context, FetchResult *result)
{
    Crawl *crawl = context;
    WorldPage page;
    if (!world_locate(crawl->world, result->request.url, strlen(result->request.url), &page)) {
        broken(crawl, "a refused URL");
    } else {
        audit_refused(crawl->audit, crawl->options.agent, page, now_ms(crawl));
    }
    crawl_add_result(crawl, result);
}

static void begin_fetch(Crawl *crawl, VisitState *visit_state)
{
    FetchNow now = {.mono = crawl->now, .wall = crawl_wall(crawl)};
    FetchRefused refused = {.context = crawl, .take = on_refused};
    FetchResult *result = fetch_step_begin(&crawl->rules, visit_state, &now, &refused);
    if (result == NULL) {
        visit_state->politeness.ip_next_fetch = (MonoTime){0};
        if (!workbench_release(&crawl->workbench, visit_state, crawl->now)) {
            go_home(crawl, visit_state);
        }
        return;
    }
    WorldPage page;
    if (!world_locate(crawl->world, result->request.url, strlen(result->request.url), &page)) {
        broken(crawl, result->request.url);
        fetch_result_delete(result);
        return;
    }
    uint32_t address = address_of(visit_state);
    audit_start(crawl->audit, crawl->options.agent, page, address, result->request.check,
                now_ms(crawl));
    WorldReply reply = world_fetch(crawl->world, page, now_ms(crawl));
    Event *event = new_event(crawl, visit_state, reply.duration_ms);
    if (event != NULL) {
        event->result = result;
        event->page = page;
        event->address = address;
    }
}

/* What a transfer would have filled in. */
static void fill_result(Crawl *crawl, const Event *event, const WorldReply *reply)
{
    FetchResult *result = event->result;
    char text[WORLD_URL_BYTES];
    result->cost.end = crawl->now;
    result->answer.class = reply->class;
    if (reply->status == 0) {
        result->answer.status = fetch_status_of_class(reply->class);
        return;
    }
    result->answer.status = reply->status;
    (void)buffer_printf(&result->answer.header, "HTTP/1.1 %d x\r\n", reply->status);
    if (reply->retry_after_s >= 0) {
        (void)buffer_printf(&result->answer.header, "Retry-After: %d\r\n",
                            (int)reply->retry_after_s);
    }
    if (reply->status == 301) {
        bool robots = event->page.page == WORLD_ROBOTS;
        WorldPage to = {event->page.host, reply->location};
        (void)world_url(crawl->world, to, text);
        (void)buffer_printf(&result->answer.header, "Location: %s\r\n",
                            robots ? "/robots-2.txt" : text);
    }
    (void)buffer_append_string(&result->answer.header, "\r\n");
    if (result->kind == FETCHED_ROBOTS && reply->status == 200) {
        size_t n = world_robots_text(crawl->world, event->page.host, text, sizeof text);
        (void)buffer_append(&result->answer.body, text, n);
    }
    result->cost.bytes = 500 + result->answer.body.length;
}

static void end_fetch(Crawl *crawl, Event *event)
{
    VisitState *visit_state = event->visit_state;
    FetchResult *result = event->result;
    int64_t started = result->cost.start.ns / 1000000;
    WorldReply reply = world_fetch(crawl->world, event->page, started);
    fill_result(crawl, event, &reply);
    VisitState *asker = fetch_step_end(&crawl->rules, visit_state, result);
    audit_end(crawl->audit, event->page, event->address, result, now_ms(crawl));
    crawl->fetched += result->request.has_page && result->final && result->answer.status >= 100;
    crawl_add_result(crawl, result);
    if (asker != NULL) {
        asker->news = NEWS_ANSWERED;
        distributor_receive(&crawl->distributor, asker, crawl->now, crawl_wall(crawl));
    }
    if (!workbench_release(&crawl->workbench, visit_state, crawl->now)) {
        go_home(crawl, visit_state);
    }
}

static void serve_events(Crawl *crawl)
{
    HeapNode *node = NULL;
    while ((node = heap_top(&crawl->events)) != NULL && node->key <= crawl->now.ns) {
        Event *event = HEAP_ELEMENT(heap_pop(&crawl->events), Event, node);
        if (event->result == NULL) {
            answer_name(crawl, event->visit_state);
        } else {
            end_fetch(crawl, event);
        }
        free(event);
    }
}

/* Never more in flight than may still be fetched. */
static size_t connections(const Crawl *crawl)
{
    uint64_t left = crawl->may_fetch > crawl->fetched ? crawl->may_fetch - crawl->fetched : 0;
    size_t most = crawl->held ? 0 : crawl->options.connections;
    return left < most ? (size_t)left : most;
}

/* The todo thread's rule: hand out what is due; nothing due with connections free means a larger
 * front is required. */
static void hand_out(Crawl *crawl)
{
    while (crawl->workbench.n_acquired < connections(crawl)) {
        VisitState *visit_state = workbench_acquire(&crawl->workbench, crawl->now);
        if (visit_state == NULL) {
            size_t front = workbench_front(&crawl->workbench) + crawl->workbench.n_acquired;
            if (front >= crawl->required_front &&
                crawl->required_front < crawl->options.front_max) {
                crawl->required_front += FRONT_STEP;
            }
            crawl->hungry = front < crawl->required_front;
            crawl->starved++;
            return;
        }
        if (mono_before(crawl->now, visit_state->address.expiry)) {
            begin_fetch(crawl, visit_state);
        } else if (!workbench_release(&crawl->workbench, visit_state, crawl->now)) {
            go_home(crawl, visit_state); /* its turn comes too late */
        }
    }
}

static void distribute(Crawl *crawl)
{
    size_t front = workbench_front(&crawl->workbench) + crawl->workbench.n_acquired;
    crawl->wake = distributor_work(&crawl->distributor, front, crawl->required_front, crawl->now,
                                   crawl_wall(crawl));
    crawl->hungry = false;
}

static bool collects(const Crawl *crawl)
{
    return crawl->n_pages > 0 || (crawl->share != NULL && crawl->share->waits);
}

/* When what is collected is to be committed, as in ingest.c. */
static MonoTime batch_due(const Crawl *crawl)
{
    return mono_add_ms(
        crawl->batch_since,
        ingest_patience_ms(&crawl->patience, crawl->options.batch_ms, crawl_is_hungry(crawl)));
}

MonoTime crawl_next(Crawl *crawl)
{
    MonoTime next = crawl->wake;
    MonoTime merge = crawl_merge_due(crawl);
    next = mono_before(merge, next) ? merge : next;
    const HeapNode *node = heap_top(&crawl->events);
    if (node != NULL && node->key < next.ns) {
        next = (MonoTime){node->key};
    }
    if (crawl->workbench.n_acquired < connections(crawl)) {
        MonoTime due = workbench_next_time(&crawl->workbench);
        next = mono_before(due, next) ? due : next;
    }
    MonoTime chore = crawl_look_at_chores(crawl);
    next = mono_before(chore, next) ? chore : next;
    if (collects(crawl)) {
        MonoTime old = batch_due(crawl);
        next = mono_before(old, next) ? old : next;
    }
    return next;
}

bool crawl_turn(Crawl *crawl, MonoTime now)
{
    crawl->now = mono_later(crawl->now, now);
    serve_events(crawl);
    hand_out(crawl);
    if (crawl->hungry || !mono_before(crawl->now, crawl->wake)) {
        distribute(crawl);
    }
    (void)crawl_look_at_chores(crawl);
    if (crawl->n_pages >= crawl->options.batch_pages ||
        (collects(crawl) && !mono_before(crawl->now, batch_due(crawl)))) {
        if (!crawl_commit(crawl) && (crawl->share == NULL || !crawl->share->failed)) {
            broken(crawl, "a commit");
        }
    }
    if ((crawl->share == NULL || !crawl->share->failed) && !crawl_merge(crawl)) {
        broken(crawl, "a merge");
    }
    return !crawl->broken && !crawl->finished;
}

/* ---- birth and death
 * ---------------------------------------------------------------------------------- */

void crawl_begin(Crawl *crawl, bool resumed)
{
    DistributorOptions options = {.memory_bytes = crawl->options.memory_bytes,
                                  .window_max = crawl->options.window,
                                  .host_delay_ms = crawl->politeness.host_delay_ms,
                                  .robots_agent = ROBOTS_AGENT,
                                  .floor = resumed ? crawl->now : (MonoTime){0}};
    DistributorSinks sinks = {
        .context = crawl,
        .todo = crawl,
        .resolve = on_resolve,
        .ready = on_ready,
        .recall = on_recall,
        .drop = on_drop,
        .unresolved = on_unresolved,
        .peers = {.context = crawl, .left = crawl->share == NULL ? NULL : on_left}};
    if (distributor_init(&crawl->distributor, &options, &crawl->politeness, &sinks, crawl->store.db,
                         crawl->store.schedule, crawl->store.hosts) != RESULT_OK) {
        broken(crawl, "distributor_init");
    }
    MonoTime floor =
        resumed ? mono_add_ms(crawl->now, crawl->politeness.ip_delay_ms) : (MonoTime){0};
    workbench_init(&crawl->workbench, floor);
    if (crawl->share != NULL) {
        workbench_set_leases(&crawl->workbench, &crawl->share->leases);
    }
    heap_init(&crawl->events);
    crawl->wake = crawl->now;
    crawl->required_front = FRONT_FIRST;
    crawl->hungry = false;
    crawl->n_pages = 0;
    crawl->n_recalled = 0;
    crawl->fetched = crawl->totals.pages;
    crawl->finished = false;
    crawl->begun = true;
}

static void stop_parts(Crawl *crawl)
{
    HeapNode *node = NULL;
    if (!crawl->begun) {
        return;
    }
    crawl->begun = false;
    while ((node = heap_pop(&crawl->events)) != NULL) {
        Event *event = HEAP_ELEMENT(node, Event, node);
        fetch_result_delete(event->result);
        free(event);
    }
    heap_destroy(&crawl->events);
    for (size_t i = 0; i < crawl->n_pages; i++) {
        parsed_page_delete(crawl->pages[i]);
    }
    crawl->n_pages = 0;
    workbench_destroy(&crawl->workbench);
    crawl->evictions += crawl->distributor.steering.evictions;
    distributor_destroy(&crawl->distributor); /* with every visit state, wherever it is */
}

PolitenessOptions crawl_politeness(void)
{
    PolitenessOptions politeness = {.host_delay_ms = 5000,
                                    .ip_delay_ms = 1000,
                                    .crawl_delay_max_ms = 300000,
                                    .retry_after_max_ms = 86400000,
                                    .rest_max_ms = 6 * 3600000,
                                    .park_after_ms = 6 * 3600000};
    politeness_default_rules(politeness.rules);
    return politeness;
}

bool crawl_open(Crawl *crawl, const CrawlOptions *options, const World *world, Audit *audit)
{
    *crawl = (Crawl){.options = *options,
                     .world = world,
                     .audit = audit,
                     .may_fetch = UINT64_MAX,
                     .politeness = options->politeness};
    crawl->rules = (FetchRules){.politeness = &crawl->politeness,
                                .robots = {.agent = ROBOTS_AGENT, .expiry_ms = CRAWL_ROBOTS_MS}};
    crawl->ingest = (IngestOptions){.config.store_batch_pages = (int64_t)options->batch_pages,
                                    .config.store_batch_links = INT64_MAX,
                                    .config.store_batch_time = options->batch_ms,
                                    .config.schedule_levels = SCHEDULE_DEFAULT_LEVELS,
                                    .config.score_depth_factor = 0.5,
                                    .config.scope_depth = INT64_MAX,
                                    .config.fetch_max_redirects = 20};
    crawl->now = (MonoTime){WORLD_START_MS * 1000000};
    /* One step may end more fetches than a batch is meant to hold. */
    crawl->pages = calloc(CRAWL_PAGES_MAX, sizeof(ParsedPage *));
    if (crawl->pages == NULL || !crawl_store_of(crawl) ||
        crawl_log_open(&crawl->log, options->directory, NULL, false, SKIPPED_OFF) != RESULT_OK) {
        (void)fprintf(stderr, "sim: cannot open %s\n", options->directory);
        return false;
    }
    return true;
}

void crawl_stop(Crawl *crawl)
{
    stop_parts(crawl);
    crawl_store_drop(crawl, false);
}

void crawl_die(Crawl *crawl)
{
    audit_crashed(crawl->audit, crawl->options.agent, now_ms(crawl));
    crawl_stop(crawl);
}

void crawl_be_lost(Crawl *crawl)
{
    HeapNode *node = NULL;
    while (crawl->begun && (node = heap_pop(&crawl->events)) != NULL) {
        Event *event = HEAP_ELEMENT(node, Event, node);
        if (event->result != NULL) {
            audit_lives_on(crawl->audit, crawl->options.agent, event->address, node->key / 1000000);
        }
        fetch_result_delete(event->result);
        free(event);
    }
    crawl_die(crawl);
}

bool crawl_crash(Crawl *crawl, int64_t pause_ms)
{
    crawl_die(crawl);
    crawl->now = mono_add_ms(crawl->now, pause_ms);
    if (!crawl_store_of(crawl)) {
        return false;
    }
    crawl_begin(crawl, true);
    return true;
}

void crawl_close(Crawl *crawl, bool remove)
{
    stop_parts(crawl);
    crawl_store_drop(crawl, remove);
    crawl_log_close(crawl->log);
    free(crawl->pages);
    free(crawl->recalled);
}
