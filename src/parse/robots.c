#include "parse/robots.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "parse/robots_line.h"
#include "parse/robots_pattern.h"

#define NONE UINT32_MAX

typedef struct Rule {
    uint32_t line;
    uint32_t octets; /* the longest match wins */
    uint32_t text;   /* offset in the pool */
    bool allow;
} Rule;

/* A rule without wildcards: sorted by its bytes, so that the longest prefix of a path is the path's
 * predecessor or one of that one's parents. */
typedef struct Prefix {
    uint64_t key; /* its first eight bytes, big-endian: order without touching the pool */
    uint32_t text;
    uint32_t length;
    uint32_t parent; /* the longest other prefix that is a prefix of this one, or NONE */
    uint32_t rule;   /* the best rule of this one and its parents */
} Prefix;

/* A rule with '*' or '$', sorted best first. */
typedef struct Wild {
    RobotsPattern pattern;
    uint64_t first_key; /* first eight bytes of what stands before the first wildcard */
    uint64_t first_mask;
    uint32_t text;
    uint32_t rule;
} Wild;

typedef struct Sitemap {
    uint64_t hash;
    uint32_t text;
} Sitemap;

struct Robots {
    Buffer pool; /* patterns, rule texts, sitemaps */
    Rule *rules;
    size_t n_rules, rules_capacity;
    Prefix *prefixes;
    size_t n_prefixes, prefixes_capacity;
    Wild *wilds;
    size_t n_wilds, wilds_capacity;
    Sitemap *sitemaps;
    size_t n_sitemaps, sitemaps_capacity;
    int64_t crawl_delay_ms;
};

/* ---- building ---- */

/* Room for one more item; NULL when there is no memory (the old array stays). */
static void *with_room(void *array, size_t n, size_t *capacity, size_t item_bytes)
{
    if (n < *capacity) {
        return array;
    }
    size_t wanted = *capacity == 0 ? 8 : 2 * *capacity;
    void *grown = realloc(array, wanted * item_bytes);
    if (grown != NULL) {
        *capacity = wanted;
    }
    return grown;
}

static uint64_t key_of(const char *bytes, size_t length)
{
    uint8_t first[8] = {0};
    memcpy(first, bytes, length < 8 ? length : 8);
    uint64_t key;
    memcpy(&key, first, 8);
    return __builtin_bswap64(key);
}

/* Appends bytes and a NUL, control characters as '?'. */
static Result keep_text(Robots *robots, const char *bytes, size_t length, uint32_t *offset)
{
    *offset = (uint32_t)robots->pool.length;
    Result rc = buffer_reserve(&robots->pool, length + 1);
    if (rc != RESULT_OK) {
        return rc;
    }
    char *to = robots->pool.data + robots->pool.length;
    for (size_t i = 0; i < length; i++) {
        uint8_t c = (uint8_t)bytes[i];
        to[i] = c < 0x20 || c == 0x7F ? '?' : bytes[i];
    }
    to[length] = '\0';
    robots->pool.length += length + 1;
    return RESULT_OK;
}

static Result add_prefix(Robots *robots, const RobotsPattern *pattern, uint32_t text, uint32_t rule)
{
    Prefix *grown = with_room(robots->prefixes, robots->n_prefixes, &robots->prefixes_capacity,
                              sizeof *robots->prefixes);
    if (grown == NULL) {
        return RESULT_MEMORY;
    }
    robots->prefixes = grown;
    robots->prefixes[robots->n_prefixes++] = (Prefix){
        .key = key_of(robots->pool.data + text, pattern->length),
        .text = text,
        .length = pattern->length,
        .parent = NONE,
        .rule = rule,
    };
    return RESULT_OK;
}

static Result add_wild(Robots *robots, const RobotsPattern *pattern, uint32_t text, uint32_t rule)
{
    Wild *grown =
        with_room(robots->wilds, robots->n_wilds, &robots->wilds_capacity, sizeof *robots->wilds);
    if (grown == NULL) {
        return RESULT_MEMORY;
    }
    robots->wilds = grown;
    size_t n = pattern->first_length < 8 ? pattern->first_length : 8;
    robots->wilds[robots->n_wilds++] = (Wild){
        .pattern = *pattern,
        .first_key = key_of(robots->pool.data + text, n),
        .first_mask = n == 0 ? 0 : UINT64_MAX << (64 - 8 * n),
        .text = text,
        .rule = rule,
    };
    return RESULT_OK;
}

