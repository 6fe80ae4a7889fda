#include <string.h>

#include "render/json_reader.h"
#include "unit.h"

static JsonValue value_of(const char *text)
{
    JsonValue value;
    CU_ASSERT_EQUAL(json_read(text, strlen(text), &value), RESULT_OK);
    return value;
}

static void a_member_is_found_by_its_name(void)
{
    JsonValue v = value_of(" {\"a\":{\"id\":9,\"s\":\"}\"},\"id\": 7, \"b\":[1,{\"x\":null}]}");
    JsonValue id;
    CU_ASSERT(json_read_member(v, "id", &id));
    CU_ASSERT_EQUAL(json_read_integer(id, -1), 7);
    JsonValue b;
    CU_ASSERT(json_read_member(v, "b", &b));
    CU_ASSERT_EQUAL(b.kind, JSON_ARRAY);
    CU_ASSERT(!json_read_member(v, "i", &id));
    CU_ASSERT_EQUAL(id.kind, JSON_NOTHING);
    CU_ASSERT(!json_read_member(b, "x", &id));
}

static void an_array_is_stepped_through(void)
{
    JsonValue v = value_of("[1, \"a]\", {\"b\":[2]} , true]");
    const char *position = NULL;
    JsonValue e;
    size_t n = 0;
    static const JsonKind kinds[] = {JSON_NUMBER, JSON_TEXT, JSON_OBJECT, JSON_TRUE};
    while (json_read_next(v, &position, &e)) {
        CU_ASSERT_FATAL(n < 4);
        CU_ASSERT_EQUAL(e.kind, kinds[n]);
        n++;
    }
    CU_ASSERT_EQUAL(n, 4);
    position = NULL;
    CU_ASSERT(!json_read_next(value_of("[]"), &position, &e));
}

static void escapes_become_utf_8(void)
{
    Buffer out;
    buffer_init(&out, 100);
    CU_ASSERT_EQUAL(json_read_text(value_of("\"a\\n\\\"\\u00e9\\ud83d\\ude00\\ud800x\\\\\""), &out),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out), "a\n\"\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbdx\\");
    buffer_reset(&out);
    CU_ASSERT_EQUAL(json_read_text(value_of("\"\\u12g4\""), &out), RESULT_INVALID);
    CU_ASSERT_EQUAL(json_read_text(value_of("\"abc"), &out), RESULT_INVALID);
    CU_ASSERT_EQUAL(json_read_text(value_of("17"), &out), RESULT_INVALID);
    buffer_destroy(&out);
    buffer_init(&out, 3);
    CU_ASSERT_EQUAL(json_read_text(value_of("\"abcdef\""), &out), RESULT_LIMIT);
    buffer_destroy(&out);
}

static void broken_values_are_not_found(void)
{
    static const char *const broken[] = {"{\"a\"", "{\"a\":",     "{\"a\":1", "{\"b\":\"x",
                                         "{a:1}",  "{\"b\":[1,2", "{",        "{\"b\\\":1}"};
    JsonValue found;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        CU_ASSERT(!json_read_member(value_of(broken[i]), "id", &found));
    }
    CU_ASSERT_EQUAL(json_read("", 0, &found), RESULT_INVALID);
    CU_ASSERT_EQUAL(json_read("  ", 2, &found), RESULT_INVALID);
    CU_ASSERT_EQUAL(json_read("?", 1, &found), RESULT_INVALID);
}

static void depth_is_bounded(void)
{
    char deep[400] = "{\"a\":";
    memset(deep + 5, '[', 150);
    memset(deep + 155, ']', 150);
    memcpy(deep + 305, ",\"id\":1}", sizeof ",\"id\":1}");
    JsonValue found;
    CU_ASSERT(!json_read_member(value_of(deep), "id", &found));
}

static void words_and_numbers_are_compared(void)
{
    CU_ASSERT(json_read_is(value_of("\"page\""), "page"));
    CU_ASSERT(!json_read_is(value_of("\"pages\""), "page"));
    CU_ASSERT(!json_read_is(value_of("\"pag\""), "page"));
    CU_ASSERT(!json_read_is(value_of("1"), "1"));
    CU_ASSERT_EQUAL(json_read_integer(value_of("1.7e3"), -1), 1700);
    CU_ASSERT_EQUAL(json_read_integer(value_of("\"1\""), -1), -1);
    CU_ASSERT_EQUAL(json_read_integer(value_of("1e300"), -1), -1);
}

UNIT_MAIN("json reader", {"a member is found by its name", a_member_is_found_by_its_name},
          {"an array is stepped through", an_array_is_stepped_through},
          {"escapes become UTF-8", escapes_become_utf_8},
          {"broken values are not found", broken_values_are_not_found},
          {"depth is bounded", depth_is_bounded},
          {"words and numbers are compared", words_and_numbers_are_compared})
