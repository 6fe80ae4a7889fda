/* Fetch step: what a fetching thread does with a visit state, without the network.
 *
 *   acquired --fetch_step_begin--> a request --(fetched)--> fetch_step_end --> released
 *                   '--> refused URLs, each a result of its own
 *
 * What: one step is one request. It is an errand when the visit state has askers
 * (fetch/transfer/robots_answer.h); robots.txt when the file is missing or expired; otherwise the
 * first URL that the operator admits (FetchJudge), that robots.txt and filter.fetch allow, and that
 * belongs to no parked pattern (ingest/batch/trap_yield.h). Outside its hours a host rests, with
 * its queue: outside politeness.hours it is asked for nothing, outside Visit-time of its robots.txt
 * for no page. Nothing is asked of a host of which no
 * URL is admitted, not even robots.txt. The end of the step judges politeness and says what the
 * answer means for URL, host and address.
 *
 * Owns: nothing; results are handed to the caller.
 * Threads: the one that holds the visit state. Time is a parameter; no I/O, no locks: the whole of
 * it runs in virtual time. */
#pragma once

#include "base/core/hours.h"
#include "fetch/transfer/robots_answer.h"
#include "frontier/visit/host_costs.h"
#include "base/thread/shared.h"
#include "parse/trap/trap.h"

#define FETCH_STEP_PAUSE_MS 1000 /* until the next try when there is no memory */
/* When deciding by robots.txt has cost this number of steps, the turn is over: the visit state
 * rests before it goes on, so that no host takes more than a hundredth of a fetching thread this
 * way. */
#define FETCH_STEP_TURN_STEPS ROBOTS_SAVED_STEPS
#define FETCH_STEP_REST_MS    100
#define FETCH_STEP_COSTS_MS   5000 /* until it is looked again what a host costs */

/* What the operator says of a URL, or of a host, before anything is asked of it. The rules are not
 * known here: they are handed in with the function that reads them (rules/scope/admission.h). */
typedef struct FetchQuestion {
    const char *url; /* NUL-terminated; NULL: the host alone */
    size_t length;
    const char *hostname;
    const IpAddress *address;
    uint8_t hop; /* how it was found: 'M' a seed, 'E' embedded in a page ... */
} FetchQuestion;

typedef struct FetchWord {
    int status;       /* 0: it may be fetched; otherwise the URL gets it */
    const char *rule; /* that says no; borrowed from the admission */
    bool whole_host;  /* the rule says no to all URLs of the host */
} FetchWord;

/* admission is the object that holds now. */
typedef FetchWord FetchJudge(const void *admission, const FetchQuestion *question);

typedef struct FetchRules {
    const PolitenessOptions *politeness; /* of the host; borrowed */
    const Hours *hours;   /* of the host: when it is asked for anything; NULL: always */
    bool ignores_robots;  /* of the host: none is asked for, none forbids anything */
    bool keeps_cookies;   /* of the host, and sends them back */
    UsageRules usage;     /* of the host: what is not fetched */
    int64_t most_bytes_s; /* the host is owed the time that so few would take; 0 */
    HostCosts *costs;     /* what its pages cost; NULL: nothing */
    RobotsReading robots;
    unsigned worker;               /* number of the fetching thread */
    SharedReader *admission;       /* its view of what the operator admits; NULL = everything */
    FetchJudge *judge;             /* knows what it sees there */
    SharedReader *filter;          /* the thread's view of filter.fetch (a Filter); NULL = none */
    FilterScratch *filter_scratch; /* may be NULL without a filter */
    SharedReader *traps;           /* its view of the parked patterns (a TrapSet); NULL = none */
    Url *url;                      /* scratch for both, as text; NULL without either */
    Buffer *text;
} FetchRules;

typedef struct FetchNow {
    MonoTime mono;
    WallTime wall;
} FetchNow;

/* Takes the result of a URL or host that is refused; and an asker whose errand is refused, since
 * the host that has its robots.txt is denied. */
typedef struct FetchRefused {
    void *context;
    void (*take)(void *context, FetchResult *result);
    void (*answered)(void *context, VisitState *asker);
} FetchRefused;

/* The request that comes next: kind and url are set, the caller owns it. NULL: there is none,
 * because all that was left is refused, or because memory is short or the turn is over
 * (next_fetch is later then); the visit state is to be given back. */
FetchResult *fetch_step_begin(const FetchRules *rules, VisitState *visit_state, const FetchNow *now,
                              const FetchRefused *refused);
/* The request has ended: class, status, header, body and end are filled in. Judges it, sets the
 * visit state's times from its end, and completes the result. Returns the asker whose errand this
 * was, or NULL: it goes back to the distributor by itself (NEWS_ANSWERED), before the visit state
 * does. */
VisitState *fetch_step_end(const FetchRules *rules, VisitState *visit_state, FetchResult *result);
