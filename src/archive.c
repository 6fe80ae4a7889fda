#include "archive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "store/payload_index.h"
#include "store/warc_end.h"
#include "store/warc_files.h"

#define REVISIT_LEAST_BYTES 1u

struct Archive {
    Warc *warc;
    PayloadIndex *payloads;
    PageDB *db;
    int level;
    bool frozen;
};

struct ArchiveRecorder {
    WarcRecorder *recorder;
    PayloadReader reader;
};

/* Opens the tables; *end is what the database knows, {0} for a new crawl, which knows that no byte
 * is its own. */
static Result open_tables(Archive *archive, WarcPosition *end)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(archive->db, false, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = payload_index_open(&archive->payloads, txn, true);
    if (rc == RESULT_OK) {
        rc = warc_end_get(txn, end);
        rc = rc == RESULT_NOT_FOUND ? warc_end_put(txn, end) : rc;
    }
    if (rc != RESULT_OK) {
        page_db_txn_abort(archive->db, txn);
        return rc;
    }
    return page_db_txn_commit(archive->db, txn) == 0 ? RESULT_OK : RESULT_FULL;
}

static Result open_files(Archive *archive, const ArchiveOptions *options, const WarcPosition *end)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/warc", options->directory);
    if (rc == RESULT_OK) {
        rc = mkdir(path.data, 0755) == 0 ? warc_files_sync_directory(options->directory)
             : errno == EEXIST           ? RESULT_OK
                                         : result_of_errno(errno);
    }
    WarcOptions warc = {.directory = buffer_string(&path),
                        .pattern = *options->pattern == '\0' ? NULL : options->pattern,
                        .max_bytes = options->max_bytes,
                        .max_age_ms = options->max_age_ms,
                        .level = options->level,
                        .index_memory_bytes = options->index_memory_bytes,
                        .user_agent = options->user_agent,
                        .from = *options->contact == '\0' ? NULL : options->contact,
                        .robots = "obey"};
    if (rc == RESULT_OK) {
        rc = warc_open(&archive->warc, &warc, end);
    }
    buffer_destroy(&path);
    return rc;
}

Result archive_open(Archive **out, const ArchiveOptions *options, PageDB *db, Buffer *error)
{
    Archive *archive = calloc(1, sizeof *archive);
    WarcPosition end = {.file = 0};
    if (archive == NULL) {
        return RESULT_MEMORY;
    }
    archive->db = db;
    archive->level = options->level;
    Result rc = open_tables(archive, &end);
    if (rc == RESULT_OK) {
        rc = open_files(archive, options, &end);
    }
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s/warc cannot be written: %s", options->directory,
                            result_name(rc));
        if (rc == RESULT_DAMAGED) {
            (void)buffer_append_string(error, "; ragno verify says what is missing");
        }
        (void)archive_close(archive);
        return rc;
    }
    *out = archive;
    return RESULT_OK;
}

Result archive_close(Archive *archive)
{
    Result rc = RESULT_OK;
    if (archive != NULL) {
        if (archive->warc != NULL) {
            rc = warc_close(archive->warc);
        }
        payload_index_close(archive->payloads);
        free(archive);
    }
    return rc;
}

/* ---- recorders ----------------------------------------------------------------------------------
 */

static MDB_txn *begin_read(void *context)
{
    MDB_txn *txn = NULL;
    return page_db_txn_begin(context, true, &txn) == 0 ? txn : NULL;
}

static void end_read(void *context, MDB_txn *txn)
{
    page_db_txn_abort(context, txn);
}

Result archive_recorder_new(ArchiveRecorder **out, Archive *archive)
{
    ArchiveRecorder *recorder = calloc(1, sizeof *recorder);
    if (recorder == NULL) {
        return RESULT_MEMORY;
    }
    recorder->reader = (PayloadReader){
        .index = archive->payloads, .begin = begin_read, .end = end_read, .context = archive->db};
    WarcRecorderOptions options = {.level = archive->level,
                                   .find = payload_index_find,
                                   .find_context = &recorder->reader,
                                   .revisit_min_bytes = REVISIT_LEAST_BYTES};
    Result rc = warc_recorder_new(&recorder->recorder, &options);
    if (rc != RESULT_OK) {
        free(recorder);
        return rc;
    }
    *out = recorder;
    return RESULT_OK;
}

void archive_recorder_delete(ArchiveRecorder *recorder)
{
    if (recorder != NULL) {
        warc_recorder_delete(recorder->recorder);
        free(recorder);
    }
}

static WarcTruncation truncation_of(const FetchResult *fetch)
{
    switch (fetch->truncated) {
    case TRUNCATED_LENGTH:
        return WARC_TRUNCATED_LENGTH;
    case TRUNCATED_TIME:
        return WARC_TRUNCATED_TIME;
    case TRUNCATED_DISCONNECT:
        return WARC_TRUNCATED_DISCONNECT;
    case TRUNCATED_NOT:
        break;
    }
    return WARC_WHOLE;
}

WarcGroup *archive_record(ArchiveRecorder *recorder, const FetchResult *fetch)
{
    char ip[IP_ADDRESS_TEXT_BYTES];
    WarcGroup *group = malloc(sizeof *group);
    if (group == NULL) {
        return NULL;
    }
    warc_group_init(group);
    const char *request = fetch->request == NULL ? "" : fetch->request;
    WarcFetch record = {.url = warc_bytes(fetch->url, strlen(fetch->url)),
                        .started = fetch->wall_start,
                        .ip = ip_address_format(&fetch->address, ip),
                        .request = warc_bytes(request, strlen(request)),
                        .header = warc_bytes(buffer_string(&fetch->header), fetch->header.length),
                        .body = warc_bytes(buffer_string(&fetch->body), fetch->body.length),
                        .truncated = truncation_of(fetch),
                        .protocol = fetch->http_version == 20   ? "h2"
                                    : fetch->http_version == 10 ? "http/1.0"
                                                                : "http/1.1"};
    Result rc = warc_record_fetch(recorder->recorder, &record, group);
    if (rc != RESULT_OK) {
        LOG_WARN("archive", "answer cannot be stored", "url=%s error=\"%s\"", fetch->url,
                 result_name(rc));
        archive_group_delete(group);
        return NULL;
    }
    return group;
}

void archive_group_delete(WarcGroup *group)
{
    if (group != NULL) {
        warc_group_destroy(group);
        free(group);
    }
}

/* ---- the ingest thread
 * ------------------------------------------------------------------------------ */

Result archive_append(Archive *archive, const WarcGroup *group)
{
    WarcPosition position;
    return warc_append(archive->warc, group, &position);
}

Result archive_remember(Archive *archive, MDB_txn *txn, const WarcGroup *group, const char *url)
{
    Result rc =
        payload_index_put_group(archive->payloads, txn, group, warc_bytes(url, strlen(url)));
    return rc == RESULT_LIMIT ? RESULT_OK : rc;
}

Result archive_prepare(Archive *archive, MDB_txn *txn)
{
    WarcPosition end = {.file = 0};
    if (archive->frozen) {
        return RESULT_OK;
    }
    Result rc = warc_sync(archive->warc, &end);
    return rc == RESULT_OK ? warc_end_put(txn, &end) : rc;
}

void archive_committed(Archive *archive)
{
    Result rc = warc_committed(archive->warc);
    if (rc != RESULT_OK) {
        LOG_WARN("archive", "a file cannot be finished yet", "error=\"%s\"", result_name(rc));
    }
}

void archive_freeze(Archive *archive)
{
    archive->frozen = true;
}
