#include "page/classify/classifier.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/core/bounds.h"
#include "base/thread/child.h"
#include "base/thread/queue.h"
#include "base/thread/thread.h"

/* Classify process: a child process that reads lines and answers each with a line.
 *
 *   classify_process_start --> classify_process_exchange ... --> classify_process_stop
 *
 * What: standard input and output of the child are pipes, its standard error is the crawl's. It has
 * a process group of its own, so that Ctrl-C reaches the crawl alone, and so that all of its
 * children can be ended with it. Writing and reading go on at the same time: neither side waits for
 * the other with a full pipe.
 * Owns: the child and the pipes.
 * Threads: one; classify_process_interrupt any.
 * Errors: after any error of an exchange nothing is known about the child: stop it. */

#define CLASSIFY_ANSWER_BYTES ((size_t)4096) /* of one line; a longer one is an error */

typedef struct ClassifyProcess {
    pid_t pid; /* 0: there is none */
    int in;    /* its standard input */
    int out;
    int interrupt;        /* an eventfd; -1: none */
    bool may_greet;       /* it has not answered yet */
    unsigned n_greetings; /* lines that were left out */
} ClassifyProcess;

#define CLASSIFY_GREETINGS   16u /* lines before the first answer */
#define CLASSIFY_QUOTE_BYTES 101u

#define PIECE ((size_t)16384)

/* RESULT_LIMIT, RESULT_MEMORY: no descriptor. */
static Result classify_process_init(ClassifyProcess *process)
{
    *process = (ClassifyProcess){.in = -1, .out = -1, .interrupt = -1};
    process->interrupt = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return process->interrupt < 0 ? result_of_errno(errno) : RESULT_OK;
}

static void close_pair(const int pair[2])
{
    for (int i = 0; i < 2; i++) {
        file_close_fd(pair[i]);
    }
}

/* argv ends with NULL; argv[0] is looked for in PATH. RESULT_NOT_FOUND, RESULT_LIMIT, ...: there is
 * no child. */
static Result classify_process_start(ClassifyProcess *process, char *const argv[])
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
    const int files[3] = {to[0], from[1], -1};
    Result rc = child_start(&process->pid, argv[0], argv, files);
    if (rc != RESULT_OK) {
        process->pid = 0;
        close_pair(to);
        close_pair(from);
        return rc;
    }
    (void)close(to[0]);
    (void)close(from[1]);
    process->in = to[1];
    process->out = from[0];
    process->may_greet = true;
    process->n_greetings = 0;
    return RESULT_OK;
}

/* Of a pipe that could not be read or written. */
static Result classify_result_of_errno(void)
{
    if (errno == EAGAIN || errno == EINTR) {
        return RESULT_OK;
    }
    return errno == EPIPE ? RESULT_CLOSED : RESULT_IO;
}

/* Ends the child and its group; *status as waitpid has it. Nothing happens without a child. */
static void classify_process_stop(ClassifyProcess *process, int *status)
{
    if (process->pid == 0) {
        return;
    }
    (void)close(process->in);
    (void)close(process->out);
    child_kill(process->pid, status);
    process->pid = 0;
    process->in = -1;
    process->out = -1;
}

static void classify_process_destroy(ClassifyProcess *process)
{
    int status = 0;
    classify_process_stop(process, &status);
    file_close_fd(process->interrupt);
}

/* Ends the exchange that is under way and all later ones. */
static void classify_process_interrupt(ClassifyProcess *process)
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
        return classify_result_of_errno();
    }
    exchange->written += (size_t)n;
    return RESULT_OK;
}

/* A line as the log quotes it: of a stranger's, so it has neither quotes nor control characters. */
static void classify_quote(const char *line, size_t length, char out[CLASSIFY_QUOTE_BYTES])
{
    size_t n = length < CLASSIFY_QUOTE_BYTES - 1 ? length : CLASSIFY_QUOTE_BYTES - 1;
    for (size_t i = 0; i < n; i++) {
        out[i] = line[i] < ' ' || line[i] > '~' || line[i] == '"' ? '?' : line[i];
    }
    out[n] = '\0';
}

