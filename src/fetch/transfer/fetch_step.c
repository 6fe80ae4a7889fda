#include "fetch/transfer/fetch_step.h"

#include <stdlib.h>
#include <string.h>

#include "fetch/site/fetch_site.h"
#include "frontier/visit/visit_turn.h"

/* ---- the end of a fetch ---- */

static FetchEnd fetch_step_end_of(const VisitState *visit_state, const FetchResult *result,
                                  bool robots_needed)
{
    const Robots *rules = visit_state->robots.rules;
    return (FetchEnd){
        .class = result->answer.class,
        .duration_ms = mono_ms_between(result->cost.start, result->cost.end),
        .retry_after_ms = result->answer.class == FETCH_BUSY || result->answer.class == FETCH_WALL
                              ? fetch_result_retry_after_ms(result)
                              : -1,
        .crawl_delay_ms = rules == NULL ? -1 : robots_crawl_delay_ms(rules),
        .host_delay_ms = visit_state->politeness.pace.delay_ms > 0
                             ? visit_state->politeness.pace.delay_ms
                             : visit_state->politeness.delay_ms,
        .robots = robots_needed,
        .elsewhere = result->answer.elsewhere,
        .can_check = visit_state_can_check(visit_state, false),
        .check = result->request.check,
        .only_failed = result->request.tries > 0 && visit_state_has_only_failed(visit_state),
    };
}

/* The host and the address that were asked are left alone from the end of the fetch on. */
static void set_times(VisitState *visit_state, FetchResult *result,
                      const PolitenessVerdict *verdict)
{
    VisitPoliteness *politeness = &visit_state->politeness;
    bool is_free = verdict->host_wait_ms == 0 && verdict->ip_wait_ms == 0;
    /* One millisecond more than owed, since clocks of milliseconds are rounded. */
    MonoTime next = mono_add_ms(result->cost.end, verdict->host_wait_ms + !is_free);
    MonoTime ip_next = mono_add_ms(result->cost.end, verdict->ip_wait_ms + !is_free);
    bool is_wide = visit_turn_is_wide(visit_state); /* what others have left it owed holds, too */
    politeness->next_fetch = is_wide ? mono_later(politeness->next_fetch, next) : next;
    politeness->ip_next_fetch = is_wide ? mono_later(politeness->ip_next_fetch, ip_next) : ip_next;
    politeness->owed_ms = verdict->host_wait_ms;
    visit_state->politeness.last_end = result->cost.end;
    result->cost.owes_host_ms = verdict->host_wait_ms;
    result->cost.owes_ip_ms = verdict->ip_wait_ms;
}

/* What ingest keeps of the host. */
static void fetch_step_note_host(const VisitState *visit_state, FetchResult *result,
                                 int64_t host_wait_ms)
{
    const VisitRobots *robots = &visit_state->robots;
    result->host.health = visit_state->politeness.health;
    result->host.wait_ms = host_wait_ms;
    result->host.robots_state = robots->state;
    result->host.robots_version = robots->version;
    result->host.robots_hash = robots->hash;
    result->host.robots_expiry_ms =
        robots->state == ROBOTS_KNOWN ? mono_ms_between(result->cost.end, robots->expiry) : 0;
    result->host.crawl_delay_ms = robots->rules == NULL ? -1 : robots_crawl_delay_ms(robots->rules);
}

/* Judges the fetch, sets the visit state's times from its end, and writes both into the result. */
static PolitenessVerdict fetch_step_judge(const FetchRules *rules, VisitState *visit_state,
                                          FetchResult *result, bool robots_needed, unsigned *tries)
{
    FetchEnd end = fetch_step_end_of(visit_state, result, robots_needed);
    PolitenessVerdict verdict =
        politeness_judge(rules->politeness, &end, &visit_state->politeness.health, tries);
    /* The host is left alone for as long as what it sent takes at the rate that it is limited to.
     */
    int64_t took_ms = mono_ms_between(result->cost.start, result->cost.end);
    int64_t owed_ms = politeness_rate_wait(rules->most_bytes_s, result->cost.bytes) - took_ms;
    verdict.host_wait_ms = owed_ms > verdict.host_wait_ms ? owed_ms : verdict.host_wait_ms;
    set_times(visit_state, result, &verdict);
    fetch_step_note_host(visit_state, result, verdict.host_wait_ms);
    result->host.url_left_ms = verdict.url_left_ms;
    result->request.tries = (uint8_t)(verdict.tries > UINT8_MAX ? UINT8_MAX : verdict.tries);
    return verdict;
}

