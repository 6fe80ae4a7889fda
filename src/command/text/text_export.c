#include "command/text/text_export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/file.h"
#include "command/text/text_source.h"
#include "page/tool/text_language.h"
#include "command/text/text_run.h"
#include "crawl/command_line.h"
#include "crawl/crawl_store.h"
#include "crawl/exit_status.h"
#include "crawl/when.h"

#define MAX_BODY_BYTES ((size_t)256 << 20)
/* A fetch that began before the last record was written may still be on its way to the archive. */
#define LATE_US INT64_C(600000000)

typedef struct TextCommand {
    const char *directory;
    const char *output;
    const char *where;
    bool quiet;
    bool no_language;
    TextRunOptions run;
    TextChoice choice;
    Filter *filter;
} TextCommand;

static const char text_usage[] =
    "usage: ragno export DIR text [OPTION]...\n"
    "  --format jsonl|wet       JSON Lines (default), or WARC conversion records\n"
    "  --main                   only the main text: no navigation, header, footer\n"
    "  --since TIME             captures of that time or later: 2026-01-31, "
    "2026-01-31T12:00:00Z\n"
    "  --url URL, --host HOST   only these, again and again; URL* is a beginning, and .DOMAIN "
    "all\n"
    "                           below a domain\n"
    "  --status N|N-N|all       HTTP statuses, default 200-299\n"
    "  --where FILTER           pages that a filter expression matches (ragno check filter\n"
    "                           --atoms)\n"
    "  --no-language            do not find out the language\n"
    "  --threads N              default: one for each processor\n"
    "  -o, --output FILE        default standard output; FILE.gz, FILE.zst: compressed\n"
    "  -q, --quiet              no summary\n";

static int text_export_complain(const char *what, const char *word)
{
    (void)fprintf(stderr, "ragno export: %s '%s'\n", what, word);
    return EXIT_USAGE;
}

/* ---- options ---- */

static int text_export_take_format(void *to, const char *value)
{
    TextCommand *command = to;
    if (strcmp(value, "jsonl") != 0 && strcmp(value, "wet") != 0) {
        return text_export_complain("--format: expected jsonl or wet, found", value);
    }
    command->run.writer.format = value[0] == 'w' ? TEXT_WET : TEXT_JSONL;
    return 0;
}

int text_take_time(void *to, const char *value)
{
    if (!warc_date_parse(warc_bytes(value, strlen(value)), to) &&
        when_parse(value, wall_now(), to) != RESULT_OK) {
        return text_export_complain(
            "--since, --until: expected a time such as 2026-01-31T12:00:00Z or 2d, found", value);
    }
    return 0;
}

/* "200", "200-299", "all". */
static int text_export_take_status(void *to, const char *value)
{
    TextWanted *wanted = to;
    const char *dash = strchr(value, '-');
    size_t n = dash == NULL ? strlen(value) : (size_t)(dash - value);
    const char *second = dash == NULL ? value : dash + 1;
    uint64_t first = 0;
    uint64_t last = 0;
    if (strcmp(value, "all") == 0) {
        wanted->status_first = 100;
        wanted->status_last = 999;
        return 0;
    }
    if (!warc_bytes_number(warc_bytes(value, n), 999, &first) ||
        !warc_bytes_number(warc_bytes(second, strlen(second)), 999, &last) || first > last) {
        return text_export_complain(
            "--status: expected a number, a range such as 200-299, or all, found", value);
    }
    wanted->status_first = (unsigned)first;
    wanted->status_last = (unsigned)last;
    return 0;
}

int text_take_url(void *to, const char *value)
{
    return text_choice_add_url(to, value) == RESULT_OK
               ? 0
               : text_export_complain("--url: expected a URL, or the beginning of one and *, found",
                                      value);
}

int text_take_host(void *to, const char *value)
{
    return text_choice_add_host(to, value) == RESULT_OK
               ? 0
               : text_export_complain("--host: expected a host, or .DOMAIN, found", value);
}

