#include "parse/robots/robots.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/hash.h"
#include "base/memory/array.h"
#include "parse/host/authority.h"
#include "parse/robots/robots_rules.h"
#include "parse/url/url.h"
#include "base/core/ascii.h"

/* ---- paths ---- */

#define STACK_PATH_BYTES 1024

/* A path in its one spelling, on the stack unless it is unusually long. */
typedef struct RobotsPath {
    const char *bytes;
    size_t length;
    char *heap; /* owned, or NULL */
    char stack[3 * STACK_PATH_BYTES];
} RobotsPath;

/* False without memory: the path is as it was. */
static bool robots_path_init(RobotsPath *normal, const char *path, size_t length)
{
    normal->bytes = path;
    normal->length = length;
    normal->heap = NULL;
    if (robots_path_is_normal(path, length)) {
        return true;
    }
    normal->heap = length <= STACK_PATH_BYTES ? NULL : malloc(3 * length);
    char *to = length <= STACK_PATH_BYTES ? normal->stack : normal->heap;
    if (to == NULL) {
        return false;
    }
    normal->length = robots_path_normalize(path, length, to);
    normal->bytes = to;
    return true;
}

/* ---- usage ---- */

/* A pattern that is too expensive to be matched denies, and allows nothing. */
static RobotsMatch robots_usage_match(const Robots *robots, const RobotsUsage *rule,
                                      const RobotsPath *path, int64_t *steps)
{
    RobotsMatch match = robots_pattern_matches(&rule->pattern, robots->pool.data + rule->text,
                                               path->bytes, path->length, steps);
    return match == ROBOTS_MATCH_UNKNOWN && rule->usage.denied == 0 ? ROBOTS_MATCH_NO : match;
}

Usage robots_usage(const Robots *robots, const char *path, size_t length, UsageLedger *ledger)
{
    Usage usage = {.robots_names_it = robots->n_licences > 0};
    RobotsPath normal;
    /* One budget for both passes. Where it runs out in the second, only what denies is still
     * believed. */
    uint32_t longest[USAGE_PLACES] = {0};
    int64_t steps = ROBOTS_DECISION_STEPS;
    /* A licence that nobody has read might forbid anything, so it does, whatever else is stated. */
    for (size_t i = 0; i < robots->n_licences; i++) {
        if (!robots->licences[i].is_read) {
            bool has_place = USAGE_IN_LICENCE + i < USAGE_PLACES;
            UsageStatement unread = {.place = has_place ? (UsagePlace)(USAGE_IN_LICENCE + i)
                                                        : USAGE_IN_ROBOTS,
                                     .line = has_place ? 0 : robots->licences[i].line,
                                     .text = robots->pool.data + robots->licences[i].address,
                                     .usage = {.denied = USAGE_ALL}};
            unread.length = strlen(unread.text);
            usage = usage_join(usage, unread.usage);
            usage_ledger_add(ledger, &unread);
        }
    }
    if (robots->n_usages == 0) {
        return usage;
    }
    /* An unescaped path would slip past the patterns: what cannot be asked is denied. */
    if (!robots_path_init(&normal, path, length)) {
        return usage_join(usage, (Usage){.denied = USAGE_ALL});
    }
    /* Two passes, because which statement of a place is the longest match is known only behind the
     * last. */
    for (size_t i = 0; i < robots->n_usages; i++) {
        const RobotsUsage *rule = &robots->usages[i];
        if (rule->octets > longest[rule->place] &&
            robots_usage_match(robots, rule, &normal, &steps) != ROBOTS_MATCH_NO) {
            longest[rule->place] = rule->octets;
        }
    }
    for (size_t i = 0; i < robots->n_usages; i++) {
        const RobotsUsage *rule = &robots->usages[i];
        RobotsMatch match = ROBOTS_MATCH_NO;
        /* Equal lengths all count: usage_join takes the strictest of them. A statement for all
         * paths has no octets, and counts where no longer one matched. */
        if (rule->octets == longest[rule->place]) {
            match = robots_usage_match(robots, rule, &normal, &steps);
        }
        if (match != ROBOTS_MATCH_NO) {
            UsageStatement statement = {.place = rule->place,
                                        .line = rule->line,
                                        .text = robots->pool.data + rule->words,
                                        .usage = rule->usage};
            statement.length = strlen(statement.text);
            /* A pattern that was given up for want of steps may deny, never allow. */
            statement.usage.allowed &= match == ROBOTS_MATCH_YES ? USAGE_ALL : 0;
            usage = usage_join(usage, statement.usage);
            usage_ledger_add(ledger, &statement);
        }
    }
    free(normal.heap);
    return usage;
}

