#include "command/verify/verify_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/bits.h"
#include "store/archive/capture_index.h"

/* ragno verify: pages whose answers are in the files, but not in the index of captures. Of these
 * nobody would miss the answer, and a 304 could not say what it confirms. */

static bool is_unlisted(Verify *verify, MDB_txn *txn, uint64_t index, PageRef *page)
{
    return bits_has(verify->captured, index) && !bits_has(verify->stored, index) &&
           page_db_get(verify->db, txn, index, page, &verify->url) == page_db_error_ok &&
           page->n_crawls > 0 && !verify_is_errand(verify, warc_bytes(page->url, page->url_length));
}

static void verify_files_tell_unlisted(Verify *verify, MDB_txn *txn)
{
    for (uint64_t i = 0; i < verify->n_pages; i++) {
        PageRef page;
        if (is_unlisted(verify, txn, i, &page)) {
            verify_problem(verify, VERIFY_DATABASE,
                           "stored, but the index of captures does not know: %s",
                           buffer_string(&verify->url));
        }
    }
}

/* Pages whose answers the database says are stored, and which are in no file. */

static Result forget_payloads(Verify *verify, MDB_txn *txn)
{
    PayloadIndex payloads = 0;
    Result rc = payload_index_open(&payloads, txn, false);
    if (rc == RESULT_OK) {
        rc = payload_index_clear(payloads, txn);
    }
    if (rc == RESULT_OK) {
        verify_repaired(verify, VERIFY_DATABASE,
                        "index of payloads emptied: no revisits of lost records");
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* What is lost confirms nothing; what is fetched again is not missed any more. */
static Result forget_capture(const Verify *verify, MDB_txn *txn, CaptureIndex captures,
                             uint64_t page)
{
    if (captures == 0 || !verify->options->repair) {
        return RESULT_OK;
    }
    return verify->options->refetch ? capture_index_remove(captures, txn, page)
                                    : capture_index_lost(captures, txn, page);
}

/* Lists what is lost; *lost counts. */
static Result find_lost(Verify *verify, MDB_txn *txn, Schedule *schedule, uint64_t *lost)
{
    CaptureIndex captures = 0;
    Result rc = capture_index_open(&captures, txn, false);
    rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    for (uint64_t i = 0; i < verify->n_pages && rc == RESULT_OK; i++) {
        PageRef page;
        if (!bits_has(verify->stored, i) || bits_has(verify->captured, i) ||
            page_db_get(verify->db, txn, i, &page, &verify->url) != page_db_error_ok) {
            continue;
        }
        if (!bits_has(verify->told, i)) { /* else it was named with its file */
            verify_tell(verify, verify->is_folder_missing ? VERIFY_LOST : VERIFY_PROBLEM,
                        VERIFY_DATABASE, "crawled, but in no WARC file: %s",
                        buffer_string(&verify->url));
        }
        rc = schedule == NULL ? RESULT_OK : verify_schedule_again(verify, txn, schedule, i);
        if (rc == RESULT_OK) {
            rc = forget_capture(verify, txn, captures, i);
        }
        ++*lost;
    }
    return rc;
}

Result verify_captures(Verify *verify)
{
    MDB_txn *txn = NULL;
    Schedule *schedule = NULL;
    uint64_t lost = 0;
    const VerifyOptions *options = verify->options;
    Result rc = verify_begin(verify, options->repair, &txn);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (options->refetch) {
        rc = schedule_open(&schedule, txn, NULL, page_db_journal(verify->db));
    }
    if (rc == RESULT_OK) {
        rc = find_lost(verify, txn, schedule, &lost);
    }
    if (rc == RESULT_OK && !verify->beside) { /* a crawl has stored more since the look */
        verify_files_tell_unlisted(verify, txn);
    }
    if (rc == RESULT_OK && options->refetch && lost > 0) {
        verify_repaired(verify, VERIFY_DATABASE, "%" PRIu64 " pages scheduled to be fetched again",
                        lost);
    }
    if (rc == RESULT_OK && options->repair && (verify->lost_records || lost > 0)) {
        rc = forget_payloads(verify, txn);
    }
    rc = verify_end(verify, options->repair, txn, rc);
    schedule_close(schedule);
    return rc;
}

/* The WARC files and their indices. */

/* Where the last whole record of a file ends, and whether more should follow, or what does is
 * broken. */
typedef struct Tail {
    uint64_t offset;
    bool broken;
} Tail;

/* A file that a running crawl has just begun has no number to be read, and nothing was committed to
 * it. (If something was, find_end misses the number.) */
static uint64_t committed_end(const Verify *verify, const WarcFile *file)
{
    return file->open && !file->readable ? 0 : warc_end_of(&verify->committed, file->serial);
}

/* What lies behind the committed end of a file that is being written is no part of the crawl yet,
 * and after a crash never will be. */
static bool is_committed(const Verify *verify, const WarcFile *file, uint64_t end)
{
    return verify->db == NULL || !file->open || end <= committed_end(verify, file);
}

/* What the record says by itself; the bodies of others' pages are theirs. */
static void verify_files_absent(Verify *verify, const WarcFile *file, const WarcRecord *record)
{
    WarcBytes own = record->block;
    for (size_t i = 0; i < record->n_fields; i++) {
        verify_absent(verify, file->name, "a record's header", record->fields[i].value);
    }
    own.length -= record->is_http ? record->payload.length : 0;
    verify_absent(verify, file->name, "a record", own);
}

/* Reads a file to its end, or to its first broken record; writes its index lines to journal. */
static Result verify_files_read_file(Verify *verify, const WarcFile *file, WarcReader *reader,
                                     FILE *journal, Tail *tail)
{
    WarcRecord record;
    WarcId capture = {{0}};
    uint64_t end = 0;
    Result rc = warc_reader_next(reader, &record);
    while (rc == RESULT_OK) {
        end = record.offset + record.length;
        verify->counts->records++;
        verify_companion(verify, file->name, &record, &capture);
        verify_files_absent(verify, file, &record);
        if (warc_reader_check(reader, &record) != RESULT_OK) {
            verify_problem(verify, file->name, "%s", warc_reader_problem(reader));
        }
        if ((record.type == WARC_WARCINFO) != (record.offset == 0)) {
            verify_problem(verify, file->name, "offset %" PRIu64 ": warcinfo out of place",
                           record.offset);
        }
        buffer_reset(&verify->line);
        rc = warc_record_index(&record, file->name, &verify->line);
        if (rc == RESULT_OK && file->open && record.type == WARC_RESPONSE) {
            rc = verify_remember(verify, &record);
        }
        if (rc == RESULT_OK) {
            capture = record.id;
            rc = is_committed(verify, file, end) ? verify_capture(verify, file->name, &record) : rc;
            if (fwrite(verify->line.data, 1, verify->line.length, journal) != verify->line.length) {
                rc = result_of_errno(errno);
            }
        }
        if (rc == RESULT_OK || rc == RESULT_NOT_FOUND) {
            rc = warc_reader_next(reader, &record);
        }
    }
    uint64_t committed = committed_end(verify, file);
    bool missing = committed != UINT64_MAX && end < committed;
    bool needed = !file->open || end < committed;
    if (rc == RESULT_DAMAGED && needed) {
        verify_problem(verify, file->name, "%s", warc_reader_problem(reader));
    } else if (rc == RESULT_NOT_FOUND && missing) {
        verify_problem(verify, file->name, "ends at %" PRIu64 ", before the last commit", end);
    }
    *tail = (Tail){.offset = end, .broken = missing || (rc == RESULT_DAMAGED && needed)};
    return rc == RESULT_DAMAGED || rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* ---- indices ---- */

/* Compares the index with what it should be; false when they differ (the first differences were
 * told). */
static bool verify_files_compare_indices(Verify *verify, const char *name, FILE *expected,
                                         FILE *actual)
{
    enum { TELL = 5 };
    char *lines[2] = {NULL, NULL};
    size_t capacities[2] = {0, 0};
    unsigned n_different = 0;
    ssize_t want = getline(&lines[0], &capacities[0], expected);
    ssize_t have = getline(&lines[1], &capacities[1], actual);
    while (want > 0 || have > 0) {
        int order = want <= 0 ? 1 : -1; /* the line of the one that has not ended goes first */
        if (want > 0 && have > 0) {
            order = strcmp(lines[0], lines[1]);
        }
        if (order != 0 && ++n_different <= TELL) {
            verify_problem(verify, name, "%s in the index: %.*s",
                           order < 0 ? "record is not" : "line for no record", 200,
                           lines[order < 0 ? 0 : 1]);
        }
        want = order <= 0 ? getline(&lines[0], &capacities[0], expected) : want;
        have = order >= 0 ? getline(&lines[1], &capacities[1], actual) : have;
    }
    if (n_different > TELL) {
        verify_problem(verify, name, "%u more differences in the index", n_different - TELL);
    }
    free(lines[0]);
    free(lines[1]);
    return n_different == 0;
}

/* expected: a sorted index beside the file, which becomes its index when the two differ and repair
 * is wanted; else it is removed. */
static Result settle_index(Verify *verify, const WarcFile *file, const char *expected)
{
    Path path;
    FILE *want = fopen(expected, "rbe");
    Result rc = want == NULL ? result_of_errno(errno) : RESULT_OK;
    FILE *have = fopen(warc_index_path(&path, verify->warc_directory, file->name, false), "rbe");
    bool same = false;
    if (rc == RESULT_OK && have == NULL) {
        verify_problem(verify, file->name, "has no index");
    } else if (rc == RESULT_OK) {
        same = verify_files_compare_indices(verify, file->name, want, have);
    }
    if (want != NULL) {
        (void)fclose(want);
    }
    if (have != NULL) {
        (void)fclose(have);
    }
    if (rc == RESULT_OK && !same && verify->options->repair) {
        rc = rename(expected, path.text) == 0 ? RESULT_OK : result_of_errno(errno);
        if (rc == RESULT_OK) {
            verify_repaired(verify, file->name, "index written anew");
        }
    }
    (void)unlink(expected); /* gone already after a repair */
    return rc;
}

/* WARC files that are not in DIR/warc any more: moved away, which is allowed, or lost.
 *
 * What: finished files may be moved away. The operator puts the name of the file into DIR/moved.txt
 * and leaves its index in DIR/warc: it says what is in the file, so the pages in it are not missed,
 * and a revisit finds its original. A file that is gone and is not named is one problem, and its
 * pages are named on lines that begin with "lost".
 * DIR/moved.txt, names of WARC files without a directory, one a line, is the
 * operator's. */

#define INDEX_SUFFIX  ".cdxj"
#define LINES_PER_TXN 4096u

/* One index without a WARC file. */
typedef struct Orphan {
    Verify *verify;
    const char *file; /* the name of the index */
    bool is_moved;
    uint64_t captures;
    uint64_t lost; /* pages whose answers are nowhere else */
    MDB_txn *txn;
    unsigned lines; /* in this transaction */
} Orphan;

/* ---- which indices ---- */

/* Looked for on the disk, since a running crawl has finished files after they were listed; first as
 * open, since it may finish one between two looks. */
static bool has_warc(const char *directory, const char *index)
{
    static const WarcCompression kinds[] = {WARC_GZIP, WARC_ZSTD};
    static const char *const ends[] = {WARC_OPEN_SUFFIX, ""};
    int stem = (int)(strlen(index) - strlen(INDEX_SUFFIX));
    for (size_t i = 0; i < 4; i++) {
        Path path;
        if (file_exists(file_path(&path, "%s/%.*s.warc%s%s", directory, stem, index,
                                  warc_compression_suffix(kinds[i / 2]), ends[i % 2]))) {
            return true;
        }
    }
    return false;
}

/* Indices without a WARC file. */
typedef struct Orphans {
    const char *directory;
    Buffer names; /* each with its NUL */
} Orphans;

static Result orphans_visit(void *context, const char *name)
{
    Orphans *orphans = context;
    return file_name_ends_with(name, INDEX_SUFFIX) && !has_warc(orphans->directory, name)
               ? buffer_append(&orphans->names, name, strlen(name) + 1)
               : RESULT_OK;
}

/* Whether DIR/moved.txt names the WARC file of an index. */
static bool is_declared(const Verify *verify, const char *index)
{
    size_t stem = strlen(index) - strlen(INDEX_SUFFIX);
    const char *at = buffer_string(&verify->moved);
    for (const char *end = at + verify->moved.length; at < end; at += strlen(at) + 1) {
        WarcCompression compression;
        if (warc_compression_stem(at, &compression) == stem && memcmp(at, index, stem) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- what was in them ---- */

/* Short transactions: a reader of hours would make a running crawl's database grow. */
static Result next_turn(Orphan *orphan)
{
    if (orphan->txn != NULL && ++orphan->lines % LINES_PER_TXN != 0) {
        return RESULT_OK;
    }
    page_db_txn_abort(orphan->verify->db, orphan->txn);
    orphan->txn = NULL;
    return verify_begin(orphan->verify, false, &orphan->txn);
}

static Result verify_missing_take_page(Orphan *orphan, WarcBytes url)
{
    uint64_t page = 0;
    Verify *verify = orphan->verify;
    Result rc = next_turn(orphan);
    if (rc != RESULT_OK ||
        page_db_find(verify->db, orphan->txn, url.bytes, url.length, &page) != page_db_error_ok ||
        page >= verify->n_pages || !bits_has(verify->stored, page) ||
        bits_has(verify->captured, page)) {
        return rc;
    }
    if (orphan->is_moved) {
        bits_set(verify->captured, page);
    } else if (!bits_has(verify->told, page)) {
        bits_set(verify->told, page);
        orphan->lost++;
        verify_lost(verify, orphan->file, "%.*s", (int)url.length, url.bytes);
    }
    return RESULT_OK;
}

static Result verify_missing_read_index(Orphan *orphan, FILE *file, const char *name)
{
    Buffer scratch = {.limit = BUFFER_NO_LIMIT};
    char *line = NULL;
    size_t capacity = 0;
    uint64_t number = 0;
    Result rc = RESULT_OK;
    ssize_t n = getline(&line, &capacity, file);
    for (; n > 0 && rc == RESULT_OK; n = getline(&line, &capacity, file)) {
        CdxjEntry entry;
        number++;
        buffer_reset(&scratch);
        size_t length = (size_t)n - (line[n - 1] == '\n');
        rc = cdxj_parse(warc_bytes(line, length), &scratch, &entry);
        if (rc == RESULT_INVALID) {
            verify_problem(orphan->verify, name, "line %" PRIu64 " is no line of an index", number);
            rc = RESULT_OK;
        } else if (rc == RESULT_OK) {
            orphan->captures++;
            rc = orphan->verify->db == NULL ? RESULT_OK
                                            : verify_missing_take_page(orphan, entry.url);
        }
    }
    if (rc == RESULT_OK && ferror(file)) {
        rc = RESULT_IO;
    }
    free(line);
    buffer_destroy(&scratch);
    return rc;
}

static Result verify_missing_look_at(Verify *verify, const char *index, bool is_moved)
{
    Path path;
    Orphan orphan = {.verify = verify, .file = index, .is_moved = is_moved};
    FILE *file = fopen(file_path(&path, "%s/%s", verify->warc_directory, index), "rbe");
    if (file == NULL) {
        return result_of_errno(errno);
    }
    Result rc = verify_missing_read_index(&orphan, file, index);
    (void)fclose(file);
    page_db_txn_abort(verify->db, orphan.txn);
    int stem = (int)(strlen(index) - strlen(INDEX_SUFFIX));
    if (rc == RESULT_OK && is_moved) {
        (void)fprintf(verify->options->out,
                      "moved\t%s\t%" PRIu64 " captures by its index, not looked at\n", index,
                      orphan.captures);
    } else if (rc == RESULT_OK) {
        verify_problem(verify, index,
                       "index without a WARC file: %.*s.warc.* is missing, with %" PRIu64
                       " captures; the answers of %" PRIu64
                       " pages are in no other file. If it was moved away: a line with its name in "
                       "DIR/moved.txt",
                       stem, index, orphan.captures, orphan.lost);
    }
    return rc;
}

/* First those that were moved, so that nothing in them counts as lost. */
static Result look_at_orphans(Verify *verify, const Buffer *names, bool is_moved)
{
    Result rc = RESULT_OK;
    const char *at = buffer_string(names);
    for (const char *end = at + names->length; at < end && rc == RESULT_OK; at += strlen(at) + 1) {
        if (is_declared(verify, at) == is_moved) {
            rc = verify_missing_look_at(verify, at, is_moved);
        }
    }
    return rc;
}

/* What was declared needs its index here, or nobody knows what was in it. */
static void look_at_declarations(Verify *verify)
{
    Path path;
    const char *at = buffer_string(&verify->moved);
    for (const char *end = at + verify->moved.length; at < end; at += strlen(at) + 1) {
        if (!file_exists(warc_index_path(&path, verify->warc_directory, at, false))) {
            verify_problem(verify, at,
                           "was moved away, and its index is not in warc/ any more: put it back, "
                           "it says what is in the file");
        }
    }
}

/* After the files: what was in those that are not there. */
static Result verify_missing(Verify *verify)
{
    Orphans orphans = {.directory = verify->warc_directory};
    buffer_init(&orphans.names, BUFFER_NO_LIMIT);
    look_at_declarations(verify);
    Result rc = file_walk(verify->warc_directory, orphans_visit, &orphans);
    if (rc == RESULT_OK || rc == RESULT_NOT_FOUND) {
        rc = look_at_orphans(verify, &orphans.names, true);
    }
    if (rc == RESULT_OK) {
        rc = look_at_orphans(verify, &orphans.names, false);
    }
    verify->is_folder_missing = verify->committed.file > 0 && !file_exists(verify->warc_directory);
    if (rc == RESULT_OK && verify->is_folder_missing) {
        verify_problem(
            verify, "warc",
            "the folder is missing, with %u files. If they were moved away: put their indices "
            "back into it, and their names into DIR/moved.txt, one a line",
            (unsigned)verify->committed.file);
    }
    buffer_destroy(&orphans.names);
    return rc;
}

/* ---- DIR/moved.txt ---- */

Result verify_moved(Verify *verify)
{
    Path path;
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    char *save = NULL;
    WarcCompression compression;
    Result rc = file_read(file_path(&path, "%s/moved.txt", verify->options->directory), &text);
    char *line = rc == RESULT_OK && text.length > 0 ? strtok_r(text.data, "\r\n", &save) : NULL;
    for (; rc == RESULT_OK && line != NULL; line = strtok_r(NULL, "\r\n", &save)) {
        if (warc_compression_stem(line, &compression) > 0 && strchr(line, '/') == NULL) {
            rc = buffer_append(&verify->moved, line, strlen(line) + 1);
        } else {
            verify_problem(verify, "moved.txt",
                           "expected the name of a WARC file without its directory, not '%s'",
                           line);
        }
    }
    buffer_destroy(&text);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* ---- files ---- */

/* Moves what follows the last whole record to NAME.damaged. The committed end goes back first: a
 * database that refers to less than there is does no harm. */
static Result verify_files_cut_tail(Verify *verify, const WarcFile *file, uint64_t end)
{
    Path path, aside;
    Result rc = RESULT_OK;
    verify->lost_records = true;
    WarcEnd *committed = &verify->committed;
    if (verify->db != NULL && committed->file == file->serial && end < committed->offset) {
        MDB_txn *txn = NULL;
        committed->offset = end;
        rc = verify_begin(verify, true, &txn);
        if (rc == RESULT_OK) {
            rc = verify_end(verify, true, txn, warc_end_put(txn, committed));
        }
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)warc_path(&path, verify->warc_directory, file->name, file->open);
    (void)file_path(&aside, "%s/%s.damaged", verify->warc_directory, file->name);
    int from = open(path.text, O_RDWR | O_CLOEXEC);
    int to = from < 0 ? -1 : open(aside.text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    rc = to < 0 ? RESULT_IO : file_copy(from, end, UINT64_MAX, to);
    if (rc == RESULT_OK &&
        (fsync(to) != 0 || ftruncate(from, (off_t)end) != 0 || fsync(from) != 0)) {
        rc = RESULT_IO;
    }
    if (rc == RESULT_OK) {
        verify_repaired(verify, file->name,
                        "cut after its last whole record, at %" PRIu64
                        "; the rest is in %s.damaged",
                        end, file->name);
    }
    file_close_fd(from);
    file_close_fd(to);
    return rc;
}

static Result verify_file(Verify *verify, const WarcFile *file)
{
    Path journal, expected;
    WarcReader *reader = NULL;
    Tail tail = {.broken = false};
    uint64_t before = verify->counts->problems;
    uint64_t records = verify->counts->records;
    (void)file_path(&expected, "%s/%s.expected", verify->scratch, file->name);
    FILE *out = fopen(file_path(&journal, "%s/%s.verify", verify->scratch, file->name), "wbe");
    Result rc = out == NULL ? result_of_errno(errno)
                            : warc_reader_open_in(&reader, verify->warc_directory, file->name);
    if (rc == RESULT_OK) {
        rc = verify_files_read_file(verify, file, reader, out, &tail);
    }
    if (out != NULL && fclose(out) != 0 && rc == RESULT_OK) {
        rc = result_of_errno(errno);
    }
    if (rc == RESULT_OK && !file->open) {
        rc = cdxj_sort(journal.text, expected.text);
        if (rc == RESULT_OK) {
            rc = settle_index(verify, file, expected.text);
        }
    }
    warc_reader_close(reader);
    if (rc == RESULT_OK && tail.broken && tail.offset > 0 && verify->options->repair) {
        rc = verify_files_cut_tail(verify, file, tail.offset);
    }
    (void)unlink(journal.text);
    (void)fprintf(verify->options->out, "file\t%s\t%" PRIu64 " records\t%s%s\n", file->name,
                  verify->counts->records - records,
                  verify->counts->problems == before ? "ok" : "bad", file->open ? ", open" : "");
    verify->counts->files++;
    return rc;
}

Result verify_files(Verify *verify)
{
    WarcFileList list;
    Result rc = warc_files_list(verify->warc_directory, &list);
    if (rc == RESULT_NOT_FOUND && verify->committed.file > 0) {
        list = (WarcFileList){.files = NULL}; /* there were files */
    } else if (rc != RESULT_OK) {
        return rc;
    }
    rc = RESULT_OK;
    for (size_t i = 0; i < list.n && rc == RESULT_OK; i++) {
        const WarcFile *file = &list.files[i];
        if (i > 0 && file->serial != 0 && file->serial == list.files[i - 1].serial) {
            verify_problem(verify, file->name, "has the number of %s", list.files[i - 1].name);
        }
        rc = verify_file(verify, file);
        if (rc != RESULT_OK) {
            verify_problem(verify, file->name, "could not be read to its end, or its index: %s",
                           result_name(rc));
        }
    }
    if (rc == RESULT_OK) {
        rc = verify_missing(verify);
    }
    warc_files_free(&list);
    return rc;
}
