#include "store/archive/warc.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "store/cdxj/cdxj.h"
#include "store/archive/warc_files.h"
#include "store/archive/warc_recovery.h"
#include "store/archive/warc_stream.h"

#define COMPONENT            "warc"
#define DEFAULT_INDEX_MEMORY ((size_t)32 << 20)

/* A file that takes no more records and waits for its commit. */
typedef struct EndedFile {
    WarcName name;
    uint32_t serial;
    uint64_t size;
} EndedFile;

/* One of the files that are written at once. */
typedef struct Slot {
    WarcName name;   /* of the file; "" when there is none */
    uint32_t serial; /* of it or of the last one */
    WallTime date;   /* of its start */
    bool has_records;
    bool new_entry; /* the directory must be synced too */
    WarcStream records;
    WarcStream index; /* the journal */
    uint64_t synced;  /* everything before it is durable */
} Slot;

struct Warc {
    char *directory;
    char *pattern;
    char *host;
    Buffer info; /* the fields of warcinfo but the file's number */
    uint64_t max_bytes;
    int64_t max_age_ms;
    size_t index_memory_bytes;
    WarcCompression compression;
    WarcRecorder *recorder;
    Buffer scratch;

    Slot slots[WARC_FILES_MAX];
    unsigned n_slots;
    Slot *last;       /* what the last group went to */
    uint32_t serial;  /* the highest in use */
    EndedFile *ended; /* in the order of their ends */
    size_t n_ended;
    WarcEnd given;     /* what the last warc_sync handed out */
    WarcEnd committed; /* known to be in the database */
};

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
    warc->index_memory_bytes =
        options->index_memory_bytes == 0 ? DEFAULT_INDEX_MEMORY : options->index_memory_bytes;
    warc->compression = options->compression;
    WarcRecorderOptions recorder = {.compression = options->compression, .level = options->level};
    rc = warc_recorder_new(&warc->recorder, &recorder);
    return rc == RESULT_OK ? make_info(warc, options) : rc;
}

/* Goes on with a file that recovery has cut. */
static Result warc_reopen(Warc *warc, Slot *slot, const WarcFile *file)
{
    off_t journal = 0;
    Result rc = warc_path(&warc->scratch, warc->directory, file->name, true);
    if (rc == RESULT_OK) {
        slot->records.fd = open(warc->scratch.data, O_RDWR | O_CLOEXEC);
        rc = slot->records.fd < 0 ? warc_stream_failed("open", file->name) : RESULT_OK;
    }
    if (rc == RESULT_OK) {
        rc = warc_index_path(&warc->scratch, warc->directory, file->name, true);
    }
    if (rc == RESULT_OK) {
        slot->index.fd = open(warc->scratch.data, O_RDWR | O_CLOEXEC);
        journal = slot->index.fd < 0 ? -1 : lseek(slot->index.fd, 0, SEEK_END);
        rc = journal < 0 ? warc_stream_failed("open", warc->scratch.data) : RESULT_OK;
    }
    if (rc == RESULT_OK) {
        slot->records.written = file->size;
        slot->index.written = (uint64_t)journal;
        memcpy(slot->name.text, file->name, strlen(file->name) + 1);
        slot->serial = file->serial;
        slot->date = file->date;
        slot->has_records = journal > 0;
        slot->synced = file->size;
    }
    return rc;
}

/* Goes on with the files that fit; the others take no more. */
static Result reopen_all(Warc *warc, const WarcCurrent *current)
{
    Result rc = RESULT_OK;
    unsigned n = 0;
    for (unsigned i = 0; i < current->n && rc == RESULT_OK; i++) {
        const WarcFile *file = &current->files[i];
        rc = n < warc->n_slots && file->compression == warc->compression
                 ? warc_reopen(warc, &warc->slots[n++], file)
                 : warc_files_finish(warc->directory, file->name, warc->index_memory_bytes);
    }
    return rc;
}

static void init_slots(Warc *warc, unsigned n)
{
    warc->n_slots = n == 0 ? 1 : n;
    for (unsigned i = 0; i < warc->n_slots; i++) {
        Slot *slot = &warc->slots[i];
        slot->records.fd = -1;
        slot->index.fd = -1;
        buffer_init(&slot->records.pending, BUFFER_NO_LIMIT);
        buffer_init(&slot->index.pending, BUFFER_NO_LIMIT);
    }
    warc->last = &warc->slots[warc->n_slots - 1];
}