/* A Content-Usage or Content-Signal line: a path may stand before the dictionary. */
static Result robots_add_usage_line(Robots *robots, const RobotsLine *line)
{
    size_t path = 0;
    if (line->value_length > 0 && *line->value == '/') {
        while (path < line->value_length && line->value[path] != ' ' && line->value[path] != '\t') {
            path++;
        }
    }
    UsageStatement statement = {
        .place = USAGE_IN_ROBOTS,
        .line = line->number,
        .text = line->text,
        .length = line->text_length,
        .usage = usage_of_dictionary(line->value + path, line->value_length - path)};
    Result rc = robots_rules_add_usage(robots, line->value, path, &statement);
    /* Beyond ROBOTS_MAX_USAGES the rules for fetching must still be read: this file is no error. */
    return rc == RESULT_LIMIT ? RESULT_OK : rc;
}

/* ---- reading ---- */

/* A number before *end, in thousandths, at most ROBOTS_DELAY_MAX_MS; -1 when there is none. *at is
 * moved behind it. */
static int64_t robots_take_thousandths(const char **at, const char *end)
{
    const char *p = *at;
    int64_t value = 0;
    bool any = false;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        any = true;
        value = value * 10 + (*p - '0') * INT64_C(1000);
        /* Capped at each digit: a file with a thousand digits cannot overflow it. */
        value = value > ROBOTS_DELAY_MAX_MS ? ROBOTS_DELAY_MAX_MS : value;
    }
    if (p < end && *p == '.') {
        int64_t unit = 100;
        for (p++; p < end && *p >= '0' && *p <= '9'; p++) {
            any = true;
            value += (*p - '0') * unit;
            unit /= 10;
        }
    }
    *at = p;
    value = value > ROBOTS_DELAY_MAX_MS ? ROBOTS_DELAY_MAX_MS : value;
    return any ? value : -1;
}

/* What one of the time units of Request-rate has in seconds; none is a second. */
static int64_t robots_rate_unit(const char *p, const char *end)
{
    char unit = p < end ? (char)(*p | 0x20) : '\0';
    if (unit == 'h') {
        return 3600;
    }
    return unit == 'm' ? 60 : 1;
}

/* The milliseconds that "5", "0.5", "10<BR>" of Crawl-delay ask for, or "10/1m" (pages/time) of
 * Request-rate. What follows is ignored: the hours of a rate, too, which so holds all day. -1 when
 * it cannot be read. */
static int64_t robots_delay_of(const RobotsLine *line)
{
    const char *p = line->value;
    const char *end = p + line->value_length;
    int64_t first = robots_take_thousandths(&p, end);
    if (line->kind == ROBOTS_LINE_DELAY) {
        return first;
    }
    p = ascii_skip_blanks(p, end);
    if (first <= 0 || p == end || *p != '/') {
        return -1;
    }
    p = ascii_skip_blanks(p + 1, end);
    int64_t ms = robots_take_thousandths(&p, end);
    if (ms < 0) {
        return -1;
    }
    /* At most ROBOTS_DELAY_MAX_MS x 3600 x 1000 = 3.6e18, just within int64_t. Rounded up: a pace
     * is never faster than what was asked for. */
    ms *= robots_rate_unit(ascii_skip_blanks(p, end), end);
    ms = (ms * 1000 + first - 1) / first;
    return ms > ROBOTS_DELAY_MAX_MS ? ROBOTS_DELAY_MAX_MS : ms;
}

