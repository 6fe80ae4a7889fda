#include "frontier/visit/visit_state.h"

#include <stdlib.h>
#include <string.h>

#include "parse/host/authority.h"
#include "store/schedule/schedule.h"

/* ---- Errand answer ---- */

ErrandAnswer *errand_answer_new(FetchClass class)
{
    ErrandAnswer *answer = calloc(1, sizeof *answer);
    if (answer != NULL) {
        answer->class = class;
        buffer_init(&answer->header, ERRAND_HEADER_MOST);
        buffer_init(&answer->body, ERRAND_BODY_MOST);
    }
    return answer;
}

void errand_answer_delete(ErrandAnswer *answer)
{
    if (answer != NULL) {
        buffer_destroy(&answer->header);
        buffer_destroy(&answer->body);
        free(answer);
    }
}

size_t errand_answer_bytes(const ErrandAnswer *answer)
{
    return answer == NULL ? 0 : sizeof *answer + answer->header.length + answer->body.length;
}

/* ---- Standing ---- */

/* Whether it had `least_ms`, and was slower than the rate, or half of what it may send. */
static bool standing_is_below(int64_t took_ms, uint64_t bytes, int64_t most_bytes_s,
                              int64_t least_ms, int64_t rate)
{
    int64_t least = most_bytes_s > 0 && most_bytes_s / 2 < rate ? most_bytes_s / 2 : rate;
    return took_ms >= least_ms && (double)bytes * 1e3 < (double)least * (double)took_ms;
}

bool standing_is_slow(int64_t took_ms, uint64_t bytes, int64_t most_bytes_s)
{
    return standing_is_below(took_ms, bytes, most_bytes_s, STANDING_SLOW_MS, STANDING_SLOW_BYTES);
}

bool standing_drips(int64_t took_ms, int64_t patience_ms, uint64_t bytes, int64_t most_bytes_s)
{
    return standing_is_below(took_ms, bytes, most_bytes_s, patience_ms, STANDING_DRIP_BYTES);
}

int64_t standing_drip_ms(size_t waiting, size_t most)
{
    if (waiting <= most) {
        return STANDING_DRIP_MS;
    }
    int64_t ms = (int64_t)((double)STANDING_DRIP_MS * (double)most / (double)waiting);
    return ms > STANDING_DRIP_LEAST_MS ? ms : STANDING_DRIP_LEAST_MS;
}

/* Answers that say no come at once. */
static bool is_prompt(FetchClass class)
{
    return class == FETCH_OK || class == FETCH_BUSY || class == FETCH_SERVER ||
           class == FETCH_COOKIE || class == FETCH_WALL;
}

Standing standing_of(const StandingRecord *record, const HostHealth *health)
{
    bool fails =
        health->failures > 0 && !is_prompt(health->last) && !politeness_blames_urls(health);
    if (record->is_slow || fails) {
        return STANDING_ILL;
    }
    return record->is_proven ? STANDING_PROVEN : STANDING_NEW;
}

StandingShares standing_shares(const LiveShares *live)
{
    StandingShares shares = {.new_percent = 0};
    if (live != NULL) {
        shares.new_percent = atomic_load(&live->new_percent);
        shares.slow_percent = atomic_load(&live->slow_percent);
        for (size_t s = 0; s < STANDINGS; s++) {
            shares.slowed[s] = atomic_load(&live->slowed[s]);
        }
    }
    return shares;
}

size_t standing_most(const StandingShares *shares, Standing standing, size_t all)
{
    unsigned percent = standing == STANDING_NEW ? shares->new_percent : 0;
    if (standing == STANDING_ILL) {
        percent = shares->slow_percent;
    }
    if (percent == 0) {
        return all;
    }
    size_t most = all / 100 * percent + all % 100 * percent / 100;
    return most > 0 || all == 0 ? most : 1;
}