Result warc_open(Warc **warc, const WarcOptions *options, const WarcEnd *committed)
{
    *warc = NULL;
    if (options->files > WARC_FILES_MAX) {
        return RESULT_INVALID;
    }
    Warc *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return RESULT_MEMORY;
    }
    buffer_init(&w->info, (size_t)64 << 10);
    buffer_init(&w->scratch, BUFFER_NO_LIMIT);
    init_slots(w, options->files);
    WarcCurrent current = {.n = 0};
    Result rc = copy_options(w, options);
    if (rc == RESULT_OK) {
        if (committed != NULL) {
            w->committed = *committed;
        }
        w->given = w->committed;
        rc = warc_files_recover(w->directory, committed, w->index_memory_bytes, &current);
    }
    if (rc == RESULT_OK) {
        w->serial = current.last_serial;
        rc = reopen_all(w, &current);
    }
    warc_current_free(&current);
    if (rc != RESULT_OK) {
        for (unsigned i = 0; i < w->n_slots; i++) {
            w->slots[i].name.text[0] = '\0'; /* nothing of it is ours to finish */
        }
        (void)warc_close(w);
        return rc;
    }
    *warc = w;
    return RESULT_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool has_file(const Slot *slot)
{
    return slot->name.text[0] != '\0';
}

/* Puts the warcinfo record of the new file into the pending bytes. */
static Result write_info(Warc *warc, Slot *slot)
{
    size_t before = warc->info.length;
    Result rc = buffer_printf(&warc->info, "ragno-serial: %u\r\n", (unsigned)slot->serial);
    if (rc == RESULT_OK) {
        rc = warc_record_info(warc->recorder, slot->date, slot->name.text,
                              warc_bytes(warc->info.data, warc->info.length),
                              &slot->records.pending);
        warc->info.length = before;
    }
    return rc;
}

static Result warc_create(Warc *warc, const char *name, bool index, int *fd)
{
    Result rc = index ? warc_index_path(&warc->scratch, warc->directory, name, true)
                      : warc_path(&warc->scratch, warc->directory, name, true);
    if (rc == RESULT_OK) {
        /* A journal may have been left by a crash; a WARC file of that name is never replaced. */
        *fd = open(warc->scratch.data, O_RDWR | O_CLOEXEC | O_CREAT | (index ? O_TRUNC : O_EXCL),
                   0644);
        rc = *fd < 0 ? warc_stream_failed("create", warc->scratch.data) : RESULT_OK;
    }
    return rc;
}

/* Starts a file; on failure there is none, and the number may be used again. */
static Result start_file(Warc *warc, Slot *slot, WallTime date)
{
    if (warc->serial == UINT32_MAX) {
        return RESULT_LIMIT;
    }
    uint32_t before = slot->serial;
    slot->serial = warc->serial + 1;
    slot->date = date;
    Result rc = warc_name_make(warc->pattern, date, slot->serial, warc->host, warc->compression,
                               &slot->name);
    if (rc == RESULT_OK) {
        rc = warc_create(warc, slot->name.text, false, &slot->records.fd);
    }
    if (rc == RESULT_OK) {
        rc = warc_create(warc, slot->name.text, true, &slot->index.fd);
        if (rc == RESULT_OK) {
            rc = write_info(warc, slot);
        }
        if (rc != RESULT_OK) {
            if (slot->index.fd >= 0) {
                (void)unlink(warc->scratch.data);
            }
            if (warc_path(&warc->scratch, warc->directory, slot->name.text, true) == RESULT_OK) {
                (void)unlink(warc->scratch.data);
            }
        }
    }
    if (rc != RESULT_OK) {
        warc_stream_close(&slot->records);
        warc_stream_close(&slot->index);
        slot->name.text[0] = '\0';
        slot->serial = before;
        return rc;
    }
    warc->serial = slot->serial;
    slot->has_records = false;
    slot->new_entry = true;
    slot->synced = 0;
    return RESULT_OK;
}

static Result warc_flush(Slot *slot)
{
    Result rc = warc_stream_flush(&slot->records, slot->name.text);
    return rc == RESULT_OK ? warc_stream_flush(&slot->index, slot->name.text) : rc;
}

/* Writes everything pending and makes the file durable. */
static Result sync_slot(Warc *warc, Slot *slot)
{
    Result rc = warc_flush(slot);
    if (rc != RESULT_OK) {
        return rc;
    }
    /* Whatever the reason was: the next sync would succeed without the bytes that this one lost. */
    if (fdatasync(slot->records.fd) != 0) {
        (void)warc_stream_failed("sync", slot->name.text);
        return RESULT_IO;
    }
    if (slot->new_entry && warc_files_sync_directory(warc->directory) != RESULT_OK) {
        return RESULT_IO;
    }
    slot->new_entry = false;
    slot->synced = slot->records.written;
    return RESULT_OK;
}

