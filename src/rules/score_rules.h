/* Score rules: content scores by the operator's rules. score.rules.
 *
 * What: how much a link promises, and how much of the promise its page kept. The file has lines
 * `WEIGHT FILTER`: a number from 0 to 1, blanks, and an expression of the filter language
 * (parse/filter/filter.h). Blank lines and lines that begin with '#' are skipped. The first rule
 * that matches decides; without a match the score is SCORE_RULES_NEUTRAL. A link is judged by its
 * URL, its depth and the page it is on, a page also by its answer. So
 *
 *   1    URLContainsRegex("(?i)astronom") or ResponseContainsRegex("(?i)telescope")
 *   0.1  HostEndsWith(.shop.example)
 *
 * gives links a high score for their address, and pages about astronomy a high score for their
 * text. What is written on a link and around it counts with AnchorContainsRegex and
 * TextContainsRegex:
 *
 *   1    AnchorContainsRegex("(?i)telescope|galax") or TextContainsRegex("(?i)\btelescope")
 *   0.2  TitleContainsRegex("(?i)astronom")
 *   0.05 true
 *
 * Threads: immutable; any, each with a FilterScratch of its own. */
#pragma once

#include "parse/filter/filter.h"

#define SCORE_RULES_NEUTRAL 0.5f

typedef struct ScoreRules ScoreRules;

/* RESULT_INVALID: error gets "PATH:LINE: column N: ..."; the errors of reading a file: "PATH: ...";
 * RESULT_MEMORY. *rules is NULL then. */
Result score_rules_read(ScoreRules **rules, const char *path, Buffer *error);
/* NULL is allowed. */
void score_rules_delete(ScoreRules *rules);

/* What the rules ask about: FILTER_HAS_... */
unsigned score_rules_need(const ScoreRules *rules);
/* The weight of the first rule that matches. */
float score_rules_find(const ScoreRules *rules, const FilterInput *input, FilterScratch *scratch);
