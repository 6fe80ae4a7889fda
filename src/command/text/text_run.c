#include "command/text/text_run.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/json_writer.h"
#include "base/thread/mutex.h"
#include "base/thread/thread.h"
#include "command/text/text_source.h"
#include "page/tool/text_language.h"

/* ---- Text order ---- */

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

/* ---- Text writer ---- */

#define FRAME_BYTES ((size_t)256 << 10) /* JSON lines in one member */

struct TextWriter {
    TextWriterOptions options;
    WarcCompressor *compressor; /* NULL: not compressed */
    WarcHasher *hasher;         /* of WET */
    WarcIds ids;
    Buffer plain; /* a record, or lines, before they are compressed */
    Buffer line;  /* scratch */
};

Result text_writer_new(TextWriter **out, const TextWriterOptions *options)
{
    TextWriter *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return RESULT_MEMORY;
    }
    writer->options = *options;
    buffer_init(&writer->plain, BUFFER_NO_LIMIT);
    buffer_init(&writer->line, BUFFER_NO_LIMIT);
    warc_ids_init(&writer->ids);
    Result rc = options->format == TEXT_WET ? warc_hasher_new(&writer->hasher) : RESULT_OK;
    if (rc == RESULT_OK && options->compressed) {
        rc = warc_compressor_new(&writer->compressor, options->compression, 0);
    }
    if (rc != RESULT_OK) {
        text_writer_delete(writer);
        return rc;
    }
    *out = writer;
    return RESULT_OK;
}

void text_writer_delete(TextWriter *writer)
{
    if (writer == NULL) {
        return;
    }
    warc_compressor_delete(writer->compressor);
    warc_hasher_delete(writer->hasher);
    buffer_destroy(&writer->plain);
    buffer_destroy(&writer->line);
    free(writer);
}

/* ---- JSON ---- */

static void put_bytes(JsonWriter *json, const char *name, const char *bytes, size_t length)
{
    if (bytes == NULL) {
        json_null(json, name);
    } else {
        json_text(json, name, bytes, length);
    }
}

/* Line feeds and tabs in a heading are blanks. */
static void put_heading(TextWriter *writer, JsonWriter *json, VisibleHeading heading)
{
    Buffer *line = &writer->line;
    buffer_reset(line);
    Result rc = buffer_append(line, heading.text, heading.length);
    if (rc != RESULT_OK) {
        json->result = json->result == RESULT_OK ? rc : json->result;
        return;
    }
    for (size_t i = 0; i < line->length; i++) {
        if (line->data[i] == '\n' || line->data[i] == '\t') {
            line->data[i] = ' ';
        }
    }
    json_open(json, NULL, '{');
    json_count(json, "level", heading.level);
    json_text(json, "text", line->data, line->length);
    json_close(json);
}

static Result text_writer_put_json(TextWriter *writer, const TextPages *pages, const TextPage *page,
                                   Buffer *out)
{
    const TextCapture *capture = page->capture;
    char text[WARC_DATE_BYTES > WARC_DIGEST_TEXT ? WARC_DATE_BYTES : WARC_DIGEST_TEXT];
    JsonWriter json;
    json_init(&json, out);
    json_open(&json, NULL, '{');
    json_text(&json, "url", capture->url.bytes, capture->url.length);
    json_string(&json, "time", warc_date_format(capture->date, text));
    json_count(&json, "status", capture->status);
    put_bytes(&json, "type", capture->type.type, capture->type.type_length);
    json_string(&json, "encoding", page->visible.encoding);
    json_string(&json, "language", page->language);
    json_string(&json, "declared_language", page->declared);
    json_string(&json, "title", page->visible.title);
    json_string(&json, "description", page->visible.description);
    json_string(&json, "canonical", page->canonical);
    json_open(&json, "headings", '[');
    for (size_t i = 0; i < page->visible.n_headings; i++) {
        VisibleHeading heading = text_pages_heading(pages, i);
        if (heading.length > 0) {
            put_heading(writer, &json, heading);
        }
    }
    json_close(&json);
    json_bool(&json, "truncated", capture->is_cut);
    json_string(&json, "digest",
                capture->has_digest ? warc_digest_format(&capture->digest, text) : NULL);
    json_text(&json, "text", page->text, page->length);
    json_close(&json);
    return json.result == RESULT_OK ? buffer_append_char(out, '\n') : json.result;
}

