#include "command/verify/verify_run.h"
#include "base/core/hash.h"
#include "base/memory/bits.h"
#include "command/text/text_source.h"
#include "parse/host/authority.h"

#include <fcntl.h>
#include <fts.h>
#include <stdarg.h>
#include <inttypes.h>
#include <string.h>

void verify_tell(Verify *verify, VerifyKind kind, const char *file, const char *format, ...)
{
    static const char *const words[] = {"problem", "lost", "repaired"};
    FILE *out = verify->options->out;
    va_list arguments;
    (void)fprintf(out, "%s\t%s\t", words[kind], file);
    va_start(arguments, format);
    (void)vfprintf(out, format, arguments);
    va_end(arguments);
    (void)fputc('\n', out);
    verify->counts->problems += kind == VERIFY_PROBLEM;
    verify->counts->repaired += kind == VERIFY_REPAIRED;
}

void verify_absent(Verify *verify, const char *file, const char *where, WarcBytes bytes)
{
    const char *name = verify->options->absent;
    const char *at = name == NULL || bytes.length == 0
                         ? NULL
                         : memmem(bytes.bytes, bytes.length, name, strlen(name));
    if (at != NULL) {
        verify_problem(verify, file, "'%s' stands in %s, at byte %td", name, where,
                       at - bytes.bytes);
    }
}

Result verify_absent_files(Verify *verify)
{
    char *roots[] = {(char *)(uintptr_t)verify->options->directory, NULL};
    size_t root = strlen(roots[0]);
    FTS *folders =
        verify->options->absent == NULL ? NULL : fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *entry = NULL;
    Result rc = verify->options->absent == NULL || folders != NULL ? RESULT_OK : RESULT_IO;
    while (folders != NULL && rc == RESULT_OK && (entry = fts_read(folders)) != NULL) {
        const char *bytes = NULL;
        uint64_t length = 0;
        if (entry->fts_info != FTS_F) {
            continue;
        }
        rc = file_map(AT_FDCWD, entry->fts_path, &bytes, &length);
        if (rc == RESULT_OK) {
            verify_absent(verify, entry->fts_path + root + 1, "the file",
                          warc_bytes(bytes, (size_t)length));
            file_unmap(bytes, length);
        }
    }
    if (folders != NULL) {
        (void)fts_close(folders);
    }
    return rc;
}

Result verify_begin(const Verify *verify, bool writes, MDB_txn **txn)
{
    return page_db_txn_begin(verify->db, !writes, txn) == page_db_error_ok ? RESULT_OK : RESULT_IO;
}

Result verify_end(const Verify *verify, bool writes, MDB_txn *txn, Result rc)
{
    if (!writes) {
        page_db_txn_abort(verify->db, txn);
        return rc;
    }
    return page_db_txn_end(verify->db, txn, rc);
}

/* What the records of WARC files say, against each other and against PageDB. */

/* payload: what WARC-Payload-Digest says; empty: nothing. */
static MapKey capture_key(WarcBytes uri, WallTime date, WarcBytes payload)
{
    char timestamp[CLOCK_TEXT_BYTES];
    return map_key(hash_64(uri.bytes, uri.length, 1) ^
                   hash_64(wall_format_seconds(date, timestamp), 14, 2) ^
                   hash_64(payload.bytes, payload.length, 3));
}

Result verify_remember(Verify *verify, const WarcRecord *record)
{
    WarcBytes payload = warc_bytes("", 0);
    Result rc =
        map_put(&verify->originals, capture_key(record->uri, record->date, payload), verify);
    if (rc == RESULT_OK && warc_record_field(record, "warc-payload-digest", &payload)) {
        rc = map_put(&verify->originals, capture_key(record->uri, record->date, payload), verify);
    }
    return rc;
}

static bool confirms_unknown(const WarcRecord *record)
{
    WarcBytes value;
    return warc_record_field(record, "warc-profile", &value) &&
           warc_bytes_are(value, WARC_PROFILE_NOT_MODIFIED) &&
           !warc_record_field(record, "warc-refers-to-target-uri", &value);
}

/* Ours name the record by its id, too; what is known of another crawl has none. */
static bool verify_is_elsewhere(const WarcRecord *record)
{
    WarcBytes value;
    return !warc_record_field(record, "warc-refers-to", &value);
}

/* The record that a revisit refers to is stored too; else *stored is false. A 304 may confirm what
 * was never stored, and another crawl may have it (warc.dedup_against). */
