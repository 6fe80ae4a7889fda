/* Visit state: one host (scheme and authority) that has URLs to fetch, with all that fetching them
 * needs.
 *
 * What: a visit state is one object that is handed from thread to thread. Its window holds the best
 * URLs of the host's schedule in memory; the others stay on disk. Taking a URL out of the window
 * changes nothing on disk. When better URLs are found, or URLs of the window change their level,
 * the distributor recalls the visit state: it comes home from the workbench at once, or from a
 * fetching thread after its next fetch, and gets a new window.
 *
 *            distributor                       todo thread              fetching thread
 *   born --> RESOLVING --(resolved)--> QUEUED --(workbench_acquire)--> ACQUIRED
 *              ^   |                     ^                                 |
 *              |   '--> IDLE <---.       '----(workbench_release)----------+ has URLs left
 *              |      |          |                                         |
 *    (address expired)'--(refill)+-- REFILLING <---------------------------' has none
 *                                |       |
 *                              purged    '--(filled)--> QUEUED
 *
 * A robots.txt that redirects to another host is an errand. The visit state that wants the file
 * (the asker) becomes ASKING and travels with the visit state of the other host. When that one is
 * acquired, the file is fetched first, from its address and with its delays; then the asker goes
 * back to the distributor by itself (fetch/transfer/robots_answer.h). A host that is known only for
 * somebody's robots.txt gets a visit state, too: a guest. In a crawl on several machines the owner
 * of the other host is asked (frontier/host/visit_errand.h); the question of another agent is an
 * asker, too, that has no URLs and is deleted once it is answered.
 *
 * Owns: its strings, its robots rules and its window.
 *
 * Threads: exactly one thread owns a visit state at any time; `place` says which. The owner may use
 * every group of fields but the last three:
 *   identity      written at birth; any thread may read it
 *   todo          the todo thread alone
 *   signals       atomics: owner and distributor
 *   distributor   the distributor alone, whoever owns the visit state
 *
 * Source: BUbiNG, class VisitState. */
#pragma once

#include <stdatomic.h>

#include "base/memory/heap.h"
#include "frontier/visit/politeness.h"
#include "frontier/visit/wall_run.h"
#include "parse/cookie/cookie_jar.h"
#include "parse/host/ip_address.h"
#include "parse/robots/robots.h"
#include "store/schedule/level_bias.h"

/* Errand answer: what a host of another agent's has answered, for a robots.txt that redirects
 * there.
 *
 *   owner: fetching thread --> distributor --> cluster --(NATS)--> cluster --> distributor
 *          --> fetching thread of the asker, which reads it like an answer of its own
 *
 * What: as much of a FetchResult as robots.txt is read from. Of an answer that did not come, its
 * class says why.
 * Owns: header and body.
 * Threads: the one that holds it; it is handed over. */

#define ERRAND_HEADER_MOST ((size_t)128 << 10) /* with a longer one it counts as unreachable */
#define ERRAND_BODY_MOST   ((size_t)512 << 10) /* a robots.txt is cut sooner */

typedef enum ErrandOutcome {
    ERRAND_ANSWERED,
    ERRAND_OURS, /* the other host is this agent's */
    ERRAND_AWAY  /* its owner does not answer */
} ErrandOutcome;

typedef struct ErrandAnswer {
    int status; /* of HTTP; 0: there was none */
    FetchClass class;
    bool is_cut;    /* the body is longer than what is here */
    uint16_t agent; /* that has it */
    Buffer header;
    Buffer body; /* as received: a content coding is kept */
} ErrandAnswer;

/* Empty; NULL when memory is exhausted. */
ErrandAnswer *errand_answer_new(FetchClass class);
void errand_answer_delete(ErrandAnswer *answer); /* NULL is allowed */
/* NULL: of none. */
size_t errand_answer_bytes(const ErrandAnswer *answer);

