#include "base/thread/queue.h"

#include <stdlib.h>

Result queue_init(Queue *queue, size_t capacity)
{
    queue->items = calloc(capacity, sizeof *queue->items);
    if (queue->items == NULL) {
        return RESULT_MEMORY;
    }
    mutex_init(&queue->mutex, RANK_QUEUE);
    condition_init(&queue->not_empty);
    condition_init(&queue->not_full);
    queue->capacity = capacity;
    queue->head = 0;
    queue->count = 0;
    queue->waiting = 0;
    queue->called = 0;
    queue->least = 1;
    queue->until = MONO_NEVER;
    queue->owed = MONO_NEVER;
    queue->closed = false;
    queue->woken = false;
    return RESULT_OK;
}

void queue_destroy(Queue *queue)
{
    free(queue->items);
    queue->items = NULL;
    condition_destroy(&queue->not_full);
    condition_destroy(&queue->not_empty);
    mutex_destroy(&queue->mutex);
}

/* Whether the caller is to signal not_empty once it has unlocked the mutex: a popper that were
 * called while it is held would wake only to wait for it. Who is called already is not called
 * again. */
static bool call_locked(Queue *queue)
{
    bool one_sleeps = queue->waiting > queue->called && queue->count >= queue->least;
    queue->called += one_sleeps;
    return one_sleeps;
}

static void put_locked(Queue *queue, void *item)
{
    queue->items[(queue->head + queue->count) % queue->capacity] = item;
    queue->count++;
}

/* A popper waits, once. False: its deadline has passed, or it is not to wait (queue_wake). */
static bool wait_locked(Queue *queue, MonoTime deadline)
{
    if (deadline.ns != MONO_NEVER.ns && !mono_before(mono_now(), deadline)) {
        return false; /* without a system call */
    }
    queue->waiting++;
    queue->until = deadline;
    bool waits = !queue->woken && condition_wait_until(&queue->not_empty, &queue->mutex, deadline);
    queue->waiting--;
    queue->called -=
        queue->called > 0; /* perhaps another one's call: he is called once more then */
    return waits;
}

static void unlock_and_call(Queue *queue, bool call)
{
    mutex_unlock(&queue->mutex);
    if (call) {
        condition_signal(&queue->not_empty);
    }
}

static void owe_locked(Queue *queue, MonoTime by)
{
    queue->owed = mono_before(by, queue->owed) ? by : queue->owed;
}

/* by: when it is missed, if nobody is to be called now; NULL = call. */
static Result queue_push_one(Queue *queue, void *item, const MonoTime *by)
{
    Result rc = RESULT_OK;
    bool call = false;
    mutex_lock(&queue->mutex);
    while (!queue->closed && queue->count == queue->capacity) {
        condition_signal(&queue->not_empty); /* nobody may have been called for what is there */
        condition_wait(&queue->not_full, &queue->mutex);
    }
    if (queue->closed) {
        rc = RESULT_CLOSED;
    } else {
        put_locked(queue, item);
        if (by != NULL) {
            owe_locked(queue, *by);
        } else {
            call = call_locked(queue);
        }
    }
    unlock_and_call(queue, call);
    return rc;
}

Result queue_push(Queue *queue, void *item)
{
    return queue_push_one(queue, item, NULL);
}

Result queue_add_by(Queue *queue, void *item, MonoTime by)
{
    return queue_push_one(queue, item, &by);
}

Result queue_try_add(Queue *queue, void *item, size_t enough)
{
    Result rc = RESULT_OK;
    bool call = false;
    mutex_lock(&queue->mutex);
    if (queue->closed) {
        rc = RESULT_CLOSED;
    } else if (queue->count == queue->capacity) {
        rc = RESULT_LIMIT;
    } else {
        put_locked(queue, item);
        call = (queue->count >= enough || queue->count == queue->capacity) && call_locked(queue);
        owe_locked(queue, (MonoTime){0});
    }
    unlock_and_call(queue, call);
    return rc;
}

void queue_call(Queue *queue)
{
    mutex_lock(&queue->mutex);
    bool call = queue->count > 0 && mono_before(queue->owed, queue->until) && call_locked(queue);
    unlock_and_call(queue, call);
}

Result queue_gather(Queue *queue, void **items, size_t max, size_t least, size_t *n,
                    MonoTime deadline)
{
    Result rc = RESULT_OK;
    size_t taken = 0;
    bool call = false;
    mutex_lock(&queue->mutex);
    queue->least = least;
    while (queue->count < least && !queue->closed && rc == RESULT_OK) {
        if (!wait_locked(queue, deadline)) {
            rc = RESULT_TIMEOUT;
            queue->woken = false;
        }
    }
    queue->least = 1;
    if (queue->count > 0) {
        rc = RESULT_OK;
        while (taken < max && queue->count > 0) {
            items[taken++] = queue->items[queue->head];
            queue->head = (queue->head + 1) % queue->capacity;
            queue->count--;
        }
        if (queue->count == 0) {
            queue->owed = MONO_NEVER;
            queue->head = 0; /* a large ring that is mostly empty touches little memory */
        }
        condition_broadcast(&queue->not_full);
        call = queue->count > 0 && call_locked(queue);
    } else if (queue->closed) {
        rc = RESULT_CLOSED;
    }
    unlock_and_call(queue, call);
    *n = taken;
    return rc;
}

Result queue_pop(Queue *queue, void **items, size_t max, size_t *n, MonoTime deadline)
{
    return queue_gather(queue, items, max, 1, n, deadline);
}

void queue_wake(Queue *queue)
{
    mutex_lock(&queue->mutex);
    queue->woken = true;
    condition_signal(&queue->not_empty);
    mutex_unlock(&queue->mutex);
}

void queue_close(Queue *queue)
{
    mutex_lock(&queue->mutex);
    queue->closed = true;
    condition_broadcast(&queue->not_empty);
    condition_broadcast(&queue->not_full);
    mutex_unlock(&queue->mutex);
}

void queue_reopen(Queue *queue)
{
    mutex_lock(&queue->mutex);
    queue->closed = false;
    mutex_unlock(&queue->mutex);
}

size_t queue_count(Queue *queue)
{
    mutex_lock(&queue->mutex);
    size_t count = queue->count;
    mutex_unlock(&queue->mutex);
    return count;
}
