#include "command/text/text_run.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/thread.h"
#include "command/text/text_filter.h"
#include "command/text/text_order.h"
#include "command/text/text_places.h"

#define JOB_BYTES     ((uint64_t)8 << 20) /* of an archive: a piece */
#define PIECE_BYTES   ((size_t)512 << 10) /* of output, handed over at once */
#define WAITING_BYTES ((size_t)32 << 20)  /* of output that waits for its turn */

typedef struct Run {
    const TextRunOptions *options;
    TextJobs jobs;
    TextOrder *order;
    atomic_size_t next_job;
    _Atomic uint64_t done_bytes;
    _Atomic uint64_t n_pages;
    atomic_int result; /* the first that is not RESULT_OK: all threads end */
} Run;

typedef struct Worker {
    Run *run;
    Thread thread;
    TextSource *source;
    TextPages *pages;
    TextWriter *writer;
    TextFilter filter;
    Buffer out;
    char name[16];
} Worker;

static void text_run_fail(Run *run, Result rc)
{
    int expected = RESULT_OK;
    (void)atomic_compare_exchange_strong(&run->result, &expected, (int)rc);
    text_order_close(run->order);
}

static Result worker_init(Worker *worker, Run *run)
{
    const TextRunOptions *options = run->options;
    worker->run = run;
    buffer_init(&worker->out, BUFFER_NO_LIMIT);
    Result rc = text_filter_init(&worker->filter, options->where);
    rc = rc != RESULT_OK
             ? rc
             : text_source_new(&worker->source, options->warc_directory, &options->wanted);
    rc = rc == RESULT_OK ? text_pages_new(&worker->pages, &options->pages) : rc;
    return rc == RESULT_OK ? text_writer_new(&worker->writer, &options->writer) : rc;
}

static void worker_destroy(Worker *worker)
{
    text_source_delete(worker->source);
    text_pages_delete(worker->pages);
    text_writer_delete(worker->writer);
    text_filter_destroy(&worker->filter);
    buffer_destroy(&worker->out);
}

static Result text_run_hand_over(Worker *worker, size_t job)
{
    return worker->out.length == 0 ? RESULT_OK
                                   : text_order_put(worker->run->order, job, &worker->out);
}

static Result export_capture(Worker *worker, const TextCapture *capture, size_t job)
{
    TextPage page;
    if (!text_filter_passes(&worker->filter, capture)) {
        return RESULT_OK;
    }
    Result rc = text_pages_read(worker->pages, capture, &page);
    rc =
        rc == RESULT_OK ? text_writer_page(worker->writer, worker->pages, &page, &worker->out) : rc;
    if (rc == RESULT_OK) {
        atomic_fetch_add_explicit(&worker->run->n_pages, 1, memory_order_relaxed);
    }
    return rc == RESULT_OK && worker->out.length >= PIECE_BYTES ? text_run_hand_over(worker, job)
                                                                : rc;
}

static Result export_job(Worker *worker, size_t number)
{
    Run *run = worker->run;
    const TextJob *job = &run->jobs.jobs[number];
    uint64_t counted = job->from;
    Result rc = text_source_open(worker->source, &run->jobs, job);
    bool unreadable = rc == RESULT_IO;
    while (rc == RESULT_OK) {
        TextCapture capture;
        rc = text_source_next(worker->source, &capture);
        rc = rc == RESULT_OK ? export_capture(worker, &capture, number) : rc;
        uint64_t position = text_source_position(worker->source);
        if (position > counted && position <= job->to) {
            atomic_fetch_add_explicit(&run->done_bytes, position - counted, memory_order_relaxed);
            counted = position;
        }
        if (atomic_load_explicit(&run->result, memory_order_relaxed) != RESULT_OK) {
            rc = RESULT_CLOSED;
        }
    }
    atomic_fetch_add_explicit(&run->done_bytes, job->to - counted, memory_order_relaxed);
    if (rc == RESULT_NOT_FOUND || unreadable) {
        rc = text_writer_flush(worker->writer, &worker->out);
        rc = rc == RESULT_OK ? text_run_hand_over(worker, number) : rc;
    }
    return rc;
}

static void *worker_main(void *argument)
{
    Worker *worker = argument;
    Run *run = worker->run;
    for (;;) {
        size_t job = atomic_fetch_add(&run->next_job, 1);
        if (job >= run->jobs.n) {
            break;
        }
        Result rc = export_job(worker, job);
        text_order_end(run->order, job);
        if (rc != RESULT_OK) {
            text_run_fail(run, rc);
            break;
        }
    }
    return NULL;
}

