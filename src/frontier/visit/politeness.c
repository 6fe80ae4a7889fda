#include "frontier/visit/politeness.h"

#include "base/option/options.h"
#include <stdlib.h>
#include <string.h>

#define MINUTE        INT64_C(60000)
#define HOUR          (60 * MINUTE)
#define WAIT_MAX      (INT64_C(100) * 365 * 24 * HOUR)
#define DOUBLINGS_MAX 20u

enum { URL_GOES, HOST_GOES };
enum { HOSTS = 0, URLS = 1, MAYBE_OURS = 2 }; /* looks the same when our own network fails */

#define CLASS_FACTS(constant, name, status, wait, retries, gone, whose, meaning)                   \
    [constant] = {name, {wait, retries, (gone) == HOST_GOES}, whose, meaning},
static const struct {
    const char *name;
    RetryRule rule;
    unsigned whose;
    const char *meaning;
} classes[FETCH_CLASSES] = {FETCH_CLASS_LIST(CLASS_FACTS)};

const char *fetch_class_name(FetchClass class)
{
    return class < FETCH_CLASSES ? classes[class].name : "?";
}

const char *fetch_class_meaning(FetchClass class)
{
    return class < FETCH_CLASSES ? classes[class].meaning : "?";
}

bool fetch_class_may_be_ours(FetchClass class)
{
    return class < FETCH_CLASSES && (classes[class].whose & MAYBE_OURS) != 0;
}

bool fetch_class_is_of_url(FetchClass class)
{
    return class < FETCH_CLASSES && (classes[class].whose & URLS) != 0;
}

/* How many URLs may fail in a row until it is the host. */
static unsigned failures_of_urls(const HostHealth *health)
{
    return POLITENESS_URL_FAILURES << health->checks;
}

bool politeness_blames_urls(const HostHealth *health)
{
    return fetch_class_is_of_url(health->last) && health->failures <= failures_of_urls(health);
}

void politeness_default_rules(RetryRule rules[FETCH_CLASSES])
{
    for (size_t i = 0; i < FETCH_CLASSES; i++) {
        rules[i] = classes[i].rule;
    }
}

/* One item: "CLASS WAIT RETRIES [drop]". */
static Result parse_rule(RetryRule rules[FETCH_CLASSES], char *item, Buffer *error)
{
    char *save = NULL;
    const char *name = strtok_r(item, " \t", &save);
    const char *wait = strtok_r(NULL, " \t", &save);
    const char *retries = strtok_r(NULL, " \t", &save);
    const char *drop = strtok_r(NULL, " \t", &save);
    const char *more = strtok_r(NULL, " \t", &save);
    if (name == NULL) {
        return RESULT_OK;
    }
    size_t class = 1;
    while (class < FETCH_CLASSES && strcmp(classes[class].name, name) != 0) {
        class ++;
    }
    char *end = NULL;
    unsigned long n = retries == NULL ? 0 : strtoul(retries, &end, 10);
    RetryRule rule = {.retries = (unsigned)n, .drops_host = drop != NULL};
    if (class == FETCH_CLASSES) {
        (void)buffer_printf(error, "'%s' is not a class of errors; the classes are:", name);
        for (class = 1; class < FETCH_CLASSES; class ++) {
            (void)buffer_printf(error, " %s", classes[class].name);
        }
        return RESULT_INVALID;
    }
    if (wait == NULL || option_parse_time(wait, &rule.wait_ms) != RESULT_OK || rule.wait_ms < 0 ||
        retries == NULL || *end != '\0' || n > DOUBLINGS_MAX ||
        (drop != NULL && strcmp(drop, "drop") != 0) || more != NULL) {
        (void)buffer_printf(error, "expected '%s WAIT RETRIES [drop]', such as '%s 5m 3 drop'",
                            name, name);
        return RESULT_INVALID;
    }
    rules[class] = rule;
    return RESULT_OK;
}

