/* Lines of text and the marks in them: white space beside a naive reading, breaks, bounds. */
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "parse/visible/visible_lines.h"
#include "unit.h"

typedef struct Sheet {
    VisibleLines lines;
    char page[64]; /* what is read; the lines may look to its end */
    size_t used;
} Sheet;

static void begin(Sheet *sheet)
{
    memset(sheet, 0, sizeof *sheet);
    visible_lines_init(&sheet->lines);
    CU_ASSERT_EQUAL_FATAL(
        visible_lines_begin(&sheet->lines, sheet->page + sizeof sheet->page, sizeof sheet->page),
        RESULT_OK);
}

static void put(Sheet *sheet, const char *text, VisibleWhite white)
{
    char *at = sheet->page + sheet->used;
    size_t n = strlen(text);
    memcpy(at, text, n);
    sheet->used += n;
    visible_lines_text(&sheet->lines, at, at + n, white, true);
}

static void ends(Sheet *sheet, const char *want)
{
    bool same = sheet->lines.length == strlen(want) &&
                memcmp(sheet->lines.out, want, sheet->lines.length) == 0;
    if (!same) {
        (void)fprintf(stderr, "'%.*s', expected '%s'\n", (int)sheet->lines.length, sheet->lines.out,
                      want);
    }
    CU_ASSERT_TRUE(same);
    visible_lines_destroy(&sheet->lines);
}

static void white_space_collapses_over_the_edges_of_elements(void)
{
    Sheet sheet;
    begin(&sheet);
    put(&sheet, " a \t", VISIBLE_WHITE_NORMAL);
    put(&sheet, "\n b&#13; &amp;", VISIBLE_WHITE_NORMAL);
    put(&sheet, "&#32;", VISIBLE_WHITE_NORMAL);
    put(&sheet, "c \n", VISIBLE_WHITE_NORMAL);
    ends(&sheet, "a b & c");
    begin(&sheet);
    put(&sheet, "a\r\n b\rc ", VISIBLE_WHITE_PRE);
    put(&sheet, " x \n y ", VISIBLE_WHITE_PRE_LINE);
    ends(&sheet, "a\n b\nc  x\ny");
    begin(&sheet);
    put(&sheet, "", VISIBLE_WHITE_PRE);
    put(&sheet, " \n\t", VISIBLE_WHITE_NORMAL);
    ends(&sheet, "");
}

static void of_breaks_the_largest_counts_and_none_is_at_an_end(void)
{
    Sheet sheet;
    begin(&sheet);
    visible_lines_break(&sheet.lines, 2);
    put(&sheet, " a ", VISIBLE_WHITE_NORMAL);
    visible_lines_break(&sheet.lines, 1);
    visible_lines_break(&sheet.lines, 2);
    visible_lines_break(&sheet.lines, 1);
    put(&sheet, " b", VISIBLE_WHITE_NORMAL);
    visible_lines_feed(&sheet.lines, '\t');
    put(&sheet, " c ", VISIBLE_WHITE_NORMAL);
    visible_lines_object(&sheet.lines);
    put(&sheet, " d", VISIBLE_WHITE_NORMAL);
    visible_lines_enter(&sheet.lines);
    put(&sheet, " e ", VISIBLE_WHITE_NORMAL);
    visible_lines_leave(&sheet.lines);
    put(&sheet, "f ", VISIBLE_WHITE_NORMAL);
    visible_lines_break(&sheet.lines, 2);
    ends(&sheet, "a\n\nb\tc  de"
                 "f");
}

static void any_text_is_written_as_a_naive_reading_has_it(void)
{
    Dice dice = {.state = 4};
    for (unsigned round = 0; round < 2000; round++) {
        Sheet sheet;
        begin(&sheet);
        char want[65] = "";
        size_t n = 0;
        bool blank = false;
        while (sheet.used < 60) {
            char piece[5] = "";
            size_t length = 1 + (size_t)dice_below(&dice, 4);
            for (size_t i = 0; i < length; i++) {
                piece[i] = "ab \n\t\xC3"[dice_below(&dice, 5)];
                bool white = strchr(" \n\t", piece[i]) != NULL;
                if (!white && blank && n > 0) {
                    want[n++] = ' ';
                }
                blank = white;
                if (!white) {
                    want[n++] = piece[i];
                }
            }
            put(&sheet, piece, VISIBLE_WHITE_NORMAL);
        }
        want[n] = '\0';
        ends(&sheet, want);
    }
}

