#include "base/thread/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/bounds.h"
#include "base/memory/file.h"
#include "base/thread/mutex.h"

#define LOG_LINE_BYTES 4096

typedef struct LogSink {
    Mutex mutex;
    char *path; /* NULL = standard error */
    int fd;
    LogLevel echo;
    void (*before_echo)(void);
} LogSink;

static LogSink sink = {.mutex = {.handle = PTHREAD_MUTEX_INITIALIZER, .rank = RANK_LOG},
                       .path = NULL,
                       .fd = -1,
                       .echo = LOG_LEVEL_WARN,
                       .before_echo = NULL};
static _Atomic int threshold = LOG_LEVEL_INFO;
static _Thread_local char thread_name[24] = "main";

static int log_open_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

Result log_open(const char *path, LogLevel level, LogLevel echo)
{
    char *copy = NULL;
    int fd = -1;
    if (path != NULL) {
        copy = strdup(path);
        if (copy == NULL) {
            return RESULT_MEMORY;
        }
        fd = log_open_file(path);
        if (fd < 0) {
            Result rc = result_of_errno(errno);
            free(copy);
            return rc;
        }
    }
    mutex_lock(&sink.mutex);
    free(sink.path);
    file_close_fd(sink.fd);
    sink.path = copy;
    sink.fd = fd;
    sink.echo = echo;
    mutex_unlock(&sink.mutex);
    log_set_level(level);
    return RESULT_OK;
}

Result log_reopen(void)
{
    Result rc = RESULT_OK;
    mutex_lock(&sink.mutex);
    if (sink.path != NULL) {
        int fd = log_open_file(sink.path);
        if (fd < 0) {
            rc = result_of_errno(errno);
        } else {
            (void)close(sink.fd);
            sink.fd = fd;
        }
    }
    mutex_unlock(&sink.mutex);
    return rc;
}

void log_close(void)
{
    mutex_lock(&sink.mutex);
    free(sink.path);
    sink.path = NULL;
    file_close_fd(sink.fd);
    sink.fd = -1;
    sink.before_echo = NULL;
    mutex_unlock(&sink.mutex);
}

void log_set_level(LogLevel level)
{
    atomic_store_explicit(&threshold, (int)level, memory_order_relaxed);
}

void log_set_echo_hook(void (*before_echo)(void))
{
    mutex_lock(&sink.mutex);
    sink.before_echo = before_echo;
    mutex_unlock(&sink.mutex);
}

bool log_enabled(LogLevel level)
{
    return (int)level <= atomic_load_explicit(&threshold, memory_order_relaxed);
}

void log_set_thread_name(const char *name)
{
    (void)snprintf(thread_name, sizeof thread_name, "%s", name);
}

static void log_write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return; /* a log that cannot be written must not stop the crawl */
        }
        bytes += n;
        length -= (size_t)n;
    }
}

void log_event(LogLevel level, const char *component, const char *phrase, const char *format, ...)
{
    static const char *const words[] = {"ERROR", "WARN", "INFO", "DEBUG"};
    if (!log_enabled(level)) {
        return;
    }
    char line[LOG_LINE_BYTES];
    char time[CLOCK_TEXT_BYTES];
    int n = snprintf(line, sizeof line, "%s %s %s %s: %s ", wall_format_iso(wall_now(), time),
                     words[level], thread_name, component, phrase);
    size_t length = (size_t)bounds_int64(n, 0, sizeof line - 1);
    va_list arguments;
    va_start(arguments, format);
    n = vsnprintf(line + length, sizeof line - length, format, arguments);
    va_end(arguments);
    length += n < 0 ? 0 : (size_t)n;
    if (length > sizeof line - 2) {
        length = sizeof line - 2;
    }
    while (length > 0 && line[length - 1] == ' ') {
        length--;
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f) {
            line[i] = '?'; /* outside bytes may not forge lines */
        }
    }
    line[length++] = '\n';
    mutex_lock(&sink.mutex);
    if (sink.fd >= 0) {
        log_write_all(sink.fd, line, length);
    }
    if (sink.fd < 0 || level <= sink.echo) {
        if (sink.before_echo != NULL) {
            sink.before_echo();
        }
        log_write_all(STDERR_FILENO, line, length);
    }
    mutex_unlock(&sink.mutex);
}
