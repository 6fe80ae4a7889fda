#include "store/archive/warc_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "store/cdxj/cdxj.h"
#include "store/archive/warc_reader.h"

#define COMPONENT "warc"
#define SUFFIX    ".warc"

static Result failed(const char *what, const char *path)
{
    int error = errno;
    LOG_ERROR(COMPONENT, "file operation failed", "step=%s file=%s error=%s", what, path,
              strerror(error));
    return result_of_errno(error);
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t n = strlen(text);
    size_t m = strlen(suffix);
    return n > m && memcmp(text + n - m, suffix, m) == 0;
}

/* Appends the value of the placeholder at *at ("{serial:05}") and moves *at behind it. */
static Result append_placeholder(const char **at, WallTime date, uint32_t serial, const char *host,
                                 Buffer *out, bool *has_serial)
{
    const char *close = strchr(*at, '}');
    if (close == NULL) {
        return RESULT_INVALID;
    }
    WarcBytes word = warc_bytes(*at + 1, (size_t)(close - *at - 1));
    *at = close + 1;
    char text[WARC_DATE_BYTES];
    uint64_t width = 0;
    if (warc_bytes_are(word, "timestamp")) {
        return buffer_append_string(out, warc_date_timestamp(date, text));
    }
    if (warc_bytes_are(word, "host")) {
        return buffer_append_string(out, host == NULL ? "localhost" : host);
    }
    bool padded = word.length > 8 && memcmp(word.bytes, "serial:0", 8) == 0 &&
                  warc_bytes_number(warc_bytes(word.bytes + 8, word.length - 8), 9, &width);
    if (!padded && !warc_bytes_are(word, "serial")) {
        return RESULT_INVALID;
    }
    *has_serial = true;
    return buffer_printf(out, "%0*u", padded ? (int)width : 1, (unsigned)serial);
}

Result warc_name_make(const char *pattern, WallTime date, uint32_t serial, const char *host,
                      WarcCompression compression, WarcName *name)
{
    Buffer out;
    bool has_serial = false;
    WarcCompression ignored;
    Result rc = RESULT_OK;
    buffer_init(&out, WARC_NAME_BYTES - 16); /* room for .open and .cdxj.run12 */
    for (const char *at = pattern; *at != '\0' && rc == RESULT_OK;) {
        rc = *at == '{' ? append_placeholder(&at, date, serial, host, &out, &has_serial)
                        : buffer_append_char(&out, *at++);
    }
    size_t stem = warc_compression_stem(buffer_string(&out), &ignored);
    if (stem > 0) {
        out.length = stem + strlen(SUFFIX);
        out.data[out.length] = '\0';
    }
    bool is_warc = ends_with(buffer_string(&out), SUFFIX);
    if (rc == RESULT_OK) {
        rc = buffer_append_string(&out, warc_compression_suffix(compression));
    }
    const char *text = buffer_string(&out);
    bool clean = has_serial && is_warc && text[0] != '.';
    for (const char *c = text; *c != '\0'; c++) {
        clean = clean && *c > ' ' && *c != '/' && *c != '"' && *c != '\\' && *c != 0x7f;
    }
    if (rc == RESULT_LIMIT || (rc == RESULT_OK && !clean)) {
        rc = RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        memcpy(name->text, text, out.length + 1);
    }
    buffer_destroy(&out);
    return rc;
}

Result warc_path(Buffer *path, const char *directory, const char *name, bool open)
{
    buffer_reset(path);
    return buffer_printf(path, "%s/%s%s", directory, name, open ? WARC_OPEN_SUFFIX : "");
}

Result warc_index_path(Buffer *path, const char *directory, const char *name, bool open)
{
    WarcCompression ignored;
    size_t stem = warc_compression_stem(name, &ignored);
    buffer_reset(path);
    return buffer_printf(path, "%s/%.*s.cdxj%s", directory, (int)stem, name,
                         open ? WARC_OPEN_SUFFIX : "");
}

Result warc_files_sync_directory(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return failed("open", directory);
    }
    Result rc = fsync(fd) == 0 ? RESULT_OK : failed("sync", directory);
    (void)close(fd);
    return rc;
}

/* --- listing ---------------------------------------------------------------------------------- */

/* The number in the fields of a warcinfo record; 0 when there is none. */
static uint32_t serial_of(WarcBytes fields)
{
    static const char name[] = "ragno-serial:";
    const char *end = fields.bytes + fields.length;
    for (const char *at = fields.bytes; at < end;) {
        const char *lf = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((lf == NULL ? end : lf) - at);
        if (n > sizeof name && memcmp(at, name, sizeof name - 1) == 0) {
            uint64_t serial = 0;
            size_t start = sizeof name - 1;
            WarcBytes text = warc_bytes(at + start, n - start - (at[n - 1] == '\r' ? 1 : 0));
            return warc_bytes_number(warc_bytes_trim(text), UINT32_MAX, &serial) ? (uint32_t)serial
                                                                                 : 0;
        }
        at = lf == NULL ? end : lf + 1;
    }
    return 0;
}

