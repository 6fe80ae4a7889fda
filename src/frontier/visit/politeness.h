/* Politeness: how long a host and an address are left alone, and what a failed fetch costs.
 *
 * What: pure decisions. All delays count from the end of a fetch. Two things are counted:
 *  - the tries of one thing that is asked for (a URL, robots.txt, the address of a name), whatever
 *    the classes of its failures. When the table has no more, the URL is given up, or the host is
 *    dropped, as the class of the last failure says;
 *  - the failures of the host, over all its URLs (HostHealth). Each one doubles the rest that the
 *    table gives, up to rest_max_ms. Each success halves the count, and the rest: the delay behind
 *    it is half of the last rest, then a quarter, until the host's own delay is longer. A host
 *    that was not there at all (no answer of name servers, refused, no route) was not asked for too
 *    much: once it is back its own delay holds. A host whose rests add up to park_after_ms without
 *    recovering is parked, with its URLs.
 * A failure is the URL's own while others answer: a class that says so (fetch_class_is_of_url)
 * makes the URL wait, as long as the table says for its tries, and the host nothing but its delay.
 * Behind POLITENESS_URL_FAILURES different URLs in a row it is the host's, as all other classes
 * always are; behind its rest another URL is asked for first. But where a page of the host is known
 * that has answered well, that page is asked for once more before the host is blamed: when it
 * answers at once the URLs are dead, its rests are over, and twice as many may fail before it is
 * asked again; when it fails, too, the host rests, and the same page is asked behind each rest, so
 * that no other loses its tries while the host is down. A host of which nothing is left but URLs
 * that have failed before says nothing new by them: they end by their own tries, and its rest grows
 * no more. What this machine is to blame for is not counted at all (FETCH_LOCAL). A host that walls
 * rests as the table says, and one try of any page follows each rest; it opens with the first other
 * answer, and is parked at the latest after POLITENESS_WALLS rests. 429 and 503 slow down the host
 * as long as their Retry-After says; beyond retry_after_max_ms the host is parked. A Retry-After of
 * nothing, or of a time that has passed, says nothing.
 *
 * With politeness.learned the delay of a host that names none follows from its answers
 * (LearnedPace): each POLITENESS_STEADY of them in a row that are good, and take no longer than
 * twice the usual time and POLITENESS_JITTER_MS, take a quarter off the delay. It is never below
 * politeness.least, nor below ten times the usual time, so that a host is at work for us for a
 * tenth of its time at most. An answer that takes longer, or is not good, gives the host its
 * configured delay back at once. A visit state that is forgotten begins anew. Each step follows
 * from the one before and two figures of crawl.log, so that the audit can repeat it.
 *
 * Threads: any; no I/O, no locks, no clock.
 * Source: BUbiNG's table of exceptions; RFC 9110 10.2.3 (Retry-After). */
#pragma once

#include "base/core/clock.h"
#include "base/memory/buffer.h"

/* How a fetch ended, as far as politeness is concerned.
 * A row: constant, name, the status of crawl.log, the wait before the first retry in ms, how often
 * it is tried again, what is given up after that, whose failure it is, and a few words for manuals.
 * What the columns are counted in, politeness.c says. */
