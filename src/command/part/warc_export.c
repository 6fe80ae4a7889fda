#include "command/part/warc_export.h"

#include <inttypes.h>
#include <string.h>

#include "command/part/part_command.h"
#include "crawl/exit_status.h"
#include "crawl/output_file.h"

static int warc_export_usage(FILE *out)
{
    (void)fprintf(out, "usage: ragno export DIR warc [OPTION]...\n"
                       "  -o, --output FILE        default standard output; FILE.zst: Zstandard\n");
    part_command_usage(out);
    return out == stdout ? 0 : EXIT_USAGE;
}

static Result warc_export_write_output(void *context, const char *bytes, size_t length)
{
    return output_file_write(context, bytes, length);
}

static void warc_export_summarize(const PartCounts *counts)
{
    (void)fprintf(
        stderr, "ragno export: %" PRIu64 " captures, %" PRIu64 " records of %" PRIu64 " (%.1f MB)",
        counts->captures, counts->records, counts->source.records, 1e-6 * (double)counts->bytes);
    if (counts->originals > 0) {
        (void)fprintf(stderr, ", %" PRIu64 " captures for revisits that refer to them",
                      counts->originals);
    }
    if (counts->orphans > 0) {
        (void)fprintf(stderr, ", %" PRIu64 " revisits whose payload is not in this archive",
                      counts->orphans);
    }
    (void)fputc('\n', stderr);
}

static int warc_export_run(PartCommand *command)
{
    OutputFile output;
    Progress progress;
    PartCounts counts = {.records = 0};
    size_t n = command->output == NULL ? 0 : strlen(command->output);
    bool zstd = n > 4 && strcmp(command->output + n - 4, ".zst") == 0;
    command->part.compression = zstd ? WARC_ZSTD : WARC_GZIP;
    Result rc = output_file_open(&output, "export", command->output);
    if (rc != RESULT_OK) {
        return EXIT_IO;
    }
    PartSink sink = {.context = &output, .write = warc_export_write_output};
    progress_begin(&progress, "export", "records", progress_is_wanted(command->output), stderr,
                   mono_now());
    rc = part_copy(&command->part, &sink, &progress, &counts);
    rc = output_file_close(&output, rc);
    progress_end(&progress);
    if (!command->quiet && rc == RESULT_OK && !output.is_gone) {
        warc_export_summarize(&counts);
    }
    return part_command_status(rc, &counts.source);
}

int warc_export_main(int argc, char **argv)
{
    PartCommand command;
    int status = part_command_parse(&command, argc, argv, NULL, NULL);
    if (status == EXIT_USAGE) {
        (void)warc_export_usage(stderr);
    } else if (command.help) {
        status = warc_export_usage(stdout);
    } else if (status == 0) {
        status = warc_export_run(&command);
    }
    part_command_destroy(&command);
    return status;
}
