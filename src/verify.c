#include "verify.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/cdxj.h"
#include "store/page_db.h"
#include "store/warc_end.h"
#include "store/warc_files.h"
#include "store/warc_reader.h"

#define SORT_BYTES ((size_t)32 << 20)

typedef struct Verify {
    const VerifyOptions *options;
    VerifyCounts *counts;
    char *warc_directory;
    PageDB *db;        /* NULL: there is none */
    uint8_t *crawled;  /* one bit per page: before the committed end was read */
    uint8_t *captured; /* the same */
    uint64_t n_pages;
    WarcPosition committed; /* {0} when the database knows none */
    Buffer line;
    Buffer url;
} Verify;

static void problem(Verify *verify, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void problem(Verify *verify, const char *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(verify->options->out, "problem\t%s\t", file);
    (void)vfprintf(verify->options->out, format, arguments);
    (void)fputc('\n', verify->options->out);
    va_end(arguments);
    verify->counts->problems++;
}

/* --- records ---------------------------------------------------------------------------------- */

typedef struct Original {
    WarcBytes timestamp;
    bool found;
} Original;

static bool is_original(void *context, const CdxjEntry *entry)
{
    Original *original = context;
    original->found = !warc_bytes_are(entry->mime, "warc/revisit") &&
                      memcmp(entry->timestamp.bytes, original->timestamp.bytes, 14) == 0;
    return !original->found;
}

/* The record that a revisit refers to is stored too. */
static Result check_revisit(Verify *verify, const char *file, const WarcRecord *record)
{
    WarcBytes uri;
    WarcBytes date;
    WallTime t;
    char timestamp[WARC_DATE_BYTES];
    verify->counts->revisits++;
    if (!warc_record_field(record, "warc-refers-to-target-uri", &uri) ||
        !warc_record_field(record, "warc-refers-to-date", &date) || !warc_date_parse(date, &t)) {
        problem(verify, file, "offset %" PRIu64 ": revisit refers to nothing", record->offset);
        return RESULT_OK;
    }
    Original original = {.timestamp = warc_bytes(warc_date_timestamp(t, timestamp), 14)};
    Result rc = cdxj_find(verify->warc_directory, uri.bytes, uri.length, is_original, &original);
    if (rc == RESULT_OK && !original.found) {
        problem(verify, file,
                "offset %" PRIu64 ": the original of the revisit is not stored: %.*s %s",
                record->offset, (int)uri.length, uri.bytes, timestamp);
    }
    return rc;
}

/* The page of a capture is known, and known to be tried. */
static Result check_page(Verify *verify, const char *file, const WarcRecord *record, MDB_txn *txn)
{
    uint64_t index = 0;
    PageRef page;
    int rc = page_db_find(verify->db, txn, record->uri.bytes, record->uri.length, &index);
    if (rc == page_db_error_no_page) {
        verify->counts->strangers++;
        return RESULT_OK;
    }
    if (rc == page_db_error_ok) {
        rc = page_db_get(verify->db, txn, index, &page, &verify->url);
    }
    if (rc != page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    if (page.n_crawls == 0 && page.status == 0) {
        problem(verify, file, "offset %" PRIu64 ": captured, but PageDB never saw it tried: %.*s",
                record->offset, (int)record->uri.length, record->uri.bytes);
    }
    if (index < verify->n_pages) {
        verify->captured[index / 8] |= (uint8_t)(1u << index % 8);
    }
    return RESULT_OK;
}

static Result check_capture(Verify *verify, const char *file, const WarcRecord *record)
{
    MDB_txn *txn = NULL;
    verify->counts->captures++;
    Result rc = record->type == WARC_REVISIT ? check_revisit(verify, file, record) : RESULT_OK;
    if (rc != RESULT_OK || verify->db == NULL) {
        return rc;
    }
    /* Short transactions: a reader of hours would make a running crawl's database grow. */
    if (page_db_txn_begin(verify->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    rc = check_page(verify, file, record, txn);
    page_db_txn_abort(verify->db, txn);
    return rc;
}

/* What lies behind the committed end of a file that is being written is no part of the crawl yet,
 * and after a crash never will be. */
static bool is_committed(const Verify *verify, const WarcFile *file, uint64_t end)
{
    const WarcPosition *committed = &verify->committed;
    return verify->db == NULL || !file->open || file->serial < committed->file ||
           (file->serial == committed->file && end <= committed->offset);
}

/* Reads a file to its end, or to its first broken record; writes its index lines to journal. */
static Result read_file(Verify *verify, const WarcFile *file, WarcReader *reader, FILE *journal)
{
    WarcRecord record;
    uint64_t end = 0;
    Result rc = warc_reader_next(reader, &record);
    while (rc == RESULT_OK) {
        end = record.offset + record.length;
        verify->counts->records++;
        if (warc_reader_check(reader, &record) != RESULT_OK) {
            problem(verify, file->name, "%s", warc_reader_problem(reader));
        }
        if ((record.type == WARC_WARCINFO) != (record.offset == 0)) {
            problem(verify, file->name, "offset %" PRIu64 ": warcinfo out of place", record.offset);
        }
        buffer_reset(&verify->line);
        rc = warc_record_index(&record, file->name, &verify->line);
        if (rc == RESULT_OK) {
            rc = is_committed(verify, file, end) ? check_capture(verify, file->name, &record) : rc;
            if (fwrite(verify->line.data, 1, verify->line.length, journal) != verify->line.length) {
                rc = result_of_errno(errno);
            }
        }
        if (rc == RESULT_OK || rc == RESULT_NOT_FOUND) {
            rc = warc_reader_next(reader, &record);
        }
    }
    const WarcPosition *committed = &verify->committed;
    bool missing = file->serial == committed->file && end < committed->offset;
    bool needed = !file->open || missing || file->serial < committed->file;
    if (rc == RESULT_DAMAGED && needed) {
        problem(verify, file->name, "%s", warc_reader_problem(reader));
    } else if (rc == RESULT_NOT_FOUND && missing) {
        problem(verify, file->name, "ends at %" PRIu64 ", before the last commit", end);
    }
    return rc == RESULT_DAMAGED || rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* --- indices ---------------------------------------------------------------------------------- */

/* Compares the index with what it should be; false when they differ (the first differences were
 * told). */
static bool compare_indices(Verify *verify, const char *name, FILE *expected, FILE *actual)
{
    enum { TELL = 5 };
    char *lines[2] = {NULL, NULL};
    size_t capacities[2] = {0, 0};
    unsigned n_different = 0;
    ssize_t want = getline(&lines[0], &capacities[0], expected);
    ssize_t have = getline(&lines[1], &capacities[1], actual);
    while (want > 0 || have > 0) {
        int order = want <= 0 ? 1 : have <= 0 ? -1 : strcmp(lines[0], lines[1]);
        if (order != 0 && ++n_different <= TELL) {
            problem(verify, name, "%s in the index: %.*s",
                    order < 0 ? "record is not" : "line for no record", 200,
                    lines[order < 0 ? 0 : 1]);
        }
        want = order <= 0 ? getline(&lines[0], &capacities[0], expected) : want;
        have = order >= 0 ? getline(&lines[1], &capacities[1], actual) : have;
    }
    if (n_different > TELL) {
        problem(verify, name, "%u more differences in the index", n_different - TELL);
    }
    free(lines[0]);
    free(lines[1]);
    return n_different == 0;
}

/* expected: a sorted index beside the file, which becomes its index when the two differ and repair
 * is wanted; else it is removed. */
static Result settle_index(Verify *verify, const WarcFile *file, const char *expected)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = warc_index_path(&path, verify->warc_directory, file->name, false);
    FILE *want = rc == RESULT_OK ? fopen(expected, "rbe") : NULL;
    FILE *have = rc == RESULT_OK ? fopen(path.data, "rbe") : NULL;
    bool same = false;
    if (rc == RESULT_OK && want == NULL) {
        rc = result_of_errno(errno);
    } else if (rc == RESULT_OK && have == NULL) {
        problem(verify, file->name, "has no index");
    } else if (rc == RESULT_OK) {
        same = compare_indices(verify, file->name, want, have);
    }
    if (want != NULL) {
        (void)fclose(want);
    }
    if (have != NULL) {
        (void)fclose(have);
    }
    if (rc == RESULT_OK && !same && verify->options->repair) {
        rc = rename(expected, path.data) == 0 ? RESULT_OK : result_of_errno(errno);
        verify->counts->repaired += rc == RESULT_OK ? 1 : 0;
    }
    (void)unlink(expected); /* gone already after a repair */
    buffer_destroy(&path);
    return rc;
}

/* Temporary files live beside the WARC, where there is room for an index. */
static Result verify_file(Verify *verify, const WarcFile *file)
{
    Buffer journal;
    Buffer expected;
    WarcReader *reader = NULL;
    buffer_init(&journal, BUFFER_NO_LIMIT);
    buffer_init(&expected, BUFFER_NO_LIMIT);
    uint64_t before = verify->counts->problems;
    uint64_t records = verify->counts->records;
    Result rc = buffer_printf(&journal, "%s/%s.verify", verify->warc_directory, file->name);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&expected, "%s/%s.expected", verify->warc_directory, file->name);
    }
    if (rc == RESULT_OK) {
        rc = warc_reader_open_in(&reader, verify->warc_directory, file->name);
    }
    if (rc == RESULT_OK) {
        FILE *out = fopen(journal.data, "wbe");
        rc = out == NULL ? result_of_errno(errno) : read_file(verify, file, reader, out);
        if (out != NULL && fclose(out) != 0 && rc == RESULT_OK) {
            rc = result_of_errno(errno);
        }
    }
    if (rc == RESULT_OK && !file->open) {
        rc = cdxj_sort(journal.data, expected.data, SORT_BYTES);
        rc = rc == RESULT_OK ? settle_index(verify, file, expected.data) : rc;
    }
    warc_reader_close(reader);
    if (journal.length > 0) {
        (void)unlink(journal.data);
    }
    (void)fprintf(verify->options->out, "file\t%s\t%" PRIu64 " records\t%s%s\n", file->name,
                  verify->counts->records - records,
                  verify->counts->problems == before ? "ok" : "bad", file->open ? ", open" : "");
    buffer_destroy(&journal);
    buffer_destroy(&expected);
    verify->counts->files++;
    return rc;
}

static bool has_file(const WarcFileList *list, const char *stem, size_t length)
{
    for (size_t i = 0; i < list->n; i++) {
        const char *name = list->files[i].name;
        if (strncmp(name, stem, length) == 0 && strcmp(name + length, ".warc.gz") == 0) {
            return true;
        }
    }
    return false;
}

/* Indices without a WARC file. */
static Result find_orphans(Verify *verify, const WarcFileList *list)
{
    DIR *dir = opendir(verify->warc_directory);
    if (dir == NULL) {
        return result_of_errno(errno);
    }
    const struct dirent *entry = NULL;
    while ((entry = readdir(dir)) != NULL) {
        size_t n = strlen(entry->d_name);
        if (n > 5 && strcmp(entry->d_name + n - 5, ".cdxj") == 0 &&
            !has_file(list, entry->d_name, n - 5)) {
            problem(verify, entry->d_name, "index without a WARC file");
        }
    }
    (void)closedir(dir);
    return RESULT_OK;
}

/* The file that the database has committed to is there. */
static void find_end(Verify *verify, const WarcFileList *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->files[i].serial == verify->committed.file) {
            return;
        }
    }
    if (verify->committed.file > 0) {
        problem(verify, "crawl.mdb", "file number %u of the last commit is missing",
                (unsigned)verify->committed.file);
    }
}

