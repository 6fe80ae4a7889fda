/* Fetch result: what came of one fetch.
 *
 * What: the record that travels from a fetching thread through a parsing thread to the ingest
 * thread. A fetch that failed is data, not an error. Its four groups are filled in on the way:
 *   request   what was asked for; complete when the request is sent
 *   answer    what came back, or why nothing did; complete when the transfer ends. Header and body
 *             are freed once the page is parsed (fetch_result_strip)
 *   cost      time, bytes and delays; complete when the transfer ends
 *   host      how the host stands after the fetch; filled in by fetch_step_end
 * Negative status codes are those of Heritrix; codes below -10000 are ragno's.
 *
 * Owns: everything that a FetchResult points to.
 * Threads: the thread that holds it. It is handed over, never shared. */
#pragma once

#include "fetch/body/body_spool.h"
#include "fetch/site/cut_rules.h"
#include "fetch/tls/tls_context.h"
#include "frontier/visit/visit_state.h"

/* What crawl.log says instead of a status of HTTP, and the same in words. */
/* clang-format off */
#define FETCH_STATUS_LIST(STATUS) \
    STATUS(STATUS_DNS, -1, "no address (DNS)") \
    STATUS(STATUS_CONNECT, -2, "no connection") \
    STATUS(STATUS_BROKEN, -3, "connection broken") \
    STATUS(STATUS_TIMEOUT, -4, "timed out") \
    STATUS(STATUS_PREREQUISITE, -6, "robots.txt could not be had") \
    STATUS(STATUS_RETRIES, -8, "retries used up") \
    STATUS(STATUS_PENDING, -50, NULL) \
    STATUS(STATUS_TOO_DEEP, -4000, "too deep") \
    STATUS(STATUS_SCOPE, -5000, "out of scope") \
    STATUS(STATUS_BLOCKED, -5001, "blocked by a filter") \
    STATUS(STATUS_DENIED, -5002, "denied by the operator") \
    STATUS(STATUS_QUOTA, -5003, "quota of its host used up") \
    STATUS(STATUS_ROBOTS, -9998, "forbidden by robots.txt") \
    STATUS(STATUS_PRIVATE, -10001, "private address") \
    STATUS(STATUS_SLOW, -10002, "too slow") \
    STATUS(STATUS_TOO_LARGE, -10003, "too large") \
    STATUS(STATUS_DECODING, -10004, "decompression limit") \
    STATUS(STATUS_BAD_URL, -10005, "bad URL") \
    STATUS(STATUS_TRAP, -10006, "trap") \
    STATUS(STATUS_REDIRECTS, -10007, "too many redirects") \
    STATUS(STATUS_DROPPED, -10008, "its host was given up") \
    STATUS(STATUS_LOCAL, -10009, "this machine could not: done again")
/* clang-format on */

#define FETCH_STATUS_CONSTANT(constant, status, words) constant = (status),
typedef enum FetchStatus { FETCH_STATUS_LIST(FETCH_STATUS_CONSTANT) } FetchStatus;
#undef FETCH_STATUS_CONSTANT

typedef enum FetchKind {
    FETCHED_PAGE,   /* a scheduled URL was asked for */
    FETCHED_ROBOTS, /* robots.txt of the host */
    FETCHED_DNS, /* a DNS answer, in body, for the archive: url is "dns:HOST"; no host, no page */
    FETCHED_RENDERED, /* what a browser made of a page that was fetched before: nobody was asked */
    FETCHED_NOTHING   /* a scheduled URL was refused without a request, or news about a host */
} FetchKind;

typedef enum FetchTruncation {
    TRUNCATED_NOT,
    TRUNCATED_LENGTH,
    TRUNCATED_TIME,
    TRUNCATED_DISCONNECT,
    TRUNCATED_UNSPECIFIED /* its body was not wanted: FetchAnswer.cut */
} FetchTruncation;

