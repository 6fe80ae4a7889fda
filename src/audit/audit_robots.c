#include "audit/audit_robots.h"

#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "store/archive/warc_load.h"

#define RULES_BYTES_MAX ((size_t)128 << 20)
#define TIMESTAMP_BYTES 14u /* of CDXJ: seconds */

Result audit_robots_init(AuditRobots *robots, PageDB *db, const char *directory, const char *agent,
                         AuditHosts *audited)
{
    Buffer path;
    MDB_txn *txn = NULL;
    *robots = (AuditRobots){.db = db, .agent = agent, .audited = audited};
    buffer_init(&path, BUFFER_NO_LIMIT);
    (void)buffer_printf(&path, "%s/warc", directory);
    robots->warc = buffer_detach(&path);
    if (robots->warc == NULL) {
        return RESULT_MEMORY;
    }
    if (db == NULL) {
        return RESULT_OK;
    }
    if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = host_table_open(&robots->hosts, txn);
    /* Handles stay open when the transaction that opened them is committed. */
    if (page_db_txn_commit(db, txn) != page_db_error_ok && rc == RESULT_OK) {
        rc = RESULT_IO;
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc; /* a database of the library */
}

void audit_robots_destroy(AuditRobots *robots)
{
    host_table_close(robots->hosts);
    (void)page_db_delete(robots->db);
    free(robots->warc);
}

/* ---- the content of a version --------------------------------------------------------------- */

static Result from_database(const AuditRobots *robots, const char *origin, int64_t version,
                            Buffer *out)
{
    MDB_txn *txn = NULL;
    uint32_t host = 0;
    if (robots->hosts == NULL || version < 1 || version > UINT32_MAX ||
        page_db_txn_begin(robots->db, true, &txn) != page_db_error_ok) {
        return RESULT_NOT_FOUND;
    }
    Result rc =
        page_db_host_find(robots->db, txn, origin, strlen(origin), &host) == 0
            ? host_table_get_robots_version(robots->hosts, txn, host, (uint32_t)version, out)
            : RESULT_NOT_FOUND;
    page_db_txn_abort(robots->db, txn);
    return rc;
}

typedef struct CaptureSearch {
    char before[WARC_DATE_BYTES];
    CdxjCapture capture;
    unsigned status;
    bool found;
} CaptureSearch;

/* Keeps the newest capture before the request that decided anything: the file, or that there is
 * none. */
static bool audit_robots_take_capture(void *context, const CdxjEntry *entry)
{
    CaptureSearch *search = context;
    CdxjCapture *capture = &search->capture;
    bool decides = (entry->status >= 200 && entry->status < 300) ||
                   (entry->status >= 400 && entry->status < 500 && entry->status != 429);
    if (!decides || entry->timestamp.length != TIMESTAMP_BYTES ||
        entry->filename.length >= sizeof capture->filename ||
        memcmp(entry->timestamp.bytes, search->before, TIMESTAMP_BYTES) > 0) {
        return true;
    }
    int order =
        search->found ? memcmp(entry->timestamp.bytes, capture->timestamp, TIMESTAMP_BYTES) : 1;
    if (order > 0 || (order == 0 && entry->offset > capture->offset)) {
        memcpy(capture->filename, entry->filename.bytes, entry->filename.length);
        capture->filename[entry->filename.length] = '\0';
        memcpy(capture->timestamp, entry->timestamp.bytes, TIMESTAMP_BYTES);
        capture->timestamp[TIMESTAMP_BYTES] = '\0';
        capture->offset = entry->offset;
        capture->length = entry->length;
        search->status = entry->status;
        search->found = true;
    }
    return true;
}

static Result from_archive(const AuditRobots *robots, const char *origin, WallTime start,
                           Buffer *out)
{
    CaptureSearch search = {.found = false};
    WarcAnswer answer;
    Buffer url;
    warc_answer_init(&answer);
    buffer_init(&url, BUFFER_NO_LIMIT);
    (void)warc_date_timestamp(start, search.before);
    Result rc = buffer_printf(&url, "%s/robots.txt", origin);
    if (rc == RESULT_OK) {
        rc = cdxj_find(robots->warc, url.data, url.length, audit_robots_take_capture, &search);
    }
    if (rc == RESULT_OK && !search.found) {
        rc = RESULT_NOT_FOUND;
    }
    if (rc == RESULT_OK && search.status < 300) {
        rc = warc_load_capture(robots->warc, &search.capture, url.data, url.length, &answer);
        if (rc == RESULT_OK && answer.truncated) {
            rc = RESULT_NOT_FOUND;
        }
        if (rc == RESULT_OK) {
            rc = buffer_append(out, buffer_string(&answer.body), answer.body.length);
        }
    }
    buffer_destroy(&url);
    warc_answer_destroy(&answer);
    return rc;
}

Result audit_robots_content(AuditRobots *robots, const char *origin, int64_t version,
                            WallTime start, Buffer *out)
{
    Result rc = from_database(robots, origin, version, out);
    if (rc != RESULT_OK && rc != RESULT_MEMORY) {
        rc = from_archive(robots, origin, start, out);
    }
    return rc == RESULT_OK || rc == RESULT_MEMORY ? rc : RESULT_NOT_FOUND;
}

/* ---- rules ---------------------------------------------------------------------------------- */

Result audit_robots_load(AuditRobots *robots, AuditHost *host, int64_t version, WallTime start)
{
    if (host->rules_version == version) {
        return RESULT_OK;
    }
    if (robots->rules_bytes > RULES_BYTES_MAX) {
        audit_hosts_forget_rules(robots->audited);
        robots->rules_bytes = 0;
    }
    Buffer content;
    buffer_init(&content, BUFFER_NO_LIMIT);
    robots_delete(host->rules);
    host->rules = NULL;
    host->rules_version = version;
    Result rc = audit_robots_content(robots, host->origin, version, start, &content);
    if (rc == RESULT_OK) {
        rc = robots_parse(buffer_string(&content), content.length, robots->agent, &host->rules);
    }
    buffer_destroy(&content);
    if (rc == RESULT_OK) {
        robots->rules_bytes += robots_bytes(host->rules);
    } else if (rc == RESULT_NOT_FOUND) {
        robots->n_unknown++;
        rc = RESULT_OK;
    }
    return rc;
}

bool audit_robots_allow(const AuditHost *host, LogText url, RobotsVerdict *verdict)
{
    const char *slashes = memmem(url.bytes, url.length, "//", 2);
    size_t from = slashes == NULL ? 0 : (size_t)(slashes - url.bytes) + 2;
    while (from < url.length && strchr("/?#", url.bytes[from]) == NULL) {
        from++;
    }
    return robots_allows(host->rules, url.bytes + from, url.length - from, verdict);
}
