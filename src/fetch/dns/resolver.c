#include "fetch/dns/resolver.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/core/bounds.h"
#include "base/memory/file.h"
#include "base/thread/log.h"
#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "base/thread/wake.h"
#include "fetch/dns/name_servers.h"
#include "fetch/dns/name_watch.h"
#include "base/core/hash.h"

/* Name cache: what is known of host names.
 *
 * What: a name is in the cache from the first question on. While it is asked for it has waiters and
 * never leaves; once it is answered it is kept until room is needed, the oldest answer first.
 * Owns: the names and their waiters, but not the visit states that wait.
 * Threads: the resolver's. */
#define NAME_ADDRESSES_MAX 8u /* kept of one answer */

typedef struct NameWaiter {
    VisitState *visit_state;
    struct NameWaiter *next;
} NameWaiter;

/* A name that is known or asked for.
 *
 *   (unknown) --resolver_take--> QUEUED --resolver_ask--> ASKED --resolver_conclude--> ANSWERED
 *                                 ^  ^                    |  ^                          |    |
 *                                 |  '- other servers ----'  '-- ask_alone              |    |
 *                                 '------- resolver_take, it has expired ---------------'    |
 *                                                                    name_cache_bound: gone -'
 *
 * QUEUED and ASKED have waiters, ANSWERED has none. QUEUED is in Resolver.queue, ANSWERED in
 * by_expiry. Only ANSWERED names are deleted: c-ares holds a pointer to the name while it is ASKED.
 */
typedef struct Name {
    void *owner;                             /* whoever asks for it; for callbacks */
    char *hostname;                          /* owned; IPv6 literals in brackets */
    IpAddress addresses[NAME_ADDRESSES_MAX]; /* the allowed ones, preferred family first */
    uint32_t n_addresses;
    bool alone;       /* the preferred family is being asked for alone */
    FetchClass class; /* FETCH_OK, or why there is none */
    MonoTime expiry;  /* of the answer */
    MonoTime asked;
    uint64_t heard; /* fingerprint of the last answer that was told of; 0 = none */
    int64_t duration_ms;
    NameWaiter *waiters;      /* while it is asked for */
    struct Name *next_queued; /* waits for a place among the queries */
    HeapNode by_expiry;       /* while it is answered */
} Name;

typedef struct NameCache {
    Map names;      /* by 128-bit fingerprint of the host name */
    Heap by_expiry; /* answered names: the first to go */
    size_t most;    /* answered names */
} NameCache;

/* Names that wait, first in, first out. */
typedef struct NameQueue {
    Name *head;
    Name *tail;
} NameQueue;

/* By fingerprint, so that the map holds no second copy of the name. The name itself is compared by
 * resolver_take: another one with the same fingerprint must not get its addresses. */
static MapKey name_key(const char *hostname)
{
    return map_key_of(hostname, strlen(hostname));
}

static void name_queue_add(NameQueue *queue, Name *name)
{
    name->next_queued = NULL;
    if (queue->tail == NULL) {
        queue->head = name;
    } else {
        queue->tail->next_queued = name;
    }
    queue->tail = name;
}

static Name *name_queue_take(NameQueue *queue)
{
    Name *name = queue->head;
    queue->head = name->next_queued;
    queue->tail = queue->head == NULL ? NULL : queue->tail;
    name->next_queued = NULL;
    return name;
}

static void name_cache_init(NameCache *cache, size_t most)
{
    *cache = (NameCache){.most = most};
    map_init(&cache->names);
    heap_init(&cache->by_expiry);
}

/* Names that are QUEUED or ASKED must be concluded before (resolver_main does so at its end), or
 * their waiters would leak together with the visit states that wait. */
static void name_cache_destroy(NameCache *cache)
{
    size_t place = 0;
    Name *name = NULL;
    while ((name = map_next(&cache->names, &place)) != NULL) {
        free(name->hostname);
        free(name);
    }
    map_destroy(&cache->names);
    heap_destroy(&cache->by_expiry);
}

static Name *name_cache_add(NameCache *cache, const char *hostname)
{
    Name *name = calloc(1, sizeof *name);
    if (name == NULL) {
        return NULL;
    }
    name->hostname = strdup(hostname);
    heap_node_init(&name->by_expiry);
    if (name->hostname == NULL || map_put(&cache->names, name_key(hostname), name) != RESULT_OK) {
        free(name->hostname);
        free(name);
        return NULL;
    }
    return name;
}

