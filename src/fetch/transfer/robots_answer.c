#include "fetch/transfer/robots_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "parse/host/authority.h"

#define ROBOTS_LEAST_EXPIRY_MS INT64_C(60000)

static int64_t lifetime(const HttpHeader *header, int64_t expiry_ms)
{
    HttpCacheControl control = HTTP_CACHE_CONTROL_NONE;
    HttpField field;
    size_t position = 0;
    while (http_header_next_named(header, "Cache-Control", &position, &field)) {
        http_header_cache_control(field.value, field.value_length, &control);
    }
    if (control.max_age_s >= 0 && control.max_age_s * 1000 < expiry_ms) {
        expiry_ms = control.max_age_s * 1000;
    }
    return expiry_ms < ROBOTS_LEAST_EXPIRY_MS ? ROBOTS_LEAST_EXPIRY_MS : expiry_ms;
}

static void robots_answer_install(VisitState *visit_state, FetchResult *result, Robots *robots,
                                  const HttpHeader *header, int64_t expiry_ms)
{
    robots_delete(visit_state->robots.rules);
    visit_state->robots.rules = robots;
    visit_state->robots.allowance = ROBOTS_NEW_ALLOWANCE;
    visit_state->robots.is_costly = false;
    visit_state->robots.state = ROBOTS_KNOWN;
    if (robots_bytes(robots) > VISIT_STATE_LARGE) {
        atomic_store(&visit_state->signals.wanted,
                     true); /* the distributor must know of its memory */
    }
    /* A new content is a new version; the same again is not. No file is the same as an empty one.
     */
    bool has_body = result->answer.status < 300;
    size_t length = 0;
    const char *text = fetch_result_text(result, &length);
    uint64_t hash = robots_content_hash(text, has_body ? length : 0);
    if (visit_state->robots.version == 0 || visit_state->robots.hash != hash) {
        visit_state->robots.version++;
        visit_state->robots.hash = hash;
    }
    visit_state->robots.redirects = 0;
    visit_state->robots.expiry = mono_add_ms(result->cost.end, lifetime(header, expiry_ms));
}

typedef struct Redirect {
    char *target;   /* owned; NULL: there is none that can be followed */
    bool elsewhere; /* on another host */
    uint16_t port;  /* of the target */
} Redirect;

static Redirect redirect_of(const VisitState *visit_state, const FetchResult *result,
                            const HttpHeader *header)
{
    Redirect redirect = {.port = 80};
    HttpField field;
    Url base = {.href = NULL};
    Url target = {.href = NULL};
    if (http_header_find(header, "Location", &field) &&
        url_parse(&base, NULL, result->request.url, strlen(result->request.url)) == RESULT_OK &&
        url_parse(&target, &base, field.value, field.value_length) == RESULT_OK) {
        size_t length = target.host_end - target.host_start;
        redirect.elsewhere =
            strlen(visit_state->identity.hostname) != length ||
            memcmp(visit_state->identity.hostname, target.href + target.host_start, length) != 0;
        redirect.port = target.port;
        target.length = (uint32_t)authority_strip(target.href, target.length);
        redirect.target = strndup(target.href, target.length);
    }
    url_destroy(&base);
    url_destroy(&target);
    return redirect;
}

static bool robots_answer_is_text(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)bytes[i] < '\t') {
            return false;
        }
    }
    return true;
}

