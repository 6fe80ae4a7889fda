#include "store/best_first/bf_front.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/heap.h"
#include "base/memory/map.h"
#include "store/best_first/bf_heap.h"

#define FIRST_WINDOW   16u /* entries read at first; twice as many each time */
#define LARGEST_WINDOW 256u
#define HOSTS_AT_ONCE  256u
#define EFFORT_HOSTS   32u /* what loading so many hosts counts, in reads of a window */
#define ALL_COMPLETE   UINT64_MAX
#define NS_PER_S       1e9
#define NEVER_S        1e9 /* seconds: far away, and in nanoseconds still an int64 */

typedef struct BFHost {
    BFHandle ready; /* in the heap of its heat, or among the unread */
    HeapNode clock; /* by the time when its heat may sink, or it may be forgotten */
    double *full; /* [rates]: when the bucket of each rate is empty again; NULL: none was filled */
    BFOrder *window;     /* ascending, [begin, end) in use */
    BFOrder complete_to; /* all entries in order below it are in the window or leased */
    uint32_t id;
    uint32_t begin;
    uint32_t end;
    uint32_t capacity;
    uint32_t heat; /* rates that it exceeds */
} BFHost;

struct BFFront {
    Schedule *schedule;
    Map hosts;                         /* id -> BFHost */
    BFSet leases;                      /* indices */
    BFHeap ready[BF_CRAWL_RATE_STEPS]; /* hosts with a window, by heat */
    BFHeap unread;                     /* hosts below some rate whose next entries are on disk */
    Heap clock;
    unsigned effort;                  /* reads left that only make the order exact */
    double now_s;                     /* of the last take or visit */
    unsigned n_rates;                 /* 0: none, then every host is of heat 0 */
    double rate[BF_CRAWL_RATE_STEPS]; /* ascending; infinite: no limit */
    ScheduleHostCursor cursor;        /* hosts at or before it have been loaded */
    bool is_cursor_done;
};

BFFront *bf_front_new(Schedule *schedule)
{
    BFFront *front = calloc(1, sizeof *front);
    if (front == NULL) {
        return NULL;
    }
    front->schedule = schedule;
    map_init(&front->hosts);
    heap_init(&front->clock);
    return front;
}

static void free_host(BFHost *host)
{
    free(host->window);
    free(host->full);
    free(host);
}

static void destroy_all(BFFront *front)
{
    size_t place = 0;
    BFHost *host = NULL;
    while ((host = map_next(&front->hosts, &place)) != NULL) {
        free_host(host);
    }
    map_destroy(&front->hosts);
    bf_set_destroy(&front->leases);
    for (unsigned i = 0; i < BF_CRAWL_RATE_STEPS; i++) {
        bf_heap_destroy(&front->ready[i]);
    }
    bf_heap_destroy(&front->unread);
    heap_destroy(&front->clock);
}

void bf_front_delete(BFFront *front)
{
    if (front != NULL) {
        destroy_all(front);
        free(front);
    }
}

void bf_front_clear(BFFront *front)
{
    destroy_all(front);
    map_init(&front->hosts);
    heap_init(&front->clock);
    front->cursor = (ScheduleHostCursor){0};
    front->is_cursor_done = false;
}

/* ---- Rates ---- */

/* Seconds by which a bucket may be filled ahead of time: BF_RATE_BURST_S less the URL itself. */
static double burst(double rate)
{
    return rate * BF_RATE_BURST_S > 1.0 ? BF_RATE_BURST_S - 1.0 / rate : 0.0;
}

/* Rates that the host exceeds now; *sinks_at: when that may be one less. */
static unsigned heat_of(const BFFront *front, const BFHost *host, double now_s, double *sinks_at)
{
    unsigned heat = 0;
    *sinks_at = 0.0;
    for (; heat < front->n_rates; heat++) {
        double rate = front->rate[heat];
        double full = host->full == NULL ? 0.0 : host->full[heat];
        double free_at = rate > 0.0 ? full - burst(rate) : NEVER_S;
        if (free_at <= now_s) {
            break;
        }
        *sinks_at = free_at < NEVER_S ? free_at : NEVER_S;
    }
    return heat;
}

static void fill_buckets(const BFFront *front, BFHost *host, double now_s)
{
    if (front->n_rates == 0) {
        return;
    }
    if (host->full == NULL) {
        host->full = calloc(BF_CRAWL_RATE_STEPS, sizeof *host->full);
        if (host->full == NULL) {
            return; /* without memory the rate is not counted this once */
        }
    }
    for (unsigned i = 0; i < front->n_rates; i++) {
        double from = host->full[i] > now_s ? host->full[i] : now_s;
        host->full[i] = from + (front->rate[i] > 0.0 ? 1.0 / front->rate[i] : 0.0);
    }
}

