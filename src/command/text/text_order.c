#include "command/text/text_order.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/thread/mutex.h"

typedef struct Piece {
    struct Piece *next;
    Buffer bytes;
} Piece;

typedef struct Job {
    Piece *first;
    Piece *last;
    bool ended;
} Job;

struct TextOrder {
    Mutex mutex;
    Condition ready; /* the job whose turn it is has a piece, or ended */
    Condition room;  /* fewer bytes wait, or the turn has gone on */
    Job *jobs;       /* guarded by mutex, as all below */
    size_t n_jobs;
    size_t turn;
    size_t waiting_bytes;
    size_t memory_bytes;
    bool closed;
};

Result text_order_new(TextOrder **out, size_t n_jobs, size_t memory_bytes)
{
    TextOrder *order = calloc(1, sizeof *order);
    if (order == NULL) {
        return RESULT_MEMORY;
    }
    order->jobs = calloc(n_jobs == 0 ? 1 : n_jobs, sizeof *order->jobs);
    if (order->jobs == NULL) {
        free(order);
        return RESULT_MEMORY;
    }
    order->n_jobs = n_jobs;
    order->memory_bytes = memory_bytes;
    mutex_init(&order->mutex, RANK_QUEUE);
    condition_init(&order->ready);
    condition_init(&order->room);
    *out = order;
    return RESULT_OK;
}

void text_order_delete(TextOrder *order)
{
    if (order == NULL) {
        return;
    }
    for (size_t i = 0; i < order->n_jobs; i++) {
        for (Piece *piece = order->jobs[i].first; piece != NULL;) {
            Piece *next = piece->next;
            buffer_destroy(&piece->bytes);
            free(piece);
            piece = next;
        }
    }
    condition_destroy(&order->ready);
    condition_destroy(&order->room);
    mutex_destroy(&order->mutex);
    free(order->jobs);
    free(order);
}

Result text_order_put(TextOrder *order, size_t job, Buffer *bytes)
{
    Piece *piece = calloc(1, sizeof *piece);
    if (piece == NULL) {
        return RESULT_MEMORY;
    }
    mutex_lock(&order->mutex);
    while (!order->closed && job != order->turn && order->waiting_bytes > order->memory_bytes) {
        condition_wait(&order->room, &order->mutex);
    }
    bool closed = order->closed;
    if (!closed) {
        piece->bytes = *bytes;
        buffer_init(bytes, piece->bytes.limit);
        Job *j = &order->jobs[job];
        if (j->last == NULL) {
            j->first = piece;
        } else {
            j->last->next = piece;
        }
        j->last = piece;
        order->waiting_bytes += piece->bytes.length;
        if (job == order->turn) {
            condition_signal(&order->ready);
        }
    }
    mutex_unlock(&order->mutex);
    if (closed) {
        free(piece);
    }
    return closed ? RESULT_CLOSED : RESULT_OK;
}

void text_order_end(TextOrder *order, size_t job)
{
    mutex_lock(&order->mutex);
    order->jobs[job].ended = true;
    if (job == order->turn) {
        condition_signal(&order->ready);
    }
    mutex_unlock(&order->mutex);
}

/* Passes over jobs that have ended and are empty. */
static void text_order_advance(TextOrder *order)
{
    size_t before = order->turn;
    while (order->turn < order->n_jobs && order->jobs[order->turn].ended &&
           order->jobs[order->turn].first == NULL) {
        order->turn++;
    }
    if (order->turn != before) {
        condition_broadcast(&order->room);
    }
}

/* The first piece of the job whose turn it is, or NULL. */
static Piece *text_order_take_first(TextOrder *order)
{
    if (order->turn == order->n_jobs || order->jobs[order->turn].first == NULL) {
        return NULL;
    }
    Job *job = &order->jobs[order->turn];
    Piece *piece = job->first;
    job->first = piece->next;
    job->last = job->first == NULL ? NULL : job->last;
    order->waiting_bytes -= piece->bytes.length;
    condition_broadcast(&order->room);
    return piece;
}

Result text_order_take(TextOrder *order, Buffer *out, MonoTime deadline)
{
    Result rc = RESULT_OK;
    mutex_lock(&order->mutex);
    text_order_advance(order);
    Piece *piece = text_order_take_first(order);
    while (piece == NULL && rc == RESULT_OK) {
        if (order->turn == order->n_jobs) {
            rc = RESULT_NOT_FOUND;
        } else if (!condition_wait_until(&order->ready, &order->mutex, deadline)) {
            rc = RESULT_TIMEOUT;
        } else {
            text_order_advance(order);
            piece = text_order_take_first(order);
        }
    }
    mutex_unlock(&order->mutex);
    if (piece != NULL) {
        buffer_destroy(out);
        *out = piece->bytes;
        free(piece);
    }
    return rc;
}

void text_order_close(TextOrder *order)
{
    mutex_lock(&order->mutex);
    order->closed = true;
    condition_broadcast(&order->room);
    mutex_unlock(&order->mutex);
}