/* A host that is dropped or parked is forgotten when it comes home. */
static void fetch_step_set_aside(VisitState *visit_state, FetchResult *result,
                                 const PolitenessVerdict *verdict)
{
    visit_state->politeness.dropped |= verdict->drop_host || verdict->park_host;
    result->host.drop = verdict->drop_host;
    result->host.park = verdict->park_host;
}

static PolitenessVerdict conclude_robots(const FetchRules *rules, VisitState *visit_state,
                                         FetchResult *result)
{
    bool had_rules = visit_state->robots.state == ROBOTS_KNOWN;
    HostHealth before = visit_state->politeness.health;
    unsigned tries = visit_state->robots.tries;
    RobotsNext next = robots_answer_settle(visit_state, result, &rules->robots);
    PolitenessVerdict verdict =
        fetch_step_judge(rules, visit_state, result, !had_rules, &visit_state->robots.tries);
    if (next == ROBOTS_FOLLOW) {
        /* A redirect is no success yet: where it leads may be out of reach again and again, and
         * those failures must add up. */
        visit_state->politeness.health = before;
        visit_state->robots.tries = tries;
        result->host.health = before;
    }
    fetch_step_set_aside(visit_state, result, &verdict);
    return verdict;
}

/* What the answer of another host means for the asker. */
static void conclude_asker(const FetchRules *rules, VisitState *asker, FetchResult *result)
{
    bool had_rules = asker->robots.state == ROBOTS_KNOWN;
    if (robots_answer_settle(asker, result, &rules->robots) == ROBOTS_TRY_AGAIN) {
        FetchEnd end = fetch_step_end_of(asker, result, !had_rules);
        PolitenessVerdict verdict = politeness_judge(
            rules->politeness, &end, &asker->politeness.health, &asker->robots.tries);
        asker->politeness.next_fetch = mono_later(
            asker->politeness.next_fetch, mono_add_ms(result->cost.end, verdict.host_wait_ms + 1));
        fetch_step_set_aside(asker, result, &verdict);
    } else if (asker->robots.state == ROBOTS_KNOWN) {
        asker->robots.tries = 0;
    }
    int64_t left_ms = mono_ms_between(result->cost.end, asker->politeness.next_fetch);
    fetch_step_note_host(asker, result, left_ms > 0 ? left_ms : 0);
}

/* The host that was asked is owed its delay; its health is not judged by what others want of it. */
static void conclude_errand(const FetchRules *rules, VisitState *asked, VisitState *asker,
                            FetchResult *result)
{
    HostHealth health = asked->politeness.health;
    unsigned tries = 0;
    FetchEnd end = fetch_step_end_of(asked, result, false);
    PolitenessVerdict verdict = politeness_judge(rules->politeness, &end, &health, &tries);
    set_times(asked, result, &verdict);
    if (asker->errands.ticket == 0) {
        conclude_asker(rules, asker, result);
    } else {
        robots_answer_keep(asker, result);
    }
    asked->errands.askers = asker->errands.next;
    asker->errands.next = NULL;
}

/* The last try brought a part of it: that is what there is, and the host has answered. */
static void take_part(const FetchRules *rules, FetchResult *result)
{
    FetchClass class = result->answer.class;
    if ((class == FETCH_BROKEN || class == FETCH_SLOW) && result->answer.partial_status != 0 &&
        result->answer.body.length > 0 &&
        politeness_is_last_try(rules->politeness, class, result->request.tries)) {
        result->answer.class = FETCH_OK;
        result->answer.status = result->answer.partial_status;
    }
}