static Result inspect(const char *directory, WarcFile *file)
{
    WarcReader *reader = NULL;
    WarcRecord record;
    /* Under either name: a running crawl may have finished it since it was listed. */
    Result rc = warc_reader_open_in(&reader, directory, file->name);
    if (rc == RESULT_OK) {
        file->size = warc_reader_size(reader);
        Result first = warc_reader_next(reader, &record);
        file->readable = first == RESULT_OK && record.type == WARC_WARCINFO;
        if (file->readable) {
            file->serial = serial_of(record.block);
            file->date = record.date;
        }
        rc = first == RESULT_MEMORY ? first : RESULT_OK;
    }
    warc_reader_close(reader);
    return rc;
}

static Result add_file(WarcFileList *list, const char *directory, const char *entry)
{
    bool open = ends_with(entry, WARC_OPEN_SUFFIX);
    WarcCompression compression = WARC_GZIP;
    char *name = strndup(entry, strlen(entry) - (open ? strlen(WARC_OPEN_SUFFIX) : 0));
    if (name == NULL) {
        return RESULT_MEMORY;
    }
    if (warc_compression_stem(name, &compression) == 0) {
        free(name);
        return RESULT_OK;
    }
    WarcFile *files = realloc(list->files, (list->n + 1) * sizeof *files);
    if (files == NULL) {
        free(name);
        return RESULT_MEMORY;
    }
    list->files = files;
    WarcFile *file = &files[list->n++];
    *file = (WarcFile){.name = name, .compression = compression, .open = open};
    return inspect(directory, file);
}

static int compare_files(const void *left, const void *right)
{
    const WarcFile *a = left;
    const WarcFile *b = right;
    int order = (a->serial > b->serial) - (a->serial < b->serial);
    return order != 0 ? order : strcmp(a->name, b->name);
}

Result warc_files_list(const char *directory, WarcFileList *list)
{
    *list = (WarcFileList){.files = NULL};
    DIR *dir = opendir(directory);
    if (dir == NULL) {
        return result_of_errno(errno);
    }
    Result rc = RESULT_OK;
    const struct dirent *entry = NULL;
    while (rc == RESULT_OK && (entry = readdir(dir)) != NULL) {
        rc = add_file(list, directory, entry->d_name);
    }
    (void)closedir(dir);
    if (rc != RESULT_OK) {
        warc_files_free(list);
    } else if (list->n > 0) {
        qsort(list->files, list->n, sizeof *list->files, compare_files);
    }
    return rc;
}

void warc_files_free(WarcFileList *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->files[i].name);
    }
    free(list->files);
    *list = (WarcFileList){.files = NULL};
}

/* --- indices ---------------------------------------------------------------------------------- */

static Result index_records(WarcReader *reader, const char *filename, uint64_t end, FILE *out)
{
    WarcRecord record;
    Buffer line;
    uint64_t at = 0;
    Result rc = RESULT_OK;
    buffer_init(&line, BUFFER_NO_LIMIT);
    while (rc == RESULT_OK && at < end) {
        rc = warc_reader_next(reader, &record);
        if (rc == RESULT_NOT_FOUND) {
            LOG_ERROR(COMPONENT, "file is too short", "file=%s", filename);
            rc = RESULT_DAMAGED;
        } else if (rc == RESULT_DAMAGED) {
            LOG_ERROR(COMPONENT, "record is damaged", "file=%s problem=%s", filename,
                      warc_reader_problem(reader));
        }
        if (rc != RESULT_OK) {
            break;
        }
        at = record.offset + record.length;
        buffer_reset(&line);
        rc = warc_record_index(&record, filename, &line);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
        if (rc == RESULT_OK && line.length > 0 &&
            fwrite(line.data, 1, line.length, out) != line.length) {
            rc = failed("write", filename);
        }
    }
    if (rc == RESULT_OK && at != end) {
        LOG_ERROR(COMPONENT, "committed end is within a record", "file=%s", filename);
        rc = RESULT_DAMAGED;
    }
    buffer_destroy(&line);
    return rc;
}

