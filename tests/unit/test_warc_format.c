/* The vocabulary of WARC: lines, fields, numbers, types, digests and ids. */
#include <string.h>

#include "dice.h"
#include "store/warc/warc_format.h"
#include "unit.h"

static WarcBytes bytes_of(const char *text)
{
    return warc_bytes(text, strlen(text));
}

static void lines_are_taken_out_one_by_one(void)
{
    WarcBytes text = bytes_of("a\r\n\nb\rc\r");
    static const char *const want[] = {"a", "", "b\rc"};
    WarcBytes line;
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(warc_bytes_next_line(&text, &line));
        CU_ASSERT_TRUE(line.length == strlen(want[i]) &&
                       memcmp(line.bytes, want[i], line.length) == 0);
    }
    CU_ASSERT_FALSE(warc_bytes_next_line(&text, &line));
    CU_ASSERT_EQUAL(line.length, 0);
}

static void a_field_is_a_name_and_a_value(void)
{
    WarcField fields[3] = {0};
    CU_ASSERT_TRUE(warc_field_split(bytes_of(" a\t: b:c \t"), &fields[0]));
    CU_ASSERT_TRUE(warc_bytes_are(fields[0].name, "a") && warc_bytes_are(fields[0].value, "b:c"));
    CU_ASSERT_TRUE(warc_field_split(bytes_of(":"), &fields[1]));
    CU_ASSERT_EQUAL(fields[1].name.length + fields[1].value.length, 0);
    CU_ASSERT_FALSE(warc_field_split(bytes_of("no colon"), &fields[2]));
    CU_ASSERT_FALSE(warc_field_split(warc_bytes(NULL, 0), &fields[2]));
    CU_ASSERT_TRUE(warc_field_split(bytes_of("A: second"), &fields[2]));
    WarcBytes value;
    CU_ASSERT_TRUE(warc_fields_find(fields, 3, "a", &value) && warc_bytes_are(value, "b:c"));
    CU_ASSERT_TRUE(warc_fields_find(fields + 1, 2, "a", &value) && warc_bytes_are(value, "second"));
    CU_ASSERT_FALSE(warc_fields_find(fields, 0, "a", &value));
    CU_ASSERT_FALSE(warc_fields_find(fields, 3, "aa", &value));
}

