#include "cluster/transport/transport_login.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory/file.h"

/* ---- Transport library ---- */

#define TEXT_OF(number) TEXT(number)
#define TEXT(number)    #number
/* Its name has the version that the types here belong to. */
#define LIBRARY_NAME "libnats.so." TEXT_OF(NATS_VERSION_MAJOR) "." TEXT_OF(NATS_VERSION_MINOR)

static NatsLibrary library;
static void *handle;

/* ISO C has no cast from a pointer to data to one to a function. */
static bool transport_library_find(void *place, const char *name, Buffer *error)
{
    void *symbol = dlsym(handle, name);
    if (symbol == NULL) {
        (void)buffer_printf(error, LIBRARY_NAME " has no %s", name);
        return false;
    }
    memcpy(place, &symbol, sizeof symbol);
    return true;
}

const NatsLibrary *nats_library(Buffer *error)
{
    if (handle != NULL) {
        return &library;
    }
    handle = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        (void)buffer_printf(error,
                            "cluster.url: the client library of NATS cannot be loaded: %s; install "
                            "the Debian package libnats" TEXT_OF(NATS_VERSION_MAJOR) "." TEXT_OF(
                                NATS_VERSION_MINOR),
                            dlerror());
        return NULL;
    }
    bool all = true;
#define FIND(name) all = all && transport_library_find(&library.name, #name, error);
    NATS_FUNCTIONS(FIND)
#undef FIND
    if (!all) {
        (void)dlclose(handle);
        handle = NULL;
        return NULL;
    }
    return &library;
}

void nats_library_close(const NatsLibrary *from, int64_t ms)
{
    sk_SSL_COMP_free(SSL_COMP_set0_compression_methods(NULL));
    (void)from->nats_CloseAndWait(ms);
}

/* ---- Transport login ---- */

#define FILE_BYTES 16384u

#define WORD_ENDS " \t\r\n"
#define LINE_ENDS "\r\n"

/* What is next in a line, up to one of these, into out; false: nothing, or it is too long. */
static bool transport_login_take(const char **line, const char *ends, char *out, size_t size)
{
    const char *start = *line + strspn(*line, " \t");
    size_t length = strcspn(start, ends);
    *line = start + length;
    while (length > 0 && (start[length - 1] == ' ' || start[length - 1] == '\t')) {
        length--;
    }
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(out, start, length);
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
    if (!transport_login_take(&line, WORD_ENDS, word, sizeof word)) {
        return false;
    }
    bool first = transport_login_take(&line, WORD_ENDS, login->first, sizeof login->first);
    if (strcmp(word, "user") == 0) {
        login->kind = LOGIN_USER;
        return first && transport_login_take(&line, LINE_ENDS, login->second, sizeof login->second);
    }
    login->kind = strcmp(word, "token") == 0 ? LOGIN_TOKEN : LOGIN_NKEY;
    return first && (login->kind == LOGIN_TOKEN || strcmp(word, "nkey") == 0);
}

/* The file is not buffered: no copy of the secret stays behind. */
Result login_read(Login *login, const char *path, Buffer *error)
{
    char text[FILE_BYTES];
    FILE *file = NULL;
    Buffer why = {.limit = BUFFER_NO_LIMIT};
    *login = (Login){.kind = LOGIN_NONE};
    if (*path == '\0') {
        return RESULT_OK;
    }
    Result rc = file_open_private(&file, path, &why);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s: %s", path, buffer_string(&why));
        buffer_destroy(&why);
        return rc == RESULT_NOT_FOUND ? RESULT_IO : rc;
    }
    (void)setvbuf(file, NULL, _IONBF, 0);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    int code = ferror(file) != 0 ? errno : 0;
    (void)fclose(file);
    if (code != 0) {
        (void)buffer_printf(error, "%s: %s", path, strerror(code));
        return RESULT_IO;
    }
    if (!transport_login_read_words(login, text)) {
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

/* ---- what a server says of itself ---- */

static int login_connect(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct timeval patience = {.tv_sec = LOGIN_ASK_MS / 1000};
    int fd = -1;
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        return -1;
    }
    for (const struct addrinfo *one = found; one != NULL && fd < 0; one = one->ai_next) {
        fd = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
        if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
                        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0 ||
                        connect(fd, one->ai_addr, one->ai_addrlen) != 0)) {
            (void)close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

/* The line "INFO {...}" with which a server begins. False: nobody is there. */
static bool login_read_info(const char *url, char *info, size_t size)
{
    char host[256], port[8] = "4222";
    const char *start = strstr(url, "://");
    start = start == NULL ? url : start + 3;
    start += *start == '[';
    int length = (int)strcspn(start, "],/");
    const char *colon =
        start[length] == ']' ? start + length + 1 : memchr(start, ':', (size_t)length);
    (void)snprintf(host, sizeof host, "%.*s",
                   colon != NULL && colon < start + length ? (int)(colon - start) : length, start);
    if (colon != NULL && *colon == ':') {
        (void)snprintf(port, sizeof port, "%.*s", (int)strcspn(colon + 1, ",/"), colon + 1);
    }
    int fd = login_connect(host, port);
    ssize_t n = fd < 0 ? 0 : recv(fd, info, size - 1, 0);
    file_close_fd(fd);
    info[n > 0 ? n : 0] = '\0';
    return n > 0;
}

void login_explain(const char *urls, bool has_login, char *text, size_t size)
{
    char info[4096];
    const char *url = urls;
    while (url != NULL && !login_read_info(url, info, sizeof info)) {
        url = strchr(url, ',');
        url += url != NULL;
    }
    bool by_tls = url != NULL && strncmp(url, "tls://", 6) == 0;
    const char *why = "is there, and does not want this client";
    if (url == NULL) {
        why = "does not answer any more";
    } else if (strncmp(info, "INFO ", 5) != 0) {
        why = "is no NATS server";
    } else if (strstr(info, "\"tls_required\":true") == NULL && by_tls) {
        why = "does not speak TLS: cluster.url = nats://...";
    } else if (strstr(info, "\"tls_required\":true") != NULL && !by_tls) {
        why = "speaks TLS only: cluster.url = tls://...";
    } else if (by_tls) {
        why = "has another authority, or does not take our certificate or login: "
              "cluster.tls_authority, cluster.tls_certificate, cluster.credentials";
    } else if (strstr(info, "\"auth_required\":true") != NULL) {
        why = has_login ? "refuses the login in cluster.credentials"
                        : "asks for a login: cluster.credentials";
    }
    (void)snprintf(text, size, "the server %s", why);
}
