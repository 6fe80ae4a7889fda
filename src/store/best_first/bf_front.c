#include "store/best_first/bf_front.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/bounds.h"
#include "base/memory/heap.h"
#include "base/memory/map.h"
#include "store/schedule/schedule_read.h"
#include "base/memory/array.h"

/* The head of a host's queue in memory: a small sorted window onto its range in the schedule.
 *
 * What: entries are read from the schedule when the window is empty, at first a few, then more.
 * Entries that come later are inserted; what falls off at the end is still on disk.
 * Owns: the entries.
 * Threads: as the front.
 * Invariants: all entries of the host in order below `complete_to` are in the window, or leased.
 * Errors: RESULT_MEMORY, and those of the schedule. */

/* The entries of a host, in the order of the schedule:
 *
 *   a b   taken, or withdrawn          c d e   the window        f g h ...   on disk alone
 *         [0, begin)                           [begin, end)      ^ complete_to
 *
 * complete_to is a bound, not an entry: when the window is empty, no entry of the host is better
 * than it. So a host that was never read stands in the heap of the unread under the best that it
 * might have, and is read only when that is better than what others have for certain. */
#define BF_WINDOW_COMPLETE UINT64_MAX /* complete_to: nothing is left on disk */

typedef struct BFWindow {
    BFOrder *entries; /* ascending, [begin, end) in use */
    BFOrder complete_to;
    uint32_t begin;
    uint32_t end;
    uint32_t capacity;
} BFWindow;

static inline bool bf_window_is_empty(const BFWindow *window)
{
    return window->begin == window->end;
}

/* Whether the host may have entries, here or on disk. */
static inline bool bf_window_may_have_entries(const BFWindow *window)
{
    return window->begin < window->end || window->complete_to != BF_WINDOW_COMPLETE;
}

/* The best that the host can have: its first entry, or where its unread part begins. */
static inline BFOrder bf_window_best(const BFWindow *window)
{
    return window->begin < window->end ? window->entries[window->begin] : window->complete_to;
}

/* How often hosts may be asked: leaky buckets for a row of crawl rates.
 *
 * What: a host's heat is the number of rates that it exceeds now. Each rate is a bucket (one double
 * for each host and rate), filled by what is handed out, that lets pass at most
 * rate * t + max(1, rate * BF_RATE_BURST_S) URLs in any t seconds. Times are in seconds. */

#define BF_CRAWL_RATE_STEPS 5u
#define BF_RATE_BURST_S     1.0
#define BF_NEVER_S          1e9 /* seconds: far away, and in nanoseconds still an int64 */

typedef struct BFRates {
    unsigned n;                       /* 0: none, then every host is of heat 0 */
    double rate[BF_CRAWL_RATE_STEPS]; /* ascending; infinite: no limit */
} BFRates;

/* Seconds by which a bucket may be filled ahead of time: BF_RATE_BURST_S less the URL itself. A
 * rate of one a second or less has no burst: one URL fills it for its whole time. */
static double bf_rates_burst(double rate)
{
    return rate * BF_RATE_BURST_S > 1.0 ? BF_RATE_BURST_S - 1.0 / rate : 0.0;
}

/* Rates that a host exceeds now; *sinks_at: when that may be one less. full: its buckets, or NULL
 * when none was filled. Rates ascend, and all buckets are filled together, so a bucket of a lower
 * rate is never empty before one of a higher: the first that has room ends the count. The heat
 * falls when the last full one has room again. */
static unsigned bf_rates_heat(const BFRates *rates, const double *full, double now_s,
                              double *sinks_at)
{
    unsigned heat = 0;
    *sinks_at = 0.0;
    for (; heat < rates->n; heat++) {
        double rate = rates->rate[heat];
        double filled = full == NULL ? 0.0 : full[heat];
        double free_at = rate > 0.0 ? filled - bf_rates_burst(rate) : BF_NEVER_S;
        if (free_at <= now_s) {
            break;
        }
        *sinks_at = free_at < BF_NEVER_S ? free_at : BF_NEVER_S;
    }
    return heat;
}

/* A URL of the host was handed out. Allocates the buckets; without memory the URL is not counted,
 * which asks a host once too often rather than never again. A bucket is a time: when it will be
 * empty. A rate of 0 lets nothing pass, whatever its bucket says (bf_rates_heat). */
static void bf_rates_fill(const BFRates *rates, double **full, double now_s)
{
    if (rates->n == 0) {
        return;
    }
    if (*full == NULL) {
        *full = calloc(BF_CRAWL_RATE_STEPS, sizeof **full);
        if (*full == NULL) {
            return;
        }
    }
    for (unsigned i = 0; i < rates->n; i++) {
        double from = (*full)[i] > now_s ? (*full)[i] : now_s;
        (*full)[i] = from + (rates->rate[i] > 0.0 ? 1.0 / rates->rate[i] : 0.0);
    }
}