static void name_delete(NameCache *cache, Name *name)
{
    heap_remove(&cache->by_expiry, &name->by_expiry);
    (void)map_remove(&cache->names, name_key(name->hostname));
    free(name->hostname);
    free(name);
}

/* Makes a visit state wait. *asked: the name is QUEUED or ASKED already, so the answer will come by
 * itself; else the caller queues it. From here on the name cannot be evicted: it leaves by_expiry,
 * and only what stands there is deleted. */
static Result name_cache_wait(NameCache *cache, Name *name, VisitState *visit_state, bool *asked)
{
    NameWaiter *waiter = malloc(sizeof *waiter);
    if (waiter == NULL) {
        return RESULT_MEMORY;
    }
    *asked = name->waiters != NULL;
    *waiter = (NameWaiter){.visit_state = visit_state, .next = name->waiters};
    name->waiters = waiter;
    heap_remove(&cache->by_expiry, &name->by_expiry);
    return RESULT_OK;
}

static void name_cache_bound(NameCache *cache, size_t most)
{
    cache->most = most;
    while (cache->by_expiry.count > cache->most) {
        name_delete(cache, HEAP_ELEMENT(heap_top(&cache->by_expiry), Name, by_expiry));
    }
}

/* Without memory for a place in by_expiry the name is forgotten at once: an answer is only a cached
 * one, and everybody who waited has it. */
static void name_cache_keep(NameCache *cache, Name *name)
{
    if (heap_push(&cache->by_expiry, &name->by_expiry, name->expiry.ns, 0) != RESULT_OK) {
        name_delete(cache, name);
        return;
    }
    name_cache_bound(cache, cache->most);
}

/* Query window: how many DNS queries may be in flight.
 *
 * What: additive increase, multiplicative decrease. UDP has no flow control: a burst of questions
 * that overflows somebody's socket buffer costs a time-out of seconds. The window grows by one per
 * window of answers and is halved after a loss, once per round of losses.
 * Threads: the resolver's. */

typedef struct QueryWindow {
    size_t most; /* the window's bound */
    size_t size;
    size_t n_in_flight;
    size_t n_since_growth; /* answers */
    MonoTime shrunk;       /* when it last was */
} QueryWindow;

/* DNS answer: which addresses of an answer are used, and how long.
 *
 * What: the allowed addresses (parse/host/ip_address.h), those of the preferred family first. Their
 * time to live is the least of all, within the configured bounds.
 * A pure function of the answer. */

/* Two passes over the answer, the preferred family first, so that NAME_ADDRESSES_MAX cuts off
 * addresses of the other one. Special addresses that are beyond that number are not seen any more,
 * which is no harm: the name has eight others. */
static bool preferred(const ResolverOptions *options, const IpAddress *address)
{
    bool want_v6 = options->family == RESOLVER_IPV6_FIRST || options->family == RESOLVER_IPV6_ONLY;
    return address->v6 == want_v6;
}

/* Adds the addresses to the name, which has none yet; *special counts those that are not allowed.
 * Returns the time to live in ms. */
static int64_t dns_answer_collect(const ResolverOptions *options, Name *name,
                                  const struct ares_addrinfo *answer, size_t *special)
{
    int64_t ttl_ms = INT64_MAX;
    for (int pass = 0; pass < 2; pass++) {
        for (const struct ares_addrinfo_node *node = answer->nodes; node != NULL;
             node = node->ai_next) {
            IpAddress address;
            if (name->n_addresses == NAME_ADDRESSES_MAX ||
                ip_address_of_socket(node->ai_addr, &address) != RESULT_OK ||
                preferred(options, &address) != (pass == 0)) {
                continue;
            }
            if (!ip_policy_allows(options->policy, &address)) {
                (*special)++;
                continue;
            }
            name->addresses[name->n_addresses++] = address;
            int64_t ms = (int64_t)node->ai_ttl * 1000;
            ttl_ms = ms < ttl_ms ? ms : ttl_ms;
        }
    }
    return bounds_int64(ttl_ms, options->ttl_min_ms, options->ttl_max_ms);
}

/* Tells options->heard of an answer that is new. The answer goes to the archive (warc.dns) when
 * it is another than the last one that went there. The order of its addresses and their time to
 * live change with every answer of a name server that shares out load, so the fingerprint leaves
 * both out. An answer that could not be told is told the next time. */
