#include "fetch/transfer/fetch_step.h"

#include <stdlib.h>
#include <string.h>

#include "fetch/transfer/robots_answer.h"
#include "parse/http/http_header.h"

/* ---- the end of a fetch -------------------------------------------------------------------- */

static int64_t retry_after_ms(const FetchResult *result)
{
    HttpHeader header;
    HttpField field;
    if (http_header_parse(&header, result->header.data == NULL ? "" : result->header.data,
                          result->header.length) != RESULT_OK ||
        !http_header_find(&header, "Retry-After", &field)) {
        return -1;
    }
    int64_t seconds =
        http_header_retry_after(field.value, field.value_length, wall_seconds(result->wall_start));
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
static PolitenessVerdict judge(const FetchRules *rules, VisitState *visit_state,
                               FetchResult *result, bool robots_needed)
{
    FetchEnd end = end_of(visit_state, result, robots_needed);
    PolitenessVerdict verdict = politeness_judge(rules->politeness, &end, &visit_state->health);
    set_times(visit_state, result, &verdict);
    note_host(visit_state, result, verdict.host_wait_ms);
    return verdict;
}

/* Installs what a robots.txt says, or what its absence means. */
static RobotsNext settle_robots(const FetchRules *rules, VisitState *visit_state,
                                FetchResult *result)
{
    bool had_rules = visit_state->robots_state == ROBOTS_KNOWN;
    RobotsNext next =
        robots_answer(visit_state, result, rules->robots_agent, rules->robots_expiry_ms);
    if (next == ROBOTS_TRY_AGAIN && had_rules) {
        /* Old rules stay in force; asked again when they would have expired anew. */
        visit_state->robots_expiry = mono_add_ms(result->end, rules->robots_expiry_ms / 8);
    } else if (next == ROBOTS_TRY_AGAIN) {
        visit_state->robots_state = ROBOTS_REFUSING;
        visit_state->robots_redirects = 0;
    }
    return next;
}

static void conclude_robots(const FetchRules *rules, VisitState *visit_state, FetchResult *result)
{
    bool had_rules = visit_state->robots_state == ROBOTS_KNOWN;
    HostHealth before = visit_state->health;
    RobotsNext next = settle_robots(rules, visit_state, result);
    PolitenessVerdict verdict = judge(rules, visit_state, result, !had_rules);
    if (next == ROBOTS_FOLLOW) {
        /* A redirect is no success yet: where it leads may be out of reach again and again, and
         * those failures must add up. */
        visit_state->health = before;
        result->health = before;
    }
    if (verdict.drop_host) {
        visit_state->dropped = true;
        result->drop_host = true;
    }
}

/* The host that was asked is owed its delay; whether it is well is not judged by what others want
 * of it. What the answer means is the asker's. */
static void conclude_errand(const FetchRules *rules, VisitState *asked, VisitState *asker,
                            FetchResult *result)
{
    bool had_rules = asker->robots_state == ROBOTS_KNOWN;
    HostHealth health = asked->health;
    FetchEnd end = end_of(asked, result, false);
    PolitenessVerdict verdict = politeness_judge(rules->politeness, &end, &health);
    set_times(asked, result, &verdict);
    if (settle_robots(rules, asker, result) == ROBOTS_TRY_AGAIN) {
        end = end_of(asker, result, !had_rules);
        verdict = politeness_judge(rules->politeness, &end, &asker->health);
        asker->next_fetch =
            mono_later(asker->next_fetch, mono_add_ms(result->end, verdict.host_wait_ms + 1));
        asker->dropped |= verdict.drop_host;
        result->drop_host = verdict.drop_host;
    }
    int64_t left_ms = mono_ms_between(result->end, asker->next_fetch);
    note_host(asker, result, left_ms > 0 ? left_ms : 0);
    asked->askers = asker->next_asker;
    asker->next_asker = NULL;
}

static void conclude_page(const FetchRules *rules, VisitState *visit_state, FetchResult *result)
{
    PolitenessVerdict verdict = judge(rules, visit_state, result, false);
    result->final = !verdict.retry;
    if (!result->final) {
        return; /* it stays at the head of the window */
    }
    visit_state_take(visit_state);
    if (result->class == FETCH_BROKEN && result->partial_status != 0 && result->body.length > 0 &&
        !verdict.drop_host) {
        /* The last try brought a part of it: that is what there is. */
        result->class = FETCH_OK;
        result->status = result->partial_status;
    }
    if (verdict.drop_host) {
        visit_state->dropped = true;
        result->drop_host = true;
    }
}

VisitState *fetch_step_end(const FetchRules *rules, VisitState *visit_state, FetchResult *result)
{
    VisitState *asker = result->kind == FETCHED_ROBOTS ? visit_state->askers : NULL;
    if (asker != NULL) {
        conclude_errand(rules, visit_state, asker, result);
    } else if (result->kind == FETCHED_ROBOTS) {
        conclude_robots(rules, visit_state, result);
    } else {
        conclude_page(rules, visit_state, result);
    }
    return asker;
}

/* ---- the start of a fetch ------------------------------------------------------------------ */

/* Without memory for them the page is fetched unconditionally. */
static void set_conditions(const VisitState *visit_state, const WindowUrl *url, FetchResult *result)
{
    if (url->validators == 0) {
        return;
    }
    const char *etag = visit_state->window_bytes + url->validators;
    const char *date = etag + strlen(etag) + 1;
    result->etag = *etag == '\0' ? NULL : strdup(etag);
    result->last_modified = *date == '\0' ? NULL : strdup(date);
}

static FetchResult *new_result(const FetchRules *rules, const VisitState *visit_state,
                               FetchKind kind, const WindowUrl *url, const FetchNow *now)
{
    FetchResult *result = fetch_result_new(kind);
    if (result == NULL) {
        return NULL;
    }
    result->host = visit_state->host;
    result->address = visit_state->address;
    result->worker = rules->worker;
    result->robots_version = visit_state->robots_version;
    result->wall_start = now->wall;
    result->start = now->mono;
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
        result->again = url->again;
        result->url = strndup(visit_state_url(visit_state, url), url->length);
        if (result->url == NULL) {
            fetch_result_delete(result);
            return NULL;
        }
        set_conditions(visit_state, url, result);
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
static int refuse_url(const FetchRules *rules, const VisitState *visit_state, const WindowUrl *url,
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
    const Filter *filter = rules->filter == NULL ? NULL : shared_get(rules->filter);
    const TrapSet *traps = rules->traps == NULL ? NULL : shared_get(rules->traps);
    if ((filter == NULL && traps == NULL) ||
        url_parse(rules->url, NULL, text, url->length) != RESULT_OK) {
        return 0;
    }
    FilterInput input = {.url = rules->url, .has_depth = true, .depth = url->depth};
    if (filter != NULL && !filter_matches(filter, &input, rules->filter_scratch)) {
        *rule = "filter.fetch";
        return STATUS_BLOCKED;
    }
    bool wanted = url->hop == 'M' || url->again; /* seeds, and what is known to bring something */
    if (!wanted && trap_set_has(traps, rules->url, rules->text)) {
        *rule = "limits.trap_yield";
        return STATUS_TRAP;
    }
    return 0;
}

/* Takes refused URLs out of the window; RESULT_NOT_FOUND when none is left. */
static Result skip_refused(const FetchRules *rules, VisitState *visit_state, const FetchNow *now,
                           const FetchRefused *refused)
{
    const WindowUrl *url = NULL;
    while ((url = visit_state_peek(visit_state)) != NULL) {
        const char *rule = NULL;
        int status = refuse_url(rules, visit_state, url, &rule);
        if (status == 0) {
            return RESULT_OK;
        }
        FetchResult *result = new_result(rules, visit_state, FETCHED_NOTHING, url, now);
        if (result == NULL) {
            return RESULT_MEMORY; /* it stays in the window: tried again later */
        }
        result->status = status;
        result->final = true;
        result->health = visit_state->health;
        result->refusal = rule == NULL ? NULL : strdup(rule);
        visit_state_take(visit_state);
        refused->take(refused->context, result);
    }
    return RESULT_NOT_FOUND;
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

FetchResult *fetch_step_begin(const FetchRules *rules, VisitState *visit_state, const FetchNow *now,
                              const FetchRefused *refused)
{
    const VisitState *asker = visit_state->askers;
    bool robots = asker != NULL || needs_robots(visit_state, now->mono);
    Result rc = robots ? RESULT_OK : skip_refused(rules, visit_state, now, refused);
    if (rc == RESULT_NOT_FOUND) {
        return NULL;
    }
    const WindowUrl *url = robots ? NULL : visit_state_peek(visit_state);
    FetchResult *result =
        rc != RESULT_OK
            ? NULL
            : new_result(rules, visit_state, robots ? FETCHED_ROBOTS : FETCHED_PAGE, url, now);
    if (result != NULL && robots) {
        result->url = robots_url(asker == NULL ? visit_state : asker);
        result->host = asker == NULL ? visit_state->host : asker->host;
        result->hop = 'P';
    }
    if (result == NULL || result->url == NULL) {
        fetch_result_delete(result);
        visit_state->next_fetch = mono_add_ms(now->mono, FETCH_STEP_PAUSE_MS);
        return NULL;
    }
    return result;
}