/* What was asked for, from the window of the host that was asked. */
typedef struct FetchRequest {
    uint64_t index;         /* of the page, when has_page */
    bool has_page;          /* index is one: no robots.txt, no DNS answer, no news about a host */
    bool again;             /* it was crawled before */
    bool check;             /* it has answered well, and tells whether its host is down: the answer
                             * is logged and archived, and changes nothing of the page */
    bool walled;            /* and the answer that is stored keeps crawlers out */
    bool has_left;          /* it was sent, or a part of it */
    bool ignores_robots;    /* [site] said so */
    bool ignores_freshness; /* likewise */
    UsagePlace file;        /* of kind FETCHED_ROBOTS: robots.txt, tdmrep.json, or a licence */
    bool by_agent;          /* the same: another agent has fetched it for this one, and keeps it */
    uint16_t agent;         /* which */
    uint8_t level;          /* where it was scheduled */
    uint8_t hop;            /* how it was found: L R E S M P */
    uint8_t depth;          /* links from a seed, capped at 255 */
    uint8_t tries;          /* failed attempts, this one included if it failed */
    uint8_t tries_before;   /* this one */
    Usage usage;            /* what robots.txt says of it */
    uint8_t usage_no_store; /* a page for which one of these usages is denied is not stored */
    size_t max_body; /* bytes of the body that are kept, as received and decoded; 0: not said */
    char *url;       /* owned; NULL for host news */
    char *etag;      /* owned; validators of what is stored, or NULL: sent as conditions */
    char *last_modified;
    char *header;      /* the request's header block, or NULL; owned */
    IpAddress address; /* that was asked */
    char *as_origin;   /* owned; whose delays hold for it, when it is not the origin of url; NULL */
} FetchRequest;

/* What came back, or why nothing did. */
typedef struct FetchAnswer {
    int status;         /* HTTP status or a FetchStatus */
    bool by_gateway;    /* of ours, not by the host: class is FETCH_LOCAL */
    bool elsewhere;     /* no connection, and another address of the host is tried at once */
    int partial_status; /* of a broken transfer whose header came whole, else 0 */
    FetchClass class;
    FetchTruncation truncated;
    bool has_wall; /* wall is all that there is to see: the body is not coded */
    HttpWall wall;
    Usage usage;           /* what it may not be used for, by robots.txt, header and page */
    char price[32];        /* crawler-price, cut off there; "": it costs nothing */
    CutReason cut;         /* ended at its header, as the operator wants */
    unsigned http_version; /* 10, 11, 20 */
    TlsFacts tls;          /* of its connection */
    Buffer header;         /* raw response header block */
    Buffer body;           /* as received, transfer coding removed, content coding kept */
    BodySpool spool;       /* the body of a long page instead, with what is not kept of it */
    bool is_decoded;       /* decoded is robots.txt without its content coding */
    Buffer decoded;
    Buffer sitemaps; /* of a robots.txt: what its Sitemap lines say, a NUL behind each */
    char *refusal;   /* the deciding robots rule or filter, for the log; owned */
} FetchAnswer;

/* What it took. */
typedef struct FetchCost {
    WallTime wall_start;
    MonoTime start;
    MonoTime end;
    MonoTime handed_on;   /* to the parsing threads */
    uint64_t bytes;       /* header and body received */
    int64_t owed_ms;      /* the delay the host was owed before this fetch, -1 = none */
    int64_t given_ms;     /* the pause it got, -1 = first fetch */
    int64_t owes_host_ms; /* from the end of this fetch: how long the host that was asked is left */
    int64_t owes_ip_ms;   /* alone, and its address; -1 = nothing was asked */
    LearnedPace pace;     /* of the host, after this fetch; all zero: nothing is learned */
    unsigned burst;       /* number of the request in its burst, from 1 on; 0 = it is in none */
    unsigned at_once;     /* most requests to its host in flight with it; 0 = one */
    unsigned worker;      /* number of the fetching thread */
    ByteShare share;      /* where its bytes are counted; ends with it */
} FetchCost;

#define FETCH_RECORD_BYTES 16 /* of the id of an archive's record */