/* Standing: what a host has shown so far, which decides on how many connections it competes for.
 *
 * What: a connection to a silent server is taken until its time-out. When all hosts competed for
 * the same connections, some hundred silent ones would take them all, and those that answer would
 * wait. So each standing has a share of fetch.connections that it cannot exceed:
 *
 *   NEW     no page has come from it in time yet               fetch.new_share (50 %)
 *   ILL     it fails, or answers slowly                        fetch.slow_share (25 %)
 *   PROVEN  it has sent a page in time, and well the last time all that the others do not have
 *
 *     NEW --a page, in time--> PROVEN --(time-out, reset, slow ...)--> ILL
 *      '-----------------(time-out, reset, slow ...)-------------------^ |
 *                               PROVEN <----------answered, in time-----'
 *
 * New hosts do not wait for those that fail, and proven ones for neither. A share is at least one
 * connection. 429, 503 and other errors of a server that come at once hold up nobody: such a host
 * is PROVEN, and politeness slows it down. A robots.txt proves nothing: a host that sends it at
 * once may send every page a byte at a time.
 *
 * Whoever turns slow in flight gives up its place: it counts among the ILL from then on, as far as
 * they have room, and the place is free for another one of its kind. Without room it stays where it
 * is, and is broken off when others wait (fetch/transfer/crowding.h).
 *
 * Owns: nothing.
 * Threads: any; pure, and LiveShares are atomic. */

typedef enum Standing { STANDING_PROVEN, STANDING_NEW, STANDING_ILL, STANDINGS } Standing;

typedef struct StandingShares {
    unsigned new_percent; /* of all connections; 0: no bound, like PROVEN */
    unsigned slow_percent;
    size_t slowed[STANDINGS]; /* in flight: acquired as such, and slow since */
} StandingShares;

/* As operators have set them: they may change while the crawl runs. */
typedef struct LiveShares {
    atomic_uint new_percent; /* fetch.new_share */
    atomic_uint slow_percent;
    _Atomic int64_t new_patience_ms; /* fetch/transfer/crowding.h */
    atomic_size_t slowed[STANDINGS]; /* as in StandingShares; fetching threads count */
} LiveShares;

/* What is remembered of a host, besides its health. */
typedef struct StandingRecord {
    bool has_answered; /* anything */
    bool is_proven;    /* a page has come in time */
    bool is_slow;      /* its last answer was */
    uint32_t same; /* what its last page has of a gateway's (fetch/outage/network_watch.h); 0: none
                      came */
} StandingRecord;

/* An answer that takes longer than this at a lower rate is slow. */
#define STANDING_SLOW_MS    INT64_C(5000)
#define STANDING_SLOW_BYTES INT64_C(65536) /* a second */
/* A body that is not whole so long behind its first byte, and came at a lower rate, drips: a server
 * that means well has sent more at once. */
#define STANDING_DRIP_MS    INT64_C(1000)
#define STANDING_DRIP_BYTES INT64_C(8192) /* a second */
/* While many new hosts wait for each connection, so much sooner (standing_drip_ms). */
#define STANDING_DRIP_LEAST_MS INT64_C(250)

/* most_bytes_s: what the operator lets it send at most, 0 = no matter: obeying that is not slow. */
bool standing_is_slow(int64_t took_ms, uint64_t bytes, int64_t most_bytes_s);
/* The same of a body that is still coming, since its first byte; patience_ms: the least time. */
bool standing_drips(int64_t took_ms, int64_t patience_ms, uint64_t bytes, int64_t most_bytes_s);
/* That time for new hosts: ten thousand that drip are tried in half a minute, not in two. waiting:
 * new hosts, most: connections that they may have. */
int64_t standing_drip_ms(size_t waiting, size_t most);
Standing standing_of(const StandingRecord *record, const HostHealth *health);
/* The shares as they are now; NULL: none has a bound. */
StandingShares standing_shares(const LiveShares *live);
/* How many of all connections, or bytes, hosts of this standing may have. */
size_t standing_most(const StandingShares *shares, Standing standing, size_t all);
/* How many count as of this standing when so many were acquired of each, and `slowed` of them have
 * turned slow since: those count as ILL, as far as there are fewer than most_ill. */
