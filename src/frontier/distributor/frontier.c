#include "frontier/distributor/frontier.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"

/* ---- Hunger ---- */

void hunger_init(Hunger *hunger, size_t first, size_t step, size_t most)
{
    hunger->step = step;
    hunger->most = most;
    atomic_init(&hunger->required, first);
    atomic_init(&hunger->starved, 0);
    atomic_init(&hunger->fed_until_ns, 0);
    atomic_init(&hunger->is_told, false);
}

size_t hunger_required(const Hunger *hunger)
{
    return atomic_load_explicit(&hunger->required, memory_order_relaxed);
}

bool hunger_starve(Hunger *hunger, size_t front, MonoTime now)
{
    size_t required = hunger_required(hunger);
    atomic_fetch_add_explicit(&hunger->starved, 1, memory_order_relaxed);
    if (front >= required && required < hunger->most) {
        size_t left = hunger->most - required;
        required += hunger->step < left ? hunger->step : left;
        atomic_store_explicit(&hunger->required, required, memory_order_relaxed);
    }
    int64_t fed_until = atomic_load_explicit(&hunger->fed_until_ns, memory_order_relaxed);
    return front < required && now.ns >= fed_until && !atomic_exchange(&hunger->is_told, true);
}

void hunger_heard(Hunger *hunger)
{
    atomic_store(&hunger->is_told, false);
}

void hunger_fed(Hunger *hunger, bool is_hungry, MonoTime next_walk, MonoTime now)
{
    MonoTime until = {0};
    if (is_hungry) {
        until = mono_later(next_walk, mono_add_ms(now, HUNGER_PAUSE_MS));
    }
    atomic_store_explicit(&hunger->fed_until_ns, until.ns, memory_order_relaxed);
}

/* ---- Mailbox ---- */

/* More than visit states can exist, so that the two threads never wait for each other. */
#define MAILBOX_CAPACITY ((size_t)1 << 21)

Result mailbox_init(Mailbox *mailbox, bool runs)
{
    *mailbox = (Mailbox){.runs = runs, .look = MONO_NEVER};
    return queue_init(&mailbox->queue, MAILBOX_CAPACITY);
}

static bool is_taken(Result rc)
{
    if (rc != RESULT_OK) {
        LOG_DEBUG("frontier", "message after the end", "result=%d", (int)rc);
    }
    return rc == RESULT_OK;
}

bool mailbox_post(Mailbox *mailbox, void *message)
{
    return is_taken(queue_push(&mailbox->queue, message));
}

bool mailbox_post_by(Mailbox *mailbox, void *message, MonoTime by)
{
    return is_taken(queue_add_by(&mailbox->queue, message, by));
}

bool mailbox_take(Mailbox *mailbox, void *messages[MAILBOX_BATCH], size_t *n, MonoTime deadline)
{
    Result rc = queue_pop(&mailbox->queue, messages, MAILBOX_BATCH, n,
                          mono_earlier(deadline, mailbox->look));
    mailbox->look = MONO_NEVER;
    if (mailbox->runs && *n > 0) {
        MonoTime now = mono_now();
        MonoTime next = mono_add_ms(now, MAILBOX_RUN_MS);
        mailbox->look = mono_ms_between(mailbox->told, now) < MAILBOX_RUN_MS ? next : MONO_NEVER;
        mailbox->told = now;
    }
    return rc != RESULT_CLOSED;
}

/* ---- Frontier notice ---- */

#define LEASE_BEGIN_NS INT64_C(32000000) /* leases begin at multiples of it, if not at once */

/* RESULT_MEMORY; RESULT_CLOSED after the end. */
static Result post_copy(Mailbox *mailbox, const void *notice, size_t size, MonoTime by)
{
    void *message = malloc(size);
    if (message == NULL) {
        return RESULT_MEMORY;
    }
    memcpy(message, notice, size);
    if (!mailbox_post_by(mailbox, message, by)) {
        free(message);
        return RESULT_CLOSED;
    }
    queue_call(&mailbox->queue);
    return RESULT_OK;
}

/* ---- Frontier ---- */

