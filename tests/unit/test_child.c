/* Other programs: they are found or not, have files and signals of their own, and end with their
 * children. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread/child.h"
#include "unit.h"
#include "until.h"

static const int as_we_have_them[3] = {-1, -1, -1};

static void a_program_that_is_not_there_is_no_child(void)
{
    char *argv[] = {(char[]){"none"}, NULL};
    pid_t pid = 0;
    CU_ASSERT_EQUAL(child_start(&pid, "/nowhere/none", argv, as_we_have_them), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(child_start(&pid, "no-such-program-of-ragno", argv, as_we_have_them),
                    RESULT_NOT_FOUND);
    CU_ASSERT_NOT_EQUAL(child_start(&pid, "/", argv, as_we_have_them), RESULT_OK);
}

/* What a shell says on its standard output. */
static void says(const char *script, const char *want)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)script, NULL};
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    int files[3] = {-1, ends[1], -1};
    pid_t pid = 0;
    CU_ASSERT_EQUAL_FATAL(child_start(&pid, "sh", argv, files), RESULT_OK);
    (void)close(ends[1]);
    char text[128] = "";
    size_t n = 0;
    for (ssize_t got = 1; got > 0 && n<sizeof text - 1; n += got> 0 ? (size_t)got : 0) {
        got = read(ends[0], text + n, sizeof text - 1 - n);
    }
    (void)close(ends[0]);
    int status = -1;
    CU_ASSERT_TRUE(UNTIL(child_has_ended(pid, &status)));
    CU_ASSERT_STRING_EQUAL(text, want);
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 7);
    CU_ASSERT_FALSE(child_has_ended(pid, &status)); /* it is waited for no more */
}

static void a_child_blocks_and_ignores_no_signal(void)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)signal(SIGPIPE, SIG_IGN);
    CU_ASSERT_EQUAL(sigprocmask(SIG_SETMASK, &all, &before), 0);
    /* The first 28 of them: two of the C library's own are among the others. */
    says("sed -En 's/^(SigBlk|SigIgn):.*(.{7})$/\\1 \\2/p' /proc/self/status; exit 7",
         "SigBlk 0000000\nSigIgn 0000000\n");
    CU_ASSERT_EQUAL(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    says("printf x; exit 7", "x");
}

static void a_child_ends_with_all_of_its_own(void)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"},
                    (char[]){"sleep 1000 & echo $!; exec sleep 1000"}, NULL};
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    int files[3] = {-1, ends[1], -1};
    pid_t pid = 0;
    CU_ASSERT_EQUAL_FATAL(child_start(&pid, "/bin/sh", argv, files), RESULT_OK);
    (void)close(ends[1]);
    char text[32] = "";
    CU_ASSERT_TRUE(read(ends[0], text, sizeof text - 1) > 0);
    CU_ASSERT_EQUAL(getpgid(pid), pid); /* a group of its own */
    int status = 0;
    CU_ASSERT_FALSE(child_has_ended(pid, &status));
    child_kill(pid, &status);
    CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CU_ASSERT_EQUAL(read(ends[0], text, 1), 0); /* nobody holds the other end any more */
    (void)close(ends[0]);
    child_kill(pid, &status); /* there is none: nothing happens */
}

UNIT_MAIN("child",
          {"a program that is not there is no child", a_program_that_is_not_there_is_no_child},
          {"a child blocks and ignores no signal", a_child_blocks_and_ignores_no_signal},
          {"a child ends with all of its own", a_child_ends_with_all_of_its_own})