static Result verify_files(Verify *verify)
{
    WarcFileList list;
    Result rc = warc_files_list(verify->warc_directory, &list);
    if (rc != RESULT_OK) {
        return rc;
    }
    for (size_t i = 0; i < list.n && rc == RESULT_OK; i++) {
        const WarcFile *file = &list.files[i];
        if (i > 0 && file->serial != 0 && file->serial == list.files[i - 1].serial) {
            problem(verify, file->name, "has the number of %s", list.files[i - 1].name);
        }
        rc = verify_file(verify, file);
    }
    if (rc == RESULT_OK) {
        find_end(verify, &list);
        rc = find_orphans(verify, &list);
    }
    warc_files_free(&list);
    return rc;
}

/* --- pages ------------------------------------------------------------------------------------ */

typedef Result (*VisitPage)(Verify *verify, const PageRef *page);

/* Visits all pages of the start, in short transactions. */
static Result walk_pages(Verify *verify, VisitPage visit)
{
    enum { PAGES_PER_TXN = 4096 };
    MDB_txn *txn = NULL;
    Result rc = RESULT_OK;
    for (uint64_t i = 0; i < verify->n_pages && rc == RESULT_OK; i++) {
        PageRef page;
        if (txn == NULL && page_db_txn_begin(verify->db, true, &txn) != page_db_error_ok) {
            return RESULT_IO;
        }
        if (page_db_get(verify->db, txn, i, &page, &verify->url) == page_db_error_ok) {
            rc = visit(verify, &page);
        } else {
            problem(verify, "crawl.mdb", "page %" PRIu64 " cannot be read", i);
        }
        if (i % PAGES_PER_TXN == PAGES_PER_TXN - 1) {
            page_db_txn_abort(verify->db, txn);
            txn = NULL;
        }
    }
    if (txn != NULL) {
        page_db_txn_abort(verify->db, txn);
    }
    return rc;
}

