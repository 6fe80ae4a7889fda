#include "command/text/text_run.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/json_writer.h"
#include "base/thread/mutex.h"
#include "base/thread/thread.h"
#include "page/tool/text_language.h"

/* ---- Text writer ---- */

#define FRAME_BYTES ((size_t)256 << 10) /* JSON lines in one member */

typedef struct TextWriter {
    TextWriterOptions options;
    WarcCompressor *compressor; /* NULL: not compressed */
    WarcHasher *hasher;         /* of WET */
    WarcIds ids;
    Buffer plain; /* a record, or lines, before they are compressed */
    Buffer line;  /* scratch */
} TextWriter;

static void text_writer_delete(TextWriter *writer)
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

static Result text_writer_new(TextWriter **out, const TextWriterOptions *options)
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

/* ---- JSON ---- */

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
    char text[CLOCK_TEXT_BYTES > WARC_DIGEST_TEXT ? CLOCK_TEXT_BYTES : WARC_DIGEST_TEXT];
    JsonWriter json;
    json_init(&json, out);
    json_open(&json, NULL, '{');
    json_text(&json, "url", capture->url.bytes, capture->url.length);
    json_string(&json, "time", wall_format_micro(capture->date, text));
    json_count(&json, "status", capture->status);
    const char *name = "type";
    if (capture->type.type == NULL) {
        json_null(&json, name);
    } else {
        json_text(&json, name, capture->type.type, capture->type.type_length);
    }
    json_string(&json, "encoding", page->visible.encoding);
    json_string(&json, "language", page->language);
    json_string(&json, "declared_language", page->declared);
    json_string(&json, "title", page->visible.title);
    json_string(&json, "description", page->visible.description);
    json_string(&json, "canonical", page->canonical);
    for (unsigned kind = 0; writer->options.data && kind < VISIBLE_DATA_KINDS; kind++) {
        const HtmlSlice *list = &page->visible.data[kind];
        json_raw(&json, visible_data_name(kind), list->length == 0 ? "[]" : list->bytes,
                 list->length == 0 ? 2 : list->length);
    }
    json_open(&json, "headings", '[');
    for (size_t i = 0; i < page->visible.n_headings; i++) {
        VisibleHeading heading = text_pages_heading(pages, i);
        if (heading.length > 0) {
            put_heading(writer, &json, heading);
        }
    }
    json_close(&json);
    json_bool(&json, "truncated", page->is_cut);
    json_string(&json, "digest",
                capture->has_digest ? warc_digest_format(&capture->digest, text) : NULL);
    json_text(&json, "text", page->text, page->length);
    json_close(&json);
    return json.result == RESULT_OK ? buffer_append_char(out, '\n') : json.result;
}

/* ---- pages of a WACZ ---- */

