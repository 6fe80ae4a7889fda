#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "unit.h"
#include "until.h"

#define PUSHERS 3u
#define POPPERS 3u
#define EACH    20000u
#define BATCH   7u

static char items[8];

static void items_come_out_in_the_order_they_went_in(void)
{
    Queue queue;
    void *out[8] = {NULL};
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(queue_init(&queue, 5), RESULT_OK);
    for (size_t round = 0; round < 4; round++) { /* the ring wraps */
        for (size_t i = 0; i < 4; i++) {
            CU_ASSERT_EQUAL(queue_push(&queue, &items[i]), RESULT_OK);
        }
        CU_ASSERT_EQUAL(queue_pop(&queue, out, 1, &n, MONO_NEVER), RESULT_OK);
        CU_ASSERT_EQUAL(n, 1);
        CU_ASSERT_PTR_EQUAL(out[0], &items[0]);
        CU_ASSERT_EQUAL(queue_push(&queue, &items[4]), RESULT_OK);
        CU_ASSERT_EQUAL(queue_pop(&queue, out, 8, &n, MONO_NEVER), RESULT_OK);
        CU_ASSERT_EQUAL(n, 4);
        for (size_t i = 0; i < n; i++) {
            CU_ASSERT_PTR_EQUAL(out[i], &items[i + 1]);
        }
    }
    CU_ASSERT_EQUAL(queue_count(&queue), 0);
    queue_destroy(&queue);
}

static void a_full_queue_refuses_who_will_not_wait(void)
{
    Queue queue;
    void *out = NULL;
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(queue_init(&queue, 2), RESULT_OK);
    CU_ASSERT_EQUAL(queue_try_add(&queue, &items[0], 0), RESULT_OK);
    CU_ASSERT_EQUAL(queue_try_add(&queue, &items[1], 0), RESULT_OK);
    CU_ASSERT_EQUAL(queue_try_add(&queue, &items[2], 0), RESULT_LIMIT);
    CU_ASSERT_EQUAL(queue_count(&queue), 2);
    CU_ASSERT_EQUAL(queue_pop(&queue, &out, 1, &n, MONO_NEVER), RESULT_OK);
    CU_ASSERT_EQUAL(queue_try_add(&queue, &items[2], 0), RESULT_OK);
    queue_destroy(&queue);
}

static void an_empty_queue_answers_at_the_deadline(void)
{
    Queue queue;
    void *out = NULL;
    size_t n = 9;
    CU_ASSERT_EQUAL_FATAL(queue_init(&queue, 2), RESULT_OK);
    CU_ASSERT_EQUAL(queue_pop(&queue, &out, 1, &n, (MonoTime){0}), RESULT_TIMEOUT);
    CU_ASSERT_EQUAL(n, 0);
    MonoTime until = mono_add_ms(mono_now(), 1);
    CU_ASSERT_EQUAL(queue_pop(&queue, &out, 1, &n, until), RESULT_TIMEOUT);
    CU_ASSERT_FALSE(mono_before(mono_now(), until));
    /* What is there is taken even when the deadline has passed. */
    CU_ASSERT_EQUAL(queue_push(&queue, &items[0]), RESULT_OK);
    CU_ASSERT_EQUAL(queue_pop(&queue, &out, 1, &n, (MonoTime){0}), RESULT_OK);
    queue_destroy(&queue);
}

static void a_wake_ends_one_wait(void)
{
    Queue queue;
    int item = 0;
    void *out = NULL;
    size_t n = 9;
    CU_ASSERT_EQUAL_FATAL(queue_init(&queue, 2), RESULT_OK);
    queue_wake(&queue);
    CU_ASSERT_EQUAL(queue_pop(&queue, &out, 1, &n, MONO_NEVER), RESULT_TIMEOUT);
    CU_ASSERT_EQUAL(n, 0);
    CU_ASSERT_EQUAL(queue_push(&queue, &item), RESULT_OK);
    queue_wake(&queue); /* items come first */
    CU_ASSERT_EQUAL(queue_pop(&queue, &out, 1, &n, MONO_NEVER), RESULT_OK);
    CU_ASSERT_EQUAL(queue_pop(&queue, &out, 1, &n, MONO_NEVER), RESULT_TIMEOUT);
    queue_destroy(&queue);
}

