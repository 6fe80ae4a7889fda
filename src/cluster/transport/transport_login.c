#include "cluster/transport/transport_login.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES 16384u

/* The next word of a line, into out; false: there is none, or it is too long. */
static bool transport_login_take_word(const char **line, char *out, size_t size)
{
    *line += strspn(*line, " \t");
    size_t length = strcspn(*line, " \t\r\n");
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(out, *line, length);
    out[length] = '\0';
    *line += length;
    return true;
}

/* The rest of a line, which may have blanks within; likewise. */
static bool transport_login_take_rest(const char *line, char *out, size_t size)
{
    line += strspn(line, " \t");
    size_t length = strcspn(line, "\r\n");
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t')) {
        length--;
    }
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(out, line, length);
    out[length] = '\0';
    return true;
}

static bool transport_login_read_words(Login *login, const char *text)
{
    char word[16];
    const char *line = text;
    if (strstr(text, "BEGIN NATS USER JWT") != NULL) {
        login->kind = LOGIN_FILE;
        return true;
    }
    if (!transport_login_take_word(&line, word, sizeof word)) {
        return false;
    }
    bool first = transport_login_take_word(&line, login->first, sizeof login->first);
    if (strcmp(word, "user") == 0) {
        login->kind = LOGIN_USER;
        return first && transport_login_take_rest(line, login->second, sizeof login->second);
    }
    login->kind = strcmp(word, "token") == 0 ? LOGIN_TOKEN : LOGIN_NKEY;
    return first && (login->kind == LOGIN_TOKEN || strcmp(word, "nkey") == 0);
}

static Result transport_login_read_file(int fd, const char *path, char *text, Buffer *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        (void)buffer_printf(error, "%s: %s", path, strerror(errno));
        return RESULT_IO;
    }
    if ((status.st_mode & 077) != 0) {
        (void)buffer_printf(error,
                            "%s can be read or written by others (mode %03o); "
                            "chmod 600 it",
                            path, (unsigned)(status.st_mode & 0777));
        return RESULT_INVALID;
    }
    ssize_t n = read(fd, text, FILE_BYTES - 1);
    if (n < 0) {
        (void)buffer_printf(error, "%s: %s", path, strerror(errno));
        return RESULT_IO;
    }
    text[n] = '\0';
    return RESULT_OK;
}

Result login_read(Login *login, const char *path, Buffer *error)
{
    char text[FILE_BYTES];
    *login = (Login){.kind = LOGIN_NONE};
    if (*path == '\0') {
        return RESULT_OK;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        (void)buffer_printf(error, "%s: %s", path, strerror(errno));
        return RESULT_IO;
    }
    Result rc = transport_login_read_file(fd, path, text, error);
    (void)close(fd);
    if (rc == RESULT_OK && !transport_login_read_words(login, text)) {
        (void)buffer_printf(error,
                            "%s: expected 'user NAME PASSWORD', 'token TOKEN', "
                            "'nkey PUBLIC' with the seed below, or a credentials file of nsc",
                            path);
        rc = RESULT_INVALID;
    }
    explicit_bzero(text, sizeof text);
    return rc;
}

void login_destroy(Login *login)
{
    explicit_bzero(login, sizeof *login);
}
