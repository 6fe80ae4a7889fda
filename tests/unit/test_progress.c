/* The progress line: what it says at which time. */
#include <stdlib.h>
#include <string.h>

#include "crawl/progress.h"
#include "unit.h"

static MonoTime at_ms(int64_t ms)
{
    return mono_add_ms((MonoTime){INT64_C(1000000000)}, ms);
}

typedef struct Line {
    char *text;
    size_t length;
    size_t seen; /* so much was looked at before */
    FILE *out;
} Line;

static void line_open(Line *line)
{
    *line = (Line){.text = NULL};
    line->out = open_memstream(&line->text, &line->length);
    if (line->out == NULL) {
        abort();
    }
}

static void line_close(Line *line)
{
    (void)fclose(line->out);
    free(line->text);
}

static bool says(Line *line, const char *text)
{
    (void)fflush(line->out);
    bool found = strstr(line->text + line->seen, text) != NULL;
    line->seen = line->length;
    return found;
}

static void it_says_share_rate_and_time_left(void)
{
    Line line;
    Progress progress;
    line_open(&line);
    progress_begin(&progress, "export", "pages", true, line.out, at_ms(0));
    progress_show(&progress, 1, 4, 5000, at_ms(10000));
    CU_ASSERT(says(&line, "\rragno export: 25 %  5000 pages (500/s)  30.0 s left"));
    progress_show(&progress, 1, 10, 1, at_ms(20000));
    CU_ASSERT(says(&line, "10 %  1 pages (0/s)  3 min 0 s left"));
    progress_show(&progress, 1, 1000, 1, at_ms(30000));
    CU_ASSERT(says(&line, "8 h 19 min left"));
    progress_show(&progress, 0, 1000, 0, at_ms(40000));
    CU_ASSERT(!says(&line, "left"));
    progress_show(&progress, 7, 5, 9, at_ms(50000));
    CU_ASSERT(says(&line, "100 %  9 pages (0/s)"));
    progress_show(&progress, 0, 0, 0, at_ms(60000));
    CU_ASSERT(says(&line, "100 %"));
    progress_end(&progress);
    CU_ASSERT(says(&line, "\r\033[K"));
    line_close(&line);
}

static void a_line_comes_when_it_is_due(void)
{
    Line line;
    Progress progress;
    line_open(&line);
    progress_begin(&progress, "x", "y", true, line.out, at_ms(0));
    CU_ASSERT_EQUAL(progress_due(&progress).ns, at_ms(PROGRESS_MS).ns);
    progress_show(&progress, 1, 2, 1, at_ms(PROGRESS_MS - 1));
    (void)fflush(line.out);
    CU_ASSERT_EQUAL(line.length, 0);
    progress_show(&progress, 1, 2, 1, at_ms(PROGRESS_MS));
    (void)fflush(line.out);
    CU_ASSERT(line.length > 0);
    CU_ASSERT_EQUAL(progress_due(&progress).ns, at_ms(2 * (int64_t)PROGRESS_MS).ns);
    line_close(&line);
}

static void off_it_writes_nothing(void)
{
    Line line;
    Progress progress;
    line_open(&line);
    progress_begin(&progress, "x", "y", false, line.out, at_ms(0));
    progress_show(&progress, 1, 2, 1, at_ms(100000));
    progress_end(&progress);
    (void)fflush(line.out);
    CU_ASSERT_EQUAL(line.length, 0);
    CU_ASSERT_EQUAL(progress_due(&progress).ns, MONO_NEVER.ns);
    line_close(&line);
}

UNIT_MAIN("progress", {"it says share, rate and time left", it_says_share_rate_and_time_left},
          {"a line comes when it is due", a_line_comes_when_it_is_due},
          {"off, it writes nothing", off_it_writes_nothing})