/* What a program says before its first answer (its name, a licence) is no answer: complete lines at
 * the beginning that are neither a number nor an object nor a label are left out. */
static void classify_leave_out_greeting(ClassifyProcess *process, Buffer *answers)
{
    char *end = NULL;
    while (process->may_greet && answers->length > 0 &&
           (end = memchr(answers->data, '\n', answers->length)) != NULL) {
        size_t length = (size_t)(end - answers->data) + 1;
        char quote[CLASSIFY_QUOTE_BYTES];
        if (strchr("0123456789+-.{ \t_", answers->data[0]) != NULL ||
            process->n_greetings == CLASSIFY_GREETINGS) {
            process->may_greet = false;
            return;
        }
        classify_quote(answers->data, length - 1, quote);
        LOG_WARN("classify", "the classifier says something before its answers: left out",
                 "line=\"%s\"", quote);
        process->n_greetings++;
        memmove(answers->data, answers->data + length, answers->length - length);
        answers->length -= length;
        answers->data[answers->length] = '\0';
    }
}

static Result classify_process_read_some(ClassifyProcess *process, Exchange *exchange)
{
    Buffer *answers = exchange->answers;
    Result rc = buffer_reserve(answers, PIECE);
    if (rc != RESULT_OK) {
        return rc;
    }
    ssize_t n = read(process->out, answers->data + answers->length, PIECE);
    if (n <= 0) {
        return n == 0 ? RESULT_CLOSED : classify_result_of_errno();
    }
    answers->length += (size_t)n;
    answers->data[answers->length] = '\0';
    classify_leave_out_greeting(process, answers);
    for (size_t i = exchange->line_start; i < answers->length; i++) {
        if (answers->data[i] == '\n') {
            exchange->n_lines++;
            exchange->line_start = i + 1;
        }
    }
    return answers->length - exchange->line_start > CLASSIFY_ANSWER_BYTES ? RESULT_LIMIT
                                                                          : RESULT_OK;
}

static Result exchange_some(ClassifyProcess *process, Exchange *exchange, int wait_ms)
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

/* Writes all questions, and reads until there are n lines of answers. answers is emptied first, and
 * holds what came also after an error: RESULT_TIMEOUT, RESULT_CLOSED (the child has ended, or was
 * interrupted), RESULT_LIMIT (a line too long, or more lines than questions), RESULT_IO. */