Result bf_front_set_rates(BFFront *front, double soft, double hard)
{
    if (isnan(soft) || isnan(hard)) {
        return RESULT_INVALID;
    }
    bool has_soft = soft >= 0.0 && !(hard >= 0.0 && hard < soft);
    front->n_rates = 0;
    if (has_soft && hard > soft && soft > 0.0) {
        for (unsigned i = 0; i < BF_CRAWL_RATE_STEPS; i++) {
            double share = (double)i / (BF_CRAWL_RATE_STEPS - 1);
            front->rate[front->n_rates++] = soft * pow(hard / soft, share);
        }
        front->rate[front->n_rates - 1] = hard;
    } else {
        if (has_soft) {
            front->rate[front->n_rates++] = soft;
        }
        if (hard < 0.0 && has_soft) {
            front->rate[front->n_rates++] = HUGE_VAL;
        } else if (hard >= 0.0 && !(has_soft && hard <= soft)) {
            front->rate[front->n_rates++] = hard;
        }
    }
    bf_front_clear(front);
    return RESULT_OK;
}

/* ---- Heaps ---- */

static bool may_have_entries(const BFHost *host)
{
    return host->begin < host->end || host->complete_to != ALL_COMPLETE;
}

/* The best that the host can have: its first entry, or where its unread part begins. */
static BFOrder best_of(const BFHost *host)
{
    return host->begin < host->end ? host->window[host->begin] : host->complete_to;
}

static void leave_heaps(BFFront *front, BFHost *host)
{
    bf_heap_leave(&host->ready);
    if (heap_holds(&host->clock)) {
        heap_remove(&front->clock, &host->clock);
    }
}

static void drop_host(BFFront *front, BFHost *host)
{
    leave_heaps(front, host);
    (void)map_remove(&front->hosts, map_key(host->id));
    free_host(host);
}

/* Under its best entry, wherever it was before. */
static Result enter_heap(BFFront *front, BFHost *host)
{
    BFHeap *heap = host->begin < host->end ? &front->ready[host->heat] : &front->unread;
    return bf_heap_put(heap, &host->ready, best_of(host));
}

/* Puts the host where it belongs after any change. A host with nothing to give and nothing to
 * remember is dropped. */
static Result place_host(BFFront *front, BFHost *host, double now_s)
{
    if (heap_holds(&host->clock)) {
        heap_remove(&front->clock, &host->clock);
    }
    double wake_at = 0.0;
    host->heat = heat_of(front, host, now_s, &wake_at);
    bool is_empty = !may_have_entries(host);
    bool is_woken = host->heat > 0;
    if (is_empty) {
        /* the slowest bucket is the last to be empty; then all are */
        wake_at = host->full != NULL && front->n_rates > 0 ? host->full[0] : 0.0;
        is_woken = wake_at > now_s;
        if (!is_woken) {
            drop_host(front, host);
            return RESULT_OK;
        }
    }
    Result rc = RESULT_OK;
    if (!is_empty && (host->heat < front->n_rates || front->n_rates == 0)) {
        rc = enter_heap(front, host);
    } else {
        bf_heap_leave(&host->ready);
    }
    if (rc == RESULT_OK && is_woken) {
        double ns = ceil((wake_at < NEVER_S ? wake_at : NEVER_S) * NS_PER_S);
        rc = heap_push(&front->clock, &host->clock, (int64_t)ns, host->id);
    }
    return rc;
}

/* The same when only the window has changed. */
static Result replace_head(BFFront *front, BFHost *host)
{
    if (!may_have_entries(host)) {
        return place_host(front, host, front->now_s);
    }
    bool is_hot = front->n_rates > 0 && host->heat >= front->n_rates;
    return is_hot ? RESULT_OK : enter_heap(front, host);
}

/* ---- Windows ---- */

static Result load_host(BFFront *front, uint32_t id, BFOrder complete_to, BFHost **out)
{
    BFHost *host = calloc(1, sizeof *host);
    if (host == NULL) {
        return RESULT_MEMORY;
    }
    host->id = id;
    host->complete_to = complete_to;
    heap_node_init(&host->clock);
    double ignored = 0.0;
    host->heat = heat_of(front, host, front->now_s, &ignored);
    Result rc = map_put(&front->hosts, map_key(id), host);
    if (rc != RESULT_OK) {
        free_host(host);
        return rc;
    }
    *out = host;
    return RESULT_OK;
}

static Result window_reserve(BFHost *host, uint32_t capacity)
{
    if (host->begin > 0) {
        memmove(host->window, host->window + host->begin,
                (host->end - host->begin) * sizeof *host->window);
        host->end -= host->begin;
        host->begin = 0;
    }
    if (capacity <= host->capacity) {
        return RESULT_OK;
    }
    BFOrder *window = realloc(host->window, capacity * sizeof *window);
    if (window == NULL) {
        return RESULT_MEMORY;
    }
    host->window = window;
    host->capacity = capacity;
    return RESULT_OK;
}