static Result check_revisit(Verify *verify, const char *file, const WarcRecord *record,
                            bool *stored)
{
    WarcBytes uri;
    WarcBytes date;
    WallTime t;
    char timestamp[CLOCK_TEXT_BYTES];
    verify->counts->revisits++;
    if (confirms_unknown(record)) {
        return RESULT_OK;
    }
    if (!warc_record_field(record, "warc-refers-to-target-uri", &uri) ||
        !warc_record_field(record, "warc-refers-to-date", &date) || !warc_date_parse(date, &t)) {
        verify_problem(verify, file, "offset %" PRIu64 ": revisit refers to nothing",
                       record->offset);
        *stored = false;
        return RESULT_OK;
    }
    CdxjCapture original;
    WarcBytes payload = warc_bytes("", 0);
    (void)warc_record_field(record, "warc-payload-digest", &payload);
    Result rc = warc_load_find_original(verify->warc_directory, record, &original);
    if (rc == RESULT_NOT_FOUND &&
        map_get(&verify->originals, capture_key(uri, t, payload)) == NULL) {
        if (verify_is_elsewhere(record)) {
            verify->counts->elsewhere++;
            return RESULT_OK;
        }
        *stored = false;
        verify_problem(
            verify, file, "offset %" PRIu64 ": the original of the revisit is not stored: %.*s %s",
            record->offset, (int)uri.length, uri.bytes, wall_format_seconds(t, timestamp));
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

void verify_companion(Verify *verify, const char *file, const WarcRecord *record,
                      const WarcId *capture)
{
    WarcBytes value;
    WarcId id;
    bool companion = record->type == WARC_REQUEST || record->type == WARC_METADATA;
    bool has_capture = warc_record_field(record, "warc-concurrent-to", &value);
    if (!has_capture && record->type == WARC_REQUEST) {
        return; /* it got no answer */
    }
    if (companion &&
        (!has_capture || !warc_id_parse(value, &id) || memcmp(&id, capture, sizeof id) != 0)) {
        verify_problem(verify, file,
                       "offset %" PRIu64 ": %s record is not concurrent to the capture before it",
                       record->offset, warc_type_name(record->type));
    }
}

/* Fetched for the crawler's own sake, whether or not it is a page too. */
static bool verify_records_is_robots(WarcBytes uri)
{
    static const char path[] = "/robots.txt";
    size_t end = authority_of(uri.bytes, uri.length).end;
    return uri.length - end == sizeof path - 1 &&
           memcmp(uri.bytes + end, path, uri.length - end) == 0;
}

static MapKey url_key(const char *url, size_t length)
{
    return map_key(hash_64(url, length, 3));
}

/* Remembers the target of a redirect from robots.txt, or from where one led to. The files may be
 * read in another order than they were written, so every redirect of no page counts. */
static Result note_errand(Verify *verify, const WarcRecord *record)
{
    HttpHeader header;
    Url base = {.href = NULL};
    Url target = {.href = NULL};
    Result rc = RESULT_OK;
    if (record->is_http &&
        http_header_parse(&header, record->block.bytes, record->http.header_length) == RESULT_OK &&
        text_redirect_of(&header, record->http.status, record->uri, &base, &target)) {
        rc = map_put(&verify->errands, url_key(target.href, target.length), verify);
    }
    url_destroy(&base);
    url_destroy(&target);
    return rc;
}

bool verify_is_errand(const Verify *verify, WarcBytes uri)
{
    return verify_records_is_robots(uri) ||
           map_get(&verify->errands, url_key(uri.bytes, uri.length)) != NULL;
}

/* Notes that the answer of a page is in the files, and what robots.txt redirects to. */
static Result verify_records_note_page(Verify *verify, const WarcRecord *record, bool stored,
                                       MDB_txn *txn)
{
    uint64_t index = 0;
    int rc = page_db_find(verify->db, txn, record->uri.bytes, record->uri.length, &index);
    if (rc == page_db_error_no_page) {
        verify->counts->strangers++;
        return note_errand(verify, record);
    }
    if (rc != page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    if (index < verify->n_pages && stored) {
        bits_set(verify->captured, index);
    }
    return verify_records_is_robots(record->uri) ? note_errand(verify, record) : RESULT_OK;
}

Result verify_capture(Verify *verify, const char *file, const WarcRecord *record)
{
    MDB_txn *txn = NULL;
    verify->counts->captures++;
    bool stored = true;
    Result rc =
        record->type == WARC_REVISIT ? check_revisit(verify, file, record, &stored) : RESULT_OK;
    verify->lost_records |= !stored;
    if (rc != RESULT_OK || verify->db == NULL || record->type == WARC_CONVERSION) {
        return rc; /* a conversion is nothing that the page's answer could be taken from */
    }
    /* Short transactions: a reader of hours would make a running crawl's database grow. */
    rc = verify_begin(verify, false, &txn);
    return rc == RESULT_OK ? verify_end(verify, false, txn,
                                        verify_records_note_page(verify, record, stored, txn))
                           : rc;
}
