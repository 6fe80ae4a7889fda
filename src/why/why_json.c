#include "why/why_text.h"

#include "fetch/transfer/fetch_result.h"

static void why_json_put_time(JsonWriter *json, const char *name, double seconds)
{
    char text[CLOCK_TEXT_BYTES];
    WallTime time = {(int64_t)(seconds * 1e6)};
    json_string(json, name, seconds > 0 ? wall_format_iso(time, text) : NULL);
}

static void why_json_put_path(const Why *why, JsonWriter *json)
{
    json_open(json, "path", '[');
    for (size_t i = 0; i < why->n_path; i++) {
        char hop[2] = {why->path[i].hop == '\0' ? '-' : why->path[i].hop, '\0'};
        json_open(json, NULL, '{');
        json_string(json, "url", why->path[i].url);
        json_string(json, "hop", hop);
        json_close(json);
    }
    json_close(json);
}

static void put_page(const Why *why, JsonWriter *json)
{
    const PageRef *page = &why->page;
    json_open(json, "page", '{');
    json_count(json, "index", page->index);
    json_integer(json, "status", page->status);
    json_count(json, "depth", page->depth);
    json_real(json, "score", (double)page->score, 6);
    json_count(json, "tries", page->tries);
    json_count(json, "crawls", page->n_crawls);
    json_count(json, "changes", page->n_changes);
    why_json_put_time(json, "first_crawl", page->first_crawl);
    why_json_put_time(json, "last_crawl", page->last_crawl);
    json_close(json);
    why_json_put_path(why, json);
    if (why->is_queued) {
        json_open(json, "queue", '{');
        json_count(json, "level", page->level);
        json_count(json, "ahead", why->ahead);
        json_bool(json, "ahead_is_more", why->ahead_is_more);
        why_json_put_time(json, "earliest", (double)why->earliest_ms / 1e3);
        json_close(json);
    }
    if (why->is_revisited) {
        bool met = why->revisit_s >= REVISIT_VIRTUAL_MAX;
        json_open(json, "revisit", '{');
        why_json_put_time(json, "at", met ? why->revisit_s : 0);
        json_real(json, "interval_s", why->revisit_interval_s, 3);
        json_close(json);
    }
}

static void why_json_put_host(const Why *why, WallTime now, JsonWriter *json)
{
    static const char *const states[] = {"active", "dropped", "full", "denied", "parked"};
    const HostRecord *host = &why->host;
    json_open(json, "host", '{');
    json_string(json, "origin", why->origin);
    json_string(json, "state",
                host->state < sizeof states / sizeof *states ? states[host->state] : "?");
    json_string(json, "dropped_for",
                host->state == HOST_DROPPED ? fetch_class_name((FetchClass)host->drop_class)
                                            : NULL);
    json_count(json, "queued", why->host_queued);
    json_count(json, "requests", host->fetches);
    json_count(json, "pages", host->pages);
    json_count(json, "failures_in_a_row", host->failures);
    json_string(json, "last_failure",
                host->failures > 0 ? fetch_class_name((FetchClass)host->last_failure) : NULL);
    if (why->host_delay_ms >= 0) {
        json_integer(json, "delay_ms", why->host_delay_ms);
        json_integer(json, "address_delay_ms", why->ip_delay_ms);
        json_string(json, "bound_by", why->bound_by);
    }
    why_json_put_time(json, "waits_until",
                      host->not_before_ms > now.us / 1000 ? (double)host->not_before_ms / 1e3 : 0);
    json_integer(json, "robots_status", host->robots_status);
    json_count(json, "robots_version", host->robots_version);
    json_close(json);
}

static void put_attempt(const WhyAttempt *attempt, JsonWriter *json)
{
    json_open(json, NULL, '{');
    why_json_put_time(json, "time", (double)attempt->start.us / 1e6);
    json_integer(json, "status", attempt->status);
    if (attempt->bytes >= 0) {
        json_integer(json, "bytes", attempt->bytes);
        json_integer(json, "ms", attempt->duration_ms);
    }
    json_string(json, "error", attempt->error);
    json_string(json, "rule", attempt->rule);
    json_string(json, "duplicate_of", attempt->duplicate_of);
    json_string(json, "near", attempt->near);
    if (attempt->retry >= 0) {
        json_integer(json, "retry", attempt->retry);
    }
    if (attempt->robots >= 0) {
        json_integer(json, "robots_version", attempt->robots);
    }
    json_bool(json, "truncated", attempt->truncated);
    json_bool(json, "host_dropped", attempt->dropped_host);
    json_close(json);
}

static void put_trail(const WhyTrail *trail, JsonWriter *json)
{
    json_count(json, "attempts_all", trail->n_all);
    json_open(json, "attempts", '[');
    for (size_t i = 0; i < trail->n; i++) {
        put_attempt(&trail->attempts[i], json);
    }
    json_close(json);
    if (trail->is_skipped) {
        json_open(json, "skipped", '{');
        json_integer(json, "status", trail->skipped_status);
        json_string(json, "rule", trail->skipped_rule);
        json_string(json, "on", trail->skipped_on);
        json_close(json);
    }
    json_bool(json, "logs_read_in_part", trail->is_partial);
}

static void why_json_put_judgements(const WhyJudgements *judged, JsonWriter *json)
{
    json_open(json, "judged_now", '[');
    for (size_t i = 0; i < judged->n; i++) {
        const WhyJudgement *judgement = &judged->all[i];
        json_open(json, NULL, '{');
        json_string(json, "by", judgement->by);
        json_bool(json, "passes", judgement->passes);
        json_integer(json, "status", judgement->status);
        json_string(json, "words", judgement->words);
        json_close(json);
    }
    json_close(json);
}

void why_json(const Why *why, WallTime now, JsonWriter *json)
{
    Buffer sentence;
    buffer_init(&sentence, BUFFER_NO_LIMIT);
    (void)why_sentence(why, now, &sentence);
    json_open(json, NULL, '{');
    json_string(json, "url", why->url);
    json_string(json, "asked", why->asked);
    json_string(json, "state", why_state_name(why->state));
    json_text(json, "sentence", buffer_string(&sentence), sentence.length);
    json_bool(json, "known", why->is_known);
    json_bool(json, "running", why->is_running);
    if (why->is_known) {
        put_page(why, json);
    }
    if (why->has_host) {
        why_json_put_host(why, now, json);
    }
    put_trail(&why->trail, json);
    why_json_put_judgements(&why->judged, json);
    if (why->is_stored) {
        json_open(json, "stored", '{');
        json_string(json, "file", why->file);
        json_count(json, "offset", why->offset);
        json_count(json, "length", why->length);
        json_close(json);
    }
    json_close(json);
    buffer_destroy(&sentence);
}