/* A site that redirects until its cookie comes back is asked again with it. */
static void take_cookies(const FetchRules *rules, VisitState *visit_state, FetchResult *result)
{
    FetchAnswer *answer = &result->answer;
    if (rules->keeps_cookies &&
        host_cookies_take(visit_state, answer->header.data, answer->header.length,
                          result->request.url, wall_seconds(result->cost.wall_start)) &&
        answer->status >= 300 && answer->status < 400 && answer->class == FETCH_OK &&
        !politeness_is_last_try(rules->politeness, FETCH_COOKIE, result->request.tries)) {
        answer->class = FETCH_COOKIE;
    }
}

/* The class of an answer that ends a run of walls is FETCH_WALL. */
static void take_wall(const FetchRules *rules, VisitState *visit_state, FetchResult *result)
{
    FetchAnswer *answer = &result->answer;
    unsigned most = rules->politeness->wall_answers;
    if (most == 0 || (answer->class != FETCH_OK && answer->class != FETCH_BUSY)) {
        return; /* the parsing thread looks, for crawl.log */
    }
    /* Whether the answer is a wall. Its words are only found in a body that is not coded. */
    HttpHeader header;
    HttpField coding;
    answer->wall = HTTP_WALLS;
    if (http_header_parse(&header, buffer_string(&answer->header), answer->header.length) ==
        RESULT_OK) {
        answer->has_wall = !answer->spool.is_open &&
                           !http_header_find(&header, "Content-Encoding", &coding) &&
                           !http_header_find(&header, "Transfer-Encoding", &coding);
        answer->wall = http_wall_of(answer->status, &header, answer->body.data,
                                    answer->has_wall ? answer->body.length : 0);
    }
    WallAnswer wall = {.status = answer->status,
                       .header = buffer_string(&answer->header),
                       .header_length = answer->header.length,
                       .body = answer->body.data,
                       .body_length = answer->body.length,
                       .again = result->request.again,
                       .is_walled = result->request.walled,
                       .wall = answer->wall};
    if (wall_run_take(&visit_state->politeness.walls, &wall, most)) {
        answer->class = FETCH_WALL;
    }
}

/* What the run has settled is ingest's to schedule again. */
static void hand_over_walled(VisitState *visit_state, FetchResult *result)
{
    WallRun *walls = &visit_state->politeness.walls;
    free(result->host.walled_pages); /* a gateway's pages, and a wall in front of them: not both */
    result->host.wall_mark = walls->same;
    result->host.walled_pages = walls->pages;
    result->host.n_walled_pages = walls->n_pages;
    walls->pages = NULL;
    walls->n_pages = 0;
}

/* What the answer shows of the host's speed. A host that names a delay has that. */
static void learn_pace(const FetchRules *rules, VisitState *visit_state, FetchResult *result)
{
    VisitPoliteness *politeness = &visit_state->politeness;
    const Robots *robots = visit_state->robots.rules;
    bool names_delay = robots != NULL && robots_crawl_delay_ms(robots) > 0;
    if (!rules->politeness->learns || names_delay) {
        politeness->pace = (LearnedPace){0};
        return;
    }
    politeness->pace =
        politeness_learn(politeness->pace, politeness->delay_ms, rules->politeness->least_ms,
                         politeness_took_ms(result->cost.start, result->cost.end),
                         politeness_is_good(result->answer.status));
    result->cost.pace = politeness->pace;
}

/* The steps before the judgement may change the class of the answer, so their order counts: a part
 * of the last try becomes an answer; a redirect that sets a cookie is no answer yet; and a wall is
 * looked for in what is an answer still. The pace comes before the judgement, too, because the
 * delay that the host is owed is the learned one (fetch_step_end_of).
 *
 * Behind it, each URL leaves the step in one of four ways: final, and out of the window; deferred;
 * at the head of the window, to be tried when the host may be asked again; or with its host, which
 * is set aside. Only the first takes it out of the schedule. */
