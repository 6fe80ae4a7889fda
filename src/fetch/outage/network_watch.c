#include "fetch/outage/network_watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <strings.h>

#include "base/core/bounds.h"
#include "base/memory/file.h"
#include "base/thread/mutex.h"
#include "base/thread/thread.h"
#include "base/core/hash.h"
#include "parse/http/http_header.h"

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
        file_close_fd(stop);
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
    struct sockaddr_storage to;
    socklen_t length = ip_address_to_socket(&known->address, known->port, &to);
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    *tried = true;
    int rc = connect(fd, (const struct sockaddr *)&to, length);
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
        file_close_fd(slots[i].fd);
    }
    if (heard) {
        return SONG_HEARD;
    }
    return tried ? SONG_SILENCE : SONG_NONE;
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
        pause_ms = bounds_int64(2 * pause_ms, PAUSE_MS, PAUSE_MOST);
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

/* ---- sameness ---- */

#define BODY_BYTES ((size_t)4096) /* of a page are compared, and its length */
#define MARK_SEED  0x53414d45u    /* any number: marks are compared with each other alone */

static uint32_t sameness_mark_of(const void *bytes, size_t length, uint32_t salt)
{
    return (uint32_t)hash_64(bytes, length, MARK_SEED ^ salt) | 2u;
}

uint32_t sameness_mark(int status, const char *header, size_t header_length, const char *body,
                       size_t body_length)
{
    HttpHeader fields;
    HttpField type;
    if (status == 502 || status == 503 || status == 504 || status == 511) {
        return sameness_mark_of(&status, sizeof status, 0);
    }
    if (http_header_parse(&fields, header, header_length) != RESULT_OK) {
        return SAMENESS_OTHER;
    }
    if (status >= 300 && status < 400 && status != 304) {
        /* Where a redirect leads; one within its host says nothing of gateways. */
        HttpField location;
        if (!http_header_find(&fields, "Location", &location) || location.value_length < 8 ||
            strncasecmp(location.value, "http", 4) != 0) {
            return SAMENESS_OTHER;
        }
        size_t length = 0;
        while (length < location.value_length && location.value[length] != '?' &&
               location.value[length] != '#') {
            length++;
        }
        return sameness_mark_of(location.value, length, 0);
    }
    if ((status != 200 && status != 403) || body_length == 0 ||
        !http_header_find(&fields, "Content-Type", &type)) {
        return SAMENESS_OTHER;
    }
    HttpContentType content = http_header_content_type(type.value, type.value_length);
    if (!http_header_is_type(&content, "text/html")) {
        return SAMENESS_OTHER;
    }
    return sameness_mark_of(body, body_length < BODY_BYTES ? body_length : BODY_BYTES,
                            (uint32_t)body_length);
}

static void sameness_clear(Sameness *sameness)
{
    sameness->state = OUTAGE_CLEAR;
    sameness->mark = 0;
    sameness->n_row = 0;
    sameness->n_pages = 0;
    sameness->is_checked = false;
    sameness->tries = false;
}

static void sameness_trust(Sameness *sameness, MonoTime now, int64_t for_ms)
{
    sameness->theirs[sameness->next_theirs] =
        (SameTheirs){.mark = sameness->mark, .until = mono_add_ms(now, for_ms)};
    sameness->next_theirs = (sameness->next_theirs + 1) % SAMENESS_THEIRS;
    sameness_clear(sameness);
}

static bool sameness_is_theirs(const Sameness *sameness, uint32_t mark, MonoTime now)
{
    for (size_t i = 0; i < SAMENESS_THEIRS; i++) {
        if (sameness->theirs[i].mark == mark && mono_before(now, sameness->theirs[i].until)) {
            return true;
        }
    }
    return false;
}

/* Enters a host that had sent other pages before. */
static void sameness_add(Sameness *sameness, const SameAnswer *answer)
{
    bool was_well = answer->before != 0 && answer->before != answer->mark;
    for (unsigned i = 0; i < sameness->n_row; i++) {
        was_well = was_well && sameness->row[i] != answer->who;
    }
    if (was_well && sameness->n_row < SAMENESS_HOSTS) {
        sameness->row[sameness->n_row++] = answer->who;
    }
}

/* The crawl has been let go on, and the gateway has answered. */
static bool sameness_rest(Sameness *sameness, MonoTime now)
{
    bool tried = sameness->tries;
    if (tried) {
        sameness->tries = false;
        sameness->next_try = mono_add_ms(now, sameness->pause_ms);
        sameness->pause_ms = sameness->pause_ms < SAMENESS_PAUSE_MOST / 2 ? 2 * sameness->pause_ms
                                                                          : SAMENESS_PAUSE_MOST;
    }
    return tried;
}