static void dns_answer_tell(const ResolverOptions *options, Name *name,
                            const struct ares_addrinfo *answer)
{
    uint64_t fingerprint = dns_record_fingerprint(answer);
    if (options->heard == NULL || answer->nodes == NULL || fingerprint == name->heard) {
        return;
    }
    Buffer records = {.limit = BUFFER_NO_LIMIT};
    WallTime asked = {wall_now().us - mono_ms_between(name->asked, mono_now()) * 1000};
    if (dns_record_format(&records, name->hostname, answer, asked) == RESULT_OK) {
        options->heard(options->heard_context, name->hostname, asked, &records);
        name->heard = fingerprint;
    }
    buffer_destroy(&records);
}

/* "localhost" and what is below it are this machine, whatever name servers say (RFC 6761 6.3). */
static bool is_localhost(const char *hostname)
{
    static const char name[] = "localhost";
    size_t length = strlen(hostname);
    size_t n = sizeof name - 1;
    return length >= n && strcmp(hostname + length - n, name) == 0 &&
           (length == n || hostname[length - n - 1] == '.');
}

#define WINDOW_FIRST 64u
#define WINDOW_LEAST 10u

static void query_window_init(QueryWindow *window, size_t most)
{
    *window = (QueryWindow){.most = most, .size = most < WINDOW_FIRST ? most : WINDOW_FIRST};
}

/* Another bound. At least the size with which a crawl begins, so that a bound that was very low
 * and is raised need not be climbed from there, one query a round. */
static void query_window_bound(QueryWindow *window, size_t most)
{
    size_t first = most < WINDOW_FIRST ? most : WINDOW_FIRST;
    window->most = most;
    window->size = bounds_size(window->size, first, most);
}

/* A query has ended. timeouts: tries without an answer; asked: when the query was sent. One query
 * more after `size` answers is one more a round trip, as TCP has it. WINDOW_LEAST keeps a bad
 * network from ending with one name at a time. */
static void query_window_answered(QueryWindow *window, int timeouts, MonoTime asked)
{
    window->n_in_flight--;
    if (timeouts == 0) {
        if (++window->n_since_growth >= window->size) {
            window->n_since_growth = 0;
            window->size += window->size < window->most;
        }
    } else if (mono_before(window->shrunk, asked)) {
        /* The other losses of a round were asked for before it shrank, and say nothing of its size
         * now: each would halve it again, down to the least. */
        window->size = window->size / 2 > WINDOW_LEAST ? window->size / 2 : WINDOW_LEAST;
        window->shrunk = mono_now();
    }
}

/* ---- Resolver ---- */

/* LITERAL_TTL_MS: an address that is the host's name does not expire; a year is as long as that. */
#define INBOX_CAPACITY ((size_t)1 << 21)
#define INBOX_BATCH    256u
#define EPOLL_EVENTS   64
#define LITERAL_TTL_MS (INT64_C(365) * 86400000)

struct Resolver {
    ResolverOptions options;
    void (*answered)(void *context, VisitState *visit_state);
    void *context;
    NameServers *servers;
    int epoll;
    Wake wake; /* the inbox has something */
    Queue inbox;
    Thread thread;
    NameCache cache;
    QueryWindow window;
    NameWatch watch;
    MonoTime distrust; /* that a name does not exist is believed only since then */
    NameQueue queue;   /* names that wait for a place among the queries */
    bool asking;       /* in ask_queued: a name that is answered at once must not begin the next */
    atomic_bool stopping;
    NameChange change;
    _Atomic uint64_t n_queries;
    _Atomic uint64_t n_hits;
    _Atomic uint64_t n_failures;
    _Atomic uint64_t n_answered;
    _Atomic uint64_t n_unanswered;
    atomic_size_t published_in_flight;
    atomic_size_t published_cached;
    _Atomic int published_outage;        /* OutageState */
    _Atomic int64_t published_outage_ns; /* since when */
    _Atomic uint64_t published_outages;
    _Atomic uint64_t published_excused;
};

/* ---- names ---- */

/* The watch belongs to this thread; others read copies (helm.c pauses the crawl while it is OUT).
 * The time is stored before the state, so that who sees an outage finds the time of that one. */
static void publish_outage(Resolver *resolver)
{
    OutageReport report = outage_report(&resolver->watch.outage);
    atomic_store(&resolver->published_outage_ns, report.since.ns);
    atomic_store(&resolver->published_outage, (int)report.state);
    atomic_store(&resolver->published_outages, report.n_outages);
    atomic_store(&resolver->published_excused, report.n_excused);
}

