#include <stdint.h>
#include <string.h>

#include "parse/charset/charset.h"
#include "parse/charset/charset_span.h"
#include "unit.h"

static void decodes_to(const char *encoding, const char *bytes, size_t length, const char *want)
{
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    Result rc = charset_decode(encoding, bytes, length, &out);
    CU_ASSERT_EQUAL(rc, RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out), want);
    if (strcmp(buffer_string(&out), want) != 0) {
        (void)fprintf(stderr, "\n%s: \"%s\", expected \"%s\"\n", encoding, buffer_string(&out),
                      want);
    }
    buffer_destroy(&out);
}

#define DECODES(encoding, literal, want) decodes_to(encoding, literal, sizeof(literal) - 1, want)
#define SNIFFS(literal, type, want)                                                                \
    CU_ASSERT_STRING_EQUAL(charset_sniff(literal, sizeof(literal) - 1, type), want)
#define BAD "\xEF\xBF\xBD"

static void labels_are_found_whatever_their_case_and_space(void)
{
    CU_ASSERT_STRING_EQUAL(charset_of_label(" \tLatin1\n", 9), "windows-1252");
    CU_ASSERT_STRING_EQUAL(charset_of_label("UTF8", 4), "UTF-8");
    CU_ASSERT_STRING_EQUAL(charset_of_label("gb2312", 6), "GBK");
    CU_ASSERT_STRING_EQUAL(charset_of_label("866", 3), "IBM866");
    CU_ASSERT_STRING_EQUAL(charset_of_label("x-x-big5", 8), "Big5");
    CU_ASSERT_STRING_EQUAL(charset_of_label("iso-2022-cn", 11), "replacement");
    CU_ASSERT_PTR_NULL(charset_of_label("utf-7", 5));
    CU_ASSERT_PTR_NULL(charset_of_label("", 0));
    CU_ASSERT_PTR_NULL(charset_of_label("utf-8\0", 6));
    CU_ASSERT_PTR_NULL(charset_of_label("a label that is longer than any label", 37));
}

static void a_bom_beats_the_header_and_the_header_beats_the_meta(void)
{
    SNIFFS("\xEF\xBB\xBF<meta charset=koi8-r>", "text/html; charset=big5", "UTF-8");
    SNIFFS("\xFF\xFE<\0", NULL, "UTF-16LE");
    SNIFFS("\xFE\xFF\0<", NULL, "UTF-16BE");
    SNIFFS("<meta charset=koi8-r>", "text/html; charset=big5", "Big5");
    SNIFFS("<meta charset=koi8-r>", "text/html; a=\"charset=x\"; Charset=\"gbk\"", "GBK");
    SNIFFS("<p>", "text/html; charset=\"koi8\\-\\r\"; charset=gbk", "KOI8-R");
    SNIFFS("<p>", "text/html; x=\"\\\";charset=gbk;\"; charset=koi8-r", "KOI8-R");
    SNIFFS("<meta charset=koi8-r>", "text/html; charset=nonsense", "KOI8-R");
    /* Several types in one header, as proxies join them: Fetch's "extract a MIME type". */
    SNIFFS("<p>", "text/html; charset=koi8-r,x", "KOI8-R");
    SNIFFS("<p>", "text/html; charset=koi8-r, text/html", "KOI8-R");
    SNIFFS("<p>", "text/html, text/html; charset=koi8-r", "KOI8-R");
    SNIFFS("<p>", "text/html; charset=koi8-r, TEXT/html; charset=gbk", "GBK");
    SNIFFS("<p>", "text/html; charset=koi8-r, text/plain", "windows-1252");
    SNIFFS("<p>", "text/html; x=\"a,b/c\"; charset=koi8-r", "KOI8-R");
    SNIFFS("<p>", "x; charset=koi8-r", "KOI8-R");
    SNIFFS("<p>", ",,text/html;;charset=koi8-r;,", "KOI8-R");
    SNIFFS("<p>", "text/html; charset=\"koi8-r", "KOI8-R");
    SNIFFS("<p>", NULL, "windows-1252");
}

