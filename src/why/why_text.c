#include "why/why_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/transfer/fetch_result.h"
#include "frontier/visit/host_situation.h"
#include "report/tell/report_words.h"

/* ---- Why text ---- */

/* ---- pieces ---- */

static void why_text_put_time(Buffer *out, int64_t ms)
{
    char text[WORDS_BYTES];
    (void)buffer_printf(out, "%s UTC", words_time((WallTime){ms * 1000}, text));
}

/* "at 2026-01-31 12:00:00 UTC (in 5 s)" */
static void put_when(Buffer *out, int64_t ms, WallTime now)
{
    char text[WORDS_BYTES];
    int64_t left = ms - now.us / 1000;
    why_text_put_time(out, ms);
    if (left > 0) {
        (void)buffer_printf(out, " (in %s)", words_ms((double)left, text));
    }
}

/* "404 (not found)" */
static void put_status(Buffer *out, int status)
{
    const char *words = words_status(status);
    (void)buffer_printf(out, words == NULL ? "%d%s" : "%d (%s)", status,
                        words == NULL ? "" : words);
}

static const char *hop_words(char hop)
{
    switch (hop) {
    case 'M':
        return "a seed";
    case 'R':
        return "by a redirect";
    case 'E':
        return "embedded";
    case 'S':
        return "in a sitemap or feed";
    default:
        return "by a link";
    }
}

static const WhyAttempt *last_attempt(const Why *why)
{
    return why->trail.n == 0 ? NULL : &why->trail.attempts[why->trail.n - 1];
}

/* ---- one sentence ---- */

/* Why it was refused: the rule that the log names, or that says so now. */
static void put_refusal(const Why *why, Buffer *out)
{
    const WhyAttempt *last = last_attempt(why);
    const WhyJudgement *refusal = why_refusal(&why->judged);
    int status = why->is_known && why->page.status < 0 ? why->page.status
                 : refusal != NULL                     ? refusal->status
                                                       : why->trail.skipped_status;
    (void)buffer_append_string(out, "It is refused");
    if (status != 0) {
        (void)buffer_append_string(out, ": ");
        put_status(out, status);
    }
    if (refusal != NULL && (refusal->status == status || last == NULL || last->rule == NULL)) {
        (void)buffer_printf(out, ", by %s%s%s", refusal->by, refusal->words == NULL ? "" : ": ",
                            refusal->words == NULL ? "" : refusal->words);
    } else if (last != NULL && last->rule != NULL) {
        (void)buffer_printf(out, ", by the rule %s", last->rule);
    } else if (why->trail.is_skipped && why->trail.skipped_rule != NULL) {
        (void)buffer_printf(out, ", as \"%s\" (skipped.log)", why->trail.skipped_rule);
    }
    (void)buffer_append_string(out, ".");
    if (refusal == NULL && why->judged.n > 0) {
        (void)buffer_append_string(out, " The rules as they are now would let it pass.");
    }
}

static void put_unknown(const Why *why, Buffer *out)
{
    const WhyJudgement *refusal = why_refusal(&why->judged);
    (void)buffer_append_string(out, "No link to it was ever kept. ");
    if (refusal != NULL) {
        (void)buffer_printf(out, "If one were found now, it would be refused by %s%s%s.",
                            refusal->by, refusal->words == NULL ? "" : ": ",
                            refusal->words == NULL ? "" : refusal->words);
    } else if (why->judged.n > 0) {
        (void)buffer_append_string(out, "If one were found now, it would be taken.");
    }
}

static void put_queued(const Why *why, WallTime now, Buffer *out)
{
    char text[WORDS_BYTES];
    bool again = why->page.n_crawls > 0;
    (void)buffer_printf(out, "It is queued %s at level %u, with %s%s URL%s of its host before it.",
                        again ? "to be visited again," : "to be fetched,", why->page.level,
                        why->ahead_is_more ? "more than " : "", words_count(why->ahead, text),
                        why->ahead == 1 ? "" : "s");
    if (why->page.tries > 0) {
        (void)buffer_printf(out, " It was tried %u time%s in vain.", why->page.tries,
                            why->page.tries == 1 ? "" : "s");
    }
    if (!why->is_running) {
        (void)buffer_append_string(out,
                                   " The crawl is not running; it goes on when it is started.");
    } else if (why->earliest_ms > now.us / 1000) {
        (void)buffer_append_string(out, " Its turn cannot come before ");
        put_when(out, why->earliest_ms, now);
        (void)buffer_append_string(out, ".");
    }
}

