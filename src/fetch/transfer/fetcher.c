#include "fetch/transfer/fetcher.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/memory/file.h"
#include "base/thread/log.h"
#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "base/thread/wake.h"
#include "fetch/transfer/crowding.h"
#include "fetch/transfer/transfer.h"
#include "fetch/transfer/transfer_end.h"
#include "fetch/transfer/transfer_setup.h"
#include "frontier/visit/visit_turn.h"

/* Gate turn: which of the paused transfers may go on while the gate is closed.
 *
 * What: transfers whose body has to grow while the gate (base/thread/byte_gate.h) is closed for
 * bodies of its size are paused; small ones go on first. When nothing else would open the gate, one
 * paused transfer of each thread is favoured: it need not wait, so that what holds the gate closed
 * can leave, and a body larger than the gate passes alone. Its turn ends with it, or when it is
 * slow. While the rate of all bytes (base/thread/rate_gate.h) is used up, all wait, and go on in
 * the order in which they began to.
 *
 * Owns: the heap of paused transfers, ordered by when each began to wait; the transfers are the
 * fetcher's.
 * Threads: one fetching thread. Time is a parameter. */

typedef struct GateTurn {
    ByteGate *gate;     /* NULL: never closed; borrowed */
    RateGate *rate;     /* of all bytes; NULL: there is none; borrowed */
    ByteQuota *quota;   /* for what begins; NULL: there is none; borrowed */
    Heap paused;        /* transfers that wait for the gate */
    Transfer *favoured; /* the one that need not wait, or NULL */
    MonoTime end;       /* of the favoured one's turn */
    size_t length;      /* of its body when its turn began */
} GateTurn;

/* Fetcher, inside: all that one fetching thread has.
 *
 * What: the parts, and the numbers that other threads read.
 * Owns: its parts, but for what the options say is borrowed.
 * Threads: the fetching thread; atomics are read, and flags set, by any. */

/* Time: `shared.now` is the run clock's, which stands still while this thread does not run (a
 * machine that sleeps, a debugger); deadlines of transfers are in it. Everything that a host is
 * owed is in the time of the monotonic clock. fetcher_wait_ms is the one place where the two meet.
 */
struct Fetcher {
    FetcherOptions options;
    atomic_size_t kept; /* connections */
    FetcherSinks sinks;
    FetcherRules rules;
    unsigned number;
    TransferShared shared;
    Lanes lanes;
    TlsContext tls;
    int epoll;
    SocketWatch sockets;
    Wake wake;
    Queue inbox;
    Life life;
    RunClock run;        /* time in which this thread ran */
    TransferClock clock; /* how long transfers may take, by it */
    LocalTrouble local;  /* what this machine could not do */
    Flights flights;     /* what is asked for */
    GateTurn turn;       /* transfers that wait for the gate */
    TransferPool pool;
    Crowding crowding;
    uint64_t n_connections;
    atomic_bool draining;
    atomic_bool aborting;
    atomic_bool stopping;
    atomic_size_t active;
    atomic_size_t n_paused;
    bool has_waiting;       /* visit states wait in the inbox */
    MonoTime waiting_since; /* for the gate; when has_waiting */
    atomic_bool held_back;
    _Atomic uint64_t requests;
    _Atomic uint64_t connections;
};

/* A slow server must not keep those who wait behind it: its turn is over when so little came. */
#define TURN_MS    250
#define TURN_BYTES ((size_t)64 << 10)

static void gate_turn_init(GateTurn *turn, ByteGate *gate, RateGate *rate, ByteQuota *quota)
{
    *turn = (GateTurn){.gate = gate, .rate = rate, .quota = quota};
    heap_init(&turn->paused);
}

static bool gate_turn_has_room(const GateTurn *turn)
{
    return turn->gate == NULL || byte_gate_is_open(turn->gate);
}

static bool has_rate(const GateTurn *turn, MonoTime now)
{
    return turn->rate == NULL || rate_gate_is_open(turn->rate, now);
}

/* Whether something new may be begun: memory for its answer, rate for its bytes, and a quota that
 * is not used up by what is in flight. */