static Result robots_add_hours(Robots *robots, const RobotsLine *line)
{
    if (robots->hours == NULL) {
        robots->hours = calloc(1, sizeof *robots->hours);
    }
    if (robots->hours == NULL) {
        return RESULT_MEMORY;
    }
    /* A range that cannot be read says nothing; closing the host for good because of it would. */
    (void)hours_add(robots->hours, line->value, line->value_length);
    return RESULT_OK;
}

typedef struct Agent {
    const char *token; /* NULL: the "*" groups */
    size_t length;
} Agent;

static bool robots_names_agent(const RobotsLine *line, Agent agent)
{
    if (agent.token == NULL) {
        return robots_is_any_agent(line->value, line->value_length);
    }
    return robots_token_length(line->value, line->value_length) == agent.length &&
           strncasecmp(line->value, agent.token, agent.length) == 0;
}

/* Where the reader stands: a User-agent line after a rule starts a new group.
 *
 *    agents  --- Allow, Disallow ----------------->  rules
 *      ^  \                                            |
 *      |   `- Crawl-delay, -rate, Visit-time -> delays |
 *      |                                          |    |
 *      `--- User-agent: delays are the next's <---'    `--> User-agent: all is the next's
 *
 * Files list a delay between two agents and mean one group of rules: so a delay ends the list of
 * agents for delays only, and the rules below it still belong to all. */
typedef struct Group {
    bool is_ours;
    bool is_any; /* it names everybody */
    bool had_rule;
    bool delay_is_ours;
    bool had_delay;
} Group;

/* A License line counts in this order: of our group, of no group, of everybody's. */
static unsigned group_licence_standing(const Group *group, bool has_agent)
{
    if (group->is_ours) {
        return 3;
    }
    return has_agent ? group->is_any : 2;
}

static void group_take_agent(Group *group, bool is_ours, bool is_any)
{
    if (group->had_rule) {
        *group = (Group){0};
    }
    if (group->had_delay) {
        group->delay_is_ours = false;
        group->had_delay = false;
    }
    group->is_ours |= is_ours;
    group->is_any |= is_any;
    group->delay_is_ours |= is_ours;
}

/* Compiles the groups of agent. Stops, and *is_named, at a group of another one, when that has a
 * token. */
static Result robots_read_lines(Robots *robots, const char *body, size_t length, Agent agent,
                                Agent other, bool *is_named)
{
    RobotsReader reader;
    RobotsLine line;
    Group group = {0};
    bool has_agent = false;
    Result rc = RESULT_OK;
    robots_reader_init(&reader, body, length);
    while (!*is_named && robots_reader_next(&reader, &line)) {
        switch (line.kind) {
        case ROBOTS_LINE_AGENT:
            *is_named = other.length > 0 && robots_names_agent(&line, other);
            group_take_agent(&group, robots_names_agent(&line, agent),
                             robots_is_any_agent(line.value, line.value_length));
            has_agent = true;
            break;
        case ROBOTS_LINE_ALLOW:
        case ROBOTS_LINE_DISALLOW:
            /* Also of a group that is not ours, and of a rule without a path: what ends the list of
             * agents is the line, not what it says. */
            group.had_rule = true;
            rc = group.is_ours ? robots_rules_add(robots, &line) : RESULT_OK;
            break;
        case ROBOTS_LINE_DELAY:
        case ROBOTS_LINE_RATE:
            /* Of several the longest counts (robots.h, 3): two groups may name us. */
            group.had_delay = true;
            if (group.delay_is_ours) {
                int64_t ms = robots_delay_of(&line);
                robots->crawl_delay_ms = ms > robots->crawl_delay_ms ? ms : robots->crawl_delay_ms;
            }
            break;
        case ROBOTS_LINE_HOURS:
            group.had_delay = true;
            rc = group.delay_is_ours ? robots_add_hours(robots, &line) : RESULT_OK;
            break;
        /* Belongs to no group, wherever it stands. */
        case ROBOTS_LINE_SITEMAP:
            rc = robots_rules_add_sitemap(robots, &line);
            break;
        case ROBOTS_LINE_USAGE:
            rc = group.is_ours ? robots_add_usage_line(robots, &line) : RESULT_OK;
            break;
        case ROBOTS_LINE_LICENCE:
            rc = robots_rules_add_licence(robots, &line, group_licence_standing(&group, has_agent));
            break;
        case ROBOTS_LINE_FILE:
        case ROBOTS_LINE_OTHER:
            break;
        }
        if (rc != RESULT_OK) {
            break;
        }
    }
    return rc;
}

