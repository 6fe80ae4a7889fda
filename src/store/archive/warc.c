#include "store/archive/warc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/array.h"
#include "base/thread/log.h"
#include "store/archive/warc_files.h"
#include "store/cdxj/cdxj.h"

/* Recovery of a WARC directory: what a crash left, brought back to the last commit.
 *
 * What: warc_open (warc.h) describes it. Tails behind the committed end are cut off, journals are
 * rebuilt, files that nothing was committed to are removed.
 * Owns: WarcCurrent owns its names.
 * Threads: the one that opens the archive.
 * Errors: RESULT_DAMAGED, RESULT_IO, RESULT_FULL, RESULT_MEMORY; logged with their file. */

/* The file to go on with after a recovery: cut, its journal rebuilt. */
typedef struct WarcCurrent {
    WarcFile file;        /* name NULL: there is none */
    uint32_t last_serial; /* the highest number in use */
} WarcCurrent;

/* Bytes on their way to the end of a file.
 *
 * What: bytes are collected and written in large pieces. What write() did not take stays pending,
 * so a full disk loses nothing.
 * Owns: the file descriptor and what is pending.
 * Threads: one.
 * Errors: RESULT_FULL, RESULT_IO; logged. */

#define COMPONENT         "warc"
#define WARC_STREAM_BYTES ((size_t)128 << 10) /* collected before a write: still in the cache */

typedef struct WarcStream {
    int fd; /* -1: none */
    uint64_t written;
    Buffer pending;
} WarcStream;

/* Where the next byte will be. */
static inline uint64_t warc_stream_size(const WarcStream *stream)
{
    return stream->written + stream->pending.length;
}

typedef struct Recovery {
    const char *directory;
    bool known; /* the database said what is committed, if only that nothing is */
    WarcEnd committed;
    Path path;
    Path other;
} Recovery;

/* Checks a file up to end and rebuilds its journal. */
static Result rebuild_journal(Recovery *recovery, const WarcFile *file, uint64_t end)
{
    return warc_files_index(
        warc_path(&recovery->path, recovery->directory, file->name, true), file->name, end,
        warc_index_path(&recovery->other, recovery->directory, file->name, true));
}

static void remove_journal(Recovery *recovery, const char *name)
{
    (void)unlink(warc_index_path(&recovery->other, recovery->directory, name, true));
}

/* A file that the database knows nothing of. */
static Result discard(Recovery *recovery, const WarcFile *file)
{
    bool ours = recovery->known && file->readable && file->serial > 0;
    Result rc = RESULT_OK;
    (void)warc_path(&recovery->path, recovery->directory, file->name, true);
    if (ours || file->size == 0) {
        LOG_INFO(COMPONENT, "uncommitted file removed", "file=%s bytes=%llu", file->name,
                 (unsigned long long)file->size);
        rc = unlink(recovery->path.text) == 0 ? RESULT_OK
                                              : warc_files_failed("remove", recovery->path.text);
    } else {
        LOG_WARN(COMPONENT, "uncommitted file set aside", "file=%s bytes=%llu", file->name,
                 (unsigned long long)file->size);
        (void)file_path(&recovery->other, "%s/%s.uncommitted", recovery->directory, file->name);
        if (rename(recovery->path.text, recovery->other.text) != 0) {
            rc = warc_files_failed("rename", recovery->path.text);
        }
    }
    remove_journal(recovery, file->name);
    return rc;
}

/* What becomes of a file named .open, by its number and the committed end (warc_end_of):
 *
 *     committed whole: its index   | goes on: what is behind   | unknown to the database: removed,
 *     is made, .open goes          | committed.offset goes     | or set aside when it is not ours
 *   -------------------------------+---------------------------+---------------------------->
 * serial committed.file              committed.file
 *
 * Journals are never synced, and so never trusted here: each is made anew from the records. */
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
        return rc == RESULT_OK ? warc_files_finish(recovery->directory, file->name) : rc;
    }
    if (current->file.name != NULL) {
        return RESULT_DAMAGED; /* two files with one number */
    }
    /* A file that holds the committed end: what is behind it goes. */
    Result rc = rebuild_journal(recovery, file, end);
    if (rc == RESULT_OK && file->size > end) {
        LOG_INFO(COMPONENT, "tail behind the last commit cut off", "file=%s bytes=%llu", file->name,
                 (unsigned long long)(file->size - end));
        int fd = open(recovery->path.text, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t)end) != 0 || fsync(fd) != 0) {
            rc = warc_files_failed("truncate", recovery->path.text);
        }
        file_close_fd(fd);
    }
    if (rc == RESULT_OK) {
        current->file = *file;
        current->file.size = end;
        current->file.name = strdup(file->name);
        rc = current->file.name == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    return rc;
}

