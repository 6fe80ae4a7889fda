/* Pieces of output from several threads, put back in order.
 *
 *   workers --text_order_put--> [pieces by job, bounded] --text_order_take--> the thread that
 * writes
 *
 * Each worker has a job; jobs are numbered as their output is to stand in the file. The writer gets
 * the pieces of job 0, then those of job 1. A worker waits in text_order_put while more than
 * memory_bytes wait to be written, unless its job is the one whose turn it is: so there is always
 * one that goes on. Owns: what was put and not taken. Threads: any; one takes. Invariants:
 *  1. turn is the first job that has not ended or has pieces left; pieces of jobs before it are
 * gone. */
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

/* Takes the bytes of a piece, which leaves the buffer empty. RESULT_CLOSED: nobody takes any more,
 * the worker ends; RESULT_MEMORY: the piece is still the caller's. */
Result text_order_put(TextOrder *order, size_t job, Buffer *piece);
/* No more comes from this job. */
void text_order_end(TextOrder *order, size_t job);

/* Waits for the next piece; out is overwritten. RESULT_NOT_FOUND: all jobs have ended;
 * RESULT_TIMEOUT. */
Result text_order_take(TextOrder *order, Buffer *out, MonoTime deadline);
/* Nothing will be taken: wakes the workers. */
void text_order_close(TextOrder *order);

#endif
