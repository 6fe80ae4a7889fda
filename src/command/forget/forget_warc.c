#include "command/forget/forget_warc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/archive/warc_reader.h"

/* A file of the archive, and its copy. */
typedef struct Copy {
    ForgetArchive *archive;
    const ForgetTargets *targets;
    const WarcFile *file;
    char name[300]; /* of the copy */
    Buffer path;    /* of the copy */
    WarcReader *reader;
    FILE *out; /* NULL: nothing differs so far */
    WarcCompressor *compressor;
    WarcHasher *hasher;
    Buffer info; /* the warcinfo record of the copy, compressed */
    Buffer plain;
    Buffer member;
    uint64_t written;
} Copy;

/* "a.warc.gz", "a-r1.warc.gz": the first gives the second, the second "a-r2.warc.gz". */
static void archive_name_copy(const char *name, char *out, size_t size)
{
    WarcCompression compression = WARC_GZIP;
    size_t stem = warc_compression_stem(name, &compression);
    size_t digits = stem;
    unsigned long n = 0;
    while (digits > 2 && name[digits - 1] >= '0' && name[digits - 1] <= '9') {
        digits--;
    }
    if (digits < stem && digits > 2 && memcmp(name + digits - 2, "-r", 2) == 0) {
        n = strtoul(name + digits, NULL, 10);
        stem = digits - 2;
    }
    (void)snprintf(out, size, "%.*s-r%lu.warc%s", (int)stem, name, n + 1,
                   warc_compression_suffix(compression));
}

/* ---- writing ---- */

static Result archive_copy_put(Copy *copy, const char *bytes, size_t length)
{
    if (length > 0 && fwrite(bytes, 1, length, copy->out) != length) {
        return result_of_errno(errno);
    }
    copy->written += length;
    return RESULT_OK;
}

/* The copy begins with its own warcinfo record, and what came before this record. */
static Result archive_copy_begin(Copy *copy, const WarcRecord *record)
{
    if (copy->out != NULL) {
        return RESULT_OK;
    }
    copy->out = fopen(buffer_string(&copy->path), "we");
    if (copy->out == NULL) {
        return result_of_errno(errno);
    }
    Result rc = archive_copy_put(copy, copy->info.data, copy->info.length);
    WarcReader *again = NULL;
    WarcRecord before;
    bool is_first = true;
    if (rc == RESULT_OK) {
        rc = warc_reader_open_in(&again, copy->archive->warc, copy->file->name);
    }
    while (rc == RESULT_OK && (rc = warc_reader_next(again, &before)) == RESULT_OK &&
           before.offset < record->offset) {
        WarcBytes member = warc_reader_member(again, &before);
        bool is_own_info = is_first && before.type == WARC_WARCINFO;
        rc = is_own_info ? RESULT_OK : archive_copy_put(copy, member.bytes, member.length);
        is_first = false;
    }
    warc_reader_close(again);
    return rc;
}

/* Fields of the header that say something else in a changed record. */
typedef struct Change {
    const char *type;     /* NULL: as before */
    const char *filename; /* NULL: as before */
    bool whole;           /* it refers to no other record any more */
} Change;

static bool archive_is_left_out(const Change *change, WarcBytes name)
{
    static const char *const others[] = {"warc-refers-to", "warc-refers-to-target-uri",
                                         "warc-refers-to-date", "warc-profile"};
    bool out = warc_bytes_are(name, "warc-block-digest") || warc_bytes_are(name, "content-length");
    for (size_t i = 0; change->whole && i < sizeof others / sizeof *others; i++) {
        out = out || warc_bytes_are(name, others[i]);
    }
    return out;
}

/* The record with another block, head and tail, and with changed fields; compressed in out. */
static Result archive_change_record(Copy *copy, const WarcRecord *record, const Change *change,
                                    WarcBytes head, WarcBytes tail, Buffer *out)
{
    WarcDigest digest;
    char text[WARC_DIGEST_TEXT];
    Buffer *plain = &copy->plain;
    buffer_reset(plain);
    Result rc = warc_hasher_digest(copy->hasher, head, tail, &digest);
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)buffer_append_string(plain, "WARC/1.1\r\n");
    for (size_t i = 0; i < record->n_fields; i++) {
        WarcBytes name = record->fields[i].name;
        WarcBytes value = record->fields[i].value;
        if (archive_is_left_out(change, name)) {
            continue;
        }
        if (change->type != NULL && warc_bytes_are(name, "warc-type")) {
            value = warc_bytes(change->type, strlen(change->type));
        }
        if (change->filename != NULL && warc_bytes_are(name, "warc-filename")) {
            value = warc_bytes(change->filename, strlen(change->filename));
        }
        (void)buffer_printf(plain, "%.*s: %.*s\r\n", (int)name.length, name.bytes,
                            (int)value.length, value.bytes);
    }
    (void)buffer_printf(plain, "WARC-Block-Digest: %s\r\nContent-Length: %zu\r\n\r\n",
                        warc_digest_format(&digest, text), head.length + tail.length);
    (void)buffer_append(plain, head.bytes, head.length);
    (void)buffer_append(plain, tail.bytes, tail.length);
    (void)buffer_append(plain, "\r\n\r\n", 4);
    buffer_reset(out);
    rc = buffer_end(plain, 0);
    return rc == RESULT_OK
               ? warc_compressor_append(copy->compressor, plain->data, plain->length, out)
               : rc;
}

