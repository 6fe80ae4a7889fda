#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "base/thread/thread.h"
#include "folder_fixture.h"
#include "unit.h"

static char path[64];

static char *contents(void)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "re");
    size_t n = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    if (file != NULL) {
        (void)fclose(file);
    }
    text[n] = '\0';
    return text;
}

static void open_log(LogLevel level)
{
    (void)close(folder_make_file(path));
    CU_ASSERT_EQUAL_FATAL(log_open(path, level, LOG_LEVEL_ERROR), RESULT_OK);
}

static void close_log(void)
{
    log_close();
    log_set_level(LOG_LEVEL_INFO);
    (void)unlink(path);
}

static void a_line_says_when_what_who_and_why(void)
{
    open_log(LOG_LEVEL_INFO);
    LOG_INFO("part", "it happened", "n=%d text=%s", 5, "x");
    const char *line = contents();
    CU_ASSERT_EQUAL(strlen(line), strcspn(line, "\n") + 1);
    CU_ASSERT_EQUAL(line[4], '-');
    CU_ASSERT_EQUAL(line[10], 'T');
    CU_ASSERT_PTR_NOT_NULL(strstr(line, "Z INFO main part: it happened n=5 text=x\n"));
    LOG_WARN("part", "bare", "%s", "");
    CU_ASSERT_PTR_NOT_NULL(strstr(contents(), " WARN main part: bare\n"));
    close_log();
}

static void levels_hold_back_what_is_less_urgent(void)
{
    open_log(LOG_LEVEL_WARN);
    CU_ASSERT_TRUE(log_enabled(LOG_LEVEL_ERROR) && log_enabled(LOG_LEVEL_WARN));
    CU_ASSERT_FALSE(log_enabled(LOG_LEVEL_INFO) || log_enabled(LOG_LEVEL_DEBUG));
    LOG_INFO("part", "unseen", "n=%d", 1);
    CU_ASSERT_STRING_EQUAL(contents(), "");
    log_set_level(LOG_LEVEL_DEBUG);
    LOG_DEBUG("part", "seen", "n=%d", 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(contents(), "DEBUG main part: seen n=1"));
    close_log();
}

static void outside_bytes_cannot_forge_lines(void)
{
    open_log(LOG_LEVEL_INFO);
    LOG_INFO("part", "url", "url=%s", "http://x/\n2026 ERROR main: fake\r\x1b[31m\x7f");
    const char *text = contents();
    CU_ASSERT_EQUAL(strcspn(text, "\n"), strlen(text) - 1);
    CU_ASSERT_PTR_NULL(strpbrk(text, "\r\x1b\x7f"));
    close_log();
}

static void a_long_event_is_cut_and_ends_its_line(void)
{
    char *text = malloc(10001);
    memset(text, 'x', 10000);
    text[10000] = '\0';
    open_log(LOG_LEVEL_INFO);
    LOG_INFO("part", "long", "text=%s", text);
    LOG_INFO("part", "next", "n=%d", 1);
    const char *log = contents();
    size_t first = strcspn(log, "\n");
    CU_ASSERT_TRUE(first > 3000 && first < 5000);
    CU_ASSERT_PTR_NOT_NULL(strstr(log + first, "next n=1\n"));
    close_log();
    free(text);
}

static void rotation_goes_on_in_a_new_file(void)
{
    char old[80];
    open_log(LOG_LEVEL_INFO);
    (void)snprintf(old, sizeof old, "%s.1", path);
    LOG_INFO("part", "before", "n=%d", 1);
    CU_ASSERT_EQUAL(rename(path, old), 0);
    LOG_INFO("part", "between", "n=%d", 2);
    CU_ASSERT_EQUAL(log_reopen(), RESULT_OK);
    LOG_INFO("part", "after", "n=%d", 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(contents(), "after"));
    CU_ASSERT_PTR_NULL(strstr(contents(), "between"));
    (void)unlink(old);
    CU_ASSERT_EQUAL(log_open("/nonexistent/x.log", LOG_LEVEL_INFO, LOG_LEVEL_ERROR),
                    RESULT_NOT_FOUND);
    LOG_INFO("part", "still here", "n=%d", 4); /* the sink is as before */
    CU_ASSERT_PTR_NOT_NULL(strstr(contents(), "still here"));
    close_log();
}

static void *write_many(void *argument)
{
    for (int i = 0; i < 500; i++) {
        LOG_INFO("part", "line", "thread=%s end", (const char *)argument);
    }
    return NULL;
}

static void lines_of_many_threads_stay_whole(void)
{
    static char names[4][8] = {"t-0", "t-1", "t-2", "t-3"};
    Thread threads[4] = {{.started = false}};
    open_log(LOG_LEVEL_INFO);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(thread_start(&threads[i], names[i], write_many, names[i]), RESULT_OK);
    }
    for (size_t i = 0; i < 4; i++) {
        thread_join(&threads[i]);
    }
    size_t lines = 0;
    size_t whole = 0;
    for (char *line = contents(); *line != '\0'; lines++) {
        size_t length = strcspn(line, "\n");
        char expected[128];
        for (size_t i = 0; i < 4; i++) {
            (void)snprintf(expected, sizeof expected, "Z INFO %s part: line thread=%s end",
                           names[i], names[i]);
            whole +=
                length == 23 + strlen(expected) && memcmp(line + 23, expected, length - 23) == 0;
        }
        line += length + 1;
    }
    CU_ASSERT_EQUAL(lines, 2000);
    CU_ASSERT_EQUAL(whole, 2000);
    close_log();
}

UNIT_MAIN("log", {"a line says when, what, who and why", a_line_says_when_what_who_and_why},
          {"levels hold back what is less urgent", levels_hold_back_what_is_less_urgent},
          {"outside bytes cannot forge lines", outside_bytes_cannot_forge_lines},
          {"a long event is cut and ends its line", a_long_event_is_cut_and_ends_its_line},
          {"rotation goes on in a new file", rotation_goes_on_in_a_new_file},
          {"lines of many threads stay whole", lines_of_many_threads_stay_whole})
