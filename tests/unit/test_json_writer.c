#include <math.h>
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
    json_real(&json, "nan", NAN, 1);
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
          {"the first error stays", the_first_error_stays})
