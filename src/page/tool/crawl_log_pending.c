#include "page/tool/crawl_log_pending.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash.h"

#define MAGIC UINT64_C(0x31676f6c6f6e6761) /* "agnolog1" */

/* The beginning of the file; the lines follow. */
typedef struct Head {
    uint64_t magic;
    uint64_t serial;
    uint64_t inode;  /* of the log; 0: it is a pipe or a terminal */
    uint64_t offset; /* its length before the lines */
    uint64_t length; /* of the lines */
    uint64_t checksum;
} Head;

static uint64_t checksum_of(const Head *head, const void *lines)
{
    Head copy = *head;
    copy.checksum = 0;
    return hash_64(lines, head->length, hash_64(&copy, sizeof copy, MAGIC));
}

static Result crawl_log_pending_write_at(int fd, const void *bytes, size_t length, off_t offset)
{
    const char *from = bytes;
    for (size_t done = 0; done < length;) {
        ssize_t n = pwrite(fd, from + done, length - done, offset + (off_t)done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return result_of_errno(n < 0 ? errno : ENOSPC);
        }
        done += (size_t)n;
    }
    return RESULT_OK;
}

Result crawl_log_pending_write(int pending, int log, uint64_t serial, const Buffer *lines)
{
    struct stat st;
    Head head = {.magic = MAGIC, .serial = serial, .length = lines->length};
    const char *text = lines->length == 0 ? "" : lines->data;
    if (fstat(log, &st) == 0 && S_ISREG(st.st_mode)) {
        head.inode = (uint64_t)st.st_ino;
        head.offset = (uint64_t)st.st_size;
    }
    head.checksum = checksum_of(&head, text);
    Result rc = crawl_log_pending_write_at(pending, text, head.length, (off_t)sizeof head);
    return rc == RESULT_OK ? crawl_log_pending_write_at(pending, &head, sizeof head, 0) : rc;
}

/* ---- the next start ---- */

static Result crawl_log_pending_read_at(int fd, void *bytes, size_t length, off_t offset)
{
    char *to = bytes;
    for (size_t done = 0; done < length;) {
        ssize_t n = pread(fd, to + done, length - done, offset + (off_t)done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0 ? result_of_errno(errno) : RESULT_DAMAGED;
        }
        done += (size_t)n;
    }
    return RESULT_OK;
}

/* The lines that are pending; RESULT_NOT_FOUND when the file has none of that serial, whole. */
static Result read_pending(int fd, uint64_t serial, Head *head, char **lines)
{
    struct stat st;
    *lines = NULL;
    if (fstat(fd, &st) != 0) {
        return result_of_errno(errno);
    }
    if ((uint64_t)st.st_size < sizeof *head ||
        crawl_log_pending_read_at(fd, head, sizeof *head, 0) != RESULT_OK || head->magic != MAGIC ||
        head->serial != serial || head->length > (uint64_t)st.st_size - sizeof *head) {
        return RESULT_NOT_FOUND;
    }
    *lines = malloc(head->length + 1);
    if (*lines == NULL) {
        return RESULT_MEMORY;
    }
    Result rc = crawl_log_pending_read_at(fd, *lines, head->length, (off_t)sizeof *head);
    return rc == RESULT_OK && checksum_of(head, *lines) != head->checksum ? RESULT_NOT_FOUND : rc;
}

/* Opens the file with that inode: the log itself, or what it was renamed to beside it, whose name
 * begins as the log's does. In a copy of a directory any file may have that inode. -1: it is not
 * there any more. */
static int crawl_log_pending_open_log(const char *log_path, uint64_t inode)
{
    struct stat st;
    int fd = open(log_path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_ino == inode) {
        return fd;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    fd = -1;
    const char *slash = strrchr(log_path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(log_path, (size_t)(slash - log_path) + 1);
    DIR *dir = folder == NULL ? NULL : opendir(folder);
    const struct dirent *entry = NULL;
    const char *name = slash == NULL ? log_path : slash + 1;
    while (dir != NULL && fd < 0 && (entry = readdir(dir)) != NULL) {
        if ((uint64_t)entry->d_ino == inode && entry->d_type != DT_DIR &&
            strncmp(entry->d_name, name, strlen(name)) == 0) {
            fd = openat(dirfd(dir), entry->d_name, O_WRONLY | O_CLOEXEC);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    free(folder);
    return fd;
}

/* Appends what the log lacks of the lines. */
static Result crawl_log_pending_complete(int log, const Head *head, const char *lines,
                                         uint64_t *repaired)
{
    struct stat st;
    if (fstat(log, &st) != 0) {
        return result_of_errno(errno);
    }
    uint64_t size = (uint64_t)st.st_size;
    /* Shorter than it was: emptied by copytruncate, or cut by a power cut. */
    uint64_t has = size <= head->offset ? 0 : size - head->offset;
    if (has >= head->length) {
        return RESULT_OK;
    }
    for (uint64_t i = has; i < head->length; i++) {
        *repaired += lines[i] == '\n';
    }
    return crawl_log_pending_write_at(log, lines + has, head->length - has, (off_t)size);
}

Result crawl_log_pending_repair(const char *pending_path, const char *log_path, uint64_t serial,
                                uint64_t *repaired)
{
    Head head = {0};
    char *lines = NULL;
    *repaired = 0;
    int fd = open(pending_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? RESULT_OK : result_of_errno(errno);
    }
    Result rc = read_pending(fd, serial, &head, &lines);
    (void)close(fd);
    int log =
        rc == RESULT_OK && head.inode != 0 ? crawl_log_pending_open_log(log_path, head.inode) : -1;
    if (log >= 0) {
        rc = crawl_log_pending_complete(log, &head, lines, repaired);
        (void)close(log);
    }
    free(lines);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}
