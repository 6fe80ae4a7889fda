#include "store/archive/warc_files.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/array.h"
#include "base/thread/log.h"
#include "store/archive/warc_reader.h"
#include "store/lmdb/lmdb_result.h"

#define COMPONENT "warc"

Result warc_files_failed(const char *step, const char *path)
{
    int error = errno;
    LOG_ERROR(COMPONENT, "file operation failed", "step=%s file=%s error=%s", step, path,
              strerror(error));
    return result_of_errno(error);
}

Result warc_files_sync_directory(const char *directory)
{
    return file_sync_folder(directory) == RESULT_OK ? RESULT_OK
                                                    : warc_files_failed("sync", directory);
}

/* ---- listing ---- */

/* The number in the fields of a warcinfo record; 0 when there is none. */
static uint32_t serial_of(WarcBytes fields)
{
    WarcBytes line;
    WarcField field;
    uint64_t serial = 0;
    while (warc_bytes_next_line(&fields, &line)) {
        if (warc_field_split(line, &field) && warc_bytes_are(field.name, "ragno-serial")) {
            return warc_bytes_number(field.value, UINT32_MAX, &serial) ? (uint32_t)serial : 0;
        }
    }
    return 0;
}

static Result warc_files_inspect(const char *directory, WarcFile *file)
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
    file->error = rc;
    warc_reader_close(reader);
    return rc;
}

static Result warc_files_add_file(WarcFileList *list, const char *entry)
{
    bool open = file_name_ends_with(entry, WARC_OPEN_SUFFIX);
    WarcCompression compression = WARC_GZIP;
    char *name = strndup(entry, strlen(entry) - (open ? strlen(WARC_OPEN_SUFFIX) : 0));
    if (name == NULL) {
        return RESULT_MEMORY;
    }
    if (warc_compression_stem(name, &compression) == 0) {
        free(name);
        return RESULT_OK;
    }
    WarcFile file = {.name = name, .compression = compression, .open = open};
    if (array_add(&list->files, &list->n, sizeof file, &file) != RESULT_OK) {
        free(name);
        return RESULT_MEMORY;
    }
    Result rc = warc_files_inspect(list->directory, &list->files[list->n - 1]);
    return rc == RESULT_MEMORY ? rc : RESULT_OK;
}

static int warc_files_compare_files(const void *left, const void *right)
{
    const WarcFile *a = left;
    const WarcFile *b = right;
    int order = (a->serial > b->serial) - (a->serial < b->serial);
    return order != 0 ? order : strcmp(a->name, b->name);
}

Result warc_files_list_any(const char *directory, WarcFileList *list)
{
    *list = (WarcFileList){.directory = directory};
    DIR *folder = opendir(directory); /* also what is no file: who reads it says so */
    if (folder == NULL) {
        return result_of_errno(errno);
    }
    Result rc = RESULT_OK;
    const struct dirent *entry = NULL;
    while (rc == RESULT_OK && (entry = readdir(folder)) != NULL) {
        rc = warc_files_add_file(list, entry->d_name);
    }
    (void)closedir(folder);
    if (rc != RESULT_OK) {
        warc_files_free(list);
    } else if (list->n > 0) {
        qsort(list->files, list->n, sizeof *list->files, warc_files_compare_files);
    }
    return rc;
}

Result warc_files_list(const char *directory, WarcFileList *list)
{
    Result rc = warc_files_list_any(directory, list);
    for (size_t i = 0; i < list->n; i++) {
        if (list->files[i].error != RESULT_OK) {
            rc = list->files[i].error;
            warc_files_free(list);
            return rc;
        }
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

/* ---- indices ---- */

static Result index_records(WarcReader *reader, const char *filename, uint64_t end, FILE *out)
{
    WarcRecord record;
    Buffer line = {.limit = BUFFER_NO_LIMIT};
    uint64_t at = 0;
    Result rc = RESULT_OK;
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
            rc = warc_files_failed("write", filename);
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
    rc = out == NULL ? warc_files_failed("create", out_path)
                     : index_records(reader, filename, end, out);
    if (out != NULL && fclose(out) != 0 && rc == RESULT_OK) {
        rc = warc_files_failed("write", out_path);
    }
    warc_reader_close(reader);
    return rc;
}

Result warc_files_finish(const char *directory, const char *name)
{
    Path from, to, journal, index;
    Result rc = cdxj_sort(warc_index_path(&journal, directory, name, true),
                          warc_index_path(&index, directory, name, false));
    if (rc != RESULT_OK) {
        return rc;
    }
    if (rename(warc_path(&from, directory, name, true), warc_path(&to, directory, name, false)) !=
        0) {
        return warc_files_failed("rename", from.text);
    }
    /* The index holds every line: the journal is not needed whatever happens to this call. */
    (void)unlink(journal.text);
    return warc_files_sync_directory(directory);
}

Result warc_files_index_sorted(const char *directory, const char *name, uint64_t end)
{
    Path path, journal, index;
    Result rc = warc_files_index(warc_path(&path, directory, name, false), name, end,
                                 warc_index_path(&journal, directory, name, true));
    if (rc == RESULT_OK) {
        rc = cdxj_sort(journal.text, warc_index_path(&index, directory, name, false));
    }
    (void)unlink(journal.text);
    return rc;
}

/* ---- warc end ---- */

#define TABLE     "warc"
#define END_BYTES 12u

uint64_t warc_end_of(const WarcEnd *end, uint32_t file)
{
    if (end->file == file) {
        return end->offset;
    }
    return file < end->file ? UINT64_MAX : 0;
}

Result warc_end_put(MDB_txn *txn, const WarcEnd *end)
{
    uint8_t bytes[END_BYTES];
    MDB_dbi dbi = 0;
    uint32_t file = htobe32(end->file);
    uint64_t offset = htobe64(end->offset);
    memcpy(bytes, &file, sizeof file);
    memcpy(bytes + sizeof file, &offset, sizeof offset);
    Result rc = lmdb_table_open(&dbi, txn, TABLE, MDB_CREATE);
    return rc == RESULT_OK
               ? lmdb_put(txn, dbi, lmdb_bytes("end", 3), lmdb_bytes(bytes, sizeof bytes), TABLE)
               : rc;
}

Result warc_end_get(MDB_txn *txn, WarcEnd *end)
{
    MDB_dbi dbi = 0;
    MDB_val value;
    *end = (WarcEnd){.file = 0};
    Result rc = lmdb_table_open(&dbi, txn, TABLE, 0);
    if (rc == RESULT_OK) {
        rc = lmdb_get(txn, dbi, lmdb_bytes("end", 3), &value, TABLE);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    if (value.mv_size == 0 || value.mv_size % END_BYTES != 0) {
        LOG_ERROR("warc", "committed end is damaged", "bytes=%zu", value.mv_size);
        return RESULT_DAMAGED;
    }
    const uint8_t *bytes = value.mv_data;
    for (size_t i = 0; i < value.mv_size; i += END_BYTES) { /* warc.files wrote several, once */
        uint32_t file = 0;
        uint64_t offset = 0;
        memcpy(&file, bytes + i, sizeof file);
        memcpy(&offset, bytes + i + 4, sizeof offset);
        if (be32toh(file) > end->file) {
            *end = (WarcEnd){.file = be32toh(file), .offset = be64toh(offset)};
        }
    }
    return RESULT_OK;
}
