/* One option: each type's texts, its range, what is said of wrong ones, and values for files. */
#include <string.h>

#include "base/option/option.h"
#include "dice.h"
#include "unit.h"

static const OptionSpec count = {
    .section = "a", .key = "b", .type = OPTION_COUNT, .least = 1, .greatest = 64};
static const OptionSpec yes_no = {.section = "a", .key = "b", .type = OPTION_BOOL};
static const OptionSpec span = {
    .section = "a", .key = "b", .type = OPTION_TIME, .least = 0, .greatest = 86400e3};
static const OptionSpec room = {
    .section = "a", .key = "b", .type = OPTION_SIZE, .least = 1024, .greatest = 9e18};
static const OptionSpec real = {
    .section = "a", .key = "b", .type = OPTION_REAL, .least = -1, .greatest = 1};
static const OptionSpec word = {
    .section = "a", .key = "b", .type = OPTION_WORD, .words = "one|two|three"};

static void a_good_text_is_stored_and_read_again(void)
{
    static const struct {
        const OptionSpec *spec;
        const char *text;
        OptionValue value;
    } rows[] = {{&count, "1", {.number = 1}},         {&count, " 64 ", {.number = 64}},
                {&count, "1e1", {.number = 10}},      {&yes_no, "YES", {.flag = true}},
                {&yes_no, "off", {.flag = false}},    {&span, "0", {.number = 0}},
                {&span, "1.5s", {.number = 1500}},    {&span, "1d", {.number = 86400000}},
                {&span, "2 min", {.number = 120000}}, {&room, "1Ki", {.number = 1024}},
                {&room, "1.5kB", {.number = 1500}},   {&real, "-1", {.real = -1}},
                {&real, ".25", {.real = 0.25}},       {&word, "Three", {.word = 2}}};
    Buffer error = {.limit = 512};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OptionValue value = {0};
        CU_ASSERT_EQUAL(option_parse(rows[i].spec, rows[i].text, &value, &error), RESULT_OK);
        union {
            int64_t number;
            double real;
            bool flag;
            int word;
        } field = {0};
        option_store(rows[i].spec, &value, &field);
        OptionValue back = option_read(rows[i].spec, &field);
        CU_ASSERT_TRUE(back.number == rows[i].value.number && back.flag == rows[i].value.flag &&
                       back.real == rows[i].value.real && back.word == rows[i].value.word);
    }
    CU_ASSERT_EQUAL(error.length, 0);
    buffer_destroy(&error);
}