/* Reads the next entries behind the window, which is empty. */
static Result refill(BFFront *front, MDB_txn *txn, BFHost *host)
{
    uint32_t want = host->capacity == 0                   ? FIRST_WINDOW
                    : host->capacity * 2 > LARGEST_WINDOW ? LARGEST_WINDOW
                                                          : host->capacity * 2;
    Result rc = window_reserve(host, want);
    while (rc == RESULT_OK && host->begin == host->end && host->complete_to != ALL_COMPLETE) {
        ScheduleItem items[LARGEST_WINDOW];
        BFOrder last = host->complete_to == 0 ? 0 : host->complete_to - 1;
        ScheduleItem after = {.index = bf_order_value(last), .level = bf_order_level(last)};
        size_t n = 0;
        rc = schedule_head(front->schedule, txn, host->id, host->complete_to == 0 ? NULL : &after,
                           items, want, &n);
        if (rc != RESULT_OK) {
            break;
        }
        host->begin = 0;
        host->end = 0;
        for (size_t i = 0; i < n; i++) {
            if (!bf_set_has(&front->leases, bf_order_index(items[i].index))) {
                host->window[host->end++] = bf_order(items[i].level, items[i].index);
            }
        }
        host->complete_to =
            n < want ? ALL_COMPLETE : bf_order(items[n - 1].level, items[n - 1].index) + 1;
    }
    return rc;
}

/* The place of the first entry not before order. */
static uint32_t window_find(const BFHost *host, BFOrder order)
{
    uint32_t low = host->begin;
    uint32_t high = host->end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (host->window[middle] < order) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static Result window_insert(BFHost *host, BFOrder order)
{
    uint32_t at = window_find(host, order);
    if (at < host->end && host->window[at] == order) {
        return RESULT_OK;
    }
    if (host->end - host->begin >= LARGEST_WINDOW) { /* what falls off at the end is on disk */
        if (at == host->end) {
            host->complete_to = order;
            return RESULT_OK;
        }
        host->complete_to = host->window[--host->end];
    }
    if (host->end == host->capacity) {
        uint32_t shift = host->begin;
        uint32_t used = host->end - host->begin;
        uint32_t want = used < host->capacity ? host->capacity
                        : host->capacity == 0 ? FIRST_WINDOW
                                              : host->capacity * 2;
        Result rc = window_reserve(host, want);
        if (rc != RESULT_OK) {
            return rc;
        }
        at -= shift;
    }
    memmove(host->window + at + 1, host->window + at, (host->end - at) * sizeof *host->window);
    host->window[at] = order;
    host->end++;
    return RESULT_OK;
}

/* ---- Entries come and go ---- */

/* Whether the loading cursor will still find a host whose best entry is of that level. */
static bool is_behind_cursor(const BFFront *front, uint32_t host, unsigned level)
{
    if (front->is_cursor_done) {
        return false;
    }
    const ScheduleHostCursor *c = &front->cursor;
    return !c->started || level > c->level || (level == c->level && host > c->host);
}

Result bf_front_offer(BFFront *front, uint32_t id, BFOrder order)
{
    BFHost *host = map_get(&front->hosts, map_key(id));
    if (bf_set_has(&front->leases, bf_order_index(order))) {
        return RESULT_OK;
    }
    Result rc = RESULT_OK;
    if (host == NULL) {
        if (is_behind_cursor(front, id, bf_order_level(order))) {
            return RESULT_OK;
        }
        /* The cursor may have passed by before the host had this entry, and not its others. */
        rc = load_host(front, id, 0, &host);
    } else if (order < host->complete_to) {
        rc = window_insert(host, order);
    }
    return rc == RESULT_OK ? replace_head(front, host) : rc;
}

void bf_front_withdraw(BFFront *front, uint32_t id, BFOrder order)
{
    BFHost *host = map_get(&front->hosts, map_key(id));
    if (host == NULL) {
        return;
    }
    uint32_t at = window_find(host, order);
    if (at < host->end && host->window[at] == order) {
        memmove(host->window + at, host->window + at + 1,
                (host->end - at - 1) * sizeof *host->window);
        host->end--;
        (void)replace_head(front, host); /* needs no memory: the host was in a heap or is not */
    }
}

/* ---- Taking ---- */

static Result load_more_hosts(BFFront *front, MDB_txn *txn)
{
    uint32_t ids[HOSTS_AT_ONCE];
    size_t n = 0;
    Result rc = RESULT_OK;
    ScheduleHostCursor cursor = front->cursor;
    rc = schedule_hosts(front->schedule, txn, &cursor, ids, NULL, HOSTS_AT_ONCE, &n);
    for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
        if (map_get(&front->hosts, map_key(ids[i])) == NULL) {
            /* its best level is that of the old cursor or a later one: nothing lies before it */
            BFHost *host = NULL;
            rc = load_host(front, ids[i], bf_order(front->cursor.level, 0), &host);
            if (rc == RESULT_OK) {
                rc = place_host(front, host, front->now_s);
            }
        }
    }
    if (rc == RESULT_OK) {
        front->cursor = cursor;
        front->is_cursor_done = n < HOSTS_AT_ONCE;
    }
    return rc;
}