static bool gate_turn_is_open(const GateTurn *turn, MonoTime now)
{
    return gate_turn_has_room(turn) && has_rate(turn, now) &&
           (turn->quota == NULL || byte_quota_is_open(turn->quota));
}

/* A favoured transfer passes the gate whatever is held (transfer_has_room). There is one for each
 * thread, so the gate is exceeded by as many bodies as there are threads at most. */
static void gate_turn_begin(GateTurn *turn, Transfer *transfer, MonoTime now)
{
    turn->favoured = transfer;
    transfer->favoured = true;
    turn->end = mono_add_ms(now, TURN_MS);
    turn->length = transfer->result->answer.body.length;
}

/* Ends the turn of a favoured transfer that was too slow; while the gate is so far beyond its limit
 * that the next one could not grow either, it keeps it. Call before the first gate_turn_next. */
static void gate_turn_review(GateTurn *turn, MonoTime now)
{
    Transfer *transfer = turn->favoured;
    if (transfer == NULL || mono_before(now, turn->end)) {
        return;
    }
    if (transfer->result->answer.body.length < turn->length + TURN_BYTES &&
        byte_gate_held(turn->gate) <
            byte_gate_limit(turn->gate) + byte_gate_limit(turn->gate) / 2) {
        transfer->favoured = false;
        turn->favoured = NULL;
    } else {
        gate_turn_begin(turn, transfer, now);
    }
}

/* The paused transfer that may go on now (transfer_continue), or NULL. */
static Transfer *gate_turn_next(GateTurn *turn, MonoTime now)
{
    HeapNode *node = heap_top(&turn->paused);
    if (node == NULL || !has_rate(turn, now)) {
        return NULL;
    }
    Transfer *transfer = HEAP_ELEMENT(node, Transfer, by_pause);
    if (!transfer_has_room(transfer) && transfer != turn->favoured) {
        if (turn->favoured != NULL || !byte_gate_runs_dry(turn->gate)) {
            return NULL;
        }
        gate_turn_begin(turn, transfer, now);
    }
    return transfer;
}

/* The transfer has ended. */
static void gate_turn_forget(GateTurn *turn, const Transfer *transfer)
{
    if (transfer == turn->favoured) {
        turn->favoured = NULL;
    }
}

/* When gate_turn_review has something to do, or the rate lets go on who waits; MONO_NEVER. waits:
 * there is somebody who wants to begin. */
static MonoTime gate_turn_time(const GateTurn *turn, bool waits)
{
    bool has_paused = turn->paused.count > 0;
    MonoTime next = turn->favoured != NULL && has_paused ? turn->end : MONO_NEVER;
    MonoTime open = {0};
    if (turn->rate != NULL) {
        open = rate_gate_time(turn->rate);
    }
    /* Without anybody who waits, the rate's time is no reason to wake up. */
    return open.ns > 0 && (has_paused || waits) && mono_before(open, next) ? open : next;
}

/* ---- Fetcher ---- */

/* With 256 in a turn, bodies had left the caches before they were parsed (42c37b7c). */
#define EPOLL_EVENTS   48 /* of a turn: what has come is parsed while caches hold it */
#define INBOX_CAPACITY ((size_t)1 << 17)

/* ---- the start of a fetch ---- */

/* Gives back everything that a transfer holds, but the visit state. The quota is ended only for one
 * that was begun there: flight.url says so. */
static void fetcher_release(Fetcher *fetcher, Transfer *transfer)
{
    gate_turn_forget(&fetcher->turn, transfer);
    if (transfer->flight.url != NULL && fetcher->options.quota != NULL) {
        byte_quota_end(fetcher->options.quota, transfer->timer.bytes, transfer->is_page);
    }
    flights_remove(&fetcher->flights, &transfer->flight);
    transfer_pool_give_back(&fetcher->pool, transfer);
}

static void fetcher_hand_back(Fetcher *fetcher, VisitState *visit_state)
{
    visit_turn_leave(visit_state, fetcher->options.shares);
    fetcher->sinks.done(fetcher->sinks.context, visit_state);
}

