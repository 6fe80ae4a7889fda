/* The decoders of East Asia and their sink, called by themselves: whatever the bytes, UTF-8. */
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "parse/charset/charset_cjk.h"
#include "unit.h"

static const char *const encodings[] = {"Shift_JIS", "EUC-JP",  "ISO-2022-JP", "EUC-KR",
                                        "GBK",       "gb18030", "Big5"};
#define N_ENCODINGS (sizeof encodings / sizeof *encodings)

static Result decode(const char *encoding, const void *bytes, size_t length, Buffer *out)
{
    CharsetSink sink = {.out = out};
    Result rc = charset_decode_cjk(encoding, bytes, length, &sink);
    charset_sink_flush(&sink);
    return rc == RESULT_OK ? sink.rc : rc;
}

/* Whole characters of UTF-8, none of them NUL. */
static bool is_clean(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)text[i];
        size_t n = 1 + (size_t)(c >= 0xC0) + (size_t)(c >= 0xE0) + (size_t)(c >= 0xF0);
        if (c == 0 || (c >= 0x80 && c < 0xC2) || c > 0xF4 || i + n > length) {
            return false;
        }
        for (size_t k = 1; k < n; k++) {
            if (((unsigned char)text[i + k] & 0xC0) != 0x80) {
                return false;
            }
        }
        i += n;
    }
    return true;
}

static void an_encoding_of_another_kind_is_refused(void)
{
    Buffer out = {.limit = BUFFER_NO_LIMIT};
    CU_ASSERT_EQUAL(decode("UTF-8", "x", 1, &out), RESULT_INVALID);
    CU_ASSERT_EQUAL(decode("shift_jis", "x", 1, &out), RESULT_INVALID);
    CU_ASSERT_EQUAL(decode("", "x", 1, &out), RESULT_INVALID);
    CU_ASSERT_EQUAL(out.length, 0);
    for (size_t i = 0; i < N_ENCODINGS; i++) {
        CU_ASSERT_EQUAL(decode(encodings[i], "", 0, &out), RESULT_OK);
        CU_ASSERT_EQUAL(out.length, 0);
    }
    buffer_destroy(&out);
}

static void a_quote_behind_a_broken_lead_byte_is_a_quote(void)
{
    for (size_t i = 0; i < N_ENCODINGS; i++) {
        for (unsigned lead = 0x80; lead <= 0xFF; lead++) {
            const char text[] = {(char)lead, '"', '>', 'x'};
            Buffer out = {.limit = BUFFER_NO_LIMIT};
            CU_ASSERT_EQUAL(decode(encodings[i], text, sizeof text, &out), RESULT_OK);
            CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&out), "\">x"));
            buffer_destroy(&out);
        }
    }
}

