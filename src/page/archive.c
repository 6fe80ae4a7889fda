#include "page/archive.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/archive/capture_index.h"
#include "store/archive/warc_files.h"
#include "store/dedup/dedup_index.h"

/* ---- Discovery ---- */

#define STEPS 64u /* longer paths are cut at the front */

/* The page that linked to this one. False: it cannot be read. */
static bool discovery_take_step(PageDB *db, MDB_txn *txn, DiscoverySteps *steps, uint64_t *index,
                                uint8_t *hop)
{
    uint64_t page = *index;
    if (steps == NULL) {
        return page_db_get_way(db, txn, page, index, hop, NULL) == 0;
    }
    size_t place = page % DISCOVERY_STEPS;
    if (steps->of[place].page != page + 1) {
        if (page_db_get_way(db, txn, page, index, hop, NULL) != 0) {
            return false;
        }
        steps->of[place].page = page + 1;
        steps->of[place].linked_from = *index;
        steps->of[place].hop = *hop;
    }
    *index = steps->of[place].linked_from;
    *hop = steps->of[place].hop;
    return true;
}

void discovery_find(PageDB *db, MDB_txn *txn, uint64_t index, Buffer *path, Buffer *referrer,
                    uint64_t *seed, DiscoverySteps *steps)
{
    char letters[STEPS];
    size_t n = 0;
    uint64_t last = PAGE_DB_NO_INDEX;
    while (index != PAGE_DB_NO_INDEX && n < STEPS) {
        uint8_t hop = 0;
        uint64_t page = index;
        if (n == 1 ? page_db_get_way(db, txn, page, &index, &hop, referrer) != 0
                   : !discovery_take_step(db, txn, steps, &index, &hop)) {
            break;
        }
        last = page;
        letters[n++] = (char)hop;
    }
    /* A seed is M by itself; as the start of a path it has no letter. */
    if (seed != NULL) {
        *seed = index == PAGE_DB_NO_INDEX ? last : PAGE_DB_NO_INDEX;
    }
    bool from_seed = n > 1 && index == PAGE_DB_NO_INDEX && letters[n - 1] == 'M';
    size_t first = from_seed ? n - 1 : n;
    for (size_t i = first; i > 0; i--) {
        (void)buffer_append_char(path, letters[i - 1]);
    }
}

/* ---- Archive ---- */

#define REVISIT_LEAST_BYTES 1u
#define METADATA_BYTES      ((size_t)64 << 20) /* of one record, uncompressed */
#define KEEP_BYTES          ((size_t)1 << 20)  /* of its buffer between pages */

struct Archive {
    Warc *warc;
    PayloadIndex payloads;
    CaptureIndex captures;
    DedupIndex *elsewhere; /* what other crawls have; NULL: none were named */
    PageDB *db;
    WarcCompression compression;
    int level;
    bool metadata;
    bool frozen;
};

struct ArchiveRecorder {
    Archive *archive;
    WarcRecorder *recorder;
    WarcOriginal confirmed; /* what a 304 refers to */
    Buffer fields;          /* of a metadata record */
    Buffer hops;
    Buffer via;
    PayloadReader reader;
};

/* Opens the tables; *end is what the database knows: nothing for a new crawl, which knows that no
 * byte is its own. */
static Result archive_open_tables(Archive *archive, WarcEnd *end)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(archive->db, false, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = payload_index_open(&archive->payloads, txn, true);
    if (rc == RESULT_OK) {
        rc = capture_index_open(&archive->captures, txn, true);
    }
    if (rc == RESULT_OK) {
        rc = warc_end_get(txn, end);
        rc = rc == RESULT_NOT_FOUND ? warc_end_put(txn, end) : rc;
    }
    return page_db_txn_end(archive->db, txn, rc);
}

