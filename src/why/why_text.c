#include "why/why_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frontier/visit/host_situation.h"
#include "render/page_verdict.h"
#include "render/rendering.h"
#include "report/write/report_words.h"

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

/* 0: never. */
static ReportValue why_time(double seconds)
{
    return REPORT_TIME(((WallTime){seconds > 0 ? (int64_t)(seconds * 1e6) : 0}));
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

/* Whether it was refused for what there was besides it, which no rule says by itself. */
static bool rests_on_others(const char *rule)
{
    static const Refusal all[] = {REFUSED_MANY, REFUSED_DOMAIN, REFUSED_ADDRESS, REFUSED_FEEDS,
                                  REFUSED_ELSEWHERE};
    for (size_t i = 0; rule != NULL && i < sizeof all / sizeof *all; i++) {
        if (strcmp(rule, refusal_name(all[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Why it was refused: the rule that the log names, or that says so now. */
static void put_refusal(const Why *why, Buffer *out)
{
    const WhyAttempt *last = last_attempt(why);
    const WhyJudgement *refusal = why_refusal(&why->judged);
    int status = refusal != NULL ? refusal->status : why->trail.skipped_status;
    if (why->is_known && why->page.status < 0) {
        status = why->page.status;
    }
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
    if (refusal == NULL && why->judged.n > 0 && !rests_on_others(why->trail.skipped_rule)) {
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

/* What became of it in a browser. */
static void put_rendered(const RenderJob *job, Buffer *out)
{
    if (job->weight == RENDER_WEIGHT_LEARNED) {
        (void)buffer_append_string(out, " Pages like it have shown more in a browser.");
    } else if (job->weight < RENDER_WEIGHT_ALWAYS && job->signs != 0) {
        (void)buffer_append_string(out, " It looks as if it needed a browser: ");
        (void)page_verdict_tell(job->signs, out);
        (void)buffer_append_char(out, '.');
    }
    switch ((RenderJobState)job->state) {
    case RENDER_JOB_WAITING:
        (void)buffer_append_string(out, " It waits for a browser.");
        break;
    case RENDER_JOB_ASKED:
    case RENDER_JOB_LACKING:
        (void)buffer_printf(out, " After %u renderings it waits for %u URLs that it lacks.",
                            job->rounds, job->n_requisites);
        break;
    case RENDER_JOB_DONE:
        (void)buffer_printf(out,
                            " A browser has rendered it in %u rounds, which brought %u links; %u "
                            "requests were not answered, %u refused.",
                            job->rounds, job->links, job->lacking, job->refused);
        break;
    case RENDER_JOB_PASSED:
        (void)buffer_append_string(out, " Pages like it brought nothing, so it was not rendered.");
        break;
    case RENDER_JOB_FAILED:
    case RENDER_JOB_STATES:
    case RENDER_JOB_ROOM:
        (void)buffer_printf(out, " A browser could not render it: %s.",
                            render_end_name((RenderEnd)(job->end % RENDER_ENDS)));
        break;
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
    if (why->is_rendered) {
        put_rendered(&why->render, out);
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

/* Appends one sentence: the state and its reason. now: for "in 5 s". Errors of the buffer. */
static Result why_sentence(const Why *why, WallTime now, Buffer *out)
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
    return out->failed;
}

/* ---- all of it ---- */

static void why_tell_page(const Why *why, ReportWriter *to)
{
    static const ReportColumn columns[] = {{"url", "page", false, true},
                                           {"hop", NULL, false, false},
                                           {NULL, "how it was found", false, false}};
    const PageRef *page = &why->page;
    report_section(to, "How it was found",
                   why->path_is_cut ? "The first steps are left out." : NULL);
    report_list(to, "path", columns, 3);
    for (size_t i = 0; i < why->n_path; i++) {
        char hop[2] = {why->path[i].hop == '\0' ? '-' : why->path[i].hop, '\0'};
        const ReportValue values[] = {REPORT_TEXT(why->path[i].url), REPORT_TEXT(hop),
                                      REPORT_TEXT(hop_words(why->path[i].hop))};
        report_row(to, values);
    }
    report_list_end(to);
    report_object(to, "page");
    report_fact(to, "index", NULL, REPORT_COUNT(page->index));
    report_fact(to, "status", NULL, REPORT_INTEGER(page->status));
    report_fact(to, "depth", "depth", REPORT_COUNT(page->depth));
    report_fact(to, "score", "score", REPORT_REAL((double)page->score, 6));
    report_fact(to, "tries", NULL, REPORT_COUNT(page->tries));
    report_fact(to, "crawls", "fetched, times", REPORT_COUNT(page->n_crawls));
    report_fact(to, "changes", "changed, times", REPORT_COUNT(page->n_changes));
    report_fact(to, "first_crawl", "first", why_time(page->first_crawl));
    report_fact(to, "last_crawl", "last", why_time(page->last_crawl));
    report_object_end(to);
    if (why->is_queued) {
        report_object(to, "queue");
        report_fact(to, "level", NULL, REPORT_COUNT(page->level));
        report_fact(to, "ahead", NULL, REPORT_COUNT(why->ahead));
        report_fact(to, "ahead_is_more", NULL, REPORT_FLAG(why->ahead_is_more));
        report_fact(to, "earliest", NULL, why_time((double)why->earliest_ms / 1e3));
        report_object_end(to);
    }
    if (why->is_revisited) {
        bool met = why->revisit_s >= REVISIT_VIRTUAL_MAX;
        report_object(to, "revisit");
        report_fact(to, "at", NULL, why_time(met ? why->revisit_s : 0));
        report_fact(to, "interval_s", NULL, REPORT_REAL(why->revisit_interval_s, 3));
        report_object_end(to);
    }
    if (why->is_rendered) {
        const RenderJob *job = &why->render;
        report_object(to, "render");
        report_fact(to, "state", NULL,
                    REPORT_TEXT(render_job_state_name((RenderJobState)job->state)));
        report_fact(to, "end", NULL,
                    REPORT_TEXT(render_end_name((RenderEnd)(job->end % RENDER_ENDS))));
        report_fact(to, "rounds", NULL, REPORT_COUNT(job->rounds));
        report_fact(to, "links", NULL, REPORT_COUNT(job->links));
        report_fact(to, "requests", NULL, REPORT_COUNT(job->requests));
        report_fact(to, "lacking", NULL, REPORT_COUNT(job->lacking));
        report_fact(to, "refused", NULL, REPORT_COUNT(job->refused));
        report_fact(to, "cpu_ms", NULL, REPORT_COUNT(job->cpu_ms));
        report_object_end(to);
    }
}

static void why_tell_host(const Why *why, WallTime now, ReportWriter *to)
{
    static const char *const states[] = {"active", "dropped", "full", "denied", "parked"};
    const HostRecord *host = &why->host;
    bool waits = host->not_before_ms > now.us / 1000;
    Buffer words = {.limit = BUFFER_NO_LIMIT};
    report_section(to, "Its host", why->origin);
    report_object(to, "host");
    report_fact(to, "origin", NULL, REPORT_TEXT(why->origin));
    put_situation(why, now, &words);
    report_fact(to, NULL, "state", REPORT_TEXT(buffer_string(&words)));
    report_fact(
        to, "state", NULL,
        REPORT_TEXT(host->state < sizeof states / sizeof *states ? states[host->state] : "?"));
    report_fact(to, "dropped_for", NULL,
                REPORT_TEXT(host->state == HOST_DROPPED
                                ? fetch_class_name((FetchClass)host->drop_class)
                                : NULL));
    report_fact(to, "queued", "queued", REPORT_COUNT(why->host_queued));
    report_fact(to, "requests", "requests", REPORT_COUNT(host->fetches));
    report_fact(to, "pages", "pages", REPORT_COUNT(host->pages));
    report_fact(to, "failed", "failed", REPORT_COUNT(host->by_status[0]));
    report_fact(to, "failures_in_a_row", NULL, REPORT_COUNT(host->failures));
    report_fact(
        to, "last_failure", NULL,
        REPORT_TEXT(host->failures > 0 ? fetch_class_name((FetchClass)host->last_failure) : NULL));
    if (why->host_delay_ms >= 0) {
        report_fact(to, "delay_ms", "delay", REPORT_MS(why->host_delay_ms));
        report_fact(to, "address_delay_ms", "of its address", REPORT_MS(why->ip_delay_ms));
        report_fact(to, "bound_by", "bound by", REPORT_TEXT(why->bound_by));
    }
    report_fact(to, "crawl_delay_ms", "Crawl-delay",
                host->crawl_delay_ms > 0 ? REPORT_MS(host->crawl_delay_ms) : REPORT_NONE);
    report_fact(to, "opens_at", why->opens_ms > 0 ? "its hours begin at" : NULL,
                why->opens_ms > 0 ? why_time((double)why->opens_ms / 1e3) : REPORT_NONE);
    report_fact(to, "waits_until", "waits until",
                waits ? why_time((double)host->not_before_ms / 1e3) : REPORT_NONE);
    if (why->trail.host.start.us > 0) {
        bool is_robots = why->trail.host_is_robots;
        report_fact(to, is_robots ? "robots_failure" : "name_failure",
                    is_robots ? "robots.txt:" : "its name:", REPORT_STATUS(why->trail.host.status));
        report_fact(to, "failed_at", "at", REPORT_TIME(why->trail.host.start));
    }
    bool asked = host->robots_status != 0;
    report_fact(to, "robots_status", asked ? "robots.txt" : NULL,
                REPORT_STATUS(host->robots_status));
    report_fact(to, "robots_version", asked ? "its version" : NULL,
                REPORT_COUNT(host->robots_version));
    report_fact(to, "robots_expires", asked ? "asked again at" : NULL,
                why_time((double)host->robots_expiry_ms / 1e3));
    report_object_end(to);
    buffer_destroy(&words);
}

static void why_tell_trail(const WhyTrail *trail, ReportWriter *to)
{
    static const ReportColumn columns[] = {
        {"time", "time", false, false},
        {"status", "status", false, false},
        {"bytes", "bytes", true, false},
        {"ms", "took", true, false},
        {"error", "error", false, false},
        {"retry", "failures in a row", true, false},
        {"rule", "rule", false, false},
        {"robots_version", NULL, true, false},
        {"truncated", "cut off", false, false},
        {"host_dropped", "gave up its host", false, false},
        {"duplicate_of", "same body as", false, true},
        {"near", "nearly the same text as", false, true},
    };
    report_fact(to, "attempts_all", NULL, REPORT_COUNT(trail->n_all));
    if (trail->n > 0) {
        report_section(to, "What crawl.log says of it",
                       trail->n_all > trail->n ? "The latest attempts." : NULL);
    }
    report_list(to, "attempts", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < trail->n; i++) {
        const WhyAttempt *attempt = &trail->attempts[i];
        bool asked = attempt->bytes >= 0;
        const ReportValue values[] = {
            REPORT_TIME(attempt->start),
            REPORT_STATUS(attempt->status),
            asked ? REPORT_BYTES(attempt->bytes) : REPORT_NONE,
            asked ? REPORT_MS(attempt->duration_ms) : REPORT_NONE,
            REPORT_TEXT(attempt->error),
            attempt->retry >= 0 ? REPORT_INTEGER(attempt->retry) : REPORT_NONE,
            REPORT_TEXT(attempt->rule),
            attempt->robots >= 0 ? REPORT_INTEGER(attempt->robots) : REPORT_NONE,
            REPORT_FLAG(attempt->truncated),
            REPORT_FLAG(attempt->dropped_host),
            REPORT_TEXT(attempt->duplicate_of),
            REPORT_TEXT(attempt->near),
        };
        report_row(to, values);
    }
    report_list_end(to);
    if (trail->is_skipped) {
        report_section(to, "skipped.log says", NULL);
        report_object(to, "skipped");
        report_fact(to, "status", "status", REPORT_INTEGER(trail->skipped_status));
        report_fact(to, "rule", "rule", REPORT_TEXT(trail->skipped_rule));
        report_fact(to, "on", "found on", REPORT_TEXT(trail->skipped_on));
        report_object_end(to);
    }
    report_fact(to, "logs_read_in_part", NULL, REPORT_FLAG(trail->is_partial));
}

static void why_tell_judgements(const WhyJudgements *judged, ReportWriter *to)
{
    static const ReportColumn columns[] = {{NULL, "verdict", false, false},
                                           {"by", "by", false, false},
                                           {"passes", NULL, false, false},
                                           {"status", NULL, true, false},
                                           {"words", "words", false, false}};
    if (judged->n > 0) {
        report_section(to, "What the rules say now", NULL);
    }
    report_list(to, "judged_now", columns, 5);
    for (size_t i = 0; i < judged->n; i++) {
        const WhyJudgement *judgement = &judged->all[i];
        const ReportValue values[] = {REPORT_TEXT(judgement->passes ? "passes" : "REFUSES"),
                                      REPORT_TEXT(judgement->by), REPORT_FLAG(judgement->passes),
                                      REPORT_INTEGER(judgement->status),
                                      REPORT_TEXT(judgement->words)};
        report_row(to, values);
    }
    report_list_end(to);
}

void why_tell(const Why *why, WallTime now, ReportWriter *to)
{
    Buffer sentence = {.limit = BUFFER_NO_LIMIT};
    (void)why_sentence(why, now, &sentence);
    report_note(to, NULL, "%s: %s", why->url, why_state_name(why->state));
    report_fact(to, "url", NULL, REPORT_TEXT(why->url));
    report_fact(to, "asked", "stands for", REPORT_TEXT(why->asked));
    report_fact(to, "state", NULL, REPORT_TEXT(why_state_name(why->state)));
    report_note(to, "sentence", "%s", buffer_string(&sentence));
    report_fact(to, "known", NULL, REPORT_FLAG(why->is_known));
    report_fact(to, "running", NULL, REPORT_FLAG(why->is_running));
    if (why->is_known) {
        why_tell_page(why, to);
    }
    why_tell_trail(&why->trail, to);
    if (why->has_host) {
        why_tell_host(why, now, to);
    }
    why_tell_judgements(&why->judged, to);
    if (why->is_stored) {
        report_section(to, "Stored", NULL);
        report_object(to, "stored");
        report_fact(to, "file", "in", REPORT_TEXT(why->file));
        report_fact(to, "offset", "at offset", REPORT_COUNT(why->offset));
        report_fact(to, "length", "bytes", REPORT_COUNT(why->length));
        report_object_end(to);
    }
    if (why->trail.is_partial) {
        report_note(to, NULL, "\nThe logs were not read whole.");
    }
    buffer_destroy(&sentence);
}

Result why_write(const Why *why, WallTime now, ReportForm form, Buffer *out)
{
    ReportWriter *writer = NULL;
    Result rc = report_writer_new(&writer, form, WHY_LABELS, out);
    if (rc != RESULT_OK) {
        return rc;
    }
    why_tell(why, now, writer);
    return report_writer_end(writer);
}