static void a_closed_queue_gives_what_is_left_and_takes_nothing(void)
{
    Queue queue;
    void *out[4] = {NULL};
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(queue_init(&queue, 4), RESULT_OK);
    CU_ASSERT_EQUAL(queue_push(&queue, &items[0]), RESULT_OK);
    CU_ASSERT_EQUAL(queue_push(&queue, &items[1]), RESULT_OK);
    queue_close(&queue);
    CU_ASSERT_EQUAL(queue_push(&queue, &items[2]), RESULT_CLOSED);
    CU_ASSERT_EQUAL(queue_try_add(&queue, &items[2], 0), RESULT_CLOSED);
    CU_ASSERT_EQUAL(queue_pop(&queue, out, 4, &n, MONO_NEVER), RESULT_OK);
    CU_ASSERT_EQUAL(n, 2);
    CU_ASSERT_EQUAL(queue_pop(&queue, out, 4, &n, MONO_NEVER), RESULT_CLOSED);
    CU_ASSERT_EQUAL(n, 0);
    queue_destroy(&queue);
}

typedef struct Waiting {
    Queue queue;
    atomic_uint refused;
} Waiting;

static void *push_into_full(void *context)
{
    Waiting *waiting = context;
    if (queue_push(&waiting->queue, &items[1]) == RESULT_CLOSED) {
        atomic_fetch_add(&waiting->refused, 1);
    }
    return NULL;
}

static void *pop_from_empty(void *context)
{
    Waiting *waiting = context;
    void *out = NULL;
    size_t n = 0;
    if (queue_pop(&waiting->queue, &out, 1, &n, MONO_NEVER) == RESULT_CLOSED) {
        atomic_fetch_add(&waiting->refused, 1);
    }
    return NULL;
}

static void closing_wakes_everybody(void)
{
    void *(*const runs[])(void *) = {push_into_full, pop_from_empty};
    for (size_t kind = 0; kind < 2; kind++) {
        Waiting waiting = {.refused = 0};
        Thread threads[4] = {{.started = false}};
        CU_ASSERT_EQUAL_FATAL(queue_init(&waiting.queue, 1), RESULT_OK);
        if (kind == 0) {
            CU_ASSERT_EQUAL(queue_push(&waiting.queue, &items[0]), RESULT_OK);
        }
        for (size_t i = 0; i < 4; i++) {
            CU_ASSERT_EQUAL(thread_start(&threads[i], "waits", runs[kind], &waiting), RESULT_OK);
        }
        queue_close(&waiting.queue);
        for (size_t i = 0; i < 4; i++) {
            thread_join(&threads[i]);
        }
        CU_ASSERT_EQUAL(atomic_load(&waiting.refused), 4);
        queue_destroy(&waiting.queue);
    }
}

/* One thread that pops once. */
typedef struct Popper {
    Queue queue;
    Thread thread;
    MonoTime deadline;
    size_t least;
    void *out[8];
    size_t n; /* after thread_join */
    Result rc;
} Popper;

static void *gather_once(void *context)
{
    Popper *popper = context;
    popper->rc =
        queue_gather(&popper->queue, popper->out, 8, popper->least, &popper->n, popper->deadline);
    return NULL;
}

static size_t number_under_lock(Queue *queue, const size_t *number)
{
    mutex_lock(&queue->mutex);
    size_t value = *number;
    mutex_unlock(&queue->mutex);
    return value;
}

