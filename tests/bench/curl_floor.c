#include "curl_floor.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory/buffer.h"

#define EVENTS 256

typedef struct Slot {
    CURL *easy;
    struct curl_slist *connect_to;
    size_t page;
    Buffer body;
} Slot;

typedef struct Floor {
    const FloorOptions *options;
    CURLM *multi;
    int epoll;
    long timeout_ms;
    size_t next;   /* page to begin */
    size_t active; /* transfers */
    size_t failed;
    double bytes;
    Slot *slots;
} Floor;

static double cpu_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static size_t on_body(char *bytes, size_t size, size_t n, void *context)
{
    Slot *slot = context;
    return buffer_append(&slot->body, bytes, size * n) == RESULT_OK ? size * n : 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
    (void)easy;
    Floor *floor = context;
    struct epoll_event event = {.data = {.fd = fd}};
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(floor->epoll, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events = ((what & CURL_POLL_IN) != 0 ? (uint32_t)EPOLLIN : 0U) |
                   ((what & CURL_POLL_OUT) != 0 ? (uint32_t)EPOLLOUT : 0U);
    (void)epoll_ctl(floor->epoll, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
    (void)curl_multi_assign(floor->multi, fd, floor);
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *context)
{
    (void)multi;
    ((Floor *)context)->timeout_ms = timeout_ms;
    return 0;
}

static void begin(Floor *floor, Slot *slot)
{
    const FloorPage *page = &floor->options->pages[floor->next];
    char to[64];
    slot->page = floor->next++;
    (void)snprintf(to, sizeof to, "::%s:%u", page->address, floor->options->port);
    curl_slist_free_all(slot->connect_to);
    slot->connect_to = curl_slist_append(NULL, to);
    buffer_reset(&slot->body);
    (void)curl_easy_setopt(slot->easy, CURLOPT_URL, page->url);
    (void)curl_easy_setopt(slot->easy, CURLOPT_CONNECT_TO, slot->connect_to);
    floor->active += curl_multi_add_handle(floor->multi, slot->easy) == CURLM_OK;
}

static void end(Floor *floor, Slot *slot, CURLcode code)
{
    const FloorOptions *options = floor->options;
    (void)curl_multi_remove_handle(floor->multi, slot->easy);
    floor->active--;
    floor->failed += code != CURLE_OK;
    floor->bytes += (double)slot->body.length;
    if (options->take != NULL) {
        options->take(options->context, options->pages[slot->page].url, buffer_string(&slot->body),
                      slot->body.length);
    }
    if (floor->next < options->n_pages) {
        begin(floor, slot);
    }
}

static void run(Floor *floor)
{
    struct epoll_event events[EVENTS];
    int running = 0;
    while (floor->active > 0) {
        int n = epoll_wait(floor->epoll, events, EVENTS, (int)floor->timeout_ms);
        for (int i = 0; i < n; i++) {
            int mask = ((events[i].events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                       ((events[i].events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                       ((events[i].events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
            (void)curl_multi_socket_action(floor->multi, events[i].data.fd, mask, &running);
        }
        if (n == 0 || floor->timeout_ms == 0) {
            (void)curl_multi_socket_action(floor->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        CURLMsg *message = NULL;
        int left = 0;
        while ((message = curl_multi_info_read(floor->multi, &left)) != NULL) {
            Slot *slot = NULL;
            CURLcode code = message->data.result;
            (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&slot);
            end(floor, slot, code);
        }
    }
}

static int open_all(Floor *floor)
{
    const FloorOptions *options = floor->options;
    floor->slots = calloc(options->connections, sizeof *floor->slots);
    floor->multi = curl_multi_init();
    floor->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (floor->slots == NULL || floor->multi == NULL || floor->epoll < 0) {
        return -1;
    }
    (void)curl_multi_setopt(floor->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(floor->multi, CURLMOPT_SOCKETDATA, floor);
    (void)curl_multi_setopt(floor->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    (void)curl_multi_setopt(floor->multi, CURLMOPT_TIMERDATA, floor);
    (void)curl_multi_setopt(floor->multi, CURLMOPT_MAXCONNECTS, 5000L);
    for (unsigned i = 0; i < options->connections; i++) {
        Slot *slot = &floor->slots[i];
        buffer_init(&slot->body, BUFFER_NO_LIMIT);
        slot->easy = curl_easy_init();
        (void)curl_easy_setopt(slot->easy, CURLOPT_PRIVATE, slot);
        (void)curl_easy_setopt(slot->easy, CURLOPT_NOSIGNAL, 1L);
        (void)curl_easy_setopt(slot->easy, CURLOPT_PROXY, "");
        (void)curl_easy_setopt(slot->easy, CURLOPT_WRITEFUNCTION, on_body);
        (void)curl_easy_setopt(slot->easy, CURLOPT_WRITEDATA, slot);
    }
    return 0;
}

static void close_all(Floor *floor)
{
    for (unsigned i = 0; floor->slots != NULL && i < floor->options->connections; i++) {
        curl_easy_cleanup(floor->slots[i].easy);
        curl_slist_free_all(floor->slots[i].connect_to);
        buffer_destroy(&floor->slots[i].body);
    }
    (void)curl_multi_cleanup(floor->multi);
    free(floor->slots);
    if (floor->epoll >= 0) {
        close(floor->epoll);
    }
}

int curl_floor(const FloorOptions *options, double *cpu_s, double *bytes)
{
    Floor floor = {.options = options, .epoll = -1, .timeout_ms = -1};
    int rc = open_all(&floor);
    double start = cpu_seconds();
    for (unsigned i = 0; rc == 0 && i < options->connections && floor.next < options->n_pages;
         i++) {
        begin(&floor, &floor.slots[i]);
    }
    if (rc == 0) {
        run(&floor);
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