/* Ends the file of a slot; the next group there starts a new one. */
static Result rotate(Warc *warc, Slot *slot)
{
    EndedFile *ended = realloc(warc->ended, (warc->n_ended + 1) * sizeof *ended);
    if (ended == NULL) {
        return RESULT_MEMORY;
    }
    warc->ended = ended;
    Result rc = sync_slot(warc, slot);
    if (rc != RESULT_OK) {
        return rc;
    }
    ended[warc->n_ended++] =
        (EndedFile){.name = slot->name, .serial = slot->serial, .size = slot->records.written};
    warc_stream_close(&slot->records);
    warc_stream_close(&slot->index);
    slot->name.text[0] = '\0';
    return RESULT_OK;
}

static bool must_rotate(const Warc *warc, const Slot *slot, const WarcGroup *group)
{
    return has_file(slot) && slot->has_records &&
           (warc_stream_size(&slot->records) + group->members.length > warc->max_bytes ||
            (warc->max_age_ms > 0 && (group->date.us - slot->date.us) / 1000 >= warc->max_age_ms));
}

Result warc_append(Warc *warc, const WarcGroup *group, WarcPosition *position)
{
    if (group->members.length == 0) {
        return RESULT_INVALID;
    }
    Slot *slot = &warc->slots[(size_t)(warc->last - warc->slots + 1) % warc->n_slots];
    Result rc = must_rotate(warc, slot, group) ? rotate(warc, slot) : RESULT_OK;
    if (rc == RESULT_OK && !has_file(slot)) {
        rc = start_file(warc, slot, group->date);
    }
    if (rc == RESULT_OK && slot->records.pending.length > WARC_STREAM_BYTES) {
        rc = warc_stream_flush(&slot->records, slot->name.text);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    uint64_t offset = warc_stream_size(&slot->records);
    size_t index_before = slot->index.pending.length;
    rc = buffer_append(&slot->index.pending, group->index.data, group->index.length);
    if (rc == RESULT_OK) {
        rc = cdxj_append_place(&slot->index.pending, group->main_length, offset, slot->name.text);
    }
    if (rc == RESULT_OK) {
        rc = buffer_append(&slot->records.pending, group->members.data, group->members.length);
    }
    if (rc != RESULT_OK) {
        slot->index.pending.length = index_before;
        return rc;
    }
    slot->has_records = true;
    warc->last = slot;
    *position =
        (WarcPosition){.file = slot->serial, .offset = offset, .length = group->main_length};
    return RESULT_OK;
}

/* Several files: all are on their way to the disk before the first is waited for. */
static Result flush_all(Warc *warc)
{
    Result rc = RESULT_OK;
    for (unsigned i = 0; i < warc->n_slots && rc == RESULT_OK; i++) {
        Slot *slot = &warc->slots[i];
        rc = has_file(slot) ? warc_flush(slot) : RESULT_OK;
        if (rc == RESULT_OK && has_file(slot) && warc->n_slots > 1) {
            (void)sync_file_range(slot->records.fd, (off_t)slot->synced, 0, SYNC_FILE_RANGE_WRITE);
        }
    }
    return rc;
}

Result warc_sync(Warc *warc, WarcEnd *end)
{
    Result rc = flush_all(warc);
    WarcEnd all = {.n = 0};
    for (unsigned i = 0; i < warc->n_slots && rc == RESULT_OK; i++) {
        Slot *slot = &warc->slots[i];
        rc = has_file(slot) ? sync_slot(warc, slot) : RESULT_OK;
        if (rc == RESULT_OK && slot->serial > 0 && slot->synced > 0) {
            all.at[all.n].file = slot->serial;
            all.at[all.n++].offset = slot->synced;
        }
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    warc->given = all.n == 0 ? warc->committed : all;
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
    for (unsigned i = 0; i < warc->n_slots && rc == RESULT_OK; i++) {
        Slot *slot = &warc->slots[i];
        if (has_file(slot) && slot->has_records &&
            warc_end_of(&warc->committed, slot->serial) == warc_stream_size(&slot->records)) {
            rc = rotate(warc, slot);
        }
    }
    if (rc == RESULT_OK) {
        rc = finish_ended(warc);
    }
    for (unsigned i = 0; i < warc->n_slots; i++) {
        Slot *slot = &warc->slots[i];
        warc_stream_close(&slot->records);
        warc_stream_close(&slot->index);
        buffer_destroy(&slot->records.pending);
        buffer_destroy(&slot->index.pending);
    }
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