/* A visit state that asked for nothing owes its address no delay; else the next host on the address
 * would wait for a request that was never made. */
static void fetcher_give_back(Fetcher *fetcher, VisitState *visit_state)
{
    if (!visit_turn_has_asked(visit_state)) {
        visit_state->politeness.ip_next_fetch = (MonoTime){0};
    }
    fetcher_hand_back(fetcher, visit_state);
}

/* What a visit state is between fetcher_fetch and the done sink:
 *
 *   in the inbox --fetcher_read_inbox, visit_turn_begin--> a turn --fetcher_hand_back--> done
 *                                                          |    ^
 *   fetcher_begin, fetcher_widen: begin_one, a transfer ---'    '--- fetcher_finish, each transfer
 *
 * A turn is one request, or several side by side and one after the other; each has a transfer of
 * its own. The visit state leaves with the last of them (visit_turn_has_landed), never before,
 * because every transfer points to it. Whoever ends a transfer without fetcher_finish lands it
 * himself: visit_turn_land, and, when it was the last, hands the visit state back. */

/* Begins one request. False: there is none to begin now. */
static bool begin_one(Fetcher *fetcher, VisitState *visit_state, unsigned at_once)
{
    FetchNow now = {.mono = mono_now(), .wall = wall_now()};
    FetchRefused refused = {.context = fetcher->sinks.context,
                            .take = fetcher->sinks.result,
                            .answered = fetcher->sinks.answered};
    FetchResult *result = fetch_step_begin(&fetcher->rules.step, visit_state, &now, &refused);
    if (result == NULL) {
        return false;
    }
    Transfer *transfer = transfer_pool_take(&fetcher->pool);
    /* Without memory the URL goes back to its window, and the host pauses a little: a turn that
     * begins again at once would spin. */
    if (transfer == NULL) {
        fetch_result_delete(result);
        visit_turn_land(visit_state);
        visit_turn_put_off(visit_state, now.mono, FETCH_STEP_PAUSE_MS);
        return false;
    }
    transfer->begun = fetcher->shared.now;
    transfer->most_bytes_s = fetcher->rules.site.most_bytes_s;
    result->cost.at_once = at_once;
    transfer->lane = lanes_of(&fetcher->lanes, visit_state->identity.host);
    Result rc = transfer_setup(transfer, visit_state, result, &fetcher->rules.site);
    if (rc == RESULT_OK &&
        transfer_clock_start(&fetcher->clock, &transfer->timer, &fetcher->rules.site.times,
                             fetcher->shared.now) == RESULT_OK &&
        lanes_begin(transfer->lane, transfer->easy) == RESULT_OK) {
        flights_add(&fetcher->flights, &transfer->flight, result->request.url, now.mono);
        if (fetcher->options.quota != NULL) {
            byte_quota_begin(fetcher->options.quota);
        }
        atomic_fetch_add_explicit(&fetcher->requests, 1, memory_order_relaxed);
        /* Last, when nothing can fail any more: what failed before leaves the window as it was. */
        transfer_take_url(transfer);
        return true;
    }
    fetcher_release(fetcher, transfer);
    visit_turn_land(visit_state);
    visit_turn_put_off(visit_state, now.mono, FETCH_STEP_PAUSE_MS);
    return false;
}

/* Begins what may be asked for beside what is in flight, if anything is. */
static void fetcher_widen(Fetcher *fetcher, VisitState *visit_state)
{
    const FetchSite *site = &fetcher->rules.site;
    /* With a rate for the host's bytes its requests go one after the other: it counts bytes of one
     * transfer. */
    unsigned most = fetcher->rules.step.most_bytes_s > 0 ? 1 : site->connections;
    while (fetcher->pool.n_active < fetcher->options.most_transfers &&
           visit_turn_may_widen(visit_state, &site->politeness, most, mono_now()) &&
           begin_one(fetcher, visit_state, most)) {
    }
}