/* clang-format off */
#define FETCH_CLASS_LIST(CLASS) \
    CLASS(FETCH_OK, "ok", STATUS_BROKEN, 0, 0, URL_GOES, HOSTS, "an answer") \
    CLASS(FETCH_BUSY, "busy", STATUS_BROKEN, 30000, 5, URL_GOES, HOSTS, \
          "429 or 503; Retry-After goes first") \
    CLASS(FETCH_NO_NAME, "no-name", STATUS_DNS, 0, 0, HOST_GOES, MAYBE_OURS, \
          "the name does not exist") \
    CLASS(FETCH_DNS, "dns", STATUS_DNS, 5 * MINUTE, 3, HOST_GOES, MAYBE_OURS, \
          "no answer from name servers, or a failure of theirs") \
    CLASS(FETCH_REFUSED, "refused", STATUS_CONNECT, 10 * MINUTE, 4, HOST_GOES, MAYBE_OURS, \
          "connection refused") \
    CLASS(FETCH_NO_ROUTE, "no-route", STATUS_CONNECT, HOUR, 4, HOST_GOES, MAYBE_OURS, \
          "network or host unreachable") \
    CLASS(FETCH_CONNECT_TIME, "connect-time", STATUS_TIMEOUT, 10 * MINUTE, 3, HOST_GOES, MAYBE_OURS, \
          "no connection within fetch.connect_timeout") \
    CLASS(FETCH_TLS, "tls", STATUS_CONNECT, HOUR, 1, HOST_GOES, HOSTS, \
          "handshake or certificate failed") \
    CLASS(FETCH_TIMEOUT, "timeout", STATUS_TIMEOUT, MINUTE, 3, URL_GOES, MAYBE_OURS, \
          "fetch.first_byte_timeout or total_timeout has passed") \
    CLASS(FETCH_SLOW, "slow", STATUS_SLOW, 10 * MINUTE, 1, URL_GOES, MAYBE_OURS, \
          "slower than fetch.slow_rate") \
    CLASS(FETCH_BROKEN, "broken", STATUS_BROKEN, MINUTE, 2, URL_GOES, URLS | MAYBE_OURS, \
          "reset, cut short, or not HTTP") \
    CLASS(FETCH_PRIVATE, "private", STATUS_PRIVATE, 0, 0, HOST_GOES, HOSTS, \
          "a special address (fetch.allow_addresses)") \
    CLASS(FETCH_ROBOTS_ERROR, "robots-error", STATUS_PREREQUISITE, 5 * MINUTE, 5, HOST_GOES, HOSTS, \
          "robots.txt answered 5xx") \
    CLASS(FETCH_HTTP2, "http2", STATUS_BROKEN, 0, 2, URL_GOES, MAYBE_OURS, \
          "HTTP/2 broke: again with HTTP/1.1") \
    CLASS(FETCH_STALE, "stale", STATUS_BROKEN, 0, 4, URL_GOES, MAYBE_OURS, \
          "a kept connection ended under the request: again on another") \
    CLASS(FETCH_BAD_PORT, "bad-port", STATUS_BAD_URL, 0, 0, HOST_GOES, HOSTS, \
          "no connection is made to this port") \
    CLASS(FETCH_SERVER, "server-error", STATUS_BROKEN, 5000, 2, URL_GOES, URLS, "500, 502 or 504") \
    CLASS(FETCH_LOCAL, "local", STATUS_LOCAL, 1000, 0, URL_GOES, HOSTS, \
          "this machine could not: again, nobody is charged") \
    CLASS(FETCH_COOKIE, "cookie", STATUS_BROKEN, 0, 2, URL_GOES, HOSTS, \
          "a redirect that set a cookie: again with it") \
    CLASS(FETCH_PROXY, "proxy", STATUS_CONNECT, 30000, 0, URL_GOES, HOSTS, \
          "the proxy could not be used: again, nobody is charged") \
    CLASS(FETCH_WALL, "wall", STATUS_BROKEN, 10 * MINUTE, 0, URL_GOES, HOSTS, \
          "politeness.wall_answers in a row that keep crawlers out")
/* clang-format on */

#define FETCH_CLASS_CONSTANT(constant, name, status, wait, retries, gone, whose, meaning) constant,
typedef enum FetchClass { FETCH_CLASS_LIST(FETCH_CLASS_CONSTANT) FETCH_CLASSES } FetchClass;
#undef FETCH_CLASS_CONSTANT

const char *fetch_class_name(FetchClass class);
/* In a few words, for manuals. */
const char *fetch_class_meaning(FetchClass class);
/* Whether a failure is that of one URL while others of its host answer. */
bool fetch_class_is_of_url(FetchClass class);
#define POLITENESS_URL_FAILURES 4u
#define POLITENESS_CHECKS       6u /* that double the number of failures */
/* Whether a failure looks the same when it is our own network that fails. */
bool fetch_class_may_be_ours(FetchClass class);

typedef struct RetryRule {
    int64_t wait_ms;  /* before the first retry; doubles with each further one */
    unsigned retries; /* how often */
    bool drops_host;  /* after them: the host is given up, otherwise the URL */
} RetryRule;

typedef struct PolitenessOptions {
    int64_t host_delay_ms;      /* between two fetches from one scheme+authority */
    int64_t ip_delay_ms;        /* between two fetches from one address */
    int64_t crawl_delay_max_ms; /* a longer Crawl-delay is cut to it */
    double adaptive_factor;     /* times the last fetch's duration, when that is longer; 0 = off */
    bool learns;                /* shorter delays of hosts that answer well, */
    int64_t least_ms;           /* but none shorter */
    int64_t keep_alive_ms;      /* requests without a pause for so long; 0 = one by one */
    int64_t retry_after_max_ms; /* a host with a longer Retry-After is parked */
    int64_t rest_max_ms;        /* no rest after a failure is longer; 0 = none is too long */
    int64_t park_after_ms;      /* rests that add up to this park the host; 0 = never */
    unsigned tries_max;         /* of one URL, whatever its class of error; 0 = the table alone */
    unsigned wall_answers;      /* walls in a row after which a host rests; 0 = never */
    RetryRule rules[FETCH_CLASSES];
} PolitenessOptions;

