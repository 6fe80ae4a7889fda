#include "store/archive/warc_load.h"

#include <stdio.h>
#include <string.h>

#include "base/thread/log.h"

#define COMPONENT "warc"

void warc_answer_init(WarcAnswer *answer)
{
    *answer = (WarcAnswer){.status = 0};
    buffer_init(&answer->header, BUFFER_NO_LIMIT);
    buffer_init(&answer->body, BUFFER_NO_LIMIT);
}

void warc_answer_destroy(WarcAnswer *answer)
{
    buffer_destroy(&answer->header);
    buffer_destroy(&answer->body);
}

/* Reads the record that the index names, and checks that it is the one. */
static Result warc_load_read_capture(WarcReader *reader, const CdxjCapture *capture, WarcBytes url,
                                     WarcRecord *record)
{
    warc_reader_seek(reader, capture->offset);
    Result rc = warc_reader_next(reader, record);
    if (rc == RESULT_OK) {
        rc = warc_reader_check(reader, record);
    }
    if (rc == RESULT_DAMAGED) {
        LOG_ERROR(COMPONENT, "record is damaged", "file=%s problem=\"%s\"", capture->filename,
                  warc_reader_problem(reader));
    }
    if (rc == RESULT_OK && record->type == WARC_CONVERSION) {
        url = cdxj_plain_url(url);
    }
    if (rc == RESULT_NOT_FOUND ||
        (rc == RESULT_OK && (record->uri.length != url.length ||
                             memcmp(record->uri.bytes, url.bytes, url.length) != 0))) {
        LOG_ERROR(COMPONENT, "index is wrong", "file=%s offset=%llu", capture->filename,
                  (unsigned long long)capture->offset);
        rc = RESULT_DAMAGED;
    }
    return rc;
}

typedef struct OriginalSearch {
    char timestamp[WARC_DATE_BYTES];
    CdxjCapture *capture;
    bool found;
} OriginalSearch;

static bool take_original(void *context, const CdxjEntry *entry)
{
    OriginalSearch *search = context;
    CdxjCapture *capture = search->capture;
    if (warc_bytes_are(entry->mime, "warc/revisit") ||
        entry->filename.length >= sizeof capture->filename ||
        memcmp(entry->timestamp.bytes, search->timestamp, entry->timestamp.length) != 0) {
        return true;
    }
    memcpy(capture->filename, entry->filename.bytes, entry->filename.length);
    capture->filename[entry->filename.length] = '\0';
    capture->offset = entry->offset;
    capture->length = entry->length;
    search->found = true;
    return false;
}

Result warc_load_find_original(const char *directory, const WarcRecord *revisit,
                               CdxjCapture *capture)
{
    WarcBytes uri;
    WarcBytes date;
    WallTime t;
    OriginalSearch search = {.capture = capture, .found = false};
    *capture = (CdxjCapture){.offset = 0};
    if (!warc_record_field(revisit, "warc-refers-to-target-uri", &uri) ||
        !warc_record_field(revisit, "warc-refers-to-date", &date) || !warc_date_parse(date, &t)) {
        return RESULT_DAMAGED;
    }
    (void)warc_date_timestamp(t, search.timestamp);
    Result rc = cdxj_find(directory, uri.bytes, uri.length, take_original, &search);
    return rc == RESULT_OK && !search.found ? RESULT_NOT_FOUND : rc;
}

Result warc_load_original(const char *directory, const WarcRecord *revisit, WarcAnswer *answer)
{
    WarcBytes uri = warc_bytes("", 0);
    CdxjCapture capture;
    WarcReader *reader = NULL;
    WarcRecord record;
    Result rc = warc_load_find_original(directory, revisit, &capture);
    if (rc == RESULT_OK) {
        (void)warc_record_field(revisit, "warc-refers-to-target-uri", &uri);
        rc = warc_reader_open_in(&reader, directory, capture.filename);
    }
    if (rc == RESULT_OK) {
        rc = warc_load_read_capture(reader, &capture, uri, &record);
    }
    if (rc == RESULT_OK) {
        WarcBytes truncated;
        answer->truncated = warc_record_field(&record, "warc-truncated", &truncated);
        rc = buffer_append(&answer->body, record.payload.bytes, record.payload.length);
    }
    warc_reader_close(reader);
    return rc;
}

Result warc_load_capture(const char *directory, const CdxjCapture *capture, const char *url,
                         size_t length, WarcAnswer *answer)
{
    WarcReader *reader = NULL;
    WarcRecord record;
    WarcBytes truncated;
    WarcBytes usage = warc_bytes("", 0);
    buffer_reset(&answer->header);
    buffer_reset(&answer->body);
    Result rc = warc_reader_open_in(&reader, directory, capture->filename);
    if (rc == RESULT_OK) {
        rc = warc_load_read_capture(reader, capture, warc_bytes(url, length), &record);
    }
    if (rc == RESULT_OK && record.is_http) {
        rc = buffer_append(&answer->header, record.block.bytes, record.http.header_length);
    }
    if (rc == RESULT_OK) {
        answer->date = record.date;
        answer->id = record.id;
        answer->status = record.is_http ? record.http.status : 0;
        answer->revisit = record.type == WARC_REVISIT;
        (void)warc_record_field(&record, "warc-usage", &usage);
        (void)snprintf(answer->usage, sizeof answer->usage, "%.*s", (int)usage.length, usage.bytes);
        answer->truncated = warc_record_field(&record, "warc-truncated", &truncated);
        rc = answer->revisit
                 ? warc_load_original(directory, &record, answer)
                 : buffer_append(&answer->body, record.payload.bytes, record.payload.length);
    }
    warc_reader_close(reader);
    return rc;
}

Result warc_load(const char *directory, const char *url, size_t length, WarcAnswer *answer)
{
    CdxjCapture capture;
    Result rc = cdxj_newest(directory, url, length, true, &capture);
    return rc == RESULT_OK ? warc_load_capture(directory, &capture, url, length, answer) : rc;
}
