/* Text order: pieces of output from several threads, put back in order.
 *
 *   workers --text_order_put--> [pieces by job, bounded] --text_order_take--> the writing thread
 *
 * What: each worker has a job, and jobs are numbered in the order in which their output stands in
 * the file. The writing thread gets the pieces of job 0, then those of job 1, and so on. A worker
 * waits in text_order_put while more than memory_bytes wait to be written, unless its job is the
 * one whose turn it is. So one worker always goes on.
 * Owns: what was put and not taken.
 * Threads: any put; one takes.
 * Invariant: `turn` is the first job that has not ended or has pieces left. No pieces of earlier
 * jobs are left. */
#ifndef COMMAND_TEXT_TEXT_ORDER_H
#define COMMAND_TEXT_TEXT_ORDER_H

#include <stddef.h>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/memory/buffer.h"

typedef struct TextOrder TextOrder;

/* RESULT_MEMORY. */
Result text_order_new(TextOrder **order, size_t n_jobs, size_t memory_bytes);
void text_order_delete(TextOrder *order);

/* Takes the bytes of a piece and leaves the buffer empty. RESULT_CLOSED: the writer has ended, and
 * the worker should end, too. RESULT_MEMORY: the piece is still the caller's. */
Result text_order_put(TextOrder *order, size_t job, Buffer *piece);
/* Says that this job has no more pieces. */
void text_order_end(TextOrder *order, size_t job);

/* Waits for the next piece; out is overwritten. RESULT_NOT_FOUND: all jobs have ended;
 * RESULT_TIMEOUT. */
Result text_order_take(TextOrder *order, Buffer *out, MonoTime deadline);
/* Says that nothing more will be taken, and wakes the workers. */
void text_order_close(TextOrder *order);

#endif
