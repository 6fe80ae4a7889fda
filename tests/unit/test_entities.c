#include <string.h>

#include "parse/text/entities.h"
#include "unit.h"

static void decodes(const char *text, bool attribute, const char *want)
{
    char out[256];
    size_t n = entity_decode(text, strlen(text), attribute, out);
    out[n] = '\0';
    CU_ASSERT_STRING_EQUAL(out, want);
    if (strcmp(out, want) != 0) {
        (void)fprintf(stderr, "\n\"%s\": \"%s\", expected \"%s\"\n", text, out, want);
    }
}

static void named_references_are_decoded(void)
{
    decodes("&lt;&gt;&amp;&quot;&apos;", false, "<>&\"'");
    decodes("&NotEqualTilde;", false, "\xE2\x89\x82\xCC\xB8");
    decodes("&CounterClockwiseContourIntegral;", false, "\xE2\x88\xB3");
    decodes("&Aacute;&zwnj;&AMP;", false, "\xC3\x81\xE2\x80\x8C&");
    decodes("&nosuch;&;&", false, "&nosuch;&;&");
    decodes("&Lt;&lt;", false, "\xE2\x89\xAA<");
}

static void the_longest_name_without_semicolon_counts_in_text(void)
{
    decodes("&notit; &notin; &ampamp;", false, "\xC2\xACit; \xE2\x88\x89 &amp;");
    decodes("&copy2026 &frac12x &lt", false,
            "\xC2\xA9"
            "2026 \xC2\xBDx <");
    decodes("&alpha &Alpha;", false, "&alpha \xCE\x91");
}

static void in_attributes_a_bare_name_before_a_letter_or_equals_stays(void)
{
    decodes("?a=b&copy=1&lt=2&notit;&reg&x", true, "?a=b&copy=1&lt=2&notit;\xC2\xAE&x");
    decodes("&copy;=1&lt x&amp", true, "\xC2\xA9=1< x&");
}

static void numbers_are_decoded_and_bad_ones_replaced(void)
{
    decodes("&#65;&#x42;&#X43;&#68E", false, "ABCDE");
    decodes("&#0;&#xD800;&#x110000;&#99999999999999999999;", false,
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    decodes("&#128;&#x9f;&#x81;", false, "\xE2\x82\xAC\xC5\xB8\xC2\x81");
    decodes("&#;&#x;&#xg;&# 1;", false, "&#;&#x;&#xg;&# 1;");
    decodes("&#x1F600;", true, "\xF0\x9F\x98\x80");
}

static void line_ends_become_line_feeds(void)
{
    decodes("a\r\nb\rc\n", true, "a\nb\nc\n");
}

static void a_reference_at_the_end_does_not_read_on(void)
{
    char value[ENTITY_MAX_BYTES];
    size_t n = 0;
    CU_ASSERT_EQUAL(entity_read("&lt;", 3, false, value, &n), 3);
    CU_ASSERT_EQUAL(entity_read("&amp;", 1, false, value, &n), 0);
    CU_ASSERT_EQUAL(entity_read("&#65;", 3, false, value, &n), 3);
    CU_ASSERT_EQUAL(value[0], '\x06');
}

UNIT_MAIN("entities", {"named references are decoded", named_references_are_decoded},
          {"the longest name without semicolon counts in text",
           the_longest_name_without_semicolon_counts_in_text},
          {"in attributes a bare name before a letter or equals stays",
           in_attributes_a_bare_name_before_a_letter_or_equals_stays},
          {"numbers are decoded and bad ones replaced", numbers_are_decoded_and_bad_ones_replaced},
          {"line ends become line feeds", line_ends_become_line_feeds},
          {"a reference at the end does not read on", a_reference_at_the_end_does_not_read_on})