struct Frontier {
    FrontierOptions options;
    FrontierSinks sinks;
    Distributor distributor; /* the distributor thread's */
    Workbench workbench;     /* the todo thread's */
    Mailbox distributor_inbox;
    Mailbox todo_inbox;
    Thread distributor_thread;
    Thread todo_thread;
    Hunger hunger;
    News hungry; /* the message NEWS_HUNGRY; in the inbox while hunger.is_told */
    atomic_bool paused;
    atomic_bool stopping;
    atomic_size_t connections;
    /* published for the other thread and the status log */
    atomic_size_t front;
    atomic_size_t queued;
    atomic_size_t entries;
    atomic_size_t acquired;
    Crowd crowd;
    atomic_size_t visit_states;
    atomic_size_t resolving;
    atomic_size_t memory;
    _Atomic uint64_t evictions;
    atomic_size_t nameless;
    _Atomic uint64_t names_left_out;
};

/* ---- distributor thread ---- */

static void sink_ready(void *context, VisitState *visit_state)
{
    Frontier *frontier = context;
    visit_state->news = NEWS_READY;
    (void)mailbox_post_by(&frontier->todo_inbox, visit_state, (MonoTime){0});
}

static void sink_recall(void *context, VisitState *visit_state)
{
    Frontier *frontier = context;
    (void)mailbox_post_by(&frontier->todo_inbox, &visit_state->distributor.recall, (MonoTime){0});
}

static void distribute(Frontier *frontier, void *message, MonoTime now, WallTime wall)
{
    const ErrandNotice *told = NULL;
    switch (*(News *)message) {
    case NEWS_RESOLVED:
    case NEWS_EMPTY:
    case NEWS_ANSWERED:
        distributor_receive(&frontier->distributor, message, now, wall);
        break;
    case NEWS_COMMITTED:
        distributor_committed(&frontier->distributor, message, now, wall);
        commit_notice_delete(message);
        break;
    case NEWS_RECALL:
        distributor_recalled(&frontier->distributor,
                             HEAP_ELEMENT(message, VisitState, distributor.recall));
        break;
    case NEWS_OPTIONS:
        distributor_replan(&frontier->distributor, &((const ChangeNotice *)message)->change, now);
        free(message);
        break;
    case NEWS_ASKED:
        distributor_asked(&frontier->distributor, message, now, wall);
        break;
    case NEWS_TOLD:
        told = message;
        distributor_told(&frontier->distributor, told->host, told->outcome, told->answer, now,
                         wall);
        free(message);
        break;
    case NEWS_HUNGRY:
        hunger_heard(&frontier->hunger);
        break;
    case NEWS_NONE:
    case NEWS_READY:
    case NEWS_FETCHED:
    case NEWS_LEASE:
        assert(false); /* those are messages of the todo thread */
        break;
    }
}

/* Entries with work, plus visit states that are still on their way to one: otherwise the front
 * would be filled twice over. */
static size_t front_seen_by_distributor(Frontier *frontier)
{
    size_t acquired = atomic_load_explicit(&frontier->acquired, memory_order_relaxed);
    size_t arrived = atomic_load_explicit(&frontier->queued, memory_order_relaxed) + acquired;
    size_t away = frontier->distributor.n_away;
    size_t front = atomic_load_explicit(&frontier->front, memory_order_relaxed) + acquired;
    return front + (away > arrived ? away - arrived : 0);
}

static void *distributor_main(void *argument)
{
    Frontier *frontier = argument;
    void *messages[MAILBOX_BATCH];
    size_t n = 0;
    MonoTime deadline = {0};
    bool goes_on = true;
    while (goes_on) {
        thread_step("waiting");
        goes_on = mailbox_take(&frontier->distributor_inbox, messages, &n, deadline);
        thread_step("distributing");
        MonoTime now = mono_now();
        WallTime wall = wall_now();
        for (size_t i = 0; i < n; i++) {
            distribute(frontier, messages[i], now, wall);
        }
        size_t front = front_seen_by_distributor(frontier);
        size_t required = hunger_required(&frontier->hunger);
        if (atomic_load(&frontier->stopping)) {
            deadline = MONO_NEVER;
        } else {
            deadline = distributor_work(&frontier->distributor, front, required, now, wall);
            hunger_fed(&frontier->hunger,
                       front + distributor_arriving(&frontier->distributor) < required,
                       frontier->distributor.walk.next, now);
        }
        const Distributor *d = &frontier->distributor;
        atomic_store_explicit(&frontier->visit_states, d->visit_states.count, memory_order_relaxed);
        atomic_store_explicit(&frontier->resolving, d->n_resolving, memory_order_relaxed);
        atomic_store_explicit(&frontier->memory, d->memory, memory_order_relaxed);
        atomic_store_explicit(&frontier->evictions, d->steering.evictions, memory_order_relaxed);
        atomic_store_explicit(&frontier->nameless, d->names.count, memory_order_relaxed);
        atomic_store_explicit(&frontier->names_left_out, d->names.left_out, memory_order_relaxed);
        queue_call(&frontier->todo_inbox.queue);
    }
    return NULL;
}

