#include "command/import/import_command.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <strings.h>

#include "base/memory/array.h"
#include "base/memory/embed.h"
#include "crawl/command_line.h"
#include "crawl/exit_status.h"

/* ---- Import payloads ---- */

static void import_payloads_drop(ImportPayloads *payloads, ImportPayload *slot)
{
    payloads->bytes -= slot->length;
    free(slot->body);
    *slot = (ImportPayload){.body = NULL};
}

void import_payloads_destroy(ImportPayloads *payloads)
{
    for (size_t i = 0; i < IMPORT_PAYLOADS; i++) {
        import_payloads_drop(payloads, &payloads->slots[i]);
    }
}

static ImportPayload *import_payloads_find(ImportPayloads *payloads, const WarcDigest *digest)
{
    for (size_t i = 0; i < IMPORT_PAYLOADS; i++) {
        ImportPayload *slot = &payloads->slots[i];
        if (slot->body != NULL && memcmp(&slot->digest, digest, sizeof *digest) == 0) {
            slot->used = ++payloads->clock;
            return slot;
        }
    }
    return NULL;
}

bool import_payloads_get(ImportPayloads *payloads, const WarcDigest *digest, WarcBytes *body)
{
    const ImportPayload *slot = import_payloads_find(payloads, digest);
    if (slot != NULL) {
        *body = warc_bytes(slot->body, slot->length);
    }
    return slot != NULL;
}

/* A free slot, with room for `bytes` of body: the bodies that were asked for least lately go. It
 * ends because a body has a quarter of the room at most: when no slot is left to drop, there is
 * room. A walk over 256 slots is nothing beside a page. */
static ImportPayload *import_payloads_room(ImportPayloads *payloads, size_t bytes)
{
    for (;;) {
        ImportPayload *unused = NULL;
        ImportPayload *oldest = NULL;
        for (size_t i = 0; i < IMPORT_PAYLOADS; i++) {
            ImportPayload *slot = &payloads->slots[i];
            if (slot->body == NULL) {
                unused = slot;
            } else if (oldest == NULL || slot->used < oldest->used) {
                oldest = slot;
            }
        }
        if (unused != NULL && payloads->bytes + bytes <= IMPORT_PAYLOAD_BYTES) {
            return unused;
        }
        import_payloads_drop(payloads, oldest);
    }
}

Result import_payloads_put(ImportPayloads *payloads, const WarcDigest *digest, WarcBytes body)
{
    if (body.length == 0 || body.length > IMPORT_PAYLOAD_BYTES / 4 ||
        import_payloads_find(payloads, digest) != NULL) {
        return RESULT_OK;
    }
    ImportPayload *slot = import_payloads_room(payloads, body.length);
    slot->body = malloc(body.length);
    if (slot->body == NULL) {
        return RESULT_MEMORY;
    }
    memcpy(slot->body, body.bytes, body.length);
    slot->digest = *digest;
    slot->length = body.length;
    slot->used = ++payloads->clock;
    payloads->bytes += body.length;
    return RESULT_OK;
}

/* ---- Import run ---- */

/* A record is in memory as a whole, as the store takes it. A longer one is damage that is passed
 * over. */
#define MAX_BLOCK ((size_t)1 << 30)

typedef struct ImportFile {
    ImportRun *run;
    const char *path;
    ForeignReader *reader;
    ForeignRecord record;
    WarcHasher *hasher;
    Url url;
    Buffer chunks;
    Buffer header; /* of a resource */
    Buffer body;   /* of a revisit */
    size_t number; /* of the file */
    uint64_t at;   /* which of its records */
} ImportFile;

/* Passes over a record, which is told and counted. */
static Result import_run_refuse(const ImportFile *file, uint64_t *count, const char *what)
{
    ++*count;
    (void)fprintf(stderr, "ragno import: %s: offset %" PRIu64 ": %.*s: %s\n", file->path,
                  file->record.offset, (int)file->record.uri.length, file->record.uri.bytes, what);
    return RESULT_OK;
}

/* ---- digests ---- */

