#include "command/part/part_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"
#include "command/text/text_export.h"
#include "command/text/text_run.h"
#include "crawl/exit_status.h"

/* ---- Part copy ---- */

typedef struct PartCopy {
    const TextWanted *wanted;
    const PartSink *sink;
    Progress *progress;
    PartCounts *counts;
    TextJobs jobs;
    TextSource *source;
    WarcCompressor *compressor; /* of the stream, for records of another compression */
    WarcDecompressor *decompressor;
    Buffer plain;
    Buffer member;
    Buffer line;
    Buffer info;    /* the warcinfo record of this file, as it is stored */
    bool has_info;  /* it is not copied yet */
    bool all;       /* everything is wanted */
    bool last;      /* the last capture was copied, and */
    WarcId last_id; /* its id: its request and metadata have its fate */
    Map copied;     /* places of captures that were copied, when not everything is */
    const WarcFile *file;
    uint64_t done_bytes; /* of the pieces before this one, */
    uint64_t from;       /* which begins here in its file */
} PartCopy;

/* ---- the stream ---- */

static bool is_gzip(const char *bytes, size_t length)
{
    return length >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

/* Writes a record as it is stored, or compressed as the stream is; *length: what it has there. */
static Result write_member(PartCopy *copy, const char *bytes, size_t length, uint64_t *written)
{
    bool gzip = copy->sink->compression == WARC_GZIP;
    Result rc = RESULT_OK;
    if (is_gzip(bytes, length) != gzip) {
        size_t used = 0;
        buffer_reset(&copy->member);
        rc = warc_decompressor_read(copy->decompressor, bytes, length, &copy->plain, &used);
        if (rc == RESULT_OK) {
            rc = warc_compressor_append(copy->compressor, copy->plain.data, copy->plain.length,
                                        &copy->member);
        }
        bytes = buffer_string(&copy->member);
        length = copy->member.length;
    }
    if (rc == RESULT_OK) {
        rc = copy->sink->write(copy->sink->context, bytes, length);
    }
    *written = length;
    copy->counts->bytes += rc == RESULT_OK ? length : 0;
    copy->counts->records += rc == RESULT_OK ? 1 : 0;
    return rc;
}

/* Writes a record that is stored as these bytes, and its index line when it is a capture. */
static Result write_record(PartCopy *copy, const WarcRecord *record, WarcBytes member)
{
    uint64_t length = 0;
    Result rc = RESULT_OK;
    if (copy->has_info) {
        copy->has_info = false;
        rc = write_member(copy, copy->info.data, copy->info.length, &length);
    }
    uint64_t offset = copy->counts->bytes;
    if (rc == RESULT_OK) {
        rc = write_member(copy, member.bytes, member.length, &length);
    }
    if (rc == RESULT_OK && copy->sink->index != NULL) {
        WarcRecord placed = *record;
        placed.offset = offset;
        placed.length = length;
        buffer_reset(&copy->line);
        rc = warc_record_index(&placed, copy->sink->filename, &copy->line);
        if (rc == RESULT_OK) {
            rc = copy->sink->index(copy->sink->context, copy->line.data, copy->line.length);
        } else if (rc == RESULT_NOT_FOUND) {
            rc = RESULT_OK;
        }
    }
    return rc;
}

/* ---- captures that were copied ---- */

static MapKey place_key(const char *name, uint64_t offset)
{
    return (MapKey){.high = hash_128(name, strlen(name)).high, .low = offset};
}

static bool was_copied(const PartCopy *copy, const char *name, uint64_t offset)
{
    return !copy->all && map_get(&copy->copied, place_key(name, offset)) != NULL;
}

static Result note_copied(PartCopy *copy, const char *name, uint64_t offset)
{
    return copy->all ? RESULT_OK : map_put(&copy->copied, place_key(name, offset), copy);
}

/* Copies the record that a revisit refers to, unless it was copied. */
static Result copy_original(PartCopy *copy, const WarcRecord *revisit)
{
    CdxjCapture place;
    WarcReader *reader = NULL;
    WarcRecord record;
    Result rc = warc_load_find_original(copy->wanted->directory, revisit, &place);
    if (rc == RESULT_OK && was_copied(copy, place.filename, place.offset)) {
        return RESULT_OK;
    }
    if (rc == RESULT_OK) {
        rc = warc_reader_open_in(&reader, copy->wanted->directory, place.filename);
    }
    if (rc == RESULT_OK) {
        warc_reader_seek(reader, place.offset);
        rc = warc_reader_next(reader, &record);
    }
    if (rc == RESULT_OK) {
        rc = write_record(copy, &record, warc_reader_member(reader, &record));
        if (rc == RESULT_OK) {
            rc = note_copied(copy, place.filename, place.offset);
        }
        copy->counts->captures++;
        copy->counts->originals++;
    } else if (rc != RESULT_MEMORY) {
        copy->counts->orphans++;
        rc = RESULT_OK;
    }
    warc_reader_close(reader);
    return rc;
}

/* ---- what is wanted ---- */

static bool is_capture(const WarcRecord *record)
{
    return record->type == WARC_RESPONSE || record->type == WARC_REVISIT ||
           record->type == WARC_RESOURCE;
}

/* Whether a record belongs to the last capture. */
static bool is_of_last(const PartCopy *copy, const WarcRecord *record)
{
    WarcBytes value;
    WarcId id;
    return (warc_record_field(record, "warc-concurrent-to", &value) ||
            warc_record_field(record, "warc-refers-to", &value)) &&
           warc_id_parse(value, &id) && memcmp(&id, &copy->last_id, sizeof id) == 0;
}

static Result part_copy_take(PartCopy *copy, const WarcRecord *record)
{
    WarcBytes member = text_source_member(copy->source);
    if (record->type == WARC_WARCINFO) {
        buffer_reset(&copy->info);
        copy->has_info = true;
        return buffer_append(&copy->info, member.bytes, member.length);
    }
    if (is_capture(record)) {
        bool again = was_copied(copy, copy->file->name, record->offset);
        Result rc = text_source_judge(copy->source, &copy->last);
        copy->last_id = record->id;
        if (rc != RESULT_OK || !copy->last || again) {
            copy->last = copy->last || again;
            return rc;
        }
        if (record->type == WARC_REVISIT && !copy->all) {
            rc = copy_original(copy, record);
        }
        if (rc == RESULT_OK) {
            rc = write_record(copy, record, text_source_member(copy->source));
        }
        copy->counts->captures++;
        return rc == RESULT_OK ? note_copied(copy, copy->file->name, record->offset) : rc;
    }
    bool wanted = copy->all || (copy->last && is_of_last(copy, record));
    return wanted ? write_record(copy, record, member) : RESULT_OK;
}

/* The next record of the piece. */
static Result copy_next(PartCopy *copy, const WarcRecord **record)
{
    Result rc = text_source_next_record(copy->source, record);
    if (rc == RESULT_OK) {
        rc = part_copy_take(copy, *record);
    }
    uint64_t position = text_source_position(copy->source);
    progress_show(copy->progress,
                  copy->done_bytes + (position > copy->from ? position - copy->from : 0),
                  copy->jobs.bytes, copy->counts->records, mono_now());
    return rc;
}

/* What belongs to the last capture of a piece stands behind it, up to the next capture. */
static Result copy_rest(PartCopy *copy)
{
    const WarcRecord *record = NULL;
    text_source_follow(copy->source);
    for (;;) {
        Result rc = text_source_next_record(copy->source, &record);
        if (rc != RESULT_OK || is_capture(record)) {
            return rc;
        }
        rc = part_copy_take(copy, record);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
}

static Result copy_piece(PartCopy *copy, const TextJob *job)
{
    const WarcFile *file = &copy->jobs.files.files[job->file];
    const WarcRecord *record = NULL;
    Result rc = text_source_open(copy->source, &copy->jobs, job);
    if (rc == RESULT_IO) {
        return RESULT_OK; /* said, and counted */
    }
    copy->from = job->from;
    copy->last = false;
    if (rc == RESULT_OK && copy->file != file) {
        copy->file = file;
        copy->has_info = false;
        if (job->from > 0) { /* the warcinfo record is the first of the file */
            text_source_seek(copy->source, 0);
            rc = copy_next(copy, &record);
            text_source_seek(copy->source, job->from);
        }
    }
    while (rc == RESULT_OK) {
        rc = copy_next(copy, &record);
    }
    if (rc == RESULT_NOT_FOUND && copy->last) {
        rc = copy_rest(copy);
    }
    copy->done_bytes += job->to - job->from;
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* ---- the whole ---- */

static Result open_copy(PartCopy *copy)
{
    const TextWanted *wanted = copy->wanted;
    buffer_init(&copy->plain, (size_t)1 << 30);
    buffer_init(&copy->member, BUFFER_NO_LIMIT);
    buffer_init(&copy->line, BUFFER_NO_LIMIT);
    buffer_init(&copy->info, BUFFER_NO_LIMIT);
    copy->all = wanted->where == NULL && wanted->choice->n == 0 && wanted->since.us == INT64_MIN &&
                wanted->until.us == INT64_MAX;
    Result rc = text_source_new(&copy->source, wanted);
    if (rc == RESULT_OK) {
        rc = warc_compressor_new(&copy->compressor, copy->sink->compression, 0);
    }
    if (rc == RESULT_OK) {
        rc = warc_decompressor_new(&copy->decompressor);
    }
    if (rc == RESULT_OK) {
        rc = text_jobs_make(&copy->jobs, wanted->directory, wanted->since, UINT64_MAX);
    }
    return rc == RESULT_OK && wanted->choice->n > 0
               ? text_places_cut(&copy->jobs, wanted->directory, wanted->choice)
               : rc;
}

Result part_copy(const TextWanted *wanted, const PartSink *sink, Progress *progress,
                 PartCounts *counts)
{
    PartCopy copy = {.wanted = wanted, .sink = sink, .progress = progress, .counts = counts};
    memset(counts, 0, sizeof *counts);
    Result rc = open_copy(&copy);
    for (size_t i = 0; i < copy.jobs.n && rc == RESULT_OK; i++) {
        rc = copy_piece(&copy, &copy.jobs.jobs[i]);
    }
    if (copy.source != NULL) {
        counts->source = *text_source_counts(copy.source);
    }
    text_jobs_free(&copy.jobs);
    text_source_delete(copy.source);
    warc_compressor_delete(copy.compressor);
    warc_decompressor_delete(copy.decompressor);
    buffer_destroy(&copy.plain);
    buffer_destroy(&copy.member);
    buffer_destroy(&copy.line);
    buffer_destroy(&copy.info);
    map_destroy(&copy.copied);
    return rc;
}

/* ---- `ragno export DIR warc` ---- */

static const char warc_usage[] =
    "usage: ragno export DIR warc [OPTION]...\n"
    "  -o, --output FILE        default standard output; FILE.zst: Zstandard\n";

static int warc_export_run(TextExport *command)
{
    OutputFile output;
    Progress progress;
    PartCounts counts = {.records = 0};
    bool zstd = command->output != NULL && file_name_ends_with(command->output, ".zst");
    Result rc = output_file_open(&output, "export", command->output);
    if (rc != RESULT_OK) {
        return EXIT_IO;
    }
    PartSink sink = {
        .compression = zstd ? WARC_ZSTD : WARC_GZIP, .context = &output, .write = text_sink_write};
    progress_begin(&progress, "export", "records", progress_is_wanted(command->output), stderr,
                   mono_now());
    rc = part_copy(&command->wanted, &sink, &progress, &counts);
    rc = output_file_close(&output, rc);
    progress_end(&progress);
    if (!command->quiet && rc == RESULT_OK && !output.is_gone) {
        (void)fprintf(
            stderr,
            "ragno export: %" PRIu64 " captures, %" PRIu64 " records of %" PRIu64 " (%.1f MB)",
            counts.captures, counts.records, counts.source.records, 1e-6 * (double)counts.bytes);
        if (counts.originals > 0) {
            (void)fprintf(stderr, ", %" PRIu64 " captures for revisits that refer to them",
                          counts.originals);
        }
        if (counts.orphans > 0) {
            (void)fprintf(stderr, ", %" PRIu64 " revisits whose payload is not in this archive",
                          counts.orphans);
        }
        (void)fputc('\n', stderr);
    }
    return text_export_status(rc, &counts.source);
}

int warc_export_main(int argc, char **argv)
{
    TextExport command = {.wanted = {.status_first = 100, .status_last = 999}};
    return text_export_command(&command, argc, argv, warc_usage, NULL, 0, warc_export_run);
}