static PolitenessVerdict conclude_page(const FetchRules *rules, VisitState *visit_state,
                                       FetchResult *result)
{
    unsigned tries = result->request.tries;
    take_part(rules, result);
    take_cookies(rules, visit_state, result);
    take_wall(rules, visit_state, result);
    learn_pace(rules, visit_state, result);
    PolitenessVerdict verdict = fetch_step_judge(rules, visit_state, result, false, &tries);
    fetch_step_set_aside(visit_state, result, &verdict);
    bool stays = verdict.drop_host || verdict.park_host; /* the URL with its host */
    result->final = !verdict.retry && !stays;
    if (result->final) {
        wall_run_settle(&visit_state->politeness.walls, result->request.index);
    }
    if (result->answer.class == FETCH_WALL) {
        hand_over_walled(visit_state, result);
    }
    if (stays) {
        return verdict;
    }
    bool answers = result->answer.class == FETCH_OK && result->answer.status / 100 == 2;
    if (result->final && answers) {
        visit_state_note_good(visit_state);
    }
    if (result->final) {
        visit_state_take(visit_state);
    } else if (verdict.url_wait_ms > 0) {
        visit_state_defer(visit_state, tries, mono_add_ms(result->cost.end, verdict.url_wait_ms));
        if (visit_state_n_ready(visit_state) == 0 && result->host.wait_ms < verdict.url_wait_ms) {
            result->host.wait_ms = verdict.url_wait_ms; /* for its record: it has nothing else */
        }
    } else {
        visit_state_note_tries(visit_state, tries); /* it stays at the head of the window */
    }
    bool asks =
        verdict.check || (result->answer.by_gateway && visit_state_can_check(visit_state, true));
    if (asks && visit_state_count(visit_state) > 0) {
        visit_state_check(visit_state);
    }
    return verdict;
}

static bool needs_robots(const FetchRules *rules, const VisitState *visit_state, MonoTime now)
{
    return !rules->ignores_robots &&
           (visit_state->robots.state != ROBOTS_KNOWN || visit_state->robots.target != NULL ||
            !mono_before(now, visit_state->robots.expiry));
}

VisitState *fetch_step_end(const FetchRules *rules, VisitState *visit_state, FetchResult *result)
{
    VisitState *asker = result->kind == FETCHED_ROBOTS ? visit_state->errands.askers : NULL;
    if (asker != NULL) {
        conclude_errand(rules, visit_state, asker, result);
    } else {
        PolitenessVerdict verdict = result->kind == FETCHED_ROBOTS
                                        ? conclude_robots(rules, visit_state, result)
                                        : conclude_page(rules, visit_state, result);
        /* Whether another request follows at once. */
        bool goes_on = !needs_robots(rules, visit_state, result->cost.end) &&
                       visit_turn_end(visit_state, rules->politeness, &verdict, result->cost.end);
        if (goes_on) {
            result->cost.owes_host_ms = 0;
            result->cost.owes_ip_ms = 0;
        }
        result->cost.burst = visit_turn_burst(visit_state);
    }
    visit_turn_land(visit_state);
    return asker;
}

/* ---- the start of a fetch ---- */

static FetchResult *new_result(const FetchRules *rules, const VisitState *visit_state,
                               FetchKind kind, const WindowUrl *url, const FetchNow *now)
{
    FetchResult *result = fetch_result_new(kind);
    if (result == NULL) {
        return NULL;
    }
    result->host.id = visit_state->identity.host;
    result->request.ignores_robots = rules->ignores_robots;
    result->request.address = visit_state->address.ip;
    result->cost.worker = rules->worker;
    result->host.robots_version = visit_state->robots.version;
    result->cost.wall_start = now->wall;
    result->cost.start = now->mono;
    result->cost.end = result->cost.start;
    if (visit_state->politeness.last_end.ns != 0) {
        result->cost.owed_ms =
            visit_turn_goes_on(visit_state) ? 0 : visit_state->politeness.owed_ms;
        result->cost.given_ms =
            mono_ms_between(visit_state->politeness.last_end, result->cost.start);
    }
    if (url != NULL) {
        result->request.has_page = true;
        result->request.index = url->index;
        result->request.level = url->level;
        result->request.hop = url->hop;
        result->request.depth = url->depth;
        result->request.tries = url->tries;
        result->request.tries_before = url->tries;
        result->request.again = url->again;
        result->request.check = url->check;
        result->request.walled = url->walled;
        result->request.url = strndup(visit_state_url(visit_state, url), url->length);
        if (result->request.url == NULL) {
            fetch_result_delete(result);
            return NULL;
        }
        result->request.usage = robots_answer_usage(visit_state, result->request.url, url->length);
        fetch_result_set_conditions(result, visit_state, url);
    }
    return result;
}

