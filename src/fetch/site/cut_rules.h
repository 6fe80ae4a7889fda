/* Cut rules: which answers are ended at their header, before their body is read.
 *
 * What: a body that nobody wants costs both sides bandwidth. Five options say which: the status
 * (fetch.cut_status), the MIME type (fetch.mime_types), the length that the header tells
 * (fetch.max_length), what it may not be used for (politeness.usage), and an expression
 * (filter.body). The header is kept, and crawl.log says "cut:REASON". robots.txt and sitemaps are
 * never cut.
 *
 * Threads: pure functions.
 * Errors: RESULT_INVALID with a sentence.
 * Source: BUbiNG's and Heritrix's mid-fetch rules. */
#pragma once

#include "parse/filter/filter.h"
#include "parse/http/http_header.h"

typedef enum CutReason {
    CUT_NOT,
    CUT_STATUS,
    CUT_TYPE,
    CUT_LENGTH,
    CUT_USAGE,
    CUT_FILTER
} CutReason;

/* "status", "type", "length", "usage", "filter"; "" for CUT_NOT. */
const char *cut_reason_name(CutReason reason);

typedef struct CutRules {
    const char *statuses;   /* "404, 410, 5xx"; may be "" */
    const char *mime_types; /* that are read: "text/html, application/xhtml+xml"; "": all */
    unsigned usages;      /* answers whose header denies one of them are ended (politeness.usage) */
    int64_t most_bytes;   /* of a body, as the header tells it; 0 = no matter */
    const Filter *filter; /* NULL: every answer passes; url and scratch are for it */
    FilterScratch *scratch;
    const Url *url;
    int depth; /* links from a seed */
} CutRules;

/* Whether texts may be fetch.cut_status and fetch.mime_types. */
Result cut_rules_check_statuses(const char *text, Buffer *error);
Result cut_rules_check_types(const char *text, Buffer *error);

/* told_bytes: Content-Length, negative when it is missing. An answer without Content-Type is of any
 * type. */
CutReason cut_rules_judge(const CutRules *rules, int status, const HttpHeader *header,
                          int64_t told_bytes);
