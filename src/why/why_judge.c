#include "why/why_judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/page/ingest_new_url.h"
#include "parse/host/authority.h"
#include "parse/trap/trap.h"
#include "rules/filters.h"
#include "rules/scope/denial_list.h"

typedef struct Judge {
    WhyJudgements *judged;
    const WhyCase *subject;
    Url url;
    Url referrer;
    bool has_referrer;
    bool no_memory;
} Judge;

__attribute__((format(printf, 5, 6))) static void
why_judge_note(Judge *judge, const char *by, bool passes, int status, const char *form, ...)
{
    WhyJudgements *judged = judge->judged;
    va_list arguments;
    char *words = NULL;
    if (judged->n == WHY_JUDGEMENTS) {
        return;
    }
    va_start(arguments, form);
    if (*form != '\0' && vasprintf(&words, form, arguments) < 0) {
        words = NULL;
        judge->no_memory = true;
    }
    va_end(arguments);
    judged->all[judged->n++] =
        (WhyJudgement){.by = by, .passes = passes, .status = passes ? 0 : status, .words = words};
}

/* ---- denials ---- */

static void judge_denials(Judge *judge)
{
    DenialList list = {.n = 0};
    Denials *denials = NULL;
    Buffer error = {.limit = 4096};
    const Url *url = &judge->url;
    Result rc = denial_list_read(&list, judge->subject->directory, &error);
    if (rc == RESULT_OK && list.n > 0) {
        rc = denials_new(&denials, (const char *const *)list.rules, list.n, &error);
    }
    if (denials != NULL) {
        const char *rule = denials_host(denials, url->href + url->host_start,
                                        (size_t)(url->host_end - url->host_start));
        rule = rule != NULL ? rule : denials_url(denials, url->href, url->length);
        why_judge_note(judge, "denied", rule == NULL, STATUS_DENIED, "%s",
                       rule == NULL ? "no rule" : rule);
    } else if (rc != RESULT_OK) {
        why_judge_note(judge, "denied", true, 0, "%s", buffer_string(&error));
    }
    denials_delete(denials);
    denial_list_destroy(&list);
    buffer_destroy(&error);
}

/* ---- scope ---- */

static const ScopeOptions judge_no_scope = {.domains = "",
                                            .exclude_domains = "",
                                            .accept_regex = "",
                                            .reject_regex = "",
                                            .ports = "",
                                            .max_url_length = SIZE_MAX};

/* One option of the scope by itself: which one it is that refuses. */
static void judge_scope_by(Judge *judge, const char *by, const char *value,
                           const ScopeOptions *options)
{
    Scope *scope = NULL;
    Buffer error = {.limit = 4096};
    Result rc = scope_new(&scope, options, &error);
    if (rc == RESULT_OK) {
        const char *url = judge->subject->url;
        Refusal refusal = scope_rule_refusal(scope_rule(scope, url, strlen(url)));
        bool passes = refusal != REFUSED_SCOPE; /* a port is judge_port's */
        why_judge_note(judge, by, passes, passes ? 0 : refusal_status(refusal), "%s", value);
    } else {
        why_judge_note(judge, by, true, 0, "%s", buffer_string(&error));
    }
    scope_delete(scope);
    buffer_destroy(&error);
}

/* text: the place of an option in all. */
static void judge_scope_text(Judge *judge, const char *by, const ScopeOptions *all, size_t text)
{
    ScopeOptions one = judge_no_scope;
    const char *value = NULL;
    memcpy(&value, (const char *)all + text, sizeof value);
    memcpy((char *)&one + text, &value, sizeof value);
    if (*value != '\0') {
        judge_scope_by(judge, by, value, &one);
    }
}

/* Without scope.ports a list that is built in holds, for seeds, too. */
static void judge_port(Judge *judge, const char *list)
{
    PortSet ports;
    Buffer error = {.limit = 4096};
    Result rc = port_set_parse(&ports, list, &error);
    bool passes = rc != RESULT_OK || port_set_has(&ports, judge->url.port);
    if (!passes || *list != '\0') {
        const char *why =
            *list == '\0' ? "the port is another service's, by a list that is built in" : list;
        why_judge_note(judge, "scope.ports", passes, refusal_status(REFUSED_PORT), "%s",
                       rc != RESULT_OK ? buffer_string(&error) : why);
    }
    buffer_destroy(&error);
}

/* The rules that hold for links alone, not for seeds and embeds. */
static void judge_scope_of_pages(Judge *judge, const ScopeOptions *all)
{
    static const char *const words[] = {WORDS_NAMES(STAY_WORDS)};
    judge_scope_text(judge, "scope.domains", all, offsetof(ScopeOptions, domains));
    if (judge->subject->stay != NULL) {
        ScopeOptions one = judge_no_scope;
        one.stay = judge->subject->stay;
        judge_scope_by(judge, "scope.stay", words[judge->subject->config->scope_stay], &one);
    }
    judge_scope_text(judge, "scope.accept_regex", all, offsetof(ScopeOptions, accept_regex));
}