/* Why a URL is not fetched. */
typedef struct Refusal {
    int status;       /* the URL gets it; 0: it may be fetched */
    const char *rule; /* that decided; borrowed */
    bool undecided;   /* the rule was not decided for certain: RobotsVerdict */
    bool whole_host;  /* it refuses all URLs of the host */
} Refusal;

/* Whether robots.txt allows the URL. */
static bool robots_permit(VisitState *visit_state, const WindowUrl *url, Refusal *refusal)
{
    RobotsVerdict verdict;
    const char *text = visit_state_url(visit_state, url);
    const char *path = robots_answer_path(visit_state, text);
    (void)robots_decide(visit_state->robots.rules, path, url->length - (size_t)(path - text),
                        &visit_state->robots.allowance, &verdict);
    if (verdict.undecided) {
        robots_answer_tell_costly(visit_state, &verdict);
    }
    *refusal = (Refusal){.status = verdict.allowed ? 0 : STATUS_ROBOTS,
                         .rule = verdict.allowed ? NULL : verdict.rule,
                         .undecided = !verdict.allowed && verdict.undecided};
    return verdict.allowed;
}

/* What the operator says of it; url NULL: of the host. */
static Refusal ask_operator(const FetchRules *rules, const VisitState *visit_state,
                            const WindowUrl *url)
{
    const void *admission = rules->admission == NULL ? NULL : shared_get(rules->admission);
    if (admission == NULL) {
        return (Refusal){0};
    }
    FetchQuestion question = {.url = url == NULL ? NULL : visit_state_url(visit_state, url),
                              .length = url == NULL ? 0 : url->length,
                              .hostname = visit_state->identity.hostname,
                              .address = &visit_state->address.ip,
                              .hop = url == NULL ? 0 : url->hop};
    FetchWord word = rules->judge(admission, &question);
    return (Refusal){.status = word.status, .rule = word.rule, .whole_host = word.whole_host};
}

/* Without the host's rules only the operator is asked. */
static Refusal fetch_step_refuse_url(const FetchRules *rules, VisitState *visit_state,
                                     const WindowUrl *url, bool has_rules)
{
    Refusal refusal = ask_operator(rules, visit_state, url);
    if (refusal.status != 0 || !has_rules ||
        (!rules->ignores_robots && !robots_permit(visit_state, url, &refusal))) {
        return refusal;
    }
    const char *text = visit_state_url(visit_state, url);
    if ((robots_answer_usage(visit_state, text, url->length).denied & rules->usage.no_fetch) != 0) {
        return (Refusal){.status = STATUS_BLOCKED, .rule = "politeness.usage"};
    }
    const Filter *filter = rules->filter == NULL ? NULL : shared_get(rules->filter);
    const TrapSet *traps = rules->traps == NULL ? NULL : shared_get(rules->traps);
    if ((filter == NULL && traps == NULL) ||
        url_parse(rules->url, NULL, visit_state_url(visit_state, url), url->length) != RESULT_OK) {
        return (Refusal){0};
    }
    FilterInput input = {.url = rules->url, .has_depth = true, .depth = url->depth};
    if (filter != NULL && !filter_matches(filter, &input, rules->filter_scratch)) {
        return (Refusal){.status = STATUS_BLOCKED, .rule = "filter.fetch"};
    }
    bool wanted = url->hop == 'M' || url->again; /* seeds, and what is known to bring something */
    if (!wanted && trap_set_has(traps, rules->url, rules->text)) {
        return (Refusal){.status = STATUS_TRAP, .rule = "limits.trap_yield"};
    }
    return (Refusal){0};
}

/* The result of a refused URL; without memory for the words they are missing in the log. */
static void note_refusal(FetchResult *result, const VisitState *visit_state, const Refusal *refusal)
{
    Buffer words;
    result->answer.status = refusal->status;
    result->final = true;
    result->host.health = visit_state->politeness.health;
    if (refusal->rule != NULL) {
        buffer_init(&words, BUFFER_NO_LIMIT);
        (void)buffer_printf(&words, "%s%s", refusal->rule,
                            refusal->undecided ? " (undecided)" : "");
        result->answer.refusal = buffer_detach(&words);
    }
}