size_t standing_counted(const size_t acquired[STANDINGS], const size_t slowed[STANDINGS],
                        size_t most_ill, Standing standing);

typedef struct VisitState VisitState;
typedef struct WorkbenchEntry WorkbenchEntry;

typedef enum VisitStatePlace {
    VISIT_STATE_RESOLVING, /* distributor: waits for an address */
    VISIT_STATE_IDLE,      /* distributor: nothing to fetch now; kept while politeness needs it */
    VISIT_STATE_REFILLING, /* on its way to, or at, the distributor: wants URLs */
    VISIT_STATE_QUEUED,    /* todo thread: in its workbench entry */
    VISIT_STATE_ACQUIRED,  /* a fetching thread */
    VISIT_STATE_ASKING, /* its robots.txt is on another host: it goes with that host's visit state
                         */
    VISIT_STATE_PLACES
} VisitStatePlace;

/* What a message to the distributor or the todo thread says. Every message begins with it; most are
 * a visit state, so that handing it over allocates nothing. */
typedef enum News {
    NEWS_NONE,
    NEWS_RESOLVED,  /* resolver -> distributor: the address or the failure is filled in */
    NEWS_EMPTY,     /* todo thread -> distributor: no URL left, dropped, or the address expired */
    NEWS_READY,     /* distributor -> todo thread: queue it */
    NEWS_FETCHED,   /* fetching thread -> todo thread: released */
    NEWS_ANSWERED,  /* fetching thread -> distributor: it is back from an errand */
    NEWS_ASKED,     /* cluster -> distributor: an asker that stands for another agent's host */
    NEWS_TOLD,      /* cluster -> distributor: what came of an errand to another agent's host */
    NEWS_COMMITTED, /* ingest -> distributor: a CommitNotice */
    /* distributor -> todo thread, and back once the todo thread has read it: a message of its own,
     * VisitDistribution.recall */
    NEWS_RECALL,
    NEWS_OPTIONS, /* main -> distributor: the configuration has changed */
    NEWS_HUNGRY,  /* todo thread -> distributor: the front is too small */
    NEWS_LEASE    /* cluster -> todo thread: a LeaseNotice */
} News;

typedef enum LeaseNoticeKind {
    LEASE_NOTICE_GRANTED,   /* until `end`; again when it is extended */
    LEASE_NOTICE_CONTENDED, /* others wait: it is given back when there is nothing to fetch now */
    LEASE_NOTICE_ENDED      /* given back as soon as nothing is in flight; or not to be had now */
} LeaseNoticeKind;

/* News of the lease of an address (cluster/lease/lease.h). */
typedef struct LeaseNotice {
    News news; /* NEWS_LEASE */
    LeaseNoticeKind kind;
    IpAddress address;
    uint64_t ticket; /* of the want it answers: news of another one came too late */
    MonoTime begin;  /* of a grant, as the next two */
    MonoTime end;
    bool contended; /* others wait */
} LeaseNotice;

typedef struct WindowUrl {
    uint64_t index;  /* of the page */
    uint32_t offset; /* of its URL in VisitWindow.bytes */
    uint32_t length;
    uint8_t level;  /* where it is scheduled */
    uint8_t hop;    /* how it was found */
    uint8_t depth;  /* capped at 255 */
    uint8_t tries;  /* failed attempts so far */
    bool check;     /* it has answered well, and is asked again: HostCheck */
    bool again;     /* it was crawled before */
    bool walled;    /* and the answer that is stored keeps crawlers out */
    uint32_t later; /* it has failed: not before this time, in VISIT_STATE_TICK_MS; 0: now */
    /* Validators of what is stored, "ETAG NUL DATE NUL" in VisitWindow.bytes, each may be "";
     * 0 = none. (The first URL is at 0.) */
    uint32_t validators;
} WindowUrl;

typedef enum RobotsState {
    ROBOTS_UNKNOWN, /* must be fetched before anything else */
    ROBOTS_KNOWN,
    ROBOTS_REFUSING /* unreachable or 5xx: nothing may be fetched until it answers */
} RobotsState;

