#include "store/archive/warc_reader.h"
#include "store/archive/warc_record.h"
#include "unit.h"
#include "warc_samples.h"

/* Writes the members to a file and opens a reader on it. */
static WarcReader *read_back(const SampleDirectory *directory, const WarcGroup *group)
{
    char path[256];
    WarcReader *reader = NULL;
    (void)snprintf(path, sizeof path, "%s/x.warc.gz", directory->path);
    FILE *file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(group->members.data, 1, group->members.length, file),
                    group->members.length);
    (void)fclose(file);
    CU_ASSERT_EQUAL_FATAL(warc_reader_open(&reader, path), RESULT_OK);
    return reader;
}

static WarcRecorder *new_recorder(WarcFindOriginal find, void *context)
{
    WarcRecorder *recorder = NULL;
    WarcRecorderOptions options = {.find = find, .find_context = context};
    CU_ASSERT_EQUAL_FATAL(warc_recorder_new(&recorder, &options), RESULT_OK);
    return recorder;
}

static bool field_is(const WarcRecord *record, const char *name, const char *value)
{
    WarcBytes is;
    return warc_record_field(record, name, &is) && is.length == strlen(value) &&
           memcmp(is.bytes, value, is.length) == 0;
}

static bool bytes_equal(WarcBytes bytes, const char *text)
{
    return bytes.length == strlen(text) && memcmp(bytes.bytes, text, bytes.length) == 0;
}

/* Makes the group of a fetch and reads its main record. */
typedef struct OneRecord {
    SampleDirectory directory;
    WarcRecorder *recorder;
    WarcGroup group;
    WarcReader *reader;
    WarcRecord record;
} OneRecord;

static Result one_open(OneRecord *one, const WarcFetch *fetch, WarcFindOriginal find)
{
    one->directory = sample_directory();
    one->recorder = new_recorder(find, NULL);
    one->reader = NULL;
    warc_group_init(&one->group);
    Result rc = warc_record_fetch(one->recorder, fetch, &one->group);
    if (rc == RESULT_OK) {
        one->reader = read_back(&one->directory, &one->group);
        CU_ASSERT_EQUAL(warc_reader_next(one->reader, &one->record), RESULT_OK);
        CU_ASSERT_EQUAL(warc_reader_check(one->reader, &one->record), RESULT_OK);
    }
    return rc;
}

static void one_close(OneRecord *one)
{
    warc_reader_close(one->reader);
    warc_group_destroy(&one->group);
    warc_recorder_delete(one->recorder);
    sample_remove(&one->directory);
}

static void a_fetch_becomes_response_request_and_metadata(void)
{
    OneRecord one;
    WarcFetch fetch =
        sample_fetch("http://example.org/a", "HTTP/1.1 200 OK\r\nX: 1\r\n\r\n", "hello");
    fetch.protocol = "http/1.1";
    CU_ASSERT_EQUAL_FATAL(one_open(&one, &fetch, NULL), RESULT_OK);
    warc_reader_close(one.reader);
    CU_ASSERT_EQUAL(warc_record_metadata(one.recorder, fetch.url, sample_text(""), &one.group),
                    RESULT_OK);
    CU_ASSERT_EQUAL(warc_record_metadata(one.recorder, fetch.url,
                                         sample_text("via: http://example.org/\r\n"), &one.group),
                    RESULT_OK);
    one.reader = read_back(&one.directory, &one.group);
    CU_ASSERT_EQUAL(warc_reader_next(one.reader, &one.record), RESULT_OK);
    CU_ASSERT_EQUAL(one.record.type, WARC_RESPONSE);
    CU_ASSERT_EQUAL(one.record.date.us, SAMPLE_DATE.us);
    CU_ASSERT(bytes_equal(one.record.uri, "http://example.org/a"));
    CU_ASSERT(bytes_equal(one.record.block, "HTTP/1.1 200 OK\r\nX: 1\r\n\r\nhello"));
    CU_ASSERT(field_is(&one.record, "warc-date", "2026-01-31T12:00:00.123456Z"));
    CU_ASSERT(field_is(&one.record, "warc-ip-address", "192.0.2.1"));
    CU_ASSERT(field_is(&one.record, "warc-protocol", "http/1.1"));
    /* printf hello | sha1sum, in base32 */
    CU_ASSERT(
        field_is(&one.record, "warc-payload-digest", "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"));
    CU_ASSERT_EQUAL(one.record.length, one.group.main_length);
    char id[WARC_ID_TEXT];
    (void)warc_id_format(&one.record.id, id);
    CU_ASSERT_EQUAL(warc_reader_next(one.reader, &one.record), RESULT_OK);
    CU_ASSERT_EQUAL(one.record.type, WARC_REQUEST);
    CU_ASSERT(field_is(&one.record, "warc-concurrent-to", id));
    CU_ASSERT(bytes_equal(one.record.block, "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"));
    CU_ASSERT_EQUAL(warc_reader_next(one.reader, &one.record), RESULT_OK);
    CU_ASSERT_EQUAL(one.record.type, WARC_METADATA);
    CU_ASSERT(field_is(&one.record, "warc-concurrent-to", id));
    CU_ASSERT(bytes_equal(one.record.block, "via: http://example.org/\r\n"));
    CU_ASSERT_EQUAL(one.group.n_records, 3);
    CU_ASSERT_EQUAL(warc_reader_next(one.reader, &one.record), RESULT_NOT_FOUND);
    one_close(&one);
}