static size_t standing_less(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t standing_counted(const size_t acquired[STANDINGS], const size_t slowed[STANDINGS],
                        size_t most_ill, Standing standing)
{
    size_t ill = acquired[STANDING_ILL];
    size_t room = most_ill > ill ? most_ill - ill : 0;
    size_t new = standing_less(standing_less(slowed[STANDING_NEW], acquired[STANDING_NEW]), room);
    size_t proven = standing_less(standing_less(slowed[STANDING_PROVEN], acquired[STANDING_PROVEN]),
                                  room - new);
    switch (standing) {
    case STANDING_NEW:
        return acquired[STANDING_NEW] - new;
    case STANDING_PROVEN:
        return acquired[STANDING_PROVEN] - proven;
    case STANDING_ILL:
    case STANDINGS:
        break;
    }
    return ill + new + proven;
}

/* ---- Visit state ---- */

Result visit_state_new(VisitState **visit_state, uint32_t host, const char *origin, size_t length)
{
    bool https = length > 8 && memcmp(origin, "https://", 8) == 0;
    bool is_web = https || (length > 7 && memcmp(origin, "http://", 7) == 0);
    Authority at = authority_of(origin, length);
    size_t n = at.host_end - at.host;
    /* The hostname keeps the brackets of an IPv6 literal. Port 0 is an origin's if it says so:
     * which ports are connected to is asked of PortSet. */
    if (!is_web || n == 0 || (at.port == 0 && at.end - at.host_end > sizeof ":0" - 1)) {
        return RESULT_INVALID;
    }
    VisitState *vs = calloc(1, sizeof *vs);
    char *strings = malloc(length + 1 + n + 1);
    if (vs == NULL || strings == NULL) {
        free(vs);
        free(strings);
        return RESULT_MEMORY;
    }
    memcpy(strings, origin, length);
    strings[length] = '\0';
    char *hostname = strings + length + 1;
    memcpy(hostname, origin + at.host, n);
    hostname[n] = '\0';
    vs->identity.host = host;
    vs->place = VISIT_STATE_RESOLVING;
    vs->identity.origin = strings;
    vs->identity.origin_length = (uint32_t)length;
    vs->identity.hostname = hostname;
    vs->identity.port = at.port;
    vs->identity.https = https;
    vs->distributor.recall = NEWS_RECALL;
    atomic_init(&vs->signals.best, SCHEDULE_NO_LEVEL);
    heap_node_init(&vs->todo.by_time);
    heap_node_init(&vs->distributor.by_purge);
    *visit_state = vs;
    return RESULT_OK;
}

void visit_state_delete(VisitState *visit_state)
{
    if (visit_state == NULL) {
        return;
    }
    robots_delete(visit_state->robots.rules);
    free(visit_state->robots.target);
    errand_answer_delete(visit_state->errands.answer);
    cookie_jar_delete(visit_state->cookies);
    wall_run_destroy(&visit_state->politeness.walls);
    free(visit_state->window.urls);
    free(visit_state->identity.origin);
    free(visit_state);
}

const WindowUrl *visit_state_peek(const VisitState *visit_state)
{
    if (visit_state->check.asks) {
        return &visit_state->check.url;
    }
    return visit_state->window.next < visit_state->window.count
               ? &visit_state->window.urls[visit_state->window.next]
               : NULL;
}

const char *visit_state_url(const VisitState *visit_state, const WindowUrl *url)
{
    return visit_state->window.bytes + url->offset;
}

void visit_state_note_tries(VisitState *visit_state, unsigned tries)
{
    if (visit_state->check.asks) {
        visit_state->check.url.tries = (uint8_t)(tries > UINT8_MAX ? UINT8_MAX : tries);
    } else if (visit_state->window.next < visit_state->window.count) {
        visit_state->window.urls[visit_state->window.next].tries =
            (uint8_t)(tries > UINT8_MAX ? UINT8_MAX : tries);
    }
}

unsigned visit_state_level(const VisitState *visit_state)
{
    return atomic_load_explicit(&visit_state->signals.best, memory_order_relaxed);
}

/* The first URL behind `place` of another level than the one there: levels ascend. */
static uint32_t level_end(const VisitState *visit_state, uint32_t place)
{
    uint32_t least = place + 1;
    uint32_t most = visit_state->window.count - visit_state->window.n_later;
    while (least < most) {
        uint32_t middle = least + (most - least) / 2;
        if (visit_state->window.urls[middle].level == visit_state->window.urls[place].level) {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    return least;
}

/* All that are left have failed: the first one whose time comes goes first. */
static void visit_state_choose_later(VisitState *visit_state)
{
    WindowUrl *urls = visit_state->window.urls;
    uint32_t next = visit_state->window.next;
    uint32_t first = next;
    for (uint32_t i = next; i < visit_state->window.count; i++) {
        first = urls[i].later < urls[first].later ? i : first;
    }
    bool is_empty = next >= visit_state->window.count;
    if (first != next) {
        WindowUrl url = urls[first];
        urls[first] = urls[next];
        urls[next] = url;
    }
    atomic_store_explicit(&visit_state->signals.waits, !is_empty, memory_order_relaxed);
    atomic_store_explicit(&visit_state->signals.best,
                          is_empty ? SCHEDULE_NO_LEVEL : urls[next].level, memory_order_relaxed);
}

/* The window stands in order of level. When it is the turn of another level than the best one its
 * first URL is brought to the front; the rest keeps its order. */
static void visit_state_choose(VisitState *visit_state)
{
    uint32_t next = visit_state->window.next;
    uint32_t count = visit_state->window.count - visit_state->window.n_later;
    if (next >= count) {
        visit_state_choose_later(visit_state);
        return;
    }
    atomic_store_explicit(&visit_state->signals.waits, false, memory_order_relaxed);
    unsigned best = next < count ? visit_state->window.urls[next].level : SCHEDULE_NO_LEVEL;
    atomic_store_explicit(&visit_state->signals.best, best, memory_order_relaxed);
    if (visit_state->window.bias.kind == LEVEL_BIAS_STRICT || next >= count) {
        return;
    }
    uint64_t levels = 0;
    for (uint32_t i = next; i < count; i = level_end(visit_state, i)) {
        levels |= UINT64_C(1) << visit_state->window.urls[i].level % SCHEDULE_MAX_LEVELS;
    }
    unsigned level =
        level_bias_choose(&visit_state->window.bias, levels, visit_state->window.ticket++);
    uint32_t chosen = next;
    while (chosen < count && visit_state->window.urls[chosen].level != level) {
        chosen = level_end(visit_state, chosen);
    }
    if (chosen > next && chosen < count) {
        WindowUrl url = visit_state->window.urls[chosen];
        memmove(visit_state->window.urls + next + 1, visit_state->window.urls + next,
                (chosen - next) * sizeof url);
        visit_state->window.urls[next] = url;
    }
}

static void visit_state_target_file(VisitState *visit_state)
{
    VisitRobots *robots = &visit_state->robots;
    const VisitIdentity *identity = &visit_state->identity;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    Result rc = RESULT_OK;
    if (visit_state_file(visit_state) == USAGE_IN_TDM) {
        rc = buffer_printf(&url, "%s%s", identity->origin, ROBOTS_TDM_FILE);
    } else {
        rc = robots_licence_url(robots->rules, visit_state_file(visit_state), identity->origin,
                                &url);
    }
    if (rc == RESULT_OK) {
        Authority at = authority_of(url.data, url.length);
        size_t length = at.host_end - at.host;
        robots->elsewhere = strlen(identity->hostname) != length ||
                            memcmp(identity->hostname, url.data + at.host, length) != 0;
        robots->target = buffer_detach(&url);
    }
    buffer_destroy(&url);
}

void visit_state_ask_files(VisitState *visit_state, unsigned files)
{
    VisitRobots *robots = &visit_state->robots;
    free(robots->target);
    robots->target = NULL;
    robots->elsewhere = false;
    robots->redirects = 0;
    robots->files = (uint8_t)files;
    while (robots->files != 0 && robots->target == NULL) {
        visit_state_target_file(visit_state);
        if (robots->target == NULL) {
            robots->files &= (uint8_t) ~(1u << visit_state_file(visit_state));
        }
    }
}

void visit_state_end_file(VisitState *visit_state)
{
    unsigned file = 1u << visit_state_file(visit_state);
    visit_state_ask_files(visit_state, visit_state->robots.files & ~file);
}

void visit_state_take(VisitState *visit_state)
{
    VisitWindow *window = &visit_state->window;
    if (visit_state->check.asks) {
        visit_state->check.asks = false;
        visit_state_choose(visit_state);
    } else if (window->next < window->count) {
        window->n_later -= window->n_later == window->count - window->next;
        window->next++;
        visit_state_choose(visit_state);
    }
}

void visit_state_note_good(VisitState *visit_state)
{
    const WindowUrl *url = visit_state_peek(visit_state);
    HostCheck *check = &visit_state->check;
    if (url == NULL || url->check) {
        check->url.tries = 0;
        return;
    }
    bool is_front = url->hop == 'M' || url->length <= visit_state->identity.origin_length + 1;
    if (is_front && check->has_page && !check->is_front) {
        return;
    }
    *check = (HostCheck){.has_page = true, .is_front = is_front, .url = *url};
    check->url.check = true;
    check->url.again = true;
    check->url.validators = 0;
    check->url.later = 0;
    check->url.tries = 0;
}

bool visit_state_can_check(const VisitState *visit_state, bool front_will_do)
{
    const HostCheck *check = &visit_state->check;
    return check->has_page && check->url.length > 0 && (front_will_do || !check->is_front);
}

void visit_state_check(VisitState *visit_state)
{
    visit_state->check.asks = true;
    atomic_store_explicit(&visit_state->signals.waits, false, memory_order_relaxed);
    atomic_store_explicit(&visit_state->signals.best, visit_state->check.url.level,
                          memory_order_relaxed);
}

void visit_state_defer(VisitState *visit_state, unsigned tries, MonoTime until)
{
    VisitWindow *window = &visit_state->window;
    if (window->next >= window->count) {
        return;
    }
    WindowUrl url = window->urls[window->next];
    url.tries = (uint8_t)(tries > UINT8_MAX ? UINT8_MAX : tries);
    url.later = (uint32_t)(until.ns / (VISIT_STATE_TICK_MS * INT64_C(1000000)) + 1);
    window->n_later += window->n_later < window->count - window->next;
    memmove(window->urls + window->next, window->urls + window->next + 1,
            (window->count - window->next - 1) * sizeof url);
    window->urls[window->count - 1] = url;
    visit_state_choose(visit_state);
}

uint32_t visit_state_n_ready(const VisitState *visit_state)
{
    return visit_state_count(visit_state) - visit_state->window.n_later;
}

bool visit_state_has_only_failed(const VisitState *visit_state)
{
    const VisitWindow *window = &visit_state->window;
    uint32_t i = window->next;
    while (i < window->count && window->urls[i].tries > 0) {
        i++;
    }
    return i == window->count;
}

MonoTime visit_state_url_time(const VisitState *visit_state)
{
    const WindowUrl *url = visit_state_peek(visit_state);
    return (MonoTime){url == NULL ? 0 : url->later * (VISIT_STATE_TICK_MS * INT64_C(1000000))};
}

MonoTime visit_state_next_time(const VisitState *visit_state)
{
    return mono_later(visit_state->politeness.next_fetch, visit_state_url_time(visit_state));
}

void visit_state_put_back(VisitState *visit_state, const WindowUrl *url)
{
    if (url->check) {
        visit_state_check(visit_state);
    } else if (visit_state->window.next > 0) {
        visit_state->window.urls[--visit_state->window.next] = *url;
        visit_state->window.urls[visit_state->window.next].later = 0;
        atomic_store_explicit(&visit_state->signals.best, url->level, memory_order_relaxed);
    }
}

uint32_t visit_state_count(const VisitState *visit_state)
{
    return visit_state->window.count - visit_state->window.next + visit_state->check.asks;
}

void visit_state_set_window(VisitState *visit_state, WindowUrl *window, char *bytes, uint32_t count,
                            size_t memory)
{
    free(visit_state->window.urls);
    visit_state->window.urls = window;
    visit_state->window.bytes = bytes;
    visit_state->window.count = count;
    visit_state->window.next = 0;
    visit_state->window.n_later = 0;
    while (visit_state->window.n_later < count &&
           window[count - 1 - visit_state->window.n_later].later != 0) {
        visit_state->window.n_later++;
    }
    visit_state->window.memory = memory;
    visit_state->check.asks = false;
    visit_state->check.url.length = 0;
    visit_state_choose(visit_state);
}

size_t visit_state_memory(const VisitState *visit_state)
{
    return sizeof *visit_state + VISIT_STATE_OVERHEAD + visit_state->identity.origin_length +
           strlen(visit_state->identity.hostname) + 2 + visit_state->window.memory +
           visit_state->window.count * VISIT_STATE_URL_OVERHEAD +
           cookie_jar_bytes(visit_state->cookies) +
           errand_answer_bytes(visit_state->errands.answer) +
           (visit_state->robots.rules == NULL ? 0 : robots_bytes(visit_state->robots.rules));
}

bool visit_state_next_address(VisitState *visit_state, FetchClass class, MonoTime end)
{
    VisitAddress *address = &visit_state->address;
    bool no_connection =
        class == FETCH_REFUSED || class == FETCH_NO_ROUTE || class == FETCH_CONNECT_TIME;
    if (!no_connection || address->count < 2) {
        address->failed = 0;
        return false;
    }
    address->turn++;
    address->failed++;
    address->expiry = end;
    if (address->failed < address->count) {
        return true;
    }
    address->failed = 0;
    return false;
}
