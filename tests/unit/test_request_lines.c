#include <stdlib.h>
#include <string.h>

#include "fetch/site/request_lines.h"
#include "unit.h"

static void check(const char *url, const char *line, bool mask, const char *expected)
{
    struct curl_slist *lines = NULL;
    CU_ASSERT_EQUAL_FATAL(request_lines_add(&lines, line), RESULT_OK);
    char *text = request_lines_text(url, lines, (RequestMask){.all = mask});
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_STRING_EQUAL(text, expected);
    free(text);
    curl_slist_free_all(lines);
}

static void the_text_is_what_is_sent(void)
{
    check("http://h.example:81/a?b@c", "Accept: x", false,
          "GET /a?b@c HTTP/1.1\r\nHost: h.example:81\r\nAccept: x\r\n\r\n");
    check("https://h.example", "Cookie: a=b", false,
          "GET / HTTP/1.1\r\nHost: h.example\r\nCookie: a=b\r\n\r\n");
}

static void user_information_is_authorization(void)
{
    check("http://admin:secret@h/x", "A: b", false,
          "GET /x HTTP/1.1\r\nHost: h\r\nAuthorization: Basic YWRtaW46c2VjcmV0\r\n"
          "A: b\r\n\r\n");
    check("http://me%40home@h/", "A: b", false,
          "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic bWVAaG9tZTo=\r\n"
          "A: b\r\n\r\n");
    check("http://a:b@h/", "A: b", false,
          "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic YTpi\r\n"
          "A: b\r\n\r\n");
}

static void secrets_can_be_masked(void)
{
    check("http://admin:secret@h/x", "cookie: id=1", true,
          "GET /x HTTP/1.1\r\nHost: h\r\nAuthorization: Basic ***\r\n"
          "cookie: ***\r\n\r\n");
    check("http://h/x", "AUTHORIZATION: Bearer 1", true,
          "GET /x HTTP/1.1\r\nHost: h\r\nAUTHORIZATION: ***\r\n\r\n");
    check("http://h/x", "X-Cookie: 1", true, "GET /x HTTP/1.1\r\nHost: h\r\nX-Cookie: 1\r\n\r\n");
}

static void lines_of_the_file_are_always_masked(void)
{
    struct curl_slist *lines = NULL;
    CU_ASSERT_EQUAL_FATAL(request_lines_add(&lines, "X-Key: k"), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(request_lines_add(&lines, "X-Other: o"), RESULT_OK);
    char *text = request_lines_text("http://h/", lines, (RequestMask){.n_first = 1});
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_STRING_EQUAL(text, "GET / HTTP/1.1\r\nHost: h\r\n"
                                 "X-Key: ***\r\nX-Other: o\r\n\r\n");
    free(text);
    curl_slist_free_all(lines);
}

static void what_an_operator_adds_is_masked_but_for_who_asks(void)
{
    static const char *const given[] = {"User-Agent: me", "X-Api-Key: k", "Accept: */*",
                                        "X-Other: o"};
    struct curl_slist *lines = NULL;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        CU_ASSERT_EQUAL_FATAL(request_lines_add(&lines, given[i]), RESULT_OK);
    }
    RequestMask mask = {.all = true, .headers = "User-Agent: me | x-api-key: k"};
    char *text = request_lines_text("http://h/", lines, mask);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_STRING_EQUAL(text, "GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: me\r\n"
                                 "X-Api-Key: ***\r\nAccept: */*\r\nX-Other: o\r\n\r\n");
    free(text);
    curl_slist_free_all(lines);
}

static void check_common(const char *headers, bool robots, const char *expected)
{
    struct curl_slist *lines = NULL;
    CU_ASSERT_EQUAL_FATAL(request_lines_common(&lines, "me/1 (+x)", headers, "de", robots),
                          RESULT_OK);
    char *text = request_lines_text("http://h/", lines, (RequestMask){.n_first = 0});
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, expected));
    CU_ASSERT_PTR_EQUAL(strcasestr(strcasestr(text, "user-agent:") + 1, "user-agent:"), NULL);
    free(text);
    curl_slist_free_all(lines);
}

static void a_request_says_once_who_asks(void)
{
    check_common("", false, "Host: h\r\nUser-Agent: me/1 (+x)\r\nAccept: text/html,");
    check_common("", true, "Host: h\r\nUser-Agent: me/1 (+x)\r\nAccept: text/plain,");
    check_common("X: y|Z: w", false, "Accept-Language: de\r\nX: y\r\nZ: w\r\n");
    check_common("X: y | user-Agent: other", false, "X: y \r\nuser-Agent: other\r\n");
    check_common("User-Agent: other", true, "Host: h\r\nAccept: text/plain");
}

static void a_long_user_agent_is_sent_whole(void)
{
    static char agent[10000];
    struct curl_slist *lines = NULL;
    memset(agent, 'x', sizeof agent - 1);
    CU_ASSERT_EQUAL_FATAL(request_lines_common(&lines, agent, "", "", false), RESULT_OK);
    CU_ASSERT_EQUAL(strlen(lines->data), strlen("User-Agent: ") + sizeof agent - 1);
    curl_slist_free_all(lines);
}

UNIT_MAIN("request lines", {"the text is what is sent", the_text_is_what_is_sent},
          {"user information is Authorization", user_information_is_authorization},
          {"secrets can be masked", secrets_can_be_masked},
          {"lines of the file of credentials are always masked",
           lines_of_the_file_are_always_masked},
          {"a request says once who asks", a_request_says_once_who_asks},
          {"a long user agent is sent whole", a_long_user_agent_is_sent_whole},
          {"what an operator adds is masked, but for who asks",
           what_an_operator_adds_is_masked_but_for_who_asks})
