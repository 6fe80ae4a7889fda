/* Why judge: what the rules of a crawl say of a URL now.
 *
 * What: scope, traps, filters, robots.txt, depth, the state of its host, and the limits of hosts of
 * one domain or address (limits.*_per_domain, limits.*_per_address). robots.txt is read
 * from the database; everything else is computed.
 * Owns: the texts of the rules.
 * Threads: one.
 * Errors: RESULT_MEMORY. A rule that cannot be compiled passes everything, and its judgement says
 * so. */
#pragma once

#include "rules/config.h"
#include "store/pages/page_db.h"
#include "store/tables/host_rows.h"

#define WHY_JUDGEMENTS 32u

typedef struct WhyJudgement {
    const char *by; /* the option, or "robots.txt", "host": a constant */
    bool passes;
    int status;  /* of a refusal: as in crawl.log */
    char *words; /* what decided, or what is wrong with the rule; NULL: nothing to add */
} WhyJudgement;

typedef struct WhyJudgements {
    WhyJudgement all[WHY_JUDGEMENTS];
    size_t n;
} WhyJudgements;

/* What is judged. */
typedef struct WhyCase {
    const Config *config;
    const char *directory; /* of the crawl; its denials are judged, too */
    const StaySet *stay;   /* the places of the seeds; NULL: they do not matter */
    const char *url;       /* absolute, normalised */
    const char *referrer;  /* a page that links to it, or NULL */
    bool has_depth;
    uint64_t depth;
    char hop;               /* how it was found; 0 = not known */
    unsigned redirects;     /* that lead to it in a row */
    unsigned embeds;        /* hops from a page to what it embeds, likewise */
    const HostRecord *host; /* NULL: not known */
    /* What hosts of its domain, and of its host's address, have together; NULL: that is not known,
     * or the URL was let in. */
    const GroupRecord *domain;
    const GroupRecord *address;
    const char *robots; /* content of its host's robots.txt; NULL: not known */
    size_t robots_length;
} WhyCase;

Result why_judge(WhyJudgements *judged, const WhyCase *subject);
/* The options as they hold for the host of a URL. */
void why_values(const Config *config, const char *url, Config *values);
void why_judgements_destroy(WhyJudgements *judged);
/* The first judgement that refuses the URL; NULL when all pass. */
const WhyJudgement *why_refusal(const WhyJudgements *judged);