/* "x.cdxj.new": what a crash left of sorting an index. In nobody's way if it stays. */
static Result remove_left_over(void *directory, const char *name)
{
    Path path;
    if (file_name_ends_with(name, ".cdxj.new")) {
        (void)unlink(file_path(&path, "%s/%s", (const char *)directory, name));
    }
    return RESULT_OK;
}

/* Is the file of the committed end long enough? Asked before anything is changed. A file that is
 * not there at all was moved away after it was finished: a crash does not take a name that was
 * synced. */
static Result find_committed(const Recovery *recovery, const WarcFileList *list)
{
    uint32_t serial = recovery->committed.file;
    uint64_t offset = recovery->committed.offset;
    bool found = serial == 0;
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

/* Recovery as warc_open describes it. */
static Result warc_files_recover(const char *directory, const WarcEnd *committed,
                                 WarcCurrent *current)
{
    WarcFileList list;
    *current = (WarcCurrent){.last_serial = committed == NULL ? 0 : committed->file};
    Result rc = warc_files_list(directory, &list);
    if (rc != RESULT_OK) {
        return rc;
    }
    Recovery recovery = {.directory = directory, .known = committed != NULL};
    if (committed != NULL) {
        recovery.committed = *committed;
    }
    rc = find_committed(&recovery, &list);
    if (rc == RESULT_OK) {
        rc = file_walk(directory, remove_left_over, (void *)(uintptr_t)directory);
    }
    for (size_t i = 0; i < list.n && rc == RESULT_OK; i++) {
        uint32_t serial = list.files[i].serial;
        current->last_serial = serial > current->last_serial ? serial : current->last_serial;
        rc = recover_file(&recovery, &list.files[i], current);
    }
    if (rc == RESULT_OK) {
        rc = warc_files_sync_directory(directory);
    }
    warc_files_free(&list);
    return rc;
}

/* Writes what is pending; name: of the file, for the log. */
static Result warc_stream_flush(WarcStream *stream, const char *name)
{
    size_t done = 0;
    Result rc = RESULT_OK;
    while (done < stream->pending.length && rc == RESULT_OK) {
        ssize_t n = pwrite(stream->fd, stream->pending.data + done, stream->pending.length - done,
                           (off_t)stream->written);
        if (n > 0) {
            done += (size_t)n;
            stream->written += (uint64_t)n;
        } else if (n == 0 || errno != EINTR) {
            rc = warc_files_failed("write", name);
        }
    }
    if (done > 0) {
        memmove(stream->pending.data, stream->pending.data + done, stream->pending.length - done);
        stream->pending.length -= done;
    }
    return rc;
}

/* Closes the file; nothing may be pending. */
static void warc_stream_close(WarcStream *stream)
{
    file_close_fd(stream->fd);
    stream->fd = -1;
    stream->written = 0;
    buffer_trim(&stream->pending, WARC_STREAM_BYTES * 2);
}

/* ---- The WARC writer ---- */

/* A file that takes no more records and waits for its commit. */
typedef struct EndedFile {
    WarcName name;
    uint32_t serial;
    uint64_t size;
} EndedFile;

/* The file that is written. */
typedef struct OpenFile {
    WarcName name;   /* "" when there is none */
    uint32_t serial; /* of it or of the last one */
    WallTime date;   /* of its start */
    bool has_records;
    bool new_entry; /* the directory must be synced too */
    WarcStream records;
    WarcStream index; /* the journal */
    uint64_t synced;  /* everything before it is durable */
} OpenFile;

struct Warc {
    char *directory;
    char *pattern;
    char *host;
    Buffer info; /* the fields of warcinfo but the file's number */
    uint64_t max_bytes;
    int64_t max_age_ms;
    WarcCompression compression;
    WarcRecorder *recorder;
    Path scratch;

    OpenFile file;
    uint32_t serial;  /* the highest in use */
    EndedFile *ended; /* in the order of their ends */
    size_t n_ended;
    WarcEnd given;     /* what the last warc_sync handed out */
    WarcEnd committed; /* known to be in the database */
};

/* ---- opening ---- */

static Result make_info(Warc *warc, const WarcOptions *options)
{
    const char *const fields[][2] = {
        {"software", "ragno/" RAGNO_VERSION},
        {"format", "WARC File Format 1.1"},
        {"conformsTo",
         "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
        {"hostname", options->host},
        {"http-header-user-agent", options->user_agent},
        {"http-header-from", options->from},
        {"robots", "obey"},
    };
    Result rc = RESULT_OK;
    for (size_t i = 0; i < sizeof fields / sizeof *fields && rc == RESULT_OK; i++) {
        const char *name = fields[i][0];
        const char *value = fields[i][1];
        rc = value == NULL ? RESULT_OK : warc_fields_add(&warc->info, name, value, strlen(value));
    }
    return rc;
}

static Result copy_options(Warc *warc, const WarcOptions *options)
{
    WarcName name;
    const char *pattern = options->pattern == NULL ? WARC_DEFAULT_PATTERN : options->pattern;
    Result rc = warc_name_make(pattern, (WallTime){0}, UINT32_MAX, options->host,
                               options->compression, &name);
    if (rc != RESULT_OK) {
        return rc;
    }
    warc->directory = strdup(options->directory);
    warc->pattern = strdup(pattern);
    warc->host = options->host == NULL ? NULL : strdup(options->host);
    if (warc->directory == NULL || warc->pattern == NULL ||
        (options->host != NULL && warc->host == NULL)) {
        return RESULT_MEMORY;
    }
    warc->max_bytes = options->max_bytes == 0 ? WARC_DEFAULT_MAX_BYTES : options->max_bytes;
    warc->max_age_ms = options->max_age_ms;
    warc->compression = options->compression;
    WarcRecorderOptions recorder = {.compression = options->compression, .level = options->level};
    rc = warc_recorder_new(&warc->recorder, &recorder);
    return rc == RESULT_OK ? make_info(warc, options) : rc;
}

/* Goes on with a file that recovery has cut. */
static Result warc_reopen(Warc *warc, const WarcFile *found)
{
    OpenFile *file = &warc->file;
    off_t journal = 0;
    file->records.fd =
        open(warc_path(&warc->scratch, warc->directory, found->name, true), O_RDWR | O_CLOEXEC);
    if (file->records.fd < 0) {
        return warc_files_failed("open", found->name);
    }
    file->index.fd = open(warc_index_path(&warc->scratch, warc->directory, found->name, true),
                          O_RDWR | O_CLOEXEC);
    journal = file->index.fd < 0 ? -1 : lseek(file->index.fd, 0, SEEK_END);
    if (journal < 0) {
        return warc_files_failed("open", warc->scratch.text);
    }
    file->records.written = found->size;
    file->index.written = (uint64_t)journal;
    memcpy(file->name.text, found->name, strlen(found->name) + 1);
    file->serial = found->serial;
    file->date = found->date;
    file->has_records = journal > 0;
    file->synced = found->size;
    return RESULT_OK;
}

Result warc_open(Warc **warc, const WarcOptions *options, const WarcEnd *committed)
{
    *warc = NULL;
    Warc *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return RESULT_MEMORY;
    }
    buffer_init(&w->info, (size_t)64 << 10);
    w->file.records.fd = -1;
    w->file.index.fd = -1;
    buffer_init(&w->file.records.pending, BUFFER_NO_LIMIT);
    buffer_init(&w->file.index.pending, BUFFER_NO_LIMIT);
    WarcCurrent current = {.last_serial = 0};
    Result rc = copy_options(w, options);
    if (rc == RESULT_OK) {
        if (committed != NULL) {
            w->committed = *committed;
        }
        w->given = w->committed;
        rc = warc_files_recover(w->directory, committed, &current);
    }
    if (rc == RESULT_OK && current.file.name != NULL) {
        rc = current.file.compression == w->compression
                 ? warc_reopen(w, &current.file)
                 : warc_files_finish(w->directory, current.file.name);
    }
    free(current.file.name);
    if (rc != RESULT_OK) {
        w->file.name.text[0] = '\0'; /* nothing of it is ours to finish */
        (void)warc_close(w);
        return rc;
    }
    w->serial = current.last_serial;
    *warc = w;
    return RESULT_OK;
}

/* ---- writing ---- */

static bool has_file(const Warc *warc)
{
    return warc->file.name.text[0] != '\0';
}

/* Puts the warcinfo record of the new file into the pending bytes. */
static Result write_info(Warc *warc)
{
    OpenFile *file = &warc->file;
    size_t before = warc->info.length;
    Result rc = buffer_printf(&warc->info, "ragno-serial: %u\r\n", (unsigned)file->serial);
    if (rc == RESULT_OK) {
        rc = warc_record_info(warc->recorder, file->date, file->name.text,
                              warc_bytes(warc->info.data, warc->info.length),
                              &file->records.pending);
        warc->info.length = before;
    }
    return rc;
}

static Result warc_create(Warc *warc, const char *name, bool index, int *fd)
{
    const char *path = index ? warc_index_path(&warc->scratch, warc->directory, name, true)
                             : warc_path(&warc->scratch, warc->directory, name, true);
    /* A journal may have been left by a crash; a WARC file of that name is never replaced. */
    *fd = open(path, O_RDWR | O_CLOEXEC | O_CREAT | (index ? O_TRUNC : O_EXCL), 0644);
    return *fd < 0 ? warc_files_failed("create", path) : RESULT_OK;
}

/* Starts a file; on failure there is none, and the number may be used again. */
static Result start_file(Warc *warc, WallTime date)
{
    OpenFile *file = &warc->file;
    if (warc->serial == UINT32_MAX) {
        return RESULT_LIMIT;
    }
    uint32_t before = file->serial;
    file->serial = warc->serial + 1;
    file->date = date;
    Result rc = warc_name_make(warc->pattern, date, file->serial, warc->host, warc->compression,
                               &file->name);
    if (rc == RESULT_OK) {
        rc = warc_create(warc, file->name.text, false, &file->records.fd);
    }
    if (rc == RESULT_OK) {
        rc = warc_create(warc, file->name.text, true, &file->index.fd);
        if (rc == RESULT_OK) {
            rc = write_info(warc);
        }
        if (rc != RESULT_OK) {
            if (file->index.fd >= 0) {
                (void)unlink(warc->scratch.text);
            }
            (void)unlink(warc_path(&warc->scratch, warc->directory, file->name.text, true));
        }
    }
    if (rc != RESULT_OK) {
        warc_stream_close(&file->records);
        warc_stream_close(&file->index);
        file->name.text[0] = '\0';
        file->serial = before;
        return rc;
    }
    warc->serial = file->serial;
    file->has_records = false;
    file->new_entry = true;
    file->synced = 0;
    return RESULT_OK;
}

static Result warc_flush(OpenFile *file)
{
    Result rc = warc_stream_flush(&file->records, file->name.text);
    return rc == RESULT_OK ? warc_stream_flush(&file->index, file->name.text) : rc;
}

/* Writes everything pending and makes the file durable. */
static Result warc_sync_file(Warc *warc)
{
    OpenFile *file = &warc->file;
    Result rc = warc_flush(file);
    if (rc != RESULT_OK) {
        return rc;
    }
    /* Whatever the reason was: the next sync would succeed without the bytes that this one lost. */
    if (fdatasync(file->records.fd) != 0) {
        (void)warc_files_failed("sync", file->name.text);
        return RESULT_IO;
    }
    if (file->new_entry && warc_files_sync_directory(warc->directory) != RESULT_OK) {
        return RESULT_IO;
    }
    file->new_entry = false;
    file->synced = file->records.written;
    return RESULT_OK;
}

/* Ends the file; the next group starts a new one. */
static Result rotate(Warc *warc)
{
    OpenFile *file = &warc->file;
    Result rc = warc_sync_file(warc);
    if (rc == RESULT_OK) {
        EndedFile ended = {
            .name = file->name, .serial = file->serial, .size = file->records.written};
        rc = array_add(&warc->ended, &warc->n_ended, sizeof ended, &ended);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    warc_stream_close(&file->records);
    warc_stream_close(&file->index);
    file->name.text[0] = '\0';
    return RESULT_OK;
}

static bool must_rotate(const Warc *warc, const WarcGroup *group)
{
    const OpenFile *file = &warc->file;
    return has_file(warc) && file->has_records &&
           (warc_stream_size(&file->records) + group->members.length > warc->max_bytes ||
            (warc->max_age_ms > 0 && (group->date.us - file->date.us) / 1000 >= warc->max_age_ms));
}

Result warc_append(Warc *warc, const WarcGroup *group, WarcPosition *position)
{
    if (group->members.length == 0) {
        return RESULT_INVALID;
    }
    OpenFile *file = &warc->file;
    Result rc = must_rotate(warc, group) ? rotate(warc) : RESULT_OK;
    if (rc == RESULT_OK && !has_file(warc)) {
        rc = start_file(warc, group->date);
    }
    if (rc == RESULT_OK && file->records.pending.length > WARC_STREAM_BYTES) {
        rc = warc_stream_flush(&file->records, file->name.text);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    uint64_t offset = warc_stream_size(&file->records);
    size_t index_before = file->index.pending.length;
    rc = buffer_append(&file->index.pending, group->index.data, group->index.length);
    if (rc == RESULT_OK && group->index.length > 0) {
        rc = cdxj_append_place(&file->index.pending, group->main_length, offset, file->name.text);
    }
    if (rc == RESULT_OK) {
        rc = buffer_append(&file->records.pending, group->members.data, group->members.length);
    }
    if (rc != RESULT_OK) {
        file->index.pending.length = index_before;
        return rc;
    }
    file->has_records = true;
    *position =
        (WarcPosition){.file = file->serial, .offset = offset, .length = group->main_length};
    return RESULT_OK;
}

Result warc_sync(Warc *warc, WarcEnd *end)
{
    /* Behind a rotation, until the next file is started, serial and synced are those of the file
     * that was ended: its end is the end. */
    const OpenFile *file = &warc->file;
    Result rc = has_file(warc) ? warc_sync_file(warc) : RESULT_OK;
    if (rc != RESULT_OK) {
        return rc;
    }
    bool is_any = file->serial > 0 && file->synced > 0;
    warc->given =
        is_any ? (WarcEnd){.file = file->serial, .offset = file->synced} : warc->committed;
    *end = warc->given;
    return RESULT_OK;
}

/* Finishes the ended files whose every byte is committed. */
static Result finish_ended(Warc *warc)
{
    size_t n = 0;
    Result rc = RESULT_OK;
    while (n < warc->n_ended && rc == RESULT_OK) {
        const EndedFile *file = &warc->ended[n];
        if (warc_end_of(&warc->committed, file->serial) < file->size) {
            break;
        }
        rc = warc_files_finish(warc->directory, file->name.text);
        n += rc == RESULT_OK ? 1 : 0;
    }
    if (n > 0) {
        memmove(warc->ended, warc->ended + n, (warc->n_ended - n) * sizeof *warc->ended);
        warc->n_ended -= n;
    }
    return rc;
}

Result warc_committed(Warc *warc)
{
    warc->committed = warc->given;
    return finish_ended(warc);
}

Result warc_close(Warc *warc)
{
    if (warc == NULL) {
        return RESULT_OK;
    }
    OpenFile *file = &warc->file;
    Result rc = RESULT_OK;
    if (has_file(warc) && file->has_records &&
        warc_end_of(&warc->committed, file->serial) == warc_stream_size(&file->records)) {
        rc = rotate(warc);
    }
    if (rc == RESULT_OK) {
        rc = finish_ended(warc);
    }
    warc_stream_close(&file->records);
    warc_stream_close(&file->index);
    buffer_destroy(&file->records.pending);
    buffer_destroy(&file->index.pending);
    buffer_destroy(&warc->info);
    warc_recorder_delete(warc->recorder);
    free(warc->ended);
    free(warc->directory);
    free(warc->pattern);
    free(warc->host);
    free(warc);
    return rc;
}
