#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory/file.h"
#include "folder_fixture.h"
#include "unit.h"

typedef Result OpenFunction(int directory, const char *path, int *fd);

static unsigned names_in(const char *path)
{
    unsigned n = 0;
    DIR *folder = opendir(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        n += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return n;
}

/* Two at a time, each with bytes of its own, and no name to be seen. */
static void expect_nameless(OpenFunction *open_function, const char *path)
{
    int fds[2];
    char bytes[2];
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL_FATAL(open_function(AT_FDCWD, path, &fds[i]), RESULT_OK);
        CU_ASSERT_EQUAL(pread(fds[i], bytes, 1, 0), 0);
        CU_ASSERT_EQUAL(write(fds[i], i == 0 ? "a" : "b", 1), 1);
        CU_ASSERT_EQUAL(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
    }
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(pread(fds[i], bytes, 2, 0), 1);
        CU_ASSERT_EQUAL(bytes[0], i == 0 ? 'a' : 'b');
        CU_ASSERT_EQUAL(close(fds[i]), 0);
    }
    CU_ASSERT_EQUAL(names_in(path), 0);
}

static void in_a_directory(OpenFunction *open_function)
{
    char path[FOLDER_BYTES];
    folder_make(path);
    expect_nameless(open_function, path);
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CU_ASSERT_FATAL(directory >= 0);
    int fd = -1;
    CU_ASSERT_EQUAL_FATAL(open_function(directory, ".", &fd), RESULT_OK);
    CU_ASSERT_EQUAL(close(fd), 0);
    CU_ASSERT_EQUAL(names_in(path), 0);
    CU_ASSERT_EQUAL(close(directory), 0);
    CU_ASSERT_EQUAL(rmdir(path), 0);
    CU_ASSERT_NOT_EQUAL(open_function(AT_FDCWD, path, &fd), RESULT_OK);
}

static void files_have_no_name(void)
{
    in_a_directory(temporary_file_open);
}

static void nor_where_the_file_system_wants_one(void)
{
    in_a_directory(temporary_file_open_named);
}

/* How many of many files were not this caller's alone. */
static int count_shared(const char *path, char mark)
{
    enum { FILES = 3000 };
    int wrong = 0;
    for (int i = 0; i < FILES; i++) {
        int fd = -1;
        char bytes[2] = "";
        if (temporary_file_open_named(AT_FDCWD, path, &fd) != RESULT_OK) {
            wrong++;
            continue;
        }
        wrong += write(fd, &mark, 1) != 1 || pread(fd, bytes, 2, 0) != 1 || bytes[0] != mark;
        wrong += close(fd) != 0;
    }
    return wrong;
}

static void two_processes_never_share_one(void)
{
    char path[FOLDER_BYTES];
    int status = 0;
    folder_make(path);
    pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        _exit(count_shared(path, 'c') == 0 ? 0 : 1);
    }
    CU_ASSERT_EQUAL(count_shared(path, 'p'), 0);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CU_ASSERT_EQUAL(names_in(path), 0);
    CU_ASSERT_EQUAL(rmdir(path), 0);
}

UNIT_MAIN("temporary_file", {"files have no name", files_have_no_name},
          {"nor where the file system wants one", nor_where_the_file_system_wants_one},
          {"two processes never share one", two_processes_never_share_one})