static Result put_wacz_page(const TextWriter *writer, const TextPage *page, Buffer *out)
{
    const TextCapture *capture = page->capture;
    static const size_t head = sizeof "<urn:uuid:" - 1;
    char id[WARC_ID_TEXT];
    char date[CLOCK_TEXT_BYTES];
    JsonWriter json;
    (void)warc_id_format(&capture->id, id);
    json_init(&json, out);
    json_open(&json, NULL, '{');
    json_text(&json, "id", id + head, strlen(id) - head - 1);
    json_text(&json, "url", capture->url.bytes, capture->url.length);
    json_string(&json, "ts", wall_format_micro(capture->date, date));
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

static Result put_record_head(TextWriter *writer, const char *type, WallTime date, Buffer *out)
{
    WarcId id;
    char text[WARC_ID_TEXT];
    char time[CLOCK_TEXT_BYTES];
    Result rc = warc_ids_next(&writer->ids, &id);
    (void)wall_format_micro(date, time);
    memcpy(time + 19, "Z", 2); /* WARC/1.0 has no fractions */
    return rc == RESULT_OK ? buffer_printf(out,
                                           "WARC/1.0\r\nWARC-Type: %s\r\nWARC-Date: %s\r\n"
                                           "WARC-Record-ID: %s\r\n",
                                           type, time, warc_id_format(&id, text))
                           : rc;
}

static Result put_wet(TextWriter *writer, const TextPage *page, Buffer *out)
{
    const TextCapture *capture = page->capture;
    WarcDigest digest;
    char id[WARC_ID_TEXT];
    char sum[WARC_DIGEST_TEXT];
    size_t before = out->length;
    Result rc = put_record_head(writer, "conversion", capture->date, out);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = warc_hasher_digest(writer->hasher, warc_bytes("", 0), warc_bytes(page->text, page->length),
                            &digest);
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)buffer_printf(out,
                        "WARC-Target-URI: %.*s\r\nWARC-Refers-To: %s\r\n"
                        "WARC-Block-Digest: %s\r\n",
                        (int)capture->url.length, capture->url.bytes,
                        warc_id_format(&capture->id, id), warc_digest_format(&digest, sum));
    const char *language = page->language == NULL ? NULL : text_language_iso3(page->language);
    if (language != NULL) {
        (void)buffer_printf(out, "WARC-Identified-Content-Language: %.3s\r\n", language);
    }
    (void)buffer_printf(out, "Content-Type: text/plain\r\nContent-Length: %zu\r\n\r\n",
                        page->length);
    (void)buffer_append(out, page->text, page->length);
    (void)buffer_append(out, "\r\n\r\n", 4);
    return buffer_end(out, before);
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

static Result text_writer_flush(TextWriter *writer, Buffer *out)
{
    return writer->compressor == NULL ? RESULT_OK : text_writer_compress(writer, out);
}

static Result text_writer_begin(TextWriter *writer, const char *filename, WallTime now, Buffer *out)
{
    if (writer->options.format == TEXT_WACZ_PAGES) {
        return buffer_printf(out,
                             "{\"format\": \"json-pages-1.0\", \"id\": \"pages\", "
                             "\"title\": \"All Pages\", \"hasText\": %s}\n",
                             writer->options.no_text ? "false" : "true");
    }
    if (writer->options.format != TEXT_WET) {
        return RESULT_OK;
    }
    Result rc = put_info(writer, filename, now, writer->compressor == NULL ? out : &writer->plain);
    return rc == RESULT_OK ? text_writer_flush(writer, out) : rc;
}

static Result text_writer_page(TextWriter *writer, const TextPages *pages, const TextPage *page,
                               Buffer *out)
{
    Buffer *plain = writer->compressor == NULL ? out : &writer->plain;
    size_t before = plain->length;
    Result rc = RESULT_OK;
    switch (writer->options.format) {
    case TEXT_JSONL:
    case TEXT_MARKDOWN:
        rc = text_writer_put_json(writer, pages, page, plain);
        break;
    case TEXT_WET:
        rc = put_wet(writer, page, plain);
        break;
    case TEXT_WACZ_PAGES:
        rc = put_wacz_page(writer, page, plain);
        break;
    }
    if (rc != RESULT_OK) {
        plain->length = before;
        return rc;
    }
    bool is_due = writer->options.format == TEXT_WET || plain->length >= FRAME_BYTES;
    return writer->compressor != NULL && is_due ? text_writer_compress(writer, out) : RESULT_OK;
}

/* ---- Text run ---- */

#define JOB_BYTES ((uint64_t)2 << 20) /* of an archive: a piece */
#define HELD_BYTES                                                                                 \
    ((size_t)16 << 20) /* of a piece's output, which waits for its turn from then on */

/* Jobs are written in their order: a worker that has a job's output waits until the turn is the
 * job's (text_run_write), writes without the mutex, since nobody else has the turn, and passes the
 * turn on at the job's end. Workers take jobs in order, so that the job whose turn it is always has
 * one. */
typedef struct Run {
    const TextRunOptions *options;
    TextWanted wanted; /* of them, with rendered */
    TextRendered rendered;
    TextJobs jobs;
    const TextSink *sink; /* of whoever has the turn */
    atomic_size_t next_job;
    _Atomic uint64_t done_bytes;
    _Atomic uint64_t totals[TEXT_TOTALS];
    Mutex mutex;
    Condition changed; /* the turn has gone on, or a job has failed */
    size_t turn;       /* guarded by mutex: the first job that is not written to its end */
    Result result;     /* guarded by mutex: the first that is not RESULT_OK ends all threads */
} Run;

typedef struct Worker {
    Run *run;
    Thread thread;
    TextSource *source;
    TextPages *pages;
    TextWriter *writer;
    Buffer out;
    char name[16];
} Worker;

static void text_run_fail(Run *run, Result rc)
{
    mutex_lock(&run->mutex);
    run->result = run->result == RESULT_OK ? rc : run->result;
    condition_broadcast(&run->changed);
    mutex_unlock(&run->mutex);
}

static Result worker_init(Worker *worker, Run *run)
{
    const TextRunOptions *options = run->options;
    worker->run = run;
    buffer_init(&worker->out, BUFFER_NO_LIMIT);
    Result rc = text_source_new(&worker->source, &run->wanted);
    if (rc == RESULT_OK) {
        TextPagesOptions pages = options->pages;
        pages.warc_directory = options->wanted.directory;
        rc = text_pages_new(&worker->pages, &pages);
    }
    return rc == RESULT_OK ? text_writer_new(&worker->writer, &options->writer) : rc;
}

/* Writes what there is of a job, in its turn. */
static Result text_run_write(Worker *worker, size_t job, bool is_end)
{
    Run *run = worker->run;
    mutex_lock(&run->mutex);
    while (run->turn != job && run->result == RESULT_OK) {
        condition_wait(&run->changed, &run->mutex);
    }
    Result rc = run->result;
    mutex_unlock(&run->mutex);
    if (rc == RESULT_OK && worker->out.length > 0) {
        rc = run->sink->write(run->sink->context, worker->out.data, worker->out.length);
        buffer_reset(&worker->out);
    }
    if (rc == RESULT_OK && is_end) {
        mutex_lock(&run->mutex);
        run->turn++;
        condition_broadcast(&run->changed);
        mutex_unlock(&run->mutex);
    }
    return rc;
}

static void text_run_count(Run *run, TextTotal total, bool counts)
{
    atomic_fetch_add_explicit(&run->totals[total], counts ? 1 : 0, memory_order_relaxed);
}

static Result export_capture(Worker *worker, const TextCapture *capture, size_t job)
{
    TextPage page;
    Run *run = worker->run;
    Result rc = text_pages_read(worker->pages, capture, &page);
    if (rc == RESULT_NOT_FOUND) {
        text_run_count(run, TEXT_NO_PDF, true);
        return RESULT_OK;
    }
    if (rc == RESULT_OK) {
        rc = text_writer_page(worker->writer, worker->pages, &page, &worker->out);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    text_run_count(run, TEXT_PAGES, true);
    text_run_count(run, TEXT_UNSTYLED, page.visible.styles_cut);
    text_run_count(run, TEXT_DATA_CUT, page.visible.data_cut);
    text_run_count(run, TEXT_PDF_CUT, capture->is_pdf && page.is_cut);
    return worker->out.length >= HELD_BYTES ? text_run_write(worker, job, false) : RESULT_OK;
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
        if (rc == RESULT_OK) {
            rc = export_capture(worker, &capture, number);
        }
        uint64_t position = text_source_position(worker->source);
        if (position > counted && position <= job->to) {
            atomic_fetch_add_explicit(&run->done_bytes, position - counted, memory_order_relaxed);
            counted = position;
        }
    }
    atomic_fetch_add_explicit(&run->done_bytes, job->to - counted, memory_order_relaxed);
    if (rc == RESULT_NOT_FOUND || unreadable) {
        rc = text_writer_flush(worker->writer, &worker->out);
    }
    return rc == RESULT_OK ? text_run_write(worker, number, true) : rc;
}

static void *worker_main(void *argument)
{
    Worker *worker = argument;
    Run *run = worker->run;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK) {
        size_t job = atomic_fetch_add(&run->next_job, 1);
        if (job >= run->jobs.n) {
            break;
        }
        rc = export_job(worker, job);
    }
    if (rc != RESULT_OK) {
        text_run_fail(run, rc);
    }
    return NULL;
}

