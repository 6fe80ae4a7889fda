#include "command/text/text_export.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/embed.h"
#include "command/text/text_run.h"
#include "crawl/crawl_store.h"
#include "crawl/exit_status.h"
#include "crawl/when.h"
#include "page/tool/text_language.h"

#define MAX_BODY_BYTES ((size_t)256 << 20)
/* A fetch that began before the last record was written may still be on its way to the archive. */
#define LATE_US INT64_C(600000000)

typedef struct TextCommand {
    TextExport archive;
    bool no_language;
    bool no_styles;
    bool no_pdf;
    uint64_t pdf_memory; /* MiB, as the next */
    uint64_t pdf_text;
    bool data;
    uint64_t data_bytes;
    uint64_t threads;
    TextRunOptions run;
} TextCommand;

static const char text_export_usage[] =
    "  --url URL                captures of this URL; URL*: of all that begin so; repeatable\n"
    "  --host HOST              captures of this host; .DOMAIN: of all below it; repeatable\n"
    "  --since, --until TIME    captures of that time or later, or before it: 2026-01-31,\n"
    "                           2026-01-31T12:00:00Z, 2d (ago)\n"
    "  --where FILTER           captures that a filter expression matches (ragno check filter\n"
    "                           --atoms)\n"
    "  -q, --quiet              no summary\n";

EMBED(text_usage, "src/command/text/text_export.txt");

static int text_export_complain(const char *what, const char *word)
{
    (void)fprintf(stderr, "ragno export: %s '%s'\n", what, word);
    return EXIT_USAGE;
}

/* ---- options ---- */

static int text_take_time(void *to, const char *value)
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

static int text_take_url(void *to, const char *value)
{
    return text_choice_add_url(to, value) == RESULT_OK
               ? 0
               : text_export_complain("--url: expected a URL, or the beginning of one and *, found",
                                      value);
}

static int text_take_host(void *to, const char *value)
{
    return text_choice_add_host(to, value) == RESULT_OK
               ? 0
               : text_export_complain("--host: expected a host, or .DOMAIN, found", value);
}

/* ---- what the exports of the archive share ---- */

#define OPTIONS_MOST 24u

static int text_export_take(TextExport *export, int argc, char **argv, const char *usage,
                            const CommandOption *extra, size_t n_extra)
{
    const CommandOption all[] = {
        {"since", 0, COMMAND_TAKE, .to = &export->wanted.since, .take = text_take_time},
        {"until", 0, COMMAND_TAKE, .to = &export->wanted.until, .take = text_take_time},
        {"url", 0, COMMAND_TAKE, .to = &export->choice, .take = text_take_url},
        {"host", 0, COMMAND_TAKE, .to = &export->choice, .take = text_take_host},
        {"where", 0, COMMAND_TEXT, .to = &export->where},
        {"output", 'o', COMMAND_TEXT, .to = &export->output},
        {"quiet", 'q', COMMAND_FLAG, .to = &export->quiet}};
    CommandOption options[OPTIONS_MOST];
    size_t n = sizeof all / sizeof *all;
    assert(n + n_extra <= OPTIONS_MOST);
    memcpy(options, all, sizeof all);
    if (n_extra > 0) {
        memcpy(options + n, extra, n_extra * sizeof *extra);
    }
    CommandLine line = {"export",
                        usage,
                        options,
                        n + n_extra,
                        .words_least = 2,
                        .words_most = 2,
                        .more = text_export_usage};
    int status = command_line_take(&line, argc, argv);
    export->directory = status == 0 ? line.words[0] : NULL;
    return status;
}

static int text_export_parse(TextExport *export, int argc, char **argv, const char *usage,
                             const CommandOption *extra, size_t n_extra)
{
    export->wanted.since.us = INT64_MIN;
    export->wanted.until.us = INT64_MAX;
    export->wanted.max_body_bytes = MAX_BODY_BYTES;
    export->wanted.choice = &export->choice;
    int status = text_export_take(export, argc, argv, usage, extra, n_extra);
    if (status == 0) {
        export->wanted.directory = file_path(&export->warc, "%s/warc", export->directory);
        status = command_filter("export", "where", export->where, TEXT_FILTER_HAS, &export->filter);
        export->wanted.where = export->filter;
    }
    return status;
}

int text_export_command(TextExport *export, int argc, char **argv, const char *usage,
                        const CommandOption *extra, size_t n_extra, int (*run)(TextExport *export))
{
    int status = text_export_parse(export, argc, argv, usage, extra, n_extra);
    if (status == 0) {
        status = run(export);
    }
    filter_delete(export->filter);
    text_choice_destroy(&export->choice);
    return status == COMMAND_HELPED ? 0 : status;
}

int text_export_status(Result rc, const TextCounts *counts)
{
    if (rc == RESULT_MEMORY || rc == RESULT_INTERNAL) {
        (void)fprintf(stderr, "ragno export: %s\n", result_name(rc));
        return EXIT_INTERNAL;
    }
    if (rc != RESULT_OK || counts->unreadable > 0) {
        return EXIT_IO;
    }
    return counts->damaged > 0 ? EXIT_DIRECTORY : 0;
}

/* ---- what is said at the end ---- */

