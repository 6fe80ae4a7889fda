#include "base/queue.h"

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

static void put_locked(Queue *queue, void *item)
{
    queue->items[(queue->head + queue->count) % queue->capacity] = item;
    queue->count++;
    if (queue->waiting > 0) {
        condition_signal(&queue->not_empty);
    }
}

Result queue_push(Queue *queue, void *item)
{
    Result rc = RESULT_OK;
    mutex_lock(&queue->mutex);
    while (!queue->closed && queue->count == queue->capacity) {
        condition_wait(&queue->not_full, &queue->mutex);
    }
    if (queue->closed) {
        rc = RESULT_CLOSED;
    } else {
        put_locked(queue, item);
    }
    mutex_unlock(&queue->mutex);
    return rc;
}

Result queue_try_push(Queue *queue, void *item)
{
    Result rc = RESULT_OK;
    mutex_lock(&queue->mutex);
    if (queue->closed) {
        rc = RESULT_CLOSED;
    } else if (queue->count == queue->capacity) {
        rc = RESULT_LIMIT;
    } else {
        put_locked(queue, item);
    }
    mutex_unlock(&queue->mutex);
    return rc;
}

Result queue_pop(Queue *queue, void **items, size_t max, size_t *n, MonoTime deadline)
{
    Result rc = RESULT_OK;
    size_t taken = 0;
    mutex_lock(&queue->mutex);
    while (queue->count == 0 && !queue->closed && rc == RESULT_OK) {
        queue->waiting++;
        if (queue->woken || !condition_wait_until(&queue->not_empty, &queue->mutex, deadline)) {
            rc = RESULT_TIMEOUT;
            queue->woken = false;
        }
        queue->waiting--;
    }
    if (queue->count > 0) {
        rc = RESULT_OK;
        while (taken < max && queue->count > 0) {
            items[taken++] = queue->items[queue->head];
            queue->head = (queue->head + 1) % queue->capacity;
            queue->count--;
        }
        if (queue->count == 0) {
            queue->head = 0; /* a large ring that is mostly empty touches little memory */
        }
        condition_broadcast(&queue->not_full);
        if (queue->count > 0 && queue->waiting > 0) {
            condition_signal(&queue->not_empty);
        }
    } else if (queue->closed) {
        rc = RESULT_CLOSED;
    }
    mutex_unlock(&queue->mutex);
    *n = taken;
    return rc;
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

size_t queue_count(Queue *queue)
{
    mutex_lock(&queue->mutex);
    size_t count = queue->count;
    mutex_unlock(&queue->mutex);
    return count;
}