/* Undoes the content coding; false: it cannot be undone. */
static bool robots_answer_decode(FetchResult *result, const HttpHeader *header,
                                 const RobotsReading *reading)
{
    FetchAnswer *answer = &result->answer;
    Buffer scratch = {.limit = 1024};
    HttpField coding;
    bool is_good = true;
    if (http_header_codings(header, &scratch, &coding) && coding.value_length > 0 &&
        answer->body.length > 0) {
        DecodeStatus status = DECODE_BROKEN;
        answer->decoded.limit = ROBOTS_MAX_BYTES;
        if (reading->decoder != NULL) {
            status = decode_content(reading->decoder, coding.value, coding.value_length,
                                    answer->body.data, answer->body.length, &answer->decoded,
                                    reading->max_ratio);
        }
        bool was_cut = status == DECODE_TRUNCATED && answer->truncated == TRUNCATED_LENGTH;
        is_good = (status == DECODE_OK || status == DECODE_LIMIT || was_cut) &&
                  robots_answer_is_text(answer->decoded.data, answer->decoded.length);
        answer->is_decoded = is_good;
        if (!is_good) {
            LOG_INFO("robots", "content coding cannot be undone", "url=%s coding=\"%.*s\" why=%s",
                     result->request.url, (int)coding.value_length, coding.value,
                     status == DECODE_OK ? "no text" : decode_status_name(status));
            buffer_destroy(&answer->decoded);
        }
    }
    buffer_destroy(&scratch);
    return is_good;
}

static RobotsNext redirected(VisitState *visit_state, FetchResult *result, const HttpHeader *header,
                             const RobotsReading *reading)
{
    Redirect redirect = redirect_of(visit_state, result, header);
    if (redirect.target != NULL && !port_set_has(reading->ports, redirect.port)) {
        free(redirect.target);
        result->answer.class = FETCH_BAD_PORT;
        return ROBOTS_TRY_AGAIN;
    }
    if (redirect.target != NULL && visit_state->robots.redirects < ROBOTS_REDIRECTS_MAX) {
        visit_state->robots.redirects++;
        visit_state->robots.target = redirect.target;
        visit_state->robots.elsewhere = redirect.elsewhere;
        return ROBOTS_FOLLOW;
    }
    free(redirect.target); /* too many, or to nowhere */
    return ROBOTS_DONE;
}

/* Which files are asked for behind robots.txt: a licence on a port that is not connected to cannot
 * be had. */
static unsigned robots_answer_files(const VisitState *visit_state, const RobotsReading *reading)
{
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    Url url = {.href = NULL};
    unsigned files = reading->asks_tdm ? 1u << USAGE_IN_TDM : 0;
    for (UsagePlace place = USAGE_IN_LICENCE; place < USAGE_PLACES; place++) {
        buffer_reset(&text);
        if (robots_licence_url(visit_state->robots.rules, place, visit_state->identity.origin,
                               &text) == RESULT_OK &&
            url_parse(&url, NULL, text.data, text.length) == RESULT_OK &&
            port_set_has(reading->ports, url.port)) {
            files |= 1u << place;
        }
    }
    url_destroy(&url);
    buffer_destroy(&text);
    return files;
}

/* What a file says that was had. */
static void robots_answer_add(VisitState *visit_state, const FetchResult *result,
                              const RobotsReading *reading)
{
    size_t length = 0;
    const char *text = fetch_result_text(result, &length);
    Robots *rules = visit_state->robots.rules;
    RslReader reader = {.origin = visit_state->identity.origin, .user = reading->licence_user};
    Result rc = result->request.file == USAGE_IN_TDM
                    ? robots_add_tdm(rules, text, length)
                    : robots_add_licence(rules, result->request.file, text, length, &reader);
    if (rc != RESULT_OK) {
        LOG_INFO("robots", "a file about usage cannot be read to its end", "url=%s error=\"%s\"",
                 result->request.url, result_name(rc));
    }
}

/* The answer to the request for such a file. The rules of robots.txt hold whatever it is. Failures
 * and redirects are counted together. */
