#include "store/foreign/foreign_reader.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static Result read_text(const char *text, ForeignAnswer *answer, Buffer *chunks)
{
    return foreign_http_read(warc_bytes(text, strlen(text)), chunks, answer);
}

static bool body_is(const ForeignAnswer *answer, const char *text)
{
    return answer->body.length == strlen(text) &&
           memcmp(answer->body.bytes, text, answer->body.length) == 0;
}

static void an_answer_has_header_and_body(void)
{
    ForeignAnswer answer;
    Buffer chunks;
    buffer_init(&chunks, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(read_text("HTTP/1.0 404 No\r\nA: b\r\n\r\nbody", &answer, &chunks), RESULT_OK);
    CU_ASSERT_EQUAL(answer.status, 404);
    CU_ASSERT_TRUE(answer.is_10);
    CU_ASSERT_TRUE(body_is(&answer, "body"));
    CU_ASSERT_EQUAL(read_text("HTTP/1.1 200 OK\nA: b\n\nbody", &answer, &chunks), RESULT_OK);
    CU_ASSERT_FALSE(answer.is_10);
    CU_ASSERT_TRUE(body_is(&answer, "body"));
    buffer_destroy(&chunks);
}

static void chunks_are_put_together(void)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    static const struct {
        const char *stored;
        const char *body;
        bool cut;
    } cases[] = {{"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", "abcde", false},
                 {"3\nabc\n0\n", "abc", false},
                 {"A\r\nabcdefghij\r\n0\r\n\r\n", "abcdefghij", false},
                 {"5\r\nabc", "abc", true},
                 {"3\r\nabc\r\n", "abc", true},
                 {"3\r\nabc\r\nrubbish\r\n", "abc", true},
                 {"<p>no chunk", "<p>no chunk", false},
                 {"", "", false}};
    Buffer chunks;
    buffer_init(&chunks, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        ForeignAnswer answer;
        (void)snprintf(text, sizeof text, "%s%s", head, cases[i].stored);
        CU_ASSERT_EQUAL(read_text(text, &answer, &chunks), RESULT_OK);
        CU_ASSERT_TRUE(body_is(&answer, cases[i].body));
        CU_ASSERT_EQUAL(answer.is_cut, cases[i].cut);
        CU_ASSERT_EQUAL(answer.stored.length, strlen(cases[i].stored));
    }
    buffer_destroy(&chunks);
}

static void what_is_no_answer_is_refused(void)
{
    static const char *const texts[] = {"",
                                        "HTTP/1.1 200 OK\r\n",
                                        "HTTP/1.1 20 OK\r\n\r\n",
                                        "GET / HTTP/1.1\r\n\r\n",
                                        "HTTP/1.1 xyz\r\n\r\n",
                                        "HTTP/1.1 099 x\r\n\r\n"};
    ForeignAnswer answer;
    Buffer chunks;
    buffer_init(&chunks, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CU_ASSERT_EQUAL(read_text(texts[i], &answer, &chunks), RESULT_INVALID);
    }
    buffer_destroy(&chunks);
}

UNIT_MAIN("foreign_reader", {"an answer has header and body", an_answer_has_header_and_body},
          {"chunks are put together", chunks_are_put_together},
          {"what is no answer is refused", what_is_no_answer_is_refused})