/* The host is denied: it goes home and stays there, and ingest hears of it. Its URLs stay
 * scheduled, for when it is allowed again. */
static Result deny_host(const FetchRules *rules, VisitState *visit_state, const FetchNow *now,
                        const FetchRefused *refused, const Refusal *refusal)
{
    FetchResult *result = new_result(rules, visit_state, FETCHED_NOTHING, NULL, now);
    if (result == NULL) {
        return RESULT_MEMORY;
    }
    note_refusal(result, visit_state, refusal);
    result->host.deny = true;
    visit_state->politeness.dropped = true;
    refused->take(refused->context, result);
    return RESULT_NOT_FOUND;
}

/* Takes refused URLs out of the window; RESULT_NOT_FOUND when that leaves none, RESULT_LIMIT when
 * the turn is over. */
static Result skip_refused(const FetchRules *rules, VisitState *visit_state, const FetchNow *now,
                           const FetchRefused *refused, bool has_rules)
{
    const WindowUrl *url = NULL;
    bool none_wanted = has_rules || visit_state_count(visit_state) > 0;
    int64_t spent_before = visit_state->robots.allowance.spent;
    while ((url = visit_state_peek(visit_state)) != NULL) {
        Refusal refusal = fetch_step_refuse_url(rules, visit_state, url, has_rules);
        if (refusal.status == 0) {
            return RESULT_OK;
        }
        if (refusal.whole_host) {
            return deny_host(rules, visit_state, now, refused, &refusal);
        }
        FetchResult *result = new_result(rules, visit_state, FETCHED_NOTHING, url, now);
        if (result == NULL) {
            return RESULT_MEMORY; /* it stays in the window: tried again later */
        }
        note_refusal(result, visit_state, &refusal);
        visit_state_take(visit_state);
        refused->take(refused->context, result);
        if (visit_state->robots.allowance.spent - spent_before >= FETCH_STEP_TURN_STEPS) {
            return RESULT_LIMIT;
        }
    }
    return none_wanted ? RESULT_NOT_FOUND : RESULT_OK;
}

static FetchResult *robots_request(const FetchRules *rules, const VisitState *visit_state,
                                   const FetchNow *now)
{
    const VisitState *asker = visit_state->errands.askers;
    FetchResult *result = new_result(rules, visit_state, FETCHED_ROBOTS, NULL, now);
    if (result == NULL) {
        return NULL;
    }
    result->request.url = robots_answer_url(asker == NULL ? visit_state : asker);
    result->host.id = asker == NULL ? visit_state->identity.host : asker->identity.host;
    result->request.hop = 'P';
    result->request.file = visit_state_file(asker == NULL ? visit_state : asker);
    robots_answer_note_origin(visit_state, result);
    return result;
}

/* A host that is denied serves nobody: to its askers it is out of reach. */
static Result refuse_askers(const FetchRules *rules, VisitState *visit_state, const FetchNow *now,
                            const FetchRefused *refused)
{
    Refusal refusal = {0};
    if (visit_state->errands.askers != NULL) {
        refusal = ask_operator(rules, visit_state, NULL);
    }
    while (refusal.status != 0 && visit_state->errands.askers != NULL) {
        FetchResult *result = robots_request(rules, visit_state, now);
        if (result == NULL) {
            return RESULT_MEMORY;
        }
        note_refusal(result, visit_state, &refusal);
        result->answer.class = FETCH_ROBOTS_ERROR;
        VisitState *asker = fetch_step_end(rules, visit_state, result);
        result->kind = FETCHED_NOTHING; /* nobody was asked */
        refused->take(refused->context, result);
        refused->answered(refused->context, asker);
    }
    return RESULT_OK;
}

/* What another agent has told is read first. False: nothing is to be asked for now. */
static bool read_told(const FetchRules *rules, VisitState *visit_state, const FetchNow *now,
                      const FetchRefused *refused)
{
    FetchResult *result = robots_answer_told(visit_state, now->mono, now->wall);
    if (result == NULL && visit_state->errands.answer == NULL) {
        return true;
    }
    if (result == NULL) {
        visit_turn_put_off(visit_state, now->mono, FETCH_STEP_PAUSE_MS);
        return false;
    }
    conclude_asker(rules, visit_state, result);
    refused->take(refused->context, result);
    return !visit_state->robots.elsewhere && !visit_state->politeness.dropped &&
           !mono_before(now->mono, visit_state->politeness.next_fetch);
}

