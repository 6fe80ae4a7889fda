#include <string.h>

#include "parse/url/url.h"
#include "parse/url/url_idna.h"
#include "unit.h"

typedef struct Name {
    const char *unicode;
    const char *ascii; /* NULL: refused */
} Name;

static void check_names(const Name *names)
{
    for (; names->unicode != NULL; names++) {
        Url url;
        url_init(&url);
        Result rc = url_idna_append(&url, names->unicode, strlen(names->unicode));
        bool right = names->ascii == NULL ? rc == RESULT_INVALID
                                          : rc == RESULT_OK && url.length == strlen(names->ascii) &&
                                                memcmp(url.href, names->ascii, url.length) == 0;
        if (!right) {
            (void)fprintf(stderr, "%s: %.*s, expected %s\n", names->unicode,
                          rc == RESULT_OK ? (int)url.length : 7,
                          rc == RESULT_OK ? url.href : "refused",
                          names->ascii == NULL ? "refused" : names->ascii);
        }
        CU_ASSERT(right);
        url_destroy(&url);
    }
}

static void names_are_mapped_and_encoded(void)
{
    static const Name names[] = {{"b\xC3\xBC"
                                  "cher.example",
                                  "xn--bcher-kva.example"},
                                 {"B\xC3\x9C"
                                  "CHER",
                                  "xn--bcher-kva"},
                                 {"bu\xCC\x88"
                                  "cher",
                                  "xn--bcher-kva"},
                                 {"stra\xC3\x9F"
                                  "e",
                                  "xn--strae-oqa"},
                                 {"STRA\xE1\xBA\x9E"
                                  "E",
                                  "xn--strae-oqa"},
                                 {"\xE2\x98\x83.net", "xn--n3h.net"},
                                 {"\xF0\x9F\x92\xA9.la", "xn--ls8h.la"},
                                 {"\xEF\xBD\x85\xEF\xBD\x98\xEF\xBC\x8E\xEF\xBD\x83", "ex.c"},
                                 {"a\xE3\x80\x82"
                                  "b\xEF\xBD\xA1"
                                  "c",
                                  "a.b.c"},
                                 {"so\xC2\xAD"
                                  "ft",
                                  "soft"},
                                 {"-a--b-.\xC3\xA9", "-a--b-.xn--9ca"},
                                 {"xn--9ca.\xC3\xA9", "xn--9ca.xn--9ca"},
                                 {"XN--9CA.\xC3\xA9", "xn--9ca.xn--9ca"},
                                 {"\xC3\xA9..", "xn--9ca.."},
                                 {"\xEA\xB0\x80\xEA\xB0\x81", "xn--o39ac"},
                                 {"\xE1\x84\x80\xE1\x85\xA1", "xn--o39a"},
                                 {"\xF0\xAF\xA1\xA8", "xn--snl"},
                                 {"\xE2\x85\xA7", "viii"},
                                 {NULL, NULL}};
    check_names(names);
}

static void names_that_no_browser_opens_are_refused(void)
{
    static const Name names[] = {{"xn--a.\xC3\xA9", NULL},
                                 {"xn--.\xC3\xA9", NULL},
                                 {"xn--abc-.\xC3\xA9", NULL},
                                 {"xn--\xC3\xA9", NULL},
                                 {"xn--99999999.\xC3\xA9", NULL},
                                 {"xn--xn---epa.\xC3\xA9", NULL},
                                 {"\xCC\x81"
                                  "a",
                                  NULL},
                                 {"\xEF\xBF\xBD", NULL},
                                 {"\xE2\x80\xAE"
                                  "a",
                                  NULL},
                                 {"\xEE\x80\x80", NULL},
                                 {"\xCD\xB8", NULL},
                                 {"a\xE2\x80\x8D"
                                  "b",
                                  NULL},
                                 {"\xE2\x80\xA4", NULL},
                                 {"a\xEF\xB8\x92"
                                  "b",
                                  NULL},
                                 {"\xC2\xAD", NULL},
                                 {NULL, NULL}};
    check_names(names);
}

static void directions_may_not_be_mixed(void)
{
    static const Name names[] = {{"\xD7\x90\xD7\x91", "xn--4dbc"},
                                 {"\xD7\x90"
                                  "1",
                                  "xn--1-zhc"},
                                 {"\xD7\x90"
                                  "a",
                                  NULL},
                                 {"1\xD7\x90", NULL},
                                 {"1a.\xD7\x90", NULL},
                                 {"a1.\xD7\x90", "a1.xn--4db"},
                                 {"a-.\xD7\x90", NULL},
                                 {"\xD7\x90"
                                  "1\xD9\xA0",
                                  NULL},
                                 {"\xD7\x90-", NULL},
                                 {"\xD9\xA0\xD7\x90", NULL},
                                 {"xn--4db.1.\xC3\xA9", NULL},
                                 {NULL, NULL}};
    check_names(names);
}