static void a_number_is_digits_up_to_its_bound(void)
{
    static const struct {
        const char *text;
        uint64_t max;
        bool good;
        uint64_t number;
    } rows[] = {{"0", 0, true, 0},
                {"1", 0, false, 0},
                {"9", 8, false, 0},
                {"10", 10, true, 10},
                {"11", 10, false, 0},
                {"000010", 10, true, 10},
                {"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
                {"18446744073709551616", UINT64_MAX, false, 0},
                {"99999999999999999999", UINT64_MAX, false, 0},
                {"", 9, false, 0},
                {"-1", 9, false, 0},
                {" 1", 9, false, 0},
                {"1x", 99, false, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t number = 77;
        CU_ASSERT_EQUAL(warc_bytes_number(bytes_of(rows[i].text), rows[i].max, &number),
                        rows[i].good);
        CU_ASSERT_EQUAL(number, rows[i].good ? rows[i].number : 77);
    }
}

static void every_type_has_a_name_and_comes_back(void)
{
    for (unsigned type = 0; type < WARC_TYPES; type++) {
        CU_ASSERT_EQUAL(warc_type_of(bytes_of(warc_type_name((WarcType)type))), type);
    }
    CU_ASSERT_EQUAL(warc_type_of(bytes_of("RESPONSE")), WARC_RESPONSE);
    CU_ASSERT_EQUAL(warc_type_of(bytes_of("respons")), WARC_TYPES);
    CU_ASSERT_EQUAL(warc_type_of(bytes_of("")), WARC_TYPES);
    CU_ASSERT_STRING_EQUAL(warc_type_name(WARC_TYPES), "unknown");
    CU_ASSERT_PTR_NULL(warc_truncation_name(WARC_WHOLE));
    CU_ASSERT_STRING_EQUAL(warc_truncation_name(WARC_TRUNCATED_DISCONNECT), "disconnect");
    CU_ASSERT_STRING_EQUAL(warc_truncation_name(WARC_TRUNCATED_UNSPECIFIED), "unspecified");
}

static void a_digest_is_that_of_head_and_tail_and_is_read_back(void)
{
    WarcHasher *hasher = NULL;
    CU_ASSERT_EQUAL_FATAL(warc_hasher_new(&hasher), RESULT_OK);
    WarcDigest whole;
    WarcDigest both;
    WarcDigest tail;
    char text[WARC_DIGEST_TEXT];
    CU_ASSERT_EQUAL(warc_hasher_digest(hasher, bytes_of("ab"), bytes_of("c"), &whole), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(warc_digest_format(&whole, text),
                           "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5"); /* of "abc" */
    CU_ASSERT_EQUAL(warc_hasher_pair(hasher, bytes_of(""), bytes_of("abc"), &both, &tail),
                    RESULT_OK);
    CU_ASSERT_EQUAL(memcmp(&both, &whole, sizeof whole) | memcmp(&tail, &whole, sizeof whole), 0);
    CU_ASSERT_EQUAL(warc_hasher_pair(hasher, bytes_of("ab"), bytes_of("c"), &both, &tail),
                    RESULT_OK);
    CU_ASSERT_EQUAL(memcmp(&both, &whole, sizeof whole), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(&tail, &whole, sizeof whole), 0);
    WarcDigest back;
    CU_ASSERT_TRUE(warc_digest_parse(bytes_of(text), &back));
    CU_ASSERT_EQUAL(memcmp(&back, &whole, sizeof whole), 0);
    for (size_t n = 0; n < strlen(text); n++) {
        CU_ASSERT_FALSE(warc_digest_parse(warc_bytes(text, n), &back));
        char broken[WARC_DIGEST_TEXT];
        memcpy(broken, text, sizeof text);
        broken[n] = '1'; /* not of the alphabet */
        CU_ASSERT_EQUAL(warc_digest_parse(bytes_of(broken), &back), n == 3);
    }
    warc_hasher_delete(hasher);
    warc_hasher_delete(NULL);
}

static void ids_differ_are_of_version_four_and_are_read_back(void)
{
    static WarcIds ids;
    warc_ids_init(&ids);
    WarcId last = {0};
    for (unsigned i = 0; i < 1000; i++) {
        WarcId id;
        WarcId back;
        char text[WARC_ID_TEXT];
        CU_ASSERT_EQUAL_FATAL(warc_ids_next(&ids, &id), RESULT_OK);
        CU_ASSERT_EQUAL(id.bytes[6] >> 4, 4);
        CU_ASSERT_EQUAL(id.bytes[8] >> 6, 2);
        CU_ASSERT_NOT_EQUAL(memcmp(&id, &last, sizeof id), 0);
        CU_ASSERT_EQUAL(strlen(warc_id_format(&id, text)), WARC_ID_TEXT - 1);
        CU_ASSERT_TRUE(warc_id_parse(bytes_of(text), &back));
        CU_ASSERT_EQUAL(memcmp(&id, &back, sizeof id), 0);
        CU_ASSERT_FALSE(warc_id_parse(warc_bytes(text, WARC_ID_TEXT - 2), &back));
        text[18] = '-';
        CU_ASSERT_FALSE(warc_id_parse(bytes_of(text), &back) && memcmp(&id, &back, sizeof id) != 0);
        last = id;
    }
}

static void dates_are_those_of_the_field_and_of_a_timestamp(void)
{
    WallTime a;
    WallTime b;
    CU_ASSERT_TRUE(warc_date_parse(bytes_of("2026-01-31T12:00:00Z"), &a));
    CU_ASSERT_EQUAL(a.us, INT64_C(1769860800) * 1000000);
    CU_ASSERT_TRUE(warc_date_of_timestamp(bytes_of("20260131120000999"), &b));
    CU_ASSERT_EQUAL(a.us, b.us);
    CU_ASSERT_FALSE(warc_date_of_timestamp(bytes_of("2026013112000"), &b));
    CU_ASSERT_FALSE(warc_date_of_timestamp(bytes_of("20261331120000"), &b));
    CU_ASSERT_FALSE(warc_date_parse(bytes_of(""), &a));
    CU_ASSERT_FALSE(warc_date_parse(bytes_of("2026-13-01T12:00:00Z"), &a));
}

UNIT_MAIN("warc_format", {"lines are taken out one by one", lines_are_taken_out_one_by_one},
          {"a field is a name and a value", a_field_is_a_name_and_a_value},
          {"a number is digits up to its bound", a_number_is_digits_up_to_its_bound},
          {"every type has a name and comes back", every_type_has_a_name_and_comes_back},
          {"a digest is that of head and tail and is read back",
           a_digest_is_that_of_head_and_tail_and_is_read_back},
          {"ids differ, are of version four and are read back",
           ids_differ_are_of_version_four_and_are_read_back},
          {"dates are those of the field and of a timestamp",
           dates_are_those_of_the_field_and_of_a_timestamp})
