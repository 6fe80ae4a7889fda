#include "command/import/import_command.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/check/check_options.h"
#include "command/import/import_run.h"
#include "crawl/command_option.h"
#include "crawl/exit_status.h"

static atomic_int signal_seen; /* handlers have no other way */

typedef struct ImportCommand {
    const char *directory;
    bool quiet;
    bool help;
    CheckOptions options;
    char **files;
    size_t n;
} ImportCommand;

static int import_command_usage(FILE *out)
{
    (void)fprintf(
        out, "usage: ragno import [OPTION]... FILE.warc[.gz|.zst]...\n"
             "Takes the answers in WARC files of any program as if they had been crawled now:\n"
             "pages, links, digests and records. Nothing is fetched.\n"
             "  -d, --dir DIR            the crawl, new or not (default ./crawl)\n"
             "  -c, --config FILE        INI file     -s, --set SECTION.KEY=VALUE\n"
             "  -q, --quiet              no summary\n"
             "Files of one site in the order of their captures: what is older than what is\n"
             "known of a page is not taken.\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static void import_command_note_signal(int number)
{
    atomic_store(&signal_seen, number);
}

static void import_command_watch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = import_command_note_signal,
                               .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        (void)sigaction(signals[i], &action, NULL);
    }
}

/* ---- the command line ---- */

/* Whether the word at *i, with its value, is an option that has one. */
static bool import_command_take_value(ImportCommand *command, int argc, char **argv, int *i)
{
    static const char *const names[] = {"--dir", "-d", "--config", "-c", "--set", "-s"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *value = command_option(names[k], argc, argv, i);
        if (value == NULL) {
            continue;
        }
        if (k < 2) {
            command->directory = value;
        } else if (k < 4) {
            command->options.file = value;
        } else if (command->options.n_assignments < CHECK_OPTIONS_MAX) {
            command->options.assignments[command->options.n_assignments++] = value;
        }
        return true;
    }
    return false;
}

static int import_command_parse(ImportCommand *command, int argc, char **argv)
{
    command->files = calloc((size_t)argc, sizeof *command->files);
    for (int i = 1; i < argc && command->files != NULL; i++) {
        if (import_command_take_value(command, argc, argv, &i)) {
            continue;
        }
        if (strcmp(argv[i], "-q") == 0 || strcmp(argv[i], "--quiet") == 0) {
            command->quiet = true;
        } else if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            command->help = true;
        } else if (argv[i][0] == '-') {
            (void)fprintf(stderr, "ragno import: unknown option '%s'\n", argv[i]);
            return EXIT_USAGE;
        } else {
            command->files[command->n++] = argv[i];
        }
    }
    for (size_t i = 0; i < command->options.n_assignments; i++) {
        if (strchr(command->options.assignments[i], '=') == NULL) {
            (void)fprintf(stderr, "ragno import: -s %s: expected SECTION.KEY=VALUE\n",
                          command->options.assignments[i]);
            return EXIT_USAGE;
        }
    }
    return command->files == NULL ? EXIT_INTERNAL : *command->directory == '\0' ? EXIT_USAGE : 0;
}

/* A crawl that is there goes on with its own settings. */
static int import_command_load_config(ImportCommand *command, Config *config)
{
    CheckOptions options = command->options;
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/config.ini", command->directory);
    if (options.file == NULL && config_file_look(path) != CONFIG_FILE_NONE) {
        options.file = path;
    }
    int status = check_options_load(&options, config);
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    if (status == 0 && config_resolve_paths(config, &error) != RESULT_OK) {
        (void)fprintf(stderr, "ragno import: %s\n", buffer_string(&error));
        status = EXIT_USAGE;
    }
    buffer_destroy(&error);
    return status;
}

/* ---- the order of files ---- */

typedef struct DatedFile {
    char *path;
    int64_t date_us; /* of its first record that has one */
    size_t place;
    uint64_t size;
} DatedFile;

static int import_command_compare_files(const void *left, const void *right)
{
    const DatedFile *a = left;
    const DatedFile *b = right;
    return a->date_us != b->date_us ? (a->date_us > b->date_us) - (a->date_us < b->date_us)
                                    : (a->place > b->place) - (a->place < b->place);
}