Result warc_files_index(const char *warc_path, const char *filename, uint64_t end,
                        const char *out_path)
{
    WarcReader *reader = NULL;
    Result rc = warc_reader_open(&reader, warc_path);
    if (rc != RESULT_OK) {
        return rc;
    }
    FILE *out = fopen(out_path, "wbe");
    rc = out == NULL ? failed("create", out_path) : index_records(reader, filename, end, out);
    if (out != NULL && fclose(out) != 0 && rc == RESULT_OK) {
        rc = failed("write", out_path);
    }
    warc_reader_close(reader);
    return rc;
}

Result warc_files_finish(const char *directory, const char *name, size_t memory_bytes)
{
    Buffer from;
    Buffer to;
    Buffer journal;
    buffer_init(&from, BUFFER_NO_LIMIT);
    buffer_init(&to, BUFFER_NO_LIMIT);
    buffer_init(&journal, BUFFER_NO_LIMIT);
    Result rc = warc_index_path(&journal, directory, name, true);
    if (rc == RESULT_OK) {
        rc = warc_index_path(&to, directory, name, false);
    }
    if (rc == RESULT_OK) {
        rc = cdxj_sort(journal.data, to.data, memory_bytes);
    }
    if (rc == RESULT_OK) {
        rc = warc_path(&from, directory, name, true);
    }
    if (rc == RESULT_OK) {
        rc = warc_path(&to, directory, name, false);
    }
    if (rc == RESULT_OK && rename(from.data, to.data) != 0) {
        rc = failed("rename", from.data);
    }
    if (rc == RESULT_OK) {
        /* The index holds every line: the journal is not needed whatever happens to this call. */
        (void)unlink(journal.data);
        rc = warc_files_sync_directory(directory);
    }
    buffer_destroy(&from);
    buffer_destroy(&to);
    buffer_destroy(&journal);
    return rc;
}

/* --- recovery --------------------------------------------------------------------------------- */

typedef struct Recovery {
    const char *directory;
    bool known; /* the database said what is committed, if only that nothing is */
    WarcEnd committed;
    size_t memory_bytes;
    Buffer path;
    Buffer other;
} Recovery;

/* Checks a file up to end and rebuilds its journal. */
static Result rebuild_journal(Recovery *recovery, const WarcFile *file, uint64_t end)
{
    Result rc = warc_path(&recovery->path, recovery->directory, file->name, true);
    if (rc == RESULT_OK) {
        rc = warc_index_path(&recovery->other, recovery->directory, file->name, true);
    }
    return rc == RESULT_OK
               ? warc_files_index(recovery->path.data, file->name, end, recovery->other.data)
               : rc;
}

/* A file that holds the committed end: what is behind it goes. */
static Result cut(Recovery *recovery, const WarcFile *file, uint64_t end)
{
    Result rc = rebuild_journal(recovery, file, end);
    if (rc == RESULT_OK && file->size > end) {
        LOG_INFO(COMPONENT, "tail behind the last commit cut off", "file=%s bytes=%llu", file->name,
                 (unsigned long long)(file->size - end));
        int fd = open(recovery->path.data, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t)end) != 0 || fsync(fd) != 0) {
            rc = failed("truncate", recovery->path.data);
        }
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    return rc;
}

static void remove_journal(Recovery *recovery, const char *name)
{
    if (warc_index_path(&recovery->other, recovery->directory, name, true) == RESULT_OK) {
        (void)unlink(recovery->other.data);
    }
}

/* A file that the database knows nothing of. */
static Result discard(Recovery *recovery, const WarcFile *file)
{
    bool ours = recovery->known && file->readable && file->serial > 0;
    Result rc = warc_path(&recovery->path, recovery->directory, file->name, true);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (ours || file->size == 0) {
        LOG_INFO(COMPONENT, "uncommitted file removed", "file=%s bytes=%llu", file->name,
                 (unsigned long long)file->size);
        rc = unlink(recovery->path.data) == 0 ? RESULT_OK : failed("remove", recovery->path.data);
    } else {
        LOG_WARN(COMPONENT, "uncommitted file set aside", "file=%s bytes=%llu", file->name,
                 (unsigned long long)file->size);
        rc = warc_path(&recovery->other, recovery->directory, file->name, false);
        rc = rc == RESULT_OK ? buffer_append_string(&recovery->other, ".uncommitted") : rc;
        if (rc == RESULT_OK && rename(recovery->path.data, recovery->other.data) != 0) {
            rc = failed("rename", recovery->path.data);
        }
    }
    remove_journal(recovery, file->name);
    return rc;
}