/* Who it is. Set at birth, never changed: every thread may read it at any time. */
typedef struct VisitIdentity {
    uint32_t host;        /* id in PageDB; UINT32_MAX of a guest */
    char *origin;         /* "http://www.example.org:81", owned with the object */
    const char *hostname; /* inside its own copy: "www.example.org" or "[::1]" */
    uint32_t origin_length;
    uint16_t port;
    bool https;
    bool guest; /* unknown to PageDB: only askers bring it work */
} VisitIdentity;

/* When it may be asked again, and how it has answered so far. */
typedef struct VisitPoliteness {
    MonoTime next_fetch;    /* not before */
    int64_t delay_ms;       /* configured for this host */
    int64_t owed_ms;        /* the delay behind next_fetch, for the log */
    MonoTime last_end;      /* of its last fetch; 0 = never */
    MonoTime ip_next_fetch; /* set with the end of a fetch: when its address may be used again */
    MonoTime fetch_before;  /* set when it is acquired: no fetch begins behind it; 0: no bound */
    HostHealth health;
    LearnedPace pace; /* politeness.learned */
    StandingRecord standing;
    WallRun walls;
    unsigned endless; /* long pages in a row that did not end (fetch/body/body_spool.h) */
    bool no_http2;    /* it failed with HTTP/2: HTTP/1.1 from now on */
    bool no_keep;     /* a connection for each request */
    uint8_t n_stale;  /* how often it closed one that was kept, when it was used */
    bool dropped;     /* the host was given up: forget it when it comes home */
} VisitPoliteness;

/* Requests since a fetching thread has it (frontier/visit/visit_turn.h). */
typedef struct VisitTurn {
    MonoTime start; /* of the first one */
    unsigned requests;
    unsigned in_flight; /* of them */
    unsigned level;     /* of the URL that was best when it began */
    Standing standing;  /* in whose share of the connections it is counted */
    bool slowed;        /* one has turned slow in flight: LiveShares.slowed counts it */
    bool goes_on;       /* another one may follow the last one at once */
    bool has_failed;    /* one of those in flight together, since the turn went on last */
} VisitTurn;

/* Its robots.txt. */
typedef struct VisitRobots {
    Robots *rules;             /* owned; NULL unless ROBOTS_KNOWN */
    RobotsAllowance allowance; /* what deciding by these rules may still cost */
    bool is_costly;            /* they had to be left undecided, and the log says so */
    RobotsState state;
    uint32_t version; /* counts its contents, for the log: 1 = the first, 0 = none yet */
    uint64_t hash;    /* of that content */
    MonoTime expiry;
    unsigned redirects; /* followed so far in this attempt */
    unsigned tries;     /* failures in a row to get it */
    char *target;       /* owned; where the last one pointed, or NULL */
    bool elsewhere;     /* and that is another host: wants an errand */
    uint8_t files;      /* to be asked for behind robots.txt, bits 1 << UsagePlace; target is the
                         * first one's, and the rules are known */
} VisitRobots;

/* Errands for others, done before anything else. */
typedef struct VisitErrands {
    VisitState *askers;   /* handed over with this one; the first is served */
    VisitState *next;     /* of an asker: the next one in the list it is in */
    uint64_t ticket;      /* another agent's question; 0: it is a host of this crawl */
    bool is_away;         /* the owner of the other host is being asked */
    bool is_ours;         /* the other host is this agent's: it is not asked for again */
    ErrandAnswer *answer; /* owned; that came for it, and is not read yet; NULL */
} VisitErrands;

/* The best URLs of its schedule, in memory. */
typedef struct VisitWindow {
    WindowUrl *urls; /* owned, with bytes in one allocation */
    char *bytes;
    uint32_t count;
    uint32_t next;    /* first URL not yet taken */
    uint32_t n_later; /* of those behind it, at the end: they have failed, and wait */
    size_t memory;    /* bytes of the allocation */
    LevelBias bias;   /* among the levels of its URLs; set at birth */
    uint64_t ticket;  /* turns so far, for the bias */
} VisitWindow;

