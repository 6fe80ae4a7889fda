#include "page/classify/classify_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE ((size_t)16384)

extern char **environ;

Result classify_process_init(ClassifyProcess *process)
{
    *process = (ClassifyProcess){.in = -1, .out = -1, .interrupt = -1};
    process->interrupt = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return process->interrupt < 0 ? result_of_errno(errno) : RESULT_OK;
}

void classify_process_destroy(ClassifyProcess *process)
{
    int status = 0;
    classify_process_stop(process, &status);
    if (process->interrupt >= 0) {
        (void)close(process->interrupt);
    }
}

static void close_pair(const int pair[2])
{
    for (int i = 0; i < 2; i++) {
        if (pair[i] >= 0) {
            (void)close(pair[i]);
        }
    }
}

/* The threads of a crawl block all signals, and it ignores SIGPIPE: not so the child. */
static int spawn(pid_t *pid, char *const argv[], int in, int out)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int rc = posix_spawn_file_actions_init(&files);
    if (rc != 0) {
        return rc;
    }
    rc = posix_spawnattr_init(&attributes);
    if (rc != 0) {
        (void)posix_spawn_file_actions_destroy(&files);
        return rc;
    }
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    rc = posix_spawn_file_actions_adddup2(&files, in, 0);
    rc = rc == 0 ? posix_spawn_file_actions_adddup2(&files, out, 1) : rc;
    rc = rc == 0 ? posix_spawnp(pid, argv[0], &files, &attributes, argv, environ) : rc;
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    return rc;
}

Result classify_process_start(ClassifyProcess *process, char *const argv[])
{
    int to[2] = {-1, -1};
    int from[2] = {-1, -1};
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0 ||
        fcntl(to[1], F_SETFL, O_NONBLOCK) != 0 || fcntl(from[0], F_SETFL, O_NONBLOCK) != 0) {
        Result rc = result_of_errno(errno);
        close_pair(to);
        close_pair(from);
        return rc;
    }
    int rc = spawn(&process->pid, argv, to[0], from[1]);
    if (rc != 0) {
        process->pid = 0;
        close_pair(to);
        close_pair(from);
        return result_of_errno(rc);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    process->in = to[1];
    process->out = from[0];
    return RESULT_OK;
}

void classify_process_stop(ClassifyProcess *process, int *status)
{
    if (process->pid == 0) {
        return;
    }
    (void)close(process->in);
    (void)close(process->out);
    (void)kill(-process->pid, SIGKILL);
    while (waitpid(process->pid, status, 0) < 0 && errno == EINTR) {
    }
    process->pid = 0;
    process->in = -1;
    process->out = -1;
}

void classify_process_interrupt(ClassifyProcess *process)
{
    uint64_t one = 1;
    (void)!write(process->interrupt, &one, sizeof one);
}

/* ---- an exchange ---- */

typedef struct Exchange {
    const Buffer *questions;
    size_t written;
    Buffer *answers;
    size_t n_lines;
    size_t line_start; /* of the line that is not complete */
} Exchange;

static Result write_some(const ClassifyProcess *process, Exchange *exchange)
{
    size_t left = exchange->questions->length - exchange->written;
    ssize_t n = write(process->in, exchange->questions->data + exchange->written, left);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? RESULT_OK
               : errno == EPIPE                  ? RESULT_CLOSED
                                                 : RESULT_IO;
    }
    exchange->written += (size_t)n;
    return RESULT_OK;
}

static Result classify_process_read_some(const ClassifyProcess *process, Exchange *exchange)
{
    Buffer *answers = exchange->answers;
    Result rc = buffer_reserve(answers, PIECE);
    if (rc != RESULT_OK) {
        return rc;
    }
    ssize_t n = read(process->out, answers->data + answers->length, PIECE);
    if (n <= 0) {
        return n == 0 ? RESULT_CLOSED : errno == EAGAIN || errno == EINTR ? RESULT_OK : RESULT_IO;
    }
    size_t end = answers->length + (size_t)n;
    for (size_t i = answers->length; i < end; i++) {
        if (answers->data[i] == '\n') {
            exchange->n_lines++;
            exchange->line_start = i + 1;
        }
    }
    answers->length = end;
    answers->data[end] = '\0';
    return end - exchange->line_start > CLASSIFY_ANSWER_BYTES ? RESULT_LIMIT : RESULT_OK;
}

/* Milliseconds that are left, for poll; 0: none. */
static int left_ms(MonoTime deadline)
{
    int64_t ms = mono_ms_between(mono_now(), deadline);
    return ms <= 0 ? 0 : ms > 60000 ? 60000 : (int)ms + 1;
}

static Result exchange_some(const ClassifyProcess *process, Exchange *exchange, int wait_ms)
{
    bool writes = exchange->written < exchange->questions->length;
    struct pollfd fds[3] = {{.fd = process->interrupt, .events = POLLIN},
                            {.fd = process->out, .events = POLLIN},
                            {.fd = writes ? process->in : -1, .events = POLLOUT}};
    int n = poll(fds, 3, wait_ms);
    if (n < 0) {
        return errno == EINTR ? RESULT_OK : RESULT_IO;
    }
    Result rc = fds[0].revents != 0 ? RESULT_CLOSED : RESULT_OK;
    if (rc == RESULT_OK && fds[1].revents != 0) {
        rc = classify_process_read_some(process, exchange);
    }
    if (rc == RESULT_OK && fds[2].revents != 0) {
        rc = write_some(process, exchange);
    }
    return rc;
}

Result classify_process_exchange(ClassifyProcess *process, const Buffer *questions, size_t n,
                                 Buffer *answers, MonoTime deadline)
{
    Exchange exchange = {.questions = questions, .answers = answers};
    Result rc = RESULT_OK;
    buffer_reset(answers);
    while (rc == RESULT_OK && exchange.n_lines < n) {
        int wait_ms = left_ms(deadline);
        rc = wait_ms == 0 ? RESULT_TIMEOUT : exchange_some(process, &exchange, wait_ms);
    }
    bool too_many = exchange.n_lines > n || exchange.line_start < answers->length;
    return rc == RESULT_OK && too_many ? RESULT_LIMIT : rc;
}
