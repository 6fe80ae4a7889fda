/* ragno: the words of the command line, and who serves them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command/audit_command.h"
#include "command/backup/backup.h"
#include "command/check/check.h"
#include "command/cluster/cluster_command.h"
#include "command/cluster/console.h"
#include "command/consent_command.h"
#include "command/compare_command.h"
#include "command/complaint_command.h"
#include "command/crawl.h"
#include "command/ctl.h"
#include "command/db/db.h"
#include "command/export/export.h"
#include "command/forget/forget.h"
#include "command/identity_command.h"
#include "command/import/import_command.h"
#include "crawl/exit_status.h"
#include "crawl/fault.h"
#include "command/plan/plan.h"
#include "command/rank.h"
#include "command/report_command.h"
#include "command/schedule_command.h"
#include "command/top/top.h"
#include "command/verify/verify.h"
#include "command/why_command.h"
#include "render/command/render_command.h"

typedef struct Command {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} Command;

static const Command commands[] = {
    {"audit", audit_main},
    {"backup", backup_main},
    {"check", check_main},
    {"cluster", cluster_main},
    {"compare", compare_main},
    {"complaint", complaint_main},
    {"consent", consent_main},
    {"crawl", crawl_main},
    {"ctl", ctl_main},
    {"db", db_main},
    {"export", export_main},
    {"forget", forget_main},
    {"identity", identity_main},
    {"import", import_main},
    {"plan", plan_main},
    {"rank", rank_main},
    {"render", render_main},
    {"report", report_main},
    {"restore", restore_main},
    {"schedule", schedule_main},
    {"status", status_main},
    {"top", top_main},
    {"verify", verify_main},
    {"why", why_main},
    {NULL, NULL},
};

static int main_complain_unknown(const char *word)
{
    OptionNear near = {word, .least = 3}; /* what is further away helps nobody */
    for (const Command *c = commands; c->name != NULL; c++) {
        (void)option_near_look(&near, c->name);
    }
    if (near.name != NULL) {
        (void)fprintf(stderr, "ragno: unknown command '%s', did you mean '%s'?\n", word, near.name);
        return 2;
    }
    (void)fprintf(stderr, "ragno: '%s' is neither a command nor a URL; commands:", word);
    for (const Command *c = commands; c->name != NULL; c++) {
        (void)fprintf(stderr, " %s", c->name);
    }
    (void)fprintf(stderr, "; a host by itself is given as http://%s/\n", word);
    return 2;
}

/* `ragno help` and `ragno help COMMAND` are `--help` by another name. */
static int main_help(int argc, char **argv)
{
    char help[] = "--help";
    for (const Command *c = commands; argc == 3 && c->name != NULL; c++) {
        if (strcmp(argv[2], c->name) == 0) {
            return c->run(2, (char *[]){argv[2], help, NULL});
        }
    }
    if (argc > 2) {
        return main_complain_unknown(argv[2]);
    }
    crawl_usage(stdout);
    return 0;
}

static int main_run(int argc, char **argv)
{
    if (argc < 2) {
        crawl_usage(stderr);
        return 2;
    }
    for (const Command *c = commands; c->name != NULL; c++) {
        if (strcmp(argv[1], c->name) == 0) {
            bool all = c->run != top_main && console_is_for(argc - 1, argv + 1);
            return all ? console_main(argc - 1, argv + 1) : c->run(argc - 1, argv + 1);
        }
    }
    if (strcmp(argv[1], "help") == 0) {
        return main_help(argc, argv);
    }
    if (argv[1][0] != '-' && strpbrk(argv[1], "./:") == NULL) { /* it is no seed */
        return main_complain_unknown(argv[1]);
    }
    return crawl_main(argc, argv);
}

/* What its parent has left undone. What is opened later must not have the number of a standard
 * stream that was closed, and be written over by what is said there: to say it, and to read, fails
 * as before. Children are waited for, and a limit of a file's size is an error, not an end. */
static void main_put_right(void)
{
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
        }
    }
}

/* No command succeeds whose answer was lost, whatever it printed it with. Who reads no further, as
 * head does, is no error. */
static int main_end_output(int status)
{
    struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};
    errno = 0;
    bool was_written = fflush(stdout) == 0 && ferror(stdout) == 0;
    if (was_written || status > EXIT_NEGATIVE) {
        return status;
    }
    int error = errno;
    if (error == EPIPE || (poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0)) {
        return status;
    }
    (void)fprintf(stderr, "ragno: standard output cannot be written: %s\n",
                  error == 0 ? "some of it was lost" : strerror(error));
    return EXIT_IO;
}

int main(int argc, char **argv)
{
    main_put_right();
    fault_install();
    return fault_end(main_end_output(main_run(argc, argv)));
}
