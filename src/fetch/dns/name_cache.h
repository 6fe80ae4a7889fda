/* Name cache: what is known of host names.
 *
 * What: a name is in the cache from the first question on. While it is asked for it has waiters and
 * never leaves; once it is answered it is kept until room is needed, the oldest answer first.
 * Owns: the names and their waiters, but not the visit states that wait.
 * Threads: the resolver's. */
#ifndef FETCH_DNS_NAME_CACHE_H
#define FETCH_DNS_NAME_CACHE_H

#include "base/memory/heap.h"
#include "base/memory/map.h"
#include "frontier/visit/visit_state.h"
#include "parse/host/ip_address.h"

#define NAME_ADDRESSES_MAX 8u /* kept of one answer */

typedef struct NameWaiter {
    VisitState *visit_state;
    struct NameWaiter *next;
} NameWaiter;

/* A name that is known or asked for. */
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

void name_queue_add(NameQueue *queue, Name *name);
/* The first; there is one. */
Name *name_queue_take(NameQueue *queue);

void name_cache_init(NameCache *cache, size_t most);
/* Another bound; what is beyond it goes. */
void name_cache_bound(NameCache *cache, size_t most);
void name_cache_destroy(NameCache *cache);
/* NULL: it is not known. The caller compares Name.hostname: another name may have the same
 * fingerprint. */
Name *name_cache_find(const NameCache *cache, const char *hostname);
/* A name that is not there. NULL without memory. */
Name *name_cache_add(NameCache *cache, const char *hostname);
/* Adds a visit state to the waiters of a name, and forgets an expired answer. *asked: the name is
 * being asked for already. RESULT_MEMORY. */
Result name_cache_wait(NameCache *cache, Name *name, VisitState *visit_state, bool *asked);
/* Takes the waiters of a name that has its answer. Returns the first of the list, which is the
 * caller's. */
NameWaiter *name_cache_take_waiters(Name *name);
/* Keeps an answered name as long as there is room; afterwards it may be gone. */
void name_cache_keep(NameCache *cache, Name *name);

#endif