/* The header that is stored for a header and a body. */
static void expect_header(const char *header, const char *body, WarcTruncation truncated,
                          const char *stored)
{
    OneRecord one;
    WarcFetch fetch = sample_fetch("http://example.org/", header, body);
    fetch.truncated = truncated;
    Result rc = one_open(&one, &fetch, NULL);
    CU_ASSERT_EQUAL(rc, RESULT_OK);
    if (rc == RESULT_OK) {
        WarcBytes is = warc_bytes(one.record.block.bytes, one.record.http.header_length);
        CU_ASSERT(bytes_equal(is, stored));
        CU_ASSERT(bytes_equal(one.record.payload, body));
    }
    one_close(&one);
}

static void headers_agree_with_their_bodies(void)
{
    expect_header("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA:b\r\n\r\n", "x", WARC_WHOLE,
                  "HTTP/1.1 200 OK\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\nA:b\r\n\r\n");
    expect_header(
        "HTTP/1.1 200 OK\r\ntransfer-encoding : gzip, chunked\r\nContent-Length: 7\r\n\r\n", "x",
        WARC_WHOLE,
        "HTTP/1.1 200 OK\r\nX-Archive-Orig-transfer-encoding : gzip, chunked\r\n"
        "X-Archive-Orig-Content-Length: 7\r\n\r\n");
    expect_header("HTTP/1.1 200 OK\r\nContent-Length:  5 \r\n\r\n", "12345", WARC_WHOLE,
                  "HTTP/1.1 200 OK\r\nContent-Length:  5 \r\n\r\n");
    expect_header("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n", "12345",
                  WARC_TRUNCATED_DISCONNECT, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n");
    expect_header("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", "\x1f\x8b\x08zzz",
                  WARC_WHOLE, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n");
    expect_header("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", "<html>", WARC_WHOLE,
                  "HTTP/1.1 200 OK\r\nX-Archive-Orig-Content-Encoding: gzip\r\n\r\n");
    expect_header("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n", "abc", WARC_WHOLE,
                  "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n");
}

static void first_lines_and_line_ends_are_readable(void)
{
    expect_header("HTTP/2 200 \r\nserver: x\r\n\r\n", "", WARC_WHOLE,
                  "HTTP/1.1 200 \r\nserver: x\r\n\r\n");
    expect_header("HTTP/2 404\r\n\r\n", "", WARC_WHOLE,
                  "HTTP/1.1 404\r\nX-Archive-Orig-Fields: none\r\n\r\n");
    expect_header("HTTP/1.0 200 OK\nA: b\n c\n\n", "", WARC_WHOLE,
                  "HTTP/1.0 200 OK\r\nA: b\r\n c\r\n\r\n");
    expect_header("HTTP/1.1 200 OK\r\nA: b", "", WARC_TRUNCATED_DISCONNECT,
                  "HTTP/1.1 200 OK\r\nA: b\r\n\r\n");
    expect_header("HTTP/1.1  301Moved\r\n\r\n", "", WARC_WHOLE,
                  "HTTP/1.1 301 Moved\r\nX-Archive-Orig-Fields: none\r\n\r\n");
    expect_header("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                  "HTTP/1.1 200 OK\r\nB: c\r\n\r\n",
                  "", WARC_WHOLE, "HTTP/1.1 200 OK\r\nB: c\r\n\r\n");
    expect_header("HTTP/1.1 200 OK\r\nB: c\r\n\r\nTrailer: x\r\n\r\n", "", WARC_WHOLE,
                  "HTTP/1.1 200 OK\r\nB: c\r\n\r\n");
    expect_header("HTTP/1.1 200 OK\r\nB: c\r\n\r\nHTTP/1.1 500 x: y\r\nT: x\r\n\r\n", "",
                  WARC_WHOLE, "HTTP/1.1 200 OK\r\nB: c\r\n\r\n");
    expect_header("HTTP/1.1 101 Switching\r\n\r\n", "", WARC_WHOLE,
                  "HTTP/1.1 101 Switching\r\nX-Archive-Orig-Fields: none\r\n\r\n");
    OneRecord one;
    WarcFetch fetch = sample_fetch("http://example.org/", "ICY 200 OK\r\n\r\n", "x");
    CU_ASSERT_EQUAL(one_open(&one, &fetch, NULL), RESULT_INVALID);
    CU_ASSERT_EQUAL(one.group.members.length, 0);
    one_close(&one);
}

static void requests_of_http_2_are_written_as_http_1(void)
{
    OneRecord one;
    WarcFetch fetch = sample_fetch("https://example.org/x", "HTTP/2 200 \r\n\r\n", "x");
    fetch.request = sample_text("GET /x HTTP/2\r\nHost: example.org\r\n\r\n");
    fetch.protocol = "h2";
    fetch.tls = "tls/1.3";
    CU_ASSERT_EQUAL_FATAL(one_open(&one, &fetch, NULL), RESULT_OK);
    CU_ASSERT(field_is(&one.record, "warc-protocol", "h2"));
    CU_ASSERT_EQUAL(warc_reader_next(one.reader, &one.record), RESULT_OK);
    CU_ASSERT(bytes_equal(one.record.block, "GET /x HTTP/1.1\r\nHost: example.org\r\n\r\n"));
    one_close(&one);
}

static Result always_found(void *context, const WarcDigest *payload, WarcOriginal *original)
{
    (void)context;
    (void)payload;
    original->date = (WallTime){SAMPLE_DATE.us - 1000000};
    original->id = (WarcId){{1, 2, 3}};
    return buffer_append_string(&original->uri, "http://example.org/first");
}

static void a_known_payload_becomes_a_revisit(void)
{
    OneRecord one;
    const char *header = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    WarcFetch fetch = sample_fetch("http://example.org/again", header, "abc");
    CU_ASSERT_EQUAL_FATAL(one_open(&one, &fetch, always_found), RESULT_OK);
    CU_ASSERT_EQUAL(one.record.type, WARC_REVISIT);
    CU_ASSERT(field_is(&one.record, "warc-profile", WARC_PROFILE_IDENTICAL));
    CU_ASSERT(field_is(&one.record, "warc-refers-to-target-uri", "http://example.org/first"));
    CU_ASSERT(field_is(&one.record, "warc-refers-to-date", "2026-01-31T11:59:59.123456Z"));
    CU_ASSERT(
        field_is(&one.record, "warc-refers-to", "<urn:uuid:01020300-0000-0000-0000-000000000000>"));
    CU_ASSERT(
        field_is(&one.record, "warc-payload-digest", "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5"));
    CU_ASSERT(bytes_equal(one.record.block, header));
    CU_ASSERT_PTR_NOT_NULL(strstr(one.group.index.data, "\"mime\": \"warc/revisit\""));
    one_close(&one);
    /* Nothing to save in an empty body, nothing to trust in a truncated one. */
    fetch.body = sample_text("");
    fetch.header = sample_text("HTTP/1.1 200 OK\r\n\r\n");
    CU_ASSERT_EQUAL_FATAL(one_open(&one, &fetch, always_found), RESULT_OK);
    CU_ASSERT_EQUAL(one.record.type, WARC_RESPONSE);
    one_close(&one);
    fetch.body = sample_text("abc");
    fetch.truncated = WARC_TRUNCATED_TIME;
    CU_ASSERT_EQUAL_FATAL(one_open(&one, &fetch, always_found), RESULT_OK);
    CU_ASSERT_EQUAL(one.record.type, WARC_RESPONSE);
    CU_ASSERT(field_is(&one.record, "warc-truncated", "time"));
    one_close(&one);
}

#define CONDITIONAL "GET / HTTP/1.1\r\nHost: example.org\r\nIf-None-Match: \"x\"\r\n\r\n"

static void a_304_confirms_an_earlier_capture(void)
{
    static const char header[] = "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n";
    OneRecord one;
    WarcOriginal original;
    WarcDigest payload = {{1, 2, 3}};
    char digest[WARC_DIGEST_TEXT];
    warc_original_init(&original);
    (void)always_found(NULL, NULL, &original);
    WarcFetch fetch = sample_fetch("http://example.org/first", header, "");
    fetch.request = sample_text(CONDITIONAL);
    fetch.not_modified = &original;
    fetch.not_modified_payload = &payload;
    CU_ASSERT_EQUAL_FATAL(one_open(&one, &fetch, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(one.record.type, WARC_REVISIT);
    CU_ASSERT(field_is(&one.record, "warc-profile", WARC_PROFILE_NOT_MODIFIED));
    CU_ASSERT(field_is(&one.record, "warc-refers-to-target-uri", original.uri.data));
    CU_ASSERT(field_is(&one.record, "warc-payload-digest", warc_digest_format(&payload, digest)));
    CU_ASSERT(bytes_equal(one.record.block, header));
    CU_ASSERT(one.group.has_payload);
    CU_ASSERT(strstr(one.group.index.data, digest) != NULL);
    CU_ASSERT(strstr(one.group.index.data, "\"warc/revisit\", \"status\": \"304\"") != NULL);
    one_close(&one);
    warc_original_destroy(&original);
}

static void a_304_without_a_known_capture_refers_to_nothing(void)
{
    static const char header[] = "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n";
    OneRecord one;
    WarcBytes value;
    WarcFetch fetch = sample_fetch("http://example.org/first", header, "");
    fetch.request = sample_text(CONDITIONAL);
    CU_ASSERT_EQUAL_FATAL(one_open(&one, &fetch, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(one.record.type, WARC_REVISIT);
    CU_ASSERT(field_is(&one.record, "warc-profile", WARC_PROFILE_NOT_MODIFIED));
    CU_ASSERT_FALSE(warc_record_field(&one.record, "warc-refers-to-target-uri", &value));
    CU_ASSERT_FALSE(warc_record_field(&one.record, "warc-payload-digest", &value));
    CU_ASSERT(bytes_equal(one.record.block, header));
    CU_ASSERT_FALSE(one.group.has_payload);
    one_close(&one);
    /* Nobody asked for it: an answer like others, whose header must fit the body it has not. */
    fetch.request = sample_text("GET / HTTP/1.1\r\nX-If-None-Match: y\r\n\r\n");
    CU_ASSERT_EQUAL_FATAL(one_open(&one, &fetch, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(one.record.type, WARC_RESPONSE);
    CU_ASSERT(
        bytes_equal(one.record.block,
                    "HTTP/1.1 304 Not Modified\r\nX-Archive-Orig-Content-Length: 99\r\n\r\n"));
    one_close(&one);
    CU_ASSERT(warc_http_is_conditional(sample_text("GET / HTTP/2\r\nif-modified-since: x\r\n")));
    CU_ASSERT_FALSE(warc_http_is_conditional(sample_text("GET /If-None-Match: HTTP/1.1\r\n")));
    CU_ASSERT_FALSE(warc_http_is_conditional(sample_text("")));
}

static void a_request_without_an_answer_stands_alone(void)
{
    OneRecord one;
    WarcFetch fetch = sample_fetch("http://example.org/a", "", "");
    CU_ASSERT_EQUAL_FATAL(one_open(&one, &fetch, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(one.record.type, WARC_REQUEST);
    CU_ASSERT_EQUAL(one.group.type, WARC_REQUEST);
    CU_ASSERT_EQUAL(one.group.n_records, 1);
    CU_ASSERT_EQUAL(one.group.main_length, one.group.members.length);
    CU_ASSERT_EQUAL(one.group.index.length, 0); /* nobody is led to it */
    WarcBytes other;
    CU_ASSERT_FALSE(warc_record_field(&one.record, "warc-concurrent-to", &other));
    one_close(&one);
    fetch.request = warc_bytes("", 0);
    CU_ASSERT_EQUAL(one_open(&one, &fetch, NULL), RESULT_INVALID);
    one_close(&one);
}

static void what_would_break_a_record_is_refused_or_left_out(void)
{
    OneRecord one;
    WarcFetch fetch = sample_fetch("http://example.org/a b", "HTTP/1.1 200 OK\r\n\r\n", "x");
    CU_ASSERT_EQUAL(one_open(&one, &fetch, NULL), RESULT_INVALID);
    one_close(&one);
    fetch.url = sample_text("http://example.org/\r\nX: y");
    CU_ASSERT_EQUAL(one_open(&one, &fetch, NULL), RESULT_INVALID);
    one_close(&one);
    fetch.url = sample_text("http://example.org/");
    fetch.ip = "fe80::1%eth0";
    CU_ASSERT_EQUAL(one_open(&one, &fetch, NULL), RESULT_OK);
    CU_ASSERT_FALSE(field_is(&one.record, "warc-ip-address", "fe80::1%eth0"));
    one_close(&one);
    fetch.request = sample_text("");
    CU_ASSERT_EQUAL(one_open(&one, &fetch, NULL), RESULT_OK);
    CU_ASSERT_EQUAL(one.group.n_records, 1);
    one_close(&one);
    Buffer fields;
    buffer_init(&fields, 100);
    CU_ASSERT_EQUAL(warc_fields_add(&fields, "via", "a\r\nb: c", 7), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(fields.data, "via: a  b: c\r\n");
    buffer_destroy(&fields);
}

static void a_dns_answer_is_a_resource(void)
{
    SampleDirectory directory = sample_directory();
    WarcRecorder *recorder = new_recorder(NULL, NULL);
    WarcGroup group;
    WarcRecord record;
    warc_group_init(&group);
    WarcResource resource = {
        .uri = sample_text("dns:example.org"),
        .started = SAMPLE_DATE,
        .ip = "2001:db8::53",
        .content_type = "text/dns",
        .block = sample_text("20260131120000\nexample.org.\t60\tIN\tA\t192.0.2.1\n")};
    CU_ASSERT_EQUAL_FATAL(warc_record_resource(recorder, &resource, &group), RESULT_OK);
    WarcReader *reader = read_back(&directory, &group);
    CU_ASSERT_EQUAL(warc_reader_next(reader, &record), RESULT_OK);
    CU_ASSERT_EQUAL(warc_reader_check(reader, &record), RESULT_OK);
    CU_ASSERT_EQUAL(record.type, WARC_RESOURCE);
    CU_ASSERT_EQUAL(strncmp(group.index.data, "dns:example.org 20260131120000 {", 32), 0);
    warc_reader_close(reader);
    warc_group_destroy(&group);
    warc_recorder_delete(recorder);
    sample_remove(&directory);
}

static void dates_digests_and_ids_come_back(void)
{
    static const int64_t dates[] = {0, -1, 1, 999999, 1769860800123456, 253402300799999999};
    char text[CLOCK_TEXT_BYTES];
    WallTime t;
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        (void)wall_format_micro((WallTime){dates[i]}, text);
        CU_ASSERT_TRUE(warc_date_parse(sample_text(text), &t));
        CU_ASSERT_EQUAL(t.us, dates[i]);
    }
    CU_ASSERT_TRUE(warc_date_parse(sample_text("2026-01-31T12:00:00Z"), &t));
    CU_ASSERT_EQUAL(t.us, 1769860800000000);
    CU_ASSERT_FALSE(warc_date_parse(sample_text("2026-01-31T12:00:00"), &t));
    CU_ASSERT_FALSE(warc_date_parse(sample_text("2026-13-31T12:00:00Z"), &t));
    CU_ASSERT_FALSE(warc_date_parse(sample_text("2026-01-31T12:00:00.Z"), &t));
    WarcIds ids;
    WarcId id;
    WarcId again;
    WarcId before = {{0}};
    char id_text[WARC_ID_TEXT];
    warc_ids_init(&ids);
    for (unsigned i = 0; i < 1000; i++) {
        CU_ASSERT_EQUAL(warc_ids_next(&ids, &id), RESULT_OK);
        CU_ASSERT_NOT_EQUAL(memcmp(&id, &before, sizeof id), 0);
        before = id;
        (void)warc_id_format(&id, id_text);
        CU_ASSERT_TRUE(warc_id_parse(sample_text(id_text), &again));
        CU_ASSERT_EQUAL(memcmp(&id, &again, sizeof id), 0);
        CU_ASSERT_EQUAL(id_text[24], '4'); /* version */
        CU_ASSERT_PTR_NOT_NULL(strchr("89ab", id_text[29]));
    }
}

UNIT_MAIN("warc_record",
          {"a fetch becomes response, request and metadata",
           a_fetch_becomes_response_request_and_metadata},
          {"headers agree with their bodies", headers_agree_with_their_bodies},
          {"first lines and line ends are readable", first_lines_and_line_ends_are_readable},
          {"requests of HTTP/2 are written as HTTP/1", requests_of_http_2_are_written_as_http_1},
          {"a known payload becomes a revisit", a_known_payload_becomes_a_revisit},
          {"a 304 confirms an earlier capture", a_304_confirms_an_earlier_capture},
          {"a 304 without a known capture refers to nothing",
           a_304_without_a_known_capture_refers_to_nothing},
          {"what would break a record is refused or left out",
           what_would_break_a_record_is_refused_or_left_out},
          {"a DNS answer is a resource", a_dns_answer_is_a_resource},
          {"dates, digests and ids come back", dates_digests_and_ids_come_back},
          {"a request without an answer stands alone", a_request_without_an_answer_stands_alone})
