#include "curl_floor.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "base/thread/wake.h"
#include "fetch/tls/tls_context.h"

#define EVENTS   256
#define WAIT_MS  1000
#define NO_PAGE  SIZE_MAX
#define RELEASED 64u                /* slots at a time */
#define KEPT     5000u              /* connections that stay open: fetch.idle_connections */
#define LANES    80u                /* as many as two fetching threads have */
#define SESSIONS ((size_t)16 << 20) /* of TLS: fetch.tls_sessions */
#define NAME     256u
#define HOSTS    64u /* of a lane: libcurl looks at all of its connections when one is put away */

typedef struct Lane {
    struct Floor *floor;
    CURLM *multi;
    bool is_touched; /* transfers of it may have ended */
    bool is_late;    /* libcurl wants to be called at once */
} Lane;

typedef struct Slot {
    CURL *easy;
    struct curl_slist *connect_to;
    Lane *lane;
    size_t page;
    size_t behind; /* the first page behind it that is another host's */
    struct Slot *next_idle;
    TlsPeer peer;
    char name[NAME]; /* the peer's */
    Buffer header;
    Buffer body;
} Slot;

typedef struct Floor {
    const FloorOptions *options;
    struct curl_slist *lines; /* of each request */
    int epoll;
    bool is_late;  /* one of the lanes is */
    size_t next;   /* page to begin */
    size_t active; /* transfers */
    MonoTime start;
    Slot *idle;     /* slots that wait for their time */
    Queue ended;    /* slots whose host has no more, to the releasing thread */
    Queue released; /* and back, with another host; NO_PAGE: there is none */
    Wake wake;      /* released has something */
    Thread releaser;
    size_t n_slots; /* that have something to do, or may have */
    size_t failed;
    double bytes;
    TlsTrust trust;
    TlsSessions sessions;
    TlsContext tls; /* options->authorities says whether it is used */
    Slot *slots;
    uint8_t lane_of[1u << 17]; /* by descriptor */
    unsigned n_lanes;
    Lane lanes[LANES];
} Floor;