static Result note_crawled(Verify *verify, const PageRef *page)
{
    if (page->n_crawls > 0) {
        verify->counts->pages++;
        verify->crawled[page->index / 8] |= (uint8_t)(1u << page->index % 8);
    }
    return RESULT_OK;
}

/* Pages that were crawled, answered, and are in no WARC file. */
static Result verify_pages(Verify *verify)
{
    MDB_txn *txn = NULL;
    PageRef page;
    if (page_db_txn_begin(verify->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    for (uint64_t i = 0; i < verify->n_pages; i++) {
        bool lost = (verify->crawled[i / 8] & ~verify->captured[i / 8] & 1u << i % 8) != 0;
        if (lost && page_db_get(verify->db, txn, i, &page, &verify->url) == page_db_error_ok) {
            problem(verify, "crawl.mdb", "crawled, but in no WARC file: %s",
                    buffer_string(&verify->url));
        }
    }
    page_db_txn_abort(verify->db, txn);
    return RESULT_OK;
}

/* Which pages are crawled is noted before the end of the files is read, so that whatever a running
 * crawl adds meanwhile is not missed in them. */
static Result snapshot(Verify *verify)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(verify->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    verify->n_pages = page_db_n_pages(verify->db, txn);
    page_db_txn_abort(verify->db, txn);
    verify->captured = calloc(verify->n_pages / 8 + 1, 1);
    verify->crawled = calloc(verify->n_pages / 8 + 1, 1);
    if (verify->captured == NULL || verify->crawled == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = walk_pages(verify, note_crawled);
    if (rc == RESULT_OK && page_db_txn_begin(verify->db, true, &txn) != page_db_error_ok) {
        rc = RESULT_IO;
    }
    if (rc == RESULT_OK) {
        rc = warc_end_get(txn, &verify->committed);
        page_db_txn_abort(verify->db, txn);
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* No database is no problem: WARC files can be verified alone. */
static Result open_pages(Verify *verify)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/crawl.mdb/data.mdb", verify->options->directory);
    if (rc == RESULT_OK && access(path.data, F_OK) == 0) {
        *strrchr(path.data, '/') = '\0';
        PageDBOptions options = {.read_only = true, .no_create = true};
        int code = page_db_open(&verify->db, path.data, &options);
        if (code != page_db_error_ok) {
            problem(verify, "crawl.mdb", "cannot be opened");
            rc = code == page_db_error_version ? RESULT_VERSION : RESULT_DAMAGED;
        } else {
            rc = snapshot(verify);
        }
    }
    buffer_destroy(&path);
    return rc;
}

Result verify_directory(const VerifyOptions *options, VerifyCounts *counts)
{
    Verify verify = {.options = options, .counts = counts};
    *counts = (VerifyCounts){.files = 0};
    Buffer directory;
    buffer_init(&directory, BUFFER_NO_LIMIT);
    buffer_init(&verify.line, BUFFER_NO_LIMIT);
    buffer_init(&verify.url, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&directory, "%s/warc", options->directory);
    verify.warc_directory = directory.data;
    if (rc == RESULT_OK) {
        rc = open_pages(&verify);
    }
    if (rc == RESULT_OK) {
        rc = verify_files(&verify);
        /* A crawl without WARC has no folder, and then nothing to compare pages with. */
        if (rc == RESULT_NOT_FOUND && verify.db != NULL) {
            rc = RESULT_OK;
        } else if (rc == RESULT_OK && verify.db != NULL) {
            rc = verify_pages(&verify);
        }
    }
    (void)fprintf(options->out,
                  "sum\t%" PRIu64 " files\t%" PRIu64 " records\t%" PRIu64 " captures\t%" PRIu64
                  " revisits\t%" PRIu64 " pages\t%" PRIu64 " captures of no page\t%" PRIu64
                  " problems\t%" PRIu64 " repaired\n",
                  counts->files, counts->records, counts->captures, counts->revisits, counts->pages,
                  counts->strangers, counts->problems, counts->repaired);
    (void)page_db_delete(verify.db);
    free(verify.captured);
    free(verify.crawled);
    buffer_destroy(&directory);
    buffer_destroy(&verify.line);
    buffer_destroy(&verify.url);
    return rc;
}

static int usage(FILE *out)
{
    (void)fprintf(out, "usage: ragno verify DIR [--repair]\n"
                       "Checks that WARC files, their indices and PageDB agree; --repair writes\n"
                       "indices anew. Exit status: 0 no problem, 1 problems, 3 cannot be read.\n");
    return out == stdout ? 0 : 2;
}

int verify_main(int argc, char **argv)
{
    VerifyOptions options = {.out = stdout};
    VerifyCounts counts;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return usage(stdout);
        }
        if (strcmp(argv[i], "--repair") == 0) {
            options.repair = true;
        } else if (argv[i][0] != '-' && options.directory == NULL) {
            options.directory = argv[i];
        } else {
            (void)fprintf(stderr, "ragno verify: unexpected '%s'\n", argv[i]);
            return usage(stderr);
        }
    }
    if (options.directory == NULL) {
        return usage(stderr);
    }
    Result rc = verify_directory(&options, &counts);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno verify: %s: %s\n", options.directory, result_name(rc));
        return 3;
    }
    return counts.problems == 0 ? 0 : 1;
}