/* ---- todo thread ---- */

/* When host and address may be asked again. */
static MonoTime frontier_due(const VisitState *visit_state)
{
    return mono_later(visit_state_next_time(visit_state), visit_state->politeness.ip_next_fetch);
}

/* What leaves the workbench is not missed at home while its address has others to fetch from. The
 * entry is still there: only workbench_acquire forgets one. */
static void frontier_receive(Frontier *frontier, VisitState *visit_state, MonoTime now)
{
    assert(visit_state->news == NEWS_READY || visit_state->news == NEWS_FETCHED);
    const WorkbenchEntry *entry = visit_state->todo.entry;
    bool keep = visit_state->news == NEWS_READY
                    ? workbench_add(&frontier->workbench, visit_state, now) == RESULT_OK
                    : workbench_release(&frontier->workbench, visit_state, now);
    if (!keep) {
        visit_state->place = VISIT_STATE_REFILLING;
        visit_state->news = NEWS_EMPTY;
        bool missed = entry == NULL || !workbench_entry_has_ready(entry);
        MonoTime late = mono_add_ms(now, MAILBOX_RUN_MS);
        MonoTime by = missed ? mono_earlier(frontier_due(visit_state), late) : late;
        (void)mailbox_post_by(&frontier->distributor_inbox, visit_state, by);
    }
}

/* It goes home if it is here. The message goes back behind it. */
static void recall(Frontier *frontier, VisitState *visit_state, MonoTime now)
{
    if (workbench_recall(&frontier->workbench, visit_state, now)) {
        visit_state->news = NEWS_EMPTY;
        (void)mailbox_post(&frontier->distributor_inbox, visit_state);
    }
    (void)mailbox_post(&frontier->distributor_inbox, &visit_state->distributor.recall);
}

static void frontier_hand_out(Frontier *frontier, MonoTime now)
{
    size_t limit = atomic_load_explicit(&frontier->connections, memory_order_relaxed);
    if (atomic_load(&frontier->paused)) {
        return;
    }
    workbench_share(&frontier->workbench, standing_shares(frontier->options.shares), limit);
    while (frontier->workbench.n_acquired < limit) {
        VisitState *visit_state = workbench_acquire(&frontier->workbench, now);
        if (visit_state == NULL) {
            size_t front = workbench_front(&frontier->workbench) + frontier->workbench.n_acquired;
            if (hunger_starve(&frontier->hunger, front, now)) {
                (void)mailbox_post(&frontier->distributor_inbox, &frontier->hungry);
            }
            return;
        }
        if (!mono_before(now, visit_state->address.expiry)) { /* its turn comes too late */
            visit_state->news = NEWS_FETCHED;
            frontier_receive(frontier, visit_state, now);
            continue;
        }
        frontier->sinks.fetch(frontier->sinks.hosts.context, visit_state);
    }
}

static void *todo_main(void *argument)
{
    Frontier *frontier = argument;
    void *messages[MAILBOX_BATCH];
    size_t n = 0;
    MonoTime now = {0};
    bool goes_on = true;
    while (goes_on) {
        thread_step("waiting");
        bool idle = atomic_load(&frontier->paused) ||
                    frontier->workbench.n_acquired >=
                        atomic_load_explicit(&frontier->connections, memory_order_relaxed);
        MonoTime next = workbench_next_round(&frontier->workbench, idle, now, n > 0);
        goes_on = mailbox_take(&frontier->todo_inbox, messages, &n, next);
        thread_step("handing out");
        now = mono_now();
        if (frontier->workbench.leases != NULL) {
            workbench_count_sleep(&frontier->workbench, clock_asleep_ns());
        }
        for (size_t i = 0; i < n; i++) {
            News news = *(News *)messages[i];
            if (news == NEWS_LEASE) {
                workbench_hear(&frontier->workbench, messages[i], now);
                free(messages[i]);
            } else if (news == NEWS_RECALL) {
                recall(frontier, HEAP_ELEMENT(messages[i], VisitState, distributor.recall), now);
            } else if (news != NEWS_NONE) {
                frontier_receive(frontier, messages[i], now);
            }
        }
        frontier_hand_out(frontier, now);
        const Workbench *w = &frontier->workbench;
        atomic_store_explicit(&frontier->front, workbench_front(w), memory_order_relaxed);
        atomic_store_explicit(&frontier->entries, workbench_n_entries(w), memory_order_relaxed);
        atomic_store_explicit(&frontier->acquired, w->n_acquired, memory_order_relaxed);
        atomic_store_explicit(&frontier->queued, w->n_queued, memory_order_relaxed);
        crowd_publish(&frontier->crowd, w, atomic_load(&frontier->connections));
        queue_call(&frontier->distributor_inbox.queue);
    }
    return NULL;
}