/* Puts off a host outside its hours; ingest hears of it. */
static bool fetch_step_is_closed(const FetchRules *rules, VisitState *visit_state,
                                 const FetchNow *now, const FetchRefused *refused)
{
    const Robots *robots = visit_state->robots.rules;
    bool wants_page = visit_state->errands.askers == NULL && robots != NULL &&
                      !needs_robots(rules, visit_state, now->mono) && !rules->ignores_robots;
    int64_t own_ms = rules->hours == NULL ? 0 : hours_wait_ms(rules->hours, now->wall);
    int64_t wait_ms = wants_page ? robots_closed_ms(robots, now->wall) : 0;
    wait_ms = own_ms > wait_ms ? own_ms : wait_ms;
    if (wait_ms == 0) {
        return false;
    }
    visit_turn_put_off(visit_state, now->mono, wait_ms);
    FetchResult *result = new_result(rules, visit_state, FETCHED_NOTHING, NULL, now);
    if (result != NULL) { /* without memory nobody is told; it rests all the same */
        fetch_step_note_host(visit_state, result, wait_ms);
        result->host.closed = true;
        result->final = true;
        refused->take(refused->context, result);
    }
    return true;
}

/* Puts off a host whose pages cost too much. In pieces, since the price changes. */
static bool rests_for_costs(const FetchRules *rules, VisitState *visit_state, MonoTime now)
{
    if (rules->costs == NULL || visit_state->errands.askers != NULL) {
        return false;
    }
    int64_t wait_ms = host_costs_wait_ms(rules->costs, visit_state->identity.host);
    int64_t left_ms = wait_ms - mono_ms_between(visit_state->politeness.last_end, now);
    if (wait_ms == 0 || left_ms <= 0) {
        return false;
    }
    visit_turn_put_off(visit_state, now,
                       left_ms < FETCH_STEP_COSTS_MS ? left_ms : FETCH_STEP_COSTS_MS);
    atomic_fetch_add_explicit(&rules->costs->n_rests, 1, memory_order_relaxed);
    return true;
}

/* The order of the questions: what needs no look at a URL first (costs, hours, what another agent
 * has told); then askers, so that nobody waits in a circle; then the URLs, by the operator's rules
 * even while robots.txt is unknown. When no URL is left by these, robots.txt is not asked for. */
FetchResult *fetch_step_begin(const FetchRules *rules, VisitState *visit_state, const FetchNow *now,
                              const FetchRefused *refused)
{
    FetchResult *result = NULL;
    if (rests_for_costs(rules, visit_state, now->mono) ||
        fetch_step_is_closed(rules, visit_state, now, refused) ||
        !read_told(rules, visit_state, now, refused)) {
        return NULL;
    }
    Result rc = refuse_askers(rules, visit_state, now, refused);
    bool serves = visit_state->errands.askers != NULL;
    bool has_rules = !needs_robots(rules, visit_state, now->mono);
    if (rc == RESULT_OK && !serves) {
        rc = skip_refused(rules, visit_state, now, refused, has_rules);
    }
    bool waits = !serves && has_rules && mono_before(now->mono, visit_state_url_time(visit_state));
    if (rc == RESULT_NOT_FOUND || (rc == RESULT_OK && waits)) {
        return NULL;
    }
    if (rc == RESULT_LIMIT) {
        visit_turn_put_off(visit_state, now->mono, FETCH_STEP_REST_MS);
        return NULL;
    }
    if (rc == RESULT_OK) {
        result = serves || !has_rules ? robots_request(rules, visit_state, now)
                                      : new_result(rules, visit_state, FETCHED_PAGE,
                                                   visit_state_peek(visit_state), now);
    }
    if (result == NULL || result->request.url == NULL) {
        fetch_result_delete(result);
        visit_turn_put_off(visit_state, now->mono, FETCH_STEP_PAUSE_MS);
        return NULL;
    }
    visit_turn_ask(visit_state, now->mono);
    return result;
}
