#include "base/core/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#define MODE       0600
#define NAME_BYTES 48
#define TRIES      16 /* for a name that nobody has; the first is free but for sabotage */

/* Creates a file under a name that nobody can know before; errno when it cannot. */
static int create_under_any_name(int folder, char name[NAME_BYTES])
{
    int fd = -1;
    errno = EEXIST;
    for (int i = 0; i < TRIES && fd < 0 && errno == EEXIST; i++) {
        uint64_t number = 0;
        if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
            return -1;
        }
        (void)snprintf(name, NAME_BYTES, "unnamed-%016" PRIx64 ".tmp", number);
        fd = openat(folder, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, MODE);
    }
    return fd;
}

Result temporary_file_open_named(int directory, const char *path, int *fd)
{
    char name[NAME_BYTES] = "";
    int folder = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return result_of_errno(errno);
    }
    Result rc = RESULT_OK;
    *fd = create_under_any_name(folder, name);
    if (*fd < 0) {
        rc = result_of_errno(errno);
    } else if (unlinkat(folder, name, 0) != 0) {
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