/* Oldest first, as they were captured. */
static Result sort_files(ImportCommand *command, uint64_t *total)
{
    DatedFile *files = calloc(command->n, sizeof *files);
    if (files == NULL) {
        return RESULT_MEMORY;
    }
    *total = 0;
    for (size_t i = 0; i < command->n; i++) {
        ForeignReader *reader = NULL;
        ForeignRecord record;
        files[i] = (DatedFile){.path = command->files[i], .place = i};
        if (foreign_reader_open(&reader, files[i].path, (size_t)1 << 20) == RESULT_OK) {
            if (foreign_reader_next(reader, &record) == RESULT_OK) {
                files[i].date_us = record.date.us;
            }
            *total += foreign_reader_size(reader);
        }
        foreign_reader_close(reader);
    }
    qsort(files, command->n, sizeof *files, import_command_compare_files);
    for (size_t i = 0; i < command->n; i++) {
        command->files[i] = files[i].path;
    }
    free(files);
    return RESULT_OK;
}

/* ---- the end ---- */

static void tell_count(uint64_t n, const char *what)
{
    if (n > 0) {
        (void)fprintf(stderr, ", %" PRIu64 " %s", n, what);
    }
}

static void import_command_summarize(const ImportCounts *counts, const ImportTotals *totals)
{
    (void)fprintf(stderr,
                  "ragno import: %" PRIu64 " answers with %" PRIu64 " links of %" PRIu64 " records",
                  totals->pages, totals->links, counts->records);
    tell_count(totals->known, "not newer than what is known");
    tell_count(counts->confirmed, "that only confirm another");
    tell_count(counts->orphans, "whose payload is not known");
    tell_count(counts->invalid, "that are no answer of HTTP to a URL");
    tell_count(counts->wrong, "whose digest is wrong");
    tell_count(counts->damaged, "places that were damaged and passed over");
    tell_count(totals->refused, "that have no page");
    (void)fputc('\n', stderr);
}

static int import_command_status_of(Result rc, int closed, const ImportCounts *counts)
{
    if (rc == RESULT_CLOSED) {
        return EXIT_SIGNAL;
    }
    if (rc != RESULT_OK || closed != 0) {
        (void)fprintf(stderr, "ragno import: ended: %s\n", result_name(rc));
        return rc == RESULT_MEMORY ? EXIT_INTERNAL : EXIT_IO;
    }
    if (counts->unreadable > 0) {
        return EXIT_IO;
    }
    return counts->damaged + counts->wrong + counts->invalid > 0 ? EXIT_DIRECTORY : 0;
}

static int import_command_run(ImportCommand *command, Config *config)
{
    Progress progress;
    ImportRun run = {.progress = &progress, .signal = &signal_seen};
    Result rc = sort_files(command, &run.total_bytes);
    int status =
        rc == RESULT_OK ? import_store_open(&run.store, command->directory, config) : EXIT_INTERNAL;
    if (status != 0) {
        return status;
    }
    import_command_watch_signals();
    progress_begin(&progress, "import", "answers", isatty(STDERR_FILENO) == 1, stderr, mono_now());
    for (size_t i = 0; i < command->n && rc == RESULT_OK; i++) {
        rc = import_run_file(&run, command->files[i]);
    }
    if (rc == RESULT_OK || rc == RESULT_CLOSED) {
        Result last = import_store_commit(run.store);
        rc = last == RESULT_OK ? rc : last;
    }
    progress_end(&progress);
    import_payloads_destroy(&run.payloads);
    ImportTotals totals = *import_store_totals(run.store);
    int closed = import_store_close(run.store);
    if (!command->quiet) {
        import_command_summarize(&run.counts, &totals);
    }
    return import_command_status_of(rc, closed, &run.counts);
}

int import_main(int argc, char **argv)
{
    ImportCommand command = {.directory = "crawl"};
    Config config;
    if (config_init(&config) != RESULT_OK) {
        return EXIT_INTERNAL;
    }
    int status = import_command_parse(&command, argc, argv);
    if (status == 0 && command.help) {
        status = import_command_usage(stdout);
    } else if (status == 0 && command.n == 0) {
        status = import_command_usage(stderr);
    } else if (status == 0) {
        status = import_command_load_config(&command, &config);
        status = status == 0 ? import_command_run(&command, &config) : status;
    } else if (status == EXIT_USAGE) {
        (void)import_command_usage(stderr);
    }
    config_destroy(&config);
    free(command.files);
    return status;
}
