/* Queries in the encodings of documents: what is written is read back by the decoders. */
#include <stdlib.h>
#include <string.h>

#include "base/core/ascii.h"
#include "dice.h"
#include "parse/charset/charset.h"
#include "parse/url/url_encode.h"
#include "parse/url/url_legacy.h"
#include "unit.h"

static const char *const encodings[] = {
    "Big5",         "EUC-JP",         "EUC-KR",       "gb18030",       "GBK",    "ISO-2022-JP",
    "Shift_JIS",    "x-user-defined", "windows-1252", "windows-1251",  "KOI8-R", "ISO-8859-2",
    "ISO-8859-8-I", "macintosh",      "windows-874",  "x-mac-cyrillic"};

static const char *append(const char *query, size_t length, const char *encoding, Url *url)
{
    url->length = 0;
    CU_ASSERT_EQUAL(url_legacy_append(url, query, length, encoding), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(url_append(url, "", 1), RESULT_OK);
    return url->href;
}

static void only_encodings_with_an_encoder_of_their_own_apply(void)
{
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        CU_ASSERT_TRUE(url_legacy_applies(encodings[i]));
    }
    static const char *const others[] = {"UTF-8",       "utf-8",    "UTF-16LE", "UTF-16BE",
                                         "replacement", "nonsense", "",         "latin1"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CU_ASSERT_FALSE(url_legacy_applies(others[i])); /* a label is no name */
    }
    CU_ASSERT_FALSE(url_legacy_applies(NULL));
    CU_ASSERT_TRUE(url_legacy_applies("koi8-r"));
    Url url = {.href = NULL};
    CU_ASSERT_EQUAL(url_legacy_append(&url, "x", 1, "UTF-8"), RESULT_INVALID);
    url_destroy(&url);
}

static void what_an_encoding_lacks_is_a_reference(void)
{
    Url url = {.href = NULL};
    CU_ASSERT_STRING_EQUAL(append("a\xE2\x82\xAC", 4, "windows-1252", &url), "a%80");
    CU_ASSERT_STRING_EQUAL(append("a\xE2\x82\xAC", 4, "ISO-8859-2", &url), "a%26%238364%3B");
    CU_ASSERT_STRING_EQUAL(append("\xE2\x82\xAC", 3, "GBK", &url), "%80");
    CU_ASSERT_STRING_EQUAL(append("\xE2\x82\xAC", 3, "gb18030", &url), "%A2%E3");
    CU_ASSERT_STRING_EQUAL(append("\xF0\x9F\x98\x80", 4, "Shift_JIS", &url), "%26%23128512%3B");
    CU_ASSERT_STRING_EQUAL(append("\xC2\xA5\\", 3, "Shift_JIS", &url), "\\\\");
    CU_ASSERT_STRING_EQUAL(append("\xE7\xBA\x8A", 3, "EUC-JP", &url), "%F9%A1"); /* NEC's */
    CU_ASSERT_STRING_EQUAL(append("\xE7\xBA\x8A", 3, "Shift_JIS", &url), "%FA\\");
    CU_ASSERT_STRING_EQUAL(append("\xEE\x80\x80", 3, "Shift_JIS", &url), "%26%2357344%3B");
    CU_ASSERT_STRING_EQUAL(append("x y\"", 4, "Big5", &url), "x%20y%22");
    CU_ASSERT_STRING_EQUAL(append("", 0, "Big5", &url), "");
    url_destroy(&url);
}

static void iso_2022_jp_ends_in_ascii_and_lets_no_escape_in(void)
{
    Url url = {.href = NULL};
    CU_ASSERT_STRING_EQUAL(append("\xE3\x81\x82", 3, "ISO-2022-JP", &url), "%1B$B$%22%1B(B");
    CU_ASSERT_STRING_EQUAL(append("\xE3\x81\x82\xF0\x9F\x98\x80", 7, "ISO-2022-JP", &url),
                           "%1B$B$%22%1B(B%26%23128512%3B");
    CU_ASSERT_STRING_EQUAL(append("\xC2\xA5x", 3, "ISO-2022-JP", &url), "%1B(J\\x%1B(B");
    CU_ASSERT_STRING_EQUAL(append("\x1B$B", 3, "ISO-2022-JP", &url), "%26%2365533%3B$B");
    CU_ASSERT_STRING_EQUAL(append("\xE3\x81\x82\x1B", 4, "ISO-2022-JP", &url),
                           "%1B$B$%22%1B(B%26%2365533%3B");
    CU_ASSERT_STRING_EQUAL(append("\xEF\xBD\xB1", 3, "ISO-2022-JP", &url), "%1B$B%%22%1B(B");
    url_destroy(&url);
}