/* A page of the host that has answered well, to be asked again when others fail in a row: its
 * answer tells whether the host is down (frontier/visit/politeness.h). It is none of the window's
 * URLs. */
typedef struct HostCheck {
    WindowUrl url; /* its text is in the window's bytes, unless length is 0 */
    bool has_page; /* there is one; its index is known also behind that window */
    bool is_front; /* a seed or a front page: a better one takes its place */
    bool asks;     /* it is the URL to fetch next */
} HostCheck;

/* Where it is reached. Filled in by the resolver. */
typedef struct VisitAddress {
    IpAddress ip; /* valid from RESOLVING's end on */
    MonoTime expiry;
    FetchClass class; /* FETCH_OK, FETCH_NO_NAME, FETCH_DNS, FETCH_PRIVATE */
    unsigned tries;   /* failures in a row to get it */
    uint32_t count;   /* addresses that the name has; 0: not known */
    uint32_t turn;    /* which of them is used, modulo count */
    uint32_t failed;  /* of them, one after the other, without a connection */
    int64_t resolve_ms;
} VisitAddress;

/* Its place on the workbench: the todo thread's alone. */
typedef struct VisitTodo {
    WorkbenchEntry *entry;
    HeapNode by_time;  /* in the entry's queue, while it is queued */
    bool ready;        /* in which of its heaps */
    Standing standing; /* as of when it was queued */
} VisitTodo;

/* What one thread tells another while the visit state is away from home. */
typedef struct VisitSignals {
    atomic_uint best;   /* level of the window's best URL; the owner writes it */
    atomic_bool waits;  /* all URLs of the window have failed, and wait; the owner writes it */
    atomic_bool wanted; /* come home after this fetch: askers wait, or its rules are large */
} VisitSignals;

/* What the distributor knows of it, wherever it is: the distributor's alone. */
typedef struct VisitDistribution {
    bool leaving;          /* evicted: forgotten as soon as that is allowed */
    uint8_t leaving_level; /* of what it then leaves on disk */
    bool idle;             /* it is IDLE: place may only be read by the owner */
    bool recalled;         /* the message of recall is away: it may not be forgotten */
    bool retired;          /* the database has dropped it: nothing of it is fetched any more */
    bool awaited;          /* somebody waits until it is forgotten */
    bool revived;          /* it is to be loaded anew as soon as it is forgotten */
    uint8_t revived_level; /* the best of what it then has */
    VisitState *waiting;   /* askers that go with it when it comes home */
    News recall;           /* a message of its own: it goes to the todo thread and comes back */
    bool replanned;        /* its delay has changed: next_fetch is found anew when it is home */
    bool stale;            /* its window is to be read anew when it is home */
    uint32_t appetite;     /* URLs its next window should have; 0: as many as may be */
    uint64_t uncommitted;  /* URLs taken from the schedule whose results are not committed */
    bool more;             /* new URLs came while it was away */
    bool capped;           /* no window: what is uncommitted may reach its limit of pages */
    size_t accounted;      /* bytes of it in Distributor.memory */
    bool placed;           /* ingest knows its address */
    bool nameless;         /* it has never had one: it is in the room for names */
    uint16_t sources[2];   /* and counts there by the page that named it, and by its domain */
    bool parked;           /* waits long while memory is short: forgotten as soon as disk knows */
    HeapNode by_purge;     /* when it may be forgotten */
} VisitDistribution;

struct VisitState {
    News news; /* first: a visit state is its own message */
    VisitStatePlace place;
    VisitIdentity identity; /* anybody reads it */
    VisitPoliteness politeness;
    VisitTurn turn;
    VisitRobots robots;
    VisitErrands errands;
    CookieJar *cookies; /* owned; NULL: it has set none, or they are not kept */
    VisitWindow window;
    HostCheck check;
    VisitAddress address;
    VisitTodo todo; /* of the todo thread alone */
    /* The distributor reads these of all visit states, round and round: they are together. */
    VisitSignals signals;          /* atomic: of both the owner and the distributor */
    VisitDistribution distributor; /* of the distributor alone */
};