static bool sameness_begin_outage(Sameness *sameness, MonoTime now)
{
    if (sameness->n_row < SAMENESS_HOSTS ||
        mono_before(now, mono_add_ms(sameness->since, SAMENESS_LEAST_MS))) {
        return false;
    }
    sameness->state = OUTAGE_OUT;
    sameness->out_since = now;
    sameness->pause_ms = 2 * SAMENESS_PAUSE_MS;
    sameness->next_try = mono_add_ms(now, SAMENESS_PAUSE_MS);
    sameness->n_outages++;
    return true;
}

/* An answer that begins no row, because it is its host's first or was under way when the row began.
 */
static void sameness_note_early(Sameness *sameness, const SameAnswer *answer, MonoTime now)
{
    if (!answer->has_page || answer->mark == SAMENESS_OTHER || answer->before == answer->mark) {
        return;
    }
    sameness->early[sameness->next_early] =
        (SameEarly){.mark = answer->mark, .page = answer->page, .at = now};
    sameness->next_early = (sameness->next_early + 1) % SAMENESS_EARLY;
}

/* An answer with another mark, or the first with one. */
static void sameness_take_other(Sameness *sameness, const SameAnswer *answer, MonoTime now,
                                bool *changed)
{
    if (sameness->mark != 0 && mono_before(answer->began, sameness->since)) {
        sameness_note_early(sameness, answer, now);
        return;
    }
    *changed = sameness->state == OUTAGE_OUT;
    if (answer->is_check && sameness->n_row == SAMENESS_HOSTS && !sameness->is_checked) {
        sameness_trust(sameness, now, SAMENESS_MIRRORS_MS);
    }
    sameness_clear(sameness);
    if (answer->mark == SAMENESS_OTHER || answer->before == answer->mark ||
        sameness_is_theirs(sameness, answer->mark, now)) {
        return;
    }
    if (answer->before != 0) {
        sameness->state = OUTAGE_SUSPECTED;
        sameness->mark = answer->mark;
        sameness->since = now;
        sameness_add(sameness, answer);
        for (size_t i = 0; i < SAMENESS_EARLY; i++) {
            const SameEarly *early = &sameness->early[i];
            if (early->mark == answer->mark &&
                mono_before(now, mono_add_ms(early->at, SAMENESS_ROW_MS))) {
                sameness->pages[sameness->n_pages++] = early->page;
            }
        }
    } else {
        sameness_note_early(sameness, answer, now);
    }
}

bool sameness_answered(Sameness *sameness, const SameAnswer *answer, MonoTime now, bool *changed)
{
    *changed = false;
    if (answer->mark != sameness->mark) {
        sameness_take_other(sameness, answer, now, changed);
    }
    if (sameness->mark == 0 || answer->mark != sameness->mark) {
        return false;
    }
    sameness->is_checked |= answer->is_check;
    if (sameness->state == OUTAGE_OUT) {
        *changed = sameness_rest(sameness, now);
    } else if (!mono_before(now, mono_add_ms(sameness->since, SAMENESS_ROW_MS))) {
        sameness_trust(sameness, now, SAMENESS_THEIRS_MS);
        return false;
    } else {
        sameness_add(sameness, answer);
        *changed = sameness_begin_outage(sameness, now);
    }
    bool is_excused = sameness->n_row == SAMENESS_HOSTS;
    sameness->n_excused += is_excused;
    if (!is_excused && answer->has_page && sameness->n_pages < SAMENESS_PAGES) {
        sameness->pages[sameness->n_pages++] = answer->page;
    }
    return is_excused;
}

MonoTime sameness_next(const Sameness *sameness)
{
    if (sameness->state != OUTAGE_OUT) {
        return MONO_NEVER;
    }
    return sameness->tries ? mono_add_ms(sameness->out_since, SAMENESS_MOST_MS)
                           : sameness->next_try;
}

bool sameness_tick(Sameness *sameness, MonoTime now)
{
    if (mono_before(now, sameness_next(sameness))) {
        return false;
    }
    if (!mono_before(now, mono_add_ms(sameness->out_since, SAMENESS_MOST_MS))) {
        sameness_trust(sameness, now, SAMENESS_THEIRS_MS);
    } else {
        sameness->tries = true;
    }
    return true;
}
