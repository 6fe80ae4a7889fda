/* Lines of crawl.log that a kill came before. */
#include <fcntl.h>
#include <sys/stat.h>

#include "folder_fixture.h"
#include "page/crawl_log.h"
#include "unit.h"

#define BEFORE "one\ntwo\n"
#define LINES  "three\nfour\n"
#define SERIAL 7u

typedef struct World {
    char folder[FOLDER_BYTES];
    char log[2 * FOLDER_BYTES];
    char pending[2 * FOLDER_BYTES];
} World;

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs(text, file);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void expect_file(const char *path, const char *text)
{
    char found[256] = "";
    FILE *file = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)!fread(found, 1, sizeof found - 1, file);
    (void)fclose(file);
    CU_ASSERT_STRING_EQUAL(found, text);
}

/* A log, and two lines that wait for their commit. */
static void begin(World *w)
{
    folder_make(w->folder);
    (void)snprintf(w->log, sizeof w->log, "%s/crawl.log", w->folder);
    (void)snprintf(w->pending, sizeof w->pending, "%s/" CRAWL_LOG_PENDING_FILE, w->folder);
    write_file(w->log, BEFORE);
    Buffer lines;
    buffer_init(&lines, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(buffer_append_string(&lines, LINES), RESULT_OK);
    int log = open(w->log, O_WRONLY | O_APPEND | O_CLOEXEC);
    int pending = open(w->pending, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CU_ASSERT_FATAL(log >= 0 && pending >= 0);
    CU_ASSERT_EQUAL(crawl_log_pending_write(pending, log, SERIAL, &lines), RESULT_OK);
    (void)close(log);
    (void)close(pending);
    buffer_destroy(&lines);
}

static void expect_repair(World *w, uint64_t serial, uint64_t lines, const char *text)
{
    uint64_t repaired = 99;
    CU_ASSERT_EQUAL(crawl_log_pending_repair(w->pending, w->log, serial, &repaired), RESULT_OK);
    CU_ASSERT_EQUAL(repaired, lines);
    expect_file(w->log, text);
}

static void lines_of_the_last_commit_are_written(void)
{
    World w;
    begin(&w);
    expect_repair(&w, SERIAL, 2, BEFORE LINES);
    expect_repair(&w, SERIAL, 0, BEFORE LINES);
    folder_remove(w.folder);
}

static void lines_without_a_commit_are_dropped(void)
{
    World w;
    begin(&w);
    expect_repair(&w, SERIAL - 1, 0, BEFORE);
    expect_repair(&w, 0, 0, BEFORE);
    folder_remove(w.folder);
}

static void lines_of_which_a_part_was_written_are_completed(void)
{
    World w;
    begin(&w);
    write_file(w.log, BEFORE "three\nfo");
    expect_repair(&w, SERIAL, 1, BEFORE LINES);
    folder_remove(w.folder);
}

static void a_log_that_was_emptied_gets_all_of_them(void)
{
    World w;
    begin(&w);
    write_file(w.log, "");
    expect_repair(&w, SERIAL, 2, LINES);
    folder_remove(w.folder);
}

/* In a copy of the directory any file may have its inode. */
static void another_file_with_its_inode_gets_none(void)
{
    World w;
    char other[3 * FOLDER_BYTES];
    uint64_t repaired = 0;
    begin(&w);
    (void)snprintf(other, sizeof other, "%s/denied.txt", w.folder);
    CU_ASSERT_EQUAL(rename(w.log, other), 0);
    CU_ASSERT_EQUAL(crawl_log_pending_repair(w.pending, w.log, SERIAL, &repaired), RESULT_OK);
    CU_ASSERT_EQUAL(repaired, 0);
    expect_file(other, BEFORE);
    CU_ASSERT_EQUAL(unlink(other), 0);
    CU_ASSERT_EQUAL(unlink(w.pending), 0);
    folder_remove(w.folder);
}

static void a_log_that_was_rotated_is_found(void)
{
    World w;
    char rotated[3 * FOLDER_BYTES];
    begin(&w);
    (void)snprintf(rotated, sizeof rotated, "%s.1", w.log);
    CU_ASSERT_EQUAL(rename(w.log, rotated), 0);
    write_file(w.log, "new\n");
    expect_repair(&w, SERIAL, 2, "new\n");
    expect_file(rotated, BEFORE LINES);
    CU_ASSERT_EQUAL(unlink(rotated), 0);
    expect_repair(&w, SERIAL, 0, "new\n"); /* it is gone: nobody misses the lines */
    folder_remove(w.folder);
}

static void half_of_the_lines_is_nothing(void)
{
    World w;
    begin(&w);
    struct stat st;
    CU_ASSERT_EQUAL(stat(w.pending, &st), 0);
    int fd = open(w.pending, O_WRONLY | O_CLOEXEC);
    CU_ASSERT_EQUAL(pwrite(fd, "X", 1, st.st_size - 3), 1); /* lines of the next batch */
    (void)close(fd);
    expect_repair(&w, SERIAL, 0, BEFORE);
    for (off_t length = st.st_size - 1; length >= 0; length--) {
        CU_ASSERT_EQUAL(truncate(w.pending, length), 0);
        expect_repair(&w, SERIAL, 0, BEFORE);
    }
    CU_ASSERT_EQUAL(unlink(w.pending), 0);
    expect_repair(&w, SERIAL, 0, BEFORE);
    folder_remove(w.folder);
}

UNIT_MAIN("crawl_log_pending",
          {"lines of the last commit are written", lines_of_the_last_commit_are_written},
          {"lines without a commit are dropped", lines_without_a_commit_are_dropped},
          {"lines of which a part was written are completed",
           lines_of_which_a_part_was_written_are_completed},
          {"a log that was emptied gets all of them", a_log_that_was_emptied_gets_all_of_them},
          {"a log that was rotated is found", a_log_that_was_rotated_is_found},
          {"another file with its inode gets none", another_file_with_its_inode_gets_none},
          {"half of the lines is nothing", half_of_the_lines_is_nothing})