/* Hands one visit state back with what the name knows. */
static void resolver_give(Resolver *resolver, const Name *name, VisitState *visit_state)
{
    visit_state->address.class = name->class;
    visit_state->address.resolve_ms = name->duration_ms;
    /* After a failed connect visit_state_next_address moves `turn` on; with the answer in the cache
     * the host gets the next address without a query. */
    if (name->class == FETCH_OK) {
        visit_state->address.count = name->n_addresses;
        visit_state->address.ip = name->addresses[visit_state->address.turn % name->n_addresses];
        visit_state->address.expiry = name->expiry;
    }
    resolver->answered(resolver->context, visit_state);
}

/* ---- our own outages ---- */

/* The watch has changed its mind. When an outage is over, failures that were cached before are not
 * believed any more (Resolver.distrust): they may have been the outage's. Addresses are. */
static void note_outage(Resolver *resolver, MonoTime now)
{
    OutageReport report = outage_report(&resolver->watch.outage);
    if (report.state == OUTAGE_CLEAR) {
        resolver->distrust = now;
    }
    publish_outage(resolver);
    if (resolver->options.changed != NULL) {
        resolver->options.changed(resolver->options.changed_context);
    }
}

/* Canaries are outside of the query window and of the counts: during an outage the window is full
 * of questions that nobody answers, and these few are what ends it. */
static void on_canary(void *context, int status, int timeouts, struct ares_addrinfo *answer)
{
    Resolver *resolver = context;
    (void)timeouts;
    MonoTime now = mono_now();
    ares_freeaddrinfo(answer);
    if (!atomic_load(&resolver->stopping) &&
        name_watch_heard(&resolver->watch, status == ARES_SUCCESS, now)) {
        note_outage(resolver, now);
    }
}

/* Sends the canary out when it is time. */
static void send_canary(Resolver *resolver, MonoTime now)
{
    const char *names[NAME_WATCH_KNOWN];
    unsigned n = name_watch_take(&resolver->watch, names, now);
    for (unsigned i = 0; i < n; i++) {
        name_servers_ask(resolver->servers, names[i], AF_UNSPEC, on_canary, resolver);
    }
}

/* Whose fault it is that a name has no address: not the host's, perhaps. */
static void resolver_judge(Resolver *resolver, Name *name, bool is_silence, MonoTime now)
{
    if (name->class == FETCH_OK || name->class == FETCH_PRIVATE) {
        if (name_watch_answered(&resolver->watch, name->hostname, now)) {
            note_outage(resolver, now);
        }
        return;
    }
    /* The end has come (resolver_on_answer): nothing can be learned from a question that was
     * cancelled. */
    if (name->class == FETCH_LOCAL) {
        return;
    }
    /* One of the hosts that wait stands for all. A host that had failed before is poor evidence
     * against our network. */
    const NameWaiter *first = name->waiters;
    NameFailure failure = {.hostname = name->hostname,
                           .is_silence = is_silence,
                           .was_well =
                               first == NULL || first->visit_state->politeness.health.failures == 0,
                           .asked = name->asked};
    if (name_watch_failed(&resolver->watch, &failure, now)) {
        name->class = FETCH_LOCAL;
        publish_outage(resolver);
    }
}

/* The name has its answer: everybody gets it, and it is cached. The name may be gone then, when the
 * cache is full or there is no memory. */
static void resolver_conclude(Resolver *resolver, Name *name, int64_t ttl_ms)
{
    MonoTime now = mono_now();
    name->duration_ms = mono_ms_between(name->asked, now);
    name->expiry = mono_add_ms(now, ttl_ms);
    if (name->class != FETCH_OK) {
        atomic_fetch_add_explicit(&resolver->n_failures, 1, memory_order_relaxed);
    }
    /* The name is ANSWERED before the first visit state leaves: it has no waiters. name_cache_keep
     * is last, because it may delete the name. */
    NameWaiter *waiter = name->waiters;
    name->waiters = NULL;
    while (waiter != NULL) {
        NameWaiter *next = waiter->next;
        resolver_give(resolver, name, waiter->visit_state);
        free(waiter);
        waiter = next;
    }
    name_cache_keep(&resolver->cache, name);
}

/* ---- queries ---- */

static void ask_queued(Resolver *resolver);
static void resolver_ask(Resolver *resolver, Name *name);

