#include "command/text/text_export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/text/text_source.h"
#include "page/tool/text_language.h"
#include "command/text/text_run.h"
#include "crawl/command_option.h"
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
    bool help;
    bool quiet;
    bool no_language;
    TextRunOptions run;
    TextChoice choice;
    Filter *filter;
} TextCommand;

static int text_export_usage(FILE *out)
{
    (void)fprintf(
        out,
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
        "  -q, --quiet              no summary\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static int text_export_complain(const char *what, const char *word)
{
    (void)fprintf(stderr, "ragno export: %s '%s'\n", what, word);
    return EXIT_USAGE;
}

/* ---- options ---- */

static int text_export_take_format(TextCommand *command, const char *value)
{
    if (strcmp(value, "jsonl") != 0 && strcmp(value, "wet") != 0) {
        return text_export_complain("--format: expected jsonl or wet, found", value);
    }
    command->run.writer.format = value[0] == 'w' ? TEXT_WET : TEXT_JSONL;
    return 0;
}

static int text_export_take_since(TextCommand *command, const char *value)
{
    WallTime *since = &command->run.wanted.since;
    if (!warc_date_parse(warc_bytes(value, strlen(value)), since) &&
        when_parse(value, wall_now(), since) != RESULT_OK) {
        return text_export_complain(
            "--since: expected a time such as 2026-01-31T12:00:00Z or 2d, found", value);
    }
    return 0;
}

/* "200", "200-299", "all". */
static int text_export_take_status(TextCommand *command, const char *value)
{
    TextWanted *wanted = &command->run.wanted;
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

static int take_threads(TextCommand *command, const char *value)
{
    uint64_t n = 0;
    if (!warc_bytes_number(warc_bytes(value, strlen(value)), TEXT_THREADS_MAX, &n) || n == 0) {
        return text_export_complain("--threads: expected a number from 1 to 64, found", value);
    }
    command->run.threads = (unsigned)n;
    return 0;
}

static int text_export_take_where(TextCommand *command, const char *value)
{
    command->where = value;
    return 0;
}

static int text_export_take_url(TextCommand *command, const char *value)
{
    return text_choice_add_url(&command->choice, value) == RESULT_OK
               ? 0
               : text_export_complain("--url: expected a URL, or the beginning of one and *, found",
                                      value);
}

static int text_export_take_host(TextCommand *command, const char *value)
{
    return text_choice_add_host(&command->choice, value) == RESULT_OK
               ? 0
               : text_export_complain("--host: expected a host, or .DOMAIN, found", value);
}

static int text_export_take_output(TextCommand *command, const char *value)
{
    command->output = value;
    return value[0] == '\0' ? text_export_complain("no file after", "-o") : 0;
}

static const struct {
    const char *name;
    int (*take)(TextCommand *command, const char *value);
} options_with_value[] = {
    {"--format", text_export_take_format}, {"--since", text_export_take_since},
    {"--status", text_export_take_status}, {"--threads", take_threads},
    {"--where", text_export_take_where},   {"--output", text_export_take_output},
    {"-o", text_export_take_output},       {"--url", text_export_take_url},
    {"--host", text_export_take_host}};

/* -1: the word is none of these. */
static int text_export_take_option(TextCommand *command, int argc, char **argv, int *i)
{
    for (size_t k = 0; k < sizeof options_with_value / sizeof *options_with_value; k++) {
        const char *value = command_option(options_with_value[k].name, argc, argv, i);
        if (value != NULL) {
            return options_with_value[k].take(command, value);
        }
    }
    return -1;
}

static bool text_export_take_flag(TextCommand *command, const char *word)
{
    if (strcmp(word, "--main") == 0) {
        command->run.pages.main_text = true;
    } else if (strcmp(word, "--no-language") == 0) {
        command->no_language = true;
    } else if (strcmp(word, "--quiet") == 0 || strcmp(word, "-q") == 0) {
        command->quiet = true;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        command->help = true;
    } else {
        return false;
    }
    return true;
}

static int text_export_parse(TextCommand *command, int argc, char **argv)
{
    bool kind_seen = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        int status = text_export_take_option(command, argc, argv, &i);
        if (status > 0) {
            return status;
        }
        if (status == 0 || text_export_take_flag(command, word)) {
            continue;
        }
        if (word[0] == '-') {
            return text_export_complain("unknown option", word);
        }
        if (command->directory == NULL) {
            command->directory = word;
        } else if (!kind_seen) {
            kind_seen = true; /* "text" */
        } else {
            return text_export_complain("unexpected", word);
        }
    }
    return 0;
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
    Buffer warc;
    buffer_init(&warc, BUFFER_NO_LIMIT);
    if (buffer_printf(&warc, "%s/warc", command->directory) != RESULT_OK) {
        return EXIT_INTERNAL;
    }
    TextRunOptions *options = &command->run;
    options->warc_directory = warc.data;
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
    buffer_destroy(&warc);
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
    if (status != 0) {
        (void)text_export_usage(stderr);
    } else if (command.help) {
        status = text_export_usage(stdout);
    } else {
        status = command_filter("export", command.where, TEXT_FILTER_HAS, &command.filter);
        command.run.where = command.filter;
        command.run.wanted.choice = &command.choice;
        status = status == 0 ? text_export_run(&command) : status;
    }
    filter_delete(command.filter);
    text_choice_destroy(&command.choice);
    return status;
}
