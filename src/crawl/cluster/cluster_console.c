#include "crawl/cluster/cluster_console.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory/file.h"
#include "base/thread/child.h"

void cluster_console_init(ClusterConsole *console, const char *directory, const Config *config)
{
    *console = (ClusterConsole){.directory = directory,
                                .has_login = *config->cluster_credentials != '\0' ||
                                             *config->cluster_tls_certificate != '\0'};
}

static void console_job_end(ConsoleJob *job)
{
    if (job->pid > 0) {
        int status = 0;
        child_kill(job->pid, &status);
    }
    if (job->ticket != 0) {
        (void)close(job->fd);
    }
    *job = (ConsoleJob){.ticket = 0};
}

void cluster_console_destroy(ClusterConsole *console)
{
    for (size_t i = 0; i < CONSOLE_JOBS; i++) {
        console_job_end(&console->jobs[i]);
    }
}

/* ---- what may be asked ---- */

/* Whether a word stands in a list, with blanks between; of one with an '=', what is before it. */
static bool console_lists(const char *list, const char *word)
{
    size_t length = strcspn(word, "=");
    while (*list != '\0') {
        size_t n = strcspn(list, " ");
        if (n == length && memcmp(list, word, n) == 0) {
            return true;
        }
        list += n + (list[n] == ' ');
    }
    return false;
}

/* Of each command the options that only change what it tells. */
static const struct {
    const char *command;
    const char *options;
} allowed[] = {
    {"audit", "--host --ip --day --since --until --json"},
    {"complaint", ""},
    {"consent", "--usage --changed"},
    {"ctl", "--json"},
    {"db", "--here --from --to --ids --top --host --due --parked --walls --headers --body"},
    {"forget", "--regex --older-than --keep-graph --hash-logs --again --no-wait"},
    {"plan", "--json -s"},
    {"rank", "--top --damping --precision --cross-host --content-scores"},
    {"report", "--html --json --broken-links"},
    {"status", "--json"},
    {"verify", "--absent --peers"},
    {"why", "--json --here"}};

/* NULL, or why it is not carried out. */
static const char *console_judge(const ClusterConsole *console, char *const *words, size_t n)
{
    static const char reads[] = "denials flights get help host status threads";
    size_t i = 0;
    while (i < sizeof allowed / sizeof *allowed && strcmp(words[0], allowed[i].command) != 0) {
        i++;
    }
    if (i == sizeof allowed / sizeof *allowed) {
        return "this command is not carried out for another machine";
    }
    for (size_t k = 1; k < n; k++) {
        if (words[k][0] == '-' && !console_lists(allowed[i].options, words[k])) {
            return "an option of it is not for another machine";
        }
    }
    bool is_ctl = strcmp(words[0], "ctl") == 0;
    bool is_host = is_ctl && n > 3 && strcmp(words[1], "host") == 0;
    bool changes = strcmp(words[0], "forget") == 0 || is_host ||
                   (is_ctl && n > 1 && !console_lists(reads, words[1]));
    return changes && !console->has_login
               ? "this agent has no login at its server, so anybody may be asking; give it "
                 "cluster.credentials, or steer it at its own machine"
               : NULL;
}

/* ---- processes ---- */

/* words: the command, and what follows the directory. */
static Result console_job_begin(ConsoleJob *job, const char *directory, char **words, size_t n)
{
    char *argv[CONSOLE_WORDS + 3] = {(char *)(uintptr_t) "ragno", words[0],
                                     (char *)(uintptr_t)directory};
    struct rlimit most = {CONSOLE_BYTES, CONSOLE_BYTES};
    Result rc = temporary_file_open(AT_FDCWD, directory, &job->fd);
    if (rc != RESULT_OK) {
        return rc;
    }
    memcpy(argv + 3, words + 1, (n - 1) * sizeof *argv);
    int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int files[3] = {none, job->fd, job->fd};
    rc = none < 0 ? result_of_errno(errno) : child_start(&job->pid, "/proc/self/exe", argv, files);
    file_close_fd(none);
    if (rc != RESULT_OK) {
        (void)close(job->fd);
        return rc;
    }
    (void)prlimit(job->pid, RLIMIT_FSIZE, &most, NULL);
    LOG_INFO("cluster", "a command for another machine", "command=%s pid=%d", words[0],
             (int)job->pid);
    return RESULT_OK;
}

