#include "check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "check_commands.h"

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
    {"links", "FILE --base URL [--content-type T] [--front-end skim|libxml2]", check_links},
    {"sitemap", "FILE --url URL", check_sitemap},
    {"filter",
     "'EXPRESSION' [--source URL] [--depth N] [--status N]\n"
     "                     [--content-type TYPE] [--body FILE] [--explain] URL...\n"
     "  ragno check filter --atoms",
     check_filter},
    {"url", "BASE HREF", check_url},
    {NULL, NULL, NULL},
};

static int usage(FILE *out)
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
        return usage(stderr);
    }
    if (is_help(argv[1])) {
        return usage(stdout);
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
    return usage(stderr);
}

#define CHECK_FILE_LIMIT ((size_t)256 << 20)
#define CHECK_READ_BYTES 65536

int check_read_file(const char *path, Buffer *out)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (file == NULL) {
        (void)fprintf(stderr, "ragno: %s: %s\n", path, strerror(errno));
        return 3;
    }
    buffer_init(out, CHECK_FILE_LIMIT);
    char chunk[CHECK_READ_BYTES];
    size_t n = 0;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && (n = fread(chunk, 1, sizeof chunk, file)) > 0) {
        rc = buffer_append(out, chunk, n);
    }
    if (rc != RESULT_OK || ferror(file)) {
        (void)fprintf(stderr, "ragno: %s: %s\n", path,
                      rc != RESULT_OK ? result_name(rc) : "cannot be read");
        rc = rc == RESULT_OK ? RESULT_IO : rc;
    }
    if (file != stdin) {
        (void)fclose(file);
    }
    return rc == RESULT_OK ? 0 : 3;
}