/* ---- the outside ---- */

static News nudge = NEWS_NONE; /* makes the todo thread look at its flags */

Result frontier_new(Frontier **out, const FrontierOptions *options, const FrontierSinks *sinks,
                    PageDB *db, Schedule *schedule, HostRows *host_rows)
{
    Frontier *frontier = calloc(1, sizeof *frontier);
    if (frontier == NULL) {
        return RESULT_MEMORY;
    }
    frontier->options = *options;
    frontier->sinks = *sinks;
    frontier->hungry = NEWS_HUNGRY;
    atomic_init(&frontier->connections, options->connections);
    hunger_init(&frontier->hunger, options->front_first, options->front_step, options->front_max);
    Result rc = mailbox_init(&frontier->distributor_inbox, true);
    if (rc == RESULT_OK && mailbox_init(&frontier->todo_inbox, false) != RESULT_OK) {
        queue_destroy(&frontier->distributor_inbox.queue);
        rc = RESULT_MEMORY;
    }
    if (rc != RESULT_OK) {
        free(frontier);
        return rc;
    }
    frontier->sinks.hosts.todo = frontier;
    frontier->sinks.hosts.ready = sink_ready;
    frontier->sinks.hosts.recall = sink_recall;
    MonoTime floor = options->distributor.floor;
    floor = floor.ns > 0 ? mono_add_ms(floor, options->politeness.ip_delay_ms) : floor;
    workbench_init(&frontier->workbench, floor);
    workbench_set_bias(&frontier->workbench, &options->distributor.bias);
    rc = distributor_init(&frontier->distributor, &frontier->options.distributor,
                          &frontier->options.politeness, &frontier->sinks.hosts, db, schedule,
                          host_rows);
    if (rc != RESULT_OK) {
        frontier_delete(frontier);
        return rc;
    }
    if (sinks->leases.want != NULL) {
        workbench_set_leases(&frontier->workbench, &frontier->sinks.leases);
    }
    *out = frontier;
    return RESULT_OK;
}

Result frontier_start(Frontier *frontier)
{
    Result rc =
        thread_start(&frontier->distributor_thread, "distributor", distributor_main, frontier);
    return rc != RESULT_OK ? rc : thread_start(&frontier->todo_thread, "todo", todo_main, frontier);
}

void frontier_pause(Frontier *frontier, bool paused)
{
    atomic_store(&frontier->paused, paused);
    (void)mailbox_post(&frontier->todo_inbox, &nudge);
}

void frontier_stop(Frontier *frontier)
{
    atomic_store(&frontier->stopping, true);
    atomic_store(&frontier->paused, true);
    queue_close(&frontier->todo_inbox.queue);
    thread_join(&frontier->todo_thread);
    queue_close(&frontier->distributor_inbox.queue);
    thread_join(&frontier->distributor_thread);
}

void frontier_delete(Frontier *frontier)
{
    if (frontier == NULL) {
        return;
    }
    workbench_destroy(&frontier->workbench);
    distributor_destroy(&frontier->distributor);
    queue_destroy(&frontier->todo_inbox.queue);
    queue_destroy(&frontier->distributor_inbox.queue);
    free(frontier);
}

void frontier_resolved(Frontier *frontier, VisitState *visit_state)
{
    visit_state->news = NEWS_RESOLVED;
    MonoTime by = mono_add_ms(mono_now(), MAILBOX_RUN_MS);
    (void)mailbox_post_by(&frontier->distributor_inbox, visit_state, by);
    queue_call(&frontier->distributor_inbox.queue);
}