static Result open_files(Archive *archive, const char *directory, const Config *config,
                         const char *user_agent, const WarcEnd *end)
{
    Path path;
    Result rc = RESULT_OK;
    if (mkdir(file_path(&path, "%s/warc", directory), 0755) == 0) {
        rc = warc_files_sync_directory(directory);
    } else if (errno != EEXIST) {
        rc = result_of_errno(errno);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    char host[HOST_NAME_MAX + 1] = "";
    bool is_named =
        strstr(config->warc_name, "{host}") != NULL && gethostname(host, sizeof host) == 0;
    WarcOptions warc = {.directory = path.text,
                        .host = is_named ? host : NULL,
                        .pattern = *config->warc_name == '\0' ? NULL : config->warc_name,
                        .max_bytes = (uint64_t)config->warc_max_size,
                        .max_age_ms = config->warc_max_age,
                        .compression = archive->compression,
                        .level = archive->level,
                        .user_agent = user_agent,
                        .from = *config->crawl_contact == '\0' ? NULL : config->crawl_contact};
    return warc_open(&archive->warc, &warc, end);
}

Result archive_open(Archive **out, const char *directory, const Config *config,
                    const char *user_agent, PageDB *db, Buffer *error)
{
    Archive *archive = calloc(1, sizeof *archive);
    WarcEnd end = {.file = 0};
    if (archive == NULL) {
        return RESULT_MEMORY;
    }
    archive->db = db;
    archive->compression = (WarcCompression)config->warc_compression;
    archive->level = (int)config->warc_level;
    archive->metadata = config->warc_metadata;
    Result rc = *config->warc_dedup_against == '\0'
                    ? RESULT_OK
                    : dedup_index_open(&archive->elsewhere, directory, config->warc_dedup_against,
                                       config->warc_dedup_fresh, error);
    if (rc != RESULT_OK) {
        (void)archive_close(archive);
        return rc;
    }
    rc = archive_open_tables(archive, &end);
    if (rc == RESULT_OK) {
        rc = open_files(archive, directory, config, user_agent, &end);
    }
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s/warc cannot be written: %s", directory, result_name(rc));
        if (rc == RESULT_DAMAGED) {
            (void)buffer_append_string(error, "; ragno verify says what is missing");
        }
        (void)archive_close(archive);
        return rc;
    }
    *out = archive;
    return RESULT_OK;
}

bool archive_is_fresh_elsewhere(const Archive *archive, const char *url, size_t length)
{
    return archive->elsewhere != NULL &&
           dedup_index_fresh(archive->elsewhere, url, length, wall_now()) == RESULT_OK;
}

Result archive_close(Archive *archive)
{
    Result rc = RESULT_OK;
    if (archive != NULL) {
        if (archive->warc != NULL) {
            rc = warc_close(archive->warc);
        }
        dedup_index_close(archive->elsewhere);
        free(archive);
    }
    return rc;
}

/* ---- recorders ---- */

static MDB_txn *begin_read(PageDB *db)
{
    MDB_txn *txn = NULL;
    return page_db_txn_begin(db, true, &txn) == 0 ? txn : NULL;
}

/* Where a payload is stored: in this crawl, or in another one that was named. */
static Result archive_find_original(void *context, const WarcDigest *payload,
                                    WarcOriginal *original)
{
    ArchiveRecorder *recorder = context;
    DedupIndex *elsewhere = recorder->archive->elsewhere;
    Result rc = payload_index_find(&recorder->reader, payload, original);
    return rc == RESULT_NOT_FOUND && elsewhere != NULL
               ? dedup_index_find(elsewhere, payload, original)
               : rc;
}

Result archive_recorder_new(ArchiveRecorder **out, Archive *archive)
{
    ArchiveRecorder *recorder = calloc(1, sizeof *recorder);
    if (recorder == NULL) {
        return RESULT_MEMORY;
    }
    recorder->archive = archive;
    warc_original_init(&recorder->confirmed);
    buffer_init(&recorder->fields, METADATA_BYTES);
    buffer_init(&recorder->hops, BUFFER_NO_LIMIT);
    buffer_init(&recorder->via, BUFFER_NO_LIMIT);
    recorder->reader = (PayloadReader){.index = archive->payloads, .db = archive->db};
    WarcRecorderOptions options = {.compression = archive->compression,
                                   .level = archive->level,
                                   .find = archive_find_original,
                                   .find_context = recorder,
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
        warc_original_destroy(&recorder->confirmed);
        buffer_destroy(&recorder->fields);
        buffer_destroy(&recorder->hops);
        buffer_destroy(&recorder->via);
        free(recorder);
    }
}

/* What a 304 to this page confirms: the record that holds its payload. False: it is not known. */
static bool find_confirmed(ArchiveRecorder *recorder, uint64_t page, WarcDigest *payload)
{
    Archive *archive = recorder->archive;
    MDB_txn *txn = begin_read(archive->db);
    Capture capture;
    if (txn == NULL) {
        return false;
    }
    Result rc = capture_index_get(archive->captures, txn, page, &capture);
    page_db_txn_abort(archive->db, txn);
    if (rc != RESULT_OK || !capture.has_payload) {
        return false;
    }
    *payload = capture.payload;
    return archive_find_original(recorder, payload, &recorder->confirmed) == RESULT_OK;
}

static WarcGroup *new_group(void)
{
    WarcGroup *group = malloc(sizeof *group);
    if (group != NULL) {
        warc_group_init(group);
    }
    return group;
}

/* The group, or NULL when it could not be made. */
static WarcGroup *made(WarcGroup *group, Result rc, const char *url)
{
    if (rc == RESULT_OK) {
        return group;
    }
    LOG_WARN("archive", "answer cannot be stored", "url=%s error=\"%s\"", url, result_name(rc));
    archive_group_delete(group);
    return NULL;
}

