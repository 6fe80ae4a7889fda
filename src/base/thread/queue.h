/* A bounded queue of pointers between threads: closable, with batches.
 *
 * What: what goes in is handed over: the pusher does not touch it again. A full queue makes
 * queue_push wait. queue_close wakes everybody, refuses further pushes and lets the poppers take
 * what is left; this is how threads are stopped.
 * Owns: its ring; the elements belong to whoever popped them.
 * Threads: any number on both sides; RANK_QUEUE.
 * Errors: RESULT_CLOSED, RESULT_MEMORY. */
#pragma once

#include "base/thread/mutex.h"

typedef struct Queue {
    Mutex mutex;
    Condition not_empty;
    Condition not_full;
    void **items; /* ring of capacity; guarded by mutex, as all below */
    size_t capacity;
    size_t head; /* of the oldest item */
    size_t count;
    size_t waiting; /* threads in queue_pop that wait */
    size_t called;  /* those of them that have been signalled since */
    size_t least;   /* items that they wait for */
    MonoTime until; /* when the one that began to wait last looks by itself */
    MonoTime owed;  /* when the first of the items is missed that nobody was called for */
    bool closed;
    bool woken; /* the next queue_pop that would wait does not */
} Queue;

/* RESULT_MEMORY: nothing is left to destroy. */
Result queue_init(Queue *queue, size_t capacity);
/* The queue must be empty or its items of no value, and no thread may be in it. */
void queue_destroy(Queue *queue);

/* Waits for room. RESULT_CLOSED: the item is still the caller's. */
Result queue_push(Queue *queue, void *item);
/* Like queue_push, for an item that nobody misses before `by`. Nobody is called, unless it waits
 * for room: queue_call does that once for several, and has to follow. For a queue with one popper.
 */
Result queue_add_by(Queue *queue, void *item, MonoTime by);
/* The same, but while fewer than `enough` items are there, and room for more, nobody is called:
 * queue_call does that once for several, and has to follow. */
Result queue_try_add(Queue *queue, void *item, size_t enough);
/* Calls a popper that waits, when there is something for it that is missed before it wakes up by
 * itself. */
void queue_call(Queue *queue);
/* Takes up to max items, waiting for the first until deadline (MONO_NEVER: for ever; a time that
 * has passed: not at all). *n = how many. RESULT_TIMEOUT: none came. RESULT_CLOSED: closed and
 * empty. */
Result queue_pop(Queue *queue, void **items, size_t max, size_t *n, MonoTime deadline);
/* The same, but it waits until there are `least` (at most capacity), and takes what there is when
 * the deadline passes or queue_wake ends the wait. For a queue with one popper. */
Result queue_gather(Queue *queue, void **items, size_t max, size_t least, size_t *n,
                    MonoTime deadline);
/* Ends one wait in queue_pop with RESULT_TIMEOUT (nothing has come): the present one, or the next
 * one when nobody waits. */
void queue_wake(Queue *queue);
void queue_close(Queue *queue);
/* Things may be pushed again. */
void queue_reopen(Queue *queue);
size_t queue_count(Queue *queue);