static void text_export_summarize(const TextCommand *command, const TextTotals *totals,
                                  WallTime started)
{
    const TextCounts *counts = &totals->counts;
    char text[CLOCK_TEXT_BYTES];
    (void)fprintf(stderr, "ragno export: %" PRIu64 " texts of %" PRIu64 " captures (%.1f MB)",
                  totals->of[TEXT_PAGES], counts->captures, 1e-6 * (double)counts->html_bytes);
    const struct {
        uint64_t n;
        const char *words;
    } more[] = {{counts->undecoded, "with a broken content coding"},
                {totals->of[TEXT_UNSTYLED], "whose style sheets took too long"},
                {totals->of[TEXT_PDF_CUT], "PDF documents of which pdftotext made not all"},
                {totals->of[TEXT_NO_PDF], "PDF documents left out"},
                {totals->of[TEXT_DATA_CUT], "with more structured data than --structured-max"},
                {counts->missing, "whose payload is not in this archive"}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        if (more[i].n > 0) {
            (void)fprintf(stderr, ", %" PRIu64 " %s", more[i].n, more[i].words);
        }
    }
    if (counts->newest.us > 0) {
        WallTime next = {counts->newest.us + 1};
        if (crawl_store_owner(command->archive.directory) != 0 && started.us - LATE_US < next.us) {
            next.us = started.us - LATE_US;
        }
        (void)fprintf(stderr, "; what is new since then: --since %s",
                      wall_format_micro(next, text));
    }
    (void)fputc('\n', stderr);
}

static int text_export_run(TextExport *archive)
{
    TextCommand *command = (TextCommand *)(void *)archive;
    TextRunOptions *options = &command->run;
    options->wanted = archive->wanted;
    options->threads = (unsigned)command->threads;
    options->pages.styles = !command->no_styles;
    options->pages.markdown = options->writer.format == TEXT_MARKDOWN;
    options->wanted.pdf = !command->no_pdf;
    options->pages.pdf.memory_bytes = command->pdf_memory << 20;
    options->pages.pdf.text_bytes = command->pdf_text << 20;
    options->pages.data_bytes = command->data ? command->data_bytes : 0;
    options->writer.data = command->data;
    options->pages.language = !command->no_language && text_language_load();
    if (archive->output != NULL) {
        bool zstd = file_name_ends_with(archive->output, ".zst");
        options->writer.compressed = zstd || file_name_ends_with(archive->output, ".gz");
        options->writer.compression = zstd ? WARC_ZSTD : WARC_GZIP;
    }
    WallTime started = wall_now();
    TextTotals totals = {.of = {0}};
    OutputFile output;
    Progress progress;
    Result rc = output_file_open(&output, "export", archive->output);
    if (rc == RESULT_OK) {
        progress_begin(&progress, "export", "pages", progress_is_wanted(archive->output), stderr,
                       mono_now());
        const TextSink sink = {output.path, &output, text_sink_write};
        rc = text_run(options, &sink, &progress, &totals);
        rc = output_file_close(&output, rc);
        progress_end(&progress);
        if (!archive->quiet && rc == RESULT_OK && !output.is_gone) {
            text_export_summarize(command, &totals, started);
        }
    }
    return text_export_status(rc, &totals.counts);
}

int text_export_main(int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    TextCommand command = {.archive = {.wanted = {.status_first = 200, .status_last = 299}},
                           .run = {.pages = {.pdf = {.seconds = 20}}},
                           .pdf_memory = 512,
                           .pdf_text = 16,
                           .data_bytes = TEXT_DATA_BYTES,
                           .threads = processors < 1 ? 1 : (uint64_t)processors};
    const CommandOption own[] = {
        {"format", 0, COMMAND_WORD, .to = &command.run.writer.format,
         .words = "jsonl|markdown|wet"},
        {"status", 0, COMMAND_TAKE, .to = &command.archive.wanted, .take = text_export_take_status},
        {"threads", 0, COMMAND_NUMBER, .to = &command.threads, .least = 1,
         .most = TEXT_THREADS_MAX},
        {"main", 0, COMMAND_FLAG, .to = &command.run.pages.main_text},
        {"no-pdf", 0, COMMAND_FLAG, .to = &command.no_pdf},
        {"pdf-time", 0, COMMAND_NUMBER, .to = &command.run.pages.pdf.seconds, .least = 1,
         .most = 3600},
        {"pdf-memory", 0, COMMAND_NUMBER, .to = &command.pdf_memory, .least = 32, .most = 65536},
        {"pdf-text", 0, COMMAND_NUMBER, .to = &command.pdf_text, .least = 1, .most = 256},
        {"structured", 0, COMMAND_FLAG, .to = &command.data},
        {"structured-max", 0, COMMAND_NUMBER, .to = &command.data_bytes, .least = TEXT_DATA_LEAST,
         .most = TEXT_DATA_MOST},
        {"no-styles", 0, COMMAND_FLAG, .to = &command.no_styles},
        {"no-language", 0, COMMAND_FLAG, .to = &command.no_language}};
    return text_export_command(&command.archive, argc, argv, text_usage, COMMAND_ROWS(own),
                               text_export_run);
}
