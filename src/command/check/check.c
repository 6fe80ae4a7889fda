#include "command/check/check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "command/check/check_commands.h"

typedef struct CheckCommand {
    const char *name;
    const char *usage;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} CheckCommand;

static const CheckCommand commands[] = {
    {"robots", "FILE AGENT URL", check_robots},
    {"charset", "FILE [--content-type T]", check_charset},
    {"config", "[FILE]", check_config},
    {"digest", "FILE --base URL [--content-type T]", check_digest},
    {"dns", "[-c FILE] [-s SECTION.KEY=VALUE]... HOST...", check_dns},
    {"links", "FILE --base URL [--content-type T] [--embeds] [--front-end skim|libxml2]",
     check_links},
    {"sitemap", "FILE --url URL", check_sitemap},
    {"text", "FILE [--base URL] [--content-type T] [--main | --facts]", check_text},
    {"filter",
     "'EXPRESSION' [--source URL] [--depth N] [--status N]\n"
     "                     [--content-type TYPE] [--body FILE] [--explain] URL...\n"
     "  ragno check filter --atoms",
     check_filter},
    {"retries", "['CLASS WAIT RETRIES [drop], ...']", check_retries},
    {"url", "BASE HREF", check_url},
    {NULL, NULL, NULL},
};

static int check_usage_one(FILE *out)
{
    (void)fprintf(out, "usage:\n");
    for (const CheckCommand *c = commands; c->name != NULL; c++) {
        (void)fprintf(out, "  ragno check %s %s\n", c->name, c->usage);
    }
    return out == stdout ? 0 : 2;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int check_main(int argc, char **argv)
{
    if (argc < 2) {
        return check_usage_one(stderr);
    }
    if (is_help(argv[1])) {
        return check_usage_one(stdout);
    }
    for (const CheckCommand *c = commands; c->name != NULL; c++) {
        if (strcmp(argv[1], c->name) == 0) {
            if (argc > 2 && is_help(argv[2])) {
                (void)printf("usage: ragno check %s %s\n", c->name, c->usage);
                return 0;
            }
            return c->run(argc - 1, argv + 1);
        }
    }
    (void)fprintf(stderr, "ragno check: unknown command '%s'\n", argv[1]);
    return check_usage_one(stderr);
}