static void judge_scope(Judge *judge)
{
    const WhyCase *subject = judge->subject;
    const ScopeOptions all = config_scope(subject->config);
    size_t length = strlen(subject->url);
    judge_scope_text(judge, "scope.exclude_domains", &all, offsetof(ScopeOptions, exclude_domains));
    judge_scope_text(judge, "scope.reject_regex", &all, offsetof(ScopeOptions, reject_regex));
    judge_port(judge, all.ports);
    if (subject->hop == 'M') {
        return; /* seeds are in scope, unless they are excluded */
    }
    if (subject->hop != 'E') { /* what a page embeds is fetched wherever it lives */
        judge_scope_of_pages(judge, &all);
    }
    why_judge_note(judge, "scope.max_url_length", length <= all.max_url_length,
                   refusal_status(REFUSED_LENGTH), "%zu of %zu bytes", length, all.max_url_length);
}

static void judge_depth(Judge *judge)
{
    const WhyCase *subject = judge->subject;
    if (subject->has_depth) {
        bool too_deep = ingest_is_too_deep(subject->depth, subject->embeds,
                                           (uint64_t)subject->config->scope_depth,
                                           (unsigned)subject->config->scope_embed_hops);
        bool by_embeds = subject->embeds > (uint64_t)subject->config->scope_embed_hops;
        unsigned long long depth = subject->depth - subject->embeds;
        why_judge_note(judge, by_embeds ? "scope.embed_hops" : "scope.depth", !too_deep,
                       STATUS_TOO_DEEP, "%llu of %lld links from a seed",
                       by_embeds ? subject->embeds : depth,
                       by_embeds ? (long long)subject->config->scope_embed_hops
                                 : (long long)subject->config->scope_depth);
    }
    if (subject->redirects > 0) {
        why_judge_note(judge, "fetch.max_redirects",
                       subject->redirects <= (uint64_t)subject->config->fetch_max_redirects,
                       STATUS_REDIRECTS, "%u of %lld redirects in a row", subject->redirects,
                       (long long)subject->config->fetch_max_redirects);
    }
    bool renders = subject->config->render_mode != RENDER_MODE_OFF;
    if (subject->hop == 'E') { /* of a page as it is, or of one that is rendered */
        why_judge_note(judge, renders ? "render.mode" : "scope.embeds",
                       renders || subject->config->scope_embeds, STATUS_BLOCKED, "%s",
                       renders || subject->config->scope_embeds ? "yes" : "no");
    }
}

/* ---- traps and filters ---- */

static void judge_trap(Judge *judge)
{
    const Config *config = judge->subject->config;
    const Url *url = &judge->url;
    const char *path = url->href + url->path_start;
    size_t length = url->query_start - url->path_start;
    if (judge->subject->hop != 'M' && config->limits_repeated_segments > 1) {
        why_judge_note(judge, "limits.repeated_segments",
                       !trap_repeats(path, length, (unsigned)config->limits_repeated_segments),
                       STATUS_TRAP, "%lld times", (long long)config->limits_repeated_segments);
    }
}

static void judge_filter(Judge *judge, const Filters *filters, FilterHook hook, const char *by,
                         const char *text, FilterScratch *scratch)
{
    FilterInput input = {.url = &judge->url,
                         .source = judge->has_referrer ? &judge->referrer : NULL,
                         .has_depth = judge->subject->has_depth,
                         .depth = (unsigned)judge->subject->depth};
    if (*text != '\0' && filters->of[hook] != NULL) {
        why_judge_note(judge, by, filters_pass(filters, hook, &input, scratch), STATUS_BLOCKED,
                       "%s", text);
    }
}

static void judge_filters(Judge *judge)
{
    const Config *config = judge->subject->config;
    Filters filters = {.of = {NULL}};
    FilterScratch *scratch = NULL;
    Buffer error = {.limit = 4096};
    if (*config->filter_schedule == '\0' && *config->filter_fetch == '\0') {
        return;
    }
    if (filters_compile(&filters, config, &error) != RESULT_OK ||
        filter_scratch_new(&scratch) != RESULT_OK) {
        why_judge_note(judge, "filter", true, 0, "%s", buffer_string(&error));
    } else {
        if (judge->subject->hop != 'M') {
            judge_filter(judge, &filters, HOOK_SCHEDULE, "filter.schedule", config->filter_schedule,
                         scratch);
        }
        judge_filter(judge, &filters, HOOK_FETCH, "filter.fetch", config->filter_fetch, scratch);
    }
    filter_scratch_delete(scratch);
    filters_destroy(&filters);
    buffer_destroy(&error);
}

/* ---- robots.txt and the host ---- */

