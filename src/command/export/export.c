#include "command/export/export.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "crawl/crawl_open.h"
#include "crawl/exit_status.h"
#include "command/export/page_export.h"
#include "command/text/text_export.h"

typedef struct ExportKind {
    const char *name;
    Result (*run)(PageDB *db, const PageExportOptions *options);
} ExportKind;

static const ExportKind kinds[] = {
    {"links", page_export_links}, {"hosts", page_export_hosts}, {"pages", page_export_pages}};

typedef struct ExportCommand {
    const char *directory;
    const char *output;
    const ExportKind *kind;
    PageExportOptions options;
    bool header_given;
    bool help;
} ExportCommand;

static int usage(FILE *out)
{
    (void)fprintf(out, "usage: ragno export DIR links|hosts|pages [OPTION]...\n"
                       "  --format tsv|csv|jsonl|arcs\n"
                       "                           default tsv; arcs is --arcs\n"
                       "  -o, --output FILE        default standard output\n"
                       "  --header, --no-header    a line of names first; default: CSV only\n"
                       "  --ids                    page indices and host ids instead of URLs\n"
                       "  --arcs                   only the integer arcs, ascending, for WebGraph\n"
                       "  --no-self                without arcs from a page or host to itself\n"
                       "  --cross-host             links: only those that leave the domain\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static int complain(const char *what, const char *word)
{
    (void)fprintf(stderr, "ragno export: %s '%s'\n", what, word);
    return usage(stderr);
}

/* The value of "--name VALUE" or "--name=VALUE" at argv[*i]; NULL when it is another word. An
 * option without a value gets "". */
static const char *value_of(const char *name, int argc, char **argv, int *i)
{
    size_t n = strlen(name);
    const char *word = argv[*i];
    if (word == NULL || strncmp(word, name, n) != 0 || (word[n] != '\0' && word[n] != '=')) {
        return NULL;
    }
    if (word[n] == '=') {
        return word + n + 1;
    }
    return *i + 1 < argc ? argv[++*i] : "";
}

/* Options without a value; false when the word is none. */
static bool take_flag(ExportCommand *command, const char *word)
{
    PageExportOptions *options = &command->options;
    if (strcmp(word, "--header") == 0 || strcmp(word, "--no-header") == 0) {
        options->header = word[2] == 'h';
        command->header_given = true;
    } else if (strcmp(word, "--ids") == 0) {
        options->ids = true;
    } else if (strcmp(word, "--arcs") == 0) {
        options->arcs = true;
    } else if (strcmp(word, "--no-self") == 0) {
        options->no_self = true;
    } else if (strcmp(word, "--cross-host") == 0) {
        options->only_cross = true;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        command->help = true;
    } else {
        return false;
    }
    return true;
}

static const ExportKind *kind_of(const char *word)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(word, kinds[k].name) == 0) {
            return &kinds[k];
        }
    }
    return NULL;
}

static int parse(ExportCommand *command, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        const char *format = value_of("--format", argc, argv, &i);
        const char *output = format != NULL ? NULL : value_of("--output", argc, argv, &i);
        if (format == NULL && output == NULL) {
            output = value_of("-o", argc, argv, &i);
        }
        if (format != NULL && strcmp(format, "arcs") == 0) {
            command->options.arcs = true;
        } else if (format != NULL) {
            command->options.format = export_format_of(format);
            if (command->options.format == EXPORT_FORMATS) {
                return complain("unknown format", format);
            }
        } else if (output != NULL) {
            if (output[0] == '\0') {
                return complain("no file after", word);
            }
            command->output = output;
        } else if (take_flag(command, word)) {
            continue;
        } else if (word[0] == '-') {
            return complain("unknown option", word);
        } else if (command->directory == NULL) {
            command->directory = word;
        } else if (command->kind == NULL) {
            command->kind = kind_of(word);
            if (command->kind == NULL) {
                return complain("unknown kind", word);
            }
        } else {
            return complain("unexpected", word);
        }
    }
    if (!command->header_given) {
        command->options.header = command->options.format == EXPORT_CSV;
    }
    return 0;
}

static int status_of(Result rc)
{
    switch (rc) {
    case RESULT_OK:
        return 0;
    case RESULT_DAMAGED:
    case RESULT_VERSION:
    case RESULT_LOCKED:
        return EXIT_DIRECTORY;
    case RESULT_IO:
    case RESULT_FULL:
    case RESULT_NOT_FOUND:
    case RESULT_EXISTS:
        return EXIT_IO;
    case RESULT_MEMORY:
    case RESULT_LIMIT:
    case RESULT_INVALID:
    case RESULT_CLOSED:
    case RESULT_TIMEOUT:
    case RESULT_INTERNAL:
        break;
    }
    return 1;
}

static int run(ExportCommand *command)
{
    PageDB *db = NULL;
    int status = crawl_open("export", command->directory, true, &db);
    FILE *file = stdout;
    if (status == 0 && command->output != NULL && strcmp(command->output, "-") != 0) {
        file = fopen(command->output, "wbe");
        if (file == NULL) {
            (void)fprintf(stderr, "ragno export: %s: %s\n", command->output, strerror(errno));
            status = EXIT_IO;
        }
    }
    if (status == 0) {
        command->options.file = file;
        Result rc = command->kind->run(db, &command->options);
        if (file != stdout && fclose(file) != 0 && rc == RESULT_OK) {
            rc = result_of_errno(errno);
        }
        if (rc != RESULT_OK) {
            (void)fprintf(stderr, "ragno export: %s\n", result_name(rc));
        }
        status = status_of(rc);
    }
    (void)page_db_delete(db);
    return status;
}

/* Texts come from the archive and have a command of their own: its word is the second that is neither
 * an option nor an option's value. */
static bool is_text(int argc, char **argv)
{
    static const char *const with_value[] = {"--format", "--since",  "--status", "--threads",
                                             "--where",  "--output", "-o"};
    int words = 0;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-') {
            words++;
        }
        if (words == 2) {
            return strcmp(argv[i], "text") == 0;
        }
        for (size_t k = 0; k < sizeof with_value / sizeof *with_value; k++) {
            i += strcmp(argv[i], with_value[k]) == 0 && i + 1 < argc ? 1 : 0;
        }
    }
    return false;
}

int export_main(int argc, char **argv)
{
    if (is_text(argc, argv)) {
        return text_export_main(argc, argv);
    }
    ExportCommand command = {.directory = NULL};
    int status = parse(&command, argc, argv);
    if (status != 0) {
        return status;
    }
    if (command.help) {
        return usage(stdout);
    }
    if (command.kind == NULL) {
        return usage(stderr);
    }
    return run(&command);
}