/* Of two answers, c-ares reports "no data" of one family and hides that the other could not be had.
 * A host must not be given up for that: the preferred family is asked for once more, alone. */
static bool ask_alone(Resolver *resolver, Name *name, int status)
{
    bool both = resolver->options.family == RESOLVER_IPV4_FIRST ||
                resolver->options.family == RESOLVER_IPV6_FIRST;
    if (status != ARES_ENODATA || !both || name->alone || atomic_load(&resolver->stopping)) {
        name->alone = false;
        return false;
    }
    name->alone = true;
    resolver_ask(resolver, name);
    return true;
}

static void resolver_on_answer(void *context, int status, int timeouts,
                               struct ares_addrinfo *answer)
{
    Name *name = context;
    Resolver *resolver = name->owner;
    /* First of all, whatever follows: each resolver_ask took a place in the window, and the
     * questions of ask_alone and of other name servers take one anew. */
    query_window_answered(&resolver->window, timeouts, name->asked);
    if (status == ARES_ECANCELLED && !atomic_load(&resolver->stopping)) {
        name->alone = false; /* what the old name servers said of the other family is void */
        name_queue_add(&resolver->queue, name);
        return;
    }
    /* Silence, unlike any answer, may be ours: name_watch_failed tells them apart. NXDOMAIN is the
     * name's own, unless the name server lies, which the canary finds out. */
    bool silence = status == ARES_ETIMEOUT || status == ARES_ECONNREFUSED;
    atomic_fetch_add_explicit(silence ? &resolver->n_unanswered : &resolver->n_answered, 1,
                              memory_order_relaxed);
    if (ask_alone(resolver, name, status)) {
        return;
    }
    int64_t ttl_ms = resolver->options.negative_ttl_ms;
    size_t special = 0;
    name->n_addresses = 0;
    if (status == ARES_SUCCESS) {
        int64_t positive_ms = dns_answer_collect(&resolver->options, name, answer, &special);
        dns_answer_tell(&resolver->options, name, answer);
        if (name->n_addresses > 0) {
            name->class = FETCH_OK;
            ttl_ms = positive_ms;
        } else {
            name->class = special > 0 ? FETCH_PRIVATE : FETCH_NO_NAME;
        }
        ares_freeaddrinfo(answer);
    } else if (status == ARES_ENOTFOUND || status == ARES_ENODATA || status == ARES_EBADNAME ||
               status == ARES_ENONAME) {
        name->class = FETCH_NO_NAME;
    } else {
        name->class = atomic_load(&resolver->stopping) ? FETCH_LOCAL : FETCH_DNS;
    }
    /* Judged before it is concluded, as the waiters are needed for it. What turns out to be our own
     * trouble is not cached: everybody asks again. */
    resolver_judge(resolver, name, silence, mono_now());
    ttl_ms = name->class == FETCH_LOCAL ? 0 : ttl_ms;
    if (name->class != FETCH_OK) {
        LOG_INFO("dns", "no address", "host=%s reason=%s answer=\"%s\"", name->hostname,
                 fetch_class_name(name->class), ares_strerror(status));
    }
    resolver_conclude(resolver, name, ttl_ms);
    if (!atomic_load(&resolver->stopping)) {
        ask_queued(resolver);
    }
}

static void resolver_ask(Resolver *resolver, Name *name)
{
    int family = AF_UNSPEC;
    if (resolver->options.family == RESOLVER_IPV4_ONLY ||
        (name->alone && resolver->options.family == RESOLVER_IPV4_FIRST)) {
        family = AF_INET;
    } else if (resolver->options.family == RESOLVER_IPV6_ONLY || name->alone) {
        family = AF_INET6;
    }
    resolver->window.n_in_flight++;
    atomic_fetch_add_explicit(&resolver->n_queries, 1, memory_order_relaxed);
    name->asked = mono_now();
    name_servers_ask(resolver->servers, name->hostname, family, resolver_on_answer, name);
}

/* Called wherever a place became free or a name was queued. For a name that needs no query (c-ares
 * refuses "x.onion" at once) the answer comes within name_servers_ask, and resolver_on_answer calls
 * this again: `asking` makes a loop of it, where 60 000 such names were a stack overflow. */
static void ask_queued(Resolver *resolver)
{
    if (resolver->asking) {
        return;
    }
    resolver->asking = true;
    while (resolver->queue.head != NULL && resolver->window.n_in_flight < resolver->window.size) {
        resolver_ask(resolver, name_queue_take(&resolver->queue));
    }
    resolver->asking = false;
}