/* ---- pages of a WACZ ---- */

static Result put_pages_head(const TextWriter *writer, Buffer *out)
{
    return buffer_printf(out,
                         "{\"format\": \"json-pages-1.0\", \"id\": \"pages\", "
                         "\"title\": \"All Pages\", \"hasText\": %s}\n",
                         writer->options.no_text ? "false" : "true");
}

static Result put_wacz_page(const TextWriter *writer, const TextPage *page, Buffer *out)
{
    const TextCapture *capture = page->capture;
    static const size_t head = sizeof "<urn:uuid:" - 1;
    char id[WARC_ID_TEXT];
    char date[WARC_DATE_BYTES];
    JsonWriter json;
    (void)warc_id_format(&capture->id, id);
    json_init(&json, out);
    json_open(&json, NULL, '{');
    json_text(&json, "id", id + head, strlen(id) - head - 1);
    json_text(&json, "url", capture->url.bytes, capture->url.length);
    json_string(&json, "ts", warc_date_format(capture->date, date));
    if (page->visible.title != NULL) {
        json_string(&json, "title", page->visible.title);
    }
    if (!writer->options.no_text) {
        json_text(&json, "text", page->text, page->length);
    }
    json_close(&json);
    return json.result == RESULT_OK ? buffer_append_char(out, '\n') : json.result;
}

/* ---- WET ---- */

/* "2026-01-31T12:00:00Z": WARC/1.0 has no fractions. */
static const char *text_writer_format_date(WallTime t, char text[WARC_DATE_BYTES])
{
    (void)warc_date_format(t, text);
    memcpy(text + 19, "Z", 2);
    return text;
}

static Result put_record_head(TextWriter *writer, const char *type, WallTime date, Buffer *out)
{
    WarcId id;
    char text[WARC_ID_TEXT];
    char time[WARC_DATE_BYTES];
    Result rc = warc_ids_next(&writer->ids, &id);
    return rc == RESULT_OK
               ? buffer_printf(out,
                               "WARC/1.0\r\nWARC-Type: %s\r\nWARC-Date: %s\r\n"
                               "WARC-Record-ID: %s\r\n",
                               type, text_writer_format_date(date, time), warc_id_format(&id, text))
               : rc;
}

static Result put_wet(TextWriter *writer, const TextPage *page, Buffer *out)
{
    const TextCapture *capture = page->capture;
    WarcDigest digest;
    char id[WARC_ID_TEXT];
    char sum[WARC_DIGEST_TEXT];
    Result rc = put_record_head(writer, "conversion", capture->date, out);
    rc = rc == RESULT_OK ? warc_hasher_digest(writer->hasher, warc_bytes("", 0),
                                              warc_bytes(page->text, page->length), &digest)
                         : rc;
    rc = rc == RESULT_OK
             ? buffer_printf(out,
                             "WARC-Target-URI: %.*s\r\nWARC-Refers-To: %s\r\n"
                             "WARC-Block-Digest: %s\r\n",
                             (int)capture->url.length, capture->url.bytes,
                             warc_id_format(&capture->id, id), warc_digest_format(&digest, sum))
             : rc;
    const char *language = page->language == NULL ? NULL : text_language_iso3(page->language);
    if (rc == RESULT_OK && language != NULL) {
        rc = buffer_printf(out, "WARC-Identified-Content-Language: %.3s\r\n", language);
    }
    rc = rc == RESULT_OK
             ? buffer_printf(out, "Content-Type: text/plain\r\nContent-Length: %zu\r\n\r\n",
                             page->length)
             : rc;
    rc = rc == RESULT_OK ? buffer_append(out, page->text, page->length) : rc;
    return rc == RESULT_OK ? buffer_append(out, "\r\n\r\n", 4) : rc;
}

