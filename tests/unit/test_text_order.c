/* Output of several threads, put back in order. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/thread.h"
#include "command/text/text_run.h"
#include "unit.h"

#define JOBS    64u
#define PIECES  20u
#define WORKERS 4u

typedef struct Work {
    TextOrder *order;
    atomic_size_t next;
    atomic_int refused;
} Work;

static Result put(TextOrder *order, size_t job, const char *text)
{
    Buffer piece;
    buffer_init(&piece, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&piece, text);
    Result rc = text_order_put(order, job, &piece);
    CU_ASSERT(rc != RESULT_OK || piece.length == 0);
    buffer_destroy(&piece);
    return rc;
}

static bool takes(TextOrder *order, const char *text)
{
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    bool is = text_order_take(order, &out, (MonoTime){0}) == RESULT_OK &&
              strcmp(buffer_string(&out), text) == 0;
    buffer_destroy(&out);
    return is;
}

static TextOrder *new_order(size_t jobs, size_t memory_bytes)
{
    TextOrder *order = NULL;
    if (text_order_new(&order, jobs, memory_bytes) != RESULT_OK) {
        abort();
    }
    return order;
}

static void pieces_come_in_the_order_of_jobs(void)
{
    TextOrder *order = new_order(3, 1000);
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(put(order, 2, "e"), RESULT_OK);
    CU_ASSERT_EQUAL(put(order, 1, "c"), RESULT_OK);
    CU_ASSERT_EQUAL(put(order, 1, "d"), RESULT_OK);
    CU_ASSERT_EQUAL(text_order_take(order, &out, (MonoTime){0}), RESULT_TIMEOUT);
    CU_ASSERT_EQUAL(put(order, 0, "a"), RESULT_OK);
    CU_ASSERT(takes(order, "a"));
    CU_ASSERT_EQUAL(put(order, 0, "b"), RESULT_OK);
    text_order_end(order, 0);
    text_order_end(order, 1);
    CU_ASSERT(takes(order, "b"));
    CU_ASSERT(takes(order, "c"));
    CU_ASSERT(takes(order, "d"));
    CU_ASSERT(takes(order, "e"));
    CU_ASSERT_EQUAL(text_order_take(order, &out, (MonoTime){0}), RESULT_TIMEOUT);
    text_order_end(order, 2);
    CU_ASSERT_EQUAL(text_order_take(order, &out, (MonoTime){0}), RESULT_NOT_FOUND);
    buffer_destroy(&out);
    text_order_delete(order);
    order = new_order(0, 1000);
    CU_ASSERT_EQUAL(text_order_take(order, &out, (MonoTime){0}), RESULT_NOT_FOUND);
    text_order_delete(order);
}

static void what_was_not_taken_is_freed(void)
{
    TextOrder *order = new_order(2, 1000);
    CU_ASSERT_EQUAL(put(order, 1, "x"), RESULT_OK);
    text_order_close(order);
    CU_ASSERT_EQUAL(put(order, 0, "y"), RESULT_CLOSED);
    text_order_delete(order);
}

static void *work(void *argument)
{
    Work *w = argument;
    for (;;) {
        size_t job = atomic_fetch_add(&w->next, 1);
        if (job >= JOBS) {
            return NULL;
        }
        for (unsigned i = 0; i < PIECES; i++) {
            char text[32];
            (void)snprintf(text, sizeof text, "%zu.%u;", job, i);
            if (put(w->order, job, text) != RESULT_OK) {
                atomic_fetch_add(&w->refused, 1);
                return NULL;
            }
        }
        text_order_end(w->order, job);
    }
}

/* With hardly any memory all but one of the threads wait, and it goes on all the same. */
static void threads_with_little_memory_come_to_an_end(void)
{
    Work w = {.order = new_order(JOBS, 10)};
    Thread threads[WORKERS] = {{.started = false}};
    for (unsigned i = 0; i < WORKERS; i++) {
        CU_ASSERT_EQUAL(thread_start(&threads[i], "work", work, &w), RESULT_OK);
    }
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    Buffer all;
    buffer_init(&all, BUFFER_NO_LIMIT);
    while (text_order_take(w.order, &out, MONO_NEVER) == RESULT_OK) {
        (void)buffer_append(&all, out.data, out.length);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        thread_join(&threads[i]);
    }
    Buffer must;
    buffer_init(&must, BUFFER_NO_LIMIT);
    for (size_t job = 0; job < JOBS; job++) {
        for (unsigned i = 0; i < PIECES; i++) {
            (void)buffer_printf(&must, "%zu.%u;", job, i);
        }
    }
    CU_ASSERT_STRING_EQUAL(buffer_string(&all), buffer_string(&must));
    CU_ASSERT_EQUAL(atomic_load(&w.refused), 0);
    buffer_destroy(&out);
    buffer_destroy(&all);
    buffer_destroy(&must);
    text_order_delete(w.order);
}

static void closing_ends_those_who_wait(void)
{
    Work w = {.order = new_order(JOBS, 10)};
    Thread threads[WORKERS] = {{.started = false}};
    for (unsigned i = 0; i < WORKERS; i++) {
        CU_ASSERT_EQUAL(thread_start(&threads[i], "work", work, &w), RESULT_OK);
    }
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(text_order_take(w.order, &out, MONO_NEVER), RESULT_OK);
    text_order_close(w.order);
    for (unsigned i = 0; i < WORKERS; i++) {
        thread_join(&threads[i]);
    }
    CU_ASSERT(atomic_load(&w.refused) > 0);
    buffer_destroy(&out);
    text_order_delete(w.order);
}

UNIT_MAIN("text_order", {"pieces come in the order of jobs", pieces_come_in_the_order_of_jobs},
          {"what was not taken is freed", what_was_not_taken_is_freed},
          {"threads with little memory come to an end", threads_with_little_memory_come_to_an_end},
          {"closing ends those who wait", closing_ends_those_who_wait})
