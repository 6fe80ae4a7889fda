/* Content scores by the operator's rules (score.rules): how much a link promises, and how much a
 * page kept of it.
 *
 * A file of lines `WEIGHT FILTER`: a number from 0 to 1, blanks, and an expression of the filter
 * language (parse/filter/filter.h); blank lines and lines that begin with '#' do not count. The
 * first rule that matches decides; what none matches has SCORE_RULES_NEUTRAL. A link is asked about
 * with its URL, its depth and the page it stands on; a page with its answer too, so that
 *
 *   1    URLContainsRegex("(?i)astronom") or ResponseContainsRegex("(?i)telescope")
 *   0.1  HostEndsWith(.shop.example)
 *
 * makes links to astronomy good by their address, and pages about it by what they say. Immutable:
 * any number of threads, each with a FilterScratch of its own. */
#ifndef RULES_SCORE_RULES_H
#define RULES_SCORE_RULES_H

#include "base/memory/buffer.h"
#include "base/core/result.h"
#include "parse/filter/filter.h"

#define SCORE_RULES_NEUTRAL 0.5f

typedef struct ScoreRules ScoreRules;

/* RESULT_INVALID: error gets "PATH:LINE: column N: ..."; the errors of reading a file: "PATH: ...";
 * RESULT_MEMORY. *rules is NULL then. */
Result score_rules_read(ScoreRules **rules, const char *path, Buffer *error);
/* NULL is allowed. */
void score_rules_delete(ScoreRules *rules);

/* The weight of the first rule that matches. */
float score_rules_find(const ScoreRules *rules, const FilterInput *input, FilterScratch *scratch);

#endif