/* Which rates there are, of soft and hard (negative: none):
 *
 *   both, hard > soft > 0   five, from soft to hard, each the same factor above the one before
 *   soft alone              soft and infinity: hosts above it go last, and are never held back
 *   hard alone, or <= soft  hard: above it a host waits
 *   neither                 none
 *
 * The last rate is the one that stops: a host that exceeds all of them stands in no heap. */
static Result bf_rates_set(BFRates *rates, double soft, double hard)
{
    if (isnan(soft) || isnan(hard)) {
        return RESULT_INVALID;
    }
    bool has_soft = soft >= 0.0 && !(hard >= 0.0 && hard < soft);
    rates->n = 0;
    if (has_soft && hard > soft && soft > 0.0) {
        for (unsigned i = 0; i < BF_CRAWL_RATE_STEPS; i++) {
            double share = (double)i / (BF_CRAWL_RATE_STEPS - 1);
            rates->rate[rates->n++] = soft * pow(hard / soft, share);
        }
        rates->rate[rates->n - 1] = hard;
    } else {
        if (has_soft) {
            rates->rate[rates->n++] = soft;
        }
        if (hard < 0.0 && has_soft) {
            rates->rate[rates->n++] = HUGE_VAL;
        } else if (hard >= 0.0 && !(has_soft && hard <= soft)) {
            rates->rate[rates->n++] = hard;
        }
    }
    return RESULT_OK;
}

/* Pages that were taken and not given back: a bit for each page up to the last of them. */
typedef struct BFLeases {
    uint64_t *words;
    size_t n_words;
    uint64_t count;
} BFLeases;

static bool bf_leases_have(const BFLeases *leases, uint64_t index)
{
    return index / 64 < leases->n_words && (leases->words[index / 64] >> index % 64 & 1) != 0;
}

/* RESULT_MEMORY: nothing changed. */
static Result bf_leases_add(BFLeases *leases, uint64_t index)
{
    /* Indices are dense, so a bit each is less than a set. */
    Result rc = array_reserve(&leases->words, &leases->n_words, (size_t)(index / 64) + 1,
                              sizeof *leases->words);
    if (rc != RESULT_OK) {
        return rc;
    }
    leases->count += !bf_leases_have(leases, index);
    leases->words[index / 64] |= UINT64_C(1) << index % 64;
    return RESULT_OK;
}

#define FIRST_WINDOW   16u /* entries read at first; twice as many each time */
#define LARGEST_WINDOW 256u

static Result bf_window_reserve(BFWindow *window, uint32_t capacity)
{
    /* What was taken from the front is given up first: mostly that is room enough. */
    if (window->begin > 0) {
        memmove(window->entries, window->entries + window->begin,
                (window->end - window->begin) * sizeof *window->entries);
        window->end -= window->begin;
        window->begin = 0;
    }
    if (capacity <= window->capacity) {
        return RESULT_OK;
    }
    BFOrder *entries = realloc(window->entries, capacity * sizeof *entries);
    if (entries == NULL) {
        return RESULT_MEMORY;
    }
    window->entries = entries;
    window->capacity = capacity;
    return RESULT_OK;
}

/* Reads the next entries of a host behind the window, which is empty, without the leased ones. All
 * of a read may be leased; then the next ones are read, until one is free or the range ends. Twice
 * as many each time: a host that is asked often reads seldom, and one that is asked once reads
 * little. */
static Result bf_window_fill(BFWindow *window, Schedule *schedule, MDB_txn *txn, uint32_t host,
                             const BFLeases *leases)
{
    uint32_t want =
        (uint32_t)bounds_size(2 * (size_t)window->capacity, FIRST_WINDOW, LARGEST_WINDOW);
    Result rc = bf_window_reserve(window, want);
    while (rc == RESULT_OK && window->begin == window->end &&
           window->complete_to != BF_WINDOW_COMPLETE) {
        ScheduleItem items[LARGEST_WINDOW];
        /* complete_to is the first order that is unknown, schedule_head wants the last that is
         * known. */
        BFOrder last = window->complete_to == 0 ? 0 : window->complete_to - 1;
        ScheduleItem after = {.index = bf_order_value(last), .level = bf_order_level(last)};
        size_t n = 0;
        rc = schedule_head(schedule, txn, host, window->complete_to == 0 ? NULL : &after, items,
                           want, &n);
        if (rc != RESULT_OK) {
            break;
        }
        window->begin = 0;
        window->end = 0;
        for (size_t i = 0; i < n; i++) {
            if (!bf_leases_have(leases, bf_order_index(items[i].index))) {
                window->entries[window->end++] = bf_order(items[i].level, items[i].index);
            }
        }
        window->complete_to =
            n < want ? BF_WINDOW_COMPLETE : bf_order(items[n - 1].level, items[n - 1].index) + 1;
    }
    return rc;
}