static void fetcher_begin(Fetcher *fetcher, VisitState *visit_state)
{
    /* A lease of its address ends then, and what begins later could meet another agent's request
     * there. */
    MonoTime before = visit_state->politeness.fetch_before;
    if (before.ns != 0 && !mono_before(mono_now(), before)) {
        fetcher_give_back(fetcher,
                          visit_state); /* it waited here until its address was another agent's */
        return;
    }
    fetcher_rules_look_up(&fetcher->rules, visit_state);
    /* Beside the first request others may begin only when robots.txt is known: until then it is
     * what the first one asks for. */
    if (!begin_one(fetcher, visit_state, fetcher->rules.site.connections)) {
        fetcher_give_back(fetcher, visit_state);
    } else if (visit_state->robots.state == ROBOTS_KNOWN || fetcher->rules.step.ignores_robots) {
        fetcher_widen(fetcher, visit_state);
    }
}

/* ---- the end of a fetch ---- */

/* The end of a transfer, well or badly. The order:
 *
 *   1. out of its lane, so that libcurl has no hand in it any more; what came is read off it
 *   2. whose fault a failure is: this machine's, our network's, or the host's
 *   3. the rules as they are now; fetch_step_end writes into the visit state what follows
 *   4. the result is handed over, and the transfer is free. The visit state is still ours
 *   5. a turn goes on with the next request, or, when all have landed, the visit state leaves
 *
 * The result is the parsing threads' from 4 on, and the visit state the todo thread's from 5 on:
 * nothing of them may be looked at behind. */
static void fetcher_finish(Fetcher *fetcher, Transfer *transfer, CURLcode code)
{
    VisitState *visit_state = transfer->visit_state;
    FetchResult *result = transfer->result;
    lanes_take_out(transfer->lane, transfer->easy);
    result->cost.end = mono_now();
    transfer_end(transfer, code);
    /* Requests side by side fail for one reason: the first failure counts for the host, and what
     * fetch_step_end adds for the others is taken back below. */
    bool is_known = visit_state->turn.has_failed;
    HostHealth health = visit_state->politeness.health;
    result->answer.elsewhere =
        !is_known && visit_state_next_address(visit_state, result->answer.class, result->cost.end);
    if (result->answer.class == FETCH_LOCAL) {
        if (!transfer->is_aborted && transfer->late != LATE_ROOM) { /* cut_slow counts those */
            local_trouble_note(&fetcher->local, transfer->local_errno, result->cost.end);
        }
    } else if (!result->answer.elsewhere && fetcher->options.network != NULL &&
               !transfer->is_aborted) {
        transfer_ask_network(transfer, fetcher->options.network);
    }
    fetcher_rules_look_up(&fetcher->rules, visit_state);
    transfer_note_standing(transfer);
    transfer_put_url_back(transfer);
    VisitState *asker = fetch_step_end(&fetcher->rules.step, visit_state, result);
    if (is_known && visit_state->politeness.health.failures > health.failures) {
        visit_state->politeness.health = health;
        result->host.health = health;
    }
    bool is_last = visit_turn_has_landed(visit_state);
    transfer->result = NULL;
    /* The answer is complete, and leaves the gate when it has been parsed, without this thread. */
    byte_gate_hand_on(&result->cost.share);
    fetcher_release(fetcher, transfer);
    fetcher->sinks.result(fetcher->sinks.context, result);
    if (asker != NULL) {
        fetcher->sinks.answered(fetcher->sinks.context, asker);
    }
    /* A turn must not go on where nothing new would begin: a closed gate would be passed by hosts
     * that happen to be here. */
    bool goes_on = visit_turn_goes_on(visit_state) && !atomic_load(&fetcher->draining) &&
                   !life_rests(&fetcher->life) && gate_turn_is_open(&fetcher->turn, mono_now());
    if (is_last && goes_on) {
        fetcher_begin(fetcher, visit_state);
    } else if (is_last) {
        fetcher_hand_back(fetcher, visit_state);
    } else if (goes_on) {
        fetcher_widen(fetcher, visit_state);
    }
}

/* ---- event loop ---- */