static void joiners_stand_where_scripts_need_them(void)
{
    static const Name names[] = {
        {"\xE0\xA4\x95\xE0\xA5\x8D\xE2\x80\x8D\xE0\xA4\xB7", "xn--11b2ezcw70k"},
        {"\xE0\xA4\x95\xE2\x80\x8D\xE0\xA4\xB7", NULL},
        {"\xD8\xA8\xE2\x80\x8C\xD8\xA8", "xn--ngba799q"},
        {"\xD8\xA8\xE2\x80\x8C", NULL},
        {"\xE2\x80\x8C\xD8\xA8", NULL},
        {"\xD8\xA7\xE2\x80\x8C\xD8\xA8", NULL},
        {NULL, NULL}};
    check_names(names);
}

/* Appends the ASCII form of code points, up to a 0. */
static Result to_ascii(const uint32_t *codes, Url *url)
{
    Buffer name = {.limit = 64};
    for (; *codes != 0; codes++) {
        CU_ASSERT_EQUAL(buffer_append_code_point(&name, *codes), RESULT_OK);
    }
    Result rc = url_idna_append(url, name.data, name.length);
    buffer_destroy(&name);
    return rc;
}

static void expect_the_same_name(const uint32_t *one, const uint32_t *other)
{
    Url urls[2] = {{.href = NULL}, {.href = NULL}};
    CU_ASSERT_EQUAL(to_ascii(one, &urls[0]), RESULT_OK);
    CU_ASSERT_EQUAL(to_ascii(other, &urls[1]), RESULT_OK);
    CU_ASSERT_EQUAL(urls[0].length, urls[1].length);
    CU_ASSERT(memcmp(urls[0].href, urls[1].href, urls[0].length) == 0);
    url_destroy(&urls[0]);
    url_destroy(&urls[1]);
}

static void composition_is_canonical(void)
{
    static const uint32_t cases[][2][6] = {
        {{'e', 0x301, 0x323}, {0x1EB9, 0x301}}, /* reordered, then composed */
        {{0xE9, 0x323}, {0x1EB9, 0x301}},       /* taken apart first */
        {{'a', 0x302, 0x301}, {0x1EA5}},        /* twice */
        {{'a', 0x315, 0x300}, {0xE0, 0x315}},
        {{'a', 0x334, 0x301, 0x302}, {0xE1, 0x334, 0x302}}, /* 0x302 is blocked */
        {{0x1100, 0x1161, 0x11A8}, {0xAC01}},
        {{0x995, 0x9C7, 0x9BE}, {0x995, 0x9CB}}, /* two starters */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_the_same_name(cases[i][0], cases[i][1]);
    }
}

/* Whatever ICU this runs with: those of Debian 12 and Ubuntu 24.04 are older. */
static void characters_are_mapped_as_unicode_16_says(void)
{
    static const uint32_t cases[][2] = {
        {0x4C0, 0x4CF},     {0x10A0, 0x2D00},  {0x10C5, 0x2D25},  {0x1E9E, 0xDF},
        {0x2132, 0x214E},   {0x2183, 0x2184},  {0x2F868, 0x36FC}, {0x2F874, 0x5F53},
        {0x2F91F, 0x243AB}, {0x2F95F, 0x7AEE}, {0x2F9BF, 0x45D7}, {0xAD, 0x180E},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_the_same_name((const uint32_t[]){'a', cases[i][0], 0xE9, 0},
                             (const uint32_t[]){'a', cases[i][1], 0xE9, 0});
    }
}

static void no_name_is_longer_than_the_bound(void)
{
    static char text[5000];
    for (size_t i = 0; i + 1 < sizeof text; i += 2) {
        memcpy(text + i, i % 64 == 0 ? ".a" : "\xC3\xA9", 2);
    }
    Url url;
    url_init(&url);
    CU_ASSERT_EQUAL(url_idna_append(&url, text, 4098), RESULT_LIMIT);
    CU_ASSERT_EQUAL(url_idna_append(&url, text, 4096), RESULT_OK);
    url_destroy(&url);
}

UNIT_MAIN("url_idna", {"names are mapped and encoded", names_are_mapped_and_encoded},
          {"names that no browser opens are refused", names_that_no_browser_opens_are_refused},
          {"directions may not be mixed", directions_may_not_be_mixed},
          {"joiners stand where scripts need them", joiners_stand_where_scripts_need_them},
          {"composition is canonical", composition_is_canonical},
          {"characters are mapped as Unicode 16 says", characters_are_mapped_as_unicode_16_says},
          {"no name is longer than the bound", no_name_is_longer_than_the_bound})
