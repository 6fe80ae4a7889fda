#include "base/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#define NAME "unnamed.tmp"
#define MODE 0600

Result temporary_file_open_named(int directory, const char *path, int *fd)
{
    int folder = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return result_of_errno(errno);
    }
    Result rc = RESULT_OK;
    *fd = openat(folder, NAME, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC | O_NOFOLLOW, MODE);
    if (*fd < 0) {
        rc = result_of_errno(errno);
    } else if (unlinkat(folder, NAME, 0) != 0) {
        rc = result_of_errno(errno);
        (void)close(*fd);
    }
    (void)close(folder);
    return rc;
}

Result temporary_file_open(int directory, const char *path, int *fd)
{
    *fd = openat(directory, path, O_TMPFILE | O_RDWR | O_CLOEXEC, MODE);
    if (*fd >= 0) {
        return RESULT_OK;
    }
    /* Which of them comes depends on the file system, and on what stands between. */
    bool unsupported = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOSYS;
    return unsupported ? temporary_file_open_named(directory, path, fd) : result_of_errno(errno);
}