static void start_popper(Popper *popper, size_t least, MonoTime deadline)
{
    *popper = (Popper){.least = least, .deadline = deadline};
    CU_ASSERT_EQUAL_FATAL(queue_init(&popper->queue, 8), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(thread_start(&popper->thread, "pops", gather_once, popper), RESULT_OK);
    CU_ASSERT_FATAL(UNTIL(number_under_lock(&popper->queue, &popper->queue.waiting) == 1));
}

static void end_popper(Popper *popper, size_t n)
{
    thread_join(&popper->thread);
    CU_ASSERT_EQUAL(popper->rc, RESULT_OK);
    CU_ASSERT_EQUAL(popper->n, n);
    CU_ASSERT_EQUAL(queue_count(&popper->queue), 0);
    queue_destroy(&popper->queue);
}

static void who_gathers_sleeps_until_there_is_enough(void)
{
    Popper popper;
    start_popper(&popper, 3, MONO_NEVER);
    CU_ASSERT_EQUAL(queue_push(&popper.queue, &items[0]), RESULT_OK);
    CU_ASSERT_EQUAL(queue_push(&popper.queue, &items[1]), RESULT_OK);
    CU_ASSERT_EQUAL(number_under_lock(&popper.queue, &popper.queue.called), 0);
    CU_ASSERT_EQUAL(queue_push(&popper.queue, &items[2]), RESULT_OK);
    end_popper(&popper, 3);
}

static void who_gathers_takes_what_there_is_at_the_deadline(void)
{
    Queue queue;
    void *out[8] = {NULL};
    size_t n = 9;
    CU_ASSERT_EQUAL_FATAL(queue_init(&queue, 8), RESULT_OK);
    CU_ASSERT_EQUAL(queue_gather(&queue, out, 8, 3, &n, (MonoTime){0}), RESULT_TIMEOUT);
    CU_ASSERT_EQUAL(n, 0);
    CU_ASSERT_EQUAL(queue_push(&queue, &items[0]), RESULT_OK);
    CU_ASSERT_EQUAL(queue_push(&queue, &items[1]), RESULT_OK);
    CU_ASSERT_EQUAL(queue_gather(&queue, out, 8, 3, &n, mono_add_ms(mono_now(), 1)), RESULT_OK);
    CU_ASSERT_EQUAL(n, 2);
    queue_destroy(&queue);
}

static void a_wake_ends_gathering(void)
{
    Popper popper;
    start_popper(&popper, 3, MONO_NEVER);
    CU_ASSERT_EQUAL(queue_push(&popper.queue, &items[0]), RESULT_OK);
    queue_wake(&popper.queue);
    end_popper(&popper, 1);
}

static void who_wakes_up_in_time_is_not_called(void)
{
    Popper popper;
    MonoTime hour = mono_add_ms(mono_now(), 3600000);
    start_popper(&popper, 1, hour);
    CU_ASSERT_EQUAL(queue_add_by(&popper.queue, &items[0], mono_add_ms(hour, 1)), RESULT_OK);
    queue_call(&popper.queue);
    CU_ASSERT_EQUAL(number_under_lock(&popper.queue, &popper.queue.called), 0);
    CU_ASSERT_EQUAL(number_under_lock(&popper.queue, &popper.queue.waiting), 1);
    CU_ASSERT_EQUAL(queue_add_by(&popper.queue, &items[1], mono_add_ms(hour, -1)), RESULT_OK);
    CU_ASSERT_EQUAL(number_under_lock(&popper.queue, &popper.queue.called), 0);
    queue_call(&popper.queue);
    end_popper(&popper, 2);
}

static void what_is_added_calls_once_for_several(void)
{
    Popper popper;
    start_popper(&popper, 1, MONO_NEVER);
    CU_ASSERT_EQUAL(queue_try_add(&popper.queue, &items[0], 3), RESULT_OK);
    CU_ASSERT_EQUAL(queue_try_add(&popper.queue, &items[1], 3), RESULT_OK);
    CU_ASSERT_EQUAL(number_under_lock(&popper.queue, &popper.queue.called), 0);
    CU_ASSERT_EQUAL(number_under_lock(&popper.queue, &popper.queue.waiting), 1);
    queue_call(&popper.queue);
    end_popper(&popper, 2);
    start_popper(&popper, 1, MONO_NEVER);
    CU_ASSERT_EQUAL(queue_try_add(&popper.queue, &items[0], 1), RESULT_OK);
    end_popper(&popper, 1);
}

/* Else who waits for room would wait for a popper that sleeps. */
static void who_fills_the_queue_calls(void)
{
    Popper popper;
    start_popper(&popper, 1, MONO_NEVER);
    for (size_t i = 0; i + 1 < popper.queue.capacity; i++) {
        CU_ASSERT_EQUAL(queue_try_add(&popper.queue, &items[0], 100), RESULT_OK);
    }
    CU_ASSERT_EQUAL(number_under_lock(&popper.queue, &popper.queue.called), 0);
    CU_ASSERT_EQUAL(queue_try_add(&popper.queue, &items[0], 100), RESULT_OK);
    end_popper(&popper, popper.queue.capacity);
}

typedef struct Traffic {
    Queue queue;
    char items[PUSHERS * EACH]; /* their places are their numbers */
    atomic_uint next_pusher;
    atomic_uint seen[PUSHERS * EACH];
    atomic_uint disorder; /* items of one pusher that one popper saw out of order */
} Traffic;

static void *push_all(void *context)
{
    Traffic *traffic = context;
    uintptr_t first = atomic_fetch_add(&traffic->next_pusher, 1) * (uintptr_t)EACH;
    for (uintptr_t i = 0; i < EACH; i++) {
        (void)queue_push(&traffic->queue, &traffic->items[first + i]);
    }
    return NULL;
}

static void *pop_all(void *context)
{
    Traffic *traffic = context;
    void *batch[BATCH] = {NULL};
    size_t n = 0;
    size_t last[PUSHERS] = {0};
    while (queue_pop(&traffic->queue, batch, BATCH, &n, MONO_NEVER) == RESULT_OK) {
        for (size_t i = 0; i < n; i++) {
            size_t number = (size_t)((char *)batch[i] - traffic->items);
            atomic_fetch_add(&traffic->seen[number], 1);
            if (number + 1 <= last[number / EACH]) {
                atomic_fetch_add(&traffic->disorder, 1);
            }
            last[number / EACH] = number + 1;
        }
    }
    return NULL;
}

static void nothing_is_lost_or_doubled_between_many_threads(void)
{
    Traffic *traffic = calloc(1, sizeof *traffic);
    Thread pushers[PUSHERS] = {{.started = false}};
    Thread poppers[POPPERS] = {{.started = false}};
    CU_ASSERT_EQUAL_FATAL(queue_init(&traffic->queue, 16), RESULT_OK);
    for (size_t i = 0; i < POPPERS; i++) {
        CU_ASSERT_EQUAL(thread_start(&poppers[i], "pops", pop_all, traffic), RESULT_OK);
    }
    for (size_t i = 0; i < PUSHERS; i++) {
        CU_ASSERT_EQUAL(thread_start(&pushers[i], "pushes", push_all, traffic), RESULT_OK);
    }
    for (size_t i = 0; i < PUSHERS; i++) {
        thread_join(&pushers[i]);
    }
    queue_close(&traffic->queue);
    for (size_t i = 0; i < POPPERS; i++) {
        thread_join(&poppers[i]);
    }
    size_t wrong = 0;
    for (size_t i = 0; i < PUSHERS * EACH; i++) {
        wrong += atomic_load(&traffic->seen[i]) != 1;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(atomic_load(&traffic->disorder), 0);
    queue_destroy(&traffic->queue);
    free(traffic);
}

UNIT_MAIN("queue",
          {"items come out in the order they went in", items_come_out_in_the_order_they_went_in},
          {"a full queue refuses who will not wait", a_full_queue_refuses_who_will_not_wait},
          {"an empty queue answers at the deadline", an_empty_queue_answers_at_the_deadline},
          {"a wake ends one wait", a_wake_ends_one_wait},
          {"a closed queue gives what is left and takes nothing",
           a_closed_queue_gives_what_is_left_and_takes_nothing},
          {"closing wakes everybody", closing_wakes_everybody},
          {"who gathers sleeps until there is enough", who_gathers_sleeps_until_there_is_enough},
          {"who gathers takes what there is at the deadline",
           who_gathers_takes_what_there_is_at_the_deadline},
          {"a wake ends gathering", a_wake_ends_gathering},
          {"who wakes up in time is not called", who_wakes_up_in_time_is_not_called},
          {"what is added calls once for several", what_is_added_calls_once_for_several},
          {"who fills the queue calls", who_fills_the_queue_calls},
          {"nothing is lost or doubled between many threads",
           nothing_is_lost_or_doubled_between_many_threads})