static void collect_ended(Fetcher *fetcher)
{
    CURLcode code = CURLE_OK;
    CURL *easy = NULL;
    while ((easy = lanes_ended(&fetcher->lanes, &code)) != NULL) {
        Transfer *transfer = NULL;
        (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer);
        fetcher_finish(fetcher, transfer, code);
    }
}

/* transfer_clock_late takes one from its heap each time; its transfer is ended at once, so the loop
 * ends. */
static void end_late(Fetcher *fetcher)
{
    TransferLate late = LATE_NOT;
    TransferTimer *timer = NULL;
    while ((timer = transfer_clock_late(&fetcher->clock, fetcher->shared.now, &late)) != NULL) {
        Transfer *transfer = HEAP_ELEMENT(timer, Transfer, timer);
        transfer->late = late;
        transfer_break_off(transfer);
        fetcher_finish(fetcher, transfer, CURLE_OPERATION_TIMEDOUT);
    }
}

/* Others wait for what these take. */
static void end_crowd(Fetcher *fetcher)
{
    Transfer *transfer = NULL;
    FetchCrowd crowd;
    if (mono_before(fetcher->shared.now, fetcher->crowding.next)) {
        return;
    }
    /* How crowded it is, all threads together know; what to break off, each decides among its
     * own. */
    fetcher->sinks.crowded(fetcher->sinks.context, &crowd);
    if (!crowding_look(&fetcher->crowding, &crowd, fetcher->shared.now)) {
        return;
    }
    if (fetcher->crowding.has_slowed) {
        fetcher->sinks.slowed(fetcher->sinks.context);
    }
    while ((transfer = crowding_next(&fetcher->crowding, fetcher->shared.now)) != NULL) {
        transfer_break_off(transfer);
        fetcher_finish(fetcher, transfer, CURLE_OPERATION_TIMEDOUT);
    }
}

/* The thread comes by; what it holds in flight is not to blame for time in which it did not run. */
static void tick(Fetcher *fetcher, MonoTime now)
{
    int64_t lost_ms = run_clock_tick(&fetcher->run, now);
    fetcher->shared.now = run_clock_at(&fetcher->run, now);
    if (lost_ms == 0 || fetcher->pool.n_active == 0) {
        return;
    }
    for (size_t i = 0; i < fetcher->pool.n_transfers; i++) {
        /* Their times are no measure of the host then. */
        fetcher->pool.transfers[i]->was_held_up = fetcher->pool.transfers[i]->visit_state != NULL;
    }
    LOG_WARN("fetch", "the process did not run, its transfers get the time back",
             "ms=%lld transfers=%zu", (long long)lost_ms, fetcher->pool.n_active);
}

/* What was asked for is told, and owed its delay, as if it had failed for a reason of our own: the
 * server has had the request. What was not yet asked for leaves no trace. */
static void abort_all(Fetcher *fetcher)
{
    for (size_t i = 0; i < fetcher->pool.n_transfers; i++) {
        Transfer *transfer = fetcher->pool.transfers[i];
        VisitState *visit_state = transfer->visit_state;
        if (visit_state != NULL && transfer_has_asked(transfer)) {
            transfer->is_aborted = true;
            transfer_break_off(transfer);
            fetcher_finish(fetcher, transfer, CURLE_ABORTED_BY_CALLBACK);
        } else if (visit_state != NULL) {
            transfer_break_off(transfer);
            lanes_take_out(transfer->lane, transfer->easy);
            transfer_put_url_back(transfer);
            fetcher_release(fetcher, transfer);
            visit_turn_land(visit_state);
            if (visit_turn_has_landed(visit_state)) {
                fetcher_give_back(fetcher, visit_state);
            }
        }
    }
}

/* One by one, since each that is begun may be the one that closes the gate; what is left is read
 * when it opens, which wakes this thread. */