static Result classify_process_exchange(ClassifyProcess *process, const Buffer *questions, size_t n,
                                        Buffer *answers, MonoTime deadline)
{
    Exchange exchange = {.questions = questions, .answers = answers};
    buffer_reset(answers);
    while (exchange.n_lines < n) {
        int64_t ms = mono_ms_between(mono_now(), deadline);
        int wait_ms =
            (int)bounds_int64(ms + 1, 1, 60000); /* poll's unit; never before the deadline */
        Result rc = ms <= 0 ? RESULT_TIMEOUT : exchange_some(process, &exchange, wait_ms);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    bool too_many = exchange.n_lines > n || exchange.line_start < answers->length;
    return too_many ? RESULT_LIMIT : RESULT_OK;
}

#define PAUSE_MS      1000
#define PAUSE_MS_MAX  (INT64_C(5) * 60 * 1000)
#define DOUBLINGS_MAX 20

struct Classifier {
    ClassifierOptions options;
    Stats *stats;
    Queue queue;
    Thread thread;
    ClassifyProcess process;
    atomic_bool stopping;
    _Atomic int64_t down_until_ns; /* monotonic: until then there is no process */
    unsigned failures;             /* in a row */
    Buffer questions;
    Buffer answers;
};

static void send_on(Classifier *classifier, ParsedPage *page, float score)
{
    page->verdict.score = score;
    free(page->verdict.question);
    page->verdict.question = NULL;
    classifier->options.sink(classifier->options.context, page);
}

static void send_unscored(Classifier *classifier, ParsedPage *page)
{
    stats_add(&classifier->stats->classify_default, 1);
    send_on(classifier, page, classifier->options.default_score);
}

static bool is_down(const Classifier *classifier)
{
    return atomic_load(&classifier->stopping) ||
           mono_now().ns < atomic_load(&classifier->down_until_ns);
}

/* ---- the process ---- */

static Result start_process(Classifier *classifier)
{
    const ClassifierOptions *o = &classifier->options;
    char *const shell[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, strdup(o->command), NULL};
    char *const fasttext[] = {(char[]){"fasttext"}, (char[]){"predict-prob"}, strdup(o->model),
                              (char[]){"-"},        (char[]){"-1"},           NULL};
    bool is_shell = o->form == QUESTION_JSON;
    Result rc = RESULT_MEMORY;
    if (shell[2] != NULL && fasttext[2] != NULL) {
        rc = classify_process_start(&classifier->process, is_shell ? shell : fasttext);
    }
    free(shell[2]);
    free(fasttext[2]);
    stats_add(&classifier->stats->classify_starts, rc == RESULT_OK);
    return rc;
}

static const char *classifier_words_of(Result why)
{
    switch ((int)why) {
    case RESULT_TIMEOUT:
        return "no answer within score.command_timeout";
    case RESULT_CLOSED:
        return "it has ended";
    case RESULT_LIMIT:
        return "more answers than questions, or one too long";
    case RESULT_INVALID:
        return "its answers are no scores";
    case RESULT_NOT_FOUND:
        return "there is no such program";
    default:
        return result_name(why);
    }
}

/* Ends the process, and lets pages go on without it for a while. */
static void classifier_give_up(Classifier *classifier, Result why)
{
    const ClassifierOptions *o = &classifier->options;
    int status = 0;
    classify_process_stop(&classifier->process, &status);
    if (atomic_load(&classifier->stopping)) {
        return;
    }
    int64_t pause_ms = o->pause_ms > 0 ? o->pause_ms : PAUSE_MS;
    unsigned doublings =
        classifier->failures < DOUBLINGS_MAX ? classifier->failures : DOUBLINGS_MAX;
    pause_ms <<= doublings;
    pause_ms = pause_ms < PAUSE_MS_MAX ? pause_ms : PAUSE_MS_MAX;
    classifier->failures++;
    char said[CLASSIFY_QUOTE_BYTES];
    const Buffer *answers = &classifier->answers;
    const char *end = answers->length == 0 ? NULL : memchr(answers->data, '\n', answers->length);
    classify_quote(buffer_string(answers),
                   end == NULL ? answers->length : (size_t)(end - answers->data), said);
    bool is_none = why == RESULT_CLOSED && WIFEXITED(status) && WEXITSTATUS(status) == 127;
    LOG_WARN("classify", "the classifier failed; pages get score.command_default meanwhile",
             "why=\"%s\" said=\"%s\" failures=%u restart_ms=%lld",
             is_none ? "there is no such program (score.command)" : classifier_words_of(why), said,
             classifier->failures, (long long)pause_ms);
    atomic_store(&classifier->down_until_ns, mono_add_ms(mono_now(), pause_ms).ns);
}

/* ---- a batch ---- */

static Result classifier_ask(Classifier *classifier, void *const *pages, size_t n)
{
    Result rc = classifier->process.pid == 0 ? start_process(classifier) : RESULT_OK;
    buffer_reset(&classifier->questions);
    buffer_reset(&classifier->answers);
    if (rc != RESULT_OK) {
        return rc;
    }
    for (size_t i = 0; i < n; i++) {
        const ParsedPage *page = pages[i];
        rc = buffer_append(&classifier->questions, page->verdict.question,
                           page->verdict.question_length);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    thread_step("waiting for answers");
    MonoTime start = mono_now();
    rc = classify_process_exchange(&classifier->process, &classifier->questions, n,
                                   &classifier->answers,
                                   mono_add_ms(start, classifier->options.timeout_ms));
    stats_add(&classifier->stats->classify_us, (uint64_t)(mono_now().ns - start.ns) / 1000);
    return rc;
}

/* Gives pages the scores that came; the others have the default. How many were good. */
static size_t take_answers(Classifier *classifier, void *const *pages, size_t n)
{
    const ClassifierOptions *o = &classifier->options;
    const char *line = buffer_string(&classifier->answers);
    const char *end = line + classifier->answers.length;
    size_t n_good = 0;
    for (size_t i = 0; i < n; i++) {
        const char *stop = line == NULL ? NULL : memchr(line, '\n', (size_t)(end - line));
        float score = 0.0f;
        bool is_good = stop != NULL &&
                       page_question_answer(o->form, o->label, line, (size_t)(stop - line), &score);
        stats_add(&classifier->stats->classify_bad, stop != NULL && !is_good);
        line = stop == NULL ? NULL : stop + 1;
        n_good += is_good;
        if (is_good) {
            stats_add(&classifier->stats->classified, 1);
            send_on(classifier, pages[i], score);
        } else {
            send_unscored(classifier, pages[i]);
        }
    }
    return n_good;
}

static void classifier_classify(Classifier *classifier, void *const *pages, size_t n)
{
    if (is_down(classifier)) {
        for (size_t i = 0; i < n; i++) {
            send_unscored(classifier, pages[i]);
        }
        return;
    }
    Result rc = classifier_ask(classifier, pages, n);
    thread_step("waiting for ingest");
    size_t n_good = take_answers(classifier, pages, n);
    if (rc == RESULT_OK && n_good == 0) {
        rc = RESULT_INVALID;
    }
    if (rc != RESULT_OK) {
        classifier_give_up(classifier, rc);
    } else {
        classifier->failures = 0;
    }
}

static void *classifier_main(void *argument)
{
    Classifier *classifier = argument;
    void *pages[CLASSIFIER_BATCH_MAX];
    size_t n = 0;
    thread_step("waiting for pages");
    while (queue_pop(&classifier->queue, pages, classifier->options.batch, &n, MONO_NEVER) ==
           RESULT_OK) {
        classifier_classify(classifier, pages, n);
        thread_step("waiting for pages");
    }
    return NULL;
}

/* ---- the outside ---- */

Result classifier_new(Classifier **out, const ClassifierOptions *options, Stats *stats)
{
    *out = NULL;
    Classifier *classifier = calloc(1, sizeof *classifier);
    if (classifier == NULL) {
        return RESULT_MEMORY;
    }
    classifier->options = *options;
    classifier->stats = stats;
    if (classifier->options.batch == 0 || classifier->options.batch > CLASSIFIER_BATCH_MAX) {
        classifier->options.batch = CLASSIFIER_BATCH_MAX;
    }
    Result rc = queue_init(&classifier->queue, options->queue);
    if (rc == RESULT_OK) {
        rc = classify_process_init(&classifier->process);
        if (rc != RESULT_OK) {
            queue_destroy(&classifier->queue);
        }
    }
    if (rc != RESULT_OK) {
        free(classifier);
        return rc;
    }
    buffer_init(&classifier->questions, BUFFER_NO_LIMIT);
    buffer_init(&classifier->answers, BUFFER_NO_LIMIT);
    *out = classifier;
    return RESULT_OK;
}

Result classifier_start(Classifier *classifier)
{
    return thread_start(&classifier->thread, "classifier", classifier_main, classifier);
}

void classifier_push(Classifier *classifier, ParsedPage *page)
{
    if (page->verdict.question == NULL) {
        classifier->options.sink(classifier->options.context, page);
    } else if (is_down(classifier) || queue_try_add(&classifier->queue, page, 0) != RESULT_OK) {
        send_unscored(classifier, page);
    }
}

void classifier_stop(Classifier *classifier)
{
    atomic_store(&classifier->stopping, true);
    classify_process_interrupt(&classifier->process);
    queue_close(&classifier->queue);
    thread_join(&classifier->thread);
}

void classifier_delete(Classifier *classifier)
{
    if (classifier == NULL) {
        return;
    }
    classify_process_destroy(&classifier->process);
    queue_destroy(&classifier->queue);
    buffer_destroy(&classifier->questions);
    buffer_destroy(&classifier->answers);
    free(classifier);
}