static void the_prescan_reads_tags_as_the_standard_says(void)
{
    SNIFFS("<!-- <meta charset=gbk> --><meta charset=koi8-r>", NULL, "KOI8-R");
    SNIFFS("<!--><meta charset=koi8-r>", NULL, "KOI8-R");
    SNIFFS("<a title='<meta charset=gbk>'><meta charset=koi8-r>", NULL, "KOI8-R");
    SNIFFS("<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>", NULL, "KOI8-R");
    SNIFFS("<meta content='text/html; charset=koi8-r'>", NULL, "windows-1252");
    SNIFFS("<meta name=x content='charset=gbk'><meta charset=koi8-r>", NULL, "KOI8-R");
    SNIFFS("<meta/charset=koi8-r>", NULL, "KOI8-R");
    SNIFFS("<metax charset=koi8-r>", NULL, "windows-1252");
    SNIFFS("<meta charset=utf-16>", NULL, "UTF-8");
    SNIFFS("<meta charset=x-user-defined>", NULL, "windows-1252");
    SNIFFS("<meta charset=koi8-r", NULL, "windows-1252");
    SNIFFS("<?xml version='1.0' encoding='koi8-r'?>", NULL, "KOI8-R");
    SNIFFS("<\0?\0x\0", NULL, "UTF-16LE");
    char late[1100];
    memset(late, ' ', sizeof late);
    memcpy(late + 1030, "<meta charset=koi8-r>", 21);
    CharsetSource source = CHARSET_FROM_BOM;
    CU_ASSERT_STRING_EQUAL(charset_sniff_source(late, sizeof late, NULL, &source), "windows-1252");
    CU_ASSERT_EQUAL(source, CHARSET_FROM_FALLBACK);
}

static void malformed_utf8_is_replaced_by_its_maximal_subparts(void)
{
    DECODES("UTF-8",
            "\xEF\xBB\xBF"
            "a\xC3\xA9",
            "a\xC3\xA9");
    DECODES("UTF-8", "\xE2\x82<\xF0\x9F\x98>\x80", BAD "<" BAD ">" BAD);
    DECODES("UTF-8", "\xC0\xAF\xED\xA0\x80", BAD BAD BAD BAD BAD);
    DECODES("UTF-8", "a\0b", "a" BAD "b");
    DECODES("UTF-8", "\xF4\x90\x80\x80", BAD BAD BAD BAD);
}

static void single_bytes_are_those_of_the_standard(void)
{
    DECODES("windows-1252", "\x80\x81\xE9", "\xE2\x82\xAC\xC2\x81\xC3\xA9");
    DECODES("windows-1253", "\xAA\xE1", BAD "\xCE\xB1");
    DECODES("KOI8-U", "\xAE", "\xD1\x9E");
    DECODES("ISO-8859-8-I", "\xE0", "\xD7\x90");
    DECODES("x-user-defined", "a\x80", "a\xEF\x9E\x80");
    DECODES("replacement", "anything", BAD);
    DECODES("replacement", "", "");
}

static void utf_16_knows_surrogates_and_odd_ends(void)
{
    DECODES("UTF-16LE",
            "\xFF\xFE"
            "a\0\x3D\xD8\x00\xDE",
            "a\xF0\x9F\x98\x80");
    DECODES("UTF-16BE", "\0a\xD8\x3D\0b\xDC\x00\0", "a" BAD "b" BAD BAD);
    DECODES("UTF-16BE", "\xD8\x3D\xDE", BAD);
}

/* The byte after a broken lead byte may be the quote that ends an attribute. */
static void an_ascii_byte_after_a_broken_lead_byte_is_text(void)
{
    DECODES("GBK", "\x81\">", BAD "\">");
    DECODES("Big5", "\xA4\">", BAD "\">");
    DECODES("EUC-KR", "\xB0\">", BAD "\">");
    DECODES("Shift_JIS", "\x83\">", BAD "\">");
    DECODES("EUC-JP", "\xA4\"\x8F\xA4>", BAD "\"" BAD ">");
    DECODES("gb18030", "\x81\x30\"", BAD "0\"");
    DECODES("gb18030", "\x81\x30\x81", BAD);
    DECODES("Big5", "\x81\x7E", BAD "~"); /* well-formed, but nothing */
    DECODES("EUC-KR", "\xA2\xE8\"\xB0\xA1", BAD "\"\xEA\xB0\x80");
}

static void multi_byte_tables_are_the_standards(void)
{
    DECODES("GBK", "\xB0\xA1\x80\xA3\xA0", "\xE5\x95\x8A\xE2\x82\xAC\xE3\x80\x80");
    DECODES("gb18030", "\x84\x31\xA5\x30\x82\x35\x90\x37", BAD "\xE9\xBE\xB4");
    DECODES("gb18030", "\x90\x30\x81\x30", "\xF0\x90\x80\x80");
    DECODES("Big5", "\xA4\x40\xFB\x48\xA1\x45", "\xE4\xB8\x80\xE5\x98\x85\xE2\x80\xA7");
    DECODES("Big5", "\x88\x62", "\xC3\x8A\xCC\x84");
    DECODES("Shift_JIS", "\x82\xA0\xB1\x80\xA0\\~", "\xE3\x81\x82\xEF\xBD\xB1\xC2\x80" BAD "\\~");
    DECODES("EUC-JP", "\xA4\xA2\x8E\xB1\x8F\xB0\xA1\xA1\xC1",
            "\xE3\x81\x82\xEF\xBD\xB1\xE4\xB8\x82\xEF\xBD\x9E");
    DECODES("EUC-JP", "\xA9\xD9t", BAD "t");
    DECODES("EUC-KR", "\xB0\xA1\x8C\x63", "\xEA\xB0\x80\xEB\x98\xA0");
}