static Result add_pattern(Robots *robots, const char *path, size_t length, Rule rule)
{
    RobotsPattern pattern;
    uint32_t text = (uint32_t)robots->pool.length;
    Result rc = robots_pattern_compile(path, length, &robots->pool, &pattern, &rule.octets);
    if (rc != RESULT_OK) {
        return rc;
    }
    Rule *grown =
        with_room(robots->rules, robots->n_rules, &robots->rules_capacity, sizeof *robots->rules);
    if (grown == NULL) {
        return RESULT_MEMORY;
    }
    robots->rules = grown;
    uint32_t index = (uint32_t)robots->n_rules;
    robots->rules[robots->n_rules++] = rule;
    return pattern.has_wildcard || pattern.is_anchored ? add_wild(robots, &pattern, text, index)
                                                       : add_prefix(robots, &pattern, text, index);
}

static Result add_rule(Robots *robots, const RobotsLine *line)
{
    if (line->value_length == 0) {
        return RESULT_OK; /* matches with no octets: decides nothing */
    }
    Rule rule = {.line = line->number, .allow = line->kind == ROBOTS_LINE_ALLOW};
    size_t text_length =
        line->text_length < ROBOTS_RULE_TEXT_BYTES ? line->text_length : ROBOTS_RULE_TEXT_BYTES;
    Result rc = keep_text(robots, line->text, text_length, &rule.text);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = add_pattern(robots, line->value, line->value_length, rule);
    if (rc != RESULT_OK || !rule.allow) {
        return rc;
    }
    /* "Allow: /d/index.html" means the folder's page, whose usual address is "/d/". */
    const char *slash = memrchr(line->value, '/', line->value_length);
    static const char index_name[] = "/index.htm";
    size_t n = sizeof index_name - 1;
    if (slash == NULL || (size_t)(line->value + line->value_length - slash) < n ||
        memcmp(slash, index_name, n) != 0) {
        return RESULT_OK;
    }
    size_t folder_length = (size_t)(slash - line->value) + 1;
    char *folder = malloc(folder_length + 1);
    if (folder == NULL) {
        return RESULT_MEMORY;
    }
    memcpy(folder, line->value, folder_length);
    folder[folder_length] = '$';
    rc = add_pattern(robots, folder, folder_length + 1, rule);
    free(folder);
    return rc;
}

static Result add_sitemap(Robots *robots, const RobotsLine *line)
{
    uint64_t hash = hash_64(line->value, line->value_length, 0);
    bool is_known = false;
    for (size_t i = 0; i < robots->n_sitemaps && !is_known; i++) {
        is_known = robots->sitemaps[i].hash == hash;
    }
    if (is_known || line->value_length == 0 || robots->n_sitemaps >= ROBOTS_MAX_SITEMAPS) {
        return RESULT_OK;
    }
    Sitemap *grown = with_room(robots->sitemaps, robots->n_sitemaps, &robots->sitemaps_capacity,
                               sizeof *robots->sitemaps);
    if (grown == NULL) {
        return RESULT_MEMORY;
    }
    robots->sitemaps = grown;
    Sitemap *sitemap = &robots->sitemaps[robots->n_sitemaps];
    sitemap->hash = hash;
    Result rc = keep_text(robots, line->value, line->value_length, &sitemap->text);
    robots->n_sitemaps += rc == RESULT_OK ? 1 : 0;
    return rc;
}

/* "5", "0.5", "10<BR>": what follows the number is ignored. -1 when it is none. */
static int64_t delay_of(const char *p, size_t length)
{
    const char *end = p + length;
    int64_t ms = 0;
    bool any = false;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        any = true;
        ms = ms * 10 + (*p - '0') * INT64_C(1000);
        ms = ms > ROBOTS_DELAY_MAX_MS ? ROBOTS_DELAY_MAX_MS : ms;
    }
    if (p < end && *p == '.') {
        int64_t unit = 100;
        for (p++; p < end && *p >= '0' && *p <= '9'; p++) {
            any = true;
            ms += (*p - '0') * unit;
            unit /= 10;
        }
    }
    return !any ? -1 : ms > ROBOTS_DELAY_MAX_MS ? ROBOTS_DELAY_MAX_MS : ms;
}

/* ---- groups ---- */

typedef struct Agent {
    const char *token; /* NULL: the "*" groups */
    size_t length;
} Agent;

static bool names_agent(const RobotsLine *line, Agent agent)
{
    if (agent.token == NULL) {
        return robots_is_any_agent(line->value, line->value_length);
    }
    return robots_token_length(line->value, line->value_length) == agent.length &&
           strncasecmp(line->value, agent.token, agent.length) == 0;
}

static bool has_group(const char *body, size_t length, Agent agent)
{
    RobotsReader reader;
    RobotsLine line;
    robots_reader_init(&reader, body, length);
    while (robots_reader_next(&reader, &line)) {
        if (line.kind == ROBOTS_LINE_AGENT && names_agent(&line, agent)) {
            return true;
        }
    }
    return false;
}