/* An address instead of a name needs no query, nor does this machine. The policy counts as for any
 * answer: a link to http://127.0.0.1/ must not reach what listens here. */
static bool answer_literal(Resolver *resolver, VisitState *visit_state)
{
    IpAddress address;
    const char *text = visit_state->identity.hostname;
    text = is_localhost(text) ? "127.0.0.1" : text;
    if (ip_address_parse(text, strlen(text), &address) != RESULT_OK) {
        return false;
    }
    Name name = {.addresses = {address}, .n_addresses = 1, .class = FETCH_OK};
    name.expiry = mono_add_ms(mono_now(), LITERAL_TTL_MS);
    if (!ip_policy_allows(resolver->options.policy, &address)) {
        name.class = FETCH_PRIVATE;
    }
    resolver_give(resolver, &name, visit_state);
    return true;
}

/* It cannot be asked for: there is no memory, or the end has come. */
static void resolver_refuse(Resolver *resolver, VisitState *visit_state)
{
    Name name = {.class = FETCH_LOCAL};
    resolver_give(resolver, &name, visit_state);
}

static void resolver_take(Resolver *resolver, VisitState *visit_state, MonoTime now)
{
    if (answer_literal(resolver, visit_state)) {
        return;
    }
    Name *name = map_get(&resolver->cache.names, name_key(visit_state->identity.hostname));
    if (name != NULL && strcmp(name->hostname, visit_state->identity.hostname) != 0) {
        resolver_refuse(resolver, visit_state); /* two names with one 128-bit fingerprint */
        return;
    }
    /* A cached answer. An address is good until it expires; that there is none is believed only if
     * it was heard after the last outage of ours or change of name servers (distrust). */
    if (name != NULL && name->waiters == NULL && mono_before(now, name->expiry) &&
        (name->class == FETCH_OK || !mono_before(name->asked, resolver->distrust))) {
        atomic_fetch_add_explicit(&resolver->n_hits, 1, memory_order_relaxed);
        resolver_give(resolver, name, visit_state);
        return;
    }
    if (name == NULL) {
        name = name_cache_add(&resolver->cache, visit_state->identity.hostname);
    }
    bool asked = false;
    if (name == NULL || name_cache_wait(&resolver->cache, name, visit_state, &asked) != RESULT_OK) {
        resolver_refuse(resolver, visit_state);
        return;
    }
    if (!asked) {
        name->owner = resolver;
        name_queue_add(&resolver->queue, name);
    }
}

/* ---- thread ---- */

static void resolver_read_inbox(Resolver *resolver)
{
    void *items[INBOX_BATCH];
    size_t n = 0;
    /* Cleared before the inbox is read: who pushes behind the last pop rings again. */
    wake_clear(&resolver->wake);
    MonoTime now = mono_now();
    while (queue_pop(&resolver->inbox, items, INBOX_BATCH, &n, (MonoTime){0}) == RESULT_OK) {
        for (size_t i = 0; i < n; i++) {
            resolver_take(resolver, items[i], now);
        }
    }
    ask_queued(resolver);
}

/* Questions in flight are put to the new name servers. What the old ones did not know is no longer
 * believed, and no address of a family that is no longer wanted; a host that has its address keeps
 * it until it expires. */
static void resolver_take_change(Resolver *resolver)
{
    NameServers *servers = NULL;
    ResolverFamily family = resolver->options.family;
    if (!name_change_take(&resolver->change, &resolver->options, &servers)) {
        return;
    }
    query_window_bound(&resolver->window, resolver->options.queries);
    /* All answers go, and the second call sets the bound that counts. Names that are being asked
     * for stay; their answer is sorted by the new family. */
    if (resolver->options.family != family) {
        name_cache_bound(&resolver->cache, 0);
    }
    name_cache_bound(&resolver->cache, resolver->options.cache_entries);
    /* The new servers stand before the old ones are cancelled: cancelling calls resolver_on_answer
     * for each question, which queues the name again, and ask_queued puts it to the new ones. */
    if (servers != NULL) {
        NameServers *before = resolver->servers;
        resolver->servers = servers;
        resolver->distrust = mono_now();
        name_servers_cancel(before);
        name_servers_delete(before);
    }
    ask_queued(resolver);
}

