/* Refusal: why a URL was not scheduled, or was scheduled and not fetched.
 *
 * What: a refusal has a name (status.log, skipped.log, the summary) and a status (crawl.log).
 * Threads: any.
 * Invariant: the enum only grows at its end, because the numbers by reason are saved with each
 * commit (page/stats.h). */
#ifndef RULES_REFUSAL_H
#define RULES_REFUSAL_H

/* Why a URL was not scheduled or not fetched. */
typedef enum Refusal {
    REFUSED_ROBOTS,
    REFUSED_SCOPE,
    REFUSED_DEPTH,
    REFUSED_LENGTH,
    REFUSED_NOFOLLOW,
    REFUSED_KIND,  /* embeds, when they are not followed */
    REFUSED_HOST,  /* its host was dropped */
    REFUSED_QUOTA, /* its host's budget is used up */
    REFUSED_REDIRECTS,
    REFUSED_BAD_URL,
    REFUSED_MANY,    /* more links on a page than parse.max_links */
    REFUSED_FILTER,  /* filter.schedule or filter.fetch */
    REFUSED_TRAP,    /* limits.path_segments and the like, or a pattern that yields nothing new */
    REFUSED_PORT,    /* a bad port, or not in scope.ports */
    REFUSED_DENIED,  /* by the operator: ragno ctl DIR deny */
    REFUSED_DOMAIN,  /* its registered domain has enough: limits.hosts_per_domain and the like */
    REFUSED_ADDRESS, /* the same of its address */
    REFUSED_FEEDS,   /* not the first feed of a page, or beyond limits.feeds_per_host */
    REFUSALS
} Refusal;

const char *refusal_name(Refusal refusal);
int refusal_status(Refusal refusal);

#endif
