#include "fetch/connect/lanes.h"

#include <sys/epoll.h>

/* ---- what libcurl tells ---- */

static int lanes_on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
    (void)easy;
    (void)known;
    Lane *lane = context;
    uint32_t events = 0;
    if (what != CURL_POLL_REMOVE) {
        events = ((what & CURL_POLL_IN) != 0 ? (uint32_t)EPOLLIN : 0u) |
                 ((what & CURL_POLL_OUT) != 0 ? (uint32_t)EPOLLOUT : 0u);
        socket_watch_set_owner(lane->lanes->sockets, fd, (uint8_t)(lane->number + 1));
    }
    socket_watch_want(lane->lanes->sockets, fd, events);
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *context)
{
    (void)multi;
    Lane *lane = context;
    lane->lanes->due[lane->number] =
        timeout_ms < 0 ? MONO_NEVER : mono_add_ms(mono_now(), timeout_ms);
    return 0;
}

/* ---- life ---- */

static Result open_lane(Lane *lane, long kept_connections)
{
    lane->multi = curl_multi_init();
    if (lane->multi == NULL) {
        return RESULT_MEMORY;
    }
    (void)curl_multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, lanes_on_socket);
    (void)curl_multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
    (void)curl_multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    (void)curl_multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
    (void)curl_multi_setopt(lane->multi, CURLMOPT_MAXCONNECTS, kept_connections);
    (void)curl_multi_setopt(lane->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    return RESULT_OK;
}

static long kept_of_each(const Lanes *lanes)
{
    return (long)((lanes->kept + lanes->n - 1) / lanes->n);
}

Result lanes_init(Lanes *lanes, SocketWatch *sockets, size_t kept_connections)
{
    size_t wanted = kept_connections / LANES_CONNECTIONS + 1;
    unsigned n = wanted < LANES_MOST ? (unsigned)wanted : LANES_MOST;
    *lanes = (Lanes){.sockets = sockets, .kept = kept_connections};
    for (; lanes->n < n; lanes->n++) {
        Lane *lane = &lanes->lane[lanes->n];
        *lane = (Lane){.lanes = lanes, .number = (uint8_t)lanes->n};
        lanes->due[lanes->n] = MONO_NEVER;
        Result rc = open_lane(lane, (long)((kept_connections + n - 1) / n));
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

void lanes_keep(Lanes *lanes, size_t kept_connections)
{
    if (kept_connections == lanes->kept) {
        return;
    }
    lanes->kept = kept_connections;
    for (unsigned i = 0; i < lanes->n; i++) {
        (void)curl_multi_setopt(lanes->lane[i].multi, CURLMOPT_MAXCONNECTS, kept_of_each(lanes));
    }
}

void lanes_close_all(Lanes *lanes)
{
    for (unsigned i = 0; i < lanes->n; i++) {
        Lane *lane = &lanes->lane[i];
        CURLM *old = lane->multi;
        if (open_lane(lane, kept_of_each(lanes)) == RESULT_OK) {
            (void)curl_multi_cleanup(old);
        } else {
            lane->multi = old;
        }
    }
}

void lanes_destroy(Lanes *lanes)
{
    for (unsigned i = 0; i < lanes->n; i++) {
        (void)curl_multi_cleanup(lanes->lane[i].multi);
    }
    *lanes = (Lanes){.n = 0};
}

/* ---- transfers ---- */

Lane *lanes_of(Lanes *lanes, uint64_t host)
{
    uint64_t mixed = (host + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return &lanes->lane[(mixed >> 32) % lanes->n];
}

Result lanes_begin(Lane *lane, CURL *easy)
{
    if (lane->lanes->kept == 0) { /* to libcurl no connections are as many as it likes */
        (void)curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    }
    return curl_multi_add_handle(lane->multi, easy) == CURLM_OK ? RESULT_OK : RESULT_MEMORY;
}

void lanes_take_out(Lane *lane, CURL *easy)
{
    (void)curl_multi_remove_handle(lane->multi, easy);
}

void lanes_touch(Lane *lane)
{
    Lanes *lanes = lane->lanes;
    if (lane->is_touched) {
        return;
    }
    lane->is_touched = true;
    lane->next_touched = NULL;
    if (lanes->first_touched == NULL) {
        lanes->first_touched = lane;
    } else {
        lanes->last_touched->next_touched = lane;
    }
    lanes->last_touched = lane;
}

static void act(Lane *lane, int fd, int mask)
{
    int running = 0;
    (void)curl_multi_socket_action(lane->multi, fd, mask, &running);
    lanes_touch(lane);
}

void lanes_event(Lanes *lanes, int fd, uint32_t events)
{
    if (!socket_watch_wants(lanes->sockets, fd)) {
        return;
    }
    int mask = ((events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
               ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
               ((events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
    uint8_t owner = socket_watch_owner(lanes->sockets, fd);
    if (owner > 0) {
        act(&lanes->lane[owner - 1], fd, mask);
        return;
    }
    for (unsigned i = 0; i < lanes->n; i++) {
        act(&lanes->lane[i], fd, mask); /* those that do not know it do nothing */
    }
}

MonoTime lanes_time(const Lanes *lanes)
{
    MonoTime time = MONO_NEVER;
    for (unsigned i = 0; i < lanes->n; i++) {
        time = mono_before(lanes->due[i], time) ? lanes->due[i] : time;
    }
    return time;
}

/* libcurl tells of a timer only when it changes: one that was not due yet after all is asked for.
 */
static void run_timer(Lane *lane)
{
    long left_ms = -1;
    MonoTime *due = &lane->lanes->due[lane->number];
    *due = MONO_NEVER;
    act(lane, CURL_SOCKET_TIMEOUT, 0);
    if (due->ns == MONO_NEVER.ns && curl_multi_timeout(lane->multi, &left_ms) == CURLM_OK) {
        (void)on_timer(lane->multi, left_ms, lane);
    }
}

void lanes_run_timers(Lanes *lanes, MonoTime now)
{
    for (unsigned i = 0; i < lanes->n; i++) {
        if (!mono_before(now, lanes->due[i])) {
            run_timer(&lanes->lane[i]);
        }
    }
}

static CURL *ended_of(Lane *lane, CURLcode *code)
{
    CURLMsg *message = NULL;
    int left = 0;
    while ((message = curl_multi_info_read(lane->multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            *code = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}

CURL *lanes_ended(Lanes *lanes, CURLcode *code)
{
    CURL *easy = NULL;
    while (easy == NULL && lanes->first_touched != NULL) {
        Lane *lane = lanes->first_touched;
        easy = ended_of(lane, code);
        if (easy == NULL) {
            lane->is_touched = false;
            lanes->first_touched = lane->next_touched;
        }
    }
    return easy;
}
