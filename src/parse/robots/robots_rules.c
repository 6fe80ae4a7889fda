#include "parse/robots/robots_rules.h"

#include <stdlib.h>

#include "base/memory/base64.h"
#include "base/core/hash.h"
#include "base/memory/array.h"

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

static Result robots_add_plain(Robots *robots, RobotsPlains *plains, const RobotsPattern *pattern,
                               uint32_t text, uint32_t rule)
{
    RobotsPlain plain = {.key = robots_key_of(robots->pool.data + text, pattern->length),
                         .text = text,
                         .length = pattern->length,
                         .parent = ROBOTS_NONE,
                         .rule = rule};
    return array_add(&plains->all, &plains->n, sizeof plain, &plain);
}

/* Whether the same pattern is among the wildcard rules already; the better rule stays. */
static bool is_known_wild(Robots *robots, MapKey key, const RobotsPattern *pattern, uint32_t text,
                          uint32_t rule)
{
    uintptr_t place = (uintptr_t)map_get(&robots->wild_by_text, key);
    if (place == 0) {
        return false;
    }
    RobotsWild *wild = &robots->wilds[place - 1];
    const char *pool = robots->pool.data;
    if (robots_compare_bytes(pool + wild->text, wild->pattern.length, pool + text,
                             pattern->length) != 0 ||
        wild->pattern.is_anchored != pattern->is_anchored) {
        return false; /* another pattern with the same hash */
    }
    if (robots_rule_beats(&robots->rules[rule], &robots->rules[wild->rule])) {
        wild->rule = rule;
    }
    return true;
}

static Result add_wild(Robots *robots, const RobotsPattern *pattern, uint32_t text, uint32_t rule)
{
    MapKey key = {.high = pattern->is_anchored,
                  .low = hash_64(robots->pool.data + text, pattern->length, 0)};
    if (is_known_wild(robots, key, pattern, text, rule)) {
        return RESULT_OK;
    }
    if (robots->n_wilds >= ROBOTS_WILD_MAX) {
        /* A rule with a wildcard that is one too many. What stands before the wildcard is forbidden
         * whole; what the rule would allow is not allowed. */
        robots->n_shortened++;
        if (robots->rules[rule].allow) {
            return RESULT_OK;
        }
        robots->rules[rule].shortened = true;
        RobotsPattern prefix = {.length = pattern->first_length};
        return robots_add_plain(robots, &robots->prefixes, &prefix, text, rule);
    }
    size_t n = pattern->first_length < 8 ? pattern->first_length : 8;
    RobotsWild wild = {.pattern = *pattern,
                       .first_key = robots_key_of(robots->pool.data + text, n),
                       .first_mask = n == 0 ? 0 : UINT64_MAX << (64 - 8 * n),
                       .text = text,
                       .rule = rule};
    if (array_add(&robots->wilds, &robots->n_wilds, sizeof wild, &wild) != RESULT_OK) {
        return RESULT_MEMORY;
    }
    return map_put(&robots->wild_by_text, key, (void *)(uintptr_t)robots->n_wilds);
}

static Result add_pattern(Robots *robots, const char *path, size_t length, RobotsRule rule)
{
    RobotsPattern pattern;
    uint32_t text = (uint32_t)robots->pool.length;
    Result rc = robots_pattern_compile(path, length, &robots->pool, &pattern, &rule.octets);
    if (rc != RESULT_OK) {
        return rc;
    }
    uint32_t index = (uint32_t)robots->n_rules;
    rc = array_add(&robots->rules, &robots->n_rules, sizeof rule, &rule);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (pattern.has_wildcard) {
        return add_wild(robots, &pattern, text, index);
    }
    return robots_add_plain(robots, pattern.is_anchored ? &robots->exacts : &robots->prefixes,
                            &pattern, text, index);
}