/* Until c-ares or the canary needs a turn, whichever is first; -1 waits for a socket or a ring
 * alone. One ms is added because a wait that is rounded down would turn for nothing. */
static int resolver_wait_ms(const Resolver *resolver)
{
    int ms = name_servers_wait_ms(resolver->servers);
    MonoTime canary = name_watch_next(&resolver->watch);
    if (canary.ns == MONO_NEVER.ns) {
        return ms;
    }
    int wait = (int)bounds_int64(mono_ms_between(mono_now(), canary) + 1, 0, 3600000);
    return ms < 0 || wait < ms ? wait : ms;
}

static void *resolver_main(void *argument)
{
    Resolver *resolver = argument;
    struct epoll_event events[EPOLL_EVENTS];
    while (!atomic_load(&resolver->stopping)) {
        thread_step("waiting");
        int n = epoll_wait(resolver->epoll, events, EPOLL_EVENTS, resolver_wait_ms(resolver));
        thread_step("resolving");
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == resolver->wake.fd) {
                resolver_take_change(resolver);
                resolver_read_inbox(resolver);
                continue;
            }
            uint32_t what = events[i].events;
            name_servers_event(resolver->servers, events[i].data.fd,
                               (what & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0,
                               (what & EPOLLOUT) != 0);
        }
        name_servers_event(resolver->servers, 0, false, false); /* their timers */
        send_canary(resolver, mono_now());
        atomic_store_explicit(&resolver->published_in_flight, resolver->window.n_in_flight,
                              memory_order_relaxed);
        atomic_store_explicit(&resolver->published_cached, resolver->cache.by_expiry.count,
                              memory_order_relaxed);
    }
    /* The end. Questions in flight come back within this call as FETCH_LOCAL (`stopping` is set, so
     * nothing is asked again), then the names that were still QUEUED. What is in the inbox is given
     * back by resolver_stop. */
    name_servers_cancel(resolver->servers);
    while (resolver->queue.head != NULL) {
        Name *name = name_queue_take(&resolver->queue);
        name->class = FETCH_LOCAL;
        resolver_conclude(resolver, name, 0);
    }
    return NULL;
}

/* ---- the outside ---- */

Result resolver_new(Resolver **out, const ResolverOptions *options,
                    void (*answered)(void *context, VisitState *visit_state), void *context)
{
    if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) {
        return RESULT_MEMORY;
    }
    Resolver *resolver = calloc(1, sizeof *resolver);
    if (resolver == NULL) {
        ares_library_cleanup();
        return RESULT_MEMORY;
    }
    resolver->options = *options;
    resolver->answered = answered;
    resolver->context = context;
    name_watch_init(&resolver->watch);
    publish_outage(resolver);
    query_window_init(&resolver->window, options->queries);
    name_cache_init(&resolver->cache, options->cache_entries);
    resolver->epoll = epoll_create1(EPOLL_CLOEXEC);
    resolver->wake.fd = -1;
    Result rc = name_change_init(&resolver->change, options);
    if (rc == RESULT_OK) {
        rc = resolver->epoll < 0 ? result_of_errno(errno)
                                 : wake_init(&resolver->wake, resolver->epoll);
    }
    if (rc == RESULT_OK) {
        rc = queue_init(&resolver->inbox, INBOX_CAPACITY);
    }
    if (rc == RESULT_OK) {
        rc = name_servers_new(&resolver->servers, options, resolver->epoll);
    }
    if (rc != RESULT_OK) {
        resolver_delete(resolver);
        return rc;
    }
    *out = resolver;
    return RESULT_OK;
}

Result resolver_start(Resolver *resolver)
{
    return thread_start(&resolver->thread, "dns", resolver_main, resolver);
}

Result resolver_change(Resolver *resolver, const ResolverOptions *options)
{
    Result rc = name_change_put(&resolver->change, options, resolver->epoll);
    wake_ring(&resolver->wake);
    return rc;
}

void resolver_resolve(Resolver *resolver, VisitState *visit_state)
{
    if (queue_push(&resolver->inbox, visit_state) != RESULT_OK) {
        resolver_refuse(resolver, visit_state);
        return;
    }
    wake_ring(&resolver->wake);
}

