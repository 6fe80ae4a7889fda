#include "crawl/web/web_token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANDOM_BYTES 32u
#define FILE_BYTES   1024u

static Result web_token_make(const char *path, Buffer *error)
{
    unsigned char bytes[RANDOM_BYTES];
    char text[2 * RANDOM_BYTES + 1];
    static const char digits[] = "0123456789abcdef";
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        (void)buffer_append_string(error, "the system gives no random bytes");
        return RESULT_IO;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[sizeof text - 1] = '\n';
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool done = fd >= 0 && write(fd, text, sizeof text) == (ssize_t)sizeof text;
    int code = errno;
    if (fd >= 0 && close(fd) != 0) {
        done = false;
    }
    if (!done) {
        (void)buffer_printf(error, "%s cannot be written: %s", path, strerror(code));
        return result_of_errno(code);
    }
    return RESULT_OK;
}

static Result web_token_take(int fd, const char *path, Buffer *out, Buffer *error)
{
    char text[FILE_BYTES];
    struct stat st;
    if (fstat(fd, &st) == 0 && (st.st_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)) != 0) {
        (void)buffer_printf(error, "%s can be read by others than its owner; chmod 600 %s", path,
                            path);
        return RESULT_INVALID;
    }
    ssize_t n = read(fd, text, sizeof text - 1);
    if (n < 0) {
        (void)buffer_printf(error, "%s cannot be read: %s", path, strerror(errno));
        return RESULT_IO;
    }
    text[n] = '\0';
    size_t length = strcspn(text, " \t\r\n");
    if (length < WEB_TOKEN_LEAST) {
        (void)buffer_printf(error, "the token in %s has %zu bytes, it needs %u at least", path,
                            length, WEB_TOKEN_LEAST);
        return RESULT_INVALID;
    }
    return buffer_append(out, text, length);
}

Result web_token_read(const char *path, Buffer *out, Buffer *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        Result rc = web_token_make(path, error);
        if (rc != RESULT_OK) {
            return rc;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0) {
        (void)buffer_printf(error, "%s cannot be read: %s", path, strerror(errno));
        return result_of_errno(errno);
    }
    Result rc = web_token_take(fd, path, out, error);
    (void)close(fd);
    return rc;
}