static void judge_robots(Judge *judge)
{
    const WhyCase *subject = judge->subject;
    const Url *url = &judge->url;
    RobotsVerdict verdict = {.allowed = true};
    Robots *robots = NULL;
    if (subject->robots == NULL ||
        robots_parse(subject->robots, subject->robots_length, subject->config->robots_agent,
                     &robots) != RESULT_OK) {
        return;
    }
    bool allowed =
        robots_allows(robots, url->href + url->path_start, url->length - url->path_start, &verdict);
    if (verdict.line > 0) {
        why_judge_note(judge, "robots.txt", allowed, STATUS_ROBOTS, "line %u: %s", verdict.line,
                       verdict.rule);
    } else {
        why_judge_note(judge, "robots.txt", allowed, STATUS_ROBOTS, "no rule");
    }
    robots_delete(robots);
}

void why_values(const Config *config, const char *url, Config *values)
{
    Authority at = authority_of(url, strlen(url));
    char *host = strndup(url + at.host, at.host_end - at.host);
    site_values_of(config, host == NULL ? "" : host, values);
    free(host);
}

static void why_judge_host(Judge *judge)
{
    const HostRecord *host = judge->subject->host;
    Config values;
    if (host == NULL) {
        return;
    }
    why_values(judge->subject->config, judge->subject->url, &values);
    int64_t most = values.limits_pages_per_host;
    if (host->state == HOST_DROPPED || host->state == HOST_PARKED) {
        why_judge_note(judge, "host", false, STATUS_DROPPED, "%s: %s",
                       host->state == HOST_DROPPED ? "given up"
                                                   : "set aside after too many failures",
                       fetch_class_name((FetchClass)host->drop_class));
    } else if (host->state == HOST_DENIED) {
        why_judge_note(judge, "host", false, STATUS_DENIED, "denied by the operator");
    } else if (host->state == HOST_MOVED) {
        why_judge_note(judge, "host", false, STATUS_PENDING,
                       "moved to another agent of the cluster");
    }
    if (most > 0) {
        bool full = host->state == HOST_FULL || host->pages >= (uint64_t)most;
        why_judge_note(judge, "limits.pages_per_host", !full, STATUS_QUOTA, "%u of %lld pages",
                       host->pages, (long long)most);
    }
}

/* One of the limits of many names, as host_groups.c applies it to a new URL. */
static void judge_group(Judge *judge, const char *by, int64_t most, uint64_t count,
                        const char *what)
{
    if (most > 0) {
        why_judge_note(judge, by, count < (uint64_t)most, STATUS_QUOTA, "%llu of %lld %s",
                       (unsigned long long)count, (long long)most, what);
    }
}

static void judge_groups(Judge *judge)
{
    const WhyCase *subject = judge->subject;
    const GroupRecord *domain = subject->domain;
    const GroupRecord *address = subject->address;
    Config values;
    why_values(subject->config, subject->url, &values);
    if (domain != NULL) {
        const HostRecord *host = subject->host;
        if (host == NULL || (host->domain == 0 && host->urls == 0)) {
            judge_group(judge, "limits.hosts_per_domain", values.limits_hosts_per_domain,
                        domain->hosts, "hosts");
        }
        judge_group(judge, "limits.urls_per_domain", values.limits_urls_per_domain, domain->queued,
                    "URLs queued");
        judge_group(judge, "limits.pages_per_domain", values.limits_pages_per_domain, domain->pages,
                    "pages");
    }
    if (address != NULL) {
        judge_group(judge, "limits.urls_per_address", values.limits_urls_per_address,
                    address->queued, "URLs queued");
        judge_group(judge, "limits.pages_per_address", values.limits_pages_per_address,
                    address->pages, "pages");
    }
}

Result why_judge(WhyJudgements *judged, const WhyCase *subject)
{
    Judge judge = {.judged = judged, .subject = subject};
    *judged = (WhyJudgements){.n = 0};
    Result rc = url_parse(&judge.url, NULL, subject->url, strlen(subject->url));
    judge.has_referrer =
        subject->referrer != NULL &&
        url_parse(&judge.referrer, NULL, subject->referrer, strlen(subject->referrer)) == RESULT_OK;
    if (rc == RESULT_OK) {
        judge_denials(&judge);
        judge_scope(&judge);
        judge_depth(&judge);
        judge_trap(&judge);
        judge_filters(&judge);
        why_judge_host(&judge);
        judge_groups(&judge);
        judge_robots(&judge);
    }
    url_destroy(&judge.url);
    url_destroy(&judge.referrer);
    return judge.no_memory ? RESULT_MEMORY : rc;
}

void why_judgements_destroy(WhyJudgements *judged)
{
    for (size_t i = 0; i < judged->n; i++) {
        free(judged->all[i].words);
    }
    judged->n = 0;
}

const WhyJudgement *why_refusal(const WhyJudgements *judged)
{
    for (size_t i = 0; i < judged->n; i++) {
        if (!judged->all[i].passes) {
            return &judged->all[i];
        }
    }
    return NULL;
}