static void of_a_bad_one_it_is_said_what_was_expected(void)
{
    static const struct {
        const OptionSpec *spec;
        const char *text;
        const char *error;
    } rows[] = {
        {&count, "0", "a.b: '0' is out of range, expected 1 to 64"},
        {&count, "65", "a.b: '65' is out of range, expected 1 to 64"},
        {&count, "1.5", "a.b: '1.5' is not a whole number"},
        {&count, "1x", "a.b: '1x' is not a whole number"},
        {&count, "", "a.b: '' is not a whole number"},
        {&count, "0x10", "a.b: '0x10' is not a whole number"},
        {&count, "1e400", "a.b: '1e400' is not a whole number"},
        {&count, "1e300", "a.b: '1e300' is out of range, expected 1 to 64"},
        {&yes_no, "2", "a.b: '2' is not yes or no"},
        {&span, "25h", "a.b: '25h' is out of range, expected 0 to 1d"},
        {&span, "-1ms", "a.b: '-1ms' is out of range, expected 0 to 1d"},
        {&span, "1y", "a.b: '1y' is not a time such as 500ms, 5s, 2m, 1h or 1d"},
        {&room, "1023", "a.b: '1023' is out of range, expected 1Ki or more"},
        {&room, "9999999999Ti", "a.b: '9999999999Ti' is not a size such as 512Ki, 2Mi or 1G"},
        {&real, "inf", "a.b: 'inf' is not a number"},
        {&real, "-nan", "a.b: '-nan' is not a number"},
        {&real, "1.01", "a.b: '1.01' is out of range, expected -1 to 1"},
        {&word, "on", "a.b: 'on' is not one of one|two|three"},
        {&word, "one|two", "a.b: 'one|two' is not one of one|two|three"},
        {&word, "", "a.b: '' is not one of one|two|three"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Buffer error = {.limit = 512};
        OptionValue value;
        CU_ASSERT_EQUAL(option_parse(rows[i].spec, rows[i].text, &value, &error), RESULT_INVALID);
        CU_ASSERT_STRING_EQUAL(buffer_string(&error), rows[i].error);
        buffer_destroy(&error);
    }
}

static void a_value_is_one_that_a_file_can_hold(void)
{
    char longest[80];
    memset(longest, ' ', sizeof longest);
    longest[0] = longest[65] = 'x';
    longest[66] = '\0';
    char longer[80];
    memset(longer, ' ', sizeof longer);
    longer[0] = longer[66] = 'x';
    longer[67] = '\0';
    const char *const rows[][2] = {{" \ta b\n ", "a b"},
                                   {"", ""},
                                   {"a;b", "a;b"},
                                   {"a\tb", "a\tb"},
                                   {"x # y", "x # y"},
                                   {longest, longest},
                                   {"a ;b", NULL},
                                   {";", NULL},
                                   {"a\nb", NULL},
                                   {"a\x7f"
                                    "b",
                                    NULL},
                                   {longer, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Buffer value = {.limit = 512};
        Buffer error = {.limit = 512};
        Result rc = ini_value_read(rows[i][0], &value, &error);
        CU_ASSERT_EQUAL(rc, rows[i][1] == NULL ? RESULT_INVALID : RESULT_OK);
        CU_ASSERT_EQUAL(error.length > 0, rows[i][1] == NULL);
        CU_ASSERT_STRING_EQUAL(buffer_string(&value), rows[i][1] == NULL ? "" : rows[i][1]);
        buffer_destroy(&value);
        buffer_destroy(&error);
    }
    CU_ASSERT_TRUE(ini_value_is_bad_start('#') && ini_value_is_bad_start('\t'));
    CU_ASSERT_FALSE(ini_value_is_bad_start('a') || ini_value_is_bad_start('\xC3'));
}

static bool is_short(const char *text, size_t length)
{
    (void)text;
    return length < 3;
}

static void the_first_bad_word_is_named(void)
{
    Buffer error = {.limit = 512};
    CU_ASSERT_EQUAL(option_check_words(" a, bb ,", ", ", is_short, "is long", &error), RESULT_OK);
    CU_ASSERT_EQUAL(option_check_words("", ", ", is_short, "is long", &error), RESULT_OK);
    CU_ASSERT_EQUAL(option_check_words("a ccc dddd", " ", is_short, "is long", &error),
                    RESULT_INVALID);
    CU_ASSERT_STRING_EQUAL(buffer_string(&error), "'ccc' is long");
    buffer_destroy(&error);
}

/* A distance: none to itself, the same both ways, never more by way of a third word. */
static void the_distance_of_words_is_one(void)
{
    Dice dice = {.state = 2};
    for (unsigned round = 0; round < 2000; round++) {
        char words[3][8] = {"", "", ""};
        for (size_t w = 0; w < 3; w++) {
            for (size_t n = 0, length = dice_below(&dice, 7); n < length; n++) {
                words[w][n] = "ab"[dice_below(&dice, 2)];
            }
        }
        size_t ab = option_distance(words[0], words[1]);
        CU_ASSERT_EQUAL(ab == 0, strcmp(words[0], words[1]) == 0);
        CU_ASSERT_EQUAL(ab, option_distance(words[1], words[0]));
        CU_ASSERT_TRUE(ab <=
                       option_distance(words[0], words[2]) + option_distance(words[2], words[1]));
    }
    char longest[64];
    memset(longest, 'x', 63);
    longest[63] = '\0';
    CU_ASSERT_EQUAL(option_distance("x", longest), 63);
    CU_ASSERT_EQUAL(option_distance("x", longest + 1), 61);
}

UNIT_MAIN("option", {"a good text is stored and read again", a_good_text_is_stored_and_read_again},
          {"of a bad one it is said what was expected", of_a_bad_one_it_is_said_what_was_expected},
          {"a value is one that a file can hold", a_value_is_one_that_a_file_can_hold},
          {"the first bad word is named", the_first_bad_word_is_named},
          {"the distance of words is one", the_distance_of_words_is_one})