/* Hosts whose heat may have sunk by now. */
static Result run_clock(BFFront *front, double now_s)
{
    for (HeapNode *node = heap_top(&front->clock); node != NULL; node = heap_top(&front->clock)) {
        if ((double)node->key > now_s * NS_PER_S) {
            break;
        }
        BFHost *host = HEAP_ELEMENT(node, BFHost, clock);
        heap_remove(&front->clock, node);
        Result rc = place_host(front, host, now_s);
        if (rc != RESULT_OK) {
            return rc;
        }
        if (heap_top(&front->clock) == node) {
            break; /* rounding: its time is a nanosecond away */
        }
    }
    return RESULT_OK;
}

/* Whether what is not in memory may be better than host (NULL: better than nothing), and is worth a
 * read: one that is needed always is, one that only may change the order while effort lasts. */
static bool is_worth(BFFront *front, const BFHost *host, bool is_better, unsigned cost)
{
    if (host == NULL || !is_better) {
        return host == NULL;
    }
    if (front->effort < cost) {
        return false;
    }
    front->effort -= cost;
    return true;
}

/* The host with the best entry of the least heat; RESULT_NOT_FOUND: none. */
static Result find_best(BFFront *front, MDB_txn *txn, BFHost **out)
{
    unsigned n_heats = front->n_rates == 0 ? 1 : front->n_rates;
    for (unsigned heat = 0; heat < n_heats;) {
        const BFHeapEntry *node = bf_heap_top(&front->ready[heat]);
        BFHost *host = node == NULL ? NULL : HEAP_ELEMENT(node->handle, BFHost, ready);
        const BFHeapEntry *unread = bf_heap_top(&front->unread);
        Result rc = RESULT_OK;
        if (!front->is_cursor_done &&
            is_worth(front, host,
                     host != NULL && bf_order_level(best_of(host)) >= front->cursor.level,
                     EFFORT_HOSTS)) {
            rc = load_more_hosts(front, txn);
        } else if (unread != NULL &&
                   is_worth(front, host, host != NULL && unread->key < node->key, 1)) {
            BFHost *next = HEAP_ELEMENT(unread->handle, BFHost, ready);
            rc = refill(front, txn, next);
            rc = rc == RESULT_OK ? replace_head(front, next) : rc;
        } else if (host == NULL) {
            heat++;
        } else {
            *out = host;
            return RESULT_OK;
        }
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_NOT_FOUND;
}

void bf_front_allow(BFFront *front, unsigned effort)
{
    front->effort = effort;
}

Result bf_front_take(BFFront *front, MDB_txn *txn, double now_s, uint32_t *id, BFOrder *order)
{
    front->now_s = now_s > front->now_s ? now_s : front->now_s;
    now_s = front->now_s;
    Result rc = run_clock(front, now_s);
    BFHost *host = NULL;
    if (rc == RESULT_OK) {
        rc = find_best(front, txn, &host);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    *id = host->id;
    *order = host->window[host->begin];
    rc = bf_set_add(&front->leases, bf_order_index(*order));
    if (rc != RESULT_OK) {
        return rc;
    }
    host->begin++;
    if (front->n_rates == 0) {
        return replace_head(front, host);
    }
    fill_buckets(front, host, now_s);
    return place_host(front, host, now_s);
}

void bf_front_visit(BFFront *front, uint32_t id, double now_s)
{
    BFHost *host = map_get(&front->hosts, map_key(id));
    if (front->n_rates == 0) {
        return;
    }
    front->now_s = now_s > front->now_s ? now_s : front->now_s;
    now_s = front->now_s;
    if (host == NULL && load_host(front, id, 0, &host) != RESULT_OK) {
        return;
    }
    fill_buckets(front, host, now_s);
    (void)place_host(front, host, now_s);
}

bool bf_front_end_lease(BFFront *front, uint64_t index)
{
    return bf_set_remove(&front->leases, index);
}

uint64_t bf_front_leases(const BFFront *front)
{
    return front->leases.count;
}

uint64_t bf_front_hosts(const BFFront *front)
{
    return front->hosts.count;
}
