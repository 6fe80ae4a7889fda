#include "command/text/text_pdf.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/memory/file.h"
#include "base/thread/child.h"
#include "base/thread/log.h"

/* One document on its way. */
typedef struct PdfChild {
    pid_t pid;
    int process; /* descriptor of it */
    int input;   /* our end of its standard input; -1: all of the document has been sent */
    int output;  /* a file without a name */
} PdfChild;

static void pdf_child_limit(pid_t pid, const TextPdfOptions *options)
{
    const struct {
        int what;
        rlim_t most;
    } limits[] = {{RLIMIT_CORE, 0},
                  {RLIMIT_NPROC, 0},
                  {RLIMIT_NOFILE, 64},
                  {RLIMIT_CPU, options->seconds},
                  {RLIMIT_AS, options->memory_bytes},
                  {RLIMIT_FSIZE, options->text_bytes}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const struct rlimit limit = {limits[i].most, limits[i].most};
        (void)prlimit(pid, (unsigned)limits[i].what, &limit, NULL);
    }
}

static void pdf_close(int *file)
{
    if (*file >= 0) {
        (void)close(*file);
    }
    *file = -1;
}

/* RESULT_NOT_FOUND: there is no such program. */
static Result pdf_child_start(PdfChild *child, const TextPdfOptions *options)
{
    static char program[] = "pdftotext";
    static char options_of_it[][12] = {"-q", "-nopgbrk", "-enc", "UTF-8", "-eol", "unix", "-", "-"};
    char *words[sizeof options_of_it / sizeof *options_of_it + 2] = {program};
    for (size_t i = 0; i < sizeof options_of_it / sizeof *options_of_it; i++) {
        words[i + 1] = options_of_it[i];
    }
    int ends[2] = {-1, -1};
    Result rc = RESULT_OK;
    child->output = memfd_create("text", MFD_CLOEXEC);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (child->output < 0 || nowhere < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        rc = result_of_errno(errno);
    }
    if (rc == RESULT_OK) {
        const int files[3] = {ends[1], child->output, nowhere};
        rc = child_start(&child->pid, program, words, files);
    }
    pdf_close(&ends[1]);
    pdf_close(&nowhere);
    child->input = ends[0];
    if (rc != RESULT_OK) {
        return rc;
    }
    pdf_child_limit(child->pid, options);
    child->process = (int)syscall(SYS_pidfd_open, child->pid, 0);
    return child->process < 0 ? result_of_errno(errno) : RESULT_OK;
}

/* Sends what there is room for. */
static void pdf_child_feed(PdfChild *child, const char *body, size_t length, size_t *sent)
{
    ssize_t n = send(child->input, body + *sent, length - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    *sent += n > 0 ? (size_t)n : 0;
    bool is_closed = n < 0 && errno != EAGAIN && errno != EINTR;
    if (is_closed || *sent == length) {
        pdf_close(&child->input);
    }
}

/* Until it ends by itself, or its time is over. Its status, as waitpid has it. */
static int pdf_child_run(PdfChild *child, const char *body, size_t length, uint64_t seconds,
                         bool *is_late)
{
    MonoTime end = mono_add_ms(mono_now(), (int64_t)seconds * 1000);
    size_t sent = 0;
    int status = 0;
    for (;;) {
        struct pollfd files[2] = {{.fd = child->process, .events = POLLIN},
                                  {.fd = child->input, .events = POLLOUT}};
        int64_t left = mono_ms_between(mono_now(), end);
        *is_late = left <= 0;
        if (*is_late) {
            break;
        }
        (void)poll(files, 2, (int)left);
        if (files[0].revents != 0 && child_has_ended(child->pid, &status)) {
            return status;
        }
        if (files[1].revents != 0) {
            pdf_child_feed(child, body, length, &sent);
        }
    }
    child_kill(child->pid, &status);
    return status;
}

/* No more than may be: the child ran for a moment before its limits held. */
static Result pdf_child_take(const PdfChild *child, uint64_t most, Buffer *text)
{
    struct stat info;
    if (fstat(child->output, &info) != 0) {
        return result_of_errno(errno);
    }
    size_t n = (uint64_t)info.st_size < most ? (size_t)info.st_size : (size_t)most;
    Result rc = buffer_reserve(text, n);
    if (rc == RESULT_OK && n > 0) {
        rc = file_read_at(child->output, text->data + text->length, n, 0);
    }
    if (rc == RESULT_OK && n > 0) {
        text->length += n;
        text->data[text->length] = '\0';
    }
    return rc;
}

Result text_pdf_read(const TextPdfOptions *options, const char *body, size_t length, Buffer *text)
{
    PdfChild child = {.process = -1, .input = -1, .output = -1};
    bool is_late = false;
    Result rc = pdf_child_start(&child, options);
    if (rc == RESULT_OK) {
        int status = pdf_child_run(&child, body, length, options->seconds, &is_late);
        rc = pdf_child_take(&child, options->text_bytes, text);
        /* Signals are those of limits, and what a program does that finds no memory. */
        bool is_over = is_late || WIFSIGNALED(status);
        if (rc == RESULT_OK && is_over) {
            rc = RESULT_LIMIT;
        } else if (rc == RESULT_OK && WEXITSTATUS(status) != 0) {
            rc = RESULT_DAMAGED;
        }
    } else if (child.pid > 0) {
        int status = 0;
        child_kill(child.pid, &status);
    }
    pdf_close(&child.process);
    pdf_close(&child.input);
    pdf_close(&child.output);
    if (child.pid == 0) {
        static atomic_flag told = ATOMIC_FLAG_INIT;
        if (!atomic_flag_test_and_set(&told)) {
            LOG_WARN("text", "PDF documents are left out: pdftotext cannot be run",
                     "package=poppler-utils error=\"%s\"", result_name(rc));
        }
        rc = RESULT_NOT_FOUND;
    }
    return rc;
}
