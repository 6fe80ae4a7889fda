#include "command/export/export.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/file.h"
#include "command/export/export_captures.h"
#include "command/export/host_export.h"
#include "command/export/page_export.h"
#include "command/part/part_command.h"
#include "command/text/text_export.h"
#include "command/wacz/wacz_export.h"
#include "crawl/command_line.h"
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
    PageExportOptions options;
    bool no_archive;
    bool quiet;
    Progress progress;
} ExportCommand;

static const char export_usage[] =
    "usage: ragno export DIR links|hosts|pages [OPTION]...\n"
    "       ragno export DIR text|captures|warc|wacz [OPTION]...   (--help behind one tells of "
    "it)\n"
    "  --format tsv|csv|jsonl|arcs\n"
    "                           default tsv; arcs is --arcs\n"
    "  -o, --output FILE        default standard output\n"
    "  --where FILTER           rows that a filter expression matches\n"
    "  --header, --no-header    a line of names first; default: CSV only\n"
    "  --ids                    page indices and host ids instead of URLs\n"
    "  --arcs                   only the integer arcs, ascending, for WebGraph\n"
    "  --no-self                without arcs from a page or host to itself\n"
    "  --cross-host             links: only those that leave the domain\n"
    "  --no-archive             pages: only what the database knows: no type, size,\n"
    "                           title, language, redirect and place of the answer\n"
    "  -q, --quiet              no progress\n"
    "Parquet: duckdb -c \"COPY (FROM 'pages.jsonl') TO 'pages.parquet'\"\n";

static int export_tables_complain(const char *what, const char *word)
{
    (void)fprintf(stderr, "ragno export: %s '%s'\n%s", what, word, export_usage);
    return EXIT_USAGE;
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

static int export_tables_take_format(void *to, const char *value)
{
    PageExportOptions *options = to;
    if (strcmp(value, "arcs") == 0) {
        options->arcs = true;
        return 0;
    }
    if (strcmp(value, "parquet") == 0) {
        return export_tables_complain(
            "DuckDB makes Parquet of JSON Lines: duckdb -c \"COPY (FROM 'pages.jsonl') "
            "TO 'pages.parquet'\"; not written:",
            value);
    }
    options->format = export_format_of(value);
    return options->format == EXPORT_FORMATS ? export_tables_complain("unknown format", value) : 0;
}

/* 0, an exit status, or COMMAND_HELPED. */
static int export_tables_parse(ExportCommand *command, int argc, char **argv)
{
    PageExportOptions *to = &command->options;
    bool header = false;
    bool no_header = false;
    const CommandOption options[] = {
        {"format", 0, COMMAND_TAKE, .to = to, .take = export_tables_take_format},
        {"output", 'o', COMMAND_TEXT, .to = &command->output},
        {"where", 0, COMMAND_TEXT, .to = &command->where},
        {"header", 0, COMMAND_FLAG, .to = &header},
        {"no-header", 0, COMMAND_FLAG, .to = &no_header},
        {"ids", 0, COMMAND_FLAG, .to = &to->ids},
        {"arcs", 0, COMMAND_FLAG, .to = &to->arcs},
        {"no-self", 0, COMMAND_FLAG, .to = &to->no_self},
        {"cross-host", 0, COMMAND_FLAG, .to = &to->only_cross},
        {"no-archive", 0, COMMAND_FLAG, .to = &command->no_archive},
        {"quiet", 'q', COMMAND_FLAG, .to = &command->quiet}};
    CommandLine line = {.command = "export",
                        .usage = export_usage,
                        .options = options,
                        .n_options = sizeof options / sizeof *options,
                        .words_least = 2,
                        .words_most = 2};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status;
    }
    command->directory = line.words[0];
    command->kind = export_tables_kind_of(line.words[1]);
    to->header = header || (!no_header && to->format == EXPORT_CSV);
    return command->kind == NULL ? export_tables_complain("unknown kind", line.words[1]) : 0;
}

static void show_progress(void *context, uint64_t done, uint64_t total, uint64_t n_rows)
{
    progress_show(context, done, total, n_rows, mono_now());
}

static int run_on(ExportCommand *command, PageDB *db, const Filter *where)
{
    OutputFile output;
    Path archive;
    PageExportOptions *options = &command->options;
    Result rc = output_file_open(&output, "export", command->output);
    if (rc != RESULT_OK) {
        return EXIT_IO;
    }
    (void)file_path(&archive, "%s/warc", command->directory);
    options->archive = command->no_archive ? NULL : archive.text;
    progress_begin(&command->progress, "export", "rows",
                   !command->quiet && progress_is_wanted(command->output), stderr, mono_now());
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
    progress_end(&command->progress);
    return short_read_signal() != 0 ? 128 + short_read_signal() : exit_status_of(rc);
}

/* argv: "export", DIR, the kind and options in any order. Exit status: 0 done, or the reader of the
 * output has closed it; 2 usage; 3 cannot be read or written; 17 damaged or of another format
 * version. */
static int export_tables_main(int argc, char **argv)
{
    ExportCommand command = {.directory = NULL};
    int status = export_tables_parse(&command, argc, argv);
    if (status == 0) {
        PageDB *db = NULL;
        Filter *where = NULL;
        status = command_filter("export", command.where, command.kind->available, &where);
        if (status == 0) {
            status = crawl_open("export", command.directory, true, &db);
        }
        if (status == 0) {
            status = run_on(&command, db, where);
        }
        (void)page_db_delete(db);
        filter_delete(where);
    }
    return status == COMMAND_HELPED ? 0 : status;
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
                {"captures", export_captures_main},
                {"warc", warc_export_main},
                {"wacz", wacz_export_main},
                {"parquet", parquet_main}};

/* What is exported: the second word that is neither an option nor an option's value; "" when there
 * is none. */
static const char *kind_in(int argc, char **argv)
{
    static const char *const with_value[] = {
        "--format", "--since", "--until", "--status", "--threads",     "--where",    "--output",
        "-o",       "--url",   "--host",  "--title",  "--description", "--main-page"};
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