static Result archive_write_changed(Copy *copy, const WarcRecord *record, const Change *change,
                                    WarcBytes head, WarcBytes tail)
{
    Result rc = archive_copy_begin(copy, record);
    if (rc == RESULT_OK) {
        rc = archive_change_record(copy, record, change, head, tail, &copy->member);
    }
    copy->archive->changed++;
    return rc == RESULT_OK ? archive_copy_put(copy, copy->member.data, copy->member.length) : rc;
}

/* ---- what becomes of a record ---- */

/* Whether a capture of that time goes because it is old. */
static bool archive_is_old(Copy *copy, WarcBytes uri, WallTime date, const WarcDigest *payload)
{
    WarcDigest stands_on;
    bool has = false;
    if (copy->targets->before.us == 0 || date.us >= copy->targets->before.us) {
        return false;
    }
    (void)forget_database_is_old(copy->archive->database, uri.bytes, uri.length, &stands_on, &has);
    return !has || payload == NULL || memcmp(payload, &stands_on, sizeof stands_on) != 0;
}

static bool archive_payload_of(const WarcRecord *record, WarcDigest *digest)
{
    WarcBytes value;
    return warc_record_field(record, "warc-payload-digest", &value) &&
           warc_digest_parse(value, digest);
}

static bool archive_is_gone(Copy *copy, const WarcRecord *record)
{
    WarcDigest payload;
    if (record->uri.length == 0) {
        return false;
    }
    if (forget_means_url(copy->targets, record->uri.bytes, record->uri.length)) {
        return true;
    }
    return archive_is_old(copy, record->uri, record->date,
                          archive_payload_of(record, &payload) ? &payload : NULL);
}

/* Whether the record that a revisit refers to is left out. */
static bool archive_is_orphaned(Copy *copy, const WarcRecord *record)
{
    WarcBytes uri;
    WarcBytes text;
    WallTime date;
    WarcDigest payload;
    if (record->type != WARC_REVISIT ||
        !warc_record_field(record, "warc-refers-to-target-uri", &uri)) {
        return false;
    }
    return forget_means_url(copy->targets, uri.bytes, uri.length) ||
           (warc_record_field(record, "warc-refers-to-date", &text) &&
            warc_date_parse(text, &date) &&
            archive_is_old(copy, uri, date,
                           archive_payload_of(record, &payload) ? &payload : NULL));
}

/* Its header, and the body of the record that it referred to. */
static Result archive_promote(Copy *copy, const WarcRecord *record)
{
    const Change change = {.type = "response", .whole = true};
    WarcAnswer answer;
    warc_answer_init(&answer);
    Result rc = warc_load_original(copy->archive->warc, record, &answer);
    if (rc == RESULT_OK) {
        rc = archive_write_changed(copy, record, &change, record->block,
                                   warc_bytes(answer.body.data, answer.body.length));
    } else if (rc == RESULT_NOT_FOUND || rc == RESULT_DAMAGED) {
        copy->archive->orphans++;
        rc = archive_copy_begin(copy, record);
    }
    warc_answer_destroy(&answer);
    return rc;
}

/* The fields of a metadata record, without the lines that name what is meant. *changed: some do. */
static Result archive_strip_fields(Copy *copy, WarcBytes block, Buffer *out, bool *changed)
{
    const char *end = block.bytes + block.length;
    Result rc = RESULT_OK;
    buffer_reset(out);
    for (const char *at = block.bytes; rc == RESULT_OK && at < end;) {
        const char *lf = memchr(at, '\n', (size_t)(end - at));
        const char *next = lf == NULL ? end : lf + 1;
        if (forget_is_named(copy->targets, at, (size_t)(next - at))) {
            *changed = true;
        } else {
            rc = buffer_append(out, at, (size_t)(next - at));
        }
        at = next;
    }
    return rc;
}