Result robots_rules_add(Robots *robots, const RobotsLine *line)
{
    if (line->value_length == 0) {
        return RESULT_OK; /* matches with no octets: decides nothing */
    }
    RobotsRule rule = {.line = line->number, .allow = line->kind == ROBOTS_LINE_ALLOW};
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

Result robots_rules_add_usage(Robots *robots, const char *path, size_t length,
                              const UsageStatement *statement)
{
    RobotsUsage rule = {
        .line = statement->line, .place = statement->place, .usage = statement->usage};
    if ((rule.usage.denied | rule.usage.allowed) == 0) {
        return RESULT_OK;
    }
    if (robots->n_usages >= ROBOTS_MAX_USAGES) {
        return RESULT_LIMIT;
    }
    rule.text = (uint32_t)robots->pool.length;
    Result rc = robots_pattern_compile(path, length, &robots->pool, &rule.pattern, &rule.octets);
    if (rc != RESULT_OK) {
        return rc;
    }
    size_t words =
        statement->length < ROBOTS_RULE_TEXT_BYTES ? statement->length : ROBOTS_RULE_TEXT_BYTES;
    rc = keep_text(robots, statement->text, words, &rule.words);
    return rc == RESULT_OK ? array_add(&robots->usages, &robots->n_usages, sizeof rule, &rule) : rc;
}

Result robots_rules_add_licence(Robots *robots, const RobotsLine *line, unsigned standing)
{
    if (standing < robots->licence_standing || standing == 0 || line->value_length == 0) {
        return RESULT_OK;
    }
    robots->n_licences = standing > robots->licence_standing ? 0 : robots->n_licences;
    robots->licence_standing = standing;
    for (size_t i = 0; i < robots->n_licences; i++) {
        const char *known = robots->pool.data + robots->licences[i].address;
        if (strlen(known) == line->value_length &&
            memcmp(known, line->value, line->value_length) == 0) {
            return RESULT_OK;
        }
    }
    if (robots->n_licences == ROBOTS_LICENCES) {
        return RESULT_OK; /* the one before will not be read, either */
    }
    RobotsLicence *licence = &robots->licences[robots->n_licences++];
    licence->line = line->number;
    return keep_text(robots, line->value, line->value_length, &licence->address);
}

Result robots_rules_add_sitemap(Robots *robots, const RobotsLine *line)
{
    uint64_t hash = hash_64(line->value, line->value_length, 0);
    bool is_known = false;
    for (size_t i = 0; i < robots->n_sitemaps && !is_known; i++) {
        is_known = robots->sitemaps[i].hash == hash;
    }
    if (is_known || line->value_length == 0 || robots->n_sitemaps >= ROBOTS_MAX_SITEMAPS) {
        return RESULT_OK;
    }
    RobotsSitemap sitemap = {.hash = hash};
    Result rc = keep_text(robots, line->value, line->value_length, &sitemap.text);
    return rc == RESULT_OK
               ? array_add(&robots->sitemaps, &robots->n_sitemaps, sizeof sitemap, &sitemap)
               : rc;
}

/* ---- sorting ---- */

static int compare_plains(const void *a, const void *b, void *context)
{
    const RobotsPlain *x = a;
    const RobotsPlain *y = b;
    const Robots *robots = context;
    const char *pool = robots->pool.data;
    int order = robots_compare_bytes(pool + x->text, x->length, pool + y->text, y->length);
    if (order != 0) {
        return order;
    }
    return robots_rule_beats(&robots->rules[x->rule], &robots->rules[y->rule]) ? -1
                                                                               : x->rule != y->rule;
}

static int compare_wilds(const void *a, const void *b, void *context)
{
    const RobotsWild *x = a;
    const RobotsWild *y = b;
    const Robots *robots = context;
    return robots_rule_beats(&robots->rules[x->rule], &robots->rules[y->rule]) ? -1
                                                                               : x->rule != y->rule;
}

static void link_prefixes(Robots *robots)
{
    RobotsPlains *prefixes = &robots->prefixes;
    const char *pool = robots->pool.data;
    size_t kept = 0;
    for (size_t i = 0; i < prefixes->n; i++) {
        RobotsPlain p = prefixes->all[i];
        if (kept > 0) {
            const RobotsPlain *before = &prefixes->all[kept - 1];
            size_t common =
                robots_common_length(pool + before->text, before->length, pool + p.text, p.length);
            if (common == p.length && common == before->length) {
                continue; /* the same path: the better rule came first */
            }
            p.parent = robots_climb(prefixes->all, (uint32_t)(kept - 1), common);
        }
        if (p.parent != ROBOTS_NONE) {
            uint32_t inherited = prefixes->all[p.parent].rule;
            if (robots_rule_beats(&robots->rules[inherited], &robots->rules[p.rule])) {
                p.rule = inherited;
            }
        }
        prefixes->all[kept++] = p;
    }
    prefixes->n = kept;
}

static void robots_sort_plains(Robots *robots, RobotsPlains *plains)
{
    if (plains->n > 0) {
        qsort_r(plains->all, plains->n, sizeof *plains->all, compare_plains, robots);
    }
}

void robots_rules_sort(Robots *robots)
{
    map_destroy(&robots->wild_by_text);
    robots_sort_plains(robots, &robots->prefixes);
    link_prefixes(robots);
    robots_sort_plains(robots, &robots->exacts);
    if (robots->n_wilds > 0) {
        qsort_r(robots->wilds, robots->n_wilds, sizeof *robots->wilds, compare_wilds, robots);
    }
}

/* ---- Robots pattern ---- */

enum {
    PLAIN = 1,      /* stands for itself in a normalised path */
    UNRESERVED = 2, /* its escape is decoded */
};

/* Letters, digits, -._~ are unreserved (RFC 3986); the reserved ones stand for themselves but for
 * '*' and '$'; '#' cannot occur in a path and is escaped. */
static const uint8_t byte_class[256] = {
    /* clang-format off */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 00 */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 10 */
    0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 3, 3, 1, /* 20 */
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 0, 1, 0, 1, /* 30 */
    1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, /* 40 */
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 0, 1, 0, 3, /* 50 */
    0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, /* 60 */
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 3, 0, /* 70 */
    /* clang-format on; the upper half is 0 */
};

static const char hex_digits[] = "0123456789ABCDEF";

/* The byte that an escape at p stands for, or -1 when there is none. */
static int escaped_byte(const char *p, const char *end)
{
    if (end - p < 3 || p[0] != '%') {
        return -1;
    }
    int high = hex_value(p[1]);
    int low = hex_value(p[2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static char *put_escape(char *out, uint8_t byte)
{
    *out++ = '%';
    *out++ = hex_digits[byte >> 4];
    *out++ = hex_digits[byte & 15];
    return out;
}

/* Writes the normal form of what stands at *p, at most three bytes, and steps behind it. */
static char *put_normal(char *out, const char **p, const char *end)
{
    uint8_t byte = (uint8_t)**p;
    int decoded = byte == '%' ? escaped_byte(*p, end) : -1;
    if (decoded >= 0) {
        *p += 3;
        if (byte_class[decoded] & UNRESERVED) {
            *out++ = (char)decoded;
            return out;
        }
        return put_escape(out, (uint8_t)decoded);
    }
    *p += 1;
    if ((byte_class[byte] & PLAIN) != 0 || byte == '%') { /* a lone '%' stays */
        *out++ = (char)byte;
        return out;
    }
    return put_escape(out, byte);
}

bool robots_path_is_normal(const char *path, size_t length)
{
    const uint8_t *p = (const uint8_t *)path;
    unsigned all = PLAIN;
    for (size_t i = 0; i < length; i++) {
        all &= byte_class[p[i]];
    }
    return all == PLAIN;
}

size_t robots_path_normalize(const char *path, size_t length, char *out)
{
    const char *end = path + length;
    char *to = out;
    while (path < end) {
        to = put_normal(to, &path, end);
    }
    return (size_t)(to - out);
}

void robots_pairs_of(const char *bytes, size_t length, RobotsPairs *pairs)
{
    const uint8_t *p = (const uint8_t *)bytes;
    for (size_t i = 1; i < length; i++) {
        uint8_t a = p[i - 1];
        uint8_t b = p[i];
        uint32_t key = ((uint32_t)a << 8) | b;
        unsigned bit = (key * UINT32_C(0x9E3779B1)) >> 24;
        pairs->bits[bit >> 6] |= UINT64_C(1) << (bit & 63);
    }
}

static void describe(RobotsPattern *pattern, const char *text)
{
    const char *end = text + pattern->length;
    const char *part = text;
    const char *star = memchr(text, '*', pattern->length);
    pattern->has_wildcard = star != NULL;
    pattern->first_length = (uint32_t)(star != NULL ? star - text : end - text);
    while (star != NULL) {
        robots_pairs_of(part, (size_t)(star - part), &pattern->pairs);
        part = star + 1;
        star = memchr(part, '*', (size_t)(end - part));
    }
    robots_pairs_of(part, (size_t)(end - part), &pattern->pairs);
}

Result robots_pattern_compile(const char *rule, size_t length, Buffer *out, RobotsPattern *pattern,
                              uint32_t *octets)
{
    *pattern = (RobotsPattern){.is_anchored = length > 0 && rule[length - 1] == '$'};
    *octets = pattern->is_anchored ? 1 : 0;
    Result rc = buffer_reserve(out, 3 * length + 1);
    if (rc != RESULT_OK) {
        return rc;
    }
    const char *end = rule + length - (pattern->is_anchored ? 1 : 0);
    char *start = out->data + out->length;
    char *to = start;
    while (rule < end) {
        if (*rule == '*') {
            rule++;
            (*octets)++;
            if (to == start || to[-1] != '*') {
                *to++ = '*';
            }
            continue;
        }
        /* An octet written plainly counts once even where its normal form is an escape. */
        bool is_plain_ascii = (uint8_t)*rule < 0x80 && *rule != '%';
        char *before = to;
        to = put_normal(to, &rule, end);
        *octets += is_plain_ascii ? 1 : (uint32_t)(to - before);
    }
    if (!pattern->is_anchored && to > start && to[-1] == '*') {
        to--;
    }
    *to = '\0';
    pattern->length = (uint32_t)(to - start);
    out->length += pattern->length;
    describe(pattern, start);
    return RESULT_OK;
}

/* Steps of looking for a part of n bytes in a text: memmem compares up to 256 bytes of the
 * part at each place, 32 in a step; for longer parts it is linear, but begins with a table. */
static int64_t search_steps(size_t bytes, size_t n)
{
    return n > 256 ? (int64_t)(2 * bytes + 2 * n + 512) : (int64_t)(bytes * (1 + n / 32) + 16);
}

/* The parts behind the first '*', leftmost one after the other. */
static RobotsMatch match_rest(const RobotsPattern *pattern, const char *text, const char *path,
                              const char *path_end, int64_t *steps)
{
    const char *end = text + pattern->length;
    const char *part = text + pattern->first_length + 1;
    for (;;) {
        const char *star = memchr(part, '*', (size_t)(end - part));
        size_t n = (size_t)((star != NULL ? star : end) - part);
        size_t left = (size_t)(path_end - path);
        if (star == NULL && pattern->is_anchored) {
            *steps -= (int64_t)(n / 32);
            return left >= n && memcmp(path_end - n, part, n) == 0 ? ROBOTS_MATCH_YES
                                                                   : ROBOTS_MATCH_NO;
        }
        if (n > left) {
            return ROBOTS_MATCH_NO;
        }
        if (search_steps(left, n) > *steps) {
            return ROBOTS_MATCH_UNKNOWN;
        }
        const char *found = memmem(path, left, part, n);
        *steps -= search_steps(found == NULL ? left : (size_t)(found - path) + n, n);
        if (found == NULL || star == NULL) {
            return found != NULL ? ROBOTS_MATCH_YES : ROBOTS_MATCH_NO;
        }
        path = found + n;
        part = star + 1;
    }
}

RobotsMatch robots_pattern_matches(const RobotsPattern *pattern, const char *text, const char *path,
                                   size_t length, int64_t *steps)
{
    size_t n = pattern->first_length;
    *steps -= (int64_t)(n / 32);
    if (length < n || memcmp(path, text, n) != 0) {
        return ROBOTS_MATCH_NO;
    }
    if (!pattern->has_wildcard) {
        return !pattern->is_anchored || length == n ? ROBOTS_MATCH_YES : ROBOTS_MATCH_NO;
    }
    return match_rest(pattern, text, path + n, path + length, steps);
}