/* Where the reader stands: a User-agent line after a rule starts a new group. A Crawl-delay line
 * ends the list of agents for delays only, so that the rules below it still belong to all. */
typedef struct Group {
    bool is_ours;
    bool had_rule;
    bool delay_is_ours;
    bool had_delay;
} Group;

static void group_take_agent(Group *group, bool is_ours)
{
    if (group->had_rule) {
        *group = (Group){0};
    }
    if (group->had_delay) {
        group->delay_is_ours = false;
        group->had_delay = false;
    }
    group->is_ours |= is_ours;
    group->delay_is_ours |= is_ours;
}

static Result read_lines(Robots *robots, const char *body, size_t length, Agent agent)
{
    RobotsReader reader;
    RobotsLine line;
    Group group = {0};
    Result rc = RESULT_OK;
    robots_reader_init(&reader, body, length);
    while (rc == RESULT_OK && robots_reader_next(&reader, &line)) {
        switch (line.kind) {
        case ROBOTS_LINE_AGENT:
            group_take_agent(&group, names_agent(&line, agent));
            break;
        case ROBOTS_LINE_ALLOW:
        case ROBOTS_LINE_DISALLOW:
            group.had_rule = true;
            rc = group.is_ours ? add_rule(robots, &line) : RESULT_OK;
            break;
        case ROBOTS_LINE_DELAY:
            group.had_delay = true;
            if (group.delay_is_ours) {
                int64_t ms = delay_of(line.value, line.value_length);
                robots->crawl_delay_ms = ms > robots->crawl_delay_ms ? ms : robots->crawl_delay_ms;
            }
            break;
        case ROBOTS_LINE_SITEMAP:
            rc = add_sitemap(robots, &line);
            break;
        case ROBOTS_LINE_OTHER:
            break;
        }
    }
    return rc;
}

/* ---- sorting ---- */

/* The order in which rules decide: most octets, then Allow, then the earlier line. */
static bool rule_beats(const Rule *a, const Rule *b)
{
    if (a->octets != b->octets) {
        return a->octets > b->octets;
    }
    if (a->allow != b->allow) {
        return a->allow;
    }
    return a->line < b->line;
}

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_prefixes(const void *a, const void *b, void *context)
{
    const Prefix *x = a;
    const Prefix *y = b;
    const Robots *robots = context;
    const char *pool = robots->pool.data;
    int order = compare_bytes(pool + x->text, x->length, pool + y->text, y->length);
    if (order != 0) {
        return order;
    }
    return rule_beats(&robots->rules[x->rule], &robots->rules[y->rule]) ? -1 : x->rule != y->rule;
}

static int compare_wilds(const void *a, const void *b, void *context)
{
    const Wild *x = a;
    const Wild *y = b;
    const Robots *robots = context;
    return rule_beats(&robots->rules[x->rule], &robots->rules[y->rule]) ? -1 : x->rule != y->rule;
}

static size_t common_length(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t n = a_length < b_length ? a_length : b_length;
    size_t i = 0;
    while (i < n && a[i] == b[i]) {
        i++;
    }
    return i;
}

/* The first of index and its parents that is no longer than length; NONE if there is none. */
static uint32_t climb(const Prefix *prefixes, uint32_t index, size_t length)
{
    while (index != NONE && prefixes[index].length > length) {
        index = prefixes[index].parent;
    }
    return index;
}

static void link_prefixes(Robots *robots)
{
    const char *pool = robots->pool.data;
    size_t kept = 0;
    for (size_t i = 0; i < robots->n_prefixes; i++) {
        Prefix p = robots->prefixes[i];
        if (kept > 0) {
            const Prefix *before = &robots->prefixes[kept - 1];
            size_t common =
                common_length(pool + before->text, before->length, pool + p.text, p.length);
            if (common == p.length && common == before->length) {
                continue; /* the same path: the better rule came first */
            }
            p.parent = climb(robots->prefixes, (uint32_t)(kept - 1), common);
        }
        if (p.parent != NONE) {
            uint32_t inherited = robots->prefixes[p.parent].rule;
            if (rule_beats(&robots->rules[inherited], &robots->rules[p.rule])) {
                p.rule = inherited;
            }
        }
        robots->prefixes[kept++] = p;
    }
    robots->n_prefixes = kept;
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
    Result rc = robots_allow_all(robots);
    if (rc != RESULT_OK) {
        return rc;
    }
    Agent wanted = {.token = agent, .length = robots_token_length(agent, strlen(agent))};
    if (wanted.length == 0 || !has_group(body, length, wanted)) {
        wanted = (Agent){.token = NULL};
    }
    Robots *r = *robots;
    rc = read_lines(r, body, length, wanted);
    if (rc != RESULT_OK) {
        robots_delete(r);
        *robots = NULL;
        return rc;
    }
    if (r->n_prefixes > 0) {
        qsort_r(r->prefixes, r->n_prefixes, sizeof *r->prefixes, compare_prefixes, r);
        link_prefixes(r);
    }
    if (r->n_wilds > 0) {
        qsort_r(r->wilds, r->n_wilds, sizeof *r->wilds, compare_wilds, r);
    }
    return RESULT_OK;
}

