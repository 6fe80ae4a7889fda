#include <stdlib.h>
#include <string.h>

#include "fetch/site/request_lines.h"
#include "unit.h"

static void check(const char *url, const char *line, bool mask, const char *expected)
{
    struct curl_slist *lines = NULL;
    CU_ASSERT_EQUAL_FATAL(request_lines_add(&lines, line), RESULT_OK);
    char *text = request_lines_text(url, "agent", lines, (RequestMask){.all = mask});
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_STRING_EQUAL(text, expected);
    free(text);
    curl_slist_free_all(lines);
}

static void the_text_is_what_is_sent(void)
{
    check("http://h.example:81/a?b@c", "Accept: x", false,
          "GET /a?b@c HTTP/1.1\r\nHost: h.example:81\r\nUser-Agent: agent\r\nAccept: x\r\n\r\n");
    check("https://h.example", "Cookie: a=b", false,
          "GET / HTTP/1.1\r\nHost: h.example\r\nUser-Agent: agent\r\nCookie: a=b\r\n\r\n");
}

static void user_information_is_authorization(void)
{
    check("http://admin:secret@h/x", "A: b", false,
          "GET /x HTTP/1.1\r\nHost: h\r\nAuthorization: Basic YWRtaW46c2VjcmV0\r\n"
          "User-Agent: agent\r\nA: b\r\n\r\n");
    check("http://me%40home@h/", "A: b", false,
          "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic bWVAaG9tZTo=\r\n"
          "User-Agent: agent\r\nA: b\r\n\r\n");
    check("http://a:b@h/", "A: b", false,
          "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic YTpi\r\nUser-Agent: agent\r\n"
          "A: b\r\n\r\n");
}

static void secrets_can_be_masked(void)
{
    check("http://admin:secret@h/x", "cookie: id=1", true,
          "GET /x HTTP/1.1\r\nHost: h\r\nAuthorization: Basic ***\r\nUser-Agent: agent\r\n"
          "cookie: ***\r\n\r\n");
    check("http://h/x", "AUTHORIZATION: Bearer 1", true,
          "GET /x HTTP/1.1\r\nHost: h\r\nUser-Agent: agent\r\nAUTHORIZATION: ***\r\n\r\n");
    check("http://h/x", "X-Cookie: 1", true,
          "GET /x HTTP/1.1\r\nHost: h\r\nUser-Agent: agent\r\nX-Cookie: 1\r\n\r\n");
}

static void lines_of_the_file_are_always_masked(void)
{
    struct curl_slist *lines = NULL;
    CU_ASSERT_EQUAL_FATAL(request_lines_add(&lines, "X-Key: k"), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(request_lines_add(&lines, "X-Other: o"), RESULT_OK);
    char *text = request_lines_text("http://h/", "agent", lines, (RequestMask){.n_first = 1});
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_STRING_EQUAL(text, "GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: agent\r\n"
                                 "X-Key: ***\r\nX-Other: o\r\n\r\n");
    free(text);
    curl_slist_free_all(lines);
}

UNIT_MAIN("request lines", {"the text is what is sent", the_text_is_what_is_sent},
          {"user information is Authorization", user_information_is_authorization},
          {"secrets can be masked", secrets_can_be_masked},
          {"lines of the file of credentials are always masked",
           lines_of_the_file_are_always_masked})