/* A digest of a kind that we do not compute counts as none. */
static bool has_digest(const ForeignRecord *record, const char *field, WarcDigest *digest)
{
    WarcBytes value;
    return foreign_record_field(record, field, &value) && warc_digest_parse(value, digest);
}

/* Whether a field says another digest than these bytes have. Writers disagree on what the payload
 * of a chunked body is: `second` has another look, at the bytes as they are stored. A digest that
 * could not be computed accuses nobody. */
static bool is_wrong(ImportFile *file, const char *field, WarcBytes first, WarcBytes second)
{
    WarcDigest said;
    WarcDigest is;
    if (!has_digest(&file->record, field, &said)) {
        return false;
    }
    Result rc = warc_hasher_digest(file->hasher, first, warc_bytes("", 0), &is);
    bool wrong = rc == RESULT_OK && memcmp(&said, &is, sizeof is) != 0;
    if (wrong && second.bytes != first.bytes) {
        rc = warc_hasher_digest(file->hasher, second, warc_bytes("", 0), &is);
        wrong = rc == RESULT_OK && memcmp(&said, &is, sizeof is) != 0;
    }
    return wrong;
}

/* ---- handing over ---- */

/* RESULT_LIMIT is a full batch: it is committed, and the capture is the first of the next. */
static Result import_run_add(ImportFile *file, const ImportCapture *capture)
{
    Result rc = import_store_add(file->run->store, capture);
    if (rc == RESULT_LIMIT) {
        rc = import_store_commit(file->run->store);
        if (rc == RESULT_OK) {
            rc = import_store_add(file->run->store, capture);
        }
    }
    file->run->counts.answers += rc == RESULT_OK ? 1 : 0;
    return rc;
}

/* The URL without its fragment, in the form that the database has. */
static bool import_run_take_url(ImportFile *file)
{
    WarcBytes uri = file->record.uri;
    const char *hash = uri.length == 0 ? NULL : memchr(uri.bytes, '#', uri.length);
    size_t n = hash == NULL ? uri.length : (size_t)(hash - uri.bytes);
    if (url_parse(&file->url, NULL, uri.bytes, n) == RESULT_OK) {
        return true;
    }
    (void)import_run_refuse(file, &file->run->counts.invalid, "no URL that could be crawled");
    return false;
}

static bool is_web(WarcBytes uri)
{
    return (uri.length > 7 && strncasecmp(uri.bytes, "http://", 7) == 0) ||
           (uri.length > 8 && strncasecmp(uri.bytes, "https://", 8) == 0);
}

/* A record without a type is taken at its word; records of "dns:" and of FTP have another type. */
static bool is_http(const ForeignRecord *record)
{
    WarcBytes type;
    return !foreign_record_field(record, "content-type", &type) ||
           (type.length >= 16 && strncasecmp(type.bytes, "application/http", 16) == 0);
}

static ImportCapture capture_of(ImportFile *file, const ForeignAnswer *answer)
{
    WarcBytes ip = warc_bytes("", 0);
    WarcBytes truncated;
    /* Without a date it is as if fetched now, for an answer must have one. */
    (void)foreign_record_field(&file->record, "warc-ip-address", &ip);
    return (ImportCapture){.url = file->url.href,
                           .date = file->record.date.us > 0 ? file->record.date : wall_now(),
                           .status = answer->status,
                           .is_10 = answer->is_10,
                           .is_cut =
                               answer->is_cut ||
                               foreign_record_field(&file->record, "warc-truncated", &truncated),
                           .ip = ip,
                           .header = answer->header,
                           .body = answer->body};
}

/* ---- kinds of records ---- */