WarcGroup *archive_record(ArchiveRecorder *recorder, const FetchResult *fetch)
{
    static const WarcTruncation truncations[] = {[TRUNCATED_NOT] = WARC_WHOLE,
                                                 [TRUNCATED_LENGTH] = WARC_TRUNCATED_LENGTH,
                                                 [TRUNCATED_TIME] = WARC_TRUNCATED_TIME,
                                                 [TRUNCATED_DISCONNECT] = WARC_TRUNCATED_DISCONNECT,
                                                 [TRUNCATED_UNSPECIFIED] =
                                                     WARC_TRUNCATED_UNSPECIFIED};
    WarcDigest confirmed;
    char ip[IP_ADDRESS_TEXT_BYTES];
    char tls[16];
    WarcGroup *group = new_group();
    if (group == NULL) {
        return NULL;
    }
    const TlsFacts *facts = &fetch->answer.tls;
    (void)snprintf(tls, sizeof tls, "tls/%s", tls_version_name(facts->version));
    Buffer usage = {.limit = USAGE_TERMS_BYTES};
    (void)usage_print_terms(fetch->answer.usage, &usage);
    const char *http_1 = fetch->answer.http_version == 10 ? "http/1.0" : "http/1.1";
    const char *request = fetch->request.header == NULL ? "" : fetch->request.header;
    bool is_answered = fetch->answer.status >= 100;
    WarcFetch record = {.url = warc_bytes(fetch->request.url, strlen(fetch->request.url)),
                        .started = fetch->cost.wall_start,
                        .ip = ip_address_format(&fetch->request.address, ip),
                        .request = warc_bytes(request, strlen(request)),
                        .header = warc_bytes(buffer_string(&fetch->answer.header),
                                             is_answered ? fetch->answer.header.length : 0),
                        .body = warc_bytes(buffer_string(&fetch->answer.body),
                                           is_answered ? fetch->answer.body.length : 0),
                        .truncated = truncations[fetch->answer.truncated],
                        .protocol = fetch->answer.http_version == 20 ? "h2" : http_1,
                        .tls = facts->verdict == TLS_NOT_KNOWN ? NULL : tls,
                        .cipher = facts->cipher,
                        .usage = usage.length == 0 ? NULL : buffer_string(&usage)};
    if (fetch->answer.status == 304 && fetch->request.has_page &&
        find_confirmed(recorder, fetch->request.index, &confirmed)) {
        record.not_modified = &recorder->confirmed;
        record.not_modified_payload = &confirmed;
    }
    Result rc = warc_record_fetch(recorder->recorder, &record, group);
    buffer_destroy(&usage);
    return made(group, rc, fetch->request.url);
}

WarcGroup *archive_record_dns(ArchiveRecorder *recorder, const FetchResult *fetch)
{
    WarcGroup *group = new_group();
    WarcResource record = {
        .uri = warc_bytes(fetch->request.url, strlen(fetch->request.url)),
        .started = fetch->cost.wall_start,
        .content_type = "text/dns",
        .block = warc_bytes(buffer_string(&fetch->answer.body), fetch->answer.body.length)};
    Result rc =
        group == NULL ? RESULT_MEMORY : warc_record_resource(recorder->recorder, &record, group);
    return made(group, rc, fetch->request.url);
}

WarcGroup *archive_record_rendered(ArchiveRecorder *recorder, const FetchResult *fetch,
                                   const Page *found)
{
    WarcGroup *group = new_group();
    WarcId source;
    memcpy(source.bytes, fetch->rendering->source, sizeof source.bytes);
    WarcBytes url = warc_bytes(fetch->request.url, strlen(fetch->request.url));
    const char *fields = fetch->rendering->fields == NULL ? "" : fetch->rendering->fields;
    WarcResource record = {
        .uri = url,
        .started = fetch->cost.wall_start,
        .content_type = "text/html; charset=utf-8",
        .block = warc_bytes(buffer_string(&fetch->answer.body), fetch->answer.body.length),
        .converts = &source};
    Result rc =
        group == NULL ? RESULT_MEMORY : warc_record_resource(recorder->recorder, &record, group);
    buffer_trim(&recorder->fields, KEEP_BYTES);
    if (rc == RESULT_OK) {
        rc = buffer_append_string(&recorder->fields, fields);
    }
    if (rc == RESULT_OK && found != NULL) {
        rc = warc_metadata_page(&recorder->fields, found);
    }
    if (rc == RESULT_OK) {
        rc = warc_record_metadata(
            recorder->recorder, url,
            warc_bytes(buffer_string(&recorder->fields), recorder->fields.length), group);
    }
    return made(group, rc, fetch->request.url);
}