static RobotsNext usage_answer(VisitState *visit_state, FetchResult *result,
                               const RobotsReading *reading)
{
    HttpHeader header;
    VisitRobots *robots = &visit_state->robots;
    int status = result->answer.status;
    bool has_header = http_header_parse(&header, result->answer.header.data,
                                        result->answer.header.length) == RESULT_OK;
    if ((status < 200 || status >= 500 || status == 429) &&
        ++robots->redirects < ROBOTS_USAGE_TRIES) {
        return ROBOTS_DONE;
    }
    if (status >= 300 && status < 400 && has_header) {
        free(robots->target);
        robots->target = NULL;
        if (redirected(visit_state, result, &header, reading) == ROBOTS_FOLLOW) {
            return ROBOTS_FOLLOW;
        }
        result->answer.class =
            FETCH_OK; /* to a port that is not asked: there is no file, no more */
    }
    if (status >= 200 && status < 300 && has_header && robots->rules != NULL &&
        robots_answer_decode(result, &header, reading)) {
        robots_answer_add(visit_state, result, reading);
    }
    visit_state_end_file(visit_state);
    return ROBOTS_DONE;
}

RobotsNext robots_answer(VisitState *visit_state, FetchResult *result, const RobotsReading *reading)
{
    HttpHeader header;
    Robots *robots = NULL;
    Result rc = RESULT_OK;
    if (visit_state->robots.files != 0) {
        return usage_answer(visit_state, result, reading);
    }
    free(visit_state->robots.target);
    visit_state->robots.target = NULL;
    visit_state->robots.elsewhere = false;
    if (result->answer.status < 200 ||
        http_header_parse(&header, result->answer.header.data, result->answer.header.length) !=
            RESULT_OK) {
        return ROBOTS_TRY_AGAIN;
    }
    if (result->answer.status < 300 && robots_answer_decode(result, &header, reading)) {
        size_t length = 0;
        const char *text = fetch_result_text(result, &length);
        rc = robots_parse(text, length, reading->agent, &robots);
        if (rc == RESULT_OK) {
            fetch_result_note_sitemaps(result, robots);
        }
    } else if (result->answer.status < 300) {
        result->answer.class = FETCH_ROBOTS_ERROR;
        return ROBOTS_TRY_AGAIN;
    } else if (result->answer.status < 400) {
        RobotsNext next = redirected(visit_state, result, &header, reading);
        if (next != ROBOTS_DONE) {
            return next;
        }
        rc = robots_allow_all(&robots); /* as if there were none */
    } else if (result->answer.status < 500 && result->answer.status != 429) {
        rc = robots_allow_all(&robots);
    } else {
        result->answer.class = result->answer.class == FETCH_BUSY ? FETCH_BUSY : FETCH_ROBOTS_ERROR;
        return ROBOTS_TRY_AGAIN;
    }
    if (rc != RESULT_OK) {
        LOG_WARN("robots", "rules cannot be kept", "url=%s error=\"%s\"", result->request.url,
                 result_name(rc));
        result->answer.class = FETCH_ROBOTS_ERROR;
        return ROBOTS_TRY_AGAIN;
    }
    robots_answer_install(visit_state, result, robots, &header, reading->expiry_ms);
    visit_state_ask_files(visit_state, robots_answer_files(visit_state, reading));
    return ROBOTS_DONE;
}

RobotsNext robots_answer_settle(VisitState *visit_state, FetchResult *result,
                                const RobotsReading *reading)
{
    bool had_rules = visit_state->robots.state == ROBOTS_KNOWN;
    RobotsNext next = robots_answer(visit_state, result, reading);
    if (next == ROBOTS_TRY_AGAIN && had_rules) {
        /* Old rules stay in force; asked again when they would have expired anew. */
        visit_state->robots.expiry = mono_add_ms(result->cost.end, reading->expiry_ms / 8);
    } else if (next == ROBOTS_TRY_AGAIN) {
        visit_state->robots.state = ROBOTS_REFUSING;
        visit_state->robots.redirects = 0;
    }
    return next;
}

