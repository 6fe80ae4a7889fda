#include "store/warc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "store/cdxj.h"
#include "store/warc_files.h"

#define COMPONENT            "warc"
#define WRITE_BYTES          ((size_t)512 << 10) /* collected before a write */
#define DEFAULT_INDEX_MEMORY ((size_t)32 << 20)

/* Bytes on their way to the end of a file. What write() did not take stays. */
typedef struct Stream {
    int fd; /* -1: none */
    uint64_t written;
    Buffer pending;
} Stream;

/* A file that takes no more records and waits for its commit. */
typedef struct EndedFile {
    WarcName name;
    uint32_t serial;
    uint64_t size;
} EndedFile;

struct Warc {
    char *directory;
    char *pattern;
    char *host;
    Buffer info; /* the fields of warcinfo but the file's number */
    uint64_t max_bytes;
    int64_t max_age_ms;
    size_t index_memory_bytes;
    WarcRecorder *recorder;
    Buffer scratch;

    WarcName name;   /* of the current file; "" when there is none */
    uint32_t serial; /* of the current or the last file */
    WallTime date;   /* of the current file's start */
    bool has_records;
    bool new_entry; /* the directory must be synced too */
    Stream records;
    Stream index; /* the journal */

    EndedFile *ended; /* in order */
    size_t n_ended;
    WarcPosition synced;    /* everything before it is durable */
    WarcPosition given;     /* the end that the last warc_sync handed out */
    WarcPosition committed; /* known to be in the database */
};

static Result failed(const char *what, const char *name)
{
    int error = errno;
    LOG_ERROR(COMPONENT, "cannot write", "step=%s file=%s error=%s", what, name, strerror(error));
    return result_of_errno(error);
}

/* --- streams ---------------------------------------------------------------------------------- */

static uint64_t stream_size(const Stream *stream)
{
    return stream->written + stream->pending.length;
}

static Result stream_flush(Stream *stream, const char *name)
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
            rc = failed("write", name);
        }
    }
    if (done > 0) {
        memmove(stream->pending.data, stream->pending.data + done, stream->pending.length - done);
        stream->pending.length -= done;
    }
    return rc;
}

static void stream_close(Stream *stream)
{
    if (stream->fd >= 0) {
        (void)close(stream->fd);
    }
    stream->fd = -1;
    stream->written = 0;
    buffer_trim(&stream->pending, WRITE_BYTES * 2);
}

/* --- opening ---------------------------------------------------------------------------------- */

static Result add_info(Warc *warc, const char *name, const char *value)
{
    return value == NULL ? RESULT_OK : warc_fields_add(&warc->info, name, value, strlen(value));
}