static void fetcher_read_inbox(Fetcher *fetcher)
{
    void *item = NULL;
    size_t n = 0;
    wake_clear(&fetcher->wake);
    while (atomic_load(&fetcher->draining) || gate_turn_is_open(&fetcher->turn, mono_now())) {
        if (queue_pop(&fetcher->inbox, &item, 1, &n, (MonoTime){0}) != RESULT_OK) {
            fetcher->has_waiting = false;
            return;
        }
        visit_turn_begin(item);
        if (atomic_load(&fetcher->draining)) {
            fetcher_give_back(fetcher, item);
        } else {
            fetcher_begin(fetcher, item);
        }
    }
    MonoTime now = mono_now();
    /* The gate is closed, and there may be more in the inbox. How long hosts wait for memory counts
     * as a cost of what holds it (host_costs); waiting for a rate does not. */
    bool has_room = gate_turn_has_room(&fetcher->turn);
    if (has_room || !fetcher->has_waiting) {
        fetcher->waiting_since = now;
    }
    fetcher->has_waiting = true;
    if (fetcher->options.costs != NULL && !has_room) {
        host_costs_note_wait(fetcher->options.costs, mono_ms_between(fetcher->waiting_since, now),
                             now);
    }
}

/* Lets go on what may: all for which the gate is open; else the one that has waited longest, if no
 * other one is favoured and nothing else would open the gate. Each may be paused again at once. */
static void continue_paused(Fetcher *fetcher, MonoTime now)
{
    Transfer *transfer = NULL;
    gate_turn_review(&fetcher->turn, now);
    /* One pass at most: each may be paused again at once, behind those that still wait. */
    size_t left = fetcher->turn.paused.count;
    while (left-- > 0 && (transfer = gate_turn_next(&fetcher->turn, now)) != NULL) {
        CURLcode code = transfer_continue(transfer);
        if (code != CURLE_OK) {
            fetcher_finish(fetcher, transfer, code);
        }
    }
}

static int fetcher_wait_ms(const Fetcher *fetcher, MonoTime now)
{
    MonoTime next = lanes_time(&fetcher->lanes);
    MonoTime turn = gate_turn_time(&fetcher->turn, fetcher->has_waiting);
    next = mono_before(turn, next) ? turn : next;
    /* Deadlines are in the run clock's time. It has to be wound. */
    MonoTime late = transfer_clock_next(&fetcher->clock);
    if (late.ns != MONO_NEVER.ns) {
        late.ns += now.ns - fetcher->shared.now.ns;
        next = mono_before(late, next) ? late : next;
    }
    int64_t most = crowding_wait_ms(&fetcher->crowding);
    int64_t ms = next.ns == MONO_NEVER.ns ? most : (next.ns - now.ns + 999999) / 1000000;
    ms = ms < most ? ms : most;
    return ms < 0 ? 0 : (int)ms;
}

static void fetcher_serve(Fetcher *fetcher, const struct epoll_event *event)
{
    if (event->data.fd == fetcher->wake.fd) {
        fetcher_read_inbox(fetcher);
    } else {
        lanes_event(&fetcher->lanes, event->data.fd, event->events);
    }
}

/* Whether the thread ends: it rests, and has nothing more to do. A thread that rests ends here,
 * with its inbox closed; what came in before is served first. */
static bool ends(Fetcher *fetcher)
{
    bool is_idle = fetcher->pool.n_active == 0 && queue_count(&fetcher->inbox) == 0;
    return is_idle && life_ends(&fetcher->life);
}