/* The place of the first entry not before order. */
static uint32_t bf_window_find(const BFWindow *window, BFOrder order)
{
    uint32_t low = window->begin;
    uint32_t high = window->end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (window->entries[middle] < order) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* An entry that is in order below complete_to has come. What falls off at the end is on disk. */
static Result bf_window_insert(BFWindow *window, BFOrder order)
{
    uint32_t at = bf_window_find(window, order);
    /* Offered twice: a window that was read behind the commit has the entry that the offer is
     * about. */
    if (at < window->end && window->entries[at] == order) {
        return RESULT_OK;
    }
    if (window->end - window->begin >= LARGEST_WINDOW) { /* what falls off at the end is on disk */
        if (at == window->end) {
            window->complete_to = order;
            return RESULT_OK;
        }
        window->complete_to = window->entries[--window->end];
    }
    if (window->end == window->capacity) {
        /* bf_window_reserve moves the entries to the front, and `at` with them. */
        uint32_t shift = window->begin;
        uint32_t used = window->end - window->begin;
        uint32_t larger = window->capacity == 0 ? FIRST_WINDOW : window->capacity * 2;
        uint32_t want = used < window->capacity ? window->capacity : larger;
        Result rc = bf_window_reserve(window, want);
        if (rc != RESULT_OK) {
            return rc;
        }
        at -= shift;
    }
    memmove(window->entries + at + 1, window->entries + at,
            (window->end - at) * sizeof *window->entries);
    window->entries[at] = order;
    window->end++;
    return RESULT_OK;
}

/* False: it is not there. */
static bool bf_window_remove(BFWindow *window, BFOrder order)
{
    uint32_t at = bf_window_find(window, order);
    if (at == window->end || window->entries[at] != order) {
        return false;
    }
    memmove(window->entries + at, window->entries + at + 1,
            (window->end - at - 1) * sizeof *window->entries);
    window->end--;
    return true;
}

/* ---- Front ---- */

#define HOSTS_AT_ONCE 256u
#define EFFORT_HOSTS  32u /* hosts that count, when they are loaded, as one read of a window */
#define NS_PER_S      1e9

typedef struct BFHost {
    HeapNode ready; /* by its best entry: in the heap of its heat, or among the unread */
    Heap *ready_in; /* that heap; NULL: none */
    HeapNode clock; /* by the time when its heat may sink, or it may be forgotten */
    double *full; /* [rates]: when the bucket of each rate is empty again; NULL: none was filled */
    BFWindow window;
    uint32_t id;
    uint32_t heat; /* rates that it exceeds */
} BFHost;

struct BFFront {
    Schedule *schedule;
    Map hosts; /* id -> BFHost */
    BFLeases leases;
    Heap ready[BF_CRAWL_RATE_STEPS]; /* hosts with a window, by heat */
    Heap unread;                     /* hosts below some rate whose next entries are on disk */
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
    front->schedule = schedule; /* other heaps: zero bytes are empty ones */
    map_init(&front->hosts);
    heap_init(&front->clock);
    return front;
}

static void free_host(BFHost *host)
{
    free(host->window.entries);
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
    free(front->leases.words);
    front->leases = (BFLeases){.words = NULL};
    for (unsigned i = 0; i < BF_CRAWL_RATE_STEPS; i++) {
        heap_destroy(&front->ready[i]);
    }
    heap_destroy(&front->unread);
    heap_destroy(&front->clock);
}

void bf_front_delete(BFFront *front)
{
    if (front != NULL) {
        destroy_all(front);
        free(front);
    }
}

/* Rates and time stay; what was handed out is forgotten, leases and buckets. */
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

static void bf_front_leave_ready(BFHost *host)
{
    if (host->ready_in != NULL) {
        heap_remove(host->ready_in, &host->ready);
    }
    host->ready_in = NULL;
}

static void bf_front_drop_host(BFFront *front, BFHost *host)
{
    bf_front_leave_ready(host);
    heap_remove(&front->clock, &host->clock);
    (void)map_remove(&front->hosts, map_key(host->id));
    free_host(host);
}

/* Under its best entry, wherever it was before. An empty window has none: then the host stands
 * among the unread under complete_to, the best that it might have. */
static Result enter_heap(BFFront *front, BFHost *host)
{
    bf_front_leave_ready(host);
    Heap *heap = bf_window_is_empty(&host->window) ? &front->unread : &front->ready[host->heat];
    Result rc = heap_push(heap, &host->ready, (int64_t)bf_window_best(&host->window), host->id);
    host->ready_in = rc == RESULT_OK ? heap : NULL;
    return rc;
}

/* Puts the host where it belongs after any change:
 *
 *   has, or may have, entries   below some rate: in ready[heat] or unread; above all: in no heap
 *   has none                    remembered until its slowest bucket is empty; then dropped
 *   heat above 0, or has none   in the clock, by the time at which that may change
 *
 * A host that is dropped is loaded again by the next offer, or by the cursor, as if it were new;
 * that is right, because its buckets are empty. */
static Result place_host(BFFront *front, BFHost *host, double now_s)
{
    heap_remove(&front->clock, &host->clock);
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
        bf_front_leave_ready(host);
    }
    if (rc == RESULT_OK && is_woken) {
        /* Rounded up, so that the heat has sunk when the clock runs out. */
        double ns = ceil((wake_at < BF_NEVER_S ? wake_at : BF_NEVER_S) * NS_PER_S);
        rc = heap_push(&front->clock, &host->clock, (int64_t)ns, host->id);
    }
    return rc;
}