WarcGroup *archive_record_picture(ArchiveRecorder *recorder, const FetchResult *fetch)
{
    const Buffer *picture = &fetch->rendering->picture;
    char *uri = NULL;
    if (picture->length == 0 || asprintf(&uri, "urn:view:%s", fetch->request.url) < 0) {
        return NULL;
    }
    WarcGroup *group = new_group();
    WarcResource record = {.uri = warc_bytes(uri, strlen(uri)),
                           .started = fetch->cost.wall_start,
                           .content_type = "image/jpeg",
                           .block = warc_bytes(picture->data, picture->length)};
    Result rc =
        group == NULL ? RESULT_MEMORY : warc_record_resource(recorder->recorder, &record, group);
    free(uri);
    return made(group, rc, fetch->request.url);
}

bool archive_wants_metadata(const Archive *archive)
{
    return archive != NULL && archive->metadata;
}

void archive_describe(ArchiveRecorder *recorder, WarcGroup *group, const FetchResult *fetch,
                      const Page *found, const PageLink *const *more, size_t n_more)
{
    Buffer *fields = &recorder->fields;
    buffer_trim(fields, KEEP_BYTES);
    PageDB *db = recorder->archive->db;
    MDB_txn *txn = begin_read(db);
    buffer_reset(&recorder->hops);
    buffer_reset(&recorder->via);
    if (txn != NULL) {
        discovery_find(db, txn, fetch->request.index, &recorder->hops, &recorder->via, NULL, NULL);
        page_db_txn_abort(db, txn);
    }
    WarcDiscovery discovery = {.via = warc_bytes(recorder->via.data, recorder->via.length),
                               .hops = buffer_string(&recorder->hops),
                               .duration_ms = mono_ms_between(fetch->cost.start, fetch->cost.end)};
    Result rc = warc_metadata_discovery(&recorder->fields, &discovery);
    if (rc == RESULT_OK && fetch->answer.tls.verdict != TLS_NOT_KNOWN) {
        WarcTls words = {.version = tls_version_name(fetch->answer.tls.version),
                         .verdict = tls_verdict_name(fetch->answer.tls.verdict),
                         .expiry = {fetch->answer.tls.expiry_s * 1000000}};
        rc = warc_metadata_tls(fields, &words);
    }
    if (rc == RESULT_OK) {
        rc = warc_metadata_usage(fields, fetch->answer.usage);
    }
    if (rc == RESULT_OK && found != NULL) {
        rc = warc_metadata_page(fields, found);
    }
    for (size_t i = 0; i < n_more && rc == RESULT_OK; i++) {
        rc = warc_metadata_outlink(fields, more[i]);
    }
    if (rc == RESULT_OK && found != NULL) {
        rc = warc_metadata_outlinks(fields, found);
    }
    if (rc == RESULT_OK) {
        rc = warc_record_metadata(recorder->recorder,
                                  warc_bytes(fetch->request.url, strlen(fetch->request.url)),
                                  warc_bytes(fields->data, fields->length), group);
    }
    if (rc != RESULT_OK) {
        LOG_WARN("archive", "metadata cannot be stored", "url=%s error=\"%s\"", fetch->request.url,
                 result_name(rc));
    }
}

void archive_group_delete(WarcGroup *group)
{
    if (group != NULL) {
        warc_group_destroy(group);
        free(group);
    }
}

/* ---- the ingest thread ---- */

Result archive_append(Archive *archive, WarcGroup *group)
{
    WarcPosition position;
    if (group == NULL || group->members.length == 0) {
        return RESULT_OK;
    }
    Result rc = warc_append(archive->warc, group, &position);
    if (rc == RESULT_OK) {
        warc_group_destroy(group);
    }
    return rc;
}

Result archive_remember(Archive *archive, MDB_txn *txn, const WarcGroup *group,
                        const FetchResult *fetch)
{
    WarcBytes url = warc_bytes(fetch->request.url, strlen(fetch->request.url));
    bool is_page = fetch->request.has_page && fetch->kind == FETCHED_PAGE;
    Result rc = payload_index_put_group(archive->payloads, txn, group,
                                        is_page ? fetch->request.index : PAGE_DB_NO_INDEX, url);
    bool is_capture = group->type != WARC_REQUEST; /* one that got no answer is none of the page */
    if (rc == RESULT_OK && is_capture && is_page) {
        rc = capture_index_put_group(archive->captures, txn, fetch->request.index,
                                     fetch->answer.status, group);
    }
    return rc;
}

Result archive_prepare(Archive *archive, MDB_txn *txn)
{
    WarcEnd end = {.file = 0};
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
