/* Agent, its parts: all that one process of a crawl has.
 *
 * What: the types that its parts share; agent_parts.h has the functions.
 * Owns: what each comment says.
 * Threads: as agent_parts.h says. */
#pragma once

#include <stdatomic.h>

#include "crawl/cluster/cluster_part.h"
#include "fetch/dns/resolver.h"
#include "fetch/transfer/fetcher.h"
#include "ingest/chore/orders.h"
#include "ingest/chore/readmission.h"
#include "ingest/chore/revival.h"
#include "ingest/revisit/revisits.h"
#include "page/classify/classifier.h"
#include "render/desk/render_desk.h"
#include "render/desk/render_way.h"
#include "rules/scope/denial_list.h"

#define FETCHERS_MAX  64u
#define NO_PAGE_LIMIT UINT64_MAX

/* Reasons for a pause; several may hold at once. */
typedef enum PauseReason {
    PAUSE_DISK = 1,     /* it is nearly full, or a commit waits for room */
    PAUSE_OPERATOR = 2, /* somebody said so */
    PAUSE_NETWORK = 4,  /* our own network is out */
    PAUSE_CLUSTER = 8   /* other agents do not take what is for them */
} PauseReason;

typedef struct AgentParts {
    const Config *config;
    CrawlStore *store;
    IpPolicy policy;
    PolitenessOptions politeness;
    PortSet ports;        /* that are connected to */
    TlsTrust trust;       /* certificates */
    TlsSessions sessions; /* of hosts that were visited */
    bool has_sessions;
    SigningKey *key; /* NULL: requests are not signed */
    Signer signer;   /* of the key */
    char *user_agent;
    Stats stats;
    Shared sites; /* a SiteBook, for fetching threads, distributor and ingest */
    SharedReader distributor_sites;
    SharedReader ingest_sites;
    StaySet *stay;       /* scope.stay; NULL = anywhere */
    Shared scope;        /* a Scope, for parsing threads */
    Shared admission;    /* an Admission, for fetching threads and ingest */
    Shared filters;      /* Filters, for parsing threads */
    Shared fetch_filter; /* the Filter of filter.fetch, for fetching threads */
    Shared body_filter;  /* the Filter of filter.body, for them, too */
    Shared parked_traps; /* the TrapSet of patterns that bring nothing new, for them, too */
    DenialList denials;  /* the main thread's */
    Readmission *readmission;
    Orders *orders; /* of operators, about seeds and hosts */
    DedupSteps dedup;
    const char *crawl_log; /* its name; NULL: DIR/crawl.log */
    CrawlLog *log;
    Archive *archive;   /* NULL: --no-warc */
    Revisits *revisits; /* NULL: schedule.mode = once */
    Scoring *scoring;
    Revival *revival; /* brings hosts back */
    Ingest *ingest;
    IngestSieve sieve;
    Parsing *parsing;
    RenderDesk *renders; /* NULL: render.mode = off; and so are the next two unused */
    RenderWay render_way;
    IngestRendering rendering;
    Classifier *classifier; /* NULL: score.scorer is another */
    Frontier *frontier;
    NetworkWatch *network;
    Resolver *resolver;
    Fetcher *fetchers[FETCHERS_MAX];
    atomic_uint n_fetchers;     /* made so far: they stay until the end */
    atomic_uint n_fetching;     /* of these, the first ones are given work */
    size_t most_connections;    /* for which there are file descriptors */
    size_t kept_connections;    /* of one fetcher */
    ClusterPart *cluster;       /* NULL: one agent alone */
    Mutex limit_mutex;          /* RANK_STORE; of a cluster: guards max_pages against pages_final */
    ByteQuota quota;            /* crawl.max_bytes */
    RateGate rate;              /* fetch.rate; of a cluster: this agent's share of it */
    RateMeter rate_meter;       /* the cluster thread's */
    ByteGate spools;            /* bytes of long pages in files: more are cut */
    _Atomic uint64_t n_endless; /* pages that were cut for others of their host */
    ByteGate answers;           /* bytes received and not yet parsed: fetchers wait */
    ByteGate results;           /* bytes parsed and not yet committed: parsers wait */
    bool gates;                 /* both are initialised */
    int news;                   /* eventfd: something below changed */
    atomic_bool finished;       /* nothing is scheduled */
    atomic_bool draining;
    atomic_bool stuck;            /* ingest waits for room on the disk */
    atomic_bool failed;           /* nothing can be committed any more: to be stopped */
    atomic_size_t outstanding;    /* visit states at the fetchers */
    _Atomic uint64_t max_pages;   /* that may be fetched here; NO_PAGE_LIMIT */
    _Atomic uint64_t max_bytes;   /* the same of a cluster; 0 = nothing was granted yet */
    atomic_size_t connections;    /* fetch.connections as it is now */
    LiveShares shares;            /* of them */
    HostCosts costs;              /* of reading their pages */
    _Atomic uint64_t pages_final; /* answers to scheduled URLs: for max_pages */
    unsigned pauses;              /* PauseReasons that hold */
} AgentParts;