/* ---- licences ---- */

typedef struct LicenceReading {
    Robots *robots;
    UsagePlace place;
} LicenceReading;

static Result robots_take_licence(void *context, const char *path, size_t length,
                                  const UsageStatement *statement)
{
    const LicenceReading *reading = context;
    UsageStatement kept = *statement;
    kept.place = reading->place;
    return robots_rules_add_usage(reading->robots, path, length, &kept);
}

Result robots_licence_url(const Robots *robots, UsagePlace place, const char *origin, Buffer *out)
{
    Url base = {.href = NULL};
    Url url = {.href = NULL};
    /* A place below USAGE_IN_LICENCE wraps to a number that no licence has. */
    size_t which = place - USAGE_IN_LICENCE;
    if (place >= USAGE_PLACES || which >= robots->n_licences) {
        return RESULT_NOT_FOUND;
    }
    const char *text = robots->pool.data + robots->licences[which].address;
    Result rc = url_parse(&base, NULL, origin, strlen(origin));
    if (rc == RESULT_OK) {
        rc = url_parse(&url, &base, text, strlen(text));
    }
    if (rc == RESULT_OK) {
        size_t length = authority_strip(url.href, url.length);
        /* The file names the address, so it may be anything: file: and data: are nothing to ask
         * for. */
        rc = strncmp(url.href, "http", 4) == 0 ? buffer_append(out, url.href, length)
                                               : RESULT_INVALID;
    }
    url_destroy(&base);
    url_destroy(&url);
    return rc;
}

Result robots_add_licence(Robots *robots, UsagePlace place, const char *text, size_t length,
                          const RslReader *reader)
{
    LicenceReading reading = {.robots = robots, .place = place};
    size_t before = robots->n_usages;
    if (place - USAGE_IN_LICENCE >= robots->n_licences) {
        return RESULT_NOT_FOUND; /* it was named by an earlier robots.txt */
    }
    /* A file beyond ROBOTS_MAX_BYTES is read as empty, which is no licence. Cut, it might permit
     * what its end prohibits. */
    Result rc = rsl_read(text, length > ROBOTS_MAX_BYTES ? 0 : length, reader, robots_take_licence,
                         &reading);
    robots->licences[place - USAGE_IN_LICENCE].is_read = rc == RESULT_OK;
    /* Half a licence is taken back. Its texts stay in the pool, which nobody reaches any more. */
    robots->n_usages = rc == RESULT_OK ? robots->n_usages : before;
    return rc;
}

/* ---- the public part ---- */

Result robots_allow_all(Robots **robots)
{
    *robots = calloc(1, sizeof **robots);
    if (*robots == NULL) {
        return RESULT_MEMORY;
    }
    /* Patterns grow to at most three times the file, rule texts and sitemaps are in it once more.
     */
    buffer_init(&(*robots)->pool, (size_t)8 * ROBOTS_MAX_BYTES);
    (*robots)->crawl_delay_ms = -1;
    return RESULT_OK;
}

Result robots_parse(const char *body, size_t length, const char *agent, Robots **robots)
{
    /* Nearly no file names us: the "*" groups are compiled first. A group that does name us ends
     * that, and everything is begun anew, since what "*" had said does not count beside it. */
    Agent own = {.token = agent, .length = robots_token_length(agent, strlen(agent))};
    Agent any = {.token = NULL};
    bool is_named = false;
    Result rc = robots_allow_all(robots);
    if (rc == RESULT_OK) {
        rc = robots_read_lines(*robots, body, length, any, own, &is_named);
    }
    if (rc == RESULT_OK && is_named) {
        robots_delete(*robots);
        is_named = false;
        rc = robots_allow_all(robots);
        if (rc == RESULT_OK) {
            rc = robots_read_lines(*robots, body, length, own, any, &is_named);
        }
    }
    if (rc != RESULT_OK) {
        robots_delete(*robots);
        *robots = NULL;
        return rc;
    }
    robots_rules_sort(*robots);
    return RESULT_OK;
}

