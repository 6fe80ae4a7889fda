#include "command/backup/backup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/buffer.h"

#define PIECE_BYTES ((size_t)1 << 20)
#define TAIL_BYTES  ((off_t)4096) /* that tell whether a copy is the beginning of a file */

/* Appends what `from` has from one place to another to `to`. */
static Result backup_file_copy_bytes(int from, int to, off_t at, uint64_t n, BackupCounts *counts)
{
    char *piece = malloc(PIECE_BYTES);
    Result rc = piece == NULL ? RESULT_MEMORY : RESULT_OK;
    while (rc == RESULT_OK && n > 0) {
        ssize_t got = pread(from, piece, n < PIECE_BYTES ? (size_t)n : PIECE_BYTES, at);
        if (got <= 0) {
            rc = got == 0 ? RESULT_OK : result_of_errno(errno);
            break;
        }
        for (ssize_t done = 0; rc == RESULT_OK && done < got;) {
            ssize_t put = write(to, piece + done, (size_t)(got - done));
            rc = put < 0 ? result_of_errno(errno) : RESULT_OK;
            done += put;
        }
        at += got;
        n -= (uint64_t)got;
        counts->bytes += (uint64_t)got;
    }
    free(piece);
    return rc;
}

Result backup_file_of(int from, const char *to, uint64_t most, BackupCounts *counts)
{
    struct stat st;
    Buffer draft;
    buffer_init(&draft, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&draft, "%s.draft", to);
    if (rc == RESULT_OK && fstat(from, &st) != 0) {
        rc = result_of_errno(errno);
    }
    if (rc != RESULT_OK) {
        buffer_destroy(&draft);
        return rc;
    }
    uint64_t size = (uint64_t)st.st_size < most ? (uint64_t)st.st_size : most;
    int fd = open(draft.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, st.st_mode & 0777u);
    rc = fd < 0 ? result_of_errno(errno) : backup_file_copy_bytes(from, fd, 0, size, counts);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    if (rc == RESULT_OK && (futimens(fd, times) != 0 || fsync(fd) != 0)) {
        rc = result_of_errno(errno);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (rc == RESULT_OK && rename(draft.data, to) != 0) {
        rc = result_of_errno(errno);
    }
    counts->copied++;
    buffer_destroy(&draft);
    return rc;
}

/* Whether the copy, which is shorter, ends with what the file has there. */
static bool backup_file_is_beginning(int from, int copy, off_t length)
{
    char ours[TAIL_BYTES];
    char theirs[TAIL_BYTES];
    off_t at = length > TAIL_BYTES ? length - TAIL_BYTES : 0;
    size_t n = (size_t)(length - at);
    return pread(from, ours, n, at) == (ssize_t)n && pread(copy, theirs, n, at) == (ssize_t)n &&
           memcmp(ours, theirs, n) == 0;
}

/* RESULT_NOT_FOUND: the copy cannot be lengthened. */
static Result backup_file_grow(int from, const char *to, uint64_t most, BackupCounts *counts)
{
    struct stat st, copy;
    int fd = open(to, O_RDWR | O_APPEND | O_CLOEXEC);
    if (fd < 0) {
        return RESULT_NOT_FOUND;
    }
    Result rc = fstat(from, &st) == 0 && fstat(fd, &copy) == 0 ? RESULT_OK : RESULT_IO;
    uint64_t size = rc == RESULT_OK && (uint64_t)st.st_size < most ? (uint64_t)st.st_size : most;
    if (rc == RESULT_OK && ((uint64_t)copy.st_size > size || copy.st_nlink > 1 ||
                            !backup_file_is_beginning(from, fd, copy.st_size))) {
        rc = RESULT_NOT_FOUND;
    }
    if (rc == RESULT_OK && (uint64_t)copy.st_size < size) {
        rc = backup_file_copy_bytes(from, fd, copy.st_size, size - (uint64_t)copy.st_size, counts);
        if (rc == RESULT_OK && fsync(fd) != 0) {
            rc = result_of_errno(errno);
        }
    }
    (void)close(fd);
    counts->kept += rc == RESULT_OK;
    return rc;
}

/* Whether the copy is the file already. */
static bool backup_file_is_there(int from, const char *to, uint64_t most)
{
    struct stat st, copy;
    return fstat(from, &st) == 0 && stat(to, &copy) == 0 &&
           ((st.st_ino == copy.st_ino && st.st_dev == copy.st_dev) ||
            ((uint64_t)copy.st_size ==
                 ((uint64_t)st.st_size < most ? (uint64_t)st.st_size : most) &&
             copy.st_mtim.tv_sec == st.st_mtim.tv_sec &&
             copy.st_mtim.tv_nsec == st.st_mtim.tv_nsec));
}

/* RESULT_NOT_FOUND: no link can be made here. */
static Result backup_file_link(const char *from, const char *to, BackupCounts *counts)
{
    Buffer draft;
    buffer_init(&draft, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&draft, "%s.draft", to);
    if (rc == RESULT_OK) {
        (void)unlink(draft.data);
        rc = link(from, draft.data) == 0 && rename(draft.data, to) == 0 ? RESULT_OK
                                                                        : RESULT_NOT_FOUND;
    }
    counts->linked += rc == RESULT_OK;
    buffer_destroy(&draft);
    return rc;
}

Result backup_file(const char *from, const char *to, BackupWay way, uint64_t most,
                   BackupCounts *counts)
{
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    Result rc = RESULT_NOT_FOUND;
    if (fd < 0) {
        return result_of_errno(errno);
    }
    if (way == BACKUP_LINK && backup_file_is_there(fd, to, most)) {
        counts->kept++;
        rc = RESULT_OK;
    } else if (way == BACKUP_LINK && most == UINT64_MAX) {
        rc = backup_file_link(from, to, counts);
    } else if (way == BACKUP_GROW) {
        rc = backup_file_grow(fd, to, most, counts);
    }
    if (rc == RESULT_NOT_FOUND) {
        rc = backup_file_of(fd, to, most, counts);
    }
    (void)close(fd);
    return rc;
}