static void a_text_that_ends_within_a_character_ends_with_a_replacement(void)
{
    static const struct {
        const char *encoding;
        const char *bytes;
    } rows[] = {{"Shift_JIS", "a\x83"},       {"EUC-JP", "a\xA5"}, {"EUC-JP", "a\x8F\xA1"},
                {"EUC-KR", "a\xB0"},          {"GBK", "a\xB0"},    {"gb18030", "a\x81\x30"},
                {"gb18030", "a\x81\x30\x81"}, {"Big5", "a\xA4"},   {"ISO-2022-JP", "a\x1B$B%"},
                {"ISO-2022-JP", "a\x1B"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Buffer out = {.limit = BUFFER_NO_LIMIT};
        CU_ASSERT_EQUAL(decode(rows[i].encoding, rows[i].bytes, strlen(rows[i].bytes), &out),
                        RESULT_OK);
        CU_ASSERT_EQUAL(strncmp(buffer_string(&out), "a\xEF\xBF\xBD", 4), 0);
        CU_ASSERT_TRUE(is_clean(out.data, out.length));
        buffer_destroy(&out);
    }
}

static void any_bytes_become_clean_text_and_a_limit_cuts_it_between_characters(void)
{
    Dice dice = {.state = 7};
    for (size_t round = 0; round < 210; round++) {
        const char *encoding = encodings[round % N_ENCODINGS];
        size_t length = (size_t)dice_below(&dice, 300);
        char bytes[300];
        for (size_t i = 0; i < length; i++) {
            bytes[i] = (char)(dice_below(&dice, 3) == 0 ? dice_below(&dice, 128)
                                                        : 128 + dice_below(&dice, 128));
        }
        Buffer whole = {.limit = BUFFER_NO_LIMIT};
        CU_ASSERT_EQUAL(decode(encoding, bytes, length, &whole), RESULT_OK);
        CU_ASSERT_TRUE(is_clean(whole.data, whole.length));
        if (whole.length > 1) {
            Buffer cut = {.limit = 1 + dice_below(&dice, whole.length - 1)};
            CU_ASSERT_EQUAL(decode(encoding, bytes, length, &cut), RESULT_LIMIT);
            CU_ASSERT_TRUE(cut.length <= cut.limit && cut.length + 3 >= cut.limit);
            CU_ASSERT_TRUE(is_clean(cut.data, cut.length));
            CU_ASSERT_EQUAL(memcmp(whole.data, buffer_string(&cut), cut.length), 0);
            buffer_destroy(&cut);
        }
        buffer_destroy(&whole);
    }
}

static void the_sink_passes_on_what_it_was_given_however_long(void)
{
    Dice dice = {.state = 3};
    static char text[3 * CHARSET_BLOCK_BYTES];
    for (size_t i = 0; i < sizeof text; i += 3) {
        memcpy(text + i, "\xE3\x81\x82", 3);
    }
    Buffer out = {.limit = BUFFER_NO_LIMIT};
    CharsetSink sink = {.out = &out};
    size_t given = 0;
    while (given < sizeof text) {
        size_t n = 3 * (size_t)dice_below(&dice, 1500);
        n = n < sizeof text - given ? n : sizeof text - given;
        charset_sink_bytes(&sink, text + given, n);
        given += n;
        CU_ASSERT_EQUAL(out.length % 3, 0); /* a block never ends within a character */
    }
    charset_sink_put(&sink, 0);
    charset_sink_flush(&sink);
    CU_ASSERT_EQUAL(out.length, sizeof text + 3);
    CU_ASSERT_EQUAL(memcmp(out.data, text, sizeof text), 0);
    CU_ASSERT_EQUAL(memcmp(out.data + sizeof text, "\xEF\xBF\xBD", 3), 0); /* NUL */
    buffer_destroy(&out);
}

static void what_big5_has_otherwise_is_found_both_ways_and_is_decoded_so(void)
{
    size_t known = 0;
    for (unsigned code = 0x8140; code <= 0xFEFE; code++) {
        uint32_t point = charset_big5_point(code);
        if (point == 0) {
            continue;
        }
        known++;
        const char bytes[] = {(char)(code >> 8), (char)(code & 0xFF)};
        char want[5] = {0};
        (void)ascii_put_utf8(point, want);
        Buffer out = {.limit = BUFFER_NO_LIMIT};
        CU_ASSERT_EQUAL(decode("Big5", bytes, 2, &out), RESULT_OK);
        if (strcmp(buffer_string(&out), want) == 0) {
            CU_ASSERT_EQUAL(charset_big5_code(point), code);
        } else {
            (void)fprintf(stderr, "%x: '%s' and not '%s'\n", code, buffer_string(&out), want);
            CU_FAIL("another point");
        }
        buffer_destroy(&out);
    }
    CU_ASSERT_EQUAL(known, 142);
    CU_ASSERT_EQUAL(charset_big5_code('A'), 0);
    CU_ASSERT_EQUAL(charset_big5_point(0), 0);
}

UNIT_MAIN("charset_cjk",
          {"an encoding of another kind is refused", an_encoding_of_another_kind_is_refused},
          {"a quote behind a broken lead byte is a quote",
           a_quote_behind_a_broken_lead_byte_is_a_quote},
          {"a text that ends within a character ends with a replacement",
           a_text_that_ends_within_a_character_ends_with_a_replacement},
          {"any bytes become clean text and a limit cuts it between characters",
           any_bytes_become_clean_text_and_a_limit_cuts_it_between_characters},
          {"the sink passes on what it was given however long",
           the_sink_passes_on_what_it_was_given_however_long},
          {"what Big5 has otherwise is found both ways and is decoded so",
           what_big5_has_otherwise_is_found_both_ways_and_is_decoded_so})