/* Undoes percent escapes; the bytes in out. */
static size_t unescape(const char *text, char *out)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        char digits[3] = {text[0] == '%' ? text[1] : '\0', text[0] == '%' ? text[2] : '\0', '\0'};
        out[n++] = *text == '%' ? (char)strtoul(digits, NULL, 16) : *text;
        text += *text == '%' ? 2 : 0;
    }
    return n;
}

/* Undoes decimal references. */
static void resolve(const char *text, Buffer *out)
{
    for (; *text != '\0'; text++) {
        char *end = NULL;
        unsigned long c = text[0] == '&' && text[1] == '#' ? strtoul(text + 2, &end, 10) : 0;
        if (c != 0) {
            (void)buffer_append_code_point(out, (uint32_t)c);
            text = end; /* ";" */
        } else {
            (void)buffer_append_char(out, *text);
        }
    }
}

/* U+00A5, U+203E, U+2212 and half-width katakana become other characters, as the standard wants. */
static bool is_kept(uint32_t c)
{
    return c != 0xA5 && c != 0x203E && c != 0x2212 && (c < 0xFF61 || c > 0xFF9F) &&
           (c < 0xD800 || c > 0xF8FF) && c != 0xFFFD && (c < 0x80 || c > 0x9F);
}

/* But in ISO-2022-JP, where "%" is a byte of katakana, which the standard leaves as it is. */
static void a_query_is_read_back_as_it_was(void)
{
    static const uint32_t planes[][2] = {{0x80, 0x500},      {0x2000, 0x2700}, {0x3000, 0x3400},
                                         {0x4E00, 0xA000},   {0xAC00, 0xD7A4}, {0xFF00, 0xFFF0},
                                         {0x1F600, 0x1F650}, {'a', '{'}};
    Dice dice = {.state = 17};
    Url url = {.href = NULL};
    for (unsigned round = 0; round < 320; round++) {
        const char *encoding = encodings[round % (sizeof encodings / sizeof *encodings)];
        encoding = strcmp(encoding, "ISO-2022-JP") == 0 ? "EUC-JP" : encoding;
        Buffer query = {.limit = BUFFER_NO_LIMIT};
        for (unsigned i = 0; i < 30; i++) {
            const uint32_t *plane = planes[dice_below(&dice, 8)];
            uint32_t c = plane[0] + (uint32_t)dice_below(&dice, plane[1] - plane[0]);
            (void)buffer_append_code_point(&query, is_kept(c) ? c : 'x');
        }
        char bytes[2048];
        size_t n = unescape(append(query.data, query.length, encoding, &url), bytes);
        Buffer text = {.limit = BUFFER_NO_LIMIT};
        Buffer got = {.limit = BUFFER_NO_LIMIT};
        CU_ASSERT_EQUAL(charset_decode(encoding, bytes, n, &text), RESULT_OK);
        resolve(buffer_string(&text), &got);
        if (strcmp(buffer_string(&got), buffer_string(&query)) != 0) {
            (void)fprintf(stderr, "%s:\n%s\n%s\n%s\n", encoding, url.href, buffer_string(&query),
                          buffer_string(&got));
            CU_FAIL("another query");
        }
        buffer_destroy(&got);
        buffer_destroy(&text);
        buffer_destroy(&query);
    }
    url_destroy(&url);
}

static void a_query_that_grows_too_long_is_refused(void)
{
    Url url = {.href = NULL};
    static char query[URL_MAX_BYTES];
    memset(query, '\x80', sizeof query);
    CU_ASSERT_EQUAL(url_legacy_append(&url, query, sizeof query, "KOI8-R"), RESULT_LIMIT);
    CU_ASSERT_TRUE(url.length < URL_MAX_BYTES + 32);
    url_destroy(&url);
}

UNIT_MAIN("url_legacy",
          {"only encodings with an encoder of their own apply",
           only_encodings_with_an_encoder_of_their_own_apply},
          {"what an encoding lacks is a reference", what_an_encoding_lacks_is_a_reference},
          {"ISO-2022-JP ends in ASCII and lets no escape in",
           iso_2022_jp_ends_in_ascii_and_lets_no_escape_in},
          {"a query is read back as it was", a_query_is_read_back_as_it_was},
          {"a query that grows too long is refused", a_query_that_grows_too_long_is_refused})
