#include "fetch/fetcher.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/queue.h"
#include "base/thread.h"
#include "fetch/robots_answer.h"
#include "fetch/transfer.h"
#include "parse/http_header.h"

#define EPOLL_EVENTS   256
#define INBOX_CAPACITY ((size_t)1 << 17)
#define INBOX_BATCH    64u

struct Fetcher {
    FetcherOptions options;
    FetcherSinks sinks;
    unsigned number;
    TransferShared shared;
    CURLM *multi;
    int epoll;
    int wake;
    Queue inbox;
    Thread thread;
    MonoTime curl_timer;  /* when curl_multi_socket_action wants a time-out; MONO_NEVER */
    Heap first_byte;      /* transfers that have not got one, by deadline */
    Transfer *free_list;
    Transfer **transfers; /* all, for aborting */
    size_t n_transfers;
    size_t n_active;
    FilterScratch *filter_scratch; /* NULL without a filter */
    Url url;                       /* of the filter's question */
    uint64_t n_connections;
    atomic_bool draining;
    atomic_bool aborting;
    atomic_bool stopping;
    atomic_size_t active;
    _Atomic uint64_t requests;
    _Atomic uint64_t connections;
};

/* ---- the end of a fetch ---------------------------------------------------------------------------- */

static int64_t retry_after_ms(const FetchResult *result)
{
    HttpHeader header;
    HttpField field;
    if (http_header_parse(&header, result->header.data == NULL ? "" : result->header.data,
                          result->header.length) != RESULT_OK ||
        !http_header_find(&header, "Retry-After", &field)) {
        return -1;
    }
    int64_t seconds = http_header_retry_after(field.value, field.value_length,
                                              wall_seconds(result->wall_start));
    return seconds < 0 ? -1 : seconds * 1000;
}

static FetchEnd end_of(const VisitState *visit_state, const FetchResult *result, bool robots_needed)
{
    return (FetchEnd){
        .class = result->class,
        .duration_ms = mono_ms_between(result->start, result->end),
        .retry_after_ms = result->class == FETCH_BUSY ? retry_after_ms(result) : -1,
        .crawl_delay_ms =
            visit_state->robots == NULL ? -1 : robots_crawl_delay_ms(visit_state->robots),
        .host_delay_ms = visit_state->host_delay_ms,
        .robots = robots_needed,
    };
}

/* The host and the address that were asked are left alone from the end of the fetch on. */
static void set_times(VisitState *visit_state, const FetchResult *result,
                      const PolitenessVerdict *verdict)
{
    /* One millisecond more than owed, since clocks of milliseconds are rounded. */
    visit_state->next_fetch = mono_add_ms(result->end, verdict->host_wait_ms + 1);
    visit_state->ip_next_fetch = mono_add_ms(result->end, verdict->ip_wait_ms + 1);
    visit_state->owed_ms = verdict->host_wait_ms;
    visit_state->last_end = result->end;
}

/* What ingest keeps of the host. */
static void note_host(const VisitState *visit_state, FetchResult *result, int64_t host_wait_ms)
{
    result->health = visit_state->health;
    result->host_wait_ms = host_wait_ms;
    result->robots_state = visit_state->robots_state;
    result->robots_version = visit_state->robots_version;
    result->robots_expiry_ms = visit_state->robots_state == ROBOTS_KNOWN
                                   ? mono_ms_between(result->end, visit_state->robots_expiry)
                                   : 0;
    result->crawl_delay_ms =
        visit_state->robots == NULL ? -1 : robots_crawl_delay_ms(visit_state->robots);
}

/* Judges the fetch, sets the visit state's times from its end, and writes both into the result. */
static PolitenessVerdict judge(Fetcher *fetcher, VisitState *visit_state, FetchResult *result,
                               bool robots_needed)
{
    FetchEnd end = end_of(visit_state, result, robots_needed);
    PolitenessVerdict verdict =
        politeness_judge(fetcher->options.politeness, &end, &visit_state->health);
    set_times(visit_state, result, &verdict);
    note_host(visit_state, result, verdict.host_wait_ms);
    return verdict;
}

