#include "crawl/short_read.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"

#define OUTPUT_BYTES  ((size_t)256 << 10) /* of buffer; a step gives less than a half */
#define PENDING_BYTES ((size_t)64 << 10)
#define LAST_SECONDS  2u

static atomic_int caught;      /* the signal that asked for the end; 0 = none */
static atomic_int output = -1; /* the descriptor of the output */

/* Of the output: setvbuf makes none of a given size itself. Used until the process ends. */
static char buffer[OUTPUT_BYTES];

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* What is left of the output goes nowhere: nobody may be there to read it, and stdio would go on
 * with a write that the signal has interrupted. The next signal of the kind, and the alarm, have
 * their default action: they end the process. */
static void short_read_note_signal(int number)
{
    int error = errno;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int fd = atomic_load(&output);
    if (nowhere >= 0 && fd >= 0) {
        (void)dup3(nowhere, fd, O_CLOEXEC);
    }
    atomic_store(&caught, number);
    (void)alarm(LAST_SECONDS);
    errno = error;
}

static void short_read_write_output(ShortRead *read)
{
    errno = 0;
    if (read->out != NULL && !read->gone && read->error == 0 &&
        (fflush(read->out) != 0 || ferror(read->out))) {
        /* A broken pipe, or anything else that happens to the output. */
        if (errno == EPIPE) {
            read->gone = true;
        } else if (errno != EINTR || atomic_load(&caught) == 0) {
            read->error = errno == 0 ? EIO : errno;
        }
    }
}

static int over(const ShortRead *read)
{
    return read->gone || read->error != 0 || atomic_load(&caught) != 0 ? SHORT_READ_OVER
                                                                       : page_db_error_ok;
}

static int short_read_resume(ShortRead *read)
{
    read->since = mono_now();
    return page_db_txn_begin(read->db, true, &read->txn);
}

int short_read_begin(ShortRead *read, PageDB *db, FILE *out)
{
    *read = (ShortRead){.db = db, .out = out};
    struct sigaction action = {.sa_handler = short_read_note_signal, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old;
        /* nohup stays nohup. */
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
            (void)sigaction(signals[i], &action, NULL);
        }
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (out != NULL && fileno(out) >= 0) { /* not memory */
        atomic_store(&output, fileno(out));
        (void)setvbuf(out, buffer, _IOFBF, sizeof buffer);
    }
    return short_read_resume(read);
}

void short_read_pause(ShortRead *read)
{
    if (read->txn != NULL) {
        /* Committed, so that tables that were opened in it stay open. */
        (void)page_db_txn_commit(read->db, read->txn);
        read->txn = NULL;
    }
    page_db_rest(read->db);
}

int short_read_turn(ShortRead *read, int rc)
{
    if (rc != page_db_error_ok) {
        return rc;
    }
    bool writes = read->out != NULL && __fpending(read->out) >= PENDING_BYTES;
    if (!writes && mono_ms_between(read->since, mono_now()) < SHORT_READ_MS) {
        return over(read);
    }
    short_read_pause(read);
    short_read_write_output(read);
    rc = over(read);
    return rc == page_db_error_ok ? short_read_resume(read) : rc;
}

int short_read_signal(void)
{
    return atomic_load(&caught);
}

int short_read_end(ShortRead *read, int rc, const char *command)
{
    short_read_pause(read);
    short_read_write_output(read);
    int signal_number = atomic_load(&caught);
    if (signal_number != 0) {
        return 128 + signal_number;
    }
    if (read->error != 0) {
        (void)fprintf(stderr, "ragno %s: standard output cannot be written: %s\n", command,
                      strerror(read->error));
        return EXIT_IO;
    }
    if (rc == SHORT_READ_OVER || rc == page_db_error_ok) {
        return 0;
    }
    return crawl_exit_status(rc);
}
