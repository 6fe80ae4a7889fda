/* The WARC files and their indices. */
#include "command/verify/verify_missing.h"
#include "command/verify/verify_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/archive/warc_files.h"
#include "store/archive/warc_reader.h"
#include "store/cdxj/cdxj.h"

#define SORT_BYTES ((size_t)32 << 20)

/* Where the last whole record of a file ends, and whether more should follow, or what does is
 * broken. */
typedef struct Tail {
    uint64_t offset;
    bool broken;
} Tail;

/* A file that a running crawl has just begun has no number to be read, and nothing was committed to
 * it. (If something was, find_ends misses the number.) */
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

/* --- indices ---------------------------------------------------------------------------------- */

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
        int order = want <= 0 ? 1 : have <= 0 ? -1 : strcmp(lines[0], lines[1]);
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
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = warc_index_path(&path, verify->warc_directory, file->name, false);
    FILE *want = rc == RESULT_OK ? fopen(expected, "rbe") : NULL;
    FILE *have = rc == RESULT_OK ? fopen(path.data, "rbe") : NULL;
    bool same = false;
    if (rc == RESULT_OK && want == NULL) {
        rc = result_of_errno(errno);
    } else if (rc == RESULT_OK && have == NULL) {
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
        rc = rename(expected, path.data) == 0 ? RESULT_OK : result_of_errno(errno);
        if (rc == RESULT_OK) {
            verify_repaired(verify, file->name, "index written anew");
        }
    }
    (void)unlink(expected); /* gone already after a repair */
    buffer_destroy(&path);
    return rc;
}

/* --- files ------------------------------------------------------------------------------------ */

static Result copy_from(int from, uint64_t offset, int to)
{
    char bytes[16384];
    ssize_t n = pread(from, bytes, sizeof bytes, (off_t)offset);
    while (n > 0) {
        if (write(to, bytes, (size_t)n) != n) {
            return RESULT_FULL;
        }
        offset += (uint64_t)n;
        n = pread(from, bytes, sizeof bytes, (off_t)offset);
    }
    return n == 0 && fsync(to) == 0 ? RESULT_OK : RESULT_IO;
}

/* Moves what follows the last whole record to NAME.damaged. The committed end goes back first: a
 * database that refers to less than there is does no harm. */
static Result verify_files_cut_tail(Verify *verify, const WarcFile *file, uint64_t end)
{
    Buffer path;
    Buffer aside;
    buffer_init(&path, BUFFER_NO_LIMIT);
    buffer_init(&aside, BUFFER_NO_LIMIT);
    verify->lost_records = true;
    Result rc = warc_path(&path, verify->warc_directory, file->name, file->open);
    rc = rc == RESULT_OK
             ? buffer_printf(&aside, "%s/%s.damaged", verify->warc_directory, file->name)
             : rc;
    for (unsigned i = 0; i < verify->committed.n && rc == RESULT_OK && verify->db != NULL; i++) {
        if (verify->committed.at[i].file == file->serial && end < verify->committed.at[i].offset) {
            verify->committed.at[i].offset = end;
            rc = verify_set_end(verify);
        }
    }
    int from = rc == RESULT_OK ? open(path.data, O_RDWR | O_CLOEXEC) : -1;
    int to = from < 0 ? -1 : open(aside.data, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (rc == RESULT_OK) {
        rc = to < 0 ? RESULT_IO : copy_from(from, end, to);
    }
    if (rc == RESULT_OK && (ftruncate(from, (off_t)end) != 0 || fsync(from) != 0)) {
        rc = RESULT_IO;
    }
    if (rc == RESULT_OK) {
        verify_repaired(verify, file->name,
                        "cut after its last whole record, at %" PRIu64
                        "; the rest is in %s.damaged",
                        end, file->name);
    }
    if (from >= 0) {
        (void)close(from);
    }
    if (to >= 0) {
        (void)close(to);
    }
    buffer_destroy(&path);
    buffer_destroy(&aside);
    return rc;
}

/* Temporary files live beside the WARC, where there is room for an index. */
static Result verify_file(Verify *verify, const WarcFile *file)
{
    Buffer journal;
    Buffer expected;
    WarcReader *reader = NULL;
    Tail tail = {.broken = false};
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
        rc = out == NULL ? result_of_errno(errno)
                         : verify_files_read_file(verify, file, reader, out, &tail);
        if (out != NULL && fclose(out) != 0 && rc == RESULT_OK) {
            rc = result_of_errno(errno);
        }
    }
    if (rc == RESULT_OK && !file->open) {
        rc = cdxj_sort(journal.data, expected.data, SORT_BYTES);
        rc = rc == RESULT_OK ? settle_index(verify, file, expected.data) : rc;
    }
    warc_reader_close(reader);
    if (rc == RESULT_OK && tail.broken && tail.offset > 0 && verify->options->repair) {
        rc = verify_files_cut_tail(verify, file, tail.offset);
    }
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

Result verify_files(Verify *verify)
{
    WarcFileList list;
    Result rc = warc_files_list(verify->warc_directory, &list);
    if (rc == RESULT_NOT_FOUND && warc_end_last(&verify->committed) > 0) {
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
        rc = verify_untried(verify);
        rc = rc == RESULT_OK ? verify_missing(verify, &list) : rc;
    }
    warc_files_free(&list);
    return rc;
}