/* The same when only the window has changed: heat and clock are as they were. */
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
    heap_node_init(&host->ready);
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

/* Whether the loading cursor will still find a host whose best entry is of that level. Then nothing
 * need be done about an offer: the entry is in the schedule, and is read in its turn. */
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
    /* An update moved an entry that somebody works at: it comes back with the end of its lease. */
    if (bf_leases_have(&front->leases, bf_order_index(order))) {
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
        /* Without memory for a place among the unread the host waits until its next offer. */
        (void)replace_head(front, host);
    }
}

/* ---- Taking ---- */

/* The cursor moves on only when all hosts of the read are here: after an error they are read again,
 * and those that are here already are passed over. */
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
 * read: one that is needed always is, one that only may change the order while effort lasts. So a
 * request of any size reads a bounded number of windows beyond those that it needs, and when the
 * effort is used up it hands out what is best in memory. */
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

/* The host with the best entry of the least heat; RESULT_NOT_FOUND: none. Each turn of the loop
 * either reads something, or goes up one heat, or ends; what is read leaves the cursor or the heap
 * of the unread further on. */
static Result find_best(BFFront *front, MDB_txn *txn, BFHost **out)
{
    unsigned n_heats = front->rates.n == 0 ? 1 : front->rates.n;
    for (unsigned heat = 0; heat < n_heats;) {
        HeapNode *node = heap_top(&front->ready[heat]);
        BFHost *host = node == NULL ? NULL : HEAP_ELEMENT(node, BFHost, ready);
        HeapNode *unread = heap_top(&front->unread);
        Result rc = RESULT_OK;
        if (!front->is_cursor_done &&
            is_worth(front, host,
                     host != NULL &&
                         bf_order_level(bf_window_best(&host->window)) >= front->cursor.level,
                     EFFORT_HOSTS)) {
            rc = load_more_hosts(front, txn);
        } else if (unread != NULL &&
                   is_worth(front, host, host != NULL && unread->key < node->key, 1)) {
            BFHost *next = HEAP_ELEMENT(unread, BFHost, ready);
            rc = bf_window_fill(&next->window, front->schedule, txn, next->id, &front->leases);
            if (rc == RESULT_OK) {
                rc = replace_head(front, next);
            }
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
    /* A time that goes back (a caller's clock) counts as standing still. */
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
    /* Leased before it leaves the window: an entry in neither would be given out again by the next
     * read. */
    rc = bf_leases_add(&front->leases, bf_order_index(*order));
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
    /* Only to remember the crawl: complete_to of 0 says that nothing of the host was read yet. */
    if (host == NULL && load_host(front, id, 0, &host) != RESULT_OK) {
        return;
    }
    bf_rates_fill(&front->rates, &host->full, now_s);
    (void)place_host(front, host, now_s);
}

bool bf_front_end_lease(BFFront *front, uint64_t index)
{
    if (!bf_leases_have(&front->leases, index)) {
        return false;
    }
    front->leases.words[index / 64] &= ~(UINT64_C(1) << index % 64);
    front->leases.count--;
    return true;
}

uint64_t bf_front_leases(const BFFront *front)
{
    return front->leases.count;
}

uint64_t bf_front_hosts(const BFFront *front)
{
    return front->hosts.count;
}