static void letters_change_their_case_and_grow_no_longer(void)
{
    static const struct {
        const char *text;
        VisibleCase letters;
        const char *want;
    } rows[] = {{"stra\xC3\x9F"
                 "e",
                 VISIBLE_CASE_UPPER, "STRASSE"},
                {"\xC3\x84X", VISIBLE_CASE_LOWER, "\xC3\xA4x"},
                {"it's o'neil \xC3\xA4"
                 "b",
                 VISIBLE_CASE_TITLE,
                 "It's O'neil \xC3\x84"
                 "b"},
                {"\xC8\xBF", VISIBLE_CASE_UPPER, "\xC8\xBF"}, /* U+2C7E is longer */
                {"\xC4\xB1x", VISIBLE_CASE_UPPER, "IX"},      /* shorter */
                {"", VISIBLE_CASE_UPPER, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Sheet sheet;
        begin(&sheet);
        put(&sheet, rows[i].text, VISIBLE_WHITE_NORMAL);
        visible_lines_set_case(&sheet.lines, 0, rows[i].letters);
        ends(&sheet, rows[i].want);
    }
    Sheet sheet;
    begin(&sheet);
    put(&sheet, "ab", VISIBLE_WHITE_NORMAL);
    visible_lines_set_case(&sheet.lines, 1, VISIBLE_CASE_TITLE); /* within a word */
    visible_lines_set_case(&sheet.lines, 2, VISIBLE_CASE_UPPER); /* nothing */
    ends(&sheet, "ab");
}

static void memory_beyond_what_is_kept_is_given_back(void)
{
    VisibleLines lines;
    visible_lines_init(&lines);
    CU_ASSERT_EQUAL(visible_lines_begin(&lines, NULL, 100000), RESULT_OK);
    visible_lines_trim(&lines, SIZE_MAX);
    CU_ASSERT_TRUE(lines.capacity > 100000);
    CU_ASSERT_EQUAL(visible_lines_begin(&lines, NULL, 10), RESULT_OK);
    CU_ASSERT_TRUE(lines.capacity > 100000);
    visible_lines_trim(&lines, 1000);
    CU_ASSERT_EQUAL(lines.capacity, 0);
    CU_ASSERT_EQUAL(visible_lines_begin(&lines, NULL, 0), RESULT_OK);
    visible_lines_destroy(&lines);
}

static void blocks_know_how_much_of_them_is_links(void)
{
    VisibleMarks marks;
    visible_marks_init(&marks);
    visible_marks_begin(&marks);
    visible_marks_block(&marks, 5, 0);
    CU_ASSERT_EQUAL(marks.n_blocks, 0); /* nobody wants them */
    marks.wants_blocks = true;
    uint32_t area = visible_marks_area(&marks, VISIBLE_NO_MARK, HTML_HEADER, VISIBLE_ROLE_ASIDE);
    CU_ASSERT_EQUAL(area, 0);
    visible_marks_link(&marks, 2);
    visible_marks_link(&marks, 3); /* within it */
    visible_marks_link_end(&marks, 4);
    visible_marks_link_end(&marks, 5);
    visible_marks_link(&marks, 6);
    visible_marks_block(&marks, 10, area);
    visible_marks_block(&marks, 10, area); /* no text came */
    visible_marks_link_end(&marks, 12);
    visible_marks_block(&marks, 20, area);
    visible_marks_area_end(&marks, area);
    CU_ASSERT_EQUAL_FATAL(marks.n_blocks, 2);
    CU_ASSERT_TRUE(marks.blocks[0].start == 0 && marks.blocks[0].end == 10 &&
                   marks.blocks[0].link_bytes == 6);
    CU_ASSERT_TRUE(marks.blocks[1].start == 10 && marks.blocks[1].end == 20 &&
                   marks.blocks[1].link_bytes == 2);
    CU_ASSERT_TRUE(marks.areas[0].is_header && marks.areas[0].first_block == 0 &&
                   marks.areas[0].end_block == 2);
    visible_marks_destroy(&marks);
}

static void marks_have_a_bound_and_begin_at_their_text(void)
{
    VisibleMarks marks;
    visible_marks_init(&marks);
    visible_marks_begin(&marks);
    for (uint32_t i = 0; i < VISIBLE_HEADINGS_MAX; i++) {
        CU_ASSERT_EQUAL(visible_marks_heading(&marks, i, 1 + i % 6), i);
    }
    uint32_t none = visible_marks_heading(&marks, 9, 1);
    CU_ASSERT_EQUAL(none, VISIBLE_NO_MARK);
    visible_marks_heading_end(&marks, none, 10);
    visible_marks_heading_end(&marks, 3, 10);
    CU_ASSERT_EQUAL(marks.headings[3].end, 10);
    CU_ASSERT_FALSE(marks.failed);
    visible_marks_destroy(&marks);
    uint32_t start = 1;
    uint32_t end = 8;
    visible_marks_trim("x\n\n a b x", &start, &end);
    CU_ASSERT_TRUE(start == 4 && end == 7);
    start = 1;
    end = 4;
    visible_marks_trim("x\n\t x", &start, &end);
    CU_ASSERT_EQUAL(start, end);
}

UNIT_MAIN("visible_lines",
          {"white space collapses over the edges of elements",
           white_space_collapses_over_the_edges_of_elements},
          {"of breaks the largest counts and none is at an end",
           of_breaks_the_largest_counts_and_none_is_at_an_end},
          {"any text is written as a naive reading has it",
           any_text_is_written_as_a_naive_reading_has_it},
          {"letters change their case and grow no longer",
           letters_change_their_case_and_grow_no_longer},
          {"memory beyond what is kept is given back", memory_beyond_what_is_kept_is_given_back},
          {"blocks know how much of them is links", blocks_know_how_much_of_them_is_links},
          {"marks have a bound and begin at their text",
           marks_have_a_bound_and_begin_at_their_text})