/* Of FETCHED_RENDERED, in addition: how the document in the answer's body was made. */
typedef struct FetchRendering {
    uint8_t rounds; /* this one included */
    uint8_t end;    /* RenderEnd */
    bool is_last;   /* what is lacking is not waited for */
    bool waits;     /* set by the parser: its links are what the page waits for, nothing else */
    bool has_document;
    bool is_passed; /* it was not rendered at all, for what others like it have brought */
    bool is_asking; /* nor was this one, yet: pages like it needed what it lacks */
    bool has_more;  /* text or links, than the answer */
    uint32_t requests;
    uint32_t lacking;
    uint32_t refused;
    uint32_t near; /* answers of a URL whose query differed */
    uint32_t cpu_ms;
    uint32_t text_bytes; /* of the document, about */
    char *lacks;         /* URLs without an answer, a line each; owned, as the next two */
    char *onward;        /* URLs of documents that would have taken its place, a line each */
    char *fields;        /* application/warc-fields: browser, rounds, what was refused */
    char *forms;         /* lessons for render_forms.h, a line each; owned */
    uint64_t shown;      /* hash of the document's text */
    Buffer picture;      /* of what a browser shows, JPEG; empty: none */
    unsigned char source[FETCH_RECORD_BYTES]; /* id of the record of the answer it was made of */
} FetchRendering;

#define FETCH_NO_HOST UINT32_MAX

/* The host that the result belongs to, as it is after the fetch: what ingest keeps of it. */
typedef struct FetchHost {
    /* In PageDB; of an errand: of the host that wanted it, FETCH_NO_HOST if that is another
     * agent's. */
    uint32_t id;
    bool drop;          /* it is given up */
    bool deny;          /* the operator denies it */
    bool closed;        /* no fetch: it is outside its hours, for wait_ms */
    bool has_places;    /* no news of this one: addresses of hosts wait (ingest/ingest_writer.h) */
    bool park;          /* it has failed for too long: set aside, as a dropped one is */
    uint32_t wall_mark; /* WallRun.same, when its class is FETCH_WALL */
    uint64_t *walled_pages; /* owned; settled by a wall, and to be asked for again; NULL: none */
    size_t n_walled_pages;
    HostHealth health;
    int64_t wait_ms;     /* from the end of this fetch, as the next one */
    int64_t url_left_ms; /* until the URL's last try, if it fails each time; 0: it has none */
    RobotsState robots_state;
    uint32_t robots_version;
    uint64_t robots_hash;     /* robots_content_hash of that version */
    int64_t robots_expiry_ms; /* left at the end of this fetch */
    int64_t crawl_delay_ms;   /* -1 = none */
} FetchHost;

typedef struct FetchResult {
    FetchKind kind;
    bool final; /* the URL leaves the schedule with this result */
    FetchRequest request;
    FetchAnswer answer;
    FetchCost cost;
    FetchHost host;
    FetchRendering *rendering; /* owned; NULL: it is no FETCHED_RENDERED */
} FetchResult;

/* Whether it is the last word about a scheduled URL. */
static inline bool fetch_result_settles(const FetchResult *result)
{
    return result->request.has_page && result->final && !result->request.check;
}
/* NULL when memory is exhausted. */
FetchResult *fetch_result_new(FetchKind kind);
void fetch_result_delete(FetchResult *result);
/* Asks for the page only if it is not what is stored, when the URL has validators. Without memory
 * for them it is fetched unconditionally. */
void fetch_result_set_conditions(FetchResult *result, const VisitState *visit_state,
                                 const WindowUrl *url);
/* Frees request and header, and the body too unless it is to be kept. */
void fetch_result_strip(FetchResult *result, bool keep_body);
/* Notes the Sitemap lines of rules that were read from the answer. Without memory for all of them
 * some are missing. */
void fetch_result_note_sitemaps(FetchResult *result, const Robots *robots);
/* The text of a robots.txt: the body, without its content coding. Borrowed; never NULL. */
const char *fetch_result_text(const FetchResult *result, size_t *length);
/* What Retry-After asks for; -1 when it says nothing. */
int64_t fetch_result_retry_after_ms(const FetchResult *result);
/* The status code that stands for a class of failure. */
int fetch_status_of_class(FetchClass class);
const char *fetch_truncation_name(FetchTruncation truncation);
