/* ragno verify: WARC files that are not in DIR/warc any more: moved away, which is allowed, or
 * lost.
 *
 * What: the index that a file leaves behind says what was in it. */
#include "command/verify/verify_missing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/bits.h"
#include "base/memory/file.h"
#include "store/cdxj/cdxj.h"
#include "store/pages/page_db_read.h"

#define INDEX_SUFFIX  ".cdxj"
#define LINES_PER_TXN 4096u

/* One index without a WARC file. */
typedef struct Orphan {
    const char *file; /* the name of the index */
    bool is_moved;
    uint64_t captures;
    uint64_t lost; /* pages whose answers are nowhere else */
} Orphan;

typedef struct Walk {
    Verify *verify;
    Orphan *orphan;
    MDB_txn *txn;
    unsigned lines; /* in this transaction */
} Walk;

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
    return warc_name_ends_with(name, INDEX_SUFFIX) && !has_warc(orphans->directory, name)
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
static Result next_turn(Walk *walk)
{
    if (walk->txn != NULL && ++walk->lines % LINES_PER_TXN != 0) {
        return RESULT_OK;
    }
    if (walk->txn != NULL) {
        page_db_txn_abort(walk->verify->db, walk->txn);
        walk->txn = NULL;
    }
    return verify_begin(walk->verify, false, &walk->txn);
}

static Result verify_missing_take_page(Walk *walk, WarcBytes url)
{
    uint64_t page = 0;
    Verify *verify = walk->verify;
    Orphan *orphan = walk->orphan;
    Result rc = next_turn(walk);
    if (rc != RESULT_OK ||
        page_db_find(verify->db, walk->txn, url.bytes, url.length, &page) != page_db_error_ok ||
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

static Result verify_missing_read_index(Walk *walk, FILE *file, const char *name)
{
    Buffer scratch;
    char *line = NULL;
    size_t capacity = 0;
    uint64_t number = 0;
    Result rc = RESULT_OK;
    ssize_t n = getline(&line, &capacity, file);
    buffer_init(&scratch, BUFFER_NO_LIMIT);
    for (; n > 0 && rc == RESULT_OK; n = getline(&line, &capacity, file)) {
        CdxjEntry entry;
        number++;
        buffer_reset(&scratch);
        size_t length = (size_t)n - (line[n - 1] == '\n');
        rc = cdxj_parse(warc_bytes(line, length), &scratch, &entry);
        if (rc == RESULT_INVALID) {
            verify_problem(walk->verify, name, "line %" PRIu64 " is no line of an index", number);
            rc = RESULT_OK;
        } else if (rc == RESULT_OK) {
            walk->orphan->captures++;
            rc = walk->verify->db == NULL ? RESULT_OK : verify_missing_take_page(walk, entry.url);
        }
    }
    rc = rc == RESULT_OK && ferror(file) ? RESULT_IO : rc;
    free(line);
    buffer_destroy(&scratch);
    return rc;
}

static Result verify_missing_look_at(Verify *verify, const char *index, bool is_moved)
{
    Path path;
    Orphan orphan = {.file = index, .is_moved = is_moved};
    Walk walk = {.verify = verify, .orphan = &orphan};
    FILE *file = fopen(file_path(&path, "%s/%s", verify->warc_directory, index), "rbe");
    if (file == NULL) {
        return result_of_errno(errno);
    }
    Result rc = verify_missing_read_index(&walk, file, index);
    (void)fclose(file);
    if (walk.txn != NULL) {
        page_db_txn_abort(verify->db, walk.txn);
    }
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

Result verify_missing(Verify *verify)
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
    Buffer text;
    char *save = NULL;
    WarcCompression compression;
    buffer_init(&text, BUFFER_NO_LIMIT);
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