static Result take_response(ImportFile *file)
{
    ImportCounts *counts = &file->run->counts;
    ForeignAnswer answer;
    Result rc = foreign_http_read(file->record.block, &file->chunks, &answer);
    if (rc == RESULT_INVALID) {
        return import_run_refuse(file, &counts->invalid, "no answer of HTTP");
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    /* A response that says "not modified" has no body to keep; what it confirms was imported
     * before, or is nowhere. */
    if (answer.status == 304) {
        counts->confirmed++;
        return RESULT_OK;
    }
    if (is_wrong(file, "warc-block-digest", file->record.block, file->record.block) ||
        is_wrong(file, "warc-payload-digest", answer.body, answer.stored)) {
        return import_run_refuse(file, &counts->wrong, "its digest is wrong");
    }
    /* Kept under the digest that its record says, as revisits name that. It was compared above. */
    WarcDigest digest;
    if (has_digest(&file->record, "warc-payload-digest", &digest)) {
        rc = import_payloads_put(&file->run->payloads, &digest, answer.body);
    }
    ImportCapture capture = capture_of(file, &answer);
    return rc == RESULT_OK ? import_run_add(file, &capture) : rc;
}

/* A file by itself: it gets the header of an answer. */
static Result take_resource(ImportFile *file)
{
    WarcBytes type = warc_bytes("application/octet-stream", 24);
    WarcBytes block = file->record.block;
    (void)foreign_record_field(&file->record, "content-type", &type);
    if (is_wrong(file, "warc-block-digest", block, block)) {
        return import_run_refuse(file, &file->run->counts.wrong, "its digest is wrong");
    }
    buffer_reset(&file->header);
    Result rc = buffer_printf(
        &file->header, "HTTP/1.1 200 OK\r\nContent-Type: %.*s\r\nContent-Length: %zu\r\n\r\n",
        (int)type.length, type.bytes, block.length);
    ForeignAnswer answer = {.status = 200,
                            .header = warc_bytes(file->header.data, file->header.length),
                            .stored = block,
                            .body = block};
    ImportCapture capture = capture_of(file, &answer);
    return rc == RESULT_OK ? import_run_add(file, &capture) : rc;
}

/* A revisit of the same URL brings nothing: its page has that body already. */
static bool repeats_itself(const ForeignRecord *record)
{
    WarcBytes uri;
    return foreign_record_field(record, "warc-refers-to-target-uri", &uri) &&
           uri.length == record->uri.length &&
           memcmp(uri.bytes, record->uri.bytes, uri.length) == 0;
}

/* ---- revisits whose original is not known yet ---- */

/* Stands in `originals` for a name that some orphan has, and whose record was not met yet. By its
 * address alone. */
static const WarcDigest not_met;

/* An id alone, or URL and date. The two kinds cannot meet: an id has an empty second part. */
static MapKey key_of_names(WarcBytes a, WarcBytes b)
{
    Hash128 first = hash_128(a.bytes, a.length);
    Hash128 second = hash_128(b.bytes, b.length);
    return (MapKey){.high = first.high ^ hash_mix(second.high), .low = first.low ^ second.low};
}

/* What a revisit names: its original's id, or URL and date. False: nothing. */
static bool names_original(const ForeignRecord *record, MapKey *key)
{
    WarcBytes uri;
    WarcBytes date;
    if (foreign_record_field(record, "warc-refers-to", &uri)) {
        *key = key_of_names(uri, warc_bytes("", 0));
        return true;
    }
    bool is_named = foreign_record_field(record, "warc-refers-to-target-uri", &uri) &&
                    foreign_record_field(record, "warc-refers-to-date", &date);
    if (is_named) {
        *key = key_of_names(uri, date);
    }
    return is_named;
}

/* The list of orphans has two parts: [0, n_old), those of the reading before, in the order in which
 * their files are read, so the next one is always known (is_next_orphan); and behind it those that
 * are still orphans in this reading. import_run_again drops the first part. */

/* Keeps the place of a revisit for the next reading. In a further one it has its place already. */
static Result orphan_keep(ImportFile *file)
{
    ImportRun *run = file->run;
    ImportOrphan orphan = {.file = file->number, .number = file->at};
    MapKey key;
    WarcDigest digest;
    Result rc = array_add(&run->orphans, &run->n_orphans, sizeof orphan, &orphan);
    if (rc == RESULT_OK && !has_digest(&file->record, "warc-payload-digest", &digest) &&
        names_original(&file->record, &key) && map_get(&run->originals, key) == NULL) {
        rc = map_put(&run->originals, key, (void *)(uintptr_t)&not_met);
    }
    return rc;
}

/* Notes the digest of an answer that an orphan names. */
static Result orphan_resolve(ImportFile *file, MapKey key)
{
    ForeignAnswer answer;
    if (map_get(&file->run->originals, key) != &not_met ||
        foreign_http_read(file->record.block, &file->chunks, &answer) != RESULT_OK) {
        return RESULT_OK;
    }
    WarcDigest *digest = malloc(sizeof *digest);
    Result rc = digest == NULL
                    ? RESULT_MEMORY
                    : warc_hasher_digest(file->hasher, answer.body, warc_bytes("", 0), digest);
    if (rc == RESULT_OK) {
        rc = map_put(&file->run->originals, key, digest);
    }
    if (rc != RESULT_OK) {
        free(digest);
        return rc;
    }
    file->run->resolved++;
    return RESULT_OK;
}

/* Whether the record is the next orphan. Files are read in the same order each time, so one place
 * in the list is enough. One that stays an orphan enters the list anew. */
static bool is_next_orphan(ImportFile *file)
{
    ImportRun *run = file->run;
    const ImportOrphan *next = run->orphans + run->next_orphan;
    bool is =
        run->next_orphan < run->n_old && next->file == file->number && next->number == file->at;
    run->next_orphan += is ? 1 : 0;
    return is;
}

static void import_run_destroy(ImportRun *run)
{
    size_t place = 0;
    for (void *digest = map_next(&run->originals, &place); digest != NULL;
         digest = map_next(&run->originals, &place)) {
        if (digest != &not_met) {
            free(digest);
        }
    }
    map_destroy(&run->originals);
    free(run->orphans);
    import_payloads_destroy(&run->payloads);
}

/* The digest of a revisit's payload: its own, or that of the original it names. */
static bool find_digest(const ImportFile *file, WarcDigest *digest)
{
    MapKey key;
    const WarcDigest *met = NULL;
    if (has_digest(&file->record, "warc-payload-digest", digest)) {
        return true;
    }
    if (names_original(&file->record, &key)) {
        met = map_get(&file->run->originals, key);
    }
    if (met == NULL || met == &not_met) {
        return false;
    }
    *digest = *met;
    return true;
}

/* The payload of a revisit: one that was seen lately, or one that is in the archive.
 * RESULT_NOT_FOUND: neither. */
static Result find_payload(ImportFile *file, WarcBytes *body)
{
    ImportRun *run = file->run;
    WarcDigest digest;
    if (!find_digest(file, &digest)) {
        return RESULT_NOT_FOUND;
    }
    if (import_payloads_get(&run->payloads, &digest, body)) {
        return RESULT_OK;
    }
    /* The archive is asked by what is committed of it, and the original may be in this batch. So an
     * orphan that the cache does not have costs a commit. */
    Result rc = import_store_commit(run->store);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = import_store_payload(run->store, &digest, &file->body);
    *body = warc_bytes(buffer_string(&file->body), file->body.length);
    /* What the archive gives must be what the record says. Else it is as if the archive did not
     * have it. */
    if (rc != RESULT_OK || is_wrong(file, "warc-payload-digest", *body, *body)) {
        return rc == RESULT_MEMORY ? rc : RESULT_NOT_FOUND;
    }
    return import_payloads_put(&run->payloads, &digest, *body);
}

/* The payload was stored before, perhaps at another URL. The record has the header of this answer,
 * often without a body; the body becomes that of the original. */
static Result take_revisit(ImportFile *file)
{
    ImportCounts *counts = &file->run->counts;
    ForeignAnswer answer;
    Result rc = foreign_http_read(file->record.block, &file->chunks, &answer);
    if (rc != RESULT_OK && rc != RESULT_INVALID) {
        return rc;
    }
    if (rc == RESULT_INVALID || answer.status == 304 || repeats_itself(&file->record)) {
        counts->confirmed++;
        return RESULT_OK;
    }
    rc = find_payload(file, &answer.body);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? orphan_keep(file) : rc;
    }
    ImportCapture capture = capture_of(file, &answer);
    return import_run_add(file, &capture);
}

