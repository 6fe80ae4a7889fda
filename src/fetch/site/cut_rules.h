/* Cut rules: which answers are ended at their header, before their body is read.
 *
 * What: a body that nobody wants costs both sides bandwidth. Three options say which: the length
 * that the header tells (fetch.max_length), what it may not be used for (politeness.usage), and an
 * expression about status, type and URL (filter.body). The header is kept, and crawl.log says
 * "cut:REASON". robots.txt and sitemaps are never cut.
 *
 * Threads: pure functions.
 * Source: BUbiNG's and Heritrix's mid-fetch rules. */
#pragma once

#include "parse/filter/filter.h"
#include "parse/http/http_header.h"

typedef enum CutReason { CUT_NOT, CUT_LENGTH, CUT_USAGE, CUT_FILTER } CutReason;

/* "length", "usage", "filter"; "" for CUT_NOT. */
const char *cut_reason_name(CutReason reason);

typedef struct CutRules {
    unsigned usages;      /* answers whose header denies one of them are ended (politeness.usage) */
    int64_t most_bytes;   /* of a body, as the header tells it; 0 = no matter */
    const Filter *filter; /* NULL: every answer passes; url and scratch are for it */
    FilterScratch *scratch;
    const Url *url;
    int depth; /* links from a seed */
} CutRules;

/* told_bytes: Content-Length, negative when it is missing. */
CutReason cut_rules_judge(const CutRules *rules, int status, const HttpHeader *header,
                          int64_t told_bytes);