/* Shows how far it is, until all is written or one fails. */
static Result text_run_watch(Run *run, Progress *progress)
{
    mutex_lock(&run->mutex);
    while (run->turn < run->jobs.n && run->result == RESULT_OK) {
        (void)condition_wait_until(&run->changed, &run->mutex, progress_due(progress));
        progress_show(
            progress, atomic_load_explicit(&run->done_bytes, memory_order_relaxed), run->jobs.bytes,
            atomic_load_explicit(&run->totals[TEXT_PAGES], memory_order_relaxed), mono_now());
    }
    Result rc = run->result;
    mutex_unlock(&run->mutex);
    return rc;
}

static Result write_begin(const TextRunOptions *options, const TextSink *sink)
{
    Buffer out = {.limit = BUFFER_NO_LIMIT};
    TextWriter *writer = NULL;
    const char *name = sink->name == NULL ? "standard output" : sink->name;
    const char *slash = strrchr(name, '/');
    Result rc = text_writer_new(&writer, &options->writer);
    if (rc == RESULT_OK) {
        rc = text_writer_begin(writer, slash == NULL ? name : slash + 1, wall_now(), &out);
    }
    if (rc == RESULT_OK && out.length > 0) {
        rc = sink->write(sink->context, out.data, out.length);
    }
    text_writer_delete(writer);
    buffer_destroy(&out);
    return rc;
}