static Result import_run_take_record(ImportFile *file)
{
    const ForeignRecord *record = &file->record;
    ImportCounts *counts = &file->run->counts;
    bool answer = record->type == WARC_RESPONSE || record->type == WARC_REVISIT;
    /* Counts every record that could be read, in all readings alike: it is the name of an
     * orphan. */
    file->at++;
    if (file->run->is_again) {
        if (record->type == WARC_RESPONSE) {
            WarcBytes id = warc_bytes("", 0);
            WarcBytes date = warc_bytes("", 0);
            (void)foreign_record_field(&file->record, "warc-record-id", &id);
            (void)foreign_record_field(&file->record, "warc-date", &date);
            Result rc = orphan_resolve(file, key_of_names(id, warc_bytes("", 0)));
            return rc == RESULT_OK ? orphan_resolve(file, key_of_names(file->record.uri, date))
                                   : rc;
        }
        return is_next_orphan(file) && import_run_take_url(file) ? take_revisit(file) : RESULT_OK;
    }
    counts->records++;
    if ((!answer && record->type != WARC_RESOURCE) || !is_web(record->uri) ||
        (answer && !is_http(record))) {
        counts->others++;
        return RESULT_OK;
    }
    if (!import_run_take_url(file)) {
        return RESULT_OK;
    }
    if (record->type == WARC_RESPONSE) {
        return take_response(file);
    }
    return record->type == WARC_REVISIT ? take_revisit(file) : take_resource(file);
}

