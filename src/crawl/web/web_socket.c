#include "crawl/web/web_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG   64
#define UNIX_MODE 0660

/* Removes a socket that nobody listens at. */
static void remove_stale(const ListenAddress *address, const struct sockaddr_storage *name,
                         socklen_t length)
{
    struct stat st;
    if (lstat(address->path, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        return;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)name, length) != 0 &&
        errno == ECONNREFUSED) {
        (void)unlink(address->path);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static Result tell_name(const ListenAddress *address, int fd, Buffer *name)
{
    struct sockaddr_storage bound = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof bound;
    char ip[IP_ADDRESS_TEXT_BYTES];
    if (address->is_unix) {
        return buffer_printf(name, "unix:%s", address->path);
    }
    if (getsockname(fd, (struct sockaddr *)&bound, &length) != 0) {
        return result_of_errno(errno);
    }
    unsigned port = 0;
    if (bound.ss_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, &bound, sizeof v6);
        port = ntohs(v6.sin6_port);
    } else {
        struct sockaddr_in v4;
        memcpy(&v4, &bound, sizeof v4);
        port = ntohs(v4.sin_port);
    }
    (void)ip_address_format(&address->ip, ip);
    return buffer_printf(name, address->ip.v6 ? "http://[%s]:%u/" : "http://%s:%u/", ip, port);
}

Result web_socket_open(const ListenAddress *address, int *out, Buffer *name, Buffer *error)
{
    struct sockaddr_storage to;
    socklen_t length = listen_address_socket(address, &to);
    int on = 1;
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && address->is_unix) {
        remove_stale(address, &to, length);
    } else if (fd >= 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    if (fd < 0 || bind(fd, (const struct sockaddr *)&to, length) != 0 ||
        (address->is_unix && chmod(address->path, UNIX_MODE) != 0) || listen(fd, BACKLOG) != 0) {
        int code = errno;
        (void)buffer_printf(error, "%s", strerror(code));
        if (fd >= 0) {
            (void)close(fd);
        }
        return result_of_errno(code);
    }
    *out = fd;
    return tell_name(address, fd, name);
}

void web_socket_remove(const ListenAddress *address)
{
    if (address->is_unix) {
        (void)unlink(address->path);
    }
}