static Result archive_take(Copy *copy, const WarcRecord *record)
{
    bool changed = false;
    Result rc = RESULT_OK;
    if (record->type == WARC_WARCINFO && copy->info.length == 0) {
        const Change change = {.filename = copy->name};
        return archive_change_record(copy, record, &change, record->block, warc_bytes("", 0),
                                     &copy->info);
    }
    if (archive_is_gone(copy, record)) {
        copy->archive->records++;
        return archive_copy_begin(copy, record);
    }
    if (archive_is_orphaned(copy, record)) {
        return archive_promote(copy, record);
    }
    if (record->type == WARC_METADATA && copy->targets->n > 0) {
        const Change change = {.type = NULL};
        Buffer fields;
        buffer_init(&fields, BUFFER_NO_LIMIT);
        rc = archive_strip_fields(copy, record->block, &fields, &changed);
        if (rc == RESULT_OK && changed) {
            rc = archive_write_changed(copy, record, &change,
                                       warc_bytes(buffer_string(&fields), fields.length),
                                       warc_bytes("", 0));
        }
        buffer_destroy(&fields);
    }
    if (rc != RESULT_OK || changed || copy->out == NULL) {
        return rc;
    }
    WarcBytes member = warc_reader_member(copy->reader, record);
    return archive_copy_put(copy, member.bytes, member.length);
}

/* ---- a file ---- */

/* The new index, and what is to be done when all is written. */
static Result archive_finish(Copy *copy, Buffer *actions)
{
    ForgetArchive *archive = copy->archive;
    Path index, old;
    bool written = fflush(copy->out) == 0 && fsync(fileno(copy->out)) == 0;
    Result rc = written ? RESULT_OK : result_of_errno(errno);
    if (rc == RESULT_OK) {
        rc = warc_files_index_sorted(archive->staging, copy->name, copy->written);
    }
    if (rc == RESULT_OK) {
        const char *name =
            strrchr(warc_index_path(&index, archive->staging, copy->name, false), '/') + 1;
        (void)warc_index_path(&old, "warc", copy->file->name, false);
        rc = buffer_printf(actions,
                           "move\t%s\twarc/%s\nmove\t%s\twarc/%s\ndrop\twarc/%s\ndrop\t%s\n", name,
                           name, copy->name, copy->name, copy->file->name, old.text);
    }
    archive->files++;
    return rc;
}

static Result archive_copy_file(Copy *copy, WarcEnd *end, Buffer *actions, Buffer *error)
{
    WarcRecord record;
    archive_name_copy(copy->file->name, copy->name, sizeof copy->name);
    buffer_reset(&copy->path);
    buffer_reset(&copy->info);
    copy->written = 0;
    Result rc = buffer_printf(&copy->path, "%s/%s", copy->archive->staging, copy->name);
    if (rc == RESULT_OK) {
        rc = warc_compressor_new(&copy->compressor, copy->file->compression, WARC_LEVEL_AUTO);
    }
    if (rc == RESULT_OK) {
        rc = warc_reader_open_in(&copy->reader, copy->archive->warc, copy->file->name);
    }
    while (rc == RESULT_OK && (rc = warc_reader_next(copy->reader, &record)) == RESULT_OK) {
        rc = archive_take(copy, &record);
    }
    rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    if (rc == RESULT_DAMAGED) {
        (void)buffer_printf(error, "%s: %s; ragno verify says more", copy->file->name,
                            warc_reader_problem(copy->reader));
    }
    if (rc == RESULT_OK && copy->out != NULL) {
        rc = archive_finish(copy, actions);
        end->offset = end->file == copy->file->serial ? copy->written : end->offset;
    }
    if (copy->out != NULL) {
        (void)fclose(copy->out);
        copy->out = NULL;
    }
    warc_reader_close(copy->reader);
    copy->reader = NULL;
    warc_compressor_delete(copy->compressor);
    copy->compressor = NULL;
    return rc;
}

Result forget_archive(ForgetArchive *archive, WarcEnd *end, Buffer *actions, Buffer *error)
{
    WarcFileList list;
    Copy copy = {.archive = archive, .targets = archive->database->targets};
    uint64_t total = 0, done = 0;
    Result rc = warc_files_list(archive->warc, &list);
    if (rc == RESULT_NOT_FOUND) {
        return RESULT_OK; /* warc.enabled = no */
    }
    buffer_init(&copy.path, BUFFER_NO_LIMIT);
    buffer_init(&copy.info, BUFFER_NO_LIMIT);
    buffer_init(&copy.plain, BUFFER_NO_LIMIT);
    buffer_init(&copy.member, BUFFER_NO_LIMIT);
    if (rc == RESULT_OK) {
        rc = warc_hasher_new(&copy.hasher);
    }
    for (size_t i = 0; rc == RESULT_OK && i < list.n; i++) {
        total += list.files[i].size;
    }
    for (size_t i = 0; rc == RESULT_OK && i < list.n; i++) {
        copy.file = &list.files[i];
        rc = archive_copy_file(&copy, end, actions, error);
        done += list.files[i].size;
        progress_show(archive->progress, done, total, archive->records, mono_now());
    }
    warc_files_free(&list);
    warc_hasher_delete(copy.hasher);
    buffer_destroy(&copy.path);
    buffer_destroy(&copy.info);
    buffer_destroy(&copy.plain);
    buffer_destroy(&copy.member);
    return rc;
}