/* ---- a file ---- */

/* Where a record was damaged the reader looks for the next one; how much lies between is not known,
 * so places are counted, not records. */
static Result pass(ImportFile *file)
{
    if (file->run->is_again) {
        return foreign_reader_pass(file->reader); /* it was told */
    }
    file->run->counts.damaged++;
    (void)fprintf(stderr, "ragno import: %s: %s; passed over\n", file->path,
                  foreign_reader_problem(file->reader));
    return foreign_reader_pass(file->reader);
}

static Result import_run_read_all(ImportFile *file)
{
    ImportRun *run = file->run;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK) {
        rc = foreign_reader_next(file->reader, &file->record);
        if (rc == RESULT_DAMAGED) {
            rc = pass(file);
        } else if (rc == RESULT_OK) {
            rc = import_run_take_record(file);
        }
        progress_show(run->progress, run->done_bytes + foreign_reader_position(file->reader),
                      run->total_bytes, run->counts.answers, mono_now());
        /* Between two records, so that a signal waits for a page at most. */
        if (rc == RESULT_OK && atomic_load(run->signal) != 0) {
            rc = RESULT_CLOSED;
        }
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* Reads a file to its end, as far as that can be done; number: which of the files it is. */
static Result import_run_file(ImportRun *run, const char *path, size_t number)
{
    ImportFile file = {.run = run, .path = path, .number = number};
    buffer_init(&file.chunks, MAX_BLOCK);
    buffer_init(&file.header, BUFFER_NO_LIMIT);
    buffer_init(&file.body, BUFFER_NO_LIMIT);
    Result rc = foreign_reader_open(&file.reader, path, MAX_BLOCK);
    if (rc == RESULT_MEMORY) {
        goto done;
    }
    if (rc != RESULT_OK) {
        if (!run->is_again) { /* else it was told */
            run->counts.unreadable++;
            (void)fprintf(stderr, "ragno import: %s: cannot be read: %s\n", path, result_name(rc));
        }
        rc = RESULT_OK;
        goto done;
    }
    rc = warc_hasher_new(&file.hasher);
    if (rc != RESULT_OK) {
        goto done;
    }
    rc = import_run_read_all(&file);
    run->done_bytes += foreign_reader_size(file.reader);
done:
    foreign_reader_close(file.reader);
    warc_hasher_delete(file.hasher);
    url_destroy(&file.url);
    buffer_destroy(&file.chunks);
    buffer_destroy(&file.header);
    buffer_destroy(&file.body);
    return rc;
}

/* ---- `ragno import` ---- */

static atomic_int signal_seen; /* handlers have no other way */

typedef struct ImportCommand {
    const char *directory;
    bool quiet;
    CheckOptions options;
    char **files; /* of argv */
    size_t n;
} ImportCommand;

EMBED(import_usage, "src/command/import/import_command.txt");

static void import_command_note_signal(int number)
{
    atomic_store(&signal_seen, number);
}

/* ---- the command line ---- */

/* 0, an exit status, or COMMAND_HELPED. */
static int import_command_parse(ImportCommand *command, int argc, char **argv)
{
    const CommandOption rows[] = {CHECK_OPTIONS_ROWS(&command->options),
                                  {"dir", 'd', COMMAND_TEXT, .to = &command->directory},
                                  {"quiet", 'q', COMMAND_FLAG, .to = &command->quiet}};
    CommandLine line = {"import", import_usage, COMMAND_ROWS(rows), .words_least = 1,
                        .words_most = argc};
    int status = command_line_take(&line, argc, argv);
    command->files = line.words;
    command->n = (size_t)line.n_words;
    return status;
}

/* A crawl that is there goes on with its own settings, unless the command line names a file. */
static int import_command_load_config(ImportCommand *command, Config *config)
{
    CheckOptions options = command->options;
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/config.ini", command->directory);
    if (options.file == NULL && config_file_look(path) != CONFIG_FILE_NONE) {
        options.file = path;
    }
    int status = check_options_load(&options, config);
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    Result rc = status == 0 ? config_resolve_paths(config, &error) : RESULT_OK;
    return exit_status_tell("import", rc, &error) == 0 ? status : EXIT_USAGE;
}

/* ---- the order of files ---- */

typedef struct DatedFile {
    char *path;
    uint64_t date_us; /* of its first record that has one */
    size_t place;
    uint64_t size;
} DatedFile;

/* Oldest first, as they were captured: of two answers of a URL the later one must come last, as its
 * page is what the database keeps, and a revisit mostly comes behind its original. A file that
 * cannot be read has no date; it is told when its turn comes. */
static Result sort_files(ImportCommand *command, uint64_t *total)
{
    DatedFile *files = calloc(command->n, sizeof *files);
    if (files == NULL) {
        return RESULT_MEMORY;
    }
    *total = 0;
    for (size_t i = 0; i < command->n; i++) {
        ForeignReader *reader = NULL;
        ForeignRecord record;
        files[i] = (DatedFile){.path = command->files[i], .place = i};
        if (foreign_reader_open(&reader, files[i].path, (size_t)1 << 20) == RESULT_OK) {
            if (foreign_reader_next(reader, &record) == RESULT_OK) {
                files[i].date_us = record.date.us > 0 ? (uint64_t)record.date.us : 0;
            }
            *total += foreign_reader_size(reader);
        }
        foreign_reader_close(reader);
    }
    array_sort(files, command->n, sizeof *files, ARRAY_KEY(DatedFile, date_us),
               ARRAY_KEY(DatedFile, place));
    for (size_t i = 0; i < command->n; i++) {
        command->files[i] = files[i].path;
    }
    free(files);
    return RESULT_OK;
}

/* ---- the end ---- */

static void tell_count(uint64_t n, const char *what)
{
    if (n > 0) {
        (void)fprintf(stderr, ", %" PRIu64 " %s", n, what);
    }
}

/* The worst of what happened: a signal, then what ended the run, then files, then records. */
static int import_command_status_of(Result rc, int closed, const ImportCounts *counts)
{
    if (rc == RESULT_CLOSED) {
        return EXIT_SIGNAL;
    }
    if (rc != RESULT_OK || closed != 0) {
        (void)fprintf(stderr, "ragno import: ended: %s\n", result_name(rc));
        return rc == RESULT_MEMORY ? EXIT_INTERNAL : EXIT_IO;
    }
    if (counts->unreadable > 0) {
        return EXIT_IO;
    }
    return counts->damaged + counts->wrong + counts->invalid > 0 ? EXIT_DIRECTORY : 0;
}

static Result import_command_read(const ImportCommand *command, ImportRun *run)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; i < command->n && rc == RESULT_OK; i++) {
        rc = import_run_file(run, command->files[i], i);
    }
    return rc;
}