/* Writes what the workers hand over, until all is written or one fails. */
static Result text_run_write_all(Run *run, OutputFile *output, Progress *progress)
{
    Buffer piece;
    buffer_init(&piece, BUFFER_NO_LIMIT);
    Result rc = RESULT_OK;
    while (rc == RESULT_OK || rc == RESULT_TIMEOUT) {
        rc = text_order_take(run->order, &piece, progress_due(progress));
        if (rc == RESULT_OK) {
            rc = output_file_write(output, piece.data, piece.length);
        }
        progress_show(progress, atomic_load_explicit(&run->done_bytes, memory_order_relaxed),
                      run->jobs.bytes, atomic_load_explicit(&run->n_pages, memory_order_relaxed),
                      mono_now());
        int failed = atomic_load(&run->result);
        if (failed != RESULT_OK && (rc == RESULT_OK || rc == RESULT_TIMEOUT)) {
            rc = (Result)failed;
        }
    }
    buffer_destroy(&piece);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

static Result write_begin(const TextRunOptions *options, OutputFile *output)
{
    Buffer out;
    TextWriter *writer = NULL;
    buffer_init(&out, BUFFER_NO_LIMIT);
    const char *name = output->path == NULL ? "standard output" : output->path;
    const char *slash = strrchr(name, '/');
    Result rc = text_writer_new(&writer, &options->writer);
    rc = rc == RESULT_OK
             ? text_writer_begin(writer, slash == NULL ? name : slash + 1, wall_now(), &out)
             : rc;
    rc = rc == RESULT_OK && out.length > 0 ? output_file_write(output, out.data, out.length) : rc;
    text_writer_delete(writer);
    buffer_destroy(&out);
    return rc;
}

static void add_counts(TextTotals *totals, const TextCounts *more)
{
    TextCounts *sum = &totals->counts;
    sum->records += more->records;
    sum->captures += more->captures;
    sum->html_bytes += more->html_bytes;
    sum->undecoded += more->undecoded;
    sum->damaged += more->damaged;
    sum->missing += more->missing;
    sum->unreadable += more->unreadable;
    sum->newest = more->newest.us > sum->newest.us ? more->newest : sum->newest;
}

static Result run_workers(Run *run, Worker *workers, unsigned n, OutputFile *output,
                          Progress *progress, TextTotals *totals)
{
    Result rc = RESULT_OK;
    unsigned started = 0;
    for (unsigned i = 0; i < n && rc == RESULT_OK; i++) {
        rc = worker_init(&workers[i], run);
    }
    for (unsigned i = 0; i < n && rc == RESULT_OK; i++) {
        (void)snprintf(workers[i].name, sizeof workers[i].name, "text-%u", i);
        rc = thread_start(&workers[i].thread, workers[i].name, worker_main, &workers[i]);
        started += rc == RESULT_OK ? 1u : 0u;
    }
    if (rc == RESULT_OK) {
        rc = text_run_write_all(run, output, progress);
    }
    if (rc != RESULT_OK) {
        text_run_fail(run, rc);
    }
    for (unsigned i = 0; i < started; i++) {
        thread_join(&workers[i].thread);
    }
    for (unsigned i = 0; i < n; i++) {
        if (workers[i].source != NULL) {
            add_counts(totals, text_source_counts(workers[i].source));
        }
        worker_destroy(&workers[i]);
    }
    totals->pages = atomic_load(&run->n_pages);
    return rc;
}

Result text_run(const TextRunOptions *options, OutputFile *output, Progress *progress,
                TextTotals *totals)
{
    Run run = {.options = options};
    memset(totals, 0, sizeof *totals);
    Result rc =
        text_jobs_make(&run.jobs, options->warc_directory, options->wanted.since, JOB_BYTES);
    if (rc == RESULT_NOT_FOUND || rc == RESULT_IO) {
        (void)fprintf(stderr, "ragno export: %s: cannot be read: %s\n", options->warc_directory,
                      result_name(rc));
        rc = RESULT_IO;
    }
    if (rc == RESULT_OK && options->wanted.choice != NULL && options->wanted.choice->n > 0) {
        rc = text_places_cut(&run.jobs, options->warc_directory, options->wanted.choice);
    }
    rc = rc == RESULT_OK ? text_order_new(&run.order, run.jobs.n, WAITING_BYTES) : rc;
    rc = rc == RESULT_OK ? write_begin(options, output) : rc;
    unsigned n = options->threads < TEXT_THREADS_MAX ? options->threads : TEXT_THREADS_MAX;
    n = run.jobs.n < n ? (unsigned)run.jobs.n : n;
    if (rc == RESULT_OK && n > 0) {
        Worker *workers = calloc(n, sizeof *workers);
        rc = workers == NULL ? RESULT_MEMORY
                             : run_workers(&run, workers, n, output, progress, totals);
        free(workers);
    }
    text_order_delete(run.order);
    text_jobs_free(&run.jobs);
    return rc;
}