Result politeness_parse_rules(RetryRule rules[FETCH_CLASSES], const char *text, Buffer *error)
{
    char *copy = strdup(text);
    if (copy == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = RESULT_OK;
    char *next = copy;
    while (next != NULL && rc == RESULT_OK) {
        char *item = next;
        next = strchr(next, ',');
        if (next != NULL) {
            *next++ = '\0';
        }
        rc = parse_rule(rules, item, error);
    }
    free(copy);
    return rc;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t politeness_lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t politeness_host_delay(const PolitenessOptions *options, int64_t host_delay_ms,
                              int64_t crawl_delay_ms, int64_t duration_ms)
{
    int64_t delay = host_delay_ms;
    if (crawl_delay_ms > 0) {
        delay = greater(delay, politeness_lesser(crawl_delay_ms, options->crawl_delay_max_ms));
    }
    if (options->adaptive_factor > 0) {
        double adaptive = options->adaptive_factor * (double)duration_ms;
        delay = greater(delay, adaptive > 1e15 ? INT64_C(1000000000000000) : (int64_t)adaptive);
    }
    return delay;
}

bool politeness_is_good(int status)
{
    return (status >= 200 && status < 400) || status == 404 || status == 410;
}

int64_t politeness_took_ms(MonoTime start, MonoTime end)
{
    return (end.ns + 999999) / 1000000 - start.ns / 1000000;
}

LearnedPace politeness_learn(LearnedPace pace, int64_t host_delay_ms, int64_t least_ms,
                             int64_t took_ms, bool is_good)
{
    int64_t before_ms = pace.usual_ms;
    int64_t delay_ms = pace.delay_ms == 0 ? host_delay_ms : pace.delay_ms;
    took_ms = took_ms < 1 ? 1 : politeness_lesser(took_ms, 24 * HOUR);
    pace.usual_ms = (uint32_t)(before_ms == 0 ? took_ms : (7 * before_ms + took_ms + 7) / 8);
    if (!is_good || (before_ms > 0 && took_ms > 2 * before_ms + POLITENESS_JITTER_MS)) {
        return (LearnedPace){.usual_ms = pace.usual_ms};
    }
    pace.steady++;
    if (pace.steady == POLITENESS_STEADY) {
        pace.steady = 0;
        delay_ms -= delay_ms / 4;
    }
    delay_ms = greater(delay_ms, greater(least_ms, POLITENESS_LOAD * (int64_t)pace.usual_ms));
    pace.delay_ms = delay_ms < host_delay_ms ? delay_ms : 0;
    return pace;
}

const char *politeness_what_binds(int64_t host_delay_ms, int64_t crawl_delay_ms,
                                  int64_t ip_delay_ms)
{
    if (ip_delay_ms > greater(host_delay_ms, crawl_delay_ms)) {
        return "politeness.ip_delay";
    }
    return crawl_delay_ms > host_delay_ms ? "Crawl-delay" : "politeness.host_delay";
}

/* The wait of a rule after that number of failures; bounded, so that no sum with it overflows. */
static int64_t doubled(int64_t wait_ms, unsigned failures)
{
    unsigned doublings = failures < DOUBLINGS_MAX ? failures : DOUBLINGS_MAX;
    return wait_ms > WAIT_MAX >> doublings ? WAIT_MAX : wait_ms << doublings;
}

/* The rest that the table gives for one more failure. The first ones of a URL were its own. */
static int64_t table_rest(const PolitenessOptions *options, FetchClass class,
                          const HostHealth *health)
{
    unsigned failures = health->failures;
    if (fetch_class_is_of_url(class)) {
        unsigned of_urls = failures_of_urls(health);
        failures -= failures < of_urls ? failures : of_urls;
    }
    int64_t rest = doubled(options->rules[class].wait_ms, failures);
    return options->rest_max_ms > 0 ? politeness_lesser(rest, options->rest_max_ms) : rest;
}

/* How long a host asks to be left alone: what Retry-After says, unless it has said so too often. */
static int64_t asked_rest(const PolitenessOptions *options, const FetchEnd *end,
                          const HostHealth *health, int64_t rest)
{
    bool was_obeyed_in_vain = health->failures >= options->rules[FETCH_BUSY].retries;
    return was_obeyed_in_vain ? greater(end->retry_after_ms, rest) : end->retry_after_ms;
}

/* It was not there at all, and so was not too much asked of it. */
static bool was_away(FetchClass last)
{
    return last == FETCH_DNS || last == FETCH_REFUSED || last == FETCH_NO_ROUTE;
}

static PolitenessVerdict judge_success(const PolitenessOptions *options, const FetchEnd *end,
                                       HostHealth *health, unsigned tries)
{
    int64_t delay =
        politeness_host_delay(options, end->host_delay_ms, end->crawl_delay_ms, end->duration_ms);
    bool was_walled = health->last == FETCH_WALL; /* that says nothing of its strength, */
    bool is_back = was_away(health->last);        /* nor does this */
    bool is_well = was_walled || is_back || (end->check && tries == 0);
    health->failures = was_walled ? 0 : health->failures / 2;
    health->rested_ms /= 2;
    health->extra_ms = is_well ? 0 : health->extra_ms / 2;
    if (health->extra_ms <= delay) {
        health->extra_ms = 0;
    }
    health->checks += end->check && health->checks < POLITENESS_CHECKS;
    return (PolitenessVerdict){.host_wait_ms = greater(delay, health->extra_ms),
                               .ip_wait_ms = options->ip_delay_ms};
}

/* Counts a failure; the wait that it costs. */
static int64_t note_failure(const PolitenessOptions *options, const FetchEnd *end,
                            HostHealth *health)
{
    int64_t delay =
        politeness_host_delay(options, end->host_delay_ms, end->crawl_delay_ms, end->duration_ms);
    int64_t rest = table_rest(options, end->class, health);
    bool has_asked = end->class == FETCH_BUSY && end->retry_after_ms > 0;
    int64_t wait = end->class == FETCH_WALL ? greater(end->retry_after_ms, rest) : rest;
    if (has_asked) {
        wait = asked_rest(options, end, health, rest);
    }
    if (end->class != FETCH_HTTP2 && end->class != FETCH_STALE &&
        end->class != FETCH_COOKIE) { /* ours to do otherwise, and at once */
        health->failures++;
        health->last = end->class;
        health->extra_ms = politeness_lesser(wait, rest);
        health->rested_ms = health->rested_ms > WAIT_MAX - politeness_lesser(wait, WAIT_MAX)
                                ? WAIT_MAX
                                : health->rested_ms + politeness_lesser(wait, WAIT_MAX);
    }
    return greater(delay, wait);
}

/* The same again after a moment, and nothing is counted. */
static PolitenessVerdict judge_local(const PolitenessOptions *options, const FetchEnd *end,
                                     unsigned tries)
{
    int64_t delay = politeness_host_delay(options, end->host_delay_ms, end->crawl_delay_ms, 0);
    return (PolitenessVerdict){.host_wait_ms = greater(delay, options->rules[end->class].wait_ms),
                               .ip_wait_ms = options->ip_delay_ms,
                               .tries = tries,
                               .retry = true};
}

static int64_t url_wait(const PolitenessOptions *options, FetchClass class, unsigned tries)
{
    int64_t wait = doubled(options->rules[class].wait_ms, tries);
    return options->rest_max_ms > 0 ? politeness_lesser(wait, options->rest_max_ms) : wait;
}

/* What a URL waits until its last try, behind this number of failures before the last one. */
static int64_t url_left(const PolitenessOptions *options, FetchClass class, unsigned tries)
{
    int64_t left = 0;
    while (!politeness_is_last_try(options, class, tries) && left < WAIT_MAX) {
        left += url_wait(options, class, tries++);
    }
    return left;
}

/* The URL waits, and its host goes on. A URL that has failed before says nothing new of its host.
 */
static PolitenessVerdict judge_url(const PolitenessOptions *options, const FetchEnd *end,
                                   HostHealth *health, unsigned *tries)
{
    int64_t delay =
        politeness_host_delay(options, end->host_delay_ms, end->crawl_delay_ms, end->duration_ms);
    PolitenessVerdict verdict = {.host_wait_ms = greater(delay, health->extra_ms),
                                 .ip_wait_ms = options->ip_delay_ms,
                                 .tries = *tries + 1};
    verdict.retry = !politeness_is_last_try(options, end->class, *tries);
    verdict.drop_url = !verdict.retry;
    if (verdict.retry) {
        verdict.url_wait_ms = url_wait(options, end->class, *tries);
        verdict.url_left_ms = url_left(options, end->class, *tries);
    }
    health->failures += *tries == 0 || health->failures == 0;
    health->last = end->class;
    *tries = verdict.retry ? *tries + 1 : 0;
    return verdict;
}

#define PARK_LEAST_FAILURES 4u

/* Whether a host is set aside that is not to be dropped. */
static bool is_hopeless(const PolitenessOptions *options, const FetchEnd *end,
                        const HostHealth *health)
{
    bool is_busy = end->class == FETCH_BUSY || end->class == FETCH_WALL;
    bool asks_too_much = is_busy && options->retry_after_max_ms > 0 &&
                         end->retry_after_ms > options->retry_after_max_ms;
    bool stays_walled = end->class == FETCH_WALL && health->failures >= POLITENESS_WALLS;
    return asks_too_much || stays_walled ||
           (options->park_after_ms > 0 && health->rested_ms >= options->park_after_ms &&
            health->failures >= PARK_LEAST_FAILURES);
}

int64_t politeness_rate_wait(int64_t bytes_s, uint64_t bytes)
{
    double ms = bytes_s > 0 ? (double)bytes * 1e3 / (double)bytes_s : 0;
    return ms < (double)WAIT_MAX ? (int64_t)ms : WAIT_MAX;
}

bool politeness_is_last_try(const PolitenessOptions *options, FetchClass class, unsigned tries)
{
    return tries + 1 > options->rules[class].retries ||
           (options->tries_max > 0 && tries + 1 >= options->tries_max);
}

PolitenessVerdict politeness_judge(const PolitenessOptions *options, const FetchEnd *end,
                                   HostHealth *health, unsigned *tries)
{
    health->judgements++;
    if (end->class == FETCH_OK) {
        unsigned failed = *tries;
        *tries = 0;
        return judge_success(options, end, health, failed);
    }
    if (end->elsewhere) { /* the host was not reached: it is owed nothing, its address is */
        return (PolitenessVerdict){
            .ip_wait_ms = options->ip_delay_ms, .tries = *tries, .retry = true};
    }
    if (end->class == FETCH_LOCAL || end->class == FETCH_PROXY) {
        return judge_local(options, end, *tries);
    }
    if (fetch_class_is_of_url(end->class) && !end->robots && !end->check) {
        bool is_spent = health->failures >= failures_of_urls(health);
        bool says_nothing_new = end->only_failed && *tries > 0;
        if (!is_spent || says_nothing_new || end->can_check) {
            PolitenessVerdict verdict = judge_url(options, end, health, tries);
            verdict.check = is_spent && !says_nothing_new;
            return verdict;
        }
    }
    if (end->check && (health->checks > 0 || health->extra_ms == 0)) {
        /* They were the host's, not theirs; its rests begin with this one. */
        health->checks = 0;
        health->failures =
            health->failures < POLITENESS_URL_FAILURES ? health->failures : POLITENESS_URL_FAILURES;
    }
    const RetryRule *rule = &options->rules[end->class];
    PolitenessVerdict verdict = {.host_wait_ms = note_failure(options, end, health),
                                 .ip_wait_ms = options->ip_delay_ms,
                                 .tries = ++*tries};
    if (end->class == FETCH_WALL) { /* of the host, whichever of its pages was asked for */
        *tries = verdict.tries = 0;
        verdict.drop_host = rule->drops_host && health->failures > rule->retries;
        verdict.park_host = !verdict.drop_host && is_hopeless(options, end, health);
        return verdict;
    }
    verdict.retry = !politeness_is_last_try(options, end->class, *tries - 1);
    if (verdict.retry && !end->robots && !end->check && fetch_class_is_of_url(end->class)) {
        /* Another URL shows behind the rest whether it was the host. */
        verdict.url_wait_ms = greater(url_wait(options, end->class, *tries - 1),
                                      verdict.host_wait_ms + options->host_delay_ms);
        verdict.url_left_ms =
            greater(verdict.url_wait_ms, url_left(options, end->class, *tries - 1));
    }
    if (!verdict.retry) {
        verdict.drop_host = rule->drops_host || end->robots;
        verdict.retry = end->check && fetch_class_is_of_url(end->class) &&
                        !verdict.drop_host; /* it is a good page: until the host is parked */
        verdict.drop_url = !verdict.drop_host && !verdict.retry;
        *tries = verdict.retry ? *tries : 0;
    }
    verdict.park_host = !verdict.drop_host && is_hopeless(options, end, health);
    return verdict;
}