/* Installs what a robots.txt says, or what its absence means. */
static RobotsNext settle_robots(Fetcher *fetcher, VisitState *visit_state, FetchResult *result)
{
    bool had_rules = visit_state->robots_state == ROBOTS_KNOWN;
    RobotsNext next = robots_answer(visit_state, result, fetcher->options.robots_agent,
                                    fetcher->options.robots_expiry_ms);
    if (next == ROBOTS_TRY_AGAIN && had_rules) {
        /* Old rules stay in force; asked again when they would have expired anew. */
        visit_state->robots_expiry =
            mono_add_ms(result->end, fetcher->options.robots_expiry_ms / 8);
    } else if (next == ROBOTS_TRY_AGAIN) {
        visit_state->robots_state = ROBOTS_REFUSING;
        visit_state->robots_redirects = 0;
    }
    return next;
}

static void conclude_robots(Fetcher *fetcher, VisitState *visit_state, FetchResult *result)
{
    bool had_rules = visit_state->robots_state == ROBOTS_KNOWN;
    (void)settle_robots(fetcher, visit_state, result);
    PolitenessVerdict verdict = judge(fetcher, visit_state, result, !had_rules);
    if (verdict.drop_host) {
        visit_state->dropped = true;
        result->drop_host = true;
    }
}

/* The host that was asked is owed its delay; whether it is well is none of its own business here. What
 * the answer means is the asker's. */
static void conclude_errand(Fetcher *fetcher, VisitState *asked, VisitState *asker,
                            FetchResult *result)
{
    const PolitenessOptions *politeness = fetcher->options.politeness;
    bool had_rules = asker->robots_state == ROBOTS_KNOWN;
    HostHealth health = asked->health;
    FetchEnd end = end_of(asked, result, false);
    PolitenessVerdict verdict = politeness_judge(politeness, &end, &health);
    set_times(asked, result, &verdict);
    int64_t wait_ms = 0;
    if (settle_robots(fetcher, asker, result) == ROBOTS_TRY_AGAIN) {
        end = end_of(asker, result, !had_rules);
        verdict = politeness_judge(politeness, &end, &asker->health);
        wait_ms = verdict.host_wait_ms;
        asker->next_fetch =
            mono_later(asker->next_fetch, mono_add_ms(result->end, wait_ms + 1));
        asker->dropped |= verdict.drop_host;
        result->drop_host = verdict.drop_host;
    }
    note_host(asker, result, wait_ms);
    asked->askers = asker->next_asker;
    asker->next_asker = NULL;
}

static void conclude_page(Fetcher *fetcher, VisitState *visit_state, FetchResult *result)
{
    PolitenessVerdict verdict = judge(fetcher, visit_state, result, false);
    result->final = !verdict.retry;
    if (!result->final) {
        return; /* it stays at the head of the window */
    }
    visit_state_take(visit_state);
    if (result->class == FETCH_BROKEN && result->partial_status != 0 &&
        result->body.length > 0 && !verdict.drop_host) {
        /* The last try brought a part of it: that is what there is. */
        result->class = FETCH_OK;
        result->status = result->partial_status;
    }
    if (verdict.drop_host) {
        visit_state->dropped = true;
        result->drop_host = true;
    }
}

static void release(Fetcher *fetcher, Transfer *transfer)
{
    transfer_reset(transfer);
    transfer->next_free = fetcher->free_list;
    fetcher->free_list = transfer;
    fetcher->n_active--;
}

static void finish(Fetcher *fetcher, Transfer *transfer, CURLcode code)
{
    VisitState *visit_state = transfer->visit_state;
    FetchResult *result = transfer->result;
    (void)curl_multi_remove_handle(fetcher->multi, transfer->easy);
    result->end = mono_now();
    transfer_conclude(transfer, code);
    VisitState *asker = result->kind == FETCHED_ROBOTS ? visit_state->askers : NULL;
    if (asker != NULL) {
        conclude_errand(fetcher, visit_state, asker, result);
    } else if (result->kind == FETCHED_ROBOTS) {
        conclude_robots(fetcher, visit_state, result);
    } else {
        conclude_page(fetcher, visit_state, result);
    }
    transfer->result = NULL;
    release(fetcher, transfer);
    fetcher->sinks.result(fetcher->sinks.context, result);
    if (asker != NULL) {
        fetcher->sinks.answered(fetcher->sinks.context, asker);
    }
    fetcher->sinks.done(fetcher->sinks.context, visit_state);
}

