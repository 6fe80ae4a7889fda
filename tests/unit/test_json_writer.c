#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/json_writer.h"
#include "unit.h"

static void objects_and_arrays_nest(void)
{
    Buffer out;
    JsonWriter json;
    buffer_init(&out, 1000);
    json_init(&json, &out);
    json_open(&json, NULL, '{');
    json_string(&json, "a", "x\"y");
    json_string(&json, "none", NULL);
    json_open(&json, "list", '[');
    json_integer(&json, NULL, -7);
    json_count(&json, NULL, UINT64_MAX);
    json_open(&json, NULL, '[');
    json_close(&json);
    json_open(&json, NULL, '{');
    json_bool(&json, "t", true);
    json_close(&json);
    json_close(&json);
    json_real(&json, "r", 1.25, 1);
    json_real(&json, "nan", (double)NAN, 1);
    json_close(&json);
    CU_ASSERT_EQUAL(json.result, RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out),
                           "{\"a\": \"x\\\"y\", \"none\": null, \"list\": [-7, "
                           "18446744073709551615, [], {\"t\": true}], \"r\": 1.2, \"nan\": null}");
    buffer_destroy(&out);
}

static void text_is_escaped_and_mended(void)
{
    static const struct {
        const char *in;
        size_t length;
        const char *out;
    } samples[] = {
        {"plain", 5, "\"plain\""},
        {"\\ \n\t\r", 5, "\"\\\\ \\n\\t\\r\""},
        {"\x01\x1f\x7f\0", 4, "\"\\u0001\\u001f\\u007f\\u0000\""},
        {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 9, "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"\xC2\x9B"
         "1m\xC2\xA0",
         6, "\"\\u009b1m\xC2\xA0\""},                                    /* terminals obey U+009B */
        {"\xC3", 1, "\"\xEF\xBF\xBD\""},                                 /* cut */
        {"\xC0\xAF", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},                 /* overlong */
        {"\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, /* a surrogate */
        {"\xE2\x82x", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBDx\""},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        Buffer out;
        buffer_init(&out, 1000);
        CU_ASSERT_EQUAL(json_append_text(&out, samples[i].in, samples[i].length), RESULT_OK);
        CU_ASSERT_STRING_EQUAL(buffer_string(&out), samples[i].out);
        buffer_destroy(&out);
    }
}

/* What a text becomes, byte by byte. */
static void escape_slowly(const char *text, size_t length, Buffer *out)
{
    (void)buffer_append_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            (void)buffer_printf(out, "\\%c", c);
        } else if (c == '\n') {
            (void)buffer_append_string(out, "\\n");
        } else if (c < 0x20 || c == 0x7f) {
            (void)buffer_printf(out, "\\u%04x", (unsigned)c);
        } else {
            (void)buffer_append_char(out, (char)c);
        }
    }
    (void)buffer_append_char(out, '"');
}

static void every_byte_is_escaped_wherever_it_stands(void)
{
    static const char specials[] = {'"', '\\', '\n', 1, 0x7f, 'x'};
    char text[80];
    for (size_t length = 1; length < 60; length++) {
        for (size_t at = 0; at < length; at++) {
            memset(text, 'a', sizeof text);
            text[at] = specials[at % sizeof specials];
            text[length - 1] = specials[length % sizeof specials];
            char *exact = malloc(length);
            Buffer is;
            Buffer must;
            buffer_init(&is, BUFFER_NO_LIMIT);
            buffer_init(&must, BUFFER_NO_LIMIT);
            escape_slowly(text, length, &must);
            /* The second time with a limit that the text just fits into. */
            for (int tight = 0; tight < 2 && exact != NULL; tight++) {
                memcpy(exact, text, length);
                CU_ASSERT_EQUAL(json_append_text(&is, exact, length), RESULT_OK);
                CU_ASSERT_STRING_EQUAL(buffer_string(&is), buffer_string(&must));
                buffer_destroy(&is);
                buffer_init(&is, must.length);
            }
            free(exact);
            buffer_destroy(&is);
            buffer_destroy(&must);
        }
    }
}

static void long_text_is_cut_nowhere(void)
{
    Buffer text;
    Buffer is;
    buffer_init(&text, BUFFER_NO_LIMIT);
    buffer_init(&is, BUFFER_NO_LIMIT);
    for (unsigned i = 0; i < 5000; i++) {
        (void)buffer_append_string(&text, i % 3 == 0 ? "\xE2\x82\xAC" : "ab");
    }
    CU_ASSERT_EQUAL(json_append_text(&is, text.data, text.length), RESULT_OK);
    CU_ASSERT(is.length == text.length + 2 && memcmp(is.data + 1, text.data, text.length) == 0);
    buffer_destroy(&text);
    buffer_destroy(&is);
}

static void the_first_error_stays(void)
{
    Buffer out;
    JsonWriter json;
    buffer_init(&out, 8);
    json_init(&json, &out);
    json_open(&json, NULL, '[');
    json_string(&json, NULL, "longer than eight");
    json_close(&json);
    CU_ASSERT_EQUAL(json.result, RESULT_LIMIT);
    buffer_destroy(&out);
}

UNIT_MAIN("json_writer", {"objects and arrays nest", objects_and_arrays_nest},
          {"text is escaped and mended", text_is_escaped_and_mended},
          {"every byte is escaped, wherever it stands", every_byte_is_escaped_wherever_it_stands},
          {"long text is cut nowhere", long_text_is_cut_nowhere},
          {"the first error stays", the_first_error_stays})