static double cpu_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static size_t on_bytes(char *bytes, size_t size, size_t n, void *buffer)
{
    return buffer_append(buffer, bytes, size * n) == RESULT_OK ? size * n : 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
    (void)easy;
    Lane *lane = context;
    Floor *floor = lane->floor;
    struct epoll_event event = {.data = {.fd = fd}};
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(floor->epoll, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events = ((what & CURL_POLL_IN) != 0 ? (uint32_t)EPOLLIN : 0U) |
                   ((what & CURL_POLL_OUT) != 0 ? (uint32_t)EPOLLOUT : 0U);
    (void)epoll_ctl(floor->epoll, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
    (void)curl_multi_assign(lane->multi, fd, floor);
    if ((size_t)fd < sizeof floor->lane_of) {
        floor->lane_of[fd] = (uint8_t)(lane - floor->lanes);
    }
    return 0;
}

/* Timers that are due later are those of timeouts: nothing here takes so long. */
static int on_timer(CURLM *multi, long timeout_ms, void *context)
{
    (void)multi;
    Lane *lane = context;
    lane->is_late = timeout_ms == 0;
    lane->floor->is_late |= lane->is_late;
    return 0;
}

static uint64_t host_of(const FloorPage *page)
{
    const char *host = strstr(page->url, "//");
    host = host == NULL ? page->url : host + 2;
    return hash_64(host, strcspn(host, "/:"), 0);
}

/* The same context, sessions and verification as a crawl's: what is beneath both is OpenSSL. */
static void set_peer(Slot *slot, const FloorPage *page)
{
    const char *name = strstr(page->url, "//") + 2;
    (void)snprintf(slot->name, sizeof slot->name, "%.*s", (int)strcspn(name, "/:"), name);
    slot->peer = (TlsPeer){.host = host_of(page), .name = slot->name, .verify = true};
}

static void ask(Floor *floor, Slot *slot)
{
    const FloorPage *page = &floor->options->pages[slot->page];
    char to[64];
    (void)snprintf(to, sizeof to, "::%s:%u", page->address, floor->options->port);
    curl_slist_free_all(slot->connect_to);
    slot->connect_to = curl_slist_append(NULL, to);
    buffer_reset(&slot->header);
    buffer_reset(&slot->body);
    if (floor->options->authorities != NULL) {
        set_peer(slot, page);
    }
    (void)curl_easy_setopt(slot->easy, CURLOPT_URL, page->url);
    (void)curl_easy_setopt(slot->easy, CURLOPT_CONNECT_TO, slot->connect_to);
    floor->active += curl_multi_add_handle(slot->lane->multi, slot->easy) == CURLM_OK;
}

/* Pages of one host that follow each other are asked for one after the other, since a host is asked
 * for one at a time; a host always has the same lane, so that its connection is found again. */
static void choose(Floor *floor, Slot *slot)
{
    const FloorOptions *options = floor->options;
    uint64_t host = host_of(&options->pages[floor->next]);
    slot->page = floor->next++;
    while (options->rate == 0 && floor->next < options->n_pages &&
           host_of(&options->pages[floor->next]) == host) {
        floor->next++;
    }
    slot->behind = floor->next;
    slot->lane = &floor->lanes[host % floor->n_lanes];
}

static void begin(Floor *floor, Slot *slot)
{
    choose(floor, slot);
    ask(floor, slot);
}

/* ---- what is begun next, said by another thread ---- */

static void *release_all(void *context)
{
    Floor *floor = context;
    void *slots[RELEASED];
    size_t n = 0;
    while (queue_pop(&floor->ended, slots, RELEASED, &n, MONO_NEVER) == RESULT_OK) {
        for (size_t i = 0; i < n; i++) {
            Slot *slot = slots[i];
            if (floor->next < floor->options->n_pages) {
                choose(floor, slot);
            } else {
                slot->page = NO_PAGE;
            }
            (void)queue_push(&floor->released, slot);
        }
        wake_ring(&floor->wake);
    }
    return NULL;
}

static void take_released(Floor *floor)
{
    void *slots[RELEASED];
    size_t n = 0;
    wake_clear(&floor->wake);
    while (queue_pop(&floor->released, slots, RELEASED, &n, (MonoTime){0}) == RESULT_OK) {
        for (size_t i = 0; i < n; i++) {
            Slot *slot = slots[i];
            if (slot->page == NO_PAGE) {
                floor->n_slots--;
            } else {
                ask(floor, slot);
            }
        }
    }
}

static int start_releaser(Floor *floor)
{
    Result rc = queue_init(&floor->ended, floor->options->connections);
    rc = rc == RESULT_OK ? queue_init(&floor->released, floor->options->connections) : rc;
    rc = rc == RESULT_OK ? wake_init(&floor->wake, floor->epoll) : rc;
    rc = rc == RESULT_OK ? thread_start(&floor->releaser, "releaser", release_all, floor) : rc;
    return rc == RESULT_OK ? 0 : -1;
}

static void end_releaser(Floor *floor)
{
    queue_close(&floor->ended);
    thread_join(&floor->releaser);
    queue_destroy(&floor->ended);
    queue_destroy(&floor->released);
    wake_destroy(&floor->wake);
}

/* ---- the transfers ---- */

static void rest(Floor *floor, Slot *slot)
{
    slot->next_idle = floor->idle;
    floor->idle = slot;
}

/* Begins what is due at options->rate. */
static void begin_due(Floor *floor)
{
    const FloorOptions *options = floor->options;
    double due = 1e-9 * (double)(mono_now().ns - floor->start.ns) * options->rate;
    while (floor->idle != NULL && floor->next < options->n_pages && (double)floor->next < due) {
        Slot *slot = floor->idle;
        floor->idle = slot->next_idle;
        begin(floor, slot);
    }
}

static void end(Floor *floor, Slot *slot, CURLcode code)
{
    const FloorOptions *options = floor->options;
    (void)curl_multi_remove_handle(slot->lane->multi, slot->easy);
    floor->active--;
    floor->failed += code != CURLE_OK;
    floor->bytes += (double)slot->body.length;
    if (options->take != NULL) {
        FloorAnswer answer = {
            .page = &options->pages[slot->page], .header = &slot->header, .body = &slot->body};
        options->take(options->context, &answer);
    }
    if (options->rate > 0) {
        rest(floor, slot);
    } else if (++slot->page < slot->behind) {
        ask(floor, slot);
    } else if (options->has_releaser) {
        (void)queue_push(&floor->ended, slot);
    } else if (floor->next < options->n_pages) {
        begin(floor, slot);
    }
}

static void act(Lane *lane, int fd, int mask)
{
    int running = 0;
    lane->is_touched = true;
    (void)curl_multi_socket_action(lane->multi, fd, mask, &running);
}

static void collect_ended(Lane *lane)
{
    const CURLMsg *message = NULL;
    int left = 0;
    while ((message = curl_multi_info_read(lane->multi, &left)) != NULL) {
        Slot *slot = NULL;
        CURLcode code = message->data.result;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&slot);
        end(lane->floor, slot, code);
    }
}

static void run(Floor *floor)
{
    const FloorOptions *options = floor->options;
    struct epoll_event events[EVENTS];
    int wait_ms = options->rate == 0 ? WAIT_MS : 1000 / (int)options->rate + 1;
    while (floor->active > 0 || floor->n_slots > 0 ||
           (options->rate > 0 && floor->next < options->n_pages)) {
        int n = epoll_wait(floor->epoll, events, EVENTS, floor->is_late ? 0 : wait_ms);
        for (int i = 0; i < n; i++) {
            if (options->has_releaser && events[i].data.fd == floor->wake.fd) {
                take_released(floor);
                continue;
            }
            int mask = ((events[i].events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                       ((events[i].events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                       ((events[i].events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
            act(&floor->lanes[floor->lane_of[events[i].data.fd]], events[i].data.fd, mask);
        }
        floor->is_late = false;
        for (unsigned i = 0; i < floor->n_lanes; i++) {
            Lane *lane = &floor->lanes[i];
            if (lane->is_late || (n == 0 && options->rate == 0)) {
                lane->is_late = false;
                act(lane, CURL_SOCKET_TIMEOUT, 0);
            }
            if (lane->is_touched) {
                lane->is_touched = false;
                collect_ended(lane);
            }
        }
        if (options->rate > 0) {
            begin_due(floor);
        }
    }
}

/* Connections that stay open: all for which there are descriptors. */
static long kept_of_each(const Floor *floor)
{
    struct rlimit limit = {.rlim_cur = 1024};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t own = 2 * (rlim_t)floor->options->connections;
    rlim_t kept = limit.rlim_cur > 2 * own ? limit.rlim_cur - own : 1;
    return (long)((kept < KEPT ? kept : KEPT) / floor->n_lanes) + 1L;
}

static int open_lane(Floor *floor, Lane *lane)
{
    lane->floor = floor;
    lane->multi = curl_multi_init();
    (void)curl_multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
    (void)curl_multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    (void)curl_multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
    (void)curl_multi_setopt(lane->multi, CURLMOPT_MAXCONNECTS, kept_of_each(floor));
    return lane->multi == NULL ? -1 : 0;
}

/* Who asks, and for what: as a crawler says it, in as few bytes. */
static int add_lines(Floor *floor)
{
    const char *const lines[] = {
        "User-Agent: ragno/0.1.0", "Accept: text/html,application/xhtml+xml,*/*;q=0.5",
        floor->options->authorities == NULL ? "Accept-Encoding: identity"
                                            : "Accept-Encoding: gzip, br, zstd"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct curl_slist *longer = curl_slist_append(floor->lines, lines[i]);
        if (longer == NULL) {
            return -1;
        }
        floor->lines = longer;
    }
    return 0;
}

static int open_tls(Floor *floor)
{
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    Result rc = tls_trust_init(&floor->trust, floor->options->authorities, &error);
    if (rc != RESULT_OK) {
        fprintf(stderr, "bench: %s\n", buffer_string(&error));
    }
    buffer_destroy(&error);
    if (rc == RESULT_OK) {
        tls_sessions_init(&floor->sessions, SESSIONS);
        tls_context_init(&floor->tls, &floor->trust, &floor->sessions);
        tls_context_enter(&floor->tls);
    }
    return rc == RESULT_OK ? 0 : -1;
}

static void close_tls(Floor *floor)
{
    if (floor->trust.store != NULL) {
        tls_context_enter(NULL);
        tls_context_destroy(&floor->tls);
        tls_sessions_destroy(&floor->sessions);
        tls_trust_destroy(&floor->trust);
    }
}

static int open_all(Floor *floor)
{
    const FloorOptions *options = floor->options;
    if (options->authorities != NULL && open_tls(floor) != 0) {
        return -1;
    }
    floor->slots = calloc(options->connections, sizeof *floor->slots);
    floor->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (floor->slots == NULL || floor->epoll < 0 || add_lines(floor) != 0) {
        return -1;
    }
    floor->n_lanes = options->n_hosts / HOSTS + 1;
    floor->n_lanes = floor->n_lanes < LANES ? floor->n_lanes : LANES;
    for (unsigned i = 0; i < floor->n_lanes; i++) {
        if (open_lane(floor, &floor->lanes[i]) != 0) {
            return -1;
        }
    }
    for (unsigned i = 0; i < options->connections; i++) {
        Slot *slot = &floor->slots[i];
        buffer_init(&slot->header, BUFFER_NO_LIMIT);
        buffer_init(&slot->body, BUFFER_NO_LIMIT);
        slot->easy = curl_easy_init();
        (void)curl_easy_setopt(slot->easy, CURLOPT_PRIVATE, slot);
        (void)curl_easy_setopt(slot->easy, CURLOPT_NOSIGNAL, 1L);
        (void)curl_easy_setopt(slot->easy, CURLOPT_PROXY, "");
        (void)curl_easy_setopt(slot->easy, CURLOPT_HTTPHEADER, floor->lines);
        (void)curl_easy_setopt(slot->easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
        (void)curl_easy_setopt(slot->easy, CURLOPT_HEADERFUNCTION, on_bytes);
        (void)curl_easy_setopt(slot->easy, CURLOPT_HEADERDATA, &slot->header);
        (void)curl_easy_setopt(slot->easy, CURLOPT_WRITEFUNCTION, on_bytes);
        (void)curl_easy_setopt(slot->easy, CURLOPT_WRITEDATA, &slot->body);
        if (options->authorities != NULL) {
            tls_context_prepare(&floor->tls, slot->easy, &slot->peer);
            (void)curl_easy_setopt(slot->easy, CURLOPT_SSL_VERIFYPEER, 0L);
            (void)curl_easy_setopt(slot->easy, CURLOPT_SSL_VERIFYHOST, 0L);
        }
    }
    return 0;
}

static void close_all(Floor *floor)
{
    for (unsigned i = 0; floor->slots != NULL && i < floor->options->connections; i++) {
        curl_easy_cleanup(floor->slots[i].easy);
        curl_slist_free_all(floor->slots[i].connect_to);
        buffer_destroy(&floor->slots[i].header);
        buffer_destroy(&floor->slots[i].body);
    }
    for (unsigned i = 0; i < floor->n_lanes; i++) {
        (void)curl_multi_cleanup(floor->lanes[i].multi);
    }
    curl_slist_free_all(floor->lines);
    free(floor->slots);
    close_tls(floor);
    if (floor->epoll >= 0) {
        close(floor->epoll);
    }
}

int curl_floor(const FloorOptions *options, double *cpu_s, double *bytes)
{
    static Floor floor; /* too large for some stacks */
    floor = (Floor){.options = options, .epoll = -1};
    int rc = open_all(&floor);
    rc = rc == 0 && options->has_releaser ? start_releaser(&floor) : rc;
    double start = cpu_seconds();
    floor.start = mono_now();
    for (unsigned i = 0; rc == 0 && i < options->connections; i++) {
        if (options->rate > 0) {
            rest(&floor, &floor.slots[i]);
        } else if (options->has_releaser) { /* what is next is that thread's */
            floor.n_slots++;
            (void)queue_push(&floor.ended, &floor.slots[i]);
        } else if (floor.next < options->n_pages) {
            begin(&floor, &floor.slots[i]);
        }
    }
    if (rc == 0) {
        run(&floor);
        if (options->has_releaser) {
            end_releaser(&floor);
        }
        rc = floor.failed == 0 && floor.next == options->n_pages ? 0 : -1;
    }
    *cpu_s = cpu_seconds() - start;
    *bytes = floor.bytes;
    close_all(&floor);
    if (rc != 0) {
        fprintf(stderr, "bench: curl alone: %zu of %zu pages failed\n", floor.failed, floor.next);
    }
    return rc;
}