/* ---- the start of a fetch ---------------------------------------------------------------------------- */

static Transfer *free_transfer(Fetcher *fetcher)
{
    Transfer *transfer = fetcher->free_list;
    if (transfer != NULL) {
        fetcher->free_list = transfer->next_free;
        return transfer;
    }
    Transfer **all =
        realloc(fetcher->transfers, (fetcher->n_transfers + 1) * sizeof *fetcher->transfers);
    if (all == NULL) {
        return NULL;
    }
    fetcher->transfers = all;
    if (transfer_new(&transfer, &fetcher->shared, &fetcher->first_byte) != RESULT_OK) {
        return NULL;
    }
    all[fetcher->n_transfers++] = transfer;
    return transfer;
}

static FetchResult *new_result(Fetcher *fetcher, const VisitState *visit_state, FetchKind kind,
                               const WindowUrl *url)
{
    FetchResult *result = fetch_result_new(kind);
    if (result == NULL) {
        return NULL;
    }
    result->host = visit_state->host;
    result->address = visit_state->address;
    result->worker = fetcher->number;
    result->robots_version = visit_state->robots_version;
    result->wall_start = wall_now();
    result->start = mono_now();
    result->end = result->start;
    if (visit_state->last_end.ns != 0) {
        result->owed_ms = visit_state->owed_ms;
        result->given_ms = mono_ms_between(visit_state->last_end, result->start);
    }
    if (url != NULL) {
        result->has_page = true;
        result->index = url->index;
        result->level = url->level;
        result->hop = url->hop;
        result->depth = url->depth;
        result->tries = url->tries;
        result->url = strndup(visit_state_url(visit_state, url), url->length);
        if (result->url == NULL) {
            fetch_result_delete(result);
            return NULL;
        }
    }
    return result;
}

/* Where the path begins; a URL with user information is longer than its origin says. */
static const char *path_of(const VisitState *visit_state, const char *url)
{
    const char *slash = strstr(url, "//");
    slash = slash == NULL ? NULL : strchr(slash + 2, '/');
    return slash == NULL ? url + visit_state->origin_length : slash;
}

/* 0 when the URL may be fetched, otherwise the status it gets; *rule is what decided. */
static int refuse_url(Fetcher *fetcher, const VisitState *visit_state, const WindowUrl *url,
                      const char **rule)
{
    RobotsVerdict verdict = {.allowed = true};
    const char *text = visit_state_url(visit_state, url);
    const char *path = path_of(visit_state, text);
    size_t length = url->length - (size_t)(path - text);
    if (!robots_allows(visit_state->robots, path, length, &verdict)) {
        *rule = verdict.rule;
        return STATUS_ROBOTS;
    }
    if (fetcher->filter_scratch != NULL &&
        url_parse(&fetcher->url, NULL, text, url->length) == RESULT_OK) {
        FilterInput input = {.url = &fetcher->url, .has_depth = true, .depth = url->depth};
        if (!filter_matches(fetcher->options.filter, &input, fetcher->filter_scratch)) {
            *rule = "filter.fetch";
            return STATUS_BLOCKED;
        }
    }
    return 0;
}

/* Takes URLs that robots.txt or the filter refuses out of the window; true when one is left. */
static bool skip_refused(Fetcher *fetcher, VisitState *visit_state)
{
    const WindowUrl *url = NULL;
    while ((url = visit_state_peek(visit_state)) != NULL) {
        const char *rule = NULL;
        int status = refuse_url(fetcher, visit_state, url, &rule);
        if (status == 0) {
            return true;
        }
        FetchResult *result = new_result(fetcher, visit_state, FETCHED_NOTHING, url);
        if (result == NULL) {
            return false; /* it stays in the window: tried again later */
        }
        result->status = status;
        result->final = true;
        result->health = visit_state->health;
        result->refusal = rule == NULL ? NULL : strdup(rule);
        visit_state_take(visit_state);
        fetcher->sinks.result(fetcher->sinks.context, result);
    }
    return false;
}