/* 0, an exit status, or COMMAND_HELPED. */
static int text_export_parse(TextCommand *command, int argc, char **argv)
{
    TextWanted *wanted = &command->run.wanted;
    uint64_t threads = command->run.threads;
    const CommandOption options[] = {
        {"format", 0, COMMAND_TAKE, .to = command, .take = text_export_take_format},
        {"since", 0, COMMAND_TAKE, .to = &wanted->since, .take = text_take_time},
        {"status", 0, COMMAND_TAKE, .to = wanted, .take = text_export_take_status},
        {"threads", 0, COMMAND_NUMBER, .to = &threads, .least = 1, .most = TEXT_THREADS_MAX},
        {"where", 0, COMMAND_TEXT, .to = &command->where},
        {"output", 'o', COMMAND_TEXT, .to = &command->output},
        {"url", 0, COMMAND_TAKE, .to = &command->choice, .take = text_take_url},
        {"host", 0, COMMAND_TAKE, .to = &command->choice, .take = text_take_host},
        {"main", 0, COMMAND_FLAG, .to = &command->run.pages.main_text},
        {"no-language", 0, COMMAND_FLAG, .to = &command->no_language},
        {"quiet", 'q', COMMAND_FLAG, .to = &command->quiet}};
    CommandLine line = {.command = "export",
                        .usage = text_usage,
                        .options = options,
                        .n_options = sizeof options / sizeof *options,
                        .words_least = 2,
                        .words_most = 2};
    int status = command_line_take(&line, argc, argv);
    command->directory = status == 0 ? line.words[0] : NULL;
    command->run.threads = (unsigned)threads;
    return status;
}

/* ---- what is said at the end ---- */

static void text_export_summarize(const TextCommand *command, const TextTotals *totals,
                                  WallTime started)
{
    const TextCounts *counts = &totals->counts;
    char text[WARC_DATE_BYTES];
    (void)fprintf(stderr, "ragno export: %" PRIu64 " texts of %" PRIu64 " captures (%.1f MB)",
                  totals->pages, counts->captures, 1e-6 * (double)counts->html_bytes);
    if (counts->undecoded > 0) {
        (void)fprintf(stderr, ", %" PRIu64 " with a broken content coding", counts->undecoded);
    }
    if (counts->missing > 0) {
        (void)fprintf(stderr, ", %" PRIu64 " whose payload is not in this archive",
                      counts->missing);
    }
    if (counts->newest.us > 0) {
        WallTime next = {counts->newest.us + 1};
        if (crawl_store_owner(command->directory) != 0 && started.us - LATE_US < next.us) {
            next.us = started.us - LATE_US;
        }
        (void)fprintf(stderr, "; what is new since then: --since %s", warc_date_format(next, text));
    }
    (void)fputc('\n', stderr);
}

static int text_export_status_of(Result rc, const TextCounts *counts)
{
    if (rc == RESULT_MEMORY) {
        (void)fprintf(stderr, "ragno export: %s\n", result_name(rc));
        return EXIT_INTERNAL;
    }
    if (rc != RESULT_OK) {
        return EXIT_IO;
    }
    if (counts->unreadable > 0) {
        return EXIT_IO;
    }
    return counts->damaged > 0 ? EXIT_DIRECTORY : 0;
}

static bool text_export_ends_with(const char *text, const char *suffix)
{
    size_t n = strlen(text);
    size_t m = strlen(suffix);
    return n > m && strcmp(text + n - m, suffix) == 0;
}

static int text_export_run(TextCommand *command)
{
    Path warc;
    TextRunOptions *options = &command->run;
    options->warc_directory = file_path(&warc, "%s/warc", command->directory);
    options->pages.language = !command->no_language && text_language_load();
    if (command->output != NULL) {
        bool zstd = text_export_ends_with(command->output, ".zst");
        options->writer.compressed = zstd || text_export_ends_with(command->output, ".gz");
        options->writer.compression = zstd ? WARC_ZSTD : WARC_GZIP;
    }
    WallTime started = wall_now();
    TextTotals totals = {.pages = 0};
    OutputFile output;
    Progress progress;
    Result rc = output_file_open(&output, "export", command->output);
    if (rc == RESULT_OK) {
        progress_begin(&progress, "export", "pages", progress_is_wanted(command->output), stderr,
                       mono_now());
        rc = text_run(options, &output, &progress, &totals);
        rc = output_file_close(&output, rc);
        progress_end(&progress);
        if (!command->quiet && rc == RESULT_OK && !output.is_gone) {
            text_export_summarize(command, &totals, started);
        }
    }
    return text_export_status_of(rc, &totals.counts);
}

int text_export_main(int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    TextCommand command = {
        .run = {.threads = processors < 1 ? 1u : (unsigned)processors,
                .wanted = {.since = {INT64_MIN},
                           .status_first = 200,
                           .status_last = 299,
                           .max_body_bytes = MAX_BODY_BYTES}},
    };
    int status = text_export_parse(&command, argc, argv);
    if (status == 0) {
        status = command_filter("export", command.where, TEXT_FILTER_HAS, &command.filter);
    }
    if (status == 0) {
        command.run.where = command.filter;
        command.run.wanted.choice = &command.choice;
        status = text_export_run(&command);
    }
    filter_delete(command.filter);
    text_choice_destroy(&command.choice);
    return status == COMMAND_HELPED ? 0 : status;
}
