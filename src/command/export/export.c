#include "command/export/export.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "command/export/host_export.h"
#include "command/export/link_export.h"
#include "command/export/page_export.h"
#include "command/part/part_command.h"
#include "command/text/text_export.h"
#include "command/wacz/wacz_export.h"
#include "crawl/command_option.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "crawl/input_file.h"
#include "crawl/progress.h"
#include "crawl/short_read.h"
#include "store/pages/page_db_open.h"

/* `ragno export DIR links|hosts|pages`: PageDB as TSV, CSV or JSON Lines.
 *
 * What: the command line of page_export.h.
 * Threads: main. */

#define LINK_TEXT_BYTES ((size_t)200) /* as parse.link_text */

typedef struct ExportKind {
    const char *name;
    unsigned available; /* to --where */
    Result (*run)(PageDB *db, const PageExportOptions *options);
} ExportKind;

static const ExportKind kinds[] = {{"links", PAGE_EXPORT_HAS_LINKS, page_export_links},
                                   {"hosts", PAGE_EXPORT_HAS_HOSTS, page_export_hosts},
                                   {"pages", PAGE_EXPORT_HAS_PAGES, page_export_pages}};

typedef struct ExportCommand {
    const char *directory;
    const char *output;
    const char *where;
    const ExportKind *kind;
    const char *agents[PAGE_EXPORT_AGENTS];
    PageExportOptions options;
    bool header_given;
    bool no_archive;
    bool help;
    Progress progress;
} ExportCommand;

static int export_tables_usage(FILE *out)
{
    (void)fprintf(
        out,
        "usage: ragno export DIR links|hosts|pages [OPTION]...\n"
        "       ragno export DIR text|warc|wacz [OPTION]...   (--help behind one tells of it)\n"
        "  --format tsv|csv|jsonl|arcs\n"
        "                           default tsv; arcs is --arcs\n"
        "  -o, --output FILE        default standard output\n"
        "  --where FILTER           rows that a filter expression matches\n"
        "  --header, --no-header    a line of names first; default: CSV only\n"
        "  --ids                    page indices and host ids instead of URLs\n"
        "  --arcs                   only the integer arcs, ascending, for WebGraph\n"
        "  --no-self                without arcs from a page or host to itself\n"
        "  --cross-host             links: only those that leave the domain\n"
        "  --text                   links: the text on each and around it, from the archive\n"
        "  --agent DIR              pages: another agent of the same crawl on several machines,\n"
        "                           which is not asked for parents of pages; repeatable\n"
        "  --no-archive             pages: only what the database knows: no type, size,\n"
        "                           title, language, redirect and place of the answer\n"
        "Parquet: duckdb -c \"COPY (FROM 'pages.jsonl') TO 'pages.parquet'\"\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static int export_tables_complain(const char *what, const char *word)
{
    (void)fprintf(stderr, "ragno export: %s '%s'\n", what, word);
    return export_tables_usage(stderr);
}

/* Options without a value; false when the word is none. */
static bool export_tables_take_flag(ExportCommand *command, const char *word)
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
    } else if (strcmp(word, "--text") == 0) {
        options->link_text = LINK_TEXT_BYTES;
    } else if (strcmp(word, "--no-archive") == 0) {
        command->no_archive = true;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        command->help = true;
    } else {
        return false;
    }
    return true;
}

static const ExportKind *export_tables_kind_of(const char *word)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(word, kinds[k].name) == 0) {
            return &kinds[k];
        }
    }
    return NULL;
}

static int export_tables_take_format(ExportCommand *command, const char *value)
{
    if (strcmp(value, "arcs") == 0) {
        command->options.arcs = true;
        return 0;
    }
    if (strcmp(value, "parquet") == 0) {
        return export_tables_complain(
            "DuckDB makes Parquet of JSON Lines: duckdb -c \"COPY (FROM 'pages.jsonl') "
            "TO 'pages.parquet'\"; not written:",
            value);
    }
    command->options.format = export_format_of(value);
    return command->options.format == EXPORT_FORMATS
               ? export_tables_complain("unknown format", value)
               : 0;
}

static int export_tables_take_output(ExportCommand *command, const char *value)
{
    command->output = value;
    return value[0] == '\0' ? export_tables_complain("no file after", "-o") : 0;
}

static int export_tables_take_where(ExportCommand *command, const char *value)
{
    command->where = value;
    return 0;
}

static int take_agent(ExportCommand *command, const char *value)
{
    PageExportOptions *options = &command->options;
    if (options->n_agents == PAGE_EXPORT_AGENTS) {
        return export_tables_complain("too many directories of agents:", value);
    }
    command->agents[options->n_agents++] = value;
    return 0;
}

static const struct {
    const char *name;
    int (*take)(ExportCommand *command, const char *value);
} options_with_value[] = {{"--format", export_tables_take_format},
                          {"--agent", take_agent},
                          {"--output", export_tables_take_output},
                          {"-o", export_tables_take_output},
                          {"--where", export_tables_take_where}};

/* -1: the word is none of these. */
static int export_tables_take_option(ExportCommand *command, int argc, char **argv, int *i)
{
    for (size_t k = 0; k < sizeof options_with_value / sizeof *options_with_value; k++) {
        const char *value = command_option(options_with_value[k].name, argc, argv, i);
        if (value != NULL) {
            return options_with_value[k].take(command, value);
        }
    }
    return -1;
}