static void put_fetched(const Why *why, WallTime now, Buffer *out)
{
    const WhyAttempt *last = last_attempt(why);
    (void)buffer_append_string(out, "It was fetched at ");
    why_text_put_time(out, (int64_t)(why->page.last_crawl * 1e3));
    (void)buffer_append_string(out, " with status ");
    put_status(out, why->page.status);
    if (why->state == WHY_DUPLICATE && last != NULL) {
        (void)buffer_printf(out, ", and its body is that of %s", last->duplicate_of);
    }
    (void)buffer_append_string(out, ".");
    if (why->is_revisited && why->revisit_s >= REVISIT_VIRTUAL_MAX) {
        (void)buffer_append_string(out, " It is visited again at ");
        put_when(out, (int64_t)(why->revisit_s * 1e3), now);
        (void)buffer_append_string(out, ".");
    }
}

static void put_failed(const Why *why, Buffer *out)
{
    const WhyAttempt *last = last_attempt(why);
    (void)buffer_append_string(out, "It was tried and given up: ");
    put_status(out, why->page.status);
    if (last != NULL && last->error != NULL) {
        (void)buffer_printf(out, ", class %s", last->error);
    }
    if (why->trail.n_all > 0) {
        (void)buffer_printf(out, ", after %" PRIu64 " attempt%s", why->trail.n_all,
                            why->trail.n_all == 1 ? "" : "s");
    }
    (void)buffer_append_string(out, ".");
}

/* "dropped since 2026-01-31T12:00:00.123Z: no-name" */
static void put_situation(const Why *why, WallTime now, Buffer *out)
{
    HostSituation situation = host_situation_of(&why->host, now.us / 1000);
    (void)host_situation_tell(&situation, now.us / 1000, out);
}

Result why_sentence(const Why *why, WallTime now, Buffer *out)
{
    switch (why->state) {
    case WHY_UNKNOWN:
        put_unknown(why, out);
        break;
    case WHY_REFUSED:
        put_refusal(why, out);
        break;
    case WHY_QUEUED:
        put_queued(why, now, out);
        break;
    case WHY_IN_FLIGHT:
        (void)buffer_append_string(out, "It is being fetched right now.");
        break;
    case WHY_FETCHED:
    case WHY_DUPLICATE:
        put_fetched(why, now, out);
        break;
    case WHY_FAILED:
        put_failed(why, out);
        break;
    case WHY_HOST_DROPPED:
        (void)buffer_append_string(out, "It was not fetched: its host is ");
        put_situation(why, now, out);
        (void)buffer_append_string(
            out, why->is_queued ? ". It is kept for when the host comes back." : ".");
        break;
    case WHY_STATES:
        break;
    }
    return buffer_append(out, "", 0);
}

/* ---- paragraphs ---- */

static void why_text_put_path(const Why *why, Buffer *out)
{
    if (!why->is_known) {
        return;
    }
    (void)buffer_append_string(out, "\nHow it was found\n");
    if (why->path_is_cut) {
        (void)buffer_append_string(out, "  ...\n");
    }
    for (size_t i = 0; i < why->n_path; i++) {
        const WhyStep *step = &why->path[i];
        (void)buffer_printf(out, "  %s%s  (%s)\n", i > 0 ? "-> " : "", step->url,
                            hop_words(step->hop));
    }
    (void)buffer_printf(out, "  depth %" PRIu64 ", score %.3g\n", why->page.depth,
                        (double)why->page.score);
}

static void why_text_put_judgements(const Why *why, Buffer *out)
{
    if (why->judged.n > 0) {
        (void)buffer_append_string(out, "\nWhat the rules say now\n");
    }
    for (size_t i = 0; i < why->judged.n; i++) {
        const WhyJudgement *judgement = &why->judged.all[i];
        (void)buffer_printf(out, "  %-7s %-26s %s\n", judgement->passes ? "passes" : "REFUSES",
                            judgement->by, judgement->words == NULL ? "" : judgement->words);
    }
}