/* Between two readings: what was not resolved in this one becomes the list of the next. How many
 * there are. is_again is set behind the first reading, from when on only orphans are taken and
 * nothing is told twice. */
static size_t import_run_again(ImportRun *run)
{
    run->n_orphans -= run->n_old;
    if (run->n_orphans > 0) {
        memmove(run->orphans, run->orphans + run->n_old, run->n_orphans * sizeof *run->orphans);
    }
    run->n_old = run->n_orphans;
    run->next_orphan = 0;
    run->is_again = true;
    run->done_bytes = 0;
    return run->n_orphans;
}

/* Further readings for the revisits whose payload was not known. It takes two where one names its
 * original by id, and that stands behind it:
 *
 *   first reading    the revisit is kept as an orphan, and what it names goes into `originals`
 *   second           the original comes by: its digest is noted (resolved); behind its revisit
 *   third            the revisit knows the digest, and the archive has the payload
 *
 * Each reading must have resolved a name or taken an orphan, or the rest has no original in these
 * files. So there are at most as many readings as orphans and names, and in fact two or three. */
static Result import_command_read_again(const ImportCommand *command, ImportRun *run)
{
    Result rc = RESULT_OK;
    bool is_useful = true;
    size_t left = import_run_again(run);
    while (rc == RESULT_OK && is_useful && left > 0) {
        size_t before = left;
        run->resolved = 0;
        rc = import_command_read(command, run);
        left = import_run_again(run);
        is_useful = run->resolved > 0 || left < before;
    }
    run->counts.orphans = left;
    return rc;
}