Result robots_deny_all(Robots **robots)
{
    static const char everything[] = "User-agent: *\nDisallow: /\n";
    return robots_parse(everything, sizeof everything - 1, "", robots);
}

void robots_delete(Robots *robots)
{
    if (robots == NULL) {
        return;
    }
    buffer_destroy(&robots->pool);
    free(robots->rules);
    free(robots->prefixes);
    free(robots->wilds);
    free(robots->sitemaps);
    free(robots);
}

/* The best rule among the plain prefixes of path, or NULL. */
static const Rule *find_prefix(const Robots *robots, const char *path, size_t length, uint64_t key)
{
    const char *pool = robots->pool.data;
    const Prefix *prefixes = robots->prefixes;
    size_t low = 0; /* all below are not behind path */
    size_t high = robots->n_prefixes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const Prefix *p = &prefixes[middle];
        bool is_behind = p->key > key;
        if (p->key == key) {
            is_behind = compare_bytes(pool + p->text, p->length, path, length) > 0;
        }
        if (is_behind) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (low == 0) {
        return NULL;
    }
    const Prefix *before = &prefixes[low - 1];
    size_t common = common_length(pool + before->text, before->length, path, length);
    uint32_t index = climb(prefixes, (uint32_t)(low - 1), common);
    return index == NONE ? NULL : &robots->rules[prefixes[index].rule];
}

static const Rule *find_rule(const Robots *robots, const char *path, size_t length)
{
    uint64_t key = key_of(path, length);
    const Rule *best = find_prefix(robots, path, length, key);
    RobotsPairs pairs = {{0}};
    bool has_pairs = false;
    for (size_t i = 0; i < robots->n_wilds; i++) {
        const Wild *wild = &robots->wilds[i];
        const Rule *rule = &robots->rules[wild->rule];
        if (best != NULL && !rule_beats(rule, best)) {
            break;
        }
        if ((key & wild->first_mask) != wild->first_key) {
            continue;
        }
        if (!has_pairs) {
            robots_pairs_of(path, length, &pairs);
            has_pairs = true;
        }
        if (robots_pairs_within(&wild->pattern.pairs, &pairs) &&
            robots_pattern_matches(&wild->pattern, robots->pool.data + wild->text, path, length)) {
            return rule;
        }
    }
    return best;
}

#define STACK_PATH_BYTES 1024

bool robots_allows(const Robots *robots, const char *path, size_t length, RobotsVerdict *verdict)
{
    static const char self[] = "/robots.txt";
    char stack[3 * STACK_PATH_BYTES];
    char *heap = NULL;
    const Rule *rule = NULL;
    bool allowed = true;
    if (length == 0) {
        path = "/";
        length = 1;
    }
    bool is_self = length == sizeof self - 1 && memcmp(path, self, length) == 0;
    if (!is_self && robots->n_rules > 0) {
        if (!robots_path_is_normal(path, length)) {
            heap = length <= STACK_PATH_BYTES ? NULL : malloc(3 * length);
            char *normal = length <= STACK_PATH_BYTES ? stack : heap;
            allowed = normal != NULL;
            length = normal == NULL ? 0 : robots_path_normalize(path, length, normal);
            path = normal;
        }
        if (allowed) {
            rule = find_rule(robots, path, length);
            allowed = rule == NULL || rule->allow;
        }
        free(heap);
    }
    if (verdict != NULL) {
        *verdict = (RobotsVerdict){.allowed = allowed};
        if (rule != NULL) {
            verdict->line = rule->line;
            verdict->rule = robots->pool.data + rule->text;
        }
    }
    return allowed;
}

int64_t robots_crawl_delay_ms(const Robots *robots)
{
    return robots->crawl_delay_ms;
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
    return sizeof *robots + robots->pool.capacity + robots->rules_capacity * sizeof(Rule) +
           robots->prefixes_capacity * sizeof(Prefix) + robots->wilds_capacity * sizeof(Wild) +
           robots->sitemaps_capacity * sizeof(Sitemap);
}
