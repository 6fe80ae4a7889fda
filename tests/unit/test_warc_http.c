/* HTTP headers as they are put into records: what is changed, what is refused, what is read. */
#include <string.h>

#include "dice.h"
#include "store/warc/warc_http.h"
#include "unit.h"

static WarcBytes bytes_of(const char *text)
{
    return warc_bytes(text, strlen(text));
}

/* A response's header beside its body; NULL: it is refused. */
static const char *stored(const char *header, const char *body, WarcTruncation truncated)
{
    static char text[1024];
    Buffer out = {.limit = sizeof text - 1};
    Result rc = warc_http_response(bytes_of(header), bytes_of(body), truncated, &out);
    (void)snprintf(text, sizeof text, "%s", buffer_string(&out));
    buffer_destroy(&out);
    return rc == RESULT_OK ? text : NULL;
}

#define OK     "HTTP/1.1 200 OK\r\n"
#define BEFORE "X-Archive-Orig-"
#define NONE   BEFORE "Fields: none\r\n"

static void a_field_that_contradicts_the_body_gets_another_name(void)
{
    static const struct {
        const char *fields;
        const char *body;
        WarcTruncation truncated;
        bool renamed;
    } rows[] = {{"Transfer-Encoding: chunked", "abc", WARC_WHOLE, true},
                {"transfer-encoding: x", "", WARC_TRUNCATED_TIME, true},
                {"Content-Length: 3", "abc", WARC_WHOLE, false},
                {"Content-Length:003", "abc", WARC_WHOLE, false},
                {"content-length: 4", "abc", WARC_WHOLE, true},
                {"Content-Length: 4", "abc", WARC_TRUNCATED_LENGTH, false},
                {"Content-Length: +3", "abc", WARC_WHOLE, true},
                {"Content-Length: 18446744073709551619", "abc", WARC_WHOLE, true},
                {"Content-Length: ", "", WARC_WHOLE, true},
                {"Content-Encoding: GZIP", "abc", WARC_WHOLE, true},
                {"Content-Encoding: x-gzip", "a", WARC_WHOLE, true},
                {"Content-Encoding: gzip", "\x1f", WARC_TRUNCATED_LENGTH, false},
                {"Content-Encoding: gzip", "\x1f\x8b", WARC_WHOLE, false},
                {"Content-Encoding: gzip", "", WARC_WHOLE, false},
                {"Content-Encoding: br", "abc", WARC_WHOLE, false},
                {" Transfer-Encoding: folded", "abc", WARC_WHOLE, false},
                {"X-Transfer-Encoding: x", "abc", WARC_WHOLE, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char header[128];
        char want[160];
        (void)snprintf(header, sizeof header, OK "%s\r\n\r\n", rows[i].fields);
        (void)snprintf(want, sizeof want, OK "%s%s\r\n\r\n", rows[i].renamed ? BEFORE : "",
                       rows[i].fields);
        CU_ASSERT_STRING_EQUAL(stored(header, rows[i].body, rows[i].truncated), want);
    }
}

static void a_first_line_becomes_one_that_readers_know(void)
{
    static const char *const rows[][2] = {
        {"HTTP/1.0 404 Not Found\r\n\r\n", "HTTP/1.0 404 Not Found\r\n" NONE "\r\n"},
        {"HTTP/2 200 \r\na: b\r\n\r\n", "HTTP/1.1 200 \r\na: b\r\n\r\n"},
        {"HTTP/3 200\na: b\n\n", "HTTP/1.1 200\r\na: b\r\n\r\n"},
        {"HTTP/1.1  200OK\r\na: b\r\n\r\n", "HTTP/1.1 200 OK\r\na: b\r\n\r\n"},
        {"HTTP/1.1 200 OK\r\na: b", OK "a: b\r\n\r\n"},
        {"HTTP/1.1 200 OK", OK NONE "\r\n"},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nl: x\r\n\r\nHTTP/1.1 200 OK\r\na: "
         "b\r\n\r\n",
         OK "a: b\r\n\r\n"},
        {"HTTP/1.1 200 OK\r\na: b\r\n\r\nHTTP/1.1 404 trailer\r\n\r\n", OK "a: b\r\n\r\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *got = stored(rows[i][0], "", WARC_WHOLE);
        CU_ASSERT_PTR_NOT_NULL_FATAL(got);
        CU_ASSERT_STRING_EQUAL(got, rows[i][1]);
    }
    static const char *const refused[] = {"",
                                          "ICY 200 OK\r\n\r\n",
                                          "<html>",
                                          "HTTP/1.1 99 x\r\n",
                                          "HTTP/ 200 x",
                                          "HTTP/1.1 2x0 OK",
                                          "HTTP/1.1200 OK",
                                          "\r\n"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CU_ASSERT_PTR_NULL(stored(refused[i], "", WARC_WHOLE));
    }
}

static void a_header_that_finds_no_room_leaves_nothing(void)
{
    WarcBytes header = bytes_of(OK "a: b\r\n\r\n");
    for (size_t limit = 4; limit <= 4 + header.length; limit++) {
        Buffer out = {.limit = limit};
        CU_ASSERT_EQUAL(buffer_append_string(&out, "xyz"), RESULT_OK);
        Result rc = warc_http_response(header, bytes_of(""), WARC_WHOLE, &out);
        CU_ASSERT_TRUE(rc == RESULT_OK || rc == RESULT_LIMIT);
        CU_ASSERT_EQUAL(out.length, rc == RESULT_OK ? 3 + header.length : 3);
        CU_ASSERT_EQUAL(rc == RESULT_OK, limit >= 3 + header.length);
        buffer_destroy(&out);
    }
}

static void a_request_is_one_line_and_fields(void)
{
    static const char *const rows[][2] = {
        {"GET /x HTTP/1.1\r\nHost: a\r\n\r\nbody", "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"},
        {"GET /x HTTP/2\nHost: a\n", "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"},
        {"get /x HTTP/1.1\r\n\r\n", NULL},
        {"GET  HTTP/1.1\r\n\r\n", NULL},
        {"GET /a b HTTP/1.1\r\n\r\n", NULL},
        {"GET /x HTTP/1.10\r\n\r\n", NULL},
        {"GET /x\r\n\r\n", NULL},
        {" /x HTTP/1.1", NULL},
        {"", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Buffer out = {.limit = 256};
        Result rc = warc_http_request(bytes_of(rows[i][0]), &out);
        CU_ASSERT_EQUAL(rc, rows[i][1] == NULL ? RESULT_INVALID : RESULT_OK);
        CU_ASSERT_STRING_EQUAL(buffer_string(&out), rows[i][1] == NULL ? "" : rows[i][1]);
        buffer_destroy(&out);
    }
}

static void a_stored_block_is_read_strictly(void)
{
    static const char block[] = "HTTP/1.1 206 x\r\na: b\r\ncontent-TYPE: \t text/html ;x\r\n"
                                "Content-Type: c\r\n\r\nbody";
    WarcHttp http;
    CU_ASSERT_EQUAL(warc_http_parse_response(bytes_of(block), &http), RESULT_OK);
    CU_ASSERT_EQUAL(http.status, 206);
    CU_ASSERT_EQUAL(http.header_length, strlen(block) - 4);
    CU_ASSERT_TRUE(warc_bytes_are(http.content_type, "text/html"));
    for (size_t n = 0; n < strlen(block) - 4; n++) { /* nothing short of its empty line */
        CU_ASSERT_EQUAL(warc_http_parse_response(warc_bytes(block, n), &http), RESULT_INVALID);
    }
    CU_ASSERT_EQUAL(warc_http_parse_response(bytes_of("HTTP/1.1 200 x\na: b\n\n"), &http),
                    RESULT_INVALID);
    CU_ASSERT_EQUAL(warc_http_parse_request(bytes_of("GET / HTTP/1.1\r\n\r\n"), &http), RESULT_OK);
    CU_ASSERT_EQUAL(http.status, 0);
    CU_ASSERT_EQUAL(http.content_type.length, 0);
}

/* Whatever is taken can be read back, and says the same to whoever takes it once more. */
static void what_is_stored_can_be_read(void)
{
    static const char *const parts[] = {
        "HTTP/1.1 200 OK", "HTTP/2 301 ",       "\r\n", "\n", ": ", "a",
        "Content-Length",  "Transfer-Encoding", " ",    "3",  "\r", "\t"};
    Dice dice = {.state = 23};
    unsigned taken = 0;
    for (unsigned round = 0; round < 3000; round++) {
        char header[256] = "";
        size_t length = 0;
        for (size_t n = dice_below(&dice, 12); n > 0; n--) {
            const char *part = parts[dice_below(&dice, length == 0 ? 2 : 12)];
            length += (size_t)snprintf(header + length, sizeof header - length, "%s", part);
        }
        const char *once = stored(header, "abc", WARC_WHOLE);
        if (once != NULL) {
            taken++;
            char copy[1024];
            (void)snprintf(copy, sizeof copy, "%s", once);
            WarcHttp http;
            CU_ASSERT_EQUAL(warc_http_parse_response(bytes_of(copy), &http), RESULT_OK);
            CU_ASSERT_EQUAL(http.header_length, strlen(copy));
            CU_ASSERT_STRING_EQUAL(stored(copy, "abc", WARC_WHOLE), copy);
        }
    }
    CU_ASSERT_TRUE(taken > 500);
}

UNIT_MAIN("warc_http",
          {"a field that contradicts the body gets another name",
           a_field_that_contradicts_the_body_gets_another_name},
          {"a first line becomes one that readers know",
           a_first_line_becomes_one_that_readers_know},
          {"a header that finds no room leaves nothing",
           a_header_that_finds_no_room_leaves_nothing},
          {"a request is one line and fields", a_request_is_one_line_and_fields},
          {"a stored block is read strictly", a_stored_block_is_read_strictly},
          {"what is stored can be read", what_is_stored_can_be_read})