void robots_answer_keep(VisitState *asker, const FetchResult *result)
{
    const FetchAnswer *from = &result->answer;
    ErrandAnswer *answer = errand_answer_new(from->class);
    if (answer == NULL) {
        return; /* nothing is told, and it is asked for again */
    }
    bool fits =
        buffer_append(&answer->header, from->header.data, from->header.length) == RESULT_OK &&
        buffer_append(&answer->body, from->body.data, from->body.length) == RESULT_OK;
    if (from->status > 0 && fits) {
        answer->status = from->status;
        answer->is_cut = from->truncated == TRUNCATED_LENGTH;
    } else {
        buffer_destroy(&answer->header);
        buffer_destroy(&answer->body);
        answer->class = answer->class == FETCH_OK ? FETCH_ROBOTS_ERROR : answer->class;
    }
    errand_answer_delete(asker->errands.answer);
    asker->errands.answer = answer;
}

FetchResult *robots_answer_told(VisitState *visit_state, MonoTime now, WallTime wall)
{
    ErrandAnswer *from = visit_state->errands.answer;
    FetchResult *result = from == NULL ? NULL : fetch_result_new(FETCHED_ROBOTS);
    char *url = result == NULL ? NULL : robots_answer_url(visit_state);
    if (url == NULL) {
        fetch_result_delete(result);
        return NULL;
    }
    FetchAnswer *answer = &result->answer;
    result->request.url = url;
    result->request.hop = 'P';
    result->request.file = visit_state_file(visit_state);
    result->request.by_agent = true;
    result->request.agent = from->agent;
    result->host.id = visit_state->identity.host;
    result->cost.wall_start = wall;
    result->cost.start = result->cost.end = now;
    answer->class = from->class;
    answer->status = from->status > 0 ? from->status : fetch_status_of_class(from->class);
    answer->truncated = from->is_cut ? TRUNCATED_LENGTH : TRUNCATED_NOT;
    answer->header = from->header;
    answer->body = from->body;
    buffer_init(&from->header, 0);
    buffer_init(&from->body, 0);
    errand_answer_delete(from);
    visit_state->errands.answer = NULL;
    return result;
}

char *robots_answer_url(const VisitState *visit_state)
{
    if (visit_state->robots.target != NULL) {
        return strdup(visit_state->robots.target);
    }
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    if (buffer_printf(&url, "%s/robots.txt", visit_state->identity.origin) != RESULT_OK) {
        buffer_destroy(&url);
    }
    return buffer_detach(&url);
}

const char *robots_answer_path(const VisitState *visit_state, const char *url)
{
    const char *slash = strstr(url, "//");
    slash = slash == NULL ? NULL : strchr(slash + 2, '/');
    return slash == NULL ? url + visit_state->identity.origin_length : slash;
}

Usage robots_answer_usage(const VisitState *visit_state, const char *url, size_t length)
{
    const char *path = robots_answer_path(visit_state, url);
    if (visit_state->robots.rules == NULL) {
        return (Usage){0};
    }
    return robots_usage(visit_state->robots.rules, path, length - (size_t)(path - url), NULL);
}

void robots_answer_note_origin(const VisitState *visit_state, FetchResult *result)
{
    const char *origin = visit_state->identity.origin;
    const char *url = result->request.url;
    size_t n = visit_state->identity.origin_length;
    if (url != NULL && (strncmp(url, origin, n) != 0 || strchr("/?#", url[n]) == NULL)) {
        result->request.as_origin = strdup(origin);
    }
}

void robots_answer_tell_costly(VisitState *visit_state, const RobotsVerdict *verdict)
{
    if (!visit_state->robots.is_costly) {
        visit_state->robots.is_costly = true;
        LOG_INFO("robots", "rules are too expensive: URLs that they leave undecided are forbidden",
                 "host=%s line=%u rule=\"%s\" shortened=%zu", visit_state->identity.origin,
                 verdict->line, verdict->rule == NULL ? "" : verdict->rule,
                 robots_n_shortened(visit_state->robots.rules));
    }
}