void frontier_answered(Frontier *frontier, VisitState *asker)
{
    asker->news = NEWS_ANSWERED;
    (void)mailbox_post(&frontier->distributor_inbox, asker);
}

void frontier_fetched(Frontier *frontier, VisitState *visit_state)
{
    MonoTime soon = mono_add_ms(mono_now(), WORKBENCH_RELEASE_MS);
    visit_state->news = NEWS_FETCHED;
    (void)mailbox_post_by(&frontier->todo_inbox, visit_state,
                          mono_earlier(frontier_due(visit_state), soon));
}

void frontier_call(Frontier *frontier)
{
    queue_call(&frontier->todo_inbox.queue);
}

void frontier_committed(Frontier *frontier, CommitNotice *notice)
{
    notice->news = NEWS_COMMITTED;
    if (!mailbox_post(&frontier->distributor_inbox, notice)) {
        commit_notice_delete(notice);
    }
}

/* What begins later begins together with others, so that threads wake up for several at once.
 * Without memory the lease runs out unused. */
void frontier_lease(Frontier *frontier, const LeaseNotice *notice)
{
    LeaseNotice message = *notice;
    MonoTime now = mono_now();
    MonoTime soon = mono_add_ms(now, WORKBENCH_RELEASE_MS);
    message.news = NEWS_LEASE;
    if (mono_before(now, notice->begin)) {
        message.begin.ns += LEASE_BEGIN_NS - message.begin.ns % LEASE_BEGIN_NS;
    }
    (void)post_copy(&frontier->todo_inbox, &message, sizeof message,
                    mono_later(soon, message.begin));
}

/* Without memory the asker waits until the process ends, as if its host were down. */
void frontier_told(Frontier *frontier, uint32_t host, ErrandOutcome outcome, ErrandAnswer *answer)
{
    ErrandNotice notice = {.news = NEWS_TOLD, .host = host, .outcome = outcome, .answer = answer};
    if (post_copy(&frontier->distributor_inbox, &notice, sizeof notice, (MonoTime){0}) !=
        RESULT_OK) {
        errand_answer_delete(answer);
    }
}

void frontier_asked(Frontier *frontier, VisitState *asker)
{
    asker->news = NEWS_ASKED;
    if (!mailbox_post(&frontier->distributor_inbox, asker)) {
        visit_state_delete(asker); /* after the end */
    }
}

void frontier_stats(Frontier *frontier, FrontierStats *stats)
{
    *stats = (FrontierStats){
        .visit_states = atomic_load_explicit(&frontier->visit_states, memory_order_relaxed),
        .entries = atomic_load_explicit(&frontier->entries, memory_order_relaxed),
        .front = atomic_load_explicit(&frontier->front, memory_order_relaxed),
        .required_front = hunger_required(&frontier->hunger),
        .acquired = atomic_load_explicit(&frontier->acquired, memory_order_relaxed),
        .resolving = atomic_load_explicit(&frontier->resolving, memory_order_relaxed),
        .memory_bytes = atomic_load_explicit(&frontier->memory, memory_order_relaxed),
        .queues = distribution_spread(&frontier->distributor.queues),
        .evictions = atomic_load_explicit(&frontier->evictions, memory_order_relaxed),
        .nameless = atomic_load_explicit(&frontier->nameless, memory_order_relaxed),
        .names_left_out = atomic_load_explicit(&frontier->names_left_out, memory_order_relaxed),
        .starved = atomic_load_explicit(&frontier->hunger.starved, memory_order_relaxed),
        .crowd = crowd_counts(&frontier->crowd),
    };
}

void frontier_look(Frontier *frontier)
{
    (void)mailbox_post(&frontier->todo_inbox, &nudge);
}

void frontier_set_connections(Frontier *frontier, size_t connections)
{
    atomic_store_explicit(&frontier->connections, connections, memory_order_relaxed);
    (void)mailbox_post(&frontier->todo_inbox, &nudge);
}

Result frontier_change(Frontier *frontier, const DistributorChange *change)
{
    ChangeNotice notice = {.news = NEWS_OPTIONS, .change = *change};
    return post_copy(&frontier->distributor_inbox, &notice, sizeof notice, (MonoTime){0});
}