static void *fetcher_main(void *argument)
{
    Fetcher *fetcher = argument;
    struct epoll_event events[EPOLL_EVENTS];
    MonoTime now = mono_now();
    run_clock_init(&fetcher->run, now);
    tls_context_enter(&fetcher->tls);
    /* One turn: events of sockets and the inbox; then transfers that waited for room, before new
     * ones are begun; then time: libcurl's own, deadlines, crowding. What has ended is collected
     * between, so that a deadline does not meet a transfer that is over. */
    while (!atomic_load(&fetcher->stopping) && !ends(fetcher)) {
        lanes_keep(&fetcher->lanes, atomic_load(&fetcher->kept));
        now = mono_now();
        tick(fetcher, now);
        thread_step("waiting");
        int n = epoll_wait(fetcher->epoll, events, EPOLL_EVENTS, fetcher_wait_ms(fetcher, now));
        thread_step("fetching");
        tick(fetcher, mono_now());
        for (int i = 0; i < n; i++) {
            fetcher_serve(fetcher, &events[i]);
        }
        now = mono_now();
        continue_paused(fetcher, now);
        /* The gate may have opened without a ring, by what this thread itself has given back. */
        if (fetcher->has_waiting) {
            fetcher_read_inbox(fetcher);
        }
        lanes_run_timers(&fetcher->lanes, now);
        collect_ended(fetcher);
        end_late(fetcher);
        end_crowd(fetcher);
        if (atomic_exchange(&fetcher->aborting, false)) {
            abort_all(fetcher);
        }
        atomic_store_explicit(&fetcher->active, fetcher->pool.n_active, memory_order_relaxed);
        bool is_held = (fetcher->has_waiting || fetcher->turn.paused.count > 0) &&
                       fetcher->options.rate != NULL &&
                       !rate_gate_is_open(fetcher->options.rate, now);
        atomic_store_explicit(&fetcher->held_back, is_held, memory_order_relaxed);
        atomic_store_explicit(&fetcher->n_paused, fetcher->turn.paused.count, memory_order_relaxed);
        atomic_store_explicit(&fetcher->connections, fetcher->n_connections, memory_order_relaxed);
        fetcher->sinks.round(fetcher->sinks.context);
    }
    abort_all(fetcher);
    fetcher->sinks.round(fetcher->sinks.context);
    /* By the thread that used them, in whose TLS context they are (tls_context_enter). */
    lanes_close_all(&fetcher->lanes);
    return NULL;
}

/* ---- the outside ---- */

static Result open_loop(Fetcher *fetcher)
{
    fetcher->epoll = epoll_create1(EPOLL_CLOEXEC);
    Result rc =
        fetcher->epoll < 0 ? result_of_errno(errno) : wake_init(&fetcher->wake, fetcher->epoll);
    if (rc != RESULT_OK) {
        return rc;
    }
    socket_watch_init(&fetcher->sockets, fetcher->epoll);
    rc = lanes_init(&fetcher->lanes, &fetcher->sockets, fetcher->options.kept_connections);
    return rc == RESULT_OK ? queue_init(&fetcher->inbox, INBOX_CAPACITY) : rc;
}

Result fetcher_new(Fetcher **out, unsigned number, const FetcherOptions *options,
                   const FetcherSinks *sinks)
{
    Fetcher *fetcher = calloc(1, sizeof *fetcher);
    if (fetcher == NULL) {
        return RESULT_MEMORY;
    }
    fetcher->options = *options;
    atomic_init(&fetcher->kept, options->kept_connections);
    fetcher->sinks = *sinks;
    fetcher->number = number;
    fetcher->epoll = -1;
    fetcher->wake.fd = -1;
    transfer_clock_init(&fetcher->clock);
    tls_context_init(&fetcher->tls, options->trust, options->sessions);
    gate_turn_init(&fetcher->turn, options->gate, options->rate, options->quota);
    flights_init(&fetcher->flights);
    fetcher->pool = (TransferPool){.shared = &fetcher->shared};
    crowding_init(&fetcher->crowding, &fetcher->options, &fetcher->pool);
    Result rc = transfer_shared_init(&fetcher->shared, &fetcher->options, &fetcher->n_connections,
                                     &fetcher->turn.paused, &fetcher->sockets, &fetcher->clock,
                                     &fetcher->tls, &fetcher->rules);
    if (rc == RESULT_OK) {
        rc = open_loop(fetcher);
    }
    if (rc == RESULT_OK) {
        rc = fetcher_rules_open(&fetcher->rules, &fetcher->options, number);
    }
    if (rc != RESULT_OK) {
        fetcher_delete(fetcher);
        return rc;
    }
    *out = fetcher;
    return RESULT_OK;
}