/* origin is "scheme://authority". The new visit state is RESOLVING. RESULT_INVALID: origin does not
 * have that form. */
Result visit_state_new(VisitState **visit_state, uint32_t host, const char *origin, size_t length);
void visit_state_delete(VisitState *visit_state);

/* The level of the best URL of the window; SCHEDULE_NO_LEVEL when it is empty. */
unsigned visit_state_level(const VisitState *visit_state);
/* The URL to fetch next: the best one, or another one when the bias gives it a turn. NULL when the
 * window is empty. */
const WindowUrl *visit_state_peek(const VisitState *visit_state);
const char *visit_state_url(const VisitState *visit_state, const WindowUrl *url);
/* The URL to fetch next has failed, and waits until then behind all others of the window. */
#define VISIT_STATE_TICK_MS 100
void visit_state_defer(VisitState *visit_state, unsigned tries, MonoTime until);
/* The number of URLs that wait for nothing but their turn. */
uint32_t visit_state_n_ready(const VisitState *visit_state);
/* Whether each URL of the window has failed before. */
bool visit_state_has_only_failed(const VisitState *visit_state);
/* When the URL to fetch next has waited; 0: it does not wait. */
MonoTime visit_state_url_time(const VisitState *visit_state);
/* When something of it may be fetched: its delay is over, and its URL has waited. */
MonoTime visit_state_next_time(const VisitState *visit_state);
/* The URL to fetch next has answered well: it may be asked again as a check. */
void visit_state_note_good(VisitState *visit_state);
/* Whether there is such a page. A seed or a front page tells a gateway from hosts, but not whether
 * its host is down: a cache answers it when all behind it fails. */
bool visit_state_can_check(const VisitState *visit_state, bool front_will_do);
/* That page is the URL to fetch next, until it is taken. */
void visit_state_check(VisitState *visit_state);
/* Notes how many tries of the URL to fetch next have failed. */
void visit_state_note_tries(VisitState *visit_state, unsigned tries);
/* A fetch from its address has ended, at `end`. When there was no connection, the next address has
 * its turn, for which it must go home. True: that address has not failed yet, and is to be tried at
 * once. */
bool visit_state_next_address(VisitState *visit_state, FetchClass class, MonoTime end);
void visit_state_take(VisitState *visit_state);
/* Files that speak of usage are asked for next, one after the other: bits of USAGE_IN_TDM and of
 * licences. Without memory one is passed over. */
void visit_state_ask_files(VisitState *visit_state, unsigned files);
/* The one asked for is not asked for any longer: there is an answer, or there will be none. */
void visit_state_end_file(VisitState *visit_state);
/* Which file is asked for when robots.txt is due: USAGE_IN_ROBOTS or one of these. */
static inline UsagePlace visit_state_file(const VisitState *visit_state)
{
    unsigned files = visit_state->robots.files;
    return files == 0 ? USAGE_IN_ROBOTS : (UsagePlace)__builtin_ctz(files);
}
/* Undoes it: a URL of this window that was taken is the first one again. */
void visit_state_put_back(VisitState *visit_state, const WindowUrl *url);
/* The number of URLs left in the window. */
uint32_t visit_state_count(const VisitState *visit_state);
/* Installs a new window, best level first, those that wait for a retry behind the others; takes
 * window (malloc'd, bytes behind the array). */
void visit_state_set_window(VisitState *visit_state, WindowUrl *window, char *bytes, uint32_t count,
                            size_t memory);
/* Bytes it occupies, with its share of what others keep for it: a workbench entry, places in maps
 * and heaps, allocation headers, and for each URL a place among those in flight (measured by
 * tests/sim). */
#define VISIT_STATE_OVERHEAD     400u
#define VISIT_STATE_LARGE        65536u /* bytes of one: worth a look when memory is short */
#define VISIT_STATE_URL_OVERHEAD 48u
size_t visit_state_memory(const VisitState *visit_state);