static Result recover_file(Recovery *recovery, const WarcFile *file, WarcCurrent *current)
{
    uint64_t end = warc_end_of(&recovery->committed, file->serial);
    if (!file->open) {
        remove_journal(recovery, file->name); /* left by a crash at the end of finishing */
        return RESULT_OK;
    }
    if (!file->readable || file->serial == 0 || end == 0) {
        return discard(recovery, file);
    }
    if (end == UINT64_MAX) {
        Result rc = rebuild_journal(recovery, file, file->size);
        return rc == RESULT_OK
                   ? warc_files_finish(recovery->directory, file->name, recovery->memory_bytes)
                   : rc;
    }
    Result rc = cut(recovery, file, end);
    if (rc == RESULT_OK && current->n == WARC_FILES_MAX) {
        rc = RESULT_DAMAGED; /* several files with one number */
    }
    if (rc == RESULT_OK) {
        WarcFile *copy = &current->files[current->n];
        *copy = *file;
        copy->size = end;
        copy->name = strdup(file->name);
        rc = copy->name == NULL ? RESULT_MEMORY : RESULT_OK;
        current->n += copy->name != NULL;
    }
    return rc;
}

/* "x.cdxj.new", "x.cdxj.run3": what a crash left of sorting an index. */
static bool is_left_over(const char *name)
{
    const char *index = strstr(name, ".cdxj.");
    const char *rest = index == NULL ? "" : index + strlen(".cdxj.");
    return strcmp(rest, "new") == 0 || (strncmp(rest, "run", 3) == 0 && rest[3] != '\0' &&
                                        strspn(rest + 3, "0123456789") == strlen(rest + 3));
}

static Result remove_left_overs(const char *directory)
{
    DIR *dir = opendir(directory);
    if (dir == NULL) {
        return result_of_errno(errno);
    }
    const struct dirent *entry = NULL;
    while ((entry = readdir(dir)) != NULL) {
        if (is_left_over(entry->d_name)) {
            (void)unlinkat(dirfd(dir), entry->d_name, 0); /* in nobody's way if it stays */
        }
    }
    (void)closedir(dir);
    return RESULT_OK;
}

/* Is a file of the committed end long enough? Asked before anything is changed. A file that is not
 * there at all was moved away after it was finished: a crash does not take a name that was synced.
 */
static Result find_committed(const Recovery *recovery, const WarcFileList *list, uint32_t serial,
                             uint64_t offset)
{
    bool found = false;
    for (size_t i = 0; i < list->n; i++) {
        const WarcFile *file = &list->files[i];
        if (file->serial != serial) {
            continue;
        }
        found = true;
        if (file->size < offset) {
            LOG_ERROR(COMPONENT, "file is too short", "file=%s size=%llu committed=%llu",
                      file->name, (unsigned long long)file->size, (unsigned long long)offset);
            return RESULT_DAMAGED;
        }
    }
    if (!found) {
        LOG_WARN(COMPONENT, "file of the last commit was moved away", "directory=%s number=%u",
                 recovery->directory, (unsigned)serial);
    }
    return RESULT_OK;
}

void warc_current_free(WarcCurrent *current)
{
    for (unsigned i = 0; i < current->n; i++) {
        free(current->files[i].name);
    }
    current->n = 0;
}

Result warc_files_recover(const char *directory, const WarcEnd *committed, size_t memory_bytes,
                          WarcCurrent *current)
{
    WarcFileList list;
    *current = (WarcCurrent){.last_serial = committed == NULL ? 0 : warc_end_last(committed)};
    Result rc = warc_files_list(directory, &list);
    if (rc != RESULT_OK) {
        return rc;
    }
    Recovery recovery = {
        .directory = directory, .known = committed != NULL, .memory_bytes = memory_bytes};
    if (committed != NULL) {
        recovery.committed = *committed;
    }
    buffer_init(&recovery.path, BUFFER_NO_LIMIT);
    buffer_init(&recovery.other, BUFFER_NO_LIMIT);
    for (unsigned i = 0; i < recovery.committed.n && rc == RESULT_OK; i++) {
        rc = find_committed(&recovery, &list, recovery.committed.at[i].file,
                            recovery.committed.at[i].offset);
    }
    rc = rc == RESULT_OK ? remove_left_overs(directory) : rc;
    for (size_t i = 0; i < list.n && rc == RESULT_OK; i++) {
        uint32_t serial = list.files[i].serial;
        current->last_serial = serial > current->last_serial ? serial : current->last_serial;
        rc = recover_file(&recovery, &list.files[i], current);
    }
    if (rc == RESULT_OK) {
        rc = warc_files_sync_directory(directory);
    }
    if (rc != RESULT_OK) {
        warc_current_free(current);
    }
    buffer_destroy(&recovery.path);
    buffer_destroy(&recovery.other);
    warc_files_free(&list);
    return rc;
}