static Result make_info(Warc *warc, const WarcOptions *options)
{
    const char *const fields[][2] = {
        {"software", "ragno/" RAGNO_VERSION},
        {"format", "WARC File Format 1.1"},
        {"conformsTo",
         "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
        {"hostname", options->host},
        {"operator", options->operator_name},
        {"http-header-user-agent", options->user_agent},
        {"http-header-from", options->from},
        {"robots", options->robots},
        {"isPartOf", options->is_part_of},
        {"description", options->description},
    };
    Result rc = RESULT_OK;
    for (size_t i = 0; i < sizeof fields / sizeof *fields && rc == RESULT_OK; i++) {
        rc = add_info(warc, fields[i][0], fields[i][1]);
    }
    return rc;
}

static Result copy_options(Warc *warc, const WarcOptions *options)
{
    WarcName name;
    const char *pattern = options->pattern == NULL ? WARC_DEFAULT_PATTERN : options->pattern;
    Result rc = warc_name_make(pattern, (WallTime){0}, UINT32_MAX, options->host, &name);
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
    warc->index_memory_bytes =
        options->index_memory_bytes == 0 ? DEFAULT_INDEX_MEMORY : options->index_memory_bytes;
    WarcRecorderOptions recorder = {.level = options->level};
    rc = warc_recorder_new(&warc->recorder, &recorder);
    return rc == RESULT_OK ? make_info(warc, options) : rc;
}

/* Goes on with a file that recovery has cut. */
static Result reopen(Warc *warc, const WarcFile *file)
{
    off_t journal = 0;
    Result rc = warc_path(&warc->scratch, warc->directory, file->name, true);
    if (rc == RESULT_OK) {
        warc->records.fd = open(warc->scratch.data, O_RDWR | O_CLOEXEC);
        rc = warc->records.fd < 0 ? failed("open", file->name) : RESULT_OK;
    }
    if (rc == RESULT_OK) {
        rc = warc_index_path(&warc->scratch, warc->directory, file->name, true);
    }
    if (rc == RESULT_OK) {
        warc->index.fd = open(warc->scratch.data, O_RDWR | O_CLOEXEC);
        journal = warc->index.fd < 0 ? -1 : lseek(warc->index.fd, 0, SEEK_END);
        rc = journal < 0 ? failed("open", warc->scratch.data) : RESULT_OK;
    }
    if (rc == RESULT_OK) {
        warc->records.written = file->size;
        warc->index.written = (uint64_t)journal;
        memcpy(warc->name.text, file->name, strlen(file->name) + 1);
        warc->serial = file->serial;
        warc->date = file->date;
        warc->has_records = journal > 0;
    }
    return rc;
}

Result warc_open(Warc **warc, const WarcOptions *options, const WarcPosition *committed)
{
    *warc = NULL;
    Warc *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return RESULT_MEMORY;
    }
    w->records.fd = -1;
    w->index.fd = -1;
    buffer_init(&w->info, (size_t)64 << 10);
    buffer_init(&w->scratch, BUFFER_NO_LIMIT);
    buffer_init(&w->records.pending, BUFFER_NO_LIMIT);
    buffer_init(&w->index.pending, BUFFER_NO_LIMIT);
    WarcFile current = {.name = NULL};
    Result rc = copy_options(w, options);
    if (rc == RESULT_OK) {
        if (committed != NULL) {
            w->committed = *committed;
            w->committed.length = 0;
        }
        w->synced = w->committed;
        w->given = w->committed;
        rc = warc_files_recover(w->directory, committed, w->index_memory_bytes, &current,
                                &w->serial);
    }
    if (rc == RESULT_OK && current.name != NULL) {
        rc = reopen(w, &current);
    }
    free(current.name);
    if (rc != RESULT_OK) {
        w->name.text[0] = '\0'; /* nothing of it is ours to finish */
        (void)warc_close(w);
        return rc;
    }
    *warc = w;
    return RESULT_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Puts the warcinfo record of the new file into the pending bytes. */
static Result write_info(Warc *warc)
{
    size_t before = warc->info.length;
    Result rc = buffer_printf(&warc->info, "ragno-serial: %u\r\n", (unsigned)warc->serial);
    if (rc == RESULT_OK) {
        rc = warc_record_info(warc->recorder, warc->date, warc->name.text,
                              warc_bytes(warc->info.data, warc->info.length),
                              &warc->records.pending);
        warc->info.length = before;
    }
    return rc;
}

static Result create(Warc *warc, bool index, int *fd)
{
    Result rc = index ? warc_index_path(&warc->scratch, warc->directory, warc->name.text, true)
                      : warc_path(&warc->scratch, warc->directory, warc->name.text, true);
    if (rc == RESULT_OK) {
        /* A journal may have been left by a crash; a WARC file of that name is never replaced. */
        *fd = open(warc->scratch.data, O_RDWR | O_CLOEXEC | O_CREAT | (index ? O_TRUNC : O_EXCL),
                   0644);
        rc = *fd < 0 ? failed("create", warc->scratch.data) : RESULT_OK;
    }
    return rc;
}

/* Starts a file; on failure there is none, and the number may be used again. */
static Result start_file(Warc *warc, WallTime date)
{
    if (warc->serial == UINT32_MAX) {
        return RESULT_LIMIT;
    }
    warc->serial++;
    warc->date = date;
    Result rc = warc_name_make(warc->pattern, date, warc->serial, warc->host, &warc->name);
    if (rc == RESULT_OK) {
        rc = create(warc, false, &warc->records.fd);
    }
    if (rc == RESULT_OK) {
        rc = create(warc, true, &warc->index.fd);
        if (rc == RESULT_OK) {
            rc = write_info(warc);
        }
        if (rc != RESULT_OK) {
            if (warc->index.fd >= 0) {
                (void)unlink(warc->scratch.data);
            }
            if (warc_path(&warc->scratch, warc->directory, warc->name.text, true) == RESULT_OK) {
                (void)unlink(warc->scratch.data);
            }
        }
    }
    if (rc != RESULT_OK) {
        stream_close(&warc->records);
        stream_close(&warc->index);
        warc->name.text[0] = '\0';
        warc->serial--;
        return rc;
    }
    warc->has_records = false;
    warc->new_entry = true;
    return RESULT_OK;
}

/* Writes everything pending and makes the current file durable. */
static Result sync_current(Warc *warc)
{
    Result rc = stream_flush(&warc->records, warc->name.text);
    if (rc == RESULT_OK) {
        rc = stream_flush(&warc->index, warc->name.text);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    /* Whatever the reason was: the next sync would succeed without the bytes that this one lost. */
    if (fdatasync(warc->records.fd) != 0) {
        (void)failed("sync", warc->name.text);
        return RESULT_IO;
    }
    if (warc->new_entry && warc_files_sync_directory(warc->directory) != RESULT_OK) {
        return RESULT_IO;
    }
    warc->new_entry = false;
    return RESULT_OK;
}

Result warc_rotate(Warc *warc)
{
    if (warc->name.text[0] == '\0' || !warc->has_records) {
        return RESULT_OK;
    }
    EndedFile *ended = realloc(warc->ended, (warc->n_ended + 1) * sizeof *ended);
    if (ended == NULL) {
        return RESULT_MEMORY;
    }
    warc->ended = ended;
    Result rc = sync_current(warc);
    if (rc != RESULT_OK) {
        return rc;
    }
    ended[warc->n_ended++] =
        (EndedFile){.name = warc->name, .serial = warc->serial, .size = warc->records.written};
    warc->synced =
        (WarcPosition){.file = warc->serial, .offset = warc->records.written, .length = 0};
    stream_close(&warc->records);
    stream_close(&warc->index);
    warc->name.text[0] = '\0';
    return RESULT_OK;
}

static bool must_rotate(const Warc *warc, const WarcGroup *group)
{
    return warc->name.text[0] != '\0' && warc->has_records &&
           (stream_size(&warc->records) + group->members.length > warc->max_bytes ||
            (warc->max_age_ms > 0 && (group->date.us - warc->date.us) / 1000 >= warc->max_age_ms));
}

Result warc_append(Warc *warc, const WarcGroup *group, WarcPosition *position)
{
    if (group->members.length == 0) {
        return RESULT_INVALID;
    }
    Result rc = must_rotate(warc, group) ? warc_rotate(warc) : RESULT_OK;
    if (rc == RESULT_OK && warc->name.text[0] == '\0') {
        rc = start_file(warc, group->date);
    }
    if (rc == RESULT_OK && warc->records.pending.length > WRITE_BYTES) {
        rc = stream_flush(&warc->records, warc->name.text);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    uint64_t offset = stream_size(&warc->records);
    size_t index_before = warc->index.pending.length;
    rc = buffer_append(&warc->index.pending, group->index.data, group->index.length);
    if (rc == RESULT_OK) {
        rc = cdxj_append_place(&warc->index.pending, group->main_length, offset, warc->name.text);
    }
    if (rc == RESULT_OK) {
        rc = buffer_append(&warc->records.pending, group->members.data, group->members.length);
    }
    if (rc != RESULT_OK) {
        warc->index.pending.length = index_before;
        return rc;
    }
    warc->has_records = true;
    *position =
        (WarcPosition){.file = warc->serial, .offset = offset, .length = group->main_length};
    return RESULT_OK;
}

Result warc_sync(Warc *warc, WarcPosition *end)
{
    if (warc->name.text[0] != '\0') {
        Result rc = sync_current(warc);
        if (rc != RESULT_OK) {
            return rc;
        }
        warc->synced =
            (WarcPosition){.file = warc->serial, .offset = warc->records.written, .length = 0};
    }
    warc->given = warc->synced;
    *end = warc->synced;
    return RESULT_OK;
}

/* Finishes the ended files whose every byte is committed. */
static Result finish_ended(Warc *warc)
{
    size_t n = 0;
    Result rc = RESULT_OK;
    while (n < warc->n_ended && rc == RESULT_OK) {
        const EndedFile *file = &warc->ended[n];
        bool covered =
            file->serial < warc->committed.file ||
            (file->serial == warc->committed.file && file->size <= warc->committed.offset);
        if (!covered) {
            break;
        }
        rc = warc_files_finish(warc->directory, file->name.text, warc->index_memory_bytes);
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
    Result rc = RESULT_OK;
    bool covered = warc->name.text[0] != '\0' && warc->committed.file == warc->serial &&
                   warc->committed.offset == stream_size(&warc->records);
    if (covered) {
        rc = warc_rotate(warc);
    }
    if (rc == RESULT_OK) {
        rc = finish_ended(warc);
    }
    stream_close(&warc->records);
    stream_close(&warc->index);
    buffer_destroy(&warc->records.pending);
    buffer_destroy(&warc->index.pending);
    buffer_destroy(&warc->info);
    buffer_destroy(&warc->scratch);
    warc_recorder_delete(warc->recorder);
    free(warc->ended);
    free(warc->directory);
    free(warc->pattern);
    free(warc->host);
    free(warc);
    return rc;
}

uint64_t warc_current_bytes(const Warc *warc)
{
    return warc->name.text[0] == '\0' ? 0 : stream_size(&warc->records);
}

const char *warc_current_name(const Warc *warc)
{
    return warc->name.text;
}
