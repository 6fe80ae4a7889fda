#include "store/front/bf_front.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory/heap.h"
#include "base/memory/map.h"
#include "store/front/bf_heap.h"
#include "store/front/bf_set.h"
#include "store/front/bf_window.h"

#define HOSTS_AT_ONCE 256u
#define EFFORT_HOSTS  32u /* what loading so many hosts counts, in reads of a window */
#define NS_PER_S      1e9

typedef struct BFHost {
    BFHandle ready; /* in the heap of its heat, or among the unread */
    HeapNode clock; /* by the time when its heat may sink, or it may be forgotten */
    double *full; /* [rates]: when the bucket of each rate is empty again; NULL: none was filled */
    BFWindow window;
    uint32_t id;
    uint32_t heat; /* rates that it exceeds */
} BFHost;

struct BFFront {
    Schedule *schedule;
    Map hosts;                         /* id -> BFHost */
    BFSet leases;                      /* indices */
    BFHeap ready[BF_CRAWL_RATE_STEPS]; /* hosts with a window, by heat */
    BFHeap unread;                     /* hosts below some rate whose next entries are on disk */
    Heap clock;
    unsigned effort; /* reads left that only make the order exact */
    double now_s;    /* of the last take or visit */
    BFRates rates;
    ScheduleHostCursor cursor; /* hosts at or before it have been loaded */
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
    bf_window_destroy(&host->window);
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

Result bf_front_set_rates(BFFront *front, double soft, double hard)
{
    Result rc = bf_rates_set(&front->rates, soft, hard);
    if (rc == RESULT_OK) {
        bf_front_clear(front);
    }
    return rc;
}

/* ---- Heaps ---- */

static void leave_heaps(BFFront *front, BFHost *host)
{
    bf_heap_leave(&host->ready);
    if (heap_holds(&host->clock)) {
        heap_remove(&front->clock, &host->clock);
    }
}

static void bf_front_drop_host(BFFront *front, BFHost *host)
{
    leave_heaps(front, host);
    (void)map_remove(&front->hosts, map_key(host->id));
    free_host(host);
}

/* Under its best entry, wherever it was before. */
static Result enter_heap(BFFront *front, BFHost *host)
{
    BFHeap *heap = bf_window_is_empty(&host->window) ? &front->unread : &front->ready[host->heat];
    return bf_heap_put(heap, &host->ready, bf_window_best(&host->window));
}

/* Puts the host where it belongs after any change. A host with nothing to give and nothing to
 * remember is dropped. */
static Result place_host(BFFront *front, BFHost *host, double now_s)
{
    if (heap_holds(&host->clock)) {
        heap_remove(&front->clock, &host->clock);
    }
    double wake_at = 0.0;
    host->heat = bf_rates_heat(&front->rates, host->full, now_s, &wake_at);
    bool is_empty = !bf_window_may_have_entries(&host->window);
    bool is_woken = host->heat > 0;
    if (is_empty) {
        /* the slowest bucket is the last to be empty; then all are */
        wake_at = host->full != NULL && front->rates.n > 0 ? host->full[0] : 0.0;
        is_woken = wake_at > now_s;
        if (!is_woken) {
            bf_front_drop_host(front, host);
            return RESULT_OK;
        }
    }
    Result rc = RESULT_OK;
    if (!is_empty && (host->heat < front->rates.n || front->rates.n == 0)) {
        rc = enter_heap(front, host);
    } else {
        bf_heap_leave(&host->ready);
    }
    if (rc == RESULT_OK && is_woken) {
        double ns = ceil((wake_at < BF_NEVER_S ? wake_at : BF_NEVER_S) * NS_PER_S);
        rc = heap_push(&front->clock, &host->clock, (int64_t)ns, host->id);
    }
    return rc;
}

/* The same when only the window has changed. */
static Result replace_head(BFFront *front, BFHost *host)
{
    if (!bf_window_may_have_entries(&host->window)) {
        return place_host(front, host, front->now_s);
    }
    bool is_hot = front->rates.n > 0 && host->heat >= front->rates.n;
    return is_hot ? RESULT_OK : enter_heap(front, host);
}

/* ---- Hosts ---- */

static Result load_host(BFFront *front, uint32_t id, BFOrder complete_to, BFHost **out)
{
    BFHost *host = calloc(1, sizeof *host);
    if (host == NULL) {
        return RESULT_MEMORY;
    }
    host->id = id;
    host->window.complete_to = complete_to;
    heap_node_init(&host->clock);
    double ignored = 0.0;
    host->heat = bf_rates_heat(&front->rates, host->full, front->now_s, &ignored);
    Result rc = map_put(&front->hosts, map_key(id), host);
    if (rc != RESULT_OK) {
        free_host(host);
        return rc;
    }
    *out = host;
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
    } else if (order < host->window.complete_to) {
        rc = bf_window_insert(&host->window, order);
    }
    return rc == RESULT_OK ? replace_head(front, host) : rc;
}

void bf_front_withdraw(BFFront *front, uint32_t id, BFOrder order)
{
    BFHost *host = map_get(&front->hosts, map_key(id));
    if (host == NULL) {
        return;
    }
    if (bf_window_remove(&host->window, order)) {
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
    unsigned n_heats = front->rates.n == 0 ? 1 : front->rates.n;
    for (unsigned heat = 0; heat < n_heats;) {
        const BFHeapEntry *node = bf_heap_top(&front->ready[heat]);
        BFHost *host = node == NULL ? NULL : HEAP_ELEMENT(node->handle, BFHost, ready);
        const BFHeapEntry *unread = bf_heap_top(&front->unread);
        Result rc = RESULT_OK;
        if (!front->is_cursor_done &&
            is_worth(front, host,
                     host != NULL &&
                         bf_order_level(bf_window_best(&host->window)) >= front->cursor.level,
                     EFFORT_HOSTS)) {
            rc = load_more_hosts(front, txn);
        } else if (unread != NULL &&
                   is_worth(front, host, host != NULL && unread->key < node->key, 1)) {
            BFHost *next = HEAP_ELEMENT(unread->handle, BFHost, ready);
            rc = bf_window_fill(&next->window, front->schedule, txn, next->id, &front->leases);
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
    *order = bf_window_best(&host->window);
    rc = bf_set_add(&front->leases, bf_order_index(*order));
    if (rc != RESULT_OK) {
        return rc;
    }
    host->window.begin++;
    if (front->rates.n == 0) {
        return replace_head(front, host);
    }
    bf_rates_fill(&front->rates, &host->full, now_s);
    return place_host(front, host, now_s);
}

void bf_front_visit(BFFront *front, uint32_t id, double now_s)
{
    BFHost *host = map_get(&front->hosts, map_key(id));
    if (front->rates.n == 0) {
        return;
    }
    front->now_s = now_s > front->now_s ? now_s : front->now_s;
    now_s = front->now_s;
    if (host == NULL && load_host(front, id, 0, &host) != RESULT_OK) {
        return;
    }
    bf_rates_fill(&front->rates, &host->full, now_s);
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
