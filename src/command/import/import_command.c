#include "command/import/import_command.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/check/check_options.h"
#include "command/import/import_run.h"
#include "crawl/command_line.h"
#include "crawl/exit_status.h"

static atomic_int signal_seen; /* handlers have no other way */

typedef struct ImportCommand {
    const char *directory;
    bool quiet;
    CheckOptions options;
    char **files; /* of argv */
    size_t n;
} ImportCommand;

static const char import_usage[] =
    "usage: ragno import [OPTION]... FILE.warc[.gz|.zst]...\n"
    "Takes the answers in WARC files of any program as if they had been crawled now:\n"
    "pages, links, digests and records. Nothing is fetched.\n"
    "  -d, --dir DIR            the crawl, new or not (default ./crawl)\n"
    "  -c, --config FILE        INI file     -s, --set SECTION.KEY=VALUE\n"
    "  -q, --quiet              no summary\n"
    "Files of one site in the order of their captures: what is older than what is\n"
    "known of a page is not taken.\n";

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

/* 0, an exit status, or COMMAND_HELPED. */
static int import_command_parse(ImportCommand *command, int argc, char **argv)
{
    const CommandOption rows[] = {CHECK_OPTIONS_ROWS(&command->options),
                                  {"dir", 'd', COMMAND_TEXT, .to = &command->directory},
                                  {"quiet", 'q', COMMAND_FLAG, .to = &command->quiet}};
    CommandLine line = {.command = "import",
                        .usage = import_usage,
                        .options = rows,
                        .n_options = sizeof rows / sizeof *rows,
                        .words_least = 1,
                        .words_most = argc};
    int status = command_line_take(&line, argc, argv);
    command->files = line.words;
    command->n = (size_t)line.n_words;
    return status;
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
    ImportCommand command = {.directory = "crawl", .options = {.command = "import"}};
    Config config;
    if (config_init(&config) != RESULT_OK) {
        return EXIT_INTERNAL;
    }
    int status = import_command_parse(&command, argc, argv);
    if (status == 0) {
        status = import_command_load_config(&command, &config);
    }
    if (status == 0) {
        status = import_command_run(&command, &config);
    }
    config_destroy(&config);
    return status == COMMAND_HELPED ? 0 : status;
}
