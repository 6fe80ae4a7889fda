#include <idn2.h>
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

static void composition_is_canonical(void)
{
    static const struct {
        uint32_t in[5];
        size_t n_in;
        uint32_t out[5];
        size_t n_out;
    } cases[] = {
        {{'e', 0x301, 0x323}, 3, {0x1EB9, 0x301}, 2}, /* reordered, then composed */
        {{0xE9, 0x323}, 2, {0x1EB9, 0x301}, 2},       /* taken apart first */
        {{'a', 0x302, 0x301}, 3, {0x1EA5}, 1},        /* twice */
        {{'a', 0x315, 0x300}, 3, {0xE0, 0x315}, 2},
        {{'a', 0x334, 0x301, 0x302}, 4, {0xE1, 0x334, 0x302}, 3}, /* 0x302 is blocked */
        {{0x1100, 0x1161, 0x11A8}, 3, {0xAC01}, 1},
        {{0xAC00, 0x11A7}, 2, {0xAC00, 0x11A7}, 2}, /* no trailing consonant */
        {{0x301, 'a'}, 2, {0x301, 'a'}, 2},
        {{0x9C7, 0x9BE}, 2, {0x9CB}, 1}, /* two starters */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        UrlCodes out = {.at = NULL};
        CU_ASSERT_EQUAL(url_nfc(cases[i].in, cases[i].n_in, &out), RESULT_OK);
        CU_ASSERT_EQUAL(out.n, cases[i].n_out);
        CU_ASSERT(out.n == cases[i].n_out &&
                  memcmp(out.at, cases[i].out, out.n * sizeof *out.at) == 0);
        url_codes_destroy(&out);
    }
}

static size_t put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xC0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    to[0] = (char)(0xE0 | c >> 12);
    to[1] = (char)(0x80 | (c >> 6 & 63));
    to[2] = (char)(0x80 | (c & 63));
    return 3;
}

/* libidn2 is stricter, but where it answers and no right-to-left letter or capital sharp s is in
 * play (it checks bidi by label and has an older table), it must answer the same. */
static void libidn2_agrees_where_it_answers(void)
{
    static const uint32_t blocks[][2] = {
        {'a', 'z'},       {0xC0, 0x24F},    {0x300, 0x345},   {0x370, 0x3FF},   {0x400, 0x52F},
        {0x900, 0x97F},   {0xE00, 0xE7F},   {0x1100, 0x11FF}, {0x1E00, 0x1E99}, {0x1EA0, 0x1FFF},
        {0x3041, 0x30FF}, {0x4E00, 0x9FFF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAD9}, {0xFF00, 0xFFEF}};
    const size_t n_blocks = sizeof blocks / sizeof *blocks;
    uint64_t state = 99;
    size_t n_same = 0;
    size_t n_different = 0;
    for (size_t round = 0; round < 100000; round++) {
        char text[64];
        size_t n = 0;
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t random = state >> 20;
        size_t n_codes = 1 + random % 5;
        for (size_t i = 0; i < n_codes; i++) {
            random = random * 25214903917u + 11;
            const uint32_t *block = blocks[(random >> 18) % n_blocks];
            n +=
                put_utf8(text + n, block[0] + (uint32_t)(random >> 30) % (block[1] - block[0] + 1));
        }
        text[n] = '\0';
        char *expect = NULL;
        if (idn2_to_ascii_8z(text, &expect, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT) != IDN2_OK) {
            continue;
        }
        Url url;
        url_init(&url);
        Result rc = url_idna_append(&url, text, n);
        bool same = rc == RESULT_OK && url.length == strlen(expect) &&
                    memcmp(url.href, expect, url.length) == 0;
        n_same += same;
        n_different += !same;
        url_destroy(&url);
        idn2_free(expect);
    }
    CU_ASSERT(n_same > 20000);
    CU_ASSERT_EQUAL(n_different, 0);
}

static void no_name_is_longer_than_the_bound(void)
{
    static char text[5000];
    for (size_t i = 0; i + 1 < sizeof text; i += 2) {
        memcpy(text + i, "\xC3\xA9", 2);
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
          {"libidn2 agrees where it answers", libidn2_agrees_where_it_answers},
          {"no name is longer than the bound", no_name_is_longer_than_the_bound})