/* The standard retry table. */
void politeness_default_rules(RetryRule rules[FETCH_CLASSES]);
/* Changes rules by a text such as "dns 5m 3 drop, timeout 1m 2": class, wait, retries, and `drop`
 * when the host goes after the last. RESULT_INVALID: error says what is wrong. */
Result politeness_parse_rules(RetryRule rules[FETCH_CLASSES], const char *text, Buffer *error);

/* How a host has done lately. */
typedef struct HostHealth {
    unsigned failures; /* in a row, over all its URLs; a success halves it */
    FetchClass last;   /* of the last failure */
    int64_t extra_ms;  /* the rest after the last failure; a success halves it */
    int64_t rested_ms; /* all rests since it was well; a success halves it */
    unsigned checks;   /* passed in a row */
    /* How many judgements there were. Of two that are written down the one with more was later, in
     * whatever order they arrive; it wraps. */
    uint16_t judgements;
} HostHealth;

/* What a visit state begins with beyond those written down: what is still on its way from an
 * earlier one stays older than its first. */
#define POLITENESS_JUDGEMENTS_LEAP 256u

/* Whether the failures in a row are those of URLs. */
bool politeness_blames_urls(const HostHealth *health);

#define POLITENESS_STEADY    8u
#define POLITENESS_JITTER_MS 50
#define POLITENESS_LOAD      10 /* times the usual answer: the least delay */

/* What a host's answers have shown. All zero: nothing yet, its configured delay holds. */
typedef struct LearnedPace {
    int64_t delay_ms;  /* 0: the configured one */
    uint32_t usual_ms; /* an answer takes, a day at most; 0: there was none */
    uint32_t steady;   /* answers in a row since the last step */
} LearnedPace;

/* After one more answer, which took so long, with the host's configured delay. is_good: as
 * politeness_is_good says of its status. */
LearnedPace politeness_learn(LearnedPace pace, int64_t host_delay_ms, int64_t least_ms,
                             int64_t took_ms, bool is_good);
/* Whether a status says that the host is well: a page, a redirect, or that there is none. */
bool politeness_is_good(int status);
/* How long an answer took, as its line in crawl.log tells it. */
int64_t politeness_took_ms(MonoTime start, MonoTime end);

typedef struct FetchEnd {
    FetchClass class;
    int64_t duration_ms;
    int64_t retry_after_ms; /* -1 = none given */
    int64_t crawl_delay_ms; /* of the host's robots.txt, -1 = none */
    int64_t host_delay_ms;  /* this host's configured delay */
    bool robots;            /* it was robots.txt that was fetched */
    bool elsewhere;         /* another address of the host is tried at once: no failure yet */
    bool only_failed;       /* all URLs that are left of the host have failed before */
    bool can_check;         /* a page that has answered well can be asked again */
    bool check;             /* this was it */
} FetchEnd;

typedef struct PolitenessVerdict {
    int64_t host_wait_ms; /* from the end of the fetch */
    int64_t ip_wait_ms;
    int64_t url_wait_ms; /* before it is tried again; others of the host go on meanwhile */
    int64_t url_left_ms; /* this and all later waits, if it fails each time; 0: not the URL's own */
    unsigned tries;      /* that have failed, this one included; 0: it has not */
    bool retry;          /* the same URL again after host_wait_ms, and url_wait_ms */
    bool drop_url;       /* its tries are used up */
    bool drop_host;      /* so are the host's: it is given up, with its URLs */
    bool park_host;      /* it has failed for too long: it is set aside, with its URLs */
    bool check;          /* next a page is asked that has answered well */
} PolitenessVerdict;

#define POLITENESS_WALLS 24u /* rests of a host that walls, until it is parked, however short */

/* The delay a host is owed after a healthy fetch. */
int64_t politeness_host_delay(const PolitenessOptions *options, int64_t host_delay_ms,
                              int64_t crawl_delay_ms, int64_t duration_ms);
/* What decides how often a host is asked when it has its address to itself: the name of the longest
 * of these delays, each in ms; of two that are as long the first. Another host of its address makes
 * it wait longer. */
const char *politeness_what_binds(int64_t host_delay_ms, int64_t crawl_delay_ms,
                                  int64_t ip_delay_ms);
/* Milliseconds that a number of bytes takes at a rate; 0 when there is no rate. */
int64_t politeness_rate_wait(int64_t bytes_s, uint64_t bytes);
/* Whether the table has no further try after one more failure of this class. */
bool politeness_is_last_try(const PolitenessOptions *options, FetchClass class, unsigned tries);
/* Judges one fetch, and updates the health of the host and the tries of what was asked for: how
 * many have failed in a row, 0 when it is settled one way or the other. */
PolitenessVerdict politeness_judge(const PolitenessOptions *options, const FetchEnd *end,
                                   HostHealth *health, unsigned *tries);