static void iso_2022_jp_switches_states(void)
{
    DECODES("ISO-2022-JP", "a\x1B$B$\"\x1B(Bb",
            "a\xE3\x81\x82"
            "b");
    DECODES("ISO-2022-JP", "\x1B(J\\~\x1B(I1", "\xC2\xA5\xE2\x80\xBE\xEF\xBD\xB1");
    DECODES("ISO-2022-JP", "\x1B$B\x1B(Bx", BAD "x");
    DECODES("ISO-2022-JP", "\x1B<\x80", BAD "<" BAD);
    DECODES("ISO-2022-JP", "\x1B$B$", BAD);
}

static void spans_end_where_clean_text_ends(void)
{
    char text[300];
    memset(text, 'a', sizeof text);
    CU_ASSERT_EQUAL(charset_ascii_span(text, sizeof text), sizeof text);
    for (size_t at = 0; at < sizeof text; at += 7) {
        text[at] = '\0';
        CU_ASSERT_EQUAL(charset_ascii_span(text, sizeof text), at);
        CU_ASSERT_EQUAL(charset_utf8_span(text, sizeof text), at);
        text[at] = '\x80';
        CU_ASSERT_EQUAL(charset_ascii_span(text, sizeof text), at);
        CU_ASSERT_EQUAL(charset_utf8_span(text, sizeof text), at);
        text[at] = 'a';
    }
    CU_ASSERT_EQUAL(charset_utf8_span("\xE2\x82\xAC\xE2\x82", 5), 3);
}

static void a_limit_cuts_between_characters(void)
{
    Buffer out;
    buffer_init(&out, 4);
    CU_ASSERT_EQUAL(charset_decode("windows-1252", "ab\xE9\xE9\xE9", 5, &out), RESULT_LIMIT);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out), "ab\xC3\xA9");
    buffer_destroy(&out);
    buffer_init(&out, 100);
    CU_ASSERT_EQUAL(charset_decode("no such", "x", 1, &out), RESULT_INVALID);
    buffer_destroy(&out);
}

/* Blocks of the sink and of iconv's runs end in odd places: the same text at every offset. */
static void long_texts_decode_like_short_ones(void)
{
    for (size_t offset = 0; offset < 9; offset++) {
        Buffer in;
        Buffer want;
        Buffer out;
        buffer_init(&in, BUFFER_NO_LIMIT);
        buffer_init(&want, BUFFER_NO_LIMIT);
        buffer_init(&out, BUFFER_NO_LIMIT);
        (void)buffer_append(&in, "aaaaaaaaa", offset);
        (void)buffer_append(&want, "aaaaaaaaa", offset);
        for (int i = 0; i < 3000; i++) {
            (void)buffer_append(&in, "\x83\x65\xB1x", i % 5 == 0 ? 4 : 3);
            (void)buffer_append(&want, "\xE3\x83\x86\xEF\xBD\xB1x", i % 5 == 0 ? 7 : 6);
        }
        CU_ASSERT_EQUAL(charset_decode("Shift_JIS", in.data, in.length, &out), RESULT_OK);
        CU_ASSERT_EQUAL(out.length, want.length);
        CU_ASSERT_STRING_EQUAL(buffer_string(&out), buffer_string(&want));
        buffer_destroy(&in);
        buffer_destroy(&want);
        buffer_destroy(&out);
    }
}

UNIT_MAIN("charset",
          {"labels are found whatever their case and space",
           labels_are_found_whatever_their_case_and_space},
          {"a BOM beats the header and the header beats the meta",
           a_bom_beats_the_header_and_the_header_beats_the_meta},
          {"the prescan reads tags as the standard says",
           the_prescan_reads_tags_as_the_standard_says},
          {"malformed UTF-8 is replaced by its maximal subparts",
           malformed_utf8_is_replaced_by_its_maximal_subparts},
          {"single bytes are those of the standard", single_bytes_are_those_of_the_standard},
          {"UTF-16 knows surrogates and odd ends", utf_16_knows_surrogates_and_odd_ends},
          {"an ASCII byte after a broken lead byte is text",
           an_ascii_byte_after_a_broken_lead_byte_is_text},
          {"multi-byte tables are the standard's", multi_byte_tables_are_the_standards},
          {"ISO-2022-JP switches states", iso_2022_jp_switches_states},
          {"spans end where clean text ends", spans_end_where_clean_text_ends},
          {"a limit cuts between characters", a_limit_cuts_between_characters},
          {"long texts decode like short ones", long_texts_decode_like_short_ones})