static Result run_workers(Run *run, Worker *workers, unsigned n, Progress *progress,
                          TextTotals *totals)
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
        rc = text_run_watch(run, progress);
    } else {
        text_run_fail(run, rc);
    }
    for (unsigned i = 0; i < started; i++) {
        thread_join(&workers[i].thread);
    }
    for (unsigned i = 0; i < n; i++) {
        if (workers[i].source != NULL) {
            const TextCounts *more = text_source_counts(workers[i].source);
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
        Worker *worker = &workers[i];
        text_source_delete(worker->source);
        text_pages_delete(worker->pages);
        text_writer_delete(worker->writer);
        buffer_destroy(&worker->out);
    }
    for (size_t i = 0; i < TEXT_TOTALS; i++) {
        totals->of[i] = atomic_load(&run->totals[i]);
    }
    return rc;
}

Result text_sink_write(void *output, const char *bytes, size_t length)
{
    return output_file_write(output, bytes, length);
}

Result text_run(const TextRunOptions *options, const TextSink *sink, Progress *progress,
                TextTotals *totals)
{
    Run run = {.options = options, .wanted = options->wanted, .sink = sink};
    memset(totals, 0, sizeof *totals);
    mutex_init(&run.mutex, RANK_QUEUE);
    condition_init(&run.changed);
    const TextWanted *wanted = &options->wanted;
    Result rc = text_jobs_make(&run.jobs, wanted->directory, wanted->since, JOB_BYTES);
    if (rc == RESULT_OK) {
        rc = text_rendered_find(&run.rendered, wanted->directory);
        run.wanted.rendered = run.rendered.newest.count > 0 ? &run.rendered : NULL;
    }
    if (rc == RESULT_OK && wanted->choice->n > 0) {
        rc = text_places_cut(&run.jobs, wanted->directory, wanted->choice);
    }
    if (rc == RESULT_OK) {
        rc = write_begin(options, sink);
    }
    unsigned n = options->threads < TEXT_THREADS_MAX ? options->threads : TEXT_THREADS_MAX;
    n = run.jobs.n < n ? (unsigned)run.jobs.n : n;
    if (rc == RESULT_OK && n > 0) {
        Worker *workers = calloc(n, sizeof *workers);
        rc = workers == NULL ? RESULT_MEMORY : run_workers(&run, workers, n, progress, totals);
        free(workers);
    }
    condition_destroy(&run.changed);
    mutex_destroy(&run.mutex);
    text_jobs_free(&run.jobs);
    text_rendered_free(&run.rendered);
    return rc;
}