/* What comes is given back while there is no thread. */
Result fetcher_start(Fetcher *fetcher)
{
    char name[16];
    queue_reopen(&fetcher->inbox);
    (void)snprintf(name, sizeof name, "fetch-%u", fetcher->number);
    Result rc = life_start(&fetcher->life, name, fetcher_main, fetcher);
    if (rc != RESULT_OK) {
        queue_close(&fetcher->inbox);
    }
    return rc;
}

/* Closed first: fetcher_fetch gives back from now on, so the inbox only gets shorter. */
void fetcher_rest(Fetcher *fetcher)
{
    queue_close(&fetcher->inbox);
    life_rest(&fetcher->life);
    fetcher_wake(fetcher);
}

void fetcher_keep(Fetcher *fetcher, size_t kept_connections)
{
    atomic_store_explicit(&fetcher->kept, kept_connections, memory_order_relaxed);
    fetcher_wake(fetcher);
}

void fetcher_wake(Fetcher *fetcher)
{
    wake_ring(&fetcher->wake);
}

void fetcher_fetch(Fetcher *fetcher, VisitState *visit_state)
{
    if (queue_push(&fetcher->inbox, visit_state) == RESULT_OK) {
        fetcher_wake(fetcher);
    } else {
        fetcher_give_back(fetcher, visit_state);
    }
}

void fetcher_drain(Fetcher *fetcher)
{
    atomic_store(&fetcher->draining, true);
    fetcher_wake(fetcher);
}

void fetcher_abort(Fetcher *fetcher)
{
    atomic_store(&fetcher->aborting, true);
    fetcher_wake(fetcher);
}

void fetcher_stop(Fetcher *fetcher)
{
    atomic_store(&fetcher->draining, true);
    atomic_store(&fetcher->stopping, true);
    queue_close(&fetcher->inbox);
    fetcher_wake(fetcher);
    life_join(&fetcher->life);
    void *item = NULL;
    size_t n = 0;
    while (queue_pop(&fetcher->inbox, &item, 1, &n, (MonoTime){0}) == RESULT_OK) {
        fetcher_give_back(fetcher, item);
    }
}

void fetcher_delete(Fetcher *fetcher)
{
    if (fetcher == NULL) {
        return;
    }
    transfer_pool_destroy(&fetcher->pool);
    lanes_destroy(&fetcher->lanes);
    tls_context_destroy(&fetcher->tls);
    if (fetcher->inbox.items != NULL) {
        queue_destroy(&fetcher->inbox);
    }
    socket_watch_destroy(&fetcher->sockets);
    transfer_shared_destroy(&fetcher->shared);
    fetcher_rules_close(&fetcher->rules);
    transfer_clock_destroy(&fetcher->clock);
    heap_destroy(&fetcher->turn.paused);
    flights_destroy(&fetcher->flights);
    file_close_fd(fetcher->epoll);
    wake_destroy(&fetcher->wake);
    free(fetcher);
}

Flights *fetcher_flights(Fetcher *fetcher)
{
    return &fetcher->flights;
}

void fetcher_stats(Fetcher *fetcher, FetcherStats *stats)
{
    *stats = (FetcherStats){
        .active = atomic_load_explicit(&fetcher->active, memory_order_relaxed),
        .paused = atomic_load_explicit(&fetcher->n_paused, memory_order_relaxed),
        .held_back = atomic_load_explicit(&fetcher->held_back, memory_order_relaxed),
        .requests = atomic_load_explicit(&fetcher->requests, memory_order_relaxed),
        .connections = atomic_load_explicit(&fetcher->connections, memory_order_relaxed),
        .local = atomic_load_explicit(&fetcher->local.count, memory_order_relaxed),
        .no_descriptors =
            atomic_load_explicit(&fetcher->local.no_descriptors, memory_order_relaxed),
        .cut_new = atomic_load_explicit(&fetcher->crowding.n_new, memory_order_relaxed),
        .cut_slow = atomic_load_explicit(&fetcher->crowding.n_slow, memory_order_relaxed),
    };
    tls_context_stats(&fetcher->tls, &stats->tls);
}