static void give_back(Fetcher *fetcher, VisitState *visit_state)
{
    visit_state->ip_next_fetch = (MonoTime){0};
    fetcher->sinks.done(fetcher->sinks.context, visit_state);
}

static bool needs_robots(const VisitState *visit_state, MonoTime now)
{
    return visit_state->robots_state != ROBOTS_KNOWN || visit_state->robots_target != NULL ||
           !mono_before(now, visit_state->robots_expiry);
}

static char *robots_url(const VisitState *visit_state)
{
    if (visit_state->robots_target != NULL) {
        return strdup(visit_state->robots_target);
    }
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    if (buffer_printf(&url, "%s/robots.txt", visit_state->origin) != RESULT_OK) {
        buffer_destroy(&url);
    }
    return buffer_detach(&url);
}

static void begin(Fetcher *fetcher, VisitState *visit_state)
{
    MonoTime now = mono_now();
    const VisitState *asker = visit_state->askers;
    bool robots = asker != NULL || needs_robots(visit_state, now);
    if (!robots && !skip_refused(fetcher, visit_state)) {
        give_back(fetcher, visit_state);
        return;
    }
    const WindowUrl *url = robots ? NULL : visit_state_peek(visit_state);
    FetchResult *result =
        new_result(fetcher, visit_state, robots ? FETCHED_ROBOTS : FETCHED_PAGE, url);
    if (result != NULL && robots) {
        result->url = robots_url(asker == NULL ? visit_state : asker);
        result->host = asker == NULL ? visit_state->host : asker->host;
        result->hop = 'P';
    }
    Transfer *transfer = result == NULL || result->url == NULL ? NULL : free_transfer(fetcher);
    if (transfer == NULL) {
        fetch_result_delete(result);
        visit_state->next_fetch = mono_add_ms(now, 1000); /* no memory now */
        give_back(fetcher, visit_state);
        return;
    }
    fetcher->n_active++;
    Result rc = transfer_prepare(transfer, visit_state, result, result->url, robots);
    if (rc == RESULT_OK &&
        heap_push(&fetcher->first_byte, &transfer->by_first_byte,
                  mono_add_ms(now, fetcher->options.first_byte_timeout_ms).ns, 0) == RESULT_OK &&
        curl_multi_add_handle(fetcher->multi, transfer->easy) == CURLM_OK) {
        atomic_fetch_add_explicit(&fetcher->requests, 1, memory_order_relaxed);
        return;
    }
    release(fetcher, transfer);
    visit_state->next_fetch = mono_add_ms(now, 1000);
    give_back(fetcher, visit_state);
}

/* ---- event loop ---------------------------------------------------------------------------------------- */

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
    (void)easy;
    Fetcher *fetcher = context;
    struct epoll_event event = {.events = 0, .data = {.fd = fd}};
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(fetcher->epoll, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events = ((what & CURL_POLL_IN) != 0 ? (uint32_t)EPOLLIN : 0u) |
                   ((what & CURL_POLL_OUT) != 0 ? (uint32_t)EPOLLOUT : 0u);
    if (known == NULL) {
        (void)epoll_ctl(fetcher->epoll, EPOLL_CTL_ADD, fd, &event);
        (void)curl_multi_assign(fetcher->multi, fd, fetcher);
    } else {
        (void)epoll_ctl(fetcher->epoll, EPOLL_CTL_MOD, fd, &event);
    }
    return 0;
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *context)
{
    (void)multi;
    Fetcher *fetcher = context;
    fetcher->curl_timer = timeout_ms < 0 ? MONO_NEVER : mono_add_ms(mono_now(), timeout_ms);
    return 0;
}

