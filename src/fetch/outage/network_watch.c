#include "fetch/outage/network_watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread/mutex.h"
#include "base/thread/thread.h"

#define ROUND_MS    5000 /* a canary waits so long for the first connection */
#define PAUSE_MS    1000 /* until the second round; doubles up to the longest */
#define PAUSE_MOST  15000
#define REMEMBER_MS 100 /* an address is remembered no more often */

typedef struct Known {
    IpAddress address;
    uint16_t port;
} Known;

struct NetworkWatch {
    void (*changed)(void *context);
    void *context;
    int stop; /* eventfd */
    Thread thread;
    Mutex mutex; /* guards what follows */
    Condition news;
    Outage outage;
    Sameness sameness;
    Known known[NETWORK_WATCH_KNOWN];
    unsigned n_known;
    unsigned next_known; /* to be replaced */
    MonoTime remembered; /* when one was entered last */
    bool stopping;
};

Result network_watch_new(NetworkWatch **out, void (*changed)(void *context), void *context)
{
    NetworkWatch *watch = calloc(1, sizeof *watch);
    int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watch == NULL || stop < 0) {
        Result rc = watch == NULL ? RESULT_MEMORY : result_of_errno(errno);
        if (stop >= 0) {
            (void)close(stop);
        }
        free(watch);
        return rc;
    }
    watch->changed = changed;
    watch->context = context;
    watch->stop = stop;
    outage_init(&watch->outage);
    mutex_init(&watch->mutex, RANK_TABLE);
    condition_init(&watch->news);
    *out = watch;
    return RESULT_OK;
}

void network_watch_delete(NetworkWatch *watch)
{
    if (watch == NULL) {
        return;
    }
    condition_destroy(&watch->news);
    mutex_destroy(&watch->mutex);
    (void)close(watch->stop);
    free(watch);
}

static void network_watch_tell(NetworkWatch *watch)
{
    if (watch->changed != NULL) {
        watch->changed(watch->context);
    }
}

/* ---- what fetching threads say ---- */

