#include "parse/robots/robots_usage.h"

#include <string.h>

#include "parse/robots/robots_rules.h"

/* Whether a path begins with that of a rule. */
static bool robots_usage_fits(const Robots *robots, const RobotsUsage *rule, const char *path,
                              size_t length)
{
    return rule->length <= length &&
           (rule->length == 0 || memcmp(robots->pool.data + rule->text, path, rule->length) == 0);
}

/* The length of the longest path that fits, of robots.txt or of tdmrep.json. */
static size_t robots_usage_longest(const Robots *robots, bool of_file, const char *path,
                                   size_t length)
{
    size_t longest = 0;
    for (size_t i = 0; i < robots->n_usages; i++) {
        const RobotsUsage *rule = &robots->usages[i];
        if (rule->of_file == of_file && rule->length > longest &&
            robots_usage_fits(robots, rule, path, length)) {
            longest = rule->length;
        }
    }
    return longest;
}

/* The next rule that counts, from *i on; NULL at the end. longest: of robots.txt, of tdmrep.json */
static const RobotsUsage *robots_usage_next(const Robots *robots, const size_t longest[2],
                                            const char *path, size_t length, size_t *i)
{
    while (*i < robots->n_usages) {
        const RobotsUsage *rule = &robots->usages[(*i)++];
        if (rule->length == longest[rule->of_file] &&
            robots_usage_fits(robots, rule, path, length)) {
            return rule;
        }
    }
    return NULL;
}

size_t robots_usage_lines(const Robots *robots, const char *path, size_t length,
                          RobotsUsageLine *lines, size_t max)
{
    const size_t longest[2] = {robots_usage_longest(robots, false, path, length),
                               robots_usage_longest(robots, true, path, length)};
    size_t n = 0;
    size_t i = 0;
    const RobotsUsage *rule = robots_usage_next(robots, longest, path, length, &i);
    while (rule != NULL && n < max) {
        lines[n++] =
            (RobotsUsageLine){.line = rule->line, .of_file = rule->of_file, .usage = rule->usage};
        rule = robots_usage_next(robots, longest, path, length, &i);
    }
    return n;
}

Usage robots_usage(const Robots *robots, const char *path, size_t length)
{
    Usage usage = {0};
    if (robots->n_usages == 0) {
        return usage;
    }
    const size_t longest[2] = {robots_usage_longest(robots, false, path, length),
                               robots_usage_longest(robots, true, path, length)};
    size_t i = 0;
    const RobotsUsage *rule = robots_usage_next(robots, longest, path, length, &i);
    while (rule != NULL) {
        usage = usage_join(usage, rule->usage);
        rule = robots_usage_next(robots, longest, path, length, &i);
    }
    return usage;
}
