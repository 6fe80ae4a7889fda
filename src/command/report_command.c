#include "command/report_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/embed.h"
#include "crawl/command_line.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "report/tell/report_file.h"

#define OUTPUT_BYTES ((size_t)256 << 10)

typedef struct ReportCommand {
    const char *directory;
    const char *output; /* NULL: standard output */
    ReportForm form;
    bool broken;
} ReportCommand;

EMBED(report_usage, "src/command/report_command.txt");

/* 0, an exit status, or COMMAND_HELPED. */
static int report_command_parse(ReportCommand *command, int argc, char **argv)
{
    bool html = false;
    bool json = false;
    const CommandOption options[] = {{"html", 0, COMMAND_FLAG, .to = &html},
                                     {"json", 0, COMMAND_FLAG, .to = &json},
                                     {"broken-links", 0, COMMAND_FLAG, .to = &command->broken},
                                     {"output", 'o', COMMAND_TEXT, .to = &command->output}};
    CommandLine line = {"report", report_usage, COMMAND_ROWS(options), .words_least = 1,
                        .words_most = 1};
    int status = command_line_take(&line, argc, argv);
    if (status != 0) {
        return status;
    }
    if ((html || json) && command->broken) {
        (void)fprintf(stderr, "ragno report: --broken-links is a table of its own, without --html "
                              "and --json\n");
        return EXIT_USAGE;
    }
    command->form = json ? REPORT_AS_JSON : REPORT_AS_TEXT;
    if (html) {
        command->form = REPORT_AS_HTML;
    }
    command->directory = line.words[0];
    return 0;
}

/* Of the output: what is printed while links are read must not wait for whoever reads it. */
static char buffer[OUTPUT_BYTES];

static int report_command_run(const ReportCommand *command, PageDB *db, FILE *out)
{
    (void)setvbuf(out, buffer, _IOFBF, sizeof buffer);
    Report report;
    Buffer error = {.limit = 4096};
    Result rc = report_gather(&report, command->directory, db, wall_now(),
                              command->broken ? out : NULL, &error);
    if (rc == RESULT_OK && !command->broken) {
        rc = report_print(&report, command->form, out);
    }
    if (rc == RESULT_OK && (fflush(out) != 0 || ferror(out))) {
        rc = RESULT_IO;
    }
    report_destroy(&report);
    (void)page_db_delete(db);
    if (rc != RESULT_OK) {
        const char *where = command->output == NULL ? "standard output" : command->output;
        if (error.length > 0) {
            (void)fprintf(stderr, "ragno report: %s\n", buffer_string(&error));
        } else {
            (void)fprintf(stderr, "ragno report: %s cannot be written: %s\n", where,
                          result_name(rc));
        }
    }
    buffer_destroy(&error);
    return exit_status_of(rc);
}

int report_main(int argc, char **argv)
{
    ReportCommand command = {.form = REPORT_AS_TEXT};
    PageDB *db = NULL;
    int status = report_command_parse(&command, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    status = crawl_open("report", command.directory, true, &db);
    if (status != 0) {
        return status;
    }
    FILE *out = command.output == NULL ? stdout : fopen(command.output, "we");
    if (out == NULL) {
        (void)fprintf(stderr, "ragno report: %s: %s\n", command.output, strerror(errno));
        (void)page_db_delete(db);
        return EXIT_IO;
    }
    status = report_command_run(&command, db, out);
    if (out != stdout && fclose(out) != 0 && status == 0) {
        (void)fprintf(stderr, "ragno report: %s: %s\n", command.output, strerror(errno));
        status = EXIT_IO;
    }
    return status;
}