static void why_text_put_host(const Why *why, WallTime now, Buffer *out)
{
    const HostRecord *host = &why->host;
    char text[WORDS_BYTES];
    if (!why->has_host) {
        return;
    }
    (void)buffer_printf(out, "\nIts host %s\n", why->origin);
    (void)buffer_printf(out, "  queued          %s URLs\n", words_count(why->host_queued, text));
    (void)buffer_printf(
        out, "  fetched         %" PRIu32 " requests, %" PRIu32 " pages, %" PRIu32 " failed\n",
        host->fetches, host->pages, host->by_status[0]);
    (void)buffer_append_string(out, "  state           ");
    put_situation(why, now, out);
    (void)buffer_append_string(out, "\n");
    if (why->host_delay_ms >= 0) {
        (void)buffer_printf(out, "  delay           %s between two fetches%s",
                            words_ms((double)why->host_delay_ms, text),
                            host->crawl_delay_ms > 0 ? " (Crawl-delay counts)" : "");
        (void)buffer_printf(out, ", %s of its address: bound by %s\n",
                            words_ms((double)why->ip_delay_ms, text), why->bound_by);
    }
    if (why->trail.host.start.us > 0) {
        (void)buffer_printf(
            out, "  last trouble    %s: ", why->trail.host_is_robots ? "robots.txt" : "its name");
        put_status(out, why->trail.host.status);
        (void)buffer_append_string(out, " at ");
        why_text_put_time(out, why->trail.host.start.us / 1000);
        (void)buffer_append_string(out, "\n");
    }
    if (host->robots_status != 0) {
        (void)buffer_append_string(out, "  robots.txt      ");
        put_status(out, host->robots_status);
        (void)buffer_printf(out, ", version %" PRIu32 ", asked for again at ",
                            host->robots_version);
        put_when(out, host->robots_expiry_ms, now);
        (void)buffer_append_string(out, "\n");
    }
}

static void put_attempts(const Why *why, Buffer *out)
{
    const WhyTrail *trail = &why->trail;
    if (trail->n == 0) {
        return;
    }
    (void)buffer_printf(out, "\nWhat crawl.log says of it%s\n",
                        trail->n_all > trail->n ? " (the latest)" : "");
    for (size_t i = 0; i < trail->n; i++) {
        const WhyAttempt *attempt = &trail->attempts[i];
        char text[WORDS_BYTES];
        (void)buffer_append_string(out, "  ");
        why_text_put_time(out, attempt->start.us / 1000);
        (void)buffer_append_string(out, "  ");
        put_status(out, attempt->status);
        if (attempt->bytes >= 0) {
            (void)buffer_printf(out, ", %s", words_bytes((double)attempt->bytes, text));
            (void)buffer_printf(out, ", %s", words_ms((double)attempt->duration_ms, text));
        }
        (void)buffer_printf(out, "%s%s", attempt->error == NULL ? "" : ", error ",
                            attempt->error == NULL ? "" : attempt->error);
        if (attempt->retry >= 0) {
            (void)buffer_printf(out, ", failure %" PRId64 " in a row, tried again", attempt->retry);
        }
        (void)buffer_printf(out, "%s%s", attempt->rule == NULL ? "" : ", rule ",
                            attempt->rule == NULL ? "" : attempt->rule);
        (void)buffer_printf(out, "%s%s", attempt->duplicate_of == NULL ? "" : ", same body as ",
                            attempt->duplicate_of == NULL ? "" : attempt->duplicate_of);
        (void)buffer_printf(out, "%s%s", attempt->near == NULL ? "" : ", nearly the same text as ",
                            attempt->near == NULL ? "" : attempt->near);
        (void)buffer_printf(out, "%s%s\n", attempt->truncated ? ", cut off" : "",
                            attempt->dropped_host ? ", its host was given up" : "");
    }
}

static void put_rest(const Why *why, Buffer *out)
{
    char text[WORDS_BYTES];
    const WhyTrail *trail = &why->trail;
    if (trail->is_skipped) {
        (void)buffer_printf(out, "\nskipped.log says: %d, %s%s%s\n", trail->skipped_status,
                            trail->skipped_rule == NULL ? "-" : trail->skipped_rule,
                            trail->skipped_on == NULL ? "" : ", found on ",
                            trail->skipped_on == NULL ? "" : trail->skipped_on);
    }
    if (why->is_known && why->page.n_crawls > 0) {
        (void)buffer_printf(out, "\nFetched %" PRIu64 " time%s, changed %" PRIu64 " time%s.\n",
                            why->page.n_crawls, why->page.n_crawls == 1 ? "" : "s",
                            why->page.n_changes, why->page.n_changes == 1 ? "" : "s");
    }
    if (why->is_stored) {
        (void)buffer_printf(out, "\nStored in %s at offset %" PRIu64 ", %s.\n", why->file,
                            why->offset, words_bytes((double)why->length, text));
    }
    if (trail->is_partial) {
        (void)buffer_append_string(out, "\nOnly the ends of the logs were read.\n");
    }
}

Result why_text(const Why *why, WallTime now, Buffer *out)
{
    (void)buffer_printf(out, "%s: %s\n", why->url, why_state_name(why->state));
    if (why->asked != NULL) {
        (void)buffer_printf(out, "(it stands for %s, scope.dedup_key)\n", why->asked);
    }
    (void)why_sentence(why, now, out);
    (void)buffer_append_string(out, "\n");
    why_text_put_path(why, out);
    put_attempts(why, out);
    why_text_put_host(why, now, out);
    why_text_put_judgements(why, out);
    put_rest(why, out);
    return buffer_append(out, "", 0);
}

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