/* The job of a ticket, or a place for it: free, or of the one that was asked for least lately and
 * has ended. NULL: all are at work. */
static ConsoleJob *console_find(ClusterConsole *console, uint64_t ticket)
{
    ConsoleJob *place = NULL;
    for (size_t i = 0; i < CONSOLE_JOBS; i++) {
        ConsoleJob *job = &console->jobs[i];
        if (job->ticket == ticket) {
            return job;
        }
        if (job->pid == 0 && (place == NULL || mono_before(job->asked, place->asked))) {
            place = job;
        }
    }
    if (place != NULL) {
        console_job_end(place);
    }
    return place;
}

/* ---- answers ---- */

static void console_answer(WireWriter *answer, ConsoleState state, int status, const void *bytes,
                           size_t length)
{
    wire_put_number(answer, state, 1);
    wire_put_number(answer, (uint32_t)status, 4);
    wire_put_string(answer, bytes, length);
}

static void console_refuse(WireWriter *answer, const char *why)
{
    console_answer(answer, CONSOLE_REFUSED, 0, why, strlen(why));
}

/* Whether it has ended is looked at first: then what it has printed is all there. */
static void console_job_tell(ConsoleJob *job, uint64_t offset, WireWriter *answer)
{
    static char chunk[CONSOLE_CHUNK_BYTES];
    int status = 0;
    if (job->pid > 0 && child_has_ended(job->pid, &status)) {
        job->pid = 0;
        job->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    ssize_t n = pread(job->fd, chunk, sizeof chunk, (off_t)offset);
    bool more = n == (ssize_t)sizeof chunk;
    console_answer(answer, job->pid > 0 || more ? CONSOLE_RUNS : CONSOLE_ENDED, job->status, chunk,
                   n > 0 ? (size_t)n : 0);
}

/* The words of a question, each with a NUL behind it, in one buffer; 0: they are none. */
static size_t console_read_words(WireReader *question, Buffer *text, char *words[CONSOLE_WORDS])
{
    size_t n = (size_t)wire_get_varint(question);
    bool good = !question->bad && n > 0 && n <= CONSOLE_WORDS;
    for (size_t i = 0; good && i < n; i++) {
        size_t length = 0;
        const uint8_t *word = wire_get_string(question, &length);
        good = word != NULL && memchr(word, 0, length) == NULL &&
               buffer_append(text, word, length) == RESULT_OK &&
               buffer_append_char(text, '\0') == RESULT_OK;
    }
    char *at = text->data;
    for (size_t i = 0; good && i < n; i++) {
        words[i] = at;
        at += strlen(at) + 1;
    }
    return good && wire_reader_ended(question) ? n : 0;
}

void cluster_console_asked(ClusterConsole *console, WireReader *question, WireWriter *answer)
{
    char *words[CONSOLE_WORDS];
    Buffer text = {.limit = CONSOLE_CHUNK_BYTES};
    uint64_t ticket = wire_get_number(question, 8);
    uint64_t offset = wire_get_number(question, 8);
    size_t n = console_read_words(question, &text, words);
    ConsoleJob *job = n == 0 || ticket == 0 ? NULL : console_find(console, ticket);
    const char *why = n == 0 ? NULL : console_judge(console, words, n);
    Result rc = RESULT_OK;
    if (n == 0 || why != NULL) {
        console_refuse(answer, why == NULL ? "not a command" : why);
    } else if (job == NULL) {
        console_refuse(answer, "it is busy with other commands; try again in a moment");
    } else if (job->ticket == 0 &&
               (rc = console_job_begin(job, console->directory, words, n)) != RESULT_OK) {
        console_refuse(answer, result_name(rc));
    } else {
        job->ticket = ticket;
        job->asked = mono_now();
        console_job_tell(job, offset, answer);
    }
    buffer_destroy(&text);
}