static Result put_info(TextWriter *writer, const char *filename, WallTime now, Buffer *out)
{
    static const char fields[] = "software: ragno/" RAGNO_VERSION "\r\n"
                                 "format: WARC File Format 1.0\r\n"
                                 "conformsTo: http://bibnum.bnf.fr/WARC/WARC_ISO_28500_version1_"
                                 "latestdraft.pdf\r\n"
                                 "description: visible text of the captures of a crawl\r\n";
    Result rc = put_record_head(writer, "warcinfo", now, out);
    return rc == RESULT_OK
               ? buffer_printf(out,
                               "WARC-Filename: %s\r\nContent-Type: application/warc-fields\r\n"
                               "Content-Length: %zu\r\n\r\n%s\r\n\r\n",
                               filename, sizeof fields - 1, fields)
               : rc;
}

/* ---- output ---- */

static Result text_writer_compress(TextWriter *writer, Buffer *out)
{
    Result rc = RESULT_OK;
    if (writer->plain.length > 0) {
        rc = warc_compressor_append(writer->compressor, writer->plain.data, writer->plain.length,
                                    out);
        buffer_reset(&writer->plain);
    }
    return rc;
}

Result text_writer_flush(TextWriter *writer, Buffer *out)
{
    return writer->compressor == NULL ? RESULT_OK : text_writer_compress(writer, out);
}

Result text_writer_begin(TextWriter *writer, const char *filename, WallTime now, Buffer *out)
{
    if (writer->options.format == TEXT_WACZ_PAGES) {
        return put_pages_head(writer, out);
    }
    if (writer->options.format != TEXT_WET) {
        return RESULT_OK;
    }
    Result rc = put_info(writer, filename, now, writer->compressor == NULL ? out : &writer->plain);
    return rc == RESULT_OK ? text_writer_flush(writer, out) : rc;
}

Result text_writer_page(TextWriter *writer, const TextPages *pages, const TextPage *page,
                        Buffer *out)
{
    Buffer *plain = writer->compressor == NULL ? out : &writer->plain;
    size_t before = plain->length;
    Result rc = writer->options.format == TEXT_WET ? put_wet(writer, page, plain)
                : writer->options.format == TEXT_JSONL
                    ? text_writer_put_json(writer, pages, page, plain)
                    : put_wacz_page(writer, page, plain);
    if (rc != RESULT_OK) {
        plain->length = before;
        return rc;
    }
    bool is_due = writer->options.format == TEXT_WET || plain->length >= FRAME_BYTES;
    return writer->compressor != NULL && is_due ? text_writer_compress(writer, out) : RESULT_OK;
}

/* ---- Text run ---- */

#define JOB_BYTES     ((uint64_t)8 << 20) /* of an archive: a piece */
#define PIECE_BYTES   ((size_t)512 << 10) /* of output, handed over at once */
#define WAITING_BYTES ((size_t)32 << 20)  /* of output that waits for its turn */

typedef struct Run {
    const TextRunOptions *options;
    TextWanted wanted; /* of them, with rendered */
    TextRendered rendered;
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
             : text_source_new(&worker->source, options->warc_directory, &worker->run->wanted);
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
    Run run = {.options = options, .wanted = options->wanted};
    memset(totals, 0, sizeof *totals);
    Result rc =
        text_jobs_make(&run.jobs, options->warc_directory, options->wanted.since, JOB_BYTES);
    if (rc == RESULT_NOT_FOUND || rc == RESULT_IO) {
        (void)fprintf(stderr, "ragno export: %s: cannot be read: %s\n", options->warc_directory,
                      result_name(rc));
        rc = RESULT_IO;
    }
    if (rc == RESULT_OK) {
        rc = text_rendered_find(&run.rendered, options->warc_directory);
        run.wanted.rendered = run.rendered.newest.count > 0 ? &run.rendered : NULL;
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
    text_rendered_free(&run.rendered);
    return rc;
}
