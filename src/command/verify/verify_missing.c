/* ragno verify: WARC files that are not in DIR/warc any more: moved away, which is allowed, or
 * lost.
 *
 * What: the index that a file leaves behind says what was in it. DIR/moved.txt has the names of the
 * files that the operator has declared as moved, one a line. */
#include "command/verify/verify_missing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "base/memory/bits.h"
#include "base/memory/file.h"
#include "store/archive/warc_files.h"
#include "store/cdxj/cdxj.h"
#include "store/pages/page_db_read.h"
#include "base/core/hash.h"

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

/* Whether the WARC file of an index is declared. */
static bool is_declared(const Verify *verify, const char *index)
{
    MapKey key = verify_moved_key(index, strlen(index) - strlen(INDEX_SUFFIX));
    return map_get(&verify->declared, key) != NULL;
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
        verify_problem(
            verify, index,
            "index without a WARC file: %.*s.warc.* is missing, with %" PRIu64
            " captures; the answers of %" PRIu64
            " pages are in no other file. If it was moved away: ragno verify DIR --moved "
            "FILE",
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
static Result look_at_declarations(Verify *verify)
{
    Buffer path;
    Result rc = RESULT_OK;
    const char *at = buffer_string(&verify->moved);
    buffer_init(&path, BUFFER_NO_LIMIT);
    for (const char *end = at + verify->moved.length; at < end && rc == RESULT_OK;
         at += strlen(at) + 1) {
        buffer_reset(&path);
        rc = warc_index_path(&path, verify->warc_directory, at, false);
        if (rc == RESULT_OK && access(buffer_string(&path), F_OK) != 0) {
            verify_problem(verify, at,
                           "was moved away, and its index is not in warc/ any more: put it back, "
                           "it says what is in the file");
        }
    }
    buffer_destroy(&path);
    return rc;
}

Result verify_missing(Verify *verify)
{
    Orphans orphans = {.directory = verify->warc_directory};
    buffer_init(&orphans.names, BUFFER_NO_LIMIT);
    Result rc = look_at_declarations(verify);
    if (rc == RESULT_OK) {
        rc = file_walk(verify->warc_directory, orphans_visit, &orphans);
    }
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
            "the folder is missing, with %u files. If they were moved away: ragno verify "
            "DIR --moved FILE...",
            (unsigned)verify->committed.file);
    }
    buffer_destroy(&orphans.names);
    return rc;
}

/* ragno verify --moved: which files were moved away. */

MapKey verify_moved_key(const char *name, size_t length)
{
    return map_key(hash_64(name, length, 5));
}

static Result verify_moved_add(Verify *verify, const char *name, size_t stem)
{
    Result rc = buffer_append(&verify->moved, name, strlen(name) + 1);
    return rc == RESULT_OK ? map_put(&verify->declared, verify_moved_key(name, stem), verify) : rc;
}

/* Adds the names in the file. */
static Result read_names(Verify *verify, const char *path)
{
    char *line = NULL;
    size_t capacity = 0;
    WarcCompression compression;
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return errno == ENOENT ? RESULT_OK : result_of_errno(errno);
    }
    Result rc = RESULT_OK;
    ssize_t n = getline(&line, &capacity, file);
    for (unsigned number = 1; n > 0 && rc == RESULT_OK;
         n = getline(&line, &capacity, file), number++) {
        line[strcspn(line, "\r\n")] = '\0';
        size_t stem = warc_compression_stem(line, &compression);
        if (stem > 0 && strchr(line, '/') == NULL) {
            rc = verify_moved_add(verify, line, stem);
        } else if (*line != '\0') {
            verify_problem(verify, "moved.txt",
                           "line %u: expected the name of a WARC file without its directory, not "
                           "'%s'",
                           number, line);
        }
    }
    rc = rc == RESULT_OK && ferror(file) ? RESULT_IO : rc;
    free(line);
    (void)fclose(file);
    return rc;
}

static Result verify_moved_refuse(const char *file, const char *why)
{
    (void)fprintf(stderr, "ragno verify: --moved %s: %s\n", file, why);
    return RESULT_INVALID;
}

/* The index of the file is in warc/, or is copied there from beside the file: whole, or not at all.
 */
static Result fetch_index(Verify *verify, const char *file, const char *name, size_t stem)
{
    Path here, there;
    Buffer index;
    if (file_exists(
            file_path(&here, "%s/%.*s" INDEX_SUFFIX, verify->warc_directory, (int)stem, name))) {
        return RESULT_OK;
    }
    (void)file_path(&there, "%.*s%.*s" INDEX_SUFFIX, (int)(name - file), file, (int)stem, name);
    buffer_init(&index, BUFFER_NO_LIMIT);
    Result rc = file_read(there.text, &index);
    if (rc == RESULT_OK && mkdir(verify->warc_directory, 0755) != 0 && errno != EEXIST) {
        rc = result_of_errno(errno);
    }
    if (rc == RESULT_OK) {
        rc = file_replace(here.text, buffer_string(&index), index.length);
    }
    buffer_destroy(&index);
    return rc == RESULT_OK
               ? rc
               : verify_moved_refuse(
                     file, "its index (.cdxj) is neither in warc/ nor beside it, or cannot be "
                           "copied: it says what is in the file");
}

static Result declare(Verify *verify, const char *file, FILE *list)
{
    WarcCompression compression;
    Path here;
    const char *slash = strrchr(file, '/');
    const char *name = slash == NULL ? file : slash + 1;
    size_t stem = warc_compression_stem(name, &compression);
    if (stem == 0) {
        return verify_moved_refuse(file, "expected a WARC file, NAME.warc.gz or NAME.warc.zst");
    }
    if (map_get(&verify->declared, verify_moved_key(name, stem)) != NULL) {
        return RESULT_OK;
    }
    if (file_exists(file_path(&here, "%s/%s", verify->warc_directory, name))) {
        return verify_moved_refuse(file, "it is in warc/");
    }
    Result rc = fetch_index(verify, file, name, stem);
    if (rc == RESULT_OK && fprintf(list, "%s\n", name) < 0) {
        rc = RESULT_FULL;
    }
    return rc == RESULT_OK ? verify_moved_add(verify, name, stem) : rc;
}

Result verify_moved(Verify *verify)
{
    Path path;
    const VerifyOptions *options = verify->options;
    Result rc = read_names(verify, file_path(&path, "%s/moved.txt", options->directory));
    if (rc != RESULT_OK || options->n_moved == 0) {
        return rc;
    }
    FILE *list = fopen(path.text, "abe");
    if (list == NULL) {
        return result_of_errno(errno);
    }
    for (size_t i = 0; i < options->n_moved && rc == RESULT_OK; i++) {
        rc = declare(verify, options->moved[i], list);
    }
    bool kept = fflush(list) == 0 && fsync(fileno(list)) == 0;
    kept = fclose(list) == 0 && kept;
    return rc == RESULT_OK && !kept ? RESULT_IO : rc;
}