void resolver_stop(Resolver *resolver)
{
    /* In this order: the flag before the ring, or the thread could sleep again; closed before the
     * join, so that what is pushed later is refused by the pusher itself (resolver_resolve) and the
     * drain below finds all that was accepted. */
    atomic_store(&resolver->stopping, true);
    /* In this order: the flag before the ring, or the thread could sleep again; closed before the
     * join, so that what is pushed later is refused by the pusher itself (resolver_resolve) and the
     * drain below finds all that was accepted. */
    queue_close(&resolver->inbox);
    wake_ring(&resolver->wake);
    thread_join(&resolver->thread);
    void *item = NULL;
    size_t n = 0;
    while (queue_pop(&resolver->inbox, &item, 1, &n, (MonoTime){0}) == RESULT_OK) {
        resolver_refuse(resolver, item);
    }
}

void resolver_delete(Resolver *resolver)
{
    if (resolver == NULL) {
        return;
    }
    name_change_destroy(&resolver->change);
    name_servers_delete(resolver->servers);
    name_cache_destroy(&resolver->cache);
    if (resolver->inbox.items != NULL) {
        queue_destroy(&resolver->inbox);
    }
    file_close_fd(resolver->epoll);
    wake_destroy(&resolver->wake);
    free(resolver);
    ares_library_cleanup();
}

void resolver_stats(Resolver *resolver, ResolverStats *stats)
{
    *stats = (ResolverStats){
        .queries = atomic_load_explicit(&resolver->n_queries, memory_order_relaxed),
        .hits = atomic_load_explicit(&resolver->n_hits, memory_order_relaxed),
        .answered = atomic_load_explicit(&resolver->n_answered, memory_order_relaxed),
        .unanswered = atomic_load_explicit(&resolver->n_unanswered, memory_order_relaxed),
        .failures = atomic_load_explicit(&resolver->n_failures, memory_order_relaxed),
        .in_flight = atomic_load_explicit(&resolver->published_in_flight, memory_order_relaxed),
        .cached = atomic_load_explicit(&resolver->published_cached, memory_order_relaxed),
        .outage = (OutageState)atomic_load(&resolver->published_outage),
        .outage_since = {atomic_load(&resolver->published_outage_ns)},
        .outages = atomic_load(&resolver->published_outages),
        .excused = atomic_load(&resolver->published_excused),
    };
}

/* ---- Dns record ---- */

static const char *dot_behind(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && name[n - 1] == '.' ? "" : ".";
}

Result dns_record_format(Buffer *out, const char *hostname, const struct ares_addrinfo *answer,
                         WallTime asked)
{
    char text[CLOCK_TEXT_BYTES];
    const char *owner = hostname; /* of the addresses: where the aliases lead */
    (void)buffer_printf(out, "%.14s\n", wall_format_compact(asked, text));
    for (const struct ares_addrinfo_cname *alias = answer->cnames; alias != NULL;
         alias = alias->next) {
        if (alias->alias != NULL && alias->name != NULL) {
            (void)buffer_printf(out, "%s%s\t%d\tIN\tCNAME\t%s%s\n", alias->alias,
                                dot_behind(alias->alias), alias->ttl, alias->name,
                                dot_behind(alias->name));
            owner = alias->name;
        }
    }
    for (const struct ares_addrinfo_node *node = answer->nodes; node != NULL;
         node = node->ai_next) {
        IpAddress address;
        char ip[IP_ADDRESS_TEXT_BYTES];
        if (ip_address_of_socket(node->ai_addr, &address) == RESULT_OK) {
            (void)buffer_printf(out, "%s%s\t%d\tIN\t%s\t%s\n", owner, dot_behind(owner),
                                node->ai_ttl, address.v6 ? "AAAA" : "A",
                                ip_address_format(&address, ip));
        }
    }
    return out->failed; /* an error sticks */
}

uint64_t dns_record_fingerprint(const struct ares_addrinfo *answer)
{
    /* A sum does not depend on order. Without the time to live, as dns_answer_tell wants it. */
    uint64_t sum = 1;
    for (const struct ares_addrinfo_cname *alias = answer->cnames; alias != NULL;
         alias = alias->next) {
        sum += alias->name == NULL ? 0 : hash_64(alias->name, strlen(alias->name), 1);
    }
    for (const struct ares_addrinfo_node *node = answer->nodes; node != NULL;
         node = node->ai_next) {
        IpAddress address;
        if (ip_address_of_socket(node->ai_addr, &address) == RESULT_OK) {
            MapKey key = ip_address_key(&address);
            sum += hash_mix(key.high) ^ hash_mix(key.low + 1);
        }
    }
    return sum == 0 ? 1 : sum;
}
