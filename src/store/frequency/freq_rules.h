/* How often pages are to be visited: rules by regular expression, and estimates from what was seen.
 *
 * What: a rules file has one rule a line: a regular expression (PCRE2, searched anywhere in the
 * URL), blanks, and how often: an interval (`3600`, `90s`, `15m`, `6h`, `2d`; bare numbers are
 * seconds) or `xN`, N times as often as the page changes. The first rule that matches decides;
 * blank lines and lines that begin with '#' are skipped.
 *
 * Change rates are estimated from visits: a page that was found changed in X of n visits after the
 * first, spread over T seconds, changes like a Poisson process of rate -log((n - X + 0.5) / (n +
 * 0.5)) / (T / n). Unlike the documented page_info_rate, (X + 1) / T, that does not fall short when
 * a page changes more often than it is visited.
 *
 * Owns: a rules object owns its expressions.
 * Threads: a rules object may be read by any thread; the rest are pure functions.
 * Errors: those of freq_scheduler.h; a line that cannot be used is named in the error.
 * Source: J. Cho and H. Garcia-Molina, Estimating frequency of change. */
#ifndef STORE_FREQUENCY_FREQ_RULES_H
#define STORE_FREQUENCY_FREQ_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct FreqRules FreqRules;

/* Parses text. RESULT_INVALID: *line is the first bad line (from 1), *why says what is wrong with
 * it (why: at least FREQ_RULES_WHY_BYTES, or NULL). RESULT_MEMORY. */
#define FREQ_RULES_WHY_BYTES 256
Result freq_rules_new(FreqRules **rules, const char *text, size_t length, size_t *line, char *why);
/* NULL is allowed. */
void freq_rules_delete(FreqRules *rules);

/* Visits per second of a URL whose change rate is rate (not above 0: unknown). RESULT_NOT_FOUND: no
 * rule matches, or the one that does needs a rate that is unknown. A match that exceeds its limits
 * counts as none. */
Result freq_rules_find(const FreqRules *rules, const char *url, size_t length, double rate,
                       double *freq);

/* Changes per second; negative when the page was not visited twice at different times. */
double freq_change_rate(uint64_t n_crawls, uint64_t n_changes, double first_crawl,
                        double last_crawl);

#endif