static int export_tables_take_word(ExportCommand *command, const char *word)
{
    if (word[0] == '-') {
        return export_tables_complain("unknown option", word);
    }
    if (command->directory == NULL) {
        command->directory = word;
        return 0;
    }
    if (command->kind != NULL) {
        return export_tables_complain("unexpected", word);
    }
    command->kind = export_tables_kind_of(word);
    return command->kind == NULL ? export_tables_complain("unknown kind", word) : 0;
}

static int export_tables_parse(ExportCommand *command, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        int status = export_tables_take_option(command, argc, argv, &i);
        if (status < 0) {
            status =
                export_tables_take_flag(command, word) ? 0 : export_tables_take_word(command, word);
        }
        if (status != 0) {
            return status;
        }
    }
    if (!command->header_given) {
        command->options.header = command->options.format == EXPORT_CSV;
    }
    return 0;
}

static int export_tables_status_of(Result rc)
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

static void show_progress(void *context, uint64_t done, uint64_t total, uint64_t n_rows)
{
    progress_show(context, done, total, n_rows, mono_now());
}

static int run_on(ExportCommand *command, PageDB *db, const Filter *where)
{
    OutputFile output;
    Buffer archive;
    PageExportOptions *options = &command->options;
    Result rc = output_file_open(&output, "export", command->output);
    if (rc != RESULT_OK) {
        return EXIT_IO;
    }
    buffer_init(&archive, BUFFER_NO_LIMIT);
    (void)buffer_printf(&archive, "%s/warc", command->directory);
    options->directory = command->directory;
    options->agents = command->agents;
    options->archive = command->no_archive ? NULL : buffer_string(&archive);
    progress_begin(&command->progress, "export", "rows", progress_is_wanted(command->output),
                   stderr, mono_now());
    options->file = output.file;
    options->where = where;
    options->step = show_progress;
    options->step_context = &command->progress;
    rc = command->kind->run(db, options);
    if (rc != RESULT_OK && rc != RESULT_CLOSED) {
        (void)fprintf(stderr, "ragno export: %s\n", result_name(rc));
    }
    if (rc == RESULT_CLOSED) {
        output.is_gone = true;
    }
    rc = output_file_close(&output, rc);
    buffer_destroy(&archive);
    progress_end(&command->progress);
    return short_read_signal() != 0 ? 128 + short_read_signal() : export_tables_status_of(rc);
}

static int export_tables_run(ExportCommand *command)
{
    PageDB *db = NULL;
    Filter *where = NULL;
    int status = command_filter("export", command->where, command->kind->available, &where);
    if (status == 0) {
        status = crawl_open("export", command->directory, true, &db);
    }
    if (status == 0) {
        status = run_on(command, db, where);
    }
    (void)page_db_delete(db);
    filter_delete(where);
    return status;
}

/* argv: "export", DIR, the kind and options in any order. Exit status: 0 done, or the reader of the
 * output has closed it; 2 usage; 3 cannot be read or written; 17 damaged or of another format
 * version. */
static int export_tables_main(int argc, char **argv)
{
    ExportCommand command = {.directory = NULL};
    int status = export_tables_parse(&command, argc, argv);
    if (status != 0) {
        return status;
    }
    if (command.help) {
        return export_tables_usage(stdout);
    }
    if (command.kind == NULL) {
        return export_tables_usage(stderr);
    }
    return export_tables_run(&command);
}

/* ---- `ragno export DIR KIND` ---- */

/* No library for Parquet is in Debian; another program makes it of JSON Lines. */
static int parquet_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)fprintf(stderr,
                  "ragno export: Parquet is not written: no library for it is in Debian. DuckDB "
                  "makes it of JSON Lines:\n"
                  "  ragno export DIR pages --format jsonl -o pages.jsonl\n"
                  "  duckdb -c \"COPY (FROM 'pages.jsonl') TO 'pages.parquet'\"\n"
                  "The same goes for links, hosts and text.\n");
    return EXIT_USAGE;
}

static const struct {
    const char *kind;
    int (*run)(int argc, char **argv);
} commands[] = {{"text", text_export_main},
                {"warc", warc_export_main},
                {"wacz", wacz_export_main},
                {"parquet", parquet_main}};

/* What is exported: the second word that is neither an option nor an option's value; "" when there
 * is none. */
static const char *kind_in(int argc, char **argv)
{
    static const char *const with_value[] = {
        "--format", "--agent", "--since", "--until", "--status", "--threads",     "--where",
        "--output", "-o",      "--url",   "--host",  "--title",  "--description", "--main-page"};
    int words = 0;
    for (int i = 1; i < argc; i++) {
        words += argv[i][0] != '-' ? 1 : 0;
        if (words == 2) {
            return argv[i];
        }
        for (size_t k = 0; k < sizeof with_value / sizeof *with_value; k++) {
            i += strcmp(argv[i], with_value[k]) == 0 && i + 1 < argc ? 1 : 0;
        }
    }
    return "";
}

int export_main(int argc, char **argv)
{
    const char *kind = kind_in(argc, argv);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(kind, commands[i].kind) == 0) {
            return commands[i].run(argc, argv);
        }
    }
    return export_tables_main(argc, argv);
}
