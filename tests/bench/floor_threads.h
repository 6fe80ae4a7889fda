/* Floor threads: the work of the floor beneath a crawl, handed from thread to thread.
 *
 *   fetching --floor_threads_take--> [pages] --> reading --> [answers] --> writing
 *                    '---------- files of rules --------------->'
 *
 * What: the least of the hand-overs that ragno's threads make; buffers go back and are used again.
 * Owns: what is under way.
 * Threads: floor_threads_take the one that fetches; the others the caller's.
 * Errors: -1; FloorWork.has_failed. */
#ifndef TESTS_BENCH_FLOOR_THREADS_H
#define TESTS_BENCH_FLOOR_THREADS_H

#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "floor_work.h"

typedef struct FloorThreads {
    FloorWork *work;
    Queue pages;   /* from the fetching thread to the reading one */
    Queue answers; /* from both to the writing one */
    Queue spare;   /* and back */
    Thread reader;
    Thread writer;
} FloorThreads;

/* Borrows work, which is open. */
int floor_threads_start(FloorThreads *threads, FloorWork *work);
/* FloorOptions.take; the context is the threads. */
void floor_threads_take(void *context, const FloorAnswer *answer);
/* Ends them, once all is written. */
void floor_threads_end(FloorThreads *threads);

#endif