static int import_command_run(ImportCommand *command, Config *config)
{
    Progress progress;
    ImportRun run = {.progress = &progress, .signal = &signal_seen};
    Result rc = sort_files(command, &run.total_bytes);
    int status = rc == RESULT_OK
                     ? import_store_open(&run.store, "import", command->directory, config)
                     : EXIT_INTERNAL;
    if (status != 0) {
        return status;
    }
    /* The second signal ends the process (SA_RESETHAND), for who cannot wait for the commit. */
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = import_command_note_signal,
                               .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        (void)sigaction(signals[i], &action, NULL);
    }
    progress_begin(&progress, "import", "answers", isatty(STDERR_FILENO) == 1, stderr, mono_now());
    rc = import_command_read(command, &run);
    if (rc == RESULT_OK) {
        rc = import_command_read_again(command, &run);
    }
    /* What was taken before a signal is kept: a later run finds it "not newer than what is known"
     * and goes on behind it. */
    if (rc == RESULT_OK || rc == RESULT_CLOSED) {
        Result last = import_store_commit(run.store);
        rc = result_first(last, rc);
    }
    progress_end(&progress);
    import_run_destroy(&run);
    ImportTotals totals = *import_store_totals(run.store);
    int closed = import_store_close(run.store);
    if (!command->quiet) {
        (void)fprintf(stderr,
                      "ragno import: %" PRIu64 " answers with %" PRIu64 " links of %" PRIu64
                      " records",
                      totals.pages, totals.links, run.counts.records);
        tell_count(totals.known, "not newer than what is known");
        tell_count(run.counts.confirmed, "that only confirm another");
        tell_count(run.counts.orphans, "whose payload is not known");
        tell_count(run.counts.invalid, "that are no answer of HTTP to a URL");
        tell_count(run.counts.wrong, "whose digest is wrong");
        tell_count(run.counts.damaged, "places that were damaged and passed over");
        tell_count(totals.refused, "that have no page");
        tell_count(totals.unruled, "robots.txt for which there was no room");
        (void)fputc('\n', stderr);
    }
    return import_command_status_of(rc, closed, &run.counts);
}

int import_main(int argc, char **argv)
{
    ImportCommand command = {.directory = "crawl"};
    Config config = {.options = {.specs = NULL}};
    int status = import_command_parse(&command, argc, argv);
    if (status == 0) {
        status = import_command_load_config(&command, &config);
    }
    if (status == 0) {
        status = import_command_run(&command, &config);
    }
    config_destroy(&config);
    return status == COMMAND_HELPED ? 0 : status;
}
