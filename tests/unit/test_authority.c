#include <stdio.h>
#include <string.h>

#include "parse/url/url.h"
#include "parse/host/authority.h"
#include "parse/host/port_set.h"
#include "unit.h"

static void parts_are_those_of_the_parser(void)
{
    static const char *const urls[] = {
        "http://h/",          "https://h/",           "http://h:81/x?y@z:5", "http://u@h/",
        "https://u:p@h:444/", "http://[::1]/",        "http://[::1]:8080/a", "http://u:@[1::2]:9/",
        "http://:p@h/",       "http://h/@x:7/",       "http://h:0/",         "http://h:65535/",
        "http://a%40b:c@h/",  "http://u:80@h/p@q:1/",
    };
    Url url;
    url_init(&url);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        CU_ASSERT_EQUAL_FATAL(url_parse(&url, NULL, urls[i], strlen(urls[i])), RESULT_OK);
        Authority at = authority_of(url.href, url.length);
        CU_ASSERT_EQUAL(at.host, url.host_start);
        CU_ASSERT_EQUAL(at.host_end, url.host_end);
        CU_ASSERT_EQUAL(at.end, url.path_start);
        CU_ASSERT_EQUAL(at.port, url.port);
    }
    url_destroy(&url);
}

static void user_information_is_taken_out(void)
{
    static const char *const cases[][2] = {
        {"http://admin:secret@victim/x@y", "http://victim/x@y"},
        {"https://u@h:444/?a=b@c", "https://h:444/?a=b@c"},
        {"http://h/a@b", "http://h/a@b"},
        {"http://:@h", "http://h"},
        {"http://", "http://"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s", cases[i][0]);
        size_t length = authority_strip(text, strlen(text));
        CU_ASSERT_STRING_EQUAL(text, cases[i][1]);
        CU_ASSERT_EQUAL(length, strlen(cases[i][1]));
    }
}

static void bad_ports_are_never_in_a_set(void)
{
    static const uint16_t bad[] = {0, 1, 22, 25, 6000, 6379, 6667, 10080, 11211};
    static const uint16_t good[] = {80, 81, 443, 8000, 8080, 65535, 2};
    PortSet ports;
    Buffer error;
    buffer_init(&error, 1000);
    CU_ASSERT_EQUAL(port_set_parse(&ports, "", &error), RESULT_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_TRUE(port_is_bad(bad[i]));
        CU_ASSERT_FALSE(port_set_has(&ports, bad[i]));
        CU_ASSERT_FALSE(port_set_has(NULL, bad[i]));
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CU_ASSERT_FALSE(port_is_bad(good[i]));
        CU_ASSERT_TRUE(port_set_has(&ports, good[i]));
        CU_ASSERT_TRUE(port_set_has(NULL, good[i]));
    }
    CU_ASSERT_EQUAL(port_set_parse(&ports, " 80, 22,443 8000-8002", &error), RESULT_OK);
    CU_ASSERT_TRUE(port_set_has(&ports, 80) && port_set_has(&ports, 443) &&
                   port_set_has(&ports, 8000) && port_set_has(&ports, 8002));
    CU_ASSERT_FALSE(port_set_has(&ports, 22) || port_set_has(&ports, 8003) ||
                    port_set_has(&ports, 81));
    CU_ASSERT_EQUAL(error.length, 0);
    buffer_destroy(&error);
}

static void what_is_no_list_of_ports_is_named(void)
{
    static const char *const lists[] = {
        "http", "80;443", "0", "65536", "90-80", "80-", "-80", "99999999999999999999", "80,,x"};
    PortSet ports;
    Buffer error;
    buffer_init(&error, 1000);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        CU_ASSERT_EQUAL(port_set_parse(&ports, lists[i], &error), RESULT_INVALID);
        CU_ASSERT_FALSE(port_set_has(&ports, 80));
        CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "is not a port"));
        buffer_reset(&error);
    }
    buffer_destroy(&error);
}

UNIT_MAIN("authority", {"parts are those of the parser", parts_are_those_of_the_parser},
          {"user information is taken out", user_information_is_taken_out},
          {"bad ports are never in a set", bad_ports_are_never_in_a_set},
          {"what is no list of ports is named", what_is_no_list_of_ports_is_named})
