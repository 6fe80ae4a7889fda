/* Files named on the command line: read whole, written, and output that nobody reads any more. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "crawl/input_file.h"
#include "folder_fixture.h"
#include "unit.h"

static int own_stderr = -1;

/* Complaints are expected, and go nowhere. */
static void hush(bool quiet)
{
    (void)fflush(stderr);
    if (quiet) {
        own_stderr = dup(2);
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(nowhere, 2);
        (void)close(nowhere);
    } else {
        (void)dup2(own_stderr, 2);
        (void)close(own_stderr);
    }
}

static void a_file_is_read_whole(void)
{
    char folder[FOLDER_BYTES];
    char path[128];
    folder_make(folder);
    static char bytes[100000];
    memset(bytes, 'x', sizeof bytes);
    bytes[7] = '\0';
    folder_put(folder, "a", bytes, sizeof bytes);
    folder_put(folder, "empty", "", 0);
    Buffer out;
    (void)snprintf(path, sizeof path, "%s/a", folder);
    CU_ASSERT_EQUAL_FATAL(input_file_read(path, &out), 0);
    CU_ASSERT_EQUAL(out.length, sizeof bytes);
    CU_ASSERT_EQUAL(memcmp(out.data, bytes, sizeof bytes), 0);
    buffer_destroy(&out);
    (void)snprintf(path, sizeof path, "%s/empty", folder);
    CU_ASSERT_EQUAL_FATAL(input_file_read(path, &out), 0);
    CU_ASSERT_EQUAL(out.length, 0);
    buffer_destroy(&out);
    hush(true);
    (void)snprintf(path, sizeof path, "%s/none", folder);
    int missing = input_file_read(path, &out);
    int of_folder = input_file_read(folder, &out);
    hush(false);
    CU_ASSERT_EQUAL(missing, 3);
    CU_ASSERT_EQUAL(of_folder, 3);
    buffer_destroy(&out);
    folder_remove(folder);
}

static void what_is_written_is_there(void)
{
    char folder[FOLDER_BYTES];
    char path[128];
    folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/out", folder);
    OutputFile output;
    CU_ASSERT_EQUAL_FATAL(output_file_open(&output, "test", path), RESULT_OK);
    CU_ASSERT_EQUAL(output_file_write(&output, "abc", 3), RESULT_OK);
    CU_ASSERT_EQUAL(output_file_write(&output, "", 0), RESULT_OK);
    CU_ASSERT_EQUAL(output_file_close(&output, RESULT_OK), RESULT_OK);
    CU_ASSERT_EQUAL(output_file_close(&output, RESULT_DAMAGED), RESULT_DAMAGED); /* once */
    Buffer in;
    CU_ASSERT_EQUAL_FATAL(input_file_read(path, &in), 0);
    CU_ASSERT_STRING_EQUAL(buffer_string(&in), "abc");
    buffer_destroy(&in);
    CU_ASSERT_EQUAL(output_file_open(&output, "test", path), RESULT_OK);
    CU_ASSERT_EQUAL(output_file_close(&output, RESULT_MEMORY),
                    RESULT_MEMORY); /* what came before */
    (void)snprintf(path, sizeof path, "%s/none/out", folder);
    hush(true);
    Result rc = output_file_open(&output, "test", path);
    hush(false);
    CU_ASSERT_EQUAL(rc, RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(output_file_close(&output, rc), RESULT_NOT_FOUND);
    folder_remove(folder);
}

static void a_full_disk_is_an_error_whether_in_a_write_or_at_the_end(void)
{
    static char much[1 << 17];
    OutputFile output;
    hush(true);
    Result opened = output_file_open(&output, "test", "/dev/full");
    Result written = output_file_write(&output, much, sizeof much);
    (void)output_file_close(&output, written);
    bool is_gone = output.is_gone;
    Result again = output_file_open(&output, "test", "/dev/full");
    Result held = output_file_write(&output, "x", 1);
    Result closed = output_file_close(&output, held);
    hush(false);
    CU_ASSERT_TRUE(opened == RESULT_OK && again == RESULT_OK && held == RESULT_OK);
    CU_ASSERT_EQUAL(written, RESULT_FULL);
    CU_ASSERT_EQUAL(closed, RESULT_FULL);
    CU_ASSERT_FALSE(is_gone || output.is_gone);
}

static void output_that_nobody_reads_is_no_error(void)
{
    static char much[1 << 17];
    int ends[2];
    char path[64];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    OutputFile output;
    CU_ASSERT_EQUAL_FATAL(output_file_open(&output, "test", path), RESULT_OK);
    (void)close(ends[0]);
    (void)close(ends[1]);
    CU_ASSERT_EQUAL(output_file_write(&output, much, sizeof much), RESULT_CLOSED);
    CU_ASSERT_TRUE(output.is_gone);
    CU_ASSERT_EQUAL(output_file_write(&output, "x", 1), RESULT_CLOSED);
    CU_ASSERT_EQUAL(output_file_close(&output, RESULT_CLOSED), RESULT_OK);
    CU_ASSERT_TRUE(output.is_gone);
}

UNIT_MAIN("input_file", {"a file is read whole", a_file_is_read_whole},
          {"what is written is there", what_is_written_is_there},
          {"a full disk is an error whether in a write or at the end",
           a_full_disk_is_an_error_whether_in_a_write_or_at_the_end},
          {"output that nobody reads is no error", output_that_nobody_reads_is_no_error})