static void collect_finished(Fetcher *fetcher)
{
    CURLMsg *message = NULL;
    int left = 0;
    while ((message = curl_multi_info_read(fetcher->multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            Transfer *transfer = NULL;
            CURLcode code = message->data.result;
            (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
            finish(fetcher, transfer, code);
        }
    }
}

static void expire_first_bytes(Fetcher *fetcher, MonoTime now)
{
    HeapNode *node = heap_top(&fetcher->first_byte);
    while (node != NULL && node->key <= now.ns) {
        Transfer *transfer = HEAP_ELEMENT(node, Transfer, by_first_byte);
        heap_remove(&fetcher->first_byte, node);
        transfer->first_byte_late = true;
        finish(fetcher, transfer, CURLE_OPERATION_TIMEDOUT);
        node = heap_top(&fetcher->first_byte);
    }
}

static void abort_all(Fetcher *fetcher)
{
    for (size_t i = 0; i < fetcher->n_transfers; i++) {
        Transfer *transfer = fetcher->transfers[i];
        VisitState *visit_state = transfer->visit_state;
        if (visit_state != NULL) {
            (void)curl_multi_remove_handle(fetcher->multi, transfer->easy);
            release(fetcher, transfer);
            give_back(fetcher, visit_state);
        }
    }
}

static void read_inbox(Fetcher *fetcher)
{
    void *items[INBOX_BATCH];
    size_t n = 0;
    uint64_t count = 0;
    (void)!read(fetcher->wake, &count, sizeof count);
    while (queue_pop(&fetcher->inbox, items, INBOX_BATCH, &n, (MonoTime){0}) == RESULT_OK) {
        for (size_t i = 0; i < n; i++) {
            if (atomic_load(&fetcher->draining)) {
                give_back(fetcher, items[i]);
            } else {
                begin(fetcher, items[i]);
            }
        }
    }
}

static int wait_ms(const Fetcher *fetcher, MonoTime now)
{
    MonoTime next = fetcher->curl_timer;
    const HeapNode *node = heap_top(&fetcher->first_byte);
    if (node != NULL && node->key < next.ns) {
        next = (MonoTime){node->key};
    }
    if (next.ns == MONO_NEVER.ns) {
        return -1;
    }
    int64_t ms = (next.ns - now.ns + 999999) / 1000000;
    return ms < 0 ? 0 : ms > 60000 ? 60000 : (int)ms;
}

static void serve(Fetcher *fetcher, const struct epoll_event *event)
{
    int running = 0;
    if (event->data.fd == fetcher->wake) {
        read_inbox(fetcher);
        return;
    }
    int mask = ((event->events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
               ((event->events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
               ((event->events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
    (void)curl_multi_socket_action(fetcher->multi, event->data.fd, mask, &running);
}

static void *fetcher_main(void *argument)
{
    Fetcher *fetcher = argument;
    struct epoll_event events[EPOLL_EVENTS];
    int running = 0;
    while (!atomic_load(&fetcher->stopping)) {
        MonoTime now = mono_now();
        thread_step("waiting");
        int n = epoll_wait(fetcher->epoll, events, EPOLL_EVENTS, wait_ms(fetcher, now));
        thread_step("fetching");
        for (int i = 0; i < n; i++) {
            serve(fetcher, &events[i]);
        }
        now = mono_now();
        if (fetcher->curl_timer.ns <= now.ns) {
            fetcher->curl_timer = MONO_NEVER;
            (void)curl_multi_socket_action(fetcher->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        collect_finished(fetcher);
        expire_first_bytes(fetcher, now);
        if (atomic_exchange(&fetcher->aborting, false)) {
            abort_all(fetcher);
        }
        atomic_store_explicit(&fetcher->active, fetcher->n_active, memory_order_relaxed);
        atomic_store_explicit(&fetcher->connections, fetcher->n_connections, memory_order_relaxed);
    }
    abort_all(fetcher);
    return NULL;
}

/* ---- the outside ------------------------------------------------------------------------------------------ */

static Result open_loop(Fetcher *fetcher)
{
    fetcher->epoll = epoll_create1(EPOLL_CLOEXEC);
    fetcher->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fetcher->epoll < 0 || fetcher->wake < 0) {
        return result_of_errno(errno);
    }
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fetcher->wake}};
    if (epoll_ctl(fetcher->epoll, EPOLL_CTL_ADD, fetcher->wake, &event) != 0) {
        return result_of_errno(errno);
    }
    fetcher->multi = curl_multi_init();
    if (fetcher->multi == NULL) {
        return RESULT_MEMORY;
    }
    (void)curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    (void)curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETDATA, fetcher);
    (void)curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    (void)curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERDATA, fetcher);
    (void)curl_multi_setopt(fetcher->multi, CURLMOPT_MAXCONNECTS, (long)fetcher->options.transfers);
    (void)curl_multi_setopt(fetcher->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    return queue_init(&fetcher->inbox, INBOX_CAPACITY);
}

Result fetcher_new(Fetcher **out, unsigned number, const FetcherOptions *options,
                   const FetcherSinks *sinks)
{
    Fetcher *fetcher = calloc(1, sizeof *fetcher);
    if (fetcher == NULL) {
        return RESULT_MEMORY;
    }
    fetcher->options = *options;
    fetcher->sinks = *sinks;
    fetcher->number = number;
    fetcher->epoll = -1;
    fetcher->wake = -1;
    fetcher->curl_timer = MONO_NEVER;
    heap_init(&fetcher->first_byte);
    url_init(&fetcher->url);
    Result rc =
        transfer_shared_init(&fetcher->shared, &fetcher->options, &fetcher->n_connections);
    if (rc == RESULT_OK) {
        rc = open_loop(fetcher);
    }
    if (rc == RESULT_OK && options->filter != NULL) {
        rc = filter_scratch_new(&fetcher->filter_scratch);
    }
    if (rc != RESULT_OK) {
        fetcher_delete(fetcher);
        return rc;
    }
    *out = fetcher;
    return RESULT_OK;
}

Result fetcher_start(Fetcher *fetcher)
{
    char name[16];
    (void)snprintf(name, sizeof name, "fetch-%u", fetcher->number);
    return thread_start(&fetcher->thread, name, fetcher_main, fetcher);
}

static void wake(Fetcher *fetcher)
{
    uint64_t one = 1;
    (void)!write(fetcher->wake, &one, sizeof one);
}

void fetcher_fetch(Fetcher *fetcher, VisitState *visit_state)
{
    if (queue_push(&fetcher->inbox, visit_state) == RESULT_OK) {
        wake(fetcher);
    } else {
        give_back(fetcher, visit_state);
    }
}

void fetcher_drain(Fetcher *fetcher)
{
    atomic_store(&fetcher->draining, true);
    wake(fetcher);
}

void fetcher_abort(Fetcher *fetcher)
{
    atomic_store(&fetcher->aborting, true);
    wake(fetcher);
}

void fetcher_stop(Fetcher *fetcher)
{
    atomic_store(&fetcher->draining, true);
    atomic_store(&fetcher->stopping, true);
    queue_close(&fetcher->inbox);
    wake(fetcher);
    thread_join(&fetcher->thread);
    void *item = NULL;
    size_t n = 0;
    while (queue_pop(&fetcher->inbox, &item, 1, &n, (MonoTime){0}) == RESULT_OK) {
        give_back(fetcher, item);
    }
}

void fetcher_delete(Fetcher *fetcher)
{
    if (fetcher == NULL) {
        return;
    }
    for (size_t i = 0; i < fetcher->n_transfers; i++) {
        transfer_delete(fetcher->transfers[i]);
    }
    free(fetcher->transfers);
    if (fetcher->multi != NULL) {
        (void)curl_multi_cleanup(fetcher->multi);
    }
    if (fetcher->inbox.items != NULL) {
        queue_destroy(&fetcher->inbox);
    }
    transfer_shared_destroy(&fetcher->shared);
    filter_scratch_delete(fetcher->filter_scratch);
    url_destroy(&fetcher->url);
    heap_destroy(&fetcher->first_byte);
    if (fetcher->epoll >= 0) {
        (void)close(fetcher->epoll);
    }
    if (fetcher->wake >= 0) {
        (void)close(fetcher->wake);
    }
    free(fetcher);
}

void fetcher_stats(Fetcher *fetcher, FetcherStats *stats)
{
    *stats = (FetcherStats){
        .active = atomic_load_explicit(&fetcher->active, memory_order_relaxed),
        .requests = atomic_load_explicit(&fetcher->requests, memory_order_relaxed),
        .connections = atomic_load_explicit(&fetcher->connections, memory_order_relaxed),
    };
}
