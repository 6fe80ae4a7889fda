/* ragno: the words of the command line, and who serves them. */
#include <stdio.h>
#include <string.h>

#include "base/option/options.h"
#include "command/audit_command.h"
#include "command/check/check.h"
#include "command/crawl.h"
#include "command/ctl.h"
#include "command/db/db.h"
#include "command/export/export.h"
#include "crawl/fault.h"
#include "command/rank.h"
#include "command/report_command.h"
#include "command/schedule_command.h"
#include "command/status_command.h"
#include "command/top/top.h"
#include "command/verify/verify.h"
#include "command/why_command.h"

typedef struct Command {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} Command;

static const Command commands[] = {
    {"audit", audit_main},
    {"check", check_main},
    {"crawl", crawl_main},
    {"ctl", ctl_main},
    {"db", db_main},
    {"export", export_main},
    {"rank", rank_main},
    {"report", report_main},
    {"schedule", schedule_main},
    {"status", status_main},
    {"top", top_main},
    {"verify", verify_main},
    {"why", why_main},
    {NULL, NULL},
};

/* A word that is nearly a command is a slip, not a seed. */
static const char *nearly_a_command(const char *word)
{
    if (strpbrk(word, "./:") != NULL) {
        return NULL;
    }
    for (const Command *c = commands; c->name != NULL; c++) {
        if (option_distance(word, c->name) <= 2) {
            return c->name;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    fault_install();
    if (argc < 2) {
        crawl_usage(stderr);
        return 2;
    }
    for (const Command *c = commands; c->name != NULL; c++) {
        if (strcmp(argv[1], c->name) == 0) {
            return c->run(argc - 1, argv + 1);
        }
    }
    const char *near = argv[1][0] == '-' ? NULL : nearly_a_command(argv[1]);
    if (near != NULL) {
        (void)fprintf(stderr, "ragno: unknown command '%s', did you mean '%s'?\n", argv[1], near);
        return 2;
    }
    return crawl_main(argc, argv);
}