static bool network_watch_is_same(const IpAddress *a, const IpAddress *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static void network_watch_remember(NetworkWatch *watch, const IpAddress *address, uint16_t port,
                                   MonoTime now)
{
    if (watch->n_known == NETWORK_WATCH_KNOWN &&
        mono_before(now, mono_add_ms(watch->remembered, REMEMBER_MS))) {
        return;
    }
    for (unsigned i = 0; i < watch->n_known; i++) {
        if (network_watch_is_same(&watch->known[i].address, address)) {
            return;
        }
    }
    watch->known[watch->next_known] = (Known){.address = *address, .port = port};
    watch->next_known = (watch->next_known + 1) % NETWORK_WATCH_KNOWN;
    watch->n_known += watch->n_known < NETWORK_WATCH_KNOWN;
    watch->remembered = now;
}

void network_watch_answered(NetworkWatch *watch, const IpAddress *address, uint16_t port,
                            MonoTime now)
{
    mutex_lock(&watch->mutex);
    network_watch_remember(watch, address, port, now);
    bool changed = outage_answered(&watch->outage, now);
    if (changed) {
        condition_signal(&watch->news);
    }
    mutex_unlock(&watch->mutex);
    if (changed) {
        network_watch_tell(watch);
    }
}

/* Whether enough others can be asked. */
static bool has_canary(const NetworkWatch *watch, const IpAddress *address)
{
    unsigned n = 0;
    for (unsigned i = 0; i < watch->n_known; i++) {
        n += !network_watch_is_same(&watch->known[i].address, address);
    }
    return n >= NETWORK_WATCH_LEAST;
}

bool network_watch_failed(NetworkWatch *watch, const IpAddress *address, bool was_well,
                          MonoTime began, MonoTime now)
{
    MapKey key = ip_address_key(address);
    mutex_lock(&watch->mutex);
    OutageState before = watch->outage.state;
    OutageFailure failure = {.who = (key.high ^ key.low) | 1,
                             .was_well = was_well,
                             .has_canary = has_canary(watch, address),
                             .began = began};
    bool is_ours = outage_failed(&watch->outage, &failure, now);
    if (watch->outage.state != before) {
        condition_signal(&watch->news);
    }
    mutex_unlock(&watch->mutex);
    return is_ours;
}

bool network_watch_said(NetworkWatch *watch, const SameAnswer *answer, MonoTime now,
                        uint64_t **pages, size_t *n_pages)
{
    bool changed = false;
    Sameness *same = &watch->sameness;
    *pages = NULL;
    *n_pages = 0;
    mutex_lock(&watch->mutex);
    bool is_ours = sameness_answered(same, answer, now, &changed);
    if (changed && same->state == OUTAGE_OUT && same->n_pages > 0) {
        *pages = malloc(same->n_pages * sizeof **pages);
        *n_pages = *pages == NULL ? 0 : same->n_pages;
        for (size_t i = 0; i < *n_pages; i++) {
            (*pages)[i] = same->pages[i];
        }
        same->n_pages = 0;
    }
    mutex_unlock(&watch->mutex);
    if (changed) {
        network_watch_tell(watch);
    }
    return is_ours;
}

OutageReport network_watch_gateway(NetworkWatch *watch, MonoTime now, bool *tries)
{
    Sameness *same = &watch->sameness;
    mutex_lock(&watch->mutex);
    (void)sameness_tick(same, now);
    OutageReport report = {.state = same->state,
                           .since = same->state == OUTAGE_OUT ? same->since : MONO_NEVER,
                           .n_excused = same->n_excused,
                           .n_outages = same->n_outages};
    *tries = same->tries;
    mutex_unlock(&watch->mutex);
    return report;
}

MonoTime network_watch_next(NetworkWatch *watch)
{
    mutex_lock(&watch->mutex);
    MonoTime next = sameness_next(&watch->sameness);
    mutex_unlock(&watch->mutex);
    return next;
}

OutageReport network_watch_report(NetworkWatch *watch)
{
    mutex_lock(&watch->mutex);
    OutageReport report = outage_report(&watch->outage);
    if (watch->sameness.state == OUTAGE_OUT) {
        report.state = OUTAGE_OUT;
        report.since = watch->sameness.since;
    }
    report.n_excused += watch->sameness.n_excused;
    report.n_outages += watch->sameness.n_outages;
    mutex_unlock(&watch->mutex);
    return report;
}

/* ---- the canary ---- */

typedef enum Song { SONG_NONE, SONG_SILENCE, SONG_HEARD } Song;

/* Begins to connect: a descriptor, or -1. *heard: it is connected at once. */
static int begin_connection(const Known *known, bool *heard, bool *tried)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(known->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(known->port)};
    memcpy(&v4.sin_addr, known->address.bytes + 12, 4);
    memcpy(&v6.sin6_addr, known->address.bytes, 16);
    int fd = socket(known->address.v6 ? AF_INET6 : AF_INET,
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    *tried = true;
    int rc = known->address.v6 ? connect(fd, (const struct sockaddr *)&v6, sizeof v6)
                               : connect(fd, (const struct sockaddr *)&v4, sizeof v4);
    *heard |= rc == 0;
    if (rc == 0 || errno == EINPROGRESS) {
        return fd;
    }
    (void)close(fd);
    return -1;
}

static bool is_connected(int fd)
{
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

/* Waits for the first of the connections; slot 0 is the event that ends everything. */
static bool wait_for_one(struct pollfd *slots, nfds_t n_slots)
{
    MonoTime end = mono_add_ms(mono_now(), ROUND_MS);
    nfds_t left = n_slots - 1;
    while (left > 0) {
        int64_t ms = mono_ms_between(mono_now(), end);
        if (ms <= 0 || poll(slots, n_slots, (int)ms) <= 0 || slots[0].revents != 0) {
            return false;
        }
        for (nfds_t i = 1; i < n_slots; i++) {
            if (slots[i].fd < 0 || slots[i].revents == 0) {
                continue;
            }
            if (is_connected(slots[i].fd)) {
                return true;
            }
            (void)close(slots[i].fd);
            slots[i].fd = -1;
            left--;
        }
    }
    return false;
}

static Song sing(int stop, const Known *known, unsigned n_known)
{
    struct pollfd slots[1 + NETWORK_WATCH_KNOWN] = {{.fd = stop, .events = POLLIN}};
    nfds_t n = 1;
    bool heard = false;
    bool tried = false;
    for (unsigned i = 0; i < n_known && !heard; i++) {
        int fd = begin_connection(&known[i], &heard, &tried);
        if (fd >= 0) {
            slots[n++] = (struct pollfd){.fd = fd, .events = POLLOUT};
        }
    }
    heard = heard || wait_for_one(slots, n);
    for (nfds_t i = 1; i < n; i++) {
        if (slots[i].fd >= 0) {
            (void)close(slots[i].fd);
        }
    }
    return heard ? SONG_HEARD : tried ? SONG_SILENCE : SONG_NONE;
}

/* Waits for suspicion, or until the next round is due; false: it is over. */
static bool wait_for_suspicion(NetworkWatch *watch, int64_t *pause_ms)
{
    MonoTime due = *pause_ms == 0 ? ((MonoTime){0}) : mono_add_ms(mono_now(), *pause_ms);
    while (!watch->stopping) {
        if (watch->outage.state == OUTAGE_CLEAR) {
            *pause_ms = 0;
            due = (MonoTime){0};
            condition_wait(&watch->news, &watch->mutex);
        } else if (mono_before(mono_now(), due)) {
            (void)condition_wait_until(&watch->news, &watch->mutex, due);
        } else {
            break;
        }
    }
    return !watch->stopping;
}

static void *canary_main(void *argument)
{
    NetworkWatch *watch = argument;
    int64_t pause_ms = 0;
    thread_step("waiting");
    mutex_lock(&watch->mutex);
    while (wait_for_suspicion(watch, &pause_ms)) {
        Known known[NETWORK_WATCH_KNOWN];
        unsigned n = watch->n_known;
        memcpy(known, watch->known, sizeof known);
        mutex_unlock(&watch->mutex);
        thread_step("connecting");
        Song song = sing(watch->stop, known, n);
        mutex_lock(&watch->mutex);
        bool changed = song != SONG_NONE && !watch->stopping &&
                       outage_canary(&watch->outage, song == SONG_HEARD, mono_now());
        mutex_unlock(&watch->mutex);
        if (changed) {
            network_watch_tell(watch);
        }
        pause_ms = pause_ms == 0 ? PAUSE_MS : pause_ms < PAUSE_MOST / 2 ? 2 * pause_ms : PAUSE_MOST;
        thread_step("waiting");
        mutex_lock(&watch->mutex);
    }
    mutex_unlock(&watch->mutex);
    return NULL;
}

Result network_watch_start(NetworkWatch *watch)
{
    return thread_start(&watch->thread, "canary", canary_main, watch);
}

void network_watch_stop(NetworkWatch *watch)
{
    uint64_t one = 1;
    mutex_lock(&watch->mutex);
    watch->stopping = true;
    condition_signal(&watch->news);
    mutex_unlock(&watch->mutex);
    (void)!write(watch->stop, &one, sizeof one);
    thread_join(&watch->thread);
}