void robots_delete(Robots *robots)
{
    if (robots == NULL) {
        return;
    }
    buffer_destroy(&robots->pool);
    free(robots->rules);
    free(robots->prefixes.all);
    free(robots->exacts.all);
    free(robots->wilds);
    map_destroy(&robots->wild_by_text);
    free(robots->sitemaps);
    free(robots->usages);
    free(robots->hours);
    free(robots);
}

uint64_t robots_content_hash(const char *body, size_t length)
{
    length = length > ROBOTS_MAX_BYTES ? ROBOTS_MAX_BYTES : length;
    return hash_64(length == 0 ? "" : body, length, 0);
}

/* The first of the plain rules that is behind a path, or that is it. */
static inline size_t robots_plains_from(const Robots *robots, const RobotsPlains *plains,
                                        const char *path, size_t length, uint64_t key)
{
    const char *pool = robots->pool.data;
    size_t low = 0; /* all below are before path */
    size_t high = plains->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const RobotsPlain *p = &plains->all[middle];
        bool is_before = p->key < key;
        if (p->key == key) {
            is_before = robots_compare_bytes(pool + p->text, p->length, path, length) < 0;
        }
        if (is_before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool robots_plain_is(const Robots *robots, const RobotsPlains *plains, size_t i,
                            const char *path, size_t length, uint64_t key)
{
    const RobotsPlain *plain = &plains->all[i];
    return i < plains->n && plain->key == key && plain->length == length &&
           memcmp(robots->pool.data + plain->text, path, length) == 0;
}

/* The best rule among the plain prefixes of path, or NULL. */
static const RobotsRule *find_prefix(const Robots *robots, const char *path, size_t length,
                                     uint64_t key)
{
    const RobotsPlains *prefixes = &robots->prefixes;
    if (prefixes->n == 0) {
        return NULL;
    }
    /* What sorts between a prefix of the path and the path begins with that prefix. So the longest
     * one is the path itself, or its predecessor, or one of the predecessor's parents. */
    size_t i = robots_plains_from(robots, prefixes, path, length, key);
    if (robots_plain_is(robots, prefixes, i, path, length, key)) {
        return &robots->rules[prefixes->all[i].rule];
    }
    if (i == 0) {
        return NULL;
    }
    const RobotsPlain *before = &prefixes->all[i - 1];
    size_t common =
        robots_common_length(robots->pool.data + before->text, before->length, path, length);
    uint32_t index = robots_climb(prefixes->all, (uint32_t)(i - 1), common);
    return index == ROBOTS_NONE ? NULL : &robots->rules[prefixes->all[index].rule];
}

/* The best rule that names exactly this path, or NULL. */
static const RobotsRule *find_exact(const Robots *robots, const char *path, size_t length,
                                    uint64_t key)
{
    const RobotsPlains *exacts = &robots->exacts;
    if (exacts->n == 0) {
        return NULL;
    }
    size_t i = robots_plains_from(robots, exacts, path, length, key);
    return robots_plain_is(robots, exacts, i, path, length, key)
               ? &robots->rules[exacts->all[i].rule]
               : NULL;
}

/* A path with what is asked about it, and what asking may still cost. */
typedef struct Question {
    const char *path;
    size_t length;
    uint64_t key;
    RobotsPairs pairs;
    bool has_pairs;
    int64_t steps;
} Question;

static RobotsMatch match_wild(const Robots *robots, const RobotsWild *wild, Question *question)
{
    /* From cheap to dear: eight bytes in one comparison, then 256 bits of pairs, then the search.
     * The first two never say no wrongly, and cost no more than the step that find_rule takes. */
    if ((question->key & wild->first_mask) != wild->first_key) {
        return ROBOTS_MATCH_NO;
    }
    if (!question->has_pairs) {
        robots_pairs_of(question->path, question->length, &question->pairs);
        question->has_pairs = true;
    }
    if (!robots_pairs_within(&wild->pattern.pairs, &question->pairs)) {
        return ROBOTS_MATCH_NO;
    }
    /* Only here: a rule refuted above is decided even without steps. */
    if (question->steps <= 0) {
        return ROBOTS_MATCH_UNKNOWN;
    }
    return robots_pattern_matches(&wild->pattern, robots->pool.data + wild->text, question->path,
                                  question->length, &question->steps);
}

/* The rule that decides, or NULL. Of a rule about which nothing is known for want of steps the
 * worse is believed: Disallow matches, Allow does not. */
static const RobotsRule *find_rule(const Robots *robots, Question *question, bool *undecided)
{
    question->key = robots_key_of(question->path, question->length);
    const RobotsRule *best = find_prefix(robots, question->path, question->length, question->key);
    const RobotsRule *exact = find_exact(robots, question->path, question->length, question->key);
    if (exact != NULL && (best == NULL || robots_rule_beats(exact, best))) {
        best = exact;
    }
    /* Best first, so that the first match decides, and a plain rule that beats the next ends the
     * search. */
    assert(robots->n_wilds == 0 || robots->rules != NULL);
    for (size_t i = 0; i < robots->n_wilds; i++) {
        const RobotsWild *wild = &robots->wilds[i];
        const RobotsRule *rule = &robots->rules[wild->rule];
        if (best != NULL && !robots_rule_beats(rule, best)) {
            break;
        }
        question->steps--;
        RobotsMatch match = match_wild(robots, wild, question);
        *undecided |= match == ROBOTS_MATCH_UNKNOWN;
        if (match == ROBOTS_MATCH_YES || (match == ROBOTS_MATCH_UNKNOWN && !rule->allow)) {
            return rule;
        }
    }
    /* Shortened rules beyond ROBOTS_WILD_MAX forbid more than they say (robots.h). */
    *undecided |= best != NULL && best->shortened;
    return best;
}

/* Decides about a path that is not empty and not that of robots.txt itself. */
static bool robots_decide_one(const Robots *robots, const char *path, size_t length, int64_t *steps,
                              const RobotsRule **rule, bool *undecided)
{
    RobotsPath normal;
    if (!robots_path_init(&normal, path, length)) {
        return false;
    }
    Question question = {.path = normal.bytes, .length = normal.length, .steps = *steps};
    *rule = find_rule(robots, &question, undecided);
    *steps = question.steps;
    free(normal.heap);
    return *rule == NULL || (*rule)->allow;
}

bool robots_decide(const Robots *robots, const char *path, size_t length,
                   RobotsAllowance *allowance, RobotsVerdict *verdict)
{
    static const char self[] = "/robots.txt";
    const RobotsRule *rule = NULL;
    bool allowed = true;
    bool undecided = false;
    if (length == 0) {
        path = "/";
        length = 1;
    }
    bool is_self = length == sizeof self - 1 && memcmp(path, self, length) == 0;
    if (!is_self && robots->n_rules > 0) {
        /* A path pays for its own length (free_steps), whatever the file. Beyond that a decision
         * spends what the file has saved, so a costly file cannot take more than
         * ROBOTS_EARNED_STEPS of each decision in the long run, and the next decision after a dear
         * one is given less. */
        int64_t free_steps = ROBOTS_FREE_STEPS_PER_BYTE * (int64_t)length;
        int64_t saved = allowance->steps + ROBOTS_EARNED_STEPS;
        int64_t given = saved < ROBOTS_DECISION_STEPS ? saved : ROBOTS_DECISION_STEPS;
        int64_t left = free_steps + (given > 0 ? given : 0);
        int64_t used = left;
        allowed = robots_decide_one(robots, path, length, &left, &rule, &undecided);
        used -= left;
        allowance->spent += used;
        saved -= used > free_steps ? used - free_steps : 0;
        allowance->steps = saved < ROBOTS_SAVED_STEPS ? saved : ROBOTS_SAVED_STEPS;
    }
    *verdict = (RobotsVerdict){.allowed = allowed, .undecided = undecided};
    if (rule != NULL) {
        verdict->line = rule->line;
        verdict->rule = robots->pool.data + rule->text;
    }
    return allowed;
}

bool robots_allows(const Robots *robots, const char *path, size_t length, RobotsVerdict *verdict)
{
    RobotsAllowance allowance = ROBOTS_NEW_ALLOWANCE;
    RobotsVerdict unused;
    return robots_decide(robots, path, length, &allowance, verdict == NULL ? &unused : verdict);
}

int64_t robots_crawl_delay_ms(const Robots *robots)
{
    return robots->crawl_delay_ms;
}

int64_t robots_closed_ms(const Robots *robots, WallTime now)
{
    return robots->hours == NULL ? 0 : hours_wait_ms(robots->hours, now);
}

size_t robots_n_shortened(const Robots *robots)
{
    return robots->n_shortened;
}

size_t robots_n_sitemaps(const Robots *robots)
{
    return robots->n_sitemaps;
}

const char *robots_sitemap(const Robots *robots, size_t i)
{
    assert(i < robots->n_sitemaps);
    return robots->pool.data + robots->sitemaps[i].text;
}

size_t robots_bytes(const Robots *robots)
{
    /* By array_room, since arrays double: the budget counts what is reserved, not what is used. */
    size_t hours = robots->hours == NULL ? 0 : sizeof *robots->hours;
    return sizeof *robots + hours + robots->pool.capacity +
           array_room(robots->n_rules) * sizeof(RobotsRule) +
           (array_room(robots->prefixes.n) + array_room(robots->exacts.n)) * sizeof(RobotsPlain) +
           array_room(robots->n_wilds) * sizeof(RobotsWild) +
           array_room(robots->n_sitemaps) * sizeof(RobotsSitemap) +
           array_room(robots->n_usages) * sizeof(RobotsUsage);
}

#define NESTING 16u

/* ---- JSON ---- */

typedef struct Scan {
    const char *at;
    const char *end;
} Scan;

typedef struct Text {
    const char *bytes; /* between the quotes, escapes as written */
    size_t length;
} Text;

/* The next byte that is no white space; 0 at the end. */
static char peek(Scan *scan)
{
    while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) != NULL && *scan->at != '\0') {
        scan->at++;
    }
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool robots_tdm_take(Scan *scan, char byte)
{
    bool is_there = peek(scan) == byte;
    scan->at += is_there;
    return is_there;
}

static bool robots_tdm_take_text(Scan *scan, Text *text)
{
    if (!robots_tdm_take(scan, '"')) {
        return false;
    }
    const char *start = scan->at;
    while (scan->at < scan->end && *scan->at != '"') {
        scan->at += *scan->at == '\\' ? 2 : 1;
    }
    if (scan->at >= scan->end) {
        return false;
    }
    *text = (Text){.bytes = start, .length = (size_t)(scan->at - start)};
    scan->at++;
    return true;
}

/* A number or a word; *text is what stands there. */
static bool robots_tdm_take_word(Scan *scan, Text *text)
{
    (void)peek(scan);
    const char *start = scan->at;
    while (scan->at < scan->end && strchr(",]} \t\r\n", *scan->at) == NULL) {
        scan->at++;
    }
    *text = (Text){.bytes = start, .length = (size_t)(scan->at - start)};
    return text->length > 0;
}

/* Any value; *text is a string's or a word's. Nested values are skipped by counting brackets. */
static bool robots_tdm_take_value(Scan *scan, Text *text)
{
    unsigned depth = 0;
    *text = (Text){.length = 0};
    do {
        char next = peek(scan);
        if (next == '"') {
            if (!robots_tdm_take_text(scan, text)) {
                return false;
            }
        } else if (next == '[' || next == '{') {
            depth++;
            scan->at++;
        } else if (depth > 0 && (next == ']' || next == '}')) {
            depth--;
            scan->at++;
        } else if (depth > 0 && (next == ',' || next == ':')) {
            scan->at++;
        } else if (next == '\0' || !robots_tdm_take_word(scan, text)) {
            return false;
        }
    } while (depth > 0 && depth <= NESTING);
    return depth == 0;
}

static bool robots_tdm_is(Text text, const char *name)
{
    return text.length == strlen(name) && memcmp(text.bytes, name, text.length) == 0;
}

/* ---- rules ---- */

/* The path of a rule without the escape of a slash, which is the only one that is understood: what
 * stands behind another one counts as a wildcard when it reserves. *whole: there is none. */
static size_t robots_tdm_path(Text location, char path[ROBOTS_TDM_PATH], bool *whole)
{
    size_t n = 0;
    size_t i = 0;
    for (; i < location.length && n < ROBOTS_TDM_PATH; i++) {
        unsigned char c = (unsigned char)location.bytes[i];
        if (c == '\\' && i + 1 < location.length && location.bytes[i + 1] == '/') {
            continue;
        }
        if (c == '\\') {
            break;
        }
        path[n++] = (char)c;
    }
    *whole = i == location.length;
    return n;
}

static Result robots_tdm_add_rule(Robots *robots, Text location, Text reservation, Text words)
{
    char path[ROBOTS_TDM_PATH];
    bool reserves = robots_tdm_is(reservation, "1") || robots_tdm_is(reservation, "true");
    bool whole = false;
    size_t length = robots_tdm_path(location, path, &whole);
    if (length == 0 || path[0] != '/' || (!reserves && !robots_tdm_is(reservation, "0"))) {
        return RESULT_OK;
    }
    if (!reserves && !whole) {
        return RESULT_OK; /* what is allowed must be said plainly */
    }
    UsageStatement statement = {.place = USAGE_IN_TDM,
                                .text = words.bytes,
                                .length = words.length,
                                .usage = {.denied = reserves ? USAGE_TDM | USAGE_TRAIN_AI : 0,
                                          .allowed = reserves ? 0 : USAGE_TDM}};
    return robots_rules_add_usage(robots, path, length, &statement);
}

/* {"location": "/", "tdm-reservation": 1, ...} */
static Result take_rule(Robots *robots, Scan *scan)
{
    Text location = {.length = 0};
    Text reservation = {.length = 0};
    Text name;
    Text value;
    if (!robots_tdm_take(scan, '{')) {
        return RESULT_INVALID;
    }
    const char *start = scan->at - 1;
    while (!robots_tdm_take(scan, '}')) {
        if (!robots_tdm_take_text(scan, &name) || !robots_tdm_take(scan, ':') ||
            !robots_tdm_take_value(scan, &value)) {
            return RESULT_INVALID;
        }
        if (robots_tdm_is(name, "location")) {
            location = value;
        } else if (robots_tdm_is(name, "tdm-reservation")) {
            reservation = value;
        }
        (void)robots_tdm_take(scan, ',');
    }
    Text words = {.bytes = start, .length = (size_t)(scan->at - start)};
    return robots_tdm_add_rule(robots, location, reservation, words);
}

Result robots_add_tdm(Robots *robots, const char *text, size_t length)
{
    Scan scan = {.at = text, .end = text + (length > ROBOTS_MAX_BYTES ? ROBOTS_MAX_BYTES : length)};
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        scan.at += 3;
    }
    if (peek(&scan) == '{') {
        return take_rule(robots, &scan); /* a single rule without the list around it */
    }
    if (!robots_tdm_take(&scan, '[')) {
        return RESULT_INVALID;
    }
    while (!robots_tdm_take(&scan, ']')) {
        Result rc = take_rule(robots, &scan);
        if (rc != RESULT_OK) {
            return rc;
        }
        (void)robots_tdm_take(&scan, ',');
    }
    return RESULT_OK;
}
